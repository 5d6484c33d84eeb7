"""Minimum of DMC's loss, given d′ and c: meta-d′ and type-2 criteria of every cell.

Proportions of the ratings and type-1 estimates (arrays over cells) → `Least`. The loss L is the
sum of squared differences between predicted and observed proportions. Source: Wang et al. (2025).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.mle.dmc_solve import minimise
from hmetad.mle.maximum import Type1, parts_of, starting_edges
from hmetad.mle.newton import FARTHEST
from hmetad.threads import in_threads

__all__ = ["EMPTY", "Least", "is_informative", "limiting_loss", "minimum", "ratings_used"]

type Floats = NDArray[np.float64]
type Truths = NDArray[np.bool_]

# Where a cell begins: meta-d′, and the gap between criteria; without one, criteria that give the
# mean proportions of right and wrong responses.
STARTS = ((0.0, None), (1.5, 0.5), (5.0, None), (6.0, 0.5))
# Losses that differ by less are the same; a share, gap or meta-d′ below EMPTY is none.
SAME_LOSS, EMPTY = 1e-14, 1e-9


@dataclass(frozen=True)
class Least:
    """Minimum of every cell; NaN where there is none.

    Parameters
    ----------
    m, loss, slope : array, shape (cells,)
        meta-d′, L, and the largest first derivative left.
    edges : array, shape (cells, 2, K)
        Distances of the criteria from κ, on the inner side of each rating.
    """

    m: Floats
    loss: Floats
    slope: Floats
    edges: Floats


def minimum(shares: Floats, type1: Type1, upper: Floats) -> Least:
    """Minimum over meta-d′ from 0 to `upper` and the criteria, best of several starts."""
    best = np.full((len(shares), 3), np.nan)
    edges = np.full((*shares.shape[:1], 2, shares.shape[-1]), np.nan)
    rows = np.flatnonzero(np.isfinite(type1.c) & is_informative(shares).any(axis=1))
    best[rows, 0] = np.inf

    def work(part: NDArray[np.int64]) -> None:
        own, kappa, top = shares[part], type1.c[part], upper[part]
        found, found_edges, bottom = best[part], edges[part], np.zeros_like(top)
        for meta_d, gap in STARTS:
            m = np.minimum(meta_d, top)
            begin = beginning(own, m, kappa, gap)
            minimise(own, kappa, bottom, top, m, begin, found, found_edges)
        best[part], edges[part] = found, found_edges

    in_threads(work, parts_of(rows))
    loss, m, slope = best.T
    m = np.where(m < EMPTY, 0.0, m)
    is_far = (upper == FARTHEST) & ((loss >= limiting_loss(shares) - SAME_LOSS) | (m >= FARTHEST))
    m, loss, slope = (np.where(is_far, np.nan, values) for values in (m, loss, slope))
    edges = np.where(is_far[:, None, None], np.nan, far_to_infinity(edges, m, type1.c))
    return Least(m, loss, slope, edges)


def beginning(shares: Floats, m: Floats, kappa: Floats, gap: float | None) -> Floats:
    """Distances of criteria from κ to start from, (cells, 2, K)."""
    cells, ratings = len(shares), shares.shape[-1]
    if gap is not None:
        return np.tile(gap * np.arange(ratings), (cells, 2, 1))
    # As of 100 trials, to which half a trial more is added in each rating.
    mean = np.broadcast_to(100 * shares.mean(axis=1, keepdims=True), shares.shape)
    return starting_edges(mean, m, kappa, np.ones(cells))


def is_informative(shares: Floats) -> Truths:
    """Whether a response has information on meta-d′: given right and wrong, with two ratings."""
    has_both = (shares.sum(axis=-1) > 0).all(axis=1)
    return has_both & (ratings_used(shares).sum(axis=-1) > 1)


def ratings_used(shares: Floats) -> Truths:
    """Whether somebody used a rating with a response, (cells, response, rating)."""
    return shares.sum(axis=1) > 0


def limiting_loss(shares: Floats) -> Floats:
    """Infimum of L as meta-d′ grows without bound.

    Wrong responses then have the ratings up to some j, right ones those from j on, in any
    proportion that sums to 1: what is observed elsewhere goes to them in equal parts.
    """
    total = np.zeros(len(shares))
    used = ratings_used(shares)
    for r in range(2):
        right, wrong = shares[:, r, r], shares[:, 1 - r, r]
        up_to = np.maximum(used[:, r].cumsum(axis=1), 1)
        from_here = up_to[:, -1:] - up_to + 1
        losses = sum_before(right) ** 2 / from_here + sum_before(right**2)
        # Of wrong responses, the same from the other end.
        wrong = wrong[:, ::-1]
        losses += (sum_before(wrong) ** 2)[:, ::-1] / up_to + sum_before(wrong**2)[:, ::-1]
        least = np.where(used[:, r], losses, np.inf).min(axis=1)
        total += np.where(used[:, r].any(axis=1), least, 0.0)
    return total


def sum_before(values: Floats) -> Floats:
    """Sum of what stands before each place of a row."""
    return values.cumsum(axis=1) - values


def far_to_infinity(edges: Floats, m: Floats, kappa: Floats) -> Floats:
    """Edges with those at infinity that nothing is predicted to lie beyond."""
    side = np.array([-1.0, 1.0])
    # More of the right responses than of the wrong ones lie beyond an edge.
    first = (side * kappa[:, None] - m[:, None] / 2)[..., None]
    return np.where(ndtr(-first - edges) < EMPTY * ndtr(-first), np.inf, edges)
