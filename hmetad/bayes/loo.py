"""How well a model predicts what it has not seen: one trial, or all counts of a group.

Fit (DataTree) → ArviZ's ELPDData. A trial's likelihood depends on its cell, stimulus, response and
rating alone: the n trials of one outcome share one Pareto-smoothed importance sampling, and count n
times. Leaving out whole cells would leave their parameters without data.

For a group that is left out, its effects are integrated out: the likelihood given them would say
how well the model describes people it has seen, not others. Its coefficients are normal in the
population at each draw: effects of blocks all of whose cells are the group's, and values of its
cells where a parameter has no formula. The integral over them is taken by importance sampling:
points of t distributions around what the group's likelihood, as a normal one at its mode, and the
population suggest together.
Source: Vehtari, Gelman & Gabry (2017); Merkle, Furr & Rabe-Hesketh (2019), for conditional and
marginal likelihoods.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import arviz_stats
import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDData
from numpy.typing import NDArray
from scipy.special import gammaln

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.base.errors import CardError, ColumnError, LevelError, ModelError, nearest
from hmetad.base.notice import notice_attrs, notices
from hmetad.base.threads import in_threads
from hmetad.bayes.convergence import sampled_variables
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import at_some_draws, item_log_likelihood
from hmetad.bayes.kept_cells import linear_predictor
from hmetad.likelihood.family import Parameter
from hmetad.likelihood.tape import column_shapes, column_slices
from hmetad.mle.search import Stop, maximise
from hmetad.mle.units import Units
from hmetad.specs.design import Block
from hmetad.specs.spec import free_priors

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Notices of a fit whose draws are no good estimate of anything.
SAMPLED_BADLY = ("divergences", "rhat", "ess")
# Posterior draws that are looked at, about, and points at each.
DRAWS, POINTS = 1000, 60
# The proposal: a t distribution somewhat wider than the normal approximation.
FREEDOM, WIDER = 8.0, 1.1
# Points that are evaluated at once.
AT_ONCE = 20_000
CLIMBS, SMALL_STEP = 40, 1e-3
SMALLEST_CURVATURE = 1e-6


@check_inputs(fit=with_posterior)
def loo(fit: xr.DataTree, *, by: str | None = None, seed: int = 0) -> ELPDData:
    """Expected log predictive density of held-out data: trials, or groups.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    by : str, optional
        A column of the cells, such as ``"subject"``: each of its groups is held out entirely, and
        predicted from the population, with its effects integrated out. By default single trials are
        held out, and predicted by a model that includes their participant; or items with all
        answers, if the fit integrated the effects of items out.
    seed : int, optional
        With `by`: seed of the points at which effects are integrated.

    Returns
    -------
    ELPDData
        ArviZ's own, pointwise over trials or groups, so that ``arviz.compare({"a": loo(a), "b":
        loo(b)})`` compares fits of one count table. It warns if a Pareto k shows that the estimate
        is unreliable. ``elpd_i`` has the notices of a poorly sampled fit.

    Raises
    ------
    InputError
        If there is no such column, or the likelihood contains priors, as for HMeta-d's criteria.

    Notes
    -----
    For a group of counts y, with population parameters φ and effects θ of the group,
    p(y | φ) = ∫ p(y | θ) p(θ | φ) dθ is computed at about 1,000 draws of φ by importance sampling,
    and Pareto-smoothed importance sampling removes the group from these draws. Source: Vehtari,
    Gelman & Gabry (2017); Merkle, Furr & Rabe-Hesketh (2019).

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> draws = fit(simulate_counts(1.5, trials=400, seed=1), draws=500, chains=2, **quiet)
    >>> estimate = loo(draws)
    >>> estimate.n_data_points, 5 < estimate.p < 11
    (400, True)
    """
    fitted = Fitted.of(fit)
    if by is None and fitted.crossing is not None:
        by = fitted.crossing.factor
    found = loo_trials(fitted) if by is None else loo_groups(fitted, by, seed)
    badly = [notice for notice in notices(fit) if notice.code in SAMPLED_BADLY]
    # What a trial can be: estimates of other outcomes are of other data.
    own = {"outcome": ", ".join(fitted.outcome[1:]), **notice_attrs(badly)}
    pointwise = found.elpd_i.assign_attrs(found.elpd_i.attrs | own)
    return replace(found, elpd_i=pointwise)


def loo_groups(fitted: Fitted, by: str, seed: int) -> ELPDData:
    """Leave one group of a column out."""
    if fitted.crossing is not None and by == fitted.crossing.factor:
        found = item_log_likelihood(fitted)
    else:
        found = group_log_likelihood(fitted, by, seed)
    posterior = sampled_variables(fitted).sel(draw=found["draw"].values)
    log_p = found.rename({by: "group"}).to_dataset(name="counts")
    groups = {"posterior": posterior, "log_likelihood": log_p}
    return arviz_stats.loo(xr.DataTree.from_dict(groups), pointwise=True)


def loo_trials(fitted: Fitted) -> ELPDData:
    """Leave one trial out."""
    observed = fitted.counts.stack(outcome=fitted.outcome)
    seen = np.flatnonzero(observed.values > 0)
    n = observed.values[seen]
    log_p = fitted.log_probabilities(fitted.posterior).stack(outcome=fitted.outcome)
    log_p = log_p.isel(outcome=seen)
    log_p = log_p.drop_vars(["outcome", *fitted.outcome])
    groups = {
        "posterior": sampled_variables(fitted),
        "log_likelihood": log_p.to_dataset(name="counts"),
    }
    distinct = arviz_stats.loo(xr.DataTree.from_dict(groups), pointwise=True)
    trial = xr.DataArray(np.repeat(np.arange(len(n)), n), dims="trial")
    pointwise = distinct.elpd_i.isel(outcome=trial)
    whole = log_p.reduce(np.logaddexp.reduce, "chain").reduce(np.logaddexp.reduce, "draw")
    fitted = whole - np.log(distinct.n_samples)
    return replace(
        distinct,
        elpd=float(pointwise.sum()),
        se=float(np.sqrt(pointwise.size * pointwise.var())),
        p=float(((fitted - distinct.elpd_i) * n).sum()),
        n_data_points=pointwise.size,
        elpd_i=pointwise,
        pareto_k=distinct.pareto_k.isel(outcome=trial),
        log_weights=None,
        p_loo_i=None,
    )


def group_log_likelihood(fitted: Fitted, by: str, seed: int = 0) -> xr.DataArray:
    """log p(counts of a group | population), dims (chain, draw, group), at some of the draws.

    Without multinomial coefficients. An error where the cells have no such column, or its groups
    cannot be left out of the model.
    """
    refuse_unfit(fitted, by)
    thinned = at_some_draws(fitted, DRAWS)
    column = fitted.cells[by]
    groups = [*dict.fromkeys(column)]
    # Each has separate random numbers, whatever the order of threads.
    streams = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(len(groups)))

    def integrate(pair: tuple[object, np.random.Generator]) -> Floats:
        """Log likelihood of one group at the draws."""
        group, rng = pair
        integral = integral_of(thinned, np.flatnonzero(column == group))
        points, log_q = integral.propose(rng)
        log_w = integral.log_joint(points) - log_q
        highest = log_w.max(axis=1, keepdims=True)
        found: Floats = highest[:, 0] + np.log(np.exp(log_w - highest).mean(axis=1))
        return found

    found = in_threads(integrate, [*zip(groups, streams, strict=True)])
    drawn = thinned.posterior
    values = np.stack(found, axis=-1).reshape(drawn.sizes["chain"], -1, len(found))
    names = [*map(str, groups)]
    coords = {"chain": drawn["chain"].values, "draw": drawn["draw"].values, by: names}
    return xr.DataArray(values, coords, ("chain", "draw", by))


def refuse_unfit(fitted: Fitted, by: str) -> None:
    """Raise where groups of a column cannot be left out of a model."""
    columns, spec = [*map(str, fitted.cells)], fitted.spec
    if by not in columns:
        raise ColumnError("by", repr(by), ", ".join(columns) or "trial", nearest(by, columns))
    for parameter in fitted.record.parameters:
        if parameter.truncated_at or parameter.prior_centre:
            step = "Use the card group, or another with criteria = 'log_gap' and scale = 'log_m'."
            got = f"a {spec.name} fit, whose {parameter.name} has a prior around another value"
            raise ModelError("fit", got, "normal effects of groups", step)
        prior = next(iter(free_priors(spec, parameter.name).values()))
        own = spec.priors.get(parameter.name, prior)
        if parameter.name not in spec.formula and own.dist != "Normal":
            raise CardError(f"prior of {parameter.name}", own.dist, "Normal")


@dataclass(frozen=True)
class Integral:
    """Counts of some cells as a function of their own coefficients, normal in the population.

    Parameters
    ----------
    unit : Units
        The cells as one unit, whose parameters are fixed at 0.
    rest : array, shape (draws, cells, columns)
        What is fixed at each draw.
    mean, precision : array, shape (draws, coefficients), the last with one more such dim
        Of the coefficients in the population.
    top, slope, curvature : array
        A point (coefficients,) near the mode, and derivatives of the log likelihood there.
    """

    unit: Units
    rest: Floats
    mean: Floats
    precision: Floats
    top: Floats
    slope: Floats
    curvature: Floats

    def propose(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Points near the posterior, (draws, points, coefficients), and their log densities.

        They come from a t distribution at each draw.
        """
        pull = np.einsum("sij,sj->si", self.precision, self.mean)
        pull += self.curvature @ self.top + self.slope
        covariance = np.linalg.inv(self.precision + self.curvature)
        centre = np.einsum("sij,sj->si", covariance, pull)
        symmetric = (covariance + covariance.transpose(0, 2, 1)) / 2
        axes = np.linalg.cholesky(symmetric) * WIDER
        draws, size = centre.shape
        scores = rng.normal(size=(draws, POINTS, size))
        scores /= np.sqrt(rng.chisquare(FREEDOM, (draws, POINTS, 1)) / FREEDOM)
        moved = np.einsum("sij,smj->smi", axes, scores, optimize=True)
        log_q = -(FREEDOM + size) / 2 * np.log1p((scores**2).sum(axis=2) / FREEDOM)
        log_q += gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2)
        log_q -= size / 2 * np.log(FREEDOM * np.pi)
        spread = np.log(np.diagonal(axes, axis1=1, axis2=2)).sum(axis=1)
        return centre[:, None] + moved, log_q - spread[:, None]

    def log_joint(self, points: Floats) -> Floats:
        """log p(counts, points | population), (draws, points), at (draws, points, coefficients)."""
        number, size = points.shape[1:]
        log_l = np.empty(points.shape[:2])
        step = max(1, AT_ONCE // number)
        for start in range(0, len(points), step):
            own = points[start : start + step]
            unit = np.zeros(own.shape[0] * number, np.int64)
            parameters = self.unit.parameters(own.reshape(-1, size), unit)
            parameters += np.repeat(self.rest[start : start + step], number, axis=0)
            value, _ = self.unit.log_likelihood(parameters, unit)
            log_l[start : start + step] = value.reshape(own.shape[:2])
        away = points - self.mean[:, None]
        square = np.einsum("smi,sij,smj->sm", away, self.precision, away, optimize=True)
        constant = (np.linalg.slogdet(self.precision)[1] - size * np.log(2 * np.pi)) / 2
        return np.nan_to_num(log_l, nan=-np.inf) + (constant[:, None] - square / 2)


@dataclass(frozen=True)
class Part:
    """Some coefficients of a group: effects of a block, or values of cells without a formula.

    Parameters
    ----------
    columns : array, shape (cells, elements, coefficients)
        How the elements of a parameter of the cells follow from them.
    draws, mean, sd : array, shape (draws, coefficients)
        Posterior draws; mean and standard deviation in the population at those draws.
    correlation : array, shape (draws, coefficients, coefficients)
        Of the coefficients in the population, or the same at all draws.
    """

    columns: Floats
    draws: Floats
    mean: Floats
    sd: Floats
    correlation: Floats

    @property
    def precision(self) -> Floats:
        """Inverse of the covariance in the population."""
        scale = 1 / self.sd
        return scale[:, :, None] * np.linalg.inv(self.correlation) * scale[:, None]

    @property
    def typical(self) -> "Part":
        """The part with a single draw: the middle of all."""
        size = len(self.columns[0, 0])
        correlation = self.correlation.reshape(-1, size, size).mean(axis=0)
        sd = np.median(self.sd, axis=0)[None]
        return replace(self, sd=sd, correlation=correlation)


def integral_of(fitted: Fitted, cells: Integers) -> Integral:
    """Counts of some cells, with their likelihood as a normal one."""
    unit, rest, parts = coefficients_of(fitted, cells)
    mean, drawn = (np.hstack([getattr(x, name) for x in parts]) for name in ("mean", "draws"))
    middle = replace(unit, offsets=rest.mean(axis=0)[None])
    # Where a standard deviation may be close to 0, the mean of precisions is that of a few draws.
    typical = joined_precision([part.typical for part in parts])[0]
    nearby = normal_likelihood(middle, mean.mean(axis=0), typical, drawn.mean(axis=0))
    return Integral(unit, rest, mean, joined_precision(parts), *nearby)


def joined_precision(parts: Sequence[Part]) -> Floats:
    """Precision of the coefficients of all parts, (draws, coefficients, coefficients)."""
    start, size = 0, sum(part.sd.shape[1] for part in parts)
    found = np.zeros((len(parts[0].sd), size, size))
    for part in parts:
        own = slice(start, start + part.sd.shape[1])
        found[:, own, own] = part.precision
        start = own.stop
    return found


def coefficients_of(fitted: Fitted, cells: Integers) -> tuple[Units, Floats, list[Part]]:
    """Likelihood of some cells by their own coefficients, what is fixed, and the coefficients."""
    likelihood = fitted.record
    places = column_slices(column_shapes(likelihood, fitted.counts.sizes["rating"]))
    of_variable = {parameter.variable: parameter for parameter in likelihood.parameters}
    rest = np.zeros((fitted.number, len(cells), max(place.stop for place in places.values())))
    parts, matrices = list[Part](), list[Floats]()
    for name, place in places.items():
        if name in fitted.given:
            rest[:, :, place] = fitted.given[name][cells][:, None]
        if name not in of_variable:
            continue
        parameter = of_variable[name]
        if parameter.name in fitted.designs:
            rest[:, :, place], own = of_formula(fitted, parameter, cells)
        else:
            own = [of_cells(fitted, parameter, cells)]
        for part in own:
            matrix = np.zeros((*rest.shape[1:], part.columns.shape[2]))
            matrix[:, place] = part.columns
            matrices.append(matrix)
        parts += own
    if not parts:
        grouping = ", ".join(":".join(factor) for factor in fitted.factors)
        raise LevelError("by", "groups without effects of their own", grouping)
    counts = fitted.counts.to_numpy()[cells].astype(float)[None]
    given = {name: own[cells][None] for name, own in fitted.given.items()}
    matrix = np.concatenate(matrices, axis=2)[None]
    none = np.zeros_like(rest[:1])
    return Units(likelihood, cells[None], counts, given, matrix, none, ()), rest, parts


def of_cells(fitted: Fitted, parameter: Parameter, cells: Integers) -> Part:
    """Values of a parameter that each cell has of its own."""
    prior = fitted.spec.priors.get(parameter.name, parameter.prior).parameters
    values = fitted.drawn("cell", parameter.name).isel(cell=cells)
    draws = fitted.flat(values).reshape(fitted.number, -1)
    unit = np.eye(draws.shape[1])
    columns = unit.reshape(len(cells), -1, len(unit))
    mean, sd = np.full(draws.shape, prior["mu"]), np.full(draws.shape, prior["sigma"])
    return Part(columns, draws, mean, sd, unit)


def of_formula(fitted: Fitted, parameter: Parameter, cells: Integers) -> tuple[Floats, list[Part]]:
    """What of a linear predictor is fixed, (draws, cells, elements), and effects of the cells."""
    design = fitted.designs[parameter.name]
    own = [(block, group) for block in design.blocks for group in groups_inside(block, cells)]
    names = {block.name for block, _ in own}
    others = replace(design, blocks=tuple(b for b in design.blocks if b.name not in names))
    predictor = linear_predictor(fitted.posterior, fitted.spec, others, group_terms=True)
    fixed = fitted.flat(predictor.isel(cell=cells)).reshape(fitted.number, len(cells), -1)
    parts = []
    for block, group in own:
        columns = block.columns[cells] * (block.index[cells] == group)[:, None]
        # What the population's part has in these columns moves into the mean of the effects.
        mean = np.einsum("kc,sce->ske", np.linalg.pinv(columns), fixed)
        fixed = fixed - np.einsum("ck,ske->sce", columns, mean)
        parts.append(of_block(fitted, parameter, block, group, columns, mean))
    return fixed, parts


def groups_inside(block: Block, cells: Integers) -> Iterator[int]:
    """Groups of a block all of whose cells are among some."""
    for group in np.unique(block.index[cells]):
        if np.isin(np.flatnonzero(block.index == group), cells).all():
            yield int(group)


def of_block(
    fitted: Fitted, parameter: Parameter, block: Block, group: int, columns: Floats, mean: Floats
) -> Part:
    """Effects of a group of a block, as totals with their mean (draws, effects, elements)."""
    draws, effects, elements = mean.shape
    drawn, sds = [], []
    for term in block.terms:
        of_term = parameter.name, term.name, block.factor
        shape = (draws, term.columns.shape[1], elements)
        effect = fitted.layout.variable("effect", *of_term)
        own = fitted.flat(fitted.posterior[effect.name].isel({effect.dims[0]: group}))
        drawn.append(own.reshape(shape))
        sds.append(fitted.flat(fitted.drawn("sd", *of_term)).reshape(shape))
    size = effects * elements
    correlation = np.eye(size)
    if block.is_correlated:
        of_block = parameter.name, block.written, block.factor
        correlation = fitted.flat(fitted.drawn("correlation", *of_block))
    # Effects and elements side by side: the columns of an effect are the same for each element.
    own = np.einsum("ck,ef->cekf", columns, np.eye(elements))
    return Part(
        own.reshape(len(columns), elements, size),
        (np.concatenate(drawn, axis=1) + mean).reshape(draws, size),
        mean.reshape(draws, size),
        np.concatenate(sds, axis=1).reshape(draws, size),
        correlation,
    )


def normal_likelihood(
    unit: Units, mean: Floats, precision: Floats, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """Mode of likelihood and mean population together; slope and curvature of ℓ there."""

    def penalised(points: Floats, _: Integers) -> tuple[Floats, Floats, None]:
        value, slopes = unit.value_and_gradient(points, np.zeros(len(points), np.int64))
        away = points - mean
        pull = away @ precision
        return value - (away * pull).sum(axis=1) / 2, slopes - pull, None

    def curvature(points: Floats) -> Floats:
        size, vectors = np.linalg.eigh(unit.information(points, np.zeros(len(points), np.int64)))
        known = np.maximum(size, SMALLEST_CURVATURE)
        return (vectors * known[:, None]) @ vectors.transpose(0, 2, 1)

    stop = Stop(step=SMALL_STEP, steps=CLIMBS)
    found = maximise(penalised, start[None], stop, lambda points, *_: curvature(points) + precision)
    slope = unit.value_and_gradient(found.points, np.zeros(1, np.int64))[1]
    return found.points[0], np.nan_to_num(slope[0]), curvature(found.points)[0]
