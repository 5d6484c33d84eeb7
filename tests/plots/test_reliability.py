"""Accuracy against confidence: the reliability diagram, and accuracy by rating."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import binomtest

from hmetad import plots
from hmetad.measures.reliability import calibration


def calibrated(models=("one", "two"), **options):
    """Overconfident models with trials above one half only."""
    rng = np.random.default_rng(0)
    p = 0.5 + 0.5 * rng.random(600)
    rows = {"correct": rng.random(600) < p**2, "confidence": p, "model": rng.choice(models, 600)}
    return calibration(pd.DataFrame(rows), by="model", **options)


def point_lines(ax):
    """Lines through the bins: those that are neither the diagonal nor markers alone."""
    return [x for x in ax.lines if len(x.get_xdata()) > 2 and x.get_linestyle() != "None"]


def test_points_are_the_bins_of_each_cell_beside_the_diagonal():
    data = calibrated()
    for turned in (data, data.transpose("bin", ...)):
        ax = plots.calibration(turned)
        for line, cell in zip(point_lines(ax), data["cell"], strict=True):
            one = data.sel(cell=cell)
            np.testing.assert_array_equal(line.get_xdata(), one["bin_confidence"])
            np.testing.assert_allclose(line.get_ydata(), one["bin_accuracy"], rtol=1e-12)
        assert [[0.0, 0.0], [1.0, 1.0]] in [line.get_xydata().tolist() for line in ax.lines]


def test_whiskers_are_wilsons():
    data = calibrated(bins=3).isel(cell=[0])
    [whiskers] = [
        c
        for c in plots.calibration(data).collections
        if len(c.get_paths()) == 3 and hasattr(c, "get_segments")
    ]
    for place, segment in enumerate(whiskers.get_segments()):
        trials = int(data["bin_trials"][0, place])
        right = round(float(data["bin_accuracy"][0, place]) * trials)
        limits = binomtest(right, trials).proportion_ci(0.95, method="wilson")
        # Rounding only: both compute the same closed form.
        np.testing.assert_allclose(segment[:, 1], [limits.low, limits.high], atol=1e-12)


def test_bins_without_trials_are_left_out_and_the_histogram_stays_below_every_accuracy():
    data = calibrated(method="width")
    assert (data["bin_trials"] == 0).any()
    ax = plots.calibration(data)
    assert all(np.isfinite(line.get_ydata()).all() for line in point_lines(ax))
    columns = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    assert len(columns) == 2
    for patch in columns:
        heights, edges, foot = patch.get_data()
        assert foot == ax.get_ylim()[0]
        assert heights.max() < 0
        assert (edges[0], edges[-1], len(heights)) == (0, 1, 20)
        assert (heights[:10] == foot).all()
    assert ax.get_yticks().min() == 0


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (calibrated().isel(cell=0), "one"),
        (calibrated().isel(cell=0).drop_vars("cell"), "all"),
        (calibration(pd.DataFrame({"correct": [1, 1], "confidence": [1.0, 1.0]})), "all"),
    ],
)
def test_one_cell_needs_no_legend_and_has_its_name_as_title(data, title):
    ax = plots.calibration(data)
    assert ax.get_legend() is None
    assert ax.get_title(loc="left") == title
    ax.figure.draw_without_rendering()


def test_accuracy_counts_agreement_and_a_rating_that_is_never_used_leaves_a_gap():
    first = [[10, 20, 30, 40], [10, 10, 5, 2]]
    second = [[5, 0, 5, 9], [5, 0, 1, 1]]
    coords = {"cell": ["one", "two"], "stimulus": ["S1", "S2"], "response": ["S1", "S2"]}
    table = [[one, one[::-1]] for one in (first, second)]
    counts = xr.DataArray(table, coords | {"rating": [1, 2, 3, 4]}, (*coords, "rating"))
    for turned in (counts, counts.transpose("rating", "response", "cell", "stimulus")):
        heights = [x.get_ydata() for x in point_lines(plots.accuracy_by_rating(turned))]
        np.testing.assert_allclose(heights[0], [0.5, 2 / 3, 6 / 7, 40 / 42])
        np.testing.assert_array_equal(np.isnan(heights[1]), [False, True, False, False])
