"""Maximum of the likelihood of units: Newton's method in a trust region, from several starts.

Units alike and their starting points → UnitMaximum of each. All units and starts move together, so
that a step of hundreds of them costs a few calls.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmetad.mle.units import AlikeUnits

__all__ = ["UnitMaximum", "maximise_units"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Of the differences of gradients that give second derivatives.
DIFFERENCE = 1e-4
STEPS = 300
SLOPE = 1e-6
# A slope as small as this is that of a maximum, or of a plateau that ends at an edge.
SMALL_SLOPE = 1e-3
# So many steps with such slopes end the search: near a maximum Newton's method needs fewer, and on
# a plateau it goes on for hundreds.
FLAT_STEPS = 6
# A coefficient on a log scale beyond the first is at an edge if the slope is small, as noise of
# e^-15. Beyond the second, or of another scale beyond the third, the search is lost in any case.
LARGEST_LOG, FARTHEST_LOG, FARTHEST = 15.0, 30.0, 300.0
# Standard errors of coefficients, on their own scale, above which counts do not determine them.
LARGEST_ERROR = 5.0
SMALLEST_CURVATURE = 1e-9
# Radius of the region at first, and below which a search is at its end.
RADIUS, SMALLEST_RADIUS = 0.5, 1e-9
# A step is taken where ℓ rises by this share of what was expected; above the second the region
# shrinks no more, above the third it grows.
TAKEN, KEPT, GROWN = 0.15, 0.25, 0.75
# Next to the maximum a rise of ℓ is lost in rounding, and the slope tells better.
ROUNDING = 1e-13
# Halvings that find the length of a step.
HALVINGS = 25


@dataclass(frozen=True)
class UnitMaximum:
    """Maximum of a unit.

    Parameters
    ----------
    point : array, shape (coefficients,)
    value : float
        ℓ, without multinomial coefficients.
    covariance : array, shape (coefficients, coefficients)
        Inverse of the observed information; where that is next to nothing, it is huge.
    is_open : array of bool, shape (coefficients,)
        Coefficients that counts do not determine: ℓ rises to an edge, or is flat.
    converged : bool
    """

    point: Floats
    value: float
    covariance: Floats
    is_open: NDArray[np.bool_]
    converged: bool


def maximise_units(units: AlikeUnits, starts: Floats) -> list[UnitMaximum]:
    """The highest maximum of each unit, from starts (units, starts, coefficients)."""
    number, each, size = starts.shape
    unit = np.repeat(np.arange(number), each)
    points, value, slopes = climb(units, starts.reshape(number * each, size).copy(), unit)
    highest = value.reshape(number, each).argmax(axis=1) + each * np.arange(number)
    points, value, slopes = points[highest], value[highest], slopes[highest]
    curvature, vectors = np.linalg.eigh(information(units, points, np.arange(number)))
    known = np.maximum(curvature, SMALLEST_CURVATURE)
    covariance = (vectors / known[:, None]) @ vectors.transpose(0, 2, 1)
    is_open = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)) > LARGEST_ERROR
    converged = np.isfinite(value) & (np.abs(slopes).max(axis=1, initial=0.0) < SMALL_SLOPE)
    return [
        UnitMaximum(points[k], float(value[k]), covariance[k], is_open[k], bool(converged[k]))
        for k in range(number)
    ]


def climb(units: AlikeUnits, points: Floats, unit: Integers) -> tuple[Floats, Floats, Floats]:
    """Where points of units end, with ℓ and its slopes there; `points` are moved."""
    is_log = np.array([name.startswith(("log_", "logit_")) for name in units.names])
    value, slopes = evaluate(units, points, unit)
    bend = np.zeros((*points.shape, points.shape[1]))
    radius, flat = np.full(len(points), RADIUS), np.zeros(len(points), np.int64)
    is_new = np.ones(len(points), dtype=bool)
    moving = np.flatnonzero(np.isfinite(value))
    for _ in range(STEPS):
        steepest = np.abs(slopes[moving]).max(axis=1, initial=0.0)
        far = np.abs(points[moving][:, is_log]).max(axis=1, initial=0.0)
        farther = np.abs(points[moving][:, ~is_log]).max(axis=1, initial=0.0)
        is_plateau = flat[moving] >= np.where(far > LARGEST_LOG, 1, FLAT_STEPS)
        is_lost = (far > FARTHEST_LOG) | (farther > FARTHEST)
        is_done = (steepest < SLOPE) | (radius[moving] < SMALLEST_RADIUS) | is_plateau | is_lost
        moving = moving[~is_done]
        if len(moving) == 0:
            break
        new = moving[is_new[moving]]
        if len(new):
            bend[new] = information(units, points[new], unit[new], slopes[new])
        step, expected = steps_within(slopes[moving], bend[moving], radius[moving])
        moved = points[moving] + step
        reached, inclines = evaluate(units, moved, unit[moving])
        rise = reached - value[moving]
        share = np.where(np.isfinite(reached), rise / expected, -1.0)
        level = -ROUNDING * (1 + np.abs(value[moving]))
        is_flatter = (rise >= level) & (
            np.abs(inclines).max(axis=1, initial=0.0) < steepest[~is_done]
        )
        is_taken = (share > TAKEN) | is_flatter
        length = np.linalg.norm(step, axis=1)
        is_full = length > 0.99 * radius[moving]
        radius[moving] = np.where(
            (share < KEPT) & ~is_flatter,
            length / 4,
            np.where((share > GROWN) & is_full, 2 * radius[moving], radius[moving]),
        )
        taken = moving[is_taken]
        points[taken], value[taken] = moved[is_taken], reached[is_taken]
        slopes[taken] = inclines[is_taken]
        is_new[moving] = is_taken
        is_small = np.abs(slopes[taken]).max(axis=1, initial=0.0) < SMALL_SLOPE
        flat[taken] = np.where(is_small, flat[taken] + 1, 0)
    return points, value, slopes


def evaluate(units: AlikeUnits, points: Floats, unit: Integers) -> tuple[Floats, Floats]:
    """ℓ and its slopes at points of units; ℓ is -∞ where it or a slope is no number."""
    value, slopes = units.value_and_gradient(points, unit)
    is_finite = np.isfinite(value) & np.isfinite(slopes).all(axis=1)
    return np.where(is_finite, value, -np.inf), np.where(is_finite[:, None], slopes, 0.0)


def information(
    units: AlikeUnits, points: Floats, unit: Integers, slopes: Floats | None = None
) -> Floats:
    """-∂²ℓ at points of units, by central differences.

    With slopes it is quicker, as a search may have it: its expectation, or one-sided differences.
    """
    if slopes is not None and units.has_information:
        return units.expected_information(points, unit)
    number, size = points.shape
    steps = DIFFERENCE * np.eye(size)
    if slopes is None:
        steps = np.vstack([steps, -steps])
    around = (points[:, None] + steps).reshape(-1, size)
    found = evaluate(units, around, np.repeat(unit, len(steps)))[1].reshape(number, -1, size)
    if slopes is None:
        bend = (found[:, size:] - found[:, :size]) / (2 * DIFFERENCE)
    else:
        bend = (slopes[:, None] - found) / DIFFERENCE
    return (bend + bend.transpose(0, 2, 1)) / 2


def steps_within(slopes: Floats, bend: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """Steps up the parabolas of slopes and bend, no longer than a radius; and how far they rise.

    A step is (bend + shift)⁻¹ slopes, with the smallest shift ≥ 0 that makes it short enough and
    the parabola concave (Moré & Sorensen 1983).
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
