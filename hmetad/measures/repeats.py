"""Items that come again, which intervals of single trials take for independent.

DataFrame of trials → notices.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.counts.names import text_columns
from hmetad.notice import Notice, notice_of
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["repeated_items"]

By = str | Sequence[str] | Mapping[str, str]


@check_inputs(skip=("trials",))
def repeated_items(trials: TableLike, *, by: By = (), cluster: str | None = None) -> list[Notice]:
    """Notice of a column of items that come again, where single trials are drawn.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns of the cells.
    cluster : str, optional
        Column whose levels are drawn whole.

    Returns
    -------
    list of Notice
        Nothing where units are drawn whole, or no column that is named like items has repeats.
        Repeats in a cell make its interval too narrow; the same items in several cells make their
        data paired.

    Raises
    ------
    InputError
        If `trials` is no table with rows.

    Examples
    --------
    >>> trials = pd.DataFrame({"model": ["a", "a", "b"], "item": [1, 2, 1]})
    >>> [notice.code for notice in repeated_items(trials, by="model")]
    ['repeated-items']
    >>> repeated_items(trials, by="model", cluster="item")
    []
    """
    rows = rows_of(trials).spelled(text_columns(by))
    if cluster is not None:
        return []
    columns = [name for name in text_columns(by) if name in rows.columns]
    for name in rows.columns:
        if name in columns or not is_item_name(name) or rows.columns.count(name) > 1:
            continue
        used = rows.frame([*columns, name])
        used = used[used[name].notna()]
        if not is_plain(used[name]):
            continue
        number = int(used[name].nunique())
        if number == len(used):
            continue
        in_cells, across_cells = "repeated-items.in-cells", "repeated-items.across-cells"
        case = in_cells if used.duplicated().any() else across_cells
        said = {"column": repr(str(name)), "items": f"{number:,}", "trials": f"{len(used):,}"}
        return [notice_of(case, **said)]
    return []


def is_plain(column: pd.Series) -> bool:
    """Whether the values of a column can be counted."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind in ("string", "integer", "categorical")
