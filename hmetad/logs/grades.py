"""What the words of a column mean: right or wrong.

Column "correct" in any words → truth values, and how many values say neither.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from hmetad.counts.columns import as_text
from hmetad.errors import InputError
from hmetad.logs.statements import fold_word, is_missing
from hmetad.logs.trials import verdict

__all__ = ["graded"]


def graded(
    trials: pd.DataFrame, grades: Mapping[str, bool], threshold: float | None
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Trials with column "correct" as truth values, and how many values say neither, by reason.

    Parameters
    ----------
    trials : DataFrame
        It is not changed.
    grades : mapping of str to bool
        What values mean, either case; others mean what they say, or nothing.
    threshold : float or None
        Value from which on others are right.

    Returns
    -------
    trials : DataFrame
        A copy.
    rejected : dict of str to int
        Values left missing, per reason.

    Raises
    ------
    InputError
        If there is no such column, or a grade is neither.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": ["Yes", "no", "maybe"]})
    >>> graded(trials, {"yes": True, "no": False}, None)[1]
    {"correct: score 'maybe'": 1}
    """
    if not all(isinstance(right, bool) for right in grades.values()):
        raise InputError("grades", repr(grades), "a mapping such as {'yes': True, 'no': False}")
    if "correct" not in trials:
        step = "Name it with columns= or wide=."
        raise InputError("grades", "no column 'correct'", "a column to grade", step)
    known = {fold_word(name): right for name, right in grades.items()}
    rejected: Counter[str] = Counter()
    verdicts: list[bool | None] = []
    for value in trials["correct"].tolist():
        said = "" if is_missing(value) else fold_word(as_text(value))
        right, reason = (known[said], "") if said in known else grade(value, threshold)
        verdicts.append(right)
        rejected.update([f"correct: {reason}"] if reason else [])
    column = pd.Series(verdicts, dtype="boolean", index=trials.index)
    return trials.assign(correct=column), dict(rejected)


def grade(value: Any, threshold: float | None) -> tuple[bool | None, str]:
    """Verdict of a value that no grade names."""
    return (None, "no score") if is_missing(value) else verdict(value, threshold)
