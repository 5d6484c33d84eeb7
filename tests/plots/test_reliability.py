"""The reliability diagram."""

import io

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from plots.hostile_labels import HOSTILE
from scipy.stats import binomtest

from hmetad import plots
from hmetad.errors import InputError
from hmetad.measures.reliability import calibration
from hmetad.plots.style import drawable


def calibrated(models=("one", "two"), **options):
    """Two overconfident models with trials above one half only."""
    rng = np.random.default_rng(0)
    p = 0.5 + 0.5 * rng.random(600)
    trials = pd.DataFrame(
        {"correct": rng.random(600) < p**2, "confidence": p, "model": rng.choice(models, 600)}
    )
    return calibration(trials, by="model", **options)


def drawn(figure):
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def point_lines(ax):
    """Lines through the bins: those that are neither the diagonal nor of two points."""
    return [line for line in ax.lines if len(line.get_xdata()) > 2 and line.get_linestyle() != ""]


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))]


def test_points_are_the_bins_of_each_cell():
    data = calibrated()
    lines = [line for line in point_lines(plots.calibration(data)) if len(line.get_xdata()) == 10]
    for line, cell in zip(
        (line for line in lines if line.get_linestyle() != "None"), data["cell"], strict=True
    ):
        one = data.sel(cell=cell)
        np.testing.assert_array_equal(line.get_xdata(), one["bin_confidence"])
        np.testing.assert_allclose(line.get_ydata(), one["bin_accuracy"], rtol=1e-12)


def test_whiskers_are_wilsons():
    data = calibrated(bins=3).isel(cell=[0])
    ax = plots.calibration(data)
    [whiskers] = [
        c for c in ax.collections if len(c.get_paths()) == 3 and hasattr(c, "get_segments")
    ]
    for place, segment in enumerate(whiskers.get_segments()):
        trials = int(data["bin_trials"][0, place])
        right = round(float(data["bin_accuracy"][0, place]) * trials)
        limits = binomtest(right, trials).proportion_ci(0.95, method="wilson")
        # Rounding only: both compute the same closed form.
        np.testing.assert_allclose(segment[:, 1], [limits.low, limits.high], atol=1e-12)


def test_the_diagonal_is_drawn_from_end_to_end():
    lines = [line.get_xydata().tolist() for line in plots.calibration(calibrated()).lines]
    assert [[0.0, 0.0], [1.0, 1.0]] in lines


def test_bins_without_trials_are_left_out():
    data = calibrated(method="width")
    assert (data["bin_trials"] == 0).any()
    for line in point_lines(plots.calibration(data)):
        assert np.isfinite(line.get_ydata()).all()


def test_the_histogram_stays_below_every_accuracy():
    ax = plots.calibration(calibrated())
    columns = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    assert len(columns) == 2
    for patch in columns:
        heights, edges, foot = patch.get_data()
        assert foot == ax.get_ylim()[0]
        assert heights.max() < 0
        assert (edges[0], edges[-1], len(heights)) == (0, 1, 20)
        assert (heights[:10] == foot).all()
    assert ax.get_yticks().min() == 0


def test_cells_are_told_apart_without_colour():
    ax = plots.calibration(calibrated(("a", "b", "c")))
    handles, labels = ax.get_legend_handles_labels()
    assert labels == ["a", "b", "c"]
    assert len({line.get_marker() for line in handles}) == 3
    assert [line.is_dashed() for line in handles] == [False, True, True]
    assert len({to_hex(line.get_color()) for line in handles}) == 3


@pytest.mark.parametrize("choose", [{"cell": [0]}, {"cell": 0}])
def test_one_cell_needs_no_legend_and_has_its_name_as_title(choose):
    ax = plots.calibration(calibrated().isel(choose))
    assert ax.get_legend() is None
    assert ax.get_title(loc="left") == "one"


def test_one_cell_without_a_name_is_drawn():
    data = calibrated().isel(cell=0).drop_vars("cell")
    assert plots.calibration(data).get_title(loc="left") == "all"


def test_all_right_in_one_bin_is_drawn():
    trials = pd.DataFrame({"correct": [1, 1], "confidence": [1.0, 1.0]})
    assert drawn(plots.calibration(calibration(trials)).figure)


def test_axes_given_are_drawn_into_and_new_ones_are_unknown_to_pyplot():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    given = Figure().subplots()
    assert plots.calibration(calibrated(), ax=given) is given
    own = plots.calibration(calibrated())
    assert isinstance(own, Axes)
    assert own.figure is not given.figure
    assert plt.get_fignums() == before


def test_the_input_is_left_as_it_was():
    data = calibrated()
    before = data.copy(deep=True)
    plots.calibration(data)
    xr.testing.assert_identical(data, before)


def test_order_of_dims_does_not_matter():
    data = calibrated()
    one, other = (plots.calibration(x) for x in (data, data.transpose("bin", ...)))
    for a, b in zip(point_lines(one), point_lines(other), strict=True):
        np.testing.assert_array_equal(a.get_xydata(), b.get_xydata())


def test_hostile_labels_are_drawn_as_they_are():
    data = calibrated()
    many = data.isel(cell=[0] * len(HOSTILE)).assign_coords(cell=list(HOSTILE))
    figure = plots.calibration(many).figure
    assert drawn(figure)
    assert any(drawable("$x_1$") in text for text in texts(figure))
    for label in HOSTILE:
        assert drawn(plots.calibration(data.isel(cell=0).assign_coords(cell=label)).figure)


def test_figures_are_the_same_every_time():
    from hmetad.report.page.blocks import Figure as Block
    from hmetad.report.page.figures import figure_svg

    first, second = (plots.calibration(calibrated()).figure for _ in range(2))
    assert figure_svg(Block("F", "F", first)) == figure_svg(Block("F", "F", second))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame(), "calibrated: got DataFrame, allowed is a Dataset of calibration"),
        (calibrated().drop_vars("bin_trials"), "no variable 'bin_trials'"),
        (calibrated().expand_dims(draw=2), r"dims \(.*draw.*\).*Choose one of each further dim"),
    ],
)
def test_what_is_no_calibration_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        plots.calibration(data)
