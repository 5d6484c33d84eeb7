"""What Cacioli (2026) prints, as labelled arrays.

cacioli2026.toml → Dataset (model), (model, temperature) and (model, domain), and the type-2 table
(cell, correct, rating) of the quartiles of confidence, whose counts the printed accuracies give.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.correct import type2_counts
from hmetad.studies.transcribed import frame_of, transcribed

__all__ = [
    "BASE",
    "GEMMA",
    "INSTRUCT",
    "MISTRAL",
    "as_frame",
    "by_model",
    "cells_as",
    "printed",
    "quartile_counts",
    "table_of",
    "tempered",
]

MISTRAL, BASE, INSTRUCT, GEMMA = (
    "Mistral-Instruct",
    "Llama-3-Base",
    "Llama-3-Instruct",
    "Gemma-2-Instruct",
)


def printed() -> Mapping[str, Any]:
    """Numbers and verdicts of the paper, by table."""
    return transcribed("cacioli2026")


def as_frame(name: str) -> pd.DataFrame:
    """Data frame of a table, by its name in cacioli2026.toml."""
    return frame_of(printed()[name])


def by_model(name: str, dim: str = "", labels: Sequence[Any] = ()) -> xr.Dataset:
    """Numbers of a table whose rows are models, and whose cells may run over a dim.

    Parameters
    ----------
    name : str
        Table of cacioli2026.toml.
    dim : str, optional
        Name of the dim that a list in a cell has.
    labels : sequence, optional
        Its coordinates.

    Returns
    -------
    Dataset
        Dims model; and `dim` where a column holds lists.

    Examples
    --------
    >>> by_model("temperature", "temperature", [0.3, 0.5, 0.7, 1.0])["meta_d"].sizes
    Frozen({'model': 4, 'temperature': 4})
    """
    frame = as_frame(name).set_index("model")
    coords = {"model": list(frame.index)} | ({dim: list(labels)} if dim else {})
    dims = {True: ("model", dim), False: ("model",)}
    columns = {column: frame[column].tolist() for column in frame}
    is_nested = {column: isinstance(cells[0], list) for column, cells in columns.items()}
    return xr.Dataset(
        {column: (dims[is_nested[column]], np.array(columns[column])) for column in columns}, coords
    )


def tempered() -> xr.Dataset:
    """Table 7, dims model, temperature."""
    return by_model("temperature", "temperature", printed()["temperatures"])


def quartile_counts() -> xr.DataArray:
    """Right and wrong answers by quartile of confidence at T = 1: Table 5 in whole trials.

    Returns
    -------
    DataArray
        Type-2 table of eight cells, with coordinates dataset and model. Shares of three digits give
        the number of right answers of 1,250 or 750 to a trial.

    Examples
    --------
    >>> quartile_counts().sum(["correct", "rating"]).values.tolist()
    [5000, 5000, 5000, 5000, 3000, 3000, 3000, 3000]
    """
    frame = as_frame("quartiles")
    trials = as_frame("revised").groupby("dataset")["trials"].first()
    size = frame["dataset"].map(trials).to_numpy()[:, None] // 4
    right = np.round(np.array(frame["accuracy"].tolist()) * size).astype(np.int64)
    return table_of(
        np.stack([size - right, right], axis=1), dataset=frame["dataset"], model=frame["model"]
    )


def table_of(values: NDArray[np.int64], **coords: Any) -> xr.DataArray:
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
