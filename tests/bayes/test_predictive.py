"""What a model predicts, after data and before them, has the moments that it says."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import hmetad
from hmetad import InputError, load_model, notices, simulate_counts
from hmetad.bayes import add_groups, predicted_counts
from hmetad.bayes.predictive import mean_counts
from hmetad.likelihood.families.meta_d import log_joint_probabilities

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 300, "chains": 2}


@pytest.fixture(scope="module")
def fit():
    # Columns that are called like counts of a ROC and like measures.
    odd = {name: [1, 2] for name in ("hits", "trials", "accuracy")}
    design = {"trials": 2000, "coords": {"model": ["a", "b"]}, "covariates": odd}
    counts = hmetad.simulate_counts([1.5, 1.0], 0.2, [0.9, 0.6], **design, seed=1)
    return hmetad.fit(counts, **QUIET)


@pytest.mark.integration
def test_predicted_means_are_near_what_was_observed_and_a_model_that_fits_is_not_noticed(fit):
    predicted = predicted_counts(fit)
    assert predicted["mean"].dims == ("cell", "stimulus", "response", "rating")
    # d′, c and criteria are free: what is left is the noise of the ratings, some 5 of 60 trials.
    error = abs(predicted["mean"] - predicted["counts"])
    assert float((error / np.sqrt(predicted["counts"] + 1)).mean()) < 1
    totals = predicted["mean"].sum(["response", "rating"])
    np.testing.assert_allclose(totals, 1000, rtol=1e-12)
    assert predicted["model"].to_numpy().tolist() == ["a", "b"]
    assert (predicted["outside"] <= 0.2).all()
    assert "poor-fit" not in [notice.code for notice in notices(predicted)]


@pytest.mark.integration
def test_intervals_are_wider_than_binomial_ones_by_what_is_unknown_of_the_parameters(fit):
    predicted = predicted_counts(fit, draws=600)
    width = predicted["upper"] - predicted["lower"]
    share = predicted["mean"] / 1000
    binomial = 2 * 1.96 * np.sqrt(1000 * share * (1 - share))
    assert 1.0 < float((width / binomial).mean()) < 2.0


@pytest.mark.integration
def test_a_lump_of_the_highest_rating_is_noticed_among_many_outcomes():
    design = {"trials": 2000, "seed": 1, "likelihood": "biased-alternatives", "options": 3}
    fits = simulate_counts(2.0, **design)
    values = fits.to_numpy().copy()
    moved = np.random.default_rng(1).binomial(values[..., :-1], 0.3)
    values[..., :-1] -= moved
    values[..., -1] += moved.sum(axis=-1)
    for counts, is_poor in ((fits, False), (fits.copy(data=values), True)):
        predicted = predicted_counts(hmetad.fit(counts, **QUIET))
        assert ("poor-fit" in [notice.code for notice in notices(predicted)]) is is_poor


@pytest.fixture(scope="module")
def fitted():
    people = {"coords": {"subject": ["a", "b", "c"]}, "trials": 200, "seed": 1}
    counts = hmetad.simulate_counts([1.2, 1.5, 1.8], m_ratio=[0.6, 0.8, 1.0], **people)
    return hmetad.fit(counts, "group", **QUIET)


def test_predicted_tables_have_the_trials_and_means_of_the_model(fitted):
    whole = add_groups(fitted, ["posterior_predictive"])
    assert "log_likelihood" not in whole
    table = fitted["observed_data"]["counts"]
    labels = pd.MultiIndex.from_arrays(
        [whole["posterior_predictive"][dim].values for dim in table.dims], names=table.dims
    )
    by_outcome = xr.Coordinates.from_pandas_multiindex(labels, "outcome")
    drawn, observed = (
        whole[name]["counts"].drop_vars(table.dims).assign_coords(by_outcome).unstack("outcome")
        for name in ("posterior_predictive", "observed_data")
    )
    assert (observed == table).all()
    assert (drawn.sum(["response", "rating"]) == table.sum(["response", "rating"])).all()
    # Mean predicted counts, from probabilities alone; 600 tables have errors of some .3.
    expected = mean_counts(fitted).transpose(*table.dims)
    np.testing.assert_allclose(drawn.mean(["chain", "draw"]), expected, atol=1.5)
    assert "posterior_predictive" not in fitted


def design_of(name):
    return simulate_counts(seed=1, **load_model(name).example)


def drawn_by_pymc(design, card, draws, seed):
    with hmetad.build_model(design, card):
        return pm.sample_prior_predictive(
            draws, random_seed=seed, compile_kwargs={"mode": "FAST_COMPILE"}
        )


def test_parameters_have_their_prior():
    design = simulate_counts([1.0], trials=100, seed=1)
    prior = drawn_by_pymc(design, "individual", 4000, 1)["prior"]
    centres = {"log_m": (0, 1), "dprime": (1, 1), "c": (0, 1), "log_gap": (np.log(0.5), 1)}
    for name, (mean, sd) in centres.items():
        drawn = prior[name].to_numpy()[0, :, 0]
        p = stats.kstest(drawn.reshape(4000, -1)[:, 0], stats.norm(mean, sd).cdf).pvalue
        assert p > 0.001, name


def test_effects_of_groups_have_the_population_and_its_spread():
    prior = drawn_by_pymc(design_of("group"), "group", 4000, 2)["prior"].to_dataset()
    effect, sd = prior["log_m_1|subject"], prior["log_m_1|subject_sigma"]
    assert stats.kstest(prior["log_m_Intercept"].values[0], "norm").pvalue > 0.001
    assert stats.kstest(sd.values[0], "halfnorm").pvalue > 0.001
    own = ((prior["log_m"].values - prior["log_m_Intercept"].values[..., None])[0]).T
    np.testing.assert_allclose(own, effect.values[0].T, atol=1e-12)
    for scores in own / sd.values[0]:
        assert stats.kstest(scores, "norm").pvalue > 0.0001


def test_counts_have_the_trials_of_the_design_and_the_shares_of_the_parameters():
    design = simulate_counts([1.0, 2.0], trials=[[300_000, 200_000], [500_000, 1]], seed=1)
    drawn = drawn_by_pymc(design, "individual", 20, 3)
    counts = drawn["prior_predictive"]["counts"]
    shown = design.sum(["response", "rating"])
    assert (counts.sum(["response", "rating"]) == shown).all()
    prior = drawn["prior"].to_dataset().isel(chain=0, cell=0)
    both = [np.repeat(prior[name].values[:, None], 2, axis=1) for name in ("meta_d", "meta_c")]
    log_p = log_joint_probabilities(
        prior["dprime"].values, prior["c"].values, *both, np.exp(prior["log_gap"].values), 1.0
    )
    n = shown.values[0][:, None, None]
    z = (counts.values[0, :, 0] - n * np.exp(log_p)) / np.sqrt(n * np.exp(log_p))
    # Rare outcomes are Poisson, not normal: those expected often enough are looked at.
    assert abs(z[n * np.exp(log_p) > 20]).max() < 5


@pytest.mark.parametrize("name", ["hmetad_group", "alternatives_biased", "cncb"])
def test_cards_of_every_kind_have_a_prior(name):
    drawn = drawn_by_pymc(design_of(name), name, 3, 1)
    assert drawn["prior"].sizes["draw"] == 3
    assert (drawn["prior_predictive"]["counts"] >= 0).all()
    assert np.isfinite(drawn["prior"]["dprime"]).all()


def test_what_cannot_be_drawn_is_refused(fitted):
    for call, says in (
        (lambda: predicted_counts(fitted, draws=1), "draws: .*got 1"),
        (lambda: predicted_counts(fitted, ci_prob=95), "ci_prob: .*got 95"),
        (lambda: add_groups(fitted, ["loglikelihood"]), "log_likelihood"),
    ):
        with pytest.raises(InputError, match=says):
            call()
