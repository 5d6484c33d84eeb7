"""Details of lighteval.

Path of a details_<task>_<time>.parquet, or of a folder with such files → DataFrame of trials.
Source: the details of lighteval since 0.11, as --save-details writes them (its Doc, ModelResponse
and metric).
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import is_whole
from hmetad.base.errors import ChoiceError, FileError
from hmetad.logs.answer_options import OPTION_METRICS, log_likelihood, option_confidence
from hmetad.logs.choices import Choices, of_task
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.samples import (
    ANSWERED,
    Format,
    Log,
    LogFile,
    Sample,
    chosen_runs,
    read_format,
    repeated_answers,
)
from hmetad.logs.statements import as_number, fold_word, is_missing
from hmetad.logs.trials import as_dict
from hmetad.rows.files import read_table
from hmetad.rows.values import safe_text

ALLOWED = "details of lighteval, as --save-details writes them"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.:+-]+"
NAME = re.compile(rf"details_(?P<task>.+)_(?P<run>{TIME})\.parquet")
# Metrics that grade the winner of a vote, of old versions too: "maj@8".
VOTE = re.compile(r"maj@(?:n:n=)?(?P<number>[0-9]+)")


@check_inputs()
def read_lighteval(path: str | Path, **options: Any) -> pd.DataFrame:
    """Trials of the details of lighteval, one row per sample.

    Parameters
    ----------
    path : str or Path
        A file ``details_<task>_<time>.parquet``, or a folder with such files at any depth.
    **options
        Those of all logs, as in `read_log`, and:

        - ``runs``: "latest" or "all", which runs to read of a task that a model did several times;
        - ``metric``: the metric that says correct or incorrect, or one for each task. By default
          acc or acc_norm for multiple choice, as `normalise` has it; else the one metric that is 0
          or 1, or -1, in all samples. A metric may be named without its parameters: "maj@n". "all"
          keeps every one, as in `read_lm_eval`;
        - ``normalise``: "none" (default), "characters" or "bytes", the length by which the
          log-likelihood of an option is divided;
        - ``answer_pattern``: as in `read_lm_eval`.

        ``task`` is as its file names it ("arc:challenge|25").

    Returns
    -------
    DataFrame
        One row per sample: ``task``, ``model``, ``run`` (time), ``id`` (the sample's own id, else
        its number from 0), ``item`` (hash of the question and its options), ``chosen`` and
        ``target`` (number of the option from 0; text in generation tasks, cut after 1000
        characters), ``correct``, ``confidence`` (probability), ``option_probabilities`` (list; None
        in generation tasks) and ``answers`` (list, of several responses). Attrs as of
        `read_lm_eval`, without ``filters``.

    Raises
    ------
    InputError
        If nothing is found to read; if a file is no such table, or is damaged; if runs or metric
        are several and none is chosen; if options are unusable.

    Notes
    -----
    Confidence in a multiple choice is the softmax of the log-likelihoods at the option chosen, the
    first of the largest, as in `read_lm_eval`. If the recorded metric contradicts that option,
    confidence is left missing, and counted. Of several responses the one chosen is the answer that
    is found in most of them, the first of several, if the metric is a vote (``maj@n``).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> doc = {"query": "2 + 2 = ?", "choices": [" 3", " 4"], "gold_index": 1, "id": "0"}
    >>> row = {"doc": doc, "metric": {"acc": 1}, "model_response": {"logprobs": [-2.0, -0.5]}}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "details_sums_2026-01-31T10-00-00.parquet")
    ...     pd.DataFrame([row]).to_parquet(file)
    ...     trials = read_lighteval(file)
    >>> trials[["task", "chosen", "target", "correct"]].to_dict("records")
    [{'task': 'sums', 'chosen': 1, 'target': 1, 'correct': True}]
    >>> trials["confidence"].round(3).tolist()
    [0.818]
    """
    return read_format(FORMAT, path, options)


def details_of(path: Path, choices: Choices) -> list[LogFile]:
    """Files of details of a path, one run of each task and model unless the caller wants all."""
    files = files_of_kind(path, "lighteval", ALLOWED)
    return chosen_runs([*map(described, files)], path, choices)


def described(path: Path) -> LogFile:
    """Task and run from the name of a file, the model from the folders between details and run."""
    named = NAME.fullmatch(path.name)
    task, run = (named["task"], named["run"]) if named else (path.stem, "")
    folders = [*path.absolute().parts[:-1]]
    if folders and re.fullmatch(TIME, folders[-1]):
        folders.pop()
    start = max((i for i, name in enumerate(folders) if name == "details"), default=None)
    within = folders[-1:] if start is None else folders[start + 1 :] or folders[-1:]
    model = safe_text("/".join(within))
    return LogFile(path, safe_text(task), model, run, model, {})


def log_of(choices: Choices, file: LogFile) -> Log:
    """Samples of a file of details."""
    return Log(file.path, file.task, samples_of(file, choices))


def samples_of(file: LogFile, choices: Choices) -> Iterator[Sample]:
    """Samples of a file of details, in the order of its rows."""
    rows = read_table(file.path).to_dict("records")
    parts = [parts_of(row, f"{file.path}, row {place}") for place, row in enumerate(rows, 1)]
    chosen = of_task(choices.metric, file.task)
    for number, (doc, response, metrics) in enumerate(parts):
        options = [safe_text(one) for one in as_values(doc.get("choices"))]
        text = json.dumps([safe_text(doc.get("query")), options], ensure_ascii=False)
        meta: dict[str, Any] = {"task": file.task, "model": file.model, "run": file.run}
        meta["id"] = doc["id"] if isinstance(doc.get("id"), str) and doc["id"] else number
        # It tells items apart across models.
        meta["item"] = hashlib.sha256(text.encode()).hexdigest()
        golds = as_values(doc.get("gold_index"))
        right = [one for one in golds if is_whole(one) and 0 <= one < len(options)]
        scored = [log_likelihood(value) for value in as_values(response.get("logprobs"))]
        if len(options) > 1 and scored:
            found = option_values(scored, options, right, choices)
            metric = OPTION_METRICS[choices.normalise]
        else:
            if chosen is None:
                chosen = only_metric([short_names(one) for *_, one in parts], file)
            metric, found = chosen, response_values(response, [options[i] for i in right])
            names = (name for name in metrics if metric in (name, name.partition(":")[0]))
            if voting := VOTE.match(next(names, "")):
                winner = voted(found["responses"][: int(voting["number"])], choices.answer)
                found |= {"chosen": winner, "missing": ""} if winner else {}
        scores = {**metrics, **short_names(metrics)}
        yield Sample(f"{file.path}, row {number + 1}", meta, scores, (metric,), **found)


def parts_of(
    row: Mapping[Any, Any], place: str
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Question, response and metrics of a row."""
    doc, response, metrics = (plain(row.get(x)) for x in ("doc", "model_response", "metric"))
    if not isinstance(doc, dict) or not isinstance(metrics, dict) or not metrics:
        step = "Save details again if lighteval 0.10 or older wrote them."
        got = "a row without 'doc' and 'metric'"
        raise FileError(place, got, "a sample of lighteval's details", step)
    known = {str(name): value for name, value in metrics.items() if value is not None}
    return doc, as_dict(response), known


def option_values(
    scored: Sequence[float | None], options: Sequence[str], right: Sequence[int], choices: Choices
) -> dict[str, Any]:
    """What is kept of a multiple choice."""
    found: dict[str, Any] = {"missing": "other log-likelihoods than options"}
    if len(scored) in (len(options), 2 * len(options)):
        # A second half are the options without the question.
        numbers = [math.nan if number is None else number for number in scored[: len(options)]]
        found = option_confidence(numbers, options, choices.normalise)
    return {**found, "right": right}


def response_values(response: dict[str, Any], golds: Sequence[str]) -> dict[str, Any]:
    """What is kept of a generation task."""
    responses = as_values(response.get("text_post_processed")) or as_values(response.get("text"))
    texts = [text for text in responses if isinstance(text, str)]
    return {
        "chosen": texts[0] if len(texts) == 1 else None,
        "target": "; ".join(golds) if golds else None,
        "missing": "several answers" if len(texts) > 1 else "",
        "texts": texts if len(texts) == 1 else [None],
        "responses": responses,
    }


def voted(responses: Sequence[Any], pattern: re.Pattern[str] | None) -> str | None:
    """Answer that won a vote: of those given most often the first, as the tool has it.

    Without a pattern texts that all differ may have the same answer.
    """
    answers = repeated_answers(responses, pattern) or []
    keys = [None if one is None else fold_word(one) for one in answers]
    won = max(keys, key=keys.count, default=None)
    is_known = won is not None and (pattern is not None or keys.count(won) > 1)
    return answers[keys.index(won)] if is_known else None


def short_names(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics by their names without parameters, "maj@n:n=4&…", where these are different."""
    short = [name.partition(":")[0] for name in metrics]
    return {
        one if short.count(one) == 1 else name: value
        for one, (name, value) in zip(short, metrics.items(), strict=True)
    }


def only_metric(samples: Sequence[Mapping[str, Any]], file: LogFile) -> str:
    """The one metric that says right or wrong in all samples of a file, by its values."""
    names = list(dict.fromkeys(name for metrics in samples for name in metrics))
    judging = [
        name
        for name in names
        if len(names) == 1 or all(as_number(one.get(name, 0)) in (-1, 0, 1) for one in samples)
    ]
    if len(judging) != 1:
        got = f"none, for samples with {', '.join(map(repr, names))} ({file.path})"
        ways = ("metric=", "--metric")
        steps = (f"Choose with {way}, one for all tasks or one for each." for way in ways)
        raise ChoiceError("metric", got, "the name of a metric, or 'all'", *steps)
    return judging[0]


def plain(value: Any) -> Any:
    """Value with lists for arrays."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return value


def as_values(value: Any) -> list[Any]:
    """A list as it is, one value as a list of it, and none of a missing one."""
    if isinstance(value, list):
        return value
    return [] if is_missing(value) else [value]


COLUMNS = ("task", "model", "run", "id", "item", *ANSWERED)
FORMAT = Format("lighteval", details_of, log_of, COLUMNS)
