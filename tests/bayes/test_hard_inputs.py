"""Inputs that are hard to fit: an error in words, or a result that says what is wrong with it."""

import numpy as np
import pytest

from hmetad import InputError, fit, notices, simulate_counts

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


def people(number=6, trials=100, **coords):
    labels = [f"s{i}" for i in range(number)]
    d = np.linspace(1, 2, number)
    counts = simulate_counts(d, m_ratio=0.8, trials=trials, ratings=4, seed=3)
    own = {name: ("cell", values) for name, values in coords.items()}
    return counts.assign_coords(cell=labels, subject=("cell", labels), **own)


def with_first(counts, cell):
    """The table with other counts in its first cell, by stimulus, response and rating."""
    values = counts.values.copy()
    values[0] = cell
    return counts.copy(data=values)


def errors(tree, cell):
    return {x.code for x in notices(tree) if x.severity == "error" and cell in x.cells}


ONE_COLUMN, TWO_TRIALS, NO_ERRORS = np.zeros((3, 2, 2, 4), dtype=int)
ONE_COLUMN[:, 1, 3] = 25
TWO_TRIALS[[0, 1], [0, 1], 0] = 1
NO_ERRORS[[0, 1], [0, 1]] = 20


@pytest.mark.parametrize(
    "cell",
    [
        ONE_COLUMN,
        TWO_TRIALS,
        NO_ERRORS,
        pytest.param(10**6 * NO_ERRORS, marks=pytest.mark.slow),
    ],
)
def test_an_odd_cell_has_good_weights_or_chains_and_an_interval_as_wide_as_it_should(cell):
    found = fit(with_first(people(2), cell), **QUIET)
    stats = found["sample_stats"]
    is_good = (stats["pareto_k"] < 0.7) & (stats["effective_draws"] > 1000)
    # Forty million trials without an error leave nothing but a tail, and go to chains.
    assert (is_good if cell.sum() < 1000 else is_good | stats["by_chains"]).all()
    assert np.isfinite(found["posterior"]["m_ratio"]).all()
    if cell.sum() < 1000:
        assert float(found["posterior"]["log_m"].isel(cell=0).std()) > 0.5


def test_a_group_of_two_is_fitted_and_of_one_refused():
    found = fit(people(2), "group", **QUIET)
    sigma = found["posterior"]["log_m_1|subject_sigma"]
    # Two people say little of how people differ: the interval shows it.
    assert float(sigma.quantile(0.975) / sigma.quantile(0.025)) > 20
    with pytest.raises(InputError, match="at least two groups"):
        fit(people(1), "group", **QUIET)


def test_an_empty_person_says_nothing_but_is_no_error_of_the_group():
    empty = with_first(people(6), np.zeros((2, 2, 4), dtype=int))
    found = fit(empty, "group", **QUIET)
    assert "dprime-sign" in errors(found["posterior"]["m_ratio"], "s0")
    sds = found["posterior"]["log_m"].std(["chain", "draw"]).values
    assert sds[0] > sds[1:].max()


@pytest.mark.parametrize("card", ["group", "multitask"])
def test_a_correlation_that_no_group_can_show_is_refused(card):
    counts = people(6, task=list("ababab"))
    formula = {"log_m": "1 + task + (1 + task | subject)"} if card == "group" else None
    with pytest.raises(InputError, match="no subject seen under two conditions"):
        fit(counts, card, formula=formula, **QUIET)
    # Standard deviations of their own can be told apart.
    short = {"draws": 50, "tune": 100, "chains": 2, **QUIET}
    fit(counts, "group", formula={"log_m": "0 + task + (0 + task || subject)"}, **short)
