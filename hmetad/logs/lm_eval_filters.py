"""Which filter of answers counts in each sample file of lm-evaluation-harness.

Sample file and the caller's choice → the filter; the file → its samples under that filter.
Source: the layout of lm-evaluation-harness 0.4, which scores a sample once for each filter.
"""

from collections.abc import Iterator, Mapping, Sequence

from hmetad.errors import InputError, nearest
from hmetad.logs.lm_eval_files import SampleFile
from hmetad.notice import Notice, first_few, notice_of
from hmetad.rows.limits import LIMITS, Limits
from hmetad.rows.lines import Line, json_lines

__all__ = ["chosen_filter", "filter_notices", "filter_samples", "of_task"]

REQUIRED = ("doc_id", "resps", "filtered_resps")
LAYOUT = "a sample of lm-evaluation-harness 0.4, as --log_samples writes it"


def of_task(choice: str | Mapping[str, str] | None, task: str) -> str | None:
    """What the caller chose for a task: the same for all, or one of a mapping.

    Examples
    --------
    >>> of_task({"gsm8k": "strict-match"}, "gsm8k"), of_task("none", "arc"), of_task({}, "arc")
    ('strict-match', 'none', None)
    """
    return choice.get(task) if isinstance(choice, Mapping) else choice


def chosen_filter(
    file: SampleFile,
    choice: str | Mapping[str, str] | None,
    limits: Limits = LIMITS,
    *,
    alone: bool = True,
) -> str:
    """Filter of a file whose answers count.

    Parameters
    ----------
    file : SampleFile
        The file.
    choice : str, mapping of task to str, or None
        What the caller chose; without a choice it is the first filter of the file.
    limits : Limits, optional
        Of the lines.
    alone : bool, optional
        Whether no other file is read with it. Of several, a file with one filter only is read by
        that one.

    Returns
    -------
    str
        The filter.

    Raises
    ------
    InputError
        If the file is empty or no log of samples, or has not the filter.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "samples_sums.jsonl")
    ...     sample = '{"doc_id": 0, "resps": [], "filtered_resps": [], "filter": "strict"}'
    ...     _ = path.write_text(sample)
    ...     chosen_filter(SampleFile(path, "sums", "gpt", "", {}), None)
    'strict'
    """
    wanted = of_task(choice, file.task)
    names: dict[str, None] = {}
    for line in json_lines(file.path, limits):
        check_layout(line)
        name = str(line.record.get("filter", ""))
        if wanted in (None, name):
            return name
        names[name] = None
    if not names:
        raise InputError(str(file.path), "an empty file", "at least one sample")
    if len(names) == 1 and not alone and not isinstance(choice, Mapping):
        return next(iter(names))
    got = f"{wanted!r}, which {file.path} does not have"
    step = nearest(f"{wanted}", names)
    if not alone:
        step += f" For each task its own: answer_filter={{{file.task!r}: ...}}."
    raise InputError("answer_filter", got, "a filter of the log", step.strip())


def filter_samples(
    file: SampleFile, used: str, names: dict[str, None], limits: Limits = LIMITS
) -> Iterator[Line]:
    """Samples of a file under a filter.

    Parameters
    ----------
    file : SampleFile
        The file.
    used : str
        The filter.
    names : dict
        Gets the names of all filters of the file, in their order.
    limits : Limits, optional
        Of the lines.

    Yields
    ------
    Line
        Each sample under that filter.

    Raises
    ------
    InputError
        If a line is no sample.
    """
    for line in json_lines(file.path, limits):
        check_layout(line)
        name = str(line.record.get("filter", ""))
        names[name] = None
        if name == used:
            yield line


def filter_notices(
    filters: Mapping[str, Sequence[str]], choice: str | Mapping[str, str] | None
) -> list[Notice]:
    """Notice of the tasks that have several filters, where the caller chose none.

    Parameters
    ----------
    filters : mapping of str to sequence of str
        For each task the filters that its log has; the first is the one that was used.
    choice : str, mapping of task to str, or None
        What the caller chose.

    Returns
    -------
    list of Notice
        One or none.

    Examples
    --------
    >>> found = filter_notices({"sums": ["strict", "loose"], "arc": ["none"]}, None)
    >>> found[0].message.partition(": ")[2]
    'the first of the log counts (sums: strict, not loose).'
    """
    said = [
        f"{task}: {names[0]}, not {' or '.join(names[1:])}"
        for task, names in filters.items()
        if len(names) > 1 and of_task(choice, task) is None
    ]
    return [notice_of("filter-chosen", tasks=first_few(said))] if said else []


def check_layout(line: Line) -> None:
    """Refuse an object that is no sample of a known layout."""
    absent = [name for name in REQUIRED if name not in line.record]
    if absent:
        step = "Logs of other tools are read as tables."
        raise InputError(line.place, f"an object without {absent[0]!r}", LAYOUT, step)
