"""Ratings by criteria of random scale: probabilities, derivatives and information, compiled.

Arguments of cells → log-probabilities of outcomes with their Jacobian, and from these likelihood,
gradient and expected information.

Evidence is x ~ N(S·d/2, 1) for stimulus S = ±1, and the response is R = 1 where x > c, else -1.
Distances t(R, i) from c, all multiplied by one L, cut |x - c| into ratings. L is lognormal with
mean 1, and q is the SD of its logarithm:

    P(R, rating > i | S) = E_z Φ(R·(S·d/2 - c) - t(R, i)·exp(-q²/2 + q·z)),  z ~ N(0, 1).

This is the lognormal meta noise of Shekhar & Rahnev (2021), q = σ, and CASANDRE of Boundy-Singer
et al. (2023) with q = √log(1 + σ²), in one: they are the same likelihood.

The integrand over z falls like φ(z), so that the trapezoidal rule converges faster than any power
of its step (Trefethen & Weideman, 2014). The sums of all edges of a cell are taken together; an
area for which they have too few digits is computed by itself, where its integrand is positive.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.tails import (
    FAR,
    LOG_SQRT_2PI,
    SQRT_2PI,
    add_information,
    fill_tails,
    log_between,
    log_likelihood_by_outcomes,
    log_probabilities_by_outcomes,
    mills,
)

type Floats = NDArray[np.float64]
type Slopes = tuple[float, float, float, float, float]
# Mean of the evidence, both distances, and q.
type Area = tuple[float, float, float, float]

# Sizes of the outcomes' axes before the ratings: stimuli and responses.
AXES = (2, 2)
# Columns of the arguments: three numbers, and the distances.
D, C, Q, T = range(4)

# Sums over z have errors of about 1e-16. Where areas are smaller than this, that is too much.
SMALL = 1e-5
# The sums run to ±SUMMED with a step from this list, and are taken in blocks of CHUNK nodes.
SUMMED = 8.4
STEPS = 0.75 * 0.85 ** np.arange(24)
SIDES = np.ceil(SUMMED / STEPS).astype(np.int64)
DIGITS = 34.0
CHUNK = 16
# Of each edge y = t·L - h there are four sums: of 1 - Φ(y), of φ(y), of φ(y)·L and of
# φ(y)·L·(z - q).
BEYOND, DENSITY, BY_SCALE, BY_SPREAD, SUMS = range(5)

# Of single areas: logarithm of a ratio that is negligible.
NEGLIGIBLE = 40.0
# Half of the range that is looked through first, and the coarsest step.
REACH = 12.0
STEP = 0.25
MOST_STEPS = 10_000
STAGES = 4
# Logarithm of the largest scale and of the inverse of the smallest.
LONGEST = 600.0
# Once a halved step changes the sum by no more, the error is about the square of this times 1000.
SETTLED = 1e-8
HALVINGS = 12


@compiled
def expected_information(trials: Floats, at: Floats) -> Floats:
    """Expected information of each cell about its arguments, (cells, 2K + 1, 2K + 1).

    `trials` (cells, 2) are those of stimulus S1 and S2.
    """
    (cells, numbers), levels = at.shape, (at.shape[1] - T) // 2 + 1
    information, is_asked = np.zeros((cells, numbers, numbers)), np.ones((2, 2, levels))
    log_p, jacobian = np.empty((2, 2, levels)), np.zeros((2, 2, levels, numbers))
    rooms = rooms_of(levels)
    for i in range(cells):
        fill_outcomes(at[i], is_asked, log_p, jacobian, rooms)
        add_information(i, trials, log_p, jacobian, information)
    return information


@compiled
def log_probabilities(at: Floats, levels: int) -> Floats:
    """Log P(response, rating | stimulus), (cells, 2, 2, levels)."""
    shape, room = (2, 2, levels), rooms_of(levels)
    return log_probabilities_by_outcomes(fill_outcomes, room, at, shape, False)[0]


@compiled
def rooms_of(levels: int) -> tuple[Floats, Floats]:
    """Room for the sums of a cell's edges, in the order stimulus, response, distance; and more."""
    edges = 4 * (levels - 1)
    return np.zeros((SUMS, edges)), np.empty((5, CHUNK * edges))


@compiled
def log_likelihood(counts: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    at : array, shape (cells, 2K + 1)
        Columns: d′ and the criterion c, in SDs of the evidence; q, the SD of the logarithm of the
        criteria's scale, 0 for signal detection ratings; distances t of the criteria from c,
        positive and rising, in SDs of the evidence, of response S1 and then of S2.
    is_sloped : bool
        Whether the gradient is asked for.

    Returns
    -------
    tuple of array
        The value (cells,), and its gradient, of the shape of `at`.

    Examples
    --------
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> value, slopes = log_likelihood(n, np.array([[1.0, 0.0, 1.0, 1.0, 1.0]]), True)
    >>> value.round(6), slopes[:, D].round(6)
    (array([-121.217562]), array([3.618823]))
    """
    return log_likelihood_by_outcomes(
        fill_outcomes, rooms_of(counts.shape[3]), counts, at, is_sloped
    )


@compiled
def fill_outcomes(
    at: Floats, is_asked: Floats, log_p: Floats, jacobian: Floats, rooms: tuple[Floats, Floats]
) -> None:
    """Log-probabilities of a cell's outcomes with `is_asked` above 0; Jacobian unless empty."""
    last, (edges, room) = log_p.shape[2] - 1, rooms
    level = step_level(at[D], at[C], at[Q])
    if level >= 0:
        fill_sums(at, level, edges, room)
    for row in range(4):
        stimulus, response = row // 2, row % 2
        sign, side = stimulus - 0.5, 2.0 * response - 1.0
        h = side * (sign * at[D] - at[C])
        first = T + response * last
        inside = response_area(h)
        for k in range(last + 1):
            outside = edges[BEYOND, row * last + k] if k < last else 0.0
            area, inside = inside - outside, outside
            if not is_asked[stimulus, response, k] > 0:
                continue
            lower = at[first + k - 1] if k > 0 else 0.0
            upper = at[first + k] if k < last else math.inf
            if level < 0 or area < SMALL:
                own, by_h, by_lower, by_upper, by_q = log_scaled_area(h, lower, upper, at[Q])
            else:
                own, by_h, by_lower, by_upper, by_q = log_summed_area(
                    area, h, lower, upper, row * last + k, edges
                )
            log_p[stimulus, response, k] = own
            if jacobian.size == 0:
                continue
            slope = jacobian[stimulus, response, k]
            slope[:] = 0.0
            slope[D], slope[C], slope[Q] = side * sign * by_h, -side * by_h, by_q
            if k > 0:
                slope[first + k - 1] = by_lower
            if k < last:
                slope[first + k] = by_upper


@compiled
def step_level(d: float, c: float, q: float) -> int:
    """Place in `STEPS` of the largest step that is fine enough, or -1 where none is.

    At z + iη the integrand is at most exp(η²/2 + h²·sin²(qη)/(2·cos(2qη))) as long as qη < π/4,
    and the sum's error is that times exp(-2πη/step).
    """
    h = abs(d) / 2 + abs(c)
    if not h <= FAR:
        return -1
    step = 0.0
    for eta in (
        min(7.0, 0.55 / max(abs(q), 1e-9)),
        min(min(7.0, 0.55 / max(abs(q), 1e-9)), 7.0 / math.sqrt(1 + q * q * h * h)),
    ):
        turn = q * eta
        growth = eta * eta / 2 + (h * math.sin(turn)) ** 2 / (2 * math.cos(2 * turn))
        step = max(step, 2 * math.pi * eta / (DIGITS + growth))
    for level in range(len(STEPS)):
        if STEPS[level] <= step:
            return level
    return -1


@compiled
def fill_sums(at: Floats, level: int, edges: Floats, room: Floats) -> None:
    """The four sums of every edge of a cell."""
    per_node = edges.shape[1]
    inner, q = per_node // 4, at[Q]
    step, side_nodes = STEPS[level], SIDES[level]
    edges[:] = 0.0
    y, density, signed, below = room[0], room[1], room[2], room[3]
    scale, ratio = math.exp(-q * (side_nodes * step + q / 2)), math.exp(q * step)
    weights, scales, places = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for start in range(-side_nodes, side_nodes + 1, CHUNK):
        number = min(CHUNK, side_nodes + 1 - start)
        for j in range(number):
            z = (start + j) * step
            weights[j] = step * math.exp(-z * z / 2) / SQRT_2PI
            scales[j], places[j] = scale, z - q
            scale *= ratio
            e = j * per_node
            for row in range(4):
                h = (2.0 * (row % 2) - 1) * ((row // 2 - 0.5) * at[D] - at[C])
                for k in range(inner):
                    y[e] = min(at[T + row % 2 * inner + k] * scales[j] - h, FAR)
                    e += 1
        fill_tails(number * per_node, y, density, signed, below, room[4])
        for j in range(number):
            first, weight = j * per_node, weights[j]
            by_scale, by_spread = weight * scales[j], weight * scales[j] * places[j]
            for e in range(per_node):
                edges[BEYOND, e] += weight * (signed[first + e] + below[first + e])
                edges[DENSITY, e] += weight * density[first + e]
                edges[BY_SCALE, e] += by_scale * density[first + e]
                edges[BY_SPREAD, e] += by_spread * density[first + e]


@compiled
def response_area(h: float) -> float:
    """Φ(h), the share of a response."""
    tail = math.exp(-h * h / 2) / SQRT_2PI * mills(abs(h))
    return 1 - tail if h > 0 else tail


@compiled
def log_summed_area(
    area: float, h: float, lower: float, upper: float, outer: int, edges: Floats
) -> Slopes:
    """Log of a rating's area, and derivatives by h, its distances and q, from its edges' sums.

    `outer` is the place of its outer edge in `edges`.
    """
    by_h, by_lower, by_upper, by_q = math.exp(-h * h / 2) / SQRT_2PI / area, 0.0, 0.0, 0.0
    if lower > 0:
        by_h = edges[DENSITY, outer - 1] / area
        by_lower = -edges[BY_SCALE, outer - 1] / area
        by_q = -lower * edges[BY_SPREAD, outer - 1] / area
    if upper < math.inf:
        by_h -= edges[DENSITY, outer] / area
        by_upper = edges[BY_SCALE, outer] / area
        by_q += upper * edges[BY_SPREAD, outer] / area
    return math.log(area), by_h, by_lower, by_upper, by_q


@compiled
def log_scaled_area(h: float, lower: float, upper: float, q: float) -> Slopes:
    """Log of an expected area, and its derivatives by h, both distances and q.

    Parameters
    ----------
    h : float
        Mean of the evidence beyond the decision, on the side of the response.
    lower, upper : float
        Distances of the edges from the decision at scale 1; 0 ≤ lower < upper ≤ ∞.
    q : float
        SD of the logarithm of the scale, whose mean is 1.

    Returns
    -------
    tuple of float
        The logarithm, then its derivatives by h, lower, upper and q. Where the area is empty, -inf
        and zeros.
    """
    if math.isnan(h + lower + upper + q):
        return math.nan, math.nan, math.nan, math.nan, math.nan
    of, finest = (h, lower, upper, q), min(STEP, 0.5 / math.sqrt(1 + q * q * h * h))
    step = max(finest, REACH / MOST_STEPS)
    top, first, last = find_range(of, -REACH, REACH, step)
    if q > 0 and 1 < lower < math.inf:
        # Where the scale brings a far edge back to the evidence.
        top = max(top, log_integrand(q / 2 - math.log(lower) / q, of)[0])
    # Beyond the reach there is no more than its normal tail.
    reach = math.sqrt(2 * max(0.0, NEGLIGIBLE - top))
    if REACH < reach < math.inf:
        step = max(finest, reach / MOST_STEPS)
        top, first, last = find_range(of, -reach, reach, step)
    # Very far out that is done in stages, each within the range of the one before.
    for _ in range(STAGES):
        if step <= finest:
            break
        step = max(finest, (last - first) / MOST_STEPS)
        top, first, last = find_range(of, first, last, step)
    if top == -math.inf:
        return top, 0.0, 0.0, 0.0, 0.0
    total, by_h, by_lower, by_upper, by_q = sums(of, first, last, step, top)
    for _ in range(HALVINGS):
        step /= 2
        before = total
        total, by_h, by_lower, by_upper, by_q = sums(of, first, last, step, top)
        if abs(total - before) <= SETTLED * total or last - first > MOST_STEPS * step:
            break
    return (
        top + math.log(total) - LOG_SQRT_2PI,
        by_h / total,
        by_lower / total,
        by_upper / total,
        by_q / total,
    )


@compiled
def log_integrand(z: float, of: Area) -> tuple[float, float, float, float]:
    """Log of exp(-z²/2)·area at z; φ(upper)/area, (φ(upper) - φ(lower))/area; the scale."""
    h, lower, upper, q = of
    # Products with distances of 0 and ∞ stay what they are.
    scale = math.exp(min(max(q * (z - q / 2), -LONGEST), LONGEST))
    log_area, share, tilt = log_between(lower * scale - h, upper * scale - h)
    return log_area - z * z / 2, share, tilt, scale


@compiled
def find_range(of: Area, start: float, stop: float, step: float) -> tuple[float, float, float]:
    """Largest log integrand on a grid, and the range outside of which it is negligible."""
    number = math.ceil((stop - start) / step)
    top, first, last = -math.inf, 0, number
    for i in range(number + 1):
        top = max(top, log_integrand(start + i * step, of)[0])
    limit = top - NEGLIGIBLE
    while first < number and log_integrand(start + first * step, of)[0] < limit:
        first += 1
    while last > first and log_integrand(start + last * step, of)[0] < limit:
        last -= 1
    return top, start + (first - 1) * step, start + (last + 1) * step


@compiled
def sums(of: Area, first: float, last: float, step: float, top: float) -> Slopes:
    """Trapezoidal sums of the integrand over exp(top), and of its derivatives."""
    (_, lower, upper, q), total = of, 0.0
    by_h = by_lower = by_upper = by_q = 0.0
    for i in range(round((last - first) / step) + 1):
        z = first + i * step
        value, share, tilt, scale = log_integrand(z, of)
        weight = step * math.exp(value - top)
        if weight == 0:
            continue
        # An edge moves with its distance by the scale; a moving h shifts both back.
        at_lower, at_upper = weight * (tilt - share) * scale, weight * share * scale
        total += weight
        by_h -= weight * tilt
        by_lower += at_lower
        by_upper += at_upper
        moved = at_lower * lower + (at_upper * upper if upper < math.inf else 0.0)
        by_q += moved * (z - q)
    return total, by_h, by_lower, by_upper, by_q
