"""What is thin in a count table: empty ratings, unseen stimuli, few or no errors, ceiling.

Count table (cell, stimulus, response, rating) → list of Notice.
Source: Rahnev (2025) for how many trials it takes.
"""

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.counts.checks import STIMULI, require_stimulus
from hmetad.notice import Notice, notices_where
from hmetad.notice_registry import limit
from hmetad.rows.duplicates import is_item_name
from hmetad.untrusted import read_attr

__all__ = ["count_notices", "items_together"]


def count_notices(counts: xr.DataArray) -> list[Notice]:
    """Notices of any count table: empty ratings, unseen stimuli, few or no errors, ceiling.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or one cell of it.

    Returns
    -------
    list of Notice
        ``"empty-ratings"`` (info: a rating that nobody used in a cell), ``"sparse-ratings"`` (more
        than half of them), ``"one-stimulus"``, ``"few-trials"`` (fewer than 100, Rahnev 2025),
        ``"few-errors"`` (1 to 9 where there are trials enough), ``"no-errors"`` and ``"ceiling"``
        (hit or false-alarm rate of 0 or 1), all warnings; each once, with its cells. Cells of
        single items are judged by all the items that go with their other grouping columns.

    Raises
    ------
    InputError
        If the table has no stimulus.

    Examples
    --------
    >>> values = [[[7, 8], [1, 4]], [[0, 0], [3, 9]]]
    >>> coords = {"stimulus": ["S1", "S2"], "response": ["S1", "S2"]}
    >>> counts = xr.DataArray(values, coords, ["stimulus", "response", "rating"])
    >>> [notice.code for notice in count_notices(counts)]
    ['few-trials', 'ceiling']
    """
    require_stimulus(counts, "count_notices")
    counts = items_together(counts)
    shown = counts.sum(["response", "rating"])
    one_sided = ((counts.sum("rating") == 0).any("response") & (shown > 0)).any("stimulus")
    empty = counts.sum(["stimulus", "response"]) == 0
    sparse = (empty.mean("rating") > 0.5) & (shown.sum("stimulus") > 0)
    total = shown.sum("stimulus")
    wrong = total - sum(
        counts.sel(stimulus=s, response=s, drop=True).sum("rating") for s in STIMULI
    )
    has_few = total < limit("few-trials")
    return notices_where(
        {
            "empty-ratings": empty.any("rating"),
            "sparse-ratings": sparse,
            "one-stimulus": (shown == 0).any("stimulus"),
            "few-trials": has_few,
            "few-errors": (wrong > 0) & (wrong < limit("few-errors")) & ~has_few,
            "no-errors": (wrong == 0) & (total > 0),
            "ceiling": one_sided,
        }
    )


def items_together(counts: xr.DataArray) -> xr.DataArray:
    """Count table in which each cell of an item has the counts of all items that go with it.

    Parameters
    ----------
    counts : DataArray
        Count or type-2 table with dim cell. An item is a grouping column that is named like one:
        item, question_id, image, ... A subject is none.

    Returns
    -------
    DataArray
        The same cells, each with the sum over those that differ from it in the item alone; the
        table itself where no grouping column is an item.

    Examples
    --------
    >>> coords = {"cell": ["m | 1", "m | 2"], "model": ("cell", ["m", "m"])}
    >>> coords["item"] = "cell", [1, 2]
    >>> by = {"by": '["model", "item"]'}
    >>> table = xr.DataArray([[1, 0], [2, 3]], coords, ["cell", "rating"], attrs=by)
    >>> items_together(table).values
    array([[3, 3],
           [3, 3]])
    """
    by = read_attr(counts.attrs, "by")
    items = [name for name in by if is_item_name(name)]
    if not items or "cell" not in counts.dims or not {*by} <= {*counts.coords}:
        return counts
    others = {name: counts[name].to_numpy() for name in by if name not in items}
    index = np.zeros(counts.sizes["cell"], dtype=np.int64)
    if others:
        index = pd.DataFrame(others).groupby(list(others)).ngroup().to_numpy().astype(np.int64)
    values = counts.transpose("cell", ...).to_numpy()
    sums = np.zeros((index.max(initial=0) + 1, *values.shape[1:]), dtype=values.dtype)
    np.add.at(sums, index, values)
    return counts.transpose("cell", ...).copy(data=sums[index])
