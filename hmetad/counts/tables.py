"""Count tables: cells, the counts of each, what is thin in them, and type-2 tables of them.

One row per cell and counts (cells, 2, 2, K), or (cells, 2, K) → DataArray (cell, stimulus,
response, rating), or (cell, correct, rating), with notices.
Sources: Galvin, Podd, Drga & Whitmore (2003) for type-2 tables; Rahnev (2025) for how many trials
it takes.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import (
    CORRECT,
    STIMULI,
    TYPE1_DIMS,
    TYPE2_DIMS,
    dims_text,
    refuse_no_counts,
)
from hmetad.counts.columns import as_correct, as_text, plain_array
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_of, notice_where, notices, notices_where, with_notices
from hmetad.notice_registry import limit
from hmetad.rows.duplicates import is_item_name
from hmetad.untrusted import read_attr

__all__ = [
    "cell_coords",
    "cell_labels",
    "cells_of",
    "count_notices",
    "count_table",
    "high_ratio_notices",
    "is_high_ratio",
    "items_together",
    "new_notices",
    "plain_attrs",
    "type2_counts",
]

# Posterior probability, as of an interval of 95 %.
SURE = 0.975


# Cells


def cells_of(
    groups: pd.DataFrame, by: list[str], covariates: list[str]
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Cell number of each row, and one row of grouping columns and covariates per cell."""
    if not by:
        index = np.zeros(len(groups), dtype=np.int64)
    else:
        ordered = groups[by].apply(naturally_ordered)
        index = ordered.groupby(by, observed=True, sort=True).ngroup().to_numpy().astype(np.int64)
    _, first = np.unique(index, return_index=True)
    cells = groups.loc[first, [*by, *covariates]].reset_index(drop=True)
    for name in covariates:
        varies = groups[name].groupby(index).nunique().to_numpy() > 1
        if varies.any():
            worst = int(np.argmax(varies))
            values = groups[name][index == worst].unique().tolist()
            cell = cell_labels(cells[by])[worst]
            shown = f"{len(values)} values in cell {cell!r}, such as {sorted(values, key=repr)[:5]}"
            step = "Group by it as well, or leave it out."
            raise InputError(f"covariate {name!r}", shown, "one value per cell", step)
    return index, cells


def naturally_ordered(column: pd.Series) -> pd.Series:
    """Column of text as a category in which numbers inside texts come by their value."""
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    if is_category or not all(isinstance(x, str) for x in column):
        return column
    levels = sorted(column.unique(), key=natural_key)
    return pd.Series(pd.Categorical(column, levels, ordered=True), column.index)


def natural_key(text: str) -> list[tuple[bool, int, str]]:
    """Parts of a text for sorting: s2 before s10.

    Examples
    --------
    >>> sorted(["s10", "s2", "a", "s2b"], key=natural_key)
    ['a', 's2', 's2b', 's10']
    """
    parts = re.split(r"(\d{1,18})", text)
    return [(True, int(x), x) if x.isdecimal() else (False, 0, x) for x in parts if x]


def cell_labels(cells: pd.DataFrame) -> list[str]:
    """Text per row, unique: its values joined by " | ", or "all" where there are no columns."""
    columns = [map(as_text, cells[name].tolist()) for name in cells]
    labels = [" | ".join(row) for row in zip(*columns, strict=True)] or ["all"] * len(cells)
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        step = "Add a column that tells the cells apart, and keep ' | ' out of the values."
        raise InputError("cell labels", f"{twice[0]!r} for more than one cell", "unique", step)
    return labels


# Tables


def count_table(
    values: NDArray[np.int64],
    cells: pd.DataFrame,
    attrs: Mapping[str, Any],
    labels: list[str] | None = None,
) -> xr.DataArray:
    """Labelled table of either kind; `cells` has one row of coordinates per cell.

    Covariates of more than two numbers say so: they are no factors, whose levels are compared.
    """
    dims, sides = (TYPE1_DIMS, STIMULI) if values.ndim == 4 else (TYPE2_DIMS, CORRECT)
    coords = {
        **cell_coords(cells),
        "cell": cell_labels(cells) if labels is None else labels,
        **{dim: list(sides) for dim in dims[:-1]},
        "rating": np.arange(1, values.shape[-1] + 1),
    }
    described = {"long_name": "number of trials", "units": "trials", **plain_attrs(attrs)}
    table = xr.DataArray(values, coords, ("cell", *dims), name="counts", attrs=described)
    for name in attrs.get("covariates", ()):
        if table[name].dtype.kind in "iuf" and len(np.unique(table[name])) > 2:
            table[name].attrs["role"] = "covariate"
    return table


def cell_coords(cells: pd.DataFrame) -> dict[str, Any]:
    """Coordinates of the cells as plain arrays, one for each column."""
    return {str(name): ("cell", plain_array(str(name), cells[name])) for name in cells}


def plain_attrs(attrs: Mapping[str, Any]) -> dict[str, str | int]:
    """Attrs in which lists and dicts are JSON, which files keep."""
    return {
        key: value if isinstance(value, str | int) else json.dumps(value, ensure_ascii=False)
        for key, value in attrs.items()
    }


@check_inputs(skip=("counts",))
def type2_counts(counts: xr.DataArray, *, response_conditional: bool = False) -> xr.DataArray:
    """Type-2 table of a count table, summed over stimuli; a type-2 table is returned as it is.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or type-2 table with dims (cell,
        correct, rating), in any order; further dims are kept.
    response_conditional : bool, optional
        A table for each response of a count table: dim response is kept.

    Returns
    -------
    DataArray
        ``counts`` (trials) with dims (..., correct, rating), correct being "wrong" and "right": a
        trial is right where response equals stimulus; ratings without numbers get 1..K. Attrs and
        notices of `counts` are carried along, without the labels of the stimuli; the notices
        of any type-2 table are added.

    Raises
    ------
    InputError
        If `counts` is neither, holds a negative or missing count, or is a type-2 table while
        `response_conditional` is set.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([5, 3, 2, 1], [1, 2, 4, 6])
    >>> type2_counts(table).sel(cell="all").values
    array([[ 4,  2],
           [ 7, 11]])
    >>> type2_counts(table, response_conditional=True).sel(cell="all", response="S2").values
    array([[2, 1],
           [4, 6]])
    """
    refuse_no_counts(counts)
    if "correct" not in counts.dims:
        table = sum_by_correctness(counts, response_conditional)
    elif response_conditional:
        got = f"a type-2 table with {dims_text(counts)}"
        raise InputError("response_conditional", f"True for {got}", "True for a count table only")
    else:
        labels = counts["correct"].to_numpy().tolist()
        if [as_correct(label) for label in labels] != [False, True]:
            got = f"dim correct with {labels}"
            raise InputError("counts", got, "'wrong' and 'right', in order")
        table = counts.transpose(..., *TYPE2_DIMS).assign_coords(correct=list(CORRECT))
    if "rating" not in table.coords:
        table = table.assign_coords(rating=np.arange(1, table.sizes["rating"] + 1))
    new = new_notices(table, notices(table))
    return with_notices(table, new) if new else table


def sum_by_correctness(counts: xr.DataArray, response_conditional: bool) -> xr.DataArray:
    """Type-2 table of a count table: right where the labels of response and stimulus agree."""
    same = counts["stimulus"].to_numpy()[:, None] == counts["response"].to_numpy()
    dims = ("correct", "stimulus", "response")
    is_side = xr.DataArray(np.stack([~same, same]), {"correct": list(CORRECT)}, dims)
    over = ["stimulus"] if response_conditional else ["stimulus", "response"]
    table = xr.dot(counts, is_side, dim=over).transpose(..., *TYPE2_DIMS)
    table.attrs = {key: value for key, value in counts.attrs.items() if key != "labels"}
    return table.rename("counts")


# What is thin in a table


def count_notices(counts: xr.DataArray) -> list[Notice]:
    """Notices of any table: unused ratings and stimuli, few trials or errors, ceiling.

    The table has the dims of one kind, those of cells or none, and maybe more. Of a type-2 table
    for each response the whole cell has few trials, or one of its responses. Cells of single
    items are judged by all the items that go with their other grouping columns.
    """
    counts = items_together(counts)
    is_type2 = "correct" in counts.dims
    if is_type2:
        wrong, right = (counts.isel(correct=i, drop=True).sum("rating") for i in (0, 1))
        total = wrong + right
        empty = counts.sum("correct") == 0
    else:
        shown = counts.sum(["response", "rating"])
        total = shown.sum("stimulus")
        wrong = total - sum(
            counts.sel(stimulus=s, response=s, drop=True).sum("rating") for s in STIMULI
        )
        empty = counts.sum(["stimulus", "response"]) == 0
    parts = [dim for dim in total.dims if is_type2 and dim == "response"]
    has_few = total.sum(parts) < limit("few-trials")
    has_no_errors = (wrong == 0) & (total > 0)
    if is_type2:
        few_of_part = (total < limit("few-trials")).any(parts) & ~has_few
        return notices_where(
            {
                "empty-ratings": empty.any("rating"),
                "few-trials": has_few,
                "few-trials.of-response": few_of_part,
                "no-errors": has_no_errors,
                "no-rights": (right == 0) & (total > 0),
            }
        )
    is_unsaid = (counts.sum("rating") == 0).any("response")
    return notices_where(
        {
            "empty-ratings": empty.any("rating"),
            "sparse-ratings": (empty.mean("rating") > 0.5) & (total > 0),
            "one-stimulus": (shown == 0).any("stimulus"),
            "few-trials": has_few,
            "few-errors": (wrong > 0) & (wrong < limit("few-errors")) & ~has_few,
            "no-errors": has_no_errors,
            "ceiling": (is_unsaid & (shown > 0)).any("stimulus"),
        }
    )


def new_notices(counts: xr.DataArray, said: Sequence[Notice]) -> list[Notice]:
    """Notices of a table but for those that earlier ones of the same code and cells have said."""
    return [
        notice
        for notice in count_notices(counts)
        if not any(old.code == notice.code and {*notice.cells} <= {*old.cells} for old in said)
    ]


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


# Ratios that are too high


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
