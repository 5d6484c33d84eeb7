"""Writing the program of a problem.

Problem → Program: what is sampled, its priors, and how the parameters of the cells follow from it,
as `hmetad.bayes.model` has them in PyMC.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from hmetad.bayes.design import Term
from hmetad.bayes.dims import FACTOR_DIM, effect_labels, is_single
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import LINK_LOGISTIC, PRIOR_CODES, Correlation, Program
from hmetad.bayes.program_entries import COEFFICIENT, PRODUCT, Entries, Writer
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.records import Parameter

__all__ = ["covers", "write_program"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

LOCATION_FAMILIES = ("Normal", "StudentT")
STANDARD_NORMAL = Prior("Normal", mu=0, sigma=1)


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
    """
    writer = Writer(problem)
    for parameter in problem.likelihood.parameters:
        if parameter.name in problem.designs:
            add_predictor(writer, parameter, problem.start.parametrisations[parameter.name])
        else:
            add_free(writer, parameter)
    return writer.finish()


@dataclass
class Effects:
    """Places of the variables of a block; effects have dims (groups, effects, elements)."""

    name: str
    sigma: Integers
    partial: Integers | None = None
    deviation: Integers | None = None
    coefficient: Integers | None = None
    # Deviations of centred effects: places of values and weights, to be added up.
    differences: list[tuple[Integers, Floats]] = field(default_factory=list)

    def set_differences(
        self,
        source: Integers,
        ones: Floats,
        means: Floats,
        common: Integers,
        is_centred: NDArray[np.bool_] | None = None,
    ) -> None:
        """Effects less their means; products of offsets are deviations already."""
        self.differences = [(source, ones)]
        for j in np.flatnonzero(means.any(axis=(0, 1))):
            weights = np.broadcast_to(-means[:, :, j, None], source.shape)
            if is_centred is not None:
                weights = np.where(is_centred, weights, 0.0)
            self.differences.append((np.broadcast_to(common[j], source.shape), weights))


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
    size, shape = places.size, (-1, *[1] * (places.ndim - 1))
    rows = writer.centred_count + np.arange(size).reshape(places.shape)
    mean = np.full(places.shape, own["mu"])
    if centre in writer.problem.given:
        mean += writer.problem.given[centre].reshape(shape)
    else:
        writer.centred_rows.add(rows, writer.free_of(centre).reshape(shape), 1.0)
    no_sd = np.full(size, -1)
    writer.centred.append((places.ravel(), no_sd, np.full(size, own["sigma"]), mean.ravel()))
    writer.centred_count += size


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
    effects = [sample_block(writer, parameter, part) for part in parametrisation.blocks]
    common = sample_common(writer, parameter, parametrisation, effects)
    target = writer.place(parameter.variable).reshape(writer.cells, -1)
    for j in np.flatnonzero(parametrisation.columns.any(axis=0)):
        writer.rows.add(target, common[j], parametrisation.columns[:, j, None])
    for part, own in zip(parametrisation.blocks, effects, strict=True):
        add_block(writer, part, own, common, target)
        give_effects(writer, parameter, part, own)


def sample_common(
    writer: Writer,
    parameter: Parameter,
    parametrisation: Parametrisation,
    effects: Sequence[Effects],
) -> Integers:
    """Places of the coefficients of the common terms, (coefficients, elements)."""
    averaged, found, start = parametrisation.averaged, [], 0
    for term in parametrisation.design.common:
        width = term.columns.shape[1]
        plain = f"{parameter.name}_{term.name}"
        dims = (*writer.label_dim(parameter.name, f"{term.name}_dim", term.labels), *parameter.dims)
        prior = writer.problem.prior(plain)
        if averaged[start : start + width].any() and prior.dist in LOCATION_FAMILIES:
            places = writer.sample(f"{plain}_average", dims)
            coefficients = writer.coefficient_count + np.arange(places.size)
            writer.coefficient_count += places.size
            writer.averages.append(places.ravel())
            by_column = coefficients.reshape(width, -1)
            for part, own in zip(parametrisation.blocks, effects, strict=True):
                weights = part.average_weights[start : start + width]
                if own.deviation is not None:
                    chosen = ~part.is_centred
                    writer.average_weights.add(
                        by_column[:, None, None],
                        own.deviation,
                        weights[:, :, chosen, None],
                    )
            values = COEFFICIENT + by_column
            writer.add_prior(values, prior)
            writer.output_rows.add(writer.give(plain, dims).reshape(width, -1), values, 1.0)
        else:
            values = writer.sample_prior(plain, dims)
        found.append(values.reshape(width, -1))
        start += width
    elements = int(np.prod(parameter.shape(writer.ratings), dtype=int))
    return np.concatenate([np.zeros((0, elements), np.int64), *found])


def sample_block(writer: Writer, parameter: Parameter, part: BlockParametrisation) -> Effects:
    """Standard deviations, correlations, offsets and coefficients of a block."""
    extra, block = parameter.dims, part.block
    name = f"{parameter.name}_{block.name}"
    sigmas = []
    for term in block.terms:
        expression = expression_dim(writer, parameter, term)
        plain = f"{parameter.name}_{term.name}|{block.factor}_sigma"
        places = writer.sample_prior(plain, (*expression, *extra))
        sigmas.append(places.reshape(term.columns.shape[1], -1))
    sigma = np.concatenate(sigmas)
    groups, elements = len(block.groups), sigma.shape[1]
    labels, found = effect_labels(block), Effects(name, sigma)
    if block.is_correlated:
        found.partial = sample_partial(writer, parameter, part)
    for end, chosen in (("offset", ~part.is_centred), ("coefficient", part.is_centred)):
        if not chosen.any():
            continue
        inner: tuple[str, ...] = ()
        if block.is_correlated:
            inner = writer.label_dim(parameter.name, f"{block.name}__effect", labels)
        elif not is_single(block):
            inner = writer.label_dim(parameter.name, f"{block.name}__{end}", labels[chosen])
        dims = (*factor_dim(writer, parameter, part), *inner, *extra)
        places = writer.sample(f"{name}_{end}", dims).reshape(groups, -1, elements)
        if end == "offset":
            writer.add_prior(places, STANDARD_NORMAL)
            found.deviation = multiply(writer, places, sigma[chosen], found)
        else:
            found.coefficient = places
    return found


def factor_dim(writer: Writer, parameter: Parameter, part: BlockParametrisation) -> tuple[str, ...]:
    """Dim of the groups of a block."""
    return writer.label_dim(parameter.name, f"{part.block.factor}{FACTOR_DIM}", part.block.groups)


def expression_dim(writer: Writer, parameter: Parameter, term: Term) -> tuple[str, ...]:
    """Dim of the effects of a term of a block; none where there is one."""
    return writer.label_dim(parameter.name, f"{term.name}__expr_dim", term.labels)


def sample_partial(writer: Writer, parameter: Parameter, part: BlockParametrisation) -> Integers:
    """Partial correlations, as (partial correlation + 1)/2 with Beta priors."""
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
    return places


def multiply(writer: Writer, offsets: Integers, sigma: Integers, effects: Effects) -> Integers:
    """Products of offsets and standard deviations, (groups, effects, elements): places."""
    first = writer.product_count
    writer.product_count += offsets.size
    products = np.full((offsets.size, 2), -1)
    if effects.partial is None:
        products[:, 0] = offsets.ravel()
        products[:, 1] = np.broadcast_to(sigma, offsets.shape).ravel()
    else:
        groups, size, _ = offsets.shape
        places = (size, groups, offsets.min(), sigma.min(), effects.partial.min())
        writer.blocks.append((*map(int, places), first, 0))
    writer.products.append(products)
    return PRODUCT + first + np.arange(offsets.size).reshape(offsets.shape)


def add_block(
    writer: Writer, part: BlockParametrisation, own: Effects, common: Integers, target: Integers
) -> None:
    """What a block adds to the parameter of every cell, (cells, elements)."""
    block, columns = part.block, part.block.columns
    if own.deviation is not None:
        for place, k in enumerate(np.flatnonzero(~part.is_centred)):
            writer.rows.add(target, own.deviation[block.index, place], columns[:, k, None])
    if own.coefficient is None:
        return
    chosen = np.flatnonzero(part.is_centred)
    means = part.mean_weights[:, chosen]
    if own.partial is not None:
        add_correlated(writer, own, means, common)
        own.set_differences(own.coefficient, np.ones(own.coefficient.shape), means, common)
        for place, k in enumerate(chosen):
            writer.rows.add(target, own.coefficient[block.index, place], columns[:, k, None])
        return
    shape = own.coefficient.shape
    flags = part.elements[chosen].reshape(len(chosen), -1)
    is_centred = np.broadcast_to(flags, shape)
    add_centred(writer, own, is_centred, own.sigma[chosen], means, common)
    source = own.coefficient
    if not is_centred.all():
        free = own.coefficient[~is_centred]
        writer.add_prior(free, STANDARD_NORMAL)
        sigma = np.broadcast_to(own.sigma[chosen], shape)[~is_centred]
        first = writer.product_count
        writer.product_count += free.size
        writer.products.append(np.stack([free, sigma], axis=1))
        source = source.copy()
        source[~is_centred] = PRODUCT + first + np.arange(free.size)
    own.set_differences(source, np.ones(shape), means, common, is_centred)
    for place, k in enumerate(chosen):
        writer.rows.add(target, source[block.index, place], columns[:, k, None])
        rest = ~is_centred[block.index, place]
        for j in np.flatnonzero(means[:, place].any(axis=0)):
            weight = means[block.index, place, j] * columns[:, k]
            writer.rows.add(target, common[j], np.where(rest, weight[:, None], 0.0))


def give_effects(
    writer: Writer, parameter: Parameter, part: BlockParametrisation, own: Effects
) -> None:
    """Deviations of the groups from the population, by term, as variables of the posterior."""
    start, block, extra = 0, part.block, parameter.dims
    centred, others = (np.flatnonzero(x) for x in (part.is_centred, ~part.is_centred))
    for term in block.terms:
        width = term.columns.shape[1]
        dims = (*factor_dim(writer, parameter, part), *expression_dim(writer, parameter, term))
        rows = writer.give(f"{parameter.name}_{term.name}|{block.factor}", (*dims, *extra))
        rows = rows.reshape(len(block.groups), width, -1)
        for k in range(width):
            if start + k in others:
                assert own.deviation is not None
                place = int(np.searchsorted(others, start + k))
                writer.output_rows.add(rows[:, k], own.deviation[:, place], 1.0)
            else:
                place = int(np.searchsorted(centred, start + k))
                for values, weights in own.differences:
                    writer.output_rows.add(rows[:, k], values[:, place], weights[:, place])
        start += width


def add_centred(
    writer: Writer,
    own: Effects,
    is_centred: NDArray[np.bool_],
    sigma: Integers,
    means: Floats,
    common: Integers,
) -> None:
    """Normal priors of centred effects around their means."""
    assert own.coefficient is not None
    count = int(is_centred.sum())
    rows = np.full(is_centred.shape, -1)
    rows[is_centred] = writer.centred_count + np.arange(count)
    writer.centred_count += count
    spread = np.broadcast_to(sigma, is_centred.shape)
    writer.centred.append(
        (own.coefficient[is_centred], spread[is_centred], np.ones(count), np.zeros(count))
    )
    add_means(writer.centred_rows, rows, is_centred, means, common)


def add_correlated(writer: Writer, own: Effects, means: Floats, common: Integers) -> None:
    """Multivariate normal prior of centred effects around their means."""
    assert own.coefficient is not None
    assert own.partial is not None
    groups, size, _ = own.coefficient.shape
    rows = writer.block_row_count + np.arange(groups * size).reshape(groups, size, 1)
    places = (size, groups, own.coefficient.min(), own.sigma.min(), own.partial.min())
    writer.blocks.append((*map(int, places), writer.block_row_count, 1))
    writer.block_row_count += groups * size
    add_means(writer.block_rows, rows, np.ones(rows.shape, bool), means, common)


def add_means(
    entries: Entries,
    rows: Integers,
    chosen: NDArray[np.bool_],
    means: Floats,
    common: Integers,
) -> None:
    """Means of effects, Σ weight · common coefficient, (groups, effects, elements)."""
    for j in np.flatnonzero(means.any(axis=(0, 1))):
        entries.add(rows, common[j], np.where(chosen, means[:, :, j, None], 0.0))
