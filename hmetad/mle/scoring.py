"""Penalised estimates of every cell at once, by Fisher scoring over the compiled likelihood.

Counts (NumPy) → parameters and their variances. The penalty is a weak normal prior, so that
ratings nobody used, or confidence that runs backward, still have a finite answer. Hierarchical
models start from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.likelihood.information import expected_information
from hmetad.likelihood.kernel import log_likelihood_and_gradient

__all__ = ["CellModes", "Layout", "penalised_modes"]

type Floats = NDArray[np.float64]

ITERATIONS = 60
HALVINGS = 8
SMALL_STEP = 1e-7
FARTHEST = 30.0


@dataclass(frozen=True)
class Layout:
    """Which parameters a cell has, and what they stand for.

    Parameters
    ----------
    ratings : int
        K.
    scale : {"log_m", "m"}
    is_relative : bool
        κ = M·c rather than κ = c.
    responses : int
        2 where each response has its own M, else 1.
    has_s : bool
        Whether log s is a parameter; s is 1 otherwise.
    """

    ratings: int
    scale: str = "log_m"
    is_relative: bool = True
    responses: int = 1
    has_s: bool = False

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """Shape per cell of each parameter, in the order of the parameter vector."""
        meta: tuple[int, ...] = (2,) if self.responses == 2 else ()
        sizes = {"dprime": (), "c": (), self.scale: meta, "log_gap": (2, self.ratings - 1)}
        return sizes | ({"log_s": ()} if self.has_s else {})

    def split(self, vectors: Floats) -> dict[str, Floats]:
        """Parameters by name, from vectors (cells, parameters)."""
        parts, start = {}, 0
        for name, shape in self.sizes.items():
            size = int(np.prod(shape))
            parts[name] = vectors[:, start : start + size].reshape(-1, *shape)
            start += size
        return parts

    def join(self, parts: Mapping[str, float]) -> Floats:
        """Vector (parameters,) from one number for each parameter."""
        return np.concatenate([np.full(int(np.prod(s)), parts[n]) for n, s in self.sizes.items()])


@dataclass(frozen=True)
class CellModes:
    """Estimates of every cell.

    Parameters
    ----------
    values, variances : dict of str to array
        By parameter; first dim cell, then response, and criterion for log_gap. Variances are
        those of the normal that has the curvature of likelihood and penalty together.
    is_converged : array of bool, shape (cells,)
    """

    values: dict[str, Floats]
    variances: dict[str, Floats]
    is_converged: NDArray[np.bool_]


def penalised_modes(
    counts: Floats, layout: Layout, centre: Mapping[str, float], spread: Mapping[str, float]
) -> CellModes:
    """Maximise ℓ(θ) - Σ (θ - centre)² / (2 spread²) for every cell.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
    layout : Layout
    centre, spread : mapping of str to float
        Mean and standard deviation of the penalty, by parameter.

    Returns
    -------
    CellModes

    Examples
    --------
    >>> s1, s2 = [[26, 37, 35, 87], [12, 4, 2, 1]], [[22, 15, 5, 2], [33, 38, 40, 45]]
    >>> loose = {"dprime": 10.0, "c": 10.0, "log_m": 10.0, "log_gap": 10.0}
    >>> modes = penalised_modes(np.array([[s1, s2]]), Layout(4), dict.fromkeys(loose, 0.0), loose)
    >>> modes.values["dprime"].round(2), bool(modes.is_converged.all())
    (array([2.09]), True)
    """
    counts = np.ascontiguousarray(counts, dtype=float)
    middle, precision = layout.join(centre), layout.join(spread) ** -2.0
    theta = starting_points(counts, middle)
    trials = counts.sum((2, 3))
    value = penalised_value(counts, theta, layout, middle, precision)
    is_moving = np.ones(len(counts), dtype=bool)
    for _ in range(ITERATIONS):
        rows = np.flatnonzero(is_moving)
        step = scoring_step(counts[rows], trials[rows], theta[rows], layout, middle, precision)
        moved, reached = climb(
            counts[rows], theta[rows], value[rows], step, layout, middle, precision
        )
        is_moving[rows] = abs(moved - theta[rows]).max(axis=1) > SMALL_STEP
        theta[rows], value[rows] = moved, reached
        if not is_moving.any():
            break
    curvature = information_of(trials, theta, layout) + np.diag(precision)
    variances = np.diagonal(np.linalg.inv(curvature), axis1=1, axis2=2)
    return CellModes(layout.split(theta), layout.split(variances), ~is_moving)


def starting_points(counts: Floats, middle: Floats) -> Floats:
    """The penalty's centre, but d′ and c from the rates, which half a trial keeps off 0 and 1."""
    responses = counts.sum(axis=3)
    false_alarms, hits = ndtri((responses[:, :, 1] + 0.5) / (responses.sum(axis=2) + 1)).T
    theta = np.tile(middle, (len(counts), 1))
    theta[:, 0], theta[:, 1] = hits - false_alarms, -(hits + false_alarms) / 2
    return theta


def scoring_step(
    counts: Floats, trials: Floats, theta: Floats, layout: Layout, middle: Floats, precision: Floats
) -> Floats:
    """Step of Fisher scoring: penalised information, inverse, times the gradient."""
    natural = natural_parameters(theta, layout)
    gradient = log_likelihood_and_gradient(counts, *natural)
    cells = len(theta)
    parts = (gradient.d, gradient.c, gradient.m, gradient.kappa, gradient.gaps, gradient.s)
    score = np.concatenate([part.reshape(cells, -1) for part in parts], axis=1)
    slopes = np.einsum("inp,in->ip", jacobian(theta, layout), score)
    slopes -= (theta - middle) * precision
    curvature = information_of(trials, theta, layout) + np.diag(precision)
    return np.linalg.solve(curvature, slopes[..., None])[..., 0]


def climb(
    counts: Floats,
    theta: Floats,
    value: Floats,
    step: Floats,
    layout: Layout,
    middle: Floats,
    precision: Floats,
) -> tuple[Floats, Floats]:
    """Where a step leads that is halved until it does not lead down."""
    best, reached = theta.copy(), value.copy()
    waiting = np.ones(len(theta), dtype=bool)
    for halving in range(HALVINGS):
        rows = np.flatnonzero(waiting)
        trial = np.clip(theta[rows] + step[rows] / 2**halving, -FARTHEST, FARTHEST)
        new = penalised_value(counts[rows], trial, layout, middle, precision)
        is_up = new >= value[rows]
        best[rows[is_up]], reached[rows[is_up]] = trial[is_up], new[is_up]
        waiting[rows[is_up]] = False
        if not waiting.any():
            break
    return best, reached


def penalised_value(
    counts: Floats, theta: Floats, layout: Layout, middle: Floats, precision: Floats
) -> Floats:
    """ℓ less the penalty, per cell."""
    value = log_likelihood_and_gradient(counts, *natural_parameters(theta, layout)).value
    return value - ((theta - middle) ** 2 * precision).sum(axis=1) / 2


def information_of(trials: Floats, theta: Floats, layout: Layout) -> Floats:
    """Expected information about the parameters of the layout."""
    by_natural = expected_information(trials, *natural_parameters(theta, layout))
    slopes = jacobian(theta, layout)
    return slopes.transpose(0, 2, 1) @ by_natural @ slopes


def natural_parameters(theta: Floats, layout: Layout) -> tuple[Floats, ...]:
    """d, c, m, κ, gaps and s of the kernel."""
    parts = layout.split(theta)
    d, c = parts["dprime"], parts["c"]
    m, kappa = d[:, None] * ratio_of(parts, layout), np.repeat(c[:, None], 2, axis=1)
    if layout.is_relative:
        kappa = kappa * ratio_of(parts, layout)
    s = np.exp(parts["log_s"]) if layout.has_s else np.ones(len(theta))
    return d.copy(), c.copy(), m, kappa, np.exp(parts["log_gap"]), s


def ratio_of(parts: Mapping[str, Floats], layout: Layout) -> Floats:
    """M of both responses, (cells, 2)."""
    meta = parts[layout.scale].reshape(-1, layout.responses)
    ratio = np.exp(meta) if layout.scale == "log_m" else meta
    return np.broadcast_to(ratio, (len(ratio), 2))


def jacobian(theta: Floats, layout: Layout) -> Floats:
    """Derivatives of the kernel's parameters, (cells, natural, parameters)."""
    parts = layout.split(theta)
    d, c, ratio = parts["dprime"], parts["c"], ratio_of(parts, layout)
    by_meta = ratio if layout.scale == "log_m" else np.ones_like(ratio)
    inner = 2 * (layout.ratings - 1)
    slopes = np.zeros((len(theta), inner + 7, theta.shape[1]))
    slopes[:, 0, 0] = slopes[:, 1, 1] = 1
    for response in range(2):
        meta = 2 + response * (layout.responses - 1)
        slopes[:, 2 + response, 0] = ratio[:, response]
        slopes[:, 2 + response, meta] = d * by_meta[:, response]
        slopes[:, 4 + response, 1] = ratio[:, response] if layout.is_relative else 1
        if layout.is_relative:
            slopes[:, 4 + response, meta] = c * by_meta[:, response]
    gap = 2 + layout.responses + np.arange(inner)
    slopes[:, 6 + np.arange(inner), gap] = np.exp(parts["log_gap"]).reshape(-1, inner)
    if layout.has_s:
        slopes[:, -1, -1] = np.exp(parts["log_s"])
    return slopes
