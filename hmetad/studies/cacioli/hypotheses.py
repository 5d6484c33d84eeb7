"""Hypotheses of the withdrawn analysis.

Estimates by model and temperature → verdicts by the rules of the paper and by other tests.
"""

from itertools import permutations

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm, rankdata

__all__ = ["chance_of_relative_rule", "h1", "h3", "normal_error", "pairwise", "ranks"]

PASSED, FAILED = "passed", "failed"
# A normal 95 % interval reaches so many standard errors to either side.
Z_95 = float(norm.isf(0.025))
# Of meta-d′ over temperatures.
DELTA = 0.3


def h1(upper: xr.DataArray) -> xr.DataArray:
    """H1, suboptimal metacognition: whether the interval of M ends below 1."""
    return xr.where(upper < 1, "supported", "not supported")


def h3(found: xr.Dataset) -> xr.Dataset:
    """H3, dissociation by temperature, by the rules of print and by `equivalence`.

    Of dprime, meta_d and meta_d_se by model, temperature: ``range`` of meta-d′ (largest less
    smallest); ``stable``, whether it is below .3, which print calls TOST; Spearman's ``rho_meta_d``
    and ``rho_dprime`` with temperature; ``relative``, whether the first is the nearer to 0;
    ``supported``, whether both rules pass.
    """
    dprime, meta_d = found["dprime"], found["meta_d"]
    span = meta_d.max("temperature", skipna=False) - meta_d.min("temperature", skipna=False)
    rho_meta_d, rho_dprime = spearman(meta_d), spearman(dprime)
    is_stable = span < DELTA
    # Ranks correlate to within rounding: equal is not less.
    is_relative = abs(rho_meta_d) < abs(rho_dprime) - 1e-9
    rules = {
        "range": span,
        "stable": verdict_on(is_stable),
        "rho_meta_d": rho_meta_d,
        "rho_dprime": rho_dprime,
        "relative": verdict_on(is_relative),
        "supported": verdict_on(is_stable & is_relative),
    }
    return equivalence(meta_d, found["meta_d_se"]).assign(rules)


def verdict_on(rule: xr.DataArray) -> xr.DataArray:
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

    ``reach`` is the end that is farthest from 0 of the 90 % intervals of all pairwise differences,
    taken as independent; ``equivalent``, whether all of them are inside ±.3. Two one-sided tests at
    α = .05 are the 1 − 2α interval inside ±δ. That all pairs pass is an intersection, which needs
    no correction for their number. Temperatures share their questions, and estimates that covary
    differ by less than independent ones: the test is conservative.
    """
    other = {"temperature": "other"}
    difference = abs(meta_d - meta_d.rename(other))
    is_other = difference["temperature"] != difference["other"]
    ends = difference + norm.isf(0.05) * np.hypot(se, se.rename(other))
    reach = ends.where(is_other, 0.0).max(["temperature", "other"], skipna=False).drop_attrs()
    return xr.Dataset({"reach": reach, "equivalent": verdict_on(reach < DELTA)})


def pairwise(found: xr.Dataset) -> pd.DataFrame:
    """H4, hidden structure: M of every two models, by the rule of print and by their difference.

    Of m_ratio, lower and upper by model, a row per pair: left, right, difference, ``overlap`` of
    the two intervals (negative: apart), lower and upper limit of the difference: of bootstrap
    draws, or without them normal, with standard errors from the widths of the intervals.
    """
    models, se = found["model"].to_numpy(), normal_error(found).to_numpy()
    i, j = np.triu_indices(len(models), 1)
    m, low, high = (found[name].to_numpy() for name in ("m_ratio", "lower", "upper"))
    difference = m[i] - m[j]
    if "draws" not in found:
        limits = difference + Z_95 * np.hypot(se[i], se[j]) * np.array([[-1], [1]])
    else:
        drawn = found["draws"].transpose("model", "draw").to_numpy()
        limits = np.nanquantile(drawn[i] - drawn[j], [0.025, 0.975], axis=1)
    names = {"left": models[i], "right": models[j], "difference": difference}
    overlap = np.minimum(high[i], high[j]) - np.maximum(low[i], low[j])
    return pd.DataFrame({**names, "overlap": overlap, "lower": limits[0], "upper": limits[1]})


def normal_error(found: xr.Dataset) -> xr.DataArray:
    """Standard error of an estimate whose normal 95 % interval has these limits."""
    return (found["upper"] - found["lower"]) / (2 * Z_95)


def ranks(values: xr.Dataset) -> pd.DataFrame:
    """Ranks of the models by each variable, the largest first; equal ones share the better rank."""
    return values.to_dataframe().rank(ascending=False, method="min").astype(np.int64)
