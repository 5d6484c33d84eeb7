"""Trials as forecasts: how often each confidence was given, and how often the trial was right.

DataFrame of trials → `Judged` (one row per trial) → `Forecasts` (one row per cell and distinct
confidence). Source: Murphy (1973), who counts forecasts by their distinct values.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import refuse_same_names
from hmetad.counts.columns import (
    check_roles,
    code_notices,
    column_names,
    named_rows,
    plain_array,
    right_trials,
    text_columns,
)
from hmetad.counts.counting import complete_rows
from hmetad.counts.noticed import missing_answers, trial_notices
from hmetad.counts.ratings import text_as_confidence
from hmetad.counts.tables import cell_coords, cell_labels, cells_of, plain_attrs
from hmetad.coverage import coverage_attrs
from hmetad.errors import InputError
from hmetad.measures.confidence_scale import ROUNDING, mixed_scales
from hmetad.measures.items import absent_rows, item_column, needed_item, told_of_items
from hmetad.notice import Notice, notice_where
from hmetad.notice_registry import limit
from hmetad.results import attrs_of
from hmetad.rows.sources import TableLike, rows_of

__all__ = [
    "By",
    "Forecasts",
    "Judged",
    "Missing",
    "Placed",
    "cell_sums",
    "count_forecasts",
    "describe_results",
    "few_trials",
    "judged_trials",
    "refuse_no_probabilities",
]

By = str | Sequence[str] | Mapping[str, str]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# What trials without an answer count as.
Missing = Literal["drop", "wrong"]
# Dims beside cell, and the values.
Placed = tuple[tuple[str, ...], NDArray[Any]]

RATING_MEASURES = "auroc2, gamma, v_statistic, phi, type2_roc, mean_confidence, meta_information"
MAX_RATING = 20


class Judged(NamedTuple):
    """Trials with all that is needed of them, in their order; n of them, in c cells.

    `cell` (n,) is the number of the trial's cell, `right` (n,) 1 or 0, `value` (n,) its
    confidence. `kind` (n,) is its row in `kinds`, the distinct combinations of the other columns.
    `cells` has one row of coordinates per cell; `attrs` and `found` go with the result. `value` is
    NaN where a trial counts without a confidence.
    """

    cell: Ints
    right: Ints
    value: Floats
    kind: Ints
    kinds: pd.DataFrame
    cells: pd.DataFrame
    attrs: dict[str, str | int]
    found: list[Notice]


class Forecasts(NamedTuple):
    """Distinct confidences of each of c cells, rising within the cell: f rows in all.

    `cell` (f,) is the number of the cell, `value` (f,) the confidence, `trials` (f,) how often it
    was given and `right` (f,) how often the trial was right; `n_cells` is c.
    """

    cell: Ints
    value: Floats
    trials: Ints
    right: Ints
    n_cells: int


def judged_trials(
    trials: TableLike,
    by: By,
    roles: Mapping[str, str],
    *,
    missing: Missing = "drop",
    over: str | None = None,
) -> Judged:
    """Complete trials with their cell, whether they were right, and their confidence.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes.
    by : str, sequence of str or mapping of str to str
        Grouping columns, as for `count_correct`.
    roles : mapping
        The columns of ``"correct"`` and ``"confidence"``, and of others with few values.
    missing : {"drop", "wrong"}, optional
        ``"wrong"``: rows without right or wrong, and items that another level of `over` has, count
        as wrong; rows without confidence are kept.
    over : str, optional
        Grouping column whose levels are compared; by default the first.

    Returns
    -------
    Judged
        Rows with a missing value in a used column are left out; a notice says how many.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a name with a meaning of its own; if a value of
        correct says neither right nor wrong; if confidence is no finite number; if no row is
        complete; if `trials` is a table of ratings.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": [True, False], "confidence": [0.9, 0.4]})
    >>> judged = judged_trials(trials, (), {"correct": "correct", "confidence": "confidence"})
    >>> judged.right, judged.value
    (array([1, 0]), array([0.9, 0.4]))
    """
    refuse_ratings_table(trials)
    carried = trial_notices(trials)
    rows = named_rows(rows_of(trials, text=text_columns(by)), roles.values(), by)
    by = column_names("by", by)
    check_roles(rows.columns, [*roles.items(), *(("by", name) for name in by)])
    item = item_column(rows.columns, by, roles.get("cluster"))
    trials = rows.frame([*roles.values(), *by, *([item] if item else [])])
    correct, confidence = roles["correct"], roles["confidence"]
    if missing == "wrong" and by:
        absent = absent_rows(trials, by, over, needed_item(item))
        trials = pd.concat([trials, absent.drop(columns=[correct, confidence])], ignore_index=True)
    value = finite_confidence(trials[confidence])
    # Confidence joins the kinds only as there or missing: its values may all be different.
    is_there = np.where(np.isnan(value), np.nan, 0.0)
    used = trials[[*roles.values(), *by]].assign(**{confidence: is_there})
    kind, kinds, n = row_kinds(used)
    are_wrong = missing == "wrong"
    silent = missing_answers(kinds, n, by, roles, are_wrong=are_wrong)
    empty = kinds.isna()
    if are_wrong:
        empty[[correct, confidence]] = False
        value = np.where(kinds[correct].isna().to_numpy()[kind], np.nan, value)
    is_complete = ~empty.to_numpy().any(axis=1)
    kinds, n, dropped = complete_rows(kinds, n, empty)
    graded = kinds[correct].notna().to_numpy()
    is_right = np.zeros(len(kinds), dtype=np.int64)
    is_right[graded], labels = right_trials(kinds[graded], n[graded], correct)
    index, cells = cells_of(kinds, by, [])
    kept = is_complete[kind]
    kind = (np.cumsum(is_complete) - 1)[kind[kept]]
    attrs = plain_attrs(
        {
            "labels": labels,
            "by": by,
            "columns": dict(roles),
            "rows_dropped": int((~kept).sum()),
        }
    )
    cell, value = index[kind], value[kept]
    seen = code_notices(confidence, value, np.ones(len(value), dtype=np.int64))
    mixed = mixed_scales(cell, value, cell_labels(cells))
    told, coverage = told_of_items(trials, item, kept, cell, value, cells, over)
    attrs |= coverage_attrs(coverage)
    found = [*carried, *rows.notices, *seen, *silent, *mixed, *dropped, *told]
    return Judged(cell, is_right[kind], value, kind, kinds, cells, attrs, found)


def count_forecasts(judged: Judged) -> Forecasts:
    """Trials and right trials of each distinct confidence, per cell; a missing one comes last.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": [1, 0, 1], "confidence": [0.9, 0.9, 0.4]})
    >>> roles = {"correct": "correct", "confidence": "confidence"}
    >>> forecasts = count_forecasts(judged_trials(trials, (), roles))
    >>> forecasts.value, forecasts.trials, forecasts.right
    (array([0.4, 0.9]), array([1, 2]), array([1, 1]))
    """
    order = np.lexsort((judged.value, judged.cell))
    cell, value = judged.cell[order], judged.value[order]
    is_new = np.ones(len(order), dtype=bool)
    both_lack = np.isnan(value[1:]) & np.isnan(value[:-1])
    is_new[1:] = (cell[1:] != cell[:-1]) | ((value[1:] != value[:-1]) & ~both_lack)
    start = np.flatnonzero(is_new)
    trials = np.diff(start, append=len(order))
    right = np.add.reduceat(judged.right[order], start)
    return Forecasts(cell[start], value[start], trials, right, len(judged.cells))


def cell_sums(forecasts: Forecasts, values: Floats | Ints) -> Floats:
    """Sum over the forecasts of each cell, (c,); `values` has one for each of the f rows."""
    return np.bincount(forecasts.cell, weights=values, minlength=forecasts.n_cells)


def describe_results(
    judged: Judged,
    values: Mapping[str, Placed],
    section: str,
    **texts: object,
) -> xr.Dataset:
    """Dataset of the values, each with the attrs of a section of the table of results."""
    coords = {"cell": cell_labels(judged.cells), **cell_coords(judged.cells)}
    refuse_same_names(coords, [*values, *(dim for dims, _ in values.values() for dim in dims)])
    result = xr.Dataset(coords=coords, attrs=judged.attrs)
    for name, (dims, array) in values.items():
        result[name] = (("cell", *dims), array, attrs_of(name, section, **texts))
    return result


def few_trials(trials: xr.DataArray) -> list[Notice]:
    """Notice of the cells with too few trials to say much."""
    return notice_where(trials < limit("few-trials"), "few-trials.of-confidence")


def refuse_no_probabilities(confidence: str, value: Floats) -> Floats:
    """Confidence between 0 and 1, rounding set right; or an error that knows the usual scales."""
    off = value[(value < -ROUNDING) | (value > 1 + ROUNDING)]
    if not off.size:
        return np.clip(value, 0.0, 1.0)
    step = ""
    if (value >= 1).all() and value.max() <= MAX_RATING and (value == np.round(value)).all():
        step = f"Ratings are no probabilities: to a table by count_correct apply {RATING_MEASURES}."
    elif (value >= 0).all() and value.max() <= 100:
        step = "Divide percentages by 100."
    elif (value <= 0).all():
        step = "Log probabilities become probabilities by numpy.exp."
    argument = f"confidence column {confidence!r}"
    got = f"{off.size} values such as {off[0]:g}"
    raise InputError(argument, got, "probabilities from 0 to 1", step)


def refuse_ratings_table(trials: object) -> None:
    """Refuse a table of counts, and name what does apply to it."""
    if isinstance(trials, xr.DataArray | xr.Dataset):
        dims = ", ".join(map(str, trials.dims))
        kind = "a type-2 table" if "correct" in trials.dims else "a table"
        step = f"Ratings are counted, not confidences kept: to them apply {RATING_MEASURES}."
        allowed = "a pandas DataFrame with the confidence of each trial"
        raise InputError("trials", f"{kind} with dims ({dims})", allowed, step)


def finite_confidence(column: pd.Series) -> Floats:
    """Confidence as numbers, NaN where it is missing."""
    argument = f"confidence column {str(column.name)!r}"
    allowed = "finite numbers"
    is_number = pd.api.types.is_numeric_dtype(column)
    if not is_number and any(isinstance(value, str) for value in column.tolist()):
        once = np.ones(len(column), dtype=np.int64)
        raise text_as_confidence(argument, column, once, allowed)
    if column.dtype == object:
        present = column.notna().to_numpy()
        known = plain_array(argument, column[present])
        value = np.full(len(column), np.nan)
        if known.dtype.kind in "if":
            value[present] = known
        elif present.any():
            raise InputError(argument, f"values such as {known.tolist()[0]!r}", allowed)
    elif not is_number or pd.api.types.is_bool_dtype(column):
        got = f"values such as {column.dropna().tolist()[:1]}"
        raise InputError(argument, got, allowed, "Convert the column to numbers.")
    else:
        value = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(value).any():
        raise InputError(argument, f"{value[np.isinf(value)][0]:g}", allowed)
    return value


def row_kinds(used: pd.DataFrame) -> tuple[Ints, pd.DataFrame, Ints]:
    """Number of each row's kind, the distinct kinds of rows, and how many rows each has."""
    try:
        grouped = used.groupby(list(used.columns), dropna=False, observed=True, sort=False)
        kind = grouped.ngroup().to_numpy().astype(np.int64)
    except TypeError as error:
        step = "Make its values text or numbers."
        raise InputError("trials", str(error), "one text or number per value", step) from error
    _, first, n = np.unique(kind, return_index=True, return_counts=True)
    return kind, used.iloc[first].reset_index(drop=True), n.astype(np.int64)
