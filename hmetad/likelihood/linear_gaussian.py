"""Ratings that cut a noisy linear image of the evidence: likelihood and gradient, compiled.

Parameters and count table (NumPy arrays) → log-likelihood per cell and its partial
derivatives, differentiated by hand.

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
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.strips import NODES, TINY, log_between, log_strip
from hmetad.likelihood.tails import LOG_SQRT_2PI, compiled, log_tail, mills

__all__ = [
    "Gradient",
    "evaluate",
    "evaluate_cells",
    "evaluate_in_model",
    "log_likelihood_and_gradient",
    "log_probabilities",
]

type Floats = NDArray[np.float64]


class Gradient(NamedTuple):
    """Log-likelihood per cell and its partial derivatives, in the order of the arguments."""

    value: Floats
    d: Floats
    c: Floats
    a: Floats
    b: Floats
    w: Floats
    sigma: Floats
    theta: Floats


def log_likelihood_and_gradient(
    counts: Floats,
    d: Floats,
    c: Floats,
    a: Floats,
    b: Floats,
    w: Floats,
    sigma: Floats,
    theta: Floats,
) -> Gradient:
    """ℓ = Σ n log P(response, rating | stimulus) of each cell, and its gradient.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    d, c : array, shape (cells,)
        d′ and the criterion of the response, in SDs of the evidence.
    a, b, w : array, shape (cells,)
        Weights of the evidence x, of its mean S·d/2, and of R·d, of either sign.
    sigma : array, shape (cells,)
        SD of the noise, at least 0; not 0 where a is 0.
    theta : array, shape (cells, 2, K - 1)
        Criteria on the scale of y for responses S1 and S2, outward: falling for S1, rising for S2.

    Returns
    -------
    Gradient
        `value` (cells,) and one array for each parameter, of its shape. Where an area with a
        count is empty, the value is -inf, and the area is left out of the derivatives. At σ = 0
        the derivative by σ is its limit, 0.

    Examples
    --------
    >>> one, zero = np.ones(1), np.zeros(1)
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> theta = np.array([[[-1.0], [1.0]]])
    >>> out = log_likelihood_and_gradient(n, one, zero, one, zero, zero, one, theta)
    >>> out.value.round(6), out.d.round(6)
    (array([-123.790395]), array([4.641088]))
    """
    return Gradient(*evaluate(counts, d, c, a, b, w, sigma, theta))


@compiled
def evaluate(
    counts: Floats,
    d: Floats,
    c: Floats,
    a: Floats,
    b: Floats,
    w: Floats,
    sigma: Floats,
    theta: Floats,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """Value and the seven derivatives; the body of `log_likelihood_and_gradient`."""
    return evaluate_cells(counts, d, c, a, b, w, sigma, theta, True)


@compiled
def evaluate_in_model(
    counts: Floats,
    d: Floats,
    c: Floats,
    a: Floats,
    b: Floats,
    w: Floats,
    sigma: Floats,
    theta: Floats,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """`evaluate` of arrays that may be constants of a model, which are read-only."""
    return evaluate(
        counts.copy(), d.copy(), c.copy(), a.copy(), b.copy(), w.copy(), sigma.copy(), theta.copy()
    )


@compiled
def evaluate_cells(
    counts: Floats,
    d: Floats,
    c: Floats,
    a: Floats,
    b: Floats,
    w: Floats,
    sigma: Floats,
    theta: Floats,
    is_sloped: bool,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """`evaluate`, where the derivatives are left at 0 unless they are asked for."""
    value, by_d, by_c, by_a = np.zeros_like(d), np.zeros_like(d), np.zeros_like(d), np.zeros_like(d)
    by_b, by_w, by_sigma = np.zeros_like(d), np.zeros_like(d), np.zeros_like(d)
    by_theta = np.zeros_like(theta)
    edges, log_p = np.empty(counts.shape[3] + 1), np.empty(counts.shape[3])
    by_edge = np.empty(counts.shape[3] + 1)
    room, work = np.empty(NODES), np.empty(NODES)
    for i in range(counts.shape[0]):
        v = math.hypot(a[i], sigma[i])
        rho, s = a[i] / v, sigma[i] / v
        for stimulus in range(2):
            mu = (stimulus - 0.5) * d[i]
            for response in range(2):
                side = 2.0 * response - 1.0
                h = side * (mu - c[i])
                mean = side * (a[i] + b[i]) * mu + w[i] * d[i]
                fill_edges(i, response, side, mean, v, theta, edges)
                value[i] += fill_areas(
                    i, stimulus, response, counts, edges, h, rho, s, log_p, room, work
                )
                if not is_sloped:
                    continue
                by_h, by_corner, by_shift, by_scale = fill_slopes(
                    i, stimulus, response, counts, edges, h, rho, s, log_p, by_edge
                )
                for k in range(theta.shape[2]):
                    by_theta[i, response, k] += by_edge[k + 1] * side / v
                by_mean = -by_shift / v
                by_mu = by_h * side + by_mean * side * (a[i] + b[i])
                by_d[i] += by_mu * (stimulus - 0.5) + by_mean * w[i]
                by_c[i] -= by_h * side
                by_b[i] += by_mean * side * mu
                by_w[i] += by_mean * d[i]
                by_a[i] += by_mean * side * mu - (by_scale * rho + by_corner * s) / v
                by_sigma[i] += (by_corner * rho - by_scale * s) / v
    return value, by_d, by_c, by_a, by_b, by_w, by_sigma, by_theta


@compiled
def log_probabilities(
    d: Floats, c: Floats, a: Floats, b: Floats, w: Floats, sigma: Floats, theta: Floats
) -> Floats:
    """Log P(response, rating | stimulus) of each cell, as `log_likelihood_and_gradient` has it.

    Parameters
    ----------
    d, c, a, b, w, sigma : array, shape (cells,)
    theta : array, shape (cells, 2, K - 1)

    Returns
    -------
    array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating.
    """
    levels = theta.shape[2] + 1
    log_p = np.empty((len(d), 2, 2, levels))
    edges, room, work = np.empty(levels + 1), np.empty(NODES), np.empty(NODES)
    for i in range(len(d)):
        v = math.hypot(a[i], sigma[i])
        for stimulus in range(2):
            mu = (stimulus - 0.5) * d[i]
            for response in range(2):
                side = 2.0 * response - 1.0
                mean = side * (a[i] + b[i]) * mu + w[i] * d[i]
                fill_edges(i, response, side, mean, v, theta, edges)
                h = side * (mu - c[i])
                for k in range(levels):
                    log_p[i, stimulus, response, k] = log_strip(
                        edges[k], edges[k + 1], h, a[i] / v, sigma[i] / v, room, work
                    )
    return log_p


@compiled
def fill_edges(
    i: int, response: int, side: float, mean: float, v: float, theta: Floats, edges: Floats
) -> None:
    """Standardised edges of R·y for a stimulus and response, from -∞ outward to ∞."""
    last = theta.shape[2]
    edges[0], edges[last + 1] = -math.inf, math.inf
    for k in range(last):
        edges[k + 1] = (side * theta[i, response, k] - mean) / v


@compiled
def fill_areas(
    i: int,
    stimulus: int,
    response: int,
    counts: Floats,
    edges: Floats,
    h: float,
    rho: float,
    s: float,
    log_p: Floats,
    room: Floats,
    work: Floats,
) -> float:
    """Log areas of the ratings that were given, and their sum weighted by the counts."""
    value = 0.0
    for k in range(counts.shape[3]):
        n = counts[i, stimulus, response, k]
        if n > 0:
            log_p[k] = log_strip(edges[k], edges[k + 1], h, rho, s, room, work)
            value += n * log_p[k]
    return value


# Of an area P(x > 0, lower < z < upper) the derivatives are closed forms, with q = (h + ρz)/s and
# u = (z + ρh)/s at the edges: by an edge z ±φ(z)·Φ(q), by h φ(h)·[Φ(u_upper) - Φ(u_lower)], by ρ
# -φ(h)·[φ(u_upper) - φ(u_lower)]/s. The last is infinite at s = 0, but ρ = a/v changes with a and
# σ by s²/v and -ρs/v, so that s falls out.


@compiled
def fill_slopes(
    i: int,
    stimulus: int,
    response: int,
    counts: Floats,
    edges: Floats,
    h: float,
    rho: float,
    s: float,
    log_p: Floats,
    by_edge: Floats,
) -> tuple[float, float, float, float]:
    """Derivatives of Σ n log P by each edge, by h, by -s·ρ, by all edges' shift and their scale."""
    levels = counts.shape[3]
    by_edge[:] = 0.0
    by_h = by_corner = 0.0
    spread = max(s, TINY)
    log_density = -h * h / 2 - LOG_SQRT_2PI
    for k in range(levels):
        n = counts[i, stimulus, response, k]
        if n > 0 and log_p[k] > -math.inf:
            lower, upper = (edges[k] + rho * h) / spread, (edges[k + 1] + rho * h) / spread
            log_width, _, tilt = log_between(lower, upper)
            pull = n * math.exp(log_density + log_width - log_p[k])
            by_h += pull
            by_corner += pull * tilt
    by_shift = by_scale = 0.0
    for k in range(1, levels):
        z = edges[k]
        q = (h + rho * z) / spread
        log_edge = log_tail(-q, mills(abs(q)))[0] - z * z / 2 - LOG_SQRT_2PI
        inner, outer = counts[i, stimulus, response, k - 1], counts[i, stimulus, response, k]
        if inner > 0 and log_p[k - 1] > -math.inf:
            by_edge[k] += inner * math.exp(log_edge - log_p[k - 1])
        if outer > 0 and log_p[k] > -math.inf:
            by_edge[k] -= outer * math.exp(log_edge - log_p[k])
        by_shift += by_edge[k]
        by_scale += by_edge[k] * z
    return by_h, by_corner, by_shift, by_scale
