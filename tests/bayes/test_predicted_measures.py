"""Measures of the counts that each draw expects, against SciPy and brute force."""

import numpy as np
import pytest
from scipy.stats import norm, somersd

import hmetad
from hmetad import InputError
from hmetad.bayes import predict_measures

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


@pytest.fixture(scope="module")
def counts():
    people = [f"s{i}" for i in range(8)]
    coords = {"subject": people * 2, "task": ["memory"] * 8 + ["vision"] * 8}
    return hmetad.simulate_counts([1.5] * 16, 0.2, 0.8, coords=coords, trials=500, seed=2)


@pytest.fixture(scope="module")
def fitted(counts):
    formula = {"log_m": "1 + task + (1 | subject)"}
    return hmetad.fit(counts, "group", formula=formula, draws=60, tune=150, chains=2, **QUIET)


def table_of(draw):
    """P(stimulus, response, rating) of one draw of one cell, by SciPy's normal distribution."""
    d, c, m, kappa = (draw[name].item() for name in ("dprime", "c", "meta_d", "meta_c"))
    below, above = draw["criteria"].values
    edges = {0: [kappa, *sorted(below, reverse=True), -np.inf], 1: [kappa, *sorted(above), np.inf]}
    shares = np.empty((2, 2, 4))
    for s, sign in ((0, -1), (1, 1)):
        right = norm.sf(c, sign * d / 2)
        for r, whole in ((0, 1 - right), (1, right)):
            at = norm.cdf(edges[r], sign * m / 2)
            parts = np.abs(np.diff(at))
            shares[s, r] = whole * parts / parts.sum() / 2
    return shares


@pytest.mark.parametrize("place", [0, 5, 15])
def test_measures_of_a_draw_are_those_of_its_table(fitted, place):
    found = predict_measures(fitted, ["auroc2", "confidence_mean", "share_right"], group_terms=True)
    at = {"chain": 1, "draw": 17, "cell": place}
    shares = table_of(fitted["posterior"].to_dataset().isel(at))
    assert shares.sum() == pytest.approx(1)
    right = shares[0, 0] + shares[1, 1]
    wrong = shares[0, 1] + shares[1, 0]
    own = found.isel(at)
    assert own["share_right"].item() == pytest.approx(right.sum(), abs=1e-9)
    mean = ((right + wrong) * np.arange(1, 5)).sum()
    assert own["confidence_mean"].item() == pytest.approx(mean, abs=1e-9)
    # Somers' D of the ratings by correctness is 2 AUROC - 1; it takes whole numbers of trials.
    trials = np.round(1e9 * np.stack([wrong, right])).astype(np.int64)
    assert own["auroc2"].item() == pytest.approx((somersd(trials).statistic + 1) / 2, abs=1e-6)


def test_a_population_is_that_of_predict(fitted):
    found = predict_measures(fitted, "auroc2")
    assert found["cell"].values.tolist() == ["memory", "vision"]
    assert found["task"].values.tolist() == ["memory", "vision"]
    draw = hmetad.predict(fitted).isel(chain=0, draw=3, cell=1)
    shares = table_of(draw)
    trials = np.stack([shares[0, 1] + shares[1, 0], shares[0, 0] + shares[1, 1]])
    area = (somersd(np.round(1e9 * trials).astype(np.int64)).statistic + 1) / 2
    own = found["auroc2"].isel(chain=0, draw=3, cell=1)
    assert own.item() == pytest.approx(area, abs=1e-6)


def test_draws_are_compared_and_judged_like_others(fitted):
    found = predict_measures(fitted, ["auroc2", "phi"])
    pair = hmetad.contrast(found, var="phi", over="task")
    made = hmetad.decide(pair, rope=(-0.5, 0.5))
    assert made.quantity == "phi"
    assert set(made.results["withheld"].item().split(", ")) <= {"rhat", "ess", "few-draws", ""}
    # What is wrong with the sampling is said of the measures too.
    codes = {notice.code for notice in hmetad.notices(found["phi"])}
    assert {n.code for n in hmetad.notices(fitted) if n.severity == "error"} & codes


def test_measures_with_dims_of_their_own(fitted):
    found = predict_measures(fitted, "auroc2_by_response")
    assert found["auroc2_by_response"].dims == ("chain", "draw", "cell", "response")
    assert found["auroc2_by_response"].notnull().all()


@pytest.mark.parametrize("name", ["auroc", "trials", "dprime_se", ""])
def test_an_unknown_measure_is_refused(fitted, name):
    with pytest.raises(InputError, match=r"results of hmetad\.measure"):
        predict_measures(fitted, name)


def test_a_population_without_criteria_is_refused(counts):
    some = counts.isel(cell=slice(0, 8))
    drawn = hmetad.fit(some, "hmetad_group", draws=30, tune=60, chains=2, **QUIET)
    with pytest.raises(InputError, match="group_terms=True"):
        predict_measures(drawn, "auroc2")
    assert predict_measures(drawn, "auroc2", group_terms=True)["auroc2"].sizes["cell"] == 8
