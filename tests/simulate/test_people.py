"""People of a simulated study are those of the population that was guessed."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from hmetad import InputError
from hmetad.simulate.people import (
    guesses_from,
    people_log_m,
    population_of,
    simulate_people,
    truth_value,
)
from hmetad.specs.design import designs_of
from hmetad.specs.layout import layout_of
from hmetad.specs.loading import load_model

MANY = 20_000
ERRORS = 4


def drawn_log_m(question, people=MANY, tasks=1, covariate=None, **guesses):
    population = population_of(question, guesses)
    rng = np.random.default_rng(1)
    return people_log_m(population, question, (people, tasks), covariate, rng)


def test_groups_lie_half_of_the_effect_to_either_side_of_m():
    log_m = drawn_log_m("difference", effect=0.4, m_ratio=0.7, between_sd=0.5)
    first, second = np.split(log_m[:, 0], 2)
    se = 0.5 / np.sqrt(MANY / 2)
    assert abs(first.mean() - (np.log(0.7) + 0.2)) < ERRORS * se
    assert abs(second.mean() - (np.log(0.7) - 0.2)) < ERRORS * se
    assert first.std() == pytest.approx(0.5, rel=0.03)


def test_tasks_differ_by_the_effect_and_are_correlated():
    log_m = drawn_log_m("tasks", tasks=2, effect=0.3, between_sd=0.4, correlation=0.6)
    difference = log_m[:, 0] - log_m[:, 1]
    expected = 0.4 * np.sqrt(2 * (1 - 0.6))
    assert abs(difference.mean() - 0.3) < ERRORS * expected / np.sqrt(MANY)
    assert difference.std() == pytest.approx(expected, rel=0.03)


def test_the_effect_of_a_correlation_is_that_of_log_m():
    log_m = drawn_log_m("correlation", tasks=2, effect=-0.5)
    assert stats.pearsonr(*log_m.T).statistic == pytest.approx(-0.5, abs=0.03)


def test_the_slope_is_that_of_a_regression_on_the_covariate():
    covariate = np.random.default_rng(2).normal(size=MANY)
    covariate = (covariate - covariate.mean()) / covariate.std()
    log_m = drawn_log_m("slope", covariate=covariate, effect=0.25)
    line = stats.linregress(covariate, log_m[:, 0])
    assert abs(line.slope - 0.25) < ERRORS * line.stderr
    assert abs(line.intercept - np.log(0.8)) < ERRORS * line.intercept_stderr


@pytest.mark.parametrize(
    ("question", "cells", "columns"),
    [
        ("mean", 4, ["subject"]),
        ("difference", 4, ["group", "subject"]),
        ("tasks", 8, ["subject", "task"]),
        ("correlation", 8, ["subject", "task"]),
        ("slope", 4, ["subject", "covariate"]),
    ],
)
def test_cells_are_those_of_the_card_and_the_truth_is_the_effect_or_log_m(question, cells, columns):
    guesses = {"m_ratio": 0.5} | ({} if question == "mean" else {"effect": 0.1})
    population = population_of(question, guesses)
    counts = simulate_people(population, question, 4, 60, np.random.default_rng(1))
    assert counts.sizes["cell"] == cells
    assert {*columns} <= {*counts.coords}
    assert truth_value(question, population) == (np.log(0.5) if question == "mean" else 0.1)
    if question == "slope":
        # Standardised as the formula does it.
        covariate = counts["covariate"].values
        assert covariate.mean() == pytest.approx(0, abs=1e-12)
        assert covariate.std() == pytest.approx(1)


@pytest.mark.parametrize(
    ("question", "guesses", "ratings", "says"),
    [
        ("difference", {}, None, "effect: .*got none"),
        ("mean", {"effect": 0.1}, None, "effect: .*got 0.1 of a mean"),
        ("correlation", {"effect": 1.2}, None, "effect: .*got 1.2"),
        ("correlation", {"effect": 0.2, "correlation": 0.1}, None, "Give effect"),
        ("correlation", {"effect": 0.2, "between_sd": 0}, None, "between_sd"),
        ("mean", {"correlation": 0.2}, None, "none but for the question 'tasks'"),
        ("mean", {"m_ratio": 0.0}, None, "m_ratio: .*got 0"),
        ("mean", {"dprime_sd": -0.1}, None, "dprime_sd: .*got -0.1"),
        ("mean", {"gaps": [0.5, 0.5]}, None, "gaps: .*got shape"),
        ("mean", {"gaps": [[0.5], [0.5]]}, 4, "ratings: .*got 4 beside gaps of 2"),
    ],
)
def test_what_is_no_population_is_refused(question, guesses, ratings, says):
    with pytest.raises(InputError, match=says):
        population_of(question, guesses, ratings)


CARDS = {"difference": "group_comparison", "tasks": "multitask", "mean": "group"}


def pilot_fit(card, formula=None, **variables):
    """Fit of a card whose posterior has these values, in two draws around each."""
    questions = {name: question for question, name in CARDS.items()}
    question = questions.get(card, "mean")
    population = population_of(question, {} if question == "mean" else {"effect": 0.1}, 3)
    counts = simulate_people(population, question, 6, 60, np.random.default_rng(1))
    spec = load_model(card) if formula is None else load_model(card, formula=formula)
    layout = layout_of(counts, spec, designs_of(counts, spec))
    usual = {
        "dprime": {"coefficient": 1.8, "sd": 0.4},
        "c": {"coefficient": 0.1, "sd": 0.3},
        "log_gap": {"coefficient": np.log([0.4, 0.6]), "sd": 0.2},
        "log_m": {"sd": 0.25},
    }
    values = {
        one.name: usual[parameter].get(one.role, 0.0)
        for parameter, own in layout.formulas.items()
        for one in [*own.coefficients, *(sd for block in own.blocks for sd in block.sds)]
    }
    values |= variables
    data = {
        one.name: (
            ("chain", "draw", *one.dims),
            np.broadcast_to(values.get(one.name, 0.0), one.shape)
            + np.array([[-0.1, 0.1]]).reshape(1, 2, *[1] * len(one.shape)),
        )
        for one in layout.variables
    }
    groups = {"posterior": xr.Dataset(data), "observed_data": xr.Dataset({"counts": counts})}
    pilot = xr.DataTree.from_dict(groups)
    pilot.attrs["spec"] = spec.to_json()
    return pilot


def test_a_pilot_gives_the_means_of_its_posterior():
    pilot = pilot_fit("group_comparison", log_m_group=[-0.1, -0.5])
    guesses = guesses_from(pilot, "difference")
    assert guesses["effect"] == pytest.approx(0.4)
    assert guesses["m_ratio"] == pytest.approx(np.exp(-0.3))
    expected = {"between_sd": 0.25, "dprime": 1.8, "dprime_sd": 0.4, "c": 0.1, "c_sd": 0.3}
    assert {name: guesses[name] for name in expected} == pytest.approx(expected)
    assert guesses["gap_sd"] == pytest.approx(0.2)
    np.testing.assert_allclose(guesses["gaps"], [[0.4, 0.6]] * 2)
    assert population_of("difference", {}, None, pilot).effect == pytest.approx(0.4)
    # What is given goes before the pilot.
    population = population_of("difference", {"effect": 0.2, "dprime": 1.0}, None, pilot)
    assert (population.effect, population.dprime, population.dprime_sd) == (0.2, 1.0, 0.4)


def test_tasks_of_a_pilot_have_their_own_spread_and_correlation():
    own = {"log_m_task": [0.1, -0.1], "log_m_task|subject_sigma": [0.3, 0.5]}
    own |= {"log_m_task|subject_corr": [[1.0, 0.7], [0.7, 1.0]]}
    pilot = pilot_fit("multitask", **own)
    guesses = guesses_from(pilot, "tasks")
    assert guesses["effect"] == pytest.approx(0.2)
    assert guesses["correlation"] == pytest.approx(0.7)
    assert guesses["between_sd"] == pytest.approx(np.sqrt((0.3**2 + 0.5**2) / 2))
    assert guesses_from(pilot, "correlation")["effect"] == pytest.approx(0.7)


def test_a_pilot_gives_no_effect_of_another_question_and_none_of_single_cells():
    pilot = pilot_fit("group", log_m_Intercept=-0.2)
    assert population_of("slope", {"effect": 0.1}, None, pilot).m_ratio == np.exp(-0.2)
    with pytest.raises(InputError, match="the pilot has another question"):
        population_of("slope", {}, None, pilot)
    # Differences from a first level are no pair of levels.
    dummies = pilot_fit("group_comparison", {"log_m": "1 + group + (1 | subject)"})
    assert "effect" not in guesses_from(dummies, "difference")
    for card, formula, says in (
        ("group", {"log_m": "1"}, "without a standard deviation of log_m"),
        ("individual", None, "without a mean of log_m"),
    ):
        with pytest.raises(InputError, match=says):
            guesses_from(pilot_fit(card, formula), "mean")
