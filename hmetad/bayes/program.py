"""A model of a count table, worked out once: counts, variables, where to begin, and arrays.

Count table and ModelSpec → Program. PyMC's model, samplers, importance sampling and what is made of
draws read it; formulas are evaluated and priors settled here. The log posterior as arrays, with
which nothing is compiled for a fit (`hmetad.bayes.density`), and where chains begin are computed
when they are first asked for.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.sparse import coo_array
from scipy.special import betaln, gammaln

from hmetad.base.errors import ModelError, SourceError
from hmetad.base.labels import check_same_names
from hmetad.bayes.crossed import CrossedDensity, Whitening, whitening_of
from hmetad.bayes.density import ProgramArrays, evaluate, pack, unwarp, warped
from hmetad.bayes.parametrisation import (
    BlockParametrisation,
    Known,
    known_of_coefficients,
    scale_of_sd,
    warp_of,
)
from hmetad.bayes.start import Start, starting_point
from hmetad.likelihood.family import Family
from hmetad.likelihood.priors import DISTRIBUTIONS, Prior
from hmetad.likelihood.tails import LOG_SQRT_2PI
from hmetad.likelihood.tape import MOMENTS, column_shapes, tape_of
from hmetad.specs.crossing import ENOUGH, Comparison, Crossing, crossing_of
from hmetad.specs.design import Design, checked_counts, designs_of, given_of
from hmetad.specs.layout import (
    LINK_EXP,
    LINK_FOLDED,
    LINK_IDENTITY,
    LINK_LOGISTIC,
    BlockLayout,
    FormulaLayout,
    IntegratedLayout,
    Layout,
    Variable,
    layout_of,
)
from hmetad.specs.spec import OF_ITEMS, SPREAD, ModelSpec

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type PriorRow = tuple[int, float, float, float]

# Chains begin at this or above it where a prior allows positive values only.
SMALLEST_START = 0.01
# Standard deviation of loadings where the search for their highest density begins.
FIRST_SD_OF_LOADINGS = 0.05


@dataclass(frozen=True)
class Program:
    """A model of a count table, ready to be sampled.

    Parameters
    ----------
    counts : DataArray, shape (cells, *outcomes)
        Dims cell, stimulus, response, rating, or those of the likelihood's layout.
    spec : ModelSpec
        With the prior of every variable that takes one, by its name in the posterior.
    designs : mapping of str to Design
        Formulas evaluated on the cells, by parameter.
    given : mapping of str to array, shape (cells,)
        Quantities that are set to their values from the counts.
    layout : Layout
        Its variables.
    known_start : Start, optional
        Where chains begin, if that is known.
    crossing : Crossing, optional
        The factor that is integrated out, and what the cells answered to each of its levels.
    known_whitening : Whitening, optional
        That of the density where a factor is integrated out, if it is known.
    compared : Comparison, optional
        What the data say of loadings of the cells on that factor.
    """

    counts: xr.DataArray
    spec: ModelSpec
    designs: Mapping[str, Design]
    given: Mapping[str, Floats]
    layout: Layout
    known_start: Start | None = None
    crossing: Crossing | None = None
    known_whitening: Whitening | None = None
    compared: Comparison | None = None

    @cached_property
    def likelihood(self) -> Family:
        """Record of the likelihood, with the model's choices."""
        return self.spec.record

    @cached_property
    def start(self) -> Start:
        """Where chains begin, and what the data say of every group's effects."""
        if self.known_start is not None:
            return self.known_start
        return starting_point(self.counts, self.spec, self.layout, self.given)

    @property
    def is_compiled(self) -> bool:
        """Whether its density is: its likelihood has one, which covers what its formulas say."""
        # The centre of a prior has no formula: each cell has its own, or it is known.
        centres = {p.prior_centre for p in self.likelihood.parameters}
        return bool(self.likelihood.compiled_kernel) and not centres & {*self.designs}

    @property
    def has_separate_cells(self) -> bool:
        """Whether cells share nothing: neither formulas nor hyperpriors."""
        return not self.designs and not any(p.hyperpriors for p in self.likelihood.parameters)

    @cached_property
    def arrays(self) -> ProgramArrays:
        """The log posterior as arrays, where the density is compiled."""
        layout = self.layout
        following = {v.name for v in layout.variables} | {*self.likelihood.results}
        taken = {*layout.coords, *following} - {*self.counts.dims}
        check_same_names(self.counts.coords, taken)
        return write_arrays(self)

    @cached_property
    def packed(self) -> Integers:
        """The arrays in one row, as compiled code reads them."""
        return pack(self.arrays)

    def log_density(self, x: Floats) -> tuple[float, Floats]:
        """Log posterior density of free values (free,), and its gradient (free,)."""
        if self.crossing is not None:
            return self.density_of_items(x)
        gradient = np.empty(len(x))
        return evaluate(x, self.packed, gradient), gradient

    @cached_property
    def density_of_items(self) -> CrossedDensity:
        """The density for calls one after the other."""
        return self.crossed_density()

    def with_enough_nodes(self) -> "Program":
        """The program, or one with more nodes if these move its highest log density."""
        assert self.crossing is not None
        finer = self.crossing.finer
        if finer is None:
            return self
        other = replace(self, crossing=finer, known_start=self.start)
        here, there = (
            one.density_of_items.at_moved(self.whitening.centre)[1] for one in (self, other)
        )
        # In whitened values the curvature is 1: a slope is how far the highest point is away.
        moved = (there - here) @ self.whitening.factor
        return self if abs(moved).max() <= ENOUGH else other.with_enough_nodes()

    def crossed_density(self) -> CrossedDensity:
        """Its density where a factor is integrated out, for one thread."""
        assert self.crossing is not None
        assert self.layout.integrated is not None
        likelihood = self.crossing.likelihood(self.given)
        return CrossedDensity(self.packed, self.layout.integrated, likelihood)

    @cached_property
    def whitening(self) -> Whitening:
        """What chains move where a factor is integrated out."""
        if self.known_whitening is not None:
            return self.known_whitening
        return whitening_of(self.crossed_density, warped(self.first_point, self.packed))

    @property
    def full_spec(self) -> ModelSpec:
        """The model with the factor that is integrated out."""
        return (
            self.spec
            if self.crossing is None
            else replace(self.spec, formula=self.crossing.formula)
        )

    @cached_property
    def first_point(self) -> Floats:
        """Free values (free,) of the start."""
        x = np.empty(self.layout.size)
        for free in self.layout.free:
            value = np.broadcast_to(self.start.values[free.name], free.shape)
            if free.link == LINK_EXP:
                value = np.log(np.maximum(value, SMALLEST_START))
            elif free.link == LINK_LOGISTIC:
                value = np.log(value) - np.log1p(-value)
            x[free.elements] = value
        return x

    @cached_property
    def places_by_cell(self) -> Integers:
        """Places of the free values of each cell, in rising order, where cells share nothing."""
        return np.argsort(self.arrays.owners, kind="stable").reshape(len(self.counts), -1)

    def of_cells(self, places: Integers) -> "Program":
        """The program of some of the cells; only for cells that share nothing."""
        counts = self.counts.isel(cell=places)
        return replace(
            self,
            counts=counts,
            given={name: values[places] for name, values in self.given.items()},
            layout=layout_of(counts, self.spec, {}),
            known_start=Start({name: own[places] for name, own in self.start.values.items()}),
        )

    def without_offsets(self, posterior: xr.Dataset) -> xr.Dataset:
        """Posterior without what effects are made of while they are sampled, as fits have it."""
        kept = posterior.drop_vars(self.layout.offset_names, errors="ignore")
        used = {dim for values in kept.values() for dim in values.dims}
        return kept.drop_dims([dim for dim in kept.dims if dim not in used])


def build_program(counts: xr.DataArray, spec: ModelSpec, *, integrates: bool = True) -> Program:
    """Work out everything that the model of a count table needs, or say why it has no model.

    `integrates` is False where effects of items are sampled as all others.
    """
    if not isinstance(spec, ModelSpec):
        raise SourceError("spec", repr(spec), "a ModelSpec", "Read one with load_model.")
    counts = checked_counts(counts, spec)
    crossing = crossing_of(counts, spec) if integrates else None
    if crossing is not None:
        counts, spec = checked_counts(crossing.counts, crossing.spec), crossing.spec
    designs = designs_of(counts, spec)
    layout = layout_of(counts, spec, designs, crossing.integrated if crossing else None)
    for name in {*OF_ITEMS} & {*spec.formula} if crossing is None else ():
        allowed = (
            f"(1 | item) alone{', with one in dprime' * (name == SPREAD)}, no other effects of "
            "items, and formulas of all parameters"
        )
        if not integrates:
            allowed = f"no {name}, which PyMC's model does not have: hmetad.fit integrates it out"
        raise ModelError(f"formula of {name}", repr(spec.formula[name]), allowed)
    spec = replace(spec, priors=layout.priors)
    given = given_of(counts, spec)
    return Program(counts, spec, designs, given, layout, crossing=crossing)


def with_loadings(program: Program) -> Program:
    """The program in which cells follow the effects of the factor by loadings."""
    assert program.crossing is not None
    crossing = replace(program.crossing, has_loadings=True)
    layout = layout_of(program.counts, program.spec, program.designs, crossing.integrated)
    assert layout.integrated is not None
    equal = {own.name: np.zeros(own.shape) for own in layout.integrated.loadings}
    return replace(
        program,
        spec=replace(program.spec, priors=layout.priors),
        layout=layout,
        known_start=replace(program.start, values=program.start.values | equal),
        crossing=crossing,
        known_whitening=None,
    )


def with_best_loadings(program: Program) -> Program:
    """The program with enough nodes and with what data say of loadings.

    It has loadings where these predict better.
    """
    if program.crossing is None:
        return program
    may_have_loadings = program.crossing.may_have_loadings
    program = program.with_enough_nodes()
    if not may_have_loadings:
        return program
    own, loaded = program.whitening, with_loadings(program)
    # Loadings come last: the rest begins where its density without them is highest.
    x, size = np.zeros(loaded.layout.size), program.layout.size
    unwarp(own.centre, program.packed, x[:size])
    factor = block_diag(own.factor, FIRST_SD_OF_LOADINGS * np.eye(len(x) - size))
    whitening = whitening_of(loaded.crossed_density, warped(x, loaded.packed), factor)
    compared = Comparison.of(own.elpd, whitening.elpd)
    if program.spec.loadings and compared.is_clear:
        return replace(loaded, known_whitening=whitening, compared=compared)
    return replace(program, known_whitening=own, compared=compared)


def unfold(arrays: ProgramArrays, x: Floats) -> Floats:
    """Free values (..., free) at which standard deviations are positive; the density is the same.

    With its sign, that of its offsets and of its partial correlations changes too. The logarithm of
    a standard deviation that may be 0 has an endless tail, in which chains are slow.
    """
    found, is_folded = x.copy(), arrays.links == LINK_FOLDED
    # An SD at a time: all offsets at once would take thrice the memory.
    for sd in np.flatnonzero(is_folded):
        sign = np.where(x[..., sd] < 0, -1.0, 1.0)
        found[..., sd] *= sign
        found[..., arrays.offset_places[arrays.sd_places == sd]] *= sign[..., None]
    for start, _, size, partial in arrays.blocks:
        sds = arrays.sd_places[start : start + size]
        own = np.where((x[..., sds] < 0) & is_folded[sds], -1.0, 1.0)
        row, column = np.tril_indices(size, -1)
        found[..., partial : partial + len(row)] *= own[..., row] * own[..., column]
    return found


def write_arrays(program: Program) -> ProgramArrays:
    """Arrays of a program whose likelihood has a compiled density."""
    likelihood, layout, counts = program.likelihood, program.layout, program.counts.to_numpy()
    writer = Writer(program, column_shapes(likelihood, counts.shape[-1]))
    for parameter in likelihood.parameters:
        own = layout.own.get(parameter.name)
        if own is None:
            writer.add_formula(parameter.variable, layout.formulas[parameter.name])
            continue
        values, *hyper = own
        writer.rows.append((writer.targets(parameter.variable), values.elements, 1.0))
        if parameter.truncated_at:
            # Mean and SD of sorted criteria: hyperparameters, or numbers.
            for column, variable in zip(MOMENTS, hyper, strict=False):
                places = writer.add_prior(variable)
                writer.rows.append((writer.targets(column), places, 1.0))
            for column, name in zip(MOMENTS, ("mu", "sigma"), strict=True):
                if values.prior is not None:
                    moment = values.prior.parameters[name]
                    writer.offsets[:, writer.columns[column]] = moment
        elif parameter.prior_centre:
            writer.add_around(parameter.prior_centre, values)
        else:
            writer.add_prior(values)
    if layout.integrated is not None:
        writer.add_integrated(layout.integrated)
    return writer.finish(tape_of(likelihood, counts.shape[-1]))


class Writer:
    """Arrays of a program while they are written."""

    def __init__(self, program: Program, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.program, self.layout = program, program.layout
        # Places of priors, and their rows.
        self.priors: list[tuple[Integers, PriorRow]] = []
        # Places, means and standard deviations.
        self.around: list[tuple[Integers, Floats, Floats]] = []
        self.blocks: list[tuple[int, int, int, int]] = []
        # Places of offsets and of standard deviations, estimates and information.
        self.deviations: list[tuple[Integers, Integers, Floats, Floats]] = []
        # Rows, columns and weights of sparse matrices, which broadcast.
        self.rows: list[tuple[Any, Any, Any]] = []
        self.around_rows: list[tuple[Any, Any, Any]] = []
        self.mean_rows: list[tuple[Any, Any, Any]] = []
        self.known: list[Known] = []
        self.scales = np.zeros(program.layout.size)
        self.around_count = self.deviation_count = 0
        self.constant = 0.0
        self.columns: dict[str, Integers] = {}
        width = 0
        for name, shape in shapes.items():
            size = int(np.prod(shape, dtype=int))
            self.columns[name] = width + np.arange(size).reshape(shape)
            width += size
        self.offsets = np.zeros((len(program.counts), width))
        for name, values in program.given.items():
            self.offsets[:, self.columns[name]] = values

    def targets(self, variable: str) -> Integers:
        """Rows of the cells' parameters that a variable fills, (cells, *its shape)."""
        columns = self.columns[variable]
        cells, width = self.offsets.shape
        return np.arange(cells).reshape(-1, *[1] * columns.ndim) * width + columns

    def add_prior(self, variable: Variable) -> Integers:
        """Prior of a variable; places of its elements."""
        prior, places = variable.prior, variable.elements
        assert prior is not None
        self.priors.append((places.ravel(), prior_row(prior)))
        self.constant += places.size * log_constant(prior)
        if variable.link == LINK_FOLDED and prior.dist == "HalfNormal":
            self.constant -= places.size * math.log(2)
        return places

    def add_around(self, centre: str, variable: Variable) -> None:
        """Normal prior around another parameter of the cell."""
        assert variable.prior is not None
        own, places = variable.prior.parameters, variable.elements
        shape = (-1, *[1] * (places.ndim - 1))
        mean = np.full(places.shape, own["mu"])
        if centre in self.program.given:
            mean += self.program.given[centre].reshape(shape)
        else:
            rows = self.around_count + np.arange(places.size).reshape(places.shape)
            theirs = self.layout.own[centre][0].elements
            self.around_rows.append((rows, theirs.reshape(shape), 1.0))
        self.around.append((places, mean, np.full(places.shape, own["sigma"])))
        self.around_count += places.size

    def add_formula(self, variable: str, formula: FormulaLayout) -> None:
        """A parameter with a formula."""
        design = formula.design
        targets = self.targets(variable).reshape(len(self.offsets), -1)
        common, precisions = np.zeros((0, targets.shape[1]), np.int64), list[float]()
        for term, coefficients in zip(design.common, formula.coefficients, strict=True):
            places = self.add_prior(coefficients).reshape(term.columns.shape[1], -1)
            common = np.concatenate([common, places])
            assert coefficients.prior is not None
            is_plain = coefficients.link == LINK_IDENTITY
            scale = coefficients.prior.parameters.get("sigma", np.inf) if is_plain else np.nan
            precisions += [scale**-2] * len(places)
        for j, column in enumerate(design.columns.T):
            self.rows.append((targets, common[j], column[:, None]))
        found, sds = list[Integers](), list[tuple[Integers, Floats]]()
        parts = self.program.start.parametrisations[design.parameter].blocks
        for own, part in zip(formula.blocks, parts, strict=True):
            rows, sigma = self.add_block(own, part)
            sds.append((sigma, self.add_scales(own, part)))
            # Means of effects: weights times common coefficients, and what outer blocks add.
            for k in np.flatnonzero(part.mean_weights.any(axis=(0, 1))):
                self.mean_rows.append((rows, common[k], part.mean_weights[:, :, k, None]))
            for outer in part.outer:
                # Dims (groups, parents, outer effects, elements).
                theirs = found[outer.place][outer.parents]
                for p, e in np.ndindex(theirs.shape[1:3]):
                    weights = outer.weights[:, :, p, e, None]
                    self.mean_rows.append((rows, theirs[:, None, p, e], weights))
            found.append(self.layout.size + rows)
            for j, column in enumerate(part.block.columns.T):
                self.rows.append((targets, found[-1][part.block.index, j], column[:, None]))
        self.known += known_of_coefficients(common, np.array(precisions), sds, parts)

    def add_block(self, own: BlockLayout, part: BlockParametrisation) -> tuple[Integers, Integers]:
        """Standard deviations, correlations and offsets.

        Returns numbers of deviations, (groups, effects, elements), and places of the standard
        deviations, (effects, elements).
        """
        sigmas = [
            self.add_prior(variable).reshape(term.columns.shape[1], -1)
            for term, variable in zip(own.block.terms, own.sds, strict=True)
        ]
        sigma = np.concatenate(sigmas)
        size = len(sigma) if own.block.is_correlated else 1
        if own.partial is not None and own.correlation is not None:
            assert own.correlation.prior is not None
            eta = own.correlation.prior.parameters["eta"]
            columns = np.tril_indices(size, -1)[1]
            for place, shape in zip(
                own.partial.elements, eta + (size - 2 - columns) / 2, strict=True
            ):
                self.add_partial(np.array([place]), shape)
        offsets = own.offset.elements.reshape(len(own.block.groups), *sigma.shape)
        first = self.deviation_count
        self.deviation_count += offsets.size
        partial = -1 if own.partial is None else own.partial.first
        self.blocks.append((first, self.deviation_count, size, partial))
        spread = np.broadcast_to(sigma, offsets.shape)
        self.deviations.append((offsets, spread, part.estimates, part.information))
        return first + np.arange(offsets.size).reshape(offsets.shape), sigma

    def add_integrated(self, own: IntegratedLayout) -> None:
        """Priors of the effects that are integrated out."""
        for variable in (*own.sds, *own.loadings):
            self.add_prior(variable)
        if own.partial is not None and own.correlation is not None:
            assert own.correlation.prior is not None
            self.add_partial(own.partial.elements, own.correlation.prior.parameters["eta"])

    def add_partial(self, places: Integers, shape: float) -> None:
        """Beta distribution of a partial correlation."""
        self.priors.append((places.ravel(), prior_row(Prior("LKJ", eta=float(shape)))))
        self.constant -= float(betaln(shape, shape))

    def add_scales(self, own: BlockLayout, part: BlockParametrisation) -> Floats:
        """Scales of the standard deviations that may be 0; where all begin, (effects, elements)."""
        information = part.information.reshape(*part.information.shape[:2], -1)
        found, first = list[Floats](), 0
        for variable, term in zip(own.sds, own.block.terms, strict=True):
            assert variable.prior is not None
            places = variable.elements.reshape(term.columns.shape[1], -1)
            value = self.program.start.values[variable.name].reshape(places.shape)
            of_term = information[:, first : first + len(places)]
            if variable.link == LINK_FOLDED:
                prior_scale = variable.prior.parameters["sigma"]
                self.scales[places] = scale_of_sd(value, of_term, prior_scale)
            found.append(value)
            first += len(places)
        return np.concatenate(found)

    def finish(self, tape: Integers) -> ProgramArrays:
        """The arrays, with places of all values in one row."""
        around_places, around_mean, around_sd = joined(self.around, 3)
        offset_places, sd_places, estimates, information = joined(self.deviations, 4)
        around_first, around_column, around_weight = by_rows(self.around_rows, self.around_count)
        mean_first, mean_column, mean_weight = by_rows(self.mean_rows, self.deviation_count)
        first, column, weight = by_rows(self.rows, self.offsets.size)
        sizes = [len(places) for places, _ in self.priors]
        codes = np.array([code for _, (code, *_) in self.priors], np.int64)
        parameters = [values for _, (_, *values) in self.priors]
        none = np.zeros(0, np.int64)
        warp = warp_of(self.scales, self.known, self.program.first_point)
        return ProgramArrays(
            **warp._asdict(),
            links=np.concatenate([np.full(v.size, v.link, np.int64) for v in self.layout.free]),
            owners=np.concatenate([owners(variable) for variable in self.layout.free]),
            prior_places=np.concatenate([none, *(places for places, _ in self.priors)]),
            prior_codes=np.repeat(codes, sizes),
            around_places=around_places.astype(np.int64),
            around_first=around_first,
            around_column=around_column,
            blocks=np.array(self.blocks, np.int64).reshape(-1, 4),
            offset_places=offset_places.astype(np.int64),
            sd_places=sd_places.astype(np.int64),
            mean_first=mean_first,
            mean_column=mean_column,
            first=first,
            column=column,
            tape=tape,
            weight=weight,
            prior_parameters=np.repeat(np.reshape(parameters, (-1, 3)), sizes, axis=0),
            around_sd=around_sd,
            around_mean=around_mean,
            around_weight=around_weight,
            estimates=estimates,
            information=information,
            mean_weight=mean_weight,
            offsets=self.offsets.ravel(),
            counts=self.program.counts.to_numpy().astype(float),
            constant=self.constant - (self.around_count + self.deviation_count) * LOG_SQRT_2PI,
        )


def prior_row(prior: Prior) -> PriorRow:
    """Code of a prior in compiled code, and its parameters."""
    values = [prior.parameters[name] for name in DISTRIBUTIONS[prior.dist]]
    a, b, c = [*values, 0.0, 0.0][:3]
    return [*DISTRIBUTIONS].index(prior.dist), a, b, c


def joined(parts: list[Any], number: int) -> list[NDArray[Any]]:
    """So many arrays, each made of those of all parts one after the other."""
    if not parts:
        return [np.zeros(0)] * number
    return [np.concatenate([own.ravel() for own in each]) for each in zip(*parts, strict=True)]


def by_rows(entries: list[tuple[Any, Any, Any]], count: int) -> tuple[Integers, Integers, Floats]:
    """A sparse matrix by rows, of entries that broadcast; those of one place are added up."""
    parts = [np.stack([x.ravel() for x in np.broadcast_arrays(*own)]) for own in entries]
    row, column, weight = np.concatenate([np.zeros((3, 0)), *parts], axis=1)
    used = weight != 0
    places = row[used].astype(np.int64), column[used].astype(np.int64)
    width = int(places[1].max(initial=0)) + 1
    matrix = coo_array((weight[used], places), shape=(count, width)).tocsr()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


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
