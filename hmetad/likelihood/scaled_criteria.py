"""Ratings by criteria of random scale: likelihood and gradient, compiled.

Parameters and count table (NumPy arrays) → log-likelihood per cell and its partial
derivatives, differentiated by hand.

Evidence is x ~ N(S·d/2, 1) for stimulus S = ±1, and the response is R = 1 where x > c, else -1.
Distances t(R, i) from c, all multiplied by one L, cut |x - c| into ratings. L is lognormal with
mean 1, and q is the SD of its logarithm:

    P(R, rating > i | S) = E_z Φ(R·(S·d/2 - c) - t(R, i)·exp(-q²/2 + q·z)),  z ~ N(0, 1).

This is the lognormal meta noise of Shekhar & Rahnev (2021), q = σ, and CASANDRE of Boundy-Singer
et al. (2023) with q = √log(1 + σ²), in one: they are the same likelihood.

The expectations are those of `hmetad.likelihood.scaled_sums`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.scaled_information import expected_information
from hmetad.likelihood.scaled_sums import (
    CHUNK,
    SMALL,
    fill_sums,
    log_area_and_slopes,
    response_area,
    step_level,
)
from hmetad.likelihood.scaled_tails import log_scaled_area
from hmetad.likelihood.tails import compiled

__all__ = [
    "Gradient",
    "evaluate",
    "evaluate_in_model",
    "expected_information",
    "log_likelihood_and_gradient",
    "log_probabilities",
]

type Floats = NDArray[np.float64]


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
            inside = response_area(h)
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
    inside = response_area(h)
    for k in range(levels):
        n = counts[i, stimulus, response, k]
        outside = edges[0, at + k] if k < levels - 1 else 0.0
        area, inside = inside - outside, outside
        if n == 0:
            continue
        log_area, to_h, to_lower, to_upper, to_q = log_area_and_slopes(
            area, k, at, levels, h, q[i], t[i, response], is_summed, edges
        )
        value += n * log_area
        by_h += n * to_h
        by_q += n * to_q
        if k > 0:
            by_t[i, response, k - 1] += n * to_lower
        if k < levels - 1:
            by_t[i, response, k] += n * to_upper
    return value, by_h, by_q
