"""What tables of trials say of themselves, and whether their confidence is that of a choice.

Table of trials → list of Notice for what is counted of it.
"""

import math
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.noticed import frame_notices
from hmetad.counts.questions import item_columns
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_of
from hmetad.rows.lines import json_value
from hmetad.rows.queries import Distinct
from hmetad.rows.rows import Rows
from hmetad.rows.sources import TableLike

__all__ = [
    "POSITIONS",
    "WRONG_OPTION",
    "dependence",
    "pair_notices",
    "trial_notices",
    "two_option_notices",
]

CHOICE, PAIRED = "confidence-of-the-choice", "paired-options"
# What readers of logs call the probabilities, and the confidence that they make of them.
OPTIONS, CONFIDENCE = "option_probabilities", "confidence"
# What pairs of options have: places of the right one, and a column that no other trials have.
POSITIONS, WRONG_OPTION = ("A", "B"), "wrong_option"
PAIRS = ("item", WRONG_OPTION, "stimulus", "response", CONFIDENCE)
LOOKED_AT = 1000
# Relative difference of numbers that files keep in single precision.
SINGLE = 1e-6


def trial_notices(trials: TableLike) -> list[Notice]:
    """Notices that a DataFrame of trials carries and that hold for counts of any kind.

    Examples
    --------
    >>> trial_notices(pd.DataFrame())
    []
    """
    # What is counted is looked through for codes by itself.
    return [one for one in carried_notices(trials) if one.code not in (CHOICE, "suspected-codes")]


def two_option_notices(trials: TableLike, rows: Rows, confidence: str) -> list[Notice]:
    """Notice that confidence is that of the choice between two options, which concerns M alone.

    Parameters
    ----------
    trials : table
        As it was given; a DataFrame may carry the notice.
    rows : Rows
        The same, in which the probabilities of options are looked for.
    confidence : str
        Column that is counted.

    Returns
    -------
    list of Notice
        One or none. Probabilities decide where at least half of the first rows have those of two
        options: confidence is one of the two, or a rating that grows with it. Else what a reader
        of logs said of its column of confidence holds for that and for ratings made of it.

    Examples
    --------
    >>> from hmetad.rows.sources import rows_of
    >>> trials = pd.DataFrame({"confidence": [0.8], "option_probabilities": ["[0.8, 0.2]"]})
    >>> [notice.code for notice in two_option_notices(trials, rows_of(trials), "confidence")]
    ['confidence-of-the-choice']
    >>> stated = trials.assign(confidence=0.9)
    >>> two_option_notices(stated, rows_of(stated), "confidence")
    []
    """
    said = [notice for notice in carried_notices(trials) if notice.code == CHOICE]
    names = [name for name in (confidence, CONFIDENCE, OPTIONS) if name in rows.columns]
    if confidence not in names or (OPTIONS not in names and not said):
        return []
    first = rows.first_rows([*dict.fromkeys(names)], LOOKED_AT)
    counted = numbers(first[confidence])
    made = numbers(first[CONFIDENCE]) if CONFIDENCE in first else counted
    is_made = confidence == CONFIDENCE or grows_with(counted, made)
    pairs = [option_pair(x) for x in first[OPTIONS].tolist()] if OPTIONS in first else []
    has_two = np.array([pair is not None for pair in pairs], dtype=bool)
    if not has_two.any() or 2 * has_two.sum() < first[OPTIONS].notna().sum():
        # Rows beyond the first ones may have two.
        is_open = OPTIONS not in first or len(first) == LOOKED_AT
        return said if is_made and is_open else []
    options = np.array([pair for pair in pairs if pair is not None])
    is_choice = is_one_of(counted[has_two], options) or (
        is_one_of(made[has_two], options) and is_made
    )
    return [notice_of(CHOICE)] if is_choice else []


def pair_notices(trials: TableLike, rows: Rows, confidence: str, number: int) -> list[Notice]:
    """Notices of pairs of options, which are known by their columns, unless trials carry them.

    Parameters
    ----------
    trials : table
        As it was given; a DataFrame may carry the notices.
    rows : Rows
        The same, in which the columns are looked for.
    confidence : str
        Column that is counted.
    number : int
        Pairs that are counted.

    Returns
    -------
    list of Notice
        None where they are no pairs; that of the choice only where what is counted is the
        confidence of the pairs, or grows with it.

    Examples
    --------
    >>> from hmetad.rows.sources import rows_of
    >>> pairs = pd.DataFrame({"item": [1], "wrong_option": [0], "stimulus": ["B"],
    ...                       "response": ["B"], "confidence": [0.8]})
    >>> [notice.code for notice in pair_notices(pairs, rows_of(pairs), "confidence", 1)]
    ['paired-options', 'confidence-of-the-choice']
    """
    carried = {notice.code for notice in carried_notices(trials)}
    if PAIRED in carried or not {*PAIRS} <= {*rows.columns}:
        return []
    first = rows.first_rows([*{*PAIRS, confidence}], LOOKED_AT)
    if not first[["stimulus", "response"]].isin(POSITIONS).all(axis=None):
        return []
    counted, made = numbers(first[confidence]), numbers(first[CONFIDENCE])
    is_choice = confidence == CONFIDENCE or grows_with(counted, made)
    parts = item_columns(rows.first_rows(sorted(rows.columns), LOOKED_AT), [confidence])
    items = rows.ask([Distinct(tuple(parts))])[0][0]
    found = dependence(number, len(items))
    return [notice for notice in found if is_choice or notice.code == PAIRED]


def dependence(number: int, items: int) -> list[Notice]:
    """Notices of any table of pairs: what they share, and where their confidence comes from.

    Examples
    --------
    >>> [notice.code for notice in dependence(12, 2)]
    ['paired-options', 'confidence-of-the-choice']
    """
    return [
        notice_of(PAIRED, number=number, items=items),
        notice_of(CHOICE),
    ]


def option_pair(value: Any) -> tuple[float, float] | None:
    """Probabilities of two options, in a list or JSON text; None for anything else."""
    if isinstance(value, str):
        try:
            value = json_value(OPTIONS, value.encode("utf-8", "surrogatepass"))
        except InputError:
            # The column is not counted: what it holds besides is no matter here.
            return None
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 2:
        return None
    first, second = value
    are_numbers = all(isinstance(one, Real) for one in (first, second))
    return (float(first), float(second)) if are_numbers else None


def carried_notices(trials: TableLike) -> list[Notice]:
    """Notices that a table carries, if it is one that can."""
    return frame_notices(trials) if isinstance(trials, pd.DataFrame) else []


def numbers(column: pd.Series) -> NDArray[np.float64]:
    """Values of a column as numbers, NaN for others."""
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan)


def is_one_of(values: NDArray[np.float64], options: NDArray[np.float64]) -> bool:
    """Whether each value that is there is a probability of its row, and one is there."""
    there = ~np.isnan(values)
    is_equal = np.isclose(values[there, None], options[there], rtol=SINGLE, atol=0).any(axis=1)
    return bool(there.any() and is_equal.all())


def grows_with(ratings: NDArray[np.float64], values: NDArray[np.float64]) -> bool:
    """Whether ratings differ and never fall where the values rise."""
    there = ~np.isnan(ratings) & ~np.isnan(values)
    ordered = pd.DataFrame({"value": values[there], "rating": ratings[there]})
    steps = np.diff(ordered.sort_values(["value", "rating"])["rating"])
    return bool(steps.size and (steps >= 0).all() and (steps > 0).any())
