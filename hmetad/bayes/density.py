"""The log posterior of a program and its gradient, compiled once for all models.

Arrays of a program and free values → log posterior density and its gradient, with respect to the
free values. `hmetad.bayes.model` defines the same density in PyMC. Vectors:

- x: the free values, without limits; y: the same on the scale of PyMC's variables, but that
  standard deviations with a half-normal prior may have either sign;
- deviations: the effects of groups, from their offsets as `hmetad.bayes.parametrisation`
  says;
- values: y and deviations in one row. The parameters of the cells are linear in them;
- u: what chains move in the place of x, as there.

Compiled code reads the arrays as one row of integers, which is handed to it faster than thirty
arrays: its length, cells, where each array begins and where the last ends, and the arrays, those of
numbers as their bits.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from hmetad.bayes.parametrisation import KINDS
from hmetad.likelihood.compiling import c_function, compiled, inlined
from hmetad.likelihood.tape import add_value_and_gradient
from hmetad.specs.layout import LINK_EXP, LINK_LOGISTIC

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

LENGTH, CELLS, HEAD = range(3)
# Fields of `ProgramArrays`: of integers, then, from `WEIGHT` on, of numbers.
(
    LINKS, OWNERS, PRIOR_PLACES, PRIOR_CODES, AROUND_PLACES, AROUND_FIRST, AROUND_COLUMN, BLOCKS,
    OFFSET_PLACES, SD_PLACES, MEAN_FIRST, MEAN_COLUMN, FIRST, COLUMN, TAPE, WARP_PLACES, WEIGHT,
    PRIOR_PARAMETERS, AROUND_SD, AROUND_MEAN, AROUND_WEIGHT, ESTIMATES, INFORMATION, MEAN_WEIGHT,
    OFFSETS, COUNTS, CONSTANT, SCALES, CENTRES, PRECISIONS, GROUP_WEIGHTS, GROUP_INFORMATION,
    ARRAYS,
) = range(33)  # fmt: skip
BLOCK_FIELDS = 4
# Codes of priors are their places in `hmetad.likelihood.priors.DISTRIBUTIONS`; LKJ's are the beta
# distributions of partial correlations.
NORMAL, STUDENT_T, HALF_NORMAL, EXPONENTIAL, GAMMA, LOG_NORMAL, UNIFORM_TIMES, _ = range(8)
# Rows of what is kept of each deviation for its slopes: score, m - μ, 1/root, and the slope of the
# score in the effects of the group that come later.
SCORE, REST, INVERSE, LATER, WORK = range(5)
# A product of numbers below 1 is this small at most before its logarithm is taken.
SMALLEST_PRODUCT = 1e-200
EULER = 0.5772156649015329
LENTZ_STEPS = 200
SERIES_BELOW = 1.5
# What nutpie takes for a gradient or a density that is not finite.
NO_GRADIENT, NO_DENSITY = 3, 4


class ProgramArrays(NamedTuple):
    """The log posterior of a model as arrays; sparse matrices by rows.

    Entries of row i of a matrix are first[i]:first[i + 1] of its columns and weights.

    Parameters
    ----------
    links, owners : array of int, shape (free,)
        Of each free value, and the place of the cell that alone has it; -1 where several do.
    prior_places, prior_codes : array of int, shape (priors,)
        Which value has which prior, with `prior_parameters` (priors, 3).
    around_places, around_first, around_column : array of int
        Places in y of values that are normal around others, with the standard deviation
        `around_sd` and the mean `around_mean` and what the rows (around, values) add.
    blocks : array of int, shape (blocks, 4)
        Blocks of effects: their first deviation and that after their last, the number of effects
        of a group that are correlated (1 where none are), and the place in y of the first partial
        correlation. Effects of a group follow each other.
    offset_places, sd_places : array of int, shape (deviations,)
        Places in y of their offsets and standard deviations.
    mean_first, mean_column : array of int
        Of the rows (deviations, values) with the mean μ, of y and deviations before it.
    first, column : array of int
        Of the rows (cells * columns, values) with the cells' parameters, beside their `offsets`.
    tape : array of int
        What the likelihood's kernel is made to compute.
    estimates, information : array, shape (deviations,)
        m and h of each.
    counts : array, shape (cells, *outcomes)
    constant : float
        What the log posterior has beside.
    scales, warp_places, centres, precisions, group_weights, group_information : array
        As `hmetad.bayes.parametrisation.Warp` has them.
    """

    links: Integers
    owners: Integers
    prior_places: Integers
    prior_codes: Integers
    around_places: Integers
    around_first: Integers
    around_column: Integers
    blocks: Integers
    offset_places: Integers
    sd_places: Integers
    mean_first: Integers
    mean_column: Integers
    first: Integers
    column: Integers
    tape: Integers
    warp_places: Integers
    weight: Floats
    prior_parameters: Floats
    around_sd: Floats
    around_mean: Floats
    around_weight: Floats
    estimates: Floats
    information: Floats
    mean_weight: Floats
    offsets: Floats
    counts: Floats
    constant: float
    scales: Floats
    centres: Floats
    precisions: Floats
    group_weights: Floats
    group_information: Floats

    @property
    def size(self) -> int:
        """Number of free values."""
        return len(self.links)


assert len(ProgramArrays._fields) == ARRAYS, "a place for each field"


def pack(arrays: ProgramArrays) -> Integers:
    """Arrays of a program in one row of integers."""
    rows = [
        (row.astype(float).view(np.int64) if k >= WEIGHT else row.astype(np.int64))
        for k, row in enumerate(np.ascontiguousarray(array).ravel() for array in arrays)
    ]
    first = np.cumsum([HEAD + ARRAYS + 1, *(len(row) for row in rows)])
    head = np.array([first[-1], len(arrays.counts)])
    return np.concatenate([head, first, *rows]).astype(np.int64)


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
    by_cell = np.zeros(packed[CELLS])
    return evaluate_parts(x, packed, by_cell, gradient) + by_cell.sum()


@compiled
def evaluate_parts(x: Floats, packed: Integers, by_cell: Floats, gradient: Floats) -> float:
    """What all cells share of the log density; that of each cell is added to `by_cell`.

    A cell has its likelihood and the priors of its own values. The gradient of the whole is written
    into `gradient`; an empty one is left so.
    """
    cells, is_sloped = packed[CELLS], len(gradient) > 0
    shared, values, work, parameters = parameters_at(x, packed)
    by_parameters = np.zeros((cells if is_sloped else 0, parameters.shape[1]))
    counts = real(packed, COUNTS).reshape(cells, -1)
    add_value_and_gradient(parameters, counts, whole(packed, TAPE), by_cell, by_parameters)
    slopes = np.zeros(len(values))
    return shared + add_rest(x, values, work, packed, by_parameters, slopes, by_cell, gradient)


@compiled
def parameters_at(x: Floats, packed: Integers) -> tuple[float, Floats, Floats, Floats]:
    """Log density of offsets, values, `WORK` of deviations, and parameters (cells, columns)."""
    effects = len(whole(packed, OFFSET_PLACES))
    values = np.empty(len(x) + effects)
    work = np.empty((WORK, effects))
    shared = fill_values(x, packed, values, work)
    parameters = real(packed, OFFSETS).copy()
    add_products(
        whole(packed, FIRST), whole(packed, COLUMN), real(packed, WEIGHT), values, parameters
    )
    return shared, values, work, parameters.reshape(packed[CELLS], -1)


@compiled
def add_rest(
    x: Floats,
    values: Floats,
    work: Floats,
    packed: Integers,
    by_parameters: Floats,
    slopes: Floats,
    by_cell: Floats,
    gradient: Floats,
) -> float:
    """All but the likelihood and offsets, as `evaluate_parts`; and the gradient of everything.

    `by_parameters` are slopes of the likelihood, (cells, columns), and `slopes` what it has by
    values besides.
    """
    is_sloped = len(gradient) > 0
    if is_sloped:
        add_transposed(
            whole(packed, FIRST), whole(packed, COLUMN), real(packed, WEIGHT),
            by_parameters.ravel(), slopes,
        )  # fmt: skip
    shared = add_priors(values, packed, by_cell, slopes)
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
    places, codes = whole(packed, PRIOR_PLACES), whole(packed, PRIOR_CODES)
    own, owners = real(packed, PRIOR_PARAMETERS), whole(packed, OWNERS)
    shared = 0.0
    for i in range(len(places)):
        at = places[i]
        value, slope = log_prior(codes[i], values[at], own[3 * i], own[3 * i + 1], own[3 * i + 2])
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


@compiled
def fill_deviations(values: Floats, packed: Integers, work: Floats) -> float:
    """Fill in deviations, and `work` (`WORK`, deviations); log density of their offsets."""
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    total, alone = 0.0, np.ones((1, 1))
    for b in range(len(blocks)):
        start, stop, size, partial = blocks[b]
        if size == 1:
            total += fill_block(start, stop, 1, alone, values, packed, work)
        else:
            lower = correlation_factor(partial, size, values)
            total += fill_block(start, stop, size, lower, values, packed, work)
    return total


@compiled
def add_deviation_slopes(values: Floats, packed: Integers, work: Floats, slopes: Floats) -> None:
    """Add slopes of offsets, standard deviations, correlations and what is in the means.

    `slopes` has those of the deviations. Later blocks have deviations of earlier ones in their
    means, so the last comes first.
    """
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    alone = np.ones((1, 1))
    for b in range(len(blocks) - 1, -1, -1):
        start, stop, size, partial = blocks[b]
        if size == 1:
            add_block_slopes(start, stop, 1, alone, alone, values, packed, work, slopes)
        else:
            lower, by_lower = correlation_factor(partial, size, values), np.zeros((size, size))
            add_block_slopes(start, stop, size, lower, by_lower, values, packed, work, slopes)
            add_factor_slopes(partial, values, lower, by_lower, slopes)


@inlined
def fill_block(
    start: int, stop: int, size: int, lower: Floats, values: Floats, packed: Integers, work: Floats
) -> float:
    """`fill_deviations` of a block, of which so many effects of a group are correlated."""
    n, offset_places = len(whole(packed, LINKS)), whole(packed, OFFSET_PLACES)
    sd_places, information = whole(packed, SD_PLACES), real(packed, INFORMATION)
    estimates, weight = real(packed, ESTIMATES), real(packed, MEAN_WEIGHT)
    first, column = whole(packed, MEAN_FIRST), whole(packed, MEAN_COLUMN)
    total, product = 0.0, 1.0
    for group in range(start, stop, size):
        for k in range(size):
            i = group + k
            before = 0.0
            for j in range(k):
                before += lower[k, j] * work[SCORE, group + j]
            sd = values[sd_places[i]]
            own = sd * lower[k, k]
            rest = estimates[i] - sd * before
            for j in range(first[i], first[i + 1]):
                rest -= weight[j] * values[column[j]]
            pull = information[i] * own
            share = 1 / (1 + pull * own)
            inverse = math.sqrt(share)
            score = (values[offset_places[i]] + pull * rest * inverse) * inverse
            work[SCORE, i], work[REST, i], work[INVERSE, i] = score, rest, inverse
            if size > 1:
                work[LATER, i] = 0.0
            values[n + i] = sd * before + own * score
            total -= score * score
            product *= share
            if product < SMALLEST_PRODUCT:
                total += math.log(product)
                product = 1.0
    return (total + math.log(product)) / 2


@inlined
def add_block_slopes(
    start: int,
    stop: int,
    size: int,
    lower: Floats,
    by_lower: Floats,
    values: Floats,
    packed: Integers,
    work: Floats,
    slopes: Floats,
) -> None:
    """`add_deviation_slopes` of a block, as `fill_block`; slopes by `lower` are added too."""
    n, offset_places = len(whole(packed, LINKS)), whole(packed, OFFSET_PLACES)
    sd_places, information = whole(packed, SD_PLACES), real(packed, INFORMATION)
    first, column = whole(packed, MEAN_FIRST), whole(packed, MEAN_COLUMN)
    weight = real(packed, MEAN_WEIGHT)
    for group in range(start, stop, size):
        for k in range(size - 1, -1, -1):
            i = group + k
            before = 0.0
            for j in range(k):
                before += lower[k, j] * work[SCORE, group + j]
            score, inverse, slope = work[SCORE, i], work[INVERSE, i], slopes[n + i]
            sd, known = values[sd_places[i]], information[i]
            own = sd * lower[k, k]
            share, pull = inverse * inverse, known * own
            of_score = own * slope - score
            if size > 1:
                of_score += work[LATER, i]
            by_own = of_score * (known * work[REST, i] * share - score * pull) - pull
            by_own = score * slope + by_own * share
            slopes[offset_places[i]] += of_score * inverse
            by_rest = of_score * pull * share
            for j in range(first[i], first[i + 1]):
                slopes[column[j]] -= weight[j] * by_rest
            slopes[sd_places[i]] += before * (slope - by_rest) + lower[k, k] * by_own
            if size > 1:
                by_lower[k, k] += sd * by_own
                for j in range(k):
                    by_lower[k, j] += work[SCORE, group + j] * sd * (slope - by_rest)
                    work[LATER, group + j] += lower[k, j] * sd * (slope - by_rest)


@compiled
def correlation_factor(place: int, size: int, values: Floats) -> Floats:
    """Cholesky factor of correlations, from their partial correlations at a place.

    Source: Lewandowski, Kurowicka & Joe (2009).
    """
    lower = np.zeros((size, size))
    for i in range(size):
        left = 1.0
        for j in range(i):
            partial = 2 * values[place] - 1
            place += 1
            lower[i, j] = partial * math.sqrt(left)
            left *= 1 - partial * partial
        lower[i, i] = math.sqrt(left)
    return lower


@compiled
def add_factor_slopes(
    place: int, values: Floats, lower: Floats, by_lower: Floats, slopes: Floats
) -> None:
    """Slopes of the partial correlations, from those of the Cholesky factor."""
    for i in range(1, len(lower)):
        first = place + i * (i - 1) // 2
        for j in range(i):
            partial = 2 * values[first + j] - 1
            # Later entries of the row have the factor sqrt(1 - partial²).
            later = 0.0
            for k in range(j + 1, i + 1):
                later += by_lower[i, k] * lower[i, k]
            rest = 1 - partial * partial
            left = 1.0
            for k in range(j):
                left *= 1 - (2 * values[first + k] - 1) ** 2
            slopes[first + j] += 2 * (by_lower[i, j] * math.sqrt(left) - later * partial / rest)


@compiled
def log_prior(code: int, v: float, a: float, b: float, c: float) -> tuple[float, float]:
    """Log density of a prior at v without its constant, and its slope; a, b, c in their order."""
    if code == NORMAL:
        score = (v - a) / b
        return -score * score / 2, -score / b
    if code == STUDENT_T:
        nu, score = a, (v - b) / c
        square = score * score
        return -(nu + 1) / 2 * math.log1p(square / nu), -(nu + 1) * score / c / (nu + square)
    if code == HALF_NORMAL:
        score = v / a
        return -score * score / 2, -score / a
    if code == EXPONENTIAL:
        return -a * v, -a
    if code == GAMMA:
        return (a - 1) * math.log(v) - b * v, (a - 1) / v - b
    if code == LOG_NORMAL:
        score = (math.log(v) - a) / b
        return -math.log(v) - score * score / 2, -(1 + score / b) / v
    if code == UNIFORM_TIMES:
        half = (v / a) ** 2 / 2
        value, slope = log_exponential_integral(half)
        return value, slope * v / (a * a)
    return (a - 1) * (math.log(v) + math.log1p(-v)), (a - 1) * (1 / v - 1 / (1 - v))


@compiled
def log_prior_sums(code: int, a: float, b: float, c: float, values: Floats) -> Floats:
    """Sums over the elements of values (draws, elements) of `log_prior`."""
    found = np.zeros(len(values))
    for i in range(len(values)):
        for value in values[i]:
            found[i] += log_prior(code, value, a, b, c)[0]
    return found


@compiled
def log_exponential_integral(x: float) -> tuple[float, float]:
    """log E₁(x) for x > 0 and its derivative: power series near 0, continued fraction beyond.

    Source: Abramowitz & Stegun (1964), 5.1.11 and 5.1.22; the fraction by Lentz's method.
    """
    if x < SERIES_BELOW:
        total, power = -EULER - math.log(x), 1.0
        for k in range(1, 40):
            power *= -x / k
            total -= power / k
        return math.log(total), -math.exp(-x) / (x * total)
    b = x + 1
    c, d = 1e300, 1 / b
    fraction = d
    for k in range(1, LENTZ_STEPS):
        a = -k * k
        b += 2
        d = 1 / (a * d + b)
        c = b + a / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return math.log(fraction) - x, -1 / (x * fraction)


@compiled
def precision_at(k: int, place: int, x: Floats, packed: Integers) -> tuple[float, float]:
    """What is known of a coefficient where its SD is the one at a place, and the slope by that."""
    is_log = whole(packed, LINKS)[place] == LINK_EXP
    sd = math.exp(x[place]) if is_log else x[place]
    weights, information = real(packed, GROUP_WEIGHTS), real(packed, GROUP_INFORMATION)
    total, slope = real(packed, PRECISIONS)[k], 0.0
    for i in range(k * KINDS, (k + 1) * KINDS):
        share = information[i] / (1 + information[i] * sd * sd)
        total += weights[i] * share
        slope -= 2 * sd * weights[i] * share * share
    return total, slope * sd if is_log else slope


@compiled
def unwarp(u: Floats, packed: Integers, x: Floats) -> float:
    """Fill in the free values, of what chains move; log Jacobian, but for a constant."""
    scales, centres = real(packed, SCALES), real(packed, CENTRES)
    places = whole(packed, WARP_PLACES)
    total = 0.0
    for i in range(len(u)):
        x[i] = u[i]
        if scales[i] > 0:
            x[i] = scales[i] * math.sinh(u[i])
            total += abs(u[i]) + math.log1p(math.exp(-2 * abs(u[i])))
    for k in range(len(centres)):
        place = places[2 * k]
        known, _ = precision_at(k, places[2 * k + 1], x, packed)
        x[place] = centres[k] + u[place] / math.sqrt(known)
        total -= math.log(known) / 2
    return total


@compiled
def pull_back(u: Floats, x: Floats, packed: Integers, gradient: Floats) -> None:
    """Turn slopes by the free values into those by what chains move."""
    scales, places = real(packed, SCALES), whole(packed, WARP_PLACES)
    for k in range(len(places) // 2):
        place, sd_place = places[2 * k], places[2 * k + 1]
        known, slope = precision_at(k, sd_place, x, packed)
        gradient[place] /= math.sqrt(known)
        gradient[sd_place] -= (gradient[place] * u[place] + 1) * slope / (2 * known)
    for i in range(len(u)):
        if scales[i] > 0:
            gradient[i] = gradient[i] * scales[i] * math.cosh(u[i]) + math.tanh(u[i])


@compiled
def warped(x: Floats, packed: Integers) -> Floats:
    """What chains move (free,), at these free values."""
    scales, centres = real(packed, SCALES), real(packed, CENTRES)
    places = whole(packed, WARP_PLACES)
    u = x.copy()
    for k in range(len(centres)):
        place = places[2 * k]
        known, _ = precision_at(k, places[2 * k + 1], x, packed)
        u[place] = (x[place] - centres[k]) * math.sqrt(known)
    for i in range(len(u)):
        if scales[i] > 0:
            u[i] = math.asinh(x[i] / scales[i])
    return u


@compiled
def evaluate_warped(u: Floats, packed: Integers, gradient: Floats) -> float:
    """Log posterior density of what chains move, but for a constant, and its gradient."""
    x = np.empty(len(u))
    jacobian = unwarp(u, packed, x)
    value = evaluate(x, packed, gradient)
    pull_back(u, x, packed, gradient)
    return value + jacobian


def evaluate_at(size: int, u: Any, gradient: Any, value: Any, packed: Any) -> int:
    """`evaluate_warped` at addresses; 0 where all is finite."""
    row = carray(packed, (carray(packed, (HEAD,), np.int64)[LENGTH],), np.int64)
    slopes = carray(gradient, (size,))
    found = evaluate_warped(carray(u, (size,)), row, slopes)
    carray(value, (1,))[0] = found
    for i in range(size):
        if not math.isfinite(slopes[i]):
            return NO_GRADIENT
    return 0 if math.isfinite(found) else NO_DENSITY


def copy_draw(size: int, length: int, u: Any, out: Any, packed: Any) -> int:
    """Free values as nutpie keeps them."""
    row = carray(packed, (carray(packed, (HEAD,), np.int64)[LENGTH],), np.int64)
    unwarp(carray(u, (size,)), row, carray(out, (length,)))
    return 0


@cache
def c_functions() -> tuple[Any, Any]:
    """`evaluate_at` and `copy_draw` in C, which nutpie calls without Python.

    They are compiled at the first call, unless they are in Numba's cache.
    """
    number, numbers = types.uint64, types.CPointer(types.double)
    density = types.int64(number, numbers, numbers, numbers, types.voidptr)
    draw = types.int64(number, number, numbers, numbers, types.voidptr)
    return (
        c_function(density, evaluate_at, error_model="numpy"),
        c_function(draw, copy_draw),
    )
