"""The analysis that Cacioli (2026) published and withdrew, and its hypotheses.

Type-2 table (cell, correct, rating) → count table in which correctness is the stimulus → estimates
and bootstrap intervals (cell), and verdicts by H1, H3 and H4.
Source: arXiv:2603.25112, first version, sections 3.2 and 3.3.
"""

from functools import partial
from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from hmetad.compare.normal_decisions import decide_normal
from hmetad.counts.detection import ACKNOWLEDGEMENT, as_detection
from hmetad.counts.resample import resample
from hmetad.mle.meta_d import fit_mle

__all__ = [
    "FAILED",
    "PASSED",
    "SAMPLES",
    "WITHDRAWN",
    "bootstrapped",
    "chance_of_relative_rule",
    "equivalence",
    "estimates",
    "h1",
    "h3",
    "merged",
    "nearest_edges",
    "normal_error",
    "pairwise",
    "ranks",
    "withdrawn",
]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

SAMPLES = 10_000
# Of M, beyond which print leaves an estimate out.
LARGEST = 10.0
# A normal 95 % interval reaches so many standard errors to either side.
Z_95 = float(norm.isf(0.025))
# Of meta-d′ over temperatures.
DELTA = 0.3
PASSED, FAILED = "passed", "failed"
WITHDRAWN = (
    "Its author withdrew this analysis. It puts correctness in the place of the stimulus, and a "
    "cut of confidence at its median in that of the response. No decision between two "
    "alternatives is left: d′ and meta-d′ both say how well one variable, confidence, tells right "
    "from wrong, and where its two distributions are normal with equal variance their ratio is 1, "
    "however good confidence is. What M departs from 1 by is the shape of those distributions and "
    "the place of the cut. It is not metacognitive efficiency."
)


def withdrawn(table: xr.DataArray, cut: int | None = None) -> xr.DataArray:
    """Count table of the withdrawn analysis, with its notice; `cut` as in `as_detection`."""
    return as_detection(table, acknowledge=ACKNOWLEDGEMENT, cut=cut)


def estimates(
    counts: xr.DataArray,
    correction: float | Literal["none", "loglinear"] = 0.5,
    s: float | Literal["estimate"] = 1.0,
) -> xr.Dataset:
    """Maximum-likelihood d′, meta-d′ and M; M is NaN where print leaves it out as unstable.

    Parameters
    ----------
    counts : DataArray
        Count table; further dims are kept.
    correction : float or str, optional
        What is added to every rating, ½ in print; or as in `fit_mle`.
    s : float or "estimate", optional
        As in `fit_mle`.

    Returns
    -------
    Dataset
        ``dprime``, ``meta_d``, ``meta_d_se``, ``m_ratio`` and ``m_ratio_se``.
    """
    fitted = fit_mle(counts, correction=correction, s=s)
    names = ["dprime", "meta_d", "meta_d_se", "m_ratio", "m_ratio_se"]
    return fitted[names].assign(m_ratio=fitted["m_ratio"].where(abs(fitted["m_ratio"]) <= LARGEST))


def bootstrapped(
    counts: xr.DataArray,
    correction: float | Literal["none", "loglinear"] = 0.5,
    *,
    seed: int,
) -> tuple[xr.Dataset, xr.DataArray]:
    """Estimates with the limits of M's 95 % percentile interval, and the draws of M.

    Parameters
    ----------
    counts : DataArray
        Count table; trials are drawn, the edges of ratings stay.
    correction : float or str, optional
        As in `estimates`.
    seed : int

    Returns
    -------
    Dataset
        `estimates`, ``lower`` and ``upper``.
    DataArray
        M with dims (cell, draw).
    """
    statistic = partial(estimates, correction=correction)
    draws = resample(counts, statistic, n=SAMPLES, seed=seed)["m_ratio"]
    limits = draws.quantile([0.025, 0.975], "draw", skipna=True).drop_attrs()
    lower, upper = (limits.isel(quantile=i, drop=True) for i in (0, 1))
    return statistic(counts).assign(lower=lower, upper=upper), draws


def h1(upper: xr.DataArray) -> xr.DataArray:
    """H1, suboptimal metacognition: whether the interval of M ends below 1."""
    return xr.where(upper < 1, "supported", "not supported")


def h3(dprime: xr.DataArray, meta_d: xr.DataArray) -> xr.Dataset:
    """H3, dissociation by temperature, by the rules of print, per model.

    Parameters
    ----------
    dprime, meta_d : DataArray
        Dims model, temperature.

    Returns
    -------
    Dataset
        ``range`` of meta-d′ (largest less smallest); ``stable``, whether it is below .3, which
        print calls TOST; Spearman's ``rho_meta_d`` and ``rho_dprime`` with temperature;
        ``relative``, whether the first is the nearer to 0; ``supported``, whether both rules pass.
    """
    span = meta_d.max("temperature", skipna=False) - meta_d.min("temperature", skipna=False)
    rho_meta_d, rho_dprime = spearman(meta_d), spearman(dprime)
    is_stable = span < DELTA
    # Ranks correlate to within rounding: equal is not less.
    is_relative = abs(rho_meta_d) < abs(rho_dprime) - 1e-9
    return xr.Dataset(
        {
            "range": span,
            "stable": passed(is_stable),
            "rho_meta_d": rho_meta_d,
            "rho_dprime": rho_dprime,
            "relative": passed(is_relative),
            "supported": passed(is_stable & is_relative),
        }
    )


def passed(rule: xr.DataArray) -> xr.DataArray:
    """Verdict on a rule in one word."""
    return xr.where(rule, PASSED, FAILED)


def spearman(values: xr.DataArray) -> xr.DataArray:
    """Rank correlation with temperature."""
    rank = values.copy(data=rankdata(values, axis=values.get_axis_num("temperature")))
    order = values["temperature"].copy(data=rankdata(values["temperature"]))
    return xr.corr(rank, order.drop_attrs(), "temperature")


def chance_of_relative_rule(temperatures: int = 4) -> float:
    """Probability of the rule |ρ(meta-d′)| < |ρ(d′)| where the orders of both are chance.

    Examples
    --------
    >>> round(chance_of_relative_rule(), 2)
    0.39
    """
    orders = np.array(list(permutations(range(temperatures))))
    rho = abs(np.corrcoef(orders, np.arange(temperatures))[-1, :-1])
    return float((rho[:, None] < rho - 1e-9).mean())


def equivalence(meta_d: xr.DataArray, se: xr.DataArray) -> xr.Dataset:
    """Interval TOST: whether all differences of meta-d′ between temperatures are shown to be small.

    Parameters
    ----------
    meta_d, se : DataArray
        Estimates and their standard errors, dims model, temperature.

    Returns
    -------
    Dataset
        ``reach``, the end that is farthest from 0 of the 90 % intervals of all pairwise
        differences, taken as independent; ``equivalent``, whether all of them are inside ±.3.

    Notes
    -----
    Two one-sided tests at α = .05 are the 1 − 2α interval inside ±δ. That all pairs pass is an
    intersection, which needs no correction for their number. Temperatures share their questions,
    and estimates that covary differ by less than independent ones: the test is conservative.
    """
    values, errors = (x.transpose("model", "temperature").to_numpy() for x in (meta_d, se))
    first, second = np.triu_indices(meta_d.sizes["temperature"], 1)
    left, right = values[:, first], values[:, second]
    judged = decide_normal(
        (left - right).ravel(),
        np.hypot(*(errors[:, index] for index in (first, second))).ravel(),
        rope=(-DELTA, DELTA),
        ci_prob=0.9,
        labels=[str(i) for i in range(left.size)],
    ).table()
    shape = left.shape
    farthest = np.maximum(-judged["lower"].to_numpy(), judged["upper"].to_numpy()).reshape(shape)
    is_inside = (judged["verdict"] == "negligible").to_numpy().reshape(shape)
    like = meta_d.isel(temperature=0, drop=True).drop_attrs()
    reach = like.copy(data=farthest.max(axis=1))
    return xr.Dataset({"reach": reach, "equivalent": passed(like.copy(data=is_inside.all(axis=1)))})


def pairwise(
    m_ratio: xr.DataArray, lower: xr.DataArray, upper: xr.DataArray, draws: xr.DataArray | None
) -> pd.DataFrame:
    """H4, hidden structure: M of every two models, by the rule of print and by their difference.

    Parameters
    ----------
    m_ratio, lower, upper : DataArray
        M and the limits of its 95 % interval, dim model.
    draws : DataArray or None
        Bootstrap draws of M, dims model and draw; without them the difference is taken as normal,
        with standard errors from the widths of the intervals.

    Returns
    -------
    DataFrame
        A row per pair: left, right, difference, ``overlap`` of the two intervals (negative:
        apart), lower and upper limit of the difference.
    """
    rows: list[dict[str, Any]] = []
    se = normal_error(lower, upper)
    for left, right in combinations(m_ratio["model"].to_numpy().tolist(), 2):
        one, other = {"model": left}, {"model": right}
        difference = float(m_ratio.sel(one) - m_ratio.sel(other))
        if draws is None:
            half = Z_95 * float(np.hypot(se.sel(one), se.sel(other)))
            limits = [difference - half, difference + half]
        else:
            limits = np.nanquantile(draws.sel(one) - draws.sel(other), [0.025, 0.975]).tolist()
        ends = min(upper.sel(one).item(), upper.sel(other).item())
        overlap = ends - max(lower.sel(one).item(), lower.sel(other).item())
        names = ("left", "right", "difference", "overlap", "lower", "upper")
        rows.append(dict(zip(names, (left, right, difference, overlap, *limits), strict=True)))
    return pd.DataFrame(rows)


def normal_error(lower: xr.DataArray, upper: xr.DataArray) -> xr.DataArray:
    """Standard error of an estimate whose normal 95 % interval has these limits."""
    return (upper - lower) / (2 * Z_95)


def ranks(values: xr.DataArray) -> xr.DataArray:
    """Ranks along the models, the largest first; those that are equal share the better rank."""
    return values.copy(data=rankdata(-values, method="min").astype(np.int64)).drop_attrs()


def nearest_edges(trials: Integers, ratings: int) -> tuple[list[int], int]:
    """Edges of bins that are nearest to the quantiles of 2K ratings, and the one of the median.

    Parameters
    ----------
    trials : array of int, shape (bins,)
        Trials by bin, from low to high confidence.
    ratings : int
        K.

    Returns
    -------
    edges : list of int
        How many bins are below each edge; quantiles with the same nearest edge lose a rating.
    cut : int
        How many ratings these edges leave below the edge that is nearest to the median.

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


def merged(table: xr.DataArray, edges: list[int]) -> xr.DataArray:
    """Type-2 table of the ratings that the edges leave of the bins.

    Examples
    --------
    >>> bins = xr.DataArray([[5, 4, 3, 1], [1, 2, 5, 9]], dims=["correct", "rating"])
    >>> merged(bins, [1, 3]).values.tolist()
    [[5, 7, 1], [1, 7, 9]]
    """
    values = table.transpose(..., "correct", "rating")
    sums = np.add.reduceat(values.to_numpy(), [0, *edges], axis=-1)
    fewer = values.isel(rating=slice(len(edges) + 1))
    return fewer.copy(data=sums).assign_coords(rating=np.arange(1, len(edges) + 2))
