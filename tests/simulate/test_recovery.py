"""Bias and error are those of the estimates, design by design."""

import numpy as np
import pytest
import xarray as xr

from hmetad import InputError, fit_mle, sdt, simulate_counts
from hmetad.simulate import recover


def test_summaries_are_those_of_numpy():
    found = recover({"ML": fit_mle}, dprime=[1, 2], trials=[100, 300], n=50, seed=1)
    d, trials = np.repeat([1.0, 1.0, 2.0, 2.0], 50), np.repeat([100, 300, 100, 300], 50)
    counts = simulate_counts(d, 0.0, 0.8, trials=trials, seed=1)
    errors = (fit_mle(counts)["m_ratio"].to_numpy() - 0.8).reshape(2, 2, 50)
    here = found.sel(estimator="ML")
    np.testing.assert_allclose(here["bias"], np.nanmean(errors, axis=-1))
    np.testing.assert_allclose(here["median_bias"], np.nanmedian(errors, axis=-1))
    np.testing.assert_allclose(here["rmse"], np.sqrt(np.nanmean(errors**2, axis=-1)))
    np.testing.assert_allclose(here["undefined"], np.isnan(errors).mean(axis=-1))
    number = np.isfinite(errors).sum(axis=-1)
    se = np.nanstd(errors, axis=-1, ddof=1) / np.sqrt(number)
    np.testing.assert_allclose(here["bias_se"], se)


def test_error_falls_with_trials_and_estimators_see_the_same_tables():
    both = {"first": fit_mle, "second": fit_mle}
    found = recover(both, dprime=[1.5], trials=[200, 3200], n=200, seed=1)
    rmse = found["rmse"].sel(estimator="first", true_dprime=1.5)
    # Sixteen times the trials: a quarter of the error; 15 % is three errors of this ratio.
    assert (rmse.sel(trials=200) / rmse.sel(trials=3200)).item() == pytest.approx(4, rel=0.2)
    first, second = (found.sel(estimator=x, drop=True) for x in both)
    assert first.equals(second)


def always(value):
    """Estimator that finds the same M in every cell."""
    return lambda counts: xr.Dataset({"m_ratio": xr.full_like(counts["cell"], value, dtype=float)})


@pytest.mark.parametrize("value", [0.9, 1.0, 1.1])
def test_estimates_that_are_all_the_same_have_a_bias_without_error(value):
    # As where all cells reach a bound; the difference of two squares may round to below 0.
    found = recover({"same": always(value)}, dprime=[1.0], trials=[50], n=30, seed=1)
    assert found["bias"].item() == pytest.approx(value - 0.8)
    assert found["bias_se"].item() == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("estimator", "options", "says"),
    [
        ({"ML": fit_mle}, {"var": "mratio"}, "Did you mean 'm_ratio'"),
        ({"sdt": sdt}, {"n": 3}, "'sdt', which returns no 'm_ratio'"),
        ({"ML": fit_mle}, {"n": 0}, "n: .*got 0"),
        (
            {"ML": fit_mle},
            {"var": "noise", "likelihood": "lognormal", "meta_noise": 1},
            "meta_noise",
        ),
    ],
)
def test_wrong_arguments_are_refused(estimator, options, says):
    with pytest.raises(InputError, match=says):
        recover(estimator, dprime=[1], trials=[50], **options)


def test_parameters_of_other_likelihoods_are_recovered():
    design = {"likelihood": "lognormal", "meta_noise": 0.8, "dprime": [1.5], "trials": [400, 6400]}
    found = recover(
        {"ML": lambda counts: fit_mle(counts, "lognormal_noise")}, var="meta_noise", n=60, seed=1,
        **design,
    ).squeeze()  # fmt: skip
    few, many = found["rmse"].values
    assert many < few / 2.5
    assert abs(found["bias"].values[1]) < 4 * found["bias_se"].values[1] + 0.02
    assert found.attrs["likelihood"] == "lognormal"
