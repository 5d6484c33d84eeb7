"""Values of logs, whatever tool wrote them, and the columns that they become.

Values as logs write them → right or wrong, safe text, columns of one type; function and files → its
value for each file, read here or in other processes.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from itertools import islice
from typing import Any, Literal

import numpy as np
import pandas as pd

from hmetad.base.errors import ChoiceError, FileError, WorkerError
from hmetad.base.notice import Notice, notice_of
from hmetad.counts.columns import as_correct, as_text
from hmetad.logs.stated import number_of
from hmetad.logs.statements import fold_word
from hmetad.rows.values import safe_text

Verdict = tuple[bool | None, str]
# What a grade means.
Meaning = bool | Literal["abstained"]
ABSTAINED: Literal["abstained"] = "abstained"

# Files that are read ahead of the one that is waited for.
AHEAD = 64


def typed(values: Sequence[Any]) -> pd.Series:
    """Column of one type: numbers, truth values (with gaps, if any) or text; else as it is.

    Examples
    --------
    >>> typed([1, None]).dtype, typed([True, False]).dtype, typed([1, "a"]).dtype
    (Int64Dtype(), dtype('bool'), dtype('O'))
    """
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    gaps = len(present) < len(values)
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean" if gaps else "bool")
    if kinds == {int} and all(abs(value) < 2**63 for value in present):
        return pd.Series(values, dtype="Int64" if gaps else "int64")
    if kinds <= {float} and not gaps:
        return pd.Series(np.array(values, dtype=np.float64))
    return pd.Series(values, dtype="str" if kinds == {str} else "object")


# Values as logs write them


def clip_text(value: Any, length: int) -> str:
    """Safe text of a value, cut after `length` characters, which an ellipsis shows.

    Examples
    --------
    >>> clip_text("a long answer", 6)
    'a lon…'
    """
    text = safe_text(value[: length + 1] if isinstance(value, str) else value)
    return text if len(text) <= length else text[: length - 1] + "…"


def sample_name(place: str, field: str, value: Any) -> int | str:
    """Name of a sample, a number or text that is safe to write; else an error with its place."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise FileError(place, f"{field} {value!r}", "a number or text")
    return value if isinstance(value, int) else safe_text(value)


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The JSON objects of a list, if it is one."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def verdict(
    value: Any,
    threshold: float | None = None,
    grades: Mapping[str, Meaning] | None = None,
    place: str = "",
) -> Verdict:
    """Whether a score says right or wrong, or None and why it says neither.

    Grades have a meaning by their name: right, wrong or abstained. Of other numbers those from the
    threshold on are right, and those below wrong; without one only 1 and 0 are, and 0 is not where
    a grade below 0 has a name.

    Examples
    --------
    >>> verdict(1.0), verdict(0.4), verdict(0.4, threshold=0.5)
    ((True, ''), (None, 'score is partial credit'), (False, ''))
    >>> verdict("P", grades={"P": False}), verdict(0, grades={"-1": False})
    ((False, ''), (None, 'score 0 is not among the grades'))
    """
    if value is None:
        return None, "no score"
    named = {grade_key(name): right for name, right in (grades or {}).items()}
    if (key := grade_key(value)) in named:
        meaning = named[key]
        return (None, ABSTAINED) if meaning == ABSTAINED else (meaning, "")
    number = float(value) if isinstance(value, bool) else number_of(value)
    if threshold is None and (number < 0 or number > 1):
        steps = (
            f"Say which scores are correct: {way}; a score of 0 without a meaning is then missing."
            for way in ("grades={'1': True, '-1': False}, or threshold=1",
                        "--grades 1=true,-1=false, or --threshold 1")
        )  # fmt: skip
        got = f"none, for a score of {number:g}{f' ({place})' if place else ''}"
        raise ChoiceError("grades", got, "a meaning of each score below 0 or above 1", *steps)
    if (
        threshold is None
        and number == 0
        and any(isinstance(one, float) and one < 0 for one in named)
    ):
        return None, "score 0 is not among the grades"
    if isinstance(value, str):
        known = as_correct(value)
        return (None, f"score {clip_text(value, 20)!r}") if known is None else (known, "")
    if math.isnan(number):
        kind = "NaN" if isinstance(value, float) else f"of type {type(value).__name__}"
        return None, f"score is {kind}"
    if threshold is not None:
        return number >= threshold, ""
    return (bool(number), "") if number in (0, 1) else (None, "score is partial credit")


def silence_notices(silent: Sequence[bool]) -> list[Notice]:
    """Notice of the rows whose grade means that there was no answer."""
    said = {"number": f"{sum(silent):,}", "all": f"{len(silent):,}"}
    return [notice_of("abstained.graded", **said)] if any(silent) else []


def grade_key(grade: Any) -> float | str:
    """Grade as it is compared: a number, also as text, or a word in either case."""
    number = number_of(grade)
    return fold_word(as_text(grade)) if math.isnan(number) else number


def of_each[File, Found](
    read: Callable[[File], Found], files: Iterable[File], executor: Any = None
) -> Iterator[Found]:
    """Values of a function of each file, in the order of the files.

    An executor has ``submit(function, file)``, which returns a future; without it the files are
    read here. Errors are those of the first file that has one; files that wait are not read then.

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
        raise WorkerError("executor", f"a worker that ended ({error})", "workers", step) from error
    finally:
        for future in futures:
            future.cancel()
