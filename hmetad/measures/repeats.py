"""Items that come again, which intervals of single trials take for independent.

DataFrame of trials → notices.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.counts.checks import refuse_no_table
from hmetad.counts.mixtures import is_item_name
from hmetad.notice import Notice, notice_of

__all__ = ["repeated_items"]

By = str | Sequence[str] | Mapping[str, str]


@check_inputs(skip=("trials",))
def repeated_items(
    trials: pd.DataFrame, *, by: By = (), cluster: str | None = None
) -> list[Notice]:
    """Notice of a column of items that come again, where single trials are drawn.

    Parameters
    ----------
    trials : DataFrame
        One row per trial.
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
        If `trials` is no DataFrame with rows.

    Examples
    --------
    >>> trials = pd.DataFrame({"model": ["a", "a", "b"], "item": [1, 2, 1]})
    >>> [notice.code for notice in repeated_items(trials, by="model")]
    ['repeated-items']
    >>> repeated_items(trials, by="model", cluster="item")
    []
    """
    refuse_no_table(trials)
    if cluster is not None:
        return []
    columns = [*by.values()] if isinstance(by, Mapping) else [by] if isinstance(by, str) else [*by]
    columns = [name for name in columns if name in trials]
    for name in trials.columns:
        if name in columns or not is_item_name(name) or not is_plain(trials, name):
            continue
        used = trials.loc[trials[name].notna(), [*columns, name]]
        number = int(used[name].nunique())
        if number == len(used):
            continue
        in_cells, across_cells = "repeated-items.in-cells", "repeated-items.across-cells"
        case = in_cells if used.duplicated().any() else across_cells
        said = {"column": repr(str(name)), "items": f"{number:,}", "trials": f"{len(used):,}"}
        return [notice_of(case, **said)]
    return []


def is_plain(trials: pd.DataFrame, name: object) -> bool:
    """Whether a name is that of one column whose values can be counted."""
    column = trials[name]
    return isinstance(column, pd.Series) and pd.api.types.infer_dtype(column, skipna=True) in (
        "string",
        "integer",
        "categorical",
    )
