"""What is thin in a count table, and what ratings of an M-ratio that is too high look like.

Count table (cell, stimulus, response, rating) → list of Notice.
Source: Rahnev (2025) for how many trials it takes.
"""

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.counts.checks import STIMULI, TYPE1_DIMS, require_stimulus
from hmetad.notice import Notice, notice_of, notice_where, notices_where
from hmetad.notice_registry import limit
from hmetad.rows.duplicates import is_item_name
from hmetad.untrusted import read_attr

__all__ = ["count_notices", "high_ratio_notices", "is_high_ratio", "items_together"]

# Posterior probability, as of an interval of 95 %.
SURE = 0.975


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


def is_high_ratio(draws: xr.DataArray) -> xr.DataArray:
    """Where draws of M-ratio, dims chain and draw, say that it is clearly above 1.5.

    Examples
    --------
    >>> draws = xr.DataArray([[[1.4, 2.0], [1.6, 2.5]]], dims=["chain", "draw", "cell"])
    >>> is_high_ratio(draws).values
    array([False,  True])
    """
    return (draws > limit("high-m-ratio")).mean(["chain", "draw"]) >= SURE


def high_ratio_notices(
    is_high: xr.DataArray, counts: xr.DataArray, population: str = ""
) -> list[Notice]:
    """Notice of an M-ratio that is clearly above 1.5, with what its ratings look like.

    Parameters
    ----------
    is_high : DataArray of bool
        Dims start with cell, or there is no cell.
    counts : DataArray
        Count table that M-ratio was estimated from, of these cells or of others.
    population : str, optional
        Which population it is of, in words; then no cells are named.

    Returns
    -------
    list of Notice
        One ``"high-m-ratio"`` (warning), or none.

    Examples
    --------
    >>> coords = {"cell": ["a"], "stimulus": ["S1", "S2"], "response": ["S1", "S2"]}
    >>> values = [[[[4, 30], [16, 0]], [[16, 0], [4, 30]]]]
    >>> counts = xr.DataArray(values, coords, ["cell", "stimulus", "response", "rating"])
    >>> print(high_ratio_notices(xr.DataArray([True], {"cell": ["a"]}), counts)[0].message)
    M-ratio is clearly above 1.5. Accuracy is 0.68, at the lowest rating 0.20; 100 % of errors \
have it.
    """
    if not is_high.any():
        return []
    if "cell" in is_high.dims and "cell" in counts.dims:
        high = is_high.any([dim for dim in is_high.dims if dim != "cell"])
        own = counts["cell"].isin(high["cell"][high])
        counts = counts[{"cell": own.to_numpy()}] if own.any() else counts
    n = counts.sum([dim for dim in counts.dims if dim not in TYPE1_DIMS])
    first, second = (n.sel(stimulus=s, response=s, drop=True) for s in STIMULI)
    right, trials = first + second, n.sum(["stimulus", "response"])
    lowest = int((trials.to_numpy() > 0).argmax())
    wrong = (trials - right)[lowest] / max((trials - right).sum().item(), 1)
    shown = {
        "accuracy": (right.sum() / trials.sum()).item(),
        "lowest": (right / trials)[lowest].item(),
        "errors": 100 * wrong.item(),
    }
    if population:
        return [notice_of("high-m-ratio.population", where=population, **shown)]
    return notice_where(is_high, "high-m-ratio", **shown)


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
