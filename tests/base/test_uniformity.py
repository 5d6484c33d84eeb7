"""The test of ranks: its level, its power, and its band."""

import numpy as np
import pytest
from arviz_stats.ecdf_utils import simulate_confidence_bands
from scipy import stats

from hmetad.base.uniformity import cumulative_ranks, rank_band, uniformity

# Factors on the SD of a posterior.
POSTERIORS = {"right": 1.0, "narrow": 0.6, "wide": 1.7}


def normal_ranks(factor=1.0, shift=0.0, n=400, size=99, seed=1):
    """Ranks from a conjugate normal model: one observation of SD 1, prior N(0, 1)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 1))
    seen = truth + rng.normal(size=(n, 1))
    draws = rng.normal(seen / 2 + shift, factor * np.sqrt(0.5), (n, size))
    return (draws < truth).sum(axis=1)[:, None]


def test_p_values_of_uniform_ranks_are_uniform():
    ranks = np.random.default_rng(1).integers(0, 100, (200, 2000))
    p = uniformity(ranks, 99)[1]
    for level in (0.01, 0.05, 0.2, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=4 * np.sqrt(level / 2000))


def test_the_critical_value_is_that_of_arviz():
    # ArviZ evaluates at i/n: with n - 1 draws to rank among, at the same points as here.
    n = 60
    rng = np.random.default_rng(2)
    points = np.arange(1, n) / n
    # 1 - γ at its 95 % quantile.
    theirs = 1 - simulate_confidence_bands(n, 1, points, 0.95, 4000, rng)
    statistic, p = uniformity(rng.integers(0, n, (n, 4000)), n - 1)
    ours = statistic[p > 0.05].min()
    # Both are read off 4000 simulations of a steep, discrete distribution.
    assert ours == pytest.approx(theirs, rel=0.2)


def test_uniform_ranks_stay_inside_the_band_as_often_as_it_says():
    ranks = np.random.default_rng(3).integers(0, 50, (100, 4000))
    counts = cumulative_ranks(ranks, 49)
    for prob in (0.5, 0.9, 0.95):
        low, high = rank_band(100, 49, prob)
        inside = ((counts >= low) & (counts <= high)).all(axis=1).mean()
        # γ has few values, and the band holds at least what it promises.
        assert prob - 0.02 < inside < prob + 0.03


def test_a_right_posterior_passes_and_a_wrong_one_is_seen():
    for name, factor in POSTERIORS.items():
        p = uniformity(normal_ranks(factor), 99)[1].item()
        assert (p > 0.05) == (name == "right"), name
    assert uniformity(normal_ranks(shift=0.3), 99)[1].item() < 0.01


def test_the_test_agrees_with_kolmogorov_and_smirnov_where_that_is_powerful():
    shifted = normal_ranks(shift=0.2)
    ks = stats.kstest((shifted[:, 0] + 0.5) / 100, "uniform").pvalue
    assert ks < 0.05
    assert uniformity(shifted, 99)[1].item() < 0.05
