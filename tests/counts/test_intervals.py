"""Resampling intervals agree with SciPy's, and cover what they should."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from hmetad import (
    InputError,
    count_correct,
    fit_mle,
    from_nr,
    measure,
    notices,
    resample,
    resample_interval,
    sdt,
    simulate_counts,
)
from hmetad.counts.tables import type2_counts
from hmetad.information import meta_information

SMALL = [14, 6], [5, 15]


def accuracy(tables):
    right = sum(tables.sel(stimulus=s, response=s) for s in ("S1", "S2")).sum("rating")
    return (right / tables.sum(["stimulus", "response", "rating"])).rename("accuracy")


def odds(tables):
    """A statistic whose error grows with it: the odds of a right answer, cubed."""
    share = accuracy(tables)
    return ((share / (1 - share)) ** 3).rename("odds")


def trials_of(table):
    """Whether each trial was right."""
    right = int(accuracy(table).item() * table.sum().item() + 0.5)
    return np.repeat([1.0, 0.0], [right, int(table.sum()) - right])


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_intervals_are_those_of_scipy(method):
    table = from_nr([900, 300], [250, 750])

    def statistic(x, axis):
        share = x.mean(axis)
        return (share / (1 - share)) ** 3

    theirs = stats.bootstrap(
        (trials_of(table),), statistic, n_resamples=20_000, method=method, rng=1
    ).confidence_interval
    ours = resample_interval(table, odds, n=20_000, method=method, seed=1)["odds"].isel(cell=0)
    # 1.5 % is the Monte Carlo error of both limits, and one step of the statistic.
    np.testing.assert_allclose(ours.sel(summary=["lower", "upper"]), list(theirs), rtol=0.015)
    assert ours.sel(summary="estimate").item() == pytest.approx(odds(table).item())


def test_limits_are_quantiles_of_the_draws_that_are_defined():
    table = from_nr([9, 1], [3, 7])
    draws = resample(table, sdt, n=300, seed=3)["dprime"].to_numpy()[0]
    assert np.isnan(draws).any()
    ours = resample_interval(table, sdt, n=300, seed=3)
    lower = ours["dprime"].isel(cell=0).sel(summary="lower").item()
    assert lower == pytest.approx(np.nanquantile(draws, 0.025))
    assert "undefined-draws" in [notice.code for notice in notices(ours)]
    full = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    shaped = resample_interval(full, fit_mle, n=50, seed=3)
    assert shaped["criteria"].dims == ("cell", "response", "criterion", "summary")
    assert shaped["converged"].dims == ("cell",)


def test_infinite_draws_do_not_count():
    def log_false_alarms(tables):
        alarms = tables.sel(stimulus="S1", response="S2", drop=True).sum("rating")
        with np.errstate(divide="ignore"):
            return np.log(alarms).to_dataset(name="log_alarms")

    # In a third of the draws of thirty trials there is no false alarm, and its logarithm is −∞.
    table = from_nr([29, 1], [1, 29])
    draws = resample(table, log_false_alarms, n=300, seed=1)["log_alarms"].to_numpy()[0]
    assert np.isneginf(draws).any()
    found = resample_interval(table, log_false_alarms, n=300, seed=1)
    lower, upper = found["log_alarms"].isel(cell=0).sel(summary=["lower", "upper"]).to_numpy()
    finite = draws[np.isfinite(draws)]
    assert finite.min() <= lower < upper <= finite.max()


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(7)
    truth = 0.8
    right = rng.binomial(60, truth, (2, 400))
    table = from_nr(
        np.stack([right[0], 60 - right[0]], axis=1), np.stack([60 - right[1], right[1]], axis=1)
    )
    ours = resample_interval(table, accuracy, n=1000, seed=1)["accuracy"]
    inside = (ours.sel(summary="lower") <= truth) & (truth <= ours.sel(summary="upper"))
    # Binomial error of 400 tables is 1.1 %.
    assert inside.mean().item() == pytest.approx(0.95, abs=0.035)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("method", {"method": "studentised"}),
        ("method", {"method": "basic", "kind": "dirichlet"}),
        ("ci_prob", {"ci_prob": 95}),
        ("statistic", {"statistic": "fit_mle"}),
    ],
)
def test_wrong_arguments_are_refused(argument, options):
    with pytest.raises(InputError) as caught:
        resample_interval(from_nr(*SMALL), **{"statistic": sdt, **options})
    assert caught.value.argument == argument


def test_basic_interval_is_the_percentile_one_reflected_at_the_estimate():
    table = from_nr([90, 30], [25, 75])
    plain, basic = (
        resample_interval(table, sdt, n=500, method=method, seed=1)["dprime"].isel(cell=0)
        for method in ("percentile", "basic")
    )
    estimate = plain.sel(summary="estimate").item()
    for side, other in (("lower", "upper"), ("upper", "lower")):
        expected = 2 * estimate - plain.sel(summary=other).item()
        assert basic.sel(summary=side).item() == pytest.approx(expected, abs=1e-12)


def test_draws_beside_a_biased_estimate_are_noticed_and_reflection_covers():
    truth = meta_information(simulate_counts([1.5], 0.0, 0.6, trials=50_000_000, seed=1))
    counts = simulate_counts(np.full(150, 1.5), 0.0, 0.6, trials=400, seed=2)
    covered = {}
    for method in ("percentile", "basic"):
        found = resample_interval(counts, meta_information, n=300, method=method, seed=1)
        said = [notice for notice in notices(found) if notice.code == "biased-draws"]
        assert len(said) == (method == "percentile")
        assert all("meta_i, " in notice.message for notice in said)
        rmi = found["rmi"]
        inside = (rmi.sel(summary="lower") <= truth["rmi"].item()) & (
            rmi.sel(summary="upper") >= truth["rmi"].item()
        )
        covered[method] = inside.mean().item()
    # Binomial error of 150 tables is 1.8 % at .95, 3.7 % at .7.
    assert covered["basic"] > 0.9
    assert covered["percentile"] < 0.85


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_there_is_no_interval_beside_an_undefined_estimate(method):
    """With a rating that is mostly wrong RMI is undefined; in some draws it is not."""
    table = type2_counts(from_nr([[30, 10, 10, 10]], [[10, 10, 11, 30]]))
    table = table.copy(data=[[[21, 20], [20, 80]]])
    found = resample_interval(table, meta_information, n=200, method=method, seed=1)
    assert np.isnan(found["rmi"]).all()
    assert np.isfinite(found["meta_i"]).all()


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_an_accuracy_of_one_has_the_limit_of_clopper_and_pearson(method):
    found = resample_interval(
        from_nr([8, 12, 0, 0], [0, 0, 15, 5]), accuracy, n=100, method=method, seed=1
    )
    lower = stats.binomtest(40, 40).proportion_ci(0.95, "exact").low
    np.testing.assert_allclose(found["accuracy"], [[1, lower, 1]], rtol=1e-12)
    assert "no-spread" in {n.code for n in notices(found)}
    # What cannot vary has an interval of width zero, and no notice.
    number = resample_interval(
        from_nr([30, 20, 5, 5], [4, 6, 20, 30]),
        lambda t: t.sum(["stimulus", "response", "rating"]).astype(float).rename("trials"),
        n=50,
        method=method,
        seed=1,
    )
    assert number["trials"].values.tolist() == [[120, 120, 120]]
    assert not {"no-spread", "biased-draws"} & {n.code for n in notices(number)}


def test_measures_at_the_end_of_their_range_have_no_interval_of_width_zero():
    # Five errors of the lowest rating, and right responses of higher ones.
    judged = xr.DataArray([[5, 0, 0], [0, 40, 20]], dims=["correct", "rating"])
    judged = judged.assign_coords(correct=[0, 1], rating=[1, 2, 3])
    found = resample_interval(judged, measure, n=200, seed=1)
    for name in ("auroc2", "gamma_pairs", "gamma_trapezoid", "v_statistic", "confidence_wrong"):
        estimate, lower, upper = found[name].values
        assert lower <= estimate <= upper
        assert upper - lower > 0.1, name


def test_units_without_spread_count_in_the_place_of_trials():
    table = count_correct(
        pd.DataFrame({"item": np.repeat(range(15), 4), "correct": 1, "confidence": [1, 2] * 30}),
        by="item",
        ratings=2,
    )
    found = resample_interval(table, measure, n=50, cluster="item", seed=1)
    lower = found["share_right"].sel(summary="lower").item()
    assert lower == pytest.approx(0.025 ** (1 / 15), rel=1e-12)
