"""The likelihood's face in JAX, for samplers that run there.

Importing this module registers the operation of `hmetad.likelihood.op` with PyTensor's JAX
backend, by the formulas of `hmetad.likelihood.theory`, which JAX differentiates. `hmetad.fit`
imports it where it is needed. Whoever samples a model of `hmetad.build_model` with PyMC alone
imports it first:

    import hmetad.likelihood.jax_op

    with hmetad.build_model(counts, hmetad.load_model("individual")):
        draws = pm.sample(nuts_sampler="numpyro")

JAX is optional (``pip install "hmetad[jax]"``), so nothing else of the package imports this
module. PyTensor sets JAX to double precision.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from pytensor.link.jax.dispatch import jax_funcify

from hmetad.likelihood import theory
from hmetad.likelihood.op import MetaDLogLikelihood

__all__ = ["log_likelihood_and_gradient"]

type Array = Any


def log_likelihood_and_gradient(counts: Array, *parameters: Array) -> tuple[Array, ...]:
    """ℓ of each cell and its partial derivatives: arguments and results as in the kernel.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
    *parameters : array
        d, c (cells,); m, kappa (cells, 2); gaps (cells, 2, K - 1); s (cells,).

    Returns
    -------
    tuple of array
        Value (cells,), and one array for each parameter, of its shape.

    Examples
    --------
    >>> one, two = jnp.ones(1), jnp.ones((1, 2))
    >>> n = jnp.array([[[[9.0, 20.0], [12.0, 5.0]], [[8.0, 4.0], [13.0, 25.0]]]])
    >>> out = log_likelihood_and_gradient(n, one, 0 * one, two, 0 * two, two[..., None], one)
    >>> out[0].round(6).tolist(), out[1].round(6).tolist()
    ([-126.786338], [0.511247])
    """
    value = log_likelihood(counts, *parameters)
    # A sampler that differentiates by itself follows the value; stopped here, JAX need not also
    # trace derivatives of the derivatives.
    constants = map(jax.lax.stop_gradient, parameters)
    values, pull = jax.vjp(partial(log_likelihood, counts), *constants)
    # A cell's value depends on its own parameters only: the sum has every cell's derivatives.
    return value, *pull(jnp.ones_like(values))


def log_likelihood(counts: Array, *parameters: Array) -> Array:
    """ℓ of each cell by the readable formulas."""
    d, c, m, kappa, gaps, s = parameters
    log_p = theory.log_joint_probabilities(d, c, m, kappa, gaps, s, jnp)
    return theory.log_likelihood(counts, log_p, jnp)


@jax_funcify.register(MetaDLogLikelihood)
def funcify(*_: MetaDLogLikelihood, **__: Any) -> Callable[..., tuple[Array, ...]]:
    """Implementation in PyTensor's JAX backend; what it is asked for does not change it."""
    return log_likelihood_and_gradient
