"""Estimates with known errors have the likelihood of SciPy's multivariate normal distribution."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

import hmetad
from hmetad.base.errors import InputError
from hmetad.likelihood.kernels.normal import log_likelihood
from hmetad.likelihood.registry import likelihood_names, load_likelihood


@pytest.mark.parametrize("are_independent", [True, False])
def test_value_and_gradient_are_those_of_a_multivariate_normal(are_independent):
    rng = np.random.default_rng(1)
    half = rng.normal(size=(5, 5))
    covariance, y = half @ half.T + np.eye(5), rng.normal(size=5)
    covariance = np.diag(np.diag(covariance)) if are_independent else covariance
    precision = np.linalg.inv(covariance)
    outcomes = np.column_stack([y, np.diag(precision) if are_independent else precision])

    def value(true):
        by_cell, slopes = log_likelihood(outcomes, true[:, None].copy(), True)
        return by_cell.sum(), slopes[:, 0]

    first, second = rng.normal(size=(2, 5))
    expected = [multivariate_normal.logpdf(y, x, covariance) for x in (first, second)]
    assert value(first)[0] - value(second)[0] == pytest.approx(expected[0] - expected[1])
    slopes = approx_fprime(first, lambda x: value(x)[0], 1e-6)
    np.testing.assert_allclose(value(first)[1], slopes, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("link", ["log", "logit", "fisher_z"])
def test_a_quantity_follows_from_the_parameter_of_its_link(link):
    record = load_likelihood("normal", quantity="auroc2", link=link)
    scale = {"log": np.log, "logit": lambda x: np.log(x / (1 - x)), "fisher_z": np.arctanh}[link]
    found = record.derived({f"{link}_auroc2": scale(np.array([0.2, 0.7]))})
    np.testing.assert_allclose(found["auroc2"], [0.2, 0.7])


def test_it_is_no_likelihood_of_counts():
    assert "normal" not in likelihood_names()
    counts = hmetad.simulate_counts(1.5, seed=1)
    with pytest.raises(InputError, match="estimates"):
        hmetad.fit(counts, hmetad.ModelSpec("mine", likelihood="normal"))
