"""Fits on disk.

Fit (DataTree) → netCDF file, and back; a folder of draws → fit.
"""

from pathlib import Path
from typing import Literal

import xarray as xr

from hmetad.bayes.disk import read_folder
from hmetad.bayes.fit import finished, with_posterior_notices
from hmetad.counts.notices import Notice, notices, with_notices
from hmetad.errors import InputError
from hmetad.files import write_together

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
        If it is no fit, or its folder does not exist.
    OSError
        If the disk is full or cannot be written to; the fit is still there, to be saved elsewhere.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError("path", repr(str(path)), "a file in a folder that exists")
    if not isinstance(fit, xr.DataTree) or "posterior" not in fit.children:
        raise InputError("fit", type(fit).__name__, "what hmetad.fit returned")
    # Made in memory: HDF5 would end the whole process where the disk is full. As bytes of its own,
    # since a view that an error keeps alive hinders the buffer behind it from being closed.
    write_together({path: bytes(fit.to_netcdf(engine=ENGINE))})
    return path


def load_fit(path: str | Path) -> xr.DataTree:
    """Read a fit that `save_fit` or `hmetad fit` wrote.

    Parameters
    ----------
    path : str or Path
        A netCDF file, or the folder that `hmetad.fit(store=...)` kept its draws in.

    Returns
    -------
    DataTree
        All of it in memory, notices and spec in the attrs. Of a run that was cut short, the
        draws that all chains have reached, with a notice "partial" of severity error.

    Raises
    ------
    InputError
        If there is no such file, or it holds no fit of this package.
    """
    path = Path(path)
    if path.is_dir():
        return read_run(path)
    if not path.is_file():
        step = "Write one with save_fit or hmetad fit."
        raise InputError(str(path), "no such file", "a fit", step)
    try:
        tree = xr.load_datatree(path, engine=ENGINE)
    except (OSError, ValueError) as error:
        raise InputError(str(path), "no netCDF", "a fit written by hmetad") from error
    if "posterior" not in tree.children or "spec" not in tree.attrs:
        raise InputError(str(path), "netCDF without a posterior", "a fit written by hmetad")
    return tree


def read_run(folder: Path) -> xr.DataTree:
    """Fit from the draws of a folder; a run that was cut short is marked."""
    tree = read_folder(folder)
    attrs = {str(key): value for key, value in tree.attrs.items()}
    wanted, done = attrs.pop("draws_wanted"), tree["posterior"].sizes["draw"]
    fit = finished(tree, tree["observed_data"].to_dataset()["counts"], attrs)
    if done == wanted:
        return fit
    message = f"The run was cut short: {done} of {wanted} draws a chain."
    step = "Sample it whole before deciding anything."
    cut = Notice("partial", "error", message, next_step=step)
    return with_posterior_notices(with_notices(fit, [cut, *notices(fit)]))
