"""What a saved fit keeps: seven digits of cells and people, everything of the population."""

import numpy as np
import xarray as xr

from hmetad.base.variable_roles import FACTOR_DIM


def is_of_many(values):
    """Whether a variable has draws of every cell, or of every level of a grouping factor."""
    dims = [str(dim) for dim in values.dims]
    return "draw" in dims and any(dim == "cell" or dim.endswith(FACTOR_DIM) for dim in dims)


def as_saved(fit):
    """The fit that reading its file gives: draws of cells and people in single precision."""
    posterior = fit["posterior"].to_dataset()
    single = {
        name: values.astype(np.float32).astype(float)
        for name, values in posterior.items()
        if is_of_many(values)
    }
    return fit.assign(posterior=xr.DataTree(posterior.assign(single)))
