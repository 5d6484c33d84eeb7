"""Type-2 tables, from trials that are right or wrong or from a count table.

DataFrame of trials, or DataArray (cell, stimulus, response, rating) → DataArray (cell, correct,
rating) of counts, the type-2 table. Source: Galvin, Podd, Drga & Whitmore (2003).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.counts.choices import trial_notices
from hmetad.counts.columns import (
    Codes,
    alike_notices,
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
from hmetad.counts.table import complete_rows
from hmetad.counts.tables import (
    cells_of,
    count_notices,
    count_table,
)
from hmetad.notice import with_notices
from hmetad.rows.queries import Distinct
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["count_correct"]


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
    >>> import pandas as pd
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
    counts = count_table(values, cells, attrs)
    alike = alike_notices(cells[by], counts["cell"].to_numpy().tolist())
    silent = missing_answers(tallied[0], tallied[1], by, roles)
    of_rows = [*trial_notices(trials), *rows.notices, *seen, *silent, *dropped]
    return with_notices(counts, [*of_rows, *count_notices(counts), *alike])
