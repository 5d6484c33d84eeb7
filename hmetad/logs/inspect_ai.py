"""Logs of Inspect.

Path of a log (.eval, .json), or of a folder of logs → DataFrame of trials.
Source: version 2 of the log format of Inspect.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.errors import InputError, nearest
from hmetad.logs.inspect_files import Log, log_paths, open_log
from hmetad.logs.inspect_samples import Choices, Source, Trial, inspect_trial
from hmetad.logs.limits import Limits, as_limits
from hmetad.logs.stated import Scale
from hmetad.logs.statements import Statement, stated_wording
from hmetad.logs.trials import check_threshold, safe_text, trial_frame

__all__ = ["read_inspect"]

PLACES = ("task", "model", "log", "id", "epoch", "item")
KEPT = Trial._fields[:-1]


@check_inputs()
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
    Log-probabilities are those at the last token that is the letter answered, over the letters
    of the options, scaled to add up to 1; letters that were not among the top count as 0. Options
    that were shuffled have other letters in the log-probabilities, and are rejected.

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
    most = as_limits(limits)
    wording = stated_wording(field=field, pattern=pattern, words=words)
    asked = any(option is not None for option in (field, pattern, words, scale))
    choices = check_choices(
        Choices(scorer, grades or {}, threshold, chosen_source(source, asked), wording)
    )
    columns: dict[str, list[Any]] = {name: [] for name in (*PLACES, *KEPT)}
    statements: dict[int, Statement] = {}
    rejected: Counter[str] = Counter()
    files, unfinished, duplicates, tasks = [], [], 0, set()
    for file in log_paths(Path(path)):
        log = open_log(file, most)
        tasks.add(log.task)
        if task is not None and log.task != task:
            continue
        files.append(safe_text(file))
        unfinished += [safe_text(file)] if log.status != "success" else []
        duplicates += read_samples(file, log, choices, columns, statements, rejected)
    if not files:
        raise InputError("task", repr(task), f"a task in {path}", nearest(str(task), tasks))
    record = {
        "files": files,
        "unfinished": unfinished,
        "duplicates": duplicates,
        "rejected": rejected,
    }
    return trial_frame(columns, statements, record, scale=scale)


def chosen_source(source: Source | None, asked: bool) -> Source:
    """Where confidence is read from; `asked` says whether the caller described how it is stated."""
    if source is None:
        return "completion" if asked else "logprobs"
    if source not in get_args(Source):
        raise InputError("source", repr(source), ", ".join(map(repr, get_args(Source))))
    if source == "logprobs" and asked:
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


def read_samples(
    file: Path,
    log: Log,
    choices: Choices,
    columns: dict[str, list[Any]],
    statements: dict[int, Statement],
    rejected: Counter[str],
) -> int:
    """Append the samples of a log to the columns; the number of copies left out."""
    seen: set[tuple[int | str, int]] = set()
    copies = 0
    for place, sample in log.samples:
        key = sample_key(sample, place)
        if key in seen:
            copies += 1
            continue
        seen.add(key)
        trial = inspect_trial(sample, place, choices, rejected)
        if trial.statement is not None:
            statements[len(columns["task"])] = trial.statement
        placed = (log.task, log.model, safe_text(file.name), *key, safe_text(key[0]))
        for name, value in zip((*PLACES, *KEPT), (*placed, *trial[:-1]), strict=True):
            columns[name].append(value)
    return copies


def sample_key(sample: dict[str, Any], place: str) -> tuple[int | str, int]:
    """Id and epoch of a sample."""
    name, epoch = sample.get("id"), sample.get("epoch")
    if isinstance(name, bool) or not isinstance(name, int | str):
        raise InputError(place, f"id {name!r}", "a sample with an id, a number or text")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise InputError(place, f"epoch {epoch!r}", "a sample with an epoch, a whole number")
    return name if isinstance(name, int) else safe_text(name), epoch
