"""Leave-one-out cross-validation: a trial at a time, or a whole group.

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
from hmetad.bayes.kept_cells import whole_posterior
from hmetad.bayes.left_out_groups import group_log_likelihood
from hmetad.likelihood.records import Likelihood
from hmetad.notice import notice_attrs, notices
from hmetad.specs.spec import spec_of

__all__ = ["loo", "outcome_draws", "trial_log_likelihood"]

OUTCOME = ("cell", "stimulus", "response", "rating")
# Notices of a fit whose draws are no good estimate of anything.
SAMPLED_BADLY = ("divergences", "rhat", "ess")


@check_inputs(fit=with_posterior)
def loo(fit: xr.DataTree, *, by: str | None = None, seed: int = 0) -> ELPDData:
    """Expected log predictive density of what the fit has not seen: trials, or whole groups.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    by : str, optional
        A column of the cells, such as ``"subject"``: each of its groups is left out as a whole, and
        predicted from the population, its own effects integrated out. By default a trial is left
        out at a time, and predicted by a model that knows its person.
    seed : int, optional
        With `by`: seed of the points at which effects are integrated.

    Returns
    -------
    ELPDData
        ArviZ's own, pointwise over trials or groups, so that ``arviz.compare({"a": loo(a), "b":
        loo(b)})`` compares fits of one count table. It warns where a Pareto k says that the
        estimate cannot be trusted. ``elpd_i`` carries the notices of a fit that was sampled badly.

    Raises
    ------
    InputError
        If there is no such column, or the likelihood has priors of its own, as HMeta-d's criteria.

    Notes
    -----
    For a group of counts y, with population parameters φ and effects θ of the group,
    p(y | φ) = ∫ p(y | θ) p(θ | φ) dθ is computed at some 1,000 draws of φ by importance sampling,
    and Pareto-smoothed importance sampling leaves the group out of these draws. Source: Vehtari,
    Gelman & Gabry (2017); Merkle, Furr & Rabe-Hesketh (2019).

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
    found = loo_trials(fit) if by is None else loo_groups(fit, by, seed)
    badly = [notice for notice in notices(fit) if notice.code in SAMPLED_BADLY]
    pointwise = found.elpd_i.assign_attrs(found.elpd_i.attrs | notice_attrs(badly))
    return replace(found, elpd_i=pointwise)


def loo_groups(fit: xr.DataTree, by: str, seed: int) -> ELPDData:
    """Leave one group of a column out."""
    found = group_log_likelihood(fit, by, seed)
    posterior = sampled_variables(fit).sel(draw=found.values["draw"].values)
    log_p = found.values.rename({by: "group"}).to_dataset(name="counts")
    groups = {"posterior": posterior, "log_likelihood": log_p}
    return arviz_stats.loo(xr.DataTree.from_dict(groups), pointwise=True)


def loo_trials(fit: xr.DataTree) -> ELPDData:
    """Leave one trial out."""
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
        whole_posterior(fit), fit["observed_data"].to_dataset()["counts"], likelihood
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
