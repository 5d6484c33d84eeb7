"""Numbers of many rows are those of each row, and of ArviZ, in little memory."""

import tracemalloc

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta

from hmetad.compare.summaries import summarise

ROPE = (-0.1, 0.1)


def slow_chains(centre, rows=1):
    """Chains of 4 × 1000 draws about a centre, of which each leans on the one before."""
    noise = np.random.default_rng(1).normal(size=(rows, 4, 1000))
    for t in range(1, 1000):
        noise[..., t] += 0.9 * noise[..., t - 1]
    return centre + 0.005 * noise


def summary_of(rows, **options):
    return summarise(rows, **{"level": 0.95, "is_hdi": False, "null": 0.0, "rope": ROPE, **options})


@pytest.mark.parametrize(("centre", "share"), [(1.0, 0.0), (0.0, 1.0)])
def test_where_all_draws_agree_their_share_is_as_uncertain_as_the_tails(centre, share):
    rows = slow_chains(centre)
    found = summary_of(rows)
    assert found["in_rope"].tolist() == [share]
    draws = xr.DataArray(rows[0], dims=("chain", "draw"))
    tails = [float(az.ess(draws, method="quantile", prob=p)) for p in (0.025, 0.975)]
    # Far fewer than the 4000 that a row of equal indicators would be taken for.
    assert min(tails) < 1000
    a, b = min(tails) * share + 1, min(tails) * (1 - share) + 1
    assert found["in_rope_least"][0] == pytest.approx(beta.ppf(0.025, a, b), rel=1e-6)
    assert found["in_rope_most"][0] == pytest.approx(beta.ppf(0.975, a, b), rel=1e-6)


def test_a_share_of_some_draws_is_as_uncertain_as_their_correlation_makes_it():
    rows = slow_chains(0.1)
    found = summary_of(rows)
    inside = abs(rows[0]) <= 0.1
    indicator = xr.DataArray(inside.astype(float), dims=("chain", "draw"))
    effective = float(az.ess(indicator, method="mean"))
    a, b = effective * inside.mean() + 1, effective * (1 - inside.mean()) + 1
    assert found["in_rope_most"][0] == pytest.approx(beta.ppf(0.975, a, b), rel=1e-6)


@pytest.mark.parametrize("is_hdi", [False, True])
def test_rows_in_parts_are_summarised_as_each_by_itself(is_hdi):
    """200 rows are four parts; whatever a row's part is, its numbers are its own."""
    rows = np.random.default_rng(1).normal(0.1, 0.1, (200, 4, 1000))
    together = summary_of(rows, is_hdi=is_hdi)
    for i in (0, 64, 65, 66, 130, 199):
        alone = summary_of(rows[[i]], is_hdi=is_hdi)
        for name, values in alone.items():
            np.testing.assert_allclose(together[name][i], values[0], rtol=1e-12, err_msg=name)


def test_draws_on_a_limit_of_the_rope_are_inside():
    rows = np.random.default_rng(1).choice([-0.1, 0.1, 0.2], (1, 4, 100))
    assert summary_of(rows)["in_rope"][0] == pytest.approx((rows < 0.2).mean())


def test_direction_leaves_out_draws_that_are_the_null_itself():
    rows = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], (1, 4, 100), p=[0.2, 0.3, 0.5])
    found = summary_of(rows)
    assert found["p_direction"][0] == pytest.approx((rows > 0).mean())
    mirrored = summary_of(-rows)
    assert mirrored["p_direction"][0] == pytest.approx((rows > 0).mean())


def test_many_rows_need_no_more_memory_than_their_draws_do():
    rows = np.random.default_rng(1).normal(size=(1000, 4, 1000))
    tracemalloc.start()
    summary_of(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes
