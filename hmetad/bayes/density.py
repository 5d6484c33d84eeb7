"""The log posterior of a program and its gradient, compiled once for all models.

Program and free values → log posterior density and its gradient, with respect to the free values.
`hmetad.bayes.model` defines the same density in PyMC.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.effects_density import WORK, add_deviation_slopes, fill_deviations
from hmetad.bayes.packing import (
    AROUND_COLUMN,
    AROUND_FIRST,
    AROUND_MEAN,
    AROUND_PLACES,
    AROUND_SD,
    AROUND_WEIGHT,
    CELLS,
    CHOICES,
    COLUMN,
    CONSTANT,
    COUNTS,
    FIRST,
    LIKELIHOOD,
    LINKS,
    OFFSET_PLACES,
    OFFSETS,
    OWNERS,
    PRIOR_KINDS,
    PRIOR_PARAMETERS,
    PRIOR_PLACES,
    RATINGS,
    WEIGHT,
    pack,
    real,
    whole,
)
from hmetad.bayes.prior_density import log_prior
from hmetad.bayes.program import LINK_EXP, LINK_LOGISTIC, Program
from hmetad.likelihood.linear_gaussian_compiled import (
    add_value_and_gradient as add_linear_gaussian,
)
from hmetad.likelihood.lognormal_compiled import add_value_and_gradient as add_lognormal
from hmetad.likelihood.meta_d_compiled import add_value_and_gradient as add_meta_d
from hmetad.likelihood.tails import compiled

__all__ = ["Density", "evaluate", "evaluate_parts", "expand", "log_density"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Density = Callable[[Floats], tuple[float, Floats]]


def log_density(program: Program) -> Density:
    """Log posterior density of a program and its gradient.

    Parameters
    ----------
    program : Program

    Returns
    -------
    callable
        Free values, shape (free,) → log density, and its gradient, shape (free,).
    """
    packed = pack(program)

    def density(x: Floats) -> tuple[float, Floats]:
        gradient = np.empty(len(x))
        return evaluate(x, packed, gradient), gradient

    return density


@compiled
def evaluate(x: Floats, packed: Integers, gradient: Floats) -> float:
    """Log posterior density; its gradient is written into `gradient`."""
    by_cell = np.zeros(packed[CELLS])
    return evaluate_parts(x, packed, by_cell, gradient) + by_cell.sum()


@compiled
def evaluate_parts(x: Floats, packed: Integers, by_cell: Floats, gradient: Floats) -> float:
    """What all cells share of the log density; that of each cell is added to `by_cell`.

    A cell has its likelihood and the priors of its own values. The gradient of the whole is written
    into `gradient`; an empty one is left so.
    """
    cells, ratings = packed[CELLS], packed[RATINGS]
    effects = len(whole(packed, OFFSET_PLACES))
    values = np.empty(len(x) + effects)
    work = np.empty((WORK, effects))
    shared = fill_values(x, packed, values, work)
    parameters = real(packed, OFFSETS).copy()
    add_products(
        whole(packed, FIRST), whole(packed, COLUMN), real(packed, WEIGHT), values, parameters
    )
    is_sloped = len(gradient) > 0
    by_parameters = np.zeros((cells if is_sloped else 0, len(parameters) // cells))
    counts = real(packed, COUNTS).reshape(cells, 2, 2, ratings)
    of_cells, chosen = parameters.reshape(cells, -1), whole(packed, CHOICES)
    if packed[LIKELIHOOD] == 1:
        add_linear_gaussian(of_cells, counts, chosen, by_cell, by_parameters)
    elif packed[LIKELIHOOD] == 2:
        add_lognormal(of_cells, counts, chosen, by_cell, by_parameters)
    else:
        add_meta_d(of_cells, counts, chosen, by_cell, by_parameters)
    slopes = np.zeros(len(values))
    if is_sloped:
        add_transposed(
            whole(packed, FIRST), whole(packed, COLUMN), real(packed, WEIGHT),
            by_parameters.ravel(), slopes,
        )  # fmt: skip
    shared += add_priors(values, packed, by_cell, slopes)
    add_priors_around(values, packed, by_cell, slopes)
    if is_sloped:
        add_deviation_slopes(values, packed, work, slopes)
    shared += fill_gradient(x, values, packed, slopes, by_cell, gradient)
    return shared + real(packed, CONSTANT)[0]


@compiled
def expand(draws: Floats, packed: Integers) -> Floats:
    """Values (draws, values) of free values (draws, free)."""
    effects = len(whole(packed, OFFSET_PLACES))
    values = np.empty((len(draws), draws.shape[1] + effects))
    work = np.empty((WORK, effects))
    for i in range(len(draws)):
        fill_values(draws[i], packed, values[i], work)
    return values


@compiled
def fill_values(x: Floats, packed: Integers, values: Floats, work: Floats) -> float:
    """Fill in y and deviations; log density of the offsets."""
    links = whole(packed, LINKS)
    for i in range(len(links)):
        if links[i] == LINK_EXP:
            values[i] = math.exp(x[i])
        elif links[i] == LINK_LOGISTIC:
            values[i] = 1 / (1 + math.exp(-x[i]))
        else:
            values[i] = x[i]
    return fill_deviations(values, packed, work)


@compiled
def add_products(
    first: Integers, column: Integers, weight: Floats, values: Floats, out: Floats
) -> None:
    """Add rows times values."""
    for i in range(len(out)):
        total = 0.0
        for j in range(first[i], first[i + 1]):
            total += weight[j] * values[column[j]]
        out[i] += total


@compiled
def add_transposed(
    first: Integers, column: Integers, weight: Floats, slopes: Floats, out: Floats
) -> None:
    """Add the transposed rows times slopes."""
    for i in range(len(slopes)):
        for j in range(first[i], first[i + 1]):
            out[column[j]] += weight[j] * slopes[i]


@compiled
def fill_gradient(
    x: Floats, values: Floats, packed: Integers, slopes: Floats, by_cell: Floats, gradient: Floats
) -> float:
    """Slopes by the free values, from those by y; log Jacobian as `evaluate_parts`."""
    links, owners = whole(packed, LINKS), whole(packed, OWNERS)
    shared = 0.0
    is_sloped = len(gradient) > 0
    for i in range(len(links)):
        slope, jacobian = slopes[i], 0.0
        if links[i] == LINK_EXP:
            slope = slope * values[i] + 1
            jacobian = x[i]
        elif links[i] == LINK_LOGISTIC:
            slope = slope * values[i] * (1 - values[i]) + 1 - 2 * values[i]
            jacobian = math.log(values[i]) + math.log1p(-values[i])
        if is_sloped:
            gradient[i] = slope
        if owners[i] >= 0:
            by_cell[owners[i]] += jacobian
        else:
            shared += jacobian
    return shared


@compiled
def add_priors(values: Floats, packed: Integers, by_cell: Floats, slopes: Floats) -> float:
    """Log density of the priors of single values, as `evaluate_parts`; slopes are added."""
    places, codes = whole(packed, PRIOR_PLACES), whole(packed, PRIOR_KINDS)
    own, owners = real(packed, PRIOR_PARAMETERS), whole(packed, OWNERS)
    shared = 0.0
    for i in range(len(places)):
        at, a, b, nu = places[i], own[3 * i], own[3 * i + 1], own[3 * i + 2]
        value, slope = log_prior(codes[i], values[at], a, b, nu)
        slopes[at] += slope
        if owners[at] >= 0:
            by_cell[owners[at]] += value
        else:
            shared += value
    return shared


@compiled
def add_priors_around(values: Floats, packed: Integers, by_cell: Floats, slopes: Floats) -> None:
    """Log density of cells' normal priors around other values of theirs; slopes are added."""
    places, sd = whole(packed, AROUND_PLACES), real(packed, AROUND_SD)
    first, column = whole(packed, AROUND_FIRST), whole(packed, AROUND_COLUMN)
    weight, owners = real(packed, AROUND_WEIGHT), whole(packed, OWNERS)
    means = real(packed, AROUND_MEAN).copy()
    add_products(first, column, weight, values, means)
    for i in range(len(means)):
        score = (values[places[i]] - means[i]) / sd[i]
        by_cell[owners[places[i]]] -= score * score / 2 + math.log(sd[i])
        slopes[places[i]] -= score / sd[i]
        means[i] = score / sd[i]
    add_transposed(first, column, weight, means, slopes)
