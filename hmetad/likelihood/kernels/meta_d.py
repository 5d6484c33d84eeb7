"""The meta-d′ likelihood, compiled: value and gradient fused into one pass over the counts.

Arguments of cells and count table (NumPy arrays) → log-likelihood per cell and its derivatives by
arguments; expected (Fisher) information. `hmetad.likelihood.families.meta_d` says what is computed;
this file says how to do it fast and without losing digits in the tails.

Cells are taken in blocks that fit the processor's first cache. Of a block, all edges are laid out
in a row, then all normal tails are computed at once, then all logarithms. Neighbouring ratings
share an edge, so there are K edges a side where there are K areas. Where that would lose digits,
because an edge lies beyond `tails.FAR` or a gap is below `tails.NARROW`, a cell's outcomes are
computed one by one, exact however far out its edges lie (`add_far_cell`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.outcomes import columns_of
from hmetad.likelihood.tails import (
    FAR,
    NARROW,
    compiled,
    fill_logarithms,
    fill_tails,
    log_area,
    log_share,
    log_tail,
    log_tail_share,
    mills,
)

__all__ = ["AXES", "evaluate", "expected_information", "log_likelihood"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Flags = NDArray[np.bool_]

# Sizes of the outcomes' axes before the ratings: stimuli and responses.
AXES = (2, 2)
# Columns of the arguments: d′, c; meta-d′ and κ of responses S1 and S2; gaps of both; then s.
D, C, M, KAPPA, GAPS = 0, 1, 2, 4, 6
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


@compiled
def add_far_cell(at: Floats, counts: Floats, slopes: Floats) -> float:
    """ℓ of a cell; its derivatives by the arguments are added to `slopes`."""
    value, inner = 0.0, counts.shape[2] - 1
    for stimulus in range(2):
        sign, scale = 2.0 * stimulus - 1.0, at[-1] if stimulus == 1 else 1.0
        own_value, by_z = type1_of_row(scale * (sign * at[D] / 2 - at[C]), counts[stimulus])
        value += own_value
        slopes[D] += by_z * scale * sign / 2
        slopes[C] -= by_z * scale
        if stimulus == 1:
            slopes[-1] += by_z * (at[D] / 2 - at[C])
        for response in range(2):
            side, first = 2.0 * response - 1.0, GAPS + response * inner
            last = first + inner
            start = scale * side * (at[KAPPA + response] - sign * at[M + response] / 2)
            own_value, by_shift, by_scale = ratings_of_row(
                start, scale, counts[stimulus, response], at[first:last], slopes[first:last]
            )
            value += own_value
            slopes[KAPPA + response] += by_shift * scale * side
            slopes[M + response] -= by_shift * scale * side * sign / 2
            if stimulus == 1:
                distance = side * (at[KAPPA + response] - sign * at[M + response] / 2)
                slopes[-1] += by_shift * distance + by_scale
    return value


@compiled
def type1_of_row(z: float, counts: Floats) -> tuple[float, float]:
    """Σ n log P(response | stimulus), and its derivative by the standardised criterion."""
    n_s1 = n_s2 = 0.0
    for k in range(counts.shape[1]):
        n_s1 += counts[0, k]
        n_s2 += counts[1, k]
    ratio = mills(abs(z))
    log_s1, hazard_s1 = log_tail(z, ratio)
    log_s2, hazard_s2 = log_tail(-z, ratio)
    return n_s2 * log_s2 + n_s1 * log_s1, n_s2 * hazard_s2 - n_s1 * hazard_s1


@compiled
def ratings_of_row(
    start: float, scale: float, counts: Floats, gaps: Floats, by_gaps: Floats
) -> tuple[float, float, float]:
    """Σ n log P(rating | stimulus, response), and its derivatives by a shift and by the scale.

    The scale stretches the gaps (s for stimulus S2); the derivatives by the gaps are added to
    `by_gaps`.
    """
    last = len(counts) - 1
    edges, ratios = np.empty(last + 1), np.empty(last + 1)
    by_both_edges, by_upper_edge = np.zeros(last), np.zeros(last)
    edge = edges[0] = start
    for k in range(last):
        edge += scale * gaps[k]
        edges[k + 1] = edge
    for k in range(last + 1):
        ratios[k] = mills(abs(edges[k]))
    hazard = log_tail(start, ratios[0])[1]
    value = by_shift = offset = 0.0
    for k in range(last):
        n, width = counts[k], scale * gaps[k]
        if n > 0:
            _, by_upper, by_both = log_area(edges[k], width, ratios[k], ratios[k + 1])
            value += n * log_share(start, offset, width, ratios[0], ratios[k], ratios[k + 1])
            # Far out both are large, and what is left of them is not.
            by_shift += n * (by_both + hazard)
            by_both_edges[k] = n * by_both
            by_upper_edge[k] = n * by_upper
        offset += width
    n, beyond = counts[last], 0.0
    if n > 0:
        last_hazard = log_tail(edges[last], ratios[last])[1]
        value += n * log_tail_share(start, offset, ratios[0], ratios[last])
        by_shift += n * (hazard - last_hazard)
        beyond = -n * last_hazard
    # A gap moves its own upper edge, and all that lies beyond it as a whole.
    by_scale = 0.0
    for k in range(last - 1, -1, -1):
        by_width = by_upper_edge[k] + beyond
        by_gaps[k] += scale * by_width
        by_scale += gaps[k] * by_width
        beyond += by_both_edges[k]
    return value, by_shift, by_scale


@compiled
def add_information(at: Floats, trials: Floats, information: Floats) -> None:
    """Add Σ N P ∂log P ∂log Pᵀ of a cell, first of its responses, then of ratings given these."""
    inner, slope = (len(at) - GAPS - 1) // 2, np.zeros(len(at))
    for stimulus in range(2):
        sign, scale = 2.0 * stimulus - 1.0, at[-1] if stimulus == 1 else 1.0
        z = scale * (sign * at[D] / 2 - at[C])
        for response in range(2):
            side = 2.0 * response - 1.0
            log_side, hazard = log_tail(-side * z, mills(abs(z)))
            n = trials[stimulus] * math.exp(log_side)
            slope[:] = 0.0
            slope[D] = side * hazard * scale * sign / 2
            slope[C] = -side * hazard * scale
            slope[-1] = side * hazard * stimulus * (at[D] / 2 - at[C])
            add_square(information, n, slope)
            distance = side * (at[KAPPA + response] - sign * at[M + response] / 2)
            edge = start = scale * distance
            log_beyond, side_hazard = log_tail(start, mills(abs(start)))
            first = GAPS + response * inner
            for k in range(inner + 1):
                if k < inner:
                    width = scale * at[first + k]
                    log_rating, by_upper, by_both = log_area(
                        edge, width, mills(abs(edge)), mills(abs(edge + width))
                    )
                else:
                    log_rating, hazard = log_tail(edge, mills(abs(edge)))
                    width, by_upper, by_both = 0.0, 0.0, -hazard
                # By a shift of all edges; by each gap inside of the rating; by its own gap.
                shift = by_both + side_hazard
                slope[:] = 0.0
                slope[M + response] = -shift * scale * side * sign / 2
                slope[KAPPA + response] = shift * scale * side
                by_scale = shift * distance
                for j in range(min(k + 1, inner)):
                    by_width = by_both if j < k else by_upper
                    slope[first + j] = scale * by_width
                    by_scale += at[first + j] * by_width
                slope[-1] = stimulus * by_scale
                add_square(information, n * math.exp(log_rating - log_beyond), slope)
                edge += width


@compiled
def add_square(information: Floats, weight: float, slope: Floats) -> None:
    """Add weight · slope slopeᵀ."""
    for j in range(len(slope)):
        if slope[j] != 0.0:
            for k in range(len(slope)):
                information[j, k] += weight * slope[j] * slope[k]
