"""Intervals from resampling, for any measure of a count table.

Count table and a statistic (count table → Dataset) → Dataset with dim summary.
Source: Efron (1987) for the BCa interval; Davison & Hinkley (1997), equation 5.21 and section 5.5,
for its acceleration where trials of each stimulus are drawn apart.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from hmetad.arguments import check_inputs, probability, seed_or_none
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
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_where, notices, with_notices
from hmetad.notice_registry import limit

__all__ = ["biased_draws", "is_beside", "limits_of", "resample_interval"]

Method = Literal["percentile", "basic", "bca"]
type Floats = NDArray[np.float64]

# Bias, in SD of the draws, above which there is a notice.
FAR_BESIDE = 0.5
# Rounding error of the mean of equal draws, relative to their size.
ROUNDING = 1e-9
SUMMARY = ("estimate", "lower", "upper")


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
    cluster: str | None = None,
    seed: int | None = None,
    draws: xr.Dataset | None = None,
) -> xr.Dataset:
    r"""Estimate and equal-tailed resampling interval of a statistic, per cell.

    Parameters
    ----------
    counts, statistic, n, kind, hold, cluster, seed
        As in `resample`; ``kind="permutation"`` gives the range that the null hypothesis allows.
    method : {"percentile", "basic", "bca"}, optional
        ``"percentile"``: quantiles of the draws. ``"basic"``: these, reflected at the estimate,
        which suits measures whose estimate is biased, such as meta-I and RMI. ``"bca"``: quantiles
        corrected for bias and for an error that changes with the value (bias-corrected and
        accelerated). The latter two of the bootstrap only.
    ci_prob : float, optional
        Probability of the interval.
    draws : Dataset, optional
        What `resample` gave for these counts and this statistic, where they are at hand: n, kind,
        hold, cluster and seed are then those of the draws.

    Returns
    -------
    Dataset
        The statistic's variables with a last dim ``summary``: ``"estimate"``, ``"lower"``,
        ``"upper"``; counts and flags are without, as the statistic gives them. Draws in which a
        variable is undefined are left out, with a notice; where the estimate is undefined, so is
        its interval. Where all draws are the same, as of an accuracy of 1, a notice ``"no-spread"``
        says so, and the interval is that of outcomes that were not seen.

    Raises
    ------
    InputError
        As `resample`; or if `ci_prob` or `method` is none of the above, or draws are of others.

    Notes
    -----
    The BCa limits are the quantiles of the draws at

    .. math::
        \Phi\Bigl(z_0 + \frac{z_0 + z_\alpha}{1 - a(z_0 + z_\alpha)}\Bigr), \quad
        z_0 = \Phi^{-1}(P(\theta^* < \hat\theta)), \quad
        a = \frac{\sum_h n_h^{-3} \sum_i l_{hi}^3}
                 {6 (\sum_h n_h^{-2} \sum_i l_{hi}^2)^{3/2}}

    where l are the jackknife's influence values: each trial, or each unit, is left out in turn.
    The strata h are the stimuli where their trials are held, otherwise there is one.

    Where all draws are the same, limits are the least and the largest value of the statistic with a
    share :math:`p = 1 - (\alpha/2)^{1/N}` of the trials moved to any one outcome: with a larger
    share, N trials, or units, would have shown it (Clopper & Pearson 1934, whose limit of an
    accuracy of 1 it is).

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.sdt import sdt
    >>> table = from_nr([80, 20], [30, 70])
    >>> resample_interval(table, sdt, method="bca", seed=1)["dprime"].round(2).values
    array([[1.37, 0.98, 1.75]])
    """
    if draws is not None:
        if not {"kind", "hold", "cluster"} <= {*draws.attrs}:
            raise InputError("draws", "none of resample", "what resample gave for these counts")
        kind, hold, cluster = (draws.attrs[name] for name in ("kind", "hold", "cluster"))
    if method != "percentile" and kind != "bootstrap":
        raise InputError("method", f"{method!r} beside kind={kind!r}", "kind='bootstrap'")
    given = draws
    if draws is None:
        draws = resample(
            counts, statistic, n=n, kind=kind, hold=hold, cluster=cluster, seed=seed
        ).compute()
    clusters = clusters_of(counts, cluster) if cluster else None
    table = counts.compute() if clusters is None else clusters.pooled
    estimates = as_dataset(statistic(table))
    if given is not None and not (
        {*estimates.data_vars} <= {*given.data_vars}
        and np.array_equal(estimates.get("cell", []), given.get("cell", []))
    ):
        got = "other cells or results than those of counts"
        raise InputError("draws", got, "what resample gave for these counts")
    left_out = jackknife(table, clusters, statistic, hold) if method == "bca" else None
    number = numbers_drawn(table, clusters, hold)
    result = xr.Dataset(coords=estimates.coords, attrs=draws.attrs)
    beside, same = dict[str, xr.DataArray](), dict[str, xr.DataArray]()
    for name, estimate in estimates.data_vars.items():
        if not np.issubdtype(estimate.dtype, np.floating):
            result[name] = estimate
            continue
        values = defined_only(draws[name].transpose(*estimate.dims, "draw").to_numpy())
        centre = estimate.to_numpy()
        acceleration = None
        if left_out is not None:
            acceleration = left_out[name].transpose(*estimate.dims).to_numpy()
        limits = limits_of(values, centre, method, ci_prob, acceleration)
        limits[np.isnan(centre)] = np.nan
        alike = ~np.isnan(centre) & ~has_spread(values) & (kind != "permutation")
        if alike.any():
            found = unseen_limits(
                table, statistic, estimate.rename(name), (1 - ci_prob) / 2, number
            )
            limits[alike] = found[alike]
            same[str(name)] = estimate.copy(data=alike & (limits[..., 0] != limits[..., 1]))
        if kind == "bootstrap" and method != "basic":
            beside[str(name)] = is_beside(values, estimate)
        together = np.concatenate([centre[..., None], limits], axis=-1)
        result[name] = ((*estimate.dims, "summary"), together, estimate.attrs)
    result = result.assign_coords(summary=list(SUMMARY))
    result.attrs |= {"method": method, "ci_prob": ci_prob}
    said = [*notices(draws), *notices(estimates)]
    said += [*biased_draws(beside), *biased_draws(same, "no-spread.interval")]
    if "m_ratio" in result and kind != "permutation":
        is_high = result["m_ratio"].sel(summary="lower", drop=True) > limit("high-m-ratio")
        # A statistic that says so itself says it of its own interval.
        told = any(notice.code == "high-m-ratio" for notice in said)
        said += [] if told else high_ratio_notices(is_high, table)
    return with_notices(result, said)


def numbers_drawn(table: xr.DataArray, clusters: Clusters | None, hold: Hold) -> xr.DataArray:
    """Trials of each table, or of each of its stimuli where they are held, or units."""
    dims = table_dims(table, "resample_interval")
    trials = table.sum(dims[1:] if hold == "stimulus" else dims)
    if clusters is None:
        return trials
    units = np.zeros(trials.shape)
    for part in clusters.parts:
        has_trials = part.counts.reshape(*part.counts.shape[:2], -1).any(axis=-1)
        units[part.cells] = has_trials.sum(axis=0)
    return trials.copy(data=units)


def unseen_limits(
    table: xr.DataArray,
    statistic: Statistic,
    estimate: xr.DataArray,
    tail: float,
    number: xr.DataArray,
) -> Floats:
    """Least and largest value (..., 2) where any one outcome may have gone unseen.

    A share of the trials goes to the outcome that so many trials or units all miss with the
    probability `tail`.
    """
    dims = table_dims(table, "resample_interval")
    counts = table.transpose(..., *dims)
    inner = counts.shape[-len(dims) :]
    outcomes = np.eye(int(np.prod(inner))).reshape(-1, *inner)
    one = xr.DataArray(outcomes, dims=("draw", *dims))
    stratum = [dim for dim in dims if dim not in number.dims]
    share = 1 - tail ** (1 / np.maximum(number, 1))
    tables = counts * (1 - share * one.sum(stratum)) + share * counts.sum(stratum) * one
    outer = [dim for dim in counts.dims if dim not in dims]
    moved = as_dataset(statistic(tables.transpose(*outer, "draw", *dims)))[str(estimate.name)]
    values = moved.transpose(*estimate.dims, "draw").to_numpy()
    both = np.concatenate([estimate.to_numpy()[..., None], values], axis=-1)
    return np.stack([np.fmin.reduce(both, axis=-1), np.fmax.reduce(both, axis=-1)], axis=-1)


def limits_of(
    values: Floats, estimate: Floats, method: Method, ci_prob: float, acceleration: Floats | None
) -> Floats:
    """Lower and upper limit of every element from its draws, (..., 2)."""
    levels = np.array([(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    if acceleration is not None:
        levels = bca_levels(values, estimate, acceleration, levels)
    limits = quantiles(values, np.broadcast_to(levels, (*estimate.shape, 2)))
    return 2 * estimate[..., None] - limits[..., ::-1] if method == "basic" else limits


def defined_only(values: Floats) -> Floats:
    """Draws with NaN where a variable is undefined or infinite, which both count as no draw."""
    return np.where(np.isfinite(values), values, np.nan)


def is_beside(values: Floats, estimate: xr.DataArray) -> xr.DataArray:
    """Where the draws, on the last axis, lie to one side of the estimate."""
    defined = np.isfinite(values)
    number = np.maximum(defined.sum(axis=-1), 1)
    kept = np.where(defined, values, 0.0)
    mean = kept.sum(axis=-1) / number
    spread = np.sqrt(np.maximum((kept**2).sum(axis=-1) / number - mean**2, 0.0))
    distance = abs(mean - estimate.to_numpy())
    far = FAR_BESIDE * spread + ROUNDING * abs(estimate.to_numpy())
    return estimate.copy(data=distance > far)


def biased_draws(beside: Mapping[str, xr.DataArray], code: str = "biased-draws") -> list[Notice]:
    """One notice of the measures whose draws lie to one side somewhere, with all those cells."""
    masks = {name: mask for name, mask in beside.items() if mask.any()}
    if not masks:
        return []
    by_cell = [mask.any([dim for dim in mask.dims if dim != "cell"]) for mask in masks.values()]
    return notice_where(reduce(or_, by_cell), code, names=", ".join(masks))


def bca_levels(values: Floats, estimate: Floats, acceleration: Floats, levels: Floats) -> Floats:
    """Levels of the two quantiles of every element, (..., 2)."""
    defined = np.isfinite(values)
    number = np.maximum(defined.sum(axis=-1), 1)
    below = (values < estimate[..., None]).sum(axis=-1)
    ties = (values == estimate[..., None]).sum(axis=-1)
    share = (below + ties / 2) / number
    z0 = ndtri(np.clip(share, 0.5 / number, 1 - 0.5 / number))[..., None]
    shifted = z0 + ndtri(levels)
    return ndtr(z0 + shifted / (1 - acceleration[..., None] * shifted))


def quantiles(values: Floats, levels: Floats) -> Floats:
    """Quantiles of the last axis, at levels of their own for every element, (..., 2)."""
    ordered = np.sort(values, axis=-1)
    number = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    place = np.where(np.isnan(levels), 0, levels) * np.maximum(number - 1, 0)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(number - 1, 0))
    lower, upper = (np.take_along_axis(ordered, index, axis=-1) for index in (low, high))
    between = np.where(low == place, lower, lower + (place - low) * (upper - lower))
    return np.where((number > 0) & ~np.isnan(levels), between, np.nan)


def jackknife(
    table: xr.DataArray, clusters: Clusters | None, statistic: Statistic, hold: Hold
) -> xr.Dataset:
    """Acceleration of every variable of the statistic."""
    if clusters is not None:
        tables, strata = without_units(clusters)
    else:
        tables, strata = without_trials(table, hold)
    left_out = as_dataset(statistic(tables))
    return left_out.map(lambda values: acceleration_of(values, strata), keep_attrs=False)


def without_trials(table: xr.DataArray, hold: Hold) -> tuple[xr.DataArray, xr.DataArray]:
    """Tables with one trial less, along dim draw, and how often each occurs, by stratum."""
    dims = table_dims(table, "resample_interval")
    counts = table.transpose(..., *dims)
    outer, inner = counts.shape[: -len(dims)], counts.shape[-len(dims) :]
    size = int(np.prod(inner))
    flat = counts.to_numpy().reshape(*outer, size)
    one_less = flat[..., None, :] - np.eye(size, dtype=flat.dtype)
    # An outcome that never happened has no trial to leave out: its weight is 0.
    tables = np.where(one_less < 0, flat[..., None, :], one_less)
    outer_dims = counts.dims[: -len(dims)]
    left = xr.DataArray(
        tables.reshape(*outer, size, *inner), counts.coords, (*outer_dims, "draw", *dims)
    )
    half = np.repeat(np.eye(2), size // 2, axis=1)
    in_stratum = half if hold == "stimulus" else np.ones((1, size))
    weights = xr.DataArray(flat, dims=(*outer_dims, "draw")) * xr.DataArray(
        in_stratum, dims=("stratum", "draw")
    )
    return left, weights


def without_units(clusters: Clusters) -> tuple[xr.DataArray, xr.DataArray]:
    """Pooled tables without one of their units, along dim draw; weight 0 where there is none."""
    pooled = clusters.pooled
    most = max(len(part.counts) for part in clusters.parts)
    full = pooled.to_numpy()
    tables = np.repeat(full[:, None], most, axis=1).astype(float)
    weights = np.zeros((len(full), most))
    for part in clusters.parts:
        units = len(part.counts)
        tables[part.cells, :units] -= np.moveaxis(part.counts, 0, 1)
        weights[part.cells, :units] = 1.0
    dims = ("cell", "draw", *pooled.dims[1:])
    left = xr.DataArray(tables, dict(pooled.coords), dims)
    return left, xr.DataArray(weights[None], dims=("stratum", "cell", "draw"))


def acceleration_of(values: xr.DataArray, strata: xr.DataArray) -> xr.DataArray:
    """Acceleration from values with one observation left out, each with its weight."""
    number = strata.sum("draw")
    kept = values.fillna(0.0)
    mean = (strata * kept).sum("draw") / number.where(number > 0)
    influence = (number - 1) * (mean - kept)
    cubes = ((strata * influence**3).sum("draw") / number**3).sum("stratum")
    squares = ((strata * influence**2).sum("draw") / number**2).sum("stratum")
    acceleration = cubes / (6 * squares.where(squares > 0) ** 1.5)
    return acceleration.fillna(0.0)
