"""A comparison with print says what agrees, and excuses only what is listed."""

import numpy as np
import pytest
import xarray as xr

from hmetad.compare.normal_decisions import decide_normal
from hmetad.studies.comparison import (
    ComparisonRow,
    compare_decisions,
    comparison_frame,
    is_reproduced,
)


def test_numbers_agree_within_their_tolerance():
    assert ComparisonRow("S1", "a", "d", 1.0, 1.0149, 0.015).agrees
    assert not ComparisonRow("S1", "a", "d", 1.0, 1.0151, 0.015).agrees
    assert ComparisonRow("S2", "a", "c", 0.033, 0.03305, 0.00005).agrees, "to the printed digit"


def test_words_agree_when_they_are_the_same():
    assert ComparisonRow("t", "a", "q", "greater, different", "greater, different").agrees
    assert not ComparisonRow("t", "a", "q", "greater, different", "different").agrees


def test_only_listed_differences_are_excused():
    wrong = ComparisonRow("S1", "a", "d", 1.0, 2.0, 0.1)
    known = {("S1", "a", "d"): "a misprint"}
    assert not is_reproduced(comparison_frame([wrong], {}))
    frame = comparison_frame([wrong], known)
    assert is_reproduced(frame)
    assert frame["note"].tolist() == ["a misprint"]


def test_a_listed_difference_that_agrees_carries_no_excuse():
    right = ComparisonRow("S1", "a", "d", 1.0, 1.0, 0.1)
    assert comparison_frame([right], {("S1", "a", "d"): "a misprint"})["note"].tolist() == [""]


@pytest.mark.parametrize(
    ("estimate", "printed", "ours"),
    [
        (0.5, "greater, different", "greater, different"),
        (-0.5, "greater, different", "less, different"),
        (-0.5, "different", "different"),
        (-0.5, "not significant", "less, different"),
        (0.01, "less, different", "not significant"),
        (np.nan, "not significant", "unreliable"),
    ],
)
def test_verdicts_are_put_into_the_words_of_the_paper(estimate, printed, ours):
    values = xr.DataArray(np.array([estimate]), dims="pair", coords={"pair": ["a − b"]}, name="c")
    decisions = decide_normal(values, 0.05, rope=(-0.1, 0.1))
    (row,) = compare_decisions("t", decisions, {"otherwise": printed})
    assert (row.printed, row.ours, row.quantity) == (printed, ours, "c")
