"""The likelihood of items that many observers answer, with the effects of items integrated out.

Parameters of observers, and how often which gave which outcome to which item → log-likelihood of
every item, and its gradient. Given the parameters of the observers, items are independent, and an
item's effects have two dims at most: a grid of nodes that all items share integrates them out.

    log L_i = log Σ_q w_q Π_{j, o} P(o | θ_j + effects at node q)^n_ijo

P is computed at observers × nodes, whatever the number of items, and items that were answered alike
are one item that occurs several times. What an item's observers say is added up within the box of
nodes where the item's posterior lies, which is remembered from the call before and checked at its
border. The gradient is the same sums transposed.
Source: Bock & Aitkin (1981) for the marginal likelihood of items on shared nodes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from hmetad.likelihood.compiling import compiled, summed
from hmetad.likelihood.family import Family
from hmetad.likelihood.kernels import margin_tables
from hmetad.likelihood.tape import (
    ARGUMENTS,
    HEAD,
    STEPS,
    follow_tape,
    kernel_of,
    pull_back,
    tape_of,
)

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Logarithm of the share of an item's posterior that a border of its box may have, and of a share
# that is left out.
BORDER, NEGLIGIBLE = -20.0, -32.0
# Items are summed between nodes too, at a step more for the square of so many answers, up to a
# number of steps; so many nodes around a place give the value there. That this does not depend on
# parameters keeps values smooth in them.
PER_STEP, MOST_STEPS, POINTS = 42, 16, 8
# Weights of nodes, standard deviations, and the part of an effect that is not another's: at least.
SMALLEST = 1e-9
# Of differences of slopes.
NUDGE = 1e-5


@dataclass(frozen=True)
class Answers:
    """How often observers gave which outcome to items, as sparse rows.

    Parameters
    ----------
    first : array of int, shape (items + 1,)
        Entries of item i are first[i]:first[i + 1].
    rows : array of int
        Of each entry, observer * outcomes + outcome.
    numbers : array
        How often.
    """

    first: Integers
    rows: Integers
    numbers: Floats

    @cached_property
    def distinct(self) -> "tuple[Answers, Integers, Floats]":
        """Each set of answers once, the place of every item's set, and how many items have it."""
        ends = zip(self.first, self.first[1:], strict=False)
        keys = [self.rows[i:j].tobytes() + self.numbers[i:j].tobytes() for i, j in ends]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        place = np.array([places[key] for key in keys])
        kept = np.unique(place, return_index=True)[1]
        sizes = np.diff(self.first)[kept]
        own = np.repeat(self.first[kept] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        first = np.concatenate([[0], np.cumsum(sizes)])
        once = Answers(first, self.rows[own], self.numbers[own])
        return once, place, np.bincount(place).astype(float)


@dataclass(frozen=True)
class Grid:
    """Nodes of one or two standard normal variables, (width_1, width_2), evenly spaced.

    Parameters
    ----------
    first, second : array
        Places of the nodes; one node at 0 where there is no second effect.
    """

    first: Floats
    second: Floats

    @cached_property
    def nodes(self) -> Floats:
        """Standard normal values at the nodes, (nodes, 2)."""
        return np.stack(np.meshgrid(self.first, self.second, indexing="ij"), -1).reshape(-1, 2)

    @cached_property
    def log_weights(self) -> Floats:
        """Logarithms of their weights, which sum to 1, (nodes,)."""
        found = -(self.nodes**2).sum(axis=1) / 2
        return np.asarray(found - np.logaddexp.reduce(found))


@dataclass(frozen=True)
class Effects:
    """Standard deviations of the one or two effects of an item, and their correlation.

    Parameters
    ----------
    sds : tuple of float
    correlation : float, optional
    log_loadings : array, shape (observers, effects), optional
        Logarithms of how far each observer follows an effect; their mean is subtracted.
    """

    sds: tuple[float, ...]
    correlation: float = 0.0
    log_loadings: Floats | None = None

    @property
    def loadings(self) -> Floats:
        """How far observers follow effects, (observers, effects); (1, effects) where all are 1."""
        if self.log_loadings is None:
            return np.ones((1, len(self.sds)))
        return np.exp(self.log_loadings - self.log_loadings.mean(axis=0))

    def moves(self, grid: Grid) -> list[Floats]:
        """Standardised effects at the nodes, (nodes,) each."""
        first, second = grid.nodes.T
        rest = math.sqrt(1 - self.correlation**2)
        return [first, self.correlation * first + rest * second][: len(self.sds)]


class CrossedLikelihood:
    """Log-likelihood of items and its gradient; one object for each thread.

    Parameters
    ----------
    family : Family
        With a compiled kernel.
    ratings : int
    targets : sequence of array of int
        Columns of the parameters that each effect is added to.
    answers : Answers
    grid : Grid
    options : array of int, shape (observers,), optional
        Of a choice with normal noise: probabilities are then read from tables.
    """

    def __init__(
        self,
        family: Family,
        ratings: int,
        targets: Sequence[Integers],
        answers: Answers,
        grid: Grid,
        options: Integers | None = None,
    ) -> None:
        self.family, self.ratings, self.options = family, ratings, options
        self.targets, self.answers, self.grid = targets, answers, grid
        widths = len(grid.first), len(grid.second)
        number = len(answers.distinct[0].first) - 1
        self.boxes = np.tile(np.array([0, widths[0], 0, widths[1]]), (number, 1))

    def outcomes(self, parameters: Floats, effects: Effects) -> "Outcomes":
        """All outcomes of observers (observers, columns) at all nodes."""
        at_nodes = np.repeat(parameters[:, None], len(self.grid.nodes), axis=1)
        moves = effects.moves(self.grid)
        theirs = zip(effects.sds, moves, effects.loadings.T, self.targets, strict=True)
        for sd, move, loadings, columns in theirs:
            at_nodes[:, :, columns] += loadings[:, None, None] * (sd * move)[:, None]
        return Outcomes(self.family, at_nodes, self.ratings, self.options)

    def of_items(self, log_p: Floats, pulls: Floats) -> Floats:
        """Log-likelihood of each item by log P (observers * outcomes, nodes).

        The slopes of their sum by log P, which are posterior weights of the nodes, are added to
        `pulls`, unless that is empty.
        """
        (own, place, times), found = self.answers.distinct, np.empty(len(self.boxes))
        widths = len(self.grid.first), len(self.grid.second)
        add_items(
            own.first, own.rows, own.numbers, times, log_p, self.grid.log_weights, widths,
            self.boxes, found, pulls,
        )  # fmt: skip
        return found[place]

    def value(self, parameters: Floats, effects: Effects) -> Floats:
        """Log-likelihood of each item, (items,)."""
        return self.of_items(self.outcomes(parameters, effects).log_p, np.empty((0, 0)))

    def value_and_slopes(
        self, parameters: Floats, effects: Effects
    ) -> tuple[Floats, Floats, Floats, float, Floats]:
        """Log-likelihood of each item; slopes of their sum.

        These are by parameters, of their shape, by standard deviations (effects,), by the
        correlation, and by log loadings (observers, effects).
        """
        found, own = self.value_and_own_slopes(parameters, effects)
        by_parameters, by_logs, by_z = np.split(
            own, [parameters.shape[1], parameters.shape[1] + len(effects.sds)], axis=1
        )
        by_sds = by_logs.sum(axis=0) / np.maximum(effects.sds, SMALLEST)
        by_correlation = float(by_z.sum()) / max(1 - effects.correlation**2, SMALLEST)
        return found, by_parameters, by_sds, by_correlation, by_logs - by_logs.mean(axis=0)

    def value_and_own_slopes(self, parameters: Floats, effects: Effects) -> tuple[Floats, Floats]:
        """Log-likelihood of each item, and slopes of their sum as in `own_slopes`."""
        outcomes = self.outcomes(parameters, effects)
        pulls = np.zeros(outcomes.log_p.shape)
        found = self.of_items(outcomes.log_p, pulls)
        return found, self.own_slopes(outcomes, pulls, effects).sum(axis=1)

    def own_slopes(self, outcomes: "Outcomes", pulls: Floats, effects: Effects) -> Floats:
        """Slopes of Σ pulls · log P by what each observer has, (observers, nodes, own).

        These are by parameters, by logarithms of how far effects move the observer, and by Fisher's
        z of the correlation of two effects.
        """
        by_nodes = outcomes.pull(pulls)
        pulled = np.stack([by_nodes[:, :, columns].sum(axis=2) for columns in self.targets], -1)
        pulled *= (effects.loadings * effects.sds)[:, None]
        parts = [by_nodes, pulled * np.stack(effects.moves(self.grid), axis=-1)]
        if len(effects.sds) > 1:
            rho, (first, second) = effects.correlation, self.grid.nodes.T
            rest = 1 - rho * rho
            turned = rest * first - rho * math.sqrt(rest) * second
            parts.append(pulled[..., 1:] * turned[:, None])
        return np.concatenate(parts, axis=-1)

    def curvature(self, parameters: Floats, effects: Effects) -> tuple[Floats, Floats]:
        """Curvature of the log-likelihood, and slopes of each item's, by what all observers have.

        These are as in `own_slopes`, an observer after the other: (all, all) and (items, all). The
        curvature is the expected one of outcomes at the nodes, less the variance of slopes over
        the nodes, which is less precise for items that are summed between nodes: to some per cent
        of it, and to 0.1 with twice as many nodes. Source: Louis (1982).
        """
        outcomes = self.outcomes(parameters, effects)
        pulls = np.zeros(outcomes.log_p.shape)
        self.of_items(outcomes.log_p, pulls)
        there = self.own_slopes(outcomes, pulls, effects).sum(axis=1)
        around = [
            self.own_slopes(self.outcomes(at, moved), pulls, moved).sum(axis=1)
            for at, moved in nudged(parameters, effects)
        ]
        bend = block_diag(*(there[:, None] - np.stack(around, axis=1)) / NUDGE)
        number = len(pulls) // len(parameters)
        ones = np.eye(number)[:, None, :, None] * np.ones((len(parameters), 1, pulls.shape[1]))
        each = [self.own_slopes(outcomes, one.reshape(pulls.shape), effects) for one in ones]
        slopes = np.stack(each, axis=1).reshape(*pulls.shape, -1)
        (own, place, times), scores = self.answers.distinct, np.empty((len(self.boxes), len(bend)))
        widths = len(self.grid.first), len(self.grid.second)
        subtract_variances(
            own.first, own.rows, own.numbers, times, outcomes.log_p, self.grid.log_weights, widths,
            self.boxes, slopes, bend, scores,
        )  # fmt: skip
        return bend, scores[place]


def nudged(parameters: Floats, effects: Effects) -> Iterator[tuple[Floats, Effects]]:
    """Parameters and effects with one more of what each observer has, in order."""
    for nudge in NUDGE * np.eye(parameters.shape[1]):
        yield parameters + nudge, effects
    for own in np.exp(NUDGE * np.eye(len(effects.sds))):
        yield parameters, replace(effects, sds=tuple((own * effects.sds).tolist()))
    if len(effects.sds) > 1:
        z = math.atanh(effects.correlation) + NUDGE
        yield parameters, replace(effects, correlation=math.tanh(z))


class Outcomes:
    """Log-probabilities of all outcomes at nodes, and the way back to the parameters there.

    Parameters
    ----------
    family : Family
        With a compiled kernel.
    parameters : array, shape (observers, nodes, columns)
        Columns as in `hmetad.likelihood.tape.column_shapes`.
    ratings : int
    options : array of int, shape (observers,), optional
        As in `CrossedLikelihood`.
    """

    def __init__(
        self, family: Family, parameters: Floats, ratings: int, options: Integers | None
    ) -> None:
        self.shape, self.tape = parameters.shape, tape_of(family, ratings)
        observers, nodes, columns = parameters.shape
        self.values = np.empty((columns + self.tape[STEPS], observers * nodes))
        self.values[:columns] = parameters.reshape(-1, columns).T
        follow_tape(self.tape, self.values)
        start = HEAD + 3 * self.tape[STEPS]
        self.places = self.tape[start : start + self.tape[ARGUMENTS]]
        at = np.ascontiguousarray(self.values[self.places].T)
        if options is None:
            log_p, slopes = kernel_of(family).log_outcomes(at, ratings, True)
        else:
            log_p, slopes = margin_tables.tabled_outcomes(at, ratings, options)
        self.slopes = slopes.reshape(len(at), -1, at.shape[1])
        by_observer = log_p.reshape(observers, nodes, -1).transpose(0, 2, 1)
        # Rows of an observer and an outcome, (observers * outcomes, nodes).
        self.log_p = np.ascontiguousarray(by_observer).reshape(-1, nodes)

    def pull(self, weights: Floats) -> Floats:
        """Gradient of Σ weights · log P by the parameters, of their shape."""
        observers, nodes, columns = self.shape
        moved = weights.reshape(observers, -1, nodes).transpose(0, 2, 1)
        by_cell = np.ascontiguousarray(moved).reshape(len(self.slopes), -1)
        pulls = np.zeros(self.values.shape)
        np.add.at(pulls, self.places, np.einsum("co,coa->ac", by_cell, self.slopes))
        pull_back(self.tape, self.values, pulls)
        return np.ascontiguousarray(pulls[:columns].T).reshape(self.shape)


@compiled
def add_items(
    first: Integers,
    rows: Integers,
    numbers: Floats,
    times: Floats,
    log_p: Floats,
    log_weights: Floats,
    widths: tuple[int, int],
    boxes: Integers,
    found: Floats,
    pulls: Floats,
) -> None:
    """Fill in the log-likelihood of each item; add to pulls; boxes are moved to the posterior.

    Items occur so many `times`.
    """
    room = np.empty(widths)
    for item in range(len(found)):
        own = rows[first[item] : first[item + 1]], numbers[first[item] : first[item + 1]]
        found[item], at, weights = weigh_nodes(own, log_p, log_weights, widths, boxes[item], room)
        if pulls.size:
            add_pulls(own[0], own[1] * times[item], widths[1], at, weights, pulls)


@compiled
def subtract_variances(
    first: Integers,
    rows: Integers,
    numbers: Floats,
    times: Floats,
    log_p: Floats,
    log_weights: Floats,
    widths: tuple[int, int],
    boxes: Integers,
    slopes: Floats,
    bend: Floats,
    scores: Floats,
) -> None:
    """Take the variances of items' slopes over the nodes off a curvature; fill in their means."""
    room, each = np.empty(widths), slopes.shape[2]
    outcomes = len(slopes) * each // len(bend)
    for item in range(len(scores)):
        own = rows[first[item] : first[item + 1]], numbers[first[item] : first[item + 1]]
        _, at, weights = weigh_nodes(own, log_p, log_weights, widths, boxes[item], room)
        places = np.argwhere(np.abs(weights) > SMALLEST)
        theirs = np.zeros((len(places), len(bend)))
        shares = np.empty(len(places))
        for k in range(len(places)):
            a, b = places[k]
            shares[k], node = weights[a, b], at + a * widths[1] + b
            for entry in range(len(own[0])):
                row = own[0][entry]
                start = row // outcomes * each
                for c in range(each):
                    theirs[k, start + c] += own[1][entry] * slopes[row, node, c]
        mean = shares @ theirs
        scores[item] = mean
        bend -= times[item] * ((theirs.T * shares) @ theirs - np.outer(mean, mean))


@compiled
def weigh_nodes(
    outcomes: tuple[Integers, Floats],
    log_p: Floats,
    log_weights: Floats,
    widths: tuple[int, int],
    box: Integers,
    room: Floats,
) -> tuple[float, int, Floats]:
    """Log-likelihood of an item, and the posterior weights of its nodes with the first's place.

    Its box is moved to the posterior.
    """
    height, width = widths
    steps = min(math.ceil(math.sqrt(outcomes[1].sum() / PER_STEP)), MOST_STEPS)
    across = steps if width > 1 else 1
    # Between nodes values are read off those around.
    reach = 1 if steps <= 1 else POINTS // 2
    top, inner = fill_whole(outcomes, log_p, log_weights, widths, reach, box, room)
    own = room[box[0] : box[1], : box[3] - box[2]]
    if not math.isfinite(top):
        # Far from where anything is likely.
        box[0], box[1], box[2], box[3] = 0, height, 0, width
        return -math.inf, 0, room[:0]
    is_fine = False
    if steps > 1:
        first_way = between_nodes(len(own), inner[0] - box[0], inner[1] - box[0], steps)
        second_way = between_nodes(own.shape[1], inner[2] - box[2], inner[3] - box[2], across)
        fine = first_way @ np.ascontiguousarray(own) @ second_way.T
        # Where nothing is likely, neighbours are too far apart for any curve between them.
        is_fine = fine.max() < top + 4 * steps * steps
    if is_fine:
        top = fine.max()
        total = exponentials(fine, top) / (steps * across)
        kept = first_way.T @ fine @ second_way / (steps * across)
        at = box[0] * width + box[2]
    else:
        total = exponentials(own, top)
        at = inner[0] * width + inner[2]
        kept = own[inner[0] - box[0] : inner[1] - box[0], inner[2] - box[2] : inner[3] - box[2]]
    margin = reach + 1
    box[0], box[1] = max(inner[0] - margin, 0), min(inner[1] + margin, height)
    box[2], box[3] = max(inner[2] - margin, 0), min(inner[3] + margin, width)
    return top + math.log(total), at, kept / total


@compiled
def fill_whole(
    outcomes: tuple[Integers, Floats],
    log_p: Floats,
    log_weights: Floats,
    widths: tuple[int, int],
    reach: int,
    box: Integers,
    room: Floats,
) -> tuple[float, tuple[int, int, int, int]]:
    """Fill in the box of an item, widened where it cuts the posterior; the largest, and its box."""
    height, width = widths
    while True:
        own = room[box[0] : box[1], : box[3] - box[2]]
        fill_box(outcomes[0], outcomes[1], log_p, log_weights, width, box, own)
        top = own.max()
        if not math.isfinite(top):
            return top, (0, height, 0, width)
        inner = inner_box(own, top, box)
        is_cut = (
            (inner[0] < box[0] + reach and box[0] > 0)
            or (inner[1] > box[1] - reach and box[1] < height)
            or (inner[2] < box[2] + reach and box[2] > 0)
            or (inner[3] > box[3] - reach and box[3] < width)
        )
        if not is_cut:
            return top, inner
        box[0], box[1], box[2], box[3] = 0, height, 0, width


@compiled
def fill_box(
    rows: Integers,
    numbers: Floats,
    log_p: Floats,
    log_weights: Floats,
    width: int,
    box: Integers,
    out: Floats,
) -> None:
    """Log of weight times likelihood of an item at the nodes of a box."""
    columns = box[3] - box[2]
    for a in range(len(out)):
        at = (box[0] + a) * width + box[2]
        for b in range(columns):
            out[a, b] = log_weights[at + b]
    for entry in range(len(rows)):
        theirs, n = log_p[rows[entry]], numbers[entry]
        for a in range(len(out)):
            at = (box[0] + a) * width + box[2]
            for b in range(columns):
                out[a, b] += n * theirs[at + b]


@compiled
def inner_box(values: Floats, top: float, box: Integers) -> tuple[int, int, int, int]:
    """The box of nodes that have a share of the posterior."""
    first, last, left, right = len(values), 0, values.shape[1], 0
    for a in range(len(values)):
        for b in range(values.shape[1]):
            if values[a, b] >= top + BORDER:
                first, last = min(first, a), max(last, a + 1)
                left, right = min(left, b), max(right, b + 1)
    return box[0] + first, box[0] + last, box[2] + left, box[2] + right


@compiled
def between_nodes(count: int, first: int, last: int, steps: int) -> Floats:
    """Lagrange's weights of so many nodes, (places, count), from before `first` to after `last`."""
    begin, points = max(first - 1, 0), min(POINTS, count)
    places = (min(last, count - 1) - begin) * steps + 1
    weights = np.zeros((places, count))
    for row in range(places):
        place = begin + row / steps
        start = min(max(int(place) - points // 2 + 1, 0), count - points)
        for node in range(start, start + points):
            weight = 1.0
            for other in range(start, start + points):
                if other != node:
                    weight *= (place - other) / (node - other)
            weights[row, node] = weight
    return weights


@summed
def exponentials(values: Floats, top: float) -> float:
    """Turn logarithms into shares of the largest; their sum."""
    total = 0.0
    for a in range(len(values)):
        for b in range(values.shape[1]):
            rest = values[a, b] - top
            values[a, b] = math.exp(rest) if rest > NEGLIGIBLE else 0.0
            total += values[a, b]
    return total


@compiled
def add_pulls(
    rows: Integers, shares: Floats, width: int, at: int, weights: Floats, pulls: Floats
) -> None:
    """Add the posterior weights of an item's nodes, the first `at`, to the rows of its outcomes."""
    columns = weights.shape[1]
    for entry in range(len(rows)):
        theirs, share = pulls[rows[entry]], shares[entry]
        for a in range(len(weights)):
            for b in range(columns):
                theirs[at + a * width + b] += share * weights[a, b]
