"""Resampled statistics spread as they should, and are the same wherever they are made.

Tables that are drawn have the moments and margins that their laws say. Units are drawn whole:
shared ones for all cells at once, separate ones within their cell.
"""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from dask.distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hmetad import (
    InputError,
    count_correct,
    count_trials,
    fit_mle,
    from_nr,
    notices,
    resample,
    sdt,
)
from hmetad.counts.resample import cell_generator, clusters_of, draw_tables
from hmetad.measures import auroc2

A = [52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45]
B = [36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39]


@pytest.fixture
def counts():
    return from_nr([A[0], B[0]], [A[1], B[1]], model=["a", "b"])


def test_permuted_confidence_knows_nothing(counts):
    drawn = resample(counts, fit_mle, kind="permutation", n=4000, seed=2)["meta_d"]
    error = drawn.std("draw") / np.sqrt(4000)
    assert bool((abs(drawn.mean("draw")) < 5 * error).all())
    assert bool((fit_mle(counts)["meta_d"] > drawn.quantile(0.999, "draw")).all())


def test_spread_of_draws_is_the_standard_error_of_dprime(counts):
    drawn = resample(counts, sdt, n=10_000, seed=1)
    error = sdt(counts)
    for name in ("dprime", "c"):
        # 5 %: the delta method's own error at some 300 trials, and 0.7 % of Monte Carlo.
        np.testing.assert_allclose(drawn[name].std("draw"), error[f"{name}_se"], rtol=0.05)


@settings(max_examples=10)
@given(st.integers(1, 5), st.integers(0, 2**32))
def test_a_cell_draws_the_same_whatever_cells_follow_it(cells, seed):
    one = from_nr(*A)
    several = from_nr([A[0]] * cells, [A[1]] * cells)
    first = resample(one, sdt, n=7, seed=seed)["dprime"].to_numpy()[0]
    drawn = resample(several, sdt, n=7, seed=seed)["dprime"]
    np.testing.assert_array_equal(drawn[0], first)
    assert cells == 1 or not np.array_equal(drawn[1], first)


def test_slices_of_draws_and_cells_change_nothing(counts, by_item, monkeypatch):
    whole = resample(counts, fit_mle, n=60, seed=4)
    of_items = resample(by_item, sdt, n=50, cluster="item", seed=3)
    monkeypatch.setattr("hmetad.counts.resample.AT_ONCE", 8)
    xr.testing.assert_identical(resample(counts, fit_mle, n=60, seed=4), whole)
    assert resample(by_item, sdt, n=50, cluster="item", seed=3).identical(of_items)


def test_a_seed_that_was_made_up_is_recorded(counts):
    first = resample(counts, sdt, n=5)
    again = resample(counts, sdt, n=5, seed=int(first.attrs["seed"]))
    xr.testing.assert_equal(first, again)
    assert not first.equals(resample(counts, sdt, n=5))


def test_undefined_draws_are_said_once_with_the_names_of_the_variables():
    few = from_nr([[8, 1], [80, 40]], [[3, 8], [30, 80]], model=["few", "many"])
    drawn = resample(few, sdt, n=400, seed=1)
    # P(no false alarm in 9 of 20 trials or the like) is some 40 %.
    share = float(drawn["dprime"].sel(cell="few").isnull().mean())
    assert 0.2 < share < 0.6
    (said,) = [notice for notice in notices(drawn) if notice.code == "undefined-draws"]
    assert said.cells == ("few",)
    assert f"dprime ({share:.1%})" in said.message
    assert "c_prime" in said.message
    assert "_se" not in said.message


def test_a_dask_table_gives_a_lazy_result_with_the_same_draws(counts):
    eager = resample(counts, fit_mle, n=30, seed=1)
    lazy = resample(counts.chunk(cell=1), fit_mle, n=30, seed=1)
    assert lazy["criteria"].chunks is not None
    xr.testing.assert_identical(lazy.compute(), eager)


@pytest.mark.integration
def test_two_processes_of_a_cluster_draw_the_same(counts):
    eager = resample(counts, sdt, n=30, seed=1)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        lazy = resample(counts.chunk(cell=1), sdt, n=30, seed=1)
        xr.testing.assert_identical(lazy.compute(), eager)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("n", {"n": 0}),
        ("n", {"n": 2.5}),
        ("kind", {"kind": "jackknife"}),
        ("hold", {"hold": "response"}),
        ("hold", {"hold": "stimulus", "kind": "permutation"}),
        ("cluster", {"cluster": "item"}),
        ("kind", {"cluster": "model", "kind": "permutation"}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": "one"}),
    ],
)
def test_wrong_arguments_are_refused(counts, argument, options):
    with pytest.raises(InputError) as caught:
        resample(counts, sdt, **options)
    assert caught.value.argument == argument


def test_counts_that_are_not_whole_are_refused_for_trials_only(counts):
    with pytest.raises(InputError, match="not whole"):
        resample(counts + 0.5, sdt)
    assert resample(counts + 0.5, sdt, kind="dirichlet", n=3, seed=1).sizes["draw"] == 3


@pytest.mark.parametrize("kind", ["bootstrap", "dirichlet", "permutation"])
def test_what_nothing_can_be_drawn_from_is_refused(counts, kind):
    for table, message in (
        (counts.isel(cell=[]), "a table without cells"),
        (-counts, "counts of 0 or more"),
        (counts.where(counts > 2), "counts of 0 or more"),
        (counts.astype(object), "values of type object"),
    ):
        with pytest.raises(InputError, match=message):
            resample(table, sdt, n=3, kind=kind)


def test_a_statistic_that_drops_a_dim_is_refused(counts):
    with pytest.raises(InputError, match="keep dims cell and draw"):
        resample(counts, lambda t: sdt(t)[["dprime"]].mean("cell"), n=3)
    with pytest.raises(InputError, match="a Dataset"):
        resample(counts, lambda _: 1.0, n=3)
    with pytest.raises(InputError, match="further dims"):
        resample(counts.expand_dims("draw"), sdt, n=3)


def table(**sizes):
    shape = sizes["stimulus"], sizes["response"], sizes["rating"]
    return np.arange(1, 1 + np.prod(shape)).reshape(shape)


def test_bootstrap_draws_have_multinomial_moments():
    values = table(stimulus=2, response=2, rating=3)
    drawn = draw_tables(values, 40_000, cell_generator(3, 0))
    total, p = values.sum(), values / values.sum()
    # 4 standard errors of a mean, and 5 % of a variance: three and more of its errors.
    assert np.all(abs(drawn.mean(0) - values) < 4 * np.sqrt(total * p * (1 - p) / 40_000))
    np.testing.assert_allclose(drawn.var(0), total * p * (1 - p), rtol=0.05)
    assert np.all(drawn.sum((1, 2, 3)) == total)
    held = draw_tables(values, 50, cell_generator(3, 0), hold="stimulus")
    np.testing.assert_array_equal(held.sum((2, 3)), np.tile(values.sum((1, 2)), (50, 1)))


def test_dirichlet_draws_have_the_moments_of_the_posterior():
    values = np.array([[3, 0, 7], [20, 4, 66]])
    drawn = draw_tables(values, 40_000, cell_generator(5, 0), kind="dirichlet") / 100
    law = stats.dirichlet(values[values > 0])
    np.testing.assert_allclose(drawn.mean(0)[values > 0], law.mean(), rtol=0.02)
    np.testing.assert_allclose(drawn.var(0)[values > 0], law.var(), rtol=0.06)
    assert np.all(drawn[:, 0, 1] == 0)


def test_permutations_keep_what_each_response_did():
    values = table(stimulus=2, response=2, rating=3)
    drawn = draw_tables(values, 500, cell_generator(3, 0), kind="permutation")
    assert np.all(drawn.sum(-1) == values.sum(-1))
    assert np.all(drawn.sum(1) == values.sum(0))
    # Mean of a hypergeometric law, within 5 of its standard errors.
    mean = values.sum(-1, keepdims=True) * values.sum(0) / values.sum((0, 2))[:, None]
    assert np.all(abs(drawn.mean(0) - mean) < 5 * np.sqrt(mean / 500))
    type2 = np.array([[3, 2, 7], [20, 4, 66]])
    drawn = draw_tables(type2, 20, cell_generator(3, 0), kind="permutation")
    assert np.all(drawn.sum(2) == type2.sum(1))
    assert np.all(drawn.sum(1) == type2.sum(0))


def trials(items, models=("a", "b"), each=6, seed=0):
    """Two models answer the same items, in which they share right and wrong."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        is_right = rng.random() < 0.7
        for model in models:
            for _ in range(each):
                stimulus = int(rng.integers(2))
                rows.append((model, item, stimulus, stimulus if is_right else 1 - stimulus))
    frame = pd.DataFrame(rows, columns=["model", "item", "stimulus", "response"])
    return frame.assign(confidence=rng.integers(1, 4, len(frame)))


@pytest.fixture(scope="module")
def by_item():
    return count_trials(trials(40), by=["model", "item"], ratings=3)


def accuracy(tables):
    right = sum(tables.sel(stimulus=s, response=s) for s in ("S1", "S2")).sum("rating")
    return (right / tables.sum(["stimulus", "response", "rating"])).rename("accuracy")


def test_pooled_table_is_that_of_the_trials_without_the_unit(by_item):
    pooled = clusters_of(by_item, "item").pooled
    direct = count_trials(trials(40), by="model", ratings=3)
    np.testing.assert_array_equal(pooled, direct)
    assert pooled["cell"].to_numpy().tolist() == ["a", "b"]
    assert "item" not in pooled.coords


def test_items_that_models_share_are_drawn_for_both_at_once(by_item):
    drawn = resample(by_item, accuracy, n=2000, cluster="item", seed=1)["accuracy"]
    # Right and wrong belong to the item here, and every model has it equally often.
    np.testing.assert_allclose(drawn[0], drawn[1], atol=1e-12)


def test_spread_over_items_is_that_of_items_not_of_trials(by_item):
    spread = resample(by_item, accuracy, n=4000, cluster="item", seed=1)["accuracy"].std("draw")
    assert resample(by_item.isel(cell=0), accuracy, n=8, seed=1)["accuracy"].dims == ("draw",)
    share = accuracy(clusters_of(by_item, "item").pooled)
    # A binomial of the 40 items; 5 % for the Monte Carlo error of 4000 draws.
    np.testing.assert_allclose(spread, np.sqrt(share * (1 - share) / 40), rtol=0.05)
    by_model = count_trials(trials(40), by="model", ratings=3)
    by_trial = resample(by_model, accuracy, n=4000, seed=1)["accuracy"].std("draw")
    assert bool((spread > 2 * by_trial).all())


def test_subjects_of_separate_groups_are_drawn_within_their_group():
    frame = trials(12).assign(group=lambda t: np.where(t["item"] < 5, "old", "young"))
    table = count_trials(frame, by=["group", "item", "model"], ratings=3)
    clusters = clusters_of(table, "item")
    assert sorted(len(part.counts) for part in clusters.parts) == [5, 7]
    dims = ["stimulus", "response", "rating"]
    number = resample(table, lambda t: t.sum(dims).rename("n"), n=30, cluster="item", seed=1)["n"]
    # Every item has 6 trials a model, so that the number of items drawn shows in the total.
    assert bool((number == clusters.pooled.sum(dims)).all())


def test_bayesian_bootstrap_weights_units(by_item):
    drawn = resample(by_item, accuracy, n=4000, kind="dirichlet", cluster="item", seed=1)
    share = accuracy(clusters_of(by_item, "item").pooled)
    right = round(40 * share.item(0))
    law = stats.beta(right, 40 - right)
    np.testing.assert_allclose(drawn["accuracy"].mean("draw"), law.mean(), rtol=0.01)
    np.testing.assert_allclose(drawn["accuracy"].std("draw"), law.std(), rtol=0.05)


def test_notices_of_single_units_do_not_speak_of_their_sum():
    people = trials(40).rename(columns={"item": "subject"})
    table = count_trials(people, by=["model", "subject"], ratings=3)
    drawn = resample(table, accuracy, n=5, cluster="subject", seed=1)
    assert "few-trials" in table.attrs["notices"]
    assert "few-trials" not in drawn.attrs.get("notices", "")


def test_a_pooled_type2_table_is_told_of_as_one_that_was_counted_so():
    judged = trials(20, each=2).assign(correct=lambda t: t["stimulus"] == t["response"])
    pooled = clusters_of(count_correct(judged, by=["model", "item"], ratings=3), "item").pooled
    expected = notices(count_correct(judged, by="model", ratings=3))
    assert [(notice.code, notice.cells) for notice in expected] == [("few-trials", ("a", "b"))]
    assert notices(pooled) == expected


def test_few_units_are_noticed(by_item):
    few = by_item.isel(cell=by_item["item"].to_numpy() < 4)
    assert "few-units" in resample(few, accuracy, n=5, cluster="item", seed=1).attrs["notices"]
    many = resample(by_item, accuracy, n=5, cluster="item", seed=1)
    assert "few-units" not in many.attrs.get("notices", "")


def test_unknown_and_single_units_are_refused(by_item):
    with pytest.raises(InputError, match="Did you mean 'item'"):
        resample(by_item, sdt, cluster="itme")
    one = by_item.isel(cell=by_item["item"].to_numpy() == 3)
    with pytest.raises(InputError, match="at least two units"):
        resample(one, sdt, cluster="item")


@pytest.mark.parametrize(("shared", "severity"), [(0, None), (2, "warning"), (4, "info")])
def test_people_of_several_groups_are_reported_when_they_are_resampled(shared, severity):
    ids = [f"s{i}" for i in range(4)]
    people = [*ids, *ids[:shared], *(f"t{i}" for i in range(4 - shared))]
    numbers = [[30, 20, 10, 5]] * 8, [[5, 10, 20, 30]] * 8
    table = from_nr(*numbers, subject=people, group=["a"] * 4 + ["b"] * 4)
    drawn = resample(table, auroc2, n=5, cluster="subject", seed=1)
    said = [one for one in notices(drawn) if one.code == "same-people"]
    assert [one.severity for one in said] == [severity] * (shared > 0)
    assert all("several levels of group" in one.message for one in said)
