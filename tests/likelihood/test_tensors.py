"""The kernel's face in PyTensor."""

from dataclasses import replace

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from likelihood.gradients import meta_d as log_likelihood_and_gradient
from pytensor.gradient import verify_grad

from hmetad.likelihood.registry import load_likelihood
from hmetad.likelihood.tensors import KernelOp, log_likelihood

CELLS, RATINGS = 4, 3


@pytest.fixture
def point():
    rng = np.random.default_rng(0)
    return [
        rng.normal(1, 0.5, CELLS),
        rng.normal(0, 0.5, CELLS),
        rng.normal(1, 0.5, (CELLS, 2)),
        rng.normal(0, 0.5, (CELLS, 2)),
        np.exp(rng.normal(-0.7, 0.5, (CELLS, 2, RATINGS - 1))),
        np.exp(rng.normal(0, 0.2, CELLS)),
    ]


@pytest.fixture
def counts():
    return np.random.default_rng(1).integers(0, 20, (CELLS, 2, 2, RATINGS))


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_every_backend_gives_the_kernels_value_and_gradient(mode, point, counts):
    inputs = [pt.as_tensor(x).type() for x in point]
    value = log_likelihood(load_likelihood("meta-d"), pt.constant(counts), *inputs)
    evaluate = pytensor.function(inputs, [value, *pytensor.grad(value.sum(), inputs)], mode=mode)
    expected = log_likelihood_and_gradient(counts.astype(float), *point)
    for ours, kernels in zip(evaluate(*point), expected, strict=True):
        np.testing.assert_allclose(ours, kernels, rtol=1e-14)


def test_gradient_agrees_with_finite_differences(point, counts):
    verify_grad(
        lambda *inputs: log_likelihood(load_likelihood("meta-d"), pt.constant(counts), *inputs),
        point,
        rng=np.random.default_rng(2),
        mode="FAST_COMPILE",
    )


def test_inputs_of_other_dims_are_refused(point, counts):
    with pytest.raises(TypeError, match="dims"):
        KernelOp("meta-d", "hmetad.likelihood.kernels.meta_d", (4, 1, 1, 2, 2, 3, 1))(
            counts[0], *point
        )


@pytest.mark.integration
def test_without_a_kernel_pytensor_differentiates_the_readable_likelihood(point, counts):
    inputs = [pt.as_tensor(x).type() for x in point]
    readable = replace(load_likelihood("meta-d"), kernel_module="")
    value = log_likelihood(readable, pt.constant(counts), *inputs)
    evaluate = pytensor.function(inputs, [value, *pytensor.grad(value.sum(), inputs)])
    expected = log_likelihood_and_gradient(counts.astype(float), *point)
    for ours, kernels in zip(evaluate(*point), expected, strict=True):
        np.testing.assert_allclose(ours, kernels, rtol=1e-9, atol=1e-9)
