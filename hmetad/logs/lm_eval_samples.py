"""One sample of lm-evaluation-harness: what was chosen, whether it was right, how sure.

A sample as a mapping → the kept fields of a trial.
Source: the layout and the rules of lm-evaluation-harness 0.4.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from hmetad.errors import InputError, nearest
from hmetad.logs.lm_eval_files import SampleFile
from hmetad.logs.options import option_lengths, option_probabilities
from hmetad.logs.statements import Wording, agree_on, read_statement
from hmetad.logs.trials import Trial, clip_text, verdict

__all__ = ["Choices", "Normalise", "sample_trial"]

Normalise = Literal["none", "characters", "bytes"]

METRICS = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}
GENERATION_METRICS = ("exact_match", "acc")
LONGEST_ANSWER = 1000
# Filters that treat each response by itself, so that the first to go in is the first to come out.
ELEMENTWISE = {"regex", "regex_pos", "multi_choice_regex", "format_span", "map", "lowercase"}
ELEMENTWISE |= {"uppercase", "remove_whitespace", "take_first"}


class Choices(NamedTuple):
    """What the caller chose: metric, lengths, threshold, where confidence and answers stand."""

    metric: str | None
    normalise: Normalise
    threshold: float | None
    wording: Wording | None
    answer: re.Pattern[str] | None = None


def sample_trial(sample: dict[str, Any], place: str, file: SampleFile, choices: Choices) -> Trial:
    """What is kept of a sample.

    Parameters
    ----------
    sample : dict
        A line of a sample log.
    place : str
        File and line, for messages.
    file : SampleFile
        The file, with the configuration of its task.
    choices : Choices
        What the caller chose.

    Returns
    -------
    Trial
        Numbers of options from 0 and probabilities in multiple choice; text in generation tasks.

    Raises
    ------
    InputError
        If the sample is of neither kind, or has not the metric.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = SampleFile(Path("samples.jsonl"), "sums", "gpt", "", {})
    >>> sample = {"filtered_resps": ["4"], "resps": [["4"]], "target": "4", "exact_match": 1.0}
    >>> trial = sample_trial(sample, "line 1", file, Choices(None, "none", None, None))
    >>> trial.values["chosen"], trial.values["correct"], trial.reasons
    ('4', True, ())
    """
    answers = sample["filtered_resps"]
    if not isinstance(answers, list) or not answers:
        raise InputError(place, "'filtered_resps' without an answer", "one or more")
    if all(map(is_scored, answers)):
        return option_trial(sample, place, file, choices)
    if any(map(is_scored, answers)):
        raise InputError(place, "log-likelihoods beside text", "one or the other")
    return response_trial(sample, place, file, choices)


def option_trial(sample: dict[str, Any], place: str, file: SampleFile, choices: Choices) -> Trial:
    """Trial of a multiple choice."""
    values = (log_likelihood(pair[0]) for pair in sample["filtered_resps"])
    scored = [value for value in values if value is not None]
    if "acc_mutual_info" in sample and len(scored) % 2 == 0:
        # The second half are the options without the question.
        scored = scored[: len(scored) // 2]
    texts = option_texts(sample)[: len(scored)]
    target = target_option(sample.get("target"), texts)
    probabilities, reason = probabilities_of(scored, texts, place, file, choices.normalise)
    chosen = None if probabilities is None else int(np.argmax(probabilities))
    correct, unscored = option_verdict(sample, place, chosen, target, choices)
    if not reason and isinstance(target, int) and correct not in (None, chosen == target):
        reason = "log-likelihoods contradict the metric"
    if reason or probabilities is None:
        chosen = probabilities = None
    confidence = math.nan if probabilities is None or chosen is None else probabilities[chosen]
    kept = kept_values(chosen, target, correct, confidence, probabilities)
    return Trial(kept, None, tuple(filter(None, (reason, unscored))))


def kept_values(
    chosen: int | str | None,
    target: int | str | None,
    correct: bool | None,
    confidence: float = math.nan,
    probabilities: list[float] | None = None,
    answers: list[str | None] | None = None,
) -> dict[str, Any]:
    """Values of a trial by column."""
    return {
        "chosen": chosen,
        "target": target,
        "correct": correct,
        "confidence": confidence,
        "option_probabilities": probabilities,
        "answers": answers,
    }


def probabilities_of(
    scored: Sequence[float], texts: Sequence[str], place: str, file: SampleFile, unit: Normalise
) -> tuple[list[float] | None, str]:
    """Probabilities of the options, or why there are none."""
    if len(scored) < 2:
        return None, "log-likelihood of a single option"
    lengths = None
    if unit != "none":
        if len(texts) != len(scored):
            got = f"{len(texts)} texts in 'arguments' for {len(scored)} options"
            step = "Without lengths, normalise='none' applies."
            raise InputError(place, got, "one for each", step)
        delimiter = file.config.get("target_delimiter")
        delimiter = delimiter if isinstance(delimiter, str) else " "
        lengths = option_lengths(texts, unit, delimiter)
        if not lengths.all():
            return None, "an option without text"
    probabilities = option_probabilities(scored, lengths)
    if np.isnan(probabilities).any():
        return None, "log-likelihoods are not finite"
    return probabilities.tolist(), ""


def option_verdict(
    sample: dict[str, Any],
    place: str,
    chosen: int | None,
    target: int | str | None,
    choices: Choices,
) -> tuple[bool | None, str]:
    """Right or wrong by the recorded metric, or else by the option chosen."""
    metric = choices.metric or METRICS[choices.normalise]
    if metric in sample:
        return verdict(sample[metric], choices.threshold)
    if choices.metric is not None:
        raise no_metric(place, choices.metric, sample)
    if chosen is not None and isinstance(target, int):
        return chosen == target, ""
    return None, f"no metric {metric!r}"


def response_trial(sample: dict[str, Any], place: str, file: SampleFile, choices: Choices) -> Trial:
    """Trial of a generation task."""
    metric = choices.metric or generation_metric(sample, place)
    if metric not in sample:
        raise no_metric(place, metric, sample)
    correct, unscored = verdict(sample[metric], choices.threshold)
    filtered = sample["filtered_resps"]
    answer = filtered[0] if len(filtered) == 1 else filtered
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    chosen = clip_text(answer, LONGEST_ANSWER) if isinstance(answer, str) else None
    several = "" if isinstance(answer, str) else "several answers"
    target = sample.get("target")
    target = None if target is None else clip_text(target, LONGEST_ANSWER)
    statement = None
    if choices.wording is not None:
        responses = responses_of(sample["resps"], str(sample.get("filter", "")), file.config)
        read = [read_statement(text, choices.wording) for text in responses or [None]]
        statement = agree_on(read, "several responses to one prompt")
    answers = repeated_answers(sample["resps"], choices.answer)
    values = kept_values(chosen, target, correct, answers=answers)
    return Trial(values, statement, tuple(filter(None, (unscored, several))))


def repeated_answers(resps: Any, pattern: re.Pattern[str] | None) -> list[str | None] | None:
    """Answers of several responses, None for one without an answer; None where there is one."""
    responses = flat_responses(resps)
    if len(responses) < 2:
        return None
    return [answer_in(text, pattern) if isinstance(text, str) else None for text in responses]


def answer_in(text: str, pattern: re.Pattern[str] | None) -> str | None:
    """Last match of the caller's expression in a response, or all of it without one."""
    if pattern is None:
        return clip_text(text, LONGEST_ANSWER)
    found = [match[1] for match in pattern.finditer(text) if match[1] is not None]
    return clip_text(found[-1], LONGEST_ANSWER) if found else None


def generation_metric(sample: dict[str, Any], place: str) -> str:
    """The metric that says right or wrong, if it is one."""
    there = [name for name in GENERATION_METRICS if name in sample]
    if len(there) != 1:
        known = sample.get("metrics")
        names = known if isinstance(known, list) else there
        got = f"none, for a sample with {', '.join(map(repr, names)) or 'no known metric'}"
        step = "Choose with metric=; a task of perplexities has none, leave it out with task=."
        raise InputError("metric", f"{got} ({place})", "the name of a metric", step)
    return there[0]


def no_metric(place: str, metric: str, sample: dict[str, Any]) -> InputError:
    """Error for a metric that the sample does not have."""
    known = sample.get("metrics")
    names = [str(name) for name in known] if isinstance(known, list) else list(sample)
    got = f"{metric!r}, which the sample at {place} does not have"
    return InputError("metric", got, "one of its metrics", nearest(str(metric), names))


def responses_of(resps: Any, used: str, config: dict[str, Any]) -> list[Any]:
    """Responses that may have been scored: the first alone where the filter took the first."""
    responses = flat_responses(resps)
    return responses[:1] if takes_first(used, config) else responses


def flat_responses(resps: Any) -> list[Any]:
    """Responses to one prompt, which newer logs put into a list of their own."""
    flat = resps[0] if isinstance(resps, list) and len(resps) == 1 else resps
    return flat if isinstance(flat, list) else [flat]


def takes_first(used: str, config: dict[str, Any]) -> bool:
    """Whether the configuration says that the filter kept the first response."""
    filters = config.get("filter_list")
    if not filters:
        return bool(config)
    for entry in filters if isinstance(filters, list) else []:
        if isinstance(entry, dict) and entry.get("name") == used:
            steps = entry.get("filter")
            steps = steps if isinstance(steps, list) else []
            names = [step.get("function") for step in steps if isinstance(step, dict)]
            return "take_first" in names and all(name in ELEMENTWISE for name in names)
    return False


def is_scored(answer: Any) -> bool:
    """Whether an answer is a log-likelihood and whether it was the greedy choice."""
    if not isinstance(answer, list) or len(answer) != 2:
        return False
    return log_likelihood(answer[0]) is not None and answer[1] in (True, False, "True", "False")


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


def option_texts(sample: dict[str, Any]) -> list[str]:
    """Options as they were scored, or fewer where the sample does not hold them."""
    arguments = sample.get("arguments")
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    texts = []
    for request in requests if isinstance(requests, list) else []:
        parts = list(request.values()) if isinstance(request, dict) else request
        if not isinstance(parts, list) or len(parts) < 2 or not isinstance(parts[1], str):
            break
        texts.append(parts[1])
    return texts


def target_option(target: Any, texts: Sequence[str]) -> int | str | None:
    """Number of the right option; text where there are several, or it is not known which."""
    if target is None:
        return None
    # A number is always that of an option, even where the options are numbers themselves.
    number = as_whole(target) if isinstance(target, str) else target
    if isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**63:
        return number
    same = [i for i, text in enumerate(texts) if text.strip() == str(target).strip()]
    if len(same) == 1:
        return same[0]
    return clip_text(target if isinstance(target, str) else json.dumps(target), LONGEST_ANSWER)


def as_whole(text: str) -> int | str:
    """Integer that a short text is, or the text."""
    digits = text.strip().removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else text
