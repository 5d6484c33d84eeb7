"""Bins of confidence, and the values that a reliability diagram shows.

`Forecasts` and a number of bins → bin of each forecast → arrays (cell, bin).
Source: Murphy (1973).
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.measures.forecasts import Forecasts, cell_sums
from hmetad.measures.results import ratio
from hmetad.notice import Notice, notice_where

__all__ = [
    "MASS",
    "bin_sums",
    "bin_table",
    "binned_sums",
    "empty_bins",
    "mass_bins",
    "width_bins",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MASS = "about as many trials in each; equal confidences, by their average rank, never part"


def mass_bins(forecasts: Forecasts, bins: int) -> Ints:
    r"""Bin 0..B − 1 of each distinct confidence, with about as many trials of its cell in each.

    Notes
    -----
    With average rank ρ among the n trials of the cell, :math:`\lceil B(\rho - 1/2)/n \rceil - 1`:
    the rule of `bin_confidence`. Equal confidences share a rank, so they never part; a bin that
    they leave empty stays empty.

    Examples
    --------
    >>> cell, trials = np.zeros(3, dtype=int), np.array([1, 1, 2])
    >>> mass_bins(Forecasts(cell, np.array([0.1, 0.5, 0.9]), trials, trials, 1), 2)
    array([0, 0, 1])
    """
    n = cell_sums(forecasts, forecasts.trials).astype(np.int64)
    below = np.cumsum(forecasts.trials) - forecasts.trials - (np.cumsum(n) - n)[forecasts.cell]
    # Twice the average rank, minus 1, is whole, which keeps the bin exact.
    odd = 2 * below + forecasts.trials
    return -(-bins * odd // (2 * n[forecasts.cell])) - 1


def width_bins(forecasts: Forecasts, bins: int) -> Ints:
    """Bin 0..B − 1 by equal intervals of 0 to 1, closed above."""
    # Each cut is rounded once, as a decimal fraction that was typed is.
    return np.searchsorted(np.arange(1, bins) / bins, forecasts.value, side="left")


def binned_sums(forecasts: Forecasts, bin_of: Ints, bins: int) -> tuple[Floats, Floats, Floats]:
    """Trials, right trials and summed confidence of each cell and bin."""
    weights = (forecasts.trials, forecasts.right, forecasts.trials * forecasts.value)
    n, right, total = (bin_sums(forecasts, bin_of, bins, x) for x in weights)
    return n, right, total


def bin_table(n: Floats, right: Floats, total: Floats) -> dict[str, NDArray[Any]]:
    """Rows of a reliability diagram."""
    return {
        "bin_confidence": ratio(total, n),
        "bin_accuracy": ratio(right, n),
        "bin_trials": n.astype(np.int64),
    }


def bin_sums(forecasts: Forecasts, bin_of: Ints, bins: int, values: Floats | Ints) -> Floats:
    """Sum over the forecasts of each cell and bin, (c, bins)."""
    place = forecasts.cell * bins + bin_of
    sums = np.bincount(place, weights=values, minlength=forecasts.n_cells * bins)
    return sums.reshape(forecasts.n_cells, bins)


def empty_bins(trials: xr.DataArray) -> list[Notice]:
    """Notice of the cells that leave a bin empty."""
    return notice_where((trials == 0).any("bin"), "empty-bins")
