"""Probability that one of two correlated normals is positive while the other is in an interval.

Edges, mean and correlation (scalars) → log probability, exact in the tails, compiled.

x ~ N(h, 1) and z ~ N(0, 1) have the correlation ρ, and s = √(1 - ρ²). Then
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

from hmetad.likelihood.tails import (
    EXP,
    EXP_DEGREE,
    EXPONENT,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    LOG_SQRT_2PI,
    MAGIC,
    compiled,
    log_area,
    log_tail,
    mills,
)

__all__ = ["NODES", "TINY", "log_between", "log_strip"]

type Floats = NDArray[np.float64]

# An s below this counts as 0; where something is divided by s = 0, it stands for it.
TINY = 1e-100
# An edge of N(0, 1) beyond which there is less than 1e-20 of any area that begins nearer by 1.
DISTANT = 50.0
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
def log_between(lower: float, upper: float) -> tuple[float, float, float]:
    """Log area A of N(0, 1) between two edges, φ(upper)/A and (φ(upper) - φ(lower))/A.

    An edge may be infinite. One far beyond the other counts as such, since its size would cost the
    nearer edge its digits.
    """
    if lower < -DISTANT and upper > lower + 1:
        lower = -math.inf
    if upper > DISTANT and lower < upper - 1:
        upper = math.inf
    if upper == math.inf:
        if lower == -math.inf:
            return 0.0, 0.0, 0.0
        value, hazard = log_tail(lower, mills(abs(lower)))
        return value, 0.0, -hazard
    if lower == -math.inf:
        value, hazard = log_tail(-upper, mills(abs(upper)))
        return value, hazard, hazard
    return log_area(lower, upper - lower, mills(abs(lower)), mills(abs(upper)))


@compiled
def log_strip(
    lower: float, upper: float, h: float, rho: float, s: float, room: Floats, work: Floats
) -> float:
    """Log P(x > 0, lower < z < upper), where x ~ N(h, 1), z ~ N(0, 1).

    Parameters
    ----------
    lower, upper : float
        Edges of z, which may be infinite.
    h : float
        Mean of x.
    rho, s : float
        Correlation of x and z, and √(1 - ρ²), which may be 0.
    room, work : array, shape (NODES,)
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
        value = log_shaded(lower, inner, h, rho, s, -1.0, room, work)
    if upper > start:
        outer = max(lower, start)
        whole = log_between(outer, upper)[0]
        if s > TINY:
            # No more than half of the whole is missing, and no more than s·φ(h)·R(0).
            bound = math.log(s / 2) - h * h / 2
            if whole > -math.inf and bound > whole - NEGLIGIBLE:
                missing = log_shaded(outer, upper, h, rho, s, 1.0, room, work)
                whole += math.log1p(-min(math.exp(missing - whole), 0.5))
        if value == -math.inf:
            value = whole
        else:
            larger = max(value, whole)
            value = larger + math.log1p(math.exp(min(value, whole) - larger))
    return value


@compiled
def log_shaded(
    lower: float,
    upper: float,
    h: float,
    rho: float,
    s: float,
    side: float,
    room: Floats,
    work: Floats,
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
        total += panel(first, last, top, start, slope, room, work)
    else:
        total += panel(first, top, top, start, slope, room, work)
        total += panel(top, last, top, start, slope, room, work)
    if total == 0.0:
        return -math.inf
    return math.log(s * total) - (h * h + top * top) / 2 - 2 * LOG_SQRT_2PI


@compiled
def panel(
    first: float,
    last: float,
    top: float,
    start: float,
    slope: float,
    room: Floats,
    work: Floats,
) -> float:
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
    shifts = room.view(np.int64)
    powers = work.view(np.int64)
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
    area = 0.0
    for i in range(number):
        area += work[i]
    return area * half
