"""The correlation of two effects of groups, from a fit in which they are independent.

Model, cells of each group and the names of two effects → log likelihood ratio (draw, correlation);
that table → posterior draws of the correlation.

Points of a group's coefficients come from t distributions for several correlations at once, and are
weighted for each correlation of the grid. Only the population's density changes between these.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from hmetad.bayes.group_integrals import (
    Integral,
    each_group,
    integral_of,
    proposed,
    t_log_density,
)
from hmetad.bayes.group_parts import Model
from hmetad.bayes.pareto import smooth_weights

__all__ = ["correlation_table", "draw_correlations"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Fisher's z of the correlations: up to .993.
STEP = 0.1
GRID = STEP * np.arange(-28, 29)
# Points come from distributions with these correlations, so many of each.
ANCHORS, POINTS = (-0.8, 0.0, 0.8), 40


def correlation_table(
    model: Model, places: Sequence[Integers], pair: tuple[str, str], seed: int
) -> Floats:
    """Log likelihood of all groups with each correlation less that without, (draws, grid)."""
    found = each_group(
        lambda cells, rng: group_ratios(integral_of(model, cells), pair, rng),
        {str(k): cells for k, cells in enumerate(places)},
        seed,
    )
    return np.sum(found, axis=0)


def group_ratios(integral: Integral, pair: tuple[str, str], rng: np.random.Generator) -> Floats:
    """Log likelihood of one group with each correlation less that without, (draws, grid)."""
    own = np.array([place_of(integral, name) for name in pair])
    sd = np.hstack([part.sd for part in integral.parts])[:, own]
    proposals = [
        integral.proposal(with_correlation(integral.population.precision, own, sd, rho))
        for rho in ANCHORS
    ]
    points = np.concatenate([proposed(*one, POINTS, rng)[0] for one in proposals], axis=1)
    log_q = [t_log_density(scores_of(points, *one), one[1]) for one in proposals]
    log_w = integral.log_joint(points) - logsumexp(log_q, axis=0)
    log_w -= logsumexp(log_w, axis=1, keepdims=True)
    u, v = np.moveaxis((points - integral.population.mean[:, None])[..., own] / sd[:, None], -1, 0)
    ratios = [logsumexp(log_w + log_ratio(u, v, rho), axis=1) for rho in np.tanh(GRID)]
    return np.stack(ratios, axis=1)


def place_of(integral: Integral, name: str) -> int:
    """Place of an effect among the coefficients of a group."""
    start = 0
    for part in integral.parts:
        if part.name == name:
            return start
        start += part.mean.shape[1]
    raise AssertionError(f"no effect {name}")


def with_correlation(precision: Floats, own: Integers, sd: Floats, rho: float) -> Floats:
    """Precisions of coefficients of which two, so far independent, are correlated."""
    changed, (i, j) = precision.copy(), own
    changed[:, own, own] = 1 / (sd**2 * (1 - rho**2))
    changed[:, i, j] = changed[:, j, i] = -rho / (sd.prod(axis=1) * (1 - rho**2))
    return changed


def scores_of(points: Floats, centre: Floats, axes: Floats) -> Floats:
    """Points in units of the axes around the centre."""
    away = (points - centre[:, None]).transpose(0, 2, 1)
    return np.linalg.solve(axes, away).transpose(0, 2, 1)


def log_ratio(u: Floats, v: Floats, rho: float) -> Floats:
    """Log density of two standard normal numbers with a correlation less that without."""
    left = 1 - rho**2
    ratio: Floats = -(rho**2 * (u**2 + v**2) - 2 * rho * u * v) / (2 * left) - np.log(left) / 2
    return ratio


def draw_correlations(
    table: Floats, shape: tuple[int, int], eta: float, seed: int
) -> tuple[Floats, float]:
    """Draws of the correlation, and the Pareto k of the weights of the rows.

    Parameters
    ----------
    table : array, shape (draws, grid)
        As `correlation_table` returns it.
    shape : tuple of int
        Of the draws.
    eta : float
        Of the prior LKJ(η), p(ρ) ∝ (1 − ρ²)^(η − 1).
    seed : int

    Returns
    -------
    tuple of array and float

    Examples
    --------
    >>> draws, _ = draw_correlations(np.zeros((100, len(GRID))), (4, 1000), eta=1.0, seed=1)
    >>> draws.shape, bool(abs(draws.std() - 3**-0.5) < 0.02)
    ((4, 1000), True)
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    # By Fisher's z there is one more factor 1 − ρ².
    log_p = table - 2 * eta * np.log(np.cosh(GRID))
    log_rows = logsumexp(log_p, axis=1)
    weights, k = smooth_weights(log_rows)
    number = shape[0] * shape[1]
    rows = systematic(np.exp(weights), number, rng)
    cumulative = np.exp(log_p - log_rows[:, None]).cumsum(axis=1)
    uniform = rng.random(number) * cumulative[rows, -1]
    cells = (cumulative[rows] < uniform[:, None]).sum(axis=1).clip(max=len(GRID) - 1)
    z = GRID[cells] + STEP * (rng.random(number) - 0.5)
    return rng.permutation(np.tanh(z)).reshape(shape), k


def systematic(weights: Floats, number: int, rng: np.random.Generator) -> Integers:
    """Places, as many times each as its weight says, but for rounding."""
    edges = weights.cumsum()
    at = (np.arange(number) + rng.random()) / number * edges[-1]
    return np.searchsorted(edges, at).clip(max=len(weights) - 1)
