"""Results of promptfoo.

Path of what `promptfoo eval -o` writes, .json or .jsonl, or of a folder → DataFrame of trials.
Source: versions 2 and 3 of the results of promptfoo (its type EvaluateResult).
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from hmetad.base.arguments import check_inputs, with_submit
from hmetad.base.errors import InputError
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.samples import (
    LARGEST_LOG_PROBABILITY,
    LONGEST_ANSWER,
    Choices,
    Format,
    Log,
    Sample,
    make_choices,
    trials_of,
)
from hmetad.logs.stated import Scale
from hmetad.logs.statements import as_number
from hmetad.logs.trials import (
    as_dict,
    as_list,
    clip_text,
    safe_text,
)
from hmetad.rows.limits import Limits
from hmetad.rows.lines import json_lines, parse_line
from hmetad.rows.packed import whole_file

__all__ = ["PromptfooSource", "read_promptfoo"]

PromptfooSource = Literal["output", "scores", "metadata", "vars", "logprobs"]

ALLOWED = "results of promptfoo, as promptfoo eval -o out.json (or out.jsonl) writes them"
# Assertions whose value is the right answer.
EXACT = ("equals", "iequals", "contains", "icontains", "starts-with", "similar")
# Of EvaluateResult.failureReason: the provider, or an assertion, did not work.
BROKEN = 2
FAILED = "no score, the provider or an assertion ended in an error"


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
    choices = make_choices(
        task=task,
        metric=metric,
        threshold=threshold,
        source=source,
        text="output",
        field=field,
        pattern=pattern,
        words=words,
        scale=scale,
        limits=limits,
    )
    return trials_of(FORMAT, Path(path), choices, executor)


def result_files(path: Path, _: Choices) -> list[Path]:
    """The file itself, or those of a folder."""
    return files_of_kind(path, "promptfoo", ALLOWED)


def log_of(choices: Choices, path: Path) -> Log:
    """Results of one JSON, whose description is the task, or of lines."""
    task: Any = None
    results: Any
    if path.suffix.lower() == ".jsonl":
        results = [line.record for line in json_lines(path, choices.limits)]
    else:
        content = parse_line(str(path), whole_file(path, ALLOWED, choices.limits), choices.limits)
        results = as_dict(content.get("results")).get("results")
        task = as_dict(content.get("config")).get("description")
        if not isinstance(results, list):
            raise InputError(str(path), "an object without results.results", ALLOWED)
    if not results:
        raise InputError(str(path), "no results", "at least one")
    task = safe_text(task if isinstance(task, str) and task.strip() else path.stem)
    return Log(path, task, samples_of(path, task, results, choices))


def samples_of(path: Path, task: str, results: list[Any], choices: Choices) -> Iterator[Sample]:
    """Samples of the results of a file, numbered from 1."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for number, result in enumerate(results, 1):
        place = f"{path}, result {number}"
        if not isinstance(result, dict) or "success" not in result:
            got = "no object" if not isinstance(result, dict) else "an object without 'success'"
            raise InputError(place, got, ALLOWED)
        variables = result.get("vars", as_dict(result.get("testCase")).get("vars"))
        text = json.dumps(variables, sort_keys=True, ensure_ascii=False)
        # It tells items apart across providers and prompts.
        item = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        label = as_dict(result.get("prompt"))
        prompt = clip_text(label.get("label") or label.get("raw") or "", LONGEST_ANSWER)
        model = model_of(result, place)
        seen[model, prompt, item] += 1
        test = result.get("testIdx")
        # Older versions do not write it.
        is_number = isinstance(test, int) and not isinstance(test, bool) and abs(test) < 2**63
        meta: dict[str, Any] = {
            "task": task,
            "model": model,
            "prompt": prompt,
            "log": safe_text(path.name),
        }
        meta |= {"id": test if is_number else None, "repeat": seen[model, prompt, item]}
        yield sample_of(result, place, {**meta, "item": item}, choices)


def model_of(result: dict[str, Any], place: str) -> str:
    """Label of the provider, or its id; older versions write the id alone."""
    provider = result.get("provider")
    name = as_dict(provider).get("label") or as_dict(provider).get("id")
    if not isinstance(provider, str) and not isinstance(name, str):
        raise InputError(place, "a result without a provider", ALLOWED)
    return safe_text(provider if isinstance(provider, str) else name)


def sample_of(result: dict[str, Any], place: str, meta: dict[str, Any], choices: Choices) -> Sample:
    """What is kept of a result; a provider that failed gave no answer."""
    response = as_dict(result.get("response"))
    output, metric = response.get("output"), str(choices.metric)
    answer = output if output is None or isinstance(output, str) else json.dumps(output)
    scores = {"success": result["success"]}
    if choices.threshold is not None:
        scores = {"score": result.get("score")}
    if choices.metric is not None:
        scores = as_dict(result.get("namedScores"))
    is_broken = result.get("failureReason") == BROKEN or (
        result.get("error") and result.get("response", {}) in (None, {})
    )
    if is_broken:
        scores = {"success" if choices.metric is None else metric: None}
    named = {"output": output, "scores": result.get("namedScores")}
    confidence, missing = token_probability(response.get("logProbs"))
    return Sample(
        place,
        meta,
        scores,
        tuple(scores),
        chosen=answer,
        target=target_of(result),
        confidence=confidence,
        missing=f"confidence: {missing}" if missing else "",
        texts=[named.get(choices.source, result.get(choices.source))],
        failed=FAILED if is_broken else "",
    )


def target_of(result: dict[str, Any]) -> str | None:
    """Value of the first assertion that holds the right answer."""
    for one in as_list(as_dict(result.get("testCase")).get("assert")):
        value = as_dict(one).get("value")
        if as_dict(one).get("type") in EXACT and isinstance(value, str | int | float):
            return clip_text(value, LONGEST_ANSWER)
    return None


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


FORMAT = Format(result_files, log_of, ("target", "answer", "correct", "confidence"), "output")
