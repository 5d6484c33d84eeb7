"""Importance weights: how far they can be trusted, weights that can be trusted further, and draws.

Logarithms of importance ratios → smoothed log weights and the shape k of their largest ones;
weights → places of draws. ArviZ smooths as well, and takes seconds to import.
Source: Vehtari et al. (2024); Zhang & Stephens (2009) for the fit of the Pareto distribution.
"""

import math

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Largest ratios that are smoothed: this share, at most this number of square roots of all.
TAIL_SHARE, TAIL_ROOTS = 0.2, 3.0
# Weight of a shape of 1/2 in the estimate of k, in observations.
PRIOR_WEIGHT, PRIOR_SHAPE = 10, 0.5
# Grid of the fit: points beyond the square root of the number of values, and how wide it is.
GRID_POINTS, GRID_WIDTH = 30, 3.0


def smooth_weights(log_ratios: Floats) -> tuple[Floats, float]:
    r"""Log weights whose largest are replaced by what a Pareto distribution expects of them.

    Parameters
    ----------
    log_ratios : array, shape (points,)
        At least 25. Logarithms of target over proposal, up to a constant.

    Returns
    -------
    tuple of array, shape (points,), and float
        Log weights that add up to 1 when exponentiated, and k: above .5 the ratios have no
        finite variance; infinite or NaN where the largest ratios are of no such distribution.

    Notes
    -----
    The :math:`M = \min(n/5, 3\sqrt n)` largest ratios above a cutoff u are replaced by the
    quantiles :math:`(i - 1/2)/M` of the generalised Pareto distribution fitted to them; none
    becomes larger than the largest raw ratio.

    Examples
    --------
    >>> weights, k = smooth_weights(np.random.default_rng(1).normal(size=4000))
    >>> bool(abs(np.exp(weights).sum() - 1) < 1e-12), k < 0.5
    (True, True)
    """
    weights = np.asarray(log_ratios, dtype=float) - np.max(log_ratios)
    size = len(weights)
    tail = int(min(TAIL_SHARE * size, TAIL_ROOTS * math.sqrt(size)))
    # The tail in rising order, and the largest below it.
    order = np.argpartition(weights, size - tail - 1)[size - tail - 1 :]
    order = order[np.argsort(weights[order])]
    cutoff, largest = math.exp(weights[order[0]]), order[1:]
    k, sigma = fit_pareto(np.exp(weights[largest]) - cutoff)
    if math.isfinite(k):
        probs = (np.arange(tail) + 0.5) / tail
        quantiles = cutoff + sigma * np.expm1(-k * np.log1p(-probs)) / k
        weights[largest] = np.minimum(np.log(quantiles), 0.0)
    top = weights.max()
    return weights - top - math.log(np.exp(weights - top).sum()), k


def fit_pareto(values: Floats) -> tuple[float, float]:
    """Shape and scale of the generalised Pareto distribution of sorted positive values."""
    size = len(values)
    quartile = values[int(size / 4 + 0.5) - 1]
    if quartile <= values[0]:
        return math.nan, math.nan
    points = GRID_POINTS + int(math.sqrt(size))
    grid = 1 - np.sqrt(points / (np.arange(points) + 0.5))
    grid = grid / (GRID_WIDTH * quartile) + 1 / values[-1]
    shapes = np.log1p(-grid[:, None] * values).mean(axis=1)
    profile = size * (np.log(-grid / shapes) - shapes - 1)
    share = np.exp(profile - profile.max())
    share /= share.sum()
    share[share < 10 * np.finfo(float).eps] = 0
    theta = float((grid * share).sum() / share.sum())
    shape = float(np.log1p(-theta * values).mean())
    sigma = -shape / theta
    shape = (size * shape + PRIOR_WEIGHT * PRIOR_SHAPE) / (size + PRIOR_WEIGHT)
    return (math.inf, math.nan) if math.isnan(shape) else (shape, sigma)


def places_by_weight(weights: Floats, number: int, rng: np.random.Generator) -> Integers:
    """Places in rising order, each as often as its weight says, within one (systematic draws)."""
    reached = np.cumsum(weights)
    steps = (np.arange(number) + rng.random()) / number * reached[-1]
    return np.minimum(np.searchsorted(reached, steps, side="right"), len(weights) - 1)
