"""Likelihoods in JAX, for samplers that run there.

Importing this module registers the operation of `hmetad.likelihood.op` with PyTensor's JAX
backend, by the readable probabilities of each likelihood, which JAX differentiates. `hmetad.fit`
imports it where it is needed. Whoever samples a model of `hmetad.build_model` with PyMC alone
imports it first:

    import hmetad.likelihood.jax_op

    with hmetad.build_model(counts, hmetad.load_model("individual")):
        draws = pm.sample(nuts_sampler="numpyro")

JAX is optional (``pip install ".[jax]"`` in the clone), so nothing else of the package imports this
module. PyTensor sets JAX to double precision.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from pytensor.link.jax.dispatch import jax_funcify

from hmetad.likelihood import ratings
from hmetad.likelihood.arrays import jax_arrays
from hmetad.likelihood.op import KernelOp
from hmetad.likelihood.records import Likelihood
from hmetad.likelihood.registry import load_likelihood

__all__ = ["log_likelihood_and_gradient"]

type Array = Any


def log_likelihood_and_gradient(
    likelihood: Likelihood, counts: Array, *arguments: Array
) -> tuple[Array, ...]:
    """ℓ of each cell and its partial derivatives: results as a compiled kernel has them.

    Parameters
    ----------
    likelihood : Likelihood
    counts : array, shape (cells, 2, 2, K)
    *arguments : array
        The likelihood's arguments, in its order.

    Returns
    -------
    tuple of array
        Value (cells,), and one array for each argument, of its shape.

    Examples
    --------
    >>> one, two = jnp.ones(1), jnp.ones((1, 2))
    >>> n = jnp.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> arguments = (one, 0 * one, two, 0 * two, two[..., None], one)
    >>> out = log_likelihood_and_gradient(load_likelihood("meta-d"), n, *arguments)
    >>> out[0].round(6).tolist(), out[1].round(6).tolist()
    ([-126.786338], [0.511247])
    """
    value = log_likelihood(likelihood, counts, *arguments)
    # A sampler that differentiates by itself follows the value; stopped here, JAX need not also
    # trace derivatives of the derivatives.
    constants = map(jax.lax.stop_gradient, arguments)
    values, pull = jax.vjp(partial(log_likelihood, likelihood, counts), *constants)
    # A cell's value depends on its own parameters only: the sum has every cell's derivatives.
    return value, *pull(jnp.ones_like(values))


def log_likelihood(likelihood: Likelihood, counts: Array, *arguments: Array) -> Array:
    """ℓ of each cell by the readable formulas."""
    xp = jax_arrays()
    log_p = likelihood.log_probabilities(*arguments, xp=xp)
    return ratings.log_likelihood(counts, log_p, xp)


@jax_funcify.register(KernelOp)
def funcify(op: KernelOp, **_: Any) -> Callable[..., tuple[Array, ...]]:
    """Implementation in PyTensor's JAX backend."""
    return partial(log_likelihood_and_gradient, load_likelihood(op.likelihood))
