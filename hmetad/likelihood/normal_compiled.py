"""Log-likelihood of estimates with known errors, compiled, with its gradient.

True values of the cells, estimates and their precision → log-likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.tails import compiled

__all__ = ["MOMENTS", "add_value_and_gradient", "choices", "parameter_shapes"]

type Floats = NDArray[np.float64]

MOMENTS = ()
# Columns of independent estimates: the estimate, and its precision.
INDEPENDENT = 2


def parameter_shapes(likelihood: Likelihood, _: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters in a cell: its true value."""
    return {likelihood.parameters[0].name: ()}


def choices(_: Likelihood) -> tuple[int, ...]:
    """Codes of the choices of the likelihood: none changes its density."""
    return ()


@compiled
def add_value_and_gradient(
    parameters: Floats, outcomes: Floats, by_cell: Floats, gradient: Floats
) -> None:
    r"""Log-likelihood but for its constant: :math:`-\tfrac12 r^T \Sigma^{-1} r`, by cell.

    Parameters
    ----------
    parameters, gradient : array, shape (cells, 1)
        An empty gradient is left so.
    outcomes : array, shape (cells, 2) or (cells, 1 + cells)
        Estimate, and its precision, where errors are independent; or a row of the inverse of
        their covariance.
    by_cell : array, shape (cells,)
    """
    cells, width = outcomes.shape
    pull = np.zeros(cells)
    for i in range(cells):
        rest = outcomes[i, 0] - parameters[i, 0]
        if width == INDEPENDENT:
            pull[i] = outcomes[i, 1] * rest
        else:
            # By rows, since the inverse is symmetric: the loop is one of SIMD.
            row = outcomes[i, 1:]
            for j in range(cells):
                pull[j] += row[j] * rest
    for i in range(cells):
        by_cell[i] -= 0.5 * (outcomes[i, 0] - parameters[i, 0]) * pull[i]
        if len(gradient) > 0:
            gradient[i, 0] += pull[i]
