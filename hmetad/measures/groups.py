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
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, probability
from hmetad.base.errors import (
    LabelError,
    LevelError,
    NumberError,
    ShapeError,
    TooFewError,
)
from hmetad.base.notice import notice_where, notices, notices_where, with_notices
from hmetad.counts.columns import Label, given_labels
from hmetad.measures.results import describe, described

type Floats = NDArray[np.float64]
type Truths = NDArray[np.bool_]
type Values = xr.DataArray | ArrayLike

# What sums may miss their 1, or their prior, by, and probabilities exceed it: the digits of a table
# written by hand, or single precision.
SLACK = 1e-6
# Joint responses of a group that are looked at one by one; beyond, their log-odds are binned.
MOST = 2**16
BINS = 2**16
# At odds of exp(40) what a group may still get wrong is below the rounding of its accuracy.
REACH = 40.0
BLOCK = 2**20
# Log-odds that cancel, up to the rounding of their sum.
TIE = 1e-12


@check_inputs(accuracy=arrays_of_numbers)
def majority_vote(accuracy: Values) -> xr.DataArray:
    r"""Accuracy of a group that follows the majority of its members.

    Parameters
    ----------
    accuracy : DataArray with dim member, or array_like, shape (members,) or (cells, members)
        Each member's probability of being correct, 0 to 1. Members are independent of each other,
        given the true label.

    Returns
    -------
    DataArray
        ``majority_vote``, a probability, in the other dims of `accuracy`. A tie, in a group of
        even size, is correct half of the time. NaN where an accuracy is missing, with a notice.

    Raises
    ------
    InputError
        If `accuracy` has no members, or holds anything but probabilities.

    Notes
    -----
    With N the number of members who are correct, exact for members of different accuracy too:

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
    # Probability that 0, 1, ..., K members are right.
    votes = np.zeros((*members.shape[:-1], K + 1))
    votes[..., 0] = 1.0
    right = members.to_numpy()
    for k in range(K):
        one_more = votes[..., : k + 1] * right[..., k, None]
        votes[..., : k + 1] *= 1 - right[..., k, None]
        votes[..., 1 : k + 2] += one_more
    number = 2 * np.arange(K + 1)
    value = votes @ np.where(number == K, 0.5, number > K)
    return vote("majority_vote", value, np.isnan(right), members)


@check_inputs(accuracy=arrays_of_numbers)
def confidence_weighted_vote(accuracy: Values) -> xr.DataArray:
    r"""Accuracy of a group that weights each member's vote by the log-odds of its accuracy.

    Parameters
    ----------
    accuracy : DataArray or array_like
        As for `majority_vote`; equal for both labels, which are equally frequent. The vote of a
        member with an accuracy below ½ is reversed.

    Returns
    -------
    DataArray
        ``confidence_weighted_vote``, a probability, in the other dims of `accuracy`; these weights
        are optimal. NaN where an accuracy is missing, with a notice. Attrs: ``method``.

    Raises
    ------
    InputError
        If `accuracy` has no members, or holds anything but probabilities.

    Notes
    -----
    The response of the group is the sign of :math:`\sum_k \hat y_k \log(acc_k/(1 - acc_k))`, and is
    correct with

    .. math:: \tfrac12 \sum_{\hat y} \max\Big\{
              \prod_k acc_k^{[\hat y_k = 1]} (1 - acc_k)^{[\hat y_k = -1]},
              \prod_k (1 - acc_k)^{[\hat y_k = 1]} acc_k^{[\hat y_k = -1]} \Big\}

    Up to 16 members exactly, by the sum. Larger groups are convolved one member after the other,
    and joint responses with log-odds in the same of 65 536 bins are merged: exact for identical
    members, else too low by less than 1e-6 in groups of 20 to 200. Source: Nitzan & Paroush (1982);
    Meyen et al. (2025).

    Examples
    --------
    >>> confidence_weighted_vote([0.9, 0.6, 0.6]).round(3).item()
    0.9
    """
    members = member_array("accuracy", accuracy, "member")
    right = members.to_numpy()
    responses = np.stack([right, 1 - right], axis=-1)
    value, method = best_accuracy(responses, responses[..., ::-1], 0.5)
    return vote("confidence_weighted_vote", value, np.isnan(right), members, method=method)


@check_inputs(share=arrays_of_numbers, confidence=arrays_of_numbers, prior=probability)
def predictionwise_vote(
    share: Values,
    confidence: Values,
    *,
    prediction: Values | None = None,
    prior: float = 0.5,
    level: str = "rating",
) -> xr.DataArray:
    r"""Accuracy of a group that weights each prediction by the log-odds of its confidence.

    Parameters
    ----------
    share : DataArray with dims member and `level`, or array_like, shape ([cells,] members, levels)
        Proportion of each level of confidence for each member; sums to 1.
    confidence : like `share`
        Calibrated confidence of each level: the probability of being correct at it, 0 to 1. It may
        be missing where the proportion is 0.
    prediction : like `share` or broadcast to it, optional
        Prediction of each level ("S1" or "S2"), if levels belong to predictions. By default each
        level occurs equally often with either prediction, and label.
    prior : float, optional
        P(S2). Any but ½ needs `prediction`.
    level : str, optional
        Dim of the levels.

    Returns
    -------
    DataArray
        ``predictionwise_vote``, a probability, in the other dims of `share`. NaN where a proportion
        or a confidence is missing, with a notice. Attrs: ``method`` and ``prior``.

    Raises
    ------
    InputError
        If dims differ, proportions do not sum to 1, or confidence is not a probability or
        contradicts the prior.

    Notes
    -----
    A member gives response i with proportion m_i and posterior q_i = P(S2 | i), which is its
    confidence if it predicts S2, else 1 − confidence. The group responds with the label of larger
    posterior given all responses, and is correct with

    .. math:: \sum_{i_1 \dots i_K} \max\Big\{ p \prod_k \frac{m_{i_k} q_{i_k}}{p},
              (1 - p) \prod_k \frac{m_{i_k} (1 - q_{i_k})}{1 - p} \Big\}

    Up to 65 536 joint responses are summed exactly; beyond, as in `confidence_weighted_vote`.
    Confidence calibrated on the same trials, as below, slightly overestimates the accuracy. Source:
    Meyen et al. (2025).

    Examples
    --------
    >>> wrong = xr.DataArray([[30, 0]] * 3, dims=["member", "rating"])
    >>> right = xr.DataArray([[30, 40]] * 3, dims=["member", "rating"])
    >>> share = (wrong + right) / (wrong + right).sum("rating")
    >>> confidence = right / (wrong + right)
    >>> predictionwise_vote(share, confidence).round(3).item()
    0.892
    """
    shares = member_array("share", share, "member", level)
    shares, sure = with_others(shares, "confidence", confidence, "member", level)
    m, c = shares.to_numpy(), sure.to_numpy()
    total = m.sum(axis=-1)
    off = total[abs(total - 1) > SLACK]
    if off.size:
        step = "Divide each member's frequencies by their sum."
        raise NumberError("share", f"shares that add up to {off.flat[0]:g}", "1 in all", step)
    c = np.where(m == 0, 0.5, c)
    if prediction is not None:
        q = np.where(is_s2(prediction, shares), c, 1 - c)
        implied = (m * q).sum(axis=-1)
        off = implied[abs(implied - prior) > SLACK]
        if off.size:
            got = f"confidence that makes S2 true with {off.flat[0]:g} on average"
            step = "Pass this prior, or weigh the trials of S1 and S2 so that all members have one."
            raise NumberError("confidence", got, f"the prior {prior:g}", step)
        plus, minus = m * q, m * (1 - q)
    elif prior == 0.5:
        plus = np.concatenate([m * c, m * (1 - c)], axis=-1)
        minus = np.concatenate([m * (1 - c), m * c], axis=-1)
    else:
        got = f"{prior:g} without prediction"
        raise NumberError("prior", got, "0.5, or prediction given as well")
    plus, minus = (x / x.sum(axis=-1, keepdims=True) for x in (plus, minus))
    value, method = best_accuracy(plus, minus, prior)
    attrs = {"method": method, "prior": float(prior)}
    return vote("predictionwise_vote", value, np.isnan(m + c), shares, sure, **attrs)


@check_inputs(accuracy=arrays_of_numbers, accuracy_s1=arrays_of_numbers, prior=probability)
def group_bounds(
    accuracy: Values, *, accuracy_s1: Values | None = None, prior: float = 0.5
) -> xr.Dataset:
    r"""Least and greatest accuracy of a group whose members' confidence is unknown.

    Parameters
    ----------
    accuracy : DataArray or array_like
        As for `majority_vote`; where `accuracy_s1` is given, when S2 is true.
    accuracy_s1 : like `accuracy`, optional
        Each member's probability of being correct when S1 is true; by default the same.
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
    members = member_array("accuracy", accuracy, "member")
    given = members if accuracy_s1 is None else accuracy_s1
    members, others = with_others(members, "accuracy_s1", given, "member")
    of_s2, of_s1 = members.to_numpy(), others.to_numpy()
    responses = np.stack([of_s2, 1 - of_s2], axis=-1), np.stack([1 - of_s1, of_s1], axis=-1)
    lower, method = best_accuracy(*responses, prior)
    overall, larger = prior * of_s2 + (1 - prior) * of_s1, max(prior, 1 - prior)
    is_below = (overall < larger - TIE).any(axis=-1)
    # By logarithms: powers of the prior underflow in large groups.
    with np.errstate(divide="ignore"):
        errors = np.log1p(-np.minimum(overall, 1.0)).sum(axis=-1)
    upper = -np.expm1(errors - (overall.shape[-1] - 1) * np.log(larger))
    like = members.isel(member=0, drop=True)
    values = {"lower": lower, "upper": np.where(is_below, np.nan, upper)}
    result = described(like, values, "group_bounds")
    result.attrs |= {"method": method, "prior": float(prior)}
    gaps = (members.isnull() | others.isnull()).any("member")
    masks = {"missing-member": gaps, "below-prior": like.copy(data=is_below)}
    return with_notices(result, [*notices(members), *notices(others), *notices_where(masks)])


@check_inputs(confidence=arrays_of_numbers, prior=probability)
def combine_predictions(
    responses: Values,
    confidence: Values,
    *,
    prior: float = 0.5,
    labels: Sequence[Label] | None = None,
) -> xr.Dataset:
    r"""Response and confidence of a group in each trial, from those of its members.

    Parameters
    ----------
    responses : DataArray with dim member, or array_like, shape (members,) or (trials, members)
        Response of each member, one of two labels, independent given the true label.
    confidence : like `responses` or broadcast to it
        Calibrated confidence: the probability that the member is correct, 0 to 1. Below ½ it
        favours the other label.
    prior : float, optional
        P(S2), between 0 and 1, which confidence includes.
    labels : (S1, S2), optional
        The two labels. By default those in the responses, sorted.

    Returns
    -------
    Dataset
        In the other dims of `responses`: ``response`` (label), ``confidence`` (probability that
        it is correct), ``log_odds`` (of S2 against S1, nat) and ``is_tie``. A tie goes with the
        first member who answered, and is correct half of the time. A member without response or
        confidence is excluded from the trial, with a notice; if members are certain of opposite
        labels, log-odds and confidence are NaN, with a notice. Attrs: ``labels`` and ``prior``.

    Raises
    ------
    InputError
        If there are not two labels, confidence is not a probability, or the shapes differ.

    Notes
    -----
    With q_k the posterior of S2 by member k: its confidence if it responds S2, else 1 − confidence,

    .. math:: \log\frac{P(S2 \mid \text{all})}{P(S1 \mid \text{all})} =
              \sum_k \log\frac{q_k}{1 - q_k} - (K - 1) \log\frac{p}{1 - p}

    which at equal priors weights predictions by log(C/(1 − C)). Source: Nitzan & Paroush (1982);
    Meyen et al. (2025).

    Examples
    --------
    >>> said = combine_predictions(["S1", "S2", "S2"], [0.9, 0.6, 0.7])
    >>> said["response"].item(), said["confidence"].round(2).item()
    ('S1', 0.72)
    """
    said = with_dims("responses", responses, "trial", "member")
    pair = label_pair(said, labels)
    said, sure = with_others(said, "confidence", confidence, "member", outer="trial")
    is_there = (said.notnull() & sure.notnull()).to_numpy()
    is_second = said.where(said.notnull(), pair[0]).to_numpy() == pair[1]
    weight = np.where(is_second, 1.0, -1.0) * logit(sure.to_numpy()) - logit(prior)
    log_odds, is_tie, is_torn = joint_log_odds(np.where(is_there, weight, 0.0), logit(prior))
    first = np.take_along_axis(is_second, is_there.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    group = np.where(is_tie | is_torn, first, log_odds > 0)
    like = said.isel(member=0, drop=True)
    values: dict[str, NDArray[Any]] = {
        "response": np.array(pair)[group.astype(int)],
        "confidence": expit(abs(log_odds)),
        "log_odds": log_odds,
        "is_tie": is_tie,
    }
    result = described(like, values, "combine_predictions")
    result.attrs |= {"labels": json.dumps(pair, ensure_ascii=False), "prior": float(prior)}
    masks = {
        "members-left-out": ~is_there.all(axis=-1),
        "no-members": ~is_there.any(axis=-1),
        "certain-and-opposed": is_torn,
    }
    found = notices_where({code: like.copy(data=mask) for code, mask in masks.items()})
    return with_notices(result, [*notices(said), *notices(sure), *found])


# What members have, as labelled arrays


def vote(
    name: str, value: Floats, is_gap: Truths, *members: xr.DataArray, **attrs: Any
) -> xr.DataArray:
    """Accuracy of groups in the first dims of what their members have, with notices of gaps."""
    first = members[0]
    over = first.dims[value.ndim :]
    like = first.isel(dict.fromkeys(over, 0), drop=True)
    gaps = notice_where(first.copy(data=is_gap).any(over), "missing-member")
    said = [one for array in members for one in notices(array)]
    return with_notices(describe(like, name, value).assign_attrs(attrs), [*said, *gaps])


def with_dims(argument: str, values: Values, outer: str, *dims: str) -> xr.DataArray:
    """Values as a DataArray that ends with the dims; an array may have one more, the outer."""
    if isinstance(values, xr.DataArray):
        if not set(dims) <= set(values.dims):
            got = f"dims ({', '.join(map(str, values.dims))})"
            raise ShapeError(argument, got, f"dims ({', '.join(dims)}) and maybe more")
        array = values.transpose(..., *dims)
    else:
        numbers = np.asarray(values)
        if not len(dims) <= numbers.ndim <= len(dims) + 1:
            step = "Further dims need names: pass a DataArray."
            allowed = f"axes ({', '.join(dims)}), or ({', '.join((outer, *dims))})"
            raise ShapeError(argument, f"{numbers.ndim} axes", allowed, step)
        array = xr.DataArray(numbers, dims=(outer, *dims)[-numbers.ndim :])
    if array.sizes["member"] == 0:
        raise TooFewError(argument, "no members", "at least one")
    return array


def member_array(argument: str, values: Values, *dims: str, outer: str = "cell") -> xr.DataArray:
    """Probabilities, 0 to 1 or missing, that end with the dims.

    Examples
    --------
    >>> member_array("accuracy", [70, 80], "member")
    Traceback (most recent call last):
    hmetad.InputError: accuracy: Divide percentages by 100. Expected probabilities from 0 to 1, \
got 70.
    """
    array = with_dims(argument, values, outer, *dims)
    numbers = array.to_numpy().astype(float)
    off = numbers[(numbers < -SLACK) | (numbers > 1 + SLACK)]
    if off.size:
        step = "Divide percentages by 100." if (off > 1).all() and (off <= 100).all() else ""
        raise NumberError(argument, f"{off[0]:g}", "probabilities from 0 to 1", step)
    return array.copy(data=np.clip(numbers, 0.0, 1.0))


def with_others(
    first: xr.DataArray, argument: str, values: Values, *dims: str, outer: str = "cell"
) -> tuple[xr.DataArray, xr.DataArray]:
    """An array, and probabilities in its dims; an axis before the last ones is called as there."""
    outer = str(first.dims[0]) if first.ndim == len(dims) + 1 else outer
    return same_shape(first, argument, member_array(argument, values, *dims, outer=outer))


def same_shape(
    first: xr.DataArray, argument: str, second: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Both arrays in all their dims, those of the first last; labels must be the same."""
    sizes, known = (", ".join(f"{d} {n}" for d, n in x.sizes.items()) for x in (second, first))
    # Dims of different names would silently make every combination of the two.
    if not (set(second.dims) <= set(first.dims) or set(first.dims) <= set(second.dims)):
        raise ShapeError(argument, f"dims {sizes}", f"the dims {known}")
    try:
        one, other = xr.broadcast(*xr.align(first, second, join="exact"))
    except ValueError as error:
        got = f"dims {sizes}, with other sizes or labels"
        raise NumberError(argument, got, f"those of {known}") from error
    return one.transpose(..., *first.dims), other.transpose(..., *first.dims)


def is_s2(prediction: Values, like: xr.DataArray) -> Truths:
    """Whether each level predicts S2, in the shape of `like`."""
    if not isinstance(prediction, xr.DataArray):
        array = np.asarray(prediction)
        if array.ndim > like.ndim:
            raise ShapeError("prediction", f"{array.ndim} axes", f"at most {like.ndim}")
        prediction = xr.DataArray(array, dims=like.dims[like.ndim - array.ndim :])
    full = same_shape(like, "prediction", prediction)[1]
    if full.sizes != like.sizes:
        got = ", ".join(map(str, full.dims))
        raise ShapeError("prediction", f"dims ({got})", f"dims ({', '.join(map(str, like.dims))})")
    words = full.to_numpy()
    other = words[(words != "S1") & (words != "S2")]
    if other.size:
        raise LevelError("prediction", repr(other.flat[0]), "'S1' or 'S2' for each level")
    return words == "S2"


def label_pair(said: xr.DataArray, labels: Sequence[Label] | None) -> list[Label]:
    """Labels (S1, S2) of responses: those given, or the two that were said, sorted."""
    seen: set[Label] = set(said.to_numpy()[said.notnull().to_numpy()].tolist())
    in_order = sorted(seen, key=lambda label: (isinstance(label, str), label))
    pair = in_order if labels is None else given_labels(labels)
    listed = ", ".join(sorted(map(repr, seen))[:5])
    if labels is None and len(pair) != 2:
        step = "Name both: labels=(S1, S2)." if len(pair) < 2 else "Leave out the others."
        raise LabelError("responses", f"{len(pair)} labels: {listed or 'none'}", "two", step)
    if not seen <= set(pair):
        raise LabelError("labels", f"{labels!r} for responses {listed}", "all that were said")
    return pair


# Joint responses


def best_accuracy(plus: Floats, minus: Floats, prior: float) -> tuple[Floats, str]:
    r"""Accuracy of the group that says what is likelier given all responses, and the method.

    Probabilities (..., members, responses) of responses where the one label, with this prior, or
    the other is true → accuracy (...), NaN where a probability is:
    :math:`\sum_i \max\{p \prod_k P(i_k \mid +), (1 - p) \prod_k P(i_k \mid -)\}` over all joint
    responses i or, where there are too many, with their log-odds in bins.

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
    """Accuracy of each group from all its joint responses; (groups, members, responses)."""
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


def joint_log_odds(weights: Floats, prior: float) -> tuple[Floats, Truths, Truths]:
    """Log-odds of a group; where they tie, which makes them 0; where ∞ meets −∞, which is NaN.

    Weights (..., members) are the log-likelihood ratios by each member, ±∞ where it is certain.

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
