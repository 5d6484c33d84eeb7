"""The PyMC model of a model card.

Problem → pm.Model. Every parameter of the likelihood is written per cell, free or as a linear
predictor; what follows from parameters is what the likelihood's record says, in PyTensor.
"""

from collections.abc import Mapping

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.arguments import check_inputs, with_posterior
from hmetad.bayes.distributions import add_variable, sorted_normal
from hmetad.bayes.observe import observe
from hmetad.bayes.predictors import linear_predictor
from hmetad.bayes.problem import Problem, build_problem
from hmetad.likelihood.arrays import Arrays, tensor_arrays
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.records import Parameter, dim_labels
from hmetad.specs.loading import as_model
from hmetad.specs.spec import ModelSpec, spec_of, with_changes

__all__ = ["build_model", "initial_values", "pymc_model", "rebuild_model"]

type Known = dict[str, TensorVariable]


@check_inputs(skip=("counts",))
def build_model(
    counts: xr.DataArray,
    model: str | ModelSpec = "individual",
    *,
    formula: str | Mapping[str, str] | None = None,
    priors: Mapping[str, Prior] | None = None,
) -> pm.Model:
    """Build the PyMC model of a card for a count table.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), K ≥ 2.
    model : str or ModelSpec
        Name or path of a card, or what `load_model` returned.
    formula, priors : optional
        In place of the card's, as in `hmetad.fit`.

    Returns
    -------
    pm.Model
        Free variables by the spec's parametrisation and formulas; per cell also what follows from
        them, of meta-d′ dprime, c, meta_d, m_ratio, log_m, meta_c (κ) and criteria (cell,
        response, criterion), and the observed counts. M and what depends on it have a further dim
        response in response-conditional models.

    Raises
    ------
    InputError
        If the table has no ratings to model, a cell lacks a stimulus, a formula does not fit
        the table's coordinates, or a prior is of a variable that the model lacks.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> counts = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> sorted(v.name for v in build_model(counts, "individual").free_RVs)
    ['c', 'dprime', 'log_gap', 'log_m']
    """
    spec = with_changes(as_model(model), formula=formula, priors=priors)
    return pymc_model(build_problem(counts, spec))


@check_inputs(fit=with_posterior)
def rebuild_model(fit: xr.DataTree) -> pm.Model:
    """Build the PyMC model that a fit came from, for PyMC's own functions.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.

    Returns
    -------
    pm.Model
        With the variables of the fit, so that `pymc.sample_posterior_predictive`,
        `pymc.stats.compute_log_likelihood` and `pymc.stats.compute_log_prior` (for ArviZ's
        `psense`) take the two together.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> draws = fit(simulate_counts(1.5, seed=1), draws=100, chains=2, **quiet)
    >>> with rebuild_model(draws):
    ...     prior = pm.stats.compute_log_prior(
    ...         draws, extend_inferencedata=False, progressbar=False
    ...     )
    >>> sorted(prior.data_vars)
    ['c', 'dprime', 'log_gap', 'log_m']
    """
    observed = fit["observed_data"].to_dataset()["counts"]
    return pymc_model(build_problem(observed, spec_of(fit)), by_offsets=False)


def pymc_model(problem: Problem, *, by_offsets: bool = True) -> pm.Model:
    """PyMC model of a problem, as `build_model` returns it, or with effects as its variables."""
    counts, likelihood = problem.counts, problem.likelihood
    coords = {name: counts[name].values for name in counts.dims}
    coords |= {dim: np.array(own) for dim, own in dim_labels(counts.sizes["rating"]).items()}
    xp = tensor_arrays()
    with pm.Model(coords=coords) as model:
        known: Known = {
            name: pm.Deterministic(name, pt.as_tensor(values), dims="cell")
            for name, values in problem.given.items()
        }
        for parameter in likelihood.parameters:
            value = cell_parameter(parameter, problem, known, by_offsets)
            known = with_derived({**known, parameter.variable: value}, problem, xp)
        observe(counts, likelihood, [known[name] for name in likelihood.arguments])
    return model


def initial_values(problem: Problem, model: pm.Model) -> dict[str, NDArray[np.float64]]:
    """Where the chains of a problem's PyMC model begin, by free variable."""
    values = problem.start.values
    return {v.name: values[v.name] for v in model.free_RVs}


def with_derived(known: Known, problem: Problem, xp: Arrays) -> Known:
    """Values known so far, and what follows from them, which the model keeps."""
    likelihood, found = problem.likelihood, {}
    for name, value in likelihood.derived(known, xp).items():
        is_new = name not in known and name in likelihood.results
        dims = ("cell", *likelihood.dims(name)) if is_new else ()
        found[name] = pm.Deterministic(name, value, dims=dims) if is_new else value
    return found


def cell_parameter(
    parameter: Parameter, problem: Problem, known: Known, by_offsets: bool
) -> TensorVariable:
    """A parameter of every cell: free in each, or by its formula."""
    spec, dims = problem.spec, ("cell", *parameter.dims)
    if parameter.name in problem.designs:
        parametrisation = problem.start.parametrisations[parameter.name]
        value = linear_predictor(
            parametrisation, parameter.dims, problem.prior, spec.named, by_offsets=by_offsets
        )
        if not parameter.in_posterior:
            return value
        return pm.Deterministic(spec.named(parameter.name), value, dims=dims)
    if parameter.truncated_at:
        edge = known[parameter.truncated_at]
        if parameter.hyperpriors:
            mu, sigma = (
                add_variable(spec.named(name), problem.prior(name), ())
                for name in parameter.hyperpriors
            )
            return sorted_normal(parameter.variable, edge, mu, sigma, dims)
        own = problem.prior(parameter.name).parameters
        return sorted_normal(parameter.variable, edge, own["mu"], own["sigma"], dims)
    centre: TensorVariable | float = 0.0
    if parameter.prior_centre:
        centre = known[parameter.prior_centre]
        centre = pt.shape_padright(centre, len(dims) - centre.ndim)
    return add_variable(spec.named(parameter.name), problem.prior(parameter.name), dims, centre)
