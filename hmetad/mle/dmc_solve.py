"""Least squares between predicted and observed rating proportions, by Newton's method, compiled.

Proportions of the ratings and criterion of every cell → meta-d′, distances of the criteria from κ,
and the loss. Source of the loss: Wang et al. (2025).

With t the distance of an edge from κ and G(t) the share of a response that lies beyond it, a rating
has G at its inner edge less G at its outer one. What a rating is missed by is so the difference
between its two edges, and half of the loss's Hessian by the edges is tridiagonal. The unknowns are
meta-d′, between bounds, and the logarithms of the gaps between edges, which keep their order even
where a gap closes.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled, log_tail, mills
from hmetad.mle.newton import gather, spread

__all__ = ["minimise"]

type Floats = NDArray[np.float64]
type Whole = NDArray[np.int64]

ITERATIONS = 200
FLAT = 1e-13
ROUNDING = 1e-15
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-3, 1e-14, 1e12
LARGEST_STEP = 1.0
LARGEST_SHRINKING, LARGEST_GROWTH = -3.0, 1.5

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
    turn: float, levels: int, row: Floats, work: Floats, gradient: Floats, hessian: Floats
) -> float:
    """Add the derivatives of one row's loss, and return the loss; m shifts the edges by `turn`."""
    loss = row[MISS, levels - 1] ** 2
    for k in range(1, levels):
        loss += (row[MISS, k - 1] - row[MISS, k]) ** 2
        pull = 2 * row[MISS, k] - row[MISS, k - 1] - row[MISS, k + 1]
        bend = 2 * row[BY_SHIFT, k] - row[BY_SHIFT, k - 1] - row[BY_SHIFT, k + 1]
        by_edge, by_shift = row[BY_EDGE, k], row[BY_SHIFT, k]
        work[GRADIENT, k] += pull * by_edge
        work[DIAGONAL, k] += 2 * by_edge * by_edge + pull * row[EDGE_EDGE, k]
        work[BESIDE, k] -= by_edge * row[BY_EDGE, k + 1]
        work[CROSS, k] += turn * (by_edge * bend + pull * row[EDGE_SHIFT, k])
        gradient[0] += turn * pull * by_shift
        hessian[0, 0] += turn * turn * (by_shift * bend + pull * row[SHIFT_SHIFT, k])
    return loss


@compiled
def set_log_gaps(
    base: int, levels: int, gaps: Floats, work: Floats, gradient: Floats, hessian: Floats
) -> None:
    """Derivatives by the log gaps of a response, from those by its edges, into rows from `base`.

    A gap moves all edges from its own outward. What a log gap's own curvature adds to the
    Hessian is left out: it vanishes at a minimum, and without it a gap closes in fewer steps.
    """
    slope = cross = curve = 0.0
    for j in range(levels - 1, 0, -1):
        at = base + j - 1
        slope += work[GRADIENT, j]
        cross += work[CROSS, j]
        curve += work[BESIDE, j - 1] + work[DIAGONAL, j] + work[BESIDE, j]
        gradient[at] = gaps[j] * slope
        hessian[at, 0] = gaps[j] * cross
        hessian[at, at] = gaps[j] * gaps[j] * (curve - work[BESIDE, j - 1])
        for i in range(1, j):
            hessian[at, base + i - 1] = gaps[j] * gaps[i] * curve


class Room(NamedTuple):
    """Scratch space of a cell: edges of a response, one row, a response's derivatives, solving."""

    edges: Floats
    row: Floats
    work: Floats
    factor: Floats
    step: Floats


@compiled
def evaluate(
    m: float,
    kappa: float,
    gaps: Floats,
    shares: Floats,
    levels: Whole,
    gradient: Floats,
    hessian: Floats,
    room: Room,
) -> float:
    """Loss at m and gaps, with half its derivatives by m and the log gaps.

    `gaps` (response, level) and `shares` (response, stimulus, level) hold the ratings in use, of
    which there are `levels`. Of the Hessian the lower triangle is set.
    """
    loss, base = 0.0, 1
    gradient[0] = hessian[0, 0] = 0.0
    for r in range(2):
        if levels[r] < 2:
            continue
        side = 2.0 * r - 1.0
        for k in range(1, levels[r]):
            room.edges[k] = room.edges[k - 1] + gaps[r, k]
        room.work[:] = 0.0
        for stimulus in range(2):
            sign = 2.0 * stimulus - 1.0
            if shares[r, stimulus, : levels[r]].sum() > 0:
                first = side * (kappa - sign * m / 2)
                set_shares(first, room.edges, shares[r, stimulus], levels[r], room.row)
                turn = -side * sign / 2
                loss += add_row(turn, levels[r], room.row, room.work, gradient, hessian)
        set_log_gaps(base, levels[r], gaps[r], room.work, gradient, hessian)
        base += levels[r] - 1
    return loss


@compiled
def set_step(
    begin: int, size: int, damping: float, gradient: Floats, hessian: Floats, room: Room
) -> bool:
    """Damped Newton step of the unknowns from `begin` on, by Cholesky's factor; whether it is one.

    It is none where the damped Hessian is not positive definite.
    """
    factor, step = room.factor, room.step
    step[:begin] = 0.0
    for i in range(begin, size):
        value = -gradient[i]
        for j in range(begin, i + 1):
            total = hessian[i, j] + (damping if i == j else 0.0)
            for k in range(begin, j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
                value -= factor[i, j] * step[j]
            elif total > 0:
                factor[i, i] = math.sqrt(total)
            else:
                return False
        step[i] = value / factor[i, i]
    for i in range(size - 1, begin - 1, -1):
        for k in range(i + 1, size):
            step[i] -= factor[k, i] * step[k]
        step[i] /= factor[i, i]
    return True


@compiled
def set_gaps(step: Floats, levels: Whole, gaps: Floats, trial: Floats) -> None:
    """Gaps after a step of their logarithms, none of which goes too far."""
    at = 1
    for r in range(2):
        for k in range(1, levels[r]):
            way = min(max(step[at], LARGEST_SHRINKING), LARGEST_GROWTH)
            trial[r, k] = gaps[r, k] * math.exp(way)
            at += 1


@compiled
def held(m: float, lower: float, upper: float, by_m: float) -> int:
    """1 where the loss presses m against a bound, else 0: the first of the unknowns to move."""
    return int((m <= lower and by_m > 0) or (m >= upper and by_m < 0))


@compiled
def descend(
    m: float,
    kappa: float,
    lower: float,
    upper: float,
    gaps: Floats,
    shares: Floats,
    levels: Whole,
    room: Room,
) -> tuple[float, float, float]:
    """m, loss and the largest slope at the minimum that is reached; `gaps` are moved there."""
    size = 1 + max(levels[0] - 1, 0) + max(levels[1] - 1, 0)
    gradient, hessian = np.zeros(size), np.zeros((size, size))
    new_gradient, new_hessian, trial = np.zeros(size), np.zeros((size, size)), gaps.copy()
    loss = evaluate(m, kappa, gaps, shares, levels, gradient, hessian, room)
    begin = held(m, lower, upper, gradient[0])
    slope, damping = np.abs(gradient[begin:]).max(), FIRST_DAMPING
    for _ in range(ITERATIONS):
        if slope < FLAT:
            break
        is_better = False
        while not is_better and damping < LARGEST_DAMPING:
            if set_step(begin, size, damping, gradient, hessian, room):
                way = min(max(room.step[0], -LARGEST_STEP), LARGEST_STEP)
                moved = min(max(m + way, lower), upper)
                set_gaps(room.step, levels, gaps, trial)
                new = evaluate(moved, kappa, trial, shares, levels, new_gradient, new_hessian, room)
                new_begin = held(moved, lower, upper, new_gradient[0])
                new_slope = np.abs(new_gradient[new_begin:]).max()
                # Next to the minimum the loss is lost in rounding, and the slope tells better.
                is_better = new < loss or (new <= loss + ROUNDING and new_slope < slope)
            if not is_better:
                damping *= 10
        if not is_better:
            break
        m, loss, slope, begin = moved, new, new_slope, new_begin
        damping = max(damping / 10, LEAST_DAMPING)
        gaps[:], gradient[:], hessian[:] = trial, new_gradient, new_hessian
    return m, loss, slope


@compiled
def minimise(
    shares: Floats,
    kappa: Floats,
    lower: Floats,
    upper: Floats,
    start_m: Floats,
    start_edges: Floats,
    best: Floats,
    best_edges: Floats,
) -> None:
    """Minimise every cell from its start; lower minima replace those in `best`.

    Parameters
    ----------
    shares : array, shape (cells, 2, 2, K)
        Observed proportions of the ratings, dims cell, stimulus, response, rating; a row that is
        0 throughout is left out.
    kappa, lower, upper, start_m : array, shape (cells,)
        κ, the bounds of m, and where m begins between them.
    start_edges : array, shape (cells, 2, K)
        Where edges begin: rising distances from κ, on the inner side of each rating.
    best : array, shape (cells, 3)
        Loss, m and the largest slope. The loss is infinite where nothing was found yet.
    best_edges : array, shape (cells, 2, K)
        As `start_edges`; of a rating that nobody used, as `hmetad.mle.newton.spread` has it.
    """
    cells, ratings = shares.shape[0], shares.shape[3]
    kept, edges, gaps = np.zeros((2, 2, ratings)), np.zeros((2, ratings)), np.zeros((2, ratings))
    levels, place = np.zeros(2, np.int64), np.zeros((2, ratings), np.int64)
    has_side, unknowns = np.ones(2, np.bool_), 2 * ratings - 1
    room = Room(
        np.zeros(ratings),
        np.zeros((COLUMNS, ratings + 1)),
        np.zeros((PARTS, ratings)),
        np.zeros((unknowns, unknowns)),
        np.zeros(unknowns),
    )
    for i in range(cells):
        gather(i, shares, start_edges, has_side, kept, edges, levels, place)
        if levels[0] < 2 and levels[1] < 2:
            continue
        gaps[:, 1:] = edges[:, 1:] - edges[:, :-1]
        m, loss, slope = descend(start_m[i], kappa[i], lower[i], upper[i], gaps, kept, levels, room)
        if not loss < best[i, 0]:
            continue
        best[i, 0], best[i, 1], best[i, 2] = loss, m, slope
        for r in range(2):
            for k in range(1, levels[r]):
                edges[r, k] = edges[r, k - 1] + gaps[r, k]
            spread(levels[r], edges[r], place[r], best_edges[i, r])
