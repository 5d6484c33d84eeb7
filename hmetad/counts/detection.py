"""Responses that are a cut of confidence: found in counts, or made so on explicit request.

Count table whose response the rating determines → notices, or InputError; type-2 table (cell,
correct, rating) → count table with correctness in the place of the stimulus, and a notice. M-ratio
is then near 1, whatever the truth. Source: Cacioli (2026), an analysis that its author withdrew.
"""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

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
from hmetad.notice import Notice, notice_of, notices, with_notices

__all__ = ["ACKNOWLEDGEMENT", "CUT_TRIALS", "as_detection", "cut_notices"]

ACKNOWLEDGEMENT = "M-ratio near 1 by construction"
# With fewer trials of a response, or of a stimulus, its origin cannot be proven.
CUT_TRIALS = 10
# Trials of each response from which one shared rating is no chance.
MANY_TRIALS = 200


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
    K = max(t, ratings - t)
    # A side with fewer ratings never uses the highest ones.
    sides = [
        side.assign_coords(rating=np.arange(1, side.sizes["rating"] + 1)).reindex(
            rating=np.arange(1, K + 1), fill_value=0
        )
        for side in (table.isel(rating=slice(t - 1, None, -1)), table.isel(rating=slice(t, None)))
    ]
    counts = xr.concat(sides, pd.Index(STIMULI, name="response"), combine_attrs="override")
    counts = counts.rename(correct="stimulus").assign_coords(stimulus=list(STIMULI))
    first = [dim for dim in table.dims if dim not in TYPE2_DIMS]
    counts = counts.transpose(*first, *TYPE1_DIMS).rename("counts")
    counts.attrs |= {
        "labels": json.dumps(["wrong", "right"]),
        "ratings_rule": f"K = {K}, the distance from the cut",
        "cut": t,
    }
    return with_notices(counts, [said, *new_notices(counts, notices(table))])


def cut_notices(
    values: NDArray[np.int64], cells: pd.DataFrame, labels: Sequence[str], is_allowed: bool
) -> list[Notice]:
    """Notices of responses in counts (cells, 2, 2, K) that a cut of the rating determines.

    They are refused unless they are allowed, where there is proof: of all trials together, of a
    level of one grouping column, or of a cell. A response that always comes with one and the same
    rating may be a strong bias: it is noticed where it holds for all trials together.
    """
    used = values.sum(axis=1)
    groupings = [np.zeros(len(used), dtype=np.int64), np.arange(len(used))]
    groupings += [pd.factorize(cells[name])[0].astype(np.int64) for name in cells]
    is_proven = np.zeros(len(used), dtype=bool)
    for group in groupings:
        together = np.zeros((group.max() + 1, *used.shape[1:]), dtype=np.int64)
        np.add.at(together, group, used)
        is_proven |= is_cut(together, ratings=2)[group]
    concerned, all_trials = np.asarray(labels)[is_proven].tolist(), used.sum(axis=0)
    measures = {"type2_measures": type2_measures()}
    said = notice_of("response-is-confidence-cut", **measures)
    if concerned and not is_allowed:
        where = "every cell" if is_proven.all() else f"cell {concerned[0]!r}"
        more = f" and {len(concerned) - 1} more" if 1 < len(concerned) < len(used) else ""
        got = f"a choice that the rating alone determines, in {where}{more}"
        step = (
            f"{said.message} {said.next_step} A scale from sure S1 to sure S2 is no confidence "
            "before it is folded: the rating is the distance from its middle. "
            "response_from_confidence=True counts all the same."
        )
        raise InputError("response", got, "a choice between the stimuli, made apart from it", step)
    if is_proven.all() or (not concerned and is_cut(all_trials, ratings=1)):
        return [said]
    if concerned:
        return [notice_of("response-is-confidence-cut", concerned, **measures)]
    if is_nearly_cut(all_trials):
        return [notice_of("response-is-confidence-cut.nearly", **measures)]
    return []


def is_cut(used: NDArray[np.int64], *, ratings: int) -> NDArray[np.bool_]:
    """Whether one response has all its ratings below the other's; `used` is (..., response, K).

    Each response needs enough trials, and so many different ratings.
    """
    is_used = used > 0
    has_enough = (used.sum(axis=-1) >= CUT_TRIALS) & (is_used.sum(axis=-1) >= ratings)
    lowest = is_used.argmax(axis=-1)
    highest = used.shape[-1] - 1 - is_used[..., ::-1].argmax(axis=-1)
    is_apart = (highest < lowest[..., ::-1]).any(axis=-1)
    return has_enough.all(axis=-1) & is_apart


def is_nearly_cut(used: NDArray[np.int64]) -> bool:
    """Whether many trials, (response, K), have one rating alone in common."""
    is_used = used > 0
    if (used.sum(axis=1) < MANY_TRIALS).any() or (is_used.sum(axis=1) < 2).any():
        return False
    (first, last), (other, end) = (np.flatnonzero(one)[[0, -1]] for one in is_used)
    return bool(last == other or end == first)
