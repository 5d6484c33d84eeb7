"""One sample of lighteval: what was chosen, whether it was right, how sure.

A row of a table of details → `Sample`, in one layout for old and new tables → a trial.
Source: lighteval's Doc, ModelResponse and Detail; the last of versions up to 0.10 is flat.
"""

import ast
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hmetad.errors import InputError, nearest
from hmetad.logs.lm_eval_samples import (
    METRICS,
    Normalise,
    kept_values,
    log_likelihood,
    repeated_answers,
)
from hmetad.logs.options import option_lengths, option_probabilities
from hmetad.logs.statements import Wording, as_number, is_missing, read_statement
from hmetad.logs.trials import Trial, as_dict, clip_text, safe_text, verdict

__all__ = ["Choices", "Sample", "lighteval_trial", "sample_of"]

LONGEST_ANSWER = 1000
# Tables of mixed types were written as text, as Python shows values.
LONGEST_LITERAL = 200_000
DEEPEST_LITERAL = 20
BRACKETS = re.compile(r"[\[\](){}]")
SIGNS = re.compile(r"(?:[-+~][ \t]*){10}")


class Choices(NamedTuple):
    """What the caller chose: metric, lengths, threshold, where confidence and answers stand."""

    metric: str | None
    normalise: Normalise
    threshold: float | None
    wording: Wording | None
    answer: re.Pattern[str] | None = None


class Sample(NamedTuple):
    """A sample: its question and options, the right ones, what the model did, and the metrics."""

    place: str
    name: int | str
    item: str
    options: list[str]
    right: list[int]
    log_likelihoods: list[float]
    responses: list[Any]
    metrics: dict[str, Any]


def sample_of(row: Mapping[Any, Any], number: int, place: str) -> Sample:
    """Sample of a row of a table of details.

    Parameters
    ----------
    row : mapping
        Columns ``doc``, ``model_response`` and ``metric``; or, in older tables, ``choices``,
        ``gold_index`` or ``gold``, ``predictions`` and ``metrics``.
    number : int
        Of the row, from 0.
    place : str
        File and row, for messages.

    Returns
    -------
    Sample
        The same for both.

    Raises
    ------
    InputError
        If the row is neither.

    Examples
    --------
    >>> row = {"example": "?", "choices": ["a", "b"], "gold_index": [1], "predictions": [-2, -1],
    ...        "metrics": {"acc": 1}}
    >>> sample = sample_of(row, 0, "row 1")
    >>> sample.right, sample.log_likelihoods, sample.metrics
    ([1], [-2.0, -1.0], {'acc': 1})
    """
    if "doc" in row:
        doc, response = plain(row["doc"]), as_dict(plain(row.get("model_response")))
        metrics = plain(row.get("metric"))
    else:
        doc = {name: plain(row.get(name)) for name in ("choices", "gold_index", "gold")}
        doc["query"] = plain(row.get("example")) or plain(row.get("full_prompt"))
        response, metrics = old_response(plain(row.get("predictions"))), plain(row.get("metrics"))
    if not isinstance(doc, dict) or not isinstance(metrics, dict) or not metrics:
        got = "a row without 'doc' and 'metric', or 'choices' and 'metrics'"
        raise InputError(place, got, "a sample of lighteval's details")
    options = [safe_text(one) for one in as_list(doc.get("choices"))]
    if not options:
        options = [safe_text(one) for one in as_list(doc.get("gold"))]
    right = [one for one in as_list(doc.get("gold_index")) if is_index(one, options)]
    if not as_list(doc.get("gold_index")) and as_list(doc.get("gold")):
        right = [*range(len(options))]
    return Sample(
        place,
        doc["id"] if isinstance(doc.get("id"), str) and doc["id"] else number,
        hash_of(doc.get("query"), options),
        options,
        right,
        log_likelihoods_of(response.get("logprobs")),
        as_list(response.get("text_post_processed")) or as_list(response.get("text")),
        {str(name): value for name, value in metrics.items() if value is not None},
    )


def lighteval_trial(sample: Sample, choices: Choices) -> Trial:
    """What is kept of a sample.

    Parameters
    ----------
    sample : Sample
        From `sample_of`.
    choices : Choices
        What the caller chose.

    Returns
    -------
    Trial
        Numbers of options from 0 and probabilities in multiple choice; text in generation tasks.

    Raises
    ------
    InputError
        If the sample has not the metric, or several and none is chosen.

    Examples
    --------
    >>> sample = Sample("row 1", 0, "", ["4"], [0], [], ["4"], {"em": 1})
    >>> lighteval_trial(sample, Choices(None, "none", None, None)).values["correct"]
    True
    """
    if len(sample.options) > 1 and sample.log_likelihoods:
        return option_trial(sample, choices)
    return response_trial(sample, choices)


def option_trial(sample: Sample, choices: Choices) -> Trial:
    """Trial of a multiple choice."""
    metric = choices.metric or METRICS[choices.normalise]
    target = sample.right[0] if len(sample.right) == 1 else None
    probabilities, reason = probabilities_of(sample, choices.normalise)
    chosen = None if probabilities is None else int(np.argmax(probabilities))
    if metric in sample.metrics:
        correct, unscored = verdict(sample.metrics[metric], choices.threshold)
    elif choices.metric is not None:
        raise no_metric(choices.metric, sample)
    elif chosen is None or not sample.right:
        correct, unscored = None, f"no metric {metric!r}"
    else:
        correct, unscored = chosen in sample.right, ""
    if not reason and sample.right and correct not in (None, chosen in sample.right):
        chosen, probabilities, reason = None, None, "log-likelihoods contradict the metric"
    sure = math.nan if probabilities is None or chosen is None else probabilities[chosen]
    right = json.dumps(sample.right) if target is None and sample.right else target
    kept = kept_values(chosen, right, correct, sure, probabilities)
    return Trial(kept, None, tuple(filter(None, (reason, unscored))))


def probabilities_of(sample: Sample, unit: Normalise) -> tuple[list[float] | None, str]:
    """Probabilities of the options, or why there are none."""
    number = len(sample.options)
    scored = sample.log_likelihoods
    if len(scored) not in (number, 2 * number):
        return None, "other log-likelihoods than options"
    lengths = None
    if unit != "none":
        lengths = option_lengths(sample.options, unit)
        if not lengths.all():
            return None, "an option without text"
    # A second half are the options without the question.
    probabilities = option_probabilities(scored[:number], lengths)
    if np.isnan(probabilities).any():
        return None, "log-likelihoods are not finite"
    return probabilities.tolist(), ""


def response_trial(sample: Sample, choices: Choices) -> Trial:
    """Trial of a generation task."""
    metric = choices.metric or only_metric(sample)
    if metric not in sample.metrics:
        raise no_metric(metric, sample)
    correct, unscored = verdict(sample.metrics[metric], choices.threshold)
    texts = [text for text in sample.responses if isinstance(text, str)]
    chosen = clip_text(texts[0], LONGEST_ANSWER) if len(texts) == 1 else None
    several = "several answers" if len(texts) > 1 else ""
    golds = [sample.options[i] for i in sample.right]
    target = clip_text("; ".join(golds), LONGEST_ANSWER) if golds else None
    statement = None
    if choices.wording is not None:
        said = texts[0] if len(texts) == 1 else None
        statement = read_statement(said, choices.wording)
    answers = repeated_answers(sample.responses, choices.answer)
    values = kept_values(chosen, target, correct, answers=answers)
    return Trial(values, statement, tuple(filter(None, (unscored, several))))


def only_metric(sample: Sample) -> str:
    """The one metric that says right or wrong, by its value."""
    judging = [name for name, value in sample.metrics.items() if as_number(value) in (0, 1)]
    if len(sample.metrics) == 1:
        return next(iter(sample.metrics))
    if len(judging) != 1:
        got = f"none, for a sample with {', '.join(map(repr, sample.metrics))} ({sample.place})"
        step = "Choose with metric=, one for all tasks or one for each."
        raise InputError("metric", got, "the name of a metric", step)
    return judging[0]


def no_metric(metric: str, sample: Sample) -> InputError:
    """Error for a metric that the sample does not have."""
    got = f"{metric!r}, which {sample.place} does not have"
    return InputError("metric", got, "one of its metrics", nearest(metric, sample.metrics))


def old_response(predictions: Any) -> dict[str, Any]:
    """Response of an older table: texts, log-likelihoods, or pairs of these with a truth value."""
    found = as_list(predictions)
    if any(isinstance(one, str) for one in found):
        return {"text": found}
    firsts = [one[0] if isinstance(one, list) and one else one for one in found]
    if any(isinstance(one, str) for one in firsts):
        return {"text": firsts}
    return {"logprobs": firsts}


def log_likelihoods_of(values: Any) -> list[float]:
    """Log-likelihoods, NaN for what is no number."""
    numbers = [log_likelihood(value) for value in as_list(values)]
    return [math.nan if number is None else number for number in numbers]


def plain(value: Any) -> Any:
    """Value with lists for arrays; text of older tables that shows a list or an object is one."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str) and value[:1] in "[{" and value[-1:] in "]}":
        return shown_value(value)
    return value


def shown_value(text: str) -> Any:
    """Value that a text shows as Python does: numbers and texts in lists and dicts; else the text.

    Only literals are read, of little depth: nothing in the text is run.
    """
    if len(text) > LONGEST_LITERAL or is_deep(text) or SIGNS.search(text):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def is_deep(text: str) -> bool:
    """Whether brackets stand inside each other more often than in any table."""
    depth = 0
    for bracket in BRACKETS.findall(text):
        depth += 1 if bracket in "[({" else -1
        if depth > DEEPEST_LITERAL:
            return True
    return False


def as_list(value: Any) -> list[Any]:
    """A list as it is, one value as a list of it, and none of a missing one."""
    if isinstance(value, list):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return [] if is_missing(value) else [value]


def is_index(value: Any, options: Sequence[str]) -> bool:
    """Whether a value is the number of an option."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(options)


def hash_of(query: Any, options: Sequence[str]) -> str:
    """Hash of a question and its options, which tells items apart across models."""
    text = json.dumps([safe_text(query), list(options)], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
