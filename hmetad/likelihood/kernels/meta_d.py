"""The meta-d′ likelihood, compiled: value and gradient fused into one pass over the counts.

Arguments of cells and count table (NumPy arrays) → log-likelihood per cell and its derivatives by
arguments; expected (Fisher) information. `hmetad.likelihood.families.meta_d` says what is computed;
this file says how to do it fast and without losing digits in the tails.

Cells are taken in blocks that fit the processor's first cache. Of a block, all edges are laid out
in a row, then all normal tails are computed at once, then all logarithms. Neighbouring ratings
share an edge, so there are K edges a side where there are K areas. Where that would lose digits,
because an edge lies beyond `tails.FAR` or the gap of a rating with counts is below `tails.NARROW`,
a cell's outcomes are computed one by one, exact however far out its edges lie (`fill_outcomes`).
"""

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.tails import (
    FAR,
    NARROW,
    add_information,
    add_outcomes,
    fill_logarithms,
    fill_tails,
    log_area,
    log_probabilities_by_outcomes,
    log_share,
    log_tail,
    log_tail_share,
    mills,
)

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Flags = NDArray[np.bool_]
type Edges = tuple[Floats, Flags, Integers]

# Sizes of the outcomes' axes before the ratings: stimuli and responses.
AXES = (2, 2)
# Columns of the arguments: d′, c; meta-d′ and κ of responses S1 and S2; gaps of both; then s.
D, C, M, KAPPA, GAPS = 0, 1, 2, 4, 6
BLOCK = 16
# Rows of the room of a block: of its edges, and of its areas.
Y, DENSITY, SIGNED, BELOW, AREA, WEIGHT, LOG_AREA, ROOM, MORE_ROOM, ROWS = range(10)


@compiled
def expected_information(trials: Floats, at: Floats) -> Floats:
    """Expected information of each cell about its arguments.

    Parameters
    ----------
    trials : array, shape (cells, 2)
        Numbers of trials of stimulus S1 and S2, as floats.
    at : array, shape (cells, 2K + 5)
        As in `log_likelihood`.

    Returns
    -------
    array, shape (cells, 2K + 5, 2K + 5)
        Symmetric. It is singular where a parameter has no effect, such as `s` by itself at K = 2.

    Examples
    --------
    >>> at = np.array([[1.0, 0, 1, 1, 0, 0, 1, 1, 1]])
    >>> expected_information(np.full((1, 2), 100.0), at).shape
    (1, 9, 9)
    """
    (cells, numbers), levels = at.shape, (at.shape[1] - GAPS - 1) // 2 + 1
    information, is_asked = np.zeros((cells, numbers, numbers)), np.ones((2, 2, levels))
    log_p, jacobian = np.empty((2, 2, levels)), np.empty((2, 2, levels, numbers))
    for i in range(cells):
        fill_outcomes(at[i], is_asked, log_p, jacobian, None)
        add_information(i, trials, log_p, jacobian, information)
    return information


# Of each cell and stimulus there are 2K + 1 edges: K of response S1 from κ outward, K of S2, and
# the type-1 criterion. To them belong 2K + 4 areas: of each response its K ratings and the whole
# side beyond κ, then responses S1 and S2 of the type-1 decision. What has no counts is left out:
# a stimulus, or a response to it. Of a cell with a single trial K + 1 edges are left.


@compiled
def log_likelihood(counts: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        Dims cell, stimulus, response, rating, as floats.
    at : array, shape (cells, 2K + 5)
        Columns: d′ and the criterion c; meta-d′ for responses S1 and S2; meta-level criteria κ of
        both; positive gaps between type-2 criteria, outward from κ, of S1 and then of S2; and s =
        σ_S1 / σ_S2, 1 for equal variance.
    is_sloped : bool
        Whether the gradient is asked for.

    Returns
    -------
    tuple of array
        The value (cells,), without multinomial coefficients, and its gradient, of the shape of
        `at`.

    Examples
    --------
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> value, slopes = log_likelihood(n, np.array([[1.0, 0, 1, 1, 0, 0, 1, 1, 1]]), True)
    >>> value.round(6), slopes[:, D].round(6)
    (array([-126.786338]), array([0.511247]))
    """
    (cells, numbers), levels = at.shape, counts.shape[3]
    value = np.zeros(cells)
    slopes = np.zeros((cells if is_sloped else 0, numbers))
    log_p, jacobian = np.empty((2, 2, levels)), np.empty((2, 2, levels, numbers))
    room = np.empty((ROWS, BLOCK * 2 * (2 * levels + 4)))
    area, weight, log_area = room[AREA], room[WEIGHT], room[LOG_AREA]
    is_far, totals = np.empty(BLOCK, np.bool_), np.empty((BLOCK, 2, 2))
    edge_starts, area_starts = np.empty(BLOCK, np.int64), np.empty(BLOCK + 1, np.int64)
    for first in range(0, cells, BLOCK):
        last = min(first + BLOCK, cells)
        found = room[Y], is_far, edge_starts
        edges = fill_edges((first, last), counts, at, totals, found)
        fill_tails(edges, room[Y], room[DENSITY], room[SIGNED], room[BELOW], room[ROOM])
        areas = fill_areas(first, last, counts, totals, room, area_starts)
        fill_logarithms(areas, area, log_area, room[ROOM], room[MORE_ROOM])
        if is_sloped:
            for j in range(areas):
                room[ROOM, j] = weight[j] / area[j]
        for i in range(first, last):
            if is_far[i - first]:
                fill_outcomes(at[i], counts[i], log_p, jacobian, None)
                add_outcomes(i, counts, log_p, jacobian, value, slopes)
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
    block: tuple[int, int], counts: Floats, at: Floats, totals: Floats, found: Edges
) -> int:
    """Standardised edges of a block, outward; their number. Flags cells for the exact way.

    `totals` are filled with trials by stimulus and response, `found` with the edges, the flags, and
    where the edges of each cell begin.
    """
    (first, last), (y, is_far, edge_starts) = block, found
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
                    is_wide = (width >= NARROW) | (counts[i, stimulus, response, k] == 0)
                    is_near &= is_wide & (y[j] <= FAR)
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

    Areas without counts are taken as 1, since they may have no digits. `area_starts` says where
    those of each cell begin, and where the last one's end.
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
                    own = (signed[j] - signed[j + 1]) + (below[j] - below[j + 1])
                    weight[a] = counts[i, stimulus, response, k]
                    area[a] = own if weight[a] > 0 else 1.0
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
def log_outcomes(at: Floats, levels: int, _: bool) -> tuple[Floats, Floats]:
    """Log P of all outcomes, (cells, 2, 2, levels), and its derivatives in a further dim."""
    return log_probabilities_by_outcomes(fill_outcomes, None, at, (2, 2, levels), True)


@compiled
def fill_outcomes(at: Floats, is_asked: Floats, log_p: Floats, jacobian: Floats, _: None) -> None:
    """Log-probabilities of a cell's outcomes with `is_asked` above 0, and their derivatives.

    Exact however far out the edges lie.
    """
    last = log_p.shape[2] - 1
    for stimulus in range(2):
        sign, scale = 2.0 * stimulus - 1.0, at[-1] if stimulus == 1 else 1.0
        z = scale * (sign * at[D] / 2 - at[C])
        for response in range(2):
            side, gaps = 2.0 * response - 1.0, GAPS + response * last
            log_side, hazard = log_tail(-side * z, mills(abs(z)))
            distance = side * (at[KAPPA + response] - sign * at[M + response] / 2)
            edge = start = scale * distance
            ratio = first_ratio = mills(abs(start))
            side_hazard = log_tail(start, first_ratio)[1]
            width = offset = 0.0
            for k in range(last + 1):
                if k < last:
                    width = scale * at[gaps + k]
                    outer = mills(abs(edge + width))
                    _, by_upper, by_both = log_area(edge, width, ratio, outer)
                    share = log_share(start, offset, width, (first_ratio, ratio, outer))
                else:
                    by_upper, by_both, outer = 0.0, -log_tail(edge, ratio)[1], ratio
                    share = log_tail_share(start, offset, first_ratio, ratio)
                if is_asked[stimulus, response, k] > 0:
                    log_p[stimulus, response, k] = log_side + share
                    slope = jacobian[stimulus, response, k]
                    slope[:] = 0.0
                    slope[D], slope[C] = side * hazard * scale * sign / 2, -side * hazard * scale
                    # By a shift of all edges: far out both are large, what is left of them is not.
                    shift = by_both + side_hazard
                    slope[M + response] = -shift * scale * side * sign / 2
                    slope[KAPPA + response] = shift * scale * side
                    by_scale = shift * distance
                    # By each gap inside of the rating, which shifts it, and by its own.
                    for j in range(min(k + 1, last)):
                        by_width = by_both if j < k else by_upper
                        slope[gaps + j] = scale * by_width
                        by_scale += at[gaps + j] * by_width
                    by_criterion = side * hazard * (at[D] / 2 - at[C])
                    slope[-1] = stimulus * (by_scale + by_criterion)
                edge += width
                offset += width
                ratio = outer
