"""Studies as a sample of studies, against published results and quadrature."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from hmetad.base.errors import InputError
from hmetad.compare import pool_studies

# Coaching for the SAT in eight schools, and quantiles .025, .5 and .975 of the effects with a flat
# prior of the spread: Gelman et al., Bayesian Data Analysis (3rd ed.), tables 5.2 and 5.3. They are
# of 200 draws, so that an outer quantile has an error of some 2 points.
SCHOOLS = xr.DataArray(
    [28.0, 8, -3, 7, -1, 1, 18, 12], dims="study", coords={"study": [*"ABCDEFGH"]}
)
ERRORS = xr.DataArray([15.0, 10, 16, 11, 9, 11, 10, 18], dims="study")
MEDIANS = [10, 8, 7, 8, 5, 6, 10, 8]


def test_eight_schools_are_as_published():
    found = pool_studies(SCHOOLS, ERRORS, scale=50.0)
    assert found["effect"].values == pytest.approx(MEDIANS, abs=1.5)
    school = found.sel(study="A")
    assert float(school["effect_lower"]) == pytest.approx(-2, abs=3)
    assert float(school["effect_upper"]) == pytest.approx(31, abs=3)


def test_the_posterior_is_that_of_a_sum_over_mean_and_spread():
    y, s, scale = SCHOOLS.values, ERRORS.values, 8.0
    mu, tau = np.linspace(-60, 80, 1401)[:, None], np.linspace(0.01, 48, 2400)
    density = stats.halfnorm.pdf(tau, scale=scale)
    for one, error in zip(y, s, strict=True):
        density = density * stats.norm.pdf(one, mu, np.hypot(error, tau))
    found = pool_studies(SCHOOLS, ERRORS, scale=scale, ci_prob=0.8)
    for name, prob in (("_lower", 0.1), ("", 0.5), ("_upper", 0.9)):
        # Steps of the sum are .1 in the mean and .02 in the spread.
        below = density[mu[:, 0] < float(found["mean" + name])].sum() / density.sum()
        assert below == pytest.approx(prob, abs=4e-3)
        below = density[:, tau < float(found["spread" + name])].sum() / density.sum()
        assert below == pytest.approx(prob, abs=2e-3)


def test_a_new_study_falls_into_its_interval_as_often_as_it_says():
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        tau = abs(generator.normal(0, 0.5))
        truth = generator.normal(-0.3, tau, 16)
        se = generator.uniform(0.05, 0.3, 15)
        y = xr.DataArray(generator.normal(truth[:15], se), dims="study")
        found = pool_studies(y, xr.DataArray(se, dims="study"), scale=0.5)
        held += float(found["new_lower"]) < truth[15] < float(found["new_upper"])
    # 95 % of 100 within three standard errors.
    assert held / 100 == pytest.approx(0.95, abs=0.065)


def test_one_study_and_missing_errors_are_refused():
    with pytest.raises(InputError, match="two studies or more"):
        pool_studies(SCHOOLS[:1], ERRORS[:1])
    with pytest.raises(InputError, match="Leave out studies without"):
        pool_studies(SCHOOLS, ERRORS * np.nan)
    with pytest.raises(InputError, match="se"):
        pool_studies(SCHOOLS, ERRORS * 0)
