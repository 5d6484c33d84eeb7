"""Ideal observers against mpmath, the paper's figures and simulation."""

import mpmath
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from hmetad.errors import InputError
from hmetad.measures.information_bounds import information_bounds
from hmetad.measures.information_noise import (
    meta_i_of_dprime,
    noise_information,
    normal_noise_information,
)


def uncertainty(p):
    """H₂ of a small probability p, in bits, by mpmath."""
    return -(p * mpmath.log(p) + (1 - p) * mpmath.log1p(-p)) / mpmath.log(2)


def by_mpmath(dprime):
    """Information and surplus of the normal-noise observer to 40 digits."""
    with mpmath.workdps(40):
        d = mpmath.mpf(dprime)

        def integrand(x):
            density = mpmath.npdf(x - d / 2) + mpmath.npdf(x + d / 2)
            return density * uncertainty(1 / (1 + mpmath.exp(d * x)))

        scale = max(1, d / 8)
        left = mpmath.quad(integrand, [mpmath.mpf(k) / scale for k in (0, 1, 2, 4, 8, 12, 20)])
        return float(1 - left), float(uncertainty(mpmath.ncdf(-d / 2)) - left)


@pytest.mark.parametrize("dprime", [1e-4, 0.05, 0.7, 1.99, 2.01, 3.5, 7.4, 9.0, 16.0])
def test_normal_noise_equals_40_digits_of_mpmath(dprime):
    info, meta_i = by_mpmath(dprime)
    observer = normal_noise_information(dprime)
    # The trapezoidal rule leaves rounding errors alone.
    assert observer["info"].item() == pytest.approx(info, rel=1e-13)
    assert observer["meta_i"].item() == pytest.approx(meta_i, rel=1e-13)
    assert meta_i_of_dprime(np.array([dprime, -dprime])) == pytest.approx([meta_i] * 2, rel=1e-10)


def test_interpolation_is_as_good_between_its_knots():
    d = np.random.default_rng(1).uniform(0, 12, 20_000)
    exact = normal_noise_information(d)["meta_i"].values
    np.testing.assert_allclose(meta_i_of_dprime(d), exact, rtol=1e-10)
    near_0 = np.geomspace(1e-7, 0.1, 500)
    exact = normal_noise_information(near_0)["meta_i"].values
    np.testing.assert_allclose(meta_i_of_dprime(near_0), exact, rtol=1e-10)


def test_values_of_figure_2_and_of_table_1():
    at = noise_information(0.7)
    assert at["dprime"].item() == pytest.approx(1.0488010, abs=5e-8)
    assert at["normal"].item() == pytest.approx(0.174948, abs=5e-7)
    assert at["binary"].item() == pytest.approx(0.118709, abs=5e-7)
    assert at["uniform"].item() == pytest.approx(0.4, abs=1e-12)
    meta_i = normal_noise_information(at["dprime"])["meta_i"].item()
    assert meta_i == pytest.approx(0.0562388, abs=5e-8)


def test_binary_and_uniform_noise_are_the_bounds_and_normal_noise_lies_between():
    accuracy = xr.DataArray(np.linspace(0.5, 1, 101), dims="accuracy")
    at, bounds = noise_information(accuracy), information_bounds(accuracy, 0.5)
    np.testing.assert_allclose(at["binary"], bounds["lower"], atol=1e-14)
    np.testing.assert_allclose(at["uniform"], bounds["upper"], atol=1e-14)
    inner = at.isel(accuracy=slice(1, -1))
    assert (inner["binary"] < inner["normal"]).all()
    assert (inner["normal"] < inner["uniform"]).all()
    ends = at["normal"].values[[0, -1]]
    np.testing.assert_allclose(ends, [0, 1], atol=1e-14)


def test_accuracy_information_and_surplus_belong_together():
    observer = normal_noise_information(xr.DataArray([0.3, -1.2, 2.5], dims="cell"))
    np.testing.assert_allclose(observer["accuracy"], norm.cdf([0.15, 0.6, 1.25]), rtol=1e-14)
    least = information_bounds(observer["accuracy"], 0.5)["lower"]
    np.testing.assert_allclose(observer["meta_i"], observer["info"] - least, atol=1e-14)
    assert observer["info"].dims == ("cell",)


def test_simulated_trials_tell_as_much():
    d, rng = 1.4, np.random.default_rng(1)
    x = rng.normal(d / 2, 1, 400_000)
    confidence = 1 / (1 + np.exp(-d * abs(x)))
    told = 1 + np.mean(
        confidence * np.log2(confidence) + (1 - confidence) * np.log2(1 - confidence)
    )
    # Four standard errors of the mean.
    assert normal_noise_information(d)["info"].item() == pytest.approx(told, abs=0.002)


def test_no_sensitivity_tells_nothing_and_an_infinite_one_all():
    observer = normal_noise_information([0.0, np.inf, np.nan])
    np.testing.assert_array_equal(observer["accuracy"], [0.5, 1, np.nan])
    np.testing.assert_array_equal(observer["info"], [0, 1, np.nan])
    np.testing.assert_allclose(observer["meta_i"], [0, 0, np.nan], atol=1e-300)


def test_the_sign_of_dprime_is_of_no_account():
    d = np.array([0.4, 3.0, 9.0, 30.0])
    assert normal_noise_information(d).identical(normal_noise_information(-d))
    np.testing.assert_array_equal(meta_i_of_dprime(d), meta_i_of_dprime(-d))


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match="dprime: got 'large'"):
        normal_noise_information("large")
    with pytest.raises(InputError, match=r"accuracy: got 0\.3, allowed is numbers from 0\.5 to 1"):
        noise_information(0.3)
