"""Figures of measures show the measures, and their bounds where there is one cell."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from plots.drawn import counts_of

from hmetad import plots
from hmetad.base.uniformity import uniformity
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.measures.information import meta_information
from hmetad.measures.reliability import selective_prediction
from hmetad.measures.type2 import auroc2

COUNTS = from_nr([84, 56, 48, 12], [4, 56, 64, 76])


def curve(ax, place=-1):
    return np.asarray(ax.lines[place].get_xdata()), np.asarray(ax.lines[place].get_ydata())


@pytest.mark.parametrize("as_type2", [False, True])
def test_area_under_the_drawn_type2_curve_is_auroc2(as_type2):
    x, y = curve(plots.type2_roc(type2_counts(COUNTS) if as_type2 else COUNTS))
    assert np.trapezoid(y, x) == pytest.approx(auroc2(COUNTS).item(), abs=1e-12)


def test_type1_curve_goes_through_the_rates_of_the_responses():
    x, y = curve(plots.type1_roc(COUNTS))
    np.testing.assert_allclose(x, [0, 0.06, 0.3, 0.58, 1])
    np.testing.assert_allclose(y, [0, 0.38, 0.7, 0.98, 1])


def test_bounds_are_drawn_for_one_cell_only():
    for plot in (plots.type1_roc, plots.type2_roc):
        assert len(plot(COUNTS).collections) == 1
        assert not plot(counts_of("ab")).collections


def test_the_information_plane_shows_every_cell_between_the_bounds():
    measured = meta_information(counts_of("abc"))
    ax = plots.information_plane(measured)
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    heights = [line.get_ydata()[0] for line in points]
    assert heights == pytest.approx(measured["info"].values.tolist())
    labels = [line.get_label() for line in ax.lines]
    assert labels[:3] == ["lower bound", "upper bound", "normal noise"]
    unequal = plots.information_plane(measured, prior=0.6)
    assert "normal noise" not in [line.get_label() for line in unequal.lines]


def test_groups_have_a_line_for_each_kind():
    kinds = {"noise": ["uniform", "binary"], "size": [1, 3]}
    ax = plots.group_accuracy(xr.DataArray([[0.7, 0.892], [0.7, 0.784]], kinds).T)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.7, 0.784])


@pytest.mark.parametrize(("models", "said"), [(9, "1 other"), (10, "2 others")])
def test_the_legend_counts_the_lines_without_a_colour(models, said):
    rows = {"model": np.repeat([*"abcdefghij"][:models], 20), "correct": [1, 0, 1, 1] * 5 * models}
    trials = pd.DataFrame({**rows, "confidence": np.tile(np.arange(20) / 20, models)})
    found = selective_prediction(trials, by="model")
    ax = plots.risk_coverage(found)
    assert ax.get_legend_handles_labels()[1][-1] == said
    risk = 1 - found["selective_accuracy"].sel(cell="a")
    np.testing.assert_allclose(ax.lines[models - 8].get_ydata(), risk)


def found_of(columns, number=19):
    values = np.stack(list(columns.values()), axis=1)
    found = xr.Dataset({"rank": (("simulation", "parameter"), values)}, attrs={"ranks": number})
    return found.assign_coords(parameter=list(columns))


def legend(ax):
    drawn = ax.get_legend()
    return [] if drawn is None else [text.get_text() for text in drawn.get_texts()]


def test_lines_of_ranks_are_the_distribution_functions_less_that_of_uniform_ranks():
    x, y = curve(plots.ranks(found_of({"one": np.array([0, 0, 1, 3])}, number=3)))
    np.testing.assert_allclose(x, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(y, [0.5 - 0.25, 0.75 - 0.5, 0.75 - 0.75])


def test_ranks_that_leave_the_band_are_named_unless_they_are_many():
    rng = np.random.default_rng(3)
    found = found_of({"fair": np.arange(200) % 20, "low": rng.integers(0, 14, 200)})
    assert legend(plots.ranks(found)) == ["low"]
    assert legend(plots.ranks(found.sel(parameter=["fair"]))) == []
    ax = plots.ranks(found_of({str(i): np.zeros(50, int) for i in range(9)}))
    assert (legend(ax), len(ax.lines)) == ([], 10)


def test_lines_leave_the_band_where_the_p_value_is_small():
    ranks = np.random.default_rng(4).integers(0, 20, (100, 400))
    ranks[:, ::4] = np.minimum(ranks[:, ::4] + 2, 19)
    p = uniformity(ranks, 19)[1]
    for prob in (0.5, 0.9, 0.95):
        # Statistics have few values: where a p-value is next to the level, either may be.
        is_clear = abs(p - (1 - prob)) > 0.02
        found = found_of({str(i): ranks[:, i] for i in np.flatnonzero(is_clear)})
        coloured = [line.get_linewidth() > 1 for line in plots.ranks(found, prob=prob).lines[1:]]
        assert sum(coloured) == (p[is_clear] < 1 - prob).sum()
