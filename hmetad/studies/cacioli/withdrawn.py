"""The withdrawn analysis: correctness in the place of the stimulus.

Type-2 tables → d′, meta-d′ and M with limits, as in the first version of the paper.
"""

from functools import partial
from typing import Literal

import numpy as np
import xarray as xr

from hmetad.counts.resample import resample
from hmetad.counts.tables import ACKNOWLEDGEMENT, as_detection
from hmetad.mle.meta_d import fit_mle
from hmetad.studies.cacioli.tables import Integers

__all__ = [
    "RATINGS",
    "Scale",
    "bootstrap",
    "estimates",
    "m_of",
    "merge_bins",
    "nearest_edges",
    "withdrawn_counts",
]

type Correction = float | Literal["none", "loglinear"]
type Scale = float | Literal["estimate"]

SAMPLES = 10_000
RATINGS = (3, 4, 6)
# Of M, beyond which print leaves an estimate out.
LARGEST = 10.0


def withdrawn_counts(table: xr.DataArray, cut: int | None = None) -> xr.DataArray:
    """Count table of the withdrawn analysis, with its notice; `cut` as in `as_detection`."""
    return as_detection(table, acknowledge=ACKNOWLEDGEMENT, cut=cut)


def estimates(counts: xr.DataArray, correction: Correction = 0.5, s: Scale = 1.0) -> xr.Dataset:
    """Maximum-likelihood d′, meta-d′ and M; M is NaN where print leaves it out as unstable.

    The correction is what is added to every rating, ½ in print.
    """
    fitted = fit_mle(counts, correction=correction, s=s)
    names = ["dprime", "meta_d", "meta_d_se", "m_ratio", "m_ratio_se"]
    return fitted[names].assign(m_ratio=fitted["m_ratio"].where(abs(fitted["m_ratio"]) <= LARGEST))


def bootstrap(
    counts: xr.DataArray, correction: Correction = 0.5, *, seed: int
) -> tuple[xr.Dataset, xr.DataArray]:
    """Estimates with the limits of M's 95 % percentile interval, and the draws of M (cell, draw).

    Trials are drawn; the edges of ratings stay.
    """
    statistic = partial(estimates, correction=correction)
    draws = resample(counts, statistic, n=SAMPLES, seed=seed)["m_ratio"]
    limits = draws.quantile([0.025, 0.975], "draw", skipna=True).drop_attrs()
    lower, upper = (limits.isel(quantile=i, drop=True) for i in (0, 1))
    return statistic(counts).assign(lower=lower, upper=upper), draws


def nearest_edges(trials: Integers, ratings: int) -> tuple[list[int], int]:
    """Edges of bins that are nearest to the quantiles of 2K ratings, and the one of the median.

    An edge is how many bins are below it; quantiles with the same nearest edge lose a rating. The
    second number is how many ratings are left below the edge that is nearest to the median.

    Examples
    --------
    >>> nearest_edges(np.array([5, 20, 25, 50]), 2)
    ([2, 3], 2)
    """
    shares = trials.cumsum()[:-1] / trials.sum()
    quantiles = np.arange(1, 2 * ratings) / (2 * ratings)
    nearest = abs(shares - quantiles[:, None]).argmin(axis=1) + 1
    edges = np.unique(nearest).tolist()
    return edges, edges.index(int(nearest[ratings - 1])) + 1


def merge_bins(table: xr.DataArray, edges: list[int]) -> xr.DataArray:
    """Type-2 table of the ratings that the edges leave of the bins.

    Examples
    --------
    >>> bins = xr.DataArray([[5, 4, 3, 1], [1, 2, 5, 9]], dims=["correct", "rating"])
    >>> merge_bins(bins, [1, 3]).values.tolist()
    [[5, 7, 1], [1, 7, 9]]
    """
    values = table.transpose(..., "correct", "rating")
    sums = np.add.reduceat(values.to_numpy(), [0, *edges], axis=-1)
    fewer = values.isel(rating=slice(len(edges) + 1))
    return fewer.copy(data=sums).assign_coords(rating=np.arange(1, len(edges) + 2))


def m_of(
    table: xr.DataArray,
    ratings: int | None = 4,
    correction: Correction = "loglinear",
    s: Scale = 1.0,
) -> float:
    """M of the withdrawn analysis of a cell, with ratings by quantiles, or with all the bins."""
    edges, cut = nearest_edges(table.sum(["cell", "correct"]).to_numpy(), ratings or 4)
    if ratings is None:
        edges, cut = list(range(1, table.sizes["rating"])), edges[cut - 1]
    counts = withdrawn_counts(merge_bins(table, edges), cut)
    return float(estimates(counts, correction, s)["m_ratio"].item())
