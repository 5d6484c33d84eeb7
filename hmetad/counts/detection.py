"""Correctness in the place of the stimulus, on explicit request: an analysis without an answer.

Type-2 table (cell, correct, rating) → count table (cell, stimulus, response, rating) with a
notice. Source: Cacioli (2026), an analysis that its author withdrew.
"""

import json

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.counts.checks import (
    STIMULI,
    TYPE1_DIMS,
    TYPE2_DIMS,
    dims_text,
    refuse_no_counts,
    type2_measures,
    whole_number,
)
from hmetad.counts.tables import new_notices, type2_counts
from hmetad.errors import InputError
from hmetad.notice import notice_of, notices, with_notices

__all__ = ["ACKNOWLEDGEMENT", "as_detection"]

ACKNOWLEDGEMENT = "M-ratio near 1 by construction"


@check_inputs(skip=("type2_table", "acknowledge"))
def as_detection(
    type2_table: xr.DataArray, *, acknowledge: str = "", cut: int | None = None
) -> xr.DataArray:
    r"""Count table in which correctness is the stimulus and a cut of confidence the response.

    Parameters
    ----------
    type2_table : DataArray
        Type-2 table with dims (cell, correct, rating), as `count_correct` makes it; further dims
        are kept.
    acknowledge : str
        ``"M-ratio near 1 by construction"``, literally: the result, known in advance.
    cut : int, optional
        Ratings up to here are the response S1, "wrong". By default half of them, as in the
        withdrawn analysis; where their number is odd a cut has to be given.

    Returns
    -------
    DataArray
        ``counts`` (trials) with dims (cell, stimulus, response, rating): S1 is wrong, S2 right, and
        the rating is the distance from the cut, 1 beside it. Attrs and notices of the type-2 table
        are carried along; ``cut`` is added, and the notice ``"correctness-as-stimulus"`` of
        severity "error".

    Raises
    ------
    InputError
        If the fact is not acknowledged; if this is no type-2 table; if the cut leaves no rating on
        a side.

    Notes
    -----
    With R ratings, cut t and K = max(t, R − t),

    .. math:: n[s, S1, k] = n_2[s, t + 1 - k], \quad n[s, S2, k] = n_2[s, t + k]

    Type-1 and type-2 responses are then cuts of one variable: where its
    distributions for right and wrong are normal with equal variance, M-ratio is 1, however well
    confidence tells the two apart. A table that is folded like this looks like that of a task
    with two alternatives; so it carries the notice.

    Examples
    --------
    >>> table = xr.DataArray([[30, 9, 7, 4], [6, 14, 20, 60]], dims=["correct", "rating"])
    >>> counts = as_detection(table, acknowledge="M-ratio near 1 by construction")
    >>> counts.sel(stimulus="S1").values
    array([[ 9, 30],
           [ 7,  4]])
    """
    said = notice_of("correctness-as-stimulus", type2_measures=type2_measures())
    if not isinstance(acknowledge, str) or acknowledge != ACKNOWLEDGEMENT:
        step = f"{said.message} {said.next_step}"
        raise InputError("acknowledge", repr(acknowledge), repr(ACKNOWLEDGEMENT), step)
    refuse_no_counts(type2_table)
    if "correct" not in type2_table.dims:
        step = "Fit it as it is; type2_counts makes a type-2 table of it."
        got = f"a count table with {dims_text(type2_table)}"
        raise InputError("type2_table", got, "a table with dims correct and rating", step)
    table = type2_counts(type2_table)
    ratings = table.sizes["rating"]
    if cut is None and ratings % 2:
        step = "An odd number of ratings has no half."
        raise InputError("cut", f"none for {ratings} ratings", f"1 to {ratings - 1}", step)
    t = ratings // 2 if cut is None else whole_number("cut", cut, 1)
    if t >= ratings:
        raise InputError("cut", f"{t} for {ratings} ratings", f"1 to {ratings - 1}")
    counts = fold_ratings(table, t)
    counts.attrs |= {
        "labels": json.dumps(["wrong", "right"]),
        "ratings_rule": f"K = {counts.sizes['rating']}, the distance from the cut",
        "cut": t,
    }
    return with_notices(counts, [said, *new_notices(counts, notices(table))])


def fold_ratings(table: xr.DataArray, t: int) -> xr.DataArray:
    """Ratings up to t as response S1 and those above as S2, each counted from the cut."""
    low, high = table.isel(rating=slice(t - 1, None, -1)), table.isel(rating=slice(t, None))
    ratings = np.arange(1, max(low.sizes["rating"], high.sizes["rating"]) + 1)
    # A side with fewer ratings never uses the highest ones.
    sides = [
        side.assign_coords(rating=ratings[: side.sizes["rating"]]).reindex(
            rating=ratings, fill_value=0
        )
        for side in (low, high)
    ]
    counts = xr.concat(sides, pd.Index(STIMULI, name="response"), combine_attrs="override")
    first = [dim for dim in table.dims if dim not in TYPE2_DIMS]
    counts = counts.rename(correct="stimulus").assign_coords(stimulus=list(STIMULI))
    return counts.transpose(*first, *TYPE1_DIMS).rename("counts")
