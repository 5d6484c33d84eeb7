"""Columns of the trials that differ within cells: mixed difficulty, and items that cells share.

Values of these columns in the cells that were counted → list of Notice, and lists of cells.
Source: Rahnev & Fleming (2019) for what mixtures do to M-ratio.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.notice import Notice, notice_of
from hmetad.rows.duplicates import is_item_name, plain_name
from hmetad.rows.queries import Values

__all__ = ["cells_of_the_same_items", "mixture_columns", "mixture_notices"]

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
# Identifiers may be alike by accident, as row numbers are; the stimuli that go with as many of
# them are not.
FEWEST_ITEMS = 20
# More cells are not needed to see what is alike, and cost memory.
MOST_CELLS = 3000


def mixture_columns(columns: Iterable[object], used: Sequence[str]) -> list[str]:
    """Names of columns, apart from those in use, that are named like difficulty or items.

    One whose name comes twice is not one column.

    Examples
    --------
    >>> mixture_columns(["contrast", "item_id", "rt", "model"], ["model"])
    ['contrast', 'item_id']
    """
    named = Counter(columns)
    names = [name for name in named if isinstance(name, str) and name not in used]
    told = [name for name in names if is_item_name(name) or is_difficulty_name(name)]
    return [name for name in told if named[name] == 1]


def mixture_notices(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[Notice]:
    """Notices of cells whose trials are of several difficulties or items.

    Parameters
    ----------
    columns : mapping of str to Values
        What each of the `mixture_columns` holds within the grouping columns and the stimuli, the
        last of its groups. What the stimulus determines, such as the sign of a contrast, is not
        mixed.
    cells : DataFrame
        One row of grouping columns per cell.
    labels : sequence of str
        Names of the cells.

    Returns
    -------
    list of Notice
        ``"mixed-difficulty"`` (warning: columns named like difficulty, contrast, coherence or a
        staircase's level) and ``"mixed-items"`` (info: columns named like items or questions, but
        not numbers that no two trials share), each with its cells.

    Examples
    --------
    >>> from hmetad.rows.queries import Spread
    >>> from hmetad.rows.sources import rows_of
    >>> trials = pd.DataFrame({"stimulus": list("abab"), "contrast": [0.1, 0.1, 0.2, 0.2]})
    >>> (values,) = rows_of(trials).ask([Spread(("stimulus",), "contrast")])
    >>> mixture_notices({"contrast": values}, pd.DataFrame(index=[0]), ["all"])[0].code
    'mixed-difficulty'
    """
    mixed = {name: mixed_cells(values, cells) for name, values in columns.items()}
    mixed = {name: where for name, where in mixed.items() if where.any()}
    difficulty = {name: mixed[name] for name in mixed if is_difficulty_name(name)}
    items = {name: mixed[name] for name in item_columns(columns) if name in mixed}
    found = []
    if difficulty:
        where, first = labels_where(labels, difficulty.values()), next(iter(difficulty))
        names = ", ".join(difficulty)
        found.append(notice_of("mixed-difficulty", where, columns=names, first=first))
    if items:
        where = labels_where(labels, items.values())
        found.append(notice_of("mixed-items", where, columns=", ".join(items)))
    return found


def cells_of_the_same_items(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[list[str]]:
    """Groups of cells that were given the same items: their data are paired.

    Parameters
    ----------
    columns, cells, labels
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
    >>> from hmetad.rows.queries import Spread
    >>> from hmetad.rows.sources import rows_of
    >>> items = pd.DataFrame({"item": range(30), "stimulus": ["a", "b", "b"] * 10})
    >>> trials = pd.concat([items.assign(model=name) for name in ("m1", "m2")])
    >>> (values,) = rows_of(trials).ask([Spread(("model", "stimulus"), "item")])
    >>> models = pd.DataFrame({"model": ["m1", "m2"]})
    >>> cells_of_the_same_items({"item": values}, models, ["m1", "m2"])
    [['m1', 'm2']]
    """
    items = item_columns(columns)
    if not items or not 1 < len(cells) <= MOST_CELLS:
        return []
    rows = in_cells(columns[items[0]].sample, cells)
    # After the grouping columns comes the stimulus.
    is_second = pd.factorize(rows[cells.shape[1]])[0] == 1
    place = rows["cell"].to_numpy(), pd.factorize(rows["value"])[0]
    shown = np.zeros((2, len(cells), place[1].max(initial=0) + 1), dtype=bool)
    for second in (0, 1):
        here = is_second == bool(second)
        shown[second, place[0][here], place[1][here]] = True
    return [[labels[i] for i in group] for group in groups_alike(shown)]


def is_difficulty_name(name: object) -> bool:
    """Whether a column is named like difficulty: contrast, coherence, staircase_level, ..."""
    plain = plain_name(name)
    return plain in DIFFICULTY_NAMES or not DIFFICULTY_WORDS.isdisjoint(plain.split("_"))


def item_columns(columns: Mapping[str, Values]) -> list[str]:
    """Columns that are named like items; numbers that no two trials share number the trials."""
    named_so = {name: values for name, values in columns.items() if is_item_name(name)}
    return [n for n, values in named_so.items() if not (values.are_numbers and values.are_unique)]


def mixed_cells(values: Values, cells: pd.DataFrame) -> NDArray[np.bool_]:
    """Which cells have several values of a column for one stimulus."""
    where = in_cells(values.several[values.several["several"]], cells)["cell"]
    return np.isin(np.arange(len(cells)), where)


def in_cells(rows: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Rows of groups, numbered 0, 1, ... in the order of the cells' columns, with their cell."""
    keys = list(range(cells.shape[1]))
    if not keys:
        return rows.assign(cell=0)
    numbered = cells.set_axis(keys, axis=1).assign(cell=np.arange(len(cells)))
    return rows.merge(numbered, on=keys)


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
