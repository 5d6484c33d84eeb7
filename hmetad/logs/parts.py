"""Logs of several files: each file read by itself, here or in other processes, then joined.

Function and files → its value for each file, in their order; parts → their trials together.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from hmetad.errors import InputError, nearest
from hmetad.logs.trials import TrialCollector, safe_text

__all__ = ["Part", "joined_parts", "of_each"]

# Files that are read ahead of the one that is waited for.
AHEAD = 64


class Part(NamedTuple):
    """What is read of a file: task, trials (None: another task is asked for), what else is kept."""

    file: Path
    task: str
    trials: TrialCollector | None
    remark: Any = None


def of_each[File, Found](
    read: Callable[[File], Found], files: Iterable[File], executor: Any = None
) -> Iterator[Found]:
    """Values of a function of each file, in the order of the files.

    Parameters
    ----------
    read : callable
        A file → what is read of it. For other processes it can be pickled, and so can its value.
    files : iterable
        The files.
    executor : object, optional
        Has ``submit(function, file)``, which returns a future. Without it the files are read here.

    Yields
    ------
    object
        Errors are those of the first file that has one; files that wait are not read then.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as executor:
    ...     list(of_each(len, ["a", "bc"], executor)), list(of_each(len, ["a", "bc"]))
    ([1, 2], [1, 2])
    """
    if executor is None:
        yield from map(read, files)
        return
    waiting, futures = iter(files), deque[Any]()
    try:
        while True:
            # Not all at once: what is read waits in memory for the files before it.
            more = islice(waiting, AHEAD - len(futures))
            futures.extend(executor.submit(read, file) for file in more)
            if not futures:
                return
            yield futures.popleft().result()
    except BrokenExecutor as error:
        step = "Read with fewer workers, or without: one of them may have run out of memory."
        raise InputError("executor", f"a worker that ended ({error})", "workers", step) from error
    finally:
        for future in futures:
            future.cancel()


def joined_parts(
    parts: Iterable[Part], path: Path, task: str | None
) -> tuple[TrialCollector, dict[str, Any]]:
    """Trials of all parts in their order, and what else was kept of each file of the task.

    Parameters
    ----------
    parts : iterable of Part
        One of each file.
    path : Path
        The log, for the message.
    task : str or None
        The task that was asked for.

    Returns
    -------
    trials : TrialCollector
        All trials.
    remarks : dict
        By the name of the file, as attrs have it.

    Raises
    ------
    InputError
        If no file is of the task.

    Examples
    --------
    >>> parts = [Part(Path(name), "sums", TrialCollector(), "done") for name in ("a", "b")]
    >>> joined_parts(parts, Path("."), None)[1]
    {'a': 'done', 'b': 'done'}
    """
    trials, remarks, tasks = TrialCollector(), {}, set()
    for part in parts:
        tasks.add(part.task)
        if part.trials is not None:
            trials.extend(part.trials)
            remarks[safe_text(part.file)] = part.remark
    if not remarks:
        raise InputError("task", repr(task), f"a task in {path}", nearest(str(task), tasks))
    return trials, remarks
