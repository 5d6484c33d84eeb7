"""Model comparison by trials, and what ArviZ and PyMC do with a fit."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import halfnorm, norm

from hmetad.bayes.fit import fit
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.loo import loo
from hmetad.bayes.model import build_model
from hmetad.bayes.predictive import add_groups
from hmetad.bayes.store import load_fit
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.spec import spec_of

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
    """Log likelihood and log prior of draws of separate cells, as PyMC computes them."""
    with build_model(COUNTS):
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
        found = ours[name] - total
        np.testing.assert_allclose(found, found[0, 0], atol=1e-6 * abs(total).max().item())


@pytest.mark.parametrize("formula", ["1 + task + (1 + task|subject)", "0 + task + (1|subject)"])
def test_log_priors_are_those_of_scipy(formula):
    coords = {"subject": [*"aabbcc"], "task": ["x", "y"] * 3}
    counts = simulate_counts([1.5] * 6, trials=400, coords=coords, seed=1)
    draws = fit(counts, formula={"log_m": formula}, draws=20, tune=100, **QUIET)
    prior = {name: own for name, own in spec_of(draws).priors.items() if name.startswith("log_m")}
    theirs = {}
    for name, own in prior.items():
        values = draws["posterior"][name].values.reshape(2, 20, -1)
        if own.dist == "LKJ":
            # η = 2, and the correlation of two effects.
            theirs[name] = np.log(1 - values[..., 1] ** 2)
        elif own.dist == "HalfNormal":
            theirs[name] = halfnorm.logpdf(values, scale=own.parameters["sigma"]).sum(-1)
        else:
            theirs[name] = norm.logpdf(values, **renamed(own.parameters)).sum(-1)
    ours = add_groups(draws, "log_prior")["log_prior"]
    assert {name for name in ours.data_vars if str(name).startswith("log_m")} == {*theirs}
    same_but_for_a_constant(
        ours, {k: xr.DataArray(v, dims=("chain", "draw")) for k, v in theirs.items()}
    )


def renamed(parameters):
    return {"loc": parameters["mu"], "scale": parameters["sigma"]}
