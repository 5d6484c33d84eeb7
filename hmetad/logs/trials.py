"""Trials of logs: collected sample by sample or file by file, with what could not be read.

Values as logs write them → right or wrong, safe text, columns, a DataFrame with its record;
function and files → its value for each file, read here or in other processes.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hmetad.base.errors import FileError, WorkerError
from hmetad.base.notice import Notice, notice_of
from hmetad.counts.columns import as_correct
from hmetad.counts.noticed import add_notices, frame_notices
from hmetad.logs.stated import Scale, statement_frame
from hmetad.logs.statements import Statement, as_number
from hmetad.rows.duplicates import file_notices, row_notices

__all__ = [
    "TrialCollector",
    "Verdict",
    "as_dict",
    "as_list",
    "choice_notices",
    "clip_text",
    "confidence_notices",
    "objects_in",
    "of_each",
    "safe_text",
    "sample_name",
    "verdict",
]

Verdict = tuple[bool | None, str]

# Files that are read ahead of the one that is waited for.
AHEAD = 64


class TrialCollector:
    """Trials of a log, collected sample by sample, and what was left out or could not be read.

    `duplicates` are samples left out as copies; `notices` what is said of the log as a whole.

    Examples
    --------
    >>> trials = TrialCollector()
    >>> trials.add({"item": "a", "correct": True, "confidence": 0.9})
    >>> trials.add({"item": "b", "correct": None, "confidence": 0.4}, None, ["no score"])
    >>> frame = trials.frame(files=["a.log"])
    >>> frame["confidence"].tolist(), frame.attrs["rejected"]
    ([0.9, 0.4], {'no score': 1})
    """

    def __init__(self) -> None:
        self.duplicates = 0
        self.notices: list[Notice] = []
        self._rows = 0
        self._columns: dict[str, list[Any]] = {}
        self._statements: dict[int, Statement] = {}
        self._rejected: Counter[str] = Counter()

    def add(
        self,
        row: Mapping[str, Any],
        statement: Statement | None = None,
        reasons: Sequence[str] = (),
    ) -> None:
        """Append a row: the same columns each time, stated confidence, why values are missing."""
        if not self._rows:
            self._columns = {name: [] for name in row}
        for name, value in row.items():
            self._columns[name].append(value)
        if statement is not None:
            self._statements[self._rows] = statement
        self._rejected.update(reasons)
        self._rows += 1

    def extend(self, others: "TrialCollector") -> None:
        """Append the trials of another collector with the same columns."""
        if not self._rows:
            self._columns = {name: [] for name in others._columns}
        for name, values in others._columns.items():
            self._columns[name] += values
        self._statements |= {self._rows + row: one for row, one in others._statements.items()}
        self._rejected.update(others._rejected)
        self._rows += others._rows
        self.duplicates += others.duplicates

    def values(self, name: str) -> Sequence[Any]:
        """Values of a column so far; none where there is no such column."""
        return self._columns.get(name, ())

    def frame(self, *, scale: Scale | None = None, **record: Any) -> pd.DataFrame:
        """Trials as a table.

        Attrs: those of `record`, ``duplicates``, ``rejected`` (values left missing, per reason),
        ``notices`` (JSON) if there are any, and ``scale`` and ``examples`` where confidence was
        stated; ``rejected`` has "confidence: ..." for the reasons of these.
        """
        frame = pd.DataFrame({name: typed(values) for name, values in self._columns.items()})
        rejected = Counter(self._rejected)
        attrs: dict[Hashable | None, Any] = {"duplicates": self.duplicates}
        attrs.update(record.items())
        found = list(self.notices)
        if self._statements:
            stated = statement_frame(list(self._statements.values()), scale=scale)
            confidence = frame["confidence"].to_numpy(dtype=float, copy=True)
            confidence[list(self._statements)] = stated["confidence"]
            frame["confidence"] = confidence
            rejected.update({f"confidence: {k}": n for k, n in stated.attrs["rejected"].items()})
            attrs |= {"scale": stated.attrs["scale"], "examples": stated.attrs["examples"]}
            found += frame_notices(stated)
        found += [*file_notices(map(Path, record.get("files", ()))), *row_notices(frame)]
        frame.attrs = add_notices(attrs | {"rejected": dict(rejected)}, found)
        return frame


def choice_notices(trials: TrialCollector) -> list[Notice]:
    """Notice that confidence is that of the choice, where it was read from two options' odds."""
    options = trials.values("option_probabilities")
    has_options = any(one is not None and len(one) == 2 for one in options)
    return [notice_of("confidence-of-the-choice")] if has_options else []


def confidence_notices(trials: TrialCollector, text: str) -> list[Notice]:
    """Notice that no log-probability gives a confidence, with the place of what models write.

    Without a place, field= and pattern= say what is read of the text.
    """
    values = trials.values("confidence")
    if not values or any(not math.isnan(as_number(value)) for value in values):
        return []
    if not text:
        return [notice_of("no-confidence.text", all=len(values))]
    return [notice_of("no-confidence", all=len(values), text=text)]


def typed(values: Sequence[Any]) -> pd.Series:
    """Column of one type: numbers, truth values (with gaps, if any) or text; else as it is."""
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


def safe_text(value: Any) -> str:
    r"""Text of a value, as it is, but for halves of characters that no file can hold.

    Examples
    --------
    >>> safe_text("<b>\ud800")
    '<b>\\ud800'
    """
    text = value if isinstance(value, str) else str(value)
    return text.encode("utf-8", "backslashreplace").decode()


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
    value: Any, threshold: float | None = None, grades: Mapping[str, bool] | None = None
) -> Verdict:
    """Whether a score says right or wrong, or None and why it says neither.

    Numbers from the threshold on are right, and those below wrong; without one only 1 and 0 are.

    Examples
    --------
    >>> verdict(1.0), verdict(0.4), verdict(0.4, threshold=0.5)
    ((True, ''), (None, 'score is partial credit'), (False, ''))
    >>> verdict("P", grades={"P": False})
    (False, '')
    """
    if value is None:
        return None, "no score"
    if isinstance(value, str):
        known = (grades or {}).get(value, as_correct(value))
        return (None, f"score {clip_text(value, 20)!r}") if known is None else (known, "")
    number = float(value) if isinstance(value, bool) else as_number(value)
    if math.isnan(number):
        kind = "NaN" if isinstance(value, float) else f"of type {type(value).__name__}"
        return None, f"score is {kind}"
    if threshold is not None:
        return number >= threshold, ""
    return (bool(number), "") if number in (0, 1) else (None, "score is partial credit")


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
