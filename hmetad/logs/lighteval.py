"""Details of lighteval.

Path of a details_<task>_<time>.parquet, or of a folder with such files → DataFrame of trials.
Source: the details of lighteval 0.6 to 0.13, as --save-details writes them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pandas as pd

from hmetad.arguments import check_inputs, with_submit
from hmetad.errors import InputError, nearest
from hmetad.logs.kinds import files_of_kind
from hmetad.logs.lighteval_samples import Choices, Sample, lighteval_trial, sample_of
from hmetad.logs.lm_eval_files import Runs
from hmetad.logs.lm_eval_filters import of_task
from hmetad.logs.lm_eval_samples import Normalise
from hmetad.logs.parts import Part, joined_parts, of_each
from hmetad.logs.stated import Scale
from hmetad.logs.statements import compile_pattern, stated_wording
from hmetad.logs.trials import TrialCollector, check_threshold, choice_notices, safe_text
from hmetad.rows.limits import Limits, as_limits
from hmetad.rows.tables import read_table

__all__ = ["read_lighteval"]

ALLOWED = "details of lighteval, as --save-details writes them"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.:+-]+"
NAME = re.compile(rf"details_(?P<task>.+)_(?P<run>{TIME})\.parquet")


class Details(NamedTuple):
    """A file of details: the task and the time of the run by its name, the model by its folders."""

    path: Path
    task: str
    model: str
    run: str


@check_inputs(executor=with_submit)
def read_lighteval(
    path: str | Path,
    *,
    task: str | None = None,
    runs: Runs | None = None,
    metric: str | Mapping[str, str] | None = None,
    normalise: Normalise = "none",
    threshold: float | None = None,
    answer_pattern: str | None = None,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
    limits: Limits | Mapping[str, int] | None = None,
    executor: Any = None,
) -> pd.DataFrame:
    """Trials of the details of lighteval, one row per sample.

    Parameters
    ----------
    path : str or Path
        A file ``details_<task>_<time>.parquet``, or a folder with such files at any depth.
    task : str, optional
        The one task to read, as its file names it ("arc:challenge|25"). By default all of them.
    runs : {"latest", "all"}, optional
        Which runs to read of a task that a model did several times.
    metric : str or mapping of str to str, optional
        The metric that says right or wrong, or one for each task. By default acc or acc_norm for
        multiple choice, as `normalise` has it; else the one metric of a sample that is 0 or 1.
    normalise : {"none", "characters", "bytes"}, optional
        Length by which the log-likelihood of an option is divided.
    threshold : float, optional
        Metric from which an answer is right. By default only 1 is right and 0 wrong.
    answer_pattern : str, optional
        Regular expression with one group: the answer in each of several responses to one prompt,
        of which the last match counts. By default a whole response is an answer.
    field, pattern, words, scale : optional
        Where the response to a generation task states its confidence, as in `parse_confidence`.
        Without any of them it is not looked for.
    limits : Limits or mapping of str to int, optional
        How much a file may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"cells": 10**9}``.
    executor : Executor or Client, optional
        What reads the files of a folder side by side: an executor of `concurrent.futures`, a
        `distributed.Client`, or something else with ``submit``.

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
        If nothing is found to read; if a file is no such table, is damaged, or goes beyond a limit;
        if runs or metric are several and none is chosen; if options are unusable.

    Notes
    -----
    Confidence in a multiple choice is the softmax of the log-likelihoods at the option chosen, the
    first of the largest, as in `read_lm_eval`. Where the recorded metric contradicts that option,
    confidence is left missing, and counted.

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
    within = as_limits(limits)
    if normalise not in get_args(Normalise):
        raise InputError("normalise", repr(normalise), "'none', 'characters' or 'bytes'")
    check_threshold(threshold)
    is_stated = any(option is not None for option in (field, pattern, words, scale))
    wording = stated_wording(field=field, pattern=pattern, words=words)
    answer = compile_pattern(answer_pattern, "answer_pattern")
    choices = Choices(None, normalise, threshold, wording if is_stated else None, answer)
    read = partial(part_of, metric, choices, within)
    parts = of_each(read, chosen_details(Path(path), task, runs), executor)
    trials, files = joined_parts(parts, Path(path), task)
    trials.notices += choice_notices(trials)
    return trials.frame(scale=scale, files=[*files], normalise=normalise)


def chosen_details(path: Path, task: str | None, runs: Runs | None) -> list[Details]:
    """Files of details of a path, one run of each task and model unless the caller wants all."""
    if runs not in (None, "latest", "all"):
        raise InputError("runs", repr(runs), "'latest' or 'all'")
    found = [details_of(file) for file in files_of_kind(path, "lighteval", ALLOWED)]
    tasks = {file.task for file in found}
    if task is not None:
        if task not in tasks:
            raise InputError("task", repr(task), f"a task in {path}", nearest(task, tasks))
        found = [file for file in found if file.task == task]
    by_source: dict[tuple[str, str], list[Details]] = defaultdict(list)
    for file in found:
        by_source[file.model, file.task].append(file)
    for (model, name), several in by_source.items():
        if len(several) > 1 and runs is None:
            got = f"none, for {len(several)} runs of task {name!r} by {model!r}"
            raise InputError("runs", got, "'latest' or 'all'", "'all' keeps them apart in 'run'.")
    if runs == "all":
        return found
    return [max(several, key=lambda file: file.run) for several in by_source.values()]


def details_of(path: Path) -> Details:
    """Task and run from the name of a file, the model from the folders between details and run."""
    named = NAME.fullmatch(path.name)
    task, run = (named["task"], named["run"]) if named else (path.stem, "")
    folders = [*path.absolute().parts[:-1]]
    if folders and re.fullmatch(TIME, folders[-1]):
        folders.pop()
    start = max((i for i, name in enumerate(folders) if name == "details"), default=None)
    model = folders[-1:] if start is None else folders[start + 1 :] or folders[-1:]
    return Details(path, safe_text(task), safe_text("/".join(model)), run)


def samples_of(file: Details, limits: Limits) -> Iterable[Sample]:
    """Samples of a file of details, in the order of its rows."""
    if file.path.suffix.lower() != ".parquet":
        raise InputError(str(file.path), f"suffix {file.path.suffix!r}", ALLOWED)
    table = read_table(file.path, limits=limits)
    for number, row in enumerate(table.to_dict("records")):
        yield sample_of(row, number, f"{file.path}, row {number + 1}")


def part_of(
    metric: str | Mapping[str, str] | None, choices: Choices, limits: Limits, file: Details
) -> Part:
    """Trials of a file."""
    own = choices._replace(metric=of_task(metric, file.task))
    trials = TrialCollector()
    for sample in samples_of(file, limits):
        identity = {
            "task": file.task,
            "model": file.model,
            "run": file.run,
            "id": sample.name,
            "item": sample.item,
        }
        trials.add(identity, lighteval_trial(sample, own))
    return Part(file.path, file.task, trials)
