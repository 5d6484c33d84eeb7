"""Areas of the normal distribution between edges of random size, exact in the tails, compiled.

Edges, mean and spread of the scale (scalars) → log of the expected area and its derivatives.

The area is E_z[Φ(h - t·L) - Φ(h - t′·L)] with L = exp(-q²/2 + qz) and z ~ N(0, 1), for distances
t < t′. The integrand over z is positive and falls like φ(z), so the trapezoidal rule converges
faster than any power of its step (Trefethen & Weideman, 2014). The step is halved until the sum
stays, and the range is the one on which the integrand is not negligible beside its largest value.
"""

import math

from hmetad.likelihood.strips import log_between
from hmetad.likelihood.tails import LOG_SQRT_2PI, compiled

__all__ = ["log_scaled_area"]

# Logarithm of a ratio that is negligible.
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
def log_scaled_area(
    h: float, lower: float, upper: float, q: float
) -> tuple[float, float, float, float, float]:
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
    finest = min(STEP, 0.5 / math.sqrt(1 + q * q * h * h))
    step = max(finest, REACH / MOST_STEPS)
    top, first, last = find_range(h, lower, upper, q, -REACH, REACH, step)
    if q > 0 and 1 < lower < math.inf:
        # Where the scale brings a far edge back to the evidence.
        top = max(top, log_integrand(q / 2 - math.log(lower) / q, h, lower, upper, q)[0])
    # Beyond the reach there is no more than its normal tail.
    reach = math.sqrt(2 * max(0.0, NEGLIGIBLE - top))
    if REACH < reach < math.inf:
        step = max(finest, reach / MOST_STEPS)
        top, first, last = find_range(h, lower, upper, q, -reach, reach, step)
    # Very far out that is done in stages, each within the range of the one before.
    for _ in range(STAGES):
        if step <= finest:
            break
        step = max(finest, (last - first) / MOST_STEPS)
        top, first, last = find_range(h, lower, upper, q, first, last, step)
    if top == -math.inf:
        return top, 0.0, 0.0, 0.0, 0.0
    total, by_h, by_lower, by_upper, by_q = sums(h, lower, upper, q, first, last, step, top)
    for _ in range(HALVINGS):
        step /= 2
        before = total
        total, by_h, by_lower, by_upper, by_q = sums(h, lower, upper, q, first, last, step, top)
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
def log_integrand(
    z: float, h: float, lower: float, upper: float, q: float
) -> tuple[float, float, float, float]:
    """Log of exp(-z²/2)·area at z; φ(upper)/area, (φ(upper) - φ(lower))/area; the scale."""
    # Products with distances of 0 and ∞ stay what they are.
    scale = math.exp(min(max(q * (z - q / 2), -LONGEST), LONGEST))
    log_area, share, tilt = log_between(lower * scale - h, upper * scale - h)
    return log_area - z * z / 2, share, tilt, scale


@compiled
def find_range(
    h: float, lower: float, upper: float, q: float, start: float, stop: float, step: float
) -> tuple[float, float, float]:
    """Largest log integrand on a grid, and the range outside of which it is negligible."""
    number = math.ceil((stop - start) / step)
    top, first, last = -math.inf, 0, number
    for i in range(number + 1):
        top = max(top, log_integrand(start + i * step, h, lower, upper, q)[0])
    limit = top - NEGLIGIBLE
    while first < number and log_integrand(start + first * step, h, lower, upper, q)[0] < limit:
        first += 1
    while last > first and log_integrand(start + last * step, h, lower, upper, q)[0] < limit:
        last -= 1
    return top, start + (first - 1) * step, start + (last + 1) * step


@compiled
def sums(
    h: float,
    lower: float,
    upper: float,
    q: float,
    first: float,
    last: float,
    step: float,
    top: float,
) -> tuple[float, float, float, float, float]:
    """Trapezoidal sums of the integrand over exp(top), and of its derivatives."""
    total = by_h = by_lower = by_upper = by_q = 0.0
    for i in range(round((last - first) / step) + 1):
        z = first + i * step
        value, share, tilt, scale = log_integrand(z, h, lower, upper, q)
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
