"""Observed ratings stand beside those that models predict."""

import numpy as np
import pytest

import hmetad
from hmetad import InputError
from hmetad.plots import predicted_ratings, rating_residuals


@pytest.fixture
def counts():
    coords = {"subject": ["a", "a", "b", "b"], "level": ["10", "9", "10", "9"]}
    return hmetad.simulate_counts([2.0, 0.8, 2.2, 1.0], trials=400, coords=coords, seed=1)


def two_models(counts):
    predicted = counts.expand_dims(model=["same", "none"]).astype(float).copy()
    predicted[1] = counts.sum(["response", "rating"]).values[..., None, None] / 8
    return predicted


def test_points_are_observed_means_and_lines_predicted_ones(counts):
    axes = predicted_ratings(counts, two_models(counts), difficulty="level")
    assert len(axes) == 2
    assert [text.get_text() for text in axes[0].get_xticklabels()] == ["9", "10"]
    seen, said, *_ = (line.get_ydata() for line in axes[0].lines)
    np.testing.assert_allclose(seen, said)
    hard = counts.sel(cell=counts["level"] == "9").sum("cell").values
    errors = hard[0, 1] + hard[1, 0]
    assert seen[0] == pytest.approx((errors * np.arange(1, 5)).sum() / errors.sum())
    # Where every rating is as likely, the mean is 2.5.
    np.testing.assert_allclose(axes[1].lines[1].get_ydata(), 2.5)


def test_without_difficulty_shares_are_drawn(counts):
    axes = predicted_ratings(counts, two_models(counts))
    assert axes[0].lines[0].get_ydata().sum() == pytest.approx(1)


def test_residuals_are_pearsons(counts):
    axes = rating_residuals(counts, two_models(counts), difficulty="level")
    assert {text.get_text() for text in axes[0].texts} == {"0"}
    shown = axes[1].images[0].get_array()
    hard = counts.sel(cell=counts["level"] == "9").sum("cell").values
    right = hard[0, 0] + hard[1, 1]
    expected = hard.sum() / 8
    np.testing.assert_allclose(shown[0, 4:], (right - expected) / np.sqrt(expected))


def test_other_tables_are_refused(counts):
    with pytest.raises(InputError, match="dim model"):
        predicted_ratings(counts, counts)
    with pytest.raises(InputError, match="difficulty"):
        rating_residuals(counts, two_models(counts), difficulty="hardness")
