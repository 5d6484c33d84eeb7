"""The log posterior of a program and its gradient, compiled once for all models.

Program and free values → log posterior density and its gradient, with respect to the free values.
`hmetad.bayes.model` defines the same density in PyMC.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.correlated_density import (
    add_deviation_slopes,
    add_multivariate_normal,
    fill_deviations,
)
from hmetad.bayes.prior_density import log_prior
from hmetad.bayes.program import LINK_EXP, LINK_LOGISTIC, Program
from hmetad.likelihood.meta_d_density import value_and_gradient as meta_d
from hmetad.likelihood.tails import compiled

__all__ = ["HEAD", "LENGTH", "MODULES", "Density", "evaluate", "log_density", "pack"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Density = Callable[[Floats], tuple[float, Floats]]

# Where likelihoods are compiled; `evaluate` calls each.
MODULES = ("hmetad.likelihood.meta_d_density",)
# A packed program is one row of integers: its length, place of the likelihood in `MODULES`, cells,
# ratings, where each of these arrays begins and where the last ends, and the arrays, those of
# numbers as their bits. One array is handed to compiled code faster than thirty.
(
    LINKS, OFFSET_PLACES, SCALE_PLACES, AVERAGES, AVERAGE_FIRST, AVERAGE_COLUMN, PRIOR_PLACES,
    PRIOR_KINDS, CENTRED_PLACES, CENTRED_SD_PLACES, CENTRED_FIRST, CENTRED_COLUMN, BLOCKS,
    BLOCK_FIRST, BLOCK_COLUMN, FIRST, COLUMN, CHOICES, AVERAGE_WEIGHT, PRIOR_PARAMETERS,
    CENTRED_SD, CENTRED_MEAN, CENTRED_WEIGHT, BLOCK_WEIGHT, OFFSETS, WEIGHT, COUNTS, CONSTANT,
) = range(28)  # fmt: skip
LENGTH, LIKELIHOOD, CELLS, RATINGS, HEAD = range(5)
BLOCK_FIELDS = 7


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


def pack(program: Program) -> Integers:
    """Program in one row of integers, as compiled code reads it."""
    p = program
    arrays = [
        p.links, p.products[:, 0], p.products[:, 1], p.averages, p.average_weights.first,
        p.average_weights.column, p.prior_places, p.prior_codes, p.centred[:, 0], p.centred[:, 1],
        p.centred_rows.first, p.centred_rows.column, p.blocks, p.block_rows.first,
        p.block_rows.column, p.rows.first, p.rows.column, p.choices, p.average_weights.weight,
        p.prior_parameters, p.centred_sd, p.centred_mean, p.centred_rows.weight,
        p.block_rows.weight, p.offsets, p.rows.weight, p.counts, np.array([p.constant]),
    ]  # fmt: skip
    rows = [
        (row.astype(float).view(np.int64) if k >= AVERAGE_WEIGHT else row.astype(np.int64))
        for k, row in enumerate(np.ascontiguousarray(array).ravel() for array in arrays)
    ]
    first = np.cumsum([HEAD + len(rows) + 1, *(len(row) for row in rows)])
    head = [first[-1], MODULES.index(p.density), len(p.counts), p.counts.shape[-1]]
    return np.concatenate([np.array(head), first, *rows]).astype(np.int64)


@compiled
def whole(packed: Integers, k: int) -> Integers:
    """The k-th array, of integers."""
    return packed[packed[HEAD + k] : packed[HEAD + k + 1]]


@compiled
def real(packed: Integers, k: int) -> Floats:
    """The k-th array, of numbers."""
    return packed[packed[HEAD + k] : packed[HEAD + k + 1]].view(np.float64)


@compiled
def evaluate(x: Floats, packed: Integers, gradient: Floats) -> float:
    """Log posterior density; its gradient is written into `gradient`."""
    cells, ratings = packed[CELLS], packed[RATINGS]
    value, values, parameters = forward(x, packed)
    by_parameters = np.zeros_like(parameters)
    counts = real(packed, COUNTS).reshape(cells, 2, 2, ratings)
    if packed[LIKELIHOOD] == 0:
        value += meta_d(parameters, counts, whole(packed, CHOICES), by_parameters)
    return value + backward(values, by_parameters, packed, gradient) + real(packed, CONSTANT)[0]


@compiled
def forward(x: Floats, packed: Integers) -> tuple[float, Floats, Floats]:
    """Log Jacobian of the links, all values, and the parameters of the cells."""
    links, averages = whole(packed, LINKS), whole(packed, AVERAGES)
    offset_places, scale_places = whole(packed, OFFSET_PLACES), whole(packed, SCALE_PLACES)
    n, m, q = len(links), len(offset_places), len(averages)
    values = np.empty(n + m + q)
    jacobian = 0.0
    for i in range(n):
        if links[i] == LINK_EXP:
            values[i] = math.exp(x[i])
            jacobian += x[i]
        elif links[i] == LINK_LOGISTIC:
            values[i] = 1 / (1 + math.exp(-x[i]))
            jacobian += math.log(values[i]) + math.log1p(-values[i])
        else:
            values[i] = x[i]
    for i in range(m):
        if offset_places[i] >= 0:
            values[n + i] = values[offset_places[i]] * values[scale_places[i]]
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    for b in range(len(blocks)):
        if blocks[b, 6] == 0:
            fill_deviations(blocks[b], values, n)
    first, column = whole(packed, AVERAGE_FIRST), whole(packed, AVERAGE_COLUMN)
    weight = real(packed, AVERAGE_WEIGHT)
    for i in range(q):
        shift = 0.0
        for j in range(first[i], first[i + 1]):
            shift += weight[j] * values[column[j]]
        values[n + m + i] = values[averages[i]] - shift
    parameters = real(packed, OFFSETS).copy()
    add_products(
        whole(packed, FIRST), whole(packed, COLUMN), real(packed, WEIGHT),
        values, parameters,
    )  # fmt: skip
    return jacobian, values, parameters.reshape(packed[CELLS], -1)


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
def backward(values: Floats, by_parameters: Floats, packed: Integers, gradient: Floats) -> float:
    """Log density of the priors; the slopes of the whole by the free values are written."""
    links, averages = whole(packed, LINKS), whole(packed, AVERAGES)
    offset_places, scale_places = whole(packed, OFFSET_PLACES), whole(packed, SCALE_PLACES)
    n, m, q = len(links), len(offset_places), len(averages)
    slopes = np.zeros(n + m + q)
    add_transposed(
        whole(packed, FIRST), whole(packed, COLUMN), real(packed, WEIGHT),
        by_parameters.ravel(), slopes,
    )  # fmt: skip
    total = add_priors(values, packed, slopes)
    total += add_centred_priors(values, packed, slopes)
    total += add_correlated_priors(values, packed, slopes)
    first, column = whole(packed, AVERAGE_FIRST), whole(packed, AVERAGE_COLUMN)
    weight = real(packed, AVERAGE_WEIGHT)
    for i in range(q):
        slope = slopes[n + m + i]
        slopes[averages[i]] += slope
        for j in range(first[i], first[i + 1]):
            slopes[column[j]] -= weight[j] * slope
    for i in range(m):
        if offset_places[i] >= 0:
            slopes[offset_places[i]] += slopes[n + i] * values[scale_places[i]]
            slopes[scale_places[i]] += slopes[n + i] * values[offset_places[i]]
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    for b in range(len(blocks)):
        if blocks[b, 6] == 0:
            add_deviation_slopes(blocks[b], values, slopes, n)
    for i in range(n):
        gradient[i] = slopes[i]
        if links[i] == LINK_EXP:
            gradient[i] = slopes[i] * values[i] + 1
        elif links[i] == LINK_LOGISTIC:
            gradient[i] = slopes[i] * values[i] * (1 - values[i]) + 1 - 2 * values[i]
    return total


@compiled
def add_priors(values: Floats, packed: Integers, slopes: Floats) -> float:
    """Log density of the priors of single values; slopes are added."""
    places, codes = whole(packed, PRIOR_PLACES), whole(packed, PRIOR_KINDS)
    own = real(packed, PRIOR_PARAMETERS)
    total = 0.0
    for i in range(len(places)):
        v, a, b, nu = values[places[i]], own[3 * i], own[3 * i + 1], own[3 * i + 2]
        value, slope = log_prior(codes[i], v, a, b, nu)
        total += value
        slopes[places[i]] += slope
    return total


@compiled
def add_centred_priors(values: Floats, packed: Integers, slopes: Floats) -> float:
    """Log density of centred effects around their means; slopes are added."""
    places, at_sd = whole(packed, CENTRED_PLACES), whole(packed, CENTRED_SD_PLACES)
    fixed_sd = real(packed, CENTRED_SD)
    first, column = whole(packed, CENTRED_FIRST), whole(packed, CENTRED_COLUMN)
    weight = real(packed, CENTRED_WEIGHT)
    means = real(packed, CENTRED_MEAN).copy()
    add_products(first, column, weight, values, means)
    by_means = np.empty(len(means))
    total = 0.0
    for i in range(len(means)):
        sd = values[at_sd[i]] if at_sd[i] >= 0 else fixed_sd[i]
        score = (values[places[i]] - means[i]) / sd
        total -= score * score / 2 + math.log(sd)
        slopes[places[i]] -= score / sd
        by_means[i] = score / sd
        if at_sd[i] >= 0:
            slopes[at_sd[i]] += (score * score - 1) / sd
    add_transposed(first, column, weight, by_means, slopes)
    return total


@compiled
def add_correlated_priors(values: Floats, packed: Integers, slopes: Floats) -> float:
    """Log density of correlated centred effects around their means; slopes are added."""
    first, column = whole(packed, BLOCK_FIRST), whole(packed, BLOCK_COLUMN)
    weight = real(packed, BLOCK_WEIGHT)
    means = np.zeros(len(first) - 1)
    add_products(first, column, weight, values, means)
    by_means = np.zeros(len(means))
    total = 0.0
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    for b in range(len(blocks)):
        if blocks[b, 6] == 1:
            total += add_multivariate_normal(blocks[b], values, means, slopes, by_means)
    add_transposed(first, column, weight, by_means, slopes)
    return total
