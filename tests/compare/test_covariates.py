"""A covariate that is a number is no factor, whose values are compared; a factor of numbers is."""

import numpy as np
import pytest

import hmetad

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 100, "chains": 2}


@pytest.fixture(scope="module")
def counts():
    """Eighteen people with a score, a session, a sex and a block."""
    scores = np.random.default_rng(1).permutation(np.arange(10, 28)) + 1 / 3
    return hmetad.simulate_counts(
        np.full(18, 1.5),
        trials=400,
        coords={"subject": [f"s{i}" for i in range(18)], "block": [i // 6 for i in range(18)]},
        covariates={"AQ": scores.tolist(), "session": [1, 2, 3] * 6, "female": [0, 1] * 9},
        seed=1,
    )


@pytest.fixture(scope="module")
def fit(counts):
    return hmetad.fit(counts, formula={"log_m": "1 + AQ + C(session)"}, **QUIET)


def test_values_of_a_covariate_are_not_compared(counts, fit):
    for draws in (hmetad.resample(counts, hmetad.sdt, n=20, seed=1), fit):
        with pytest.raises(hmetad.InputError, match="over: got 'AQ', a covariate") as refused:
            hmetad.contrast(draws, var="dprime", over="AQ", within="subject")
        assert "dprime_AQ" in str(refused.value)
        with pytest.raises(hmetad.InputError, match="over: got 'AQ'"):
            hmetad.rank(draws, var="dprime", over="AQ", within="session")
    with pytest.raises(hmetad.InputError, match="over: got 'AQ'"):
        hmetad.contrast(hmetad.predict(fit), var="log_m", over="AQ", within="session")


def test_a_factor_that_is_coded_by_numbers_is_compared(fit):
    asked = {"trials": 400, "seed": 1}
    blocks = hmetad.simulate_counts([1.5] * 3, coords={"block": [1, 2, 3]}, **asked)
    sexes = hmetad.simulate_counts(
        [1.5] * 2, coords={"subject": ["a", "b"]}, covariates={"female": [0, 1]}, **asked
    )
    for counts, name, pairs in ((blocks, "block", 3), (sexes, "female", 1)):
        draws = hmetad.resample(counts, hmetad.sdt, n=20, seed=1)
        assert hmetad.contrast(draws, var="dprime", over=name).sizes["pair"] == pairs
    at = hmetad.predict(fit, {"AQ": [10] * 3, "session": [1, 2, 3]})
    assert hmetad.contrast(at, var="log_m", over="session").sizes["pair"] == 3
    with pytest.raises(hmetad.InputError, match="over and within: got session, alike"):
        hmetad.contrast(fit, var="log_m", over="session")


def test_chosen_values_of_a_covariate_are_compared(fit):
    at = hmetad.predict(fit, {"AQ": [10, 20], "session": [1, 1]})
    slope = fit["posterior"]["log_m_AQ"]
    found = hmetad.contrast(at, var="log_m", over="AQ", against=10)
    np.testing.assert_allclose(found.isel(pair=0), 10 * slope)


def test_labels_of_numbers_are_rounded_where_they_stay_unlike(fit):
    terms = hmetad.report.population_table(fit)["term"].tolist()
    assert "18.83 | 1" in terms
    near = hmetad.predict(fit, {"AQ": [1 / 3, 1 / 3 + 1e-9], "session": [1, 1]})
    assert len(set(near["cell"].values)) == 2
    assert hmetad.predict(fit, {"AQ": [0.125], "session": [2]})["cell"].values == ["0.125 | 2"]
