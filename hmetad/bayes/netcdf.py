"""Fits and counts as netCDF, with a checksum at the end.

DataTree → bytes of a file, and path of a file → DataTree.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

import xarray as xr

from hmetad.bayes.checksums import refuse_changed_file, with_checksum
from hmetad.bayes.containers import MAX_BYTES, reading, refuse_unusual_hdf5
from hmetad.errors import InputError
from hmetad.files import write_together

__all__ = ["netcdf_bytes", "read_netcdf", "write_netcdf"]

ENGINE: Literal["h5netcdf"] = "h5netcdf"
# netCDF lists the coordinates of a variable with blanks between their names.
BLANK = re.compile(r"[\s%]")


def netcdf_bytes(tree: xr.DataTree) -> bytes:
    """Content of a netCDF file, with its checksum.

    It is made in memory, since HDF5 would end the whole process where the disk is full, and as
    bytes of its own, since a view that an error keeps alive hinders the buffer behind it from
    being closed.
    """
    return with_checksum(bytes(rename_coordinates(tree, quoted_names).to_netcdf(engine=ENGINE)))


def write_netcdf(tree: xr.DataTree, path: str | Path) -> Path:
    """Write a netCDF file, whole or not at all; its suffix keeps tables from being replaced."""
    path = Path(path)
    if path.suffix != ".nc":
        raise InputError("path", repr(str(path)), "a name that ends in .nc")
    write_together({path: netcdf_bytes(tree)})
    return path


def read_netcdf(path: Path, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """What `netcdf_bytes` made, read from a file.

    Raises
    ------
    InputError
        If the file has no checksum or another, or holds more than plain arrays or than allowed.
    """
    refuse_changed_file(path)
    with reading(path):
        refuse_unusual_hdf5(path, max_bytes)
        return rename_coordinates(xr.load_datatree(path, engine=ENGINE), plain_names)


def rename_coordinates(
    tree: xr.DataTree, names: Callable[[xr.Dataset], dict[str, str]]
) -> xr.DataTree:
    """Tree whose coordinates bear other names; the same where none does."""
    groups = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
    if not any(names(group) for group in groups.values()):
        return tree
    return xr.DataTree.from_dict({p: group.rename(names(group)) for p, group in groups.items()})


def quoted_names(group: xr.Dataset) -> dict[str, str]:
    """Names without blanks for those coordinates whose names have some."""
    return {name: quote(name, safe="|:()") for name in coordinates(group) if BLANK.search(name)}


def plain_names(group: xr.Dataset) -> dict[str, str]:
    """Names as they were before they were quoted."""
    return {name: unquote(name) for name in coordinates(group) if "%" in name}


def coordinates(group: xr.Dataset) -> list[str]:
    """Names of the coordinates that are no dims."""
    return [str(name) for name in group.coords if name not in group.dims]
