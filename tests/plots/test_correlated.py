"""Densities of correlations."""

import numpy as np
import pytest
import xarray as xr

from hmetad import InputError
from hmetad.plots import correlations
from hmetad.plots.posteriors import GRID, density_of


@pytest.fixture
def matrix():
    z = np.random.default_rng(1).normal(0.5, 0.2, (2, 500))
    values = np.zeros((2, 500, 2, 2)) + np.eye(2)
    values[..., 0, 1] = values[..., 1, 0] = np.tanh(z)
    coords = {"effect": ["memory", "1"], "effect_bis": ["memory", "1"]}
    return xr.DataArray(values, coords, ("chain", "draw", "effect", "effect_bis"))


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_each_pair_of_a_matrix_stands_once_with_its_numbers(matrix):
    ax = correlations(matrix, labels={"memory": "Memory"}, ci_prob=0.9)
    assert names(ax) == ["Memory, intercept"]
    draws = matrix.isel(effect=0, effect_bis=1)
    low, high = np.quantile(draws, [0.05, 0.95])
    expected = f"{float(draws.mean()):.2f} [{low:.2f}, {high:.2f}]"
    assert [text.get_text() for text in ax.texts] == [expected]


def test_a_density_has_mass_1_on_its_scale():
    density = density_of(np.tanh(np.random.default_rng(2).normal(1.5, 0.4, 4000)))
    assert np.trapezoid(density, GRID) == pytest.approx(1, abs=0.02)
    # Of a uniform correlation it is flat where there are draws enough.
    flat = density_of(np.random.default_rng(3).uniform(-1, 1, 100_000))
    np.testing.assert_allclose(flat[abs(GRID) < 0.9], 0.5, atol=0.03)


def test_draws_that_do_not_vary_or_are_missing_have_no_density(matrix):
    assert density_of(np.full(10, 0.3)) is None
    ax = correlations(matrix * np.nan)
    assert "nothing to draw" in [text.get_text() for text in ax.texts]


def test_other_draws_are_refused(matrix):
    for wrong in (matrix.mean("chain"), matrix.isel(effect=0), 2 * matrix, 0.5):
        with pytest.raises(InputError, match="draws"):
            correlations(wrong)


def test_a_level_of_the_name_1_is_no_intercept(matrix):
    dims = {"effect": "task|subject__effect", "effect_bis": "task|subject__effect_bis"}
    both = matrix.rename(dims)
    levels = both.assign_coords({dim: ["1", "2"] for dim in dims.values()})
    assert names(correlations(levels)) == ["1, 2"]
    beside = both.assign_coords({dim: ["1", "task[2]"] for dim in dims.values()})
    assert names(correlations(beside)) == ["intercept, task[2]"]
