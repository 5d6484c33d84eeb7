"""What the columns of trials are about: who was asked, how, which time, the answer, the question.

Table of trials → names of the columns that may tell questions apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.counts.columns import as_text

__all__ = [
    "ANSWERED",
    "GROUPS",
    "TIMES",
    "answers_of_one_time",
    "columns_of_questions",
    "columns_that_differ",
    "is_nested",
    "item_columns",
]

# What readers of logs call whose answers they are, to which version of a question.
GROUPS = ("task", "model", "prompt", "filter", "perturbation")
# What says which of several times it was.
TIMES = ("run", "log", "repeat", "epoch", "sample", "seed")
# What counts the answers to a question by itself.
COUNTERS = ("repeat", "epoch", "sample")
# Numbers of questions beside their item, in logs; a table may mean something else by them.
LOGGED, NUMBERS = ("run", "log"), ("id", "doc_id")
# What belongs to an answer.
ANSWERED = (
    *("answer", "answers", "chosen", "response", "completion", "output", "reasoning"),
    *("explanation", "score", "correct", "confidence", "confidence_se", "samples", "rating"),
    *("option_probabilities", "stimulus", "wrong_option"),
)
# A column of so many different numbers with fractions is measured, such as a time.
MEASURED = 20
# Rows that show what a column of a large table is.
LOOKED_AT = 1000


@check_inputs()
def columns_of_questions(trials: pd.DataFrame, known: Sequence[str] = ()) -> list[str]:
    """Columns that may be about the question, for nothing says that they are about something else.

    Parameters
    ----------
    trials : DataFrame
        One row per answer.
    known : sequence of str, optional
        Further columns that are about something else.

    Returns
    -------
    list of str
        Not those that readers of logs name for whose answer it is, which time it was and the answer
        itself ("output", "completion", "reasoning" and "explanation" too); nor columns of lists, or
        of more than 20 different numbers with fractions, such as times.

    Examples
    --------
    >>> trials = pd.DataFrame({"model": ["a"], "set": ["math"], "epoch": [1], "answer": ["4"]})
    >>> columns_of_questions(trials)
    ['set']
    """
    others = {*known, *GROUPS, *TIMES, *ANSWERED, "item", "target"}
    others |= {*NUMBERS} if {*LOGGED} & {*trials.columns} else set()
    names = [name for name in trials.columns if name not in others]
    return [name for name in names if not (is_nested(trials[name]) or is_measured(trials[name]))]


def columns_that_differ(
    trials: pd.DataFrame, within: Sequence[str], columns: Sequence[str]
) -> Mapping[str, int]:
    """Columns with several values in one group, and in how many groups each has them.

    Parameters
    ----------
    trials : DataFrame
        One row per answer.
    within : sequence of str
        Columns that name the groups.
    columns : sequence of str
        Columns to look at. A missing value is one that differs from others.

    Returns
    -------
    dict of str to int
        Without the columns that differ in none.

    Examples
    --------
    >>> trials = pd.DataFrame({"item": [0, 0, 1], "set": ["a", "b", "a"], "epoch": [1, 1, 1]})
    >>> columns_that_differ(trials, ["item"], ["set", "epoch"])
    {'set': 1}
    """
    coded = pd.DataFrame({name: codes(trials[name]) for name in [*within, *columns]})
    group = coded.groupby(list(within)).ngroup() if within else pd.Series(0, index=coded.index)
    several = {name: int((coded.groupby(group)[name].nunique() > 1).sum()) for name in columns}
    return {name: number for name, number in several.items() if number}


def answers_of_one_time(trials: pd.DataFrame, within: Sequence[str]) -> int:
    """Answers in a group that came at the same time as another, where columns count the times.

    Parameters
    ----------
    trials : DataFrame
        One row per answer.
    within : sequence of str
        Columns that name the groups.

    Returns
    -------
    int
        0 where there is no column "repeat", "epoch" or "sample".

    Examples
    --------
    >>> trials = pd.DataFrame({"item": [0, 0, 0, 1], "epoch": [1, 2, 1, 1]})
    >>> answers_of_one_time(trials, ["item"])
    1
    """
    if not {*COUNTERS} & {*trials.columns}:
        return 0
    names = [name for name in (*TIMES, *NUMBERS) if name in trials]
    coded = pd.DataFrame({name: codes(trials[name]) for name in dict.fromkeys([*within, *names])})
    return int(coded.duplicated().sum())


def item_columns(trials: pd.DataFrame, known: Sequence[str] = ()) -> list[str]:
    """Columns that tell items apart: their name, and what may be about the question.

    Parameters
    ----------
    trials : DataFrame
        Some rows are enough.
    known : sequence of str, optional
        Columns that are about something else.

    Returns
    -------
    list of str
        Without numbers with fractions.

    Examples
    --------
    >>> item_columns(pd.DataFrame({"item": [0], "set": ["a"], "model": ["x"], "cost": [0.5]}))
    ['item', 'set']
    """
    first = trials.head(LOOKED_AT)
    names = ["task", *columns_of_questions(first, [*known, "task"])]
    return ["item", *(name for name in names if name in first and not has_fractions(first[name]))]


def codes(column: pd.Series) -> Any:
    """Whole numbers for the values of a column, the same for values that are written alike."""
    return pd.factorize(np.array([as_text(value) for value in column.tolist()], dtype=object))[0]


def is_nested(column: pd.Series) -> bool:
    """Whether values of a column hold others."""
    known = column.dropna() if column.dtype == object else column.iloc[:0]
    return any(isinstance(value, list | tuple | dict | np.ndarray) for value in known.tolist())


def is_measured(column: pd.Series) -> bool:
    """Whether a column holds numbers with fractions, most of them different, such as times."""
    different = column.nunique() if has_fractions(column) else 0
    return different > MEASURED and 2 * different > column.notna().sum()


def has_fractions(column: pd.Series) -> bool:
    """Whether a column holds numbers with fractions."""
    is_float = pd.api.types.is_float_dtype(column)
    return is_float and bool((column.dropna() % 1 != 0).any())
