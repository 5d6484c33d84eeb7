"""Maximum likelihood of meta-d′ and the type-2 criteria, by Newton's method, compiled.

Type-1 parameters and counts of every cell → meta-d′, distances of the criteria from κ, and the
curvature at the maximum. Given d′ and c, the confidence of each response to each stimulus is
left to fit: four conditional multinomials (Maniscalco & Lau 2012).

Criteria enter through logarithms of areas between two edges, which are concave in both; only
meta-d′ moves the whole side that an area is a share of. So the criteria have a tridiagonal block
of the Hessian, one for each response and always negative definite, and meta-d′ has one row: a
step costs as much as an evaluation, however many ratings there are.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.tails import log_area, log_tail, mills

type Floats = NDArray[np.float64]
type Whole = NDArray[np.int64]
type Place = tuple[Floats, Floats, Floats]

ITERATIONS = 100
HALVINGS = 30
LARGEST_STEP = 1.0
KEPT = 0.1  # No step leaves less than this part of a gap.
FARTHEST = 20.0
FLAT = 1e-9
ROUNDING = 1e-13

# Rows of a response's working space: derivatives by its edges, and what is solved from them.
GRADIENT, DIAGONAL, BESIDE, CROSS, CROSS_KAPPA, RISE, REPLY, MOVE, ROOM = range(9)
ROWS = 9
# Derivatives by m, twice by m, by m and κ, by κ; then those of the profile, the maximum over edges.
BY_M, BY_M_M, BY_M_KAPPA, BY_KAPPA, PROFILE_M, PROFILE_M_M, PROFILE_M_KAPPA = range(7)
POINTS = 7


class Cell(NamedTuple):
    """Counts (stimulus, response, level) of a cell, s, and κ = offset + ratio·m.

    `levels` is the number of ratings that somebody used, 0 for a response that is not fitted.
    """

    counts: Floats
    levels: Whole
    offset: float
    ratio: float
    s: float


@compiled
def add_side(r: int, cell: Cell, edges: Floats, m: float, work: Floats, point: Floats) -> float:
    """Add derivatives of response r; returns its ℓ.

    `edges` (response, level) are distances from κ, the first of them 0; κ moves with m. `work` and
    `point` are those of `evaluate`.
    """
    side, value, kappa = 2.0 * r - 1.0, 0.0, cell.offset + cell.ratio * m
    for stimulus in range(2):
        scale = cell.s if stimulus == 1 else 1.0
        sign = 2.0 * stimulus - 1.0
        by = scale * side * (cell.ratio - sign / 2), scale * side
        first = scale * side * (kappa - sign * m / 2)
        counts = cell.counts[stimulus, r, : cell.levels[r]]
        value, shift, bend = add_areas(value, counts, edges[r], scale, first, by, work[r])
        by_m, by_kappa = by
        point[BY_M] += shift * by_m
        point[BY_M_M] += bend * by_m * by_m
        point[BY_M_KAPPA] += bend * by_m * by_kappa
        point[BY_KAPPA] += shift * by_kappa
    return value


@compiled
def add_areas(
    value: float, counts: Floats, edges: Floats, scale: float, first: float, by: Any, work: Floats
) -> tuple[float, float, float]:
    """Add ℓ of a stimulus, whose areas begin at `first`, and derivatives by the edges.

    `first` moves with m and with κ at the rates `by`. Returns the sum, and the first and second
    derivative of ℓ by `first`.
    """
    levels, (by_m, by_kappa) = len(counts), by
    total = shift = bend = 0.0
    lower, mills_lower = first, mills(abs(first))
    log_side, hazard = log_tail(first, mills_lower)
    bend_side = hazard * (hazard - first)
    for k in range(levels - 1):
        width = scale * (edges[k + 1] - edges[k])
        upper = first + scale * edges[k + 1]
        mills_upper = mills(abs(upper))
        n = counts[k]
        if n > 0:
            log_share, high, tilt = log_area(lower, width, mills_lower, mills_upper)
            low = high - tilt
            value += n * log_share
            total += n
            shift += n * tilt
            bend -= n * (width * high + lower * tilt + tilt * tilt)
            work[GRADIENT, k + 1] += n * scale * high
            work[GRADIENT, k] -= n * scale * low
            work[DIAGONAL, k + 1] -= n * scale * scale * high * (upper + high)
            work[DIAGONAL, k] += n * scale * scale * low * (lower - low)
            work[BESIDE, k] += n * scale * scale * low * high
            upper_cross = -n * scale * high * (upper + tilt)
            lower_cross = n * scale * low * (lower + tilt)
            work[CROSS, k + 1] += upper_cross * by_m
            work[CROSS, k] += lower_cross * by_m
            work[CROSS_KAPPA, k + 1] += upper_cross * by_kappa
            work[CROSS_KAPPA, k] += lower_cross * by_kappa
        lower, mills_lower = upper, mills_upper
    n = counts[levels - 1]
    if n > 0:
        log_share, high = log_tail(lower, mills_lower)
        curve = n * high * (high - lower)
        value += n * log_share
        total += n
        shift -= n * high
        bend -= curve
        work[GRADIENT, levels - 1] -= n * scale * high
        work[DIAGONAL, levels - 1] -= scale * scale * curve
        work[CROSS, levels - 1] -= scale * curve * by_m
        work[CROSS_KAPPA, levels - 1] -= scale * curve * by_kappa
    return value - total * log_side, shift + total * hazard, bend + total * bend_side


@compiled
def solve(r: int, right: int, out: int, levels: int, work: Floats) -> None:
    """Row `out` = tridiagonal block of response r, inverse, times row `right`."""
    for k in range(1, levels):
        pivot, value = work[r, DIAGONAL, k], work[r, right, k]
        if k > 1:
            pivot -= work[r, BESIDE, k - 1] * work[r, ROOM, k - 1]
            value -= work[r, BESIDE, k - 1] * work[r, out, k - 1]
        work[r, ROOM, k] = work[r, BESIDE, k] / pivot
        work[r, out, k] = value / pivot
    for k in range(levels - 2, 0, -1):
        work[r, out, k] -= work[r, ROOM, k] * work[r, out, k + 1]


@compiled
def evaluate(cell: Cell, edges: Floats, m: float, work: Floats, point: Floats) -> float:
    """ℓ at m and edges; derivatives go to `work` (response, row, level) and `point`."""
    value, levels = 0.0, cell.levels
    point[:] = 0.0
    work[:, : CROSS_KAPPA + 1] = 0.0
    for r in range(2):
        if levels[r] > 1:
            value += add_side(r, cell, edges, m, work, point)
            solve(r, GRADIENT, RISE, levels[r], work)
            solve(r, CROSS, REPLY, levels[r], work)
    point[PROFILE_M : PROFILE_M_KAPPA + 1] = point[BY_M : BY_M_KAPPA + 1]
    for r in range(2):
        for k in range(1, levels[r]):
            point[PROFILE_M] -= work[r, CROSS, k] * work[r, RISE, k]
            point[PROFILE_M_M] -= work[r, CROSS, k] * work[r, REPLY, k]
            point[PROFILE_M_KAPPA] -= work[r, CROSS_KAPPA, k] * work[r, REPLY, k]
    return value


@compiled
def largest_slope(levels: Whole, work: Floats, point: Floats) -> float:
    """Largest of the first derivatives, in absolute value."""
    largest = abs(point[BY_M])
    for r in range(2):
        for k in range(1, levels[r]):
            largest = max(largest, abs(work[r, GRADIENT, k]))
    return largest


@compiled
def set_direction(levels: Whole, edges: Floats, work: Floats, point: Floats) -> tuple[float, float]:
    """Newton's step by m, the edges' in row MOVE; and the share of it that keeps them in order."""
    rise, bend = point[PROFILE_M], point[PROFILE_M_M]
    step = -rise / bend if bend < 0 else math.copysign(LARGEST_STEP, rise)
    step = min(max(step, -LARGEST_STEP), LARGEST_STEP)
    share = 1.0
    for r in range(2):
        before = 0.0
        for k in range(1, levels[r]):
            move = -work[r, RISE, k] - step * work[r, REPLY, k]
            room = (KEPT - 1) * (edges[r, k] - edges[r, k - 1])
            if move - before < room:
                share = min(share, room / (move - before))
            work[r, MOVE, k] = before = move
    return step, share


@compiled
def maximise_cell(
    cell: Cell, edges: Floats, m: float, work: Floats, point: Floats, trial: Floats
) -> tuple[float, float, float]:
    """m, ℓ and the largest slope at the maximum that is reached; `edges` are moved there."""
    levels, value = cell.levels, evaluate(cell, edges, m, work, point)
    slope = largest_slope(levels, work, point)
    for _ in range(ITERATIONS):
        if slope < FLAT or abs(m) > FARTHEST:
            break
        step, share = set_direction(levels, edges, work, point)
        # Next to the maximum ℓ is lost in rounding, and the slope tells better.
        level = value - ROUNDING * (1 + abs(value))
        is_better = False
        for _ in range(HALVINGS):
            for r in range(2):
                for k in range(1, levels[r]):
                    trial[r, k] = edges[r, k] + share * work[r, MOVE, k]
            moved = m + share * step
            new = evaluate(cell, trial, moved, work, point)
            new_slope = largest_slope(levels, work, point)
            is_better = new > value or (new >= level and new_slope < slope)
            if is_better:
                break
            share /= 2
        if not is_better:
            value = evaluate(cell, edges, m, work, point)
            break
        m, value, slope = moved, new, new_slope
        edges[:] = trial
    return m, value, slope


@compiled
def maximise(
    counts: Floats, levels: Whole, start_m: Floats, edges: Floats, place: Place, best: Floats
) -> NDArray[np.bool_]:
    """Maximise every cell from its start; better maxima replace those in `best`.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, level; not negative, not necessarily whole. Levels are the
        ratings that somebody used.
    levels : array of int, shape (cells, 2)
        How many there are; 0 for a response that is not fitted.
    start_m : array, shape (cells,)
        Where m begins.
    place : tuple of three arrays, shape (cells,)
        Of κ = offset + ratio·m the offset and the ratio, and s = σ_S1/σ_S2.
    edges : array, shape (cells, 2, K)
        Rising distances from κ, on the inner side of each level, the first 0: moved to the maximum.
    best : array, shape (cells, 6)
        ℓ, m, largest slope, and of the profile its second derivatives by m, by m and κ, and the
        first by κ. ℓ is -inf where nothing was found yet.

    Returns
    -------
    array of bool, shape (cells,)
        Whether what was found is better.
    """
    (offset, ratio, s), cells, ratings = place, len(counts), counts.shape[3]
    trial, is_better = np.zeros((2, ratings)), np.zeros(cells, np.bool_)
    work, point = np.zeros((2, ROWS, ratings)), np.zeros(POINTS)
    for i in range(cells):
        if levels[i, 0] < 2 and levels[i, 1] < 2:
            continue
        cell = Cell(counts[i], levels[i], offset[i], ratio[i], s[i])
        m, value, slope = maximise_cell(cell, edges[i], start_m[i], work, point, trial)
        if not value > best[i, 0]:
            continue
        is_better[i] = True
        best[i, 0], best[i, 1], best[i, 2] = value, m, slope
        best[i, 3], best[i, 4] = point[PROFILE_M_M], point[PROFILE_M_KAPPA]
        best[i, 5] = point[BY_KAPPA]
    return is_better
