"""Does the model fit? Predicted and observed counts side by side.

Fit (DataTree) → Dataset (cell, stimulus, response, rating).
Source: Gelman, Meng & Stern (1996) for the comparison with replicated data.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, refuse_same_names, seed_or_none, with_posterior
from hmetad.bayes.loo import OUTCOME, outcome_draws
from hmetad.bayes.observe import drawn_counts
from hmetad.counts.checks import open_probability, whole_number
from hmetad.counts.correct import type2_counts
from hmetad.measures.type2 import type2_roc
from hmetad.notice import Notice, notice_where, notices, with_notices
from hmetad.specs.spec import spec_of

__all__ = ["mean_counts", "predicted_counts"]

type Floats = NDArray[np.float64]

# Share of a cell's intervals that miss the observed count, above which there is a notice.
MANY_OUTSIDE = 0.2
CURVES = ("false_alarm_rate", "hit_rate")
SUMMARIES = ("mean", "lower", "upper")
BESIDE = tuple(f"{curve}_{name}" for curve in CURVES for name in SUMMARIES)


@check_inputs(fit=with_posterior, seed=seed_or_none)
def predicted_counts(
    fit: xr.DataTree, *, ci_prob: float = 0.95, draws: int = 500, seed: int = 0
) -> xr.Dataset:
    r"""Observed counts and type-2 ROC beside those of replicated data.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    ci_prob : float, optional
        Probability of the predictive intervals.
    draws : int, optional
        Number of posterior draws to replicate, evenly spaced; each gives one table.
    seed : int, optional
        Seed of the replications.

    Returns
    -------
    Dataset
        Dims (cell, stimulus, response, rating): ``counts`` (observed trials), ``mean``, ``lower``
        and ``upper`` (predicted). Per cell and point of the type-2 ROC: ``false_alarm_rate`` and
        ``hit_rate``, and their predictions with ``_mean``, ``_lower`` and ``_upper``. Per
        cell ``outside``, the share of outcomes whose interval misses the count. Where it is more
        than a fifth, there is a notice ``"poor-fit"``.

    Raises
    ------
    InputError
        If an argument is none of the above.

    Notes
    -----
    A replicated table has, of each stimulus, as many trials as were observed, with the
    probabilities of a posterior draw θ:

    .. math:: n^{rep}_{s} \sim \mathrm{Multinomial}(n_s, P(r, k \mid s, \theta))

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=400, seed=1), draws=500, chains=2, **quiet)
    >>> bool(predicted_counts(drawn)["outside"].item() < 0.2)
    True
    """
    number = whole_number("draws", draws, 2)
    open_probability("ci_prob", ci_prob)
    observed = fit["observed_data"].to_dataset()["counts"].transpose(*OUTCOME)
    refuse_same_names(observed.coords, [*SUMMARIES, "outside", *CURVES, *BESIDE])
    replicated = replicate(fit, observed, number, np.random.default_rng(seed))
    levels = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    lower, upper = np.quantile(replicated, levels, axis=0)
    summary = {"mean": replicated.mean(axis=0), "lower": lower, "upper": upper}
    result = xr.Dataset({"counts": observed} | {k: (OUTCOME, v) for k, v in summary.items()})
    misses = (result["counts"] < result["lower"]) | (result["counts"] > result["upper"])
    shown = observed.sum(["response", "rating"]) > 0
    result["outside"] = misses.where(shown).mean(OUTCOME[1:])
    result = result.assign(predicted_curve(observed, replicated, levels))
    result.attrs = {"ci_prob": ci_prob, "draws": number, "seed": seed}
    return with_notices(result, [*notices(fit), *poor_fits(result["outside"])])


def mean_counts(fit: xr.DataTree, draws: int = 500) -> xr.DataArray:
    """Mean predicted counts of every outcome.

    Parameters
    ----------
    fit : DataTree
    draws : int, optional
        Number of posterior draws, evenly spaced.

    Returns
    -------
    DataArray
        Dims (cell, stimulus, response, rating).
    """
    observed = fit["observed_data"].to_dataset()["counts"].transpose(*OUTCOME)
    log_p = thinned_outcomes(fit, observed, draws)
    share = log_p.copy(data=np.exp(log_p.to_numpy())).mean("draw")
    return (share * observed.sum(["response", "rating"])).transpose(*OUTCOME)


def replicate(
    fit: xr.DataTree, observed: xr.DataArray, number: int, rng: np.random.Generator
) -> Floats:
    """Replicated tables, (draw, cell, stimulus, response, rating)."""
    log_p = thinned_outcomes(fit, observed, number)
    totals = observed.sum(["response", "rating"]).to_numpy()
    return drawn_counts(rng, totals, log_p.to_numpy()).astype(float)


def thinned_outcomes(fit: xr.DataTree, observed: xr.DataArray, number: int) -> xr.DataArray:
    """log P of every outcome at some of the draws, dims (draw, *OUTCOME)."""
    posterior = fit["posterior"].to_dataset()
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    there = shape[0] * shape[1]
    chosen = np.unique(np.linspace(0, there - 1, min(number, there)).astype(np.int64))
    chain, draw = (xr.DataArray(x, dims="sample") for x in np.unravel_index(chosen, shape))
    picked = posterior.isel(chain=chain, draw=draw).drop_vars(["chain", "draw"], errors="ignore")
    thin = picked.rename(sample="draw").expand_dims("chain")
    likelihood = spec_of(fit).record
    return outcome_draws(thin, observed, likelihood).isel(chain=0).transpose("draw", *OUTCOME)


def predicted_curve(
    observed: xr.DataArray, replicated: Floats, levels: list[float]
) -> dict[str, xr.DataArray]:
    """Type-2 ROC of the observed counts, and mean and quantiles of the replicated ones."""
    # Grouping columns may be called like its counts.
    observed = observed.reset_coords(drop=True)
    curve = type2_roc(type2_counts(observed))
    tables = xr.DataArray(replicated, dict(observed.coords), ("draw", *OUTCOME))
    drawn = type2_roc(tables)
    found = {name: curve[name].drop_attrs() for name in CURVES}
    for name in CURVES:
        quantiles = drawn[name].quantile(levels, "draw")
        found[f"{name}_mean"] = drawn[name].mean("draw").drop_attrs()
        for side, place in (("lower", 0), ("upper", 1)):
            found[f"{name}_{side}"] = quantiles.isel(quantile=place, drop=True).drop_attrs()
    return found


def poor_fits(outside: xr.DataArray) -> list[Notice]:
    """Notice of the cells whose counts the model does not predict."""
    return notice_where(outside > MANY_OUTSIDE, "poor-fit")
