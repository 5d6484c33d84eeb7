"""Figures of intervals in rows, of estimates and of decisions."""

import numpy as np
import pandas as pd
import pytest
from plots.drawn import SomeDecisions
from plots.hostile_labels import VERDICTS, hostile_table

from hmetad import plots
from hmetad.plots.intervals import describe_intervals
from hmetad.text.escape import visible

ESTIMATES = pd.DataFrame(
    {
        "model": ["GPT-5", "Mistral", "GPT-5", "Mistral"],
        "task": ["A", "A", "B", "B"],
        "mean": [0.86, 0.90, 0.87, np.nan],
        "lower": [0.80, 0.85, 0.80, np.nan],
        "upper": [0.92, 0.95, 0.94, np.nan],
    }
)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_forest_has_a_heading_per_group_and_rows_with_their_numbers_from_the_top():
    ax = plots.forest(ESTIMATES, label="model", group="task")
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["A", "GPT-5", "Mistral", "B", "GPT-5", "Mistral"]
    assert [tick.get_fontweight() for tick in ax.get_yticklabels()][:2] == ["bold", "normal"]
    assert ax.yaxis_inverted()
    numbers = ["0.86  [0.80, 0.92]", "0.90  [0.85, 0.95]", "0.87  [0.80, 0.94]", "no estimate"]
    assert [text for text in texts(ax) if text] == numbers


def test_a_second_interval_is_drawn_below_the_first_and_named():
    second = ESTIMATES.assign(given=[1.5] * len(ESTIMATES), least=0.1, most=2.9)
    names = ("after shrinkage", "given")
    ax = plots.forest(second, label="model", beside=("given", "least", "most"), names=names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*names]
    low, high = ax.get_xlim()
    assert low <= 0.1 < 2.9 <= high
    drawn = next(line for line in ax.lines if line.get_label() == "given")
    np.testing.assert_allclose(drawn.get_xdata(), 1.5)
    np.testing.assert_allclose(drawn.get_ydata() % 1, 0.27)
    assert plots.forest(ESTIMATES, label="model").get_legend() is None


def test_each_verdict_has_a_marker_and_its_word_whether_or_not_it_has_an_interval():
    made = SomeDecisions(ESTIMATES.assign(label=VERDICTS, verdict=VERDICTS))
    ax = plots.decisions(made)
    assert len({line.get_marker() for line in ax.lines} - {"None"}) == 4
    assert texts(ax) == [*VERDICTS]
    assert ax.get_xlabel().replace("\n", " ") == (
        "log M-ratio (95 % equal-tailed interval, corrected for 3 comparisons)"
    )


def test_panels_share_their_rows_and_fill_what_is_strong():
    asked = {"rows": "model", "panels": "task", "strong": "best"}
    axes = plots.interval_panels(ESTIMATES.assign(best=[True, False] * 2), **asked)
    assert [ax.get_title(loc="left") for ax in axes] == ["A", "B"]
    names = [[tick.get_text() for tick in ax.get_yticklabels()] for ax in axes]
    assert names == [["GPT-5", "Mistral"], ["", ""]]
    filled, open_one = (x for x in axes[0].lines if x.get_marker() == "o")
    assert (filled.get_xdata()[0], open_one.get_xdata()[0]) == (0.86, 0.9)
    assert filled.get_markerfacecolor() != "white" == open_one.get_markerfacecolor()


def test_values_of_hue_share_a_row_each_with_a_colour_and_a_marker():
    axes = plots.interval_panels(ESTIMATES.assign(all="x"), rows="task", panels="all", hue="model")
    first, second = axes[0].lines
    assert first.get_color() != second.get_color()
    assert first.get_markerfacecolor() != second.get_markerfacecolor()
    assert first.get_marker() != second.get_marker()
    # Rows are tasks, from the top; in each the models stand one below the other.
    assert first.get_ydata() == pytest.approx([-0.165, 0.835])
    assert second.get_ydata() == pytest.approx([0.165, 1.165])
    assert first.get_xdata() == pytest.approx([0.86, 0.87])
    bars = [line for lines in axes[0].collections for line in lines.get_segments()]
    assert [line[:, 0].tolist() for line in bars] == [[0.8, 0.92], [0.8, 0.94], [0.85, 0.95]]
    (legend,) = axes[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["GPT-5", "Mistral"]
    low, high = axes[0].get_xlim()
    assert low < 0.8 < 0.95 < high


def test_description_says_each_row_and_how_many_more():
    words = describe_intervals(ESTIMATES, label="model", group="task", quantity="M-ratio", most=3)
    assert words == (
        "M-ratio. GPT-5 (A): 0.860, interval 0.800 to 0.920. "
        "Mistral (A): 0.900, interval 0.850 to 0.950. "
        "GPT-5 (B): 0.870, interval 0.800 to 0.940. And 1 more."
    )
    hostile = describe_intervals(hostile_table())
    assert hostile == visible(hostile)
