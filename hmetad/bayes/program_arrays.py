"""The log posterior of a model as arrays: priors, and how cells' parameters follow.

Likelihood, Layout, counts and parametrisations → ProgramArrays, which one compiled function reads
(`hmetad.bayes.density`), so that nothing is compiled for a fit. Vectors:

- x: the free values, without limits; y: the same on the scale of PyMC's variables, but that
  standard deviations with a half-normal prior may have either sign (`unfold`);
- deviations: the effects of groups, from their offsets as `hmetad.bayes.parametrisation` says;
- values: y and deviations in one row. The parameters of the cells are linear in them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import betaln, gammaln

from hmetad.bayes.parametrisation import BlockParametrisation, Parametrisation
from hmetad.likelihood.family import Family, Parameter
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import LOG_SQRT_2PI
from hmetad.likelihood.tape import MOMENTS, column_shapes, tape_of
from hmetad.specs.layout import (
    LINK_EXP,
    LINK_FOLDED,
    LINK_LOGISTIC,
    BlockLayout,
    FormulaLayout,
    Layout,
    Variable,
)

__all__ = ["PRIOR_CODES", "ProgramArrays", "Rows", "free_values", "unfold", "write_arrays"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

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
# Order of the parameters of a prior.
PRIOR_PARAMETERS = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma", "nu"),
    "HalfNormal": ("sigma",),
    "Exponential": ("lam",),
    "Gamma": ("alpha", "beta"),
    "LogNormal": ("mu", "sigma"),
    "UniformTimesHalfNormal": ("sigma",),
}


class Rows(NamedTuple):
    """A sparse matrix by rows: entries of row i are first[i]:first[i + 1]."""

    first: Integers
    column: Integers
    weight: Floats


@dataclass(frozen=True)
class ProgramArrays:
    """The log posterior of a model, as arrays.

    Parameters
    ----------
    layout : Layout
        Its free variables are the places in x.
    links, owners : array of int, shape (free,)
        Of each free value, and the place of the cell that alone has it; -1 where several do.
    prior_places, prior_codes : array of int, shape (priors,)
        Which value has which prior of `PRIOR_CODES`, with `prior_parameters` (priors, 3).
    around_places : array of int, shape (around,)
        Places in y of values that are normal around others, with the standard deviation
        `around_sd` and the mean `around_mean` and what `around_rows` (around, values) adds.
    blocks : array of int, shape (blocks, 4)
        Blocks of effects: their first deviation and that after their last, the number of effects
        of a group that are correlated (1 where none are), and the place in y of the first partial
        correlation. Effects of a group follow each other.
    offset_places, sd_places : array of int, shape (deviations,)
        Places in y of their offsets and standard deviations.
    estimates, information : array, shape (deviations,)
        m and h of each; its μ is `mean_rows` (deviations, values), of y and deviations before it.
    offsets : array, shape (cells * columns,)
        Constant part of the cells' parameters; the rest is `rows` (cells * columns, values).
    counts : array, shape (cells, *outcomes)
    tape : array of int
        What the likelihood's kernel is made to compute.
    constant : float
        What the log posterior has beside.
    """

    layout: Layout
    links: Integers
    owners: Integers
    prior_places: Integers
    prior_codes: Integers
    prior_parameters: Floats
    around_places: Integers
    around_sd: Floats
    around_mean: Floats
    around_rows: Rows
    blocks: Integers
    offset_places: Integers
    sd_places: Integers
    estimates: Floats
    information: Floats
    mean_rows: Rows
    offsets: Floats
    rows: Rows
    counts: Floats
    tape: Integers
    constant: float

    @property
    def size(self) -> int:
        """Number of free values."""
        return len(self.links)

    @property
    def free(self) -> tuple[Variable, ...]:
        """Variables that are sampled."""
        return self.layout.free

    @cached_property
    def places_by_cell(self) -> Integers:
        """Places of the free values of each cell, in rising order, where cells share nothing."""
        return np.argsort(self.owners, kind="stable").reshape(len(self.counts), -1)


def free_values(arrays: ProgramArrays, values: Mapping[str, Floats]) -> Floats:
    """Free values (free,) of variables by name."""
    x = np.empty(arrays.size)
    for free in arrays.free:
        value = np.broadcast_to(values[free.name], free.shape).ravel()
        if free.link in (LINK_EXP, LINK_FOLDED):
            value = np.log(value)
        elif free.link == LINK_LOGISTIC:
            value = np.log(value) - np.log1p(-value)
        x[free.elements.ravel()] = value
    return x


def unfold(arrays: ProgramArrays, x: Floats) -> Floats:
    """Free values (..., free) at which standard deviations are positive; the density is the same.

    With its sign, that of its offsets and of its partial correlations changes too. The logarithm of
    a standard deviation that may be 0 has an endless tail, in which chains are slow.
    """
    is_negative = (arrays.links == LINK_FOLDED) & (x < 0)
    signs = np.where(is_negative, -1.0, 1.0)
    factors = signs.copy()
    factors[..., arrays.offset_places] = signs[..., arrays.sd_places]
    for start, _, size, partial in arrays.blocks:
        own = signs[..., arrays.sd_places[start : start + size]]
        row, column = np.tril_indices(size, -1)
        factors[..., partial : partial + len(row)] = own[..., row] * own[..., column]
    return x * factors


def write_arrays(
    likelihood: Family,
    layout: Layout,
    counts: NDArray[np.int64],
    given: Mapping[str, Floats],
    parametrisations: Mapping[str, Parametrisation],
) -> ProgramArrays:
    """Arrays of a model whose likelihood has a compiled density.

    Parameters
    ----------
    likelihood : Family
    layout : Layout
    counts : array of int, shape (cells, *outcomes)
    given : mapping of str to array, shape (cells,)
        Quantities that are set to their values from the counts.
    parametrisations : mapping of str to Parametrisation
        Of the parameters that have a formula.

    Returns
    -------
    ProgramArrays
    """
    writer = Writer(likelihood, layout, counts, given)
    for parameter in likelihood.parameters:
        if parameter.name in layout.formulas:
            formula = layout.formulas[parameter.name]
            writer.add_formula(parameter, formula, parametrisations[parameter.name])
        else:
            writer.add_own(parameter, *layout.own[parameter.name])
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
    """Arrays while they are written."""

    def __init__(
        self,
        likelihood: Family,
        layout: Layout,
        counts: NDArray[np.int64],
        given: Mapping[str, Floats],
    ) -> None:
        self.likelihood, self.layout, self.given = likelihood, layout, given
        self.counts = counts.astype(float)
        # Places, codes and parameters of priors.
        self.priors: list[tuple[Integers, int, tuple[float, ...]]] = []
        # Places, standard deviations and means.
        self.around: list[tuple[Integers, Floats, Floats]] = []
        self.blocks: list[tuple[int, int, int, int]] = []
        # Places of offsets and of standard deviations, estimates and information.
        self.deviations: list[tuple[Integers, Integers, Floats, Floats]] = []
        self.around_count = self.deviation_count = 0
        self.around_rows, self.mean_rows, self.rows = Entries(), Entries(), Entries()
        self.constant = 0.0
        self.columns: dict[str, Integers] = {}
        width = 0
        for name, shape in column_shapes(likelihood, counts.shape[-1]).items():
            size = int(np.prod(shape, dtype=int))
            self.columns[name] = width + np.arange(size).reshape(shape)
            width += size
        self.offsets = np.zeros((len(counts), width))
        for name, values in given.items():
            self.offsets[:, self.columns[name]] = values

    def place(self, variable: str) -> Integers:
        """Rows of the cells' parameters that a variable fills, (cells, *its shape)."""
        columns = self.columns[variable]
        cells, width = self.offsets.shape
        return np.arange(cells).reshape(-1, *[1] * columns.ndim) * width + columns

    def add_prior(self, variable: Variable) -> Integers:
        """Prior of a variable; places of its elements."""
        prior, places = variable.prior, variable.elements
        assert prior is not None
        values = tuple(prior.parameters[name] for name in PRIOR_PARAMETERS[prior.dist])
        self.priors.append((places.ravel(), PRIOR_CODES[prior.dist], values))
        self.constant += places.size * log_constant(prior)
        if variable.link == LINK_FOLDED:
            self.constant -= places.size * math.log(2)
        return places

    def add_own(self, parameter: Parameter, values: Variable, *hyper: Variable) -> None:
        """A parameter that each cell has of its own."""
        self.rows.add(self.place(parameter.variable), values.elements, 1.0)
        if parameter.truncated_at:
            self.add_criteria_moments(values, hyper)
        elif parameter.prior_centre:
            self.add_around(parameter.prior_centre, values)
        else:
            self.add_prior(values)

    def add_around(self, centre: str, variable: Variable) -> None:
        """Normal prior around another parameter of the cell."""
        assert variable.prior is not None
        own, places = variable.prior.parameters, variable.elements
        shape = (-1, *[1] * (places.ndim - 1))
        rows = self.around_count + np.arange(places.size).reshape(places.shape)
        mean = np.full(places.shape, own["mu"])
        if centre in self.given:
            mean += self.given[centre].reshape(shape)
        else:
            theirs = self.layout.own[centre][0].elements
            self.around_rows.add(rows, theirs.reshape(shape), 1.0)
        self.around.append((places, np.full(places.shape, own["sigma"]), mean))
        self.around_count += places.size

    def add_criteria_moments(self, values: Variable, hyper: Sequence[Variable]) -> None:
        """Mean and SD of sorted criteria: hyperparameters, or numbers."""
        for column, variable in zip(MOMENTS, hyper, strict=False):
            self.rows.add(self.place(column), self.add_prior(variable), 1.0)
        if values.prior is not None:
            for column, name in zip(MOMENTS, ("mu", "sigma"), strict=True):
                self.offsets[:, self.columns[column]] = values.prior.parameters[name]

    def add_formula(
        self, parameter: Parameter, formula: FormulaLayout, parametrisation: Parametrisation
    ) -> None:
        """A parameter with a formula."""
        design, others = formula.design, list[Integers]()
        target = self.place(parameter.variable).reshape(len(self.offsets), -1)
        common = np.zeros((0, target.shape[1]), np.int64)
        for term, variable in zip(design.common, formula.coefficients, strict=True):
            places = self.add_prior(variable).reshape(term.columns.shape[1], -1)
            common = np.concatenate([common, places])
        for j, column in enumerate(design.columns.T):
            self.rows.add(target, common[j], column[:, None])
        for own, part in zip(formula.blocks, parametrisation.blocks, strict=True):
            deviations = self.add_block(own, part, common, others)
            others.append(deviations)
            for k, column in enumerate(part.block.columns.T):
                self.rows.add(target, deviations[part.block.index, k], column[:, None])

    def add_block(
        self,
        own: BlockLayout,
        part: BlockParametrisation,
        common: Integers,
        others: Sequence[Integers],
    ) -> Integers:
        """Standard deviations, correlations and offsets; places of deviations in the values.

        These have the shape (groups, effects, elements).
        """
        sigma = np.concatenate(
            [
                self.add_prior(variable).reshape(term.columns.shape[1], -1)
                for term, variable in zip(own.block.terms, own.sds, strict=True)
            ]
        )
        first_partial = self.add_partial(own, len(sigma))
        offsets = own.offset.elements.reshape(len(own.block.groups), *sigma.shape)
        first = self.deviation_count
        self.deviation_count += offsets.size
        rows = first + np.arange(offsets.size).reshape(offsets.shape)
        size = len(sigma) if own.block.is_correlated else 1
        self.blocks.append((first, self.deviation_count, size, first_partial))
        spread = np.broadcast_to(sigma, offsets.shape)
        self.deviations.append((offsets, spread, part.estimates, part.information))
        # Means of effects: weights times common coefficients, and what outer blocks add.
        for j in np.flatnonzero(part.mean_weights.any(axis=(0, 1))):
            self.mean_rows.add(rows, common[j], part.mean_weights[:, :, j, None])
        for outer in part.outer:
            # Dims (groups, parents, outer effects, elements).
            theirs = others[outer.place][outer.parents]
            for p, k in np.ndindex(theirs.shape[1:3]):
                self.mean_rows.add(rows, theirs[:, None, p, k], outer.weights[:, :, p, k, None])
        return self.layout.size + rows

    def add_partial(self, own: BlockLayout, size: int) -> int:
        """Beta priors of (partial correlation + 1)/2; the place of the first."""
        if own.partial is None or own.correlation is None:
            return -1
        assert own.correlation.prior is not None
        eta = own.correlation.prior.parameters["eta"]
        columns = [j for i in range(1, size) for j in range(i)]
        for place, j in zip(own.partial.elements, columns, strict=True):
            shape = eta + (size - 2 - j) / 2
            self.priors.append((np.array([place]), PRIOR_CODES["Beta"], (shape,)))
            self.constant -= float(betaln(shape, shape))
        return own.partial.first

    def finish(self) -> ProgramArrays:
        """The arrays, with places of all values in one row."""
        around = [join(part) for part in zip(*self.around, strict=True)] or [np.zeros(0)] * 3
        own = [join(part) for part in zip(*self.deviations, strict=True)] or [np.zeros(0)] * 4
        sizes = [len(places) for places, _, _ in self.priors]
        parameters = [[*values, 0.0, 0.0][:3] for _, _, values in self.priors]
        free, none = self.layout.free, np.zeros(0, np.int64)
        return ProgramArrays(
            layout=self.layout,
            links=np.concatenate([np.full(v.size, v.link, np.int64) for v in free]),
            owners=np.concatenate([owners(variable) for variable in free]),
            prior_places=np.concatenate([none, *(places for places, _, _ in self.priors)]),
            prior_codes=np.repeat(np.array([code for _, code, _ in self.priors], np.int64), sizes),
            prior_parameters=np.repeat(np.reshape(parameters, (-1, 3)), sizes, axis=0),
            around_places=around[0].astype(np.int64),
            around_sd=around[1],
            around_mean=around[2],
            around_rows=self.around_rows.rows(self.around_count),
            blocks=np.array(self.blocks, np.int64).reshape(-1, 4),
            offset_places=own[0].astype(np.int64),
            sd_places=own[1].astype(np.int64),
            estimates=own[2],
            information=own[3],
            mean_rows=self.mean_rows.rows(self.deviation_count),
            offsets=self.offsets.ravel(),
            rows=self.rows.rows(self.offsets.size),
            counts=self.counts,
            tape=tape_of(self.likelihood, self.counts.shape[-1]),
            constant=self.constant - (self.around_count + self.deviation_count) * LOG_SQRT_2PI,
        )


def join(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays one after the other, without their shapes."""
    return np.concatenate([part.ravel() for part in parts])


def owners(variable: Variable) -> Integers:
    """Places of the cells that the elements of a variable belong to; -1 where they are shared."""
    if variable.dims[:1] != ("cell",):
        return np.full(variable.size, -1)
    cells = variable.shape[0]
    return np.repeat(np.arange(cells), variable.size // cells)


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
