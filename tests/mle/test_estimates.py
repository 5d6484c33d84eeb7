"""What estimates of any table share: its dims, its labels, what it may hold."""

import numpy as np
import pytest
import xarray as xr

from hmetad import InputError, fit_dmc, fit_mle, from_nr, sdt, simulate_counts, uvsdt

A = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
B = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
CARD = pytest.param(lambda counts: fit_mle(counts, "individual"), id="card")
each = pytest.mark.parametrize("estimate", [fit_mle, fit_dmc, uvsdt])


@each
def test_one_cell_is_estimated_as_among_others(estimate):
    counts = simulate_counts([1.5, 1.2], trials=400, coords={"model": ["a", "b"]}, seed=1)
    alone, among = estimate(counts.sel(cell="a")), estimate(counts).sel(cell="a")
    for name in among.data_vars:
        assert alone[name].dims == among[name].dims
        np.testing.assert_array_equal(alone[name], among[name])


@pytest.mark.parametrize(
    ("estimate", "most"), [(fit_mle, 3), (fit_dmc, 2)], ids=["fit_mle", "fit_dmc"]
)
def test_cells_of_many_do_not_know_of_each_other(estimate, most):
    counts = simulate_counts(np.linspace(0.3, most, 2500), trials=200, seed=3).astype(float)
    counts[7] = 0
    together = estimate(counts, correction="cell")["meta_d"]
    assert np.isnan(together[7])
    for i in (0, 1999, 2000, 2499):
        alone = estimate(counts.isel(cell=[i]), correction="cell")["meta_d"]
        assert together[i].item() == alone.item()


@each
def test_further_dims_and_coordinates_are_kept(estimate):
    draws = xr.concat([A, B + 0.25], "draw").assign_coords(draw=[7, 9])
    fitted = estimate(draws.transpose("rating", "draw", "stimulus", "cell", "response"))
    assert fitted["dprime"].dims == ("draw", "cell")
    assert fitted["criteria"].dims == ("draw", "cell", "response", "criterion")
    assert fitted["draw"].values.tolist() == [7, 9]
    for name in {"meta_d", "m_ratio", "loss", "s", "a_z"} & set(fitted):
        alone = [estimate(x)[name].item() for x in (A, B + 0.25)]
        np.testing.assert_array_equal(fitted[name].values[:, 0], alone)


@pytest.mark.parametrize("estimate", [fit_mle, CARD, uvsdt, fit_dmc])
def test_stimuli_and_responses_without_labels_are_s1_and_s2(estimate):
    expected = estimate(B).drop_vars("cell", errors="ignore")
    found = estimate(B.drop_vars(["stimulus", "response"])).drop_vars("cell", errors="ignore")
    xr.testing.assert_equal(expected, found)
    assert found["response"].values.tolist() == ["S1", "S2"]


TYPE_2 = xr.DataArray(np.ones((1, 2, 4), int), dims=("cell", "correct", "rating"))
EVERY, OF_RATINGS = (fit_mle, fit_dmc, uvsdt, sdt), (fit_mle, fit_dmc, uvsdt)


@pytest.mark.parametrize(
    ("estimates", "counts", "says"),
    [
        (EVERY, A.where(A != 5, -1), ".*Expected counts of 0 or more.*, got -1"),
        (EVERY, A.where(A != 5, np.nan), ".*Expected counts of 0 or more.*, got nan"),
        (EVERY, TYPE_2, "stimulus|give options="),
        (OF_RATINGS, A.sum("rating", keepdims=True), "one rating"),
    ],
    ids=["below 0", "missing", "type 2", "one rating"],
)
def test_what_is_no_table_of_ratings_is_refused(estimates, counts, says):
    for estimate in estimates:
        with pytest.raises(InputError, match=says):
            estimate(counts)


@pytest.mark.parametrize(
    ("estimate", "options", "message"),
    [
        (fit_mle, {"meta_criterion": "both"}, "meta_criterion"),
        *[(fit_mle, {"s": x}, "s: .*got") for x in (0, "wide", None, [1.0, 2.0], True)],
        (fit_mle, {"response_conditional": "yes"}, "response_conditional"),
        (fit_dmc, {"bounded": "yes"}, "bounded: .*got 'yes'"),
        (fit_dmc, {"correction": "some"}, "correction"),
    ],
)
def test_wrong_arguments_are_named(estimate, options, message):
    with pytest.raises(InputError, match=message):
        estimate(A, **options)
