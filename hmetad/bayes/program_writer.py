"""Writing the program of a problem.

Problem → Program: what is sampled, its priors, and how the parameters of the cells follow from it,
as `hmetad.bayes.model` has them in PyMC.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from hmetad.arguments import refuse_same_names
from hmetad.bayes.dims import FACTOR_DIM, effect_labels, is_single, offset_name
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import LINK_LOGISTIC, PRIOR_CODES, Correlation, Program
from hmetad.bayes.program_entries import DEVIATION, Entries, Writer
from hmetad.likelihood.records import Parameter
from hmetad.specs.design import Block, Design, Term

__all__ = ["covers", "write_program"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


def covers(problem: Problem) -> bool:
    """Whether there is a program of a problem: its likelihood has a compiled density."""
    # The centre of a prior has no formula: each cell has its own, or it is known.
    centres = {p.prior_centre for p in problem.likelihood.parameters}
    return bool(problem.likelihood.density) and not centres & {*problem.designs}


def write_program(problem: Problem) -> Program:
    """Program of a problem.

    Parameters
    ----------
    problem : Problem
        For which `covers` says yes.

    Returns
    -------
    Program

    Raises
    ------
    InputError
        If a column of the cells has the name of a variable.
    """
    writer = Writer(problem)
    for parameter in problem.likelihood.parameters:
        if parameter.name in problem.designs:
            add_predictor(writer, parameter, problem.start.parametrisations[parameter.name])
        else:
            add_free(writer, parameter)
    program = writer.finish()
    taken = {*program.names, *problem.likelihood.results, *program.coords} - {*problem.counts.dims}
    refuse_same_names(problem.counts.coords, taken)
    return program


def add_free(writer: Writer, parameter: Parameter) -> None:
    """A parameter that each cell has of its own."""
    name, dims = parameter.variable, ("cell", *parameter.dims)
    if parameter.truncated_at:
        places = writer.sample(name, dims)
        writer.rows.add(writer.place(name), places, 1.0)
        add_criteria_moments(writer, parameter)
        return
    if parameter.prior_centre:
        places = writer.sample(writer.spec.named(name), dims)
        add_around(writer, parameter, places)
    else:
        places = writer.sample_prior(name, dims)
    writer.rows.add(writer.place(name), places, 1.0)


def add_around(writer: Writer, parameter: Parameter, places: Integers) -> None:
    """Normal prior around another parameter of the cell."""
    own, centre = writer.problem.prior(parameter.name).parameters, parameter.prior_centre
    shape = (-1, *[1] * (places.ndim - 1))
    rows = writer.around_count + np.arange(places.size).reshape(places.shape)
    mean = np.full(places.shape, own["mu"])
    if centre in writer.problem.given:
        mean += writer.problem.given[centre].reshape(shape)
    else:
        writer.around_rows.add(rows, writer.free_of(centre).reshape(shape), 1.0)
    writer.around.append((places, np.full(places.shape, own["sigma"]), mean))
    writer.around_count += places.size


def add_criteria_moments(writer: Writer, parameter: Parameter) -> None:
    """Mean and SD of sorted criteria: hyperparameters, or numbers."""
    if parameter.hyperpriors:
        for column, name in zip(writer.module.MOMENTS, parameter.hyperpriors, strict=True):
            places = writer.sample_prior(name, ())
            writer.rows.add(writer.place(column), places, 1.0)
    else:
        own = writer.problem.prior(parameter.name).parameters
        for column, name in zip(writer.module.MOMENTS, ("mu", "sigma"), strict=True):
            writer.offsets[:, writer.columns[column]] = own[name]


def add_predictor(writer: Writer, parameter: Parameter, parametrisation: Parametrisation) -> None:
    """A parameter with a formula."""
    design, deviations = parametrisation.design, list[Integers]()
    common = sample_common(writer, parameter, design)
    target = writer.place(parameter.variable).reshape(writer.cells, -1)
    for j, column in enumerate(design.columns.T):
        writer.rows.add(target, common[j], column[:, None])
    for part in parametrisation.blocks:
        own = sample_block(writer, parameter, part, common, deviations)
        deviations.append(own)
        for k, column in enumerate(part.block.columns.T):
            writer.rows.add(target, own[part.block.index, k], column[:, None])
        give_effects(writer, parameter, part.block, own)


def sample_common(writer: Writer, parameter: Parameter, design: Design) -> Integers:
    """Places of the coefficients of the common terms, (coefficients, elements)."""
    found = []
    for term in design.common:
        dims = (*writer.label_dim(parameter.name, f"{term.name}_dim", term.labels), *parameter.dims)
        values = writer.sample_prior(f"{parameter.name}_{term.name}", dims)
        found.append(values.reshape(term.columns.shape[1], -1))
    elements = int(np.prod(parameter.shape(writer.ratings), dtype=int))
    return np.concatenate([np.zeros((0, elements), np.int64), *found])


def sample_block(
    writer: Writer,
    parameter: Parameter,
    part: BlockParametrisation,
    common: Integers,
    others: Sequence[Integers],
) -> Integers:
    """Standard deviations, correlations and offsets; deviations (groups, effects, elements)."""
    extra, block = parameter.dims, part.block
    groups = len(block.groups)
    sigmas = []
    for term in block.terms:
        expression = expression_dim(writer, parameter, term)
        plain = f"{parameter.name}_{term.name}|{block.factor}_sigma"
        places = writer.sample_prior(plain, (*expression, *extra), may_fold=True)
        sigmas.append(places.reshape(term.columns.shape[1], -1))
    sigma = np.concatenate(sigmas)
    partial = sample_partial(writer, parameter, part) if block.is_correlated else -1
    end = "effect" if block.is_correlated else "offset"
    labels = None if is_single(block) else effect_labels(block)
    inner = writer.label_dim(parameter.name, f"{block.name}__{end}", labels)
    dims = (*factor_dim(writer, parameter, block), *inner, *extra)
    offsets = writer.sample(offset_name(parameter.name, block), dims).reshape(groups, *sigma.shape)
    first = writer.deviation_count
    writer.deviation_count += offsets.size
    rows = first + np.arange(offsets.size).reshape(offsets.shape)
    writer.blocks.append(
        (first, writer.deviation_count, len(sigma) if block.is_correlated else 1, partial)
    )
    spread = np.broadcast_to(sigma, offsets.shape)
    writer.deviations.append((offsets, spread, part.estimates, part.information))
    add_means(writer.mean_rows, rows, part.mean_weights, common)
    for outer in part.outer:
        # Dims (groups, parents, outer effects, elements).
        theirs = others[outer.place][outer.parents]
        for p, k in np.ndindex(theirs.shape[1:3]):
            weights = outer.weights[:, :, p, k, None]
            writer.mean_rows.add(rows, theirs[:, None, p, k], weights)
    return DEVIATION + rows


def factor_dim(writer: Writer, parameter: Parameter, block: Block) -> tuple[str, ...]:
    """Dim of the groups of a block."""
    return writer.label_dim(parameter.name, f"{block.factor}{FACTOR_DIM}", block.groups)


def expression_dim(writer: Writer, parameter: Parameter, term: Term) -> tuple[str, ...]:
    """Dim of the effects of a term of a block; none where there is one."""
    return writer.label_dim(parameter.name, f"{term.name}__expr_dim", term.labels)


def sample_partial(writer: Writer, parameter: Parameter, part: BlockParametrisation) -> int:
    """Partial correlations, as (partial correlation + 1)/2 with Beta priors: the first's place."""
    name, labels = f"{parameter.name}_{part.block.name}", effect_labels(part.block)
    size, eta = len(labels), writer.problem.prior(f"{name}_corr").parameters["eta"]
    pairs = [(i, j) for i in range(1, size) for j in range(i)]
    dim = f"{name}_partial_dim"
    writer.coords[dim] = [f"{i + 1},{j + 1}" for i, j in pairs]
    places = writer.sample(f"{name}_partial", (dim,), LINK_LOGISTIC)
    dims = tuple(
        writer.label_dim(parameter.name, f"{part.block.name}__{end}", labels)[0]
        for end in ("effect", "effect_bis")
    )
    correlation = Correlation(writer.spec.named(f"{name}_corr"), int(places[0]), dims, size)
    writer.correlations.append(correlation)
    for place, (_, j) in zip(places, pairs, strict=True):
        shape = eta + (size - 2 - j) / 2
        writer.priors.append((np.array([place]), PRIOR_CODES["Beta"], (shape,)))
        writer.constant -= float(betaln(shape, shape))
    return int(places[0])


def give_effects(writer: Writer, parameter: Parameter, block: Block, own: Integers) -> None:
    """Deviations of the groups from the population, by term, as variables of the posterior."""
    start = 0
    for term in block.terms:
        stop = start + term.columns.shape[1]
        dims = (*factor_dim(writer, parameter, block), *expression_dim(writer, parameter, term))
        name = f"{parameter.name}_{term.name}|{block.factor}"
        rows = writer.give(name, (*dims, *parameter.dims))
        part = own[:, start:stop]
        writer.output_rows.add(rows.reshape(part.shape), part, 1.0)
        start = stop


def add_means(entries: Entries, rows: Integers, weights: Floats, common: Integers) -> None:
    """Means of effects, Σ weight · common coefficient, (groups, effects, elements)."""
    for j in np.flatnonzero(weights.any(axis=(0, 1))):
        entries.add(rows, common[j], weights[:, :, j, None])
