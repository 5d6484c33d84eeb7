"""What follows from the log-probabilities of a cell's outcomes and their Jacobian, compiled.

Of one cell, log P(response, rating | stimulus), shape (2, 2, K), and its derivatives by what the
probabilities depend on, (2, 2, K, numbers) → log-likelihood and gradient of its counts, and
expected (Fisher) information. The same for families whose outcomes are computed one by one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled

__all__ = ["add_information", "add_outcomes", "columns_of"]

type Floats = NDArray[np.float64]


@compiled
def columns_of(x: Floats) -> Floats:
    """Values of cells, (cells, …), with one dim for all that a cell has."""
    return x.reshape(len(x), -1)


@compiled
def add_outcomes(
    i: int, counts: Floats, log_p: Floats, jacobian: Floats, value: Floats, slopes: Floats
) -> None:
    """Add Σ n log P of cell i to `value`, and its derivatives to `slopes` unless that is empty.

    Outcomes without counts are not read; impossible ones have no derivatives.
    """
    is_sloped = len(slopes) > 0
    for stimulus in range(2):
        for response in range(2):
            total = 0.0
            for k in range(counts.shape[3]):
                n = counts[i, stimulus, response, k]
                if n == 0:
                    continue
                total += n * log_p[stimulus, response, k]
                if is_sloped and log_p[stimulus, response, k] > -math.inf:
                    for j in range(slopes.shape[1]):
                        slopes[i, j] += n * jacobian[stimulus, response, k, j]
            value[i] += total


@compiled
def add_information(
    i: int, trials: Floats, log_p: Floats, jacobian: Floats, information: Floats
) -> None:
    """Add Σ N P ∂log P ∂log Pᵀ of cell i, of which `trials` (cells, 2) has N of each stimulus."""
    numbers = information.shape[1]
    for stimulus in range(2):
        for response in range(2):
            for k in range(log_p.shape[2]):
                n = trials[i, stimulus] * math.exp(log_p[stimulus, response, k])
                slope = jacobian[stimulus, response, k]
                for a in range(numbers):
                    if slope[a] != 0.0:
                        pull = n * slope[a]
                        for b in range(numbers):
                            information[i, a, b] += pull * slope[b]
