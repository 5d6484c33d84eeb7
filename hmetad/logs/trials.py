"""What the readers of evaluation logs share: from the rows of a log to its trials.

Values as logs write them → right or wrong, safe text, columns, a DataFrame with its record.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hmetad.counts.columns import as_correct
from hmetad.counts.noticed import add_notices, frame_notices
from hmetad.errors import InputError
from hmetad.logs.stated import Scale, statement_frame
from hmetad.logs.statements import Statement, as_number
from hmetad.notice import Notice, notice_of
from hmetad.rows.duplicates import file_notices, row_notices

__all__ = [
    "Trial",
    "TrialCollector",
    "as_dict",
    "check_threshold",
    "choice_notices",
    "clip_text",
    "confidence_notices",
    "safe_text",
    "sample_name",
    "verdict",
]

Verdict = tuple[bool | None, str]


def verdict(
    value: Any, threshold: float | None = None, grades: Mapping[str, bool] | None = None
) -> Verdict:
    """Whether a score says right or wrong, or why it says neither.

    Parameters
    ----------
    value : bool, float, str or anything a log holds
        The score.
    threshold : float, optional
        Numbers from here on are right, and those below wrong. By default only 1 and 0 are.
    grades : mapping of str to bool, optional
        What a text means, such as ``{"P": False}``.

    Returns
    -------
    correct : bool or None
        None where the score says neither.
    reason : str
        Why, or "".

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


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that is no finite number.

    Raises
    ------
    InputError
        If it is not.

    Examples
    --------
    >>> check_threshold(0.5)
    """
    if threshold is not None and not math.isfinite(as_number(threshold)):
        raise InputError("threshold", repr(threshold), "a number; scores from there are right")


def safe_text(value: Any) -> str:
    r"""Text of a value, as it is, but for halves of characters that no file can hold.

    Examples
    --------
    >>> safe_text("<b>\ud800")
    '<b>\\ud800'
    """
    text = value if isinstance(value, str) else str(value)
    return text.encode("utf-8", "backslashreplace").decode()


def sample_name(place: str, field: str, value: Any) -> int | str:
    """Name of a sample, a number or text.

    Parameters
    ----------
    place : str
        File and line or member, for the message.
    field : str
        Field of the log that holds the name.
    value : int or str
        What it holds.

    Returns
    -------
    int or str
        Text is safe to write.

    Raises
    ------
    InputError
        If it is neither.

    Examples
    --------
    >>> sample_name("a.jsonl, line 1", "doc_id", 7)
    7
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(place, f"{field} {value!r}", "a number or text")
    return value if isinstance(value, int) else safe_text(value)


def clip_text(value: Any, length: int) -> str:
    """Safe text of a value, cut after `length` characters, which an ellipsis shows.

    Examples
    --------
    >>> clip_text("a long answer", 6)
    'a lon…'
    """
    text = safe_text(value[: length + 1] if isinstance(value, str) else value)
    return text if len(text) <= length else text[: length - 1] + "…"


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one.

    Examples
    --------
    >>> as_dict({"a": 1}), as_dict([1])
    ({'a': 1}, {})
    """
    return value if isinstance(value, dict) else {}


class Trial(NamedTuple):
    """What a reader keeps of one sample.

    Parameters
    ----------
    values : dict of str to value
        By column, with ``correct`` and ``confidence`` (probability or NaN) among them; None is
        missing.
    statement : Statement, optional
        Stated confidence, which waits for the scale of its column.
    reasons : tuple of str, optional
        Why values are missing.
    """

    values: dict[str, Any]
    statement: Statement | None = None
    reasons: tuple[str, ...] = ()


class TrialCollector:
    """Trials of a log, collected sample by sample, and what was left out or could not be read.

    Attributes
    ----------
    duplicates : int
        Samples that the reader left out as copies; it counts them here.
    notices : list of Notice
        What the reader has to say of the log as a whole.

    Examples
    --------
    >>> trials = TrialCollector()
    >>> trials.add({"item": "a"}, Trial({"correct": True, "confidence": 0.9}))
    >>> trials.add({"item": "b"}, Trial({"correct": None, "confidence": 0.4}, None, ("no score",)))
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

    def add(self, place: Mapping[str, Any], trial: Trial) -> None:
        """Append a row: the columns that say where the sample stands, then those of the trial.

        Parameters
        ----------
        place : mapping of str to value
            Task, model, item and whatever else identifies the sample; the same columns each time.
        trial : Trial
            What is kept of it.
        """
        row = {**place, **trial.values}
        if not self._rows:
            self._columns = {name: [] for name in row}
        assert row.keys() == self._columns.keys(), f"other columns: {list(row)}"
        for name, value in row.items():
            self._columns[name].append(value)
        if trial.statement is not None:
            self._statements[self._rows] = trial.statement
        if trial.reasons:
            self._rejected.update(trial.reasons)
        self._rows += 1

    def extend(self, others: "TrialCollector") -> None:
        """Append the trials of another collector, such as that of the next file.

        Parameters
        ----------
        others : TrialCollector
            Its rows have the same columns; not changed.
        """
        if not self._rows:
            self._columns = {name: [] for name in others._columns}
        assert not others._rows or self._columns.keys() == others._columns.keys()
        for name, values in others._columns.items():
            self._columns[name] += values
        self._statements |= {self._rows + row: one for row, one in others._statements.items()}
        self._rejected.update(others._rejected)
        self._rows += others._rows
        self.duplicates += others.duplicates
        self.notices += others.notices

    def values(self, name: str) -> Sequence[Any]:
        """Values of a column so far.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        sequence
            Empty before the first row.
        """
        return self._columns.get(name, ())

    def frame(self, *, scale: Scale | None = None, **record: Any) -> pd.DataFrame:
        """Trials as a table.

        Parameters
        ----------
        scale : optional
            Scale of bare numbers, as in `parse_confidence`.
        **record
            Further attrs, JSON-able, such as ``files``.

        Returns
        -------
        DataFrame
            One row per trial. Attrs: those of `record`, ``duplicates``, ``rejected`` (values left
            missing, per reason), ``notices`` (JSON) if there are any, and ``scale`` and
            ``examples`` where confidence was stated; ``rejected`` has "confidence: ..." for the
            reasons of these.
        """
        frame = pd.DataFrame({name: column(values) for name, values in self._columns.items()})
        rejected = Counter(self._rejected)
        attrs: dict[Hashable | None, Any] = {"duplicates": self.duplicates}
        attrs.update(record.items())
        if self._statements:
            stated = statement_frame(list(self._statements.values()), scale=scale)
            confidence = frame["confidence"].to_numpy(dtype=float, copy=True)
            confidence[list(self._statements)] = stated["confidence"]
            frame["confidence"] = confidence
            rejected.update({f"confidence: {k}": n for k, n in stated.attrs["rejected"].items()})
            attrs |= {"scale": stated.attrs["scale"], "examples": stated.attrs["examples"]}
            self.notices += frame_notices(stated)
        copies = file_notices(map(Path, record.get("files", ())))
        found = [*self.notices, *copies, *row_notices(frame)]
        frame.attrs = add_notices(attrs | {"rejected": dict(rejected)}, found)
        return frame


def choice_notices(trials: TrialCollector) -> list[Notice]:
    """Notice that confidence is that of the choice, where it was read from two options' odds.

    Of more than two options `option_pairs` says it.

    Examples
    --------
    >>> trials = TrialCollector()
    >>> values = {"confidence": 0.8, "option_probabilities": [0.8, 0.2]}
    >>> trials.add({"item": "a"}, Trial(values))
    >>> [notice.code for notice in choice_notices(trials)]
    ['confidence-of-the-choice']
    """
    options = trials.values("option_probabilities")
    has_options = any(one is not None and len(one) == 2 for one in options)
    return [notice_of("confidence-of-the-choice")] if has_options else []


def confidence_notices(trials: TrialCollector, text: str) -> list[Notice]:
    """Notice that no log-probability gives a confidence, with the place of what models write.

    Parameters
    ----------
    trials : TrialCollector
        Trials for which nobody said where confidence stands.
    text : str
        The source that stands for the text of the model.

    Returns
    -------
    list of Notice
        None where a trial has a confidence.

    Examples
    --------
    >>> trials = TrialCollector()
    >>> trials.add({"item": "a"}, Trial({"confidence": math.nan}))
    >>> [notice.code for notice in confidence_notices(trials, "completion")]
    ['no-confidence']
    """
    values = trials.values("confidence")
    if not values or any(not math.isnan(as_number(value)) for value in values):
        return []
    return [notice_of("no-confidence", all=len(values), text=text)]


def column(values: Sequence[Any]) -> pd.Series:
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
    if kinds == {str}:
        return pd.Series(values, dtype="str")
    return pd.Series(values, dtype="object")
