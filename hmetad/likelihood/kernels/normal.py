"""Log-likelihood of estimates with known errors, compiled, with its gradient.

True values of the cells, estimates and their precision → log-likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.compiling import compiled

type Floats = NDArray[np.float64]

# A cell has a row of numbers, and no counts by stimuli and responses.
AXES = ()
# Columns of independent estimates: the estimate, and its precision.
INDEPENDENT = 2


@compiled
def log_likelihood(outcomes: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    r"""Log-likelihood but for its constant: :math:`-\tfrac12 r^T \Sigma^{-1} r`, by cell.

    Parameters
    ----------
    outcomes : array, shape (cells, 2) or (cells, 1 + cells)
        Estimate, and its precision, where errors are independent; or a row of the inverse of
        their covariance.
    at : array, shape (cells, 1)
        True values.
    is_sloped : bool
        Whether the gradient is asked for; else it is empty.

    Returns
    -------
    tuple of array
        Log-likelihood (cells,), and its gradient (cells, 1).
    """
    cells, width = outcomes.shape
    pull = np.zeros(cells)
    for i in range(cells):
        rest = outcomes[i, 0] - at[i, 0]
        if width == INDEPENDENT:
            pull[i] = outcomes[i, 1] * rest
        else:
            # By rows, since the inverse is symmetric: the loop is one of SIMD.
            row = outcomes[i, 1:]
            for j in range(cells):
                pull[j] += row[j] * rest
    value = np.empty(cells)
    slopes = np.empty((cells if is_sloped else 0, 1))
    for i in range(cells):
        value[i] = -0.5 * (outcomes[i, 0] - at[i, 0]) * pull[i]
        if is_sloped:
            slopes[i, 0] = pull[i]
    return value, slopes
