"""Columns of data frames that are drawn.

Data frame → its columns as rows of numbers, or an error that names the one that is missing.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from hmetad.counts.checks import TYPE1_DIMS
from hmetad.errors import InputError, nearest

__all__ = ["number_rows", "require_column", "require_counts"]


def require_column(table: pd.DataFrame, *columns: str, argument: str = "table") -> None:
    """Raise where a table lacks a column."""
    for column in columns:
        if column not in table.columns:
            raise InputError(
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
            raise InputError(name, "a column of other values", "a column of numbers")
    missing = np.full(len(table), np.nan)
    return np.array(
        [table[name].to_numpy(float) if name in table.columns else missing for name in columns]
    )


def require_counts(counts: xr.DataArray) -> None:
    """Refuse what is no count table of cells alone."""
    dims = ("cell", *TYPE1_DIMS)
    if set(counts.dims) != set(dims):
        raise InputError(
            "counts",
            f"dims {tuple(map(str, counts.dims))}",
            f"({', '.join(dims)})",
            "Make one with count_trials.",
        )
