"""Maximum likelihood of the unequal-variance ROC, by Newton's method, compiled.

Counts of ordered categories under two stimuli → cut points t, separation a and log s of every
cell, with their covariance. Category j of S1 has the area of N(0, 1) between t_j and t_{j+1};
of S2, that between s·t_j − a and s·t_{j+1} − a (Dorfman & Alf 1969).

Logarithms of areas are concave in both edges, so that cut points have a tridiagonal block of the
Hessian; a and log s have a row each.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled, log_area, log_tail, mills

__all__ = ["fit_rocs"]

type Floats = NDArray[np.float64]
type Whole = NDArray[np.int64]

ITERATIONS = 100
HALVINGS = 30
LARGEST_STEP = 0.7
KEPT = 0.1  # No step leaves less than this part of a gap.
FARTHEST = 20.0  # of a; beyond, it grows without bound
FARTHEST_SCALE = 3.0  # of log s
FLAT = 1e-9
ROUNDING = 1e-13

# Rows of the working space, over cut points: gradient and Hessian of one stimulus by its edges,
# then those of both by cut points, what is solved from them, and the step.
SLOPE, CURVE, LINK = 0, 1, 2
GRADIENT, DIAGONAL, BESIDE, BY_A, BY_S, RISE, REPLY_A, REPLY_S, MOVE, UNIT, COLUMN, ROOM = range(
    3, 15
)
ROWS = 15
# Derivatives by a and log s, then those of the profile, the maximum over cut points.
G_A, G_S, H_AA, H_AS, H_SS, P_A, P_S, Q_AA, Q_AS, Q_SS = range(10)
POINTS = 10
# What is returned of every cell.
FOUND = ("value", "a", "log_s", "slope", "boundary", "var_a", "cov_as", "var_s", "var_t",
         "cov_ta", "cov_ts", "levels", "full")  # fmt: skip


@compiled
def add_edges(n: Floats, t: Floats, cuts: int, scale: float, shift: float, work: Floats) -> float:
    """ℓ of one stimulus; its derivatives by the edges scale·t − shift go to `work`."""
    work[: LINK + 1] = 0.0
    value = 0.0
    lower = scale * t[0] - shift
    mills_lower = mills(abs(lower))
    if n[0] > 0:
        log_share, hazard = log_tail(-lower, mills_lower)
        value += n[0] * log_share
        work[SLOPE, 0] += n[0] * hazard
        work[CURVE, 0] -= n[0] * hazard * (hazard + lower)
    for k in range(1, cuts):
        width = scale * (t[k] - t[k - 1])
        upper = scale * t[k] - shift
        mills_upper = mills(abs(upper))
        if n[k] > 0:
            log_share, high, tilt = log_area(lower, width, mills_lower, mills_upper)
            low = high - tilt
            value += n[k] * log_share
            work[SLOPE, k] += n[k] * high
            work[SLOPE, k - 1] -= n[k] * low
            work[CURVE, k] -= n[k] * high * (upper + high)
            work[CURVE, k - 1] += n[k] * low * (lower - low)
            work[LINK, k - 1] += n[k] * low * high
        lower, mills_lower = upper, mills_upper
    if n[cuts] > 0:
        log_share, hazard = log_tail(lower, mills_lower)
        value += n[cuts] * log_share
        work[SLOPE, cuts - 1] -= n[cuts] * hazard
        work[CURVE, cuts - 1] -= n[cuts] * hazard * (hazard - lower)
    return value


@compiled
def evaluate(
    n: Floats, t: Floats, cuts: int, a: float, log_s: float, work: Floats, point: Floats
) -> float:
    """ℓ of a cell; derivatives go to `work` (row, cut point) and `point`."""
    point[:] = 0.0
    value = add_edges(n[0], t, cuts, 1.0, 0.0, work)
    for k in range(cuts):
        work[GRADIENT, k], work[DIAGONAL, k] = work[SLOPE, k], work[CURVE, k]
        work[BESIDE, k] = work[LINK, k]
    s = math.exp(log_s)
    value += add_edges(n[1], t, cuts, s, a, work)
    for k in range(cuts):
        slope, by_all, by_scaled = work[SLOPE, k], work[CURVE, k], work[CURVE, k] * s * t[k]
        if k > 0:
            by_all += work[LINK, k - 1]
            by_scaled += work[LINK, k - 1] * s * t[k - 1]
        if k < cuts - 1:
            by_all += work[LINK, k]
            by_scaled += work[LINK, k] * s * t[k + 1]
        work[GRADIENT, k] += s * slope
        work[DIAGONAL, k] += s * s * work[CURVE, k]
        work[BESIDE, k] += s * s * work[LINK, k]
        work[BY_A, k] = -s * by_all
        work[BY_S, k] = s * (slope + by_scaled)
        point[G_A] -= slope
        point[G_S] += slope * s * t[k]
        point[H_AA] += by_all
        point[H_AS] -= by_scaled
        point[H_SS] += s * t[k] * (slope + by_scaled)
    solve(GRADIENT, RISE, cuts, work)
    solve(BY_A, REPLY_A, cuts, work)
    solve(BY_S, REPLY_S, cuts, work)
    point[P_A], point[P_S] = point[G_A], point[G_S]
    point[Q_AA], point[Q_AS], point[Q_SS] = point[H_AA], point[H_AS], point[H_SS]
    for k in range(cuts):
        point[P_A] -= work[BY_A, k] * work[RISE, k]
        point[P_S] -= work[BY_S, k] * work[RISE, k]
        point[Q_AA] -= work[BY_A, k] * work[REPLY_A, k]
        point[Q_AS] -= work[BY_A, k] * work[REPLY_S, k]
        point[Q_SS] -= work[BY_S, k] * work[REPLY_S, k]
    return value


@compiled
def solve(right: int, out: int, cuts: int, work: Floats) -> None:
    """Row `out` = tridiagonal block, inverse, times row `right`."""
    for k in range(cuts):
        pivot, value = work[DIAGONAL, k], work[right, k]
        if k > 0:
            pivot -= work[BESIDE, k - 1] * work[ROOM, k - 1]
            value -= work[BESIDE, k - 1] * work[out, k - 1]
        work[ROOM, k] = work[BESIDE, k] / pivot
        work[out, k] = value / pivot
    for k in range(cuts - 2, -1, -1):
        work[out, k] -= work[ROOM, k] * work[out, k + 1]


@compiled
def largest_slope(cuts: int, work: Floats, point: Floats) -> float:
    """Largest of the first derivatives, in absolute value."""
    largest = max(abs(point[G_A]), abs(point[G_S]))
    for k in range(cuts):
        largest = max(largest, abs(work[GRADIENT, k]))
    return largest


@compiled
def set_direction(t: Floats, cuts: int, work: Floats, point: Floats) -> tuple[float, float, float]:
    """Newton's step by a and log s, the cut points' in row MOVE; the share that keeps order."""
    q_aa, q_as, q_ss = point[Q_AA], point[Q_AS], point[Q_SS]
    # The larger eigenvalue has to be below 0 for the step to lead upward.
    middle, radius = (q_aa + q_ss) / 2, math.hypot((q_aa - q_ss) / 2, q_as)
    least = -1e-3 * (1.0 + radius)
    if middle + radius > least:
        shift = middle + radius - least
        q_aa, q_ss = q_aa - shift, q_ss - shift
    determinant = q_aa * q_ss - q_as * q_as
    step_a = -(q_ss * point[P_A] - q_as * point[P_S]) / determinant
    step_s = -(q_aa * point[P_S] - q_as * point[P_A]) / determinant
    share = min(1.0, LARGEST_STEP / max(abs(step_a), abs(step_s), 1e-300))
    for k in range(cuts):
        work[MOVE, k] = -work[RISE, k] - step_a * work[REPLY_A, k] - step_s * work[REPLY_S, k]
    for k in range(1, cuts):
        room = (KEPT - 1) * (t[k] - t[k - 1])
        closing = work[MOVE, k] - work[MOVE, k - 1]
        if share * closing < room:
            share = room / closing
    return step_a, step_s, share


@compiled
def climb(
    n: Floats, t: Floats, cuts: int, a: float, log_s: float, work: Floats, point: Floats,
    trial: Floats,
) -> tuple[float, float, float, float]:  # fmt: skip
    """ℓ, a, log s and the largest slope at the maximum; `t` is moved there."""
    value = evaluate(n, t, cuts, a, log_s, work, point)
    slope = largest_slope(cuts, work, point)
    for _ in range(ITERATIONS):
        if slope < FLAT or abs(a) > FARTHEST or abs(log_s) > FARTHEST_SCALE:
            break
        step_a, step_s, share = set_direction(t, cuts, work, point)
        level = value - ROUNDING * (1 + abs(value))
        is_better = False
        for _ in range(HALVINGS):
            for k in range(cuts):
                trial[k] = t[k] + share * work[MOVE, k]
            new_a, new_s = a + share * step_a, log_s + share * step_s
            new = evaluate(n, trial, cuts, new_a, new_s, work, point)
            new_slope = largest_slope(cuts, work, point)
            # Next to the maximum ℓ is lost in rounding, and the slope tells better.
            is_better = new > value or (new >= level and new_slope < slope)
            if is_better:
                break
            share /= 2
        if not is_better:
            value = evaluate(n, t, cuts, a, log_s, work, point)
            break
        a, log_s, value, slope = new_a, new_s, new, new_slope
        t[:cuts] = trial[:cuts]
    return value, a, log_s, slope


@compiled
def set_covariance(middle: int, cuts: int, work: Floats, point: Floats, found: Floats) -> None:
    """Covariance of a, log s and the cut point between the responses."""
    determinant = point[Q_AA] * point[Q_SS] - point[Q_AS] * point[Q_AS]
    if not (point[Q_AA] < 0 and determinant > 0):
        return
    var_a, var_s = -point[Q_SS] / determinant, -point[Q_AA] / determinant
    cov = point[Q_AS] / determinant
    found[5], found[6], found[7] = var_a, cov, var_s
    if middle < 0 or middle >= cuts:
        return
    work[UNIT, :cuts] = 0.0
    work[UNIT, middle] = 1.0
    solve(UNIT, COLUMN, cuts, work)
    by_a, by_s = -work[REPLY_A, middle], -work[REPLY_S, middle]
    found[9], found[10] = by_a * var_a + by_s * cov, by_a * cov + by_s * var_s
    found[8] = by_a * found[9] + by_s * found[10] - work[COLUMN, middle]


@compiled
def fit_rocs(
    counts: Floats, start_t: Floats, start_a: Floats, start_s: Floats, found: Floats, cut: Floats
) -> None:
    """Maximise every cell from its start.

    Parameters
    ----------
    counts : array, shape (cells, 2, categories)
        By stimulus, then by category from surely S1 to surely S2.
    start_t : array, shape (cells, categories − 1)
        Rising cut points.
    start_a, start_s : array, shape (cells,)
        Separation in units of the SD of S2, and log s.
    found : array, shape (cells, 13)
        NaN; filled as `FOUND` says where at least three categories were used. `boundary` is the cut
        point between the responses, t in its covariances is that one; `full` is ℓ with a
        probability for every category.
    cut : array, shape (cells, categories − 1)
        NaN; filled with cut points. An unused category has no width.
    """
    cells, categories = counts.shape[0], counts.shape[2]
    n, t, trial = np.zeros((2, categories)), np.zeros(categories), np.zeros(categories)
    work, point = np.zeros((ROWS, categories)), np.zeros(POINTS)
    for i in range(cells):
        levels = below = 0
        full = 0.0
        totals = counts[i, 0].sum(), counts[i, 1].sum()
        for j in range(categories):
            if counts[i, 0, j] + counts[i, 1, j] > 0:
                if levels > 0:
                    t[levels - 1] = start_t[i, j - 1]
                for s in range(2):
                    n[s, levels] = counts[i, s, j]
                    if counts[i, s, j] > 0:
                        full += counts[i, s, j] * math.log(counts[i, s, j] / totals[s])
                levels += 1
                below += 2 * j < categories
        cuts = levels - 1
        if cuts < 2 or totals[0] <= 0 or totals[1] <= 0:
            continue
        value, a, log_s, slope = climb(n, t, cuts, start_a[i], start_s[i], work, point, trial)
        if abs(a) > FARTHEST or abs(log_s) > FARTHEST_SCALE:
            continue
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = value, a, log_s, slope
        found[i, 11], found[i, 12] = levels, full
        if 0 < below < levels:
            found[i, 4] = t[below - 1]
        set_covariance(below - 1, cuts, work, point, found[i])
        used = 0
        for j in range(categories - 1):
            used += counts[i, 0, j] + counts[i, 1, j] > 0
            cut[i, j] = -np.inf if used == 0 else np.inf if used == levels else t[used - 1]
