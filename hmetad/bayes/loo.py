"""What the model says without some of the data: a trial, a group, or one person of a population.

Fit (DataTree) → ArviZ's ELPDData, or Dataset (group) of a population value without each group, by
importance weights. A trial's likelihood depends on its cell, stimulus, response and rating alone:
the n trials of one outcome share one Pareto-smoothed importance sampling, and count n times.
Leaving out whole cells would leave their parameters without data.
Source: Vehtari, Gelman & Gabry (2017).
"""

from dataclasses import replace

import arviz_stats
import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDData

from hmetad.base.arguments import check_inputs, whole, with_posterior
from hmetad.base.errors import InputError, nearest
from hmetad.base.notice import notice_attrs, notice_of, notices, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import attrs_of
from hmetad.base.variable_names import coefficient_name
from hmetad.bayes.convergence import sampled_variables
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.group_likelihood import group_log_likelihood
from hmetad.bayes.weights import smooth_weights

__all__ = ["influence", "loo"]

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
    fitted = Fitted.of(fit)
    found = loo_trials(fitted) if by is None else loo_groups(fitted, by, seed)
    badly = [notice for notice in notices(fit) if notice.code in SAMPLED_BADLY]
    # What a trial can be: estimates of other outcomes are of other data.
    own = {"outcome": ", ".join(fitted.outcome[1:]), **notice_attrs(badly)}
    pointwise = found.elpd_i.assign_attrs(found.elpd_i.attrs | own)
    return replace(found, elpd_i=pointwise)


@check_inputs(fit=with_posterior, seed=whole(0))
def influence(
    fit: xr.DataTree, var: str | xr.DataArray | None = None, *, by: str = "subject", seed: int = 0
) -> xr.Dataset:
    r"""Shift of a population value where each group's counts are left out.

    Parameters
    ----------
    fit : DataTree
        A hierarchical fit, as `hmetad.loo` with `by` takes it.
    var : str or DataArray, optional
        A single number of the posterior, by name; or draws (chain, draw) of any number that follows
        from it, such as ``contrast(predict(fit), var="log_m", over="group").isel(pair=0)``. By
        default the intercept of what the likelihood is about, such as ``"log_m_Intercept"``.
    by : str, optional
        Column of the cells with the groups that are left out.
    seed : int, optional
        Of the integrals over the groups' effects.

    Returns
    -------
    Dataset
        Dim named like `by`, the largest shift first: ``mean_without`` and ``sd_without``, of the
        posterior without the group; ``shift``, the mean with it less that without it, in posterior
        standard deviations of all data; ``pareto_k``. Where k is above .7 the weights do not tell,
        and a notice ``"influence-k"`` names the groups: fit again without them.

    Raises
    ------
    InputError
        If there is no such variable or it is not one number, or the fit is none that `loo` takes.

    Notes
    -----
    Without group g, draw θ of the population has the weight

    .. math:: w_g(\theta) \propto \frac{1}{p(y_g \mid \theta)}

    with the effects of the group integrated out, smoothed as by Vehtari et al. (2024). About 1,000
    draws are used. A large shift is no reason by itself to leave anybody out.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> m = [0.8] * 7 + [0.4]
    >>> options = {"coords": {"subject": list("abcdefgh")}, "trials": 2000, "seed": 1}
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts([1.5] * 8, m_ratio=m, **options), "group", **quiet)
    >>> found = influence(drawn)
    >>> found["subject"].values[0].item(), bool(found["shift"][0] < 0)
    ('h', True)
    """
    fitted = Fitted.of(fit)
    values = population_value(fitted, var)
    found = group_log_likelihood(fitted, by, seed)
    own = values.sel(chain=found["chain"], draw=found["draw"])
    flat = own.transpose("chain", "draw").to_numpy().ravel()
    ratios = -found.transpose(by, "chain", "draw").to_numpy().reshape(found.sizes[by], -1)
    mean, sd, k = (np.empty(len(ratios)) for _ in range(3))
    for place, row in enumerate(ratios):
        log_weights, k[place] = smooth_weights(row)
        weights = np.exp(log_weights)
        mean[place] = weights @ flat
        sd[place] = np.sqrt(weights @ (flat - mean[place]) ** 2)
    shift = (flat.mean() - mean) / flat.std(ddof=1)
    columns = {"mean_without": mean, "sd_without": sd, "shift": shift, "pareto_k": k}
    result = xr.Dataset(
        {name: (by, x, attrs_of(name, "influence")) for name, x in columns.items()},
        {by: found[by].values},
        {"var": str(values.name)},
    )
    bad = tuple(map(str, result[by].values[~(k <= limit("influence-k"))]))
    said = [notice_of("influence-k", bad)] if bad else []
    ordered = result.isel({by: np.argsort(-np.abs(shift), kind="stable")})
    return with_notices(ordered, [*notices(fit), *said])


def loo_groups(fitted: Fitted, by: str, seed: int) -> ELPDData:
    """Leave one group of a column out."""
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


def population_value(fitted: Fitted, var: str | xr.DataArray | None) -> xr.DataArray:
    """Draws of one number of the population."""
    posterior = fitted.posterior
    if isinstance(var, xr.DataArray):
        drawn = {dim: posterior.sizes[dim] for dim in ("chain", "draw")}
        if dict(var.sizes) != drawn:
            step = "Select one: .isel(pair=0), .sel(cell='patient')."
            raise InputError("var", f"dims {dict(var.sizes)}", f"draws of this fit, {drawn}", step)
        return var
    wanted = var or fitted.spec.named(
        coefficient_name(fitted.record.parameter_of_interest, "Intercept")
    )
    single = [str(name) for name, x in posterior.items() if set(x.dims) == {"chain", "draw"}]
    if wanted not in single:
        step = nearest(wanted, single) if single else "Give draws: contrast(...).isel(pair=0)."
        raise InputError("var", repr(wanted), "one number of the population", step)
    return posterior[wanted]
