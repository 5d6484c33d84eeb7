"""Scores of right and wrong trials by confidence, as arrays: how it orders and what it promises.

Type-2 tables (..., 2, confidences), wrong trials first and confidences rising, or their sums over
bins (..., bins) → scores (...). Columns are ratings, or the distinct confidences of trials; numbers
are trials, or weights. Source: Nelson (1984) for pairs; DeLong, DeLong & Clarke-Pearson (1988), by
the sums of Sun & Xu (2014), for the error of the area; Murphy (1973) for the parts of the Brier
score; Geifman, Uziel & El-Yaniv (2019), Traub et al. (2024) and Fadeeva et al. (2023) for areas
under curves of coverage.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, ndtr, ndtri

from hmetad.counts.reversed_scales import pairs
from hmetad.measures.results import ratio

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
type Share = float | None

# Halvings that find the end of an interval to all digits.
HALVINGS = 53


def wrong_and_right(table: ArrayLike) -> tuple[Floats, Floats]:
    """Wrong and right trials by confidence, each (..., confidences)."""
    values = np.asarray(table, dtype=float)
    return values[..., 0, :], values[..., 1, :]


# Answers, and abstaining


def answer_scores(
    wrong: Floats, right: Floats, abstained: Floats, penalty: float
) -> dict[str, Floats]:
    """Share answered, and mean score where a wrong answer costs `penalty`, or 1.

    Examples
    --------
    >>> found = answer_scores(*map(np.asarray, (1.0, 6.0, 3.0)), penalty=2)
    >>> [found[name].round(3).item() for name in found]
    [0.7, 0.4, 0.5]
    """
    total = wrong + right + abstained
    return {
        "coverage": ratio(wrong + right, total),
        "expected_score": ratio(right - penalty * wrong, total),
        "effective_reliability": ratio(right - wrong, total),
    }


def abstention_scores(
    wrong: Floats, right: Floats, abstained_wrong: Floats, abstained_right: Floats
) -> dict[str, Floats]:
    """Whether what is abstained from would have been wrong: forced answers are the stimulus.

    A hit abstains from an answer that would be wrong. Rates have the log-linear correction, and
    there is neither d′ nor c where everything or nothing is abstained from.

    Examples
    --------
    >>> found = abstention_scores(*map(np.asarray, (10.0, 70.0, 15.0, 5.0)))
    >>> [found[name].round(3).item() for name in found]
    [0.25, 0.85, 1.702, 0.607]
    """
    abstained, answered = abstained_wrong + abstained_right, wrong + right
    is_mixed = np.where((abstained > 0) & (answered > 0), 1.0, np.nan)
    hit = ratio(abstained_wrong + 0.5, abstained_wrong + wrong + 1) * is_mixed
    false_alarm = ratio(abstained_right + 0.5, abstained_right + right + 1)
    return {
        "forced_accuracy": ratio(abstained_right, abstained),
        "abstain_accuracy": ratio(right + abstained_wrong, answered + abstained),
        "abstention_dprime": ndtri(hit) - ndtri(false_alarm),
        "abstention_c": -(ndtri(hit) + ndtri(false_alarm)) / 2,
    }


# Order


def order_scores(
    table: ArrayLike, at_coverage: Share = None, tolerance: Share = None
) -> dict[str, Floats]:
    """Scores for which only the order of confidence counts.

    With `tolerance` also the largest share of trials above a confidence of which no more are wrong,
    0 where there is none.

    Examples
    --------
    >>> found = order_scores([[1, 1, 0], [0, 1, 1]])
    >>> [found[name].round(3).item() for name in ("auroc2", "aurc", "aurc_excess", "augrc", "prr")]
    [0.875, 0.271, 0.062, 0.156, 0.786]
    """
    concordant, discordant, tied = pairs(table)
    untied = concordant + discordant
    wrong, right = (side.sum(axis=-1) for side in wrong_and_right(table))
    n, area = wrong + right, risk_coverage_area(table)
    # The best order has all wrong trials last.
    least = ratio(wrong - right * (digamma(n + 1) - digamma(right + 1)), n)
    found = {
        "auroc2": ratio(concordant + tied / 2, untied + tied),
        "gamma_pairs": ratio(concordant - discordant, untied),
        "aurc": area,
        "aurc_excess": np.maximum(area - least, 0.0),
        "augrc": ratio(discordant + tied / 2 + wrong**2 / 2, n**2),
        "prr": ratio(ratio(wrong, n) - area, np.where(right > 0, ratio(wrong, n) - least, 0.0)),
    }
    if at_coverage is not None:
        found["selective_accuracy"] = selective_accuracy(table, at_coverage)
    if tolerance is not None:
        wrong, right = (side[..., ::-1].cumsum(axis=-1) for side in wrong_and_right(table))
        # A tolerated number of errors that is whole but for rounding is reached.
        holds = wrong <= tolerance * (wrong + right) * (1 + 1e-12)
        found["tolerated_coverage"] = ratio(np.where(holds, wrong + right, 0.0).max(axis=-1), n)
    return found


def risk_coverage_area(table: ArrayLike) -> Floats:
    """Mean over m of the share wrong of the m most confident trials.

    Equal confidences stand in a random order. With T trials before them of which R are right, and
    a share r of right ones among the t that are equal, Σ (R + i r)/(T + i) over i = 1 ... t is
    t r + (R − r T)(ψ(T + t + 1) − ψ(T + 1)); of weights, it is that of trials of weight 1.
    """
    wrong, right = (side[..., ::-1] for side in wrong_and_right(table))
    here = wrong + right
    none = np.zeros((*here.shape[:-1], 1))
    before, right_before = (
        np.concatenate([none, side.cumsum(axis=-1)], axis=-1) for side in (here, right)
    )
    share = np.where(here > 0, right / np.where(here > 0, here, 1), 0.0)
    grown = np.diff(digamma(before + 1), axis=-1)
    excess = right_before[..., :-1] - share * before[..., :-1]
    summed_accuracy = (here * share + excess * grown).sum(axis=-1)
    # Without errors it is 0, and rounding may leave less.
    return np.maximum(1 - ratio(summed_accuracy, here.sum(axis=-1)), 0.0)


def selective_accuracy(table: ArrayLike, coverage: float) -> Floats:
    """Share right of the most confident trials, as many as a share of all.

    Examples
    --------
    >>> selective_accuracy([[1, 1, 0], [0, 1, 1]], 0.5).item()
    0.75
    """
    wrong, right = (side[..., ::-1] for side in wrong_and_right(table))
    here = wrong + right
    wanted = coverage * here.sum(axis=-1, keepdims=True)
    left = np.clip(wanted - here.cumsum(axis=-1) + here, 0.0, here)
    share = right / np.where(here > 0, here, 1.0)
    return ratio((share * left).sum(axis=-1), wanted[..., 0])


def area_error(table: ArrayLike) -> Floats:
    """Standard error of the area under the type-2 ROC curve, of whole trials, by DeLong's method.

    Examples
    --------
    >>> area_error([[3, 2, 1], [1, 2, 4]]).round(3).item()
    0.139
    """
    wrong, right = wrong_and_right(table)
    all_wrong, all_right = (side.sum(axis=-1, keepdims=True) for side in (wrong, right))
    of_right = ratio(wrong.cumsum(axis=-1) - wrong + wrong / 2, all_wrong)
    of_wrong = ratio(all_right - (right.cumsum(axis=-1) - right) - right / 2, all_right)
    area = (right * of_right).sum(axis=-1) / np.where(all_right > 0, all_right, np.nan)[..., 0]
    variance = np.zeros(area.shape)
    for weights, places in ((right, of_right), (wrong, of_wrong)):
        n = weights.sum(axis=-1)
        squares = (weights * (places - area[..., None]) ** 2).sum(axis=-1)
        variance = variance + ratio(squares, n * (n - 1))
    return np.sqrt(variance)


def area_limits(
    area: Floats, error: Floats, numbers: Floats, ci_prob: float
) -> tuple[Floats, Floats]:
    """Lower and upper limits of areas (cells,) of wrong and right trials (cells, 2).

    Normal with DeLong's error; where that leaves the range, or is 0, by Newcombe's (2006) method 5.

    Examples
    --------
    >>> one = area_limits(np.array([1.0]), np.zeros(1), np.array([[5.0, 100]]), 0.95)
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


# Confidence that is a probability


def calibration_scores(
    table: ArrayLike, confidence: Floats, bin_of: Ints, bins: int
) -> dict[str, Floats]:
    """All of `binned_scores`, of tables (draws, 2, f) with confidences (f,) in bins (f,)."""
    wrong, right = wrong_and_right(table)
    here = wrong + right
    membership = np.zeros((len(confidence), bins))
    membership[np.arange(len(confidence)), bin_of] = 1
    n, hits, stated = (x @ membership for x in (here, right, here * confidence))
    errors = squared_errors(table, confidence).sum(axis=-1)
    return binned_scores(n, hits, stated, ratio(errors, here.sum(axis=-1)))


def squared_errors(table: ArrayLike, confidence: Floats) -> Floats:
    """Squared distance of each confidence from 1 or 0, summed over its right and wrong trials."""
    wrong, right = wrong_and_right(table)
    return right * (1 - confidence) ** 2 + wrong * confidence**2


def binned_scores(
    n: Floats, hits: Floats, stated: Floats, brier: Floats, residual: Floats | None = None
) -> dict[str, Floats]:
    """Brier score and its parts, calibration errors with and without what chance adds, and bias.

    Sums over bins (..., bins) are of trials, of right ones, and of their confidence. A residual
    that is not given is what the other parts leave of the Brier score.
    """
    trials = n.sum(axis=-1)
    accuracy, mean = (ratio(x.sum(axis=-1), trials) for x in (hits, stated))
    gap, rate = ratio(stated - hits, n), ratio(hits, n)
    distance, share = (np.where(n > 0, x, 0.0) for x in (gap, rate))
    reliability = ratio((n * distance**2).sum(axis=-1), trials)
    resolution = ratio((n * (share - accuracy[..., None]) ** 2).sum(axis=-1), trials)
    uncertainty = accuracy * (1 - accuracy)
    if residual is None:
        residual = brier - reliability + resolution - uncertainty
    # What chance adds to a squared distance: the variance of the accuracy in the bin.
    chance = ratio(rate * (1 - rate), n - 1)
    known = np.isfinite(gap) & np.isfinite(chance)
    squared = np.where(known, n * (gap**2 - chance), 0.0)
    x, s = np.where(known, abs(gap), 0.0), np.sqrt(np.where(known, chance, 0.0))
    plain = np.where(known, n * (2 * x - mean_size(x, s)), 0.0)
    return {
        "brier": brier,
        "reliability": reliability,
        "resolution": resolution,
        "uncertainty": uncertainty,
        "residual": residual,
        "ece": ratio(abs(stated - hits).sum(axis=-1), trials),
        "ece_debiased": ratio(plain.sum(axis=-1), trials),
        "reliability_debiased": ratio(squared.sum(axis=-1), trials),
        "mean_confidence": mean,
        "accuracy": accuracy,
        "overconfidence": mean - accuracy,
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
    return np.where(s > 0, folded, abs(x))
