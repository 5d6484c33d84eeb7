"""Expectations over a lognormal scale of criteria, by sums: the core of `scaled_criteria`.

Parameters of a cell → sums of all its edges, and from these the log of an area and its
derivatives. The sums are trapezoidal, over z; areas for which they have too few digits are computed
one by one in `hmetad.likelihood.scaled_tails`.

Of each cell there are 4(K - 1) edges, in the order stimulus, response, distance. Of each edge
y = t·L - h there are four sums: of 1 - Φ(y), of φ(y), of φ(y)·L and of φ(y)·L·(z - q).
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.scaled_tails import log_scaled_area
from hmetad.likelihood.tails import FAR, SQRT_2PI, compiled, fill_tails, mills

__all__ = ["CHUNK", "SMALL", "fill_sums", "log_area_and_slopes", "response_area", "step_level"]

type Floats = NDArray[np.float64]

# Sums over z have errors of about 1e-16. Where areas are smaller than this, that is too much.
SMALL = 1e-5
# The sums run to ±REACH with a step from this list, and are taken in blocks of CHUNK nodes.
REACH = 8.4
STEPS = 0.75 * 0.85 ** np.arange(24)
SIDES = np.ceil(REACH / STEPS).astype(np.int64)
DIGITS = 34.0
CHUNK = 16


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
def fill_sums(
    i: int,
    level: int,
    d: Floats,
    c: Floats,
    q: Floats,
    t: Floats,
    edges: Floats,
    y: Floats,
    density: Floats,
    signed: Floats,
    below: Floats,
    room: Floats,
) -> None:
    """The four sums of every edge of a cell."""
    inner, per_node = t.shape[2], edges.shape[1]
    step, side_nodes = STEPS[level], SIDES[level]
    edges[:] = 0.0
    scale, ratio = math.exp(-q[i] * (side_nodes * step + q[i] / 2)), math.exp(q[i] * step)
    weights, scales, places = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for start in range(-side_nodes, side_nodes + 1, CHUNK):
        number = min(CHUNK, side_nodes + 1 - start)
        for j in range(number):
            z = (start + j) * step
            weights[j] = step * math.exp(-z * z / 2) / SQRT_2PI
            scales[j], places[j] = scale, z - q[i]
            scale *= ratio
            e = j * per_node
            for row in range(4):
                h = (2.0 * (row % 2) - 1) * ((row // 2 - 0.5) * d[i] - c[i])
                for k in range(inner):
                    y[e] = min(t[i, row % 2, k] * scales[j] - h, FAR)
                    e += 1
        fill_tails(number * per_node, y, density, signed, below, room)
        for j in range(number):
            first, weight = j * per_node, weights[j]
            by_scale, by_spread = weight * scales[j], weight * scales[j] * places[j]
            for e in range(per_node):
                edges[0, e] += weight * (signed[first + e] + below[first + e])
                edges[1, e] += weight * density[first + e]
                edges[2, e] += by_scale * density[first + e]
                edges[3, e] += by_spread * density[first + e]


@compiled
def response_area(h: float) -> float:
    """Φ(h), the share of a response."""
    tail = math.exp(-h * h / 2) / SQRT_2PI * mills(abs(h))
    return 1 - tail if h > 0 else tail


@compiled
def log_area_and_slopes(
    area: float,
    k: int,
    at: int,
    levels: int,
    h: float,
    q: float,
    t: Floats,
    is_summed: bool,
    edges: Floats,
) -> tuple[float, float, float, float, float]:
    """Log of the area of rating k, and derivatives by h, its lower and upper distance, and q.

    `t` are the distances of the response, `at` is the place of its first edge in `edges`.
    """
    lower = t[k - 1] if k > 0 else 0.0
    upper = t[k] if k < levels - 1 else math.inf
    if not is_summed or area < SMALL:
        return log_scaled_area(h, lower, upper, q)
    to_h, to_lower, to_upper, to_q = math.exp(-h * h / 2) / SQRT_2PI / area, 0.0, 0.0, 0.0
    if k > 0:
        to_h = edges[1, at + k - 1] / area
        to_lower = -edges[2, at + k - 1] / area
        to_q = -lower * edges[3, at + k - 1] / area
    if k < levels - 1:
        to_h -= edges[1, at + k] / area
        to_upper = edges[2, at + k] / area
        to_q += upper * edges[3, at + k] / area
    return math.log(area), to_h, to_lower, to_upper, to_q
