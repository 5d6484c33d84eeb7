"""The user's contrasts: weights of levels, checked and applied to the cells of a design.

Matrix of weights (contrast, level) and cells → weights (contrast, cell).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.compare.strata import design_of, strata_of
from hmetad.errors import InputError, nearest

__all__ = ["as_table", "weighted_cells"]

# Weights such as 1/3 sum to 0 within rounding.
ROUNDING = 1e-9


def weighted_cells(
    cells: xr.Dataset | xr.DataArray,
    matrix: pd.DataFrame | xr.DataArray,
    *,
    over: str,
    within: Sequence[str] = (),
) -> tuple[pd.DataFrame, NDArray[np.float64], list[str]]:
    """Weights of every cell in every contrast, within each stratum.

    Parameters
    ----------
    cells : Dataset or DataArray
        Anything with a dim "cell" and its coordinates.
    matrix : DataFrame or DataArray
        Rows named contrasts, columns levels of `over`.
    over, within
        As in `contrast`.

    Returns
    -------
    tuple
        Data frame of the contrasts (label, left and right: levels of positive and of negative
        weight, levels of `within`); weights, shape (contrast, cell); labels of the contrasts
        that a stratum lacks a level for, and that are left out.

    Raises
    ------
    InputError
        If weights are not finite or do not sum to 0, a level is unknown, or no contrast can be
        formed.

    Examples
    --------
    >>> cells = xr.Dataset(coords={"cell": ["x", "y"], "model": ("cell", ["a", "b"])})
    >>> both = pd.DataFrame({"a": [1], "b": [-1]}, index=["a or b"])
    >>> weighted_cells(cells, both, over="model")[1].tolist()
    [[1.0, -1.0]]
    """
    design = design_of(cells, over, within)
    table = checked_weights(matrix, design[over].to_numpy(), over)
    rows: list[dict[str, Any]] = []
    weights, missing = [], []
    for stratum in strata_of(design, within):
        position = dict(zip(design[over].iloc[stratum], stratum, strict=True))
        held = design.iloc[stratum[0]][list(within)].to_dict()
        for name, row in table.iterrows():
            label = " | ".join([str(name), *map(str, held.values())])
            used = row[row != 0]
            if not set(used.index) <= set(position):
                missing.append(label)
                continue
            sides = {"left": sum_of(used[used > 0]), "right": sum_of(used[used < 0])}
            rows.append({**sides, **held, "label": label})
            weights.append(np.zeros(len(design)))
            weights[-1][[position[level] for level in used.index]] = used
    if not rows:
        got = f"contrasts of levels that are never together: {', '.join(missing[:3])}"
        raise InputError("matrix", got, "a stratum with all levels of a contrast")
    return pd.DataFrame(rows), np.array(weights), missing


def checked_weights(
    matrix: pd.DataFrame | xr.DataArray, levels: NDArray[Any], over: str
) -> pd.DataFrame:
    """Weights as a data frame of numbers, or an error that says why they are no contrasts."""
    table = as_table(matrix, over)
    if table.empty or not all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        raise InputError("matrix", f"{table.shape} of {set(table.dtypes)}", "a table of numbers")
    unknown = [level for level in table.columns if level not in levels]
    if unknown:
        step = nearest(str(unknown[0]), map(str, levels))
        raise InputError("matrix", f"column {unknown[0]!r}", f"a level of {over}", step)
    for axis, names in (("rows", table.index), ("columns", table.columns)):
        if names.has_duplicates:
            raise InputError("matrix", f"{axis} named alike", f"{axis} with names of their own")
    table = table.astype(float)
    for name, row in table.iterrows():
        size = abs(row).sum()
        if not np.isfinite(size) or size == 0 or abs(row.sum()) > ROUNDING * size:
            step = "What is added with weight 1 in all has to be taken away again."
            got = f"weights of {name!r} with sum {row.sum():g}"
            raise InputError("matrix", got, "finite weights, not all 0, with sum 0", step)
    return table


def as_table(matrix: pd.DataFrame | xr.DataArray, over: str) -> pd.DataFrame:
    """Matrix with contrasts in rows and levels in columns."""
    if isinstance(matrix, pd.DataFrame):
        return matrix
    if not isinstance(matrix, xr.DataArray) or matrix.ndim != 2:
        got = f"dims {matrix.dims}" if isinstance(matrix, xr.DataArray) else type(matrix).__name__
        raise InputError("matrix", got, "a DataFrame, or a DataArray with two dims")
    columns = over if over in matrix.dims else matrix.dims[1]
    ordered = matrix.transpose(..., columns)
    rows, levels = (ordered[dim].values for dim in ordered.dims)
    return pd.DataFrame(ordered.values, index=rows, columns=levels)


def sum_of(weights: pd.Series) -> str:
    """Levels with their weights, as in ``½·a + ½·b``; a weight of 1 is not written."""
    terms = [
        str(level) if abs(weight) == 1 else f"{abs(weight):.3g}·{level}"
        for level, weight in weights.items()
    ]
    return " + ".join(terms)
