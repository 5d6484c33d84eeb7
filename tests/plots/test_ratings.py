"""Accuracy by confidence rating."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binomtest

from hmetad import plots
from hmetad.errors import InputError
from hmetad.plots.marks import wilson


def line_heights(ax):
    """Heights of the lines of a count table, without whiskers, legend and references."""
    lines = [line for line in ax.lines if line.get_linestyle() != "None"]
    return [line.get_ydata() for line in lines if len(line.get_ydata()) == 4]


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


def test_accuracy_counts_agreement_of_stimulus_and_response(counts):
    heights = line_heights(plots.accuracy_by_rating(counts))
    np.testing.assert_allclose(heights[0], [0.5, 2 / 3, 6 / 7, 40 / 42])


def test_rating_that_is_never_used_leaves_a_gap(counts):
    heights = line_heights(plots.accuracy_by_rating(counts))
    assert [bool(gap) for gap in np.isnan(heights[1])] == [False, True, False, False]


def test_accuracy_does_not_depend_on_the_order_of_dims(counts):
    turned = counts.transpose("rating", "response", "cell", "stimulus")
    one, two = (line_heights(plots.accuracy_by_rating(c)) for c in (counts, turned))
    np.testing.assert_array_equal(one, two)


def test_accuracy_refuses_a_table_without_stimulus(counts):
    with pytest.raises(InputError, match="stimulus"):
        plots.accuracy_by_rating(counts.sum("stimulus"))


@pytest.mark.parametrize(("successes", "trials"), [(8, 10), (0, 7), (7, 7), (500, 1000)])
def test_wilson_interval_is_scipys(successes, trials):
    theirs = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    ours = wilson(np.array([successes]), np.array([trials]))[:, 0]
    # Rounding only: both compute the same closed form.
    np.testing.assert_allclose(ours, [successes / trials, *theirs], atol=1e-12)
