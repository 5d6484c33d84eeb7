"""Where lm-evaluation-harness puts its sample logs, and what it says of them beside.

Path of a file or a folder → the sample files in it, with task, model, run and configuration.
Source: the layout of lm-evaluation-harness 0.4.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hmetad.errors import InputError, nearest
from hmetad.logs.kinds import READERS
from hmetad.logs.trials import safe_text
from hmetad.rows.limits import LIMITS, Limits
from hmetad.rows.lines import parse_line
from hmetad.rows.packed import whole_file

__all__ = ["Runs", "SampleFile", "sample_files"]

Runs = Literal["latest", "all"]

NAME = re.compile(r"(?:samples_)?(?P<task>.+)_(?P<run>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.+-]+)\.jsonl")


class SampleFile(NamedTuple):
    """A file of samples; `run` is the time of its run, `config` that of its task, if known."""

    path: Path
    task: str
    model: str
    run: str
    config: dict[str, Any]


def sample_files(
    path: Path, task: str | None = None, runs: Runs | None = None, limits: Limits = LIMITS
) -> list[SampleFile]:
    """Sample files of a path, sorted, with what the results beside them say.

    Parameters
    ----------
    path : Path
        A file in JSON Lines, or a folder with files ``samples_<task>_<time>.jsonl`` at any depth.
    task : str, optional
        The one task to keep.
    runs : {"latest", "all"}, optional
        Which runs to keep of a task that a model did several times.
    limits : Limits, optional
        Of the results beside.

    Returns
    -------
    list of SampleFile
        The model is named by the results beside, else by the folder.

    Raises
    ------
    InputError
        If there is no such path, file or task, or there are several runs and no choice.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "gpt", "samples_arc_easy_2026-01-31T10-00-00.123.jsonl")
    ...     file.parent.mkdir()
    ...     file.touch()
    ...     sample_files(Path(folder))[0][1:4]
    ('arc_easy', 'gpt', '2026-01-31T10-00-00.123')
    """
    if runs not in (None, "latest", "all"):
        raise InputError("runs", repr(runs), "'latest' or 'all'")
    found = [describe_run(file, limits) for file in sample_paths(path)]
    tasks = {file.task for file in found}
    if task is not None:
        if task not in tasks:
            raise InputError("task", repr(task), f"a task in {path}", nearest(str(task), tasks))
        found = [file for file in found if file.task == task]
    return found if runs == "all" else single_runs(found, runs)


def sample_paths(path: Path) -> list[Path]:
    """The file itself, or the sample files of a folder, sorted."""
    if path.is_file():
        return [path]
    allowed = "a file samples_<task>_<time>.jsonl, or a folder of a run"
    if not path.is_dir():
        raise InputError(str(path), "no such file", allowed)
    found = (file for pattern in READERS["lm-eval"].files for file in path.rglob(pattern))
    files = sorted(file for file in found if file.is_file())
    if not files:
        step = "lm-evaluation-harness writes samples when it runs with --log_samples."
        raise InputError(str(path), "a folder without samples", allowed, step)
    return files


def describe_run(path: Path, limits: Limits) -> SampleFile:
    """Task and time from the name of a file, model and configuration from the results beside."""
    named = NAME.fullmatch(path.name)
    task, run = (named["task"], named["run"]) if named else (path.stem, "")
    results = results_beside(path, run, limits)
    configs = results.get("configs")
    config = configs.get(task) if isinstance(configs, dict) else None
    model = results.get("model_name") or path.absolute().parent.name
    known = config if isinstance(config, dict) else {}
    return SampleFile(path, safe_text(task), safe_text(model), run, known)


def results_beside(path: Path, run: str, limits: Limits) -> dict[str, Any]:
    """Results that were written at the time of the run, or an empty mapping."""
    if not run:
        return {}
    for file in sorted(path.parent.iterdir()):
        if file.name.endswith(f"_{run}.json") and file.is_file():
            return parse_line(str(file), whole_file(file, "results as JSON", limits), limits)
    return {}


def single_runs(files: Sequence[SampleFile], runs: Runs | None) -> list[SampleFile]:
    """One run of each task and model; which of several, the caller has to say."""
    by_source: dict[tuple[Path, str], list[SampleFile]] = defaultdict(list)
    for file in files:
        by_source[file.path.parent, file.task].append(file)
    for (_, task), several in by_source.items():
        if len(several) > 1 and runs is None:
            got = f"none, for {len(several)} runs of task {task!r} by {several[0].model!r}"
            step = "'all' keeps them apart in column 'run'."
            raise InputError("runs", got, "'latest' or 'all'", step)
    return [max(several, key=lambda file: file.run) for several in by_source.values()]
