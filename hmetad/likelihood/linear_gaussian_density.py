"""Log-likelihood of linear-Gaussian processes by their parameters, compiled, with its gradient.

Parameters of cells (one row per cell) and counts → log-likelihood of all cells and its gradient,
by the chain rule from the kernel's arguments.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.linear_gaussian import evaluate_cells
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.tails import compiled

__all__ = ["MOMENTS", "add_value_and_gradient", "choices", "parameter_shapes"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Criteria have no prior of their own here.
MOMENTS = ()
GAUSSIAN_NOISE, WEV, RCE, PDA, CNCB, FLEMING_DAW, IG, BOOST_AND_VISIBILITY = range(8)


def parameter_shapes(likelihood: Likelihood, ratings: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters in a cell, in the order of their columns, at K ratings."""
    return {p.name: p.shape(ratings) for p in likelihood.parameters}


def choices(likelihood: Likelihood) -> tuple[int, ...]:
    """Code of the process: its place among those that can be chosen."""
    (process,) = likelihood.choices
    return (process.values.index(likelihood.chosen["process"]),)


@compiled
def add_value_and_gradient(
    parameters: Floats, counts: Floats, choices: Integers, by_cell: Floats, gradient: Floats
) -> None:
    """Log-likelihood of every cell, added to `by_cell`; its gradient is added to `gradient`.

    Parameters
    ----------
    parameters, gradient : array, shape (cells, columns)
        Columns as in `parameter_shapes`. An empty gradient is left so.
    counts : array, shape (cells, 2, 2, K)
    choices : array of int, shape (1,)
        As `choices` gives them.
    by_cell : array, shape (cells,)
    """
    cells, inner = counts.shape[0], counts.shape[3] - 1
    # Columns: d′, c, those of the process, first gaps of both responses, other gaps.
    own = parameters.shape[1] - 2 - 2 * inner
    at_first, at_gap = 2 + own, 4 + own
    weights, slopes = np.zeros((4, cells)), np.zeros((4, 3, cells))
    theta = np.empty((cells, 2, inner))
    for i in range(cells):
        fill_weights(i, parameters, choices[0], weights, slopes)
        for r in range(2):
            side = 2.0 * r - 1.0
            place = parameters[i, 1] + side * parameters[i, at_first + r]
            theta[i, r, 0] = place
            for k in range(1, inner):
                place += side * math.exp(parameters[i, at_gap + r * (inner - 1) + k - 1])
                theta[i, r, k] = place
    is_sloped = len(gradient) > 0
    value, by_d, by_c, by_a, by_b, by_w, by_sigma, by_theta = evaluate_cells(
        counts, parameters[:, 0].copy(), parameters[:, 1].copy(), weights[0], weights[1],
        weights[2], weights[3], theta, is_sloped,
    )  # fmt: skip
    for i in range(cells):
        by_cell[i] += value[i]
        if not is_sloped:
            continue
        gradient[i, 0] += by_d[i]
        gradient[i, 1] += by_c[i]
        for j in range(own):
            gradient[i, 2 + j] += (
                by_a[i] * slopes[0, j, i]
                + by_b[i] * slopes[1, j, i]
                + by_w[i] * slopes[2, j, i]
                + by_sigma[i] * slopes[3, j, i]
            )
        for r in range(2):
            side = 2.0 * r - 1.0
            beyond = 0.0
            for k in range(inner - 1, 0, -1):
                beyond += by_theta[i, r, k] * side
                at = at_gap + r * (inner - 1) + k - 1
                gradient[i, at] += beyond * math.exp(parameters[i, at])
            beyond += by_theta[i, r, 0] * side
            gradient[i, at_first + r] += beyond
            gradient[i, 1] += beyond * side


@compiled
def fill_weights(i: int, parameters: Floats, process: int, weights: Floats, slopes: Floats) -> None:
    """Kernel's a, b, w and σ of a cell, and their derivatives by the process's parameters."""
    a, b, w, s = 1.0, 0.0, 0.0, 0.0
    if process == GAUSSIAN_NOISE:
        s = math.exp(parameters[i, 2])
        slopes[3, 0, i] = s
    elif process == RCE:
        a, w, s = 0.5, 0.25, 0.5
    elif process == PDA:
        b = math.exp(parameters[i, 2])
        s = math.sqrt(b)
        slopes[1, 0, i], slopes[3, 0, i] = b, s / 2
    elif process == FLEMING_DAW:
        t, rho = math.exp(parameters[i, 2]), math.tanh(parameters[i, 3])
        rest = 1 / math.cosh(parameters[i, 3])
        a, b, s = rho * t, 1 - rho * t, t * rest
        slopes[0, 0, i], slopes[1, 0, i], slopes[3, 0, i] = a, -a, s
        slopes[0, 1, i], slopes[1, 1, i] = t * rest * rest, -t * rest * rest
        slopes[3, 1, i] = -s * rho
    elif process == IG:
        a, b, s = 0.0, math.exp(parameters[i, 2]), 1.0
        slopes[1, 0, i] = b
    else:
        # Of wev, cncb and both together: shares of visibility and boost, then the noise.
        boost = w = 0.0
        last = 3
        if process != WEV:
            boost = 1 / (1 + math.exp(-parameters[i, 2]))
        if process != CNCB:
            at = 2
            if process == BOOST_AND_VISIBILITY:
                at, last = 3, 4
            w = 1 / (1 + math.exp(-parameters[i, at]))
            by_logit = w * (1 - w)
            slopes[0, at - 2, i], slopes[1, at - 2, i] = -(1 - boost) * by_logit, -boost * by_logit
            slopes[2, at - 2, i] = by_logit
        if process != WEV:
            by_logit = boost * (1 - boost) * (1 - w)
            slopes[0, 0, i], slopes[1, 0, i] = -by_logit, by_logit
        s = math.exp(parameters[i, last])
        slopes[3, last - 2, i] = s
        a, b = (1 - w) * (1 - boost), (1 - w) * boost
    weights[0, i], weights[1, i], weights[2, i], weights[3, i] = a, b, w, s
