"""Compiled parts of importance sampling: points of a proposal, and the density at many points.

Profile of a cell and random numbers → points and their log density; points of cells → values of
the posterior, and slopes. They have a file of their own since Numba keeps, to the end of the
process, all that is imported beside compiled code.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.density import evaluate_parts
from hmetad.likelihood.compiling import compiled

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

DEGREES_OF_FREEDOM = 6.0


class Profile(NamedTuple):
    """Posterior of every cell at a value of its main parameter; at several, with a second dim.

    Parameters
    ----------
    main : array, shape (cells,)
        Profiles at one place stand for none.
    log_mass : array, shape (cells,)
        Log density of the main parameter there, about, without its constant.
    centre : array, shape (cells, others)
        Mode of the other parameters.
    axes : array, shape (cells, others, others)
        Cholesky factor of their covariance at the mode.
    scales : array, shape (cells, others, 2)
        How much wider than a normal they are, below and above along each axis.
    slope : array, shape (cells, others)
        Of the centre along the main parameter.
    covariance : array, shape (cells, others, others)
    """

    main: Floats
    log_mass: Floats
    centre: Floats
    axes: Floats
    scales: Floats
    slope: Floats
    covariance: Floats


@compiled
def propose(
    profile: Profile,
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
    main, log_mass, centre = profile.main, profile.log_mass, profile.centre
    axes, scales = profile.axes, profile.scales
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


@compiled
def evaluate_points(points: Floats, places: Integers, packed: Integers, slopes: Floats) -> Floats:
    """Values (cells, n) of points (cells, n, own): the n-th of all cells at once.

    Slopes are written into `slopes`, of the same shape as points; empty ones are left so.
    """
    cells, number, own = points.shape
    x, gradient = np.empty(cells * own), np.empty(cells * own if len(slopes) else 0)
    values, by_cell = np.empty((cells, number)), np.empty(cells)
    for j in range(number):
        for i in range(cells):
            by_cell[i] = 0.0
            for k in range(own):
                x[places[i, k]] = points[i, j, k]
        evaluate_parts(x, packed, by_cell, gradient)
        values[:, j] = by_cell
        if len(slopes):
            for i in range(cells):
                for k in range(own):
                    slope = gradient[places[i, k]]
                    slopes[i, j, k] = slope if math.isfinite(slope) else 0.0
    return values
