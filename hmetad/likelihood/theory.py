"""The meta-d′ model in its plainest form: parameters to cell probabilities.

Parameters (arrays that broadcast over leading dims) → log-probabilities (..., stimulus,
response, rating). Written for reading and for checking the compiled kernel against; the
array module is an argument, so that the same lines run under NumPy, JAX and PyTensor.

Notation: type-1 evidence is N(-d/2, 1) for stimulus S1 and N(+d/2, 1/s) for S2, the response
is S2 above the criterion c. Confidence follows the same picture with m = meta-d′ in place of d
and κ (`kappa`) in place of c; from κ outward, type-2 criteria lie one gap after the other.

Source: Maniscalco & Lau (2012, 2014); Fleming (2017).
"""

from hmetad.errors import InputError
from hmetad.likelihood.arrays import NUMPY, Array, Arrays
from hmetad.likelihood.ratings import RESPONSE_SIGN, log_rating_shares

__all__ = [
    "log_conditional_probabilities",
    "log_joint_probabilities",
    "log_response_probabilities",
    "meta_criterion_value",
]


def log_joint_probabilities(
    d: Array, c: Array, m: Array, kappa: Array, gaps: Array, s: Array = 1.0, xp: Arrays = NUMPY
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
    xp : Arrays, optional
        Of NumPy, JAX or PyTensor.

    Returns
    -------
    array, shape (..., 2, 2, K)
        Dims stimulus, response, rating; sums to one over the last two.

    Examples
    --------
    >>> import numpy as np
    >>> gaps = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> p = np.exp(log_joint_probabilities(2.0, 0.5, 1.0, 0.5, gaps))
    >>> p[0, 1].round(6)  # stimulus S1, response S2, ratings 1..3
    array([0.038676, 0.018552, 0.00958 ])
    """
    response = log_response_probabilities(d, c, s, xp)
    return response[..., None] + log_conditional_probabilities(m, kappa, gaps, s, xp)


def log_response_probabilities(d: Array, c: Array, s: Array = 1.0, xp: Arrays = NUMPY) -> Array:
    """log P(response | stimulus) of the type-1 decision, shape (..., 2, 2).

    P(S2 | S1) = Φ(-d/2 - c) and P(S2 | S2) = Φ(s (d/2 - c)).
    """
    log_ndtr = xp.log_ndtr
    false_alarm = -xp.asarray(d) / 2 - c
    hit = s * (xp.asarray(d) / 2 - c)
    rows = [xp.stack([log_ndtr(-z), log_ndtr(z)], axis=-1) for z in (false_alarm, hit)]
    return xp.stack(xp.broadcast_arrays(*rows), axis=-2)


def log_conditional_probabilities(
    m: Array, kappa: Array, gaps: Array, s: Array = 1.0, xp: Arrays = NUMPY
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
