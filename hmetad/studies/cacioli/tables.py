"""Numbers of right and wrong answers as type-2 tables.

Printed quartiles, or arrays and the labels of their cells → count tables.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.tables import type2_counts
from hmetad.studies.printed import arrays_of

__all__ = ["NAME", "Integers", "cells_as", "quartile_counts", "table_of"]

type Integers = NDArray[np.int64]

NAME = "cacioli2026"


def quartile_counts() -> xr.DataArray:
    """Right and wrong answers by quartile of confidence at T = 1: Table 5 in whole trials.

    Shares of three digits give the number of right answers of 1,250 or 750 to a trial.
    """
    shares = arrays_of(NAME, "quartiles", "dataset", "model", "quartile")["accuracy"]
    size = arrays_of(NAME, "revised", "dataset", "model")["trials"] // 4
    right = (shares * size).round().astype(np.int64)
    both = xr.concat([size - right, right], "correct").stack(cell=("dataset", "model"))
    coords = {name: both[name].to_numpy() for name in ("dataset", "model")}
    return table_of(both.transpose("cell", "correct", "quartile").to_numpy(), **coords)


def table_of(values: Integers, **coords: Any) -> xr.DataArray:
    """Type-2 table of counts (cells, 2, ratings), wrong before right, with coordinates of cells."""
    columns = {name: np.asarray(list(column)) for name, column in coords.items()}
    labels = [" | ".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    cells = {name: ("cell", column) for name, column in columns.items()}
    table = xr.DataArray(values, cells | {"cell": labels}, ("cell", "correct", "rating"))
    return type2_counts(table.assign_coords(correct=["wrong", "right"]).rename("counts"))


def cells_as[Labelled: (xr.DataArray, xr.Dataset)](values: Labelled, *dims: str) -> Labelled:
    """Values with dims in place of cell, in the order of their coordinates; no cell may lack."""
    # Labels keep their order: models are neither sorted nor renamed.
    order = {dim: pd.unique(values[dim].to_numpy()) for dim in dims}
    index = pd.MultiIndex.from_arrays([values[dim].to_numpy() for dim in dims], names=list(dims))
    bare = values.drop_vars([*{*values.coords} & {*dims, "cell"}])
    shape = [len(labels) for labels in order.values()]
    position = index.get_indexer(pd.MultiIndex.from_product(list(order.values()), names=list(dims)))
    return bare.isel(cell=xr.DataArray(position.reshape(shape), order, dims))
