"""What compiled kernels share: normal tails and areas without losing digits, and sums of outcomes.

Edges (scalars, or whole arrays) → areas, their logarithms and derivatives. Everything is
written with Mills' ratio R(y) = (1 - Φ(y)) / φ(y), which neither underflows nor cancels: a
tail is φ(y)·R(y), and an interval on one side of zero has
area φ(a)·[R(a) - R(b)·exp(-(b² - a²)/2)]. Nothing is clamped.

The scalar functions hold for any edge. Those over arrays are loops without branches or calls,
which the compiler turns into SIMD; they hold for |y| ≤ `FAR` and widths ≥ `NARROW`.

Kernels that compute outcomes one by one have of each cell log P(response, rating | stimulus), shape
(2, 2, K), and its derivatives by what the probabilities depend on, (2, 2, K, numbers) →
log-likelihood and gradient of its counts, and expected (Fisher) information.
"""

import math
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from scipy.special import erfcx

from hmetad.likelihood.compiling import compiled, inlined

type Floats = NDArray[np.float64]
type Bits = NDArray[np.int64]

FAR = 30.0
NARROW = 1e-3
# An edge beyond which there is less than 1e-20 of any area that begins nearer by 1.
DISTANT = 50.0
MILLS_SCALE = 4.0
MILLS_DEGREE = 20
SQRT_2PI = math.sqrt(2 * math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def mills_coefficients() -> tuple[float, ...]:
    """Polynomial in t = (y - 4)/(y + 4) for (1 + y)·R(y) on 0 ≤ y < ∞, relative error < 1e-14."""

    def scaled_mills(t: Floats) -> Floats:
        y = MILLS_SCALE * (1 + t) / (1 - t)
        return (1 + y) * math.sqrt(math.pi / 2) * erfcx(y / math.sqrt(2))

    series = Chebyshev.interpolate(scaled_mills, MILLS_DEGREE)
    return tuple(float(x) for x in series.convert(kind=Polynomial).coef)


MILLS = mills_coefficients()


@compiled
def mills(y: float) -> float:
    """R(y) for y ≥ 0."""
    t = (y - MILLS_SCALE) / (y + MILLS_SCALE)
    total = 0.0
    for i in range(MILLS_DEGREE, -1, -1):
        total = total * t + MILLS[i]
    return total / (1 + y)


@compiled
def log_tail(y: float, mills_abs: float) -> tuple[float, float]:
    """log(1 - Φ(y)) and the hazard φ(y) / (1 - Φ(y)); `mills_abs` is R(|y|)."""
    if y >= 0:
        return math.log(mills_abs) - y * y / 2 - LOG_SQRT_2PI, 1 / mills_abs
    density = math.exp(-y * y / 2) / SQRT_2PI
    below = density * mills_abs
    return math.log1p(-below), density / (1 - below)


@compiled
def log_area(
    lower: float, width: float, mills_lower: float, mills_upper: float
) -> tuple[float, float, float]:
    """Log area A of N(0, 1) on [lower, lower + width], φ(upper)/A and (φ(upper) - φ(lower))/A.

    The second is the derivative by the upper edge, the third that by a shift of both edges;
    `mills_lower` and `mills_upper` are R(|edge|).
    """
    upper = lower + width
    middle = lower + width / 2
    if width * max(1.0, abs(middle)) < NARROW:
        bend = (middle * middle - 1) * width * width / 24
        value = math.log(width) + math.log1p(bend) - middle * middle / 2 - LOG_SQRT_2PI
        share = math.exp(-width * width / 8) / (width * (1 + bend))
        tilt = middle * width / 2
        return value, share * math.exp(-tilt), -2 * share * math.sinh(tilt)
    if lower >= 0:
        decay = -width * middle
        area = mills_lower - math.exp(decay) * mills_upper
        value = math.log(area) - lower * lower / 2 - LOG_SQRT_2PI
        return value, math.exp(decay) / area, math.expm1(decay) / area
    if upper <= 0:
        decay = width * middle
        area = mills_upper - math.exp(decay) * mills_lower
        value = math.log(area) - upper * upper / 2 - LOG_SQRT_2PI
        return value, 1 / area, -math.expm1(decay) / area
    density_lower = math.exp(-lower * lower / 2) / SQRT_2PI
    density_upper = math.exp(-upper * upper / 2) / SQRT_2PI
    outside = density_lower * mills_lower + density_upper * mills_upper
    area = 1 - outside
    return math.log1p(-outside), density_upper / area, (density_upper - density_lower) / area


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
def log_tail_share(start: float, offset: float, mills_start: float, mills_end: float) -> float:
    """Log share of the upper tail beyond `start` that lies beyond `start + offset`.

    `mills_start` and `mills_end` are R(|edge|). Beyond 0 the squares of both edges, which may be so
    large that nothing else is left in their digits, are never computed.
    """
    if start < 0:
        return log_tail(start + offset, mills_end)[0] - log_tail(start, mills_start)[0]
    return math.log(mills_end / mills_start) - offset * (start + offset / 2)


@compiled
def log_share(
    start: float, offset: float, width: float, ratios: tuple[float, float, float]
) -> float:
    """Log share of the upper tail beyond `start` on [start + offset, start + offset + width].

    As `log_tail_share`, which it is the difference of at both edges. `ratios` are Mills' at the
    start, and at the lower and the upper edge.
    """
    (mills_start, mills_lower, mills_upper), lower = ratios, start + offset
    if start < 0:
        area, _, _ = log_area(lower, width, mills_lower, mills_upper)
        return area - log_tail(start, mills_start)[0]
    middle = lower + width / 2
    if width * max(1.0, middle) < NARROW:
        bend = (middle * middle - 1) * width * width / 24
        to_middle = offset + width / 2
        share = math.log(width / mills_start) + math.log1p(bend)
        return share - to_middle * (start + to_middle / 2)
    area = mills_lower - math.exp(-width * middle) * mills_upper
    return math.log(area / mills_start) - offset * (start + offset / 2)


# exp and log by the bits of a double, since the library's would stop the SIMD. Adding MAGIC to
# a number of moderate size leaves its nearest integer in the low bits; bits 52 up are the
# exponent. ln 2 is split so that k·LN2_HIGH is exact.
MAGIC = 1.5 * 2.0**52
MAGIC_BITS = np.float64(MAGIC).view(np.int64)
SQRT_HALF_BITS = np.float64(math.sqrt(0.5)).view(np.int64)
EXPONENT = np.int64(52)
LOG2_E = 1 / math.log(2)
LN2_HIGH = float.fromhex("0x1.62e42fefa0000p-1")
LN2_LOW = float.fromhex("0x1.cf79abc9e3b3ap-40")
EXP_DEGREE = 13
EXP = tuple(1 / math.factorial(k) for k in range(EXP_DEGREE + 1))
LOG_DEGREE = 8
# The first term left out, t²¹·2/21 at t = 0.172, is below half a unit in the last place.
LOG = tuple(2 / (2 * k + 3) for k in range(LOG_DEGREE + 1))


@compiled
def fill_tails(
    number: int, y: Floats, density: Floats, signed: Floats, below: Floats, room: Floats
) -> None:
    """φ(y), and the upper tail in two parts whose differences keep their digits.

    1 - Φ(y) = signed + below, with `signed` ± the smaller of the two tails and `below` 1 where
    y < 0. Over the first `number` elements; `room` is scratch space.
    """
    room_bits, density_bits = room.view(np.int64), density.view(np.int64)
    for i in range(number):
        room[i] = -0.5 * y[i] * y[i] * LOG2_E + MAGIC
    for i in range(number):
        k = room[i] - MAGIC
        r = (-0.5 * y[i] * y[i] - k * LN2_HIGH) - k * LN2_LOW
        total = EXP[EXP_DEGREE]
        for j in range(EXP_DEGREE - 1, -1, -1):
            total = total * r + EXP[j]
        density[i] = total / SQRT_2PI
    for i in range(number):
        density_bits[i] += room_bits[i] << EXPONENT
    for i in range(number):
        tail = density[i] * mills(abs(y[i]))
        below[i] = 1.0 if y[i] < 0 else 0.0
        signed[i] = -tail if y[i] < 0 else tail


@compiled
def fill_logarithms(
    number: int, x: Floats, out: Floats, exponent: Floats, mantissa: Floats
) -> None:
    """Natural logarithms of normal positive numbers; the last two arrays are scratch space.

    x = 2ᵏ·m with √½ ≤ m < √2, and log m = 2 artanh((m - 1)/(m + 1)).
    """
    x_bits = x.view(np.int64)
    exponent_bits, mantissa_bits = exponent.view(np.int64), mantissa.view(np.int64)
    for i in range(number):
        k = (x_bits[i] - SQRT_HALF_BITS) >> EXPONENT
        exponent_bits[i] = k + MAGIC_BITS
        mantissa_bits[i] = x_bits[i] - (k << EXPONENT)
    for i in range(number):
        t = (mantissa[i] - 1.0) / (mantissa[i] + 1.0)
        square = t * t
        total = LOG[LOG_DEGREE]
        for j in range(LOG_DEGREE - 1, -1, -1):
            total = total * square + LOG[j]
        power = exponent[i] - MAGIC
        out[i] = power * LN2_HIGH + (2.0 * t + (t * square * total + power * LN2_LOW))


@inlined
def log_probabilities_by_outcomes(
    fill_outcomes: Any, room: Any, at: Floats, shape: tuple[int, int, int], is_sloped: bool
) -> tuple[Floats, Floats]:
    """Log-probabilities of all outcomes, (cells, *shape), of a kernel that fills them in.

    And derivatives by the arguments, in a further dim, which is empty unless they are asked for.
    """
    numbers = at.shape[1] if is_sloped else 0
    log_p, is_asked = np.empty((len(at), *shape)), np.ones(shape)
    jacobian = np.zeros((len(at), *shape, numbers))
    for i in range(len(at)):
        fill_outcomes(at[i], is_asked, log_p[i], jacobian[i], room)
    return log_p, jacobian


@inlined
def log_likelihood_by_outcomes(
    fill_outcomes: Any, room: Any, counts: Floats, at: Floats, is_sloped: bool
) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for."""
    cells, numbers = len(at), at.shape[1] if is_sloped else 0
    value, slopes = np.zeros(cells), np.zeros((cells if is_sloped else 0, at.shape[1]))
    log_p, jacobian = np.empty(counts.shape[1:]), np.zeros((*counts.shape[1:], numbers))
    for i in range(cells):
        fill_outcomes(at[i], counts[i], log_p, jacobian, room)
        add_outcomes(i, counts, log_p, jacobian, value, slopes)
    return value, slopes


@compiled
def add_outcomes(
    i: int, counts: Floats, log_p: Floats, jacobian: Floats, value: Floats, slopes: Floats
) -> None:
    """Add Σ n log P of cell i to `value`, and its derivatives to `slopes` unless that is empty.

    Outcomes without counts are not read; impossible ones have no derivatives.
    """
    is_sloped = len(slopes) > 0
    for stimulus in range(counts.shape[1]):
        for response in range(2):
            total = 0.0
            for k in range(counts.shape[3]):
                n = counts[i, stimulus, response, k]
                if n == 0:
                    continue
                total += n * log_p[stimulus, response, k]
                if is_sloped and log_p[stimulus, response, k] > -math.inf:
                    for j in range(slopes.shape[1]):
                        slopes[i, j] += n * jacobian[stimulus, response, k, j]
            value[i] += total


@compiled
def add_information(
    i: int, trials: Floats, log_p: Floats, jacobian: Floats, information: Floats
) -> None:
    """Add Σ N P ∂log P ∂log Pᵀ of cell i, of which `trials` (cells, 2) has N of each stimulus."""
    numbers = information.shape[1]
    for stimulus in range(2):
        for response in range(2):
            for k in range(log_p.shape[2]):
                n = trials[i, stimulus] * math.exp(log_p[stimulus, response, k])
                slope = jacobian[stimulus, response, k]
                for a in range(numbers):
                    if slope[a] != 0.0:
                        pull = n * slope[a]
                        for b in range(numbers):
                            information[i, a, b] += pull * slope[b]
