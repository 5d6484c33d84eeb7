"""Units that are resampled as a whole: the items or subjects that several trials share.

Count table with a coordinate that names the unit of each cell → tables of the other grouping
columns, with every unit counted as often as it was drawn.
Source: Davison & Hinkley (1997), section 3.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hmetad.arguments import check_inputs
from hmetad.counts.correct import type2_notices
from hmetad.counts.table import cell_labels
from hmetad.counts.table_notices import count_notices
from hmetad.coverage import coverage_attrs, coverage_notices, item_coverage
from hmetad.errors import InputError, nearest
from hmetad.notice import notice_where, notices, with_notices
from hmetad.notice_registry import limit
from hmetad.rows.duplicates import is_people_name

__all__ = ["Clusters", "Part", "clusters_of", "counts_together", "weighted_tables"]


@dataclass(frozen=True)
class Part:
    """Units that are drawn together, and the pooled cells that they have trials in.

    Parameters
    ----------
    cells : array of int, shape (cells,)
        Positions in the pooled table.
    counts : array, shape (units, cells, *table)
        Trials of each unit in each of these cells.
    """

    cells: NDArray[np.int64]
    counts: NDArray[Any]


@dataclass(frozen=True)
class Clusters:
    """A table summed over units, and the parts that its draws are made of."""

    pooled: xr.DataArray
    parts: tuple[Part, ...]


@check_inputs()
def clusters_of(counts: xr.DataArray, cluster: str) -> Clusters:
    """Units of a count table, in parts that share no cell.

    Parameters
    ----------
    counts : DataArray
        Dims (cell, ...); one cell for each unit under each combination of the other coordinates.
    cluster : str
        Coordinate of the cells that names the unit.

    Returns
    -------
    Clusters
        Cells of ``pooled`` are the combinations of the other coordinates.

    Raises
    ------
    InputError
        If there is no such coordinate, or it has a single level.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([[1, 2], [3, 4]], [[1, 0], [0, 1]], model="A", item=[1, 2])
    >>> clusters_of(table, "item").pooled["cell"].values
    array(['A'], dtype='<U1')
    """
    own = [str(name) for name in counts["cell"].coords if name != "cell"]
    if cluster not in own:
        raise InputError(
            "cluster", repr(cluster), "a coordinate of the cells", nearest(cluster, own)
        )
    table = counts.compute()
    unit, levels = pd.factorize(table[cluster].to_numpy())
    if len(levels) < 2:
        raise InputError("cluster", f"a single level of {cluster!r}", "at least two units")
    columns = {name: table[name].to_numpy() for name in own if name != cluster}
    others = pd.DataFrame(columns, index=range(len(unit)))
    index = np.zeros(len(unit), dtype=np.int64)
    if len(others.columns):
        groups = others.groupby(list(others.columns), sort=False)
        index = groups.ngroup().to_numpy().astype(np.int64)
    part = parts_of(unit, index)
    values = table.to_numpy()
    chosen = [part == i for i in range(part.max() + 1)]
    parts = [part_from(values[rows], unit[rows], index[rows]) for rows in chosen]
    return Clusters(
        with_coverage(pooled_table(table, index, others), index, unit, cluster), tuple(parts)
    )


def with_coverage(
    pooled: xr.DataArray, cell: NDArray[np.int64], unit: NDArray[np.int64], cluster: str
) -> xr.DataArray:
    """Pooled table that says how many of the units each cell has, unless these are people."""
    names = [str(name) for name in pooled["cell"].coords if name != "cell"]
    if is_people_name(cluster) or not names:
        return pooled
    cells, labels = (
        pd.DataFrame({x: pooled[x].values for x in names}),
        pooled["cell"].values.tolist(),
    )
    coverage = item_coverage(cells, labels, cell, unit)
    told = with_notices(pooled, coverage_notices(coverage, cells, labels, None))
    return told.assign_attrs(coverage_attrs(coverage))


def counts_together(
    counts: xr.DataArray, by: Sequence[str]
) -> tuple[xr.DataArray, NDArray[np.int64]]:
    """Counts of cells that agree in some columns, summed; and which sum each cell is in.

    Parameters
    ----------
    counts : DataArray
        Count or type-2 table; dim cell comes first.
    by : sequence of str
        Coordinates of the cells, one at least.

    Returns
    -------
    DataArray
        Cells are the combinations of these columns, in the order of their first appearance.
    array of int, shape (cells,)

    Raises
    ------
    InputError
        If the cells have no such coordinate.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([[1, 2], [3, 4]], [[1, 0], [0, 1]], model="A", item=[1, 2])
    >>> together, index = counts_together(table, ["model"])
    >>> together.sel(cell="A").sum().item(), index.tolist()
    (12, [0, 0])
    """
    own = [str(name) for name in counts["cell"].coords if name != "cell"]
    for name in by:
        if name not in own:
            allowed = ", ".join(own) or "cells with coordinates"
            raise InputError("by", repr(name), allowed, nearest(str(name), own))
    columns = pd.DataFrame({name: counts[name].to_numpy() for name in by})
    index = columns.groupby(list(by), sort=False).ngroup().to_numpy().astype(np.int64)
    return pooled_table(counts, index, columns), index


def parts_of(unit: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Part of each cell: units and pooled cells that trials connect are in one."""
    units = unit.max() + 1
    nodes = units + index.max() + 1
    joined = coo_array((np.ones(len(unit)), (unit, index + units)), shape=(nodes, nodes))
    _, part = connected_components(joined, directed=False)
    return part[unit].astype(np.int64)


def pooled_table(
    table: xr.DataArray, index: NDArray[np.int64], others: pd.DataFrame
) -> xr.DataArray:
    """Counts summed over the cells with the same index, labelled by the other columns."""
    _, first = np.unique(index, return_index=True)
    values = np.zeros((len(first), *table.shape[1:]), dtype=table.dtype)
    np.add.at(values, index, table.to_numpy())
    pooled = table.isel(cell=first).copy(data=values)
    dropped = [name for name in pooled["cell"].coords if name not in ("cell", *others.columns)]
    labels = cell_labels(others.iloc[first].reset_index(drop=True))
    pooled = pooled.drop_vars(dropped).assign_coords(cell=labels)
    # Notices of single units do not apply to their sum.
    pooled.attrs.pop("notices", None)
    kept = [notice for notice in notices(table) if not notice.cells]
    own = count_notices(pooled) if "stimulus" in pooled.dims else type2_notices(pooled)
    has_few = np.bincount(index) < limit("few-units")
    few = xr.DataArray(has_few, {"cell": pooled["cell"]}, "cell")
    return with_notices(pooled, [*kept, *own, *notice_where(few, "few-units")])


def part_from(values: NDArray[Any], unit: NDArray[np.int64], index: NDArray[np.int64]) -> Part:
    """Dense counts of the units of one part."""
    units, row = np.unique(unit, return_inverse=True)
    cells, column = np.unique(index, return_inverse=True)
    counts = np.zeros((len(units), len(cells), *values.shape[1:]))
    np.add.at(counts, (row, column), values)
    return Part(cells, counts)


def weighted_tables(
    clusters: Clusters, n: int, kind: str, generators: list[np.random.Generator]
) -> xr.DataArray:
    """Pooled tables with units counted as often as they were drawn.

    Parameters
    ----------
    clusters : Clusters
    n : int
        Number of draws.
    kind : {"bootstrap", "dirichlet"}
        Whole numbers of times, or the weights of the Bayesian bootstrap.
    generators : list of numpy.random.Generator
        One per part; their state changes.

    Returns
    -------
    DataArray
        Dims (cell, draw, ...) of the pooled table.
    """
    pooled = clusters.pooled
    values = np.zeros((pooled.sizes["cell"], n, *pooled.shape[1:]))
    for part, generator in zip(clusters.parts, generators, strict=True):
        units = len(part.counts)
        if kind == "bootstrap":
            weights = generator.multinomial(units, np.full(units, 1 / units), size=n).astype(float)
        else:
            weights = units * generator.dirichlet(np.ones(units), size=n)
        drawn = weights @ part.counts.reshape(units, -1)
        tables = drawn.reshape(n, *part.counts.shape[1:])
        values[part.cells] = np.moveaxis(tables, 1, 0)
    return xr.DataArray(
        values, dict(pooled.coords), ("cell", "draw", *pooled.dims[1:]), name="counts"
    )
