"""Criteria of random scale against printed numbers, Gauss-Hermite sums and other ways to them."""

import math

import mpmath as mp
import numpy as np
import pytest
from likelihood import gradients
from likelihood.gradients import log_probabilities
from likelihood.gradients import lognormal as log_likelihood_and_gradient
from scipy.special import ndtr
from scipy.stats import norm

from hmetad.likelihood.kernels.lognormal import SMALL, log_scaled_area

DISTANCES = np.array([[0.6, 1.4], [0.7, 1.5]])
# CASANDRE's published recovery setting: mean evidence, then S1 with rating 3..1, S2 with 1..3.
RECOVERY = {
    -1.5: ".44448612 .31714320 .17156348 .05059284 .01308193 .00313244",
    -0.3: ".12730219 .21160619 .27900304 .22017557 .11352736 .04838565",
    0.6: ".02707796 .07432087 .17285429 .27806122 .25914803 .18853762",
}


def by_cell(**parameters):
    """Parameters of one cell as arrays of cells."""
    return {name: np.array([value], dtype=float) for name, value in parameters.items()}


@pytest.mark.parametrize("mean", RECOVERY)
def test_casandre_has_the_probabilities_of_its_published_setting(mean):
    """Sensitivity 0.5 at stimuli -3, -0.6 and 1.2; gaps of 0.75 and 1 from the decision."""
    cell = by_cell(d=2 * mean, c=0, q=np.sqrt(np.log1p(0.5**2)), t=[[0.75, 1.75]] * 2)
    p = np.exp(log_probabilities("lognormal", **cell))[0, 1]
    printed = [float(x) for x in RECOVERY[mean].split()]
    # The printed ones are means over 200,000 quantiles, to eight digits.
    np.testing.assert_allclose([*p[0, ::-1], *p[1]], printed, rtol=0, atol=2e-7)


def test_without_spread_the_ratings_are_those_of_signal_detection():
    rng = np.random.default_rng(2)
    counts = rng.poisson(5, (30, 2, 2, 4)).astype(float)
    d, c, zero = rng.normal(1, 1, 30), rng.normal(0, 0.5, 30), np.zeros(30)
    t = np.cumsum(np.exp(rng.normal(-0.5, 0.7, (30, 2, 3))), -1)
    found = log_likelihood_and_gradient(counts, d, c, zero, t)
    theta = c[:, None, None] + np.array([[-1.0], [1.0]]) * t
    sdt = gradients.linear_gaussian(counts, d, c, zero + 1, zero, zero, zero, theta)
    np.testing.assert_allclose(found.value, sdt.value, rtol=1e-12)
    np.testing.assert_allclose(found.d, sdt.d, rtol=1e-9, atol=1e-9)
    # Criteria move with c there, but not here.
    by_c = sdt.c + sdt.theta.sum((1, 2))
    np.testing.assert_allclose(found.c, by_c, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(found.q, 0, atol=1e-8)


def test_probabilities_beyond_a_criterion_are_gauss_hermite_sums():
    """With K = 2 the upper rating is a smooth expectation, which 100 nodes give for small q."""
    z, weights = np.polynomial.hermite_e.hermegauss(100)
    weights = weights / weights.sum()
    rng = np.random.default_rng(3)
    d, c, q = rng.normal(1, 1, 50), rng.normal(0, 0.3, 50), rng.uniform(0, 0.5, 50)
    t = np.exp(rng.normal(-0.3, 0.5, (50, 2, 1)))
    p = np.exp(log_probabilities("lognormal", d, c, q, t))[..., 1]
    for (i, stimulus, response), beyond in np.ndenumerate(p):
        h = (2 * response - 1) * ((stimulus - 0.5) * d[i] - c[i])
        scale = np.exp(q[i] * z - q[i] ** 2 / 2)
        assert beyond == pytest.approx(weights @ ndtr(h - t[i, response] * scale), rel=1e-9)


@pytest.mark.parametrize("q", [0.03, 0.4, 1.2])
def test_the_fast_and_the_exact_way_agree_where_one_takes_over(q):
    rng, compared = np.random.default_rng(4), 0
    counts = np.zeros((1, 2, 2, 3))
    counts[0, 1, 1, 1] = 1
    for _ in range(300):
        h, lower = rng.normal(-3, 1), rng.uniform(0, 1.5)
        upper = lower + rng.exponential(0.5)
        log_p, *slopes = log_scaled_area(h, lower, upper, q)
        if not SMALL < np.exp(log_p) < 1e-3:
            continue
        compared += 1
        cell = by_cell(d=2 * h, c=0, q=q, t=[[1.0, 2.0], [lower, upper]])
        fast = log_likelihood_and_gradient(counts, **cell)
        # The fast way has errors of 1e-16 in areas above 1e-5.
        assert fast.value[0] == pytest.approx(log_p, abs=1e-10)
        found = [-fast.c[0], *fast.t[0, 1], fast.q[0]]
        np.testing.assert_allclose(found, slopes, rtol=1e-9, atol=1e-9)
    assert compared > 20


def test_a_negative_spread_mirrors_a_positive_one():
    counts = np.arange(1.0, 13.0).reshape(1, 2, 2, 3)
    found, mirrored = (
        log_likelihood_and_gradient(counts, **by_cell(d=1, c=0.1, q=q, t=DISTANCES))
        for q in (0.5, -0.5)
    )
    assert mirrored.value == pytest.approx(found.value, rel=1e-13)
    assert mirrored.q == pytest.approx(-found.q, rel=1e-12)


def test_a_mean_far_out_is_taken_the_exact_way():
    """At 35 SDs from the criterion the fast sums would be of zeros."""
    found = log_probabilities("lognormal", **by_cell(d=70.0, c=0.0, q=0.0, t=DISTANCES))[0]
    assert found[0, 1, 2] == pytest.approx(norm.logsf(35 + 1.5), rel=1e-12)
    assert found[1, 1, 2] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("distance", [1e12, 1e20, 1e28])
@pytest.mark.parametrize("q", [0.013, 0.7])
def test_areas_beyond_the_farthest_edges_are_finite_and_right(distance, q):
    h = 2.0

    def log_value(z):
        return mp.log(mp.ncdf(h - distance * mp.exp(q * (z - q / 2)))) - z**2 / 2

    with mp.workdps(40):
        # The integrand has one peak, near where the scale brings the edge back to the evidence.
        near = q / 2 - mp.log(distance) / q
        peak = max((near + step for step in mp.linspace(-40, 40 + 8 / q, 1000)), key=log_value)
        top = log_value(peak)
        points = [peak + step for step in mp.linspace(-12, 12, 49)]
        area = mp.quad(lambda z: mp.exp(log_value(z) - top), points)
        expected = float(top + mp.log(area / mp.sqrt(2 * mp.pi)))
    found = log_scaled_area(h, distance, math.inf, q)
    assert found[0] == pytest.approx(expected, rel=1e-12)
    assert all(map(math.isfinite, found))
