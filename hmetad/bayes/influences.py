"""How much each person moves what a fit says of the population.

Fit (DataTree) and a grouping column → Dataset (group): the posterior of a population value without
each group, by importance weights. Nothing is fitted again.
"""

import numpy as np
import xarray as xr

from hmetad.arguments import check_inputs, whole, with_posterior
from hmetad.bayes.left_out_groups import group_log_likelihood
from hmetad.bayes.pareto import smooth_weights
from hmetad.errors import InputError, nearest
from hmetad.notice import notice_of, notices, with_notices
from hmetad.notice_registry import limit
from hmetad.results import attrs_of
from hmetad.specs.spec import spec_of

__all__ = ["influence"]


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
    >>> m = [0.8] * 7 + [0.2]
    >>> options = {"coords": {"subject": list("abcdefgh")}, "trials": 2000, "seed": 1}
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts([1.5] * 8, m_ratio=m, **options), "group", **quiet)
    >>> found = influence(drawn)
    >>> found["subject"].values[0].item(), bool(found["shift"][0] < 0)
    ('h', True)
    """
    values = population_value(fit, var)
    found = group_log_likelihood(fit, by, seed).values
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


def population_value(fit: xr.DataTree, var: str | xr.DataArray | None) -> xr.DataArray:
    """Draws of one number of the population."""
    posterior, spec = fit["posterior"].to_dataset(), spec_of(fit)
    if isinstance(var, xr.DataArray):
        drawn = {dim: posterior.sizes[dim] for dim in ("chain", "draw")}
        if dict(var.sizes) != drawn:
            step = "Select one: .isel(pair=0), .sel(cell='patient')."
            raise InputError("var", f"dims {dict(var.sizes)}", f"draws of this fit, {drawn}", step)
        return var
    wanted = var or spec.named(f"{spec.record.parameter_of_interest}_Intercept")
    single = [str(name) for name, x in posterior.items() if set(x.dims) == {"chain", "draw"}]
    if wanted not in single:
        step = nearest(wanted, single) if single else "Give draws: contrast(...).isel(pair=0)."
        raise InputError("var", repr(wanted), "one number of the population", step)
    return posterior[wanted]
