"""Resampled statistics spread as they should, and are the same wherever they are made."""

import numpy as np
import pytest
import xarray as xr
from dask.distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

from hmetad import InputError, fit_mle, from_nr, notices, resample, sdt

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


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(0, 2**32))
def test_a_cell_draws_the_same_whatever_cells_follow_it(cells, seed):
    one = from_nr(*A)
    several = from_nr([A[0]] * cells, [A[1]] * cells)
    first = resample(one, sdt, n=7, seed=seed)["dprime"].to_numpy()[0]
    np.testing.assert_array_equal(resample(several, sdt, n=7, seed=seed)["dprime"][0], first)


def test_cells_draw_apart():
    twins = from_nr([A[0]] * 2, [A[1]] * 2)
    first, second = resample(twins, sdt, n=50, seed=1)["dprime"].to_numpy()
    assert not np.array_equal(first, second)


def test_slices_of_draws_and_cells_change_nothing(counts, monkeypatch):
    whole = resample(counts, fit_mle, n=60, seed=4)
    monkeypatch.setattr("hmetad.counts.resample.AT_ONCE", 25)
    xr.testing.assert_identical(resample(counts, fit_mle, n=60, seed=4), whole)


def test_a_seed_that_was_made_up_is_recorded(counts):
    first = resample(counts, sdt, n=5)
    again = resample(counts, sdt, n=5, seed=int(first.attrs["seed"]))
    xr.testing.assert_equal(first, again)
    assert not first.equals(resample(counts, sdt, n=5))


def test_any_function_of_a_table_can_be_resampled(counts):
    def accuracy(tables):
        right = sum(tables.sel(stimulus=s, response=s) for s in ("S1", "S2")).sum("rating")
        return right / tables.sum(["stimulus", "response", "rating"])

    drawn = resample(counts, accuracy, n=8, seed=1)["counts"]
    assert drawn.dims == ("cell", "draw")
    assert drawn["model"].to_numpy().tolist() == ["a", "b"]


def test_one_cell_without_a_cell_dim_is_resampled_too(counts):
    drawn = resample(counts.isel(cell=0), sdt, n=8, seed=1)
    assert drawn["dprime"].dims == ("draw",)


def test_type2_tables_are_resampled():
    right = xr.DataArray(
        [[[3, 9], [10, 40]]], dims=("cell", "correct", "rating"), coords={"cell": ["x"]}
    )
    drawn = resample(right, lambda t: t.sum("rating").isel(correct=1), n=9, seed=1)
    assert drawn["counts"].dims == ("cell", "draw")


def test_draws_without_an_answer_are_noticed():
    few = from_nr([8, 1], [3, 8])
    drawn = resample(few, sdt, n=400, seed=1)
    found = {notice.code: notice for notice in notices(drawn)}
    assert found["undefined-draws"].cells == ("all",)
    share = float(drawn["dprime"].isnull().mean())
    # P(no false alarm in 9 of 20 trials or the like) is some 40 %.
    assert 0.2 < share < 0.6
    assert f"{share:.1%}" in found["undefined-draws"].message


def test_undefined_draws_are_said_once_with_the_names_of_the_variables():
    few = from_nr([[8, 1], [80, 40]], [[3, 8], [30, 80]], model=["few", "many"])
    drawn = resample(few, sdt, n=400, seed=1)
    (said,) = [notice for notice in notices(drawn) if notice.code == "undefined-draws"]
    assert said.cells == ("few",)
    assert "dprime" in said.message
    assert "c_prime" in said.message
    assert "_se" not in said.message


def test_a_dask_table_gives_a_lazy_result_with_the_same_draws(counts):
    eager = resample(counts, fit_mle, n=30, seed=1)
    lazy = resample(counts.chunk(cell=1), fit_mle, n=30, seed=1)
    assert lazy["criteria"].chunks is not None
    xr.testing.assert_identical(lazy.compute(), eager)


def test_two_processes_of_a_cluster_draw_the_same(counts):
    eager = resample(counts, sdt, n=30, seed=1)
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
    }
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


def test_further_dims_are_refused(counts):
    with pytest.raises(InputError, match="further dims"):
        resample(counts.expand_dims("draw"), sdt, n=3)
