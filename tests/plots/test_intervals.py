"""Figures of intervals in rows, of estimates and of decisions."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from hmetad import plots
from hmetad.plots.intervals import describe_intervals
from hmetad.text.escape import visible


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


def test_forest_has_a_heading_per_group_and_rows_from_the_top(estimates):
    ax = plots.forest(estimates, label="model", group="task")
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["A", "GPT-5", "Mistral", "B", "GPT-5", "Mistral"]
    assert [tick.get_fontweight() for tick in ax.get_yticklabels()][:2] == ["bold", "normal"]
    assert ax.yaxis_inverted()


def test_a_second_interval_is_drawn_below_the_first_and_named(estimates):
    second = estimates.assign(given=[1.5] * len(estimates), least=0.1, most=2.9)
    names = ("after shrinkage", "given")
    ax = plots.forest(second, label="model", beside=("given", "least", "most"), names=names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*names]
    low, high = ax.get_xlim()
    assert low <= 0.1 < 2.9 <= high
    drawn = next(line for line in ax.lines if line.get_label() == "given")
    np.testing.assert_allclose(drawn.get_xdata(), 1.5)
    np.testing.assert_allclose(drawn.get_ydata() % 1, 0.27)
    alone = plots.forest(estimates, label="model")
    assert alone.get_legend() is None


def test_forest_writes_its_numbers_and_says_what_is_missing(estimates):
    ax = plots.forest(estimates, label="model")
    assert [text.get_text() for text in ax.texts] == [
        "0.86  [0.80, 0.92]",
        "0.90  [0.85, 0.95]",
        "0.87  [0.80, 0.94]",
        "no estimate",
    ]


def test_each_verdict_has_a_marker_of_its_own(estimates):
    words = ["different", "negligible", "inconclusive", "unreliable"]
    ax = plots.decisions(SomeDecisions(estimates.assign(label=words, verdict=words)))
    markers = [line.get_marker() for line in ax.lines if line.get_marker() != "None"]
    assert len(set(markers)) == 4
    assert [text.get_text() for text in ax.texts] == words


def test_decisions_name_the_quantity_and_the_interval(estimates):
    ax = plots.decisions(SomeDecisions(estimates.assign(label="a", verdict="different")))
    assert ax.get_xlabel().replace("\n", " ") == (
        "difference in log M-ratio (95 % equal-tailed interval, corrected for 3 comparisons)"
    )


def test_range_that_is_open_at_one_end_is_drawn_to_the_edge(estimates):
    frame = estimates.assign(label="a", verdict="different")
    ax = plots.decisions(SomeDecisions(frame, rope=(-np.inf, 0.05)))
    [band] = ax.patches
    assert band.get_x() == ax.get_xlim()[0]
    assert band.get_x() + band.get_width() == pytest.approx(0.05)


def test_row_without_interval_keeps_its_verdict(estimates):
    words = ["different"] * 3 + ["unreliable"]
    ax = plots.decisions(SomeDecisions(estimates.assign(label=words, verdict=words)))
    assert ax.texts[-1].get_text() == "unreliable"


def test_description_says_each_row_and_how_many_more(estimates):
    words = describe_intervals(estimates, label="model", group="task", quantity="M-ratio", most=3)
    assert words == (
        "M-ratio. GPT-5 (A): 0.860, interval 0.800 to 0.920. "
        "Mistral (A): 0.900, interval 0.850 to 0.950. "
        "GPT-5 (B): 0.870, interval 0.800 to 0.940. And 1 more."
    )


def test_description_of_hostile_labels_is_one_line(hostile_frame):
    words = describe_intervals(hostile_frame)
    assert words == visible(words)
