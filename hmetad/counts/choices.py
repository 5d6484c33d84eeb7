"""What tables of trials say of themselves, and whether their confidence is that of a choice.

Table of trials → list of Notice for what is counted of it.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.noticed import frame_notices
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_of
from hmetad.rows.lines import json_value
from hmetad.rows.rows import Rows
from hmetad.rows.sources import TableLike

__all__ = ["trial_notices", "two_option_notices"]

CHOICE = "confidence-of-the-choice"
# What readers of logs call the probabilities, and the confidence that they make of them.
OPTIONS, CONFIDENCE = "option_probabilities", "confidence"
LOOKED_AT = 1000


def trial_notices(trials: TableLike) -> list[Notice]:
    """Notices that a DataFrame of trials carries and that hold for counts of any kind.

    Examples
    --------
    >>> trial_notices(pd.DataFrame())
    []
    """
    carried = frame_notices(trials) if isinstance(trials, pd.DataFrame) else []
    return [notice for notice in carried if notice.code != CHOICE]


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
        One or none. Where the probabilities are there, they decide: confidence is one of the two
        in each of the first rows, or a rating that grows with it.

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
    if OPTIONS not in rows.columns:
        carried = frame_notices(trials) if isinstance(trials, pd.DataFrame) else []
        return [notice for notice in carried if notice.code == CHOICE]
    there = [name for name in {confidence, CONFIDENCE} if name in rows.columns]
    first = rows.first_rows([*there, OPTIONS], LOOKED_AT)
    pairs = [option_pair(value) for value in first[OPTIONS].tolist()]
    shown = first[[pair is not None for pair in pairs]]
    if confidence not in shown or shown.empty:
        return []
    options = np.array([pair for pair in pairs if pair is not None])
    values = {name: numbers(shown[name]) for name in there}
    counted, made = values[confidence], values.get(CONFIDENCE, values[confidence])
    is_choice = is_one_of(counted, options) or (
        is_one_of(made, options) and grows_with(counted, made)
    )
    return [notice_of(CHOICE)] if is_choice else []


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
    are_numbers = all(isinstance(one, int | float) for one in (first, second))
    return (float(first), float(second)) if are_numbers else None


def numbers(column: pd.Series) -> NDArray[np.float64]:
    """Values of a column as numbers, NaN for others."""
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan)


def is_one_of(values: NDArray[np.float64], options: NDArray[np.float64]) -> bool:
    """Whether each value that is there is a probability of its row, and one is there."""
    there = ~np.isnan(values)
    is_equal = np.isclose(values[there, None], options[there], rtol=1e-9, atol=0).any(axis=1)
    return bool(there.any() and is_equal.all())


def grows_with(ratings: NDArray[np.float64], values: NDArray[np.float64]) -> bool:
    """Whether ratings differ and never fall where the values rise."""
    there = ~np.isnan(ratings) & ~np.isnan(values)
    ordered = pd.DataFrame({"value": values[there], "rating": ratings[there]})
    steps = np.diff(ordered.sort_values(["value", "rating"])["rating"])
    return bool(steps.size and (steps >= 0).all() and (steps > 0).any())
