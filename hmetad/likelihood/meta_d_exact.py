"""The meta-d′ likelihood of one cell, outcome by outcome: exact far out, and its information.

Arguments and counts of a cell → value and derivatives, exact however far out its edges lie;
arguments and trials → expected (Fisher) information. `hmetad.likelihood.meta_d_compiled` calls the
first where its faster way would lose digits: edges beyond `tails.FAR`, gaps below `tails.NARROW`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled, log_area, log_share, log_tail, log_tail_share, mills

__all__ = ["GAPS", "KAPPA", "C", "D", "M", "add_far_cell", "add_information"]

type Floats = NDArray[np.float64]

# Columns of the arguments: d′, c; meta-d′ and κ of responses S1 and S2; gaps of both; then s.
D, C, M, KAPPA, GAPS = 0, 1, 2, 4, 6


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
