"""Items: columns that tell questions apart, cells that mix items, and cells that share them.

Table of trials → names of columns; columns that are named like items, and their values in the cells
→ list of Notice, lists of cells. Source: Rahnev & Fleming (2019) for what mixtures do to M-ratio.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.arguments import check_inputs
from hmetad.counts.columns import as_text, group_numbers
from hmetad.notice import Notice, notice_of
from hmetad.rows.queries import Values

__all__ = [
    "ANSWERED",
    "FEWEST_ITEMS",
    "GROUPS",
    "TIMES",
    "answers_of_one_time",
    "columns_of_questions",
    "columns_that_differ",
    "is_nested",
    "item_columns",
    "item_notices",
    "same_item_cells",
]

# What readers of logs call whose answers they are, to which version of a question.
GROUPS = ("task", "model", "prompt", "filter", "perturbation")
# What says which of several times it was; some of these count the answers to one question.
TIMES = ("run", "log", "repeat", "epoch", "sample", "seed")
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
# Identifiers may be alike by accident, as row numbers are; the stimuli that go with as many of
# them are not.
FEWEST_ITEMS = 20
# More cells are not needed to see what is alike, and cost memory.
MOST_CELLS = 3000


# Columns that tell questions apart


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


def item_columns(trials: pd.DataFrame, known: Sequence[str] = ()) -> list[str]:
    """Columns that tell items apart: their name, and what may be about the question.

    Not those that are known to be about something else, and no numbers with fractions.
    """
    first = trials.head(LOOKED_AT)
    names = ["task", *columns_of_questions(first, [*known, "task"])]
    return ["item", *(name for name in names if name in first and not has_fractions(first[name]))]


def columns_that_differ(
    trials: pd.DataFrame, within: Sequence[str], columns: Sequence[str]
) -> Mapping[str, int]:
    """Columns with several values in one group, and in how many groups each has them.

    A missing value is one that differs from others.
    """
    coded = written_values(trials, [*within, *columns])
    groups = coded.groupby(group_numbers(coded[[*within]]))
    several = {name: int((groups[name].nunique() > 1).sum()) for name in columns}
    return {name: number for name, number in several.items() if number}


def answers_of_one_time(trials: pd.DataFrame, within: Sequence[str]) -> int:
    """Answers in a group that came at the same time as another, where columns count the times."""
    if not {*COUNTERS} & {*trials.columns}:
        return 0
    names = [name for name in (*TIMES, *NUMBERS) if name in trials]
    return int(written_values(trials, [*within, *names]).duplicated().sum())


def written_values(trials: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Whole numbers for the values of columns, the same for values that are written alike."""
    texts = {name: [*map(as_text, trials[name].tolist())] for name in dict.fromkeys(columns)}
    codes = {name: pd.factorize(np.array(x, dtype=object))[0] for name, x in texts.items()}
    return pd.DataFrame(codes)


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
    return pd.api.types.is_float_dtype(column) and bool((column.dropna() % 1 != 0).any())


# Items of cells


def item_notices(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[Notice]:
    """Notice of cells whose trials are of several items for one stimulus.

    `columns` has, of those that are named like items, what they hold within the grouping columns
    and the stimulus; `cells` one row of grouping columns per cell. Numbers that no two trials
    share number the trials.
    """
    mixed = {}
    for name, values in real_items(columns).items():
        where = in_cells(values.several[values.several["several"]], cells)["cell"]
        if len(where):
            mixed[name] = np.isin(np.arange(len(cells)), where)
    if not mixed:
        return []
    together = np.any([*mixed.values()], axis=0)
    told = [label for label, holds in zip(labels, together, strict=True) if holds]
    return [notice_of("mixed-items", told, columns=", ".join(mixed))]


def same_item_cells(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[list[str]]:
    """Groups of cells, two at least, that were given the same items: their data are paired.

    The first column that is named like items is used. Two cells are of one group where they have
    twenty items in common or more, each with the same stimulus in both. Of more than 2000 items
    some 2000 are looked at; with more than 3000 cells, none.
    """
    items = [*real_items(columns).values()]
    if not items or not 1 < len(cells) <= MOST_CELLS:
        return []
    rows = in_cells(items[0].sample, cells)
    # After the grouping columns comes the stimulus.
    stimulus, (item, _) = pd.factorize(rows[cells.shape[1]])[0], pd.factorize(rows["value"])
    shown = np.zeros((2, len(cells), item.max(initial=0) + 1), dtype=bool)
    shown[(stimulus == 1).astype(np.int64), rows["cell"], item] = True
    return [[labels[i] for i in group] for group in groups_alike(shown)]


def real_items(columns: Mapping[str, Values]) -> dict[str, Values]:
    """Columns of items, but for numbers that no two trials share: these number the trials."""
    return {k: x for k, x in columns.items() if not (x.are_numbers and x.are_unique)}


def in_cells(rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Rows of groups, numbered 0, 1, ... in the order of the cells' columns, with their cell."""
    keys = list(range(cells.shape[1]))
    if not keys:
        return rows.assign(cell=0)
    numbered = cells.set_axis(keys, axis=1).assign(cell=np.arange(len(cells)))
    return rows.merge(numbered, on=keys)


def groups_alike(shown: NDArray[np.bool_]) -> list[list[int]]:
    """Cells connected by items in common; `shown` is (stimulus, cell, item)."""
    first, second = shown
    # As 4-byte floats a product of matrices is fast, and counts are exact up to 2²⁴.
    patterns = [x.astype(np.float32) for x in (first & ~second, second & ~first, first & second)]
    alike = sum(x @ x.T for x in patterns)
    present = (first | second).astype(np.float32)
    together = present @ present.T
    is_paired = (together >= FEWEST_ITEMS) & (alike == together)
    np.fill_diagonal(is_paired, False)
    _, group = connected_components(csr_array(is_paired), directed=False)
    members = [np.flatnonzero(group == i).tolist() for i in np.unique(group)]
    return [cells for cells in members if len(cells) > 1]
