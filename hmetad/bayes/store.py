"""Fits on disk.

Fit (DataTree) → netCDF file, and back; a folder of draws → fit.
"""

from pathlib import Path

import xarray as xr

from hmetad.arguments import check_inputs, whole
from hmetad.bayes.check_estimates import check_estimates, has_estimates
from hmetad.bayes.check_fit import check_fit
from hmetad.bayes.compact import with_results, without_results
from hmetad.bayes.containers import MAX_BYTES
from hmetad.bayes.finish import finish, with_variable_notices
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.netcdf import read_netcdf, write_netcdf
from hmetad.bayes.zarr_store import read_folder
from hmetad.errors import InputError
from hmetad.notice import notice_of

__all__ = ["checked_fit", "load_fit", "save_fit"]

# Bytes of a posterior that is written with all its variables.
MAX_WHOLE = 64 * 2**20


@check_inputs()
def save_fit(fit: xr.DataTree, path: str | Path, *, whole: bool | None = None) -> Path:
    """Write a fit as netCDF; the file is complete, or is not written.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `bayes.fit_estimates` returned.
    path : str or Path
        The file, .nc; an existing one is kept until the new one is complete.
    whole : bool, optional
        Whether the file has all variables, for other programs that read it. Else those are left
        out that follow from others, such as M from log M; `load_fit` computes them again, to the
        last digit. By default they are left out where the posterior takes more than 64 MiB.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If it is no fit, the name does not end in .nc, or its folder does not exist.
    OSError
        If the disk is full or cannot be written to; the fit is still there, to be saved elsewhere.
    """
    path = Path(path)
    spec = None if has_estimates(fit) else check_fit(fit, "fit")
    if spec is None:
        check_estimates(fit, "fit")
    if not path.parent.is_dir():
        raise InputError(
            "path", repr(str(path)), "a file in a folder that exists", "Make the folder first."
        )
    is_small = fit["posterior"].nbytes <= MAX_WHOLE
    is_whole = is_small if whole is None else whole
    kept = fit if is_whole or spec is None else without_results(fit, spec)
    return write_netcdf(kept, path)


@check_inputs(max_bytes=whole(1))
def load_fit(path: str | Path, *, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Read a fit that `save_fit` or `hmetad fit` wrote.

    Parameters
    ----------
    path : str or Path
        A netCDF file, or the folder that `hmetad.fit(store=...)` kept its draws in.
    max_bytes : int, optional
        How much memory its arrays may take; 16 GiB.

    Returns
    -------
    DataTree
        All of it in memory, notices and spec in the attrs. Of a run that was cut short, the
        draws that all chains have reached, with a notice "partial" of severity error.

    Raises
    ------
    InputError
        If there is no such file, it holds no fit of this package or more than allowed, its draws
        are not those of its model and its counts, or they do not fit the checksum that was
        written with them.
    """
    path = Path(path)
    if path.is_dir():
        return read_run(path, max_bytes)
    if not path.is_file():
        step = "Write one with save_fit or hmetad fit."
        raise InputError(str(path), "no such file", "a fit", step)
    return checked_fit(read_netcdf(path, max_bytes), path, max_bytes)


def checked_fit(tree: xr.DataTree, path: Path, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Fit of a file that was read, with all its variables, if it is one."""
    if has_estimates(tree):
        check_estimates(tree, str(path))
        return tree
    tree = with_results(tree, path, max_bytes)
    check_fit(tree, str(path))
    return tree


def read_run(folder: Path, max_bytes: int) -> xr.DataTree:
    """Fit from the draws of a folder; a run that was cut short is marked."""
    tree = read_folder(folder, max_bytes)
    attrs = {str(key): value for key, value in tree.attrs.items()}
    wanted, is_closed = attrs.pop("draws_wanted"), attrs.pop("is_closed")
    done = tree["posterior"].sizes["draw"]
    tree.attrs = attrs
    spec = check_fit(tree, str(folder))
    fit = finish(tree, tree["observed_data"].to_dataset()["counts"], attrs, spec)
    if is_closed:
        return fit
    code = "partial.end" if done == wanted else "partial.draws"
    cut = notice_of(code, done=done, wanted=wanted)
    return with_variable_notices(Fitted(fit, spec).saying([cut]))
