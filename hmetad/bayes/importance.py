"""Draws of independent cells without a chain, by importance sampling.

Problem whose cells share nothing → free values of every cell, and how good they are. Points come
from a proposal made of the posterior's own profile along M: a density of M with a logarithm linear
between nodes, and around the mode that the other parameters have there a t distribution with widths
of its own on both sides of each axis. They are weighed by the posterior, and drawn by weight.
Source: Geweke (1989) on split t distributions; Vehtari et al. (2024) on the weights.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.cell_profiles import CellDensity, profile_cells
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import free_values
from hmetad.bayes.program_writer import write_program
from hmetad.bayes.weights import places_by_weight, smooth_weights
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.tails import compiled
from hmetad.notice_registry import limit
from hmetad.threads import in_threads

__all__ = ["CellWeights", "are_separate", "fill_cells", "has_separate_cells", "most_ratings"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

DEGREES_OF_FREEDOM = 6.0
# Points of a proposal, by draws, and at least; many more where they are worth too few draws.
POINTS_PER_DRAW, FEWEST_POINTS, MORE = 1.5, 4096, 8
# Numbers held at once by a thread, and cells: their gradients are taken side by side.
NUMBERS_AT_ONCE, CELLS_AT_ONCE = 2**23, 48
# Values of a cell beyond which a proposal is too far from the posterior: 12 ratings of meta-d′.
MOST_VALUES = 25


@dataclass(frozen=True)
class CellWeights:
    """How good the draws of every cell are.

    Parameters
    ----------
    pareto_k : array, shape (cells,)
        Shape of the largest weights.
    effective : array, shape (cells,)
        Independent draws that the weighted points are worth.
    """

    pareto_k: Floats
    effective: Floats

    @property
    def are_uneven(self) -> NDArray[np.bool_]:
        """Which cells have weights that more points would not mend."""
        return ~(self.pareto_k <= limit("pareto-k"))

    @property
    def are_bad(self) -> NDArray[np.bool_]:
        """Which cells have weights that cannot be trusted."""
        return self.are_uneven | ~(self.effective >= limit("ess"))


def are_separate(problem: Problem) -> bool:
    """Whether cells share nothing: neither formulas nor hyperpriors."""
    return not problem.designs and not any(p.hyperpriors for p in problem.likelihood.parameters)


def has_separate_cells(problem: Problem) -> bool:
    """Whether cells share nothing, and each has one M that is sampled and not too many ratings."""
    likelihood = problem.likelihood
    return (
        are_separate(problem)
        and problem.counts.sizes["rating"] <= most_ratings(likelihood)
        and not likelihood.parameter(likelihood.parameter_of_interest).dims
    )


def most_ratings(likelihood: Likelihood) -> int:
    """Largest number of ratings of a cell that importance sampling takes.

    Examples
    --------
    >>> from hmetad.likelihood.registry import load_likelihood
    >>> most_ratings(load_likelihood("meta-d"))
    12
    """

    def values(ratings: int) -> int:
        return sum(int(np.prod(p.shape(ratings), dtype=int)) for p in likelihood.parameters)

    return max((k for k in range(MOST_VALUES) if values(k) <= MOST_VALUES), default=0)


def fill_cells(
    problem: Problem, x: Floats, own: Integers, seeds: Sequence[np.random.SeedSequence]
) -> CellWeights:
    """Draw from the posterior of every cell, by importance sampling.

    Parameters
    ----------
    problem : Problem
        With separate cells.
    x : array, shape (draws, free)
        Is filled with free values.
    own : array of int, shape (cells, own)
        Places of the free values of each cell, in rising order.
    seeds : sequence of SeedSequence
        One for each cell.

    Returns
    -------
    CellWeights
    """
    number = max(FEWEST_POINTS, int(POINTS_PER_DRAW * len(x)))

    def parts_of(places: Integers, number: int) -> list[Integers]:
        step = min(CELLS_AT_ONCE, max(1, NUMBERS_AT_ONCE // (number * own.shape[1])))
        return [places[i : i + step] for i in range(0, len(places), step)]

    def fill_part(places: Integers, number: int) -> CellWeights:
        part = problem.of_cells(places)
        values, found = draw_part(part, len(x), number, [seeds[i] for i in places])
        x[:, own[places]] = values.transpose(1, 0, 2)
        return found

    def fill_twice(places: Integers) -> CellWeights:
        found = fill_part(places, number)
        few = np.flatnonzero(found.are_bad & ~found.are_uneven)
        for part in parts_of(few, MORE * number):
            again = fill_part(places[part], MORE * number)
            found.pareto_k[part], found.effective[part] = again.pareto_k, again.effective
        return found

    found = in_threads(fill_twice, parts_of(np.arange(len(own)), number))
    return CellWeights(
        np.concatenate([one.pareto_k for one in found]),
        np.concatenate([one.effective for one in found]),
    )


def draw_part(
    problem: Problem, draws: int, number: int, seeds: Sequence[np.random.SeedSequence]
) -> tuple[Floats, CellWeights]:
    """Draws (cells, draws, own) of cells that are worked on side by side, from so many points."""
    program = write_program(problem)
    name = problem.spec.named(problem.likelihood.parameter_of_interest)
    density = CellDensity(program, name)
    start = free_values(program, problem.start.values)[density.places]
    profiles = profile_cells(density, start)
    cells, own = density.places.shape
    points, log_proposal = np.empty((cells, number, own)), np.empty((cells, number))
    streams = [np.random.default_rng(seed) for seed in seeds]
    for i, rng in enumerate(streams):
        # One point in each of as many equal shares of the probability of M.
        place = (np.arange(number) + rng.random(number)) / number
        common = np.sqrt(DEGREES_OF_FREEDOM / rng.chisquare(DEGREES_OF_FREEDOM, number))
        scores = rng.standard_normal((number, own - 1)) * common[:, None]
        side = rng.random((number, own - 1))
        propose(
            profiles.main[i], profiles.log_mass[i], profiles.centre[i], profiles.axes[i],
            profiles.scales[i], place, scores, side, points[i], log_proposal[i],
        )  # fmt: skip
    log_target = density.value(points)
    log_ratios = np.where(np.isfinite(log_target), log_target, -np.inf) - log_proposal
    # In the order of x, which differs from that of the points by the place of M.
    order = np.argsort(density.places, axis=1)
    values, k, effective = np.empty((cells, draws, own)), np.empty(cells), np.empty(cells)
    # Where the posterior has no point of the proposal, any is as bad as another.
    log_ratios[~np.isfinite(log_ratios).any(axis=1)] = 0
    for i, rng in enumerate(streams):
        log_weights, k[i] = smooth_weights(log_ratios[i])
        weights = np.exp(log_weights)
        effective[i] = 1 / (weights**2).sum()
        places = places_by_weight(weights, draws, rng)
        values[i] = points[i][rng.permutation(places)][:, order[i]]
    return values, CellWeights(k, effective)


@compiled
def propose(
    main: Floats,
    log_mass: Floats,
    centre: Floats,
    axes: Floats,
    scales: Floats,
    place: Floats,
    scores: Floats,
    side: Floats,
    points: Floats,
    log_proposal: Floats,
) -> None:
    """Points of one cell, (n, own), from its profile and random numbers; their log density.

    `place` are rising probabilities of the main parameter; `scores` t distributed, and `side`
    uniform, (n, others).
    """
    nodes, others = centre.shape
    top = log_mass.max()
    mass = np.zeros(nodes)
    for j in range(1, nodes):
        rise = log_mass[j] - log_mass[j - 1]
        mean = math.expm1(rise) / rise if abs(rise) > 1e-8 else 1 + rise / 2
        width = main[j] - main[j - 1]
        mass[j] = mass[j - 1] + width * math.exp(log_mass[j - 1] - top) * mean
    j = 1
    spread = np.empty(others)
    for i in range(len(place)):
        target = place[i] * mass[-1]
        while mass[j] <= target and j < nodes - 1:
            j += 1
        rise = log_mass[j] - log_mass[j - 1]
        share = (target - mass[j - 1]) / (mass[j] - mass[j - 1])
        if abs(rise) > 1e-8:
            share = math.log1p(share * math.expm1(rise)) / rise
        points[i, 0] = main[j - 1] + share * (main[j] - main[j - 1])
        square, size = 0.0, 1.0
        for k in range(others):
            below = (1 - share) * scales[j - 1, k, 0] + share * scales[j, k, 0]
            above = (1 - share) * scales[j - 1, k, 1] + share * scales[j, k, 1]
            is_above = side[i, k] * (below + above) < above
            spread[k] = abs(scores[i, k]) * (above if is_above else -below)
            square += scores[i, k] * scores[i, k]
            size *= (below + above) * ((1 - share) * axes[j - 1, k, k] + share * axes[j, k, k])
        for k in range(others):
            value = (1 - share) * centre[j - 1, k] + share * centre[j, k]
            for q in range(k + 1):
                value += ((1 - share) * axes[j - 1, k, q] + share * axes[j, k, q]) * spread[q]
            points[i, k + 1] = value
        log_t = -(DEGREES_OF_FREEDOM + others) / 2 * math.log1p(square / DEGREES_OF_FREEDOM)
        log_main = (1 - share) * log_mass[j - 1] + share * log_mass[j]
        log_proposal[i] = log_main + log_t - math.log(size)
