"""Items of the trials: cells that mix them, and cells that were given the same ones.

Columns that are named like items, and their values in the cells → list of Notice, lists of cells.
Source: Rahnev & Fleming (2019) for what mixtures do to M-ratio.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.notice import Notice, notice_of
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.queries import Values

__all__ = ["cells_of_the_same_items", "item_notices"]

# Identifiers may be alike by accident, as row numbers are; the stimuli that go with as many of
# them are not.
FEWEST_ITEMS = 20
# More cells are not needed to see what is alike, and cost memory.
MOST_CELLS = 3000


def item_notices(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[Notice]:
    """Notice of cells whose trials are of several items.

    Parameters
    ----------
    columns : mapping of str to Values
        What each of the columns that are named like items holds within the grouping columns and
        the stimuli, the last of its groups.
    cells : DataFrame
        One row of grouping columns per cell.
    labels : sequence of str
        Names of the cells.

    Returns
    -------
    list of Notice
        One ``"mixed-items"`` (info), or none: numbers that no two trials share are no items.

    Examples
    --------
    >>> from hmetad.rows.queries import Spread
    >>> from hmetad.rows.sources import rows_of
    >>> trials = pd.DataFrame({"stimulus": list("abab"), "item": [1, 1, 2, 2]})
    >>> (values,) = rows_of(trials).ask([Spread(("stimulus",), "item")])
    >>> item_notices({"item": values}, pd.DataFrame(index=[0]), ["all"])[0].code
    'mixed-items'
    """
    items = {name: mixed_cells(columns[name], cells) for name in item_columns(columns)}
    items = {name: where for name, where in items.items() if where.any()}
    if not items:
        return []
    together = np.any(list(items.values()), axis=0)
    where = [label for label, holds in zip(labels, together, strict=True) if holds]
    return [notice_of("mixed-items", where, columns=", ".join(items))]


def cells_of_the_same_items(
    columns: Mapping[str, Values], cells: pd.DataFrame, labels: Sequence[str]
) -> list[list[str]]:
    """Groups of cells that were given the same items: their data are paired.

    Parameters
    ----------
    columns, cells, labels
        As in `item_notices`; the first column that is named like items is used.

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
