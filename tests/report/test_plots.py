"""Figures of estimates, decisions and counts."""

import io
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from report.hostile_labels import HOSTILE
from scipy.stats import binomtest

from hmetad.errors import InputError
from hmetad.report import plots
from hmetad.report.escape import shorten, visible
from hmetad.report.marks import wilson
from hmetad.report.style import drawable


@dataclass(frozen=True)
class SomeDecisions:
    rows: pd.DataFrame
    rope: tuple[float, float] = (-0.05, 0.05)
    null: float = 0.0
    ci_prob: float = 0.95
    ci_kind: str = "eti"
    comparisons: int = 3
    quantity: str = "difference in log M-ratio"

    def table(self):
        return self.rows


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))]


def line_heights(ax):
    """Heights of the lines of a count table, without whiskers, legend and references."""
    lines = [line for line in ax.lines if line.get_linestyle() != "None"]
    return [line.get_ydata() for line in lines if len(line.get_ydata()) == 4]


def drawn(figure):
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


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


@pytest.fixture
def counts():
    """Two cells of four ratings; the second never uses rating 2."""
    table = np.zeros((2, 2, 2, 4), int)
    table[0] = [[[10, 20, 30, 40], [10, 10, 5, 2]], [[10, 10, 5, 2], [10, 20, 30, 40]]]
    table[1] = [[[5, 0, 5, 9], [5, 0, 1, 1]], [[5, 0, 1, 1], [5, 0, 5, 9]]]
    return xr.DataArray(
        table,
        dims=("cell", "stimulus", "response", "rating"),
        coords={
            "cell": ["one", "two"],
            "stimulus": ["S1", "S2"],
            "response": ["S1", "S2"],
            "rating": [1, 2, 3, 4],
        },
    )


def every_plot(frame, counts):
    """Each plot with its labels from outside."""
    wide = frame.rename(columns={"mean": "dprime"}).assign(meta_d=1.0, m_ratio=0.5)
    labels = list(frame["label"])
    cells = counts.isel(cell=[0] * len(labels)).assign_coords(cell=labels)
    return [
        plots.plot_forest(frame, group="label", xlabel=labels[3]).figure,
        plots.plot_decisions(SomeDecisions(frame, quantity=labels[3])).figure,
        plots.plot_sensitivity_bars(wide, label="label", ylabel=labels[3]).figure,
        plots.plot_accuracy_by_rating(cells).figure,
        plots.plot_criterion(
            frame, x="label", hue="label", panel=None, estimate="mean", ylabel=labels[3]
        )[0].figure,
    ]


def test_hostile_labels_are_drawn_as_they_are(hostile_frame, counts):
    for figure in every_plot(hostile_frame, counts):
        assert drawn(figure)
        assert any(drawable("$x_1$") in text for text in texts(figure))


def test_label_is_never_mathematics_and_has_only_signs_of_the_font():
    for label in HOSTILE:
        shown = drawable(label, 400)
        assert shown.count("$") == shown.count(r"\$")
        assert "子" not in shown
    assert drawable("d′ − Müller α") == "d′ − Müller α"


def test_long_labels_are_cut_in_the_middle():
    assert len(drawable("x" * 300)) == 40
    assert shorten("a" * 30 + "b" * 30, 21) == "a" * 10 + "…" + "b" * 10


def test_plots_give_axes_on_a_figure_that_pyplot_does_not_know(estimates, counts):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    axes = plots.plot_forest(estimates, label="model")
    assert isinstance(axes, Axes)
    assert isinstance(axes.figure, Figure)
    assert plots.plot_accuracy_by_rating(counts).figure is not axes.figure
    assert plt.get_fignums() == before


def test_plots_draw_into_the_axes_given(estimates, counts):
    axes = Figure().subplots(1, 4)
    wide = estimates.assign(dprime=1.0, meta_d=1.0, m_ratio=1.0)
    decisions = SomeDecisions(estimates.assign(label="a", verdict="different"))
    assert plots.plot_forest(estimates, ax=axes[0], label="model") is axes[0]
    assert plots.plot_decisions(decisions, ax=axes[1]) is axes[1]
    assert plots.plot_sensitivity_bars(wide, ax=axes[2]) is axes[2]
    assert plots.plot_accuracy_by_rating(counts, ax=axes[3]) is axes[3]


def test_plots_leave_their_input_as_it_was(estimates, counts):
    frame, table = estimates.copy(), counts.copy(deep=True)
    plots.plot_forest(estimates, label="model", group="task")
    plots.plot_criterion(estimates, estimate="mean")
    plots.plot_accuracy_by_rating(counts)
    pd.testing.assert_frame_equal(estimates, frame)
    xr.testing.assert_identical(counts, table)


def test_forest_has_a_heading_per_group_and_rows_from_the_top(estimates):
    ax = plots.plot_forest(estimates, label="model", group="task")
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["A", "GPT-5", "Mistral", "B", "GPT-5", "Mistral"]
    assert [tick.get_fontweight() for tick in ax.get_yticklabels()][:2] == ["bold", "normal"]
    assert ax.yaxis_inverted()


def test_forest_writes_its_numbers_and_says_what_is_missing(estimates):
    ax = plots.plot_forest(estimates, label="model")
    assert [text.get_text() for text in ax.texts] == [
        "0.86  [0.80, 0.92]",
        "0.90  [0.85, 0.95]",
        "0.87  [0.80, 0.94]",
        "no estimate",
    ]


def test_each_verdict_has_a_marker_of_its_own(estimates):
    words = ["different", "negligible", "inconclusive", "unreliable"]
    ax = plots.plot_decisions(SomeDecisions(estimates.assign(label=words, verdict=words)))
    markers = [line.get_marker() for line in ax.lines if line.get_marker() != "None"]
    assert len(set(markers)) == 4
    assert [text.get_text() for text in ax.texts] == words


def test_decisions_name_the_quantity_and_the_interval(estimates):
    ax = plots.plot_decisions(SomeDecisions(estimates.assign(label="a", verdict="different")))
    assert ax.get_xlabel() == (
        "difference in log M-ratio (95 % equal-tailed interval, corrected for 3 comparisons)"
    )


def test_range_that_is_open_at_one_end_is_drawn_to_the_edge(estimates):
    frame = estimates.assign(label="a", verdict="different")
    ax = plots.plot_decisions(SomeDecisions(frame, rope=(-np.inf, 0.05)))
    [band] = ax.patches
    assert band.get_x() == ax.get_xlim()[0]
    assert band.get_x() + band.get_width() == pytest.approx(0.05)


def test_row_without_interval_keeps_its_verdict(estimates):
    words = ["different"] * 3 + ["unreliable"]
    ax = plots.plot_decisions(SomeDecisions(estimates.assign(label=words, verdict=words)))
    assert drawn(ax.figure)
    assert ax.texts[-1].get_text() == "unreliable"


def test_bars_differ_by_hatch_and_carry_their_ratio():
    frame = pd.DataFrame(
        {
            "model": ["one", "two"],
            "dprime": [2.0, 1.0],
            "dprime_lower": [1.9, np.nan],
            "dprime_upper": [2.1, np.nan],
            "meta_d": [1.5, 0.5],
            "m_ratio": [0.75, np.nan],
        }
    )
    ax = plots.plot_sensitivity_bars(frame)
    assert [bar.get_height() for bar in ax.patches] == [2.0, 1.0, 1.5, 0.5]
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    assert [text.get_text() for text in ax.texts] == ["0.75", "–"]
    assert [text.xy[1] for text in ax.texts] == [2.1, 1.0]


def test_accuracy_counts_agreement_of_stimulus_and_response(counts):
    heights = line_heights(plots.plot_accuracy_by_rating(counts))
    np.testing.assert_allclose(heights[0], [0.5, 2 / 3, 6 / 7, 40 / 42])


def test_rating_that_is_never_used_leaves_a_gap(counts):
    heights = line_heights(plots.plot_accuracy_by_rating(counts))
    assert [bool(gap) for gap in np.isnan(heights[1])] == [False, True, False, False]


def test_accuracy_does_not_depend_on_the_order_of_dims(counts):
    turned = counts.transpose("rating", "response", "cell", "stimulus")
    assert drawn(plots.plot_accuracy_by_rating(turned).figure)
    one, two = (line_heights(plots.plot_accuracy_by_rating(c)) for c in (counts, turned))
    np.testing.assert_array_equal(one, two)


def test_accuracy_refuses_a_table_without_stimulus(counts):
    with pytest.raises(InputError, match="stimulus"):
        plots.plot_accuracy_by_rating(counts.sum("stimulus"))


@pytest.mark.parametrize(("successes", "trials"), [(8, 10), (0, 7), (7, 7), (500, 1000)])
def test_wilson_interval_is_scipys(successes, trials):
    theirs = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    ours = wilson(np.array([successes]), np.array([trials]))[:, 0]
    # Rounding only: both compute the same closed form.
    np.testing.assert_allclose(ours, [successes / trials, *theirs], atol=1e-12)


def test_criterion_has_a_panel_per_task_and_a_line_per_model(estimates):
    axes = plots.plot_criterion(estimates, estimate="mean")
    assert [ax.get_title(loc="left") for ax in axes] == ["A", "B"]
    assert axes[0].get_legend_handles_labels()[1] == ["GPT-5", "Mistral"]


def test_lines_are_told_apart_without_colour(estimates):
    axes = plots.plot_criterion(estimates, estimate="mean")
    lines = axes[0].get_legend_handles_labels()[0]
    assert len({line.get_marker() for line in lines}) == 2
    assert len({str(line.get_linestyle()) for line in lines}) == 2
    assert len({to_hex(line.get_color()) for line in lines}) == 2


def test_criterion_refuses_too_few_axes(estimates):
    with pytest.raises(InputError, match="one per panel"):
        plots.plot_criterion(estimates, estimate="mean", ax=Figure().subplots())


@pytest.mark.parametrize(
    "draw",
    [
        lambda frame: plots.plot_forest(frame, label="modle"),
        lambda frame: plots.plot_criterion(frame, estimate="mean", hue="modle"),
        lambda frame: plots.plot_sensitivity_bars(frame, label="modle"),
        lambda frame: plots.describe_intervals(frame, label="modle"),
    ],
)
def test_missing_column_is_named_and_a_near_one_suggested(draw, estimates):
    with pytest.raises(InputError, match=r"'modle'.*'model'"):
        draw(estimates)


def test_description_says_each_row_and_how_many_more(estimates):
    words = plots.describe_intervals(
        estimates, label="model", group="task", quantity="M-ratio", most=3
    )
    assert words == (
        "M-ratio. GPT-5 (A): 0.860, interval 0.800 to 0.920. "
        "Mistral (A): 0.900, interval 0.850 to 0.950. "
        "GPT-5 (B): 0.870, interval 0.800 to 0.940. And 1 more."
    )


def test_description_of_hostile_labels_is_one_line(hostile_frame):
    words = plots.describe_intervals(hostile_frame)
    assert words == visible(words)


def test_figures_are_the_same_every_time(hostile_frame, counts):
    from hmetad.report.blocks import Figure as Block
    from hmetad.report.figures import figure_svg

    first, second = (every_plot(hostile_frame, counts) for _ in range(2))
    for one, two in zip(first, second, strict=True):
        assert figure_svg(Block("F", "F", one)) == figure_svg(Block("F", "F", two))
