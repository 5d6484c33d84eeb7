"""Files of draws that resampling made.

Dataset (cell, draw) → netCDF file; path → Dataset.
"""

from pathlib import Path

import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.bayes.netcdf import read_netcdf, write_netcdf
from hmetad.bayes.store import checked_fit, load_fit
from hmetad.errors import InputError

__all__ = ["load_draws", "load_source", "save_draws"]

GROUP, TRIALS = "resampled", "trials"
WRITTEN = "draws that save_draws or hmetad measures wrote"


@check_inputs()
def save_draws(draws: xr.Dataset, path: str | Path) -> Path:
    """Write draws of resampling as netCDF; the file is complete, or is not written.

    Parameters
    ----------
    draws : Dataset
        What `resample` or `measures.resample_trials` returned. Variables with dims (cell, draw) are
        written, and the numbers of trials of the cells, with their coordinates and notices.
    path : str or Path
        The file, .nc; an existing one is kept until the new one is complete.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If no variable has these dims, or the name does not end in .nc.
    OSError
        If the disk is full or cannot be written to.

    Examples
    --------
    >>> save_draws(xr.Dataset({"auroc2": ("draw", [0.7, 0.8])}), "never.nc")
    Traceback (most recent call last):
    hmetad.errors.InputError: draws: got dims {'draw': 2}, allowed is variables by cell and draw. \
Draws of fits are written by save_fit.
    """
    drawn = [name for name, values in draws.items() if set(values.dims) == {"cell", "draw"}]
    counted = [name for name in draws if name == TRIALS and draws[name].dims == ("cell",)]
    if not drawn:
        step = "Draws of fits are written by save_fit."
        raise InputError("draws", f"dims {dict(draws.sizes)}", "variables by cell and draw", step)
    tree = xr.DataTree.from_dict({f"/{GROUP}": draws[[*drawn, *counted]]})
    return write_netcdf(tree, path)


@check_inputs()
def load_draws(path: str | Path) -> xr.Dataset:
    """Read what `save_draws` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Dataset
        Dims (cell, draw), as `contrast`, `rank` and `decide` take it.

    Raises
    ------
    InputError
        If there is no such file, it holds no draws of resampling, or it was changed.

    Examples
    --------
    >>> import tempfile
    >>> from hmetad.counts.resample import resample
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.sdt import sdt
    >>> drawn = resample(from_nr([80, 20], [30, 70]), sdt, n=50, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_draws(save_draws(drawn, Path(folder) / "draws.nc"))
    >>> bool((again["dprime"] == drawn["dprime"]).all()), again.attrs["kind"]
    (True, 'bootstrap')
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(str(path), "no such file", WRITTEN)
    return draws_in(read_netcdf(path), path)


@check_inputs()
def load_source(path: str | Path) -> xr.DataTree:
    """Read a fit, or draws of resampling in the form of one.

    Parameters
    ----------
    path : str or Path
        As for `load_fit` or `load_draws`.

    Returns
    -------
    DataTree
        The fit; or draws as a group ``posterior`` of one chain, without a spec.

    Raises
    ------
    InputError
        As `load_fit` or `load_draws`.

    Examples
    --------
    >>> import tempfile
    >>> draws = xr.Dataset({"auroc2": (("cell", "draw"), [[0.7, 0.8]])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = load_source(save_draws(draws, Path(folder) / "draws.nc"))
    >>> dict(found["posterior"].sizes)
    {'chain': 1, 'cell': 1, 'draw': 2}
    """
    path = Path(path)
    tree = read_netcdf(path) if path.is_file() else None
    if tree is None or GROUP not in tree.children:
        return load_fit(path) if tree is None else checked_fit(tree, path)
    draws = draws_in(tree, path)
    found = xr.DataTree.from_dict({"/posterior": draws.expand_dims(chain=[0])})
    found.attrs = draws.attrs
    return found


def draws_in(tree: xr.DataTree, path: Path) -> xr.Dataset:
    """Draws of a file, if that is what it holds."""
    if GROUP not in tree.children:
        got = f"groups {', '.join(map(str, tree.children)) or 'none'}"
        raise InputError(str(path), got, WRITTEN)
    draws = tree[GROUP].to_dataset()
    for name, values in draws.items():
        dims = {"cell"} if name == TRIALS and "draw" not in values.dims else {"cell", "draw"}
        if set(values.dims) != dims or values.dtype.kind not in "fiu":
            raise InputError(str(path), f"{name} with dims {values.dims}", WRITTEN)
    return draws
