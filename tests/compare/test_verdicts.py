"""Words follow from where bounds lie; numbers of many rows are those of each row, and of ArviZ."""

import tracemalloc

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta

from hmetad.compare.verdicts import interval_words, judge, nearby_intervals, summarise

ROPE = (-0.1, 0.1)


def one(lower, upper, in_rope, **errors):
    """What is found of a single quantity, with Monte Carlo errors of 0 but those given."""
    settled = {"mcse_lower": 0.0, "mcse_upper": 0.0, "tail_lower": 100.0, "tail_upper": 100.0}
    settled |= {"in_rope_least": in_rope, "in_rope_most": in_rope}
    values = {"lower": lower, "upper": upper, "in_rope": in_rope} | settled | errors
    return {name: np.array([value]) for name, value in values.items()}


def judged(found, is_withheld=False):
    """Answers to a single quantity."""
    found = judge(found, ROPE, 0.0, np.array([is_withheld]))
    return {name: answer.item() for name, answer in found.items()}


def unsettled(found):
    """Names of the answers that Monte Carlo error could change."""
    return {*filter(None, judged(found)["unsettled"].split(", "))}


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        (-0.1, 0.1, "negligible"),
        (0.1, 0.2, "inconclusive"),
        (0.101, 0.2, "different"),
        (-0.2, -0.1, "inconclusive"),
        (-0.2, -0.101, "different"),
        (-0.2, 0.2, "inconclusive"),
        (-0.101, 0.1, "inconclusive"),
        (-0.1, 0.101, "inconclusive"),
    ],
)
def test_an_interval_that_ends_on_a_limit_touches_the_region(lower, upper, word):
    assert interval_words(np.array([lower]), np.array([upper]), ROPE).tolist() == [word]


def test_a_null_on_the_bound_is_not_excluded():
    for lower, upper, expected in ((0.0, 1.0, False), (-1.0, 0.0, False), (0.01, 1.0, True)):
        assert judged(one(lower, upper, 0.0))["statistical"] == expected


def test_shares_of_the_margin_itself_are_inconclusive():
    shares = (0.024, 0.025, 0.5, 0.975, 0.976)
    found = [judged(one(-1.0, 1.0, share))["full_verdict"] for share in shares]
    assert found == ["different", *["inconclusive"] * 3, "negligible"]


def test_each_answer_is_unsettled_by_the_bound_that_it_hangs_on():
    assert unsettled(one(0.3, 0.5, 0.0)) == set()
    assert unsettled(one(0.12, 0.5, 0.0, mcse_lower=0.011)) == {"verdict"}
    assert unsettled(one(0.12, 0.5, 0.0, mcse_upper=0.011)) == set()
    assert unsettled(one(-0.5, -0.12, 0.0, mcse_upper=0.011)) == {"verdict"}
    assert unsettled(one(0.01, 0.5, 0.4, mcse_lower=0.006)) == {"statistical"}
    assert unsettled(one(0.3, 0.5, 0.02, in_rope_most=0.03)) == {"full_verdict"}
    assert unsettled(one(-0.05, 0.05, 0.98, in_rope_least=0.97)) == {"full_verdict"}


def test_a_bound_with_few_draws_beyond_it_may_lie_anywhere_further_out():
    # Further out on the far side is away from the region; on the near side it is across it.
    assert unsettled(one(0.3, 0.5, 0.0, tail_upper=4.9)) == set()
    assert unsettled(one(0.3, 0.5, 0.0, tail_lower=4.9)) == {"statistical", "verdict"}
    assert unsettled(one(0.3, 0.5, 0.0, tail_lower=5.0)) == set()


def test_withheld_answers_say_nothing_and_unsettled_ones_keep_the_others():
    said = {"statistical": True, "verdict": "different", "full_verdict": "different"}
    assert judged(one(0.3, 0.5, 0.0)) == said | {"unsettled": ""}
    none = {"statistical": False, "verdict": "unreliable", "full_verdict": "unreliable"}
    unsure = one(0.3, 0.5, 0.02, in_rope_most=0.03)
    assert judged(unsure, is_withheld=True) == none | {"unsettled": ""}
    part = said | {"full_verdict": "unreliable", "unsettled": "full_verdict"}
    assert judged(unsure) == part


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_a_bound_with_five_draws_beyond_it_has_an_error_and_one_with_fewer_has_none(side):
    found = {"lower": 0.1, "upper": 0.9, "mcse_lower": 0.01, "mcse_upper": 0.01}
    found |= {"tail_lower": 10.0, "tail_upper": 10.0}
    for number, is_known in ((5.0, True), (4.9, False)):
        rows = {name: np.array([x]) for name, x in (found | {f"tail_{side}": number}).items()}
        assert np.isfinite(list(nearby_intervals(rows))).all() == is_known


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
