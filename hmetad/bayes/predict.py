"""Parameters of the cells of a design, from a fit.

Fit (DataTree) and cells → Dataset (chain, draw, cell).
"""

from collections.abc import Sequence

import xarray as xr

from hmetad.errors import InputError, nearest

__all__ = ["predict"]

PER_CELL = ("dprime", "c", "meta_d", "m_ratio", "log_m", "meta_c", "criteria")


def predict(fit: xr.DataTree, cells: Sequence[str] | None = None) -> xr.Dataset:
    """Posterior draws of the parameters of cells.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned.
    cells : sequence of str, optional
        Labels of cells of the fit; all of them by default.

    Returns
    -------
    Dataset
        dprime, c, meta_d, m_ratio, log_m, meta_c, dims (chain, draw, cell), and criteria, with
        the coordinates of the cells.

    Raises
    ------
    InputError
        If a cell is not in the fit: models whose cells stand for themselves predict no others.
    """
    draws = fit["posterior"].to_dataset()[list(PER_CELL)]
    if cells is None:
        return draws
    known = draws["cell"].values.tolist()
    for cell in cells:
        if cell not in known:
            raise InputError("cells", repr(cell), "cells of the fit", nearest(str(cell), known))
    return draws.sel(cell=list(cells))
