"""Reliability: halves of people whose truth is known."""

import numpy as np
import pytest
from scipy.stats import pearsonr

import hmetad
from hmetad import InputError, simulate_counts
from hmetad.measures import auroc2, split_half


def people(n, seed, **more):
    rng = np.random.default_rng(seed)
    given = {"dprime": rng.normal(1.5, 0.4, n), "c": rng.normal(0, 0.3, n), **more}
    return {**given, "coords": {"subject": range(n)}}


def type1_and_2(table):
    return hmetad.sdt(table, correction="loglinear")[["dprime", "c"]].assign(auroc2=auroc2(table))


def test_the_reliability_of_a_test_is_its_correlation_with_another():
    # Truth: two tests of 200 trials of the same 20,000 people.
    tests = [type1_and_2(simulate_counts(**people(20_000, 5), trials=200, seed=s)) for s in (1, 2)]
    rows = []
    for seed in range(12):
        counts = simulate_counts(**people(100, 10 + seed), trials=200, seed=seed)
        found = split_half(counts, type1_and_2, n=20, seed=seed).sel(group="all")
        rows.append(found["reliability"].values)
        assert (found["reliability_lower"] < found["reliability"]).all()
        assert (found["reliability"] < found["reliability_upper"]).all()
        assert (found["people"] == 100).all()
    error = np.std(rows, axis=0) / np.sqrt(len(rows))
    for place, name in enumerate(["dprime", "c", "auroc2"]):
        truth = pearsonr(tests[0][name], tests[1][name])[0]
        assert abs(np.mean(rows, axis=0)[place] - truth) < 4 * error[place] + 0.01


def test_groups_are_correlated_by_themselves_and_covariates_are_no_groups():
    rng = np.random.default_rng(3)
    d = np.concatenate([rng.normal(1.5, 0.6, 40), np.full(40, 1.5)])
    coords = {"subject": [*range(40)] * 2, "task": ["x"] * 40 + ["y"] * 40}
    age = rng.uniform(20, 60, 80)
    counts = simulate_counts(d, trials=300, coords=coords, covariates={"age": age}, seed=1)
    found = split_half(counts, hmetad.sdt, n=20, seed=1)["reliability"].sel(quantity="dprime")
    assert found["group"].values.tolist() == ["x", "y"]
    assert found.sel(group="x") > 0.8
    # People who are all alike have no reliability, however good the test.
    assert abs(found.sel(group="y")) < 0.5


def test_halves_share_no_trial_and_keep_the_stimuli():
    counts = simulate_counts([1.0], trials=101, coords={"subject": [1]}, seed=1)
    seen = []

    def look(table):
        seen.append(table.transpose("cell", "draw", ...).values)
        return table.sum(["stimulus", "response", "rating"]).astype(float).rename("trials")

    split_half(counts, look, n=50, seed=1)
    first, second = seen
    assert (first + second == counts.values[:, None]).all()
    sides = first.sum(axis=(-2, -1))
    assert {*sides[..., 0].ravel()} == {25, 26}
    assert {*sides[..., 1].ravel()} == {25}


def test_a_seed_gives_the_same_answer_and_few_people_none():
    counts = simulate_counts(**people(10, 1), trials=100, seed=1)
    same = [split_half(counts, hmetad.sdt, n=5, seed=4) for _ in range(2)]
    assert same[0].identical(same[1])
    few = split_half(counts.isel(cell=slice(3)), hmetad.sdt, n=5, seed=4)
    assert few["reliability"].isnull().all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subject": "person"}, "subject: .*got 'person'"),
        ({"statistic": lambda t: t.sum("draw")}, "keeps its dims"),
        ({"counts": "half"}, "no whole numbers"),
    ],
)
def test_what_cannot_be_split_is_refused(options, said):
    counts = simulate_counts(**people(5, 1), trials=100, seed=1)
    if options.get("counts") == "half":
        options = {"counts": counts + 0.5}
    with pytest.raises(InputError, match=said):
        split_half(**{"counts": counts, "statistic": hmetad.sdt, "n": 5, **options})


def test_as_many_trials_as_are_said_to_be_needed_are_as_reliable_as_the_goal():
    d = np.random.default_rng(5).normal(1.5, 0.3, 600)
    coords = {"subject": range(600)}
    few = simulate_counts(d, trials=100, coords=coords, seed=1)
    needed = split_half(few, hmetad.sdt, n=10, goal=0.8, seed=1).sel(group="all", quantity="dprime")
    trials = round(needed["trials_needed"].item())
    assert trials > 200
    many = simulate_counts(d, trials=trials, coords=coords, seed=2)
    found = split_half(many, hmetad.sdt, n=10, seed=1).sel(group="all", quantity="dprime")
    # Three standard errors of a reliability of .8 in 600 people, twice.
    assert found["reliability"].item() == pytest.approx(0.8, abs=0.06)


def test_a_reliability_that_is_not_above_0_is_noticed_and_a_clear_one_is_not():
    for d, is_named in (([1.5] * 30, True), (np.linspace(0.5, 3, 30), False)):
        counts = simulate_counts(d, trials=400, coords={"subject": range(30)}, seed=1)
        found = split_half(counts, hmetad.sdt, n=20, seed=1)
        lower = float(found["reliability_lower"].sel(group="all", quantity="dprime"))
        assert (lower <= 0) == is_named
        said = [one for one in hmetad.notices(found) if one.code == "negative-reliability"]
        assert any("dprime" in one.message for one in said) == is_named
        assert all("no evidence of stable differences" in one.message for one in said)
