"""Ranks are uniform where the sampler is right, and the test sees where it is not."""

import numpy as np
import pytest
import xarray as xr
from arviz_stats.ecdf_utils import simulate_confidence_bands
from scipy import stats

from hmetad import InputError, ModelSpec, Prior, fit, load_model, simulate_counts
from hmetad.bayes import draw_prior
from hmetad.simulate import calibrate_sampler
from hmetad.simulate.calibration import fits_of, parameter_values, rank_simulation, uniformity

pytestmark = pytest.mark.integration

SHORT = {"draws": 300, "tune": 300, "chains": 2}
# Factors on the SD of a posterior.
POSTERIORS = {"right": 1.0, "narrow": 0.6, "wide": 1.7}


def normal_ranks(factor=1.0, shift=0.0, n=400, size=99, seed=1):
    """Ranks from a conjugate normal model: one observation of SD 1, prior N(0, 1)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 1))
    seen = truth + rng.normal(size=(n, 1))
    draws = rng.normal(seen / 2 + shift, factor * np.sqrt(0.5), (n, size))
    return (draws < truth).sum(axis=1)[:, None]


def test_p_values_of_uniform_ranks_are_uniform():
    ranks = np.random.default_rng(1).integers(0, 100, (200, 2000))
    p = uniformity(ranks, 99)[1]
    for level in (0.01, 0.05, 0.2, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=4 * np.sqrt(level / 2000))


def test_the_critical_value_is_that_of_arviz():
    # ArviZ evaluates at i/n: with n - 1 draws to rank among, at the same points as here.
    n = 60
    rng = np.random.default_rng(2)
    points = np.arange(1, n) / n
    # 1 - γ at its 95 % quantile.
    theirs = 1 - simulate_confidence_bands(n, 1, points, 0.95, 4000, rng)
    statistic, p = uniformity(rng.integers(0, n, (n, 4000)), n - 1)
    ours = statistic[p > 0.05].min()
    # Both are read off 4000 simulations of a steep, discrete distribution.
    assert ours == pytest.approx(theirs, rel=0.2)


def test_a_right_posterior_passes_and_a_wrong_one_is_seen():
    for name, factor in POSTERIORS.items():
        p = uniformity(normal_ranks(factor), 99)[1].item()
        assert (p > 0.05) == (name == "right"), name
    assert uniformity(normal_ranks(shift=0.3), 99)[1].item() < 0.01


def test_the_test_agrees_with_kolmogorov_and_smirnov_where_that_is_powerful():
    shifted = normal_ranks(shift=0.2)
    ks = stats.kstest((shifted[:, 0] + 0.5) / 100, "uniform").pvalue
    assert ks < 0.05
    assert uniformity(shifted, 99)[1].item() < 0.05


@pytest.fixture(scope="module")
def few():
    design = simulate_counts([1.0, 1.0], trials=[200, 600], coords={"model": ["a", "b"]}, seed=1)
    return calibrate_sampler("individual", design, n=30, ranks=49, seed=2, **SHORT)


def test_every_parameter_is_ranked_in_every_simulation(few):
    assert few.sizes["simulation"] == 30
    assert {"dprime[a]", "log_m[b]", "log_gap[b, S1, 3]", "loglik"} <= set(few["parameter"].values)
    assert set(few["variable"].values) == {"c", "dprime", "log_gap", "log_m", "loglik"}
    assert few["rank"].min() >= 0
    assert few["rank"].max() <= 49
    assert few["p_value"].min() > 1e-3
    assert np.isfinite(few["z_score"]).all()


def test_more_trials_contract_the_posterior_more(few):
    contraction = few["contraction"].sel(parameter=["log_m[a]", "log_m[b]"])
    assert (contraction.mean("simulation") > 0.3).all()
    first, second = contraction.median("simulation").values
    assert first < second
    assert few["contraction"].sel(parameter="loglik").isnull().all()


def test_truths_are_those_that_the_counts_came_from(few):
    # d′ is estimated well by 600 trials, whatever the sampler.
    z = few["z_score"].sel(parameter="dprime[b]")
    assert abs(z.mean()) < 4 / np.sqrt(30)
    assert 0.5 < z.std() < 1.6


def test_a_wrong_prior_is_seen():
    """Truths of the card, fits with a prior of log M that is far too narrow."""
    design = simulate_counts([1.0], trials=200, seed=1)
    wrong = load_model("individual", priors={"log_m": Prior("Normal", mu=1, sigma=0.1)})
    found = calibrate_sampler("individual", design, fitted=wrong, n=60, seed=3, **SHORT)
    assert found["p_value"].sel(parameter="log_m[all]") < 0.001
    assert '"sigma": 0.1' in found.attrs["fitted"]


def test_only_the_log_likelihood_shows_a_posterior_that_ignores_the_data():
    """Draws of the prior in place of the posterior: every parameter's ranks are uniform."""
    n, size, names = 100, 50, ["c", "dprime", "log_m"]
    design = simulate_counts([1.0], trials=200, seed=1)
    drawn = draw_prior(design, draws=n * (1 + size), seed=4)
    prior, counts = drawn["prior"].to_dataset(), drawn["prior_predictive"].to_dataset()
    ranks = []
    for i in range(n):
        data = {"observed_data": counts.isel(chain=0, draw=i)}
        draws, truth = (
            parameter_values(
                xr.DataTree.from_dict({"posterior": prior.isel(draw=part), **data}),
                names,
                load_model("individual").record,
            )
            for part in (slice(n + i * size, n + (i + 1) * size), [i])
        )
        ranks.append(rank_simulation(draws, truth.isel(chain=0, draw=0), size)["rank"].to_numpy())
    p = uniformity(np.array(ranks), size)[1]
    assert (p[:3] > 0.01).all()
    assert p[3] < 0.001


def test_cells_of_one_fit_have_the_posterior_of_fits_of_their_own():
    counts = simulate_counts([1.0, 1.5], m_ratio=[0.5, 1.2], trials=400, seed=4)
    tables = counts.rename(cell="draw").expand_dims(cell=["all"], axis=1)
    options = {**SHORT, "draws": 2000, "progressbar": False, "quiet": True}
    together = list(fits_of(tables, load_model("individual"), [1, 2], options))[1]
    alone = fit(tables.isel(draw=1, drop=True), "individual", random_seed=5, **options)
    left, right = (one["posterior"]["log_m"].to_numpy().ravel() for one in (together, alone))
    # Some thousand effective draws each: .15 SD is more than three errors of a difference.
    assert abs(left.mean() - right.mean()) < 0.15 * right.std()
    assert left.std() == pytest.approx(right.std(), rel=0.15)


def test_cards_with_formulas_are_fitted_once_for_each_data_set():
    coords = {"subject": ["1", "2", "3"]}
    design = simulate_counts([1.0, 1.0, 1.0], trials=100, coords=coords, seed=1)
    names = ["log_m_Intercept", "log_m_1|subject_sigma", "log_m_1|subject"]
    found = calibrate_sampler("group", design, n=2, ranks=19, var=names, seed=8, **SHORT)
    effects = [f"log_m_1|subject[{subject}]" for subject in coords["subject"]]
    assert found["parameter"].values.tolist() == [*names[:2], *effects, "loglik"]
    assert found["rank"].shape == (2, 6)


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="ranks: got 99 of 40 draws"):
        calibrate_sampler(n=5, draws=20, chains=2)
    with pytest.raises(InputError, match="n: got 1"):
        calibrate_sampler(n=1)
    with pytest.raises(InputError, match="design: got none, and model 'mine' has no example"):
        calibrate_sampler(ModelSpec("mine"), n=2)
    with pytest.raises(InputError, match="Did you mean 'log_m'"):
        calibrate_sampler(n=2, var=["logm"])


@pytest.mark.slow
def test_the_individual_card_is_calibrated():
    design = simulate_counts([1.0], trials=400, seed=1)
    found = calibrate_sampler("individual", design, n=300, seed=6, draws=1000, tune=1000)
    # Ten parameters: one in a thousand each, so that one run in a hundred fails by chance.
    assert (found["p_value"] > 0.001).all()
    assert (found["rhat"] < 1.1).all()
