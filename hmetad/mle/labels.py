"""Estimates under their names: arrays over cells → Dataset in the dims of the count table."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import refuse_same_names
from hmetad.results import attrs_of

__all__ = ["label_estimates"]


def label_estimates(
    values: Mapping[str, NDArray[np.float64]],
    section: str,
    counts: xr.DataArray,
    *,
    per_response: bool = False,
) -> xr.Dataset:
    """Dataset of the estimates.

    Parameters
    ----------
    values : mapping of str to array
        (cells,); criteria (cells, 2, K − 1); with a last dim of the sides that have a meta-d′ of
        their own, (cells, 1) or (cells, 2).
    section : str
        Of the table of results, which says what they are.
    counts : DataArray
        Dims (..., stimulus, response, rating), in this order.
    per_response : bool, optional
        Whether those with sides have dim response.

    Returns
    -------
    Dataset
        Dims of the counts before stimulus, then response and criterion where they apply.
    """
    like = counts.isel(stimulus=0, response=0, rating=0, drop=True)
    refuse_same_names(like.coords, values)
    result = xr.Dataset(coords=like.coords)
    for name, array in values.items():
        inner: tuple[str, ...] = ()
        if array.ndim == 3:
            inner = ("response", "criterion")
        elif array.ndim == 2 and per_response:
            inner = ("response",)
        sizes = array.shape[1 : 1 + len(inner)]
        result[name] = ((*like.dims, *inner), array.reshape((*like.shape, *sizes)))
        result[name].attrs = attrs_of(name, section)
    criteria = np.arange(1, counts.sizes["rating"])
    return result.assign_coords(response=counts["response"].to_numpy(), criterion=criteria)
