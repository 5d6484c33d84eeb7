"""Continuous confidence becomes ratings 1..K without parting equal values."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.counting import count_trials
from hmetad.counts.ratings import bin_confidence

VALUES = arrays(float, st.integers(1, 40), elements=st.floats(-60_000, 60_000, width=16))
COARSE = arrays(float, st.integers(1, 40), elements=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))


def quietly(*args, **kwargs):
    """Bin without the warning of lost ratings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return bin_confidence(*args, **kwargs)


# --- quantiles ------------------------------------------------------------------------------


def test_quantiles_hold_the_same_number_of_trials():
    values = np.random.default_rng(1).permutation(np.linspace(0, 1, 100))
    ratings = bin_confidence(values, 4)
    assert np.bincount(ratings).tolist() == [0, 25, 25, 25, 25]
    assert ratings.dtype == np.int64


@given(VALUES | COARSE, st.integers(2, 7), st.sampled_from(["quantile", "width"]))
def test_ratings_rise_with_values_and_equal_values_share_one(values, K, method):
    ratings = quietly(values, K, method=method)
    order = np.argsort(values, kind="stable")
    steps, rises = np.diff(ratings[order]), np.diff(values[order])
    assert (steps >= 0).all()
    assert (steps[rises == 0] == 0).all()
    assert ratings.min() == 1
    assert ratings.max() <= K


@settings(max_examples=50)
@given(VALUES | COARSE, st.integers(2, 7))
def test_quantiles_leave_no_gap(values, K):
    ratings = quietly(values, K)
    assert set(ratings) == set(range(1, ratings.max() + 1))


@settings(max_examples=50)
@given(st.integers(2, 7), st.integers(1, 60))
def test_without_ties_the_sizes_differ_by_one_at_most(K, n):
    ratings = quietly(np.arange(n), K)
    sizes = np.bincount(ratings, minlength=K + 1)[1:]
    assert np.ptp(sizes) <= 1


@settings(max_examples=50)
@given(VALUES, st.integers(2, 5))
def test_quantiles_depend_on_the_order_of_values_alone(values, K):
    ranks = np.unique(values, return_inverse=True)[1]
    np.testing.assert_array_equal(quietly(values, K), quietly(ranks, K))


def test_ties_that_swallow_a_quantile_are_said_and_edges_named():
    values = [0.1, 0.2, 0.3, 1, 1, 1, 1, 1]
    with pytest.warns(UserWarning, match=r"3 of 4 ratings remain.*method='edges'"):
        ratings = bin_confidence(values, 4)
    assert ratings.tolist() == [1, 1, 2, 3, 3, 3, 3, 3]


def test_the_warning_points_to_the_caller():
    with pytest.warns(UserWarning, match="remain") as record:
        bin_confidence([1, 1], 2)
    assert record[0].filename == __file__


def test_a_majority_at_the_bottom_still_leaves_the_rest_above_it():
    assert bin_confidence([0, 0, 0, 1], 2).tolist() == [1, 1, 1, 2]


def test_fewer_values_than_ratings_are_said():
    with pytest.warns(UserWarning, match="2 of 3 ratings remain"):
        bin_confidence([5, 6], 3)


# --- equal width and edges ------------------------------------------------------------------


def test_equal_widths_divide_the_observed_range():
    values = [0, 24.9, 25, 50, 74.9, 75, 100]
    assert bin_confidence(values, 4, method="width").tolist() == [1, 1, 2, 3, 3, 4, 4]


def test_equal_widths_keep_their_numbers_when_one_is_empty():
    assert bin_confidence([0, 1, 99, 100], 4, method="width").tolist() == [1, 1, 4, 4]


def test_no_width_at_all_is_said():
    with pytest.warns(UserWarning, match="1 of 4 ratings remain"):
        assert bin_confidence([7, 7, 7], 4, method="width").tolist() == [1, 1, 1]


def test_the_widest_range_of_floats_does_not_overflow():
    assert bin_confidence([-1.7e308, 0, 1.7e308], 3, method="width").tolist() == [1, 2, 3]


def test_a_value_on_an_edge_goes_up():
    ratings = bin_confidence([0.0, 0.5, 0.6, 0.9, 1.0], 3, method="edges", edges=[0.5, 0.9])
    assert ratings.tolist() == [1, 2, 2, 3, 3]


@given(VALUES, st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5, unique=True).map(sorted))
def test_edges_are_those_of_numpy_digitize(values, edges):
    ratings = bin_confidence(values, len(edges) + 1, method="edges", edges=edges)
    np.testing.assert_array_equal(ratings, np.digitize(values, edges) + 1)


# --- groups ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["quantile", "width"])
def test_each_group_is_binned_by_itself(method):
    rng = np.random.default_rng(2)
    group = rng.permutation(np.repeat(["a", "b", "c"], 50))
    values = rng.random(150) * np.select([group == "a", group == "b"], [1, 100], 7)
    together = bin_confidence(values, 3, method=method, within=group)
    for name in "abc":
        alone = bin_confidence(values[group == name], 3, method=method)
        np.testing.assert_array_equal(together[group == name], alone)


def test_fixed_edges_are_the_same_in_every_group():
    ratings = bin_confidence([1, 9, 1, 9], 2, method="edges", edges=[5], within=list("aabb"))
    assert ratings.tolist() == [1, 2, 1, 2]


def test_the_group_that_loses_most_is_the_one_reported():
    with pytest.warns(UserWarning, match="1 of 2 ratings remain in the group"):
        bin_confidence([1, 2, 3, 3], 2, within=[0, 0, 1, 1])


# --- types and missing values ---------------------------------------------------------------


def test_a_series_stays_a_series_with_its_index_and_name():
    values = pd.Series([0.1, 0.9], index=[7, 3], name="confidence")
    expected = pd.Series([1, 2], index=[7, 3], name="confidence")
    pd.testing.assert_series_equal(bin_confidence(values, 2), expected)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_values_stay_missing_and_make_the_result_float(missing):
    ratings = bin_confidence([0.1, missing, 0.9, 0.8, 0.2], 2)
    np.testing.assert_array_equal(ratings, [1, np.nan, 2, 2, 1])
    assert ratings.dtype == np.float64


def test_nullable_numbers_are_numbers():
    values = pd.Series([1, None, 3], dtype="Int64")
    assert bin_confidence(values, 2).fillna(0).tolist() == [1, 0, 2]


def test_a_group_without_a_value_stays_missing():
    ratings = bin_confidence([0.1, 0.9, np.nan], 2, within=["a", "a", "b"])
    np.testing.assert_array_equal(ratings, [1, 2, np.nan])


def test_the_values_are_not_changed():
    values = np.array([0.3, 0.1, 0.2, 0.4])
    bin_confidence(values, 2)
    assert values.tolist() == [0.3, 0.1, 0.2, 0.4]


def test_what_comes_out_can_be_counted():
    rng = np.random.default_rng(3)
    trials = pd.DataFrame({"stimulus": rng.integers(0, 2, 200), "p": rng.random(200)})
    trials["response"] = (trials["p"] > 0.5).astype(int)
    trials["confidence"] = bin_confidence((trials["p"] - 0.5).abs(), 4)
    counts = count_trials(trials)
    assert counts.sum(["cell", "stimulus", "response"]).to_numpy().tolist() == [50] * 4


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize("ratings", [1, 0, 2.0, "4", True, None])
def test_k_is_a_whole_number_of_at_least_two(ratings):
    with pytest.raises(InputError, match=r"ratings: .*Expected a whole number.*, got .+"):
        bin_confidence([0.1, 0.9], ratings)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"shape \(0,\)"),
        (0.5, r"shape \(\)"),
        ([[0.1, 0.2]], r"shape \(1, 2\)"),
        (pd.DataFrame({"a": [1.0]}), r"shape \(1, 1\)"),
        (["low", "high"], "values of type (str|object)"),
        ([True, False], "values of type bool"),
        ([0.1, np.inf], "1 infinite values"),
        ([np.nan, np.nan], "only missing values"),
        ([None, None], "values of type object"),
    ],
)
def test_what_is_no_confidence_is_refused(values, message):
    with pytest.raises(InputError, match=f"values: .*got .*{message}"):
        bin_confidence(values, 2)


def test_an_unknown_method_is_answered_with_the_known():
    with pytest.raises(InputError, match=r"Expected 'quantile', 'width' or 'edges'.*'kmeans'"):
        bin_confidence([0.1, 0.9], 2, method="kmeans")


@pytest.mark.parametrize("edges", [[0.5], [0.5, 0.5], [0.9, 0.1], [0.1, np.nan], "ab", [[0.1, 1]]])
def test_edges_are_strictly_rising_and_one_fewer_than_ratings(edges):
    with pytest.raises(InputError, match=r"edges: .*2 strictly rising numbers.*got "):
        bin_confidence([0.1, 0.9], 3, method="edges", edges=edges)


@pytest.mark.parametrize("arguments", [{"edges": [0.5]}, {"method": "edges"}])
def test_edges_go_with_their_method_only(arguments):
    with pytest.raises(InputError, match="edges together with method='edges'"):
        bin_confidence([0.1, 0.9], 2, **arguments)


def test_within_is_the_column_not_its_name():
    with pytest.raises(InputError, match=r"within: .*within=trials\['subject'\].*got 'subject'"):
        bin_confidence([0.1, 0.9], 2, within="subject")


def test_within_has_one_label_per_trial():
    with pytest.raises(InputError, match=r"within: .*each of 2 trials.*got shape \(1,\)"):
        bin_confidence([0.1, 0.9], 2, within=["a"])
    with pytest.raises(InputError, match="1 missing labels"):
        bin_confidence([0.1, 0.9], 2, within=["a", None])


def test_a_group_series_is_aligned_or_refused():
    values = pd.Series([0.1, 0.9], index=[0, 1])
    with pytest.raises(InputError, match=r"within: .*got another index than values"):
        bin_confidence(values, 2, within=pd.Series(["a", "b"], index=[1, 0]))


def test_of_one_whose_ratings_quantiles_made_one_it_is_said_which_values_these_were():
    rng = np.random.default_rng(1)
    wide, narrow = rng.integers(1, 101, 300), rng.integers(1, 6, 60)
    trials = pd.DataFrame(
        {
            "subject": ["wide"] * 300 + ["narrow"] * 60,
            "stimulus": [*"ab"] * 180,
            "response": [*"aabb"] * 90,
            "confidence": [*wide, *narrow],
        }
    )
    counts = count_trials(trials, by="subject", quantiles=4)
    (notice,) = [one for one in notices(counts) if one.code == "all-one-rating"]
    assert notice.cells == ("narrow",)
    assert "narrow (1 to 5)" in notice.message
    assert "--quantiles-within subject" in notice.shell_step
    assert "sparse-ratings" not in {one.code for one in notices(counts)}
    within = count_trials(trials, by="subject", quantiles=4, quantiles_within="subject")
    assert "all-one-rating" not in {one.code for one in notices(within)}
    same = trials.assign(confidence=[*wide, *[1] * 60])
    (notice,) = [
        one
        for one in notices(count_trials(same, by="subject", quantiles=4))
        if one.code == "all-one-rating"
    ]
    assert notice.message == "All trials have one rating: M cannot be computed."
