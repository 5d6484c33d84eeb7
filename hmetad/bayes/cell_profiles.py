"""The posterior of independent cells along one parameter of each: M, on the scale of the model.

Program of cells that share nothing → nodes on the axis of that parameter, and at each node the mode
of the others, axes of their covariance and how fast the density falls along each axis. All cells
are evaluated side by side.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.density import evaluate_parts
from hmetad.bayes.packing import pack
from hmetad.bayes.program import Program
from hmetad.likelihood.tails import compiled

__all__ = ["CellDensity", "Profiles", "profile_cells"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

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
# Log density where there is none.
NOWHERE = -1e9
# Where the fall along an axis is measured, in its standard deviations, and what is made of it.
REACH, LEAST_SCALE, MOST_SCALE = 1.5, 0.5, 2.5


class CellDensity:
    """Log posterior of every cell of a program, by the values of that cell.

    Parameters
    ----------
    program : Program
        Whose cells share nothing.
    main : str
        Variable of one value a cell, which comes first.
    """

    def __init__(self, program: Program, main: str) -> None:
        self.packed, self.size = pack(program), program.size
        self.cells = len(program.counts)
        own = np.argsort(program.owners, kind="stable").reshape(self.cells, -1)
        (first,) = (free.elements for free in program.free if free.name == main)
        others = own[own != first.reshape(-1, 1)].reshape(self.cells, -1)
        self.places = np.hstack([first.reshape(-1, 1), others])

    def gradient(self, points: Floats) -> tuple[Floats, Floats]:
        """Values (cells,) and slopes (cells, own), at points (cells, own)."""
        x, slopes, values = np.empty(self.size), np.empty(self.size), np.zeros(self.cells)
        x[self.places] = points
        evaluate_parts(x, self.packed, values, slopes)
        return values, np.nan_to_num(slopes[self.places], posinf=0, neginf=0)

    def value(self, points: Floats) -> Floats:
        """Values (cells, n), at points (cells, n, own)."""
        return evaluate_points(points, self.places, self.packed)


@compiled
def evaluate_points(points: Floats, places: Integers, packed: Integers) -> Floats:
    """Values (cells, n) of points (cells, n, own): the n-th of all cells at once."""
    cells, number, own = points.shape
    x, nothing = np.empty(cells * own), np.empty(0)
    values, by_cell = np.empty((cells, number)), np.empty(cells)
    for j in range(number):
        for i in range(cells):
            by_cell[i] = 0.0
            for k in range(own):
                x[places[i, k]] = points[i, j, k]
        evaluate_parts(x, packed, by_cell, nothing)
        values[:, j] = by_cell
    return values


@dataclass(frozen=True)
class Profiles:
    """Posterior of every cell at nodes of its main parameter, in rising order.

    Parameters
    ----------
    main : array, shape (cells, nodes)
        Nodes at one place stand for none.
    log_mass : array, shape (cells, nodes)
        Log density of the main parameter there, about, without its constant.
    centre : array, shape (cells, nodes, others)
        Mode of the other parameters.
    axes : array, shape (cells, nodes, others, others)
        Cholesky factor of their covariance at the mode.
    scales : array, shape (cells, nodes, others, 2)
        How much wider than a normal they are, below and above along each axis.
    """

    main: Floats
    log_mass: Floats
    centre: Floats
    axes: Floats
    scales: Floats


@dataclass(frozen=True)
class Node:
    """One node of all cells, as `Profiles`; slope (cells, others) is that of the centre."""

    main: Floats
    log_mass: Floats
    centre: Floats
    axes: Floats
    scales: Floats
    slope: Floats
    covariance: Floats


def profile_cells(density: CellDensity, start: Floats) -> Profiles:
    """Nodes from one tail of every cell's posterior to the other.

    Parameters
    ----------
    density : CellDensity
    start : array, shape (cells, own)
        Where the search for the modes begins.

    Returns
    -------
    Profiles
    """
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
    names = ("main", "log_mass", "centre", "axes", "scales")
    return Profiles(*(np.stack([getattr(n, name) for n in nodes], axis=1) for name in names))


def find_modes(density: CellDensity, start: Floats) -> tuple[Floats, Floats]:
    """Modes (cells, own), and standard deviations of the main parameter by the curvature there."""
    points = start.copy()
    for _ in range(CLIMBS):
        value, slope = density.gradient(points)
        covariance = covariances(curvatures(density, points))
        moved = climb(density, points, value, slope, covariance)
        done = abs(moved - points).max() < SMALL_STEP
        points = moved
        if done:
            break
    return points, np.sqrt(covariances(curvatures(density, points))[:, 0, 0])


def march(
    density: CellDensity, middle: Node, step: Floats, highest: Floats
) -> tuple[list[Node], Floats]:
    """Nodes from the middle outward, and the highest log mass; cells at their end stay there."""
    found, last, step = list[Node](), middle, step.copy()
    for _ in range(NODES):
        is_over = highest - last.log_mass > WHOLE_FALL
        if is_over.all():
            break
        step[is_over] = 0
        main = last.main + step
        centre = last.centre + last.slope * step[:, None]
        node = node_at(density, np.hstack([main[:, None], centre]), last)
        fall = abs(last.log_mass - node.log_mass)
        step = np.where(fall < LITTLE_FALL, WIDER * step, step)
        step = np.where(fall > LARGE_FALL, NARROWER * step, step)
        highest = np.maximum(highest, node.log_mass)
        found.append(node)
        last = node
    return found, highest


def node_at(density: CellDensity, points: Floats, near: Node | None) -> Node:
    """Node near points (cells, own), whose main parameter stays."""
    if near is not None:
        value, slope = density.gradient(points)
        points = climb(density, points, value, slope, near.covariance, first=1)
    value, slope = density.gradient(points)
    curvature = curvatures(density, points)
    covariance = covariances(curvature[:, 1:, 1:])
    points = climb(density, points, value, slope, covariance, first=1)
    axes = np.linalg.cholesky(covariance)
    scales, value = scales_of(density, points, axes)
    spread = np.diagonal(axes, axis1=1, axis2=2) * scales.mean(axis=-1)
    return Node(
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
    tried = np.repeat(points[:, None], 2 * others + 1, axis=1)
    for k in range(others):
        tried[:, 2 * k, 1:] -= REACH * axes[:, :, k]
        tried[:, 2 * k + 1, 1:] += REACH * axes[:, :, k]
    values = density.value(tried)
    fall = (values[:, -1:] - values[:, :-1]).reshape(cells, others, 2)
    least = REACH**2 / (2 * MOST_SCALE**2)
    scales = REACH / np.sqrt(2 * np.maximum(np.nan_to_num(fall, nan=np.inf), least))
    return np.clip(scales, LEAST_SCALE, MOST_SCALE), values[:, -1]


def curvatures(density: CellDensity, points: Floats) -> Floats:
    """Second derivatives of the negative log density, (cells, own, own)."""
    own = points.shape[1]
    found = np.empty((*points.shape, own))
    for k in range(own):
        ends = []
        for sign in (-1, 1):
            moved = points.copy()
            moved[:, k] += sign * DIFFERENCE
            ends.append(density.gradient(moved)[1])
        found[:, k] = (ends[0] - ends[1]) / (2 * DIFFERENCE)
    return (found + found.transpose(0, 2, 1)) / 2


def covariances(curvature: Floats) -> Floats:
    """Inverses of curvatures, which are made positive."""
    known = np.where(np.isfinite(curvature), curvature, 0.0)
    size, vectors = np.linalg.eigh(known)
    size = np.clip(size, SMALLEST_CURVATURE, LARGEST_CURVATURE)
    vectors = vectors / np.sqrt(size)[:, None]
    return vectors @ vectors.transpose(0, 2, 1)


def climb(
    density: CellDensity,
    points: Floats,
    value: Floats,
    slope: Floats,
    covariance: Floats,
    first: int = 0,
) -> Floats:
    """Points after a Newton step of all but the first parameters, shorter where that is lower."""
    step = np.zeros(points.shape)
    step[:, first:] = np.einsum("nij,nj->ni", covariance, slope[:, first:])
    length = abs(step).max(axis=1, keepdims=True)
    step *= np.minimum(1, LONGEST_STEP / np.maximum(length, LONGEST_STEP))
    sizes = SHORTER ** np.arange(4.0)
    tried = points[:, None] + sizes[:, None] * step[:, None]
    # The first that is no lower, else none.
    better = density.value(tried) >= value[:, None] - 1e-9
    share = np.where(better.any(axis=1), sizes[better.argmax(axis=1)], 0.0)
    return points + share[:, None] * step
