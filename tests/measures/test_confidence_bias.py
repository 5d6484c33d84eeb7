"""Over-confidence of ratings, against trials that are judged one by one."""

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad import InputError
from hmetad.measures import calibration, overconfidence

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
