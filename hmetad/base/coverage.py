"""How many items each cell has, of those that cells which it is compared with have.

Cells and items of trials → coverage, kept in ``attrs["coverage"]`` as JSON → what comparisons say.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.base.notice_registry import limit
from hmetad.base.untrusted import read_attr

type Ints = NDArray[np.int64]
# Of a cell the items that it has, and those that it and the cells that share items with it have.
type Items = Mapping[str, Sequence[int]]

CODE = "unequal-items"
# More cells are single people or items, and not compared one by one.
MOST_CELLS = 3000


def item_coverage(
    cells: pd.DataFrame, labels: Sequence[str], cell: Ints, item: Ints
) -> dict[str, Items]:
    """Items of the cells that share some, by each column that may be compared.

    Parameters
    ----------
    cells : DataFrame
        Grouping columns, one row per cell.
    labels : sequence of str
        Of the cells.
    cell, item : array of int, shape (pairs,)
        Number of the cell and of the item of each pair that occurs, as of `distinct_pairs`.

    Returns
    -------
    dict of str to dict
        By column. Cells that differ in this column alone are compared; those of which no other has
        any of their items are left out.

    Examples
    --------
    >>> cells = pd.DataFrame({"model": ["a", "b"]})
    >>> item_coverage(cells, ["a", "b"], np.array([0, 0, 1]), np.array([7, 8, 8]))
    {'model': {'a': [2, 2], 'b': [1, 2]}}
    """
    if len(cells) > MOST_CELLS or not len(item):
        return {}
    own = np.bincount(cell, minlength=len(cells))
    found: dict[str, Items] = {}
    for over in map(str, cells):
        part, owner, _ = shared_parts(cells, over, cell, item)
        shares = np.bincount(part)[part] > 1
        if shares.any():
            known = np.bincount(part[owner[owner >= 0]], minlength=len(cells))[part]
            rows = zip(labels, own.tolist(), known.tolist(), shares, strict=True)
            found[over] = {
                label: [has, all_of_it] for label, has, all_of_it, is_one in rows if is_one
            }
    return found


def distinct_pairs(cell: Ints, item: Ints) -> tuple[Ints, Ints]:
    """Cell and item of each pair that occurs; items are numbers, -1 for none."""
    known = item >= 0
    size = int(item.max(initial=0)) + 1
    codes = np.sort(cell[known] * size + item[known])
    return np.divmod(codes[np.diff(codes, prepend=-1) > 0], size)


def shared_parts(cells: pd.DataFrame, over: str, cell: Ints, item: Ints) -> tuple[Ints, Ints, Ints]:
    """Parts of cells, that share no item with each other; and places of items in them.

    Items are those of cells that differ in one column alone, and in what this column determines.
    Returns the part of each cell; a cell that has the item of each place, -1 for none; and the
    place of each pair of cell and item.
    """
    others = strata_columns(cells, over)
    place, size = item, len(cells)
    if others:
        stratum = cells.groupby(others, observed=True, sort=False).ngroup().to_numpy(int)
        place = pd.factorize(stratum[cell] * (item.max() + 1) + item)[0]
    owner = np.full(place.max() + 1, -1)
    owner[place] = cell
    # Cells that have an item are joined with one that has it.
    joined = np.zeros((size, size), dtype=bool)
    joined[cell, owner[place]] = True
    part = connected_components(csr_array(joined), directed=False)[1]
    return part.astype(np.int64), owner, place


def strata_columns(cells: pd.DataFrame, over: str) -> list[str]:
    """Columns that are equal where levels of another are compared, and not determined by it."""
    several = cells.groupby(over, observed=True).nunique().gt(1).any()
    return [str(name) for name in several.index if several[name]]


def coverage_notices(
    coverage: Mapping[str, Items], cells: pd.DataFrame, labels: Sequence[str], over: str | None
) -> list[Notice]:
    """Notice of unequal items, of the levels of a column or of the first one that has any."""
    over = over if over in coverage else next(iter(coverage), None)
    if over is None:
        return []
    levels, own = dict(zip(labels, cells[over], strict=True)), coverage[over]
    return unequal_items(over, [*own], [levels[x] for x in own], np.array([*own.values()]))


def coverage_attrs(coverage: Mapping[str, Items]) -> dict[str, str]:
    """Attrs that carry coverage; none where no cells share items."""
    return {"coverage": json.dumps(coverage, ensure_ascii=False)} if coverage else {}


def items_of(attrs: Mapping[Any, Any], over: str, labels: Iterable[object]) -> Ints | None:
    """Items that cells have, and those that they could have, (cells, 2), as attrs say.

    0 of 0 where a cell shares items with no other; None where none of them does.
    """
    known: Items = read_attr(attrs, "coverage").get(over, {})
    rows = np.array([known.get(str(label), [0, 0]) for label in labels], dtype=np.int64)
    return rows.reshape(-1, 2) if rows.any() else None


def shares_of(items: Ints | NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the items that a cell could have; NaN where these are none."""
    own, every = items.T.astype(float)
    return np.divide(own, every, out=np.full(len(own), np.nan), where=every > 0)


def summed_coverage(
    attrs: Mapping[Any, Any], old: Iterable[object], new: Sequence[str], uses: NDArray[np.bool_]
) -> dict[str, str]:
    """Coverage attrs of sums of cells; `uses` is (new, old)."""
    sums = {}
    for over in read_attr(attrs, "coverage"):
        items = items_of(attrs, over, old)
        if items is not None:
            rows = (uses.astype(np.int64) @ items).tolist()
            sums[over] = dict(zip(new, rows, strict=True))
    return coverage_attrs(sums)


def unequal_items(
    over: str, labels: Sequence[str], levels: Sequence[object], items: Ints
) -> list[Notice]:
    """Notice of cells that lack items which others have, with the numbers of their levels.

    Parameters
    ----------
    over : str
        The column that is compared.
    labels, levels : sequence
        Of the cells, and of this column.
    items : array of int, shape (cells, 2)
        Items that a cell has, and those that it could have.

    Returns
    -------
    list of Notice
        One or none.

    Examples
    --------
    >>> unequal_items("model", ["a", "b"], ["a", "b"], np.array([[2, 2], [1, 2]]))[0].message
    'Levels of model were not measured on the same items: b 1 of 2 (50 %).'
    """
    share = shares_of(items)
    if not (share < 1).any():
        return []
    rows = pd.DataFrame(items).groupby(np.array([*map(str, levels)]), sort=False).sum()
    sums = [(level, own, every, own / every) for level, own, every in rows.itertuples()]
    listed = [
        f"{level} {own:,} of {every:,} ({min(100 * part, 99.9):.3g} %)"
        for level, own, every, part in sorted(sums, key=lambda row: row[3])
        if own < every
    ]
    name = CODE if (share < 1 - limit(CODE)).any() else "unequal-items.few"
    short = [label for label, one in zip(labels, share, strict=True) if one < 1]
    return [notice_of(name, short, over=over, listed=first_few(listed))]
