"""Responses and accuracy of a group, from the independent responses of its members.

Probabilities of each member's responses, (..., members, responses) → accuracy of the group (...);
log-odds of what was said, (..., members) → those of the group (...).
Source: Nitzan & Paroush (1982); Meyen et al. (2025).
"""

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "best_accuracy",
    "convolve_members",
    "enumerate_responses",
    "greatest_accuracy",
    "joint_log_odds",
    "right_votes",
]

Floats = NDArray[np.float64]

# Joint responses of a group that are looked at one by one; beyond, their log-odds are binned.
MOST = 2**16
BINS = 2**16
# At odds of exp(40) what a group may still get wrong is below the rounding of its accuracy.
REACH = 40.0
BLOCK = 2**20
# Log-odds that cancel, up to the rounding of their sum.
TIE = 1e-12


def right_votes(accuracy: Floats) -> Floats:
    """Probability that 0, 1, ..., K members are right, given each one's accuracy.

    Parameters
    ----------
    accuracy : ndarray, shape (..., K)

    Returns
    -------
    ndarray, shape (..., K + 1)

    Examples
    --------
    >>> right_votes(np.array([0.5, 1.0]))
    array([0. , 0.5, 0.5])
    """
    votes = np.zeros((*accuracy.shape[:-1], accuracy.shape[-1] + 1))
    votes[..., 0] = 1.0
    for k, right in enumerate(np.moveaxis(accuracy, -1, 0)):
        one_more = votes[..., : k + 1] * right[..., None]
        votes[..., : k + 1] *= 1 - right[..., None]
        votes[..., 1 : k + 2] += one_more
    return votes


def best_accuracy(plus: Floats, minus: Floats, prior: float) -> tuple[Floats, str]:
    r"""Accuracy of the group that says what is likelier given all responses, and the method.

    Parameters
    ----------
    plus, minus : ndarray, shape (..., members, responses)
        Probability of each response of each member where the one label, or the other, is true.
    prior : float
        Probability that it is the one of `plus`.

    Returns
    -------
    accuracy : ndarray, shape (...)
        NaN where a probability is.
    method : str
        ``"enumeration"`` (exact), or that log-odds are binned and how finely.

    Notes
    -----
    .. math:: \sum_i \max\{p \prod_k P(i_k \mid +), (1 - p) \prod_k P(i_k \mid -)\}

    over all joint responses i, as `enumerate_responses` or, where there are too many, as
    `convolve_members`.

    Examples
    --------
    >>> votes = np.array([[0.7, 0.3]] * 3)
    >>> accuracy, method = best_accuracy(votes, votes[:, ::-1], 0.5)
    >>> accuracy.round(3).item(), method
    (0.784, 'enumeration')
    """
    *outer, members, responses = plus.shape
    ones, others = (x.reshape(-1, members, responses) for x in (plus, minus))
    is_whole = np.isfinite(ones + others).all(axis=(1, 2))
    value = np.full(len(ones), np.nan)
    joint = responses**members
    step = max(1, BLOCK // joint) if joint <= MOST else 1
    accuracy_of = enumerate_responses if joint <= MOST else convolve_members
    rows = np.flatnonzero(is_whole)
    for part in (rows[i : i + step] for i in range(0, len(rows), step)):
        value[part] = accuracy_of(ones[part], others[part], prior)
    method = "enumeration" if joint <= MOST else f"log-odds in bins of {2 * REACH / BINS:.2g}"
    # Sums of many probabilities end an ulp above 1.
    return np.minimum(value, 1.0).reshape(outer), method


def enumerate_responses(plus: Floats, minus: Floats, prior: float) -> Floats:
    """Accuracy of each group from all its joint responses; (groups, members, responses).

    Examples
    --------
    >>> votes = np.array([[[0.9, 0.1], [0.6, 0.4]]])
    >>> enumerate_responses(votes, votes[..., ::-1], 0.5)
    array([0.9])
    """
    groups, members, _ = plus.shape
    p, q = np.full((groups, 1), prior), np.full((groups, 1), 1 - prior)
    for k in range(members):
        p = (p[:, :, None] * plus[:, k, None, :]).reshape(groups, -1)
        q = (q[:, :, None] * minus[:, k, None, :]).reshape(groups, -1)
    return np.maximum(p, q).sum(axis=1)


def convolve_members(plus: Floats, minus: Floats, prior: float) -> Floats:
    """Accuracy of one group, (1, members, responses), one member after the other.

    Joint responses whose log-odds share a bin are taken together once they are many. A group that
    cannot tell them apart does a little worse, and no worse where they are the same.

    Examples
    --------
    >>> votes = np.full((1, 101, 2), [0.6, 0.4])
    >>> convolve_members(votes, votes[..., ::-1], 0.5).round(6)
    array([0.979103])
    """
    p, q = np.array([prior]), np.array([1 - prior])
    for a, b in zip(plus[0], minus[0], strict=True):
        if p.size * a.size <= MOST:
            p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
        else:
            p, q = bin_log_odds(p, q, a, b)
    return np.maximum(p, q).sum(keepdims=True)


def joint_log_odds(
    weights: Floats, prior: float
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Log-odds of a group given its members' and the prior's; where they tie; where ∞ meets −∞.

    Parameters
    ----------
    weights : ndarray, shape (..., members)
        Each member's log-likelihood ratio of the two labels, ±∞ where it is certain.
    prior : float
        Log-odds of the labels before anyone answered.

    Returns
    -------
    log_odds : ndarray, shape (...)
        0 where they tie, NaN where members are certain of opposite labels.
    is_tie, is_torn : ndarray of bool, shape (...)

    Examples
    --------
    >>> joint_log_odds(np.array([[0.5, -0.5], [np.inf, -1.0]]), 0.0)[0]
    array([ 0., inf])
    """
    is_torn = (weights == np.inf).any(axis=-1) & (weights == -np.inf).any(axis=-1)
    whole = np.where(is_torn[..., None], 0.0, weights)
    total = prior + whole.sum(axis=-1)
    is_tie = np.isfinite(total) & (abs(total) <= TIE * (1 + abs(whole).sum(axis=-1))) & ~is_torn
    return np.where(is_torn, np.nan, np.where(is_tie, 0.0, total)), is_tie, is_torn


def greatest_accuracy(accuracy: Floats, prior: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Accuracy of a group whose members are certain or guess, and where they cannot be so.

    Parameters
    ----------
    accuracy : ndarray, shape (..., members)
    prior : float
        Of the more frequent label.

    Returns
    -------
    upper : ndarray, shape (...)
        NaN where a member is less accurate than the prior.
    is_below : ndarray of bool, shape (...)
        Where that is so.

    Examples
    --------
    >>> greatest_accuracy(np.array([0.7, 0.7, 0.7]), 0.5)[0].round(3).item()
    0.892
    """
    is_below = (accuracy < prior - TIE).any(axis=-1)
    # By logarithms: powers of the prior underflow in large groups.
    with np.errstate(divide="ignore"):
        errors = np.log1p(-np.minimum(accuracy, 1.0)).sum(axis=-1)
    upper = -np.expm1(errors - (accuracy.shape[-1] - 1) * np.log(prior))
    return np.where(is_below, np.nan, upper), is_below


def bin_log_odds(p: Floats, q: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Probabilities of joint responses and one member's, summed by bins of their log-odds."""
    ones, others = np.zeros(BINS), np.zeros(BINS)
    step = max(1, BLOCK // a.size)
    for rows in (slice(i, i + step) for i in range(0, p.size, step)):
        both = np.outer(p[rows], a).ravel(), np.outer(q[rows], b).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            log_odds = np.log(both[0]) - np.log(both[1])
        # What is impossible under both labels may lie anywhere.
        within = np.nan_to_num(np.clip(log_odds, -REACH, REACH))
        index = ((within + REACH) * ((BINS - 1) / (2 * REACH))).astype(np.int64)
        ones += np.bincount(index, both[0], BINS)
        others += np.bincount(index, both[1], BINS)
    is_used = (ones > 0) | (others > 0)
    return ones[is_used], others[is_used]
