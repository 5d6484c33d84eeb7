"""People in order beside their population, densities of correlations, and figures as files."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import hmetad
from hmetad import InputError
from hmetad.plots import by, correlations, people, save
from hmetad.plots.posteriors import density_of

QUIET = {"random_seed": 1, "progressbar": False, "quiet": True, "chains": 2, "draws": 200}
TASKS = ["memory", "vision"]


@pytest.fixture
def draws():
    values = np.random.default_rng(1).normal([0.9, 0.4, 0.7], 0.05, (2, 400, 3))
    coords = {"cell": ["a", "b", "c"]}
    return xr.DataArray(values, dims=("chain", "draw", "cell"), coords=coords, name="m_ratio")


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


def markers(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xdata(), line.get_ydata()


def test_people_stand_in_the_order_of_their_means(draws):
    ax = people(draws)
    assert ticks(ax.get_xticklabels()) == ["b", "c", "a"]
    x, y = markers(ax, "posterior")
    assert x.tolist() == [0, 1, 2]
    np.testing.assert_allclose(y, np.sort(draws.mean(["chain", "draw"])))
    assert ax.get_ylabel() == "M-ratio"


def test_separate_estimates_stand_at_their_person_and_far_ones_at_the_edge(draws):
    separate = xr.DataArray([0.95, 30.0, 0.6], {"cell": ["a", "b", "c"]}, "cell")
    ax = people(draws, separate=separate)
    x, y = markers(ax, "alone")
    assert dict(zip(x.tolist(), y.tolist(), strict=True)) == {1: 0.6, 2: 0.95}
    assert ax.get_ylim()[1] < 2
    (arrow,) = [line for line in ax.lines if line.get_marker() == "^" and len(line.get_xdata())]
    assert arrow.get_xdata().tolist() == [0]


def test_the_population_is_a_band_with_its_interval(draws):
    population = draws.mean("cell")
    ax = people(draws, population=population, reference=1)
    (band,) = [patch for patch in ax.patches if patch.get_label() == "population"]
    ends = [band.get_y(), band.get_y() + band.get_height()]
    np.testing.assert_allclose(ends, np.quantile(population, [0.025, 0.975]))


def test_figures_are_saved_in_all_formats_whatever_stands_for_them(draws, tmp_path):
    ax = people(draws)
    files = save(ax, tmp_path / "m", formats=("pdf", "svg", "png"))
    assert [file.name for file in files] == ["m.pdf", "m.svg", "m.png"]
    assert files[0].read_bytes().startswith(b"%PDF")
    # Text stays text.
    assert "M-ratio" in files[1].read_text(encoding="utf-8")
    for drawn in (ax.figure, [ax], Figure()):
        assert save(drawn, tmp_path / "o.v2", formats=["pdf"])[0].name == "o.v2.pdf"


def test_each_pair_of_a_matrix_stands_once_with_its_numbers(matrix):
    ax = correlations(matrix, labels={"memory": "Memory"}, ci_prob=0.9)
    assert names(ax) == ["Memory, intercept"]
    pair = matrix.isel(effect=0, effect_bis=1)
    low, high = np.quantile(pair, [0.05, 0.95])
    assert ticks(ax.texts) == [f"{float(pair.mean()):.2f} [{low:.2f}, {high:.2f}]"]


def test_draws_that_do_not_vary_or_are_missing_have_no_density(matrix):
    assert density_of(np.full(10, 0.3)) is None
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
    drawn = alone["posterior"]["m_ratio"]
    assert ticks(people(alone).get_xticklabels()) == ticks(people(drawn).get_xticklabels())
    ax = people(alone, var="dprime")
    assert ax.get_ylabel() == people(alone["posterior"]["dprime"]).get_ylabel() != "M-ratio"
    assert ax.get_legend() is None
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
    for figure, argument in ((people, "draws"), (by, "estimates"), (correlations, "draws")):
        with pytest.raises(InputError, match=argument):
            figure(empty)
