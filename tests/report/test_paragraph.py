"""The paragraph of results has the numbers of the fit and of the decisions."""

import re

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit

import hmetad
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
    assert f"{record['ess_bulk']:,} or more (bulk)" in text
    assert "there were no divergent transitions" in text
    assert "1,600 trials in 2 cells, with 4 levels of confidence" in text


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
