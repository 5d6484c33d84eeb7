"""What measures make of their numbers: quotients that may be undefined, and arrays that say more.

Arrays → array; array and the name of a result → DataArray with long_name, units and source.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.results import attrs_of

__all__ = ["describe", "ratio"]

Floats = NDArray[np.float64]


def ratio(part: Floats, whole: Floats) -> Floats:
    """Quotient, NaN where there is nothing to divide by.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    array([0.25,  nan])
    """
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def describe(
    like: xr.DataArray, name: str, values: NDArray[Any], section: str = ""
) -> xr.DataArray:
    """Values under their name, in the dims of `like`, with what the table of results says of them.

    Examples
    --------
    >>> like = xr.DataArray([0.0], {"cell": ["a"]})
    >>> describe(like, "phi", np.array([0.3])).attrs["source"]
    'Kornell, Son & Terrace 2007'
    """
    result = like.copy(data=values).rename(name)
    result.attrs = attrs_of(name, section)
    return result
