"""How large a fit will be, before it is sampled.

Count table and numbers of draws and chains → bytes, or an error where they do not fit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.likelihood.records import Likelihood, dim_sizes
from hmetad.memory import refuse_memory

__all__ = ["CHAINS", "DRAWS", "TUNE", "TUNE_OF_PYMC", "posterior_bytes", "refuse_draws"]

BYTES = 8
# Defaults of a fit.
DRAWS, CHAINS = 1000, 4
# nutpie has found step sizes and scales after some 300 draws of tuning.
TUNE, TUNE_OF_PYMC = 500, 1000


@check_inputs(skip=("counts",))
def posterior_bytes(
    counts: xr.DataArray, likelihood: Likelihood, draws: int = DRAWS, chains: int = CHAINS
) -> int:
    """Bytes of the draws of the quantities that a fit has for each cell.

    Parameters
    ----------
    counts : DataArray
        Count table.
    likelihood : Likelihood
        ``spec.record`` of a model.
    draws, chains : int
        Draws of each chain, and chains.

    Returns
    -------
    int
        A fit is larger: it also has coefficients and statistics of the sampler.

    Examples
    --------
    >>> from hmetad.likelihood.registry import load_likelihood
    >>> dims = ("cell", "stimulus", "response", "rating")
    >>> counts = xr.DataArray(np.ones((10, 2, 2, 4)), dims=dims)
    >>> posterior_bytes(counts, load_likelihood("meta-d"), draws=1000, chains=4)
    3840000
    """
    sizes = dim_sizes(counts.sizes["rating"])
    numbers = sum(
        int(np.prod([sizes[dim] for dim in quantity.dims]))
        for quantity in likelihood.results.values()
    )
    return BYTES * int(draws) * int(chains) * counts.sizes["cell"] * numbers


def refuse_draws(counts: xr.DataArray, likelihood: Likelihood, options: Mapping[str, Any]) -> None:
    """Raise where draws cannot be held in memory: samplers then end the whole process.

    Parameters
    ----------
    counts : DataArray
        Count table.
    likelihood : Likelihood
    options : mapping of str to object
        draws, tune and chains, as whole numbers.

    Raises
    ------
    InputError
        If they do not fit; the message has the numbers.

    Examples
    --------
    >>> from hmetad.likelihood.registry import load_likelihood
    >>> dims = ("cell", "stimulus", "response", "rating")
    >>> counts = xr.DataArray(np.ones((10, 2, 2, 4)), dims=dims)
    >>> numbers = {"draws": 1000, "tune": 1000, "chains": 4}
    >>> refuse_draws(counts, load_likelihood("meta-d"), numbers)
    """
    numbers = {name: options[name] for name in ("draws", "tune", "chains")}
    drawn = numbers["draws"] + numbers["tune"]
    # They are held twice: as the sampler keeps them, and as they are labelled.
    needed = 2 * posterior_bytes(counts, likelihood, drawn, numbers["chains"])
    largest = max(numbers, key=lambda name: int(numbers[name]))
    cells = counts.sizes["cell"]
    got = (
        f"{numbers['draws']} draws and {numbers['tune']} of tuning of {numbers['chains']} chains "
        f"for {cells} cell{'' if cells == 1 else 's'}"
    )
    refuse_memory(largest, got, needed)
