"""Files of draws that resampling made: written by `hmetad measures`, compared like fits.

Dataset (cell, draw) → netCDF file; path → fit, or draws in the form of one.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import hmetad
from hmetad.bayes.netcdf import netcdf_bytes, read_netcdf
from hmetad.errors import InputError
from hmetad.files import write_together

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DRAWS_FILE", "are_resampled", "read_source", "save_draws"]

DRAWS_FILE = ".nc"
GROUP = "resampled"


def save_draws(draws: "xr.Dataset", path: Path) -> None:
    """Write the numbers of every cell and draw."""
    import xarray as xr

    kept = [name for name, values in draws.items() if set(values.dims) == {"cell", "draw"}]
    tree = xr.DataTree.from_dict({f"/{GROUP}": draws[kept]})
    write_together({path: netcdf_bytes(tree)})


def read_source(path: Path) -> "xr.DataTree":
    """Fit of a file or folder; or draws of a file, as a posterior of one chain."""
    import xarray as xr

    if not path.is_file():
        return hmetad.load_fit(path)
    tree = read_netcdf(path)
    if GROUP not in tree.children:
        return hmetad.load_fit(path)
    draws = tree[GROUP].to_dataset()
    is_plain = all(
        set(values.dims) == {"cell", "draw"} and values.dtype.kind == "f"
        for values in draws.values()
    )
    if not draws or not is_plain:
        raise InputError(str(path), "no numbers by cell and draw", "draws of hmetad measures")
    found = xr.DataTree.from_dict({"/posterior": draws.expand_dims(chain=[0])})
    found.attrs = draws.attrs
    return found


def are_resampled(source: "xr.DataTree") -> bool:
    """Whether draws are of resampling, and no fit."""
    return "spec" not in source.attrs
