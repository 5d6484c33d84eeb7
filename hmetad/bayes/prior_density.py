"""Log density of the priors of single values, compiled.

Code of a prior, value and parameters → log density without its constant, and its slope.
"""

import math

from hmetad.bayes.program import PRIOR_CODES
from hmetad.likelihood.tails import compiled

__all__ = ["log_exponential_integral", "log_prior"]

(
    NORMAL, STUDENT_T, HALF_NORMAL, EXPONENTIAL, GAMMA, LOG_NORMAL, UNIFORM_TIMES, BETA,
) = PRIOR_CODES.values()  # fmt: skip
EULER = 0.5772156649015329
LENTZ_STEPS = 200
SERIES_BELOW = 1.5


@compiled
def log_prior(code: int, v: float, a: float, b: float, nu: float) -> tuple[float, float]:
    """Log density of a prior without its constant, and its slope."""
    if code == NORMAL:
        score = (v - a) / b
        return -score * score / 2, -score / b
    if code == STUDENT_T:
        score = (v - a) / b
        return -(nu + 1) / 2 * math.log1p(score * score / nu), -(nu + 1) * score / b / (
            nu + score * score
        )
    if code == HALF_NORMAL:
        score = v / a
        return -score * score / 2, -score / a
    if code == EXPONENTIAL:
        return -a * v, -a
    if code == GAMMA:
        return (a - 1) * math.log(v) - b * v, (a - 1) / v - b
    if code == LOG_NORMAL:
        score = (math.log(v) - a) / b
        return -math.log(v) - score * score / 2, -(1 + score / b) / v
    if code == UNIFORM_TIMES:
        half = (v / a) ** 2 / 2
        value, slope = log_exponential_integral(half)
        return value, slope * v / (a * a)
    return (a - 1) * (math.log(v) + math.log1p(-v)), (a - 1) * (1 / v - 1 / (1 - v))


@compiled
def log_exponential_integral(x: float) -> tuple[float, float]:
    """log E₁(x) for x > 0 and its derivative: power series near 0, continued fraction beyond.

    Source: Abramowitz & Stegun (1964), 5.1.11 and 5.1.22; the fraction by Lentz's method.
    """
    if x < SERIES_BELOW:
        total, power = -EULER - math.log(x), 1.0
        for k in range(1, 40):
            power *= -x / k
            total -= power / k
        return math.log(total), -math.exp(-x) / (x * total)
    b = x + 1
    c, d = 1e300, 1 / b
    fraction = d
    for k in range(1, LENTZ_STEPS):
        a = -k * k
        b += 2
        d = 1 / (a * d + b)
        c = b + a / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return math.log(fraction) - x, -1 / (x * fraction)
