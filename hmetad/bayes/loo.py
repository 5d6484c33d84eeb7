"""How well a model predicts what it has not seen: one trial, or all counts of a group.

Fit (DataTree) → ArviZ's ELPDData. A trial's likelihood depends on its cell, stimulus, response and
rating alone: the n trials of one outcome share one Pareto-smoothed importance sampling, and count n
times. Leaving out whole cells would leave their parameters without data.
Source: Vehtari, Gelman & Gabry (2017).
"""

from dataclasses import replace

import arviz_stats
import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDData

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.base.notice import notice_attrs, notices
from hmetad.bayes.convergence import sampled_variables
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.group_likelihood import group_log_likelihood
from hmetad.bayes.items import item_log_likelihood

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
        out at a time, and predicted by a model that knows its person; or an item with all that
        observers answered to it, where the fit integrated the effects of items out.
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
    fitted = Fitted.of(fit)
    if by is None and fitted.crossing is not None:
        by = fitted.crossing.factor
    found = loo_trials(fitted) if by is None else loo_groups(fitted, by, seed)
    badly = [notice for notice in notices(fit) if notice.code in SAMPLED_BADLY]
    # What a trial can be: estimates of other outcomes are of other data.
    own = {"outcome": ", ".join(fitted.outcome[1:]), **notice_attrs(badly)}
    pointwise = found.elpd_i.assign_attrs(found.elpd_i.attrs | own)
    return replace(found, elpd_i=pointwise)


def loo_groups(fitted: Fitted, by: str, seed: int) -> ELPDData:
    """Leave one group of a column out."""
    if fitted.crossing is not None and by == fitted.crossing.factor:
        found = item_log_likelihood(fitted)
    else:
        found = group_log_likelihood(fitted, by, seed)
    posterior = sampled_variables(fitted).sel(draw=found["draw"].values)
    log_p = found.rename({by: "group"}).to_dataset(name="counts")
    groups = {"posterior": posterior, "log_likelihood": log_p}
    return arviz_stats.loo(xr.DataTree.from_dict(groups), pointwise=True)


def loo_trials(fitted: Fitted) -> ELPDData:
    """Leave one trial out."""
    observed = fitted.counts.stack(outcome=fitted.outcome)
    seen = np.flatnonzero(observed.values > 0)
    n = observed.values[seen]
    log_p = fitted.log_probabilities(fitted.posterior).stack(outcome=fitted.outcome)
    log_p = log_p.isel(outcome=seen)
    log_p = log_p.drop_vars(["outcome", *fitted.outcome])
    groups = {
        "posterior": sampled_variables(fitted),
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
