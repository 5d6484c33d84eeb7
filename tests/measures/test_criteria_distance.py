"""Meta-Δ, of known criteria and of estimates."""

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad import InputError
from hmetad.measures import meta_delta

# Distances between neighbours, outward from κ; the criteria lie at their sums.
GAPS = np.array([[0.3, 0.4, 0.5], [0.2, 0.6, 0.1]])
DISTANCES = (2.2 / 3, 1.9 / 3)


@pytest.mark.parametrize("c", [0.0, 0.3])
@pytest.mark.parametrize("m_ratio", [0.7, 1.0])
def test_known_criteria_come_back_whatever_c_and_m(c, m_ratio):
    counts = hmetad.simulate_counts(1.5, c, m_ratio, gaps=GAPS, trials=1_000_000, seed=1)
    found = hmetad.fit_mle(counts)
    # Errors of estimates of a million trials: some .005.
    both = meta_delta(found, by_response=True).sel(cell="all")
    np.testing.assert_allclose(both, DISTANCES, atol=0.02)
    assert both.dims == ("response",)
    assert meta_delta(found).item() == pytest.approx(np.mean(DISTANCES), abs=0.015)


def test_draws_keep_their_dims_and_are_judged():
    counts = hmetad.simulate_counts(
        [1.5] * 2, gaps=np.stack([GAPS, GAPS + 0.3]), trials=2000, seed=1,
        coords={"group": ["sure", "unsure"]},
    )  # fmt: skip
    options = {"progressbar": False, "quiet": True, "random_seed": 1}
    fit = hmetad.fit(counts, draws=500, chains=2, **options)
    found = meta_delta(fit)
    assert found.dims == ("chain", "draw", "cell")
    # 0.3 more at the first criterion, 0.6 at the second, 0.9 at the third.
    difference = hmetad.contrast(found, over="group").mean(["chain", "draw"])
    assert abs(difference).item() == pytest.approx(0.6, abs=0.15)
    xr.testing.assert_allclose(found, meta_delta(hmetad.predict(fit)))


def test_what_has_no_criteria_is_refused():
    counts = hmetad.simulate_counts(1.5, trials=500, seed=1)
    with pytest.raises(InputError, match="estimates"):
        meta_delta(counts)
    with pytest.raises(InputError, match="without meta_c, criteria"):
        meta_delta(hmetad.sdt(counts))
    with pytest.raises(InputError, match="without meta_c"):
        meta_delta(hmetad.fit_mle(counts).drop_vars("meta_c"))
