"""The meta-d′ likelihood, compiled: value and gradient fused into one pass over the counts.

Arguments of cells and count table (NumPy arrays) → log-likelihood per cell and its derivatives, by
arguments or by the parameters of the models; expected information. `hmetad.likelihood.meta_d` says
what is computed; this file says how to do it fast and without losing digits in the tails.

Cells are taken in blocks that fit the processor's first cache. Of a block, all edges are laid out
in a row, then all normal tails are computed at once, then all logarithms. Neighbouring ratings
share an edge, so there are K edges a side where there are K areas. Where that would lose digits,
because an edge lies beyond `tails.FAR` or a gap is below `tails.NARROW`, a cell's outcomes are
computed one by one (`hmetad.likelihood.meta_d_exact`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.meta_d_exact import GAPS, KAPPA, C, D, M, add_far_cell, add_information
from hmetad.likelihood.outcomes import columns_of
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.tails import (
    FAR,
    LOG_SQRT_2PI,
    NARROW,
    compiled,
    fill_logarithms,
    fill_tails,
    log_tail,
    mills,
)

__all__ = [
    "MOMENTS",
    "add_value_and_gradient",
    "choices",
    "evaluate",
    "expected_information",
    "parameter_shapes",
]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Flags = NDArray[np.bool_]

# Mean and SD of sorted criteria.
MOMENTS = ("criteria_mu", "criteria_sigma")
# What carries the prior of metacognitive efficiency.
SCALES = ("log_m", "m", "meta_d")
LOG_M, RATIO, META_D = range(3)
BLOCK = 16
# Rows of the room of a block: of its edges, and of its areas.
Y, DENSITY, SIGNED, BELOW, AREA, WEIGHT, LOG_AREA, ROOM, MORE_ROOM, ROWS = range(10)


@compiled
def evaluate(
    counts: Floats, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """ℓ of each cell, without multinomial coefficients, and its six derivatives.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    d, c, s : array, shape (cells,)
        d′, criterion, and σ_S1 / σ_S2 (1 for equal variance).
    m, kappa : array, shape (cells, 2)
        meta-d′ and meta-level criterion for responses S1 and S2.
    gaps : array, shape (cells, 2, K - 1)
        Positive distances between type-2 criteria, outward from κ.

    Returns
    -------
    tuple of array
        The value (cells,), and one array for each argument, of its shape.

    Examples
    --------
    >>> one, two = np.ones(1), np.ones((1, 2))
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> value, by_d, *_ = evaluate(n, one, 0 * one, two, 0 * two, two[..., None], one)
    >>> value.round(6), by_d.round(6)
    (array([-126.786338]), array([0.511247]))
    """
    value, slopes = log_likelihood(counts, join(d, c, m, kappa, gaps, s), True)
    by = slopes.T.copy()
    by_m, by_kappa = slopes[:, M:KAPPA].copy(), slopes[:, KAPPA:GAPS].copy()
    by_gaps = slopes[:, GAPS:-1].copy().reshape(gaps.shape)
    return value, by[D], by[C], by_m, by_kappa, by_gaps, by[-1]


@compiled
def expected_information(
    trials: Floats, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> Floats:
    """Expected information of each cell about its arguments.

    Parameters
    ----------
    trials : array, shape (cells, 2)
        Numbers of trials of stimulus S1 and S2, as floats.
    d, c, m, kappa, gaps, s : array
        As in `evaluate`.

    Returns
    -------
    array, shape (cells, 2K + 5, 2K + 5)
        Symmetric, in the order d, c, m (S1, S2), kappa (S1, S2), gaps of S1, gaps of S2, s. It
        is singular where a parameter has no effect, such as `s` by itself at K = 2.

    Examples
    --------
    >>> one, two = np.ones(1), np.ones((1, 2))
    >>> expected_information(100 * two, one, 0 * one, two, 0 * two, two[..., None], one).shape
    (1, 9, 9)
    """
    at = join(d, c, m, kappa, gaps, s)
    cells, numbers = at.shape
    information = np.zeros((cells, numbers, numbers))
    for i in range(cells):
        add_information(at[i], trials[i], information[i])
    return information


@compiled
def join(d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats) -> Floats:
    """Arguments of cells side by side, (cells, 2K + 5)."""
    first, last = np.stack((d.copy(), c.copy())).T.copy(), columns_of(s.copy())
    return np.concatenate((first, m.copy(), kappa.copy(), columns_of(gaps.copy()), last), axis=1)


# Of each cell and stimulus there are 2K + 1 edges: K of response S1 from κ outward, K of S2, and
# the type-1 criterion. To them belong 2K + 4 areas: of each response its K ratings and the whole
# side beyond κ, then responses S1 and S2 of the type-1 decision. What has no counts is left out:
# a stimulus, or a response to it. Of a cell with a single trial K + 1 edges are left.


@compiled
def log_likelihood(counts: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for."""
    (cells, numbers), levels = at.shape, counts.shape[3]
    value = np.zeros(cells)
    slopes = np.zeros((cells if is_sloped else 0, numbers))
    unused = np.zeros(numbers)
    room = np.empty((ROWS, BLOCK * 2 * (2 * levels + 4)))
    area, weight, log_area = room[AREA], room[WEIGHT], room[LOG_AREA]
    is_far, totals = np.empty(BLOCK, np.bool_), np.empty((BLOCK, 2, 2))
    edge_starts, area_starts = np.empty(BLOCK, np.int64), np.empty(BLOCK + 1, np.int64)
    for first in range(0, cells, BLOCK):
        last = min(first + BLOCK, cells)
        edges = fill_edges(first, last, counts, at, totals, room[Y], is_far, edge_starts)
        fill_tails(edges, room[Y], room[DENSITY], room[SIGNED], room[BELOW], room[ROOM])
        areas = fill_areas(first, last, counts, totals, room, area_starts)
        fill_logarithms(areas, area, log_area, room[ROOM], room[MORE_ROOM])
        if is_sloped:
            for j in range(areas):
                room[ROOM, j] = weight[j] / area[j]
        for i in range(first, last):
            if is_far[i - first]:
                value[i] = add_far_cell(at[i], counts[i], slopes[i] if is_sloped else unused)
                continue
            for a in range(area_starts[i - first], area_starts[i - first + 1]):
                value[i] += weight[a] * log_area[a]
            if is_sloped:
                add_gradient(
                    at[i], totals[i - first], edge_starts[i - first], area_starts[i - first],
                    room[DENSITY], room[ROOM], slopes[i],
                )  # fmt: skip
    return value, slopes


@compiled
def fill_edges(
    first: int,
    last: int,
    counts: Floats,
    at: Floats,
    totals: Floats,
    y: Floats,
    is_far: Flags,
    edge_starts: Integers,
) -> int:
    """Standardised edges of a block, outward; their number. Flags cells for the exact way.

    `totals` are filled with trials by stimulus and response, `edge_starts` says where the edges of
    each cell begin.
    """
    j, inner = 0, counts.shape[3] - 1
    for i in range(first, last):
        edge_starts[i - first] = j
        is_near = True
        for stimulus in range(2):
            sign, scale = 2.0 * stimulus - 1.0, at[i, -1] if stimulus == 1 else 1.0
            trials = totals[i - first, stimulus]
            for response in range(2):
                total = 0.0
                for k in range(inner + 1):
                    total += counts[i, stimulus, response, k]
                trials[response] = total
            if trials[0] + trials[1] == 0:
                continue
            for response in range(2):
                if trials[response] == 0:
                    continue
                side, gaps = 2.0 * response - 1.0, GAPS + response * inner
                y[j] = scale * side * (at[i, KAPPA + response] - sign * at[i, M + response] / 2)
                is_near &= abs(y[j]) <= FAR
                for k in range(inner):
                    width = scale * at[i, gaps + k]
                    y[j + 1] = y[j] + width
                    j += 1
                    is_near &= (width >= NARROW) & (y[j] <= FAR)
                j += 1
            y[j] = scale * (sign * at[i, D] / 2 - at[i, C])
            is_near &= abs(y[j]) <= FAR
            j += 1
        is_far[i - first] = not is_near
    return j


@compiled
def fill_areas(
    first: int, last: int, counts: Floats, totals: Floats, room: Floats, area_starts: Integers
) -> int:
    """Areas of a block and what their logarithms are multiplied by in ℓ; their number.

    `area_starts` says where those of each cell begin, and where the last one's end.
    """
    signed, below, area, weight = room[SIGNED], room[BELOW], room[AREA], room[WEIGHT]
    outermost = counts.shape[3] - 1
    j = a = 0
    for i in range(first, last):
        area_starts[i - first] = a
        for stimulus in range(2):
            trials = totals[i - first, stimulus]
            if trials[0] + trials[1] == 0:
                continue
            for response in range(2):
                if trials[response] == 0:
                    continue
                area[a + outermost + 1] = signed[j] + below[j]
                for k in range(outermost):
                    area[a] = (signed[j] - signed[j + 1]) + (below[j] - below[j + 1])
                    weight[a] = counts[i, stimulus, response, k]
                    a += 1
                    j += 1
                area[a] = signed[j] + below[j]
                weight[a] = counts[i, stimulus, response, outermost]
                weight[a + 1] = -trials[response]
                a += 2
                j += 1
            area[a] = signed[j] + below[j]
            area[a + 1] = (1 - below[j]) - signed[j]
            weight[a] = trials[0]
            weight[a + 1] = trials[1]
            a += 2
            j += 1
    area_starts[last - first] = a
    return a


@compiled
def add_gradient(
    at: Floats, totals: Floats, j: int, a: int, density: Floats, pull: Floats, slopes: Floats
) -> None:
    """Derivatives of a cell whose edges and areas begin at j and a.

    `pull` is the weight of each area over the area: moving an edge outward takes φ(edge) from the
    area outside and gives it to the one inside.
    """
    inner = (len(at) - GAPS - 1) // 2
    for stimulus in range(2):
        sign, scale = 2.0 * stimulus - 1.0, at[-1] if stimulus == 1 else 1.0
        trials = totals[stimulus]
        if trials[0] + trials[1] == 0:
            continue
        for response in range(2):
            if trials[response] == 0:
                continue
            side, gaps = 2.0 * response - 1.0, GAPS + response * inner
            # A gap moves its own upper edge, and all that lie beyond it.
            shift = by_scale = 0.0
            for k in range(inner, 0, -1):
                shift += density[j + k] * (pull[a + k - 1] - pull[a + k])
                slopes[gaps + k - 1] += scale * shift
                by_scale += at[gaps + k - 1] * shift
            shift -= density[j] * (pull[a] + pull[a + inner + 1])
            slopes[KAPPA + response] += shift * scale * side
            slopes[M + response] -= shift * scale * side * sign / 2
            if stimulus == 1:
                distance = side * (at[KAPPA + response] - at[M + response] / 2)
                slopes[-1] += shift * distance + by_scale
            j += inner + 1
            a += inner + 2
        by_z = density[j] * (pull[a + 1] - pull[a])
        slopes[D] += by_z * scale * sign / 2
        slopes[C] -= by_z * scale
        if stimulus == 1:
            slopes[-1] += by_z * (at[D] / 2 - at[C])
        j += 1
        a += 2


def parameter_shapes(likelihood: Likelihood, ratings: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters in a cell, in the order of their columns.

    Signal detection has no scale of M. What a model lacks of the others is 0.
    """
    shapes: dict[str, tuple[int, ...]] = {"dprime": (), "c": ()}
    if likelihood.choices:
        scale = likelihood.chosen["scale"]
        shapes[scale] = likelihood.parameter(scale).shape(ratings)
    shapes |= {"log_s": (), "log_gap": (2, ratings - 1)}
    return shapes | dict.fromkeys(MOMENTS, ())


def choices(likelihood: Likelihood) -> tuple[int, int, int]:
    """Codes of the scale of M, of κ's rule and of the prior of criteria.

    Place of the scale in `SCALES`; 1 where κ = M·c, else 0; 1 where criteria are sorted draws of a
    normal, else 0.
    """
    chosen = likelihood.chosen
    is_relative = chosen.get("meta_criterion") == "relative"
    is_sorted = chosen.get("criteria", "log_gap") != "log_gap"
    return SCALES.index(chosen.get("scale", "m")), int(is_relative), int(is_sorted)


@compiled
def add_value_and_gradient(
    parameters: Floats, counts: Floats, choices: Integers, by_cell: Floats, gradient: Floats
) -> None:
    """Log-likelihood of every cell, added to `by_cell`; its gradient is added to `gradient`.

    HMeta-d's prior of sorted criteria is added here, since it rests on κ.

    Parameters
    ----------
    parameters, gradient : array, shape (cells, columns)
        Columns as in `parameter_shapes`. An empty gradient is left so.
    counts : array, shape (cells, 2, 2, K)
    choices : array of int
        As `choices` gives them.
    by_cell : array, shape (cells,)
    """
    inner = counts.shape[3] - 1
    own = parameters.shape[1] - 5 - 2 * inner
    scale, is_relative, is_sorted = choices[0], choices[1], choices[2]
    at_s = 2 + own
    at_gap = at_s + 1
    at = arguments_of(parameters, inner, own, scale, is_relative)
    value, slopes = log_likelihood(counts, at, len(gradient) > 0)
    by_cell += value
    if is_sorted:
        for i in range(len(at)):
            by_cell[i] += add_sorted_criteria(i, parameters, at, at_gap, slopes, gradient)
    for i in range(len(gradient)):
        d, c = at[i, D], at[i, C]
        for r in range(2):
            column = 2 + (r if own == 2 else 0)
            by_m, by_kappa = slopes[i, M + r], slopes[i, KAPPA + r]
            if scale == META_D:
                # meta-d′ is the parameter, and M follows from it.
                meta_d = parameters[i, column]
                gradient[i, column] += by_m
                if is_relative:
                    gradient[i, column] += by_kappa * c / d
                    slopes[i, D] -= by_kappa * c * meta_d / (d * d)
                    slopes[i, C] += by_kappa * meta_d / d
                else:
                    slopes[i, C] += by_kappa
                continue
            ratio = ratio_of(parameters, i, r, own, scale)
            by_ratio = by_m * d
            slopes[i, D] += by_m * ratio
            if is_relative:
                by_ratio += by_kappa * c
                slopes[i, C] += by_kappa * ratio
            else:
                slopes[i, C] += by_kappa
            if own > 0:
                gradient[i, column] += by_ratio * ratio if scale == LOG_M else by_ratio
        gradient[i, D] += slopes[i, D]
        gradient[i, C] += slopes[i, C]
        gradient[i, at_s] += slopes[i, -1] * at[i, -1]
        for j in range(2 * inner):
            gradient[i, at_gap + j] += slopes[i, GAPS + j] * at[i, GAPS + j]


@compiled
def ratio_of(parameters: Floats, i: int, r: int, own: int, scale: int) -> float:
    """M of cell i and response r; 1 where it is no parameter, of which there are `own`."""
    if own == 0:
        return 1.0
    value = parameters[i, 2 + (r if own == 2 else 0)]
    if scale == LOG_M:
        return math.exp(value)
    return value / parameters[i, D] if scale == META_D else value


@compiled
def arguments_of(parameters: Floats, inner: int, own: int, scale: int, is_relative: int) -> Floats:
    """Arguments of every cell from parameters as in `parameter_shapes`."""
    cells, at_gap = len(parameters), 3 + own
    at = np.empty((cells, GAPS + 2 * inner + 1))
    for i in range(cells):
        d, c = parameters[i, D], parameters[i, C]
        at[i, D], at[i, C] = d, c
        at[i, -1] = math.exp(parameters[i, at_gap - 1])
        for r in range(2):
            ratio = ratio_of(parameters, i, r, own, scale)
            at[i, M + r] = ratio * d
            at[i, KAPPA + r] = ratio * c if is_relative else c
        for j in range(2 * inner):
            at[i, GAPS + j] = math.exp(parameters[i, at_gap + j])
    return at


@compiled
def add_sorted_criteria(
    i: int, parameters: Floats, at: Floats, at_gap: int, slopes: Floats, gradient: Floats
) -> float:
    """Log density of sorted criteria beyond κ, of one cell, as `sorted_normal_logp` has it.

    Derivatives by κ and the gaps are added to `slopes`, those by the moments and by the Jacobian of
    log gaps to `gradient`, unless these are empty.
    """
    is_sloped, count = len(gradient) > 0, (at.shape[1] - GAPS - 1) // 2
    at_mu = at_gap + 2 * count
    mu, sigma = parameters[i, at_mu], parameters[i, at_mu + 1]
    total, by_mu, by_sigma = 0.0, 0.0, 0.0
    for r in range(2):
        outward = 2.0 * r - 1.0
        # Mirrored for response S1, criteria lie above their start.
        start = outward * at[i, KAPPA + r] - mu
        below = start / sigma
        log_beyond, hazard = log_tail(below, mills(abs(below)))
        total += math.lgamma(count + 1.0) - count * log_beyond
        by_start = count * hazard / sigma
        by_sigma -= count * hazard * below / sigma
        place = start
        for k in range(count):
            place += at[i, GAPS + r * count + k]
            score = place / sigma
            total += -score * score / 2 - math.log(sigma) - LOG_SQRT_2PI
            total += parameters[i, at_gap + r * count + k]
            by_start -= score / sigma
            by_sigma += (score * score - 1) / sigma
            if is_sloped:
                gradient[i, at_gap + r * count + k] += 1.0
                for j in range(k + 1):
                    slopes[i, GAPS + r * count + j] -= score / sigma
        by_mu -= by_start
        if is_sloped:
            slopes[i, KAPPA + r] += by_start * outward
    if is_sloped:
        gradient[i, at_mu] += by_mu
        gradient[i, at_mu + 1] += by_sigma
    return total
