"""The count table as an observed variable of a PyMC model.

Parameters of every cell and counts → observed random variable ``counts``, whose log-likelihood
is the compiled kernel and from which new tables can be drawn.
"""

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.likelihood.op import log_likelihood
from hmetad.likelihood.theory import log_joint_probabilities

__all__ = ["drawn_counts", "observe"]


def observe(
    counts: xr.DataArray,
    dprime: TensorVariable,
    c: TensorVariable,
    meta_d: TensorVariable,
    kappa: TensorVariable,
    gaps: TensorVariable,
    s: TensorVariable,
) -> None:
    """Tie the parameters to the observed counts, in the current model.

    Parameters
    ----------
    counts : DataArray, shape (cells, 2, 2, K)
    dprime, c, s : tensor, shape (cells,)
    meta_d, kappa : tensor, shape (cells, 2)
    gaps : tensor, shape (cells, 2, K - 1)
    """
    pm.CustomDist(
        "counts",
        dprime,
        c,
        meta_d,
        kappa,
        gaps,
        s,
        counts.sum(["response", "rating"]).values,
        counts["rating"].values,
        logp=counts_logp,
        random=counts_random,
        signature="(),(),(r),(r),(r,g),(),(s),(k)->(s,r,k)",
        dtype="int64",
        observed=counts.values,
        dims=counts.dims,
    )


def counts_logp(value: TensorVariable, *parameters: TensorVariable) -> TensorVariable:
    """ℓ of each cell; the last two parameters only tell how to draw new counts."""
    return log_likelihood(value, *parameters[:-2])


def counts_random(
    *parameters: Any,
    rng: np.random.Generator,
    size: tuple[int, ...] | None = None,  # noqa: ARG001
) -> NDArray[np.int64]:
    """New counts with the observed numbers of trials of each stimulus."""
    d, c, m, kappa, gaps, s, trials, _ = parameters
    return drawn_counts(rng, trials, log_joint_probabilities(d, c, m, kappa, gaps, s))


def drawn_counts(
    rng: np.random.Generator, trials: NDArray[np.int64], log_p: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Count tables from log P(response, rating | stimulus).

    Parameters
    ----------
    rng : Generator
    trials : array, shape (..., 2)
        Numbers of trials of each stimulus.
    log_p : array, shape (..., 2, 2, K)

    Returns
    -------
    array, shape (..., 2, 2, K)
    """
    p = np.exp(log_p)
    outcomes = p.reshape(*p.shape[:-2], -1)
    # Rounding may leave a sum a hair above 1.
    outcomes /= outcomes.sum(axis=-1, keepdims=True)
    return rng.multinomial(trials, outcomes).reshape(p.shape)
