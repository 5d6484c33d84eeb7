"""Likelihoods in JAX, for samplers that run there.

Importing this module registers the operation of `hmetad.likelihood.tensors` with PyTensor's JAX
backend, by the readable probabilities of each likelihood, which JAX differentiates. `hmetad.fit`
imports it where it is needed. Whoever samples a model of `hmetad.build_model` with PyMC alone
imports it first:

    import hmetad.likelihood.jax_op

    with hmetad.build_model(counts, hmetad.load_model("individual")):
        draws = pm.sample(nuts_sampler="numpyro")

JAX is optional (``pip install ".[jax]"`` in the clone), so nothing else of the package imports this
module. PyTensor sets JAX to double precision.

log Φ has a derivative that is exact however far out the edge lies. JAX's own cuts its asymptotic
series after three terms, 4e-9 off at -20, and differentiates by φ/Φ as the exponential of a
difference, of which nothing is left beyond 1e6, where a sampler may well begin.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy import special, stats
from pytensor.link.jax.dispatch import jax_funcify

from hmetad.likelihood import ratings
from hmetad.likelihood.family import Arrays, Family
from hmetad.likelihood.registry import load_likelihood
from hmetad.likelihood.tensors import KernelOp

__all__ = ["log_likelihood_and_gradient", "log_ndtr"]

type Array = Any

# From here outward JAX takes the series: eight terms, or eight of the fraction, are exact.
FAR = -20.0
TERMS = 8


def log_likelihood_and_gradient(
    family: Family, counts: Array, *arguments: Array
) -> tuple[Array, ...]:
    """ℓ of each cell and its partial derivatives: results as a compiled kernel has them.

    Parameters
    ----------
    family : Family
    counts : array, shape (cells, *outcomes)
    *arguments : array
        The family's arguments, in its order.

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
    value = log_likelihood(family, counts, *arguments)
    # A sampler that differentiates by itself follows the value; stopped here, JAX need not also
    # trace derivatives of the derivatives.
    constants = map(jax.lax.stop_gradient, arguments)
    values, pull = jax.vjp(partial(log_likelihood, family, counts), *constants)
    # A cell's value depends on its own parameters only: the sum has every cell's derivatives.
    return value, *pull(jnp.ones_like(values))


def log_likelihood(family: Family, counts: Array, *arguments: Array) -> Array:
    """ℓ of each cell by the readable formulas."""
    xp = Arrays(jnp, log_ndtr=log_ndtr)
    log_p = family.log_probabilities(*arguments, xp=xp)
    return ratings.log_likelihood(counts, log_p, xp, len(family.layout.dims))


@jax_funcify.register(KernelOp)
def funcify(op: KernelOp, **_: Any) -> Callable[..., tuple[Array, ...]]:
    """Implementation in PyTensor's JAX backend."""
    return partial(log_likelihood_and_gradient, load_likelihood(op.family))


@jax.custom_jvp
def log_ndtr(x: Array) -> Array:
    """log Φ(x), elementwise.

    Examples
    --------
    >>> log_ndtr(jnp.array([-1e8, -30.0, 0.0])).round(6).tolist()
    [-5000000000000019.0, -454.321244, -0.693147]
    >>> jax.grad(log_ndtr)(-1e8).round().item()
    100000000.0
    """
    return special.log_ndtr(x, TERMS)


@log_ndtr.defjvp
def follow(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """log Φ, and its derivative φ/Φ times the tangent."""
    x, value = primals[0], log_ndtr(primals[0])
    near = jnp.maximum(x, FAR)
    ratio = jnp.exp(stats.norm.logpdf(near) - log_ndtr(near))
    return value, tangents[0] * jnp.where(x < FAR, inverse_mills(jnp.maximum(-x, -FAR)), ratio)


def inverse_mills(y: Array) -> Array:
    """φ(y) / (1 - Φ(y)) for large y, by Laplace's continued fraction y + 1/(y + 2/(y + …))."""
    ratio = y
    for k in range(TERMS, 0, -1):
        ratio = y + k / ratio
    return ratio
