"""The meta-d′ likelihood of one cell, exact however far out its edges lie.

Parameters and counts of a cell → value and derivatives, added into arrays of all cells. The
kernel calls this where its faster way would lose digits: edges beyond `tails.FAR`, gaps below
`tails.NARROW`.
"""

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import (
    compiled,
    log_area,
    log_share,
    log_tail,
    log_tail_share,
    mills,
)

__all__ = ["add_cell"]

type Floats = NDArray[np.float64]

# Arrays are passed whole, with indices: a view in a loop costs more than what is done with it.


@compiled
def fill_edges(
    edges: Floats, i: int, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> None:
    """Standardised edges of cell i, outward: (2, 3, K) for ratings of S1, of S2, and type 1."""
    for stimulus in range(2):
        sign = 2.0 * stimulus - 1.0
        scale = s[i] if stimulus == 1 else 1.0
        for response in range(2):
            side = 2.0 * response - 1.0
            edge = scale * side * (kappa[i, response] - sign * m[i, response] / 2)
            edges[stimulus, response, 0] = edge
            for k in range(gaps.shape[2]):
                edge += scale * gaps[i, response, k]
                edges[stimulus, response, k + 1] = edge
        edges[stimulus, 2, 0] = scale * (sign * d[i] / 2 - c[i])


@compiled
def ratings_of_row(
    i: int,
    stimulus: int,
    response: int,
    scale: float,
    counts: Floats,
    gaps: Floats,
    edges: Floats,
    ratios: Floats,
    room: Floats,
    by_gaps: Floats,
) -> tuple[float, float, float]:
    """Σ n log P(rating | stimulus, response), and its derivatives by a shift and by the scale.

    The scale stretches the gaps (s for stimulus S2); the derivatives by the gaps are added to
    `by_gaps`; `room` (2, K) is scratch space.
    """
    last = gaps.shape[2]
    start, ratio = edges[stimulus, response, 0], ratios[stimulus, response, 0]
    hazard = log_tail(start, ratio)[1]
    value = by_shift = offset = 0.0
    for k in range(last):
        n = counts[i, stimulus, response, k]
        width = scale * gaps[i, response, k]
        lower, upper = ratios[stimulus, response, k], ratios[stimulus, response, k + 1]
        room[0, k] = room[1, k] = 0.0
        if n > 0:
            edge = edges[stimulus, response, k]
            _, by_upper, by_both = log_area(edge, width, lower, upper)
            value += n * log_share(start, offset, width, ratio, lower, upper)
            # Far out both are large, and what is left of them is not.
            by_shift += n * (by_both + hazard)
            room[0, k] = n * by_both
            room[1, k] = n * by_upper
        offset += width
    n = counts[i, stimulus, response, last]
    beyond = 0.0
    if n > 0:
        end = ratios[stimulus, response, last]
        last_hazard = log_tail(edges[stimulus, response, last], end)[1]
        value += n * log_tail_share(start, offset, ratio, end)
        by_shift += n * (hazard - last_hazard)
        beyond = -n * last_hazard
    # A gap moves its own upper edge, and all that lies beyond it as a whole.
    by_scale = 0.0
    for k in range(last - 1, -1, -1):
        by_width = room[1, k] + beyond
        by_gaps[i, response, k] += scale * by_width
        by_scale += gaps[i, response, k] * by_width
        beyond += room[0, k]
    return value, by_shift, by_scale


@compiled
def type1_of_row(
    i: int, stimulus: int, counts: Floats, edges: Floats, ratios: Floats
) -> tuple[float, float]:
    """Σ n log P(response | stimulus), and its derivative by the standardised criterion."""
    n_s1 = n_s2 = 0.0
    for k in range(counts.shape[3]):
        n_s1 += counts[i, stimulus, 0, k]
        n_s2 += counts[i, stimulus, 1, k]
    z, ratio = edges[stimulus, 2, 0], ratios[stimulus, 2, 0]
    log_s1, hazard_s1 = log_tail(z, ratio)
    log_s2, hazard_s2 = log_tail(-z, ratio)
    return n_s2 * log_s2 + n_s1 * log_s1, n_s2 * hazard_s2 - n_s1 * hazard_s1


@compiled
def add_cell(
    i: int,
    counts: Floats,
    d: Floats,
    c: Floats,
    m: Floats,
    kappa: Floats,
    gaps: Floats,
    s: Floats,
    value: Floats,
    by_d: Floats,
    by_c: Floats,
    by_m: Floats,
    by_kappa: Floats,
    by_gaps: Floats,
    by_s: Floats,
) -> None:
    """Add ℓ of cell i and its derivatives to the arrays of all cells."""
    levels = counts.shape[3]
    edges, ratios, room = np.zeros((2, 3, levels)), np.empty((2, 3, levels)), np.empty((2, levels))
    fill_edges(edges, i, d, c, m, kappa, gaps, s)
    flat, out = edges.ravel(), ratios.ravel()
    for j in range(flat.shape[0]):
        out[j] = mills(abs(flat[j]))
    for stimulus in range(2):
        sign = 2.0 * stimulus - 1.0
        scale = s[i] if stimulus == 1 else 1.0
        row_value, by_z = type1_of_row(i, stimulus, counts, edges, ratios)
        value[i] += row_value
        by_d[i] += by_z * scale * sign / 2
        by_c[i] -= by_z * scale
        if stimulus == 1:
            by_s[i] += by_z * (d[i] / 2 - c[i])
        for response in range(2):
            side = 2.0 * response - 1.0
            row_value, by_shift, by_scale = ratings_of_row(
                i, stimulus, response, scale, counts, gaps, edges, ratios, room, by_gaps
            )
            value[i] += row_value
            by_kappa[i, response] += by_shift * scale * side
            by_m[i, response] -= by_shift * scale * side * sign / 2
            if stimulus == 1:
                distance = side * (kappa[i, response] - sign * m[i, response] / 2)
                by_s[i] += by_shift * distance + by_scale
