"""Figures of measures show the measures, and their bounds where there is one cell."""

import io

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure
from plots.hostile_labels import HOSTILE

from hmetad import plots
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.errors import InputError
from hmetad.measures.information import meta_information
from hmetad.measures.reliability import selective_prediction
from hmetad.measures.type2 import auroc2


@pytest.fixture
def counts():
    return from_nr([84, 56, 48, 12], [4, 56, 64, 76])


@pytest.fixture
def several():
    rows = np.tile([36, 24, 17, 20, 10, 12, 9, 2], (8, 1))
    return from_nr(rows, rows[:, ::-1], model=list(HOSTILE[:8]))


def drawn(figure):
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def curve(ax, place=-1):
    return np.asarray(ax.lines[place].get_xdata()), np.asarray(ax.lines[place].get_ydata())


@pytest.mark.parametrize("as_type2", [False, True])
def test_area_under_the_drawn_type2_curve_is_auroc2(counts, as_type2):
    table = type2_counts(counts) if as_type2 else counts
    x, y = curve(plots.type2_roc(table))
    assert np.trapezoid(y, x) == pytest.approx(auroc2(counts).item(), abs=1e-12)


def test_type1_curve_goes_through_the_rates_of_the_responses(counts):
    x, y = curve(plots.type1_roc(counts))
    np.testing.assert_allclose(x, [0, 0.06, 0.3, 0.58, 1])
    np.testing.assert_allclose(y, [0, 0.38, 0.7, 0.98, 1])


def test_bounds_are_drawn_for_one_cell_only(counts, several):
    for plot in (plots.type1_roc, plots.type2_roc):
        assert len(plot(counts).collections) == 1
        assert not plot(several).collections


def test_the_information_plane_shows_every_cell_between_the_bounds(several):
    measured = meta_information(several)
    ax = plots.information_plane(measured)
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert len(points) == several.sizes["cell"]
    assert points[0].get_ydata()[0] == pytest.approx(measured["info"][0].item())
    labels = [line.get_label() for line in ax.lines]
    assert labels[:3] == ["lower bound", "upper bound", "normal noise"]
    unequal = plots.information_plane(measured, prior=0.6)
    assert "normal noise" not in [line.get_label() for line in unequal.lines]


def test_curves_are_told_apart_without_colour(several):
    lines = plots.type2_roc(several).lines[1:]
    looks = {(line.get_marker(), str(line.get_linestyle())) for line in lines}
    assert len(looks) == several.sizes["cell"]


def test_hostile_labels_are_drawn_as_they_are(several):
    for ax in (plots.type2_roc(several), plots.information_plane(meta_information(several))):
        assert b"<script" not in drawn(ax.figure)


def test_groups_have_a_line_for_each_kind():
    accuracy = xr.DataArray(
        [[0.7, 0.892], [0.7, 0.784]],
        {"noise": ["uniform", "binary"], "size": [1, 3]},
        ("noise", "size"),
    )
    ax = plots.group_accuracy(accuracy.T)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.7, 0.784])
    with pytest.raises(InputError, match="one of them size"):
        plots.group_accuracy(accuracy.rename(size="members"))


@pytest.mark.parametrize("plot", [plots.type1_roc, plots.type2_roc])
def test_axes_that_are_given_are_drawn_into(counts, plot):
    ax = Figure().add_subplot()
    assert plot(counts, ax=ax) is ax


def test_what_cannot_be_drawn_is_refused(counts, several):
    many = xr.concat([several] * 2, "cell")
    with pytest.raises(InputError, match="at most 8"):
        plots.type2_roc(many)
    with pytest.raises(InputError, match="a dim cell"):
        plots.type2_roc(counts.isel(cell=0))
    with pytest.raises(InputError, match="info and accuracy"):
        plots.information_plane(meta_information(type2_counts(counts)))


def test_a_cell_without_trials_leaves_an_empty_curve():
    nothing = from_nr([0, 0, 0, 0], [0, 0, 0, 0])
    for plot in (plots.type1_roc, plots.type2_roc):
        assert drawn(plot(nothing).figure)


@pytest.mark.parametrize(("models", "said"), [(9, "1 other"), (10, "2 others")])
def test_the_legend_counts_the_lines_without_a_colour(models, said):
    rows = {"model": np.repeat([*"abcdefghij"][:models], 20), "correct": [1, 0, 1, 1] * 5 * models}
    trials = pd.DataFrame({**rows, "confidence": np.tile(np.arange(20) / 20, models)})
    ax = plots.risk_coverage(selective_prediction(trials, by="model"))
    assert ax.get_legend_handles_labels()[1][-1] == said
