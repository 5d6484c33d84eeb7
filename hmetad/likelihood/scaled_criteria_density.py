"""Log-likelihood of lognormal criteria by their parameters, compiled, with its gradient.

Parameters of cells (one row per cell) and counts → log-likelihood of all cells and its gradient,
by the chain rule from the kernel's arguments.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.scaled_criteria import evaluate
from hmetad.likelihood.tails import compiled

__all__ = ["MOMENTS", "add_value_and_gradient", "choices", "parameter_shapes"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Criteria have no prior of their own here.
MOMENTS = ()


def parameter_shapes(likelihood: Likelihood, ratings: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters in a cell, in the order of their columns, at K ratings."""
    return {p.name: p.shape(ratings) for p in likelihood.parameters}


def choices(_: Likelihood) -> tuple[int, ...]:
    """Codes of the choices of the likelihood: it has none."""
    return ()


@compiled
def add_value_and_gradient(
    parameters: Floats, counts: Floats, _: Integers, by_cell: Floats, gradient: Floats
) -> None:
    """Log-likelihood of every cell, added to `by_cell`; its gradient is added to `gradient`.

    Parameters
    ----------
    parameters, gradient : array, shape (cells, columns)
        Columns as in `parameter_shapes`. An empty gradient is left so.
    counts : array, shape (cells, 2, 2, K)
    _ : array of int, shape (0,)
        As `choices` gives them.
    by_cell : array, shape (cells,)
    """
    cells, inner = counts.shape[0], counts.shape[3] - 1
    t = np.empty((cells, 2, inner))
    for i in range(cells):
        for r in range(2):
            place = 0.0
            for k in range(inner):
                place += math.exp(parameters[i, 3 + r * inner + k])
                t[i, r, k] = place
    q = np.exp(parameters[:, 2])
    value, by_d, by_c, by_q, by_t = evaluate(
        counts, parameters[:, 0].copy(), parameters[:, 1].copy(), q, t
    )
    for i in range(cells):
        by_cell[i] += value[i]
        if len(gradient) > 0:
            gradient[i, 0] += by_d[i]
            gradient[i, 1] += by_c[i]
            gradient[i, 2] += by_q[i] * q[i]
            for r in range(2):
                beyond = 0.0
                for k in range(inner - 1, -1, -1):
                    beyond += by_t[i, r, k]
                    at = 3 + r * inner + k
                    gradient[i, at] += beyond * math.exp(parameters[i, at])
