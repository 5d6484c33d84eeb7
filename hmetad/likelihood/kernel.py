"""The meta-d′ likelihood, fused and compiled: value and gradient in one pass over the counts.

Parameters and count table (NumPy arrays) → log-likelihood per cell and its partial
derivatives, differentiated by hand. `hmetad.likelihood.theory` says what is computed; this
file says how to do it fast and without losing digits in the tails.

Everything is written with Mills' ratio R(y) = (1 - Φ(y)) / φ(y), which neither underflows nor
cancels: a tail is φ(y)·R(y), and an interval on one side of zero has
area φ(a)·[R(a) - R(b)·exp(-(b² - a²)/2)]. Nothing is clamped.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from scipy.special import erfcx

__all__ = ["Gradient", "log_likelihood_and_gradient"]

type Floats = NDArray[np.float64]
type Counts = NDArray[np.float64]


class Gradient(NamedTuple):
    """Log-likelihood per cell and its partial derivatives, in the order of the arguments."""

    value: Floats
    d: Floats
    c: Floats
    m: Floats
    kappa: Floats
    gaps: Floats
    s: Floats


def log_likelihood_and_gradient(
    counts: Counts, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> Gradient:
    """ℓ of each cell, without multinomial coefficients, and its gradient.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    d, c, s : array, shape (cells,)
        d′, criterion, and σ_S1 / σ_S2 (1 for equal variance).
    m, kappa : array, shape (cells, 2)
        meta-d′ and meta-level criterion for responses S1 and S2.
    gaps : array, shape (cells, 2, K - 1)
        Positive distances between type-2 criteria, outward from κ.

    Returns
    -------
    Gradient
        `value` (cells,) and one array for each parameter, of its shape.

    Examples
    --------
    >>> one, two = np.ones(1), np.ones((1, 2))
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> out = log_likelihood_and_gradient(n, one, 0 * one, two, 0 * two, two[..., None], one)
    >>> out.value.round(6), out.d.round(6)
    (array([-126.786338]), array([0.511247]))
    """
    return Gradient(*evaluate(counts, d, c, m, kappa, gaps, s))


MILLS_SCALE = 4.0
MILLS_DEGREE = 20


def mills_coefficients() -> tuple[float, ...]:
    """Polynomial in t = (y - 4)/(y + 4) for (1 + y)·R(y) on 0 ≤ y < ∞, relative error < 1e-14."""

    def scaled_mills(t: Floats) -> Floats:
        y = MILLS_SCALE * (1 + t) / (1 - t)
        return (1 + y) * math.sqrt(math.pi / 2) * erfcx(y / math.sqrt(2))

    series = Chebyshev.interpolate(scaled_mills, MILLS_DEGREE)
    return tuple(float(x) for x in series.convert(kind=Polynomial).coef)


MILLS = mills_coefficients()
SQRT_2PI = math.sqrt(2 * math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
NARROW = 1e-3

compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


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


# Arrays are passed whole, with indices: a view in a loop costs more than what is done with it.


@compiled
def fill_edges(
    edges: Floats, i: int, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> None:
    """Standardised edges of cell i, outward: (2, 3, K) for ratings of S1, of S2, and type 1."""
    for stimulus in range(2):
        sign = 2.0 * stimulus - 1.0
        scale = s[i] if stimulus == 1 else 1.0
        for response in range(2):
            side = 2.0 * response - 1.0
            edge = scale * side * (kappa[i, response] - sign * m[i, response] / 2)
            edges[stimulus, response, 0] = edge
            for k in range(gaps.shape[2]):
                edge += scale * gaps[i, response, k]
                edges[stimulus, response, k + 1] = edge
        edges[stimulus, 2, 0] = scale * (sign * d[i] / 2 - c[i])


@compiled
def fill_mills(edges: Floats, ratios: Floats) -> None:
    """R(|y|) of every edge: one loop without branches, which the compiler turns into SIMD."""
    flat, out = edges.ravel(), ratios.ravel()
    for i in range(flat.shape[0]):
        out[i] = mills(abs(flat[i]))


@compiled
def ratings_of_row(
    i: int,
    stimulus: int,
    response: int,
    scale: float,
    counts: Counts,
    gaps: Floats,
    edges: Floats,
    ratios: Floats,
    room: Floats,
    by_gaps: Floats,
) -> tuple[float, float, float]:
    """Σ n log P(rating | stimulus, response), and its derivatives by a shift and by the scale.

    The scale stretches the gaps (s for stimulus S2); the derivatives by the gaps are added to
    `by_gaps`; `room` (2, K) is scratch space.
    """
    last = gaps.shape[2]
    total = value = 0.0
    for k in range(last):
        n = counts[i, stimulus, response, k]
        total += n
        room[0, k] = room[1, k] = 0.0
        if n > 0:
            log_share, by_upper, by_both = log_area(
                edges[stimulus, response, k],
                scale * gaps[i, response, k],
                ratios[stimulus, response, k],
                ratios[stimulus, response, k + 1],
            )
            value += n * log_share
            room[0, k] = n * by_both
            room[1, k] = n * by_upper
    n = counts[i, stimulus, response, last]
    total += n
    if total == 0:
        return 0.0, 0.0, 0.0
    beyond = 0.0
    if n > 0:
        log_share, last_hazard = log_tail(
            edges[stimulus, response, last], ratios[stimulus, response, last]
        )
        value += n * log_share
        beyond = -n * last_hazard
    # A gap moves its own upper edge, and all that lies beyond it as a whole.
    by_scale = 0.0
    for k in range(last - 1, -1, -1):
        by_width = room[1, k] + beyond
        by_gaps[i, response, k] += scale * by_width
        by_scale += gaps[i, response, k] * by_width
        beyond += room[0, k]
    log_side, hazard = log_tail(edges[stimulus, response, 0], ratios[stimulus, response, 0])
    return value - total * log_side, beyond + total * hazard, by_scale


@compiled
def type1_of_row(
    i: int, stimulus: int, counts: Counts, edges: Floats, ratios: Floats
) -> tuple[float, float]:
    """Σ n log P(response | stimulus), and its derivative by the standardised criterion."""
    n_s1 = n_s2 = 0.0
    for k in range(counts.shape[3]):
        n_s1 += counts[i, stimulus, 0, k]
        n_s2 += counts[i, stimulus, 1, k]
    z, ratio = edges[stimulus, 2, 0], ratios[stimulus, 2, 0]
    log_s1, hazard_s1 = log_tail(z, ratio)
    log_s2, hazard_s2 = log_tail(-z, ratio)
    return n_s2 * log_s2 + n_s1 * log_s1, n_s2 * hazard_s2 - n_s1 * hazard_s1


@compiled
def evaluate(
    counts: Counts, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """Value and the six derivatives, cell by cell; the body of `log_likelihood_and_gradient`."""
    value, by_d, by_c, by_s = np.zeros_like(d), np.zeros_like(d), np.zeros_like(c), np.zeros_like(s)
    by_m, by_kappa, by_gaps = np.zeros_like(m), np.zeros_like(kappa), np.zeros_like(gaps)
    levels = counts.shape[3]
    edges, ratios, room = np.zeros((2, 3, levels)), np.empty((2, 3, levels)), np.empty((2, levels))
    for i in range(counts.shape[0]):
        fill_edges(edges, i, d, c, m, kappa, gaps, s)
        fill_mills(edges, ratios)
        for stimulus in range(2):
            sign = 2.0 * stimulus - 1.0
            scale = s[i] if stimulus == 1 else 1.0
            row_value, by_z = type1_of_row(i, stimulus, counts, edges, ratios)
            value[i] += row_value
            by_d[i] += by_z * scale * sign / 2
            by_c[i] -= by_z * scale
            if stimulus == 1:
                by_s[i] += by_z * (d[i] / 2 - c[i])
            for response in range(2):
                side = 2.0 * response - 1.0
                row_value, by_shift, by_scale = ratings_of_row(
                    i, stimulus, response, scale, counts, gaps, edges, ratios, room, by_gaps
                )
                value[i] += row_value
                by_kappa[i, response] += by_shift * scale * side
                by_m[i, response] -= by_shift * scale * side * sign / 2
                if stimulus == 1:
                    distance = side * (kappa[i, response] - sign * m[i, response] / 2)
                    by_s[i] += by_shift * distance + by_scale
    return value, by_d, by_c, by_m, by_kappa, by_gaps, by_s
