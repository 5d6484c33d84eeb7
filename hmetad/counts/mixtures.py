"""Columns of the trials that differ within cells: mixed difficulty, and items that cells share.

DataFrame of trials and the cells they were counted in → list of Notice, and lists of cells.
Source: Rahnev & Fleming (2019) for what mixtures do to M-ratio.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.notice import Notice, notice_of

__all__ = ["cells_of_the_same_items", "is_item_name", "mixture_notices", "rows_in_cells"]

DIFFICULTY_WORDS = frozenset(
    ["coherence", "contrast", "difficulty", "intensity", "snr", "staircase"],
)
DIFFICULTY_NAMES = frozenset(
    [
        "evidence_strength",
        "noise_level",
        "signal_level",
        "signal_strength",
        "stim_level",
        "stim_strength",
        "stimulus_level",
        "stimulus_strength",
    ]
)
ITEM_NAMES = frozenset(
    [
        "doc_id",
        "image",
        "image_id",
        "item",
        "item_id",
        "problem",
        "problem_id",
        "prompt_id",
        "question",
        "question_id",
        "sentence",
        "word",
    ]
)
PLAIN_KINDS = frozenset(["boolean", "categorical", "floating", "integer", "string"])
# Identifiers may be alike by accident, as row numbers are; the stimuli that go with as many of
# them are not.
FEWEST_ITEMS = 20
# More items, or cells, are not needed to see what is alike, and cost memory.
MOST_ITEMS = 2000
MOST_CELLS = 3000


def rows_in_cells(
    trials: pd.DataFrame, cells: pd.DataFrame, by: Sequence[str], stimulus: str, column: str
) -> pd.DataFrame:
    """Distinct values of a column with each stimulus of each cell.

    Parameters
    ----------
    trials : DataFrame
        One row per trial.
    cells : DataFrame
        One row of grouping columns per cell.
    by : sequence of str
        The grouping columns.
    stimulus, column : str
        The column of the stimuli, and the one in question. Of a number only the absolute value is
        used: its sign often is that of the stimulus.

    Returns
    -------
    DataFrame
        Columns cell (position), stimulus and value; rows with a missing value are left out.

    Examples
    --------
    >>> trials = pd.DataFrame({"stimulus": ["a", "b", "b"], "contrast": [-0.1, 0.1, 0.2]})
    >>> rows_in_cells(trials, pd.DataFrame(index=[0]), [], "stimulus", "contrast").values.tolist()
    [[0, 'a', 0.1], [0, 'b', 0.1], [0, 'b', 0.2]]
    """
    values = trials[column]
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    # Grouping columns are numbered, since one may be named "value".
    numbers = list(range(len(by)))
    rows = trials[[*by]].set_axis(numbers, axis=1)
    rows = rows.assign(stimulus=trials[stimulus], value=abs(values) if is_number else values)
    distinct = rows.drop_duplicates().dropna()
    if not by:
        return distinct.assign(cell=0)[["cell", "stimulus", "value"]]
    numbered = cells[[*by]].set_axis(numbers, axis=1).assign(cell=np.arange(len(cells)))
    return distinct.merge(numbered, on=numbers)[["cell", "stimulus", "value"]]


def mixture_notices(
    trials: pd.DataFrame,
    cells: pd.DataFrame,
    labels: Sequence[str],
    by: Sequence[str],
    used: Sequence[str],
    stimulus: str,
) -> list[Notice]:
    """Notices of cells whose trials are of several difficulties or items.

    Parameters
    ----------
    trials : DataFrame
        One row per trial.
    cells : DataFrame
        One row of grouping columns per cell.
    labels : sequence of str
        Names of the cells.
    by, used : sequence of str
        The grouping columns, and all the columns in use, which are not examined.
    stimulus : str
        The column of the stimuli. What it determines, such as the sign of a contrast, is not
        mixed.

    Returns
    -------
    list of Notice
        ``"mixed-difficulty"`` (warning: columns named like difficulty, contrast, coherence or a
        staircase's level) and ``"mixed-items"`` (info: columns named like items or questions, but
        not numbers that no two trials share), each with its cells.

    Examples
    --------
    >>> trials = pd.DataFrame({"stimulus": list("abab"), "contrast": [0.1, 0.1, 0.2, 0.2]})
    >>> one = pd.DataFrame(index=[0])
    >>> mixture_notices(trials, one, ["all"], [], ["stimulus"], "stimulus")[0].code
    'mixed-difficulty'
    """
    difficulty = mixed_in(trials, cells, by, stimulus, difficulty_columns(trials, used))
    items = mixed_in(trials, cells, by, stimulus, item_columns(trials, used))
    found = []
    if difficulty:
        where, first = labels_where(labels, difficulty.values()), next(iter(difficulty))
        columns = ", ".join(difficulty)
        found.append(notice_of("mixed-difficulty", where, columns=columns, first=first))
    if items:
        where = labels_where(labels, items.values())
        found.append(notice_of("mixed-items", where, columns=", ".join(items)))
    return found


def cells_of_the_same_items(
    trials: pd.DataFrame,
    cells: pd.DataFrame,
    labels: Sequence[str],
    by: Sequence[str],
    used: Sequence[str],
    stimulus: str,
) -> list[list[str]]:
    """Groups of cells that were given the same items: their data are paired.

    Parameters
    ----------
    trials, cells, labels, by, used, stimulus
        As in `mixture_notices`; the first column that is named like items is used.

    Returns
    -------
    list of list of str
        Labels of the cells of each group, two at least. Two cells are of one group where they
        have twenty items in common or more, each with the same stimulus in both.

    Notes
    -----
    Of more than 2000 items some 2000 are used; with more than 3000 cells, none.

    Examples
    --------
    >>> items = pd.DataFrame({"item": range(30), "stimulus": ["a", "b", "b"] * 10})
    >>> trials = pd.concat([items.assign(model=name) for name in ("m1", "m2")])
    >>> models = pd.DataFrame({"model": ["m1", "m2"]})
    >>> used = ["model", "stimulus"]
    >>> cells_of_the_same_items(trials, models, ["m1", "m2"], ["model"], used, "stimulus")
    [['m1', 'm2']]
    """
    columns = item_columns(trials, used)
    if not columns or not 1 < len(cells) <= MOST_CELLS:
        return []
    rows = rows_in_cells(trials, cells, by, stimulus, columns[0])
    item, known = pd.factorize(rows["value"])
    kept = item % (-(-len(known) // MOST_ITEMS) or 1) == 0
    is_second = pd.factorize(rows["stimulus"])[0][kept] == 1
    place = rows["cell"].to_numpy()[kept], np.unique(item[kept], return_inverse=True)[1]
    shown = np.zeros((2, len(cells), place[1].max(initial=0) + 1), dtype=bool)
    for second in (0, 1):
        here = is_second == bool(second)
        shown[second, place[0][here], place[1][here]] = True
    return [[labels[i] for i in group] for group in groups_alike(shown)]


def is_item_name(name: object) -> bool:
    """Whether a column is named like items: item, question_id, doc_id, ..."""
    return plain_name(name) in ITEM_NAMES


def is_difficulty_name(name: object) -> bool:
    """Whether a column is named like difficulty: contrast, coherence, staircase_level, ..."""
    plain = plain_name(name)
    return plain in DIFFICULTY_NAMES or not DIFFICULTY_WORDS.isdisjoint(plain.split("_"))


def plain_name(name: object) -> str:
    """Name in lower case, its words joined by "_"; `itemId` has two."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name).strip())
    return re.sub(r"[\W_]+", "_", words).lower()


def difficulty_columns(trials: pd.DataFrame, used: Sequence[str]) -> list[str]:
    """Columns that are not in use, hold plain values and are named like difficulty."""
    return [name for name in plain_columns(trials, used) if is_difficulty_name(name)]


def item_columns(trials: pd.DataFrame, used: Sequence[str]) -> list[str]:
    """Columns that are not in use, hold plain values and are named like items.

    Numbers that no two trials share number the trials.
    """
    named_so = [name for name in plain_columns(trials, used) if is_item_name(name)]
    return [name for name in named_so if not numbers_the_trials(trials[name])]


def numbers_the_trials(values: pd.Series) -> bool:
    """Whether these are numbers, each another one."""
    return pd.api.types.is_numeric_dtype(values) and values.is_unique


def plain_columns(trials: pd.DataFrame, used: Sequence[str]) -> list[str]:
    """Names of the columns, apart from those in use, that can be told by their names and values.

    A column of lists cannot be grouped, and one whose name comes twice is not one column.
    """
    names = [name for name in trials.columns if isinstance(name, str) and name not in used]
    once = [name for name in names if names.count(name) == 1]
    told = [name for name in once if is_item_name(name) or is_difficulty_name(name)]
    return [n for n in told if pd.api.types.infer_dtype(trials[n], skipna=True) in PLAIN_KINDS]


def mixed_in(
    trials: pd.DataFrame,
    cells: pd.DataFrame,
    by: Sequence[str],
    stimulus: str,
    columns: Sequence[str],
) -> dict[str, NDArray[np.bool_]]:
    """Columns with several values for a stimulus of a cell, and in which cells they have them."""
    found = {}
    for column in columns:
        rows = rows_in_cells(trials, cells, by, stimulus, column)
        several = rows.groupby(["cell", "stimulus"], observed=True).size() > 1
        where = several[several].index.get_level_values("cell")
        is_mixed = np.isin(np.arange(len(cells)), where)
        if is_mixed.any():
            found[column] = is_mixed
    return found


def labels_where(labels: Sequence[str], masks: Iterable[NDArray[np.bool_]]) -> tuple[str, ...]:
    """Labels where one of the masks holds."""
    together = np.any(list(masks), axis=0)
    return tuple(label for label, holds in zip(labels, together, strict=True) if holds)


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
