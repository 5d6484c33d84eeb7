"""The maximum near a start, of many functions at once: Newton's method in a trust region.

Function of the points of some units, and where they start → Maximised. A unit is maximised
separately: a cell, or cells that share coefficients. All units move together, so that a step of
hundreds costs a few calls. What differs between models is their function, its curvature (exact, by
differences, or expected as in Fisher scoring), and when a search ends.
Source: Moré & Sorensen (1983).

Functions of single cells that are compiled, with exact curvature, are maximised in compiled code,
cell by cell (`maximise_compiled`), with damping instead of a region (Levenberg & Marquardt).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled, inlined

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
# Points (n, unknowns) and their units (n,) → value (n,), slopes, and minus the second derivatives;
# these are None where they come from a function of their own.
type Evaluate = Callable[[Floats, Integers], tuple[Floats, Floats, Floats | None]]

# A step is taken where the function rises by this share of what was expected; above the second the
# region shrinks no more, above the third it grows.
TAKEN, KEPT, GROWN = 0.15, 0.25, 0.75
# Radius of the region below which a search is at its end.
SMALLEST_RADIUS = 1e-9
SMALLEST_CURVATURE = 1e-9
# Of a maximum, or of a plateau that ends at an edge.
SMALL_SLOPE = 1e-3
# Next to the maximum a rise is lost in rounding, and the slope tells better.
ROUNDING = 1e-13
# Of compiled searches.
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-3, 1e-14, 1e12
# Halvings that find the length of a step.
HALVINGS = 25


@dataclass(frozen=True)
class Stop:
    """When the maximise of a unit ends.

    Parameters
    ----------
    slope, step : float
        No slope is larger, or no unknown moved farther in a step.
    far, edge : float or array, shape (unknowns,)
        An unknown beyond `far` is lost; beyond `edge`, one step with small slopes is enough.
    flat_steps : int
        So many steps with small slopes.
    steps : int
    radius : float
        Of the region at first.
    """

    slope: float = 0.0
    step: float = 0.0
    far: Floats | float = np.inf
    edge: Floats | float = np.inf
    flat_steps: int = 1_000_000
    steps: int = 300
    radius: float = np.inf


@dataclass(frozen=True)
class Maximised:
    """Where units ended: points and slopes (units, unknowns), values (units,), curvature.

    `is_done` is False where steps ran out.
    """

    points: Floats
    value: Floats
    slopes: Floats
    bend: Floats
    is_done: NDArray[np.bool_]


def maximise(
    evaluate: Evaluate,
    starts: Floats,
    stop: Stop,
    curvature: Callable[[Floats, Integers, Floats], Floats] | None = None,
) -> Maximised:
    """Maxima that are reached from starts (units, unknowns).

    A unit whose value is not finite stays where it is. `curvature` takes points, units and slopes.
    """
    number, size = starts.shape
    points = starts.copy()
    value, slopes, found = evaluate_finite(evaluate, points, np.arange(number))
    bend = np.zeros((number, size, size)) if found is None else found
    radius, flat = np.full(number, stop.radius), np.zeros(number, np.int64)
    is_new, is_done = np.full(number, found is None), ~np.isfinite(value)
    for _ in range(stop.steps):
        rows = np.flatnonzero(~is_done)
        now, steepest = np.abs(points[rows]), np.abs(slopes[rows]).max(axis=1, initial=0.0)
        enough = np.where((now > stop.edge).any(axis=1), 1, stop.flat_steps)
        is_over = (steepest < stop.slope) | (radius[rows] < SMALLEST_RADIUS)
        is_over |= (flat[rows] >= enough) | (now > stop.far).any(axis=1)
        is_done[rows] = is_over
        moving = rows[~is_over]
        if len(moving) == 0:
            break
        new = moving[is_new[moving]]
        if curvature is not None and len(new):
            bend[new] = curvature(points[new], new, slopes[new])
        step, expected = steps_within(slopes[moving], bend[moving], radius[moving])
        moved = points[moving] + step
        reached, inclines, bent = evaluate_finite(evaluate, moved, moving)
        rise = reached - value[moving]
        share = np.divide(rise, expected, out=-np.ones(len(rise)), where=expected > 0)
        flatness = np.abs(inclines).max(axis=1, initial=0.0)
        is_level = rise >= -ROUNDING * (1 + np.abs(value[moving]))
        is_flatter = is_level & (flatness < steepest[~is_over])
        is_taken = (share > TAKEN) | is_flatter
        length = np.linalg.norm(step, axis=1)
        is_wide = (share > GROWN) & (length > 0.99 * radius[moving])
        same = np.where(is_wide, 2 * radius[moving], radius[moving])
        radius[moving] = np.where((share < KEPT) & ~is_flatter, length / 4, same)
        taken = moving[is_taken]
        points[taken], value[taken] = moved[is_taken], reached[is_taken]
        slopes[taken] = inclines[is_taken]
        if bent is not None:
            bend[taken] = bent[is_taken]
        is_new[moving] = is_taken
        flat[taken] = np.where(flatness[is_taken] < SMALL_SLOPE, flat[taken] + 1, 0)
        is_done[moving] = np.abs(step).max(axis=1, initial=0.0) <= stop.step
    return Maximised(points, value, slopes, bend, is_done)


def evaluate_finite(
    evaluate: Evaluate, points: Floats, rows: Integers
) -> tuple[Floats, Floats, Floats | None]:
    """What a function returns, but -∞ where the value or a derivative is no number."""
    # A step may lead anywhere.
    with np.errstate(all="ignore"):
        value, slopes, bend = evaluate(points, rows)
    is_finite = np.isfinite(value) & np.isfinite(slopes).all(axis=1)
    if bend is not None:
        is_finite &= np.isfinite(bend).all(axis=(1, 2))
    return np.where(is_finite, value, -np.inf), np.where(is_finite[:, None], slopes, 0.0), bend


def steps_within(slopes: Floats, bend: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """Steps up the parabolas of slopes and bend, no longer than a radius; and how far they rise.

    A step is (bend + shift)⁻¹ slopes, with the smallest shift ≥ 0 that makes it short enough and
    the parabola concave.
    """
    curvature, vectors = np.linalg.eigh(bend)
    rise = (slopes[:, None] @ vectors)[:, 0]
    smallest = curvature[:, 0]
    lower = np.maximum(0.0, SMALLEST_CURVATURE * (1 + np.abs(smallest)) - smallest)
    upper = lower + np.linalg.norm(slopes, axis=1) / radius
    direct = rise / (curvature + lower[:, None])
    is_long = np.linalg.norm(direct, axis=1) > radius
    for _ in range(HALVINGS if is_long.any() else 0):
        middle = (lower + upper) / 2
        is_short = np.linalg.norm(rise / (curvature + middle[:, None]), axis=1) <= radius
        lower, upper = np.where(is_short, lower, middle), np.where(is_short, middle, upper)
    own = np.where(is_long[:, None], rise / (curvature + upper[:, None]), direct)
    expected = (rise * own - curvature * own**2 / 2).sum(axis=1)
    return (vectors @ own[..., None])[..., 0], expected


class Rule(NamedTuple):
    """How cells are maximised in compiled code; the last unknown has bounds, and the others not.

    Parameters
    ----------
    smallest, largest : array, shape (unknowns,)
        Between these an unknown moves in a step.
    far : array, shape (unknowns,)
        Beyond, an unknown is lost.
    slope, rounding : float
        Largest slope at the end; rise that is lost in rounding, relative to the value.
    steps : int
    """

    smallest: Floats
    largest: Floats
    far: Floats
    slope: float
    rounding: float
    steps: int


class Room(NamedTuple):
    """Scratch space of a cell, at a point and at one that is tried."""

    slopes: Floats
    bend: Floats
    tried: Floats
    new_slopes: Floats
    new_bend: Floats
    factor: Floats
    step: Floats


@inlined
def maximise_compiled(
    evaluate: Any, data: Any, rule: Rule, points: Floats, bounds: Floats, found: Floats
) -> None:
    """Move points (cells, unknowns) to the maxima that are reached from them.

    `evaluate` is compiled: point, cell, data, slopes and minus the Hessian's lower triangle, both
    of zeros, which it sets → value. `bounds` (cells, 2) are those of the last unknown, `found`
    (cells, 2) gets value and largest slope. Call it in a function that is compiled, and cached.
    """
    size = points.shape[1]
    room = Room(
        np.zeros(size), np.zeros((size, size)), np.zeros(size), np.zeros(size),
        np.zeros((size, size)), np.zeros((size, size)), np.zeros(size),
    )  # fmt: skip
    slopes, bend, tried, new_slopes, new_bend, _, step = room
    for cell in range(len(points)):
        x, (lower, upper) = points[cell], bounds[cell]
        slopes[:], bend[:] = 0.0, 0.0
        value = evaluate(x, cell, data, slopes, bend)
        free = count_free(x, slopes, lower, upper)
        slope, damping = steepest(slopes, free), FIRST_DAMPING
        for _ in range(rule.steps):
            if slope < rule.slope or (np.abs(x) > rule.far).any():
                break
            # Next to the maximum the value is lost in rounding, and the slope tells better.
            level, is_better = value - rule.rounding * (1 + abs(value)), False
            while not is_better and damping < LARGEST_DAMPING:
                if not set_step(free, damping, rule, room):
                    damping *= 10
                    continue
                for i in range(size):
                    tried[i] = x[i] + step[i]
                tried[-1] = min(max(tried[-1], lower), upper)
                new_slopes[:], new_bend[:] = 0.0, 0.0
                new = evaluate(tried, cell, data, new_slopes, new_bend)
                new_free = count_free(tried, new_slopes, lower, upper)
                new_slope = steepest(new_slopes, new_free)
                is_better = new > value or (new >= level and new_slope < slope)
                if not is_better:
                    damping *= 10
            if not is_better:
                break
            value, slope, free = new, new_slope, new_free
            damping = max(damping / 10, LEAST_DAMPING)
            x[:], slopes[:], bend[:] = tried, new_slopes, new_bend
        found[cell, 0], found[cell, 1] = value, slope


@compiled
def count_free(x: Floats, slopes: Floats, lower: float, upper: float) -> int:
    """How many unknowns may move: all, or all but the last, which is pressed against a bound."""
    is_held = (x[-1] <= lower and slopes[-1] < 0) or (x[-1] >= upper and slopes[-1] > 0)
    return len(x) - 1 if is_held else len(x)


@compiled
def steepest(slopes: Floats, free: int) -> float:
    """Largest slope of the unknowns that may move."""
    largest = 0.0
    for i in range(free):
        largest = max(largest, abs(slopes[i]))
    return largest


@compiled
def factorise(size: int, bend: Floats, damping: float, factor: Floats) -> bool:
    """Set Cholesky's factor of the first rows of a matrix; whether it is positive definite."""
    for i in range(size):
        first = 0
        while first < i and bend[i, first] == 0:
            factor[i, first] = 0.0
            first += 1
        for j in range(first, i + 1):
            total = bend[i, j] + (damping if i == j else 0.0)
            for k in range(first, j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total / factor[j, j]
            elif total > 0:
                factor[i, i] = math.sqrt(total)
            else:
                return False
    return True


@compiled
def set_step(free: int, damping: float, rule: Rule, room: Room) -> bool:
    """Damped Newton step of the unknowns that may move; whether it leads to a maximum."""
    slopes, bend, _, _, _, factor, step = room
    if not factorise(free, bend, damping, factor):
        return False
    step[free:] = 0.0
    for i in range(free):
        total = slopes[i]
        for k in range(i):
            total -= factor[i, k] * step[k]
        step[i] = total / factor[i, i]
    for i in range(free - 1, -1, -1):
        for k in range(i + 1, free):
            step[i] -= factor[k, i] * step[k]
        step[i] /= factor[i, i]
    for i in range(free):
        step[i] = min(max(step[i], rule.smallest[i]), rule.largest[i])
    return True


def best_of(value: Floats) -> Integers:
    """Place of the highest of each row of values (cells, starts), in the flat array of them."""
    number, each = value.shape
    return np.nan_to_num(value, nan=-np.inf).argmax(axis=1) + each * np.arange(number)
