"""Figures of measures show the measures, and their bounds where there is one cell."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from plots.drawn import counts_of, predicted

from hmetad import norms, plots
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.measures.information import meta_information
from hmetad.measures.reliability import selective_prediction
from hmetad.measures.trial_measures import measure_trials, resample_trials
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


def labelled(ax):
    """Heights of lines by label."""
    return {line.get_label(): np.asarray(line.get_ydata()) for line in ax.lines}


def test_a_fit_shows_observed_and_predicted_counts_of_each_stimulus_and_rating():
    one = predicted(("a", "b"))
    axes = plots.fit(one)
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b"]
    shown, order = labelled(axes[1]), lambda x: np.concatenate([x[0, ::-1], x[1]])
    for place, stimulus in enumerate(("S1", "S2")):
        for kind, name in (("observed", "counts"), ("predicted", "mean")):
            values = order(one[name].values[1, place])
            np.testing.assert_allclose(shown[f"{stimulus} {kind}"], values)
        corners = axes[1].collections[place].get_paths()[0].vertices
        assert corners[:, 1].max() == pytest.approx(one["upper"].values[1, place].max())
    assert [text.get_text() for text in axes[0].get_xticklabels()] == [*"43211234"]
    (curves,) = plots.fit(one.isel(cell=[0]), kind="roc")
    np.testing.assert_allclose(labelled(curves)["observed"], one["hit_rate"][0])
    np.testing.assert_allclose(labelled(curves)["predicted"], one["hit_rate_mean"][0])


def test_norms_show_every_population_in_order_and_the_value_with_its_interval():
    ax = plots.norms(0.74, 0.61, 0.88, domain="memory")
    known = np.sort(norms.populations(domain="memory")["m_ratio"])
    (points,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(points.get_xdata(), known)
    assert (np.diff(points.get_ydata()) >= 0).all()
    assert [0.74, 0.74] in [[*line.get_xdata()] for line in ax.lines]
    (band,) = ax.patches
    assert [band.get_x(), band.get_x() + band.get_width()] == pytest.approx([0.61, 0.88])


@pytest.mark.parametrize(("models", "said"), [(9, "1 other"), (10, "2 others")])
def test_the_legend_counts_the_lines_without_a_colour(models, said):
    rows = {"model": np.repeat([*"abcdefghij"][:models], 20), "correct": [1, 0, 1, 1] * 5 * models}
    trials = pd.DataFrame({**rows, "confidence": np.tile(np.arange(20) / 20, models)})
    found = selective_prediction(trials, by="model")
    ax = plots.risk_coverage(found)
    assert ax.get_legend_handles_labels()[1][-1] == said
    risk = 1 - found["selective_accuracy"].sel(cell="a")
    np.testing.assert_allclose(ax.lines[models - 8].get_ydata(), risk)


def test_expected_scores_are_lines_through_accuracy_and_effective_reliability():
    columns = {"correct": [1, 1, 0, 1, 0, 1], "idk": [0, 0, 0, 1, 0, 0], "model": [*"aaabbb"]}
    trials = pd.DataFrame(columns)
    found = measure_trials(trials, by="model", abstained="idk")
    ax = plots.expected_score(found, penalty=2)
    costs = ax.lines[0].get_xdata()
    assert (costs.min(), costs.max()) == (0, 6)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), (2 - costs) / 3)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), (1 - costs) / 3)
    for penalty in (0.5, 3):
        at = measure_trials(trials, by="model", abstained="idk", penalty=penalty)["expected_score"]
        drawn = [np.interp(penalty, costs, line.get_ydata()) for line in ax.lines[:2]]
        np.testing.assert_allclose(drawn, at)
    draws = resample_trials(trials, by="model", abstained="idk", n=50, seed=1)
    assert len(plots.expected_score(draws).collections) == 2
