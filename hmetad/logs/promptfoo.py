"""Results of promptfoo.

Path of what `promptfoo eval -o` writes, .json or .jsonl, or of a folder → DataFrame of trials.
Source: versions 2 and 3 of the results of promptfoo (its type EvaluateResult).
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from hmetad.arguments import check_inputs, with_submit
from hmetad.errors import InputError, nearest
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.parts import Part, joined_parts, of_each
from hmetad.logs.stated import Scale
from hmetad.logs.statements import Wording, as_number, read_statement, stated_wording
from hmetad.logs.trials import (
    Trial,
    TrialCollector,
    as_dict,
    check_threshold,
    clip_text,
    confidence_notices,
    safe_text,
    verdict,
)
from hmetad.rows.limits import Limits, as_limits
from hmetad.rows.lines import json_lines, parse_line
from hmetad.rows.packed import whole_file

__all__ = ["PromptfooSource", "read_promptfoo"]

PromptfooSource = Literal["output", "scores", "metadata", "vars", "logprobs"]

ALLOWED = "results of promptfoo, as promptfoo eval -o out.json (or out.jsonl) writes them"
LONGEST_ANSWER = 1000
# Assertions whose value is the right answer.
EXACT = ("equals", "iequals", "contains", "icontains", "starts-with", "similar")
# Of EvaluateResult.failureReason: the provider, or an assertion, did not work.
BROKEN = 2
LARGEST_LOG_PROBABILITY = 1e-6


class Choices(NamedTuple):
    """What the caller chose: the score that counts, its threshold, and where confidence stands."""

    metric: str | None
    threshold: float | None
    source: PromptfooSource
    wording: Wording


@check_inputs(executor=with_submit)
def read_promptfoo(
    path: str | Path,
    *,
    task: str | None = None,
    metric: str | None = None,
    threshold: float | None = None,
    source: PromptfooSource | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
    limits: Limits | Mapping[str, int] | None = None,
    executor: Any = None,
) -> pd.DataFrame:
    """Trials of the results of promptfoo, one row per prompt, provider and test.

    Parameters
    ----------
    path : str or Path
        What ``promptfoo eval -o out.json`` writes, or ``-o out.jsonl``, which has a result on each
        line and no description; or a folder with such files at any depth.
    task : str, optional
        The one task (description of the configuration) to read. By default all of them.
    metric : str, optional
        Named score that says right or wrong. By default whether all assertions passed.
    threshold : float, optional
        Score from which an answer is right. By default only 1 is right and 0 wrong.
    source : {"output", "scores", "metadata", "vars", "logprobs"}, optional
        What confidence is read from: the output of the provider, the named scores, the metadata,
        the variables of the test, or the log-probability of an output of one token. By default the
        output if one of the following is given, else the log-probability.
    field, pattern, words, scale : optional
        Where and how confidence is stated, as in `parse_confidence`.
    limits : Limits or mapping of str to int, optional
        How much a file may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"values": 20_000_000}``.
    executor : Executor or Client, optional
        What reads the files of a folder side by side: an executor of `concurrent.futures`, a
        `distributed.Client`, or something else with ``submit``.

    Returns
    -------
    DataFrame
        One row per result: ``task`` (description of the configuration, or name of the file),
        ``model`` (label of the provider, or its id), ``prompt`` (its label), ``log`` (name of the
        file), ``id`` (number of the test from 0), ``repeat`` (1, 2, ... of a test under a prompt
        and a provider), ``item`` (hash of the variables), ``target`` (the value of an assertion
        that has one), ``answer`` (text, cut after 1000 characters), ``correct`` and ``confidence``
        (probability). Attrs, JSON-able: ``files``, ``rejected`` (values left missing, per reason),
        ``duplicates`` (0), ``notices``, and ``scale`` and ``examples`` of stated confidence.

    Raises
    ------
    InputError
        If nothing is found to read; if a file is no such result, is cut off, or goes beyond a
        limit; if options are unusable.

    Notes
    -----
    Of log-probabilities promptfoo keeps those of the tokens of an output, and not those of other
    options: confidence is the probability of the token where the output is a single one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> result = {"success": True, "score": 1, "provider": {"id": "gpt"}, "vars": {"q": "2 + 2"},
    ...           "response": {"output": "4. Confidence: 90%"}, "testIdx": 0}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "out.json")
    ...     _ = file.write_text(json.dumps({"results": {"version": 3, "results": [result]}}))
    ...     trials = read_promptfoo(file, field="confidence")
    >>> trials[["task", "model", "correct", "confidence"]].to_dict("records")
    [{'task': 'out', 'model': 'gpt', 'correct': True, 'confidence': 0.9}]
    """
    within = as_limits(limits)
    check_threshold(threshold)
    wording = stated_wording(field=field, pattern=pattern, words=words)
    is_stated = any(option is not None for option in (field, pattern, words, scale))
    choices = Choices(metric, threshold, chosen_source(source, is_stated), wording)
    read = partial(part_of, task, choices, within)
    parts = of_each(read, files_of_kind(Path(path), "promptfoo", ALLOWED), executor)
    trials, files = joined_parts(parts, Path(path), task)
    if source is None and not is_stated:
        trials.notices += confidence_notices(trials, "output")
    return trials.frame(scale=scale, files=[*files])


def chosen_source(source: PromptfooSource | None, is_stated: bool) -> PromptfooSource:
    """Where confidence is read from; `is_stated` is whether the caller said how it is stated."""
    if source is None:
        return "output" if is_stated else "logprobs"
    if source not in get_args(PromptfooSource):
        allowed = ", ".join(map(repr, get_args(PromptfooSource)))
        raise InputError("source", repr(source), allowed)
    if source == "logprobs" and is_stated:
        got = "'logprobs' with a field, a pattern, words or a scale"
        raise InputError("source", got, "log-probabilities, or stated confidence")
    return source


def open_results(path: Path, limits: Limits) -> tuple[str, Sequence[Any]]:
    """Task of a file, and its results: those of one JSON, or of lines."""
    if path.suffix.lower() == ".jsonl":
        return safe_text(path.stem), listed_results(
            path, [x.record for x in json_lines(path, limits)]
        )
    content = parse_line(str(path), whole_file(path, ALLOWED, limits), limits)
    results = as_dict(content.get("results")).get("results")
    if not isinstance(results, list):
        raise InputError(str(path), "an object without results.results", ALLOWED)
    description = as_dict(content.get("config")).get("description")
    named = isinstance(description, str) and description.strip()
    task = safe_text(description if named else path.stem)
    return task, listed_results(path, results)


def listed_results(path: Path, results: list[Any]) -> list[Any]:
    """Results of a file, if there are any."""
    if not results:
        raise InputError(str(path), "no results", "at least one")
    return results


def part_of(task: str | None, choices: Choices, limits: Limits, file: Path) -> Part:
    """Trials of a file, if it is of the task."""
    found, results = open_results(file, limits)
    is_asked = task is None or task == found
    return Part(file, found, result_trials(file, found, results, choices) if is_asked else None)


def result_trials(
    path: Path, task: str, results: Sequence[Any], choices: Choices
) -> TrialCollector:
    """Trials of the results of a file."""
    trials = TrialCollector()
    seen: Counter[tuple[str, str, str]] = Counter()
    for place, result in numbered(path, results):
        item = item_of(result)
        model, prompt = model_of(result, place), prompt_of(result)
        seen[model, prompt, item] += 1
        identity = {
            "task": task,
            "model": model,
            "prompt": prompt,
            "log": safe_text(path.name),
            "id": test_number(result),
            "repeat": seen[model, prompt, item],
            "item": item,
        }
        trials.add(identity, promptfoo_trial(result, place, choices))
    return trials


def numbered(path: Path, results: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Results with their places, numbered from 1."""
    for number, result in enumerate(results, 1):
        place = f"{path}, result {number}"
        if not isinstance(result, dict) or "success" not in result:
            got = "no object" if not isinstance(result, dict) else "an object without 'success'"
            raise InputError(place, got, ALLOWED)
        yield place, result


def model_of(result: dict[str, Any], place: str) -> str:
    """Label of the provider, or its id; older versions write the id alone."""
    provider = result.get("provider")
    if isinstance(provider, str):
        return safe_text(provider)
    name = as_dict(provider).get("label") or as_dict(provider).get("id")
    if not isinstance(name, str):
        raise InputError(place, "a result without a provider", ALLOWED)
    return safe_text(name)


def prompt_of(result: dict[str, Any]) -> str:
    """Label of the prompt."""
    prompt = as_dict(result.get("prompt"))
    return clip_text(prompt.get("label") or prompt.get("raw") or "", LONGEST_ANSWER)


def test_number(result: dict[str, Any]) -> int | None:
    """Number of the test, which older versions do not write."""
    number = result.get("testIdx")
    is_number = isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**63
    return number if is_number else None


def item_of(result: dict[str, Any]) -> str:
    """Hash of the variables of a test, which tells items apart across providers and prompts."""
    variables = result.get("vars", as_dict(result.get("testCase")).get("vars"))
    text = json.dumps(variables, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def promptfoo_trial(result: dict[str, Any], place: str, choices: Choices) -> Trial:
    """What is kept of a result."""
    response = as_dict(result.get("response"))
    output = response.get("output")
    correct, unscored = judged(result, place, choices)
    reasons = [unscored] if unscored else []
    confidence, statement = math.nan, None
    if choices.source == "logprobs":
        confidence, missing = token_probability(response.get("logProbs"))
        reasons += [f"confidence: {missing}"] if missing else []
    else:
        statement = read_statement(confidence_place(result, choices.source), choices.wording)
    answer = output if output is None or isinstance(output, str) else json.dumps(output)
    values = {
        "target": target_of(result),
        "answer": None if answer is None else clip_text(answer, LONGEST_ANSWER),
        "correct": correct,
        "confidence": confidence,
    }
    return Trial(values, statement, tuple(reasons))


def judged(result: dict[str, Any], place: str, choices: Choices) -> tuple[bool | None, str]:
    """Right or wrong by the score that counts; a provider that failed gave no answer."""
    if result.get("failureReason") == BROKEN or (
        result.get("error") and result.get("response", {}) in (None, {})
    ):
        return None, "no score, the provider or an assertion ended in an error"
    if choices.metric is not None:
        scores = as_dict(result.get("namedScores"))
        if choices.metric not in scores:
            got = f"{choices.metric!r}, which {place} does not have"
            raise InputError("metric", got, "a named score", nearest(choices.metric, scores))
        return verdict(scores[choices.metric], choices.threshold)
    if choices.threshold is not None:
        return verdict(result.get("score"), choices.threshold)
    return verdict(result["success"])


def target_of(result: dict[str, Any]) -> str | None:
    """Value of the first assertion that holds the right answer."""
    assertions = as_dict(result.get("testCase")).get("assert")
    for one in assertions if isinstance(assertions, list) else []:
        value = as_dict(one).get("value")
        if as_dict(one).get("type") in EXACT and isinstance(value, str | int | float):
            return clip_text(value, LONGEST_ANSWER)
    return None


def confidence_place(result: dict[str, Any], source: PromptfooSource) -> Any:
    """What the confidence is read from."""
    if source == "output":
        return as_dict(result.get("response")).get("output")
    return result.get({"scores": "namedScores"}.get(source, source))


def token_probability(log_probabilities: Any) -> tuple[float, str]:
    """Probability of an output of one token, or why there is none."""
    if not isinstance(log_probabilities, list) or not log_probabilities:
        return math.nan, "no log-probabilities"
    if len(log_probabilities) > 1:
        return math.nan, "log-probabilities of several tokens"
    number = as_number(log_probabilities[0])
    if not number <= LARGEST_LOG_PROBABILITY:
        return math.nan, "log-probabilities are not finite"
    return min(1.0, math.exp(number)), ""
