"""Quantities by condition."""

import numpy as np
import pandas as pd
import xarray as xr

import hmetad
from hmetad import plots
from hmetad.counts.vectors import from_nr

ROWS = {"task": ["A", "A", "B", "B"], "model": ["x", "y"] * 2, "m_ratio": [0.8, 0.9, 1.0, 1.1]}
FRAME = pd.DataFrame(ROWS).assign(m_ratio_lower=[0.7] * 4, m_ratio_upper=[0.9, 1.0, 1.1, 1.2])
TRIALS = {"trials": [400, 100, 200], "m_ratio": [0.8, 0.6, 0.7]}
OVER_TRIALS = pd.DataFrame(TRIALS | {"m_ratio_lower": [0.75, 0.3, 0.5], "m_ratio_upper": 1.0})


def points(ax):
    """Estimates of every level, in the order of the legend."""
    return [line.get_ydata().tolist() for line in ax.get_legend_handles_labels()[0]]


def whiskers(ax):
    """Lower and upper ends of vertical intervals."""
    lines = [c for c in ax.collections if hasattr(c, "get_segments")]
    return [segment[:, 1].tolist() for line in lines for segment in line.get_segments()]


def test_criterion_has_a_panel_per_task_and_a_joined_line_per_model():
    sides = {"estimate": "m_ratio", "lower": "m_ratio_lower", "upper": "m_ratio_upper"}
    axes = plots.criterion(FRAME.assign(risk="none"), **sides)
    assert [ax.get_title(loc="left") for ax in axes] == ["A", "B"]
    assert axes[0].get_legend_handles_labels()[1] == ["x", "y"]
    assert points(axes[1]) == [[1.0], [1.1]]


def test_levels_stand_side_by_side_at_every_name():
    ax = plots.by(FRAME, reference=1.0)
    assert points(ax) == [[0.8, 1.0], [0.9, 1.1]]
    left, right = (line.get_xdata() for line in ax.get_legend_handles_labels()[0])
    assert (left < right).all()
    assert np.abs(np.concatenate([left, right]) - [0, 1, 0, 1]).max() < 0.5
    assert whiskers(ax) == [[0.7, 0.9], [0.7, 1.1], [0.7, 1.0], [0.7, 1.2]]
    assert {line.get_linestyle() for line in ax.get_legend_handles_labels()[0]} == {"None"}


def test_lines_over_a_number_are_in_its_order_and_have_bands_and_of_text_stand_side_by_side():
    ax = plots.by(OVER_TRIALS, x="trials", hue=None)
    [line] = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert line.get_xydata().tolist() == [[100, 0.6], [200, 0.7], [400, 0.8]]
    [band] = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert {(100.0, 0.3), (200.0, 0.5), (400.0, 0.75), (400.0, 1.0)} <= corners
    ax = plots.by(OVER_TRIALS.astype({"trials": str}), x="trials", hue=None)
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
    # A cell with many undefined draws is left out.
    draws["dprime"][:, ::2, 1] = np.nan
    assert len(whiskers(plots.by(draws, "dprime", hue=None))) == 1


def test_estimates_are_drawn_where_they_are_with_the_interval_beside_them():
    counts = from_nr([[84, 56, 48, 12]], [[4, 56, 64, 76]], task=["A"])
    measured = hmetad.resample_interval(counts, hmetad.sdt, n=50, seed=1)
    found = measured["dprime"].isel(cell=0)
    expected = [[found.sel(summary=name).item() for name in ("lower", "upper")]]
    assert whiskers(plots.by(measured, "dprime", hue=None)) == expected
    assert whiskers(plots.by(hmetad.sdt(counts), "dprime", hue=None)) == []
    # A mean may lie outside its interval.
    ax = plots.by(FRAME.assign(m_ratio=[2.0] * 4))
    assert points(ax) == [[2.0, 2.0], [2.0, 2.0]]
    assert [0.7, 0.9] in whiskers(ax)
