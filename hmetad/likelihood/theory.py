"""The meta-d′ model in its plainest form: parameters to cell probabilities.

Parameters (arrays that broadcast over leading dims) → log-probabilities (..., stimulus,
response, rating). Written for reading and for checking the compiled kernel against; the
array module is an argument, so that the same lines run under NumPy and ``jax.numpy``.

Notation: type-1 evidence is N(-d/2, 1) for stimulus S1 and N(+d/2, 1/s) for S2, the response
is S2 above the criterion c. Confidence follows the same picture with m = meta-d′ in place of d
and κ (`kappa`) in place of c; from κ outward, type-2 criteria lie one gap after the other.

Source: Maniscalco & Lau (2012, 2014); Fleming (2017).
"""

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from hmetad.errors import InputError

__all__ = [
    "log_conditional_probabilities",
    "log_interval_area",
    "log_joint_probabilities",
    "log_likelihood",
    "log_response_probabilities",
    "meta_criterion_value",
    "type2_criteria",
]

# NumPy's or JAX's arrays alike: the functions below only use what both share.
type Array = Any

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
RESPONSE_SIGN = np.array([-1.0, 1.0])
SMALLEST_WIDTH = 1e-3


def log_joint_probabilities(
    d: Array, c: Array, m: Array, kappa: Array, gaps: Array, s: Array = 1.0, xp: ModuleType = np
) -> Array:
    """log P(response, rating | stimulus), the cells of the count table.

    P(r, k | s) = P(r | s; d, c) · P(k | s, r; m, κ, gaps).

    Parameters
    ----------
    d, c : array, shape (...)
        Type-1 sensitivity d′ and criterion, in standard deviations of the S1 evidence.
    m, kappa : float, or array of shape (..., 2) or (..., 1)
        meta-d′ and meta-level type-1 criterion; the last dim is always the response.
    gaps : array, shape (..., 2, K - 1)
        Positive distances between neighbouring type-2 criteria, per response, outward from κ.
    s : array, shape (...), optional
        σ_S1 / σ_S2 of the evidence; 1 is the equal-variance model.
    xp : module, optional
        ``numpy`` or ``jax.numpy``.

    Returns
    -------
    array, shape (..., 2, 2, K)
        Dims stimulus, response, rating; sums to one over the last two.

    Examples
    --------
    >>> gaps = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> p = np.exp(log_joint_probabilities(2.0, 0.5, 1.0, 0.5, gaps))
    >>> p[0, 1].round(6)  # stimulus S1, response S2, ratings 1..3
    array([0.038676, 0.018552, 0.00958 ])
    """
    response = log_response_probabilities(d, c, s, xp)
    return response[..., None] + log_conditional_probabilities(m, kappa, gaps, s, xp)


def log_response_probabilities(d: Array, c: Array, s: Array = 1.0, xp: ModuleType = np) -> Array:
    """log P(response | stimulus) of the type-1 decision, shape (..., 2, 2).

    P(S2 | S1) = Φ(-d/2 - c) and P(S2 | S2) = Φ(s (d/2 - c)).
    """
    log_ndtr = special(xp).log_ndtr
    false_alarm = -xp.asarray(d) / 2 - c
    hit = s * (xp.asarray(d) / 2 - c)
    rows = [xp.stack([log_ndtr(-z), log_ndtr(z)], axis=-1) for z in (false_alarm, hit)]
    return xp.stack(xp.broadcast_arrays(*rows), axis=-2)


def log_conditional_probabilities(
    m: Array, kappa: Array, gaps: Array, s: Array = 1.0, xp: ModuleType = np
) -> Array:
    """log P(rating | stimulus, response) of the confidence ratings, shape (..., 2, 2, K).

    The area of the meta-level evidence between the edges of a rating, as a share of the area
    on the response's side of κ. Arguments as in `log_joint_probabilities`.
    """
    gaps = xp.asarray(gaps)
    m, kappa, s = xp.asarray(m), xp.asarray(kappa), xp.asarray(s)
    rows = []
    for stimulus_sign, scale in ((-1.0, xp.ones_like(s)), (1.0, s)):
        # Mirrored for response S1, so that edges rise from the criterion outward.
        start = RESPONSE_SIGN * scale[..., None] * (kappa - stimulus_sign * m / 2)
        widths = scale[..., None, None] * gaps
        rows.append(log_rating_shares(start, widths, xp))
    return xp.stack(xp.broadcast_arrays(*rows), axis=-3)


def log_rating_shares(start: Array, widths: Array, xp: ModuleType) -> Array:
    """log shares of the upper tail beyond `start` (..., 2), cut at `widths` (..., 2, K - 1)."""
    log_ndtr = special(xp).log_ndtr
    offsets = xp.cumulative_sum(widths, axis=-1)
    last = start + offsets[..., -1] if widths.shape[-1] else start
    lower = start[..., None] + offsets - widths
    inner = log_interval_area(lower, widths, xp)
    outer = xp.broadcast_to(log_ndtr(-last)[..., None], (*inner.shape[:-1], 1))
    return xp.concatenate([inner, outer], axis=-1) - log_ndtr(-start)[..., None]


def log_interval_area(lower: Array, width: Array, xp: ModuleType = np) -> Array:
    """log(Φ(lower + width) - Φ(lower)), to near machine precision wherever the interval lies.

    The difference is taken on the side of the axis where both areas are small; very narrow
    intervals use φ(middle)·width·(1 + (middle² - 1) width²/24), whose error is of order width⁴.

    Parameters
    ----------
    lower, width : array
        Lower edge, and positive width, in standard deviations.
    xp : module, optional
        ``numpy`` or ``jax.numpy``.

    Returns
    -------
    array
        Log of the area, of the broadcast shape.

    Examples
    --------
    >>> float(log_interval_area(30.0, 1.0).round(9))
    -454.321243956
    """
    log_ndtr = special(xp).log_ndtr
    lower, width = xp.asarray(lower), xp.asarray(width)
    middle = lower + width / 2
    is_narrow = width * xp.maximum(1.0, xp.abs(middle)) < SMALLEST_WIDTH
    # Each branch gets harmless input where the other is chosen: no NaN reaches a gradient.
    wide = xp.where(is_narrow, 1.0, width)
    near = xp.where(middle > 0, -lower, lower + wide)
    log_near, log_far = log_ndtr(near), log_ndtr(near - wide)
    from_tails = log_near + xp.log1p(-xp.exp(log_far - log_near))
    thin = xp.where(is_narrow, width, SMALLEST_WIDTH)
    curvature = xp.log1p((middle**2 - 1) * thin**2 / 24)
    from_density = -(middle**2) / 2 - LOG_SQRT_2PI + xp.log(thin) + curvature
    return xp.where(is_narrow, from_density, from_tails)


def log_likelihood(counts: Array, log_probabilities: Array, xp: ModuleType = np) -> Array:
    """ℓ = Σ n log P over stimulus, response and rating, without multinomial coefficients.

    Parameters
    ----------
    counts, log_probabilities : array, shape (..., 2, 2, K)
        An impossible outcome that never happened contributes nothing.

    Returns
    -------
    array, shape (...)
    """
    counts = xp.asarray(counts)
    seen = counts > 0
    return xp.sum(
        xp.where(seen, counts * xp.where(seen, log_probabilities, 0.0), 0.0), (-3, -2, -1)
    )


def meta_criterion_value(c: Array, m_ratio: Array, meta_criterion: str) -> Array:
    """κ, the criterion at the meta level: M·c if `relative`, c if `absolute`.

    `relative` is Maniscalco & Lau's (2012) rule, `absolute` that of HMeta-d (Fleming 2017) and
    of Wang et al. (2025). They differ as soon as c ≠ 0.
    """
    if meta_criterion == "relative":
        return m_ratio * c
    if meta_criterion == "absolute":
        return c
    raise InputError("meta_criterion", repr(meta_criterion), "'relative' or 'absolute'")


def type2_criteria(kappa: Array, gaps: Array, xp: ModuleType = np) -> Array:
    """Type-2 criteria from κ outward: κ - Σ gaps for response S1, κ + Σ gaps for S2.

    Parameters
    ----------
    kappa : float, or array of shape (..., 2) or (..., 1)
    gaps : array, shape (..., 2, K - 1)

    Returns
    -------
    array, shape (..., 2, K - 1)
        Dims response, criterion; criterion k parts rating k from k + 1.

    Examples
    --------
    >>> type2_criteria(0.1, [[0.5, 0.5], [0.25, 1.0]])
    array([[-0.4 , -0.9 ],
           [ 0.35,  1.35]])
    """
    gaps = xp.asarray(gaps)
    offsets = xp.cumulative_sum(gaps, axis=-1)
    return xp.asarray(kappa)[..., None] + RESPONSE_SIGN[:, None] * offsets


def special(xp: ModuleType) -> ModuleType:
    """Module with the log_ndtr that goes with an array module."""
    # JAX is optional: its module is imported by whoever comes with `jax.numpy`.
    names = {"numpy": "scipy.special", "jax.numpy": "hmetad.likelihood.jax_tails"}
    return import_module(names[xp.__name__])
