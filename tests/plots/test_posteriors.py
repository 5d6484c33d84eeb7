"""Participants behind their population, correlations, and figures as files."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import hmetad
from hmetad import InputError
from hmetad.plots import by, correlations, people, save

QUIET = {"random_seed": 1, "progressbar": False, "quiet": True, "chains": 2, "draws": 200}
TASKS = ["memory", "vision"]


@pytest.fixture
def matrix():
    z = np.random.default_rng(1).normal(0.5, 0.2, (2, 500))
    values = np.zeros((2, 500, 2, 2)) + np.eye(2)
    values[..., 0, 1] = values[..., 1, 0] = np.tanh(z)
    coords = {"effect": ["memory", "1"], "effect_bis": ["memory", "1"]}
    return xr.DataArray(values, coords, ("chain", "draw", "effect", "effect_bis"))


def ticks(labels):
    return [text.get_text() for text in labels]


def names(ax):
    return ticks(ax.get_yticklabels())


@pytest.fixture(scope="module")
def sampled():
    """Twenty people of unequal age in two tasks, and their estimates alone."""
    coords = {"subject": np.repeat(range(20), 2), "task": TASKS * 20}
    coords["age"] = np.repeat(np.arange(20.0, 60, 2), 2)
    counts = hmetad.simulate_counts([1.5] * 40, trials=200, coords=coords, seed=1)
    return hmetad.fit(counts, "group", conditions="task", predictors="age", **QUIET), counts


def test_participants_stand_behind_their_condition_in_the_order_of_their_estimates(sampled):
    _, counts = sampled
    bare = hmetad.fit(counts, "group", conditions="task", **QUIET)
    alone = hmetad.fit_mle(counts)["m_ratio"].copy()
    alone[0] = 50.0
    ax = people(bare, separate=alone, labels={"memory": "Words"}, reference=1)
    assert ticks(ax.get_xticklabels()) == ["Words", "vision"]
    population = hmetad.predict(bare)["m_ratio"]
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    for place, diamond in enumerate(diamonds):
        own = population.isel(cell=place)
        np.testing.assert_allclose(diamond.get_ydata(), own.mean(["chain", "draw"]))
        (ends,) = [
            x[:, 1]
            for c in ax.collections
            for x in c.get_segments()
            if np.allclose(x[:, 0], place) and np.isclose(x[0, 1], np.quantile(own, 0.025))
        ]
        assert ends[1] == pytest.approx(float(np.quantile(own, 0.975)))
    pooled = [line for line in ax.lines if line.get_marker() == "o"][1:]
    means = bare["posterior"]["m_ratio"].mean(["chain", "draw"])
    for place, task in enumerate(TASKS):
        x, y = pooled[place].get_data()
        np.testing.assert_allclose(y, means.sel(cell=means["task"] == task))
        assert (np.abs(x - place) < 0.5).all()
        assert (np.diff(y[np.argsort(x)]) >= 0).all()
    (open_points,) = [line for line in ax.lines if line.get_label() == "alone"]
    assert set(open_points.get_ydata()) <= set(alone.values)
    (arrow,) = [line for line in ax.lines if line.get_marker() == "^"]
    assert len(arrow.get_xdata()) >= 1
    assert ax.get_ylim()[1] < 10
    with pytest.raises(InputError, match="separate"):
        people(bare, separate=alone.isel(cell=slice(3)))


def test_over_a_covariate_the_population_is_a_line_for_each_condition(sampled):
    ax = people(sampled[0])
    assert ax.get_xlabel() == "age"
    said = [f"{x} {task}" for task in TASKS for x in ("partially pooled", "population")]
    assert ax.get_legend_handles_labels()[1] == said
    lines = [line for line in ax.lines if line.get_linestyle() == "-" and line.get_linewidth() > 1]
    predicted = hmetad.predict(sampled[0])["m_ratio"].mean(["chain", "draw"])
    for line, task in zip(lines, TASKS, strict=True):
        own = predicted.sel(cell=predicted["task"] == task)
        np.testing.assert_allclose(line.get_xdata(), np.arange(20.0, 60, 2))
        np.testing.assert_allclose(line.get_ydata(), own)


def test_figures_are_saved_in_all_formats_whatever_stands_for_them(matrix, tmp_path):
    ax = correlations(matrix)
    files = save(ax, tmp_path / "m", formats=("pdf", "svg", "png"))
    assert [file.name for file in files] == ["m.pdf", "m.svg", "m.png"]
    assert files[0].read_bytes().startswith(b"%PDF")
    # Text stays text.
    assert "correlation" in files[1].read_text(encoding="utf-8")
    for drawn in (ax.figure, [ax], Figure()):
        assert save(drawn, tmp_path / "o.v2", formats=["pdf"])[0].name == "o.v2.pdf"


def test_each_pair_of_a_matrix_stands_once_with_its_numbers(matrix):
    ax = correlations(matrix, labels={"memory": "Memory"}, ci_prob=0.9)
    assert names(ax) == ["Memory, intercept"]
    pair = matrix.isel(effect=0, effect_bis=1)
    low, high = np.quantile(pair, [0.05, 0.95])
    assert ticks(ax.texts) == [f"{float(pair.mean()):.2f}  [{low:.2f}, {high:.2f}]"]


def test_missing_draws_are_not_drawn(matrix):
    assert "nothing to draw" in ticks(correlations(matrix * np.nan).texts)


def test_a_level_of_the_name_1_is_no_intercept(matrix):
    dims = {"effect": "task|subject__effect", "effect_bis": "task|subject__effect_bis"}
    both = matrix.rename(dims)
    levels = both.assign_coords({dim: ["1", "2"] for dim in dims.values()})
    assert names(correlations(levels)) == ["1, 2"]
    beside = both.assign_coords({dim: ["1", "task[2]"] for dim in dims.values()})
    assert names(correlations(beside)) == ["intercept, task[2]"]


@pytest.fixture(scope="module")
def alone():
    """Two models by two tasks, each cell by itself."""
    coords = {"model": ["m1", "m1", "m2", "m2"], "task": TASKS * 2}
    counts = hmetad.simulate_counts([1.0, 2.0, 1.5, 1.8], coords=coords, trials=600, seed=1)
    return hmetad.fit(counts, method="importance", **QUIET)


def test_people_and_conditions_of_a_fit_are_its_cells_tasks_and_models(alone):
    ax = people(alone, var="dprime")
    assert ax.get_ylabel().startswith("d′")
    (points,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert sorted(points.get_ydata()) == pytest.approx(
        sorted(alone["posterior"]["dprime"].mean(["chain", "draw"]).values)
    )
    ax = by(alone)
    assert ticks(ax.get_xticklabels()) == TASKS
    assert ticks(ax.get_legend().get_texts()) == ["m1", "m2"]
    only = alone["posterior"].to_dataset().sel(cell=["m1 | memory", "m1 | vision"])
    assert by(only.drop_vars("model")).get_legend() is None
    assert ticks(by(only, x="task", hue=None).get_xticklabels()) == TASKS


def test_what_a_fit_lacks_is_refused_with_what_it_has(alone):
    with pytest.raises(InputError, match=r"var: .*m_ratio.*got 'm_ration'"):
        people(alone, var="m_ration")
    with pytest.raises(InputError, match=r"multitask.*without correlations"):
        correlations(alone)
    empty = alone.copy().drop_nodes("posterior")
    for figure, argument in ((people, "fit"), (by, "estimates"), (correlations, "draws")):
        with pytest.raises(InputError, match=argument):
            figure(empty)
