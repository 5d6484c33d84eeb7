"""Columns of data frames, and draws of fits, that are drawn.

Data frame → its columns as rows of numbers, or an error that names the one that is missing; fit →
draws of its cells.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from hmetad.base.errors import ColumnError, ModelError, ShapeError, nearest
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import predict, predict_levels
from hmetad.counts.checks import TYPE1_DIMS


def draws_of_cells(fit: xr.DataTree, argument: str) -> xr.Dataset:
    """Posterior of a fit; where cells are not kept, of the levels in their place."""
    if "posterior" not in fit.children:
        raise ModelError(argument, "a DataTree without posterior", "a fit, as of hmetad.fit")
    posterior = fit["posterior"].to_dataset()
    is_whole = "spec" not in fit.attrs or Fitted.of(fit).has_cells
    return posterior if is_whole else predict_levels(fit)


def draws_of_population(fit: xr.DataTree) -> xr.Dataset:
    """What a fit predicts without what is particular to a group."""
    return predict(fit) if "spec" in fit.attrs else xr.Dataset()


def require_column(table: pd.DataFrame, *columns: str, argument: str = "table") -> None:
    """Raise where a table lacks a column."""
    for column in columns:
        if column not in table.columns:
            raise ColumnError(
                argument,
                f"no column {column!r}",
                "a table with the columns that are drawn",
                nearest(column, map(str, table.columns)),
            )


def number_rows(table: pd.DataFrame, *columns: str) -> NDArray[np.float64]:
    """Columns as rows of numbers, shape (columns, rows); NaN where there is no such column.

    Examples
    --------
    >>> number_rows(pd.DataFrame({"mean": [0.5]}), "mean", "lower").tolist()
    [[0.5], [nan]]
    """
    for name in columns:
        if name in table.columns and not is_numeric_dtype(table[name]):
            raise ColumnError(name, "a column of other values", "a column of numbers")
    missing = np.full(len(table), np.nan)
    return np.array(
        [table[name].to_numpy(float) if name in table.columns else missing for name in columns]
    )


def require_counts(counts: xr.DataArray) -> None:
    """Refuse what is no count table of cells alone."""
    dims = ("cell", *TYPE1_DIMS)
    if set(counts.dims) != set(dims):
        raise ShapeError(
            "counts",
            f"dims {tuple(map(str, counts.dims))}",
            f"({', '.join(dims)})",
            "Make one with count_trials.",
        )
