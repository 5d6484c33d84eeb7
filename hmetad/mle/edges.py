"""Likelihood of ratings by the edges between them, with exact curvature, compiled.

Counts of ordered categories and the edges of their areas under a normal distribution → ℓ, its
slopes and curvature. Logarithms of areas are concave in both edges, which have a tridiagonal block
of the Hessian; what moves all edges at once has a row each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled, log_area, log_tail, mills

__all__ = ["Edges", "add_row", "gather_used", "new_edges", "spread_used"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


# Where edges of ratings that nobody used stand.
UNUSED = 1e6


class Edges(NamedTuple):
    """Lower edges of categories (levels,), derivatives of ℓ by them, and of them by shifts.

    `width` is the way to the next edge, which keeps its digits where edges are close. Of `link`, k
    is by edges k and k + 1. `by` has a row for each unknown that shifts all edges.
    """

    at: Floats
    width: Floats
    slope: Floats
    curve: Floats
    link: Floats
    by: Floats


@compiled
def new_edges(levels: int, shifts: int) -> Edges:
    """Space for the edges of so many categories at most."""
    row = np.zeros((5, levels + 1))
    return Edges(row[0], row[1], row[2], row[3], row[4], np.zeros((shifts, levels + 1)))


@compiled
def set_derivatives(counts: Floats, levels: int, edges: Edges) -> float:
    """ℓ of counts given that one of the categories is the case; the last reaches to infinity.

    The first may begin at -∞.
    """
    at, width, slope, curve, link, _ = edges
    slope[:levels] = 0.0
    curve[:levels] = 0.0
    link[:levels] = 0.0
    value = total = 0.0
    lower = at[0]
    is_whole = lower == -np.inf
    mills_lower = 0.0 if is_whole else mills(abs(lower))
    log_all, hazard_all = (0.0, 0.0) if is_whole else log_tail(lower, mills_lower)
    for k in range(levels):
        n = counts[k]
        total += n
        if k == levels - 1:
            if n > 0:
                log_share, hazard = log_tail(lower, mills_lower)
                value += n * log_share
                slope[k] -= n * hazard
                curve[k] -= n * hazard * (hazard - lower)
            break
        upper = at[k + 1]
        mills_upper = mills(abs(upper))
        if n > 0 and lower == -np.inf:
            log_share, hazard = log_tail(-upper, mills_upper)
            value += n * log_share
            slope[k + 1] += n * hazard
            curve[k + 1] -= n * hazard * (hazard + upper)
        elif n > 0:
            log_share, high, tilt = log_area(lower, width[k], mills_lower, mills_upper)
            low = high - tilt
            value += n * log_share
            slope[k + 1] += n * high
            slope[k] -= n * low
            curve[k + 1] -= n * high * (upper + high)
            curve[k] += n * low * (lower - low)
            link[k] += n * low * high
        lower, mills_lower = upper, mills_upper
    if not is_whole:
        slope[0] += total * hazard_all
        curve[0] += total * hazard_all * (hazard_all - at[0])
    return value - total * log_all


@compiled
def add_row(
    counts: Floats, levels: int, scale: float, base: int, shifts: int, edges: Edges,
    slopes: Floats, bend: Floats,
) -> float:  # fmt: skip
    """Add derivatives by the unknowns, and return ℓ.

    Edges from the second on are `scale` times unknowns from `base` on, plus so many shifts by the
    last unknowns. Of minus the Hessian the lower triangle is set.
    """
    value = set_derivatives(counts, levels, edges)
    _, _, slope, curve, link, by = edges
    first = len(slopes) - shifts
    for k in range(levels):
        own = base + k - 1
        if k > 0:
            slopes[own] += scale * slope[k]
            bend[own, own] -= scale * scale * curve[k]
        if k > 1:
            bend[own, own - 1] -= scale * scale * link[k - 1]
        for i in range(shifts):
            # How the slope by edge k moves with the shift.
            moved = curve[k] * by[i, k] + link[k] * by[i, k + 1]
            if k > 0:
                moved += link[k - 1] * by[i, k - 1]
                bend[first + i, own] -= scale * moved
            slopes[first + i] += slope[k] * by[i, k]
            for j in range(i + 1):
                bend[first + i, first + j] -= moved * by[j, k]
    return value


def gather_used(counts: Floats, edges: Floats) -> tuple[Floats, Floats, Integers]:
    """Counts and edges with the ratings that somebody used first, and how many these are.

    Edges of the others rise far away.

    Counts (cells, stimulus, …, rating), edges (cells, …, rating) on the lower side of each.
    """
    used = counts.sum(axis=1) > 0
    order = np.argsort(~used, axis=-1, stable=True)
    together = np.take_along_axis(counts, np.expand_dims(order, 1), axis=-1)
    levels = used.sum(axis=-1)
    places = np.arange(counts.shape[-1])
    edges = np.take_along_axis(edges, order, axis=-1)
    return together, np.where(places < levels[..., None], edges, UNUSED * (1 + places)), levels


def spread_used(edges: Floats, counts: Floats, first: float) -> Floats:
    """Edges on the lower side of all ratings, from those of the ratings that somebody used.

    That of a rating nobody used is its neighbour's, or infinite beyond the last, and `first` below
    the first one used.
    """
    used = counts.sum(axis=1) > 0
    place, levels = used.cumsum(axis=-1) - used, used.sum(axis=-1, keepdims=True)
    last = edges.shape[-1] - 1
    spread = np.take_along_axis(edges, np.minimum(place, last), axis=-1)
    return np.where(place == 0, first, np.where(place < levels, spread, np.inf))
