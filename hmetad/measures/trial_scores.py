"""Scores of confidence as it is: how it orders trials, and how far it is from their accuracy.

Weights of right and wrong trials (..., confidences), or their sums over bins (..., bins) → scores
(...), in time in proportion to the distinct confidences.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, ndtr, ndtri

from hmetad.measures.results import ratio

__all__ = [
    "area_error",
    "area_limits",
    "binned_scores",
    "calibration_of",
    "mean_scores",
    "order_measures",
    "risk_coverage_area",
    "squared_errors",
]

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]


# Halvings that find the end of an interval to all digits.
HALVINGS = 53


class ErrorParts(NamedTuple):
    """Area under the type-2 ROC curve and its standard error by DeLong's method."""

    area: Floats
    error: Floats


def below_and_all(weights: Floats) -> tuple[Floats, Floats]:
    """Weight of all smaller confidences, and of all."""
    up_to = np.cumsum(weights, axis=-1)
    return up_to - weights, up_to[..., -1:]


def order_measures(right: Floats, wrong: Floats) -> dict[str, Floats]:
    """Measures for which only the order of confidence counts.

    Parameters
    ----------
    right, wrong : array, shape (..., confidences)
        Weights of right and wrong trials with each confidence, the smallest first.

    Returns
    -------
    dict of str to array, shape (...)
        auroc2, gamma_pairs, aurc and accuracy.

    Examples
    --------
    >>> found = order_measures(np.array([0.0, 1, 1]), np.array([1.0, 1, 0]))
    >>> {name: x.round(3).item() for name, x in found.items()}
    {'auroc2': 0.875, 'gamma_pairs': 1.0, 'aurc': 0.271, 'accuracy': 0.5}
    """
    wrong_below, all_wrong = below_and_all(wrong)
    all_right = right.sum(axis=-1)
    pairs = all_right * all_wrong[..., 0]
    higher, tied = (right * wrong_below).sum(axis=-1), (right * wrong).sum(axis=-1)
    lower = pairs - higher - tied
    trials = all_right + all_wrong[..., 0]
    return {
        "auroc2": ratio(higher + tied / 2, pairs),
        "gamma_pairs": ratio(higher - lower, higher + lower),
        "aurc": risk_coverage_area(right, wrong),
        "accuracy": ratio(all_right, trials),
    }


def risk_coverage_area(right: Floats, wrong: Floats) -> Floats:
    """Mean over m of the share wrong of the m most confident trials.

    Equal confidences stand in a random order. With T trials before them of which R are right, and
    a share r of right ones among the t that are equal, Σ (R + i r)/(T + i) over i = 1 ... t is
    t r + (R − r T)(ψ(T + t + 1) − ψ(T + 1)); of weights, it is that of trials of weight 1.
    """
    here = (right + wrong)[..., ::-1]
    right_here = right[..., ::-1]
    before = np.cumsum(here, axis=-1) - here
    right_before = np.cumsum(right_here, axis=-1) - right_here
    share = np.where(here > 0, right_here / np.where(here > 0, here, 1), 0.0)
    grown = digamma(before + here + 1) - digamma(before + 1)
    summed_accuracy = (here * share + (right_before - share * before) * grown).sum(axis=-1)
    # Without errors it is 0, and rounding may leave less.
    return np.maximum(1 - ratio(summed_accuracy, here.sum(axis=-1)), 0.0)


def area_error(right: Floats, wrong: Floats) -> ErrorParts:
    """AUROC2 with its standard error, of whole trials.

    Source: DeLong, DeLong & Clarke-Pearson (1988), by the sums of Sun & Xu (2014).

    Examples
    --------
    >>> area, error = area_error(np.array([1.0, 2, 4]), np.array([3.0, 2, 1]))
    >>> area.round(3).item(), error.round(3).item()
    (0.75, 0.139)
    """
    wrong_below, all_wrong = below_and_all(wrong)
    right_below, all_right = below_and_all(right)
    of_right = ratio(wrong_below + wrong / 2, all_wrong)
    of_wrong = ratio(all_right - right_below - right / 2, all_right)
    area = (right * of_right).sum(axis=-1) / np.where(all_right > 0, all_right, np.nan)[..., 0]
    variance = np.zeros(area.shape)
    for weights, places in ((right, of_right), (wrong, of_wrong)):
        n = weights.sum(axis=-1)
        squares = (weights * (places - area[..., None]) ** 2).sum(axis=-1)
        variance = variance + ratio(squares, n * (n - 1))
    return ErrorParts(area, np.sqrt(variance))


def area_limits(
    area: Floats, error: Floats, numbers: Floats, ci_prob: float
) -> tuple[Floats, Floats]:
    """Lower and upper limits of areas (cells,) of right and wrong trials (cells, 2).

    Normal with DeLong's error; where that leaves the range, or is 0, by Newcombe's (2006) method 5.

    Examples
    --------
    >>> one = area_limits(np.array([1.0]), np.zeros(1), np.array([[100.0, 5]]), 0.95)
    >>> [limit.round(3).item() for limit in one]
    [0.8, 1.0]
    """
    far = ndtri((1 + ci_prob) / 2)
    lower, upper = area - far * error, area + far * error
    is_inside = (error > 0) & (lower > 0) & (upper < 1)
    n, half = numbers.prod(axis=-1), numbers.sum(axis=-1) / 2 - 1

    def below(estimate: Floats) -> Floats:
        """Smallest θ that is no further below an estimate than its own error allows."""
        low, high = np.zeros_like(estimate), estimate
        for _ in range(HALVINGS):
            theta = (low + high) / 2
            sum_of_parts = 1 + half * ((1 - theta) / (2 - theta) + theta / (1 + theta))
            variance = ratio(theta * (1 - theta) * sum_of_parts, n)
            is_below = estimate - theta > far * np.sqrt(variance)
            low, high = np.where(is_below, theta, low), np.where(is_below, high, theta)
        return high

    newcombe = below(area), 1 - below(1 - area)
    return np.where(is_inside, lower, newcombe[0]), np.where(is_inside, upper, newcombe[1])


def calibration_of(
    right: Floats, wrong: Floats, confidence: Floats, bin_of: Ints, bins: int
) -> dict[str, Floats]:
    """Scores (draws,) of confidence (f,) that is a probability, in bins; weights are (draws, f)."""
    here = right + wrong
    membership = np.zeros((len(confidence), bins))
    membership[np.arange(len(confidence)), bin_of] = 1
    n, hits, stated = (x @ membership for x in (here, right, here * confidence))
    errors = squared_errors(right, wrong, confidence).sum(axis=-1)
    return {
        **binned_scores(n, hits, stated, ratio(errors, here.sum(axis=-1))),
        **without_chance(n, hits, stated),
        **mean_scores(n, hits, stated),
    }


def squared_errors(right: Floats, wrong: Floats, confidence: Floats) -> Floats:
    """Squared distance of each confidence from 1 or 0, summed over its right and wrong trials."""
    errors: Floats = right * (1 - confidence) ** 2 + wrong * confidence**2
    return errors


def binned_scores(
    n: Floats, hits: Floats, stated: Floats, brier: Floats, residual: Floats | None = None
) -> dict[str, Floats]:
    """Brier score, its parts and the calibration error, of sums over bins (..., bins).

    The sums are of trials, of right ones, and of their confidence. A residual that is not given is
    what the other parts leave of the Brier score.
    """
    trials = n.sum(axis=-1)
    accuracy = ratio(hits.sum(axis=-1), trials)
    distance, share = (np.where(n > 0, ratio(x, n), 0.0) for x in (stated - hits, hits))
    reliability = ratio((n * distance**2).sum(axis=-1), trials)
    resolution = ratio((n * (share - accuracy[..., None]) ** 2).sum(axis=-1), trials)
    uncertainty = accuracy * (1 - accuracy)
    if residual is None:
        residual = brier - reliability + resolution - uncertainty
    return {
        "brier": brier,
        "reliability": reliability,
        "resolution": resolution,
        "uncertainty": uncertainty,
        "residual": residual,
        "ece": ratio(abs(stated - hits).sum(axis=-1), trials),
    }


def mean_scores(n: Floats, hits: Floats, stated: Floats) -> dict[str, Floats]:
    """Mean confidence beside accuracy, of sums over bins (..., bins) as of `binned_scores`."""
    accuracy, mean = (ratio(x.sum(axis=-1), n.sum(axis=-1)) for x in (hits, stated))
    return {"mean_confidence": mean, "accuracy": accuracy, "overconfidence": mean - accuracy}


def without_chance(n: Floats, hits: Floats, stated: Floats) -> dict[str, Floats]:
    """Calibration errors less what chance adds, of sums over bins (draws, bins)."""
    trials = n.sum(axis=-1)
    distance, share = ratio(stated - hits, n), ratio(hits, n)
    # What chance adds to a squared distance: the variance of the accuracy in the bin.
    chance = ratio(share * (1 - share), n - 1)
    known = np.isfinite(distance) & np.isfinite(chance)
    squared = np.where(known, n * (distance**2 - chance), 0.0)
    x, s = np.where(known, abs(distance), 0.0), np.sqrt(np.where(known, chance, 0.0))
    plain = np.where(known, n * (2 * x - mean_size(x, s)), 0.0)
    return {
        "ece_debiased": ratio(plain.sum(axis=-1), trials),
        "reliability_debiased": ratio(squared.sum(axis=-1), trials),
    }


def mean_size(x: Floats, s: Floats) -> Floats:
    """Mean absolute value of a normal number with mean x and standard deviation s.

    Examples
    --------
    >>> mean_size(np.array([0.0, 2.0]), np.array([1.0, 0.0])).round(3)
    array([0.798, 2.   ])
    """
    z = ratio(x, s)
    folded = s * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + x * (1 - 2 * ndtr(-z))
    size: Floats = np.where(s > 0, folded, abs(x))
    return size
