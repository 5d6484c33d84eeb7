"""Results of measures: quotients that may be undefined, and arrays with attrs.

Arrays → array; array and the name of a result → DataArray with long_name, units and source.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import refuse_same_names
from hmetad.results import attrs_of

__all__ = ["describe", "ratio"]

Floats = NDArray[np.float64]


def ratio(part: Floats, whole: Floats) -> Floats:
    """Quotient, NaN where the divisor is not above 0.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    array([0.25,  nan])
    """
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def describe(
    like: xr.DataArray, name: str, values: NDArray[Any], section: str = ""
) -> xr.DataArray:
    """Values with a name, the dims of `like`, and the attrs of the table of results.

    Raises an error where a coordinate has that name.

    Examples
    --------
    >>> like = xr.DataArray([0.0], {"cell": ["a"]})
    >>> describe(like, "phi", np.array([0.3])).attrs["source"]
    'Kornell, Son & Terrace 2007'
    """
    refuse_same_names(like.coords, [name])
    result = like.copy(data=values).rename(name)
    result.attrs = attrs_of(name, section)
    return result
