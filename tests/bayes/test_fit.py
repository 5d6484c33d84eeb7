"""Posteriors agree with JAGS, carry their labels, and say what is wrong with them."""

import json
import logging

import numpy as np
import pandas as pd
import pytest

from hmetad.base.notice import notices
from hmetad.bayes.fit import fit, refuse_undefined
from hmetad.bayes.model import without_remarks
from hmetad.counts.counting import count_trials
from hmetad.counts.vectors import from_nr
from hmetad.likelihood.priors import Prior
from hmetad.specs.loading import load_model

A = ([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
QUIET = {"progressbar": False, "quiet": True}


@pytest.fixture(scope="module")
def two_cells():
    """A cell with d′ near 1.5, and one whose d′ is below zero."""
    backwards = [30, 20, 15, 10, 12, 13, 25, 40], [35, 25, 15, 12, 12, 14, 22, 30]
    counts = from_nr(*zip(A, backwards, strict=True), model=["good", "poor"], size=[7, 70])
    return fit(counts, draws=1000, tune=500, chains=4, random_seed=1, **QUIET)


# JAGS, 3 × 10,000 draws and more, of the subject A; 3 × 100,000 of one of reference/groups.
JAGS = {
    "estimated": (
        {},
        {"meta_d": (1.578, 0.207), "dprime": (1.533, 0.139), "c": (-0.008, 0.069)}
        | {"m_ratio": (1.038, 0.166)},
        [[-0.502, -0.973, -1.4225], [0.498, 0.982, 1.530]],
        [1.169, 1.979],
    ),
    "plugged in": (
        {"type1": "plug_in"},
        {"meta_d": (1.577, 0.2065)},
        [[-0.496, -0.968, -1.419], [0.502, 0.985, 1.532]],
        [1.169, 1.977],
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize(("choices", "moments", "criteria", "bounds"), JAGS.values(), ids=JAGS)
def test_the_hmetad_posterior_is_that_of_jags(choices, moments, criteria, bounds):
    spec = load_model("hmetad_single", **choices)
    draws = fit(from_nr(*A), spec, draws=4000, random_seed=1, **QUIET)
    posterior = draws["posterior"].to_dataset().squeeze("cell")
    # .02 is some ten Monte Carlo errors of either run.
    for name, (mean, sd) in moments.items():
        assert float(posterior[name].mean()) == pytest.approx(mean, abs=0.015), name
        assert float(posterior[name].std()) == pytest.approx(sd, rel=0.05), name
    found = posterior["criteria"].mean(["chain", "draw"])
    np.testing.assert_allclose(found, criteria, atol=0.01)
    np.testing.assert_allclose(posterior["meta_d"].quantile([0.025, 0.975]), bounds, atol=0.03)
    if choices:
        assert np.ptp(posterior["dprime"].values) == 0
    else:
        assert notices(draws) == []


@pytest.mark.integration
def test_a_second_subject_is_that_of_jags_too(shared):
    rows = pd.read_csv(shared / "reference" / "groups" / "single.csv")
    trials = rows.loc[rows.index.repeat(rows["count"])]
    counts = count_trials(trials, confidence="rating", ratings=4)
    spec = load_model("hmetad_single", type1="plug_in")
    draws = fit(counts, spec, draws=4000, random_seed=1, **QUIET)["posterior"]
    for name, mean, sd in (("meta_d", 1.67518, 0.15417), ("m_ratio", 0.78408, 0.07216)):
        assert float(draws[name].mean()) == pytest.approx(mean, abs=0.1 * sd), name
        assert float(draws[name].std()) == pytest.approx(sd, rel=0.05), name


def test_every_parameter_is_there_for_every_cell_under_its_coordinates(two_cells):
    posterior = two_cells["posterior"]
    for name in ("dprime", "c", "meta_d", "m_ratio", "log_m", "meta_c"):
        assert posterior[name].dims == ("chain", "draw", "cell"), name
    assert posterior["criteria"].dims == ("chain", "draw", "cell", "response", "criterion")
    product = posterior["m_ratio"] * posterior["dprime"]
    np.testing.assert_allclose(posterior["meta_d"], product, rtol=1e-12)
    for group in ("posterior", "observed_data"):
        assert two_cells[group]["model"].values.tolist() == ["good", "poor"]
        assert two_cells[group]["size"].values.tolist() == [7, 70]


def test_the_fit_says_how_it_was_made(two_cells):
    attrs = two_cells.attrs
    assert json.loads(attrs["spec"])["name"] == "individual"
    assert "pymc" in json.loads(attrs["versions"])
    assert (attrs["seed"], attrs["sampler"], attrs["meta_criterion"]) == ("1", "hmetad", "relative")
    assert (attrs["method"], attrs["density"]) == ("importance", "compiled")
    assert all(isinstance(value, str) for value in attrs.values())


def test_a_negative_dprime_is_said_with_what_it_does_to_m(two_cells):
    found = {notice.code: notice for notice in notices(two_cells)}
    assert found["dprime-sign"].cells == ("poor | 70",)
    assert found["dprime-sign"].severity == "error"
    assert "M-ratio = meta-d′/d′ is meaningless there" in found["dprime-sign"].message


@pytest.mark.integration
def test_a_dprime_that_is_not_clearly_positive_is_a_warning():
    counts = from_nr([26, 24, 25, 25], [22, 25, 26, 27])
    options = {"draws": 200, "tune": 300, "chains": 2, "random_seed": 1, **QUIET}
    found = {notice.code: notice for notice in notices(fit(counts, "hmetad_single", **options))}
    assert found["dprime-sign"].severity == "warning"
    assert "meta-d-sign" not in found


def test_the_same_seed_gives_the_same_draws():
    counts = from_nr(*A)
    options = {"draws": 20, "tune": 50, "chains": 2, "random_seed": 4, **QUIET}
    one, same = (fit(counts, **options)["posterior"]["m_ratio"].values for _ in range(2))
    np.testing.assert_array_equal(one, same)


@pytest.mark.integration
def test_a_prior_of_the_caller_is_used_and_recorded():
    tight = {"log_m": Prior("Normal", mu=-1, sigma=0.001)}
    options = {"draws": 50, "tune": 200, "chains": 2, "random_seed": 1, **QUIET}
    draws = fit(from_nr(*A), priors=tight, **options)
    assert float(draws["posterior"]["log_m"].mean()) == pytest.approx(-1, abs=0.01)
    assert json.loads(draws.attrs["spec"])["priors"]["log_m"]["mu"] == -1


def test_truncated_chains_are_an_interruption(two_cells):
    with pytest.raises(KeyboardInterrupt):
        refuse_undefined(two_cells, load_model("individual"), 1001, "nuts")


def test_without_progress_a_fit_is_silent_but_for_warnings(caplog):
    log = logging.getLogger("pymc")
    before = log.level
    with caplog.at_level(logging.INFO), without_remarks(True):
        logging.getLogger("pymc.sampling.mcmc").info("NUTS[nutpie]: [d]")
        logging.getLogger("pymc.sampling.mcmc").warning("Only 5 samples per chain.")
    assert caplog.messages == ["Only 5 samples per chain."]
    assert log.level == before


def test_progressbar_false_says_nothing(capfd, caplog):
    with caplog.at_level(logging.INFO):
        fit(from_nr(*A), draws=100, tune=100, chains=2, random_seed=1, progressbar=False)
    assert caplog.messages == []
    assert capfd.readouterr() == ("", "")
