"""DMC: the meta-d′ whose rating proportions are nearest to those observed, after Wang et al.

Count table (cell, stimulus, response, rating) → Dataset (cell). d′ and c come from the type-1
table; then meta-d′ and the criteria minimise a sum of squares. Source: Wang et al. (2025).

With t the distance of an edge from κ and G(t) the share of a response that lies beyond it, a rating
has G at its inner edge less G at its outer one. What a rating is missed by is so the difference
between its two edges, and half of the loss's Hessian by the edges is tridiagonal. The unknowns are
the logarithms of the gaps between edges, which keep their order even where a gap closes, and
meta-d′, between bounds.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.base.arguments import check_inputs
from hmetad.base.notice import copy_notices, notices_where
from hmetad.base.threads import in_threads
from hmetad.counts.checks import TYPE1_DIMS
from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.tails import log_tail, mills
from hmetad.measures.sdt import Correction, added_per_response
from hmetad.mle.estimates import label_estimates, moved_by_correction, table_of
from hmetad.mle.maximum import (
    Type1,
    gather_used,
    parts_of,
    spread_used,
    starting_edges,
    type1_of,
    zs_of,
)
from hmetad.mle.newton import FARTHEST
from hmetad.mle.search import Rule, best_of, maximise_compiled

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Truths = NDArray[np.bool_]

SLOPE = 1e-10
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


@check_inputs(skip=("counts",))
def fit_dmc(
    counts: xr.DataArray, *, bounded: bool = False, correction: Correction = "none"
) -> xr.Dataset:
    r"""Least-squares meta-d′, M and type-2 criteria by DMC, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), K ≥ 2; further dims are kept.
        Counts may be non-integer.
    bounded : bool, optional
        Whether to keep M within [0, 1], if d′ > 0.
    correction : {"none", "loglinear", "cell"} or float, optional
        Amount added to the counts, as in `sdt`; here every rating gets an equal part of it.

    Returns
    -------
    Dataset
        Per cell: ``dprime``, ``c``, ``meta_d`` and ``criteria`` (response, criterion), in SD of
        the evidence; ``m_ratio``, NaN where d′ ≤ 0; ``loss`` (squared proportions);
        ``converged``. The criterion of an unused rating, or of a rating that the best fit never
        predicts, equals its neighbour, or is infinite beyond the last.

    Raises
    ------
    InputError
        If the table has no stimulus or no ratings, or an argument is invalid.

    Notes
    -----
    With κ = c, meta-d′ and the ordered criteria minimise

    .. math:: L = \sum_{s,r,k} \left(\hat P(k \mid s, r) - P(k \mid s, r)\right)^2

    where P is the observed proportion of rating k among responses r to stimulus s. All rows have
    equal weight, whatever their number of trials; a row without trials is excluded, even if a
    correction would fill it. A rating that is never used with a response is excluded too. The
    paper's sum includes it; predicting it then lowers the sum, which biases meta-d′.

    The constraint, that accuracy strictly rises with the rating on each side of κ, holds for
    ordered criteria exactly when meta-d′ > 0. So if L has its minimum over meta-d′ ≥ 0 at 0, no
    meta-d′ inside the constraint is best: ``meta_d`` is then 0, with the loss and the criteria of
    this limit, and a notice ``"meta-d-zero"``. If L decreases as meta-d′ grows without bound,
    meta-d′ is NaN, with a notice ``"meta-d-unbounded"``. The best of several starts is kept; for
    atypical tables there may be a lower minimum.

    The paper prints argmax instead of argmin. Its published code differs from the paper: its loss
    is on cumulative type-2 rates, M is restricted to [0, 1], criteria are at least .05 apart, and κ
    is scaled.

    The Bayesian counterpart is the card ``"dmc"``: the meta-d′ model with κ = c and log M, which
    is the same constraint, with a likelihood instead of L.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> a = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
    >>> fitted = fit_dmc(a)
    >>> fitted["meta_d"].round(6).item(), fitted["m_ratio"].round(6).item()
    (1.664162, 1.077555)
    """
    ordered, table = table_of(counts, "The meta-d′ model")
    like = ordered.isel(dict.fromkeys(TYPE1_DIMS, 0), drop=True)
    type1 = type1_of(zs_of(table, correction), np.ones(len(table)))
    shares = rating_shares(table, correction)
    upper = np.where(bounded & (type1.d > 0), type1.d, FARTHEST)
    least = minimum(shares, type1, upper)
    result = label_estimates(assemble(least, type1, shares), "fit_dmc", ordered)
    result.attrs |= {
        "meta_criterion": "absolute",
        "bounded": int(bounded),
        "correction": correction if isinstance(correction, str) else float(correction),
    }
    masks = conditions(least, type1, upper, shares)
    said = notices_where({x: like.copy(data=own.reshape(like.shape)) for x, own in masks.items()})
    # For resampled tables the effect of the correction is not computed.
    if correction != "none" and set(counts.dims) <= {"cell", *TYPE1_DIMS}:
        said += moved_by_correction(result["m_ratio"], fit_dmc(counts, bounded=bounded)["m_ratio"])
    return copy_notices(result, counts, said)


def rating_shares(counts: Floats, correction: Correction) -> Floats:
    """Proportions of the ratings, given stimulus and response; 0 in a row without trials."""
    ratings = counts.shape[-1]
    corrected = counts + added_per_response(correction, ratings) / ratings
    has_trials = counts.sum(axis=-1, keepdims=True) > 0
    return np.where(has_trials, corrected, 0.0) / np.where(
        has_trials, corrected.sum(axis=-1, keepdims=True), 1.0
    )


def assemble(least: Least, type1: Type1, shares: Floats) -> dict[str, Floats]:
    """Estimates by name; criteria are NaN on a side without trials."""
    has_side = ratings_used(shares).any(axis=-1)[..., None]
    edges = np.where(has_side, least.edges[..., 1:], np.nan)
    return {
        "dprime": type1.d,
        "c": type1.c,
        "meta_d": least.m,
        "m_ratio": least.m / np.where(type1.d > 0, type1.d, np.nan),
        "criteria": type1.c[:, None, None] + np.array([-1.0, 1.0])[:, None] * edges,
        "loss": least.loss,
        "converged": least.slope <= SLOPE,
    }


def conditions(least: Least, type1: Type1, upper: Floats, shares: Floats) -> dict[str, Truths]:
    """Which cells the notice of each code concerns."""
    has_d, is_found = np.isfinite(type1.d), np.isfinite(least.m)
    used = ratings_used(shares)
    is_informative_cell = is_informative(shares).any(axis=1)
    inner, last = least.edges, np.full((*used.shape[:2], 1), np.inf)
    is_open = np.concatenate([inner[..., 1:], last], axis=-1) > inner + EMPTY
    return {
        "undefined-dprime.loss": ~has_d,
        "dprime-not-positive": type1.d <= 0,
        "empty-row": has_d & (shares.sum(axis=-1) == 0).any(axis=(1, 2)),
        "one-rating": has_d & (used.sum(axis=-1) < 2).any(axis=1),
        "meta-d-undetermined": has_d & ~is_informative_cell,
        "meta-d-unbounded.loss": has_d & is_informative_cell & ~is_found,
        "meta-d-zero": least.m == 0,
        "m-at-bound": (upper < FARTHEST) & (least.m >= upper),
        "rating-not-predicted": is_found & (used & ~is_open).any(axis=(1, 2)),
        "not-converged.loss": is_found & ~(least.slope <= SLOPE),
    }


def minimum(shares: Floats, type1: Type1, upper: Floats) -> Least:
    """Minimum over meta-d′ from 0 to `upper` and the criteria, best of several starts."""
    best = np.full((len(shares), 3), np.nan)
    edges = np.full((len(shares), 2, shares.shape[-1]), np.nan)

    def work(part: Integers) -> None:
        best[part], edges[part] = minimise(shares[part], type1.c[part], upper[part])

    rows = np.flatnonzero(np.isfinite(type1.c) & is_informative(shares).any(axis=1))
    in_threads(work, parts_of(rows))
    loss, m, slope = best.T
    m = np.where(m < EMPTY, 0.0, m)
    is_far = (upper == FARTHEST) & ((loss >= limiting_loss(shares) - SAME_LOSS) | (m >= FARTHEST))
    m, loss, slope = (np.where(is_far, np.nan, values) for values in (m, loss, slope))
    edges = np.where(is_far[:, None, None], np.nan, far_to_infinity(edges, m, type1.c))
    return Least(m, loss, slope, edges)


def minimise(shares: Floats, kappa: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Loss, meta-d′ and largest slope (cells, 3) of the lowest minimum, and its edges."""
    (cells, _, _, ratings), each = shares.shape, len(STARTS)
    m = np.stack([np.minimum(start, upper) for start, _ in STARTS], axis=1)
    begin = np.stack(
        [beginning(shares, m[:, k], kappa, gap) for k, (_, gap) in enumerate(STARTS)], axis=1
    )
    unit = np.repeat(np.arange(cells), each)
    used, begin, levels = gather_used(shares[unit], begin.reshape(-1, 2, ratings))
    begin[..., 0] = 0.0
    points = np.column_stack([np.log(np.diff(begin)).reshape(cells * each, -1), m.ravel()])
    row, work = np.zeros((COLUMNS, ratings + 1)), np.zeros((PARTS, ratings))
    data = Shares(used, levels, kappa[unit], np.zeros(ratings), np.zeros(ratings), row, work)
    found = np.empty((len(unit), 2))
    minimise_shares(data, search_rule(ratings - 1), points, upper[unit], found)
    best = best_of(found[:, 0].reshape(cells, each))
    points = points[best]
    edges = np.zeros((cells, 2, ratings))
    edges[..., 1:] = np.exp(points[:, :-1]).reshape(cells, 2, -1).cumsum(axis=-1)
    values = np.column_stack([-found[best, 0], points[:, -1], found[best, 1]])
    return values, spread_used(edges, shares, 0.0)


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


# Half the derivatives of the loss, by a response's edges: first, twice by the same, by it and the
# next, by it and meta-d′.
GRADIENT, DIAGONAL, BESIDE, CROSS = range(4)
PARTS = 4
# Of one row, at each edge: predicted less observed share beyond it; derivatives of that share by
# the edge and by a shift of all edges; second derivatives.
MISS, BY_EDGE, BY_SHIFT, EDGE_EDGE, EDGE_SHIFT, SHIFT_SHIFT = range(6)
COLUMNS = 6


@compiled
def set_shares(first: float, edges: Floats, observed: Floats, levels: int, row: Floats) -> None:
    """Shares beyond the edges, of one response to one stimulus, with derivatives.

    `first` is the way from the mean of the evidence outward to κ; `edges` are distances from κ;
    `row` has a column for each edge, 0 for κ and for infinity.
    """
    log_side, hazard_side = log_tail(first, mills(abs(first)))
    bend_side = hazard_side * (hazard_side - first)
    beyond = 1.0
    row[:, 0] = 0.0
    row[:, levels] = 0.0
    for k in range(1, levels):
        y = first + edges[k]
        log_beyond, hazard = log_tail(y, mills(abs(y)))
        share = math.exp(log_beyond - log_side)
        density, change = share * hazard, hazard_side - hazard
        beyond -= observed[k - 1]
        row[MISS, k] = share - beyond
        row[BY_EDGE, k] = -density
        row[BY_SHIFT, k] = share * change
        row[EDGE_EDGE, k] = density * y
        row[EDGE_SHIFT, k] = density * (y - hazard_side)
        row[SHIFT_SHIFT, k] = share * (change * change + bend_side - hazard * (hazard - y))


@compiled
def add_row(
    turn: float, levels: int, row: Floats, work: Floats, slopes: Floats, bend: Floats
) -> float:
    """Add the derivatives of one row's loss, and return the loss; m shifts the edges by `turn`."""
    loss = row[MISS, levels - 1] ** 2
    for k in range(1, levels):
        loss += (row[MISS, k - 1] - row[MISS, k]) ** 2
        pull = 2 * row[MISS, k] - row[MISS, k - 1] - row[MISS, k + 1]
        change = 2 * row[BY_SHIFT, k] - row[BY_SHIFT, k - 1] - row[BY_SHIFT, k + 1]
        by_edge, by_shift = row[BY_EDGE, k], row[BY_SHIFT, k]
        work[GRADIENT, k] += pull * by_edge
        work[DIAGONAL, k] += 2 * by_edge * by_edge + pull * row[EDGE_EDGE, k]
        work[BESIDE, k] -= by_edge * row[BY_EDGE, k + 1]
        work[CROSS, k] += turn * (by_edge * change + pull * row[EDGE_SHIFT, k])
        slopes[-1] -= turn * pull * by_shift
        bend[-1, -1] += turn * turn * (by_shift * change + pull * row[SHIFT_SHIFT, k])
    return loss


@compiled
def set_log_gaps(
    base: int, levels: int, gaps: Floats, work: Floats, slopes: Floats, bend: Floats
) -> None:
    """Derivatives by the log gaps of a response, from those by its edges, from unknown `base` on.

    A gap moves all edges from its own outward. What a log gap's own curvature adds to the
    Hessian is left out: it vanishes at a minimum, and without it a gap closes in fewer steps.
    """
    slope = cross = curve = 0.0
    for j in range(levels - 1, 0, -1):
        at = base + j - 1
        slope += work[GRADIENT, j]
        cross += work[CROSS, j]
        curve += work[BESIDE, j - 1] + work[DIAGONAL, j] + work[BESIDE, j]
        slopes[at] = -gaps[j] * slope
        bend[-1, at] = gaps[j] * cross
        bend[at, at] = gaps[j] * gaps[j] * (curve - work[BESIDE, j - 1])
        for i in range(1, j):
            bend[at, base + i - 1] = gaps[j] * gaps[i] * curve


class Shares(NamedTuple):
    """Shares of the ratings in use, of which there are `levels`, and κ, by cell; scratch space.

    Shares have dims (cells, stimulus, response, level).
    """

    shares: Floats
    levels: Integers
    kappa: Floats
    gaps: Floats
    edges: Floats
    row: Floats
    work: Floats


@cache
def search_rule(inner: int) -> Rule:
    """How the log gaps, so many a response, and meta-d′ are moved to."""
    smallest, largest = np.full((2, 2 * inner + 1), 1.5)
    smallest[:], smallest[-1], largest[-1] = -3.0, -1.0, 1.0
    return Rule(smallest, largest, np.full(len(largest), np.inf), 1e-14, 1e-15, 200)


@compiled
def minimise_shares(data: Shares, rule: Rule, points: Floats, upper: Floats, found: Floats) -> None:
    """Move to log gaps and meta-d′ of cells; `found` gets minus the loss, and its slope."""
    bounds = np.zeros((len(points), 2))
    bounds[:, 1] = upper
    maximise_compiled(evaluate_shares, data, rule, points, bounds, found)


@compiled
def evaluate_shares(x: Floats, cell: int, data: Shares, slopes: Floats, bend: Floats) -> float:
    """Minus the loss of a cell; minus half its slopes, and half its Hessian."""
    loss, inner = 0.0, data.shares.shape[3] - 1
    gaps, edges, m = data.gaps, data.edges, x[-1]
    for r in range(2):
        base, used, side = r * inner, data.levels[cell, r], 2.0 * r - 1.0
        for k in range(max(used - 1, 0), inner):
            bend[base + k, base + k] = 1.0
        if used < 2:
            continue
        for k in range(1, used):
            gaps[k] = math.exp(x[base + k - 1])
            edges[k] = edges[k - 1] + gaps[k]
        data.work[:] = 0.0
        for stimulus in range(2):
            sign, own = 2.0 * stimulus - 1.0, data.shares[cell, stimulus, r]
            if own[:used].sum() > 0:
                set_shares(side * (data.kappa[cell] - sign * m / 2), edges, own, used, data.row)
                loss += add_row(-side * sign / 2, used, data.row, data.work, slopes, bend)
        set_log_gaps(base, used, gaps, data.work, slopes, bend)
    return -loss
