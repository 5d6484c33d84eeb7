"""Ranks are uniform where the sampler is right, and the test sees where it is not."""

import numpy as np
import pytest
import xarray as xr

from hmetad import InputError, ModelSpec, Prior, fit, load_model, simulate_counts
from hmetad.base.uniformity import uniformity
from hmetad.bayes import draw_prior
from hmetad.simulate import calibrate_sampler
from hmetad.simulate.calibration import fits_of, parameter_values, rank_simulation

pytestmark = pytest.mark.integration

SHORT = {"draws": 300, "tune": 300, "chains": 2}


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
                load_model("individual"),
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


def test_without_a_number_of_draws_fits_draw_until_it_is_enough():
    design = simulate_counts([1.0, 1.0], trials=100, coords={"subject": ["1", "2"]}, seed=1)
    names = ["log_m_Intercept", "log_m_1|subject_sigma"]
    found = calibrate_sampler("group", design, n=2, ranks=2000, var=names, seed=8, draws=None)
    # Two chains of 500 have no 2,000 draws to rank among, and fewer than 400 effective ones.
    assert found["rank"].max() > 1000
    assert (found["ess"].sel(parameter=names) >= 400).all()


# Four people: enough to see a wrong prior or likelihood of a population within a minute.
SMALL_GROUP = {"draws": 250, "tune": 250, "chains": 2, "cores": 1, "ranks": 39, "seed": 3}


@pytest.fixture(scope="module")
def four_people():
    coords = {"subject": [*"1234"]}
    return simulate_counts([1.0] * 4, trials=200, ratings=2, coords=coords, seed=1)


def test_a_group_is_calibrated(four_people):
    found = calibrate_sampler("group", four_people, n=60, **SMALL_GROUP)
    assert found.sizes["parameter"] == 43
    # Of all quantities together, one run in two hundred fails by chance.
    assert found["p_value"].min() > 0.005 / 43
    # Data that the priors think of are harder to sample than those of people.
    assert (found["rhat"].max("parameter") > 1.1).sum() <= 3
    # Eight runs with other seeds had medians of 2 to 3, and 1 to 4 data sets above 25. Their sum
    # has no such bound: one data set has 3 to 230 of 500 over 40 seeds of the sampler.
    assert found["divergences"].median() < 0.02 * 500
    assert (found["divergences"] > 0.05 * 500).sum() <= 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"priors": {"log_m_1|subject_sigma": Prior("HalfNormal", sigma=0.1)}},
        {"meta_criterion": "absolute"},
    ],
    ids=["prior of a group SD", "likelihood: the rule for κ"],
)
def test_a_group_with_a_wrong_prior_or_likelihood_is_seen(four_people, wrong):
    fitted = load_model("group", **wrong)
    found = calibrate_sampler("group", four_people, fitted=fitted, n=40, **SMALL_GROUP)
    assert found["p_value"].min() < 1e-4


def test_correlations_are_ranked_once_and_without_their_diagonal():
    coords = {"subject": [*"1122"], "task": [*"xyxy"]}
    design = simulate_counts([1.0] * 4, trials=60, ratings=2, coords=coords, seed=1)
    name = "log_m_task|subject_corr"
    found = calibrate_sampler("multitask", design, n=2, ranks=19, var=[name], seed=1, **SHORT)
    assert found["parameter"].values.tolist() == [f"{name}[y, x]", "loglik"]


def test_data_sets_may_be_chosen_by_their_counts():
    design = simulate_counts([1.0], trials=40, ratings=2, seed=1)

    def both_responses(counts):
        return bool((counts.sum(["stimulus", "rating"]) > 4).all())

    found = calibrate_sampler(design=design, n=100, ranks=49, keep=both_responses, seed=2, **SHORT)
    assert found.sizes["simulation"] == 100
    assert found.attrs["drawn"] > 110
    # The choice moves the truths, and leaves their ranks alone.
    assert abs(found["truth"].sel(parameter="c[all]")).max() < 2.5
    assert found["p_value"].min() > 0.001
    with pytest.raises(InputError, match=r"keep: .*got one that keeps 0 of"):
        calibrate_sampler(design=design, n=2, keep=lambda _: False, **SHORT)


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match=r"ranks: .*got 99 of 40 draws"):
        calibrate_sampler(n=5, draws=20, chains=2)
    with pytest.raises(InputError, match=r"n: .*got 1"):
        calibrate_sampler(n=1)
    with pytest.raises(InputError, match=r"design: .*got none, and model 'mine' has no example"):
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
