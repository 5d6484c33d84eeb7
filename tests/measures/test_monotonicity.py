"""Accuracy over rising confidence against SciPy, brute force and cases made by hand."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, spearmanr

from hmetad.counts.counting import count_correct
from hmetad.counts.ratings import bin_confidence
from hmetad.errors import InputError
from hmetad.measures.reliability import accuracy_by_confidence, calibration
from hmetad.notice import notices

# Accuracies 1/4, 3/4, 2/4 and 4/4 at rising confidence.
STEPS = pd.DataFrame(
    {
        "correct": [1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1],
        "confidence": np.repeat([-7.0, 0.5, 2.0, 90.0], 4),
    }
)


def one(trials, **options):
    return accuracy_by_confidence(trials, **options).sel(cell="all")


def codes(result):
    return {notice.code for notice in notices(result)}


def sure(n=600, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return pd.DataFrame(
        {"correct": rng.random(n) < p, "confidence": p, "model": rng.choice(["A", "B"], n)}
    )


def test_one_inversion_among_four_steps_by_hand():
    found = one(STEPS, bins=4)
    assert found["bin_accuracy"].values.tolist() == [0.25, 0.75, 0.5, 1.0]
    assert found["inversions"].item() == 1
    assert not found["rises"].item()
    # Ranks 1, 3, 2, 4 against 1, 2, 3, 4: 1 − 6·2/(4·15).
    assert found["spearman"].item() == pytest.approx(0.8, abs=1e-15)


@pytest.mark.parametrize(
    ("right", "inversions", "rises"),
    [([0, 1, 2, 4], 0, True), ([1, 1, 2, 2], 0, True), ([4, 2, 1, 0], 6, False)],
)
def test_a_rise_has_no_inversion_and_a_fall_all(right, inversions, rises):
    correct = np.concatenate([np.repeat([1, 0], [r, 4 - r]) for r in right])
    found = one(STEPS.assign(correct=correct), bins=4)
    assert found["inversions"].item() == inversions
    assert found["rises"].item() is rises


def test_the_same_accuracy_everywhere_neither_rises_nor_has_a_correlation():
    found = accuracy_by_confidence(STEPS.assign(correct=[1, 0] * 8), bins=4)
    assert not found["rises"].item()
    assert found["inversions"].item() == 0
    assert np.isnan(found["spearman"].item())
    assert "undefined-spearman" in codes(found)


@pytest.mark.parametrize("correct", [0, 1])
def test_all_right_or_all_wrong_is_flat(correct):
    found = one(STEPS.assign(correct=correct), bins=4)
    assert not found["rises"].item()
    assert np.isfinite(found["lower"]).all()


def test_one_confidence_leaves_one_bin():
    found = accuracy_by_confidence(STEPS.assign(confidence=1.0), bins=4)
    assert found["bins_used"].item() == 1
    assert np.isnan(found["lower"]).sum() == np.isnan(found["upper"]).sum() == 3
    assert {"empty-bins", "undefined-spearman", "few-trials"} <= codes(found)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 8)),
        min_size=1,
        max_size=50,
    ),
    st.integers(2, 9),
)
def test_inversions_and_correlation_are_those_of_the_bins_that_are_used(pairs, bins):
    found = one(pd.DataFrame(pairs, columns=["correct", "confidence"]), bins=bins)
    accuracy = found["bin_accuracy"].values
    accuracy = accuracy[~np.isnan(accuracy)]
    k = len(accuracy)
    pairs_of_bins = [(i, j) for i in range(k) for j in range(i + 1, k)]
    expected = sum(accuracy[i] > accuracy[j] for i, j in pairs_of_bins)
    assert found["inversions"].item() == expected
    if len(set(accuracy)) > 1:
        theirs = spearmanr(np.arange(k), accuracy).statistic
        assert found["spearman"].item() == pytest.approx(theirs, abs=1e-12)
    else:
        assert np.isnan(found["spearman"].item())


@pytest.mark.parametrize("interval", ["wilson", "exact"])
@pytest.mark.parametrize("ci_prob", [0.5, 0.95, 0.999])
def test_intervals_are_scipys(interval, ci_prob):
    right = [0, 1, 3, 4, 7]
    correct = np.concatenate([np.repeat([1, 0], [r, 7 - r]) for r in right])
    trials = pd.DataFrame({"correct": correct, "confidence": np.repeat(range(5), 7)})
    found = one(trials, bins=5, interval=interval, ci_prob=ci_prob)
    for place, successes in enumerate(right):
        theirs = binomtest(successes, 7).proportion_ci(ci_prob, method=interval)
        # SciPy finds the exact limits by a root search, to about 1e-9.
        assert found["lower"][place].item() == pytest.approx(theirs.low, abs=1e-8)
        assert found["upper"][place].item() == pytest.approx(theirs.high, abs=1e-8)


def test_limits_of_none_and_all_are_zero_and_one():
    for interval in ("wilson", "exact"):
        found = one(STEPS.assign(correct=np.repeat([0, 1], 8)), bins=2, interval=interval)
        assert found["lower"].values[0] == 0
        assert found["upper"].values[1] == 1


def test_bins_are_those_of_bin_confidence_and_of_calibration():
    trials = sure()
    found = one(trials)
    by_rating = trials.groupby(bin_confidence(trials["confidence"], 10))["correct"].mean()
    np.testing.assert_array_equal(found["bin_accuracy"], by_rating)
    same = calibration(trials).sel(cell="all")
    xr.testing.assert_equal(found["bin_accuracy"], same["bin_accuracy"])


def test_only_the_order_of_confidence_counts():
    trials = sure()
    other = trials.assign(confidence=np.log(trials["confidence"]))
    ours, theirs = (accuracy_by_confidence(t, by="model") for t in (trials, other))
    xr.testing.assert_equal(ours.drop_vars("bin_confidence"), theirs.drop_vars("bin_confidence"))


def test_the_interval_is_recorded_and_every_variable_described():
    found = accuracy_by_confidence(sure(), by="model", interval="exact", ci_prob=0.9)
    assert (found.attrs["interval"], found.attrs["ci_prob"]) == ("exact", 0.9)
    assert "90 % exact" in found["lower"].attrs["long_name"]
    assert all(set(x.attrs) == {"long_name", "units", "source"} for x in found.data_vars.values())


def test_result_survives_a_file(tmp_path):
    found = accuracy_by_confidence(sure(), by="model")
    found.to_netcdf(tmp_path / "rise.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "rise.nc", engine="h5netcdf")
    xr.testing.assert_equal(read, found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 1}, "at least 2"),
        ({"interval": "wald"}, "interval: got 'wald', allowed is 'wilson' or 'exact'"),
        ({"ci_prob": 95}, "ci_prob: got 95, allowed is a probability between 0 and 1"),
        ({"ci_prob": True}, "ci_prob: got True"),
        ({"ci_prob": "0.95"}, r"ci_prob: got '0\.95'"),
        ({"confidence": "sure"}, "column of the trials"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        accuracy_by_confidence(STEPS, **options)


def test_a_table_of_ratings_is_refused():
    with pytest.raises(InputError, match="auroc2"):
        accuracy_by_confidence(count_correct(STEPS.assign(confidence=1)))
