"""A single cell without its dim gives the estimates that it gives among others."""

import numpy as np
import pytest

import hmetad


@pytest.mark.parametrize("fit", [hmetad.fit_mle, hmetad.fit_dmc, hmetad.uvsdt])
def test_one_cell_is_estimated_as_among_others(fit):
    counts = hmetad.simulate_counts([1.5, 1.2], trials=400, coords={"model": ["a", "b"]}, seed=1)
    alone, among = fit(counts.sel(cell="a")), fit(counts).sel(cell="a")
    for name in among.data_vars:
        assert alone[name].dims == among[name].dims
        np.testing.assert_array_equal(alone[name], among[name])
