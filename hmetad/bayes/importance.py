"""Draws without a chain, by importance sampling: of independent cells, and of observers of items.

Program whose cells share nothing → DataTree as a sampler of chains gives it, and how good the draws
of every cell are. Points come from a proposal made of the posterior's own profile along M, on the
scale of the model: nodes along that parameter, and at each the mode of the others, axes of their
covariance and how fast the density falls along each axis. The proposal is a density of M with a
logarithm linear between nodes, and around the mode that the others have there a t distribution with
widths of its own on both sides of each axis. Points are weighed by the posterior, and drawn by
weight. All cells are evaluated side by side.

Where items are integrated out, all values of the observers are drawn together. Along the axes of
the mean curvature around the mode their posterior is nearly normal, with few observers or many.
Source: Geweke (1989) on split t distributions; Vehtari et al. (2024) on the weights, and Zhang &
Stephens (2009) on the Pareto distribution. ArviZ smooths weights as well, and takes seconds to
import.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.labels import check_same_names
from hmetad.base.notice_registry import limit
from hmetad.base.threads import in_threads, usable_cpus
from hmetad.bayes.chains import Request, posterior_of, sample_together, tree_of
from hmetad.bayes.crossed import fitted_to_slopes
from hmetad.bayes.density import unwarp
from hmetad.bayes.program import Program
from hmetad.bayes.proposals import DEGREES_OF_FREEDOM, Profile, evaluate_points, propose
from hmetad.bayes.separate_cells import (
    OF_CELLS,
    CellPosterior,
    chains_of_cell,
    seeds_of_cells,
    statistics_of,
)
from hmetad.likelihood.family import Family

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Points of a proposal, by draws, and at least; many more where they are worth too few draws.
POINTS_PER_DRAW, FEWEST_POINTS, MORE = 1.5, 4096, 8
FEWEST_OF_OBSERVERS = 2000
# Numbers held at once by a thread, and cells: their gradients are taken side by side.
NUMBERS_AT_ONCE, CELLS_AT_ONCE = 2**23, 48
# Values of a cell beyond which a proposal is too far from the posterior: 12 ratings of meta-d′.
MOST_VALUES = 25
# Of the differences of gradients that give curvatures.
DIFFERENCE = 1e-4
SMALLEST_CURVATURE, LARGEST_CURVATURE = 1e-2, 1e8
CLIMBS, SMALL_STEP, LONGEST_STEP, SHORTER = 60, 1e-4, 2.0, 0.25
# Nodes on each side of the mode, their first distance in standard deviations, and how distances
# change, by how much the log density fell from the last one.
NODES, FIRST_DISTANCE = 26, 0.35
LITTLE_FALL, LARGE_FALL, WIDER, NARROWER = 0.45, 1.1, 1.5, 0.7
# Beyond a fall of so much there are no nodes.
WHOLE_FALL = 12.0
# Where items are integrated out: points at which slopes are taken, at least and for each value;
# degrees of freedom along each axis; how much wider than the posterior all axes are, which costs a
# fifth of the draws however many there are; and the share of points that effective draws have to
# be for more points to be tried.
FEWEST_SLOPES, SLOPES_PER_VALUE = 300, 3
FREEDOM, SHARE_WIDER, LEAST_SHARE = 30.0, 0.2, 0.05
# Log density where there is none.
NOWHERE = -1e9
# Where the fall along an axis is measured, in its standard deviations, and what is made of it.
REACH, LEAST_SCALE, MOST_SCALE = 3.0, 0.5, 2.5
# Cells that need chains have long tails, in which larger steps diverge.
OF_CHAINS = (0.99,)
# Largest ratios that are smoothed: this share, at most this number of square roots of all.
TAIL_SHARE, TAIL_ROOTS = 0.2, 3.0
# Weight of a shape of 1/2 in the estimate of k, in observations.
PRIOR_WEIGHT, PRIOR_SHAPE = 10, 0.5
# Grid of the fit: points beyond the square root of the number of values, and how wide it is.
GRID_POINTS, GRID_WIDTH = 30, 3.0


def sample_by_importance(program: Program, request: Request) -> xr.DataTree:
    """Draw from the posterior of every cell by importance sampling.

    sample_stats has, by cell, ``pareto_k``, ``effective_draws``, ``by_chains`` and ``divergences``.
    """
    check_same_names(program.counts.coords, OF_CELLS)
    posterior, seeds = CellPosterior(program, request), seeds_of_cells(program, request)
    pareto_k, effective = fill_cells(program, posterior, seeds)
    is_again = are_bad(pareto_k, effective) & request.may_use_chains
    for cell in np.flatnonzero(is_again).tolist():
        posterior.take(cell, *chains_of_cell(program, cell, seeds[cell], request, OF_CHAINS))
    by_cell = {
        "divergences": posterior.divergences,
        "pareto_k": pareto_k,
        "effective_draws": np.minimum(effective, math.prod(posterior.shape)),
        "by_chains": is_again,
    }
    statistics = statistics_of(program, posterior.diverging, **by_cell)
    return tree_of(program, posterior.whole, statistics, "hmetad", {})


def sample_observers(program: Program, request: Request) -> xr.DataTree:
    """Draw from the posterior of observers of whom items are integrated out.

    By chains, if weights cannot be trusted, of twice as many points too. sample_stats is that of
    `sample_by_importance`; all cells have the same weights.
    """
    check_same_names(program.counts.coords, OF_CELLS)
    shape = int(request.options["chains"]), int(request.options["draws"])
    rng, free = np.random.default_rng(int(request.options["random_seed"])), program.arrays.size
    first = rng.standard_normal((max(FEWEST_SLOPES, SLOPES_PER_VALUE * free), free))
    better = fitted_to_slopes(program.crossed_density, program.whitening, first)
    whitened = replace(program, known_whitening=better)
    number = max(FEWEST_OF_OBSERVERS, int(POINTS_PER_DRAW * math.prod(shape)))
    x, log_ratios = weighed_points(whitened, rng, number)
    weights, k, effective = weights_of(log_ratios)
    if are_bad(k, effective) and effective >= LEAST_SHARE * number:
        more = weighed_points(whitened, rng, number)
        x, log_ratios = (np.concatenate(both) for both in zip((x, log_ratios), more, strict=True))
        weights, k, effective = weights_of(log_ratios)
    if request.may_use_chains and are_bad(k, effective):
        return sample_together(program, request)
    places = rng.permutation(places_by_weight(weights, math.prod(shape), rng))
    posterior = posterior_of(program, x[places].reshape(*shape, -1), keep_cells=request.keep_cells)
    cells = len(program.counts)
    by_cell = {
        "divergences": np.zeros(cells, dtype=np.int64),
        "pareto_k": np.repeat(k, cells),
        "effective_draws": np.repeat(np.minimum(effective, math.prod(shape)), cells),
        "by_chains": np.zeros(cells, dtype=bool),
    }
    statistics = statistics_of(program, np.zeros(shape, dtype=bool), **by_cell)
    return tree_of(program, posterior, statistics, "hmetad", {})


def weighed_points(
    program: Program, rng: np.random.Generator, number: int
) -> tuple[Floats, Floats]:
    """Free values (number, free) of the whitened proposal, and log ratios of the posterior to it.

    These are up to a constant.
    """
    whitening, packed = program.whitening, program.packed
    free = program.arrays.size
    scores = rng.standard_t(FREEDOM, (number, free))
    values, x = (1 + math.sqrt(SHARE_WIDER / free)) * scores, np.empty(scores.shape)

    def log_densities(places: Integers) -> Floats:
        density, found = program.crossed_density(), np.empty(len(places))
        for i, place in enumerate(places):
            jacobian = unwarp(whitening.moved(values[place]), packed, x[place])
            found[i] = density.value(x[place]) + jacobian
        return found

    parts = np.array_split(np.arange(number), usable_cpus())
    log_target = np.concatenate([*in_threads(log_densities, parts)])
    log_proposal = -(FREEDOM + 1) / 2 * np.log1p(scores**2 / FREEDOM).sum(axis=1)
    return x, np.where(np.isfinite(log_target), log_target, -np.inf) - log_proposal


def can_be_weighed(program: Program) -> bool:
    """Whether cells share nothing, and each has one M that is sampled and not too many ratings."""
    likelihood = program.likelihood
    return (
        program.has_separate_cells
        and program.counts.sizes["rating"] <= most_ratings(likelihood)
        and not likelihood.parameter(likelihood.parameter_of_interest).dims
    )


def most_ratings(likelihood: Family) -> int:
    """Largest number of ratings of a cell that importance sampling takes.

    Examples
    --------
    >>> from hmetad.likelihood.registry import load_likelihood
    >>> most_ratings(load_likelihood("meta-d"))
    12
    """

    def values(ratings: int) -> int:
        return sum(math.prod(likelihood.shape(p.name, ratings)) for p in likelihood.parameters)

    return max((k for k in range(MOST_VALUES) if values(k) <= MOST_VALUES), default=0)


def weights_of(log_ratios: Floats) -> tuple[Floats, Floats, Floats]:
    """Smoothed weights of points, shape of the largest, and how many draws the points are worth."""
    log_weights, k = smooth_weights(log_ratios)
    weights = np.exp(log_weights)
    return weights, np.asarray(k), np.asarray(1 / (weights**2).sum())


def are_bad(pareto_k: Floats, effective: Floats) -> NDArray[np.bool_]:
    """Which cells have weights that cannot be trusted."""
    return ~((pareto_k <= limit("pareto-k")) & (effective >= limit("ess")))


def fill_cells(
    program: Program, posterior: CellPosterior, seeds: Sequence[np.random.SeedSequence]
) -> tuple[Floats, Floats]:
    """Fill in the posterior of all cells, some at a time.

    Shapes of the largest weights, and how many independent draws the weighted points are worth.
    """
    cells, draws = len(seeds), math.prod(posterior.shape)
    pareto_k, effective = np.empty(cells), np.empty(cells)

    def parts_of(places: Integers, number: int) -> list[Integers]:
        own = program.layout.size // cells
        step = min(CELLS_AT_ONCE, max(1, NUMBERS_AT_ONCE // (number * own)))
        return [places[i : i + step] for i in range(0, len(places), step)]

    def fill(places: Integers, number: int) -> None:
        streams = [np.random.default_rng(seeds[i]) for i in places]
        part = program.of_cells(places)
        x, pareto_k[places], effective[places] = draw_part(part, draws, number, streams)
        posterior.fill(places, posterior_of(part, x[None]))

    def fill_twice(places: Integers) -> None:
        fill(places, number)
        # More points mend no weights that are uneven.
        is_even = pareto_k[places] <= limit("pareto-k")
        few = places[is_even & are_bad(pareto_k[places], effective[places])]
        for part in parts_of(few, MORE * number):
            fill(part, MORE * number)

    number = max(FEWEST_POINTS, int(POINTS_PER_DRAW * draws))
    in_threads(fill_twice, parts_of(np.arange(cells), number))
    return pareto_k, effective


def draw_part(
    program: Program, draws: int, number: int, streams: Sequence[np.random.Generator]
) -> tuple[Floats, Floats, Floats]:
    """Draws (draws, free) of cells side by side, from so many points, as `fill_cells`."""
    density = CellDensity(program)
    start = program.first_point[density.places]
    profiles = profile_cells(density, start)
    cells, own = density.places.shape
    points, log_proposal = np.empty((cells, number, own)), np.empty((cells, number))
    for i, rng in enumerate(streams):
        # One point in each of as many equal shares of the probability of M.
        place = (np.arange(number) + rng.random(number)) / number
        common = np.sqrt(DEGREES_OF_FREEDOM / rng.chisquare(DEGREES_OF_FREEDOM, number))
        scores = rng.standard_normal((number, own - 1)) * common[:, None]
        side = rng.random((number, own - 1))
        profile = Profile(*(values[i] for values in profiles))
        propose(profile, place, scores, side, points[i], log_proposal[i])
    log_target = density.value(points)
    log_ratios = np.where(np.isfinite(log_target), log_target, -np.inf) - log_proposal
    x, k, effective = np.empty((draws, cells * own)), np.empty(cells), np.empty(cells)
    # Where the posterior has no point of the proposal, any is as bad as another.
    log_ratios[~np.isfinite(log_ratios).any(axis=1)] = 0
    for i, rng in enumerate(streams):
        weights, k[i], effective[i] = weights_of(log_ratios[i])
        places = places_by_weight(weights, draws, rng)
        x[:, density.places[i]] = points[i][rng.permutation(places)]
    return x, k, effective


class CellDensity:
    """Log posterior of every cell of a program, by the values of that cell, M's first."""

    def __init__(self, program: Program) -> None:
        self.packed = program.packed
        own = program.places_by_cell
        main, *_ = program.layout.own[program.likelihood.parameter_of_interest]
        first = main.elements.reshape(-1, 1)
        others = own[own != first].reshape(len(own), -1)
        self.places = np.hstack([first, others])

    def value(self, points: Floats) -> Floats:
        """Values (cells, n), at points (cells, n, own)."""
        return evaluate_points(points, self.places, self.packed, np.empty((0, 0, 0)))

    def gradient(self, points: Floats) -> tuple[Floats, Floats]:
        """Values (cells, n) and slopes (cells, n, own), 0 where there are none."""
        slopes = np.empty(points.shape)
        return evaluate_points(points, self.places, self.packed, slopes), slopes


def profile_cells(density: CellDensity, start: Floats) -> Profile:
    """Nodes from one tail of every cell's posterior to the other; the search begins at `start`."""
    # Far out a density may be 0, and differences of its logarithm are not defined.
    with np.errstate(invalid="ignore", over="ignore"):
        mode, sd = find_modes(density, start)
        middle = node_at(density, mode, None)
        sides = []
        highest = middle.log_mass
        for direction in (-1.0, 1.0):
            found, highest = march(density, middle, direction * FIRST_DISTANCE * sd, highest)
            sides.append(found)
    nodes = [*reversed(sides[0]), middle, *sides[1]]
    return Profile(*(np.stack(own, axis=1) for own in zip(*nodes, strict=True)))


def find_modes(density: CellDensity, start: Floats) -> tuple[Floats, Floats]:
    """Modes (cells, own), and standard deviations of the main parameter by the curvature there."""
    points = start.copy()
    for _ in range(CLIMBS):
        moved = climb(density, points, covariances(curvatures(density, points)))
        done = abs(moved - points).max() < SMALL_STEP
        points = moved
        if done:
            break
    return points, np.sqrt(covariances(curvatures(density, points))[:, 0, 0])


def march(
    density: CellDensity, middle: Profile, step: Floats, highest: Floats
) -> tuple[list[Profile], Floats]:
    """Profiles from the middle outward, and the highest log mass; cells at their end stay there."""
    found, last, step = list[Profile](), middle, step.copy()
    for _ in range(NODES):
        is_over = highest - last.log_mass > WHOLE_FALL
        if is_over.all():
            break
        step[is_over] = 0
        main = last.main + step
        centre = last.centre + last.slope * step[:, None]
        node = node_at(density, np.hstack([main[:, None], centre]), last)
        for old, new in zip(last, node, strict=True):
            new[is_over] = old[is_over]
        fall = abs(last.log_mass - node.log_mass)
        step = np.where(fall < LITTLE_FALL, WIDER * step, step)
        step = np.where(fall > LARGE_FALL, NARROWER * step, step)
        highest = np.maximum(highest, node.log_mass)
        found.append(node)
        last = node
    return found, highest


def node_at(density: CellDensity, points: Floats, near: Profile | None) -> Profile:
    """Node near points (cells, own), whose main parameter stays."""
    if near is not None:
        points = climb(density, points, near.covariance, first=1)
    curvature = curvatures(density, points)
    covariance = covariances(curvature[:, 1:, 1:])
    points = climb(density, points, covariance, first=1)
    axes = np.linalg.cholesky(covariance)
    scales, value = scales_of(density, points, axes)
    spread = np.diagonal(axes, axis1=1, axis2=2) * scales.mean(axis=-1)
    return Profile(
        main=points[:, 0],
        log_mass=np.maximum(np.nan_to_num(value, nan=-np.inf), NOWHERE)
        + np.log(spread).sum(axis=1),
        centre=points[:, 1:],
        axes=axes,
        scales=scales,
        slope=-np.einsum("nij,nj->ni", covariance, curvature[:, 1:, 0]),
        covariance=covariance,
    )


def scales_of(density: CellDensity, points: Floats, axes: Floats) -> tuple[Floats, Floats]:
    """Widths (cells, others, 2) along the axes, as shares of a normal's; values at the points."""
    cells, others = axes.shape[:2]
    tried, steps = (
        np.repeat(points[:, None], 2 * others + 1, axis=1),
        REACH * np.swapaxes(axes, 1, 2),
    )
    tried[:, :-1:2, 1:] -= steps
    tried[:, 1::2, 1:] += steps
    values = density.value(tried)
    fall = (values[:, -1:] - values[:, :-1]).reshape(cells, others, 2)
    least = REACH**2 / (2 * MOST_SCALE**2)
    scales = REACH / np.sqrt(2 * np.maximum(np.nan_to_num(fall, nan=np.inf), least))
    return np.clip(scales, LEAST_SCALE, MOST_SCALE), values[:, -1]


def curvatures(density: CellDensity, points: Floats) -> Floats:
    """Second derivatives of the negative log density, (cells, own, own)."""
    own = points.shape[1]
    steps = DIFFERENCE * np.concatenate([-np.eye(own), np.eye(own)])
    _, slopes = density.gradient(points[:, None] + steps)
    found = (slopes[:, :own] - slopes[:, own:]) / (2 * DIFFERENCE)
    return (found + found.transpose(0, 2, 1)) / 2


def covariances(curvature: Floats) -> Floats:
    """Inverses of curvatures, which are made positive."""
    known = np.where(np.isfinite(curvature), curvature, 0.0)
    size, vectors = np.linalg.eigh(known)
    size = np.clip(size, SMALLEST_CURVATURE, LARGEST_CURVATURE)
    vectors = vectors / np.sqrt(size)[:, None]
    return vectors @ vectors.transpose(0, 2, 1)


def climb(density: CellDensity, points: Floats, covariance: Floats, first: int = 0) -> Floats:
    """Points after a Newton step of all but the first parameters, shorter where that is lower."""
    value, slope = density.gradient(points[:, None])
    step = np.zeros(points.shape)
    step[:, first:] = np.einsum("nij,nj->ni", covariance, slope[:, 0, first:])
    length = abs(step).max(axis=1, keepdims=True)
    step *= np.minimum(1, LONGEST_STEP / np.maximum(length, LONGEST_STEP))
    sizes = SHORTER ** np.arange(4.0)
    tried = points[:, None] + sizes[:, None] * step[:, None]
    # The first that is no lower, else none.
    better = density.value(tried) >= value - 1e-9
    share = np.where(better.any(axis=1), sizes[better.argmax(axis=1)], 0.0)
    return points + share[:, None] * step


def smooth_weights(log_ratios: Floats) -> tuple[Floats, float]:
    r"""Log weights whose largest are replaced by what a Pareto distribution expects of them.

    Parameters
    ----------
    log_ratios : array, shape (points,)
        At least 25. Logarithms of target over proposal, up to a constant.

    Returns
    -------
    tuple of array, shape (points,), and float
        Log weights that add up to 1 when exponentiated, and k: above .5 the ratios have no
        finite variance; infinite or NaN where the largest ratios are of no such distribution.

    Notes
    -----
    The :math:`M = \min(n/5, 3\sqrt n)` largest ratios above a cutoff u are replaced by the
    quantiles :math:`(i - 1/2)/M` of the generalised Pareto distribution fitted to them; none
    becomes larger than the largest raw ratio.

    Examples
    --------
    >>> weights, k = smooth_weights(np.random.default_rng(1).normal(size=4000))
    >>> bool(abs(np.exp(weights).sum() - 1) < 1e-12), k < 0.5
    (True, True)
    """
    weights = np.asarray(log_ratios, dtype=float) - np.max(log_ratios)
    size = len(weights)
    tail = int(min(TAIL_SHARE * size, TAIL_ROOTS * math.sqrt(size)))
    # The tail in rising order, and the largest below it.
    order = np.argpartition(weights, size - tail - 1)[size - tail - 1 :]
    order = order[np.argsort(weights[order])]
    cutoff, largest = math.exp(weights[order[0]]), order[1:]
    k, sigma = fit_pareto(np.exp(weights[largest]) - cutoff)
    if math.isfinite(k):
        probs = (np.arange(tail) + 0.5) / tail
        quantiles = cutoff + sigma * np.expm1(-k * np.log1p(-probs)) / k
        weights[largest] = np.minimum(np.log(quantiles), 0.0)
    top = weights.max()
    return weights - top - math.log(np.exp(weights - top).sum()), k


def fit_pareto(values: Floats) -> tuple[float, float]:
    """Shape and scale of the generalised Pareto distribution of sorted positive values."""
    size = len(values)
    quartile = values[int(size / 4 + 0.5) - 1]
    if quartile <= values[0]:
        return math.nan, math.nan
    points = GRID_POINTS + int(math.sqrt(size))
    grid = 1 - np.sqrt(points / (np.arange(points) + 0.5))
    grid = grid / (GRID_WIDTH * quartile) + 1 / values[-1]
    shapes = np.log1p(-grid[:, None] * values).mean(axis=1)
    profile = size * (np.log(-grid / shapes) - shapes - 1)
    share = np.exp(profile - profile.max())
    share /= share.sum()
    share[share < 10 * np.finfo(float).eps] = 0
    theta = float((grid * share).sum() / share.sum())
    shape = float(np.log1p(-theta * values).mean())
    sigma = -shape / theta
    shape = (size * shape + PRIOR_WEIGHT * PRIOR_SHAPE) / (size + PRIOR_WEIGHT)
    return (math.inf, math.nan) if math.isnan(shape) else (shape, sigma)


def places_by_weight(weights: Floats, number: int, rng: np.random.Generator) -> Integers:
    """Places in rising order, each as often as its weight says, within one (systematic draws)."""
    reached = np.cumsum(weights)
    steps = (np.arange(number) + rng.random()) / number * reached[-1]
    return np.minimum(np.searchsorted(reached, steps, side="right"), len(weights) - 1)
