"""Where the chains begin: near the data, before the sampler spreads them.

Count table and ModelSpec → starting values of the free variables. From a prior's centre, cells
of 20,000 trials begin thousands of log-likelihood units away, and now and then a chain adapts
to the slope of that descent and then crawls.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.bayes.spec import ModelSpec
from hmetad.measures.sdt import sdt

__all__ = ["starting_values"]

SMALLEST_GAP = 0.05


def starting_values(counts: xr.DataArray, spec: ModelSpec) -> dict[str, NDArray[np.float64]]:
    """Starting values by name of the free variable: type-1 estimates, M = 1, gaps by shares.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating).
    spec : ModelSpec

    Returns
    -------
    dict of str to array
        Shape (cells,), and (cells, 2, K - 1) for log_gap.
    """
    type1 = sdt(counts, correction="cell")
    cells = counts.sizes["cell"]
    values = {
        "log_m": np.zeros(cells),
        "m": np.ones(cells),
        "meta_d": type1["dprime"].values,
        "log_gap": np.log(gaps_by_shares(counts)),
    }
    if spec.type1 == "joint":
        values |= {name: type1[name].values for name in ("dprime", "c")}
    return values


def gaps_by_shares(counts: xr.DataArray) -> NDArray[np.float64]:
    """Gaps that would give the shares of the ratings if evidence were half-normal beyond κ."""
    used = counts.sum("stimulus").transpose("cell", "response", "rating").values + 0.5
    beyond = np.cumsum(used[..., ::-1], axis=-1)[..., ::-1] / used.sum(-1, keepdims=True)
    edges = ndtri(1 - beyond / 2)
    return np.maximum(np.diff(edges, axis=-1), SMALLEST_GAP)
