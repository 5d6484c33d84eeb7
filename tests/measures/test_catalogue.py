"""Everything that applies to a table is in one Dataset, as each function gives it alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hmetad import (
    InputError,
    count_correct,
    count_trials,
    from_nr,
    measure,
    notices,
    resample_interval,
    sdt,
)
from hmetad.base.results import find_result, results
from hmetad.counts import type2_counts
from hmetad.information import meta_information
from hmetad.measures import auroc2, catalogue, gamma, phi

NEEDS_STIMULUS = {"dprime", "c", "hit_rate", "auroc2_by_response", "info", "meta_i1r"}


@pytest.fixture
def counts():
    return from_nr(
        [[84, 56, 48, 12], [36, 24, 17, 20]], [[4, 56, 64, 76], [9, 2, 28, 39]], model=["a", "b"]
    )


def test_each_measure_is_that_of_its_function(counts):
    found = measure(counts, correction="loglinear")
    np.testing.assert_array_equal(found["dprime"], sdt(counts, correction="loglinear")["dprime"])
    np.testing.assert_array_equal(found["auroc2"], auroc2(counts))
    by_response = auroc2(counts, response_conditional=True)
    np.testing.assert_array_equal(found["auroc2_by_response"], by_response)
    for estimator in ("trapezoid", "pairs", "gaussian"):
        np.testing.assert_array_equal(
            found[f"gamma_{estimator}"], gamma(counts, estimator=estimator)
        )
    np.testing.assert_array_equal(found["phi"], phi(counts))
    np.testing.assert_array_equal(found["rmi"], meta_information(counts)["rmi"])
    np.testing.assert_array_equal(found["trials"], counts.sum(["stimulus", "response", "rating"]))
    assert found["model"].to_numpy().tolist() == ["a", "b"]


def test_right_and_wrong_alone_have_what_needs_no_stimulus(counts):
    found = measure(type2_counts(counts))
    assert not NEEDS_STIMULUS & set(found.data_vars)
    assert {"trials", "share_right", "auroc2", "gamma_pairs", "phi", "meta_i", "meta_i2r"} <= set(
        found.data_vars
    )
    np.testing.assert_array_equal(found["auroc2"], auroc2(counts))


def test_the_share_of_right_trials_has_one_name_and_is_not_recoded():
    # Of the trials with the highest rating more are wrong than right.
    table = from_nr([20, 20, 10, 30], [10, 30, 20, 60])
    trials = table.to_series().reset_index(name="n")
    right = np.average(trials["stimulus"] == trials["response"], weights=trials["n"])
    for given in (table, type2_counts(table)):
        assert measure(given)["share_right"].item() == pytest.approx(right, abs=1e-15)
    assert measure(table)["accuracy"].item() > right
    assert "accuracy" not in measure(type2_counts(table))


def test_two_measures_of_one_name_that_differ_are_refused(counts, monkeypatch):
    other = replace(find_result("phi"), name="auroc2")
    monkeypatch.setattr(catalogue, "results", lambda: (other, *results()))
    with pytest.raises(ValueError, match="auroc2"):
        measure(counts)


def test_notices_of_all_measures_are_gathered_once():
    extreme = from_nr([9, 1, 0, 0], [0, 0, 0, 10])
    codes = [notice.code for notice in notices(measure(extreme))]
    assert {"few-trials", "ceiling", "undefined-dprime"} <= set(codes)
    assert len(set(notices(measure(extreme)))) == len(codes)


@pytest.mark.parametrize("ratings", [1, 4])
@pytest.mark.parametrize("count", [count_trials, count_correct])
def test_cells_of_one_rating_have_one_notice_of_it(ratings, count):
    rows = {"stimulus": [0, 0, 0, 1, 1, 1] * 60, "response": [0, 0, 1, 1, 1, 0] * 60}
    trials = pd.DataFrame(rows).assign(confidence=1)
    trials["correct"] = trials["stimulus"] == trials["response"]
    said = [x for x in notices(measure(count(trials, ratings=ratings))) if x.severity != "info"]
    assert [one.code for one in said] == ["all-one-rating"]


def test_two_ratings_have_one_notice_that_no_line_fits():
    codes = [one.code for one in notices(measure(from_nr([60, 40, 40, 60], [30, 50, 70, 50])))]
    assert codes.count("undefined-zroc") == 1
    assert "undefined-gamma" not in codes


def test_further_dims_are_kept_and_debias_is_passed_on(counts):
    draws = xr.concat([counts, counts], "draw")
    assert measure(draws)["rmi"].dims == ("cell", "draw")
    assert measure(type2_counts(draws))["share_right"].dims == ("cell", "draw")
    reduced = measure(counts, debias=50, seed=1)["rmi"]
    np.testing.assert_array_equal(reduced, meta_information(counts, debias=50, seed=1)["rmi"])


def test_all_measures_can_be_resampled(counts):
    found = resample_interval(counts, measure, n=20, seed=1)
    assert found["auroc2_by_response"].dims == ("cell", "response", "summary")
    assert found["trials"].dims == ("cell",)


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError, match="counts"):
        measure(xr.DataArray([1, 2], dims="rating"))
