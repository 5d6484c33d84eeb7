"""Intervals from resampling, for any measure of a count table.

Count table and a statistic (count table → Dataset) → Dataset with dim summary.
Source: Davison & Hinkley (1997) for the intervals.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, seed_or_none
from hmetad.base.errors import ConflictError, SourceError
from hmetad.base.notice import Notice, notice_where, notices, with_notices
from hmetad.base.notice_registry import limit
from hmetad.counts.abstained import abstentions_of, folded, unfolded
from hmetad.counts.checks import table_dims
from hmetad.counts.resample import (
    Clusters,
    Hold,
    Kind,
    Statistic,
    as_dataset,
    clusters_of,
    has_spread,
    resample,
)
from hmetad.counts.tables import high_ratio_notices

Method = Literal["percentile", "basic"]
type Floats = NDArray[np.float64]

# Bias, in SD of the draws, above which there is a notice.
FAR_BESIDE = 0.5
# Rounding error of the mean of equal draws, relative to their size.
ROUNDING = 1e-9


@check_inputs(skip=("counts", "statistic"), ci_prob=probability, seed=seed_or_none)
def resample_interval(
    counts: xr.DataArray,
    statistic: Statistic,
    *,
    n: int = 2000,
    kind: Kind = "bootstrap",
    method: Method = "percentile",
    ci_prob: float = 0.95,
    hold: Hold = "none",
    cluster: str | Sequence[str] | None = None,
    seed: int | None = None,
    draws: xr.Dataset | None = None,
) -> xr.Dataset:
    r"""Estimate and equal-tailed resampling interval of a statistic, per cell.

    Parameters
    ----------
    counts, statistic, n, kind, hold, cluster, seed
        As in `resample`; ``kind="permutation"`` gives the range that the null hypothesis allows.
    method : {"percentile", "basic"}, optional
        ``"percentile"``: quantiles of the draws. ``"basic"``: these, reflected about the estimate,
        which suits measures whose estimate is biased, such as meta-I and RMI; for the bootstrap
        only.
    ci_prob : float, optional
        Probability of the interval.
    draws : Dataset, optional
        Result of `resample` for these counts and this statistic; n, kind, hold, cluster and seed
        are then taken from the draws.

    Returns
    -------
    Dataset
        The statistic's variables with a last dim ``summary``: ``"estimate"``, ``"lower"``,
        ``"upper"``; counts and flags do not have this dim. Draws in which a variable is undefined
        are excluded, with a notice; if the estimate is undefined, so is its interval. If all draws
        are identical, as for an accuracy of 1, there is a notice ``"no-spread"``, and the interval
        allows for unobserved outcomes.

    Raises
    ------
    InputError
        As `resample`; or if `ci_prob` or `method` is invalid, or draws are from other counts.

    Notes
    -----
    If all draws are identical, limits are the smallest and the largest value of the statistic with
    a proportion :math:`p = 1 - (\alpha/2)^{1/N}` of the trials moved to any one outcome: N trials,
    or units, would have shown a larger proportion (for an accuracy of 1 this is the limit of
    Clopper & Pearson 1934).

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.sdt import sdt
    >>> table = from_nr([80, 20], [30, 70])
    >>> resample_interval(table, sdt, method="basic", seed=1)["dprime"].round(2).values
    array([[1.37, 0.93, 1.72]])
    """
    if draws is not None:
        if not {"kind", "hold", "cluster"} <= {*draws.attrs}:
            raise SourceError("draws", "none of resample", "what resample gave for these counts")
        kind, hold, cluster = (draws.attrs[name] for name in ("kind", "hold", "cluster"))
    if method != "percentile" and kind != "bootstrap":
        raise ConflictError("method", f"kind={kind!r}", next_step="Take kind='bootstrap'.")
    how: dict[str, Any] = {"kind": kind, "hold": hold, "cluster": cluster, "seed": seed}
    drawn = resample(counts, statistic, n=n, **how).compute() if draws is None else draws
    clusters = clusters_of(counts, cluster) if cluster else None
    source = Source(clusters.pooled if clusters else counts.compute(), statistic, clusters, hold)
    estimates = as_dataset(statistic(source.table))
    same_cells = np.array_equal(estimates.get("cell", []), drawn.get("cell", []))
    has_all = same_cells and {*estimates.data_vars} <= {*drawn.data_vars}
    if draws is not None and not has_all:
        raise SourceError("draws", "other cells or results", "what resample gave for these counts")
    result = xr.Dataset(coords=estimates.coords, attrs=drawn.attrs)
    beside, same = dict[str, xr.DataArray](), dict[str, xr.DataArray]()
    for name, estimate in estimates.data_vars.items():
        if not np.issubdtype(estimate.dtype, np.floating):
            result[name] = estimate
            continue
        values = drawn[name].transpose(*estimate.dims, "draw").to_numpy()
        # Draws in which a variable is undefined or infinite both count as none.
        values = np.where(np.isfinite(values), values, np.nan)
        limits = limits_of(values, estimate.to_numpy(), method, ci_prob)
        alike = estimate.notnull() & ~has_spread(values) & (kind != "permutation")
        if alike.any():
            unseen = unseen_limits(source, estimate.rename(name), (1 - ci_prob) / 2)
            limits = np.where(alike.to_numpy()[..., None], unseen, limits)
            same[str(name)] = alike & (limits[..., 0] != limits[..., 1])
        if kind == "bootstrap" and method != "basic":
            beside[str(name)] = is_beside(values, estimate)
        together = np.concatenate([estimate.to_numpy()[..., None], limits], axis=-1)
        result[name] = ((*estimate.dims, "summary"), together, estimate.attrs)
    result = result.assign_coords(summary=["estimate", "lower", "upper"])
    result.attrs |= {"method": method, "ci_prob": ci_prob}
    said = [*notices(drawn), *notices(estimates)]
    said += [*biased_draws(beside), *biased_draws(same, "no-spread.interval")]
    # A statistic that says itself that M is high says it of its own interval.
    is_told = any(notice.code == "high-m-ratio" for notice in said)
    if "m_ratio" in result and kind != "permutation" and not is_told:
        said += high_interval_notices(result["m_ratio"], source.table)
    return with_notices(result, said)


def high_interval_notices(m_ratio: xr.DataArray, counts: xr.DataArray) -> list[Notice]:
    """Notices of cells whose M is high even at the lower end of its interval."""
    is_high = m_ratio.sel(summary="lower", drop=True) > limit("high-m-ratio")
    return high_ratio_notices(is_high, counts)


class Source(NamedTuple):
    """What draws were made of: a table, by itself or summed over units, and its statistic."""

    table: xr.DataArray
    statistic: Statistic
    clusters: Clusters | None
    hold: Hold


# Limits of draws


def limits_of(values: Floats, estimate: Floats, method: Method, ci_prob: float) -> Floats:
    """Lower and upper limit of every element from its draws, (..., 2)."""
    limits = quantiles(values, np.array([(1 - ci_prob) / 2, (1 + ci_prob) / 2]))
    limits = 2 * estimate[..., None] - limits[..., ::-1] if method == "basic" else limits
    return np.where(np.isnan(estimate)[..., None], np.nan, limits)


def quantiles(values: Floats, levels: Floats) -> Floats:
    """Quantiles of the last axis, (..., levels), without NaN; NaN where nothing is left."""
    ordered = np.sort(values, axis=-1)
    number = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    place = levels * np.maximum(number - 1, 0)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(number - 1, 0))
    lower, upper = (np.take_along_axis(ordered, index, axis=-1) for index in (low, high))
    return np.where(low == place, lower, lower + (place - low) * (upper - lower))


def is_beside(values: Floats, estimate: xr.DataArray) -> xr.DataArray:
    """Where the draws, on the last axis, lie to one side of the estimate."""
    defined = np.isfinite(values)
    number = np.maximum(defined.sum(axis=-1), 1)
    kept = np.where(defined, values, 0.0)
    mean = kept.sum(axis=-1) / number
    spread = np.sqrt(np.maximum((kept**2).sum(axis=-1) / number - mean**2, 0.0))
    return abs(mean - estimate) > FAR_BESIDE * spread + ROUNDING * abs(estimate)


def biased_draws(beside: Mapping[str, xr.DataArray], code: str = "biased-draws") -> list[Notice]:
    """One notice of the measures whose draws lie to one side somewhere, with all those cells."""
    masks = {name: mask for name, mask in beside.items() if mask.any()}
    return notice_where(reduce(or_, masks.values()), code, names=", ".join(masks)) if masks else []


# What was not drawn: outcomes that may have gone unseen


def unseen_limits(source: Source, estimate: xr.DataArray, tail: float) -> Floats:
    """Least and largest value (..., 2) where any one outcome may have gone unseen.

    A share of the trials goes to the outcome that so many trials or units all miss with the
    probability `tail`; of trials of each stimulus, where their numbers are held.
    """
    dims = table_dims(source.table, "resample_interval")
    counts = folded(source.table).transpose(..., *dims)
    stratum = dims[1:] if source.hold == "stimulus" else dims
    number = counts.sum(stratum)
    if source.clusters is not None:
        units = np.zeros(number.shape)
        for part in source.clusters.parts:
            units[part.cells] = part.counts.any(axis=tuple(range(2, part.counts.ndim))).sum(axis=0)
        number = number.copy(data=units)
    inner = counts.shape[-len(dims) :]
    outcomes = np.eye(int(np.prod(inner))).reshape(-1, *inner)
    one = xr.DataArray(outcomes, dims=("draw", *dims))
    share = 1 - tail ** (1 / np.maximum(number, 1))
    tables = counts * (1 - share * one.sum(stratum)) + share * counts.sum(stratum) * one
    tables = tables.transpose(..., "draw", *dims)
    if abstentions_of(source.table) is not None:
        tables = unfolded(tables.to_numpy(), source.table.coords, dims)
    moved = as_dataset(source.statistic(tables))[estimate.name]
    values = moved.transpose(*estimate.dims, "draw").to_numpy()
    both = np.concatenate([estimate.to_numpy()[..., None], values], axis=-1)
    return np.stack([np.fmin.reduce(both, axis=-1), np.fmax.reduce(both, axis=-1)], axis=-1)
