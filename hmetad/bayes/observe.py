"""The count table as an observed variable of a PyMC model.

Arguments of a likelihood for every cell, and counts → observed random variable ``counts``, whose
log-likelihood is that of the likelihood, and from which new tables can be drawn.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.likelihood.arrays import NUMPY
from hmetad.likelihood.op import log_likelihood
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.registry import load_likelihood

__all__ = ["drawn_counts", "observe"]


def observe(
    counts: xr.DataArray, likelihood: Likelihood, arguments: Sequence[TensorVariable]
) -> None:
    """Tie the arguments of a likelihood to the observed counts, in the current model.

    Parameters
    ----------
    counts : DataArray, shape (cells, 2, 2, K)
    likelihood : Likelihood
    arguments : sequence of tensor
        In the order of the likelihood, each of shape (cells, *its dims).
    """
    letters = {"response": "r", "criterion": "g", "criterion_gap": "h"}
    dims = [",".join(letters[d] for d in likelihood.dims(name)) for name in likelihood.arguments]
    pm.CustomDist(
        "counts",
        *arguments,
        counts.sum(["response", "rating"]).values,
        counts["rating"].values,
        # By name: what is kept of a compiled model must not depend on the process.
        logp=partial(counts_logp, likelihood.name),
        random=partial(counts_random, likelihood.name),
        signature=",".join(f"({own})" for own in [*dims, "s", "k"]) + "->(s,r,k)",
        dtype="int64",
        observed=counts.values,
        dims=counts.dims,
    )


def counts_logp(name: str, value: TensorVariable, *parameters: TensorVariable) -> TensorVariable:
    """ℓ of each cell; the last two parameters only tell how to draw new counts."""
    return log_likelihood(load_likelihood(name), value, *parameters[:-2])


def counts_random(
    name: str,
    *parameters: Any,
    rng: np.random.Generator,
    size: tuple[int, ...] | None = None,  # noqa: ARG001 (PyMC passes it)
) -> NDArray[np.int64]:
    """New counts with the observed numbers of trials of each stimulus."""
    *arguments, trials, _ = parameters
    return drawn_counts(rng, trials, load_likelihood(name).log_probabilities(*arguments, xp=NUMPY))


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
