"""Areas of the process models in mpmath, by the evidence, as the models are defined."""

import itertools
from functools import cache

import mpmath as mp
import numpy as np
from likelihood.mp_reference import area

# Logarithm of what is left out of an integral, relative to the largest integrand.
NEGLIGIBLE = 65
DIGITS = 40
STEP = mp.mpf(10) ** -10


@cache
def gauss_nodes():
    """24 places and weights on [-1, 1]."""
    return mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(4, mp.mp.prec)


def log_integral(log_f, lower, upper, steep=()):
    """Log ∫ exp(log_f) between two edges; `steep` are (place, width) of its steps."""
    grid = [lower + (upper - lower) * mp.mpf(i) / 150 for i in range(151)]
    with mp.workdps(20):
        heights = [log_f(x) for x in grid]
        best = heights.index(max(heights))
        left, right = grid[max(best - 1, 0)], grid[min(best + 1, 150)]
        for _ in range(50):
            one, two = left + (right - left) * 0.382, left + (right - left) * 0.618
            left, right = (one, right) if log_f(one) < log_f(two) else (left, two)
        peak = max((left, right, grid[best]), key=log_f)
        top = log_f(peak)
        seen = [x for x, height in zip(grid, heights, strict=True) if height > top - NEGLIGIBLE]
        first, last = min([*seen, peak]), max([*seen, peak])
        first, last = (
            end_of(lambda x: log_f(x) > top - NEGLIGIBLE, inner, edge)
            for inner, edge in ((first, lower), (last, upper))
        )
    pieces = {peak + (end - peak) * mp.mpf(i) / 6 for end in (first, last) for i in range(7)}
    for place, width in steep:
        pieces |= {place + width * i for i in (-16, -8, -4, -2, 0, 2, 4, 8, 16)}
    pieces = sorted(x for x in pieces if first <= x <= last)
    total = mp.mpf(0)
    for left, right in itertools.pairwise(pieces):
        half, center = (right - left) / 2, (right + left) / 2
        for place, weight in gauss_nodes():
            total += half * weight * mp.exp(log_f(center + half * place) - top)
    return top + mp.log(total)


def end_of(is_inside, inner, outer):
    """Where a condition that holds at `inner` ends, at most at `outer`."""
    if is_inside(outer):
        return outer
    for _ in range(25):
        middle = (inner + outer) / 2
        inner, outer = (middle, outer) if is_inside(middle) else (inner, middle)
    return outer


def log_or_nothing(p):
    return mp.log(p) if p > 0 else mp.mpf("-inf")


def linear_gaussian(stimulus, response, rating, d, c, a, b, w, sigma, theta):
    """Log P(response, rating | stimulus) for σ > 0: an integral over x on the response's side."""
    sign, side = 2 * stimulus - 1, 2 * response - 1
    mu = sign * d / 2
    edges = [-mp.inf, *(side * criterion for criterion in theta[response]), mp.inf]
    at_c = side * (a * c + b * mu) + w * d

    def log_f(u):
        x = c + side * u
        lower, upper = ((edges[rating + i] - at_c - a * u) / sigma for i in (0, 1))
        return -((x - mu) ** 2) / 2 + log_or_nothing(area(lower, upper))

    inside = [edge for edge in edges[rating : rating + 2] if mp.isfinite(edge)]
    steep = [((edge - at_c) / a, sigma / abs(a)) for edge in inside if a != 0]
    return log_integral(log_f, mp.mpf(0), mp.mpf(60), steep) - mp.log(2 * mp.pi) / 2


def scaled_criteria(stimulus, response, rating, d, c, q, t):
    """Log P(response, rating | stimulus) for q > 0: an integral over the log distance from c."""
    sign, side = 2 * stimulus - 1, 2 * response - 1
    h = side * (sign * d / 2 - c)
    logs = [-mp.inf, *(mp.log(distance) for distance in t[response]), mp.inf]

    def log_f(v):
        # The rating is given where v - log L lies between the logs of its distances.
        lower, upper = ((v - logs[rating + i] + q * q / 2) / q for i in (1, 0))
        return v - (mp.exp(v) - h) ** 2 / 2 + log_or_nothing(area(lower, upper))

    inside = [edge for edge in logs[rating : rating + 2] if mp.isfinite(edge)]
    steep = [(edge - q * q / 2, q) for edge in inside]
    return log_integral(log_f, mp.mpf(-70), mp.mpf(5), steep) - mp.log(2 * mp.pi) / 2


def gradient(function, at, parameters, step):
    """Central differences of an area by every parameter, those of arrays by each element."""
    slopes = {}
    for name, value in parameters.items():
        slopes[name] = np.zeros(np.shape(value))
        for index in np.ndindex(np.shape(value)):
            ends = []
            for way in (1, -1):
                moved = {key: np.array(v, dtype=object) for key, v in parameters.items()}
                moved[name][index] = mp.mpf(moved[name][index]) + way * step
                moved = {k: mp.mpf(v[()]) if v.ndim == 0 else v for k, v in moved.items()}
                ends.append(function(*at, **moved))
            slopes[name][index] = (ends[0] - ends[1]) / (2 * step)
    return slopes
