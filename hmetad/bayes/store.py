"""Fits on disk.

Fit (DataTree) → netCDF file, and back.
"""

import os
import secrets
from pathlib import Path
from typing import Literal

import xarray as xr

from hmetad.errors import InputError

__all__ = ["load_fit", "save_fit"]

ENGINE: Literal["h5netcdf"] = "h5netcdf"


def save_fit(fit: xr.DataTree, path: str | Path) -> Path:
    """Write a fit as netCDF, whole or not at all.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    path : str or Path
        The file; one that is there stays until the new one is complete.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If its folder does not exist.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError("path", repr(str(path)), "a file in a folder that exists")
    beside = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        fit.to_netcdf(beside, engine=ENGINE)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def load_fit(path: str | Path) -> xr.DataTree:
    """Read a fit that `save_fit` or `hmetad fit` wrote.

    Parameters
    ----------
    path : str or Path
        A netCDF file.

    Returns
    -------
    DataTree
        All of it in memory, notices and spec in the attrs.

    Raises
    ------
    InputError
        If there is no such file, or it holds no fit of this package.
    """
    path = Path(path)
    if not path.is_file():
        got = "a folder" if path.is_dir() else "no such file"
        raise InputError(str(path), got, "a fit", "Write one with save_fit or hmetad fit.")
    try:
        tree = xr.load_datatree(path, engine=ENGINE)
    except (OSError, ValueError) as error:
        raise InputError(str(path), "no netCDF", "a fit written by hmetad") from error
    if "posterior" not in tree.children or "spec" not in tree.attrs:
        raise InputError(str(path), "netCDF without a posterior", "a fit written by hmetad")
    return tree
