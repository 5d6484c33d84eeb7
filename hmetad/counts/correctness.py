"""Detect correctness in the place of the stimulus or of the response, by names and values.

Trials and the names of their columns → nothing, or InputError that says how to rebuild the table.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from hmetad.errors import InputError
from hmetad.results import type2_functions

__all__ = [
    "CUT_TRIALS",
    "as_correct",
    "is_correctness_name",
    "looks_like_correctness",
    "refuse_correctness",
    "refuse_correctness_names",
    "response_is_correctness",
    "type2_measures",
]

# Stimulus, response and whether that was right.
Row = tuple[Any, Any, bool | None]

# With fewer trials of a response, or of a stimulus, its origin cannot be proven.
CUT_TRIALS = 10

CORRECT_NAMES = ["correct", "correctness", "is_correct", "iscorrect", "was_correct", "resp_correct"]
ACCURACY_NAMES = ["accuracy", "accurate", "is_accurate", "acc", "acc_norm", "exact_match"]
CORRECTNESS_NAMES = frozenset(["response_correct", *CORRECT_NAMES, *ACCURACY_NAMES])
RIGHT_WORDS = frozenset(["correct", "right", "true", "1"])
WRONG_WORDS = frozenset(["incorrect", "wrong", "false", "error", "0"])


def refuse_correctness_names(stimulus: str, response: str) -> None:
    """Refuse correctness as the stimulus or the response, told by the names of the columns."""
    if is_correctness_name(response):
        raise response_is_correctness(f"column {response!r}, named like correctness", stimulus)
    if is_correctness_name(stimulus):
        got = f"column {stimulus!r}, named like correctness"
        step = f"Where only correctness is known use {type2_measures()}."
        raise InputError("stimulus", got, "what was shown, in two labels", step)


def refuse_correctness(
    seen: Mapping[str, pd.DataFrame], few: bool, stimulus: str, response: str
) -> None:
    """Refuse correctness as the stimulus or the response, told by other columns.

    Parameters
    ----------
    seen : mapping of str to DataFrame
        For columns named like correctness the distinct rows of stimulus, response and the column.
    few : bool
        Whether there are too few trials of a stimulus to tell.
    stimulus, response : str
        The columns.
    """
    for name, found in seen.items():
        rows = rows_with_correctness(found)
        if repeats_correctness(rows):
            got = f"column {response!r}, the same as {name!r} in every row"
            raise response_is_correctness(got, stimulus)
        if goes_with_correctness(rows) and not few:
            got = f"column {stimulus!r}, which goes with {name!r} in every row"
            step = (
                f"Where only correctness is known use {type2_measures()}; count_correct makes "
                "their table. With correctness as the stimulus M-ratio is mostly near 1, whatever "
                "the truth."
            )
            raise InputError("stimulus", got, "what was shown, in two labels", step)


def repeats_correctness(rows: Sequence[Row]) -> bool:
    """Whether the response equals the correctness column, which is not stimulus == response."""
    same = all(as_correct(r) is not None and as_correct(r) == x for _, r, x in rows)
    return same and any((s == r) != x for s, r, x in rows)


def goes_with_correctness(rows: Sequence[Row]) -> bool:
    """Whether the stimulus is the correctness column in two labels, and that is not s == r.

    Where one response is always given, the stimulus and correctness always agree; correctness is
    s == r there.
    """
    pairs = {(s, x) for s, _, x in rows}
    is_one_to_one = len(pairs) == 2 == len({s for s, _ in pairs})
    is_told_apart = {x for _, x in pairs} == {True, False}
    return is_one_to_one and is_told_apart and any((s == r) != x for s, r, x in rows)


def rows_with_correctness(seen: pd.DataFrame) -> list[Row]:
    """Distinct rows of stimulus, response and right or wrong; empty if it is no correctness."""
    known = seen.dropna()
    if not looks_like_correctness(known.iloc[:, -1].tolist()):
        return []
    rows = zip(*(known[column].tolist() for column in known), strict=True)
    return [(s, r, as_correct(x)) for s, r, x in rows]


def is_correctness_name(name: object) -> bool:
    """Whether a column is named like correctness: correct, accuracy, is_correct, acc, ..."""
    return re.sub(r"[\W_]+", "_", str(name).strip().lower()) in CORRECTNESS_NAMES


def as_correct(value: object) -> bool | None:
    """Right or wrong, or None for a value that says neither."""
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in RIGHT_WORDS else False if word in WRONG_WORDS else None
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else None


def looks_like_correctness(values: Iterable[object]) -> bool:
    """Whether every value says right or wrong."""
    return all(as_correct(value) is not None for value in values)


def response_is_correctness(got: str, stimulus: str) -> InputError:
    """Error for correctness in the place of the response, with the next step."""
    step = (
        f"Rebuild the choice: the label in {stimulus!r} where the trial was correct, the other "
        f"label where it was not. With no two alternatives use {type2_measures()}."
    )
    return InputError("response", got, "the choice made, in the labels of the stimulus", step)


def type2_measures() -> str:
    """The measures that need no stimulus, in words for a message."""
    *names, last = type2_functions()
    return f"measures of correctness and confidence alone: {', '.join(names)} and {last}"
