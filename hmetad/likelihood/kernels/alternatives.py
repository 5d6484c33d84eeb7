"""Choices among m options and their confidence, compiled: log-likelihood and gradient.

Arguments of cells and counts of right and wrong answers → log-likelihood per cell and its
derivatives; and the area of one margin, for any means of the options.
`hmetad.likelihood.families.alternatives` says what is computed.

The lead of the chosen option is beyond y with these probabilities, φ and Φ of x - y unless said:

    right  A(y) = ∫ φ(x - d) Φ^(m-1) dx
    wrong  B(y) = (m - 1) ∫ φ(x) Φ(x - y - d) Φ^(m-2) dx

The trapezoidal rule converges faster than any power of its step (Trefethen & Weideman, 2014), and
its errors are about 1e-15. Ratings are differences of such sums; one that is too small for them is
computed by itself, where its integrand is positive and nothing cancels, however far out it lies.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled, summed
from hmetad.likelihood.tails import (
    FAR,
    LOG_SQRT_2PI,
    fill_tails,
    log_area,
    log_between,
    log_likelihood_by_outcomes,
    log_probabilities_by_outcomes,
    log_tail,
    mills,
)

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Edges = tuple[float, float]
# In derivatives, that of d, and the first ones of means and of gaps.
type Columns = tuple[int, int, int]
# Log-probabilities of outcomes (correct, rating), and their derivatives in a further dim.
type Outcomes = tuple[Floats, Floats]

# Columns of the arguments: d′, meta-d′, number of options, whether noise is Gumbel's; then gaps.
D, META, OPTIONS, GUMBEL, GAPS = range(5)
SQRT2 = math.sqrt(2)
# Areas below have too few digits in sums over x. These run REACH beyond the means, of which the
# largest and the smallest differ by no more than SPREAD.
SMALL = 1e-5
REACH = 8.3
SPREAD = 16.0
# Rows of the room of a cell: arguments of Φ, φ, Φ in two parts, scratch space and a power of Φ.
Y, DENSITY, SIGNED, BELOW, ROOM, POWER, ROWS = range(7)
# Columns of the sums of an edge: A and B, and their derivatives by d and y.
A, B, A_BY_D, B_BY_D, A_BY_Y, B_BY_Y, SUMS = range(7)
# Of single areas: logarithm of a ratio that is negligible, and of one whose square is.
NEGLIGIBLE = 42.0
TINY = -40.0
BISECTIONS = 80
NEAR = 0.02
HALF = math.log(2.0)
# Once a halved step changes the sum by no more, the error is about the square of this.
SETTLED = 1e-7
HALVINGS = 10
MOST_NODES = 20_000


@compiled
def log_likelihood(counts: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for.

    Parameters
    ----------
    counts : array, shape (cells, 2K)
        Of wrong and right answers, by rating.
    at : array, shape (cells, K + 3)
        Columns: d′, meta-d′, number of options, 1 for Gumbel noise and 0 for normal, and gaps. d′,
        meta-d′ and gaps are in the unit of `hmetad.likelihood.families.alternatives`.
    is_sloped : bool
        Whether the gradient is asked for.

    Returns
    -------
    tuple of array
        Log-likelihood (cells,), and its gradient, of the shape of `at`.
    """
    table = counts.reshape(len(at), 1, 2, counts.shape[1] // 2)
    room = room_of(table.shape[3], at)
    return log_likelihood_by_outcomes(fill_outcomes, room, table, at, is_sloped)


@compiled
def log_outcomes(at: Floats, levels: int, is_sloped: bool) -> tuple[Floats, Floats]:
    """Log P of all outcomes, (cells, 1, 2, levels), and its derivatives in a further dim."""
    room, shape = room_of(levels, at), (1, 2, levels)
    return log_probabilities_by_outcomes(fill_outcomes, room, at, shape, is_sloped)


@compiled
def room_of(levels: int, at: Floats) -> Floats:
    """Scratch space for the sums of a cell's edges."""
    most = at[:, OPTIONS].max() if len(at) else 2.0
    return np.empty((ROWS, 2 * levels * nodes_of(SPREAD, step_of(most))))


@compiled
def fill_outcomes(
    at: Floats, is_asked: Floats, log_p: Floats, jacobian: Floats, room: Floats
) -> None:
    """Log-probabilities of a cell's outcomes with `is_asked` above 0, and their derivatives.

    The latter are left out where there is no room for them.
    """
    y = np.zeros(is_asked.shape[2])
    for k in range(1, len(y)):
        y[k] = y[k - 1] + SQRT2 * at[GAPS + k - 1]
    log_p[:], jacobian[:] = 0.0, 0.0
    found = log_p[0], jacobian[0]
    add_level(D, at, y[:1], is_asked[0], found, room)
    if len(y) > 1:
        add_level(META, at, y, is_asked[0], found, room)


@compiled
def step_of(options: float) -> float:
    """Step of the sums over x: the more options there are, the steeper are their integrands."""
    return 0.7 * max(options, 2.0) ** -0.4


@compiled
def nodes_of(spread: float, step: float) -> int:
    """Number of nodes of the sums over x, for means that differ by no more than `spread`."""
    return math.ceil((spread + 2 * REACH) / step) + 1


@compiled
def add_level(
    column: int, at: Floats, y: Floats, is_asked: Floats, found: Outcomes, room: Floats
) -> None:
    """Add log P(margin | correct) to the outcomes (correct, rating), and its derivatives.

    With a single edge it is P(correct).
    """
    (log_p, jacobian), levels, d = found, len(y), at[column] / SQRT2
    m = float(round(max(at[OPTIONS], 2.0)))
    is_gumbel, sums, slopes = at[GUMBEL] > 0, np.zeros((levels + 1, SUMS)), np.empty(4)
    is_summed = not is_gumbel and abs(d) <= SPREAD
    if is_summed:
        fill_sums(d, m, y, edges_asked(is_asked, levels), room, sums)
    for correct in range(2):
        asked = is_asked[correct]
        if asked.sum() == 0:
            continue
        # The last one is the whole, that ratings are given.
        for k in range(levels + 1 if levels > 1 else 1):
            if levels > 1 and k < levels and asked[k] == 0:
                continue
            lower, upper = (k, k + 1) if k < levels else (0, levels)
            edge = y[upper] if upper < levels else math.inf
            q = A if correct else B
            area = sums[lower, q] - sums[upper, q] if is_summed else 0.0
            if area >= SMALL:
                own, by, by_edge = math.log(area), q + A_BY_D, q + A_BY_Y
                slopes[0] = (sums[lower, by] - sums[upper, by]) / area
                slopes[1], slopes[2] = sums[lower, by_edge] / area, -sums[upper, by_edge] / area
            elif is_gumbel:
                own = log_gumbel_area(correct, d, m, y[lower], edge, slopes)
            else:
                others = others_of(correct, d, m)
                own = add_area(d if correct else 0.0, others, y[lower], edge, slopes)
                slopes[0] = -slopes[0] if correct else slopes[0]
                slopes[1:3] = slopes[len(others[0]) : len(others[0]) + 2]
                own += 0.0 if correct else math.log(m - 1)
            columns, outcomes = (column, 0, GAPS), (log_p[correct], jacobian[correct])
            add_margin(k, levels, own, slopes[:3], columns, outcomes)


@compiled
def edges_asked(is_asked: Floats, levels: int) -> Integers:
    """Edges of the ratings with `is_asked` above 0, and the first edge, which all are shares of."""
    is_needed = np.zeros(levels + 1, np.bool_)
    is_needed[0] = True
    for k in range(levels):
        if is_asked[0, k] + is_asked[1, k] > 0:
            is_needed[k] = is_needed[k + 1] = True
    return np.flatnonzero(is_needed[:levels])


@compiled
def add_margin(
    k: int, levels: int, own: float, slopes: Floats, columns: Columns, found: Outcomes
) -> None:
    """Add the log area of a margin to those of the ratings (K,) that it is of, and its derivatives.

    A single level is of all ratings, and so is the whole beyond the last level, which is taken from
    them. `slopes` are those by means, d and both edges; derivatives have dims (K, arguments).
    """
    log_p, jacobian = found
    first, last = (k, k + 1) if levels > 1 and k < levels else (0, len(log_p))
    sign = -1.0 if k == levels else 1.0
    lower, upper = (k, (k + 1) % levels) if k < levels else (0, 0)
    (of_d, of_means, of_gaps), means = columns, len(slopes) - 3
    for rating in range(first, last):
        log_p[rating] += sign * own
        if jacobian.size == 0:
            continue
        row = jacobian[rating]
        row[of_d] += sign * slopes[means] / SQRT2
        for j in range(means):
            row[of_means + j] += sign * slopes[j]
        for j in range(lower):
            row[of_gaps + j] += sign * SQRT2 * slopes[means + 1]
        for j in range(upper):
            row[of_gaps + j] += sign * SQRT2 * slopes[means + 2]


@compiled
def others_of(correct: int, d: float, m: float) -> Floats:
    """Means of the options that were not chosen, and how many have each."""
    if correct:
        return np.array([[0.0], [m - 1]])
    return np.array([[d], [1.0]]) if m == 2 else np.array([[d, 0.0], [1.0, m - 2]])


@compiled
def fill_sums(d: float, m: float, y: Floats, edges: Integers, room: Floats, sums: Floats) -> None:
    """Sums of some edges, of which the first is 0; those beyond the last are 0."""
    step = step_of(m)
    n, start = nodes_of(abs(d), step), min(d, 0.0) - REACH
    half = len(edges) * n
    for k in range(len(edges)):
        for j in range(n):
            edge = y[edges[k]] - (start + j * step)
            room[Y, k * n + j] = min(edge, FAR)
            room[Y, half + k * n + j] = min(edge + d, FAR)
    fill_tails(2 * half, room[Y], room[DENSITY], room[SIGNED], room[BELOW], room[ROOM])
    for e in range(2 * half):
        room[SIGNED, e] += room[BELOW, e]
    fill_power(half, room[SIGNED], int(m) - 3, room[POWER], room[ROOM])
    for k in range(len(edges)):
        a, a_by, b, by_one, by_two = edge_sums(n, k * n, half, room)
        own, others, found = step * (m - 1), step * (m - 1) * (m - 2), sums[edges[k]]
        found[A], found[B] = step * a, own * b
        found[A_BY_D], found[A_BY_Y] = own * a_by, -own * a_by
        found[B_BY_D] = -own * by_one
        found[B_BY_Y] = -own * by_one - others * by_two


@compiled
def fill_power(number: int, base: Floats, exponent: int, out: Floats, room: Floats) -> None:
    """Power of positive numbers, of an exponent from -1."""
    if exponent < 0:
        for e in range(number):
            out[e] = 1 / base[e]
        return
    for e in range(number):
        out[e] = base[e] if exponent % 2 else 1.0
        room[e] = base[e]
    exponent //= 2
    while exponent > 0:
        for e in range(number):
            room[e] *= room[e]
        if exponent % 2:
            for e in range(number):
                out[e] *= room[e]
        exponent //= 2


@summed
def edge_sums(n: int, at: int, half: int, room: Floats) -> tuple[float, float, float, float, float]:
    """Sums over x of an edge: right and by its options; wrong, by the right and by its others."""
    density, below, power = room[DENSITY], room[SIGNED], room[POWER]
    a = a_by = b = by_one = by_two = 0.0
    for j in range(n):
        # Of the first edge, 0, densities are those of the chosen option.
        wrong, right, rest = density[j], density[half + j], below[at + j] * power[at + j]
        a += right * below[at + j] * rest
        a_by += right * density[at + j] * rest
        b += wrong * below[half + at + j] * rest
        by_one += wrong * density[half + at + j] * rest
        by_two += wrong * below[half + at + j] * density[at + j] * power[at + j]
    return a, a_by, b, by_one, by_two


@compiled
def log_gumbel_area(
    correct: int, d: float, m: float, lower: float, upper: float, slopes: Floats
) -> float:
    """Log area of a margin with Gumbel noise; `slopes` by d, lower and upper edge."""
    others = math.exp(d) + m - 2
    middle, by_middle = math.log(m - 1) - d, -1.0
    value = 0.0
    if not correct:
        middle, by_middle, value = math.log(others), math.exp(d) / others, math.log(m - 1)
    low, high = lower + middle, upper + middle
    value -= max(low, 0.0) + math.log1p(math.exp(-abs(low)))
    slopes[1], slopes[2] = -1 / (1 + math.exp(-low)), 0.0
    if upper < math.inf:
        gap, beyond = upper - lower, 1 / (1 + math.exp(high))
        value += math.log(-math.expm1(-gap)) + min(high, 0.0) - math.log1p(math.exp(-abs(high)))
        slopes[1] -= 1 / math.expm1(gap)
        slopes[2] = beyond + 1 / math.expm1(gap)
    slopes[0] = by_middle * (slopes[1] + slopes[2])
    return value


@compiled
def add_area(chosen: float, others: Floats, lower: float, upper: float, slopes: Floats) -> float:
    """Log P(an option wins by lower to upper), exact however far out that is.

    Parameters
    ----------
    chosen : float
        Mean of the option.
    others : array, shape (2, J)
        Means of the others, and how many of them have each.
    lower, upper : float
        Edges of the margin; the upper one may be infinite.
    slopes : array, shape (at least J + 2,)
        Is filled with derivatives by the means of the others and by both edges. That by the mean of
        the option is minus the sum of the former.
    """
    size = others.shape[1] + 2
    own, work = np.empty(size), np.empty((4, size))
    if not math.isfinite(chosen + lower + others.sum()) or math.isnan(upper):
        slopes[:size] = math.nan
        return math.nan
    edges = lower, upper
    x, bend = find_top(chosen, others, edges, own, work)
    top = log_integrand(x, chosen, others, edges, own, work)
    if not top > -math.inf:
        slopes[:size] = 0.0
        return top
    step, before, area, total = 0.8 / math.sqrt(bend), 0.0, 0.0, 1.0
    slopes[:size] = own
    for halving in range(HALVINGS):
        for side in (-1.0, 1.0):
            # Of a halved step every second node is new.
            for j in range(1, MOST_NODES, min(halving + 1, 2)):
                place = x + side * j * step
                log_f = log_integrand(place, chosen, others, edges, own, work)
                if not log_f > top - NEGLIGIBLE:
                    break
                weight = math.exp(log_f - top)
                total += weight
                for i in range(size):
                    slopes[i] += weight * own[i]
        before, area = area, total * step
        if abs(area - before) <= SETTLED * area:
            break
        step /= 2
    for i in range(size):
        slopes[i] /= total
    return top + math.log(area) - LOG_SQRT_2PI


@compiled
def find_top(
    chosen: float, others: Floats, edges: Edges, slopes: Floats, work: Floats
) -> tuple[float, float]:
    """Where the log integrand is highest, to some .02, and its curvature there, at least 1."""
    # It falls by at least 1 in the slope per unit of x.
    left = right = chosen
    pull = slope_of_integrand(chosen, chosen, others, edges, slopes, work)
    left, right = min(chosen, chosen + pull), max(chosen, chosen + pull)
    for _ in range(BISECTIONS):
        middle = (left + right) / 2
        if right - left < 2 * NEAR:
            break
        if slope_of_integrand(middle, chosen, others, edges, slopes, work) > 0:
            left = middle
        else:
            right = middle
    x = (left + right) / 2
    fall = slope_of_integrand(x - NEAR, chosen, others, edges, slopes, work)
    fall -= slope_of_integrand(x + NEAR, chosen, others, edges, slopes, work)
    return x, max(1.0, fall / (2 * NEAR))


@compiled
def slope_of_integrand(
    x: float, chosen: float, others: Floats, edges: Edges, slopes: Floats, work: Floats
) -> float:
    """Derivative of the log integrand by x, which moves against all means."""
    log_integrand(x, chosen, others, edges, slopes, work)
    total = chosen - x
    for j in range(others.shape[1]):
        total -= slopes[j]
    return total


@compiled
def log_integrand(
    x: float, chosen: float, others: Floats, edges: Edges, slopes: Floats, work: Floats
) -> float:
    """Log of φ(x - chosen)·[∏Φ(x - lower - mean) - ∏Φ(x - upper - mean)], but for √2π.

    `slopes` are filled as by `add_area`. Of each other option δ is the share of Φ(x - lower - mean)
    that lies beyond x - upper - mean: the bracket is ∏Φ·[1 - ∏(1 - δ)].
    """
    (lower, upper), size, means, numbers = edges, others.shape[1], others[0], others[1]
    value = -(x - chosen) * (x - chosen) / 2
    slopes[size] = slopes[size + 1] = 0.0
    lost, top = 0.0, -math.inf
    for j in range(size):
        inner, outer, n = x - lower - means[j], x - upper - means[j], numbers[j]
        log_below, hazard = log_tail(-inner, mills(abs(inner)))
        value += n * log_below
        slopes[j] = -n * hazard
        slopes[size] -= n * hazard
        if upper == math.inf:
            continue
        area_of = log_between(outer, inner)
        if upper - lower < 1:
            # Edges far from 0 do not have the digits of a small difference.
            area_of = log_area(outer, upper - lower, mills(abs(outer)), mills(abs(inner)))
        log_part, at_inner, tilt = area_of
        log_share = log_part - log_below
        rest = (
            math.log1p(-math.exp(log_share))
            if log_share < -HALF
            else (log_tail(-outer, mills(abs(outer)))[0] - log_below)
        )
        lost += n * rest
        work[0, j] = math.log(n) + log_share
        top = max(top, work[0, j])
        # Derivatives of log δ by the mean and both edges, and what is left of Φ.
        work[1, j], work[2, j], work[3, j] = hazard - tilt, hazard - at_inner, rest
    if upper == math.inf:
        return value
    share = math.log(-math.expm1(lost)) if top > TINY else log_sum_of(work[0, :size], top)
    for j in range(size):
        part = math.exp(work[0, j] + lost - work[3, j] - share)
        slopes[j] += part * work[1, j]
        slopes[size] += part * work[2, j]
        slopes[size + 1] += part * (work[1, j] - work[2, j])
    return value + share


@compiled
def log_sum_of(x: Floats, top: float) -> float:
    """log Σ exp(x), of which `top` is the largest."""
    total = 0.0
    for j in range(len(x)):
        total += math.exp(x[j] - top)
    return top + math.log(total)
