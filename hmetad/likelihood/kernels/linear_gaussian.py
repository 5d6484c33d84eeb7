"""Ratings that cut a noisy linear image of the evidence: probabilities and derivatives, compiled.

Arguments of cells → log-probabilities of outcomes with their Jacobian, and from these likelihood
and gradient.

Evidence is x ~ N(S·d/2, 1) for stimulus S = ±1, and the response is R = 1 where x > c, else -1.
Confidence rests on y = a·x + b·S·d/2 + w·R·d + σ·e, e ~ N(0, 1). Criteria θ cut y into ratings,
outward; the lowest rating of a response reaches inward without end. Special cases are

- signal detection ratings: a = 1, b = w = σ = 0;
- Gaussian noise, "GN" of statConfR: a = 1, b = w = 0;
- weighted evidence and visibility, "WEV": a = 1 - w, b = 0 (Rausch et al., 2018);
- confidence noise and boost, "CNCB": a = 1 - boost, b = boost, w = 0 (Mamassian & de Gardelle,
  2022);
- the second-order model with SD t and correlation ρ: a = ρ·t, b = 1 - ρ·t, σ = t·√(1 - ρ²),
  w = 0 (Fleming & Daw, 2017);
- post-decisional accumulation, "PDA" of statConfR: a = 1, b = σ², w = 0;
- evidence for the chosen response alone, "RCE" of statConfR: a = 1/2, b = 0, w = 1/4, σ = 1/2;
- independent Gaussian evidence, "IG" of statConfR: a = 0, b = m, w = 0, σ = 1.

A rating's probability is that of one of two correlated normals being positive while the other is
in an interval. With x ~ N(h, 1) and z ~ N(0, 1) of correlation ρ, and s = √(1 - ρ²),
P(x > 0, z in I) = ∫_I φ(z)·Φ(q) dz with q = (h + ρz)/s. Where q < 0, write Φ(q) = φ(q)·R(-q)
with Mills' ratio R, and u = (z + ρh)/s. Since φ(z)·φ(q) = φ(h)·φ(u), the integral is

    s·φ(h)·∫ φ(u)·R(|hs + ρu|) du.

Its integrand is positive, and R changes slowly for every ρ: a few Gauss nodes suffice. Where
q > 0, the same integral is what is missing from the area of I, at most half of it. So no digits
are lost, neither in the tails nor as s → 0.
"""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.tails import (
    EXP,
    EXP_DEGREE,
    EXPONENT,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    LOG_SQRT_2PI,
    MAGIC,
    log_between,
    log_likelihood_by_outcomes,
    log_probabilities_by_outcomes,
    log_tail,
    mills,
)

type Floats = NDArray[np.float64]
type Rooms = tuple[Floats, Floats]

# Sizes of the outcomes' axes before the ratings: stimuli and responses.
AXES = (2, 2)
# Columns of the arguments: two numbers, four weights, and the criteria.
D, C, A, B, W, SIGMA, THETA = range(7)

# An s below this counts as 0; where something is divided by s = 0, it stands for it.
TINY = 1e-100
# Logarithm of a ratio below a double's last digit.
NEGLIGIBLE = 37.0
# Over a stretch on which φ(u) falls by exp(-fall), the rules with so many nodes have relative
# errors below 1e-12, as a comparison with 60 nodes over all ρ and h showed. What lies beyond a
# fall of 34 is below 2e-15 of the whole.
RULES = ((1.0, 8), (8.0, 12), (34.0, 20))
NODES = RULES[-1][1]
NEAR, MIDDLE, FARTHEST = (fall for fall, _ in RULES)
NEAR_NODES, MIDDLE_NODES = RULES[0][1], RULES[1][1]
PLACES = np.array([np.resize(leggauss(number)[0], NODES) for _, number in RULES])
WEIGHTS = np.array([np.resize(leggauss(number)[1], NODES) for _, number in RULES])


@compiled
def log_probabilities(at: Floats, levels: int) -> Floats:
    """Log P(response, rating | stimulus), (cells, 2, 2, levels)."""
    shape, room = (2, 2, levels), room_of(levels)
    return log_probabilities_by_outcomes(fill_outcomes, room, at, shape, False)[0]


@compiled
def log_likelihood(counts: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    at : array, shape (cells, 2K + 4)
        Columns: d′ and the criterion c, in SDs of the evidence; a, b and w, weights of the evidence
        x, of its mean S·d/2, and of R·d, of either sign; σ, the SD of the noise, at least 0, and
        not 0 where a is 0; criteria θ on the scale of y, outward: falling for response S1, then
        rising for S2.
    is_sloped : bool
        Whether the gradient is asked for.

    Returns
    -------
    tuple of array
        The value (cells,), and its gradient, of the shape of `at`. Where an area with a count is
        empty, the value is -inf, and the area is left out of the gradient. At σ = 0 the derivative
        by σ is its limit, 0.

    Examples
    --------
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> value, slopes = log_likelihood(n, np.array([[1.0, 0, 1, 0, 0, 1, -1, 1]]), True)
    >>> value.round(6), slopes[:, D].round(6)
    (array([-123.790395]), array([4.641088]))
    """
    return log_likelihood_by_outcomes(
        fill_outcomes, room_of(counts.shape[3]), counts, at, is_sloped
    )


@compiled
def room_of(levels: int) -> Floats:
    """Scratch space of a cell: nodes of an integral, and edges."""
    return np.empty((5, max(NODES, levels + 1)))


# Of an area P(x > 0, lower < z < upper) the derivatives are closed forms, with q = (h + ρz)/s and
# u = (z + ρh)/s at the edges: by an edge z ±φ(z)·Φ(q), by h φ(h)·[Φ(u_upper) - Φ(u_lower)], by ρ
# -φ(h)·[φ(u_upper) - φ(u_lower)]/s. The last is infinite at s = 0, but ρ = a/v changes with a and
# σ by s²/v and -ρs/v, so that s falls out.


@compiled
def fill_outcomes(
    at: Floats, is_asked: Floats, log_p: Floats, jacobian: Floats, room: Floats
) -> None:
    """Log-probabilities of a cell's outcomes with `is_asked` above 0; Jacobian unless empty."""
    d, a, b, w = at[D], at[A], at[B], at[W]
    last = log_p.shape[2] - 1
    v = math.hypot(a, at[SIGMA])
    rho, s = a / v, at[SIGMA] / v
    rooms, edges, log_edges = (room[0], room[1]), room[2], room[3]
    for stimulus in range(2):
        mu = (stimulus - 0.5) * d
        for response in range(2):
            side = 2.0 * response - 1.0
            h = side * (mu - at[C])
            mean = side * (a + b) * mu + w * d
            # Standardised edges of R·y, from -∞ outward to ∞.
            edges[0], edges[last + 1] = -math.inf, math.inf
            for k in range(last):
                edges[k + 1] = (side * at[THETA + response * last + k] - mean) / v
            for k in range(last + 1):
                if is_asked[stimulus, response, k] > 0:
                    own = log_strip(edges[k], edges[k + 1], h, rho, s, rooms)
                    log_p[stimulus, response, k] = own
            if jacobian.size == 0:
                continue
            fill_log_edges(edges, last, h, rho, s, log_edges)
            for k in range(last + 1):
                own = log_p[stimulus, response, k]
                if not (is_asked[stimulus, response, k] > 0 and own > -math.inf):
                    continue
                slope = jacobian[stimulus, response, k]
                slope[:] = 0.0
                by_h, by_corner = slopes_of_area(edges[k], edges[k + 1], h, rho, s, own)
                by_shift = by_scale = 0.0
                for j in range(max(k, 1), min(k + 1, last) + 1):
                    by_edge = math.exp(log_edges[j] - own) * (1.0 if j > k else -1.0)
                    slope[THETA + response * last + j - 1] = by_edge * side / v
                    by_shift += by_edge
                    by_scale += by_edge * edges[j]
                by_mean = -by_shift / v
                by_mu = by_h * side + by_mean * side * (a + b)
                slope[D] = by_mu * (stimulus - 0.5) + by_mean * w
                slope[C] = -by_h * side
                slope[A] = by_mean * side * mu - (by_scale * rho + by_corner * s) / v
                slope[B] = by_mean * side * mu
                slope[W] = by_mean * d
                slope[SIGMA] = (by_corner * rho - by_scale * s) / v


@compiled
def fill_log_edges(
    edges: Floats, last: int, h: float, rho: float, s: float, log_edges: Floats
) -> None:
    """Log φ(z)·Φ(q) at the finite edges: the density that crosses one as it moves."""
    for k in range(1, last + 1):
        z = edges[k]
        q = (h + rho * z) / max(s, TINY)
        log_edges[k] = log_tail(-q, mills(abs(q)))[0] - z * z / 2 - LOG_SQRT_2PI


@compiled
def slopes_of_area(
    lower: float, upper: float, h: float, rho: float, s: float, log_p: float
) -> tuple[float, float]:
    """Derivatives of the log of an area by h, and by -s·ρ."""
    spread = max(s, TINY)
    log_width, _, tilt = log_between((lower + rho * h) / spread, (upper + rho * h) / spread)
    by_h = math.exp(-h * h / 2 - LOG_SQRT_2PI + log_width - log_p)
    return by_h, by_h * tilt


@compiled
def log_strip(lower: float, upper: float, h: float, rho: float, s: float, rooms: Rooms) -> float:
    """Log P(x > 0, lower < z < upper), where x ~ N(h, 1), z ~ N(0, 1).

    Parameters
    ----------
    lower, upper : float
        Edges of z, which may be infinite.
    h : float
        Mean of x.
    rho, s : float
        Correlation of x and z, and √(1 - ρ²), which may be 0.
    rooms : tuple of two arrays, shape (NODES,)
        Scratch space.

    Returns
    -------
    float
        -inf where the interval is empty, or s is 0 and no z in it has a positive x.
    """
    if upper <= lower:
        return -math.inf
    if math.isnan(h + rho + s) or math.isnan(lower) or math.isnan(upper):
        return math.nan
    if rho < 0:
        lower, upper, rho = -upper, -lower, -rho
    # Where q = 0.
    start = -h / rho if rho > 0 else math.copysign(math.inf, -h)
    value = -math.inf
    if lower < start and s > TINY:
        inner = min(upper, start)
        value = log_shaded(lower, inner, h, rho, s, -1.0, rooms)
    if upper > start:
        outer = max(lower, start)
        whole = log_between(outer, upper)[0]
        if s > TINY:
            # No more than half of the whole is missing, and no more than s·φ(h)·R(0).
            bound = math.log(s / 2) - h * h / 2
            if whole > -math.inf and bound > whole - NEGLIGIBLE:
                missing = log_shaded(outer, upper, h, rho, s, 1.0, rooms)
                whole += math.log1p(-min(math.exp(missing - whole), 0.5))
        if value == -math.inf:
            value = whole
        else:
            larger = max(value, whole)
            value = larger + math.log1p(math.exp(min(value, whole) - larger))
    return value


@compiled
def log_shaded(
    lower: float, upper: float, h: float, rho: float, s: float, side: float, rooms: Rooms
) -> float:
    """Log of s·φ(h)·∫ φ(u)·R(side·(hs + ρu)) du from z = lower to z = upper."""
    first, last = (lower + rho * h) / s, (upper + rho * h) / s
    # Where φ(u) is largest.
    top = min(max(first, 0.0), last)
    if abs(top) > 1 / TINY:
        return -math.inf
    first = max(first, -math.sqrt(top * top + 2 * FARTHEST))
    last = min(last, math.sqrt(top * top + 2 * FARTHEST))
    start, slope = side * h * s, side * rho
    total = 0.0
    if (last - first) * (last - first) <= 2 * FARTHEST:
        total += panel(first, last, top, start, slope, rooms)
    else:
        total += panel(first, top, top, start, slope, rooms)
        total += panel(top, last, top, start, slope, rooms)
    if total == 0.0:
        return -math.inf
    return math.log(s * total) - (h * h + top * top) / 2 - 2 * LOG_SQRT_2PI


@compiled
def panel(first: float, last: float, top: float, start: float, slope: float, rooms: Rooms) -> float:
    """∫ exp(-(u² - top²)/2)·R(start + slope·u) du from first to last; φ is largest at `top`."""
    width = last - first
    if width <= 0:
        return 0.0
    # A stretch across zero needs as many nodes as one of its width from zero on.
    fall = width * max(width, abs(last + first)) / 2
    if fall <= NEAR:
        rule, number = 0, NEAR_NODES
    elif fall <= MIDDLE:
        rule, number = 1, MIDDLE_NODES
    else:
        rule, number = 2, NODES
    half, center = (last - first) / 2, (last + first) / 2
    (room, work), area = rooms, 0.0
    shifts, powers = room.view(np.int64), work.view(np.int64)
    for i in range(number):
        u = center + half * PLACES[rule, i]
        exponent = (top - u) * (top + u) / 2
        room[i] = exponent * LOG2_E + MAGIC
        k = room[i] - MAGIC
        r = (exponent - k * LN2_HIGH) - k * LN2_LOW
        total = EXP[EXP_DEGREE]
        for j in range(EXP_DEGREE - 1, -1, -1):
            total = total * r + EXP[j]
        work[i] = total * mills(start + slope * u) * WEIGHTS[rule, i]
    for i in range(number):
        powers[i] += shifts[i] << EXPONENT
    for i in range(number):
        area += work[i]
    return area * half
