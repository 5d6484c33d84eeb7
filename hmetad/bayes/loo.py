"""Leave-one-out cross-validation with the trial as the unit.

Fit (DataTree) → ArviZ's ELPDData. A trial's likelihood depends on its cell, stimulus, response
and rating alone: the n trials of one outcome share one Pareto-smoothed importance sampling, and
count n times. Leaving out whole cells would leave their parameters without data.
Source: Vehtari, Gelman & Gabry (2017).
"""

from dataclasses import replace

import arviz_stats
import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDData

from hmetad.arguments import check_inputs, with_posterior
from hmetad.bayes.convergence import sampled_variables
from hmetad.likelihood.records import Likelihood
from hmetad.specs.spec import spec_of

__all__ = ["loo", "outcome_draws", "trial_log_likelihood"]

OUTCOME = ("cell", "stimulus", "response", "rating")


@check_inputs(fit=with_posterior)
def loo(fit: xr.DataTree) -> ELPDData:
    """Expected log predictive density of a trial that the fit has not seen, summed over trials.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.

    Returns
    -------
    ELPDData
        ArviZ's own, pointwise over trials, so that ``arviz.compare({"a": loo(a), "b": loo(b)})``
        compares fits of one count table. It warns where a Pareto k says that the estimate
        cannot be trusted.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> draws = fit(simulate_counts(1.5, trials=400, seed=1), draws=500, chains=2, **quiet)
    >>> estimate = loo(draws)
    >>> estimate.n_data_points, 5 < estimate.p < 11
    (400, True)
    """
    observed = fit["observed_data"].to_dataset()["counts"].stack(outcome=OUTCOME)
    seen = np.flatnonzero(observed.values > 0)
    n = observed.values[seen]
    log_p = trial_log_likelihood(fit).stack(outcome=OUTCOME).isel(outcome=seen)
    log_p = log_p.drop_vars(["outcome", *OUTCOME])
    groups = {
        "posterior": sampled_variables(fit),
        "log_likelihood": log_p.to_dataset(name="counts"),
    }
    distinct = arviz_stats.loo(xr.DataTree.from_dict(groups), pointwise=True)
    trial = xr.DataArray(np.repeat(np.arange(len(n)), n), dims="trial")
    pointwise = distinct.elpd_i.isel(outcome=trial)
    whole = log_p.reduce(np.logaddexp.reduce, "chain").reduce(np.logaddexp.reduce, "draw")
    fitted = whole - np.log(distinct.n_samples)
    return replace(
        distinct,
        elpd=float(pointwise.sum()),
        se=float(np.sqrt(pointwise.size * pointwise.var())),
        p=float(((fitted - distinct.elpd_i) * n).sum()),
        n_data_points=pointwise.size,
        elpd_i=pointwise,
        pareto_k=distinct.pareto_k.isel(outcome=trial),
        log_weights=None,
        p_loo_i=None,
    )


def trial_log_likelihood(fit: xr.DataTree) -> xr.DataArray:
    """log P(response, rating | stimulus) of one trial of each outcome.

    Parameters
    ----------
    fit : DataTree

    Returns
    -------
    DataArray
        Dims (chain, draw, cell, stimulus, response, rating).
    """
    likelihood = spec_of(fit).record
    return outcome_draws(
        fit["posterior"].to_dataset(), fit["observed_data"].to_dataset()["counts"], likelihood
    )


def outcome_draws(
    posterior: xr.Dataset, counts: xr.DataArray, likelihood: Likelihood
) -> xr.DataArray:
    """The same, from draws of the quantities of a likelihood and a count table."""
    values = {
        name: posterior[name].transpose("chain", "draw", "cell", *quantity.dims).to_numpy()
        for name, quantity in likelihood.results.items()
    }
    coords = {name: counts[name].values for name in OUTCOME}
    return xr.DataArray(
        likelihood.outcomes(values), dims=("chain", "draw", *OUTCOME), coords=coords
    )
