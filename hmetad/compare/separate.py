"""Separate fits side by side.

Mapping of fits → DataArray (chain, draw, cell) of one quantity, with all their cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from hmetad.compare.quantities import (
    GROUP_DIM,
    SAMPLE_DIMS,
    Draws,
    as_cells,
    named_as_asked,
    one_variable,
)
from hmetad.compare.strata import per_cell_coordinates
from hmetad.errors import InputError
from hmetad.monte_carlo import INDEPENDENT, has_chains
from hmetad.notice import Notice, notice_attrs, notices

__all__ = ["separate_cells", "shared_groups"]


def separate_cells(
    fits: Mapping[str, Draws], var: str | None, names: Sequence[str]
) -> xr.DataArray:
    """Draws of one quantity of separate fits, their cells side by side.

    Parameters
    ----------
    fits : mapping of str to DataTree, Dataset or DataArray
        Draws beyond those of the shortest fit are left out.
    var : str or None
        The quantity; a single number, such as a group's mean, is one cell.
    names : sequence of str
        Coordinates in use. The first takes the names of the fits, where cells lack it.

    Returns
    -------
    DataArray
        Dims (chain, draw, cell), with the coordinates that all fits have.

    Examples
    --------
    >>> mean = xr.DataArray(np.zeros((2, 3)), dims=("chain", "draw"), name="mu_log_m")
    >>> separate_cells({"a": mean, "b": mean}, None, ["group"])["group"].values.tolist()
    ['a', 'b']
    """
    if len(fits) < 2:
        raise InputError("draws", f"{len(fits)} fits in a mapping", "two fits or more")
    parts = {str(name): one_fit(fit, var, str(name), names) for name, fit in fits.items()}
    labels = [label for values in parts.values() for label in values["cell"].values.tolist()]
    if len(set(labels)) < len(labels):
        parts = {name: relabel_cells(values, name) for name, values in parts.items()}
    sizes = {dim: min(v.sizes[dim] for v in parts.values()) for dim in SAMPLE_DIMS}
    shared = set.intersection(*(set(per_cell_coordinates(v)) for v in parts.values()))
    found: list[Notice] = []
    kept = []
    for values in parts.values():
        cells = tuple(values["cell"].values.tolist())
        found += [replace(notice, cells=notice.cells or cells) for notice in notices(values)]
        dropped = [name for name in values.coords if name not in {*shared, "cell"}]
        kept.append(values.drop_vars(dropped).isel({d: slice(n) for d, n in sizes.items()}))
    sampling = {} if any(has_chains(values.attrs) for values in parts.values()) else INDEPENDENT
    joined = xr.concat(kept, "cell", coords="minimal", compat="override", combine_attrs="drop")
    return joined.transpose(*SAMPLE_DIMS, "cell").assign_attrs(notice_attrs(found), **sampling)


def one_fit(fit: Draws, var: str | None, name: str, names: Sequence[str]) -> xr.DataArray:
    """Cells of one of several fits, told apart from the others by the first of the names."""
    values = named_as_asked(one_variable(fit, var), names)
    if set(values.dims) == set(SAMPLE_DIMS):
        values = values.expand_dims(cell=[name])
    values = as_cells(values)
    if names and names[0] not in per_cell_coordinates(values):
        levels = np.array([name] * values.sizes["cell"])
        values = values.assign_coords({names[0]: ("cell", levels)})
    return values


def relabel_cells(values: xr.DataArray, name: str) -> xr.DataArray:
    """Cells, and notices about them, with the name of their fit in front."""
    found = [
        replace(notice, cells=tuple(f"{name} | {cell}" for cell in notice.cells))
        for notice in notices(values)
    ]
    labels = [f"{name} | {cell}" for cell in values["cell"].values.tolist()]
    return values.assign_coords(cell=labels).assign_attrs(notice_attrs(found))


def shared_groups(fits: Mapping[str, Draws]) -> list[str]:
    """Grouping factors of which all fits have effects for some of the same levels.

    Separate fits that share subjects or items were not made on independent data.
    """
    levels: list[dict[str, set[Any]]] = []
    for fit in fits.values():
        posterior = fit["posterior"].to_dataset() if isinstance(fit, xr.DataTree) else fit
        dims = [str(dim) for dim in posterior.dims if str(dim).endswith(GROUP_DIM)]
        levels.append({dim: set(posterior[dim].values.tolist()) for dim in dims})
    common = set.intersection(*(set(one) for one in levels))
    shared = [dim for dim in common if set.intersection(*(one[dim] for one in levels))]
    return sorted(dim.removesuffix(GROUP_DIM) for dim in shared)
