"""Quantities by condition."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import hmetad
from hmetad import plots
from hmetad.counts.vectors import from_nr
from hmetad.errors import InputError


@pytest.fixture
def estimates():
    return pd.DataFrame(
        {
            "model": ["GPT-5", "Mistral", "GPT-5", "Mistral"],
            "task": ["A", "A", "B", "B"],
            "risk": ["none"] * 4,
            "mean": [0.86, 0.90, 0.87, np.nan],
            "lower": [0.80, 0.85, 0.80, np.nan],
            "upper": [0.92, 0.95, 0.94, np.nan],
        }
    )


def test_criterion_has_a_panel_per_task_and_a_line_per_model(estimates):
    axes = plots.criterion(estimates, estimate="mean")
    assert [ax.get_title(loc="left") for ax in axes] == ["A", "B"]
    assert axes[0].get_legend_handles_labels()[1] == ["GPT-5", "Mistral"]


def test_lines_are_told_apart_without_colour(estimates):
    axes = plots.criterion(estimates, estimate="mean")
    lines = axes[0].get_legend_handles_labels()[0]
    assert len({line.get_marker() for line in lines}) == 2
    assert len({str(line.get_linestyle()) for line in lines}) == 2
    assert len({to_hex(line.get_color()) for line in lines}) == 2


def test_criterion_refuses_too_few_axes(estimates):
    with pytest.raises(InputError, match="one per panel"):
        plots.criterion(estimates, estimate="mean", ax=Figure().subplots())
    with pytest.raises(InputError, match="ax: got float, allowed is axes of matplotlib"):
        plots.criterion(estimates, estimate="mean", ax=np.array([0.6, 0.7]))


@pytest.fixture
def frame():
    rows = {"task": ["A", "A", "B", "B"], "model": ["x", "y"] * 2, "m_ratio": [0.8, 0.9, 1.0, 1.1]}
    return pd.DataFrame(rows).assign(m_ratio_lower=[0.7] * 4, m_ratio_upper=[0.9, 1.0, 1.1, 1.2])


@pytest.fixture
def over_trials():
    trials = {"trials": [400, 100, 200], "m_ratio": [0.8, 0.6, 0.7]}
    return pd.DataFrame(trials | {"m_ratio_lower": [0.75, 0.3, 0.5], "m_ratio_upper": 1.0})


def points(ax):
    """Estimates of every level, in the order of the legend."""
    return [line.get_ydata().tolist() for line in ax.get_legend_handles_labels()[0]]


def whiskers(ax):
    """Lower and upper ends of vertical intervals."""
    [*lines] = [c for c in ax.collections if hasattr(c, "get_segments")]
    return [segment[:, 1].tolist() for line in lines for segment in line.get_segments()]


def test_levels_stand_side_by_side_at_every_name(frame):
    ax = plots.by(frame, reference=1.0)
    assert points(ax) == [[0.8, 1.0], [0.9, 1.1]]
    left, right = (line.get_xdata() for line in ax.get_legend_handles_labels()[0])
    assert (left < right).all()
    assert np.abs(np.concatenate([left, right]) - [0, 1, 0, 1]).max() < 0.5
    assert whiskers(ax) == [[0.7, 0.9], [0.7, 1.1], [0.7, 1.0], [0.7, 1.2]]
    assert {line.get_linestyle() for line in ax.get_legend_handles_labels()[0]} == {"None"}


def test_lines_over_a_number_are_in_its_order_and_have_bands(over_trials):
    ax = plots.by(over_trials, x="trials", hue=None)
    [line] = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert line.get_xydata().tolist() == [[100, 0.6], [200, 0.7], [400, 0.8]]
    [band] = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert {(100.0, 0.3), (200.0, 0.5), (400.0, 0.75), (400.0, 1.0)} <= corners


def test_a_number_made_text_stands_side_by_side(over_trials):
    ax = plots.by(over_trials.astype({"trials": str}), x="trials", hue=None)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["400", "100", "200"]


def test_draws_are_summarised_by_mean_and_quantiles():
    drawn = np.random.default_rng(0).normal(size=(4, 100, 2))
    coords = {"cell": ["a", "b"], "task": ("cell", ["A", "B"])}
    draws = xr.Dataset({"dprime": (("chain", "draw", "cell"), drawn)}, coords)
    ax = plots.by(draws, "dprime", hue=None, ci_prob=0.8)
    flat = drawn.reshape(-1, 2)
    np.testing.assert_allclose(whiskers(ax), np.quantile(flat, [0.1, 0.9], axis=0).T)
    heights = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 2]
    np.testing.assert_allclose(heights[-1], flat.mean(axis=0))
    said = "d′ (SD of the evidence; 80 % equal-tailed interval)"
    assert ax.get_ylabel().replace("-\n", "-").replace("\n", " ") == said


def test_a_fit_is_drawn_from_its_posterior(frame):
    values = np.tile(frame["m_ratio"], (2, 5, 1))
    coords = {name: ("cell", frame[name].to_numpy(str)) for name in ("task", "model")}
    posterior = xr.Dataset({"m_ratio": (("chain", "draw", "cell"), values)}, coords)
    heights = points(plots.by(xr.DataTree.from_dict({"posterior": posterior})))
    np.testing.assert_allclose(heights, [[0.8, 1.0], [0.9, 1.1]])


def test_a_cell_with_many_undefined_draws_is_left_out():
    values = np.array([[[1.0, 1.0], [1.0, np.nan]]])
    draws = xr.Dataset(
        {"m_ratio": (("chain", "draw", "cell"), values)}, {"task": ("cell", ["A", "B"])}
    )
    assert len(whiskers(plots.by(draws, hue=None))) == 1


def test_estimates_are_drawn_with_the_interval_beside_them():
    counts = from_nr([[84, 56, 48, 12]], [[4, 56, 64, 76]], task=["A"])
    measured = hmetad.resample_interval(counts, hmetad.sdt, n=50, seed=1)
    found = measured["dprime"].isel(cell=0)
    expected = [[found.sel(summary=name).item() for name in ("lower", "upper")]]
    assert whiskers(plots.by(measured, "dprime", hue=None)) == expected
    assert whiskers(plots.by(hmetad.sdt(counts), "dprime", hue=None)) == []


def test_a_mean_outside_its_interval_is_drawn_where_it_is(frame):
    ax = plots.by(frame.assign(m_ratio=[2.0] * 4))
    assert points(ax) == [[2.0, 2.0], [2.0, 2.0]]
    assert [0.7, 0.9] in whiskers(ax)


def test_several_estimates_of_one_place_are_refused(frame):
    with pytest.raises(InputError, match=r"several rows of task 'A' and model 'x'.*risk"):
        plots.by(pd.concat([frame, frame]).assign(risk="none"))
    with pytest.raises(InputError, match="several rows"):
        plots.criterion(pd.concat([frame] * 2), x="task", panel=None, estimate="m_ratio",
                       lower="m_ratio_lower", upper="m_ratio_upper")  # fmt: skip


def test_what_cannot_be_drawn_is_refused_with_what_can(frame):
    with pytest.raises(InputError, match=r"'tsk'.*'task'"):
        plots.by(frame, x="tsk")
    with pytest.raises(InputError, match=r"'upp'"):
        plots.by(frame, upper="upp")
    with pytest.raises(InputError, match=r"'m_ratoi'.*'m_ratio'"):
        plots.by(xr.Dataset({"m_ratio": ("cell", [1.0])}), "m_ratoi")
    with pytest.raises(InputError, match="a fit, a Dataset or a data frame"):
        plots.by(np.zeros(3))
    many = pd.DataFrame({"task": "A", "model": range(17), "m_ratio": 1.0}).astype({"model": str})
    with pytest.raises(InputError, match="at most 16"):
        plots.by(many)
