"""Ratings by criteria of random scale: likelihood and gradient, compiled.

Parameters and count table (NumPy arrays) → log-likelihood per cell and its partial
derivatives, differentiated by hand.

Evidence is x ~ N(S·d/2, 1) for stimulus S = ±1, and the response is R = 1 where x > c, else -1.
Distances t(R, i) from c, all multiplied by one L, cut |x - c| into ratings. L is lognormal with
mean 1, and q is the SD of its logarithm:

    P(R, rating > i | S) = E_z Φ(R·(S·d/2 - c) - t(R, i)·exp(-q²/2 + q·z)),  z ~ N(0, 1).

This is the lognormal meta noise of Shekhar & Rahnev (2021), q = σ, and CASANDRE of Boundy-Singer
et al. (2023) with q = √log(1 + σ²), in one: they are the same likelihood.

The expectations are trapezoidal sums over z, all edges of a cell at once. Areas for which these
have too few digits are computed one by one in `hmetad.likelihood.scaled_tails`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.scaled_tails import log_scaled_area
from hmetad.likelihood.tails import FAR, SQRT_2PI, compiled, fill_tails, mills

__all__ = [
    "Gradient",
    "evaluate",
    "evaluate_in_model",
    "log_likelihood_and_gradient",
    "log_probabilities",
]

type Floats = NDArray[np.float64]

# Sums over z have errors of about 1e-16. Where areas are smaller than this, that is too much.
SMALL = 1e-5
# The sums run to ±REACH with a step from this list, and are taken in blocks of CHUNK nodes.
REACH = 8.4
STEPS = 0.75 * 0.85 ** np.arange(24)
SIDES = np.ceil(REACH / STEPS).astype(np.int64)
DIGITS = 34.0
CHUNK = 16


class Gradient(NamedTuple):
    """Log-likelihood per cell and its partial derivatives, in the order of the arguments."""

    value: Floats
    d: Floats
    c: Floats
    q: Floats
    t: Floats


def log_likelihood_and_gradient(
    counts: Floats, d: Floats, c: Floats, q: Floats, t: Floats
) -> Gradient:
    """ℓ = Σ n log P(response, rating | stimulus) of each cell, and its gradient.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    d, c : array, shape (cells,)
        d′ and the criterion of the response, in SDs of the evidence.
    q : array, shape (cells,)
        SD of the logarithm of the criteria's scale; 0 for signal detection ratings.
    t : array, shape (cells, 2, K - 1)
        Positive, rising distances of the criteria from c for responses S1 and S2, in SDs of the
        evidence.

    Returns
    -------
    Gradient
        `value` (cells,) and one array for each parameter, of its shape.

    Examples
    --------
    >>> one = np.ones(1)
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> out = log_likelihood_and_gradient(n, one, 0 * one, one, np.ones((1, 2, 1)))
    >>> out.value.round(6), out.d.round(6)
    (array([-121.217562]), array([3.618823]))
    """
    return Gradient(*evaluate(counts, d, c, q, t))


# Of each cell there are 4(K - 1) edges, in the order stimulus, response, distance. Of each edge
# y = t·L - h there are four sums: of 1 - Φ(y), of φ(y), of φ(y)·L and of φ(y)·L·(z - q).


@compiled
def evaluate(
    counts: Floats, d: Floats, c: Floats, q: Floats, t: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Value and the four derivatives; the body of `log_likelihood_and_gradient`."""
    value, by_d, by_c = np.zeros_like(d), np.zeros_like(d), np.zeros_like(d)
    by_q, by_t = np.zeros_like(d), np.zeros_like(t)
    cells, inner = t.shape[0], t.shape[2]
    edges = np.zeros((4, 4 * inner))
    size = CHUNK * 4 * inner
    y, density, signed = np.empty(size), np.empty(size), np.empty(size)
    below, room = np.empty(size), np.empty(size)
    for i in range(cells):
        level = step_level(d[i], c[i], q[i])
        if level >= 0:
            fill_sums(i, level, d, c, q, t, edges, y, density, signed, below, room)
        for stimulus in range(2):
            sign = stimulus - 0.5
            for response in range(2):
                side = 2.0 * response - 1.0
                ell, by_h, by_scale = add_row(
                    i, stimulus, response, side * (sign * d[i] - c[i]), level >= 0, counts, q, t,
                    edges, by_t,
                )  # fmt: skip
                value[i] += ell
                by_d[i] += by_h * side * sign
                by_c[i] -= by_h * side
                by_q[i] += by_scale
    return value, by_d, by_c, by_q, by_t


@compiled
def evaluate_in_model(
    counts: Floats, d: Floats, c: Floats, q: Floats, t: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """`evaluate` of arrays that may be constants of a model, which are read-only."""
    return evaluate(counts.copy(), d.copy(), c.copy(), q.copy(), t.copy())


@compiled
def log_probabilities(d: Floats, c: Floats, q: Floats, t: Floats) -> Floats:
    """Log P(response, rating | stimulus) of each cell, as `log_likelihood_and_gradient` has it.

    Parameters
    ----------
    d, c, q : array, shape (cells,)
    t : array, shape (cells, 2, K - 1)

    Returns
    -------
    array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating.
    """
    cells, inner = t.shape[0], t.shape[2]
    log_p, edges = np.empty((cells, 2, 2, inner + 1)), np.zeros((4, 4 * inner))
    size = CHUNK * 4 * inner
    y, density, signed = np.empty(size), np.empty(size), np.empty(size)
    below, room = np.empty(size), np.empty(size)
    for i in range(cells):
        level = step_level(d[i], c[i], q[i])
        if level >= 0:
            fill_sums(i, level, d, c, q, t, edges, y, density, signed, below, room)
        for row in range(4):
            response = row % 2
            h = (2.0 * response - 1) * ((row // 2 - 0.5) * d[i] - c[i])
            tail = math.exp(-h * h / 2) / SQRT_2PI * mills(abs(h))
            inside = 1 - tail if h > 0 else tail
            for k in range(inner + 1):
                outside = edges[0, row * inner + k] if k < inner else 0.0
                area, inside = inside - outside, outside
                if level < 0 or area < SMALL:
                    lower = t[i, response, k - 1] if k > 0 else 0.0
                    upper = t[i, response, k] if k < inner else math.inf
                    log_p[i, row // 2, response, k] = log_scaled_area(h, lower, upper, q[i])[0]
                else:
                    log_p[i, row // 2, response, k] = math.log(area)
    return log_p


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
def add_row(
    i: int,
    stimulus: int,
    response: int,
    h: float,
    is_summed: bool,
    counts: Floats,
    q: Floats,
    t: Floats,
    edges: Floats,
    by_t: Floats,
) -> tuple[float, float, float]:
    """Σ n log P of a stimulus and response, and its derivatives by h and q; adds those by t."""
    levels = counts.shape[3]
    value = by_h = by_q = 0.0
    at = (2 * stimulus + response) * (levels - 1)
    density = math.exp(-h * h / 2) / SQRT_2PI
    tail = density * mills(abs(h))
    inside = 1 - tail if h > 0 else tail
    for k in range(levels):
        n = counts[i, stimulus, response, k]
        outside = edges[0, at + k] if k < levels - 1 else 0.0
        area, inside = inside - outside, outside
        if n == 0:
            continue
        lower = t[i, response, k - 1] if k > 0 else 0.0
        upper = t[i, response, k] if k < levels - 1 else math.inf
        if not is_summed or area < SMALL:
            log_area, to_h, to_lower, to_upper, to_q = log_scaled_area(h, lower, upper, q[i])
            value += n * log_area
        else:
            value += n * math.log(area)
            to_h, to_lower, to_upper, to_q = density / area, 0.0, 0.0, 0.0
            if k > 0:
                to_h = edges[1, at + k - 1] / area
                to_lower = -edges[2, at + k - 1] / area
                to_q = -lower * edges[3, at + k - 1] / area
            if k < levels - 1:
                to_h -= edges[1, at + k] / area
                to_upper = edges[2, at + k] / area
                to_q += upper * edges[3, at + k] / area
        by_h += n * to_h
        by_q += n * to_q
        if k > 0:
            by_t[i, response, k - 1] += n * to_lower
        if k < levels - 1:
            by_t[i, response, k] += n * to_upper
    return value, by_h, by_q
