"""The fitted ROC is SciPy's optimum, its errors are those of a numeric Hessian, its s the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from hmetad import fit_mle, from_nr, notices, simulate_counts, uvsdt

A = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
B = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])


def scale_of(counts):
    table = counts.to_numpy()[0].astype(float)
    return np.concatenate([table[:, 0, ::-1], table[:, 1]], axis=-1)


def cost_of(n):
    """−ℓ over the separation, log s, the first cut point and log gaps."""

    def cost(theta):
        t = np.cumsum(np.concatenate([theta[2:3], np.exp(theta[3:])]))
        edges = np.stack([t, np.exp(theta[1]) * t - theta[0]])
        p = np.diff(norm.cdf(edges), axis=1, prepend=0, append=1)
        return -(n * np.log(np.maximum(p, 1e-300))).sum()

    return cost


def optimum(n):
    start = np.concatenate([[1.0, 0.0, -1.0], np.full(n.shape[1] - 2, -1.0)])
    return minimize(cost_of(n), start, method="BFGS", options={"gtol": 1e-7})


@pytest.mark.parametrize("counts", [A, B])
def test_scipy_finds_the_same_optimum(counts):
    fitted, best = uvsdt(counts), optimum(scale_of(counts))
    a, s = best.x[0], np.exp(best.x[1])
    assert fitted["loglik"].item() == pytest.approx(-best.fun, abs=1e-8)
    assert fitted["loglik"].item() >= -best.fun - 1e-10
    # BFGS stops at slopes of 1e-5 or so.
    assert fitted["s"].item() == pytest.approx(s, abs=1e-5)
    assert fitted["dprime"].item() == pytest.approx(a / s, abs=1e-5)
    assert fitted["a_z"].item() == pytest.approx(norm.cdf(a / np.hypot(1, s)), abs=1e-5)


def test_standard_errors_are_those_of_a_numeric_hessian():
    cost, best = cost_of(scale_of(B)), optimum(scale_of(B))
    step = 1e-3 * np.eye(len(best.x))

    def second(i, j):
        return sum(
            sign_i * sign_j * cost(best.x + sign_i * step[i] + sign_j * step[j])
            for sign_i in (-1, 1)
            for sign_j in (-1, 1)
        ) / (4 * 1e-6)

    size = range(len(best.x))
    covariance = np.linalg.inv([[second(i, j) for j in size] for i in size])

    def estimates(theta):
        s = np.exp(theta[1])
        d, d_a = theta[0] / s, np.sqrt(2) * theta[0] / np.hypot(1, s)
        boundary = theta[2] + np.exp(theta[3:6]).sum()
        return np.array([d, boundary - d / 2, s, d_a, norm.cdf(d_a / np.sqrt(2))])

    gradient = np.array([(estimates(best.x + h) - estimates(best.x - h)) / 2e-3 for h in step]).T
    expected = np.sqrt(np.diag(gradient @ covariance @ gradient.T))
    names = ("dprime_se", "c_se", "s_se", "d_a_se", "a_z_se")
    # Differences over steps of 1e-3 are good to some 1e-5.
    np.testing.assert_allclose([uvsdt(B)[x].item() for x in names], expected, rtol=1e-4)


@pytest.mark.parametrize("s", [0.7, 1.0, 1.4])
def test_errors_are_the_spread_and_the_model_fits_its_own_data(s):
    counts = simulate_counts(np.full(2000, 1.5), 0.2, 1.0, trials=2000, ratings=4, s=s, seed=2)
    fitted = uvsdt(counts)
    assert fitted["converged"].all()
    for name, truth in {"s": s, "dprime": 1.5, "c": 0.2}.items():
        spread = fitted[name].std().item()
        assert fitted[name].mean().item() == pytest.approx(truth, abs=0.1 * spread)
        assert fitted[f"{name}_se"].median().item() == pytest.approx(spread, rel=0.05)
    assert fitted["df"].item(0) == 5
    # Mean and variance of chi-squared are 5 and 10; 5 errors of a mean over 2000 cells.
    assert fitted["g_squared"].mean().item() == pytest.approx(5, abs=5 * np.sqrt(10 / 2000))
    assert (fitted["p_value"] < 0.05).mean().item() == pytest.approx(0.05, abs=0.025)


def test_lost_confidence_bends_the_roc_but_not_the_s_of_the_meta_model():
    counts = simulate_counts([1.5], 0.2, 0.6, trials=10_000_000, ratings=5, s=0.8, seed=1)
    assert abs(uvsdt(counts)["s"].item() - 0.8) > 0.02
    assert fit_mle(counts, s="estimate")["s"].item() == pytest.approx(0.8, abs=0.005)


def test_criteria_lie_where_the_counts_say():
    counts = simulate_counts([1.5], 0.3, 1.0, trials=10_000_000, ratings=4, s=0.8, seed=1)
    fitted = uvsdt(counts).isel(cell=0)
    edges = np.concatenate(
        [fitted["criteria"][0, ::-1], [fitted["c"].item()], fitted["criteria"][1]]
    )
    assert np.all(np.diff(edges) > 0)
    below = np.cumsum(scale_of(counts), axis=1)[:, :-1] / scale_of(counts).sum(1, keepdims=True)
    d = fitted["dprime"].item()
    np.testing.assert_allclose(norm.cdf(edges + d / 2), below[0], atol=1e-3)
    np.testing.assert_allclose(norm.cdf(0.8 * (edges - d / 2)), below[1], atol=1e-3)


def test_three_categories_are_fitted_exactly():
    counts = from_nr([30, 20, 10, 0], [5, 10, 40, 0])
    fitted = uvsdt(counts).isel(cell=0)
    assert fitted["df"].item() == 0
    assert fitted["g_squared"].item() == pytest.approx(0, abs=1e-8)
    assert fitted["p_value"].isnull().item()
    z = norm.ppf([[30 / 60, 50 / 60], [5 / 55, 15 / 55]])
    assert fitted["s"].item() == pytest.approx((z[1, 1] - z[1, 0]) / (z[0, 1] - z[0, 0]), abs=1e-8)
    assert fitted["criteria"].to_numpy()[1, 0] == np.inf


@settings(max_examples=60)
@given(st.lists(st.integers(0, 30), min_size=12, max_size=12))
def test_every_table_is_fitted_or_noticed(numbers):
    fitted = uvsdt(from_nr(numbers[:6], numbers[6:]))
    codes = [notice.code for notice in notices(fitted)]
    assert fitted["s"].notnull().item() or "roc-undefined" in codes
    if fitted["converged"].item():
        assert fitted["g_squared"].item() >= 0
        assert fitted["a_z"].item() == pytest.approx(norm.cdf(fitted["d_a"].item() / np.sqrt(2)))
    elif fitted["s"].notnull().item():
        assert "not-converged" in codes


def test_separated_stimuli_have_no_roc():
    fitted = uvsdt(from_nr([10, 4, 2, 4, 0, 0, 0, 0], [0, 0, 0, 3, 6, 2, 6, 3]))
    assert fitted["s"].isnull().item()
    assert "roc-undefined" in [notice.code for notice in notices(fitted)]


def test_a_correction_is_part_of_the_counts():
    padded = uvsdt(B + 0.125)
    np.testing.assert_allclose(uvsdt(B, correction="cell")["s"], padded["s"], rtol=1e-12)
