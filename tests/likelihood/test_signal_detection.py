"""Ratings by signal detection theory against printed numbers and against meta-d′ at M = 1."""

import numpy as np
import pytest

import hmetad
from hmetad.likelihood.registry import load_likelihood

GAPS = np.array([[0.6, 0.8], [0.7, 0.8]])
# An independent implementation: response S1 with rating 3..1, then S2 with rating 1..3.
S1 = [0.3263552203, 0.3104754309, 0.1921132225, 0.1215846583, 0.0423286573, 0.0071428107]
S2 = [0.0255880595, 0.0994838761, 0.1660877512, 0.2684580056, 0.2693261813, 0.1710561263]


def test_probabilities_are_those_of_an_independent_implementation():
    values = {"dprime": 1.5, "c": 0.2, "gaps": GAPS}
    p = np.exp(load_likelihood("signal-detection").outcomes(values))
    np.testing.assert_allclose(p[0], [S1[2::-1], S1[3:]], atol=6e-11)
    np.testing.assert_allclose(p[1], [S2[2::-1], S2[3:]], atol=6e-11)


def test_it_is_meta_d_at_an_m_of_1():
    rng = np.random.default_rng(1)
    values = {
        "dprime": rng.normal(1, 1, 50),
        "c": rng.normal(0, 1, 50),
        "gaps": rng.gamma(2, 0.3, (50, 2, 3)),
    }
    ours = load_likelihood("signal-detection").outcomes(values)
    meta = load_likelihood("meta-d").outcomes({**values, "m_ratio": np.ones(50)})
    np.testing.assert_allclose(ours, meta, rtol=1e-12)


@pytest.mark.integration
def test_the_card_is_fitted_compared_and_reported():
    card = hmetad.load_model("sdt")
    counts = hmetad.simulate_counts(**card.example, coords={"task": ["a", "b", "c"]}, seed=1)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    fit = hmetad.fit(counts, card, draws=500, chains=2, **quiet)
    assert hmetad.loo(fit).n_data_points == counts.sum()
    decided = hmetad.decide(hmetad.contrast(fit, var="dprime", over="task"), rope=(-0.1, 0.1))
    page = hmetad.report.fit_report(fit, decided).html()
    assert "signal-detection" in page
    assert "M-ratio" not in page
