"""Smoothed weights are those of ArviZ."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from hmetad.bayes.importance import smooth_weights


@pytest.mark.parametrize("size", [50, 200, 1000, 8192])
@pytest.mark.parametrize("spread", [0.01, 0.5, 1.0, 2.0, 5.0, 40.0])
def test_weights_and_shape_are_those_of_arviz(size, spread):
    ratios = spread * np.random.default_rng(size).normal(size=size)
    weights, k = smooth_weights(ratios)
    expected, expected_k = array_stats.psislw(-ratios)
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-9)
    assert k == pytest.approx(float(expected_k), rel=1e-9)


def test_the_shape_of_pareto_ratios_is_found():
    probs = (np.arange(50_000) + 0.5) / 50_000
    for shape in (0.3, 0.6, 0.9):
        _, k = smooth_weights(-shape * np.log1p(-probs))
        assert k == pytest.approx(shape, abs=0.05)
