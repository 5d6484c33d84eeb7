"""Observed ratings stand beside those that models predict; winners in their squares."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.patches import Rectangle

import hmetad
from hmetad import plots

COORDS = {"subject": ["a", "a", "b", "b"], "level": ["10", "9", "10", "9"]}
COUNTS = hmetad.simulate_counts([2.0, 0.8, 2.2, 1.0], trials=400, coords=COORDS, seed=1)
PREDICTED = COUNTS.expand_dims(model=["same", "none"]).astype(float).copy()
PREDICTED[1] = COUNTS.sum(["response", "rating"]).values[..., None, None] / 8
HARD = COUNTS.sel(cell=COUNTS["level"] == "9").sum("cell").values


def test_points_are_observed_means_and_lines_predicted_ones():
    axes = plots.predicted_ratings(COUNTS, PREDICTED, difficulty="level")
    assert len(axes) == 2
    assert [text.get_text() for text in axes[0].get_xticklabels()] == ["9", "10"]
    seen, said, *_ = (line.get_ydata() for line in axes[0].lines)
    np.testing.assert_allclose(seen, said)
    errors = HARD[0, 1] + HARD[1, 0]
    assert seen[0] == pytest.approx((errors * np.arange(1, 5)).sum() / errors.sum())
    # Where every rating is as likely, the mean is 2.5.
    np.testing.assert_allclose(axes[1].lines[1].get_ydata(), 2.5)
    shares = plots.predicted_ratings(COUNTS, PREDICTED)
    assert shares[0].lines[0].get_ydata().sum() == pytest.approx(1)


def test_residuals_are_pearsons():
    axes = plots.rating_residuals(COUNTS, PREDICTED, difficulty="level")
    assert {text.get_text() for text in axes[0].texts} == {"0"}
    shown = axes[1].images[0].get_array()
    right, expected = HARD[0, 0] + HARD[1, 1], HARD.sum() / 8
    np.testing.assert_allclose(shown[0, 4:], (right - expected) / np.sqrt(expected))


NAMES = {"generating": ["sdt", "wev"], "winning": ["wev", "sdt", "ig"]}
SHARES = xr.DataArray([[0.1, 0.85, 0.05], [np.nan, 0.0, 1.0]], NAMES)


def test_numbers_stand_in_their_squares_white_on_dark_ones_and_the_same_model_has_a_frame():
    # A column of what wins, a row of where data come from, first on top.
    expected = {(0, 0): "10", (1, 0): "85", (2, 0): "5", (0, 1): "–", (1, 1): "0", (2, 1): "100"}
    for shares in (SHARES, SHARES.T):
        ax = plots.confusion(shares)
        assert {text.get_position(): text.get_text() for text in ax.texts} == expected
        assert [x.get_text() for x in ax.get_xticklabels()] == NAMES["winning"]
        assert [y.get_text() for y in ax.get_yticklabels()] == NAMES["generating"]
        assert ax.get_ylim()[0] > ax.get_ylim()[1]
    framed = {p.get_xy() for p in ax.patches if isinstance(p, Rectangle)}
    assert framed == {(0.5, -0.5), (-0.5, 0.5)}
    colors = {text.get_text(): text.get_color() for text in ax.texts}
    assert colors["85"] == colors["100"] == "white"
    assert colors["10"] == colors["–"] != "white"
