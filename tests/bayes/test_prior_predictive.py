"""Draws from the prior have the prior's distribution, and counts that of the model."""

import numpy as np
import pytest
from scipy import stats

from hmetad import InputError, load_model, simulate_counts
from hmetad.bayes import draw_prior
from hmetad.likelihood.families.meta_d import log_joint_probabilities
from hmetad.specs.loading import card_names


def design_of(name):
    return simulate_counts(seed=1, **load_model(name).example)


def test_parameters_have_their_prior():
    design = simulate_counts([1.0], trials=100, seed=1)
    prior = draw_prior(design, draws=4000, seed=1)["prior"]
    centres = {"log_m": (0, 1), "dprime": (1, 1), "c": (0, 1), "log_gap": (np.log(0.5), 1)}
    for name, (mean, sd) in centres.items():
        drawn = prior[name].to_numpy()[0, :, 0]
        p = stats.kstest(drawn.reshape(4000, -1)[:, 0], stats.norm(mean, sd).cdf).pvalue
        assert p > 0.001, name


def test_effects_of_groups_have_the_population_and_its_spread():
    prior = draw_prior(design_of("group"), "group", draws=4000, seed=2)["prior"].to_dataset()
    effect, sd = prior["log_m_1|subject"], prior["log_m_1|subject_sigma"]
    assert stats.kstest(prior["log_m_Intercept"].values[0], "norm").pvalue > 0.001
    assert stats.kstest(sd.values[0], "halfnorm").pvalue > 0.001
    own = ((prior["log_m"].values - prior["log_m_Intercept"].values[..., None])[0]).T
    np.testing.assert_allclose(own, effect.values[0].T, atol=1e-12)
    for scores in own / sd.values[0]:
        assert stats.kstest(scores, "norm").pvalue > 0.0001


def test_counts_have_the_trials_of_the_design_and_the_shares_of_the_parameters():
    design = simulate_counts([1.0, 2.0], trials=[[300_000, 200_000], [500_000, 1]], seed=1)
    drawn = draw_prior(design, draws=20, seed=3)
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


@pytest.mark.parametrize("name", card_names())
def test_every_card_has_a_prior(name):
    drawn = draw_prior(design_of(name), name, draws=3, seed=1)
    assert drawn["prior"].sizes["draw"] == 3
    assert (drawn["prior_predictive"]["counts"] >= 0).all()
    assert np.isfinite(drawn["prior"]["dprime"]).all()


def test_the_same_seed_gives_the_same_draws():
    first, second = (draw_prior(design_of("group"), "group", draws=2, seed=5) for _ in range(2))
    assert first.identical(second)


def test_cells_keep_their_coordinates():
    design = simulate_counts([1.0, 1.5], coords={"model": ["a", "b"]}, seed=1)
    drawn = draw_prior(design, draws=1, seed=1)
    for group in ("prior", "prior_predictive"):
        assert drawn[group]["model"].values.tolist() == ["a", "b"]


def test_what_has_no_prior_or_no_number_is_refused():
    plugged = load_model("hmetad_single", type1="plug_in")
    with pytest.raises(InputError, match="type1='joint'"):
        draw_prior(design_of("hmetad_single"), plugged)
    with pytest.raises(InputError, match="draws: got 0"):
        draw_prior(design_of("individual"), draws=0)
