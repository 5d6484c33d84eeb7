"""What measures make of their numbers: quotients that may be undefined, and arrays that say more.

Arrays → array; array and words → DataArray with long_name, units and source.
"""

from collections.abc import Hashable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

__all__ = ["described", "ratio"]

Floats = NDArray[np.float64]


def ratio(part: Floats, whole: Floats) -> Floats:
    """Quotient, NaN where there is nothing to divide by.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    array([0.25,  nan])
    """
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def described(
    like: xr.DataArray, name: Hashable, values: Floats, long_name: str, units: str, source: str
) -> xr.DataArray:
    """Values under their name, in the dims of `like`, with what they are.

    Examples
    --------
    >>> like = xr.DataArray([0.0], {"cell": ["a"]})
    >>> described(like, "phi", np.array([0.3]), "correlation", "1", "Pearson 1895").attrs["units"]
    '1'
    """
    result = like.copy(data=values).rename(name)
    result.attrs = {"long_name": long_name, "units": units, "source": source}
    return result
