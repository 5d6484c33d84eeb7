"""The PyMC model of a model card, which defines what the compiled density computes.

Program → pm.Model. Every parameter of the likelihood is written per cell, free or as a linear
predictor, Σ X β + Σ Z u, with the variables of the program's layout; what follows from parameters
is what the likelihood's record says, in PyTensor. Effects of groups are made of offsets, as
`hmetad.bayes.parametrisation` says.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, whole, with_posterior
from hmetad.base.errors import ModelError
from hmetad.base.labels import check_same_names
from hmetad.base.memory import refuse_memory
from hmetad.bayes.distributions import (
    LOCATION_FAMILIES,
    add_variable,
    lkj_cholesky,
    sorted_normal,
)
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.kept_cells import drawn_counts
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation
from hmetad.bayes.program import Program, build_program
from hmetad.likelihood.family import NUMPY, Arrays, Family, Parameter
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.registry import load_likelihood
from hmetad.likelihood.tensors import log_likelihood, tensor_arrays
from hmetad.specs.design import Block, Term, places_of
from hmetad.specs.layout import BlockLayout, FormulaLayout, Variable
from hmetad.specs.loading import model_of
from hmetad.specs.spec import ModelSpec, with_changes

type Floats = NDArray[np.float64]
type Known = dict[str, TensorVariable]
# Choices of a likelihood, with their names.
type Chosen = tuple[tuple[str, str], ...]


@check_inputs(skip=("counts",))
def build_model(
    counts: xr.DataArray,
    model: str | ModelSpec | None = None,
    *,
    formula: str | Sequence[str] | Mapping[str, str] | None = None,
    priors: Mapping[str, Prior] | None = None,
) -> pm.Model:
    """Build the PyMC model of a card for a count table.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating), K ≥ 2, or that of the likelihood.
    model : str or ModelSpec, optional
        Name or path of a card, or what `load_model` returned; by default as in `hmetad.fit`.
    formula, priors : optional
        Instead of the card's, as in `hmetad.fit`.

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
    spec = with_changes(model_of(counts, model), formula=formula, priors=priors)
    return pymc_model(build_program(counts, spec, integrates=False))


@check_inputs(fit=with_posterior, draws=whole(100), seed=seed_or_none)
def draw_prior(fit: xr.DataTree, *, draws: int = 10_000, seed: int | None = 0) -> xr.DataTree:
    """Draw from the prior of a fit the coefficients, or the parameters of separate cells.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    draws : int
        Number of draws; at least 100.
    seed : int, optional
        The same seed gives the same draws.

    Returns
    -------
    DataTree
        The fit with draws of its prior as its posterior, one chain: all coefficients, so that
        `predict` gives the prior of the population; for a model without formulas, the parameters
        of its cells. Without standard deviations, effects of groups, and what follows from
        parameters.

    Raises
    ------
    InputError
        If this is not a fit of counts, or the draws exceed the memory.

    Notes
    -----
    Coefficients, and parameters of cells without hyperparameters, have independent Normal or
    Student t priors. Give a `contrast` of these draws to `hmetad.compare.bayes_factor`.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, seed=1), draws=100, chains=2, **quiet)
    >>> float(draw_prior(drawn)["posterior"]["log_m"].std().round(1))  # prior Normal(0, 1)
    1.0
    """
    fitted, rng = Fitted.of(fit), np.random.default_rng(seed)
    if not fitted.record.has_ratings:
        raise ModelError("fit", "a fit of estimates", "a fit of counts")
    refuse_memory("draws", str(draws), 8 * draws * fitted.layout.size)
    bare = fitted.posterior.drop_dims(["chain", "draw"])
    found: dict[str, Any] = {}
    tied = {x.name for x in fitted.record.parameters if x.prior_centre or x.truncated_at}
    for variable in fitted.layout.variables:
        prior, is_tied = variable.prior, variable.identity.parameter in tied
        is_own = variable.role in ("coefficient", "cell") and not is_tied
        if not is_own or prior is None or prior.dist not in LOCATION_FAMILIES:
            continue
        mu, sigma = prior.parameters["mu"], prior.parameters["sigma"]
        shape = (1, draws, *variable.shape)
        scores = (
            rng.standard_normal(shape)
            if prior.dist == "Normal"
            else rng.standard_t(prior.parameters["nu"], shape)
        )
        attrs = fitted.posterior[variable.name].attrs if variable.name in fitted.posterior else {}
        found[variable.name] = ("chain", "draw", *variable.dims), mu + sigma * scores, attrs
    sampled = {"chain": [0], "draw": np.arange(draws)}
    labels = {dim: x for dim, x in fitted.layout.coords.items() if dim not in bare.coords}
    drawn = xr.DataTree(bare.assign_coords(labels | sampled).assign(found))
    return fit.assign(posterior=drawn)


def sample_pymc(program: Program, options: Mapping[str, Any]) -> xr.DataTree:
    """Draw from the posterior of a program with PyMC, by options of `pymc.sample`."""
    model = pymc_model(program)
    check_same_names(program.counts.coords, model.named_vars)
    with model, without_remarks(options.get("progressbar") is False):
        tree: xr.DataTree = pm.sample(**{"initvals": initial_values(program, model), **options})
    posterior = tree["posterior"].to_dataset()
    return tree.assign(posterior=xr.DataTree(program.without_offsets(posterior)))


@contextmanager
def without_remarks(is_quiet: bool) -> Iterator[None]:
    """Only warnings of PyMC: without a progress bar, no list of variables is shown either."""
    log = logging.getLogger("pymc")
    level = log.level
    if is_quiet:
        log.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        log.setLevel(level)


def initial_values(program: Program, model: pm.Model) -> dict[str, Floats]:
    """Where the chains of a program's PyMC model begin, by free variable."""
    return {v.name: program.start.values[v.name] for v in model.free_RVs}


def pymc_model(program: Program) -> pm.Model:
    """PyMC model of a program, as `build_model` returns it."""
    counts, likelihood, layout = program.counts, program.likelihood, program.layout
    xp = tensor_arrays()
    with pm.Model(coords={**layout.coords}) as model:
        known: Known = {
            name: pm.Deterministic(name, pt.as_tensor(values), dims="cell")
            if name in likelihood.results
            else pt.as_tensor(values)
            for name, values in program.given.items()
        }
        for parameter in likelihood.parameters:
            name, dims = parameter.name, ("cell", *parameter.dims)
            if name in layout.formulas:
                effects = program.start.parametrisations[name]
                value = linear_predictor(layout.formulas[name], effects)
                value = pt.broadcast_to(value, [len(layout.coords[dim]) for dim in dims])
                if parameter.in_posterior:
                    value = pm.Deterministic(program.spec.named(name), value, dims=dims)
            else:
                value = own_values(parameter, *layout.own[name], known=known)
            known = with_derived({**known, parameter.variable: value}, likelihood, xp)
        observe(counts, likelihood, [known[name] for name in likelihood.arguments])
    return model


def with_derived(known: Known, likelihood: Family, xp: Arrays) -> Known:
    """Values known so far, and what follows from them, which the model keeps."""
    found = {}
    for name, value in likelihood.derived(known, xp).items():
        is_new = name not in known and name in likelihood.results
        dims = ("cell", *likelihood.dims(name)) if is_new else ()
        found[name] = pm.Deterministic(name, value, dims=dims) if is_new else value
    return found


def own_values(
    parameter: Parameter, values: Variable, *hyper: Variable, known: Known
) -> TensorVariable:
    """A parameter that every cell has of its own."""
    if parameter.truncated_at:
        edge = known[parameter.truncated_at]
        if values.prior is not None:
            mu, sigma = (values.prior.parameters[name] for name in ("mu", "sigma"))
        else:
            mu, sigma = map(add_free, hyper)
        return sorted_normal(values.name, edge, mu, sigma, values.dims)
    centre: TensorVariable | float = 0.0
    if parameter.prior_centre:
        centre = known[parameter.prior_centre]
        centre = pt.shape_padright(centre, len(values.dims) - centre.ndim)
    return add_free(values, centre)


def linear_predictor(formula: FormulaLayout, parametrisation: Parametrisation) -> TensorVariable:
    """X β + Σ Z u of every cell, (cells or 1, *extra), with its variables in the current model."""
    design = formula.design
    common = add_terms(formula.coefficients, design.common) if design.common else None
    deviations: list[TensorVariable] = []
    for place, own in enumerate(formula.blocks):
        sigma = add_terms(own.sds, own.block.terms)
        unit = correlation_factor(own) if own.block.is_correlated else None
        part = parametrisation.blocks[place]
        deviations.append(sampled_effects(own, part, sigma, unit, common, deviations))
        for variable, pick in zip(own.effects, picks(own.block), strict=True):
            pm.Deterministic(variable.name, deviations[-1][:, pick], dims=variable.dims)
    total: TensorVariable | float = 0.0
    for own, deviation in zip(formula.blocks, deviations, strict=True):
        total = total + gather_effects(own.block, deviation)
    if common is None:
        return total
    columns = design.columns
    is_one = columns.shape[1] == 1 and (columns == 1).all()
    return total + (common if is_one else pt.tensordot(pt.as_tensor(columns), common, axes=1))


def add_free(variable: Variable, centre: TensorVariable | float = 0.0) -> TensorVariable:
    """A variable with a prior, in the current model."""
    assert variable.prior is not None
    return add_variable(variable.name, variable.prior, variable.dims, centre)


def add_terms(variables: Sequence[Variable], terms: Sequence[Term]) -> TensorVariable:
    """Free variables of terms side by side, (columns, *extra)."""
    found = []
    for variable, term in zip(variables, terms, strict=True):
        values = add_free(variable)
        found.append(values if term.labels is not None else values[None])
    return pt.concatenate(found) if len(found) > 1 else found[0]


def picks(block: Block) -> list[slice | int]:
    """Places of the effects of each term of a block; a number where the term has one effect."""
    places = zip(block.terms, places_of(block.terms), strict=True)
    return [place.start if term.labels is None else place for term, place in places]


def correlation_factor(own: BlockLayout) -> TensorVariable:
    """Cholesky factor of the correlations of a block's effects, which become a variable."""
    partial, correlation = own.partial, own.correlation
    assert partial is not None
    assert correlation is not None
    assert correlation.prior is not None
    eta = correlation.prior.parameters["eta"]
    unit = lkj_cholesky(partial.name, correlation.shape[0], eta, partial.dims)
    pm.Deterministic(correlation.name, row_products(unit, unit), dims=correlation.dims)
    return unit


def sampled_effects(
    own: BlockLayout,
    part: BlockParametrisation,
    sigma: TensorVariable,
    unit: TensorVariable | None,
    common: TensorVariable | None,
    others: Sequence[TensorVariable],
) -> TensorVariable:
    """Effects (groups, effects, *extra) made of offsets; correlated ones each given those before.

    `others` are the effects of the blocks before; σ · L · score where they are correlated.
    """
    block, extra = own.block, part.estimates.ndim - 2
    mean = absorbed_mean(part.mean_weights, common, extra)
    for outer in part.outer:
        # Dims (groups, effects, parents, outer effects, *extra).
        theirs = others[outer.place][outer.parents][:, None]
        weights = pt.shape_padright(pt.as_tensor(outer.weights), extra)
        mean = mean + (weights * theirs).sum(axis=(2, 3))
    information, rest = part.information, part.estimates - mean
    name, dims = own.offset.name, own.offset.dims
    if unit is None:
        pick: int | slice = 0 if block.is_single else slice(None)
        root = pt.sqrt(1 + information * sigma**2)
        pulled = information * rest * sigma / root
        offset = pm.Normal(name, -pulled[:, pick], root[:, pick], dims=dims)
        offset = offset[:, None] if block.is_single else offset
        return sigma * (offset + pulled) / root
    size = part.estimates.shape[1]
    alone = sigma * pt.diagonal(unit)
    root = pt.sqrt(1 + information * alone**2)
    pull = information * alone / root
    # offset = factor · score - pull · rest, of which factor is lower triangular.
    below = pt.tril(unit, -1) * sigma[:, None]
    factor = pull[:, :, None] * below + root[:, :, None] * np.eye(size)
    offset = pm.MvNormal(name, -pull * rest, chol=factor, dims=dims)
    pulled = offset + pull * rest
    scores: list[TensorVariable] = []
    for i in range(size):
        before = sum(factor[:, i, j] * score for j, score in enumerate(scores))
        scores.append((pulled[:, i] - before) / root[:, i])
    return row_products(pt.stack(scores, axis=1), unit) * sigma


def absorbed_mean(weights: Floats, common: TensorVariable | None, extra: int) -> TensorVariable:
    """Mean of the groups' own coefficients, (groups or 1, effects, *extra)."""
    if common is None or not weights.any():
        return pt.zeros((1, weights.shape[1], *[1] * extra))
    used = np.flatnonzero(weights.any(axis=(0, 1)))
    part = weights[:, :, used]
    chosen = common if len(used) == weights.shape[2] else common[used]
    if part.shape[1] == part.shape[2] and (part == np.eye(part.shape[1])).all():
        return chosen[None]
    if (part == part[:1]).all():
        part = part[:1]
    return pt.tensordot(pt.as_tensor(part), chosen, axes=1)


def row_products(left: TensorVariable, right: TensorVariable) -> TensorVariable:
    """left @ rightᵀ of small matrices, without the BLAS that PyTensor may lack."""
    return (left[:, None, :] * right[None, :, :]).sum(axis=-1)


def gather_effects(block: Block, effects: TensorVariable) -> TensorVariable:
    """Σ columns · effects of each cell's group, from effects (groups, effects, *extra)."""
    cells, columns = len(block.index), block.columns
    in_order = len(block.groups) == cells and (block.index == np.arange(cells)).all()
    per_cell = effects if in_order else effects[block.index]
    if columns.shape[1] == 1 and (columns == 1).all():
        return per_cell[:, 0]
    return (pt.shape_padright(pt.as_tensor(columns), effects.ndim - 2) * per_cell).sum(axis=1)


def observe(counts: xr.DataArray, likelihood: Family, arguments: Sequence[TensorVariable]) -> None:
    """Tie arguments of a likelihood, each (cells, *its dims), to the counts, as ``counts``."""
    layout = likelihood.layout
    dims = [likelihood.dims(name) for name in likelihood.arguments]
    # What new counts need to know: trials, and the sizes of what they are of.
    sizes = [np.arange(counts.sizes[dim]) for dim in layout.answers]
    dims += [layout.given, *((dim,) for dim in layout.answers)]
    pm.CustomDist(
        "counts",
        *arguments,
        counts.sum(layout.answers).values,
        *sizes,
        # By name: what is kept of a compiled model must not depend on the process.
        logp=partial(counts_logp, likelihood.name, (*likelihood.chosen.items(),)),
        random=partial(counts_random, likelihood.name, (*likelihood.chosen.items(),)),
        signature=",".join(f"({','.join(own)})" for own in dims) + f"->({','.join(layout.dims)})",
        dtype="int64",
        observed=counts.values,
        dims=counts.dims,
    )


def counts_logp(
    name: str, chosen: Chosen, value: TensorVariable, *parameters: TensorVariable
) -> TensorVariable:
    """ℓ of each cell; parameters after the arguments only tell how to draw new counts."""
    likelihood = load_likelihood(name, **dict(chosen))
    return log_likelihood(likelihood, value, *parameters[: len(likelihood.arguments)])


def counts_random(
    name: str,
    chosen: Chosen,
    *parameters: Any,
    rng: np.random.Generator,
    size: tuple[int, ...] | None = None,  # noqa: ARG001 (PyMC passes it)
) -> NDArray[np.int64]:
    """New counts with the observed numbers of trials of each stimulus."""
    likelihood = load_likelihood(name, **dict(chosen))
    number = len(likelihood.arguments)
    log_p = likelihood.log_probabilities(*parameters[:number], xp=NUMPY)
    return drawn_counts(rng, parameters[number], log_p, len(likelihood.layout.answers))
