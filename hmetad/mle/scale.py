"""The ratio s = σ_S1/σ_S2 of every cell by maximum likelihood of the ratings.

Counts and z of the type-1 rates (arrays over cells) → s, and standard errors of all estimates. The
two responses alone carry no information on s: d′ and c fit them exactly, whatever s is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_minimum

from hmetad.mle.maximum import Fitted, Zs, fitted_at, rows_of

__all__ = ["Scale", "errors_with_scale", "most_likely_scale"]

type Floats = NDArray[np.float64]

# log s is sought within these limits: the larger SD is up to 4.5 times the smaller.
GRID = np.linspace(-1.5, 1.5, 9)
STEP = 0.01  # of log s and of z, in differences


@dataclass(frozen=True)
class Scale:
    """log s of every cell, and whether it is an end of the range that was searched."""

    log_s: Floats
    is_at_bound: NDArray[np.bool_]


def most_likely_scale(
    counts: Floats, z: Zs, meta_criterion: str, responses: tuple[tuple[bool, bool], ...]
) -> Scale:
    """log s that maximises the likelihood of the ratings, over meta-d′ and the criteria too.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
    z : Zs
        Of the type-1 rates.
    meta_criterion, responses
        As in `fitted_at`.

    Returns
    -------
    Scale
        NaN where no s on a grid gives a maximum.
    """

    def cost(log_s: Floats, index: Floats) -> Floats:
        rows = index.astype(np.int64)
        at = fitted_at(counts[rows], rows_of(z, rows), np.exp(log_s), meta_criterion, responses)
        return np.where(np.isfinite(at.value), -at.value, np.inf)

    cells = np.arange(len(counts), dtype=float)
    costs = np.stack([cost(np.full(len(counts), x), cells) for x in GRID], axis=1)
    best = costs.argmin(axis=1)
    is_found = np.isfinite(costs.min(axis=1))
    inner = np.clip(best, 1, len(GRID) - 2)
    is_inside = is_found & (best == inner)
    log_s = np.where(is_found, GRID[best], np.nan)
    rows = np.flatnonzero(is_inside)
    if len(rows):
        bracket = tuple(GRID[inner[rows] + step] for step in (-1, 0, 1))
        # Its type stubs allow functions of one argument only.
        search: Callable[..., Any] = find_minimum
        log_s[rows] = search(cost, bracket, args=(cells[rows],)).x
    return Scale(log_s, is_found & ~is_inside)


def errors_with_scale(
    counts: Floats,
    z: Zs,
    scale: Scale,
    meta_criterion: str,
    responses: tuple[tuple[bool, bool], ...],
) -> dict[str, Floats]:
    r"""Standard errors where s is estimated too, by name.

    With ℓ maximised over meta-d′ and criteria, s moves with the z of the two rates as
    −ℓ_sz/ℓ_ss; every estimate moves with z and with s, and has the error that its own curvature
    leaves. Differences stand for derivatives.
    """

    def at(log_s: int = 0, hits: int = 0, false_alarms: int = 0) -> Fitted:
        moved = replace(
            z, hits=z.hits + STEP * hits, false_alarms=z.false_alarms + STEP * false_alarms
        )
        s = np.exp(scale.log_s + STEP * log_s)
        return fitted_at(counts, moved, s, meta_criterion, responses)

    up, down, here = at(log_s=1), at(log_s=-1), at()
    own = own_variances(here)
    bend = (up.value + down.value - 2 * here.value) / STEP**2
    is_free = ~scale.is_at_bound
    var_s = np.where(is_free, -1 / np.where(bend < 0, bend, np.nan), 0.0)
    by_s = slopes(up, down)
    total = {name: own[name] + by_s[name] ** 2 * like(var_s, by_s[name]) for name in own}
    total["log_s"] = var_s.copy()
    for name, variance in (("hits", z.var_hits), ("false_alarms", z.var_false_alarms)):
        by_z = slopes(at(**{name: 1}), at(**{name: -1}))
        cross = (
            at(log_s=1, **{name: 1}).value
            - at(log_s=1, **{name: -1}).value
            - at(log_s=-1, **{name: 1}).value
            + at(log_s=-1, **{name: -1}).value
        ) / (4 * STEP**2)
        s_by_z = np.where(is_free, cross * var_s, 0.0)
        total["log_s"] += s_by_z**2 * variance
        for key, by in by_s.items():
            shift = by_z[key] + by * like(s_by_z, by)
            total[key] += shift**2 * like(variance, shift)
    total["log_s"] = np.where(is_free, total["log_s"], np.nan)
    return {name: np.sqrt(values) for name, values in total.items()}


def estimates_of(fitted: Fitted) -> dict[str, Floats]:
    """Quantities that get standard errors, by name."""
    d, m = fitted.type1.d, fitted.m
    safe_d = np.where(d == 0, np.nan, d)[:, None]
    return {"dprime": d, "c": fitted.type1.c, "meta_d": m, "m_ratio": m / safe_d}


def own_variances(fitted: Fitted) -> dict[str, Floats]:
    """Variance that the ratings alone leave, given s and the type-1 rates."""
    d = fitted.type1.d
    safe_d = np.where(d == 0, np.nan, d)[:, None]
    var_m = 1 / np.stack([side.information for side in fitted.sides], axis=-1)
    none = np.zeros_like(d)
    return {"dprime": none, "c": none, "meta_d": var_m, "m_ratio": var_m / safe_d**2}


def slopes(plus: Fitted, minus: Fitted) -> dict[str, Floats]:
    """Central differences of all the estimates."""
    right, left = estimates_of(plus), estimates_of(minus)
    return {name: (right[name] - left[name]) / (2 * STEP) for name in right}


def like(per_cell: Floats, values: Floats) -> Floats:
    """Values per cell, to multiply those with a last dim of responses."""
    return per_cell.reshape(-1, *[1] * (values.ndim - 1))
