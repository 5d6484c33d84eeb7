"""Logs of Inspect.

Path of a log (.eval, .json), or of a folder of logs → DataFrame of trials.
Source: version 2 of the log format of Inspect.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from hmetad.arguments import check_inputs, with_submit
from hmetad.errors import InputError
from hmetad.logs.inspect_files import Log, log_paths, open_log
from hmetad.logs.inspect_samples import Choices, Source, inspect_trial
from hmetad.logs.parts import Part, joined_parts, of_each
from hmetad.logs.stated import Scale
from hmetad.logs.statements import stated_wording
from hmetad.logs.trials import (
    TrialCollector,
    check_threshold,
    choice_notices,
    confidence_notices,
    safe_text,
    sample_name,
)
from hmetad.rows.limits import Limits, as_limits

__all__ = ["read_inspect"]


@check_inputs(executor=with_submit)
def read_inspect(
    path: str | Path,
    *,
    task: str | None = None,
    scorer: str | None = None,
    grades: Mapping[str, bool] | None = None,
    threshold: float | None = None,
    source: Source | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
    limits: Limits | Mapping[str, int] | None = None,
    executor: Any = None,
) -> pd.DataFrame:
    """Trials of logs of Inspect, one row per sample and epoch.

    Parameters
    ----------
    path : str or Path
        A log .eval or .json, or a folder with logs at any depth. Of an archive memory holds one
        sample at a time; a .json is read as a whole.
    task : str, optional
        The one task to read. By default all of them.
    scorer : str, optional
        The score that says right or wrong, where samples have several; ``"grader/accuracy"`` for
        one part of a score with several.
    grades : mapping of str to bool, optional
        What further grades mean, such as ``{"P": False, "N": False}`` (partial, no answer).
    threshold : float, optional
        Score from which an answer is right. By default only 1 is right and 0 wrong.
    source : {"completion", "score", "metadata", "store", "logprobs"}, optional
        What confidence is read from: the text of the model, the metadata of the score, that of
        the sample, its store, or the log-probabilities of the letters of a multiple choice. By
        default the text if one of the following is given, else the log-probabilities.
    field, pattern, words, scale : optional
        Where and how confidence is stated, as in `parse_confidence`.
    limits : Limits or mapping of str to int, optional
        How much the log may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"values": 20_000_000}``.
    executor : Executor or Client, optional
        What reads the files of a folder side by side: an executor of `concurrent.futures`, a
        `distributed.Client`, or something else with ``submit``.

    Returns
    -------
    DataFrame
        One row per sample and epoch: ``task``, ``model``, ``log`` (name of the file), ``id``,
        ``epoch``, ``item`` (the id as text), ``target`` and ``answer`` (text, letters in multiple
        choice; cut after 1000 characters), ``score`` (text), ``correct``, ``confidence``
        (probability) and ``option_probabilities`` (list or None). Attrs, JSON-able: ``files``,
        ``unfinished`` (logs that did not end in success), ``rejected`` (values left missing, per
        reason), ``duplicates`` (samples left out, whose id and epoch came before in the log), and
        ``scale`` and ``examples`` of stated confidence.

    Raises
    ------
    InputError
        If nothing is found to read; if a log is none, is cut off, of another version, without
        samples, or goes beyond a limit; if there are several scores and none is chosen; if
        options are unusable.

    Notes
    -----
    Confidence in a multiple choice is the probability of the letter answered, which need not be
    the most probable one, for the model may draw it. Log-probabilities are those at the last token
    that is this letter, over the letters of the options, scaled to add up to 1; letters that were
    not among the top count as 0. Options that were shuffled have other letters in the
    log-probabilities, and are rejected.

    Examples
    --------
    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> sample = {"id": 1, "epoch": 1, "target": "4", "output": {"completion": "4, surely (90%)"},
    ...           "scores": {"match": {"value": "C", "answer": "4"}}}
    >>> log = {"version": 2, "eval": {"task": "sums", "model": "gpt"}, "samples": [sample]}
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "log.json").write_text(json.dumps(log))
    ...     trials = read_inspect(Path(folder, "log.json"), pattern=r"([0-9]+%)")
    >>> trials[["task", "answer", "correct", "confidence"]].to_dict("records")
    [{'task': 'sums', 'answer': '4', 'correct': True, 'confidence': 0.9}]
    """
    within = as_limits(limits)
    wording = stated_wording(field=field, pattern=pattern, words=words)
    is_stated = any(option is not None for option in (field, pattern, words, scale))
    choices = check_choices(
        Choices(scorer, grades or {}, threshold, chosen_source(source, is_stated), wording)
    )
    read = partial(part_of, task, choices, within)
    parts = of_each(read, log_paths(Path(path)), executor)
    trials, statuses = joined_parts(parts, Path(path), task)
    unfinished = [file for file, status in statuses.items() if status != "success"]
    if choices.source == "logprobs":
        trials.notices += choice_notices(trials)
    if source is None and not is_stated:
        trials.notices += confidence_notices(trials, "completion")
    return trials.frame(scale=scale, files=[*statuses], unfinished=unfinished)


def chosen_source(source: Source | None, is_stated: bool) -> Source:
    """Where confidence is read from; `is_stated` is whether the caller said how it is stated."""
    if source is None:
        return "completion" if is_stated else "logprobs"
    if source not in get_args(Source):
        raise InputError("source", repr(source), ", ".join(map(repr, get_args(Source))))
    if source == "logprobs" and is_stated:
        got = "'logprobs' with a field, a pattern, words or a scale"
        raise InputError("source", got, "log-probabilities, or stated confidence")
    return source


def check_choices(choices: Choices) -> Choices:
    """Choices of the caller, if they are usable."""
    check_threshold(choices.threshold)
    grades = choices.grades
    if not isinstance(grades, Mapping) or not all(isinstance(v, bool) for v in grades.values()):
        raise InputError("grades", repr(grades), "a mapping such as {'P': False}")
    return choices


def part_of(task: str | None, choices: Choices, limits: Limits, file: Path) -> Part:
    """Trials of a log, if it is of the task; kept is its status."""
    log = open_log(file, limits)
    is_asked = task is None or task == log.task
    trials = log_trials(file, log, choices) if is_asked else None
    return Part(file, log.task, trials, log.status)


def log_trials(file: Path, log: Log, choices: Choices) -> TrialCollector:
    """Trials of the samples of a log; copies are counted."""
    trials = TrialCollector()
    seen: set[tuple[int | str, int]] = set()
    for place, sample in log.samples:
        key = sample_key(sample, place)
        if key in seen:
            trials.duplicates += 1
            continue
        seen.add(key)
        name, epoch = key
        identity = {
            "task": log.task,
            "model": log.model,
            "log": safe_text(file.name),
            "id": name,
            "epoch": epoch,
            "item": safe_text(name),
        }
        trials.add(identity, inspect_trial(sample, place, choices))
    return trials


def sample_key(sample: dict[str, Any], place: str) -> tuple[int | str, int]:
    """Id and epoch of a sample."""
    name, epoch = sample_name(place, "id", sample.get("id")), sample.get("epoch")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise InputError(place, f"epoch {epoch!r}", "a sample with an epoch, a whole number")
    return name, epoch
