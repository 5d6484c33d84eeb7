"""s is the value that makes the ratings most likely, and its error is passed on."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hmetad import InputError, fit_mle, from_nr, notices, simulate_counts

B = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])


@pytest.mark.parametrize("rule", ["relative", "absolute"])
def test_s_is_the_top_of_the_profile(rule):
    fitted = fit_mle(B, s="estimate", meta_criterion=rule)

    def cost(log_s):
        return -fit_mle(B, s=float(np.exp(log_s)), meta_criterion=rule)["loglik"].item()

    best = minimize_scalar(cost, bounds=(-1, 1), method="bounded", options={"xatol": 1e-7})
    # ℓ is flat to its last digits within 1e-6 or so of the top.
    assert fitted["s"].item() == pytest.approx(np.exp(best.x), abs=2e-5)
    assert fitted["loglik"].item() >= -best.fun - 1e-9
    again = fit_mle(B, s=fitted["s"].item(), meta_criterion=rule)
    assert fitted["meta_d"].item() == pytest.approx(again["meta_d"].item(), abs=1e-9)


@pytest.mark.parametrize("s", [0.7, 1.3])
def test_estimates_are_near_the_truth_and_errors_are_their_spread(s):
    counts = simulate_counts(np.full(1000, 1.5), 0.2, 0.7, trials=2000, ratings=5, s=s, seed=2)
    fitted = fit_mle(counts, s="estimate")
    truth = {"s": s, "dprime": 1.5, "c": 0.2, "meta_d": 1.05, "m_ratio": 0.7}
    for name, value in truth.items():
        spread = fitted[name].std().item()
        # Spread of 1000 cells is known to 2 %; bias falls with the number of trials.
        assert fitted[f"{name}_se"].median().item() == pytest.approx(spread, rel=0.08), name
        assert fitted[name].mean().item() == pytest.approx(value, abs=0.15 * spread), name
    assert fitted["converged"].all()


def test_each_response_has_its_m_beside_one_s():
    counts = simulate_counts([1.5], 0.2, [[0.5, 1.0]], trials=2_000_000, ratings=4, s=0.8, seed=3)
    fitted = fit_mle(counts, s="estimate", response_conditional=True)
    assert fitted["s"].item() == pytest.approx(0.8, abs=4 * fitted["s_se"].item())
    error = 4 * fitted["m_ratio_se"].to_numpy()[0]
    assert np.all(abs(fitted["m_ratio"].to_numpy()[0] - [0.5, 1.0]) < error)
    assert np.all(error < 0.1)


def test_an_s_beyond_its_range_is_noticed():
    wide = simulate_counts([1.0], 0.0, 1.0, trials=1_000_000, ratings=5, s=0.1, seed=1)
    fitted = fit_mle(wide, s="estimate")
    assert fitted["s"].item() == pytest.approx(np.exp(-1.5))
    assert not fitted["converged"].item()
    assert fitted["s_se"].isnull().item()
    assert "not-converged" in [notice.code for notice in notices(fitted)]


def test_a_cell_without_an_answer_has_no_s_and_says_so():
    never = from_nr([50, 30, 0, 0], [40, 40, 0, 0])
    fitted = fit_mle(never, s="estimate")
    assert fitted["s"].isnull().item()
    assert "undefined-dprime" in [notice.code for notice in notices(fitted)]


def test_log_m_and_its_error_are_missing_together():
    flipped = from_nr([2, 4, 12, 26, 37, 35, 32, 52], [45, 40, 38, 33, 22, 15, 5, 2])
    fitted = fit_mle(flipped, s="estimate")
    assert fitted["m_ratio_se"].notnull().item()
    assert fitted["log_m"].isnull().item()
    assert fitted["log_m_se"].isnull().item()


def test_two_ratings_of_each_response_do_not_tell_s():
    two = from_nr([20, 10, 8, 5], [5, 9, 12, 18])
    with pytest.raises(InputError, match="three at least"):
        fit_mle(two, s="estimate", response_conditional=True)
    assert fit_mle(two, s="estimate").attrs["s"] == "estimate"
