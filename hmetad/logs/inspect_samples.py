"""One sample of Inspect: what was answered, whether it was right, how sure.

A sample as a mapping → the kept fields of a trial.
Source: version 2 of the log format of Inspect.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from hmetad.errors import InputError, nearest
from hmetad.logs.options import option_probabilities
from hmetad.logs.statements import Wording, as_number, read_statement
from hmetad.logs.trials import Trial, as_dict, clip_text, verdict

__all__ = ["Choices", "Source", "inspect_trial"]

Source = Literal["completion", "score", "metadata", "store", "logprobs"]

GRADES = {"C": True, "I": False}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST_ANSWER = 1000
LONGEST_SCORE = 80
ATTACHMENT = "attachment://"
# Rounding may lead past 0.
LARGEST_LOG_PROBABILITY = 1e-6


class Choices(NamedTuple):
    """What the caller chose: the scorer and its grades, and where confidence stands."""

    scorer: str | None
    grades: Mapping[str, bool]
    threshold: float | None
    source: Source
    wording: Wording


def inspect_trial(sample: dict[str, Any], place: str, choices: Choices) -> Trial:
    """What is kept of a sample.

    Parameters
    ----------
    sample : dict
        A sample of a log.
    place : str
        File and member, for messages.
    choices : Choices
        What the caller chose.

    Returns
    -------
    Trial
        Answer and target as the scorer has them: letters in multiple choice.

    Raises
    ------
    InputError
        If there are several scores and no choice, or not the one chosen.

    Examples
    --------
    >>> from hmetad.logs.statements import stated_wording
    >>> choices = Choices(None, {}, None, "completion", stated_wording(field="confidence"))
    >>> sample = {"target": "4", "scores": {"match": {"value": "C", "answer": "4"}},
    ...           "output": {"completion": '{"answer": 4, "confidence": "90%"}'}}
    >>> trial = inspect_trial(sample, "sample 1", choices)
    >>> trial.values["answer"], trial.values["correct"], trial.statement.number
    ('4', True, 0.9)
    """
    score, value = chosen_score(sample, place, choices.scorer)
    correct, unscored = verdict(value, choices.threshold, {**GRADES, **choices.grades})
    if unscored == "no score" and sample.get("error"):
        unscored = "no score, the sample ended in an error"
    reasons = [unscored] if unscored else []
    answer = score.get("answer")
    probabilities, confidence, missing = letter_probabilities(sample, answer)
    statement = None
    if choices.source != "logprobs":
        confidence = math.nan
        statement = read_statement(confidence_place(sample, score, choices.source), choices.wording)
    elif missing:
        reasons.append(f"confidence: {missing}")
    values = {
        "target": target_text(sample.get("target")),
        "answer": None if answer is None else clip_text(answer, LONGEST_ANSWER),
        "score": None if value is None else clip_text(value, LONGEST_SCORE),
        "correct": correct,
        "confidence": confidence,
        "option_probabilities": probabilities,
    }
    return Trial(values, statement, tuple(reasons))


def chosen_score(
    sample: dict[str, Any], place: str, scorer: str | None
) -> tuple[dict[str, Any], Any]:
    """Record of the score that counts, and its value; empty where the sample was not scored."""
    scores = {name: s for name, s in as_dict(sample.get("scores")).items() if isinstance(s, dict)}
    if not scores:
        return {}, None
    if scorer is None:
        if len(scores) > 1:
            got = f"none, for scores {', '.join(map(repr, scores))} ({place})"
            raise InputError("scorer", got, "one of them, or a single task= to read")
        scorer = next(iter(scores))
    name, _, part = (scorer, "", "") if scorer in scores else scorer.partition("/")
    if name not in scores:
        got = f"{scorer!r}, which {place} does not have"
        raise InputError("scorer", got, "the name of a score", nearest(scorer, scores))
    value = scores[name].get("value")
    if not part and not isinstance(value, dict):
        return scores[name], value
    if part not in as_dict(value):
        got = f"{scorer!r}, for a score with {len(as_dict(value))} parts ({place})"
        allowed = "the name of a score, '/' and the name of its part"
        raise InputError("scorer", got, allowed, nearest(part, as_dict(value)))
    return scores[name], as_dict(value)[part]


def confidence_place(sample: dict[str, Any], score: dict[str, Any], source: Source) -> Any:
    """What the confidence is read from."""
    if source == "completion":
        return completion(sample)
    return score.get("metadata") if source == "score" else sample.get(source)


def completion(sample: dict[str, Any]) -> str | None:
    """Text of the answer of the model, which may be kept beside the sample's other texts."""
    text = as_dict(sample.get("output")).get("completion")
    if isinstance(text, str) and text.startswith(ATTACHMENT):
        text = as_dict(sample.get("attachments")).get(text.removeprefix(ATTACHMENT), text)
    return text if isinstance(text, str) else None


def target_text(target: Any) -> str | None:
    """Target, or several of them parted by commas, as the scorer writes answers."""
    if isinstance(target, list):
        target = ", ".join(map(str, target[:LONGEST_ANSWER]))
    return None if target is None else clip_text(target, LONGEST_ANSWER)


def letter_probabilities(
    sample: dict[str, Any], answer: Any
) -> tuple[list[float] | None, float, str]:
    """Probabilities of the letters at the answer, that of the answer, or why there are none."""
    options = sample.get("choices")
    if not isinstance(options, list) or not 2 <= len(options) <= len(LETTERS):
        return None, math.nan, "no choice of 2 to 26 options"
    letters = LETTERS[: len(options)]
    if not isinstance(answer, str) or len(answer) != 1 or answer not in letters:
        return None, math.nan, "no single letter as the answer"
    tokens = logged_tokens(sample)
    if not tokens:
        return None, math.nan, "no log-probabilities"
    text = "".join(str(token.get("token")) for token in tokens)
    if text.strip() != str(completion(sample)).strip():
        # Options that were shuffled are renamed in the completion, not in its tokens.
        return None, math.nan, "log-probabilities of another text"
    at = [token for token in tokens if str(token.get("token")).strip() == answer]
    if not at:
        return None, math.nan, "the answer is no token of its own"
    probabilities = option_probabilities(letter_log_probabilities(at[-1], letters))
    if math.isnan(probabilities[0]):
        return None, math.nan, "log-probabilities are not finite"
    return probabilities.tolist(), float(probabilities[letters.index(answer)]), ""


def logged_tokens(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Tokens of the answer with their log-probabilities, if they were logged."""
    answers = dicts(as_dict(sample.get("output")).get("choices"))
    logprobs = as_dict(answers[0].get("logprobs")) if answers else {}
    return dicts(logprobs.get("content"))


def letter_log_probabilities(token: dict[str, Any], letters: str) -> list[float]:
    """Log-probability of each letter at a token, -inf for those that were not among the top."""
    found = {str(top.get("token")): top.get("logprob") for top in dicts(token.get("top_logprobs"))}
    found.setdefault(str(token.get("token")), token.get("logprob"))
    totals = dict.fromkeys(letters, 0.0)
    for text, value in found.items():
        # "A" and " A" are the same letter.
        if text.strip() in totals:
            number = as_number(value)
            is_log_probability = number <= LARGEST_LOG_PROBABILITY
            totals[text.strip()] += math.exp(number) if is_log_probability else math.nan
    return [-math.inf if total == 0 else math.log(total) for total in totals.values()]


def dicts(value: Any) -> list[dict[str, Any]]:
    """The JSON objects of a list, if it is one."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
