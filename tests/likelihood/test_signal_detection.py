"""Ratings by signal detection theory against meta-d′ at M = 1."""

import numpy as np
import pytest

import hmetad
from hmetad.likelihood.registry import load_likelihood


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
