"""One number of trials, by the name of a metric inside an evaluation tool.

Name and DataFrame of trials → number, or a number for each answer option; NaN and a warning where
there is none, for the evaluation is paid for.
"""

from collections.abc import Iterable
from logging import getLogger
from math import nan
from typing import Any

import pandas as pd

import hmetad
from hmetad.base.errors import InputError, UnknownError, nearest
from hmetad.base.results import names_of
from hmetad.logs.inspect_ai import LETTERS
from hmetad.logs.stated import Scale, statement_frame
from hmetad.logs.statements import Wording, fold_word, read_statement

OF_ABSTENTIONS = ("coverage", "expected_score")
OF_CHOICES = ("dprime", "criterion", "m_ratio")
# Beginnings of the names of measures of trials that need more than correct and confidence.
OF_MORE = ("selective_", "tolerated_", "effective_", "forced_", "abstain_", "abstention_")
# Ratings of confidence, by its quantiles, for metrics that need ratings.
RATINGS = 4
OPEN_SCALE = "a bare number, whose scale is open (scale=)"
LOGGER = getLogger(__name__)
# Metrics and kinds of errors of which a warning was given: tools compute metrics again and again.
WARNED: set[tuple[str, str]] = set()


def refuse_unknown(name: str, options: Iterable[str] = ()) -> None:
    """Refuse a metric, or an option of one, that does not exist, before an evaluation begins.

    Examples
    --------
    >>> refuse_unknown("auroc")
    Traceback (most recent call last):
    hmetad.InputError: metric: Did you mean 'auroc2'? Expected a metric, got 'auroc'.
    """
    of_trials = (one for one in names_of("measure_trials") if not one.startswith(OF_MORE))
    known = [*OF_ABSTENTIONS, *OF_CHOICES, "meta_i", *of_trials]
    if name not in known:
        raise UnknownError("metric", repr(name), "a metric", nearest(name, known))
    for option in options:
        if (name, option) != ("expected_score", "penalty"):
            raise UnknownError(option, f"an option of {name!r}", "penalty, of 'expected_score'")


def metric_of(name: str, trials: pd.DataFrame, **options: Any) -> float | dict[str, float]:
    """A metric of trials; NaN if no trial has what it needs, or, with a warning, for an error.

    Parameters
    ----------
    name : str
        "coverage", "expected_score", "dprime", "criterion", "m_ratio", "meta_i", or a measure of
        `measure_trials` such as "auroc2".
    trials : DataFrame
        One row per answer: correct, confidence (probability), abstained (the reason, or missing);
        for the measures of choices target, answer and, in multiple choice, options (number).
    **options
        ``penalty``, for expected_score: what an error costs.

    Returns
    -------
    float or dict of str to float
        The number; for the criterion of more than two options the bias of each.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": [1, 1, 0, 0], "confidence": [0.9, 0.8, 0.8, 0.3]})
    >>> metric_of("auroc2", trials)
    0.875
    """
    if trials.empty:
        return nan
    try:
        return measured(name, trials, **options)
    except InputError as error:
        if (name, error.code) not in WARNED:
            WARNED.add((name, error.code))
            LOGGER.warning("hmetad: %s is not a number: %s", name, error)
        return nan


def measured(name: str, trials: pd.DataFrame, **options: Any) -> float | dict[str, float]:
    """A metric of trials, or the error that says why they cannot be measured."""
    if name in OF_ABSTENTIONS:
        found = hmetad.measures.measure_trials(trials, abstained="abstained", **options)
        return float(found[name].item())
    if name in OF_CHOICES:
        return metric_of_choices(name, trials)
    known = trials.dropna(subset=["correct", "confidence"])
    if known.empty:
        return nan
    if name == "meta_i":
        counts = hmetad.count_correct(known, quantiles=RATINGS)
        return float(hmetad.information.meta_information(counts)["meta_i"].item())
    found = hmetad.measures.measure_trials(known)
    return float(found[name].item()) if name in found else nan


def metric_of_choices(name: str, trials: pd.DataFrame) -> float | dict[str, float]:
    """Sensitivity, bias or efficiency of choices among options, by what was right and chosen."""
    named = trials.dropna(subset=["target", "answer"])
    labels = sorted({*named["target"].map(str)})
    number = pd.to_numeric(named.get("options", pd.Series(dtype=float))).max()
    if number >= 2 and {*labels} <= {*LETTERS[: int(number)]}:
        labels = [*LETTERS[: int(number)]]
    spelled = {fold_word(label): label for label in labels}
    sides = {"stimulus": named["target"], "response": named["answer"]}
    named = named.assign(**{side: x.map(lambda one: spelled.get(fold_word(str(one))))
                            for side, x in sides.items()})  # fmt: skip
    named = named.dropna(subset=["response"])
    has_two = len(labels) == 2 and name != "m_ratio"
    rated = named.assign(confidence=1) if has_two else named.dropna(subset=["confidence"])
    if len(labels) < 2 or rated.empty:
        return nan
    if has_two:
        found = hmetad.sdt(hmetad.count_trials(rated, labels=labels))
        return float(found["dprime" if name == "dprime" else "c"].item())
    found = hmetad.fit_mle(hmetad.count_trials(rated, options=labels, quantiles=RATINGS))
    if name == "criterion":
        biases = found["biases"].sel(cell="all").to_series()
        return {str(label): float(bias) for label, bias in biases.items()}
    return float(found[name].item())


def stated_confidence(text: str | None, wording: Wording, scale: Scale | None) -> dict[str, Any]:
    r"""Confidence that one text states, or why it could not be read.

    The scale of bare numbers is not guessed from one text.

    Examples
    --------
    >>> from hmetad.logs.statements import stated_wording
    >>> stated_confidence("4. Confidence: 80%", stated_wording(), None)
    {'confidence_unread': 'not understood'}
    >>> stated_confidence("4\nConfidence: 80%", stated_wording(), None)
    {'confidence': 0.8}
    """
    statement = read_statement(text, wording)
    is_open = scale is None and not statement.is_probability
    reason = statement.reason or (OPEN_SCALE if is_open else "")
    if not reason:
        found = statement_frame([statement], scale=scale).iloc[0]
        reason = found["rejected"]
    return {"confidence_unread": reason} if reason else {"confidence": float(found["confidence"])}
