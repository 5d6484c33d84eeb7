"""Many rows at once give what ArviZ gives one by one."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.stats import chi2, norm, rankdata

from hmetad.base.monte_carlo import (
    check_chains,
    effective_draws,
    quantile_error,
    rank_rhat,
    rhat_limit,
    row_quantile,
    share_interval,
)


def chains(number, length, rows=30, seed=0):
    """White noise, slow chains, antithetic chains and tied values."""
    noise = np.random.default_rng(seed).normal(size=(rows, number, length))
    slow = noise.copy()
    for t in range(1, length):
        slow[..., t] += 0.9 * slow[..., t - 1]
    flipped = noise * 0.1 + (-1.0) ** np.arange(length)
    return np.concatenate([noise, slow, flipped, np.round(noise)])


SHAPES = [(1, 4), (1, 7), (2, 10), (4, 11), (2, 50), (4, 101), (4, 500)]


@pytest.mark.parametrize(("number", "length"), SHAPES)
def test_effective_draws_are_those_of_arviz(number, length):
    rows = chains(number, length)
    for values in (rows, rows > 1):
        expected = array_stats.ess(values, method="mean")
        np.testing.assert_allclose(effective_draws(values), expected, rtol=1e-8)


@pytest.mark.parametrize(("number", "length"), [s for s in SHAPES if s[0] > 1])
def test_checks_of_chains_are_those_of_arviz(number, length):
    rows = chains(number, length)
    rhat, bulk, tail = check_chains(rows)
    # Where no half varies and no half differs, 0/0; ArviZ warns.
    with np.errstate(all="ignore"):
        expected = array_stats.rhat(rows, method="rank")
    np.testing.assert_allclose(rhat, expected, rtol=1e-10)
    np.testing.assert_array_equal(rhat, rank_rhat(rows))
    np.testing.assert_allclose(bulk, array_stats.ess(rows, method="bulk"), rtol=1e-8)
    expected = array_stats.ess(rows, method="tail", prob=(0.05, 0.95))
    np.testing.assert_allclose(tail, expected, rtol=1e-8)


@pytest.mark.parametrize("prob", [0.0005, 0.025, 0.5, 0.95])
@pytest.mark.parametrize(("number", "length"), [s for s in SHAPES if s[1] >= 50])
def test_errors_of_quantiles_are_those_of_arviz(number, length, prob):
    rows = chains(number, length)
    ordered = np.sort(rows.reshape(len(rows), -1), axis=1)
    error, effective = quantile_error(rows, ordered, np.full(len(rows), prob))
    expected = array_stats.mcse(rows, method="quantile", prob=prob)
    np.testing.assert_allclose(error, expected, rtol=1e-10)
    expected = array_stats.ess(rows, method="quantile", prob=prob)
    np.testing.assert_allclose(effective, expected, rtol=1e-8)


def test_effective_draws_of_a_slow_chain_are_those_of_theory():
    """x_t = φ x_{t-1} + noise: S (1 - φ)/(1 + φ)."""
    noise = np.random.default_rng(1).normal(size=(200, 4, 2200))
    for t in range(1, 2200):
        noise[..., t] += 0.6 * noise[..., t - 1]
    # One estimate scatters by a tenth, the mean of 200 by 1 %; truncation biases it by 3 %.
    assert effective_draws(noise[..., 200:]).mean() == pytest.approx(8000 * 0.25, rel=0.06)


def test_error_of_a_median_is_that_of_theory():
    rows = np.random.default_rng(1).normal(size=(300, 4, 1000))
    ordered = np.sort(rows.reshape(300, -1), axis=1)
    error, _ = quantile_error(rows, ordered, np.full(300, 0.5))
    exact = 0.5 / np.sqrt(4000) / norm.pdf(0)
    # Truncated autocorrelations make errors a few percent too large on average.
    assert error.mean() == pytest.approx(exact, rel=0.05)
    assert np.median(rows, axis=(1, 2)).std() == pytest.approx(exact, rel=0.1)


def test_one_chain_is_compared_by_its_halves():
    rows = np.random.default_rng(2).normal(size=(2, 1, 1000))
    rows[1, 0, 500:] += 1
    found = rank_rhat(rows)
    assert found[0] < 1.01 < 1.05 < found[1]


def autoregressive(number: int, length: int, rho: float) -> np.ndarray:
    """Rows of four chains that have converged: x_t = ρ x_{t-1} + noise, of variance 1."""
    rows = np.random.default_rng(4).normal(size=(number, 4, length))
    for t in range(1, length):
        rows[..., t] = rho * rows[..., t - 1] + np.sqrt(1 - rho**2) * rows[..., t]
    return rows


@pytest.mark.parametrize(
    ("length", "rho", "least", "most"), [(400, 0.6, 0.2, 0.35), (250, 0.3, 0.04, 0.1)]
)
def test_no_value_of_converged_chains_is_above_its_limit_and_many_are_above_a_fixed_one(
    length, rho, least, most
):
    rows = autoregressive(3000, length, rho)
    found = rank_rhat(rows)
    assert least < (found > 1.01).mean() < most
    assert (found <= rhat_limit(rows, len(rows))).all()


def test_the_limit_of_rhat_follows_from_arviz_effective_draws_within_chains_and_scipy_chi_square():
    rows = autoregressive(20, 400, 0.6)
    split = rows.reshape(20, 8, 200)
    effective = []
    for part in (split, abs(split - np.median(split, axis=(1, 2), keepdims=True))):
        ranks = rankdata(part.reshape(20, -1), axis=1).reshape(split.shape)
        scores = norm.ppf((ranks - 3 / 8) / (1600 + 1 / 4))
        centred = scores - scores.mean(axis=2, keepdims=True)
        effective.append(array_stats.ess(centred, method="identity"))
    largest = chi2(7).ppf(1 - 0.01 / (2 * 500)) / 7
    expected = np.sqrt(1 - 1 / 200 + 8 / np.minimum(*effective) * largest)
    np.testing.assert_allclose(rhat_limit(rows, 500), expected, rtol=1e-8)


def test_a_chain_that_stands_apart_is_above_the_limit():
    rows = autoregressive(300, 500, 0.3)
    rows[:, 0] += 0.5
    assert (rank_rhat(rows) > rhat_limit(rows, 4500)).mean() > 0.85


def test_constant_rows_and_short_chains_say_so():
    assert effective_draws(np.zeros((1, 4, 100))).tolist() == [400.0]
    assert np.isnan(rank_rhat(np.zeros((1, 4, 100)))).all()
    short = np.random.default_rng(1).normal(size=(2, 4, 3))
    assert np.isnan(effective_draws(short)).all()
    assert np.isnan(rank_rhat(short)).all()
    error, _ = quantile_error(short, np.sort(short.reshape(2, -1)), np.full(2, 0.5))
    assert np.isnan(error).all()


def test_quantiles_of_sorted_rows_are_those_of_numpy():
    rows = np.sort(np.random.default_rng(1).normal(size=(20, 101)), axis=1)
    # The last but one lies between the two largest values.
    prob = np.r_[np.linspace(0, 0.98, 18), 0.997, 1.0]
    expected = [np.quantile(row, p) for row, p in zip(rows, prob, strict=True)]
    np.testing.assert_allclose(row_quantile(rows, prob), expected, rtol=1e-12)


def test_interval_of_a_share_covers_it():
    """Of 2,000 shares of 400 draws with probability .03, 95 % of the intervals hold it."""
    shares = np.random.default_rng(1).binomial(400, 0.03, 2000) / 400
    lower, upper = share_interval(shares, np.full(2000, 400.0))
    # Scatter of a share of 2,000 is .5 %, and steps of the binomial add 2 %.
    assert ((lower <= 0.03) & (upper >= 0.03)).mean() == pytest.approx(0.95, abs=0.025)
