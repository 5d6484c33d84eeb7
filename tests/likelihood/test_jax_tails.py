"""log Φ under JAX, and its derivative."""

import numpy as np
import pytest
from scipy.special import erfcx, log_ndtr

# JAX is an extra; what is imported below needs it.
jax = pytest.importorskip("jax")

# The operation's module has PyTensor set JAX to double precision.
from hmetad.likelihood import jax_op, jax_tails  # noqa: E402, F401

EDGES = np.concatenate([-np.logspace(0, 8, 200), [-20.0, 0.0], np.linspace(-40, 40, 401)])


def test_the_logarithm_is_that_of_scipy():
    ours = np.asarray(jax_tails.log_ndtr(EDGES))
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, log_ndtr(EDGES), rtol=1e-14, atol=1e-16)


def test_the_derivative_is_the_inverse_of_mills_ratio_however_far_out():
    ours = np.asarray(jax.vmap(jax.grad(jax_tails.log_ndtr))(EDGES))
    near = np.minimum(EDGES, 0)
    below = np.sqrt(2 / np.pi) / erfcx(-near / np.sqrt(2))
    above = np.exp(-(EDGES**2) / 2 - log_ndtr(EDGES)) / np.sqrt(2 * np.pi)
    # φ/Φ is the exponential of a difference of numbers up to 200; JAX has no subnormal numbers.
    np.testing.assert_allclose(ours, np.where(EDGES < 0, below, above), rtol=1e-13, atol=1e-300)


def test_a_derivative_is_finite_where_the_logarithm_no_longer_is():
    assert float(jax_tails.log_ndtr(-1e200)) == -np.inf
    assert float(jax.grad(jax_tails.log_ndtr)(-1e200)) == 1e200
