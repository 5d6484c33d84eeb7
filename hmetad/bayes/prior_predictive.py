"""What a model expects before it has seen ratings: parameters and counts from its prior.

Design (a count table) and model card → DataTree with the groups prior and prior_predictive.
"""

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

from hmetad.arguments import check_inputs, refuse_same_names, seed_or_none
from hmetad.bayes.kept_cells import outcome_draws
from hmetad.bayes.model import drawn_counts, pymc_model
from hmetad.bayes.program import build_program
from hmetad.counts.checks import whole_number
from hmetad.errors import InputError
from hmetad.specs.loading import as_model
from hmetad.specs.spec import ModelSpec

__all__ = ["draw_prior"]

# Compiled to machine code, each variable of a prior would take longer than all of its draws.
WITHOUT_COMPILING = "FAST_COMPILE"


@check_inputs(skip=("design",), seed=seed_or_none)
def draw_prior(
    design: xr.DataArray,
    model: str | ModelSpec = "individual",
    *,
    draws: int = 500,
    seed: int | np.random.Generator | None = None,
) -> xr.DataTree:
    r"""Draw parameters from the prior of a model card, and a count table from each.

    Parameters
    ----------
    design : DataArray
        Count table, dims (cell, stimulus, response, rating), of which cells, ratings and trials
        of each stimulus are used; the responses do not matter.
    model : str or ModelSpec
        Name or path of a card, or what `load_model` returned.
    draws : int
        Number of draws.
    seed : int or Generator, optional
        The same seed gives the same draws.

    Returns
    -------
    DataTree
        Groups as ArviZ has them, chain of size 1: ``prior``, with the variables that the
        posterior of `fit` has, and ``prior_predictive``, with ``counts``.

    Raises
    ------
    InputError
        As `build_model`, or if `draws` is no whole number, or d′ and c have no prior since the
        model takes them from the counts.

    Notes
    -----
    .. math:: \theta \sim p(\theta), \quad
        n_s \sim \mathrm{Multinomial}(N_s, P(r, k \mid s, \theta))

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> expected = draw_prior(simulate_counts(1.5, trials=100, seed=1), draws=20, seed=1)
    >>> expected["prior_predictive"]["counts"].sum(["response", "rating"])[0, 0].values.tolist()
    [[50, 50]]
    """
    number = whole_number("draws", draws, 1)
    spec = as_model(model)
    if spec.record.from_counts:
        step = "Set type1='joint'."
        raise InputError("model", "d′ and c plugged in from counts", "d′ and c with priors", step)
    bayesian_model = pymc_model(build_program(design, spec), by_offsets=False)
    refuse_same_names(design.coords, bayesian_model.named_vars)
    rng = np.random.default_rng(seed)
    per_cell = {str(name): v for name, v in design.coords.items() if v.dims == ("cell",)}
    prior = prior_draws(bayesian_model, number, rng).assign_coords(per_cell)
    log_p = outcome_draws(prior, spec.record)
    totals = design.sum(["response", "rating"]).transpose("cell", "stimulus").to_numpy()
    drawn = drawn_counts(rng, totals, log_p.to_numpy())
    counts = log_p.copy(data=drawn).assign_coords(per_cell).rename("counts")
    groups = {"prior": prior, "prior_predictive": counts.to_dataset()}
    return xr.DataTree.from_dict(groups)


def prior_draws(model: pm.Model, number: int, rng: np.random.Generator) -> xr.Dataset:
    """Draws (chain, draw, ...) of all variables but the counts."""
    variables = [*model.free_RVs, *model.deterministics]
    drawn = pm.draw(variables, draws=number, random_seed=rng, mode=WITHOUT_COMPILING)
    arrays = {}
    for variable, values in zip(variables, drawn, strict=True):
        # A single draw comes without a dim of draws.
        shape = np.shape(values)[np.ndim(values) - variable.ndim :]
        arrays[variable.name] = np.reshape(values, (1, number, *shape))
    dims = {name: list(model.named_vars_to_dims.get(name, ())) for name in arrays}
    used = {dim for names in dims.values() for dim in names}
    coords = {name: np.array(values) for name, values in model.coords.items() if name in used}
    tree = az.from_dict({"prior": arrays}, coords=coords, dims=dims)
    # One of the attributes is the time of day.
    return tree["prior"].to_dataset().drop_attrs()
