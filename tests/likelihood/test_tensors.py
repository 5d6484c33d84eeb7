"""The kernel's face in PyTensor."""

from dataclasses import replace

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from likelihood.gradients import meta_d as log_likelihood_and_gradient
from pytensor.compile.mode import Mode

from hmetad.likelihood.registry import load_likelihood
from hmetad.likelihood.tensors import log_likelihood

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


@pytest.mark.parametrize(
    ("mode", "is_compiled"),
    [
        ("FAST_COMPILE", True),
        pytest.param("NUMBA", True, marks=pytest.mark.integration),
        # Without a kernel PyTensor differentiates the readable likelihood; that it can compile
        # such a one is seen where a registered family is fitted.
        (Mode(linker="py", optimizer=None), False),
    ],
)
def test_every_backend_gives_the_kernels_value_and_gradient(mode, is_compiled, point, counts):
    inputs = [pt.as_tensor(x).type() for x in point]
    record = load_likelihood("meta-d")
    record = record if is_compiled else replace(record, kernel_module="")
    value = log_likelihood(record, pt.constant(counts), *inputs)
    evaluate = pytensor.function(inputs, [value, *pytensor.grad(value.sum(), inputs)], mode=mode)
    expected = log_likelihood_and_gradient(counts.astype(float), *point)
    rtol, atol = (1e-14, 0) if is_compiled else (1e-9, 1e-9)
    for ours, kernels in zip(evaluate(*point), expected, strict=True):
        np.testing.assert_allclose(ours, kernels, rtol=rtol, atol=atol)


@pytest.mark.integration
def test_code_that_pytensor_kept_is_compiled_anew_where_it_is_damaged(monkeypatch, tmp_path):
    monkeypatch.setattr("pytensor.link.numba.cache.NUMBA_CACHE_PATH", tmp_path)
    x = pt.vector("x")
    for length in (50, 0, None):
        total = pytensor.function([x], pt.exp(x).sum() + 1, mode="NUMBA")
        assert total([0.0, 0.0]) == 3
        kept = [*tmp_path.iterdir()]
        assert {path.suffix for path in kept} == {".nbi", ".nbc"}
        for path in kept:
            path.write_bytes(path.read_bytes()[:length])
