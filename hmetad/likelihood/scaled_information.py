"""Expected (Fisher) information of ratings by criteria of random scale, for scoring.

Parameters and numbers of trials → information matrix per cell: Σ N P ∂log P ∂log Pᵀ over the
outcomes of each stimulus.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.scaled_sums import (
    CHUNK,
    fill_sums,
    log_area_and_slopes,
    response_area,
    step_level,
)
from hmetad.likelihood.tails import compiled

__all__ = ["expected_information"]

type Floats = NDArray[np.float64]


@compiled
def expected_information(trials: Floats, d: Floats, c: Floats, q: Floats, t: Floats) -> Floats:
    """Expected information of each cell about its parameters.

    Parameters
    ----------
    trials : array, shape (cells, 2)
        Numbers of trials of stimulus S1 and S2, as floats.
    d, c, q, t : array
        As in `hmetad.likelihood.scaled_criteria.log_likelihood_and_gradient`.

    Returns
    -------
    array, shape (cells, 2K + 1, 2K + 1)
        Symmetric, in the order d, c, q, t of S1, t of S2.

    Examples
    --------
    >>> one = np.ones(1)
    >>> expected_information(np.full((1, 2), 100.0), one, 0 * one, one, np.ones((1, 2, 1))).shape
    (1, 5, 5)
    """
    cells, inner = t.shape[0], t.shape[2]
    size = 3 + 2 * inner
    information, edges = np.zeros((cells, size, size)), np.zeros((4, 4 * inner))
    room = np.empty((5, CHUNK * 4 * inner))
    slope, places = np.zeros(5), np.array([0, 1, 2, 0, 0])
    for i in range(cells):
        level = step_level(d[i], c[i], q[i])
        if level >= 0:
            fill_sums(
                i, level, d, c, q, t, edges, room[0], room[1], room[2], room[3], room[4]
            )  # fmt: skip
        for row in range(4):
            sign, side, response = row // 2 - 0.5, 2.0 * (row % 2) - 1, row % 2
            h = side * (sign * d[i] - c[i])
            inside = response_area(h)
            for k in range(inner + 1):
                outside = edges[0, row * inner + k] if k < inner else 0.0
                area, inside = inside - outside, outside
                log_area, to_h, slope[3], slope[4], slope[2] = log_area_and_slopes(
                    area, k, row * inner, inner + 1, h, q[i], t[i, response], level >= 0, edges
                )
                slope[0], slope[1] = side * sign * to_h, -side * to_h
                places[3] = 3 + response * inner + max(k - 1, 0)
                places[4] = 3 + response * inner + min(k, inner - 1)
                if k == 0:
                    slope[3] = 0.0
                if k == inner:
                    slope[4] = 0.0
                n = trials[i, row // 2] * math.exp(log_area)
                for a in range(5):
                    for b in range(5):
                        information[i, places[a], places[b]] += n * slope[a] * slope[b]
    return information
