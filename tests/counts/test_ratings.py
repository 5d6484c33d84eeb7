"""Continuous confidence becomes ratings 1..K without parting equal values."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.counting import count_correct, count_trials
from hmetad.counts.ratings import bin_confidence

VALUES = arrays(float, st.integers(1, 40), elements=st.floats(-60_000, 60_000, width=16))
COARSE = arrays(float, st.integers(1, 40), elements=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))


def quietly(*args, **kwargs):
    """Bin without the warning of lost ratings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return bin_confidence(*args, **kwargs)


# --- quantiles ------------------------------------------------------------------------------


@given(VALUES | COARSE, st.integers(2, 7))
def test_ratings_rise_with_values_and_equal_values_share_one(values, K):
    ratings = quietly(values, K)
    order = np.argsort(values, kind="stable")
    steps, rises = np.diff(ratings[order]), np.diff(values[order])
    assert (steps >= 0).all()
    assert (steps[rises == 0] == 0).all()
    assert ratings.min() == 1
    assert ratings.max() <= K
    assert set(ratings) == set(range(1, ratings.max() + 1)), "no gap"


@settings(max_examples=50)
@given(st.integers(2, 7), st.integers(1, 60))
def test_without_ties_the_sizes_differ_by_one_at_most(K, n):
    ratings = quietly(np.arange(n), K)
    sizes = np.bincount(ratings, minlength=K + 1)[1:]
    assert np.ptp(sizes) <= 1
    assert bin_confidence(np.linspace(0, 1, 100), 4).dtype == np.int64


@settings(max_examples=50)
@given(VALUES, st.integers(2, 5))
def test_quantiles_depend_on_the_order_of_values_alone(values, K):
    ranks = np.unique(values, return_inverse=True)[1]
    np.testing.assert_array_equal(quietly(values, K), quietly(ranks, K))


@pytest.mark.parametrize(
    ("values", "arguments", "words", "expected"),
    [
        (
            *([0.1, 0.2, 0.3, 1, 1, 1, 1, 1], {"ratings": 4}),
            *(r"3 of 4 ratings remain.*method='edges'", [1, 1, 2, 3, 3, 3, 3, 3]),
        ),
        ([5, 6], {"ratings": 3}, "2 of 3 ratings remain", [1, 2]),
        (
            *([1, 2, 3, 3], {"ratings": 2, "within": [0, 0, 1, 1]}),
            *("1 of 2 ratings remain in the group", [1, 2, 1, 1]),
        ),
    ],
)
def test_ratings_that_are_lost_are_said_to_the_caller(values, arguments, words, expected):
    with pytest.warns(UserWarning, match=words) as record:
        assert bin_confidence(values, **arguments).tolist() == expected
    assert record[0].filename == __file__


# --- edges ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "arguments", "expected"),
    [
        ([0.0, 0.5, 0.6, 0.9, 1.0], {"ratings": 3, "edges": [0.5, 0.9]}, [1, 2, 2, 3, 3]),
        ([1, 9, 1, 9], {"ratings": 2, "edges": [5], "within": list("aabb")}, [1, 2, 1, 2]),
        ([0, 0, 0, 1], {"ratings": 2}, [1, 1, 1, 2]),
    ],
)
def test_values_are_cut_by_edges_or_by_rank(values, arguments, expected):
    method = {"method": "edges"} if "edges" in arguments else {}
    assert bin_confidence(values, **arguments, **method).tolist() == expected


@given(VALUES, st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5, unique=True).map(sorted))
def test_edges_are_those_of_numpy_digitize(values, edges):
    ratings = bin_confidence(values, len(edges) + 1, method="edges", edges=edges)
    np.testing.assert_array_equal(ratings, np.digitize(values, edges) + 1)


# --- groups ---------------------------------------------------------------------------------


def test_each_group_is_binned_by_itself():
    rng = np.random.default_rng(2)
    group = rng.permutation(np.repeat(["a", "b", "c"], 50))
    values = rng.random(150) * np.select([group == "a", group == "b"], [1, 100], 7)
    together = bin_confidence(values, 3, within=group)
    for name in "abc":
        alone = bin_confidence(values[group == name], 3)
        np.testing.assert_array_equal(together[group == name], alone)


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
    nullable = pd.Series([1, None, 3], dtype="Int64")
    assert bin_confidence(nullable, 2).fillna(0).tolist() == [1, 0, 2]
    lost = bin_confidence([0.1, 0.9, np.nan], 2, within=["a", "a", "b"])
    np.testing.assert_array_equal(lost, [1, 2, np.nan])


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


RISING = r"edges: .*2 strictly rising numbers.*got "
TWO = pd.Series([0.1, 0.9], index=[0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "kmeans"}, r"Expected 'quantile' or 'edges'.*'kmeans'"),
        *[
            ({"ratings": 3, "method": "edges", "edges": edges}, RISING)
            for edges in ([0.5], [0.5, 0.5], [0.9, 0.1], [0.1, np.nan], "ab", [[0.1, 1]])
        ],
        ({"edges": [0.5]}, "edges together with method='edges'"),
        ({"method": "edges"}, "edges together with method='edges'"),
        ({"within": "subject"}, r"within: .*within=trials\['subject'\].*got 'subject'"),
        ({"within": ["a"]}, r"within: .*each of 2 trials.*got shape \(1,\)"),
        ({"within": ["a", None]}, "1 missing labels"),
        ({"within": pd.Series(["a", "b"], index=[1, 0])}, "within: .*got another index"),
    ],
)
def test_arguments_that_do_not_fit_the_values_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        bin_confidence(TWO, **{"ratings": 2, **arguments})


def test_who_has_one_rating_after_quantiles_of_all_is_told_to_bin_within_people():
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
    assert "--quantiles-within subject" in notice.shell_step
    assert "sparse-ratings" not in {one.code for one in notices(counts)}
    within = count_trials(trials, by="subject", quantiles=4, quantiles_within="subject")
    assert "all-one-rating" not in {one.code for one in notices(within)}


def test_quantiles_that_equal_values_make_far_from_equal_are_noticed():
    rng = np.random.default_rng(0)
    slider = rng.integers(0, 101, 1000)
    trials = pd.DataFrame({"correct": rng.random(1000) < 0.7, "confidence": slider})
    said = partial(filter, lambda notice: notice.code == "unequal-quantiles")
    assert not [*said(notices(count_correct(trials, quantiles=4)))]
    trials["confidence"] = np.where(rng.random(1000) < 0.4, 50, slider)
    assert not [*said(notices(count_correct(trials, quantiles=2)))]
    counts = count_correct(trials, quantiles=4)
    (notice,) = said(notices(counts))
    shares = 100 * counts.sum(["cell", "correct"]).to_numpy() / 1000
    assert f"have {', '.join(f'{share:.0f}' for share in shares)} % of the trials" in notice.message
    with pytest.warns(UserWarning, match="quantiles far from equal"):
        bin_confidence(trials["confidence"], 4)
