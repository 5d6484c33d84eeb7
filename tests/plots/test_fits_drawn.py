"""Figures of people, conditions and correlations take a fit as it is."""

import numpy as np
import pytest

import hmetad
from hmetad import InputError
from hmetad.plots import by, correlations, people

QUIET = {"random_seed": 1, "progressbar": False, "quiet": True, "chains": 2}
TASKS = ["memory", "vision"]


@pytest.fixture(scope="module")
def alone():
    """Two models by two tasks, each cell by itself."""
    coords = {"model": ["m1", "m1", "m2", "m2"], "task": TASKS * 2}
    counts = hmetad.simulate_counts([1.0, 2.0, 1.5, 1.8], coords=coords, trials=600, seed=1)
    return hmetad.fit(counts, method="importance", draws=200, **QUIET)


@pytest.fixture(scope="module")
def pooled():
    """Eight people in two tasks, with correlated effects."""
    coords = {"subject": np.repeat(list("abcdefgh"), 2).tolist(), "task": TASKS * 8}
    counts = hmetad.simulate_counts(np.full(16, 1.5), coords=coords, trials=400, seed=1)
    formula = {"log_m": "0 + task + (0 + task | subject)"}
    return hmetad.fit(counts, formula=formula, draws=200, **QUIET)


def ticks(labels):
    return [text.get_text() for text in labels]


def heights(ax):
    return np.concatenate([line.get_ydata() for line in ax.lines if line.get_marker() != "None"])


def test_people_of_a_fit_are_its_cells_in_order(alone):
    drawn = alone["posterior"]["m_ratio"]
    assert ticks(people(alone).get_xticklabels()) == ticks(people(drawn).get_xticklabels())
    ax = people(alone, var="dprime")
    assert ax.get_ylabel() == people(alone["posterior"]["dprime"]).get_ylabel() != "M-ratio"
    assert ax.get_legend() is None


def test_conditions_of_a_fit_are_its_tasks_and_models(alone):
    ax = by(alone)
    assert ticks(ax.get_xticklabels()) == TASKS
    assert ticks(ax.get_legend().get_texts()) == ["m1", "m2"]
    only = alone["posterior"].to_dataset().sel(cell=["m1 | memory", "m1 | vision"])
    assert by(only.drop_vars("model")).get_legend() is None
    assert ticks(by(only, x="task", hue=None).get_xticklabels()) == TASKS


def test_what_a_fit_lacks_is_refused_with_what_it_has(alone):
    with pytest.raises(InputError, match=r"var: got 'm_ration'.*m_ratio"):
        people(alone, var="m_ration")
    with pytest.raises(InputError, match=r"without correlations.*group_correlation"):
        correlations(alone)
    empty = alone.copy().drop_nodes("posterior")
    for figure, argument in ((people, "draws"), (by, "estimates"), (correlations, "draws")):
        with pytest.raises(InputError, match=argument):
            figure(empty)


@pytest.mark.integration
def test_a_fit_of_people_has_its_population_and_its_correlations(pooled):
    ax = by(pooled)
    assert ticks(ax.get_xticklabels()) == TASKS
    population = hmetad.predict(pooled)["m_ratio"].mean(["chain", "draw"])
    assert {*population.values.round(9)} <= {*heights(ax).round(9)}
    own = by(pooled, hue="subject")
    assert len(ticks(own.get_legend().get_texts())) == 8
    assert len(people(pooled).lines) == len(people(pooled["posterior"]["m_ratio"]).lines)
    (pair,) = ticks(correlations(pooled).get_yticklabels())
    matrix = next(x for name, x in pooled["posterior"].items() if name.endswith("_corr"))
    assert [pair] == ticks(correlations(matrix).get_yticklabels())


@pytest.mark.integration
def test_people_of_one_population_stand_beside_it():
    coords = {"subject": list("abcdef")}
    counts = hmetad.simulate_counts([1.5] * 6, coords=coords, trials=400, seed=1)
    fitted = hmetad.fit(counts, "group", draws=200, **QUIET)
    (band,) = [one for one in people(fitted).patches if one.get_label() == "population"]
    expected = hmetad.predict(fitted)["m_ratio"].quantile([0.025, 0.975])
    assert np.allclose([band.get_y(), band.get_y() + band.get_height()], expected)
