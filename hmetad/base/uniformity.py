"""Are ranks uniform? Their empirical distribution function, with bands and a test.

Ranks (simulations, quantities) → p-values, and bounds that the function of uniform ranks stays
within at all its points together. Source: Säilynoja et al. (2022), for discrete ranks.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

__all__ = ["cumulative_ranks", "rank_band", "uniformity"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

NULL_SIMULATIONS, AT_ONCE = 20_000, 1000


def uniformity(ranks: Integers, number: int, *, seed: int = 0) -> tuple[Floats, Floats]:
    r"""Test whether ranks are uniform, by their empirical distribution function.

    Parameters
    ----------
    ranks : array of int, shape (n, quantities)
        From 0 to `number`, of n simulations.
    number : int
        Draws among which the truths were ranked.
    seed : int, optional
        Of the simulated ranks that the p-value is read from.

    Returns
    -------
    tuple of array, shape (quantities,)
        Statistic γ and its p-value.

    Notes
    -----
    With :math:`R_r` ranks of at most r, binomial with :math:`p_r = (r + 1)/(number + 1)`,

    .. math:: \gamma = 2 \min_r \min\{P(X \le R_r), P(X \ge R_r)\}

    that is, the level at which the first point of the function would touch its pointwise band.
    Source: Säilynoja et al. (2022), for discrete ranks.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> fair, heaped = rng.integers(0, 100, (200, 1)), rng.integers(20, 80, (200, 1))
    >>> [bool(uniformity(one, 99)[1][0] > 0.05) for one in (fair, heaped)]
    [True, False]
    """
    simulations = len(ranks)
    statistic = smallest_tail(cumulative_ranks(ranks, number), tails_of(simulations, number))
    under_null = null_statistics(simulations, number, seed)
    as_small = np.searchsorted(under_null, statistic, side="right")
    return statistic, (as_small + 1) / (NULL_SIMULATIONS + 1)


def rank_band(
    simulations: int, number: int, prob: float = 0.95, *, seed: int = 0
) -> tuple[Integers, Integers]:
    r"""Bounds of the numbers of ranks that are at most 0, 1, 2…, all points together.

    Parameters
    ----------
    simulations : int
        n, the number of data sets.
    number : int
        Draws among which the truths were ranked.
    prob : float
        Probability that the function of uniform ranks is within the bounds at every point.
    seed : int, optional
        Of the simulated ranks that the bounds are read from.

    Returns
    -------
    tuple of array of int, shape (number,)
        Smallest and largest number of ranks of at most r, for r from 0 to `number` - 1.

    Notes
    -----
    At each r these are the counts R whose pointwise tail probability
    :math:`2 \min\{P(X \le R), P(X \ge R)\}` is at least the quantile 1 - `prob` of the γ of
    `uniformity` under uniform ranks. Source: Säilynoja et al. (2022).

    Examples
    --------
    >>> low, high = rank_band(100, 3)
    >>> [(int(a), int(b)) for a, b in zip(low, high, strict=True)]
    [(15, 35), (39, 61), (65, 85)]
    """
    under_null = null_statistics(simulations, number, seed)
    critical = under_null[int((1 - prob) * len(under_null))]
    is_inside = 2 * tails_of(simulations, number) >= critical
    return is_inside.argmax(axis=0), simulations - is_inside[::-1].argmax(axis=0)


def cumulative_ranks(ranks: Integers, number: int) -> Integers:
    """Count ranks of at most 0, 1, 2… in every column.

    Parameters
    ----------
    ranks : array of int, shape (n, quantities)
        From 0 to `number`.
    number : int

    Returns
    -------
    array of int, shape (quantities, number)

    Examples
    --------
    >>> cumulative_ranks(np.array([[0, 2], [1, 2]]), 2)
    array([[1, 2],
           [0, 0]])
    """
    columns = ranks.shape[1]
    flat = ranks + (number + 1) * np.arange(columns)
    histogram = np.bincount(flat.ravel(), minlength=columns * (number + 1))
    return histogram.reshape(columns, number + 1).cumsum(axis=1)[:, :-1]


@lru_cache(maxsize=8)
def null_statistics(simulations: int, number: int, seed: int) -> Floats:
    """γ of uniform ranks, sorted."""
    rng, tails = np.random.default_rng(seed), tails_of(simulations, number)
    parts = [
        smallest_tail(
            cumulative_ranks(rng.integers(0, number + 1, (simulations, AT_ONCE)), number), tails
        )
        for _ in range(NULL_SIMULATIONS // AT_ONCE)
    ]
    return np.sort(np.concatenate(parts))


@lru_cache(maxsize=8)
def tails_of(simulations: int, number: int) -> Floats:
    """Smaller tail probability of every count (rows) of ranks of at most r (columns)."""
    shares = (np.arange(number) + 1) / (number + 1)
    seen = np.arange(simulations + 1)[:, None]
    return np.minimum(binom.cdf(seen, simulations, shares), binom.sf(seen - 1, simulations, shares))


def smallest_tail(at_most: Integers, tails: Floats) -> Floats:
    """γ of cumulative counts (quantities, ranks)."""
    return np.minimum(1.0, 2 * tails[at_most, np.arange(at_most.shape[1])].min(axis=1))
