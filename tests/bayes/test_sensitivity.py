"""Refits differ in the one choice that they are named for, and agree with reweighted draws."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from hmetad import (
    InputError,
    Notice,
    Prior,
    decide,
    fit,
    load_model,
    notices,
    sensitivity,
    simulate_counts,
)
from hmetad.base.notice import with_notices
from hmetad.bayes.sensitivity import COARSER, NORMAL_M, coarser, other_choices, widen
from hmetad.specs.design import designs_of
from hmetad.specs.layout import layout_of
from hmetad.specs.spec import ModelSpec

pytestmark = pytest.mark.integration

QUIET = {"progressbar": False, "quiet": True}
PEOPLE = {"subject": ["a", "b", "c"]}
KAPPA, NARROW, WIDE = (
    "κ = c instead of κ = M·c",
    "priors of M half as wide",
    "priors of M twice as wide",
)


@pytest.fixture(scope="module")
def first():
    """Few trials, so that the prior counts; a criterion away from 0, so that κ does."""
    counts = simulate_counts([1.2], c=0.5, m_ratio=0.5, trials=120, seed=3)
    return fit(counts, draws=3000, chains=2, random_seed=4, **QUIET)


@pytest.fixture(scope="module")
def refits(first):
    return sensitivity(first, **QUIET)


def spec_of(tree):
    return ModelSpec.from_json(tree.attrs["spec"])


def stated(name, counts):
    """A fit as far as its record goes, without sampling."""
    spec = load_model(name)
    spec = replace(spec, priors=layout_of(counts, spec, designs_of(counts, spec)).priors)
    return xr.DataTree(xr.Dataset(attrs={"spec": spec.to_json()}))


def test_each_refit_differs_in_the_choice_it_is_named_for(first, refits):
    assert list(refits) == [KAPPA, NARROW, WIDE, COARSER]
    base = spec_of(first)
    assert spec_of(refits[KAPPA]) == replace(base, meta_criterion="absolute")
    for name, sd in ((NARROW, 0.5), (WIDE, 2.0)):
        priors = {**base.priors, "log_m": Prior("Normal", mu=0, sigma=sd)}
        assert spec_of(refits[name]) == replace(base, priors=priors)
    assert {name: tree.attrs["choice"] for name, tree in refits.items()} == {
        name: name for name in refits
    }


def test_refits_have_the_counts_the_seed_and_the_draws_of_the_fit(first, refits):
    for name, tree in refits.items():
        counts = first["observed_data"]["counts"]
        expected = coarser(counts) if name == COARSER else counts
        xr.testing.assert_equal(tree["observed_data"]["counts"], expected)
        assert tree.attrs["seed"] == "4"
        assert tree["posterior"].sizes["draw"] == 3000
        assert tree["posterior"].sizes["chain"] == 2


def test_refits_say_what_the_counts_say_and_withhold_what_the_fit_withholds():
    said = Notice("correctness-as-stimulus", "error", "Wrong.", (), "Nobody", "Stop.")
    counts = with_notices(simulate_counts([1.2], trials=120, seed=3), [said])
    counts.attrs["same_items"] = "[]"
    short = {"draws": 60, "tune": 200, "chains": 2, "random_seed": 1, **QUIET}
    refit = sensitivity(fit(counts, **short), [WIDE], tune=200, **QUIET)[WIDE]
    assert said in notices(refit)
    assert refit.attrs["same_items"] == "[]"
    withheld = decide(refit["posterior"].to_dataset()["log_m"], rope=(-0.1, 0.1)).table()[
        "withheld"
    ]
    assert "correctness-as-stimulus" in withheld.item()


@pytest.mark.parametrize(
    ("wider", "sd", "narrower", "narrower_sd"), [("", 1, NARROW, 0.5), (WIDE, 2, "", 1)]
)
def test_draws_under_a_wide_prior_give_those_under_a_narrow_one_by_weights(
    first, refits, wider, sd, narrower, narrower_sd
):
    fits = refits | {"": first}
    drawn = fits[wider]["posterior"]["log_m"].to_numpy().ravel()
    # From the wider to the narrower, so that no weight is without bound.
    weights = stats.norm.pdf(drawn, 0, narrower_sd) / stats.norm.pdf(drawn, 0, sd)
    expected = np.average(drawn, weights=weights)
    spread = np.sqrt(np.average((drawn - expected) ** 2, weights=weights))
    effective = weights.sum() ** 2 / (weights**2).sum()
    log_m = fits[narrower]["posterior"]["log_m"]
    # Draws of log M are worth a third of independent ones, in either run.
    error = spread * np.sqrt(3 / effective + 3 / log_m.size)
    assert float(log_m.mean()) == pytest.approx(expected, abs=4 * error)


def test_priors_of_a_group_card_are_scaled_for_m_alone():
    counts = simulate_counts(seed=1, **load_model("group").example)
    tree = stated("group", counts)
    base, wide = spec_of(tree).priors, other_choices(tree)[WIDE].priors
    changed = {name for name in base if base[name] != wide[name]}
    assert changed == {"log_m_Intercept", "log_m_1|subject_sigma"}
    assert wide["log_m_1|subject_sigma"] == Prior("HalfNormal", sigma=2)


def test_log_m_that_is_normal_between_people_may_be_m_with_the_same_formulas():
    counts = simulate_counts(seed=1, **load_model("group").example)
    other = other_choices(stated("group", counts))[NORMAL_M]
    assert (other.choices["scale"], dict(other.formula)) == ("m", load_model("group_m").formula)


def test_refits_of_a_fit_that_drew_until_it_was_enough_do_so_too():
    counts = simulate_counts(1.2, m_ratio=[0.3, 0.6, 0.9], trials=60, coords=PEOPLE, seed=1)
    base = fit(counts, "group", random_seed=1, **QUIET)
    again = sensitivity(base, [WIDE], **QUIET)[WIDE]
    assert again.attrs["draws"] == base.attrs["draws"] == "as needed"
    assert "ess" not in {one.code for one in notices(again)}


def test_hmetad_cards_keep_their_criterion_and_have_their_names_scaled():
    counts = simulate_counts(seed=1, **load_model("hmetad_group").example)
    tree = stated("hmetad_group", counts)
    assert list(other_choices(tree)) == [NARROW, WIDE]
    base, narrow = spec_of(tree).priors, other_choices(tree)[NARROW].priors
    assert {n for n in base if base[n] != narrow[n]} == {"mu_log_m", "sigma_log_m"}


@pytest.mark.parametrize(
    ("prior", "frozen"),
    [
        (Prior("Normal", mu=0.3, sigma=0.5), lambda p: stats.norm(p["mu"], p["sigma"])),
        (Prior("StudentT", nu=4, mu=0, sigma=0.5), lambda p: stats.t(p["nu"], 0, p["sigma"])),
        (Prior("HalfNormal", sigma=0.5), lambda p: stats.halfnorm(scale=p["sigma"])),
        (Prior("Exponential", lam=2), lambda p: stats.expon(scale=1 / p["lam"])),
        (Prior("Gamma", alpha=3, beta=2), lambda p: stats.gamma(p["alpha"], scale=1 / p["beta"])),
        (
            Prior("LogNormal", mu=0.2, sigma=0.5),
            lambda p: stats.lognorm(p["sigma"], scale=np.exp(p["mu"])),
        ),
    ],
    ids=lambda p: getattr(p, "dist", ""),
)
def test_a_widened_prior_has_its_scale_multiplied(prior, frozen):
    before, after = (frozen(one.parameters).std() for one in (prior, widen(prior, 2.0)))
    assert after == pytest.approx(2 * before)


def test_a_prior_of_correlations_has_no_scale_to_widen():
    assert widen(Prior("LKJ", eta=2), 2.0) == Prior("LKJ", eta=2)


def test_what_cannot_be_chosen_is_refused(first):
    with pytest.raises(InputError, match="Did you mean 'priors of M half as wide'"):
        sensitivity(first, ["priors of M half wide"])
    with pytest.raises(InputError, match=r"fit: .*got Dataset"):
        sensitivity(xr.Dataset())


def test_ratings_are_taken_together_in_pairs_from_the_lowest():
    counts = simulate_counts([1.2, 1.5], m_ratio=0.8, ratings=5, trials=400, seed=1)
    found = coarser(counts)
    values = counts.sel(rating=[1, 3]).values + counts.sel(rating=[2, 4]).values
    np.testing.assert_array_equal(found.sel(rating=[1, 2]).values, values)
    np.testing.assert_array_equal(found.sel(rating=3).values, counts.sel(rating=5).values)
    assert found["cell"].equals(counts["cell"])
    few = fit(simulate_counts(1.2, ratings=3, seed=1), draws=50, chains=2, random_seed=1, **QUIET)
    assert COARSER not in other_choices(few)
