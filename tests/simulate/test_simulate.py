"""Simulated counts and trials follow the model they are drawn from."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy.stats import chisquare

from hmetad.base.errors import InputError
from hmetad.counts.counting import count_trials
from hmetad.likelihood.families.meta_d import log_joint_probabilities
from hmetad.likelihood.family import Quantity
from hmetad.likelihood.registry import REGISTERED, load_likelihood
from hmetad.simulate.simulate import simulate_counts, simulate_trials

GAPS = np.array([[0.4, 0.6], [0.3, 0.9]])
EVEN = np.full((2, 3), 0.5)


@pytest.mark.parametrize(
    ("asked", "cells"),
    [
        (
            {"dprime": 1.5, "c": 0.3, "m_ratio": 0.7, "gaps": GAPS, "s": 0.8},
            [(1.5, 0.3, 0.7 * 1.5, 0.7 * 0.3, GAPS, 0.8)],
        ),
        (
            {"dprime": [1.0, 2.0], "m_ratio": [0.2, 0.9]},
            [(1.0, 0.0, 0.2, 0.0, EVEN), (2.0, 0.0, 1.8, 0.0, EVEN)],
        ),
        (
            {"dprime": 1.5, "c": 1.0, "m_ratio": 0.5, "meta_criterion": "absolute"},
            [(1.5, 1.0, 0.75, 1.0, EVEN)],
        ),
    ],
    ids=["one cell", "cells of their own", "κ is c itself"],
)
def test_frequencies_are_those_of_the_model(asked, cells):
    counts = simulate_counts(**asked, trials=200_000, seed=1)
    for observed, parameters in zip(counts.values, cells, strict=True):
        p = np.exp(log_joint_probabilities(*parameters))
        for stimulus in range(2):
            expected = 100_000 * p[stimulus].ravel()
            assert chisquare(observed[stimulus].ravel(), expected).pvalue > 1e-3


def test_trials_of_each_stimulus_are_as_asked():
    for trials, expected in (([[30, 70], [5, 0]], [[30, 70], [5, 0]]), (7, [[4, 3]])):
        counts = simulate_counts(1.0, trials=trials, seed=1)
        assert counts.sum(["response", "rating"]).values.tolist() == expected


def test_trials_count_back_to_the_table():
    design = {"dprime": [1.0, 2.0], "trials": 300, "coords": {"model": ["a", "b"]}, "seed": 5}
    trials, counts = simulate_trials(**design), simulate_counts(**design)
    np.testing.assert_array_equal(count_trials(trials, by="model", ratings=4), counts)
    assert counts["model"].values.tolist() == counts["cell"].values.tolist() == ["a", "b"]
    assert trials["model"].iloc[:300].nunique() == 2, "trials come in random order"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gaps": np.zeros((2, 3))}, r"gaps: .* above 0.*got 0, 0, "),
        ({"gaps": np.ones(3)}, r"gaps: .*got shape \(3,\)"),
        ({"trials": -1}, "trials: .*got -1"),
        ({"trials": [[1, 2, 3]]}, r"trials: .*got shape \(1, 3\)"),
        ({"dprime": np.nan}, "dprime: .*got nan"),
        ({"m_ratio": [[0.5, 0.6, 0.7]]}, "m_ratio: .*got shape"),
        ({"s": 0.0}, "s: .*Expected finite numbers above 0.*, got 0"),
        ({"dprime": [1.0, 2.0], "c": [0.0, 0.1, 0.2]}, "got 2 dprime, 3 c"),
        ({"coords": {"rating": [1]}}, r"coords: .*say 'my_rating'.*got 'rating'"),
        ({"covariates": {"age": [1, 2, 3]}}, "covariates 'age': .*got shape .3,."),
        (
            {"coords": {"age": [1]}, "covariates": {"age": [1]}},
            "covariates: .*Expected names other than those of coords.*, got 'age'",
        ),
    ],
)
def test_impossible_designs_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        simulate_counts(**{"dprime": 1.0, "trials": 10, **given})


def test_covariates_travel_with_cells_and_are_no_part_of_their_labels():
    design = {"trials": 200, "coords": {"subject": ["a", "b"]}, "covariates": {"age": [31, 24]}}
    counts = simulate_counts([1.0, 2.0], seed=5, **design)
    assert counts["cell"].values.tolist() == ["a", "b"]
    assert counts["age"].sel(cell="b").item() == 24
    again = count_trials(
        simulate_trials([1.0, 2.0], seed=5, **design), by="subject", covariates="age", ratings=4
    )
    xr.testing.assert_equal(again, counts)
    assert again.attrs["covariates"] == counts.attrs["covariates"]


@pytest.mark.parametrize("likelihood", ["signal-detection", "unequal-variance"])
def test_gaps_may_be_said_by_their_logarithms(likelihood):
    design = {"dprime": [1.0, 2.0], "c": 0.3, "likelihood": likelihood, "seed": 1}
    for gaps, ratings in ((GAPS, {}), (0.3, {"ratings": 3})):
        expected = simulate_counts(gaps=gaps, **ratings, **design)
        counts = simulate_counts(log_gap=np.log(gaps), **ratings, **design)
        np.testing.assert_array_equal(counts, expected)


def test_another_likelihood_follows_the_rule_and_the_values_that_were_asked_for():
    asked = {"m_ratio": 0.6, "s": 0.8, "meta_criterion": "absolute", "seed": 1}
    expected = simulate_counts(1.5, 0.4, **asked)
    counts = simulate_counts(1.5, 0.4, likelihood="unequal-variance", **asked)
    np.testing.assert_array_equal(counts, expected)
    asked = {"m_ratio": [[0.6, 0.9], [0.5, 1.0]], "seed": 1}
    counts = simulate_counts(1.5, likelihood="response-conditional", **asked)
    np.testing.assert_array_equal(counts, simulate_counts(1.5, **asked))


@pytest.mark.parametrize(
    ("likelihood", "given", "message"),
    [
        ("signal-detection", {"criteria": [9.0]}, "criteria: Use gaps=.*got type-2 criteria"),
        ("signal-detection", {"log_gap": [0.1]}, r"log_gap: .*Expected one.*, got shape \(1,\)"),
        ("signal-detection", {"m_ratio": 0.8}, "values: .*Expected c, dprime.*, got 'm_ratio'"),
        ("signal-detection", {"meta_criterion": "absolute"}, "has no choices"),
        ("meta-d", {"log_m": 0.0}, "values: .*Expected m_ratio and s, of meta-d′.*, got 'log_m'"),
        (
            "signal-detection",
            {"gaps": 0.5, "log_gap": 0.1},
            "gaps: .*got a value beside those of dprime, log_gap, c, from which it follows",
        ),
        (
            "unequal-variance",
            {"m_ratio": 0.5, "log_m": 0.1},
            "m_ratio: .*got a value beside those of .*log_m",
        ),
        (
            "signal-detection",
            {"gaps": np.ones((2, 3)), "log_gap": np.ones((2, 2))},
            "numbers of ratings: .*got 4 of gaps, 3 of log_gap",
        ),
    ],
)
def test_values_that_are_not_one_for_one_thing_are_refused(likelihood, given, message):
    with pytest.raises(InputError, match=message):
        simulate_counts(1.5, trials=10, likelihood=likelihood, **given)


def test_what_is_missing_is_named_with_the_parameters_it_follows_from(monkeypatch):
    own = load_likelihood("unequal-variance")
    width = Quantity("width", needs=("log_s", "dprime"), compute=lambda v, _: v["log_s"])
    changed = replace(own, choose=None, quantities=(width,), arguments=("dprime", "width"))
    monkeypatch.setitem(REGISTERED, "mine", changed)
    with pytest.raises(InputError, match=r"Expected width, or log_s.*got no width, nor "):
        simulate_counts(1.5, likelihood="mine")


def test_values_at_which_there_are_no_probabilities_are_refused(monkeypatch):
    own = load_likelihood("signal-detection")
    share = Quantity("share", needs=("log_share",))

    def shares(d, c, gaps, share, xp):
        return own.log_probabilities(d, c, gaps, xp=xp) + xp.log(share)[..., None, None, None]

    changed = replace(
        own,
        quantities=(*own.quantities, share),
        arguments=(*own.arguments, "share"),
        log_probabilities=shares,
    )
    monkeypatch.setitem(REGISTERED, "mine", changed)
    for value, total in ((0.5, "0.5"), (-1.0, "nan")):
        with pytest.raises(
            InputError, match=f"values: .*Expected a.*, got values .* sum to {total}"
        ):
            simulate_counts(1.5, likelihood="mine", share=value)
