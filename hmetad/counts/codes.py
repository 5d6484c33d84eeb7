"""Values that stand for something else: levels of confidence, and codes for missing answers.

Values as data have them, and what the user says of them → ratings 1..K, or missing values; without
a word of the user: which values look like codes.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.correctness import as_correct
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_of
from hmetad.rows.rows import Rows, plain_value

__all__ = [
    "USUAL",
    "Codes",
    "code_notices",
    "code_step",
    "label_codes",
    "level_ratings",
    "level_step",
    "listed",
    "suspected_codes",
    "without_codes",
]

type Codes = str | float | Sequence[str | float]

# Numbers that questionnaires and programs of experiments write for no answer, and texts.
REPEATED = [digit * (10**size - 1) // 9 for digit in (7, 8, 9) for size in range(1, 6)]
USUAL = np.array(sorted({-1, *REPEATED, *(-one for one in REPEATED)}), dtype=np.float64)
TEXTS = frozenset(["", "-", ".", "?", "missing", "n/a", "na", "nan", "none", "null", "x"])
# More are no ratings that people choose from.
MOST_LEVELS = 20


def level_ratings(
    argument: str, values: Sequence[Any], n: NDArray[np.int64], levels: Sequence[str | float]
) -> NDArray[np.int64]:
    """Rating of each value: its place among the levels, the least confident first.

    Value i stands for n[i] trials. Case and blanks around a word do not matter, and "1" is 1.

    Examples
    --------
    >>> level_ratings("confidence", ["diff", "easy"], np.array([3, 5]), ["diff", "easy"])
    array([1, 2])
    """
    given = listed("levels", levels)
    places = {plain_value(level): place for place, level in enumerate(given, 1)}
    if len(places) < max(2, len(given)):
        allowed = "two different levels or more, the least confident first"
        raise InputError("levels", repr(levels), allowed)
    unknown: dict[str, int] = {}
    for value, times in zip(values, n.tolist(), strict=True):
        if plain_value(value) not in places:
            unknown[repr(value)] = unknown.get(repr(value), 0) + times
    if unknown:
        got = ", ".join(f"{value} ({times} trials)" for value, times in [*unknown.items()][:10])
        step = "Name all in levels=, the least confident first, or missing ones in missing_codes=."
        raise InputError(argument, got, f"one of the levels {', '.join(map(str, given))}", step)
    return np.array([places[plain_value(value)] for value in values], dtype=np.int64)


def listed(argument: str, given: Any) -> list[Any]:
    """Values as a list, a single one too."""
    if isinstance(given, Mapping | Set) or (np.ndim(given) != 1 and not np.isscalar(given)):
        raise InputError(argument, repr(given), "a list of texts or numbers")
    return [given] if np.isscalar(given) else list(given)


# Names and labels are looked at where they are counted by.
@check_inputs(skip=("columns", "labels"))
def without_codes(
    rows: Rows,
    missing_codes: Codes,
    columns: Mapping[str, str],
    labels: Sequence[str | float] = (),
) -> Rows:
    """Rows in which values that are codes are missing.

    Parameters
    ----------
    rows : Rows
        What `hmetad.logs.scan_table` gave.
    missing_codes : str, float or sequence of these
        Values that stand for a missing answer; "1" is 1.
    columns : mapping of str to str
        Columns by role: "stimulus", "response", "confidence", "correct". A code of confidence, such
        as 0, is none in the column of right and wrong where it says either, and none in those of
        stimulus and response where it is a label.
    labels : sequence, optional
        Labels of stimulus and response.

    Returns
    -------
    Rows

    Raises
    ------
    InputError
        If `missing_codes` are no list.

    Examples
    --------
    >>> from hmetad.rows.sources import rows_of
    >>> import pandas as pd
    >>> rows = rows_of(pd.DataFrame({"ok": [0, 1], "sure": [0, 3]}))
    >>> without_codes(rows, 0, {"correct": "ok", "confidence": "sure"}).frame().values.tolist()
    [[0.0, nan], [1.0, 3.0]]
    """
    named = {*map(plain_value, labels)} if isinstance(labels, list | tuple) else set()
    for role, column in columns.items():
        codes = listed("missing_codes", missing_codes)
        if role == "correct":
            codes = [code for code in codes if as_correct(code) is None]
        elif role in ("stimulus", "response"):
            codes = [code for code in codes if plain_value(code) not in named]
        rows = rows.without(codes, [column])
    return rows


def suspected_codes(values: NDArray[Any], n: NDArray[np.int64]) -> dict[float, int]:
    """Values that look like codes for missing ones, and how many trials have each.

    Usual codes (-1, 9, 99, -999, ...) that are further from the others than these are from each
    other, or the only ones below 0. Value i stands for n[i] trials.

    Examples
    --------
    >>> suspected_codes(np.array([1, 2, 3, 4, 999]), np.array([9, 9, 9, 9, 2]))
    {999.0: 2}
    >>> suspected_codes(np.arange(1, 10), np.ones(9, dtype=np.int64))
    {}
    """
    numbers, place = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    usual = np.isin(numbers, USUAL)
    others = numbers[~usual & np.isfinite(numbers)]
    if len(others) < 2:
        return {}
    # Halves, since the range of floats can overflow.
    low, high = others[0] / 2, others[-1] / 2
    is_far = np.maximum(numbers / 2 - high, low - numbers / 2) > high - low
    odd = usual & (is_far | ((numbers < 0) & (low >= 0)))
    times = np.bincount(place, n)
    return {float(numbers[i]): int(times[i]) for i in np.flatnonzero(odd)}


def code_step(suspects: Mapping[Any, int]) -> str:
    """Sentence for an error: which values look like codes, and how to say that they are."""
    if not suspects:
        return ""
    named = ", ".join(shown(value) for value in suspects)
    who = "looks like a code" if len(suspects) == 1 else "look like codes"
    return f"{named} {who} for a missing answer: if so, say missing_codes=[{named}]."


def level_step(values: NDArray[Any]) -> str:
    """Sentence for an error: which levels a column of numbers has, where these are few.

    Examples
    --------
    >>> level_step(np.array([0.5, 0.75, 1, 0.5]))
    'If these are ratings, name them, the least confident first: levels=[0.5, 0.75, 1].'
    """
    levels = np.unique(values[np.isfinite(values)])
    if not 1 < len(levels) <= MOST_LEVELS:
        return ""
    named = ", ".join(repr(level).removesuffix(".0") for level in levels.tolist())
    return f"If these are ratings, name them, the least confident first: levels=[{named}]."


def code_notices(column: str, values: NDArray[Any], n: NDArray[np.int64]) -> list[Notice]:
    """Notice of values that look like codes for missing ones and were taken as confidence.

    Examples
    --------
    >>> values = np.array([1, 2, 3, 4, 9])
    >>> code_notices("sure", values, np.array([9, 9, 9, 9, 2]))[0].message.partition(":")[0]
    "In column 'sure' values look like codes for missing answers"
    """
    suspects = suspected_codes(values, n)
    if not suspects:
        return []
    listed = ", ".join(f"{shown(value)} ({times:,} trials)" for value, times in suspects.items())
    return [notice_of("suspected-codes", column=repr(column), listed=listed)]


def label_codes(labels: Mapping[Any, int]) -> dict[Any, int]:
    """Labels that look like codes for missing answers, where the others are two.

    Examples
    --------
    >>> label_codes({"left": 50, "right": 48, "NaN": 2}), label_codes({1: 50, 2: 48, 3: 2})
    ({'NaN': 2}, {})
    """
    odd = {}
    for label, times in labels.items():
        value = plain_value(label)
        is_usual = isinstance(value, float) and value in USUAL
        if is_usual or str(label).strip().casefold() in TEXTS:
            odd[label] = times
    return odd if len(labels) - len(odd) == 2 else {}


def shown(value: Any) -> str:
    """Text of a value: numbers without a point that says nothing, words in quotes."""
    return f"{value:g}" if isinstance(value, float) else repr(value)
