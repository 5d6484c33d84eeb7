"""Model comparison by trials, and what ArviZ and PyMC do with a fit."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.stats import multivariate_normal

from hmetad.bayes.fit import fit
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.loo import loo
from hmetad.bayes.model import rebuild_model
from hmetad.bayes.predictive import add_groups
from hmetad.bayes.store import load_fit
from hmetad.simulate.simulate import simulate_counts

SILENT = {"progressbar": False, "quiet": True, "random_seed": 1}
QUIET = {**SILENT, "chains": 2}
COUNTS = simulate_counts(
    [1.2, 1.8],
    [0.2, -0.1],
    [0.9, 0.6],
    s=[0.6, 0.6],
    trials=1500,
    coords={"who": ["a", "b"]},
    seed=3,
)


def of_trials(fit):
    fitted = Fitted.of(fit)
    return fitted.log_probabilities(fitted.posterior)


def by_pymc(draws):
    """Log likelihood and log prior of the draws, as PyMC computes them."""
    with rebuild_model(draws):
        quiet = {"extend_inferencedata": False, "progressbar": False}
        likelihood = pm.stats.compute_log_likelihood(draws, **quiet)
        return likelihood, pm.stats.compute_log_prior(draws, **quiet)


@pytest.fixture(scope="module")
def equal():
    return fit(COUNTS, draws=500, **QUIET)


@pytest.fixture(scope="module")
def unequal():
    formula = dict.fromkeys(("log_m", "dprime", "c", "log_gap", "log_s"), "0 + who")
    return fit(COUNTS, "unequal_variance", formula=formula, draws=500, **QUIET)


@pytest.mark.integration
def test_one_sampling_per_outcome_equals_one_per_trial(equal):
    """ArviZ's loo on trials written out gives the same."""
    log_p = of_trials(equal).stack(outcome=("cell", "stimulus", "response", "rating"))
    n = COUNTS.stack(outcome=("cell", "stimulus", "response", "rating")).values
    written_out = log_p.values[..., np.repeat(np.arange(n.size), n)]
    tree = az.from_dict(
        {
            "posterior": {"d": equal["posterior"]["dprime"].values},
            "log_likelihood": {"y": written_out},
        }
    )
    expected, ours = az.loo(tree, pointwise=True, reff=1.0), loo(equal)
    assert ours.n_data_points == expected.n_data_points == 3000
    # Relative efficiency enters the smoothing of the tail only.
    assert ours.elpd == pytest.approx(expected.elpd, abs=0.05)
    assert ours.se == pytest.approx(expected.se, rel=1e-3)
    assert ours.p == pytest.approx(expected.p, abs=0.1)


@pytest.mark.integration
def test_unequal_variance_is_found_to_predict_better(equal, unequal):
    table = az.compare({"equal": loo(equal), "unequal": loo(unequal)})
    assert table.index[0] == "unequal"
    s = unequal["posterior"]["s"].mean(["chain", "draw"])
    assert float(abs(s - 0.6).max()) < 0.15


@pytest.mark.integration
def test_pymc_takes_a_loaded_fit_with_its_model(equal, tmp_path):
    # In double precision, as other programs write it.
    equal.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    loaded = load_fit(tmp_path / "fit.nc")
    likelihood, prior = by_pymc(loaded)
    ours = (of_trials(loaded) * COUNTS).sum(["stimulus", "response", "rating"])
    np.testing.assert_allclose(likelihood["counts"].values, ours.values, rtol=1e-9)
    assert set(prior.data_vars) == {"dprime", "c", "log_m", "log_gap"}
    log_m = loaded["posterior"]["log_m"]
    expected = -(log_m**2) / 2 - np.log(2 * np.pi) / 2
    np.testing.assert_allclose(prior["log_m"].values, expected.values)
    groups = add_groups(loaded, ["log_likelihood", "log_prior"])
    np.testing.assert_allclose(groups["log_likelihood"]["counts"], ours, rtol=1e-12)
    same_but_for_a_constant(groups["log_prior"], prior)


def same_but_for_a_constant(ours, theirs):
    """Log priors of variables, which ArviZ scales by a power, are PyMC's."""
    for name, values in theirs.items():
        total = values.sum([dim for dim in values.dims if dim not in ("chain", "draw")])
        found = ours[str(name).replace("_partial", "_corr")] - total
        np.testing.assert_allclose(found, found[0, 0], atol=1e-6 * abs(total).max().item())


@pytest.mark.integration
@pytest.mark.parametrize(
    "formula", ["1 + task + (1 + task|subject)", "0 + task + (0 + task|subject)"]
)
def test_pymc_takes_a_fit_with_correlated_effects(formula):
    coords = {"subject": [*"aabbcc"], "task": ["x", "y"] * 3}
    counts = simulate_counts([1.5] * 6, trials=400, coords=coords, seed=1)
    draws = fit(counts, formula={"log_m": formula}, draws=20, tune=100, **QUIET)
    posterior = draws["posterior"].to_dataset()
    likelihood, prior = by_pymc(draws)
    ours = (of_trials(draws) * counts).sum(["stimulus", "response", "rating"])
    np.testing.assert_allclose(likelihood["counts"].values, ours.values, rtol=1e-6)
    names = [name for name in posterior if str(name).endswith("|subject")]
    same_but_for_a_constant(add_groups(draws, "log_prior")["log_prior"], prior.drop_vars(names))
    found = sum(prior[name].sum(set(prior[name].dims) - {"chain", "draw"}) for name in names)
    first = posterior.isel(chain=0, draw=0)
    u = np.column_stack([first[name].values.reshape(3, -1) for name in names])
    sd = np.concatenate([np.atleast_1d(first[f"{name}_sigma"].values) for name in names])
    (corr,) = [first[name].values for name in posterior if str(name).endswith("_corr")]
    expected = multivariate_normal.logpdf(u, cov=corr * np.outer(sd, sd)).sum()
    assert float(found[0, 0]) == pytest.approx(expected, rel=1e-9)
