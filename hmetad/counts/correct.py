"""Type-2 tables, from trials that are right or wrong or from a count table.

DataFrame of trials, or DataArray (cell, stimulus, response, rating) → DataArray (cell, correct,
rating) of counts, the type-2 table. Source: Galvin, Podd, Drga & Whitmore (2003).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import (
    TYPE1_DIMS,
    TYPE2_DIMS,
    refuse_falling_ratings,
    refuse_impossible_counts,
)
from hmetad.counts.choices import trial_notices
from hmetad.counts.columns import (
    Codes,
    alike_notices,
    as_correct,
    check_roles,
    code_notices,
    column_names,
    named_rows,
    rating_numbers,
    right_trials,
    text_columns,
    without_codes,
)
from hmetad.counts.missing_confidence import missing_answers
from hmetad.counts.quantiles import asking
from hmetad.counts.table import (
    cell_coords,
    cell_labels,
    cells_of,
    complete_rows,
    plain_attrs,
)
from hmetad.counts.table_notices import items_together
from hmetad.errors import InputError
from hmetad.notice import Notice, notices, notices_where, with_notices
from hmetad.notice_registry import limit
from hmetad.rows.queries import Distinct
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["count_correct", "refuse_no_counts", "type2_counts", "type2_notices"]

CORRECT = ("wrong", "right")
SIDES = (False, True)


@check_inputs(skip=("trials", "by", "correct", "confidence", "levels", "missing_codes"))
def count_correct(
    trials: TableLike,
    *,
    by: str | Sequence[str] | Mapping[str, str] = (),
    correct: str = "correct",
    confidence: str = "confidence",
    n: str | None = None,
    quantiles: int | None = None,
    quantiles_within: str | Sequence[str] = (),
    ratings: int | None = None,
    levels: Sequence[str | float] | None = None,
    missing_codes: Codes = (),
) -> xr.DataArray:
    """Type-2 table of a task with any number of alternatives: one row of `trials` per trial.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial: a table of pandas, Polars (lazy too), Dask, Arrow or DuckDB; or files,
        as a path, a folder, a pattern such as ``"runs/*.parquet"`` or several of these. Only the
        columns in use are read, piece by piece (see Notes). Rows with a missing value in a used
        column are left out, and a notice says how many.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns (model, task, subject, ...): one cell per combination that occurs, sorted
        by these columns in their order (s2 before s10; a categorical keeps its own order). A
        mapping gives them other names: ``{"subject": "participant_id"}``.
    correct : str, optional
        Column with right or wrong: booleans, 1 and 0, or words such as "correct" and "incorrect",
        "right" and "wrong", "true" and "false".
    confidence : str, optional
        Column with the rating, an integer 1..K, K the most confident.
    n : str, optional
        Column of whole numbers: how many trials each row stands for. By default 1.
    quantiles : int, optional
        Number of ratings to make of confidence that is numbers of any kind, as `bin_confidence`
        makes them, exactly, whatever the number of trials.
    quantiles_within : str or sequence of str, optional
        Columns of groups in which quantiles are taken, each by itself. By default one group.
    ratings : int, optional
        K. By default the largest rating in the data; the rule is recorded.
    levels : sequence of str or float, optional
        Values of the confidence column from the least to the most confident, as for `count_trials`.
    missing_codes : str, float or sequence of these, optional
        Values of the columns of correctness and confidence that stand for a missing one.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, correct, rating), correct being "wrong" and
        "right"; ``cell`` is text such as ``"GPT-5 | A"`` (``"all"`` without `by`) and carries one
        coordinate per grouping column. Attrs: ``labels`` (the values behind wrong, and those
        behind right), ``by`` and ``columns`` (JSON), ``rows_dropped``, ``ratings_rule`` and
        ``notices``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a reserved name; if a value of
        `correct` says neither right nor wrong; if confidence is not an integer 1..K (at most
        1000), or one of the `levels`.

    Notes
    -----
    n[correct, k] is the number of right (or wrong) trials with rating k.

    Files of less than 64 MiB are read as `hmetad.logs.read_table` does. Of larger ones, and of
    tables that are not in memory, a few pieces are in memory at a time. Columns of a CSV in `by`
    are text as it stands. A Dask DataFrame is counted where its partitions are, on its cluster.

    Examples
    --------
    >>> trials = pd.DataFrame(
    ...     {"correct": [True, False, True], "confidence": [2, 1, 2], "model": ["A", "A", "B"]}
    ... )
    >>> counts = count_correct(trials, by="model")
    >>> counts.sizes["cell"], int(counts.sel(cell="A", correct="wrong", rating=1))
    (2, 1)
    """
    roles = {"correct": correct, "confidence": confidence}
    rows = rows_of(trials, text=text_columns(by))
    rows = named_rows(rows, roles.values(), by, quantiles_within, n)
    rows = without_codes(rows, missing_codes, roles)
    by = column_names("by", by)
    check_roles(rows.columns, [*roles.items(), *(("by", name) for name in by)])
    used = [*roles.values(), *by]
    ask, seen = asking(rows, confidence, used, n, quantiles, quantiles_within)
    (tallied,) = ask([Distinct(tuple(used))])
    groups, number, dropped = complete_rows(*tallied)
    is_right, labels = right_trials(groups, number, correct)
    rating, K, rule = rating_numbers(groups, number, confidence, ratings, quantiles, levels)
    if ratings is None and levels is None:
        seen += code_notices(confidence, rating, number)
    index, cells = cells_of(groups, by, [])
    values = np.zeros((len(cells), 2, K), dtype=np.int64)
    np.add.at(values, (index, is_right, rating - 1), number)
    attrs = {
        "labels": labels,
        "by": by,
        "columns": roles,
        "rows_dropped": int(tallied[1].sum() - number.sum()),
        "ratings_rule": rule,
    }
    counts = type2_table(values, cells, attrs)
    alike = alike_notices(cells[by], counts["cell"].to_numpy().tolist())
    silent = missing_answers(tallied[0], tallied[1], by, roles)
    of_rows = [*trial_notices(trials), *rows.notices, *seen, *silent, *dropped]
    return with_notices(counts, [*of_rows, *type2_notices(counts), *alike])


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
        of `type2_notices` are added.

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
        refuse_other_labels(counts)
        table = counts.transpose(..., *TYPE2_DIMS).assign_coords(correct=list(CORRECT))
    if "rating" not in table.coords:
        table = table.assign_coords(rating=np.arange(1, table.sizes["rating"] + 1))
    said = notices(table)
    new = [notice for notice in type2_notices(table) if not is_said(notice, said)]
    return with_notices(table, new) if new else table


def type2_notices(table: xr.DataArray) -> list[Notice]:
    """Notices of any type-2 table: unused ratings, few trials, no errors, no right answers.

    Parameters
    ----------
    table : DataArray
        Type-2 table with dims (cell, correct, rating), or one cell of it; further dims are kept.

    Returns
    -------
    list of Notice
        ``"empty-ratings"`` (info: a rating that nobody used in a cell), ``"few-trials"`` (fewer
        than 100, Rahnev 2025; of a table for each response, of the whole cell, or of one of its
        responses), ``"no-errors"`` and ``"no-rights"`` (warnings); each once, with its cells. Cells
        of single items are judged together, as in `count_notices`.

    Examples
    --------
    >>> table = xr.DataArray([[0, 0], [30, 90]], dims=["correct", "rating"])
    >>> [notice.code for notice in type2_notices(table)]
    ['no-errors']
    """
    table = items_together(table)
    wrong, right = (table.isel(correct=i, drop=True).sum("rating") for i in (0, 1))
    empty = (table.sum("correct") == 0).any("rating")
    trials = wrong + right
    # Of a table for each response it is the whole cell that has few trials or not.
    parts = [dim for dim in trials.dims if dim == "response"]
    has_few = trials.sum(parts) < limit("few-trials")
    few_of_part = (trials < limit("few-trials")).any(parts) & ~has_few
    return notices_where(
        {
            "empty-ratings": empty,
            "few-trials": has_few,
            "few-trials.of-response": few_of_part,
            "no-errors": (wrong == 0) & (trials > 0),
            "no-rights": (right == 0) & (trials > 0),
        }
    )


def type2_table(
    values: NDArray[np.int64], cells: pd.DataFrame, attrs: Mapping[str, Any]
) -> xr.DataArray:
    """Labelled table of counts (cells, 2, K); `cells` has one row of coordinates per cell."""
    coords = {
        **cell_coords(cells),
        "cell": cell_labels(cells),
        "correct": list(CORRECT),
        "rating": np.arange(1, values.shape[-1] + 1),
    }
    described = {"long_name": "number of trials", "units": "trials", **plain_attrs(attrs)}
    return xr.DataArray(values, coords, ("cell", *TYPE2_DIMS), name="counts", attrs=described)


def sum_by_correctness(counts: xr.DataArray, response_conditional: bool) -> xr.DataArray:
    """Type-2 table of a count table: right where the labels of response and stimulus agree."""
    same = counts["stimulus"].to_numpy()[:, None] == counts["response"].to_numpy()
    dims = ("correct", "stimulus", "response")
    is_side = xr.DataArray(np.stack([~same, same]), {"correct": list(CORRECT)}, dims)
    over = ["stimulus"] if response_conditional else ["stimulus", "response"]
    table = xr.dot(counts, is_side, dim=over).transpose(..., *TYPE2_DIMS)
    table.attrs = {key: value for key, value in counts.attrs.items() if key != "labels"}
    return table.rename("counts")


def refuse_no_counts(counts: object) -> None:
    """Refuse what is neither a count table nor a type-2 table, or holds no counts."""
    allowed = f"a count table with dims {', '.join(TYPE1_DIMS)}, or one with correct and rating"
    step = "Make one with count_trials, from_nr or count_correct."
    if not isinstance(counts, xr.DataArray):
        raise InputError("counts", type(counts).__name__, allowed, step)
    dims = set(counts.dims)
    if not (set(TYPE2_DIMS) <= dims or set(TYPE1_DIMS) <= dims):
        raise InputError("counts", dims_text(counts), allowed, step)
    if not counts.sizes["rating"]:
        raise InputError("counts", "no ratings", "one at least", step)
    if "correct" not in dims and not {*counts["response"].values} <= {*counts["stimulus"].values}:
        got = f"response {counts['response'].values} for stimulus {counts['stimulus'].values}"
        raise InputError("counts", got, "responses in the labels of the stimuli")
    refuse_falling_ratings(counts)
    refuse_impossible_counts(counts)


def refuse_other_labels(counts: xr.DataArray) -> None:
    """Refuse a dim correct that is not wrong and right, in this order."""
    labels = counts["correct"].to_numpy().tolist()
    if [as_correct(label) for label in labels] != list(SIDES):
        raise InputError("counts", f"dim correct with {labels}", "'wrong' and 'right', in order")


def is_said(notice: Notice, said: Sequence[Notice]) -> bool:
    """Whether an earlier notice of the same code covers these cells."""
    return any(old.code == notice.code and {*notice.cells} <= {*old.cells} for old in said)


def dims_text(counts: xr.DataArray) -> str:
    """Dims of a table, for a message."""
    return f"dims ({', '.join(map(str, counts.dims))})"
