"""Log-likelihood of the meta-d′ models by their parameters, compiled, with its gradient.

Parameters of cells (one row per cell) and counts → log-likelihood of all cells and its gradient,
by the chain rule from the kernel's arguments. HMeta-d's prior of sorted criteria is added here,
since it rests on κ.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.kernel import evaluate_cells
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.tails import compiled, log_tail, mills

__all__ = ["MOMENTS", "add_value_and_gradient", "choices", "parameter_shapes"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Mean and SD of sorted criteria.
MOMENTS = ("criteria_mu", "criteria_sigma")
SCALES = ("log_m", "m", "meta_d")
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def parameter_shapes(likelihood: Likelihood, ratings: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters in a cell, in the order of their columns.

    Parameters
    ----------
    likelihood : Likelihood
    ratings : int
        K.

    Returns
    -------
    dict of str to tuple of int
    """
    scale = likelihood.chosen["scale"]
    shapes = {
        "dprime": (),
        "c": (),
        scale: likelihood.parameter(scale).shape(ratings),
        "log_s": (),
        "log_gap": (2, ratings - 1),
    }
    return shapes | dict.fromkeys(MOMENTS, ())


def choices(likelihood: Likelihood) -> tuple[int, int, int]:
    """Codes of the scale of M, of κ's rule and of the prior of criteria.

    Parameters
    ----------
    likelihood : Likelihood

    Returns
    -------
    tuple of int
        Place of the scale among log_m, m, meta_d; 1 where κ = M·c, else 0; 1 where criteria are
        sorted draws of a normal, else 0.
    """
    chosen = likelihood.chosen
    is_relative = chosen["meta_criterion"] == "relative"
    is_sorted = chosen["criteria"] != "log_gap"
    return SCALES.index(chosen["scale"]), int(is_relative), int(is_sorted)


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
    choices : array of int
        As `choices` gives them.
    by_cell : array, shape (cells,)
    """
    cells, levels = counts.shape[0], counts.shape[3]
    gaps_count = 2 * (levels - 1)
    own = parameters.shape[1] - 5 - gaps_count
    scale, is_relative, is_sorted = choices[0], choices[1], choices[2]
    at_s, at_gap = 2 + own, 3 + own
    d, c, m, kappa, gaps, s = kernel_arguments(parameters, levels, own, scale, is_relative)
    is_sloped = len(gradient) > 0
    value, by_d, by_c, by_m, by_kappa, by_gaps, by_s = evaluate_cells(
        counts, d, c, m, kappa, gaps, s, is_sloped
    )
    slopes = gradient if is_sloped else np.empty_like(parameters)
    for i in range(cells):
        by_cell[i] += value[i]
        if is_sorted:
            by_cell[i] += add_sorted_criteria(
                i, parameters, kappa, gaps, at_gap, slopes, by_kappa, by_gaps
            )
        if not is_sloped:
            continue
        for r in range(2):
            column = 2 + (r if own == 2 else 0)
            ratio = parameters[i, column]
            if scale == 2:
                # meta-d′ is the parameter, and M follows from it.
                gradient[i, column] += by_m[i, r]
                if is_relative:
                    gradient[i, column] += by_kappa[i, r] * c[i] / d[i]
                    by_d[i] -= by_kappa[i, r] * c[i] * ratio / (d[i] * d[i])
                    by_c[i] += by_kappa[i, r] * ratio / d[i]
                else:
                    by_c[i] += by_kappa[i, r]
            else:
                if scale == 0:
                    ratio = math.exp(ratio)
                by_ratio = by_m[i, r] * d[i]
                by_d[i] += by_m[i, r] * ratio
                if is_relative:
                    by_ratio += by_kappa[i, r] * c[i]
                    by_c[i] += by_kappa[i, r] * ratio
                else:
                    by_c[i] += by_kappa[i, r]
                gradient[i, column] += by_ratio * ratio if scale == 0 else by_ratio
            for k in range(levels - 1):
                gradient[i, at_gap + r * (levels - 1) + k] += by_gaps[i, r, k] * gaps[i, r, k]
        gradient[i, 0] += by_d[i]
        gradient[i, 1] += by_c[i]
        gradient[i, at_s] += by_s[i] * s[i]


@compiled
def kernel_arguments(
    parameters: Floats, levels: int, own: int, scale: int, is_relative: int
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """d′, c, meta-d′, κ, gaps and s of every cell, from parameters as in `parameter_shapes`."""
    cells, at_gap = len(parameters), 3 + own
    d, c, s = np.empty(cells), np.empty(cells), np.empty(cells)
    m, kappa, gaps = np.empty((cells, 2)), np.empty((cells, 2)), np.empty((cells, 2, levels - 1))
    for i in range(cells):
        d[i], c[i], s[i] = parameters[i, 0], parameters[i, 1], math.exp(parameters[i, at_gap - 1])
        for r in range(2):
            ratio = parameters[i, 2 + (r if own == 2 else 0)]
            if scale == 0:
                ratio = math.exp(ratio)
            elif scale == 2:
                ratio /= d[i]
            m[i, r] = ratio * d[i]
            kappa[i, r] = ratio * c[i] if is_relative else c[i]
            for k in range(levels - 1):
                gaps[i, r, k] = math.exp(parameters[i, at_gap + r * (levels - 1) + k])
    return d, c, m, kappa, gaps, s


@compiled
def add_sorted_criteria(
    i: int,
    parameters: Floats,
    kappa: Floats,
    gaps: Floats,
    at_gap: int,
    gradient: Floats,
    by_kappa: Floats,
    by_gaps: Floats,
) -> float:
    """Log density of sorted criteria beyond κ, of one cell, as `sorted_normal_logp` has it."""
    count = gaps.shape[2]
    at_mu = at_gap + 2 * count
    mu, sigma = parameters[i, at_mu], parameters[i, at_mu + 1]
    total, by_mu, by_sigma = 0.0, 0.0, 0.0
    for r in range(2):
        outward = 2.0 * r - 1.0
        # Mirrored for response S1, criteria lie above their start.
        start = outward * kappa[i, r] - mu
        below = start / sigma
        log_beyond, hazard = log_tail(below, mills(abs(below)))
        total += math.lgamma(count + 1.0) - count * log_beyond
        by_start = count * hazard / sigma
        by_sigma -= count * hazard * below / sigma
        score, place = 0.0, start
        for k in range(count):
            place += gaps[i, r, k]
            score = place / sigma
            total += -score * score / 2 - math.log(sigma) - LOG_SQRT_2PI
            total += parameters[i, at_gap + r * count + k]
            gradient[i, at_gap + r * count + k] += 1.0
            by_start -= score / sigma
            by_sigma += (score * score - 1) / sigma
            for j in range(k + 1):
                by_gaps[i, r, j] -= score / sigma
        by_mu -= by_start
        by_kappa[i, r] += by_start * outward
    gradient[i, at_mu] += by_mu
    gradient[i, at_mu + 1] += by_sigma
    return total
