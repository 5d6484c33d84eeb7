"""Linear-Gaussian confidence in its limits: without noise, without evidence, with empty areas."""

import numpy as np
import pytest
from likelihood.gradients import linear_gaussian as log_likelihood_and_gradient
from likelihood.gradients import log_probabilities
from scipy.stats import norm

THETA = np.array([[-0.4, -1.2], [0.9, 1.7]])
COUNTS = np.arange(1.0, 13.0).reshape(1, 2, 2, 3)
ORDINARY = {"d": 1.0, "c": 0.1, "a": 0.7, "b": 0.3, "w": 0.1, "sigma": 0.5, "theta": THETA}


def by_cell(**parameters):
    """Parameters of one cell as arrays of cells."""
    return {name: np.array([value], dtype=float) for name, value in parameters.items()}


def test_without_noise_the_ratings_are_those_of_signal_detection():
    theta = np.array([[-0.5, -3.0, -9.0], [0.5, 3.0, 30.0]])
    cell = by_cell(d=1.0, c=0.1, a=1, b=0, w=0, sigma=0, theta=theta)
    found = log_probabilities("linear_gaussian", **cell)[0]
    for stimulus, mu in enumerate((-0.5, 0.5)):
        edges = np.array([0.1, *theta[1], np.inf]) - mu
        np.testing.assert_allclose(
            np.exp(found[stimulus, 1]), norm.sf(edges[:-1]) - norm.sf(edges[1:]), rtol=1e-13
        )
        assert found[stimulus, 1, 3] == pytest.approx(norm.logsf(30 - mu), rel=1e-13)
        assert found[stimulus, 0, 3] == pytest.approx(norm.logcdf(-9 - mu), rel=1e-13)


def test_at_zero_noise_the_gradient_is_that_of_almost_none():
    cell = by_cell(**ORDINARY | {"a": 1.0, "b": 0.1, "w": 0.2})
    none, little = (
        log_likelihood_and_gradient(COUNTS, **cell | {"sigma": np.array([sigma])})
        for sigma in (0.0, 1e-7)
    )
    assert none.sigma[0] == 0
    for one, other in zip(none, little, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", ["a", "sigma"])
def test_the_limits_of_small_parameters_are_reached(name):
    expected = log_likelihood_and_gradient(COUNTS, **by_cell(**ORDINARY | {name: 0.0}))
    for value in (1e-300, 1e-160, 1e-100, 1e-30):
        found = log_likelihood_and_gradient(COUNTS, **by_cell(**ORDINARY | {name: value}))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_empty_areas_matter_only_where_they_were_rated():
    """At σ = 0 no evidence beyond c = 1 has y < 0.5, so the lowest rating of S2 is empty."""
    cell = by_cell(d=1, c=1, a=1, b=0, w=0, sigma=0, theta=[[0.8, 0.2], [0.5, 2.0]])
    counts = np.ones((1, 2, 2, 3))
    with_it = log_likelihood_and_gradient(counts, **cell)
    assert with_it.value[0] == -np.inf
    counts[:, :, 1, 0] = 0
    without = log_likelihood_and_gradient(counts, **cell)
    assert np.isfinite(without.value).all()
    for one, other in zip(with_it[1:], without[1:], strict=True):
        np.testing.assert_array_equal(one, other)
