"""Over-confidence against judged trials; meta-Δ of known criteria and of fits."""

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad import InputError
from hmetad.measures import calibration, meta_delta, overconfidence

CHANCES = [0.5, 0.6, 0.8, 1.0]


def test_it_is_that_of_trials_with_stated_probabilities():
    coords = {"model": ["a", "b"]}
    trials = hmetad.simulate_trials([1.2, 0.5], trials=400, coords=coords, seed=2)
    counts = hmetad.count_trials(trials, by="model")
    found = overconfidence(counts, probabilities=CHANCES)
    right = (trials["stimulus"] == trials["response"]).to_numpy()
    sure = np.array(CHANCES)[trials["confidence"].to_numpy() - 1]
    stated = calibration(trials.assign(correct=right, sure=sure), by="model", confidence="sure")
    for name in ("mean_confidence", "accuracy", "overconfidence"):
        np.testing.assert_allclose(found[name], stated[name], rtol=1e-12)


def test_who_is_as_sure_as_right_is_not_over_confident():
    right = [50, 60, 80, 100]
    judged = xr.DataArray([np.subtract(100, right), right], dims=["correct", "rating"])
    found = overconfidence(judged, probabilities=CHANCES)
    assert found["overconfidence"].item() == pytest.approx(0, abs=1e-12)
    sure = xr.DataArray([[0, 0, 0, 40], [0, 0, 0, 60]], dims=["correct", "rating"])
    found = overconfidence(sure, probabilities=CHANCES)
    assert found["overconfidence"].item() == pytest.approx(0.4)


def test_no_trials_are_undefined():
    judged = xr.DataArray(np.zeros((2, 4), int), dims=["correct", "rating"])
    assert np.isnan(overconfidence(judged, probabilities=CHANCES)["overconfidence"])


@pytest.mark.parametrize(
    "chances",
    [
        [0.5, 1],
        [0.5, 0.6, 0.8, 1.2],
        [0.5, 0.8, 0.6, 1],
        [0.5, np.nan, 0.8, 1],
        0.5,
        [CHANCES],
        "a",
    ],
)
def test_probabilities_are_one_for_each_rating(chances):
    judged = xr.DataArray(np.ones((2, 4), int), dims=["correct", "rating"])
    with pytest.raises(InputError, match="probabilities"):
        overconfidence(judged, probabilities=chances)


def test_the_input_stays_as_it_is():
    table = xr.DataArray(np.ones((2, 4), int), dims=["correct", "rating"])
    before = table.copy(deep=True)
    overconfidence(table, probabilities=CHANCES)
    xr.testing.assert_identical(table, before)


# --- meta-Δ ------------------------------------------------------------------------------------

# Distances between neighbours, outward from κ; the criteria lie at their sums.
GAPS = np.array([[0.3, 0.4, 0.5], [0.2, 0.6, 0.1]])
DISTANCES = (2.2 / 3, 1.9 / 3)


@pytest.mark.parametrize("c", [0.0, 0.3])
@pytest.mark.parametrize("m_ratio", [0.7, 1.0])
def test_known_criteria_come_back_whatever_c_and_m(c, m_ratio):
    counts = hmetad.simulate_counts(1.5, c, m_ratio, gaps=GAPS, trials=1_000_000, seed=1)
    found = hmetad.fit_mle(counts)
    # Errors of estimates of a million trials: some .005.
    both = meta_delta(found, by_response=True).sel(cell="all")
    np.testing.assert_allclose(both, DISTANCES, atol=0.02)
    assert both.dims == ("response",)
    assert meta_delta(found).item() == pytest.approx(np.mean(DISTANCES), abs=0.015)


def test_draws_keep_their_dims_and_are_judged():
    counts = hmetad.simulate_counts(
        [1.5] * 2, gaps=np.stack([GAPS, GAPS + 0.3]), trials=2000, seed=1,
        coords={"group": ["sure", "unsure"]},
    )  # fmt: skip
    options = {"progressbar": False, "quiet": True, "random_seed": 1}
    fit = hmetad.fit(counts, draws=500, chains=2, **options)
    found = meta_delta(fit)
    assert found.dims == ("chain", "draw", "cell")
    # 0.3 more at the first criterion, 0.6 at the second, 0.9 at the third.
    difference = hmetad.contrast(found, over="group").mean(["chain", "draw"])
    assert abs(difference).item() == pytest.approx(0.6, abs=0.15)
    xr.testing.assert_allclose(found, meta_delta(hmetad.predict(fit)))


def test_what_has_no_criteria_is_refused():
    counts = hmetad.simulate_counts(1.5, trials=500, seed=1)
    with pytest.raises(InputError, match="estimates"):
        meta_delta(counts)
    with pytest.raises(InputError, match="without meta_c, criteria"):
        meta_delta(hmetad.sdt(counts))
    with pytest.raises(InputError, match="without meta_c"):
        meta_delta(hmetad.fit_mle(counts).drop_vars("meta_c"))
