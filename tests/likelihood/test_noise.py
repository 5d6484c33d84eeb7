"""Meta-d′ with evidence of other shapes: logistic noise, and Gumbel noise of the minimum."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import hmetad
from hmetad.likelihood.families.meta_d import log_noise_probabilities
from hmetad.likelihood.family import NUMPY
from hmetad.likelihood.registry import load_likelihood

NOISES = {
    "logistic": stats.logistic(scale=np.sqrt(3) / np.pi),
    "gumbel_min": stats.gumbel_l(scale=np.sqrt(6) / np.pi),
}
GAPS = np.array([[0.5, 0.3], [0.4, 0.7]])


def by_quadrature(noise, d, c, m, kappa, s):
    """Probabilities (stimulus, response, rating) as integrals of the density."""
    found = np.empty((2, 2, 3))
    for stimulus, (sign, scale) in enumerate(((-1, 1.0), (1, s))):

        def area(lower, upper, distance, sign=sign, scale=scale):
            edges = (scale * (x - sign * distance / 2) for x in (lower, upper))
            edges = np.clip([*edges], noise.ppf(1e-17), noise.isf(1e-17))
            return integrate.quad(noise.pdf, *edges, epsabs=1e-13)[0]

        for response, side in enumerate((-1, 1)):
            edges = kappa + side * np.array([0, *np.cumsum(GAPS[response]), np.inf])
            ends = [sorted(pair) for pair in pairwise(edges)]
            decided = area(*sorted((c, side * np.inf)), d)
            beyond = area(*sorted((kappa, side * np.inf)), m)
            found[stimulus, response] = [decided * area(*pair, m) / beyond for pair in ends]
    return found


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("s", [1.0, 1.3])
def test_probabilities_are_integrals_of_the_density(noise, s):
    p = np.exp(log_noise_probabilities(noise, 1.7, 0.3, [1.2], [0.25], GAPS, s))
    np.testing.assert_allclose(p, by_quadrature(NOISES[noise], 1.7, 0.3, 1.2, 0.25, s), rtol=1e-9)
    np.testing.assert_allclose(p.sum(axis=(1, 2)), 1, rtol=1e-14)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kappa", [-20.0, -4.0, 4.0])
def test_tails_keep_their_digits(noise, kappa):
    log_p = log_noise_probabilities(noise, 1.0, 0.0, [1.0], [kappa], GAPS)
    mpmath.mp.dps = 800
    scale = mpmath.pi / mpmath.sqrt(3 if noise == "logistic" else 6)

    def below(x):
        x = scale * x
        is_logistic = noise == "logistic"
        return 1 / (1 + mpmath.exp(-x)) if is_logistic else -mpmath.expm1(-mpmath.exp(x))

    start = mpmath.mpf(kappa) - mpmath.mpf(1) / 2
    # Stimulus S2: of response S1 what lies below, of response S2 what lies above.
    lower, upper = start + mpmath.mpf("0.4"), start + mpmath.mpf("0.4") + mpmath.mpf("0.7")
    share = (below(upper) - below(lower)) / (1 - below(start))
    expected = mpmath.log((1 - below(mpmath.mpf(-1) / 2)) * share)
    assert log_p[1, 1, 1] == pytest.approx(float(expected), rel=1e-9)
    share = (below(start) - below(start - mpmath.mpf("0.5"))) / below(start)
    expected = mpmath.log(below(mpmath.mpf(-1) / 2) * share)
    assert log_p[1, 0, 0] == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_maximum_likelihood_finds_the_truth(noise):
    record = load_likelihood("meta-d", noise=noise)
    values = {"dprime": 1.5, "c": 0.2, "log_m": np.log(0.7)}
    log_p = record.outcomes({**values, "log_gap": np.log(GAPS)}, NUMPY)
    n = np.rint(1e5 * np.exp(log_p))
    counts = hmetad.from_nr(*(np.append(n[i, 0, ::-1], n[i, 1]) for i in range(2)))
    found = hmetad.fit_mle(counts, hmetad.load_model("individual", noise=noise))
    assert float(found["m_ratio"].item()) == pytest.approx(0.7, abs=1e-3)
    assert float(found["dprime"].item()) == pytest.approx(1.5, abs=1e-3)
    # The maximum is where the counts came from, but for their rounding.
    assert found["loglik"].item() == pytest.approx((n * log_p).sum(), abs=0.1)


def test_plugged_in_sensitivity_is_normal():
    with pytest.raises(hmetad.InputError, match="'plug_in' with logistic noise"):
        hmetad.load_model("individual", type1="plug_in", noise="logistic")


@pytest.mark.integration
@pytest.mark.parametrize("noise", NOISES)
def test_group_of_people_has_the_true_population(noise):
    rng = np.random.default_rng(1)
    log_m = rng.normal(np.log(0.7), 0.2, 20)
    counts = hmetad.simulate_counts(
        rng.normal(1.5, 0.2, 20), m_ratio=np.exp(log_m), trials=600, noise=noise, seed=2,
        coords={"subject": [f"s{i}" for i in range(20)]},
    )  # fmt: skip
    model = hmetad.load_model("group", noise=noise)
    fit = hmetad.fit(counts, model, random_seed=1, progressbar=False)
    draws = fit["posterior"]["log_m_Intercept"]
    assert abs(draws.mean() - log_m.mean()) < 3 * draws.std()
    assert float(draws.std()) < 0.15
