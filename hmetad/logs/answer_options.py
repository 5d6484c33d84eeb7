"""Probabilities of the options of an answer, and three numbers of them that may be its confidence.

Log-likelihoods of options, or of letters → probabilities; DataFrame of questions with the
probability of every option → the same with a column for each signal.
Source: lm-evaluation-harness for the softmax and the lengths that divide; Li & Ma (2020) for the
best two options; Shannon (1948) for the entropy.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, softmax

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, NumberError, ShapeError, TakenError
from hmetad.base.notice import Notice, notice_of
from hmetad.base.notice_registry import limit
from hmetad.counts.columns import as_text, check_roles
from hmetad.counts.noticed import add_notices
from hmetad.logs.choices import Normalise
from hmetad.logs.json_files import json_value
from hmetad.logs.statements import as_number, is_missing
from hmetad.rows.tables import TableLike, rows_of

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]

# Rounding may lead past 0.
LARGEST_LOG_PROBABILITY = 1e-6
# Metrics of multiple choice, by what divides the log-likelihoods.
OPTION_METRICS = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}
# What readers call the answer, in the order in which it is looked for.
ANSWERS = ("chosen", "answer", "response")
SIGNALS = ("top_probability", "lead", "minus_entropy")
OPTIONS = "options"
# Digits of the number of an option.
MOST_DIGITS = 8
# Decimals that are kept: what is equal on paper stays equal, as .7 - .2 and .6 - .1.
DECIMALS = 12


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


# Signals


@check_inputs(skip=("trials",))
def signals(
    trials: TableLike,
    *,
    probabilities: str | Sequence[str] = "option_probabilities",
    chosen: str | None = None,
) -> pd.DataFrame:
    r"""Trials with three signals of confidence, from the probabilities of all options.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per question answered; the number of options may differ between questions.
    probabilities : str or sequence of str, optional
        Column of lists (or of JSON text of lists) with the probability of each option; or the
        columns of the options. A missing value says that the question has no such option; an
        option of probability 0 is one. They need not sum to 1.
    chosen : str, optional
        Column with the option that was answered: its number from 0, its letter from A, or the name
        of its column. By default the first of the columns chosen, answer and response that is
        there; without one the most probable option, of equal ones the first.

    Returns
    -------
    DataFrame
        The trials with four more columns: ``top_probability`` (probability, 0 to 1), ``lead``
        (difference of probabilities, -1 to 1) and ``minus_entropy`` (nats, -log m to 0), larger is
        more confident, and ``options``, the number m of options of the question. The signals are
        missing where nothing was chosen, where all probabilities are missing or 0, and where there
        is a single option. Attrs: ``notices`` (JSON): how many those are, how often the chosen
        option isn't the most probable one, whether probabilities did not sum to 1, and whether no
        column says what was chosen.

    Raises
    ------
    InputError
        If a column is missing or the trials have one of the new columns already; if probabilities
        are negative, no numbers or all missing; if what was chosen is none of the options.

    Notes
    -----
    Probabilities are divided by their sum. With :math:`p_r` of the chosen option,

    .. math:: p_r, \qquad p_r - \max_{j \ne r} p_j, \qquad \sum_j p_j \log p_j

    where :math:`0 \log 0 = 0`. All three are about the answer that was given: where another option
    is more probable than it, ``top_probability`` is that of the chosen option all the same, and the
    lead is negative; the entropy does not know what was chosen. Where two options are the most
    probable, the lead is 0. With two options the three have the same order, so that AUROC2 and
    ratings by quantiles are the same. Values are rounded to 12 decimals, for signals that are equal
    on paper must be ties.

    Examples
    --------
    >>> trials = pd.DataFrame({"option_probabilities": [[0.7, 0.2, 0.1], [0.5, 0.5, None]]})
    >>> signals(trials)[[*SIGNALS, OPTIONS]].round(3).values.tolist()
    [[0.7, 0.5, -0.802, 3.0], [0.5, 0.0, -0.693, 2.0]]
    """
    frame = trials if isinstance(trials, pd.DataFrame) else rows_of(trials).frame()
    if chosen is None:
        chosen = next((name for name in ANSWERS if name in frame.columns), None)
    columns = [probabilities] if isinstance(probabilities, str) else list(probabilities)
    used = [*(("probabilities", name) for name in columns), ("chosen", chosen)]
    check_roles(list(frame.columns), [(role, name) for role, name in used if name is not None])
    for name in (name for name in (*SIGNALS, OPTIONS) if name in frame.columns):
        raise TakenError("trials", f"a column {name!r}", "none of that name: it is made here")
    matrix, names = probability_matrix(frame, probabilities)
    is_option = ~np.isnan(matrix)
    if chosen is None:
        answer = np.where(is_option, matrix, -1.0).argmax(axis=1)
    else:
        answer = chosen_options(frame[chosen], names, matrix)
    # From the largest on, so that sums do not depend on the order of the options.
    ranked = -np.sort(-np.where(is_option, matrix, 0.0), axis=1)
    options, total = is_option.sum(axis=1), ranked.sum(axis=1)
    has_signals = (answer >= 0) & (options > 1) & (total > 0)
    own = np.where(has_signals, matrix[np.arange(len(matrix)), answer], np.nan)
    other = np.where(own >= ranked[:, 0], ranked[:, min(1, matrix.shape[1] - 1)], ranked[:, 0])
    divisor = np.where(has_signals, total, np.nan)
    entropy = entr(ranked / divisor[:, None]).sum(axis=1)
    values = (own / divisor, (own - other) / divisor, -entropy)
    # Adding 0 makes 0 of -0.
    made = {k: np.round(x, DECIMALS) + 0.0 for k, x in zip(SIGNALS, values, strict=True)}
    result = frame.assign(**made, **{OPTIONS: options})
    said = signal_notices(has_signals, own < ranked[:, 0], total)
    said += [notice_of("chosen-unknown")] if chosen is None else []
    result.attrs = add_notices(frame.attrs, said)
    return result


def signal_notices(
    has_signals: NDArray[np.bool_], is_lower: NDArray[np.bool_], total: Floats
) -> list[Notice]:
    """Notices of rows without signals, of other options more probable, and of unequal sums."""
    found, rows, known = [], len(has_signals), int(has_signals.sum())
    if known < rows:
        found.append(notice_of("rows-dropped.signals", dropped=rows - known, total=rows))
    if is_lower.any():
        found.append(notice_of("chosen-not-top", number=int(is_lower.sum()), all=known))
    sums = total[has_signals]
    is_off = np.abs(sums - 1) > limit("unequal-sums")
    if is_off.any():
        ends = {"least": f"{sums.min():.3g}", "most": f"{sums.max():.3g}"}
        found.append(notice_of("unequal-sums", number=int(is_off.sum()), all=known, **ends))
    return found


# Options of rows


def probability_matrix(
    trials: pd.DataFrame, probabilities: str | Sequence[str]
) -> tuple[Floats, list[str]]:
    """Probabilities (rows, options), NaN where there is no such option; names of wide columns."""
    names = [] if isinstance(probabilities, str) else list(probabilities)
    argument = "probabilities" if names else f"column {probabilities!r}"
    rows: Any = trials[names].to_numpy(dtype=object) if names else trials[probabilities]
    lists = [option_list(argument, value) for value in rows.tolist()]
    most = max(map(len, lists))
    matrix = np.full((len(lists), most), np.nan)
    for row, values in zip(matrix, lists, strict=True):
        row[: len(values)] = values
    off = np.isinf(matrix) | (matrix < 0)
    if off.any():
        step = "Log-probabilities become probabilities by numpy.exp."
        raise NumberError(argument, f"{matrix[off][0]:g}", "finite numbers of 0 or more", step)
    if np.isnan(matrix).all():
        raise ShapeError(argument, "no probability in any row", "one for each option of a question")
    return matrix, names


def option_list(argument: str, value: Any) -> list[float]:
    """Probabilities of one question; none for a missing value."""
    if is_missing(value):
        return []
    try:
        options = json_value(argument, value) if isinstance(value, str) else value
        if isinstance(options, str | bytes | Mapping):
            raise TypeError(type(options).__name__)
        return [np.nan if is_missing(p) else float(p) for p in options]
    except (TypeError, ValueError, OverflowError) as error:
        step = "For an option in a column of its own, name all these columns."
        raise NumberError(argument, repr(value)[:60], "a list of numbers per row", step) from error


def chosen_options(chosen: pd.Series, names: Sequence[str], matrix: Floats) -> Ints:
    """Number of the option that each row names, -1 where it or all probabilities are missing."""
    is_there = ~np.isnan(matrix)
    rows = np.flatnonzero(is_there.any(axis=1) & chosen.notna().to_numpy())
    given = chosen.iloc[rows].tolist()
    numbers = np.array(option_numbers(given, names), dtype=np.int64)
    last = matrix.shape[1] - 1
    is_lost = (numbers > last) | ~is_there[rows, np.minimum(numbers, last)]
    if is_lost.any():
        first = rows[is_lost][0]
        got = f"{given[is_lost.argmax()]!r}, which has no probability in row {first}"
        allowed = f"one of its {int(is_there[first].sum())} options"
        step = "Options are counted from 0, or by letters from A."
        raise ChoiceError(f"chosen column {chosen.name!r}", got, allowed, step)
    answers = np.full(len(matrix), -1)
    answers[rows] = numbers
    return answers


def option_numbers(chosen: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Numbers of options: by names of columns where all values are such, else one by one."""
    letters = zip(*names, strict=False)
    start = next((i for i, some in enumerate(letters) if len(set(some)) > 1), 0)
    known = {name[start:]: i for i, name in enumerate(names)}
    known |= {name: i for i, name in enumerate(names)}
    texts = [as_text(value).strip() for value in chosen]
    if all(text in known for text in texts):
        return [known[text] for text in texts]
    numbers = []
    for text in texts:
        if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS:
            numbers.append(int(text))
        elif len(text) == 1 and text.isascii() and text.isalpha():
            numbers.append(ord(text.upper()) - ord("A"))
        else:
            names = f", or one of {', '.join(map(repr, known))}" if known else ""
            allowed = f"the number of an option from 0, its letter from A{names}"
            raise ChoiceError("chosen", repr(text[:60]), allowed)
    return numbers
