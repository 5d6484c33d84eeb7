"""The paragraph of results has the numbers of the fit and of the decisions."""

import re

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit

import hmetad
from hmetad.notice import with_notices
from hmetad.report import convergence_record, fit_report, results_paragraph
from hmetad.report.contents.paragraph import number, probability_text
from hmetad.report.page.blocks import Prose


@pytest.fixture(scope="module")
def fitted():
    return made_fit(["A", "B"], ["x"])


@pytest.fixture(scope="module")
def decisions(fitted):
    return hmetad.decide(hmetad.contrast(fitted, var="log_m", over="model"), rope=(-0.1, 0.1))


def test_numbers_are_those_of_the_decisions(fitted, decisions):
    text, row = results_paragraph(fitted, decisions), decisions.table().iloc[0]
    mean, lower, upper = (
        f"{row[name]:.2f}".replace("-", "−") for name in ("mean", "lower", "upper")
    )
    assert f"A − B: {mean}, 95% CrI [{lower}, {upper}]" in text
    assert f"{100 * row['in_rope']:.1f}% of the posterior inside" in text
    assert f"P(direction) {probability_text(row['p_direction'])}" in text


def test_sampling_is_told_as_in_the_tables(fitted, decisions):
    text, record = results_paragraph(fitted, decisions), convergence_record(fitted)
    assert f"largest R̂ was {record['rhat']:.3f}" in text
    assert re.search(rf"{record['ess_bulk']:,} \(\w+; bulk\)", text)
    assert "there were no divergent transitions" in text
    assert "1,600 trials in 2 cells, with 4 levels of confidence" in text


@pytest.fixture(scope="module")
def of_people():
    """Twelve people, of whom one has confidence that runs backward; of two trials no rating."""
    who = {"subject": [f"p{i:02d}" for i in range(12)], "group": ["x", "y"] * 6}
    m_ratio = [0.8] * 11 + [-0.6]
    trials = hmetad.simulate_trials([1.5] * 12, m_ratio=m_ratio, trials=300, coords=who, seed=1)
    trials = trials.astype({"confidence": float})
    trials.loc[[0, 5], "confidence"] = np.nan
    counts = hmetad.count_trials(trials, by=["subject", "group"], ratings=4)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    return {n: hmetad.fit(counts, "group", draws=n, **quiet) for n in (1000, 50)}


def test_people_rows_left_out_and_low_m_are_counted(of_people):
    text = results_paragraph(of_people[1000], labels={"subject": "Person"})
    assert text.startswith("The data were 3,598 trials of 12 people in 12 cells, with 4 levels")
    assert "2 of 3600 rows dropped for a missing value, in confidence (2)." in text
    assert "By maximum likelihood, M or d′ was at or below 0 in 1 of 12 people." in text


def test_where_sampling_failed_it_is_said_first(of_people):
    for draws, has_failed in {1000: False, 50: True}.items():
        fit = of_people[draws]
        codes = {one.code for one in hmetad.notices(fit) if one.severity == "error"}
        assert has_failed == bool(codes & {"rhat", "ess", "divergences"})
        text = results_paragraph(fit)
        assert text.startswith("These estimates are not to be reported") == has_failed
        assert ("Fewer than 400 effective draws of" in text) == has_failed


def test_what_failed_beside_the_estimates_is_said_and_does_not_withdraw_them(of_people):
    fit = of_people[1000]
    named = "R̂ above 1.01 for log_gap_1|subject_sigma: the chains disagree."
    beside = hmetad.Notice("rhat", "error", named)
    text = results_paragraph(with_notices(fit, [beside]))
    assert "not to be reported" not in text
    assert text.startswith("What follows failed in parts of the model that no estimate here rests")
    assert "log_gap_1|subject_sigma" in text


def test_convergence_is_that_of_all_that_was_sampled(of_people):
    """A parameter other than M that mixes badly is what the paragraph and the record tell."""
    fit = of_people[1000].copy()
    posterior = fit["posterior"].to_dataset()
    name = "log_gap_Intercept"
    drifting = posterior[name] + 5 * posterior["chain"]
    fit = fit.assign(posterior=xr.DataTree(posterior.assign({name: drifting})))
    text, record = results_paragraph(fit), convergence_record(fit)
    assert record["rhat"] > 1.5
    assert record["ess_bulk"] < 50
    assert f"the largest R̂ was {record['rhat']:.3f} ({name})" in text
    assert f"{record['ess_bulk']} ({name}; bulk)" in text


def test_a_withheld_verdict_is_told_with_its_reason(fitted):
    rng = np.random.default_rng(1)
    drifting = rng.normal(0.5, 0.1, (4, 300, 1)) + np.arange(4.0)[:, None, None]
    draws = xr.DataArray(drifting, dims=("chain", "draw", "pair"), coords={"pair": ["a − b"]})
    text = results_paragraph(fitted, hmetad.decide(draws.rename("log_m"), rope=(-0.1, 0.1)))
    assert "without a verdict (R̂ above 1.01)" in text


def test_intervals_of_a_correction_say_their_level(fitted):
    draws = hmetad.contrast(fitted, var="log_m", over="model")
    made = hmetad.decide(draws, rope=(-0.1, 0.1), comparisons=5)
    assert "99% CrI" in results_paragraph(fitted, made)


def test_many_comparisons_are_counted():
    fit = made_fit(list("ABCDEF"), ["x"])
    made = hmetad.decide(hmetad.contrast(fit, var="log_m", over="model"), rope=(-0.1, 0.1))
    text = results_paragraph(fit, made)
    counted = re.search(r"Of 15 comparisons, the verdicts were: (.*?)\.", text)
    assert sum(int(part.split()[0]) for part in counted[1].split(", ")) == 15


def test_the_report_has_it(fitted, decisions):
    blocks = fit_report(fitted, decisions).blocks
    last = blocks[-1]
    assert isinstance(last, Prose)
    assert last.paragraphs == (results_paragraph(fitted, decisions),)


def test_shares_have_no_zero_before_the_point():
    assert number(-0.5, is_share=True) == "−.50"
    assert number(0.5) == "0.50"
    assert number(-0.001) == "0.00"
    assert number(1.0, is_share=True) == "1.00"
