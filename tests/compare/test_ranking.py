"""The posterior of ranks is that of draws ranked one by one."""

from itertools import permutations

import numpy as np
import pytest
from drawn_cells import drawn_cells, said
from scipy.stats import multivariate_normal, norm

from hmetad.base.monte_carlo import INDEPENDENT
from hmetad.base.notice import notices
from hmetad.compare.ranking import rank, rank_table


def draws_of(values, models=None, tasks=None, name="log_m"):
    values = np.asarray(values, dtype=float)
    models = models or [f"m{i}" for i in range(values.shape[-1])]
    return drawn_cells(values, name, model=models, task=tasks or ["A"] * len(models))


def shares_by_hand(values, largest_first):
    """Share of each rank, by giving tied levels every order of the places they take."""
    flat = values.reshape(-1, values.shape[-1])
    n = flat.shape[1]
    shares = np.zeros((n, n))
    for draw in flat:
        key = -draw if largest_first else draw
        orders = [p for p in permutations(range(n)) if all(np.diff(key[list(p)]) >= 0)]
        for order in orders:
            for place, level in enumerate(order):
                shares[level, place] += 1 / len(orders) / len(flat)
    return shares


@pytest.mark.parametrize("largest_first", [True, False])
def test_ranks_are_those_of_brute_force_with_ties(largest_first):
    values = np.random.default_rng(0).integers(0, 4, (2, 30, 4))
    found = rank(draws_of(values), over="model", largest_first=largest_first)
    expected = shares_by_hand(values, largest_first)
    np.testing.assert_allclose(found["p_rank"], expected, atol=1e-12)
    np.testing.assert_allclose(found["p_best"], expected[:, 0], atol=1e-12)
    np.testing.assert_allclose(found["mean_rank"], expected @ [1, 2, 3, 4], atol=1e-12)
    below = expected.cumsum(axis=1)
    for side, tail in (("lower", 0.025), ("upper", 0.975)):
        by_hand = [1 + next(r for r in range(4) if row[r] >= tail - 1e-9) for row in below]
        np.testing.assert_array_equal(found[f"rank_{side}"], by_hand)
    flat = values.reshape(-1, 4)
    for i, j in permutations(range(4), 2):
        wins = (flat[:, i] > flat[:, j]) + (flat[:, i] == flat[:, j]) / 2
        assert float(found["p_superior"][i, j]) == pytest.approx(wins.mean())


@pytest.mark.parametrize(
    ("wins", "ci_prob", "first", "second"),
    [
        (16, 0.95, (1, 2), (1, 2)),
        (16, 0.9, (2, 2), (1, 1)),
        # A share of the tail itself, .025 in decimals but not in floats, is enough.
        (10, 0.95, (1, 2), (1, 1)),
        (9, 0.95, (2, 2), (1, 1)),
    ],
)
def test_bounds_of_a_rank_leave_out_no_more_than_a_tail_on_each_side(wins, ci_prob, first, second):
    """The first of two levels is above in so many of 400 draws."""
    draws = np.zeros(400)
    draws[:wins] = 1
    values = np.stack([draws, np.full(400, 0.5)], axis=-1).reshape(4, 100, 2)
    found = rank(draws_of(values), over="model", ci_prob=ci_prob)
    bounds = zip(found["rank_lower"].values, found["rank_upper"].values, strict=True)
    assert list(bounds) == [first, second]


def test_ranks_of_correlated_normals_are_those_of_theory():
    """P(best) of three normals is an orthant probability of their differences."""
    mean = np.array([0.0, 0.3, 0.5])
    cov = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.4], [0.2, 0.4, 1.5]])
    values = np.random.default_rng(1).multivariate_normal(mean, cov, (4, 5000))
    found = rank(draws_of(values), over="model")
    for i in range(3):
        others = [j for j in range(3) if j != i]
        away = np.array([np.eye(3)[j] - np.eye(3)[i] for j in others])
        exact = multivariate_normal.cdf([0, 0], away @ mean, away @ cov @ away.T)
        error = float(found["mcse_best"][i])
        assert float(found["p_best"][i]) == pytest.approx(exact, abs=4 * error)
        # Independent draws: the error is the binomial's, and estimated within a tenth.
        assert error == pytest.approx(np.sqrt(exact * (1 - exact) / 20_000), rel=0.1)
        for j in others:
            sd = np.sqrt(cov[i, i] + cov[j, j] - 2 * cov[i, j])
            exact = norm.cdf((mean[i] - mean[j]) / sd)
            assert float(found["p_superior"][i, j]) == pytest.approx(exact, abs=0.015)


def test_strata_are_ranked_by_themselves():
    values = np.random.default_rng(1).normal([0, 1, 2, 5, 4], 0.1, (4, 200, 5))
    draws = draws_of(values, ["a", "b", "c", "b", "a"], [*"AAABB"])
    found = rank(draws, over="model", within="task")
    np.testing.assert_allclose(found["mean_rank"], [3, 2, 1, 1, 2])
    assert found["verdict"].values.tolist() == ["not best", "not best", "best", "best", "not best"]
    np.testing.assert_allclose(found["p_rank"].sel(rank=3), [1, 0, 0, 0, 0])
    assert found["other"].values.tolist() == ["a", "b", "c"]
    assert np.isnan(found["p_superior"].sel(other="c")).values.tolist() == [False] * 3 + [True] * 2
    assert found["p_superior"].sel(other="a", cell="b | B").item() == 1
    table = rank_table(found)
    assert table["cell"].tolist() == ["c | A", "b | A", "a | A", "b | B", "a | B"]


def test_a_level_that_cannot_be_trusted_withholds_its_stratum():
    values = np.random.default_rng(1).normal([0, 1, 2, 1, 0], 0.1, (4, 200, 5))
    draws = draws_of(values, ["a", "b", "c", "a", "b"], [*"AAABB"])
    told = rank(draws.assign_attrs(said(("rhat", ["a | A"]))), over="model", within="task")
    assert told["withheld"].values.tolist() == ["rhat"] * 3 + [""] * 2
    assert told["verdict"].values.tolist() == ["unreliable"] * 3 + ["best", "not best"]
    draws[0, :, 3] += 0.5
    drifting = rank(draws, over="model", within="task")
    assert drifting["withheld"].values.tolist() == [""] * 3 + ["rhat"] * 2


def test_a_drift_that_all_levels_share_leaves_their_ranks_alone():
    values = np.random.default_rng(1).normal([0, 1], 0.1, (4, 200, 2))
    values += np.arange(4)[:, None, None]
    assert rank(draws_of(values), over="model")["verdict"].values.tolist() == ["not best", "best"]


def test_independent_draws_are_ranked_without_chains():
    values = np.sort(np.random.default_rng(1).normal([0, 1], 0.1, (1, 300, 2)), axis=1)
    values[..., 1] = values[:, ::-1, 1]
    chain = draws_of(values)
    assert rank(chain, over="model")["withheld"].values.tolist() == ["rhat"] * 2
    drawn = chain.isel(chain=0).assign_attrs(INDEPENDENT)
    assert rank(drawn, over="model")["verdict"].values.tolist() == ["not best", "best"]
    apart = {name: drawn.isel(cell=[place]) for place, name in enumerate("ab")}
    found = rank(apart, over="model", independent=True)
    assert found["verdict"].values.tolist() == ["not best", "best"]
    one_chain = {**apart, "a": chain.isel(cell=[0])}
    found = rank(one_chain, over="model", independent=True)
    assert found["verdict"].values.tolist() == ["unreliable"] * 2


def test_ranks_that_ask_for_more_draws_say_how_many():
    """All of 60 draws leave 1 − .025^(1/61) = .059 open; 73 leave less than .05."""
    values = np.random.default_rng(1).normal([0, 5], 0.1, (1, 80, 2))
    few = rank(draws_of(values[:, :60]).isel(chain=0), over="model")
    (found,) = notices(few)
    assert (found.code, few["verdict"].values.tolist()) == ("draws-for-level", ["unreliable"] * 2)
    assert "60 draws are too few" in found.message
    assert "about 1,000 are enough" in found.message
    enough = rank(draws_of(values).isel(chain=0).assign_attrs(INDEPENDENT), over="model")
    assert (notices(enough), enough["verdict"].values.tolist()) == ([], ["not best", "best"])


def test_a_level_alone_is_no_best():
    values = np.random.default_rng(1).normal([0, 1, 2], 0.1, (4, 200, 3))
    found = rank(draws_of(values, [*"aba"], [*"AAB"]), over="model", within="task")
    assert found["withheld"].values.tolist() == ["", "", "alone"]
    assert found["verdict"].values.tolist() == ["not best", "best", "unreliable"]


def test_what_the_draws_leave_open_settles_nothing():
    # P(b > a) = Φ(1.645) = .95.
    near = np.random.default_rng(1).normal([0, 1.645], np.sqrt(0.5), (4, 1000, 2))
    assert rank(draws_of(near), over="model")["verdict"].values.tolist() == ["unreliable"] * 2
    # A level that is best in none of 40 draws: that leaves probabilities up to .09.
    never = np.random.default_rng(3).normal([0, 5, 5.1], 0.1, (2, 20, 3))
    found = rank(draws_of(never), over="model")
    assert (found["p_best"][0].item(), found["verdict"][0].item()) == (0, "unreliable")
