"""Groups: accuracy and responses of several observers together.

Accuracies (cell, member), or shares and confidence (cell, member, rating), of independent members
→ DataArray or Dataset (cell); responses and confidence (trial, member) → Dataset (trial).
Source: Nitzan & Paroush (1982); Meyen, Göppert, Schrenk, von Luxburg & Franz (2025).
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit, logit

from hmetad.arguments import arrays_of_numbers, check_inputs
from hmetad.counts.columns import Label
from hmetad.errors import InputError
from hmetad.measures.group_accuracy import (
    best_accuracy,
    greatest_accuracy,
    joint_log_odds,
    right_votes,
)
from hmetad.measures.members import (
    Values,
    is_s2,
    label_pair,
    member_array,
    one_group,
    outer_dim,
    prior_given,
    refuse_other_prior,
    refuse_shares,
    same_shape,
    with_dims,
)
from hmetad.measures.results import describe
from hmetad.notice import Notice, notice_where, notices, notices_where, with_notices

__all__ = [
    "combine_predictions",
    "confidence_weighted_vote",
    "group_bounds",
    "majority_vote",
    "predictionwise_vote",
]

Floats = NDArray[np.float64]


@check_inputs(skip=("accuracy",))
def majority_vote(accuracy: Values) -> xr.DataArray:
    r"""Accuracy of a group that follows the majority of its members.

    Parameters
    ----------
    accuracy : DataArray with dim member, or array_like, shape (members,) or (cells, members)
        Each member's probability of being right, 0 to 1. Members are independent of each other,
        given the true label.

    Returns
    -------
    DataArray
        ``majority_vote``, a probability, in the other dims of `accuracy`. A tie, in a group of
        even size, is right half of the time. NaN where an accuracy is missing, with a notice.

    Raises
    ------
    InputError
        If `accuracy` has no members, or holds anything but probabilities.

    Notes
    -----
    With N the number of members who are right, exact for members of different accuracy too:

    .. math:: P(N > K/2) + \tfrac12 P(N = K/2), \quad
              P(N = i) = \binom{K}{i} acc^i (1 - acc)^{K-i} \text{ where all are alike}

    Source: Nitzan & Paroush (1982).

    Examples
    --------
    >>> majority_vote([0.7, 0.7, 0.7]).round(3).item()
    0.784
    """
    members = member_array("accuracy", accuracy, "member")
    K = members.sizes["member"]
    votes = np.arange(K + 1)
    value = right_votes(members.to_numpy()) @ np.where(2 * votes == K, 0.5, 2 * votes > K)
    result = describe(one_group(members), "majority_vote", value)
    return with_notices(result, [*notices(members), *missing(members.isnull())])


@check_inputs(skip=("accuracy",))
def confidence_weighted_vote(accuracy: Values) -> xr.DataArray:
    r"""Accuracy of a group that weighs each member's vote by the log-odds of its accuracy.

    Parameters
    ----------
    accuracy : DataArray or array_like
        As for `majority_vote`; the same whichever of two equally frequent labels is true. Who is
        right less than half of the time counts against what it says.

    Returns
    -------
    DataArray
        ``confidence_weighted_vote``, a probability, in the other dims of `accuracy`; no other
        weights do better. NaN where an accuracy is missing, with a notice. Attrs: ``method``.

    Raises
    ------
    InputError
        If `accuracy` has no members, or holds anything but probabilities.

    Notes
    -----
    The group says the sign of :math:`\sum_k \hat y_k \log(acc_k/(1 - acc_k))`, and is right with

    .. math:: \tfrac12 \sum_{\hat y} \max\Big\{
              \prod_k acc_k^{[\hat y_k = 1]} (1 - acc_k)^{[\hat y_k = -1]},
              \prod_k (1 - acc_k)^{[\hat y_k = 1]} acc_k^{[\hat y_k = -1]} \Big\}

    Up to 16 members exactly, by the sum. Larger groups are convolved one member after the other,
    and joint responses whose log-odds fall into the same of 65 536 bins are taken together: exact
    where members are alike, else too low by less than 1e-6 in groups of 20 to 200.
    Source: Nitzan & Paroush (1982); Meyen et al. (2025).

    Examples
    --------
    >>> confidence_weighted_vote([0.9, 0.6, 0.6]).round(3).item()
    0.9
    """
    members = member_array("accuracy", accuracy, "member")
    right = members.to_numpy()
    responses = np.stack([right, 1 - right], axis=-1)
    value, method = best_accuracy(responses, responses[..., ::-1], 0.5)
    result = describe(one_group(members), "confidence_weighted_vote", value)
    result.attrs["method"] = method
    return with_notices(result, [*notices(members), *missing(members.isnull())])


@check_inputs(share=arrays_of_numbers)
def predictionwise_vote(
    share: Values,
    confidence: Values,
    *,
    prediction: Values | None = None,
    prior: float = 0.5,
    level: str = "rating",
) -> xr.DataArray:
    r"""Accuracy of a group that weighs every single prediction by the log-odds of its confidence.

    Parameters
    ----------
    share : DataArray with dims member and `level`, or array_like, shape ([cells,] members, levels)
        How often each member has each level of confidence; 1 in all.
    confidence : like `share`
        Calibrated confidence of each level: the probability of being right at it, 0 to 1. It may
        be missing where the share is 0.
    prediction : like `share` or broadcast to it, optional
        Where levels belong to predictions ("S1" or "S2"), the prediction of each. By default each
        level goes with either prediction, and label, equally often.
    prior : float, optional
        P(S2). Any but ½ needs `prediction`.
    level : str, optional
        Dim of the levels.

    Returns
    -------
    DataArray
        ``predictionwise_vote``, a probability, in the other dims of `share`. NaN where a share or
        a confidence is missing, with a notice. Attrs: ``method`` and ``prior``.

    Raises
    ------
    InputError
        If dims differ, shares miss 1 in all, or confidence is no probability or denies the prior.

    Notes
    -----
    A member gives response i, with share m_i, and posterior q_i = P(S2 | i), which is its
    confidence if it predicts S2, else 1 − confidence. The group says the label with the larger
    posterior given all responses, and is right with

    .. math:: \sum_{i_1 \dots i_K} \max\Big\{ p \prod_k \frac{m_{i_k} q_{i_k}}{p},
              (1 - p) \prod_k \frac{m_{i_k} (1 - q_{i_k})}{1 - p} \Big\}

    Up to 65 536 joint responses exactly, beyond as `confidence_weighted_vote`. Confidence that is
    calibrated on the trials it is measured by, as below, promises a little too much.
    Source: Meyen et al. (2025).

    Examples
    --------
    >>> wrong = xr.DataArray([[30, 0]] * 3, dims=["member", "rating"])
    >>> right = xr.DataArray([[30, 40]] * 3, dims=["member", "rating"])
    >>> share = (wrong + right) / (wrong + right).sum("rating")
    >>> confidence = right / (wrong + right)
    >>> predictionwise_vote(share, confidence).round(3).item()
    0.892
    """
    p = prior_given(prior)
    dims = ("member", level)
    shares = member_array("share", share, *dims)
    sure = member_array("confidence", confidence, *dims, outer=outer_dim(shares, 2, "cell"))
    shares, sure = same_shape(shares, "confidence", sure)
    m, c = shares.to_numpy(), sure.to_numpy()
    refuse_shares(m)
    c = np.where(m == 0, 0.5, c)
    if prediction is not None:
        q = np.where(is_s2(prediction, shares), c, 1 - c)
        refuse_other_prior(m, q, p)
        plus, minus = m * q, m * (1 - q)
    elif p == 0.5:
        plus = np.concatenate([m * c, m * (1 - c)], axis=-1)
        minus = np.concatenate([m * (1 - c), m * c], axis=-1)
    else:
        raise InputError("prior", f"{p:g} without prediction", "0.5, or prediction given as well")
    plus, minus = (x / x.sum(axis=-1, keepdims=True) for x in (plus, minus))
    value, method = best_accuracy(plus, minus, p)
    like = one_group(shares.isel({level: 0}, drop=True))
    result = describe(like, "predictionwise_vote", value)
    result.attrs |= {"method": method, "prior": p}
    gaps = shares.copy(data=np.isnan(m + c)).any(level)
    return with_notices(result, [*notices(shares), *notices(sure), *missing(gaps)])


@check_inputs(skip=("accuracy",), accuracy_s1=arrays_of_numbers)
def group_bounds(
    accuracy: Values, *, accuracy_s1: Values | None = None, prior: float = 0.5
) -> xr.Dataset:
    r"""Least and greatest accuracy of a group whose members' confidence is unknown.

    Parameters
    ----------
    accuracy : DataArray or array_like
        As for `majority_vote`; where `accuracy_s1` is given, when S2 is true.
    accuracy_s1 : like `accuracy`, optional
        Each member's probability of being right when S1 is true; by default the same.
    prior : float, optional
        P(S2), between 0 and 1.

    Returns
    -------
    Dataset
        ``lower`` and ``upper``, probabilities, in the other dims of `accuracy`: of a group that
        weighs predictions by calibrated confidence, where no member's confidence varies, and where
        each is either certain or guesses. ``upper`` is NaN with a notice where a member is less
        accurate than by always saying the more frequent label. Attrs: ``method`` of the lower
        bound, and ``prior``.

    Raises
    ------
    InputError
        If an accuracy is no probability, or the dims differ, or the prior is 0 or 1.

    Notes
    -----
    With p₊ the larger prior, acc₊ and acc₋ the accuracies for that label and the other, and
    acc = p₊ acc₊ + (1 − p₊) acc₋:

    .. math::
        upper &= 1 - p_+^{-(K-1)} \prod_k (1 - acc_k) \\
        lower &= \sum_{\hat y} \max\Big\{
            p_+ \prod_k acc_{k+}^{[\hat y_k = +]} (1 - acc_{k+})^{[\hat y_k = -]},
            (1 - p_+) \prod_k (1 - acc_{k-})^{[\hat y_k = +]} acc_{k-}^{[\hat y_k = -]} \Big\}

    At equal priors and accuracies `lower` is `confidence_weighted_vote`, and for an odd number of
    members who are alike `majority_vote`. Source: Meyen et al. (2025), Theorem 8.

    Examples
    --------
    >>> bounds = group_bounds([0.7, 0.7, 0.7])
    >>> bounds["lower"].round(3).item(), bounds["upper"].round(3).item()
    (0.784, 0.892)
    """
    p = prior_given(prior)
    members = member_array("accuracy", accuracy, "member")
    given, outer = accuracy if accuracy_s1 is None else accuracy_s1, outer_dim(members, 1, "cell")
    others = member_array("accuracy_s1", given, "member", outer=outer)
    members, others = same_shape(members, "accuracy_s1", others)
    of_s2, of_s1 = members.to_numpy(), others.to_numpy()
    responses = np.stack([of_s2, 1 - of_s2], axis=-1), np.stack([1 - of_s1, of_s1], axis=-1)
    lower, method = best_accuracy(*responses, p)
    upper, is_below = greatest_accuracy(p * of_s2 + (1 - p) * of_s1, max(p, 1 - p))
    like = one_group(members)
    values = {"lower": lower, "upper": upper}
    bounds = {name: describe(like, name, x, "group_bounds") for name, x in values.items()}
    below = notice_where(like.copy(data=is_below), "below-prior")
    gaps = missing(members.isnull() | others.isnull())
    result = xr.Dataset(bounds, attrs={"method": method, "prior": p})
    return with_notices(result, [*notices(members), *notices(others), *gaps, *below])


@check_inputs()
def combine_predictions(
    responses: Values,
    confidence: Values,
    *,
    prior: float = 0.5,
    labels: Sequence[Label] | None = None,
) -> xr.Dataset:
    r"""Response of a group to each trial, and how sure it may be, from those of its members.

    Parameters
    ----------
    responses : DataArray with dim member, or array_like, shape (members,) or (trials, members)
        What each member said, one of two labels, independently given the true label.
    confidence : like `responses` or broadcast to it
        Calibrated confidence: the probability that the member is right, 0 to 1. Below ½ it speaks
        for the other label.
    prior : float, optional
        P(S2), between 0 and 1; confidence knows of it.
    labels : (S1, S2), optional
        The two labels. By default those in the responses, sorted.

    Returns
    -------
    Dataset
        In the other dims of `responses`: ``response`` (label), ``confidence`` (probability that
        it is right), ``log_odds`` (of S2 against S1, nat) and ``is_tie``. A tie goes with the
        first member who answered, and is right half of the time. Who has no response or no
        confidence is left out of that trial, with a notice; where members are certain of opposite
        labels, log-odds and confidence are NaN, with a notice. Attrs: ``labels`` and ``prior``.

    Raises
    ------
    InputError
        If there are not two labels, confidence is no probability, or the shapes differ.

    Notes
    -----
    With q_k the posterior of S2 by member k, its confidence where it says S2, else 1 − confidence,

    .. math:: \log\frac{P(S2 \mid \text{all})}{P(S1 \mid \text{all})} =
              \sum_k \log\frac{q_k}{1 - q_k} - (K - 1) \log\frac{p}{1 - p}

    which at equal priors weighs predictions by log(C/(1 − C)). Source: Nitzan & Paroush (1982);
    Meyen et al. (2025).

    Examples
    --------
    >>> said = combine_predictions(["S1", "S2", "S2"], [0.9, 0.6, 0.7])
    >>> said["response"].item(), said["confidence"].round(2).item()
    ('S1', 0.72)
    """
    p = prior_given(prior)
    said = with_dims("responses", responses, "trial", "member")
    pair = label_pair(said, labels)
    sure = member_array("confidence", confidence, "member", outer=outer_dim(said, 1, "trial"))
    said, sure = same_shape(said, "confidence", sure)
    is_there = (said.notnull() & sure.notnull()).to_numpy()
    is_second = said.where(said.notnull(), pair[0]).to_numpy() == pair[1]
    weight = np.where(is_second, 1.0, -1.0) * logit(sure.to_numpy()) - logit(p)
    log_odds, is_tie, is_torn = joint_log_odds(np.where(is_there, weight, 0.0), logit(p))
    first = np.take_along_axis(is_second, is_there.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    group = np.where(is_tie | is_torn, first, log_odds > 0)
    like = one_group(said)
    values: dict[str, NDArray[Any]] = {
        "response": np.array(pair)[group.astype(int)],
        "confidence": expit(abs(log_odds)),
        "log_odds": log_odds,
        "is_tie": is_tie,
    }
    result = xr.Dataset(
        {name: describe(like, name, x, "combine_predictions") for name, x in values.items()},
        attrs={"labels": json.dumps(pair, ensure_ascii=False), "prior": p},
    )
    found = trial_notices(like, is_there, is_torn)
    return with_notices(result, [*notices(said), *notices(sure), *found])


def missing(gaps: xr.DataArray) -> list[Notice]:
    """Notice of the groups in which something of a member is missing."""
    return notice_where(gaps.any("member"), "missing-member")


def trial_notices(
    like: xr.DataArray, is_there: NDArray[np.bool_], is_torn: NDArray[np.bool_]
) -> list[Notice]:
    """Notices of trials that not all members answered, or some for certain and oppositely."""
    partly, alone = ~is_there.all(axis=-1), ~is_there.any(axis=-1)
    masks = {"members-left-out": partly, "no-members": alone, "certain-and-opposed": is_torn}
    return notices_where({code: like.copy(data=mask) for code, mask in masks.items()})
