"""Count tables: the cells, the counts of each, what is thin in them, and type-2 tables of them.

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
    TYPE1_DIMS,
    TYPE2_DIMS,
    Axes,
    dims_text,
    refuse_no_counts,
)
from hmetad.counts.columns import as_correct, as_text, group_numbers, plain_array
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
    groups: pd.DataFrame, by: Sequence[str], covariates: Sequence[str]
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Cell number of each row, and one row of grouping columns and covariates per cell."""
    ordered = {name: naturally_ordered(groups[name]) for name in by}
    index = group_numbers(pd.DataFrame(ordered, groups.index), sort=True)
    _, first = np.unique(index, return_index=True)
    cells = groups.loc[first, [*by, *covariates]].reset_index(drop=True)
    for name in covariates:
        varies = groups[name].groupby(index).nunique().to_numpy() > 1
        if varies.any():
            worst = int(np.argmax(varies))
            values = groups[name][index == worst].unique().tolist()
            cell = cell_labels(cells[[*by]])[worst]
            shown = f"{len(values)} values in cell {cell!r}, such as {sorted(values, key=repr)[:5]}"
            step = "Group by it as well, or leave it out."
            raise InputError(f"covariate {name!r}", shown, "one value per cell", step)
    return index, cells


def naturally_ordered(column: pd.Series) -> pd.Series:
    """Column of text as a category in which numbers inside texts come by their value: s2, s10."""
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    if is_category or not all(isinstance(x, str) for x in column):
        return column

    def parts(text: str) -> list[tuple[bool, int, str]]:
        split = re.split(r"(\d{1,18})", text)
        return [(True, int(x), x) if x.isdecimal() else (False, 0, x) for x in split if x]

    levels = sorted(column.unique(), key=parts)
    return pd.Series(pd.Categorical(column, levels, ordered=True), column.index)


def cell_labels(cells: pd.DataFrame) -> list[str]:
    """Text per row, unique: its values joined by " | ", or "all" where there are no columns."""
    columns = [map(as_text, cells[name].tolist()) for name in cells]
    labels = [" | ".join(row) for row in zip(*columns, strict=True)] or ["all"] * len(cells)
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        step = "Add a column that tells the cells apart, and keep ' | ' out of the values."
        raise InputError("cell labels", f"{twice[0]!r} for more than one cell", "unique", step)
    return labels


def cell_coords(cells: pd.DataFrame) -> dict[str, Any]:
    """Coordinates of the cells as plain arrays, one for each column."""
    return {str(name): ("cell", plain_array(str(name), cells[name])) for name in cells}


# Tables


def count_table(
    values: NDArray[np.int64],
    axes: Axes,
    cells: pd.DataFrame,
    attrs: Mapping[str, Any],
    labels: Sequence[str],
) -> xr.DataArray:
    """Labelled table of counts (cells, *axes, K); `cells` has one row of coordinates per cell.

    Covariates of more than two numbers say so: they are no factors, whose levels are compared.
    """
    coords = {
        **cell_coords(cells),
        "cell": labels,
        **{dim: list(names) for dim, names in axes.labels.items()},
        "rating": np.arange(1, values.shape[-1] + 1),
    }
    described = {"long_name": "number of trials", "units": "trials", **plain_attrs(attrs)}
    table = xr.DataArray(values, coords, ("cell", *axes.dims), name="counts", attrs=described)
    for name in attrs.get("covariates", ()):
        if table[name].dtype.kind in "iuf" and len(np.unique(table[name])) > 2:
            table[name].attrs["role"] = "covariate"
    return table


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


def items_together(counts: xr.DataArray) -> xr.DataArray:
    """Table in which each cell of an item has the counts of all items that go with it.

    An item is a grouping column that is named like one: item, question_id, image, ... The cells
    stay as they are, each with the sum over those that differ from it in the item alone.
    """
    by = read_attr(counts.attrs, "by")
    others = [name for name in by if not is_item_name(name)]
    if len(others) == len(by) or "cell" not in counts.dims or not {*by} <= {*counts.coords}:
        return counts
    columns = {name: counts[name].to_numpy() for name in others}
    index = group_numbers(pd.DataFrame(columns, range(counts.sizes["cell"])))
    table = counts.transpose("cell", ...)
    sums = np.zeros((index.max(initial=0) + 1, *table.shape[1:]), dtype=table.dtype)
    np.add.at(sums, index, table.to_numpy())
    return table.copy(data=sums[index])


# What is thin in a table


def count_notices(counts: xr.DataArray) -> list[Notice]:
    """Notices of any table: unused ratings and stimuli, few trials or errors, ceiling.

    The table has the dims of one kind, those of cells or none, and maybe more. Of a type-2 table
    for each response the whole cell has few trials, or one of its responses. Cells of single
    items are judged by all the items that go with their other grouping columns.
    """
    counts = items_together(counts)
    if "correct" in counts.dims:
        wrong, right = (counts.isel(correct=i, drop=True).sum("rating") for i in (0, 1))
        total = wrong + right
        parts = [dim for dim in total.dims if dim == "response"]
        few = total.sum(parts) < limit("few-trials")
        return notices_where(
            {
                "empty-ratings": (counts.sum("correct") == 0).any("rating"),
                "few-trials": few,
                "few-trials.of-response": (total < limit("few-trials")).any(parts) & ~few,
                "no-errors": (wrong == 0) & (total > 0),
                "no-rights": (right == 0) & (total > 0),
            }
        )
    shown, is_empty = counts.sum(["response", "rating"]), counts.sum(["stimulus", "response"]) == 0
    total = shown.sum("stimulus")
    wrong = total - right_ratings(counts).sum("rating")
    few = total < limit("few-trials")
    is_unsaid = (counts.sum("rating") == 0).any("response")
    return notices_where(
        {
            "empty-ratings": is_empty.any("rating"),
            "sparse-ratings": (is_empty.mean("rating") > 0.5) & (total > 0),
            "one-stimulus": (shown == 0).any("stimulus"),
            "few-trials": few,
            "few-errors": (wrong > 0) & (wrong < limit("few-errors")) & ~few,
            "no-errors": (wrong == 0) & (total > 0),
            "ceiling": (is_unsaid & (shown > 0)).any("stimulus"),
        }
    )


def right_ratings(counts: xr.DataArray) -> xr.DataArray:
    """Trials of each rating in which the response was the stimulus."""
    labels = counts["stimulus"].values
    return sum((counts.sel(stimulus=s, response=s, drop=True) for s in labels), xr.DataArray(0))


def new_notices(counts: xr.DataArray, said: Sequence[Notice]) -> list[Notice]:
    """Notices of a table but for those that earlier ones of the same code and cells have said."""
    return [
        notice
        for notice in count_notices(counts)
        if not any(old.code == notice.code and {*notice.cells} <= {*old.cells} for old in said)
    ]


# Ratios that are too high


def is_high_ratio(draws: xr.DataArray) -> xr.DataArray:
    """Where draws of M-ratio, dims chain and draw, say that it is clearly above 1.5."""
    return (draws > limit("high-m-ratio")).mean(["chain", "draw"]) >= SURE


def high_ratio_notices(
    is_high: xr.DataArray, counts: xr.DataArray, population: str = ""
) -> list[Notice]:
    """Notice of an M-ratio that is clearly above 1.5, with what its ratings look like.

    Its table has these cells or others. With the words for a population no cells are named.
    """
    if not is_high.any():
        return []
    if "cell" in is_high.dims and "cell" in counts.dims:
        high = is_high.any([dim for dim in is_high.dims if dim != "cell"])
        own = counts["cell"].isin(high["cell"][high])
        counts = counts[{"cell": own.to_numpy()}] if own.any() else counts
    n = counts.sum([dim for dim in counts.dims if dim not in TYPE1_DIMS])
    right, trials = right_ratings(n), n.sum(["stimulus", "response"])
    lowest = int((trials.to_numpy() > 0).argmax())
    wrong = trials - right
    shown = {
        "accuracy": (right.sum() / trials.sum()).item(),
        "lowest": (right / trials)[lowest].item(),
        "errors": 100 * (wrong[lowest] / max(wrong.sum().item(), 1)).item(),
    }
    if population:
        return [notice_of("high-m-ratio.population", where=population, **shown)]
    return notice_where(is_high, "high-m-ratio", **shown)
