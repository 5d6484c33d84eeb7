"""Hierarchical models against the posteriors of JAGS and Stan, and against known truth."""

import json

import numpy as np
import pandas as pd
import pytest

from hmetad.base.notice import notices
from hmetad.bayes.fit import fit
from hmetad.bayes.predict import predict
from hmetad.compare.contrasts import contrast
from hmetad.counts.counting import count_trials
from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.loading import load_model

pytestmark = pytest.mark.integration

QUIET = {"progressbar": False, "quiet": True}
JAGS_PLUGGED = "HMeta-d (JAGS 4.3.1), d1 and c1 plugged in (its default)"
JAGS_JOINT = "HMeta-d (JAGS 4.3.1), d1 and c1 estimated"
STAN = "hmetad 0.2.0 (R; brms 2.23, Stan), absolute meta-c, README priors"
SIZES = [20, pytest.param(100, marks=pytest.mark.slow)]
LARGE = pytest.param(500, marks=pytest.mark.slow)
SEEDS = [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]


def reference_counts(shared, subjects):
    """Counts of a simulated group."""
    rows = pd.read_csv(shared / f"reference/groups/g{subjects}.csv")
    trials = rows.loc[rows.index.repeat(rows["count"])]
    trials["subject"] = trials["subject"].astype(str).str.zfill(3)
    return count_trials(trials, by="subject", confidence="rating", ratings=4)


def reference_posterior(shared, peer, subjects):
    """Mean and SD of µ and σ in a peer's run."""
    rows = json.loads((shared / "reference/groups/posteriors.json").read_text())["rows"]
    (row,) = [r for r in rows if r["peer"] == peer and r["input"] == f"g{subjects}"]
    return [(row[name]["mean"], row[name]["sd"]) for name in ("mu_log_m", "sigma_log_m")]


def assert_agrees(draws, names, expected, shift, spread):
    """Means within `shift` posterior SDs, and SDs within the share `spread`."""
    assert not [n for n in notices(draws) if n.code in ("divergences", "rhat")]
    for name, (mean, sd) in zip(names, expected, strict=True):
        values = draws["posterior"][name]
        assert abs(float(values.mean()) - mean) < shift * sd, name
        assert abs(float(values.std()) / sd - 1) < spread, name


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("subjects", SIZES)
@pytest.mark.parametrize(("type1", "peer"), [("joint", JAGS_JOINT), ("plug_in", JAGS_PLUGGED)])
def test_hmetad_group_is_what_jags_gives(shared, subjects, type1, peer, seed):
    spec = load_model("hmetad_group", type1=type1)
    draws = fit(reference_counts(shared, subjects), spec, draws=2500, random_seed=seed, **QUIET)
    expected = reference_posterior(shared, peer, subjects)
    assert_agrees(draws, ("mu_log_m", "sigma_log_m"), expected, 0.15, 0.1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("subjects", [*SIZES, LARGE])
def test_the_group_card_is_what_stan_gives(shared, subjects, seed):
    """Its priors differ a little from those of the R package, hence .3 SD."""
    spec = load_model("group", meta_criterion="absolute")
    draws = fit(reference_counts(shared, subjects), spec, random_seed=seed, **QUIET)
    expected = reference_posterior(shared, STAN, subjects)
    names = ("log_m_Intercept", "log_m_1|subject_sigma")
    assert_agrees(draws, names, expected, 0.3, 0.15)


@pytest.mark.parametrize(
    ("subjects", "trials", "sd"),
    [(5, 300, 0.2), (12, 100, 0.0), (20, 400, 0.5), (50, 150, 0.05), (60, 60, 0.6)],
)
def test_ordinary_groups_converge_by_default(subjects, trials, sd):
    """No divergence, no R̂ above 1.01, and 400 effective draws, whatever differs between people."""
    rng = np.random.default_rng(subjects)
    counts = simulate_counts(
        rng.normal(1.5, 0.3, subjects),
        rng.normal(0, 0.3, subjects),
        np.exp(rng.normal(-0.3, sd, subjects)),
        trials=trials,
        coords={"subject": [f"{i:02d}" for i in range(subjects)]},
        seed=subjects,
    )
    draws = fit(counts, "group", random_seed=1, **QUIET)
    assert not {n.code for n in notices(draws)} & {"divergences", "rhat", "ess"}


def test_main_effects_and_interaction_of_two_crossed_conditions_are_recovered():
    """Dummy-coded, main effects would be simple effects: here that of b is 0 in one level of a."""
    rng = np.random.default_rng(5)
    subjects, effect_a, effect_b, interaction = 24, 0.3, 0.2, 0.2
    a, b = np.tile([1, 1, -1, -1], subjects), np.tile([1, -1, 1, -1], subjects)
    own = np.repeat(rng.normal(-0.3, 0.15, subjects), 4)
    log_m = own + effect_a * a + effect_b * b + interaction * a * b
    coords = {
        "subject": np.repeat([str(i) for i in range(subjects)], 4),
        "a": np.where(a > 0, "a1", "a2"),
        "b": np.where(b > 0, "b1", "b2"),
    }
    counts = simulate_counts(1.8, m_ratio=np.exp(log_m), trials=1000, coords=coords, seed=5)
    draws = fit(counts, "within_subject", random_seed=1, draws=750, **QUIET)
    posterior = draws["posterior"].to_dataset()
    truth = {"S(a)": effect_a, "S(b)": effect_b, "S(a):S(b)": interaction}
    for term, expected in truth.items():
        values = posterior[f"log_m_{term}"].squeeze(drop=True)
        assert abs(float(values.mean()) - expected) < 3 * float(values.std())
        assert float(values.std()) < 0.08
    conditions = predict(draws)
    simple = contrast(conditions, var="log_m", over="b", within="a").mean(["chain", "draw"])
    by_level = dict(zip(simple["a"].values.tolist(), simple.values.tolist(), strict=True))
    assert by_level["a1"] == pytest.approx(2 * (effect_b + interaction), abs=0.2)
    assert by_level["a2"] == pytest.approx(0, abs=0.2)


def people(rng, number, log_m, **options):
    """Counts of people of these log M, whose d′, c and criteria are drawn."""
    drawn = rng.normal(1.7, 0.3, number), rng.normal(0, 0.3, number)
    gaps = np.exp(rng.normal(-0.7, 0.2, (number, 2, 3)))
    coords = {"subject": [str(i) for i in range(number)]}
    options |= {"gaps": gaps, "trials": 1000, "coords": coords}
    return simulate_counts(*drawn, np.exp(log_m), seed=rng, **options)


def assert_recovered(posterior, truths, largest_sd):
    """Every truth lies within three posterior SDs of the mean, and the SDs are small."""
    for name, expected in truths.items():
        values = posterior[name]
        mean, sd = values.mean(["chain", "draw"]), values.std(["chain", "draw"])
        assert (abs(mean - expected) < 3 * sd).all(), (name, mean.values, sd.values)
        assert (sd < largest_sd).all(), (name, sd.values)


@pytest.mark.parametrize("seed", SEEDS)
def test_efficiency_of_each_response_is_recovered(seed):
    rng = np.random.default_rng(seed)
    subjects = 30
    truth, spread = np.log([0.6, 1.0]), np.array([0.2, 0.3])
    log_m = truth + spread * rng.normal(size=(subjects, 2))
    counts = people(rng, subjects, log_m)
    draws = fit(counts, "response_conditional", random_seed=1, draws=2000, **QUIET)
    assert not {n.code for n in notices(draws)} & {"rhat", "divergences"}
    truths = {
        "log_m_Intercept": log_m.mean(0),
        "log_m_1|subject_sigma": log_m.std(0, ddof=1),
    }
    assert_recovered(draws["posterior"].to_dataset(), truths, 0.12)
    # A single M for both responses would be right for neither.
    either = draws["posterior"]["log_m_Intercept"]
    assert float((either[..., 1] > either[..., 0]).mean()) > 0.99


@pytest.mark.parametrize("seed", SEEDS)
def test_unequal_variance_is_recovered_along_with_efficiency(seed):
    rng = np.random.default_rng(seed)
    subjects = 30
    log_s = rng.normal(np.log(0.75), 0.1, subjects)
    log_m = rng.normal(np.log(0.8), 0.2, subjects)
    counts = people(rng, subjects, log_m, s=np.exp(log_s))
    draws = fit(counts, "unequal_variance", random_seed=1, **QUIET)
    assert not {n.code for n in notices(draws)} & {"rhat", "divergences"}
    truths = {
        "log_m_Intercept": log_m.mean(),
        "log_m_1|subject_sigma": log_m.std(ddof=1),
        "log_s_Intercept": log_s.mean(),
        "log_s_1|subject_sigma": log_s.std(ddof=1),
    }
    posterior = draws["posterior"].to_dataset()
    assert_recovered(posterior, truths, 0.1)
    assert float((posterior["log_s_Intercept"] < 0).mean()) > 0.99
