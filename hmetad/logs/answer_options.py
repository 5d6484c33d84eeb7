"""Probabilities of the options of an answer, and the confidence that they give it.

Log-likelihoods of options, or of letters → fields of a sample.
Source: lm-evaluation-harness for the softmax and the lengths that divide.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from hmetad.logs.choices import Normalise
from hmetad.logs.statements import as_number

type Floats = NDArray[np.float64]

# Rounding may lead past 0.
LARGEST_LOG_PROBABILITY = 1e-6
# Metrics of multiple choice, by what divides the log-likelihoods.
OPTION_METRICS = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}


def option_confidence(
    log_likelihoods: Sequence[float],
    texts: Sequence[str] = (),
    unit: Normalise = "none",
    delimiter: str = " ",
) -> dict[str, Any]:
    """Fields of a sample whose options were compared: the most probable one is the answer.

    In another unit than none, log-likelihoods are divided by the lengths of the options' texts in
    characters, or bytes of UTF-8, without the delimiter before them, as acc_norm ranks options.

    Examples
    --------
    >>> option_confidence([-7.0, -4.0], [" Zürich", " Bern"], "bytes")["probabilities"]
    [0.5, 0.5]
    """
    values = np.asarray(log_likelihoods, dtype=np.float64)
    if unit != "none":
        bare = [text.removeprefix(delimiter) for text in texts]
        coded = [text.encode("utf-8", "surrogatepass") for text in bare]
        lengths = [*map(len, coded if unit == "bytes" else bare)]
        if 0 in lengths:
            return {"missing": "an option without text"}
        values = values / lengths
    probabilities = option_probabilities(values).tolist()
    if math.isnan(probabilities[0]):
        return {"missing": "log-likelihoods are not finite"}
    chosen = int(np.argmax(probabilities))
    return {"chosen": chosen, "probabilities": probabilities, "confidence": probabilities[chosen]}


def option_probabilities(log_likelihoods: ArrayLike) -> Floats:
    r"""Probability of each option, given that one of them is said, (..., options).

    Log-likelihoods :math:`\ell_i` (nat; -inf is an option that cannot be said) give
    :math:`p_i = e^{\ell_i} / \sum_j e^{\ell_j}`; NaN in all options where a log-likelihood is NaN
    or positively infinite, or all of them are -inf.

    Examples
    --------
    >>> option_probabilities(np.log([0.2, 0.1, 0.1])).round(3)
    array([0.5 , 0.25, 0.25])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(softmax(np.asarray(log_likelihoods, dtype=np.float64), axis=-1))


def letter_confidence(
    tokens: Mapping[str, Any], letters: Sequence[str], written: str
) -> dict[str, Any]:
    """Fields of a sample whose answer is a letter: probabilities of all, and of the one written.

    `tokens` are log-probabilities by token: "A" and " A" are the same letter, and letters that are
    not there have probability 0.
    """
    totals = dict.fromkeys(letters, 0.0)
    for text, value in tokens.items():
        if text.strip() in totals:
            number = as_number(value)
            is_log_probability = number <= LARGEST_LOG_PROBABILITY
            totals[text.strip()] += math.exp(number) if is_log_probability else math.nan
    logs = [-math.inf if total == 0 else math.log(total) for total in totals.values()]
    probabilities = option_probabilities(logs).tolist()
    if math.isnan(probabilities[0]):
        return {"missing": "confidence: log-probabilities are not finite"}
    return {"probabilities": probabilities, "confidence": probabilities[letters.index(written)]}


def log_likelihood(value: Any) -> float | None:
    """Log-likelihood, which logs hold as text, NaN included; None for what is no number."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
