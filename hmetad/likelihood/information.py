"""Expected (Fisher) information of the meta-d′ likelihood, for scoring and for scales.

Parameters and numbers of trials → information matrix per cell. The information of multinomial
counts is Σ N P ∂log P ∂log Pᵀ over the outcomes of each stimulus.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled, log_area, log_tail, mills

__all__ = ["expected_information"]

type Floats = NDArray[np.float64]


@compiled
def expected_information(
    trials: Floats, d: Floats, c: Floats, m: Floats, kappa: Floats, gaps: Floats, s: Floats
) -> Floats:
    """Expected information of each cell about its parameters.

    Parameters
    ----------
    trials : array, shape (cells, 2)
        Numbers of trials of stimulus S1 and S2, as floats.
    d, c, m, kappa, gaps, s : array
        As in `hmetad.likelihood.kernel.log_likelihood_and_gradient`.

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
    cells, levels = gaps.shape[0], gaps.shape[2] + 1
    size = 2 * levels + 5
    information = np.zeros((cells, size, size))
    slope = np.zeros(size)
    for i in range(cells):
        for stimulus in range(2):
            sign = 2.0 * stimulus - 1.0
            scale = s[i] if stimulus == 1 else 1.0
            z = scale * (sign * d[i] / 2 - c[i])
            for response in range(2):
                side = 2.0 * response - 1.0
                log_side, hazard = log_tail(-side * z, mills(abs(z)))
                n = trials[i, stimulus] * math.exp(log_side)
                slope[:] = 0.0
                slope[0] = side * hazard * scale * sign / 2
                slope[1] = -side * hazard * scale
                slope[size - 1] = side * hazard * stimulus * (d[i] / 2 - c[i])
                add_square(information, i, n, slope)
                add_ratings(information, i, stimulus, response, n, m, kappa, gaps, s, slope)
    return information


@compiled
def add_ratings(
    information: Floats,
    i: int,
    stimulus: int,
    response: int,
    n: float,
    m: Floats,
    kappa: Floats,
    gaps: Floats,
    s: Floats,
    slope: Floats,
) -> None:
    """Add what the ratings of one stimulus and response tell; `slope` is scratch space."""
    inner, size = gaps.shape[2], slope.shape[0]
    sign, side = 2.0 * stimulus - 1.0, 2.0 * response - 1.0
    scale = s[i] if stimulus == 1 else 1.0
    first_gap = 6 + response * inner
    distance = side * (kappa[i, response] - sign * m[i, response] / 2)
    start = scale * distance
    log_side, side_hazard = log_tail(start, mills(abs(start)))
    edge = start
    for k in range(inner + 1):
        if k < inner:
            width = scale * gaps[i, response, k]
            log_share, by_upper, by_both = log_area(
                edge, width, mills(abs(edge)), mills(abs(edge + width))
            )
        else:
            log_share, hazard = log_tail(edge, mills(abs(edge)))
            by_upper, by_both = 0.0, -hazard
        # By a shift of all edges; by each gap inside of the rating, as a whole; by its own gap.
        shift = by_both + side_hazard
        slope[:] = 0.0
        slope[2 + response] = -shift * scale * side * sign / 2
        slope[4 + response] = shift * scale * side
        by_scale = shift * distance
        for j in range(k):
            slope[first_gap + j] = scale * by_both
            by_scale += gaps[i, response, j] * by_both
        if k < inner:
            slope[first_gap + k] = scale * by_upper
            by_scale += gaps[i, response, k] * by_upper
            edge += width
        slope[size - 1] = stimulus * by_scale
        add_square(information, i, n * math.exp(log_share - log_side), slope)


@compiled
def add_square(information: Floats, i: int, weight: float, slope: Floats) -> None:
    """Add weight · slope slopeᵀ to the matrix of cell i."""
    for j in range(slope.shape[0]):
        if slope[j] != 0.0:
            for k in range(slope.shape[0]):
                information[i, j, k] += weight * slope[j] * slope[k]
