"""Count tables: the cells, the counts of each, what is thin or made up in them, and their kinds.

One row per cell and counts (cells, 2, 2, K), or (cells, 2, K) → DataArray (cell, stimulus,
response, rating), or (cell, correct, rating), with notices. One kind of table → the other: a type-2
table of a count table, and, on explicit request, a count table with correctness as the stimulus,
whose M-ratio is nearly the same whatever the truth.
Sources: Galvin, Podd, Drga & Whitmore (2003) for type-2 tables; Rahnev (2025) for how many trials
it takes; Cacioli (2026), an analysis that its author withdrew, for correctness as the stimulus.
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

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import whole
from hmetad.base.errors import (
    ChoiceError,
    LabelError,
    RatingError,
    RepeatError,
    ShapeError,
    listed_both,
)
from hmetad.base.notice import Notice, notice_of, notice_where, notices, notices_where, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.untrusted import read_attr
from hmetad.counts.checks import (
    CORRECT,
    POOL,
    STIMULI,
    TYPE1_DIMS,
    TYPE2_DIMS,
    Axes,
    counted_options,
    dims_text,
    has_more_options,
    refuse_no_counts,
    type2_measures,
)
from hmetad.counts.columns import as_correct, as_text, group_numbers, plain_array
from hmetad.rows.duplicates import is_item_name, is_people_name
from hmetad.rows.values import refuse_unwritable

# Posterior probability, as of an interval of 95 %.
SURE = 0.975
ACKNOWLEDGEMENT = "M-ratio near 1 by construction"
# With fewer trials of a response, or of a stimulus, its origin cannot be proven.
CUT_TRIALS = 10
# With so many of each response one of many cells, or levels, is proof.
PROOF_TRIALS = 30
# Trials of a rating that are expected in a cell, and are not missing by chance; of a stimulus.
EXPECTED = 10
# Standard deviations by which chance alone hardly makes responses go with the other stimulus.
UNLIKELY_Z = 3
# Trials of each response from which one shared rating is no chance.
MANY_TRIALS = 200
# Slips, as a share of the trials, up to which the rating determines the response; and how clearly
# confidence is then lower for right answers of the one response, and higher for those of the other.
MOST_SLIPS, SLIP_Z, FEWEST_ERRORS = 0.2, 3, 5


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
            raise ChoiceError(f"covariate {name!r}", shown, "one value per cell", step)
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
    values = pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce").to_numpy(float)
    if not np.isnan(values).any():
        # Numbers that are text: .5 comes before .25 by their digits.
        levels = [levels[i] for i in np.argsort(values, kind="stable")]
    refuse_unwritable(str(column.name), levels)
    return pd.Series(pd.Categorical(column, levels, ordered=True), column.index)


def cell_labels(cells: pd.DataFrame) -> list[str]:
    """Text per row, unique: its values joined by " | ", or "all" where there are no columns."""
    columns = [map(as_text, cells[name].tolist()) for name in cells]
    labels = [" | ".join(row) for row in zip(*columns, strict=True)] or ["all"] * len(cells)
    twice = [label for label, times in Counter(labels).items() if times > 1]
    if twice:
        step = "Add a column that tells the cells apart, and keep ' | ' out of the values."
        raise RepeatError("cell labels", f"{twice[0]!r} for more than one cell", "unique", step)
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
        correct, rating), in any order; further dims are kept. Of more than two stimuli their
        number becomes the coordinate ``options`` of the cells.
    response_conditional : bool, optional
        A table for each response of a count table: dim response is kept.

    Returns
    -------
    DataArray
        ``counts`` (trials) with dims (..., correct, rating), correct being "wrong" and "right": a
        trial is correct where response equals stimulus; ratings without numbers get 1..K. Attrs and
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
    counts = counts.drop_vars(POOL & {*counts.coords})
    if "correct" not in counts.dims:
        table = sum_by_correctness(counts, response_conditional)
    elif response_conditional:
        got = f"a type-2 table with {dims_text(counts)}"
        raise ChoiceError("response_conditional", f"True for {got}", "True for a count table only")
    else:
        labels = counts["correct"].to_numpy().tolist()
        if [as_correct(label) for label in labels] != [False, True]:
            got = f"dim correct with {labels}"
            raise ChoiceError("counts", got, "'wrong' and 'right', in order")
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
    if has_more_options(counts) and not response_conditional:
        own = ["cell"] if "cell" in table.dims else []
        options = np.full([table.sizes[dim] for dim in own], counts.sizes["stimulus"])
        table = table.assign_coords(options=(own, options))
    return table.rename("counts")


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
        ``counts`` (trials) with dims (cell, stimulus, response, rating): S1 is an error, S2
        correct, and the rating is the distance from the cut, 1 next to it. Attrs and notices of the
        type-2 table are carried along; ``cut`` is added, and the notice
        ``"correctness-as-stimulus"`` of severity "error".

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
    distributions for correct and incorrect are normal with equal variance, M-ratio is 1, however
    well confidence tells the two apart. A table that is folded like this looks like that of a task
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
        raise ChoiceError("acknowledge", repr(acknowledge), repr(ACKNOWLEDGEMENT), step)
    refuse_no_counts(type2_table)
    if "correct" not in type2_table.dims:
        step = "Fit it as it is; type2_counts makes a type-2 table of it."
        got = f"a count table with {dims_text(type2_table)}"
        raise ShapeError("type2_table", got, "a table with dims correct and rating", step)
    table = type2_counts(type2_table)
    ratings = table.sizes["rating"]
    if cut is None and ratings % 2:
        step = "An odd number of ratings has no half."
        raise RatingError("cut", f"none for {ratings} ratings", f"1 to {ratings - 1}", step)
    t = ratings // 2 if cut is None else cut
    whole(1, ratings - 1)("cut", t)
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


def items_together(counts: xr.DataArray) -> xr.DataArray:
    """Table in which each cell of an item has the counts of all items that go with it.

    An item is a grouping column that is named like one: item, question_id, image, ... The cells
    stay as they are, each with the sum over those that differ from it in the item alone.
    """
    by = read_attr(counts.attrs, "by")
    others = [name for name in by if not is_item_name(name)]
    if len(others) == len(by) or "cell" not in counts.dims or not {*by} <= {*counts.coords}:
        return counts
    sums, index = sums_by(counts, others)
    return counts.transpose("cell", ...).copy(data=sums[index])


def sums_by(counts: xr.DataArray, columns: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sums of the cells that agree in some columns, and which sum each cell is in."""
    table = counts.transpose("cell", ...)
    values = {name: counts[name].to_numpy() for name in columns}
    index = group_numbers(pd.DataFrame(values, range(len(table))))
    sums = np.zeros((index.max(initial=-1) + 1, *table.shape[1:]), dtype=table.dtype)
    np.add.at(sums, index, table.to_numpy())
    return sums, index


def without_columns(counts: xr.DataArray) -> xr.DataArray:
    """Table without the columns of its cells, which may be called like an estimate; m stays."""
    return counts.drop_vars({*counts.coords} - {"options", *counts.dims})


# What is thin in a table


def ratings_in_use(table: xr.DataArray) -> xr.DataArray:
    """Number of ratings of each cell: those of the table, or fewer where some are not used.

    A cell may lack a rating by chance with fewer than 100 trials, or with fewer than 10 expected by
    the shares of the ratings in all cells.
    """
    by_rating = table.sum([dim for dim in table.dims if dim not in ("cell", "rating")])
    used, trials = (by_rating > 0).sum("rating"), by_rating.sum("rating")
    expected = trials * by_rating.sum("cell") / max(1, int(trials.sum()))
    has_enough = trials >= limit("few-trials")
    is_missed = ((by_rating == 0) & (expected >= EXPECTED)).any("rating")
    fewer = has_enough & is_missed & (used < used.where(has_enough, 0).max())
    return used.where(fewer, (by_rating.sum("cell") > 0).sum("rating"))


def rating_attrs(table: xr.DataArray) -> dict[str, str]:
    """Attrs that say how many ratings cells have: "" is every cell that is not named."""
    number = ratings_in_use(table)
    most = int(number.max())
    fewer = number[number < most].rename("ratings").to_series().to_dict()
    return {"ratings": json.dumps({"": most, **fewer}, ensure_ascii=False)}


def unequal_ratings(table: xr.DataArray) -> list[Notice]:
    """Notice of cells that use fewer ratings than others of the table.

    A cell that may lack a rating by chance is not named here but in the notices of few trials and
    empty ratings. Tables with further dims, such as resampled ones, give no notice.

    Examples
    --------
    >>> values = np.array([[[20, 20, 20], [20, 30, 40]], [[30, 30, 0], [30, 60, 0]]])
    >>> table = xr.DataArray(values, {"cell": ["a", "b"]}, ["cell", "correct", "rating"])
    >>> unequal_ratings(table)[0].cells
    ('b',)
    """
    has_further = bool(set(table.dims) - {"cell", "correct", *TYPE1_DIMS})
    if has_further or table.sizes.get("cell", 0) < 2:
        return []
    number = ratings_in_use(table)
    return notice_where(number < number.max(), "unequal-ratings")


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
        found = notices_where(
            {
                "empty-ratings": (counts.sum("correct") == 0).any("rating"),
                "few-trials": few,
                "few-trials.of-response": (total < limit("few-trials")).any(parts) & ~few,
                "no-errors": (wrong == 0).all(parts) & (total > 0).any(parts),
                "no-rights": (right == 0).all(parts) & (total > 0).any(parts),
            }
        )
        for response in total["response"].to_numpy() if parts else ():
            own = {"response": response}
            lacking = {"no-errors.of-response": wrong, "no-rights.of-response": right}
            for name, side in lacking.items():
                lacks = (side.sel(own) == 0) & (total.sel(own) > 0) & (side.sum(parts) > 0)
                found += notice_where(lacks, name, response=response)
        return found
    shown, is_empty = counts.sum(["response", "rating"]), counts.sum(["stimulus", "response"]) == 0
    total = shown.sum("stimulus")
    hits = (counts.sel(stimulus=s, response=s, drop=True) for s in counts["stimulus"].values)
    wrong = total - sum(hits, xr.DataArray(0)).sum("rating")
    few = total < limit("few-trials")
    is_flat = ((~is_empty).sum("rating") == 1) & (counts.sizes["rating"] > 1)
    seen = shown + counts.sum(["stimulus", "rating"]).rename(response="stimulus")
    is_unseen = (seen == 0).any("stimulus") & (total > 0) & (seen.sizes["stimulus"] > 2)
    is_unsaid = (counts.sum("rating") == 0).any("response") & (shown.sizes["stimulus"] == 2)
    return notices_where(
        {
            "empty-ratings": is_empty.any("rating"),
            "sparse-ratings": (is_empty.mean("rating") > 0.5) & (total > 0) & ~is_flat,
            "all-one-rating": is_flat,
            "unseen-options": is_unseen,
            "one-stimulus": (shown > 0).sum("stimulus") < 2,
            "few-trials": few,
            "few-errors": (wrong > 0) & (wrong < limit("few-errors")) & ~few,
            "no-errors": (wrong == 0) & (total > 0),
            "ceiling": (is_unsaid & (shown > 0)).any("stimulus"),
        }
    )


def few_labels(judged: xr.DataArray) -> list[Notice]:
    """Notice of cells of judged outputs with few labels of a class, summed over items."""
    number = items_together(judged).sum(["response", "rating"])
    few = (number < limit("few-labels")).any("stimulus") & (number.sum("stimulus") > 0)
    return notice_where(few, "few-labels")


def new_notices(counts: xr.DataArray, said: Sequence[Notice]) -> list[Notice]:
    """Notices of a table but for those that earlier ones of the same code and cells have said."""
    return [
        notice
        for notice in count_notices(counts)
        if not any(old.code == notice.code and {*notice.cells} <= {*old.cells} for old in said)
    ]


# Responses that go with the other stimulus


def choice_z(counts: xr.DataArray) -> xr.DataArray:
    """How clearly choices among options are right more often than by chance, in SDs, per cell.

    Of a type-2 table chance is 1/m, by its coordinate ``options``; of stimuli and responses it is
    the share that agrees if they are independent, which a bias does not raise.

    Examples
    --------
    >>> table = xr.DataArray([[[40, 20], [10, 30]]], dims=["cell", "correct", "rating"])
    >>> choice_z(table.assign_coords(options=4)).round(2).values
    array([3.46])
    """
    if "correct" in counts.dims:
        by_correct = counts.sum("rating")
        total, right = by_correct.sum("correct"), by_correct.isel(correct=1, drop=True)
        chance = 1 / total.copy(data=counted_options(counts))
    else:
        n = counts.sum("rating").transpose(..., "stimulus", "response").to_numpy().astype(float)
        total = counts.sum(["stimulus", "response", "rating"])
        right = total.copy(data=np.trace(n, axis1=-2, axis2=-1))
        agree = total.copy(data=(n.sum(axis=-1) * n.sum(axis=-2)).sum(axis=-1))
        chance = agree / total.where(total > 0) ** 2
    variance = chance * (1 - chance) * total
    return (right - chance * total) / variance.where(variance > 0) ** 0.5


def below_half(values: NDArray[Any]) -> tuple[int, int, float] | None:
    """Units in which responses go with the other stimulus, all units, and their accuracy.

    Counts have shape (units, 2, 2, K). None unless this holds for most units (z < −1), clearly for
    all trials together (z < −3), and fewer than half of all trials are correct. Units with one
    stimulus tell nothing.

    Examples
    --------
    >>> below_half(np.array([[[[5, 10], [20, 65]], [[60, 25], [10, 5]]]]))
    (1, 1, 0.15)
    """
    table = xr.DataArray(values, dims=("cell", *TYPE1_DIMS))
    has_both = (table.sum(["response", "rating"]) > 0).all("stimulus")
    z, together = choice_z(table).where(has_both), choice_z(table.sum("cell"))
    below, known = int((z < -1).sum()), int(z.notnull().sum())
    accuracy = float(np.trace(values.sum(axis=(0, -1))) / max(1, values.sum()))
    is_clear = 2 * below > known and float(together) < -UNLIKELY_Z and accuracy < 1 / 2
    return (below, known, accuracy) if is_clear else None


def swapped_codes(counts: xr.DataArray, labels: Sequence[object]) -> list[Notice]:
    """Notice of a table in which most participants, or cells, are correct in less than half."""
    by = read_attr(counts.attrs, "by")
    people = [name for name in by if is_people_name(name)]
    found = below_half(sums_by(counts, people or by)[0])
    if found is None:
        return []
    shown: dict[str, object] = dict(zip(("below", "number", "accuracy"), found, strict=True))
    shown["units"] = "participants" if people else "cells"
    for name, order in (("recode", labels[::-1]), ("keep", labels)):
        shown[name], shown[f"shell_{name}"] = listed_both("response_labels", order)
    return [notice_of("swapped-codes", **shown)]


# Responses that a cut of confidence makes


def cut_notices(
    values: NDArray[np.int64], cells: pd.DataFrame, labels: Sequence[str], is_allowed: bool
) -> list[Notice]:
    """Notices of responses in counts (cells, 2, 2, K) that a cut of the rating determines.

    They are refused unless they are allowed, where there is proof: of all trials together, of a
    level of one grouping column, or of a cell; a few levels or cells of many need more trials for
    it, and are noticed. A response that always comes with one and the same rating may be a strong
    bias: it is noticed where it holds for all trials together. Slips in up to 20 % of the trials
    are no exception where confidence is lower for right answers of one response.
    """
    if values.shape[-1] < 2:
        return []
    used = values.sum(axis=1)
    groupings = [np.zeros(len(used), dtype=np.int64), np.arange(len(used))]
    groupings += [pd.factorize(cells[name])[0].astype(np.int64) for name in cells]
    is_proven, looks_cut, has_slips = np.zeros((3, len(used)), dtype=bool)
    for group in groupings:
        tables = np.zeros((group.max() + 1, *values.shape[1:]), dtype=np.int64)
        np.add.at(tables, group, values)
        together = tables.sum(axis=1)
        # A bias of one of many in a few trials looks the same.
        fewest, cut = together.sum(axis=-1).min(axis=-1), is_cut(together, ratings=2)
        are_most = 2 * cut.sum() > (fewest >= CUT_TRIALS).sum()
        is_proven |= (cut & (are_most | (fewest >= PROOF_TRIALS)))[group]
        has_slips |= ((fewest >= PROOF_TRIALS) & is_cut_but_for_slips(tables))[group]
        looks_cut |= cut[group]
    is_exact, is_proven = is_proven, is_proven | has_slips
    concerned, all_trials = np.asarray(labels)[is_proven].tolist(), used.sum(axis=0)
    measures = {"type2_measures": type2_measures()}
    said = notice_of("response-is-confidence-cut", **measures)
    if concerned and not is_allowed:
        where = "every cell" if is_proven.all() else f"cell {concerned[0]!r}"
        more = f" and {len(concerned) - 1} more" if 1 < len(concerned) < len(used) else ""
        slips = "" if is_exact.any() else f" but for slips, up to {MOST_SLIPS:.0%} of the trials"
        got = f"a choice that the rating alone determines{slips}, in {where}{more}"
        step = (
            f"{said.message} {said.next_step} A scale from sure S1 to sure S2 is no confidence "
            "before it is folded: the rating is the distance from its middle. "
            "response_from_confidence=True counts all the same."
        )
        raise LabelError("response", got, "a choice between the stimuli, made apart from it", step)
    if is_proven.all() or (not concerned and is_cut(all_trials, ratings=1)):
        return [said]
    if concerned:
        return [notice_of("response-is-confidence-cut", concerned, **measures)]
    if is_nearly_cut(all_trials):
        return [notice_of("response-is-confidence-cut.nearly", **measures)]
    few = np.asarray(labels)[looks_cut].tolist()
    return [notice_of("response-is-confidence-cut.few", few, **measures)] if few else []


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


def is_cut_but_for_slips(tables: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether few trials, (..., stimulus, response, K), lie on the other side of a cut.

    A scale from sure S1 to sure S2 is told by right answers: of S1 they have the lower ratings.
    It has four ratings at least.
    """
    used = tables.sum(axis=-3)
    if used.shape[-1] < 4:
        return np.zeros(used.shape[:-2], dtype=bool)
    below, n = used.cumsum(axis=-1)[..., :-1], used.sum(axis=-1, keepdims=True)
    # Of S1 above the cut and of S2 up to it, or the other way round.
    wrong_side = (n - below)[..., 0, :] + below[..., 1, :]
    total = n.sum(axis=(-2, -1))
    slips = np.stack([wrong_side.min(axis=-1), total - wrong_side.max(axis=-1)], axis=-1)
    each, rating = np.arange(2), np.arange(tables.shape[-1])
    sides = np.stack([tables[..., each, each, :], tables[..., 1 - each, each, :]], axis=-2)
    trials = np.maximum(sides.sum(axis=-1), 1)
    mean = (sides * rating).sum(axis=-1) / trials
    share = used / np.maximum(n, 1)
    variance = share @ rating**2 - (share @ rating) ** 2
    error = np.sqrt(variance * (1 / trials).sum(axis=-1))
    # Of a handful of errors the mean has no normal distribution.
    is_known = (error > 0) & (trials >= FEWEST_ERRORS).all(axis=-1)
    z = np.where(is_known, mean[..., 0] - mean[..., 1], 0) / np.where(is_known, error, 1)
    # The lower ratings are those of S1, or of S2.
    is_told = (np.minimum(-z, z[..., ::-1]) > SLIP_Z) & (slips <= MOST_SLIPS * total[..., None])
    return is_told.any(axis=-1)


def is_nearly_cut(used: NDArray[np.int64]) -> bool:
    """Whether many trials, (response, K), have one rating alone in common."""
    is_used = used > 0
    if (used.sum(axis=1) < MANY_TRIALS).any() or (is_used.sum(axis=1) < 2).any():
        return False
    (first, last), (other, end) = (np.flatnonzero(one)[[0, -1]] for one in is_used)
    return bool(last == other or end == first)


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
    table = type2_counts(counts)
    n = table.sum([dim for dim in table.dims if dim not in TYPE2_DIMS])
    right, trials = n.sel(correct="right", drop=True), n.sum("correct")
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
