"""What the readers of evaluation logs share: from the rows of a log to its trials.

Values as logs write them → right or wrong, safe text, columns, a DataFrame with its record.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hmetad.counts.correctness import as_correct
from hmetad.errors import InputError
from hmetad.logs.stated import Scale, statement_frame
from hmetad.logs.statements import Statement, as_number

__all__ = ["check_threshold", "clip_text", "safe_text", "trial_frame", "verdict"]

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


def clip_text(value: Any, most: int) -> str:
    """Safe text of a value, cut after `most` characters, which an ellipsis shows.

    Examples
    --------
    >>> clip_text("a long answer", 6)
    'a lon…'
    """
    text = safe_text(value[: most + 1] if isinstance(value, str) else value)
    return text if len(text) <= most else text[: most - 1] + "…"


def trial_frame(
    columns: Mapping[str, Sequence[Any]],
    statements: Mapping[int, Statement],
    record: Mapping[str, Any],
    *,
    scale: Scale | None = None,
) -> pd.DataFrame:
    """Trials of a log, with what was rejected counted in the attrs.

    Parameters
    ----------
    columns : mapping of str to sequence, each of length trials
        Values per column; ``confidence`` (probability or NaN) and ``correct`` are among them.
    statements : mapping of int to Statement
        Stated confidence by the number of its row.
    record : mapping
        Attrs, JSON-able; its ``rejected`` counts rejections by reason.
    scale : optional
        Scale of bare numbers, as in `parse_confidence`.

    Returns
    -------
    DataFrame
        One row per trial. Attrs: those of `record`, ``scale`` and ``examples`` of stated
        confidence that was not understood; ``rejected`` has "confidence: ..." for its reasons.

    Examples
    --------
    >>> frame = trial_frame({"correct": [True], "confidence": [0.9]}, {}, {"rejected": {}})
    >>> frame["confidence"].tolist(), frame.attrs["rejected"]
    ([0.9], {})
    """
    frame = pd.DataFrame({name: column(values) for name, values in columns.items()})
    rejected = Counter(record["rejected"])
    attrs = {**record}
    if statements:
        stated = statement_frame(list(statements.values()), scale=scale)
        confidence = frame["confidence"].to_numpy(dtype=float, copy=True)
        confidence[list(statements)] = stated["confidence"]
        frame["confidence"] = confidence
        rejected.update({f"confidence: {k}": n for k, n in stated.attrs["rejected"].items()})
        attrs |= {"scale": stated.attrs["scale"], "examples": stated.attrs["examples"]}
    frame.attrs = attrs | {"rejected": dict(rejected)}
    return frame


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
