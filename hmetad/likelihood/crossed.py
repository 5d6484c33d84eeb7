"""The likelihood of items that many observers answer, with the effects of items integrated out.

Parameters of observers, and how often which gave which outcome to which item → log-likelihood of
every item, and its gradient. Given the parameters of the observers, items are independent, and an
item's effects have two dims at most: a grid of nodes that all items share integrates them out.

    log L_i = log Σ_q w_q Π_{j, o} P(o | θ_j + effects at node q)^n_ijo

P is computed at observers × nodes, whatever the number of items. What an item's observers say is
added up within the box of nodes where the item's posterior lies, which is remembered from the call
before and checked at its border. The gradient is the same sums transposed.
Source: Bock & Aitkin (1981) for the marginal likelihood of items on shared nodes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
# Part of an effect that is not another's, where a search takes their correlation for 1.
SMALLEST = 1e-9


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
        self.boxes = np.tile(np.array([0, widths[0], 0, widths[1]]), (len(answers.first) - 1, 1))

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
        own, found = self.answers, np.empty(len(self.boxes))
        widths = len(self.grid.first), len(self.grid.second)
        add_items(
            own.first, own.rows, own.numbers, log_p, self.grid.log_weights, widths, self.boxes,
            found, pulls,
        )  # fmt: skip
        return found

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
        outcomes = self.outcomes(parameters, effects)
        pulls = np.zeros(outcomes.log_p.shape)
        found = self.of_items(outcomes.log_p, pulls)
        by_nodes = outcomes.pull(pulls)
        # Of each effect, (observers, nodes).
        pulled = np.stack([by_nodes[:, :, columns].sum(axis=2) for columns in self.targets])
        loadings, moves = effects.loadings, np.stack(effects.moves(self.grid))
        moved = loadings * np.einsum("kjq,kq->jk", pulled, moves)
        by_sds, by_logs = moved.sum(axis=0), moved * effects.sds
        by_correlation, (first, second) = 0.0, self.grid.nodes.T
        if len(effects.sds) > 1:
            rho = effects.correlation
            turned = first - rho / max(math.sqrt(1 - rho * rho), SMALLEST) * second
            by_correlation = effects.sds[1] * float((loadings[:, 1] * (pulled[1] @ turned)).sum())
        return found, by_nodes.sum(axis=1), by_sds, by_correlation, by_logs - by_logs.mean(axis=0)


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
    log_p: Floats,
    log_weights: Floats,
    widths: tuple[int, int],
    boxes: Integers,
    found: Floats,
    pulls: Floats,
) -> None:
    """Fill in the log-likelihood of each item; add to pulls; boxes are moved to the posterior."""
    height, width = widths
    room = np.empty((height, width))
    for item in range(len(found)):
        start, stop = first[item], first[item + 1]
        box = boxes[item]
        steps = min(math.ceil(math.sqrt(numbers[start:stop].sum() / PER_STEP)), MOST_STEPS)
        across = steps if width > 1 else 1
        # Between nodes values are read off those around.
        reach = 1 if steps <= 1 else POINTS // 2
        outcomes = rows[start:stop], numbers[start:stop]
        top, inner = fill_whole(outcomes, log_p, log_weights, widths, reach, box, room)
        own = room[box[0] : box[1], : box[3] - box[2]]
        if not math.isfinite(top):
            # Far from where anything is likely.
            found[item] = -math.inf
            box[0], box[1], box[2], box[3] = 0, height, 0, width
            continue
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
            rising, sideways = inner[0] - box[0], inner[2] - box[2]
            kept = own[rising : inner[1] - box[0], sideways : inner[3] - box[2]]
        found[item] = top + math.log(total)
        if pulls.size:
            add_pulls(outcomes[0], outcomes[1] / total, width, at, kept, pulls)
        margin = reach + 1
        box[0], box[1] = max(inner[0] - margin, 0), min(inner[1] + margin, height)
        box[2], box[3] = max(inner[2] - margin, 0), min(inner[3] + margin, width)


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
