"""The likelihood under JAX against the compiled kernel."""

from functools import partial

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import erfcx, log_ndtr

pytestmark = pytest.mark.integration

# JAX is an extra; what is imported below needs it.
jax = pytest.importorskip("jax")

from likelihood.gradients import meta_d as log_likelihood_and_gradient  # noqa: E402 (JAX may be absent)

from hmetad.likelihood import jax_op  # noqa: E402 (JAX may be absent)
from hmetad.likelihood.registry import load_likelihood  # noqa: E402 (JAX may be absent)
from hmetad.likelihood.tensors import log_likelihood  # noqa: E402 (JAX may be absent)

# Of one size throughout, for which JAX compiles once.
CELLS, RATINGS = 80, 4
EDGES = np.concatenate([-np.logspace(0, 8, 200), [-20.0, 0.0], np.linspace(-40, 40, 401)])
META_D = load_likelihood("meta-d")
compiled = jax.jit(partial(jax_op.log_likelihood_and_gradient, META_D))


def cells_of(edges, gaps):
    """One cell for each distance of both criteria from the evidence, and each size of the gaps."""
    z, gap = (x.ravel() for x in np.meshgrid(edges, gaps))
    both = np.ones((z.size, 2))
    wide = np.ones((z.size, 2, RATINGS - 1))
    return [both[:, 0], z - 0.5, both, z[:, None] * both, gap[:, None, None] * wide, both[:, 0]]


def random_point(rng):
    """Parameters of ordinary size."""
    return [
        rng.normal(1, 1, CELLS),
        rng.normal(0, 1, CELLS),
        rng.normal(1, 1, (CELLS, 2)),
        rng.normal(0, 1, (CELLS, 2)),
        np.exp(rng.normal(-0.7, 0.7, (CELLS, 2, RATINGS - 1))),
        np.exp(rng.normal(0, 0.2, CELLS)),
    ]


def counts_of(rng):
    """Counts, a third of them zero."""
    counts = rng.integers(0, 20, (CELLS, 2, 2, RATINGS)).astype(float)
    return np.where(rng.random(counts.shape) < 1 / 3, 0.0, counts)


def assert_same(ours, kernels, tolerance):
    """Agreement of every cell, relative to its gradient's or value's size, which is at least 1."""
    for our, kernel in zip(map(np.asarray, ours), kernels, strict=True):
        size = np.abs(kernel).reshape(len(kernel), -1).max(-1, initial=1.0)
        error = np.abs(our - kernel).reshape(len(kernel), -1).max(-1, initial=0.0)
        assert our.dtype == np.float64
        assert (error <= tolerance * size).all()


EDGE_CASES = [-35.0, -20.1, -19.9, -8.0, -1e-4, 0.0, 2.0, 8.1, 30.0, 35.0]
GAPS = [1e-300, 1e-9, 5e-4, 1.5e-3, 0.1, 1.0, 8.0, 40.0]


@pytest.mark.parametrize(
    ("point", "tolerance"),
    [
        (random_point(np.random.default_rng(0)), 1e-11),
        # At 35 a logarithm of an area has 13 digits; of the area between two edges 1e-3 apart, and
        # of its derivative, three are lost, and a few more where derivatives of either sign add up.
        (cells_of(EDGE_CASES, GAPS), 1e-8),
    ],
    ids=["ordinary", "tails and narrow gaps"],
)
def test_value_and_gradient_are_the_kernels(point, tolerance):
    counts = counts_of(np.random.default_rng(1))
    # A rating that nobody used, a stimulus that was never shown, and a cell without trials.
    counts[0, :, :, 2] = 0
    counts[1, 0] = 0
    counts[2] = 0
    results = compiled(counts, *point)
    assert_same(results, log_likelihood_and_gradient(counts, *point), tolerance)
    assert not any(np.asarray(part)[2].any() for part in results)


@pytest.mark.parametrize("differentiate", ["pytensor", "jax"])
def test_pytensors_gradient_and_jaxs_own_are_the_kernels(differentiate):
    rng = np.random.default_rng(3)
    point, counts = random_point(rng), counts_of(rng)
    expected = log_likelihood_and_gradient(counts, *point)[1:]
    inputs = [pt.as_tensor(x).type() for x in point]
    total = log_likelihood(META_D, pt.constant(counts), *inputs).sum()
    if differentiate == "pytensor":
        gradient = pytensor.function(inputs, pytensor.grad(total, inputs), mode="JAX")
    else:
        evaluate = pytensor.function(inputs, total, mode="JAX").vm.jit_fn
        gradient = jax.grad(lambda *x: evaluate(*x)[0], argnums=range(len(point)))
    assert_same(gradient(*point), expected, 1e-11)


def test_the_logarithm_is_that_of_scipy():
    ours = np.asarray(jax_op.log_ndtr(EDGES))
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, log_ndtr(EDGES), rtol=1e-14, atol=1e-16)


def test_the_derivative_is_the_inverse_of_mills_ratio_however_far_out():
    ours = np.asarray(jax.vmap(jax.grad(jax_op.log_ndtr))(EDGES))
    near = np.minimum(EDGES, 0)
    below = np.sqrt(2 / np.pi) / erfcx(-near / np.sqrt(2))
    above = np.exp(-(EDGES**2) / 2 - log_ndtr(EDGES)) / np.sqrt(2 * np.pi)
    # φ/Φ is the exponential of a difference of numbers up to 200; JAX has no subnormal numbers.
    np.testing.assert_allclose(ours, np.where(EDGES < 0, below, above), rtol=1e-13, atol=1e-300)


def test_a_derivative_is_finite_where_the_logarithm_no_longer_is():
    assert float(jax_op.log_ndtr(-1e200)) == -np.inf
    assert float(jax.grad(jax_op.log_ndtr)(-1e200)) == 1e200
