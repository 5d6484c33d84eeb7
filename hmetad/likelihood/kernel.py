"""The meta-d′ likelihood, fused and compiled: value and gradient in one pass over the counts.

Parameters and count table (NumPy arrays) → log-likelihood per cell and its partial
derivatives, differentiated by hand. `hmetad.likelihood.theory` says what is computed; this
file says how to do it fast and without losing digits in the tails.

Cells are taken in blocks that fit the processor's first cache. Of a block, all edges are laid
out in a row, then all normal tails are computed at once, then all logarithms. Neighbouring
ratings share an edge, so there are K edges a side where there are K areas.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.exact import add_cell
from hmetad.likelihood.information import expected_information
from hmetad.likelihood.tails import FAR, NARROW, compiled, fill_logarithms, fill_tails

__all__ = [
    "Gradient",
    "evaluate",
    "evaluate_cells",
    "evaluate_in_model",
    "expected_information",
    "log_likelihood_and_gradient",
]

type Floats = NDArray[np.float64]
type Counts = NDArray[np.float64]
type Integers = NDArray[np.int64]
type Flags = NDArray[np.bool_]

BLOCK = 16


class Gradient(NamedTuple):
    """Log-likelihood per cell and its partial derivatives, in the order of the arguments."""

    value: Floats
    d: Floats
    c: Floats
    m: Floats
    kappa: Floats
    gaps: Floats
    s: Floats


def log_likelihood_and_gradient(
    counts: Counts, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> Gradient:
    """ℓ of each cell, without multinomial coefficients, and its gradient.

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
    Gradient
        `value` (cells,) and one array for each parameter, of its shape.

    Examples
    --------
    >>> one, two = np.ones(1), np.ones((1, 2))
    >>> n = np.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> out = log_likelihood_and_gradient(n, one, 0 * one, two, 0 * two, two[..., None], one)
    >>> out.value.round(6), out.d.round(6)
    (array([-126.786338]), array([0.511247]))
    """
    return Gradient(*evaluate(counts, d, c, m, kappa, gaps, s))


# Of each cell and stimulus there are 2K + 1 edges: K of response S1 from κ outward, K of S2, and
# the type-1 criterion. To them belong 2K + 4 areas: of each response its K ratings and the whole
# side beyond κ, then responses S1 and S2 of the type-1 decision. What has no counts is left out:
# a stimulus, or a response to it. Of a cell with a single trial K + 1 edges are left.


@compiled
def evaluate(
    counts: Counts, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """Value and the six derivatives, cell by cell; the body of `log_likelihood_and_gradient`."""
    return evaluate_cells(counts, d, c, m, kappa, gaps, s, True)


@compiled
def evaluate_cells(
    counts: Counts,
    d: Floats,
    c: Floats,
    m: Floats,
    kappa: Floats,
    gaps: Floats,
    s: Floats,
    is_sloped: bool,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """`evaluate`, where the derivatives are left at 0 unless they are asked for."""
    value, by_d, by_c, by_s = np.zeros_like(d), np.zeros_like(d), np.zeros_like(c), np.zeros_like(s)
    by_m, by_kappa, by_gaps = np.zeros_like(m), np.zeros_like(kappa), np.zeros_like(gaps)
    cells, levels = counts.shape[0], counts.shape[3]
    size = BLOCK * 2 * (2 * levels + 4)
    y, density, signed, below = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    area, weight, log_area = np.empty(size), np.empty(size), np.empty(size)
    room, more_room = np.empty(size), np.empty(size)
    is_far, totals = np.empty(BLOCK, np.bool_), np.empty((BLOCK, 2, 2))
    edge_starts, area_starts = np.empty(BLOCK, np.int64), np.empty(BLOCK + 1, np.int64)
    for first in range(0, cells, BLOCK):
        last = min(first + BLOCK, cells)
        fill_totals(first, last, counts, totals)
        edges = fill_edges(first, last, totals, d, c, m, kappa, gaps, s, y, is_far, edge_starts)
        fill_tails(edges, y, density, signed, below, room)
        areas = fill_areas(first, last, counts, totals, signed, below, area, weight, area_starts)
        fill_logarithms(areas, area, log_area, room, more_room)
        add_values(first, last, area_starts, weight, log_area, is_far, value)
        if is_sloped:
            for j in range(areas):
                weight[j] /= area[j]
            add_gradients(
                first, last, totals, edge_starts, area_starts, d, c, m, kappa, gaps, s, density,
                weight, is_far, by_d, by_c, by_m, by_kappa, by_gaps, by_s,
            )  # fmt: skip
        for i in range(first, last):
            if is_far[i - first]:
                add_cell(
                    i, counts, d, c, m, kappa, gaps, s,
                    value, by_d, by_c, by_m, by_kappa, by_gaps, by_s,
                )  # fmt: skip
    return value, by_d, by_c, by_m, by_kappa, by_gaps, by_s


@compiled
def evaluate_in_model(
    counts: Counts, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats]:
    """`evaluate` where counts and s may be constants of a model.

    Those are read-only, and would have `evaluate` compiled a second time: a copy is not, and costs
    a hundredth of the evaluation.
    """
    return evaluate(counts.copy(), d, c, m, kappa, gaps, s.copy())


@compiled
def fill_totals(first: int, last: int, counts: Counts, totals: Floats) -> None:
    """Trials of each cell of a block by stimulus and response."""
    for i in range(first, last):
        for stimulus in range(2):
            for response in range(2):
                total = 0.0
                for k in range(counts.shape[3]):
                    total += counts[i, stimulus, response, k]
                totals[i - first, stimulus, response] = total


@compiled
def fill_edges(
    first: int,
    last: int,
    totals: Floats,
    d: Floats,
    c: Floats,
    m: Floats,
    kappa: Floats,
    gaps: Floats,
    s: Floats,
    y: Floats,
    is_far: Flags,
    edge_starts: Integers,
) -> int:
    """Standardised edges of a block, outward; their number. Flags cells for the exact way.

    `edge_starts` says where those of each cell begin.
    """
    j = 0
    for i in range(first, last):
        edge_starts[i - first] = j
        is_near = True
        for stimulus in range(2):
            sign = 2.0 * stimulus - 1.0
            scale = s[i] if stimulus == 1 else 1.0
            trials = totals[i - first, stimulus]
            if trials[0] + trials[1] == 0:
                continue
            for response in range(2):
                if trials[response] == 0:
                    continue
                side = 2.0 * response - 1.0
                y[j] = scale * side * (kappa[i, response] - sign * m[i, response] / 2)
                is_near &= abs(y[j]) <= FAR
                for k in range(gaps.shape[2]):
                    width = scale * gaps[i, response, k]
                    y[j + 1] = y[j] + width
                    j += 1
                    is_near &= (width >= NARROW) & (y[j] <= FAR)
                j += 1
            y[j] = scale * (sign * d[i] / 2 - c[i])
            is_near &= abs(y[j]) <= FAR
            j += 1
        is_far[i - first] = not is_near
    return j


@compiled
def fill_areas(
    first: int,
    last: int,
    counts: Counts,
    totals: Floats,
    signed: Floats,
    below: Floats,
    area: Floats,
    weight: Floats,
    area_starts: Integers,
) -> int:
    """Areas of a block and what their logarithms are multiplied by in ℓ; their number.

    `area_starts` says where those of each cell begin, and where the last one's end.
    """
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
def add_values(
    first: int,
    last: int,
    area_starts: Integers,
    weight: Floats,
    log_area: Floats,
    is_far: Flags,
    value: Floats,
) -> None:
    """ℓ of each cell of a block: its areas' logarithms, weighted."""
    for i in range(first, last):
        if not is_far[i - first]:
            for a in range(area_starts[i - first], area_starts[i - first + 1]):
                value[i] += weight[a] * log_area[a]


@compiled
def add_gradients(
    first: int,
    last: int,
    totals: Floats,
    edge_starts: Integers,
    area_starts: Integers,
    d: Floats,
    c: Floats,
    m: Floats,
    kappa: Floats,
    gaps: Floats,
    s: Floats,
    density: Floats,
    pull: Floats,
    is_far: Flags,
    by_d: Floats,
    by_c: Floats,
    by_m: Floats,
    by_kappa: Floats,
    by_gaps: Floats,
    by_s: Floats,
) -> None:
    """Derivatives of a block; `pull` is the weight of each area over the area.

    Moving an edge outward takes φ(edge) from the area outside and gives it to the one inside.
    """
    inner = gaps.shape[2]
    for i in range(first, last):
        if is_far[i - first]:
            continue
        j, a = edge_starts[i - first], area_starts[i - first]
        for stimulus in range(2):
            sign = 2.0 * stimulus - 1.0
            scale = s[i] if stimulus == 1 else 1.0
            trials = totals[i - first, stimulus]
            if trials[0] + trials[1] == 0:
                continue
            for response in range(2):
                if trials[response] == 0:
                    continue
                side = 2.0 * response - 1.0
                # A gap moves its own upper edge, and all that lie beyond it.
                shift = by_scale = 0.0
                for k in range(inner, 0, -1):
                    shift += density[j + k] * (pull[a + k - 1] - pull[a + k])
                    by_gaps[i, response, k - 1] += scale * shift
                    by_scale += gaps[i, response, k - 1] * shift
                shift -= density[j] * (pull[a] + pull[a + inner + 1])
                by_kappa[i, response] += shift * scale * side
                by_m[i, response] -= shift * scale * side * sign / 2
                if stimulus == 1:
                    distance = side * (kappa[i, response] - m[i, response] / 2)
                    by_s[i] += shift * distance + by_scale
                j += inner + 1
                a += inner + 2
            by_z = density[j] * (pull[a + 1] - pull[a])
            by_d[i] += by_z * scale * sign / 2
            by_c[i] -= by_z * scale
            if stimulus == 1:
                by_s[i] += by_z * (d[i] / 2 - c[i])
            j += 1
            a += 2
