"""The log posterior of a problem as arrays: what is sampled, and how cells' parameters follow.

Problem → Program. Formulas, priors and parametrisations become numbers that one compiled function
reads (`hmetad.bayes.density`), so that nothing is compiled for a fit. Vectors of a program:

- x: the free values, without limits; y: the same on the scale of PyMC's variables;
- products: a standard normal offset times its standard deviation;
- coefficients: an average less Σ weight · product;
- values: y, products and coefficients in one row. The parameters of the cells and the means of
  centred effects are linear in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import betaln, gammaln

from hmetad.bayes.design import Term
from hmetad.bayes.dims import choose_dim, effect_labels, is_single
from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation
from hmetad.bayes.problem import Problem
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import LOG_SQRT_2PI
from hmetad.likelihood.records import Parameter

__all__ = [
    "LINK_EXP",
    "LINK_IDENTITY",
    "LINK_LOGISTIC",
    "PRIOR_CODES",
    "FreeVariable",
    "Program",
    "Rows",
    "covers",
    "write_program",
]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Labels = NDArray[np.str_] | None

LINK_IDENTITY, LINK_EXP, LINK_LOGISTIC = 0, 1, 2
LOCATION_FAMILIES = ("Normal", "StudentT")
PRIOR_CODES = {
    "Normal": 0,
    "StudentT": 1,
    "HalfNormal": 2,
    "Exponential": 3,
    "Gamma": 4,
    "LogNormal": 5,
    "UniformTimesHalfNormal": 6,
    "Beta": 7,
}


class Rows(NamedTuple):
    """A sparse matrix by rows: entries of row i are first[i]:first[i + 1]."""

    first: Integers
    column: Integers
    weight: Floats


@dataclass(frozen=True)
class FreeVariable:
    """A variable that is sampled.

    Parameters
    ----------
    name : str
        In the posterior.
    first : int
        Place of its first element in x.
    dims : tuple of str
    shape : tuple of int
    link : int
        From x to the variable: identity, exponential or logistic function.
    """

    name: str
    first: int
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    link: int

    @property
    def elements(self) -> Integers:
        """Places of its elements in x, of its shape."""
        return self.first + np.arange(np.prod(self.shape, dtype=int)).reshape(self.shape)


@dataclass(frozen=True)
class Output:
    """A variable of the posterior that is linear in values.

    Parameters
    ----------
    name : str
    first : int
        Its first row in the rows of all outputs.
    dims : tuple of str
    shape : tuple of int
    """

    name: str
    first: int
    dims: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Correlation:
    """A matrix of correlations between effects.

    Parameters
    ----------
    name : str
    first : int
        Place of its first partial correlation in y.
    dims : tuple of str
    size : int
    """

    name: str
    first: int
    dims: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Program:
    """The log posterior of a problem, as arrays.

    Parameters
    ----------
    free : tuple of FreeVariable
    links : array of int, shape (free,)
    products : array of int, shape (products, 2)
        Places in y of offset and standard deviation; -1 where a correlated block fills it.
    averages : array of int, shape (coefficients,)
        Places in y.
    average_weights : Rows, (coefficients, values)
    prior_places, prior_codes : array of int, shape (priors,)
        Which value has which prior of `PRIOR_CODES`, with `prior_parameters` (priors, 3).
    centred : array of int, shape (centred, 2)
        Places in y of effects and of their standard deviations, -1 where that is `centred_sd`.
    centred_mean : array, shape (centred,)
        The constant part of their means; the rest is `centred_rows` (centred, values).
    blocks : array of int, shape (blocks, 7)
        Correlated blocks: effects, groups; places of effects or offsets, standard deviations and
        partial correlations in y; place of the first product, or of the first row of
        `block_rows` where the block is centred (last column 1).
    offsets : array, shape (cells * columns,)
        Constant part of the cells' parameters; the rest is `rows` (cells * columns, values).
    counts : array, shape (cells, 2, 2, K)
    choices : array of int
        Codes of the choices of the likelihood.
    constant : float
        What the log posterior has beside.
    outputs : tuple of Output
        With `output_rows` (elements of all outputs, values).
    correlations : tuple of Correlation
    columns : mapping of str to array of int
        Columns of each parameter among the parameters of a cell.
    coords : mapping of str to list
        Labels of all dims.
    """

    free: tuple[FreeVariable, ...]
    links: Integers
    products: Integers
    averages: Integers
    average_weights: Rows
    prior_places: Integers
    prior_codes: Integers
    prior_parameters: Floats
    centred: Integers
    centred_sd: Floats
    centred_mean: Floats
    centred_rows: Rows
    blocks: Integers
    block_rows: Rows
    offsets: Floats
    rows: Rows
    counts: Floats
    choices: Integers
    constant: float
    outputs: tuple[Output, ...]
    output_rows: Rows
    correlations: tuple[Correlation, ...]
    columns: Mapping[str, Integers]
    coords: Mapping[str, Sequence[object]]

    @property
    def size(self) -> int:
        """Number of free values."""
        return len(self.links)

    @property
    def names(self) -> list[str]:
        """Names of the variables of the posterior, but for the results of the likelihood."""
        variables: list[FreeVariable | Output | Correlation] = [
            *self.free,
            *self.outputs,
            *self.correlations,
        ]
        return [one.name for one in variables]


def covers(problem: Problem) -> bool:
    """Whether the likelihood of a problem is compiled, so that there is a program of it."""
    return bool(problem.likelihood.density)


def write_program(problem: Problem) -> Program:
    """Program of a problem whose likelihood has a kernel.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Program
    """
    writer = Writer(problem)
    for parameter in problem.likelihood.parameters:
        if parameter.name in problem.designs:
            writer.add_predictor(parameter, problem.start.parametrisations[parameter.name])
        else:
            writer.add_free(parameter)
    return writer.finish()


@dataclass
class Entries:
    """Entries of a sparse matrix while it is written."""

    row: list[Integers] = field(default_factory=list)
    column: list[Integers] = field(default_factory=list)
    weight: list[Floats] = field(default_factory=list)

    def add(self, row: Integers, column: Integers, weight: Floats | float) -> None:
        """Add entries; arrays that broadcast, of which those with weight 0 are left out."""
        r, c, w = np.broadcast_arrays(row, column, weight)
        used = w != 0
        self.row.append(r[used].astype(np.int64))
        self.column.append(c[used].astype(np.int64))
        self.weight.append(w[used].astype(float))

    def rows(self, count: int) -> Rows:
        """The matrix by rows; entries of one place are added up."""
        if not self.row:
            return Rows(np.zeros(count + 1, np.int64), np.zeros(0, np.int64), np.zeros(0))
        row, column = np.concatenate(self.row), np.concatenate(self.column)
        weight, width = np.concatenate(self.weight), int(column.max(initial=0)) + 1
        matrix = coo_array((weight, (row, column)), shape=(count, width)).tocsr()
        matrix.sum_duplicates()
        return Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)


class Writer:
    """Program while it is written. Places of values are negative codes until sizes are known."""

    PRODUCT, COEFFICIENT = 1 << 40, 1 << 41

    def __init__(self, problem: Problem) -> None:
        self.problem, self.spec = problem, problem.spec
        self.module = import_module(problem.likelihood.density)
        self.free: list[FreeVariable] = []
        self.size = self.product_count = self.coefficient_count = 0
        self.products: list[Integers] = []
        self.averages: list[Integers] = []
        self.priors: list[tuple[Integers, int, tuple[float, ...]]] = []
        self.centred: list[tuple[Integers, Integers, Floats, Floats]] = []
        self.centred_count = self.block_row_count = 0
        self.blocks: list[tuple[int, ...]] = []
        self.average_weights, self.centred_rows = Entries(), Entries()
        self.block_rows, self.rows, self.output_rows = Entries(), Entries(), Entries()
        self.outputs: list[Output] = []
        self.correlations: list[Correlation] = []
        self.output_count = 0
        counts = problem.counts
        self.coords: dict[str, list[object]] = {
            str(dim): list(counts[dim].values) for dim in counts.dims
        }
        self.coords["criterion"] = list(range(1, counts.sizes["rating"]))
        self.constant = 0.0
        self.cells, ratings = problem.counts.sizes["cell"], problem.counts.sizes["rating"]
        self.ratings = ratings
        self.columns: dict[str, Integers] = {}
        start = 0
        for name, shape in self.module.parameter_shapes(problem.likelihood, ratings).items():
            size = int(np.prod(shape, dtype=int))
            self.columns[name] = start + np.arange(size).reshape(shape)
            start += size
        self.width = start
        self.offsets = np.zeros((self.cells, start))
        for name, values in problem.given.items():
            self.offsets[:, self.columns[name]] = values

    # --- what is sampled ---------------------------------------------------------------------

    def sample(self, name: str, dims: tuple[str, ...], link: int = LINK_IDENTITY) -> Integers:
        """Add a free variable; places of its elements."""
        shape = tuple(len(self.coords[dim]) for dim in dims)
        variable = FreeVariable(name, self.size, dims, shape, link)
        self.free.append(variable)
        self.size += variable.elements.size
        return variable.elements

    def sample_prior(self, plain: str, dims: tuple[str, ...]) -> Integers:
        """Add a free variable with its prior; places of its elements."""
        prior = self.problem.prior(plain)
        link = LINK_EXP if prior.is_positive else LINK_IDENTITY
        places = self.sample(self.spec.named(plain), dims, link)
        self.add_prior(places, prior)
        return places

    def add_prior(self, places: Integers, prior: Prior) -> None:
        """Prior of values."""
        own = prior.parameters
        order = {
            "Normal": ("mu", "sigma"),
            "StudentT": ("mu", "sigma", "nu"),
            "HalfNormal": ("sigma",),
            "Exponential": ("lam",),
            "Gamma": ("alpha", "beta"),
            "LogNormal": ("mu", "sigma"),
            "UniformTimesHalfNormal": ("sigma",),
        }[prior.dist]
        values = tuple(own[name] for name in order)
        self.priors.append((places.ravel(), PRIOR_CODES[prior.dist], values))
        self.constant += places.size * log_constant(prior)

    def label_dim(self, parameter: str, dim: str, labels: Labels) -> tuple[str, ...]:
        """Dim with these labels; none where there are no labels."""
        if labels is None:
            return ()
        own = [str(label) for label in labels]
        name = choose_dim(self.coords, parameter, dim, own)
        self.coords[name] = [*own]
        return (name,)

    def give(self, plain: str, dims: tuple[str, ...]) -> Integers:
        """Add a variable of the posterior that is no free one; its rows, of its shape."""
        shape = tuple(len(self.coords[dim]) for dim in dims)
        rows = self.output_count + np.arange(np.prod(shape, dtype=int)).reshape(shape)
        self.outputs.append(Output(self.spec.named(plain), self.output_count, dims, shape))
        self.output_count += rows.size
        return rows

    # --- parameters of the cells -------------------------------------------------------------

    def place(self, variable: str) -> Integers:
        """Rows of the cells' parameters that a variable fills, (cells, *its shape)."""
        columns = self.columns[variable]
        own = np.arange(self.cells).reshape(-1, *[1] * columns.ndim) * self.width
        return own + columns

    def add_free(self, parameter: Parameter) -> None:
        """A parameter that each cell has of its own."""
        name, dims = parameter.variable, ("cell", *parameter.dims)
        if parameter.truncated_at:
            places = self.sample(name, dims)
            self.rows.add(self.place(name), places, 1.0)
            self.add_criteria_moments(parameter)
            return
        if parameter.prior_centre:
            places = self.sample(self.spec.named(name), dims)
            self.add_around(parameter, places)
        else:
            places = self.sample_prior(name, dims)
        self.rows.add(self.place(name), places, 1.0)

    def add_around(self, parameter: Parameter, places: Integers) -> None:
        """Normal prior around another parameter of the cell."""
        own = self.problem.prior(parameter.name).parameters
        centre = self.place(parameter.prior_centre)
        centre = centre.reshape(-1, *[1] * (places.ndim - centre.ndim), *centre.shape[1:])
        rows = self.centred_count + np.arange(places.size)
        self.centred.append(
            (
                places.ravel(),
                np.full(places.size, -1),
                np.full(places.size, own["sigma"]),
                np.full(places.size, own["mu"]),
            )
        )
        self.centred_count += places.size
        source = np.broadcast_to(self.free_of(parameter.prior_centre), places.shape)
        self.centred_rows.add(rows, source.ravel(), 1.0)

    def free_of(self, name: str) -> Integers:
        """Places of a parameter that each cell has of its own."""
        return next(v.elements for v in self.free if v.name == self.spec.named(name))

    def add_criteria_moments(self, parameter: Parameter) -> None:
        """Mean and SD of sorted criteria: hyperparameters, or numbers."""
        if parameter.hyperpriors:
            for column, name in zip(self.module.MOMENTS, parameter.hyperpriors, strict=True):
                places = self.sample_prior(name, ())
                self.rows.add(self.place(column), places, 1.0)
        else:
            own = self.problem.prior(parameter.name).parameters
            for column, name in zip(self.module.MOMENTS, ("mu", "sigma"), strict=True):
                self.offsets[:, self.columns[column]] = own[name]

    def add_predictor(self, parameter: Parameter, parametrisation: Parametrisation) -> None:
        """A parameter with a formula."""
        extra = parameter.dims
        effects = [self.sample_block(parameter, part, extra) for part in parametrisation.blocks]
        common = self.sample_common(parameter, parametrisation, effects, extra)
        target = self.place(parameter.variable).reshape(self.cells, -1)
        for j in np.flatnonzero(parametrisation.columns.any(axis=0)):
            self.rows.add(target, common[j], parametrisation.columns[:, j, None])
        for part, own in zip(parametrisation.blocks, effects, strict=True):
            self.add_block(part, own, common, target)
            self.give_effects(parameter, part, own)

    def sample_common(
        self,
        parameter: Parameter,
        parametrisation: Parametrisation,
        effects: Sequence["Effects"],
        extra: tuple[str, ...],
    ) -> Integers:
        """Coefficients of the common terms, (coefficients, *extra): places of values."""
        averaged, found, start = parametrisation.averaged, [], 0
        for term in parametrisation.design.common:
            width = term.columns.shape[1]
            plain = f"{parameter.name}_{term.name}"
            dims = (*self.label_dim(parameter.name, f"{term.name}_dim", term.labels), *extra)
            prior = self.problem.prior(plain)
            if averaged[start : start + width].any() and prior.dist in LOCATION_FAMILIES:
                places = self.sample(f"{plain}_average", dims)
                coefficients = self.coefficient_count + np.arange(places.size)
                self.coefficient_count += places.size
                self.averages.append(places.ravel())
                by_column = coefficients.reshape(width, -1)
                for part, own in zip(parametrisation.blocks, effects, strict=True):
                    weights = part.average_weights[start : start + width]
                    if own.deviation is not None:
                        chosen = ~part.is_centred
                        self.average_weights.add(
                            by_column[:, None, None],
                            own.deviation,
                            weights[:, :, chosen, None],
                        )
                values = self.COEFFICIENT + by_column
                self.add_prior(values, prior)
                self.output_rows.add(self.give(plain, dims).reshape(width, -1), values, 1.0)
            else:
                values = self.sample_prior(plain, dims)
            found.append(values.reshape(width, -1))
            start += width
        elements = int(np.prod(parameter.shape(self.ratings), dtype=int))
        return np.concatenate([np.zeros((0, elements), np.int64), *found])

    def sample_block(
        self, parameter: Parameter, part: BlockParametrisation, extra: tuple[str, ...]
    ) -> "Effects":
        """Standard deviations, correlations, offsets and coefficients of a block."""
        block, name = part.block, f"{parameter.name}_{part.block.name}"
        sigmas = []
        for term in block.terms:
            expression = self.expression_dim(parameter, term)
            plain = f"{parameter.name}_{term.name}|{block.factor}_sigma"
            places = self.sample_prior(plain, (*expression, *extra))
            sigmas.append(places.reshape(term.columns.shape[1], -1))
        sigma = np.concatenate(sigmas)
        groups, elements = len(block.groups), sigma.shape[1]
        labels, found = effect_labels(block), Effects(name, sigma)
        if block.is_correlated:
            found.partial = self.sample_partial(parameter, part)
        for end, chosen in (("offset", ~part.is_centred), ("coefficient", part.is_centred)):
            if not chosen.any():
                continue
            inner: tuple[str, ...] = ()
            if block.is_correlated:
                inner = self.label_dim(parameter.name, f"{block.name}__effect", labels)
            elif not is_single(block):
                inner = self.label_dim(parameter.name, f"{block.name}__{end}", labels[chosen])
            dims = (*self.factor_dim(parameter, part), *inner, *extra)
            places = self.sample(f"{name}_{end}", dims).reshape(groups, -1, elements)
            if end == "offset":
                self.priors.append((places.ravel(), PRIOR_CODES["Normal"], (0.0, 1.0)))
                self.constant -= places.size * LOG_SQRT_2PI
                found.deviation = self.multiply(places, sigma[chosen], found)
            else:
                found.coefficient = places
        return found

    def factor_dim(self, parameter: Parameter, part: BlockParametrisation) -> tuple[str, ...]:
        """Dim of the groups of a block."""
        return self.label_dim(parameter.name, f"{part.block.factor}__factor_dim", part.block.groups)

    def expression_dim(self, parameter: Parameter, term: Term) -> tuple[str, ...]:
        """Dim of the effects of a term of a block; none where there is one."""
        return self.label_dim(parameter.name, f"{term.name}__expr_dim", term.labels)

    def sample_partial(self, parameter: Parameter, part: BlockParametrisation) -> Integers:
        """Partial correlations, as (partial correlation + 1)/2 with Beta priors."""
        name, labels = f"{parameter.name}_{part.block.name}", effect_labels(part.block)
        size, eta = len(labels), self.problem.prior(f"{name}_corr").parameters["eta"]
        pairs = [(i, j) for i in range(1, size) for j in range(i)]
        dim = f"{name}_partial_dim"
        self.coords[dim] = [f"{i + 1},{j + 1}" for i, j in pairs]
        places = self.sample(f"{name}_partial", (dim,), LINK_LOGISTIC)
        dims = tuple(
            self.label_dim(parameter.name, f"{part.block.name}__{end}", labels)[0]
            for end in ("effect", "effect_bis")
        )
        correlation = Correlation(self.spec.named(f"{name}_corr"), int(places[0]), dims, size)
        self.correlations.append(correlation)
        for place, (_, j) in zip(places, pairs, strict=True):
            shape = eta + (size - 2 - j) / 2
            self.priors.append((np.array([place]), PRIOR_CODES["Beta"], (shape,)))
            self.constant -= float(betaln(shape, shape))
        return places

    def multiply(self, offsets: Integers, sigma: Integers, effects: "Effects") -> Integers:
        """Products of offsets and standard deviations, (groups, effects, elements): places."""
        first = self.product_count
        self.product_count += offsets.size
        products = np.full((offsets.size, 2), -1)
        if effects.partial is None:
            products[:, 0] = offsets.ravel()
            products[:, 1] = np.broadcast_to(sigma, offsets.shape).ravel()
        else:
            groups, size, _ = offsets.shape
            places = (size, groups, offsets.min(), sigma.min(), effects.partial.min())
            self.blocks.append((*map(int, places), first, 0))
        self.products.append(products)
        return self.PRODUCT + first + np.arange(offsets.size).reshape(offsets.shape)

    def add_block(
        self, part: BlockParametrisation, own: "Effects", common: Integers, target: Integers
    ) -> None:
        """What a block adds to the parameter of every cell, (cells, elements)."""
        block, columns = part.block, part.block.columns
        if own.deviation is not None:
            for place, k in enumerate(np.flatnonzero(~part.is_centred)):
                self.rows.add(target, own.deviation[block.index, place], columns[:, k, None])
        if own.coefficient is None:
            return
        chosen = np.flatnonzero(part.is_centred)
        means = part.mean_weights[:, chosen]
        if own.partial is not None:
            self.add_correlated(own, means, common)
            own.set_differences(own.coefficient, np.ones(own.coefficient.shape), means, common)
            for place, k in enumerate(chosen):
                self.rows.add(target, own.coefficient[block.index, place], columns[:, k, None])
            return
        shape = own.coefficient.shape
        flags = part.elements[chosen].reshape(len(chosen), -1)
        is_centred = np.broadcast_to(flags, shape)
        self.add_centred(own, is_centred, own.sigma[chosen], means, common)
        source = own.coefficient
        if not is_centred.all():
            free = own.coefficient[~is_centred]
            self.priors.append((free, PRIOR_CODES["Normal"], (0.0, 1.0)))
            self.constant -= free.size * LOG_SQRT_2PI
            sigma = np.broadcast_to(own.sigma[chosen], shape)[~is_centred]
            first = self.product_count
            self.product_count += free.size
            self.products.append(np.stack([free, sigma], axis=1))
            source = source.copy()
            source[~is_centred] = self.PRODUCT + first + np.arange(free.size)
        own.set_differences(source, np.ones(shape), means, common, is_centred)
        for place, k in enumerate(chosen):
            self.rows.add(target, source[block.index, place], columns[:, k, None])
            rest = ~is_centred[block.index, place]
            for j in np.flatnonzero(means[:, place].any(axis=0)):
                weight = means[block.index, place, j] * columns[:, k]
                self.rows.add(target, common[j], np.where(rest, weight[:, None], 0.0))

    def give_effects(
        self, parameter: Parameter, part: BlockParametrisation, own: "Effects"
    ) -> None:
        """Deviations of the groups from the population, by term, as variables of the posterior."""
        start, block, extra = 0, part.block, parameter.dims
        centred, others = (np.flatnonzero(x) for x in (part.is_centred, ~part.is_centred))
        for term in block.terms:
            width = term.columns.shape[1]
            dims = (*self.factor_dim(parameter, part), *self.expression_dim(parameter, term))
            rows = self.give(f"{parameter.name}_{term.name}|{block.factor}", (*dims, *extra))
            rows = rows.reshape(len(block.groups), width, -1)
            for k in range(width):
                if start + k in others:
                    assert own.deviation is not None
                    place = int(np.searchsorted(others, start + k))
                    self.output_rows.add(rows[:, k], own.deviation[:, place], 1.0)
                else:
                    place = int(np.searchsorted(centred, start + k))
                    for values, weights in own.differences:
                        self.output_rows.add(rows[:, k], values[:, place], weights[:, place])
            start += width

    def add_centred(
        self,
        own: "Effects",
        is_centred: NDArray[np.bool_],
        sigma: Integers,
        means: Floats,
        common: Integers,
    ) -> None:
        """Normal priors of centred effects around their means."""
        assert own.coefficient is not None
        count = int(is_centred.sum())
        rows = np.full(is_centred.shape, -1)
        rows[is_centred] = self.centred_count + np.arange(count)
        self.centred_count += count
        spread = np.broadcast_to(sigma, is_centred.shape)
        self.centred.append(
            (own.coefficient[is_centred], spread[is_centred], np.ones(count), np.zeros(count))
        )
        self.add_means(self.centred_rows, rows, is_centred, means, common)

    def add_correlated(self, own: "Effects", means: Floats, common: Integers) -> None:
        """Multivariate normal prior of centred effects around their means."""
        assert own.coefficient is not None
        assert own.partial is not None
        groups, size, _ = own.coefficient.shape
        rows = self.block_row_count + np.arange(groups * size).reshape(groups, size, 1)
        places = (size, groups, own.coefficient.min(), own.sigma.min(), own.partial.min())
        self.blocks.append((*map(int, places), self.block_row_count, 1))
        self.block_row_count += groups * size
        self.add_means(self.block_rows, rows, np.ones(rows.shape, bool), means, common)

    @staticmethod
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

    # --- the end -----------------------------------------------------------------------------

    def finish(self) -> Program:
        """The program, with places of all values in one row."""
        cells = self.problem.counts.values.astype(float)
        links = np.concatenate([np.full(v.elements.size, v.link) for v in self.free])
        centred = [np.concatenate([np.zeros(0), *part]) for part in zip(*self.centred, strict=True)]
        centred = centred or [np.zeros(0)] * 4
        sizes = [len(places) for places, _, _ in self.priors]
        parameters = np.zeros((sum(sizes), 3))
        codes = np.repeat([code for _, code, _ in self.priors], sizes)
        start = 0
        for size, (_, _, values) in zip(sizes, self.priors, strict=True):
            parameters[start : start + size, : len(values)] = values
            start += size
        return Program(
            free=tuple(self.free),
            links=links.astype(np.int64),
            products=np.concatenate([np.zeros((0, 2), np.int64), *self.products]),
            averages=np.concatenate([np.zeros(0, np.int64), *self.averages]),
            average_weights=self.settle(self.average_weights.rows(self.coefficient_count)),
            prior_places=self.value_places(np.concatenate([p for p, _, _ in self.priors])),
            prior_codes=codes.astype(np.int64),
            prior_parameters=parameters,
            centred=np.stack(centred[:2], axis=1).astype(np.int64),
            centred_sd=centred[2],
            centred_mean=centred[3],
            centred_rows=self.settle(self.centred_rows.rows(self.centred_count)),
            blocks=np.array(self.blocks, np.int64).reshape(-1, 7),
            block_rows=self.settle(self.block_rows.rows(self.block_row_count)),
            offsets=self.offsets.ravel(),
            rows=self.settle(self.rows.rows(self.cells * self.width)),
            counts=cells,
            choices=np.array(self.module.choices(self.problem.likelihood), np.int64),
            outputs=tuple(self.outputs),
            output_rows=self.settle(self.output_rows.rows(self.output_count)),
            correlations=tuple(self.correlations),
            columns=self.columns,
            coords=self.coords,
            constant=self.constant
            - self.centred_count * LOG_SQRT_2PI
            - self.block_row_count * LOG_SQRT_2PI,
        )

    def value_places(self, places: Integers) -> Integers:
        """Places in the row of all values."""
        places = np.where(
            places >= self.COEFFICIENT,
            places - self.COEFFICIENT + self.size + self.product_count,
            places,
        )
        return np.where(places >= self.PRODUCT, places - self.PRODUCT + self.size, places)

    def settle(self, rows: Rows) -> Rows:
        """Matrix whose columns are places in the row of all values."""
        return rows._replace(column=self.value_places(rows.column))


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


def log_constant(prior: Prior) -> float:
    """Log density of a prior less its part that depends on the value."""
    own = prior.parameters
    if prior.dist == "Exponential":
        return float(np.log(own["lam"]))
    if prior.dist == "Gamma":
        return float(own["alpha"] * np.log(own["beta"]) - gammaln(own["alpha"]))
    scale = float(np.log(own["sigma"]))
    if prior.dist == "HalfNormal":
        return float(0.5 * np.log(2 / np.pi)) - scale
    if prior.dist == "StudentT":
        nu = own["nu"]
        return float(gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)) - scale
    # Normal, log-normal, and half a normal times a uniform variable.
    return -float(LOG_SQRT_2PI) - scale
