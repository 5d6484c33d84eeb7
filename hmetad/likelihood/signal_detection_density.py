"""Log-likelihood of ratings by signal detection theory, by parameters, compiled, with its gradient.

Parameters of cells (one row per cell) and counts → log-likelihood of all cells and its gradient. It
is the meta-d′ kernel where meta-d′ is d′ and κ is c.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.kernel import evaluate_cells
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.tails import compiled

__all__ = ["MOMENTS", "add_value_and_gradient", "choices", "parameter_shapes"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Criteria have no prior of their own here.
MOMENTS = ()


def parameter_shapes(_: Likelihood, ratings: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters in a cell, in the order of their columns, at K ratings."""
    return {"dprime": (), "c": (), "log_gap": (2, ratings - 1)}


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
    cells, levels = counts.shape[0], counts.shape[3]
    m, kappa, gaps = np.empty((cells, 2)), np.empty((cells, 2)), np.empty((cells, 2, levels - 1))
    for i in range(cells):
        m[i], kappa[i] = parameters[i, 0], parameters[i, 1]
        for j in range(2 * (levels - 1)):
            gaps[i, j // (levels - 1), j % (levels - 1)] = math.exp(parameters[i, 2 + j])
    is_sloped = len(gradient) > 0
    value, by_d, by_c, by_m, by_kappa, by_gaps, _ = evaluate_cells(
        counts, parameters[:, 0].copy(), parameters[:, 1].copy(), m, kappa, gaps, np.ones(cells),
        is_sloped,
    )  # fmt: skip
    for i in range(cells):
        by_cell[i] += value[i]
        if is_sloped:
            gradient[i, 0] += by_d[i] + by_m[i, 0] + by_m[i, 1]
            gradient[i, 1] += by_c[i] + by_kappa[i, 0] + by_kappa[i, 1]
            for j in range(2 * (levels - 1)):
                r, k = j // (levels - 1), j % (levels - 1)
                gradient[i, 2 + j] += by_gaps[i, r, k] * gaps[i, r, k]
