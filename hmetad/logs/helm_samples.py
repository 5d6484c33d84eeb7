"""One instance of HELM: what was chosen, whether it was right, how sure.

Requests of an instance and its scores → a trial.
Source: the adapters and the basic metrics of crfm-helm 0.5.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hmetad.errors import InputError, nearest
from hmetad.logs.inspect_samples import letter_log_probabilities
from hmetad.logs.lm_eval_samples import kept_values, repeated_answers
from hmetad.logs.options import option_probabilities
from hmetad.logs.statements import Wording, agree_on, as_number, read_statement
from hmetad.logs.trials import Trial, as_dict, clip_text, safe_text, verdict

__all__ = ["Choices", "helm_trial"]

LONGEST_ANSWER = 1000
METRICS = ("exact_match", "quasi_exact_match")
CORRECT = "correct"
CALIBRATED = "multiple_choice_separate_calibrated"
LARGEST_LOG_PROBABILITY = 1e-6


class Choices(NamedTuple):
    """What the caller chose: metric, threshold, where confidence and answers stand."""

    metric: str | None
    threshold: float | None
    wording: Wording | None
    answer: re.Pattern[str] | None = None


def helm_trial(
    method: str, requests: Sequence[dict[str, Any]], scores: Mapping[str, Any], choices: Choices
) -> Trial:
    """What is kept of an instance.

    Parameters
    ----------
    method : str
        Of the adapter, such as "multiple_choice_joint".
    requests : sequence of dict
        One, or one for each option; each with its ``place``.
    scores : mapping of str to value
        Mean of each metric.
    choices : Choices
        What the caller chose.

    Returns
    -------
    Trial
        Numbers of options from 0 in multiple choice; text in generation tasks.

    Raises
    ------
    InputError
        If there is no such metric.

    Examples
    --------
    >>> request = {"place": "request 1", "instance": {"references": []},
    ...            "result": {"completions": [{"text": "4"}]}}
    >>> trial = helm_trial("generation", [request], {"exact_match": 1.0}, Choices(None, None, None))
    >>> trial.values["chosen"], trial.values["correct"]
    ('4', True)
    """
    references = [as_dict(one) for one in as_list(requests[0]["instance"].get("references"))]
    texts = [safe_text(as_dict(one.get("output")).get("text", "")) for one in references]
    right = [i for i, one in enumerate(references) if CORRECT in as_list(one.get("tags"))]
    if method.startswith("multiple_choice_separate"):
        chosen, probabilities, reason = separate_choice(requests, texts, method == CALIBRATED)
        sure = math.nan if chosen is None or probabilities is None else probabilities[chosen]
        return choice_trial(chosen, probabilities, sure, reason, right, requests, scores, choices)
    mapping = as_dict(requests[0].get("output_mapping"))
    if method.startswith("multiple_choice_joint") and mapping:
        numbers = [
            texts.index(text) if text in texts else -1 for text in map(safe_text, mapping.values())
        ]
        right = [i for i, number in enumerate(numbers) if number in right]
        chosen, probabilities, sure, reason = joint_choice(requests[0], list(mapping))
        return choice_trial(chosen, probabilities, sure, reason, right, requests, scores, choices)
    return response_trial([texts[i] for i in right], requests[0], scores, choices)


def choice_trial(
    chosen: int | None,
    probabilities: list[float] | None,
    sure: float,
    reason: str,
    right: Sequence[int],
    requests: Sequence[dict[str, Any]],
    scores: Mapping[str, Any],
    choices: Choices,
) -> Trial:
    """Trial of a multiple choice."""
    fallback = chosen in right if chosen is not None and right else None
    correct, unscored = judged(requests[0]["place"], scores, choices, fallback)
    reasons = [reason, unscored]
    if chosen is not None and right and correct not in (None, chosen in right):
        chosen, probabilities, sure = None, None, math.nan
        reasons.append("the option chosen contradicts the metric")
    target = right[0] if len(right) == 1 else json.dumps(right) if right else None
    statement = None
    if choices.wording is not None:
        sure, reasons = math.nan, [one for one in reasons if not one.startswith("confidence")]
        statement = read_statement(first_text(requests[0]), choices.wording)
    kept = kept_values(chosen, target, correct, sure, probabilities)
    return Trial(kept, statement, tuple(filter(None, reasons)))


def judged(
    place: str, scores: Mapping[str, Any], choices: Choices, fallback: bool | None
) -> tuple[bool | None, str]:
    """Right or wrong by the metric, or else by the option chosen."""
    if choices.metric is not None and choices.metric not in scores:
        got = f"{choices.metric!r}, which {place} does not have"
        step = nearest(choices.metric, scores) or "Scores stand in per_instance_stats.json."
        raise InputError("metric", got, "one of its metrics", step)
    names = METRICS if choices.metric is None else (choices.metric,)
    name = next((name for name in names if name in scores), None)
    if name is not None:
        return verdict(scores[name], choices.threshold)
    return (None, f"no metric {METRICS[0]!r}") if fallback is None else (fallback, "")


def separate_choice(
    requests: Sequence[dict[str, Any]], texts: Sequence[str], is_calibrated: bool
) -> tuple[int | None, list[float] | None, str]:
    """Option with the largest score, and probabilities of all, where each was scored by itself."""
    scores: dict[tuple[str, int], tuple[float, int]] = {}
    for request in requests:
        number, mode = request.get("reference_index"), request.get("request_mode")
        if isinstance(number, int) and 0 <= number < len(texts):
            scores[str(mode), number] = option_score(request, texts[number])
    originals = [scores.get(("original", i), (math.nan, 1)) for i in range(len(texts))]
    values = [total / tokens for total, tokens in originals]
    if is_calibrated:
        bare = [scores.get(("calibration", i), (math.nan, 1))[0] for i in range(len(texts))]
        values = [total - other for (total, _), other in zip(originals, bare, strict=True)]
    if len(values) < 2 or np.isnan(values).any():
        return None, None, "confidence: no log-probabilities of all options"
    probabilities = option_probabilities(values)
    if np.isnan(probabilities).any():
        return None, None, "confidence: log-probabilities are not finite"
    return int(np.argmax(probabilities)), probabilities.tolist(), ""


def option_score(request: dict[str, Any], text: str) -> tuple[float, int]:
    """Log-probability of the tokens at the end that are the option, and their number."""
    tokens = tokens_of(request)
    total, number, found = 0.0, 0, ""
    for token in reversed(tokens):
        found = str(token.get("text")) + found
        total, number = total + as_number(token.get("logprob")), number + 1
        if found.strip() == text.strip() and found != found.strip():
            return total, number
        if len(found) > len(text) + 1:
            break
    return math.nan, 1


def joint_choice(
    request: dict[str, Any], letters: Sequence[str]
) -> tuple[int | None, list[float] | None, float, str]:
    """Option whose letter was written, probabilities of the options, and that of the letter."""
    written = first_text(request)
    if written is None or written.strip().rstrip(".)").lstrip("(") not in letters:
        return None, None, math.nan, "no single letter as the answer"
    letter = written.strip().rstrip(".)").lstrip("(")
    chosen, tokens = letters.index(letter), tokens_of(request)
    at = [token for token in tokens if str(token.get("text")).strip() == letter]
    if not at or all(as_number(token.get("logprob")) == 0 for token in tokens):
        return chosen, None, math.nan, "confidence: no log-probabilities"
    number = as_number(at[-1].get("logprob"))
    if not number <= LARGEST_LOG_PROBABILITY:
        return chosen, None, math.nan, "confidence: log-probabilities are not finite"
    top = as_dict(at[-1].get("top_logprobs"))
    if not top or not all(len(one) == 1 for one in letters):
        return chosen, None, min(1.0, math.exp(number)), ""
    # Older versions keep the most probable tokens at each place.
    listed = [{"token": text, "logprob": value} for text, value in top.items()]
    token = {"token": at[-1].get("text"), "logprob": number, "top_logprobs": listed}
    probabilities = option_probabilities(letter_log_probabilities(token, "".join(letters)))
    if np.isnan(probabilities).any():
        return chosen, None, math.nan, "confidence: log-probabilities are not finite"
    return chosen, probabilities.tolist(), float(probabilities[chosen]), ""


def response_trial(
    golds: Sequence[str], request: dict[str, Any], scores: Mapping[str, Any], choices: Choices
) -> Trial:
    """Trial of a generation task."""
    correct, unscored = judged(request["place"], scores, choices, None)
    texts = [one.get("text") for one in completions_of(request)]
    said = [text for text in texts if isinstance(text, str)]
    statement = None
    if choices.wording is not None:
        read = [read_statement(text, choices.wording) for text in texts or [None]]
        statement = agree_on(read, "several responses to one prompt")
    chosen = clip_text(said[0].strip(), LONGEST_ANSWER) if said else None
    target = clip_text("; ".join(golds), LONGEST_ANSWER) if golds else None
    answers = repeated_answers([texts], choices.answer)
    reasons = (unscored, "" if said else "no completion")
    values = kept_values(chosen, target, correct, answers=answers)
    return Trial(values, statement, tuple(filter(None, reasons)))


def completions_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Completions of a request; none where it failed."""
    found = as_list(as_dict(request.get("result")).get("completions"))
    return [one for one in found if isinstance(one, dict)]


def first_text(request: dict[str, Any]) -> str | None:
    """Text of the first completion."""
    found = completions_of(request)
    text = found[0].get("text") if found else None
    return text if isinstance(text, str) else None


def tokens_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Tokens of the first completion, with their log-probabilities."""
    found = completions_of(request)
    return (
        [one for one in as_list(found[0].get("tokens")) if isinstance(one, dict)] if found else []
    )


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
