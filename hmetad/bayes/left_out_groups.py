"""The likelihood of a whole group's counts, given the population: its own effects integrated out.

Fit (DataTree) and a grouping column → log p(counts of a group | population) at posterior draws,
which leave-one-group-out cross-validation needs. The likelihood given a group's effects would say
how well the model describes people it has seen, not those it has not.

The integral over the effects is taken by importance sampling. Points come from a t distribution
around what the group's likelihood, as a normal one at its mode, and the population at that draw
suggest together. Source: Merkle, Furr & Rabe-Hesketh (2019), for conditional and marginal
likelihoods.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import gammaln

from hmetad.bayes.cell_results import linear_predictor
from hmetad.bayes.dims import FACTOR_DIM
from hmetad.errors import InputError, nearest
from hmetad.likelihood.records import Parameter
from hmetad.mle.units import Unit, column_shapes
from hmetad.specs.design import Block, Design, cell_table
from hmetad.specs.designs import designs_of, given_of
from hmetad.specs.spec import ModelSpec, free_priors, spec_of
from hmetad.threads import in_threads

__all__ = ["GroupLikelihood", "group_log_likelihood"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Posterior draws that are looked at, about, and points at each.
DRAWS, POINTS = 1000, 60
# The proposal: a t distribution somewhat wider than the normal approximation.
FREEDOM, WIDER = 8.0, 1.1
# Points that are evaluated at once.
AT_ONCE = 20_000
CLIMBS, DIFFERENCE, SMALL_STEP = 40, 1e-4, 1e-3
SMALLEST_CURVATURE = 1e-6
# What of a fixed part no effect of the group can take over.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class GroupLikelihood:
    """Marginal likelihoods of groups.

    Parameters
    ----------
    values : DataArray
        log p(counts | population), dims (chain, draw, group), without multinomial coefficients.
    effective : DataArray
        Points that an integral is worth, the mean over draws, dim group.
    """

    values: xr.DataArray
    effective: xr.DataArray


@dataclass(frozen=True)
class Part:
    """Some coefficients of a group: effects of a block, or values of cells without a formula.

    Parameters
    ----------
    columns : array, shape (cells, columns, coefficients)
        How parameters of the cells follow from them.
    draws, mean, sd : array, shape (draws, coefficients)
        Posterior draws; mean and standard deviation in the population at those draws.
    correlation : array, shape (draws, coefficients, coefficients), or None
        Of coefficients in the population.
    """

    columns: Floats
    draws: Floats
    mean: Floats
    sd: Floats
    correlation: Floats | None

    @property
    def precision(self) -> Floats:
        """Inverse covariance in the population, (draws, coefficients, coefficients)."""
        scale = 1 / self.sd
        if self.correlation is None:
            return scale[:, :, None] * np.eye(scale.shape[1]) * scale[:, None]
        return scale[:, :, None] * np.linalg.inv(self.correlation) * scale[:, None]


def group_log_likelihood(fit: xr.DataTree, by: str, seed: int = 0) -> GroupLikelihood:
    """Marginal likelihood of every group of a column, at some of the posterior draws.

    Parameters
    ----------
    fit : DataTree
    by : str
        Column of the cells: ``"subject"``.
    seed : int, optional
        Of the points.

    Returns
    -------
    GroupLikelihood

    Raises
    ------
    InputError
        If the cells have no such column, no formula has its groups, or the likelihood has priors of
        its own.
    """
    spec = spec_of(fit)
    observed = fit["observed_data"].to_dataset()["counts"]
    cells = cell_table(observed)
    refuse_unfit(spec, by, list(map(str, cells)))
    posterior = fit["posterior"].to_dataset()
    step = -(-posterior.sizes["chain"] * posterior.sizes["draw"] // DRAWS)
    posterior = posterior.isel(draw=slice(None, None, step))
    model = Model(spec, observed, posterior, designs_of(observed, spec), given_of(observed, spec))
    labels = list(dict.fromkeys(cells[by]))
    places = [np.flatnonzero(cells[by] == label) for label in labels]
    seeds = np.random.SeedSequence(seed).spawn(len(labels))

    def work(k: int) -> tuple[Floats, float]:
        return integrate(model, places[k], np.random.default_rng(seeds[k]))

    found = in_threads(work, range(len(labels)))
    chains = {"chain": posterior["chain"].values, "draw": posterior["draw"].values}
    names = [str(label) for label in labels]
    values = np.stack([value for value, _ in found], axis=-1)
    shape = (posterior.sizes["chain"], posterior.sizes["draw"], len(names))
    return GroupLikelihood(
        xr.DataArray(values.reshape(shape), {**chains, by: names}, ("chain", "draw", by)),
        xr.DataArray([effective for _, effective in found], {by: names}, (by,)),
    )


def refuse_unfit(spec: ModelSpec, by: str, columns: list[str]) -> None:
    """Raise where groups of a column cannot be left out of a model."""
    if by not in columns:
        raise InputError("by", repr(by), ", ".join(columns) or "trial", nearest(by, columns))
    for parameter in spec.record.parameters:
        if parameter.truncated_at or parameter.prior_centre:
            step = "Use the card group, or another with criteria = 'log_gap' and scale = 'log_m'."
            got = f"a {spec.name} fit, whose {parameter.name} has a prior around another value"
            raise InputError("fit", got, "normal effects of groups", step)
        prior = next(iter(free_priors(spec, parameter.name).values()))
        own = spec.priors.get(parameter.name, prior)
        if parameter.name not in spec.formula and own.dist != "Normal":
            raise InputError(f"prior of {parameter.name}", own.dist, "Normal")


@dataclass(frozen=True)
class Model:
    """A fit's model with the posterior draws that are looked at."""

    spec: ModelSpec
    counts: xr.DataArray
    posterior: xr.Dataset
    designs: Mapping[str, Design]
    given: Mapping[str, Floats]

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(self.posterior.sizes["chain"] * self.posterior.sizes["draw"])

    def flat(self, values: xr.DataArray) -> Floats:
        """Values with chains and draws as one dim."""
        array = values.transpose("chain", "draw", ...).to_numpy()
        return array.reshape(self.draws, *array.shape[2:])


@dataclass(frozen=True)
class Population:
    """Normal distribution of a group's coefficients at each draw.

    Parameters
    ----------
    mean : array, shape (draws, coefficients)
    precision : array, shape (draws, coefficients, coefficients)
    """

    mean: Floats
    precision: Floats

    def log_density(self, points: Floats) -> Floats:
        """log p(points | population), (draws, points), at points (draws, points, coefficients)."""
        away = points - self.mean[:, None]
        square = np.einsum("smi,sij,smj->sm", away, self.precision, away, optimize=True)
        size = self.mean.shape[1]
        constant = (np.linalg.slogdet(self.precision)[1] - size * np.log(2 * np.pi)) / 2
        return constant[:, None] - square / 2


def population_of(parts: list[Part]) -> Population:
    """Distribution of all parts, which are independent of each other."""
    size = sum(part.mean.shape[1] for part in parts)
    precision, start = np.zeros((len(parts[0].mean), size, size)), 0
    for part in parts:
        own = slice(start, start + part.mean.shape[1])
        precision[:, own, own] = part.precision
        start = own.stop
    return Population(np.hstack([part.mean for part in parts]), precision)


def integrate(model: Model, cells: Integers, rng: np.random.Generator) -> tuple[Floats, float]:
    """Log marginal likelihood of some cells at each draw, and the points that it is worth."""
    unit, rest, parts = unit_of(model, cells)
    population, draws = population_of(parts), np.hstack([part.draws for part in parts])
    middle = replace(unit, offsets=rest.mean(axis=0))
    top, slope, curvature = normal_likelihood(middle, population, draws.mean(axis=0))
    precision = population.precision + curvature
    pull = np.einsum("sij,sj->si", population.precision, population.mean)
    pull += curvature @ top + slope
    covariance = np.linalg.inv(precision)
    centre = np.einsum("sij,sj->si", covariance, pull)
    axes = np.linalg.cholesky((covariance + covariance.transpose(0, 2, 1)) / 2) * WIDER
    points, log_q = proposed(centre, axes, rng)
    log_l = np.empty(points.shape[:2])
    step = max(1, AT_ONCE // POINTS)
    for start in range(0, len(points), step):
        own = points[start : start + step]
        offsets = np.repeat(rest[start : start + step], POINTS, axis=0)
        value = replace(unit, offsets=offsets).value(own.reshape(-1, own.shape[2]))
        log_l[start : start + step] = value.reshape(own.shape[:2])
    log_w = np.nan_to_num(log_l, nan=-np.inf) + population.log_density(points) - log_q
    highest = log_w.max(axis=1, keepdims=True)
    weights = np.exp(log_w - highest)
    effective = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    return highest[:, 0] + np.log(weights.mean(axis=1)), float(effective.mean())


def normal_likelihood(
    unit: Unit, population: Population, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """Mode of likelihood and mean population together; slope and curvature of ℓ there."""
    mean, precision = population.mean.mean(axis=0), population.precision.mean(axis=0)

    def derivatives(x: Floats) -> tuple[Floats, Floats]:
        steps = DIFFERENCE * np.eye(len(x))
        slopes = np.nan_to_num(unit.value_and_gradient(np.vstack([x, x + steps, x - steps]))[1])
        bend = (slopes[1 + len(x) :] - slopes[1 : 1 + len(x)]) / (2 * DIFFERENCE)
        size, vectors = np.linalg.eigh((bend + bend.T) / 2)
        return slopes[0], (vectors * np.maximum(size, SMALLEST_CURVATURE)) @ vectors.T

    def height(x: Floats) -> Floats:
        away = x - mean
        return unit.value(x) - np.einsum("ni,ij,nj->n", away, precision, away) / 2

    x = start
    for _ in range(CLIMBS):
        slope, bend = derivatives(x)
        move = np.linalg.solve(bend + precision, slope - precision @ (x - mean))
        tried = x + move * 0.5 ** np.arange(6.0)[:, None]
        best = np.nan_to_num(height(np.vstack([x, tried])), nan=-np.inf).argmax()
        if best == 0 or abs(move).max() < SMALL_STEP:
            break
        x = tried[best - 1]
    return x, *derivatives(x)


def proposed(centre: Floats, axes: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Points (draws, points, coefficients) of t distributions, and their log densities."""
    draws, size = centre.shape
    scores = rng.normal(size=(draws, POINTS, size))
    scores /= np.sqrt(rng.chisquare(FREEDOM, (draws, POINTS, 1)) / FREEDOM)
    log_q = -(FREEDOM + size) / 2 * np.log1p((scores**2).sum(axis=2) / FREEDOM)
    log_q += gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2)
    log_q -= size / 2 * np.log(FREEDOM * np.pi)
    spread = np.log(np.diagonal(axes, axis1=1, axis2=2)).sum(axis=1)
    points = centre[:, None] + np.einsum("sij,smj->smi", axes, scores, optimize=True)
    return points, log_q - spread[:, None]


def unit_of(model: Model, cells: Integers) -> tuple[Unit, Floats, list[Part]]:
    """Likelihood of some cells by their own coefficients, what is fixed, and the coefficients."""
    likelihood, ratings = model.spec.record, model.counts.sizes["rating"]
    shapes = column_shapes(likelihood, ratings)
    width = sum(int(np.prod(shape, dtype=int)) for shape in shapes.values())
    rest, parts, start = np.zeros((model.draws, len(cells), width)), list[Part](), 0
    for name, shape in shapes.items():
        place = slice(start, start + int(np.prod(shape, dtype=int)))
        start = place.stop
        if name in model.given:
            rest[:, :, place] = model.given[name][cells][:, None]
        parameter = next((p for p in likelihood.parameters if p.variable == name), None)
        if parameter is None:
            continue
        if parameter.name in model.designs:
            fixed, own = of_formula(model, parameter, cells)
            rest[:, :, place] = fixed
        else:
            own = [of_cells(model, parameter, cells)]
        for part in own:
            columns = np.zeros((len(cells), width, part.columns.shape[2]))
            columns[:, place] = part.columns
            parts.append(replace(part, columns=columns))
    unit = Unit(
        likelihood,
        cells,
        model.counts.to_numpy()[cells].astype(float),
        {name: own[cells] for name, own in model.given.items()},
        np.concatenate([part.columns for part in parts], axis=2),
        rest[0],
        (),
    )
    return unit, rest, parts


def of_cells(model: Model, parameter: Parameter, cells: Integers) -> Part:
    """Values of a parameter that each cell has of its own."""
    prior = model.spec.priors.get(parameter.name, parameter.prior).parameters
    values = model.flat(model.posterior[model.spec.named(parameter.name)].isel(cell=cells))
    draws = values.reshape(model.draws, -1)
    size = draws.shape[1] // len(cells)
    columns = np.eye(len(cells) * size).reshape(len(cells), size, -1)
    mean, sd = np.full(draws.shape, prior["mu"]), np.full(draws.shape, prior["sigma"])
    return Part(columns, draws, mean, sd, None)


def of_formula(model: Model, parameter: Parameter, cells: Integers) -> tuple[Floats, list[Part]]:
    """What of a linear predictor is fixed, (draws, cells, elements), and effects of the cells."""
    design = model.designs[parameter.name]
    own = [(block, group) for block in design.blocks for group in groups_inside(block, cells)]
    blocks = {block.name for block, _ in own}
    others = tuple(block for block in design.blocks if block.name not in blocks)
    fixed = model.flat(
        linear_predictor(
            model.posterior, model.spec, replace(design, blocks=others), group_terms=True
        ).isel(cell=cells)
    ).reshape(model.draws, len(cells), -1)
    parts = []
    for block, group in own:
        inside = block.index[cells] == group
        columns = block.columns[cells] * inside[:, None]
        # What the population's part has in these columns moves into the mean of the effects.
        mean = np.einsum("kc,sce->ske", np.linalg.pinv(columns), fixed)
        fixed = fixed - np.einsum("ck,ske->sce", columns, mean)
        parts.append(of_block(model, parameter, block, group, columns, mean))
    return fixed, parts


def groups_inside(block: Block, cells: Integers) -> Iterator[int]:
    """Groups of a block all of whose cells are among some."""
    for group in np.unique(block.index[cells]):
        if np.isin(np.flatnonzero(block.index == group), cells).all():
            yield int(group)


def of_block(
    model: Model, parameter: Parameter, block: Block, group: int, columns: Floats, mean: Floats
) -> Part:
    """Effects of a group of a block, as totals with their mean (draws, effects, elements)."""
    spec, (draws, effects, elements) = model.spec, mean.shape
    drawn, sds = [], []
    for term in block.terms:
        name = f"{parameter.name}_{term.name}|{block.factor}"
        effect = model.posterior[spec.named(name)]
        dim = next(d for d in map(str, effect.dims) if d.endswith(FACTOR_DIM))
        width = term.columns.shape[1]
        drawn.append(model.flat(effect.isel({dim: group})).reshape(draws, width, -1))
        sd = model.posterior[spec.named(f"{name}_sigma")]
        sds.append(model.flat(sd).reshape(draws, width, -1))
    correlation = None
    if block.is_correlated:
        correlation = model.flat(model.posterior[spec.named(f"{parameter.name}_{block.name}_corr")])
    size = effects * elements
    # Effects and elements side by side: the columns of an effect are the same for each element.
    own = np.einsum("ck,ef->cekf", columns, np.eye(elements))
    return Part(
        own.reshape(len(columns), elements, size),
        (np.concatenate(drawn, axis=1) + mean).reshape(draws, size),
        mean.reshape(draws, size),
        np.concatenate(sds, axis=1).reshape(draws, size),
        correlation,
    )
