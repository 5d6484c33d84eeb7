"""Results of measures: quotients that may be undefined, and arrays with attrs.

Arrays → array; arrays and the names of results → DataArray or Dataset with long_name, units and
source.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.labels import check_same_names
from hmetad.base.results import attrs_of
from hmetad.counts.checks import POOL

Floats = NDArray[np.float64]
# Values in the dims of others, or further dims and values in both.
type Placed = NDArray[Any] | tuple[*tuple[str, ...], NDArray[Any]]


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
    return described(like, {name: values}, section)[name]


def described(
    like: xr.DataArray, values: Mapping[str, Placed], section: str = "", **texts: object
) -> xr.Dataset:
    """Dataset of values by name, as `describe` has one; `texts` fill in what the table leaves open.

    Examples
    --------
    >>> like = xr.DataArray([0.0], {"cell": ["a"]})
    >>> described(like, {"trials": np.array([9]), "lower": ("bin", np.zeros((1, 3)))}).sizes
    Frozen({'cell': 1, 'bin': 3})
    """
    placed = {name: x if isinstance(x, tuple) else (x,) for name, x in values.items()}
    like = like.drop_vars(POOL & {*like.coords})
    check_same_names(like.coords, [*placed, *(dim for *dims, _ in placed.values() for dim in dims)])
    result = xr.Dataset(coords=like.coords)
    for name, (*dims, x) in placed.items():
        shape = (*like.shape, *x.shape[x.ndim - len(dims) :])
        result[name] = (*like.dims, *dims), x.reshape(shape), attrs_of(name, section, **texts)
    return result
