"""The report of a fit of estimates says what holds beyond the groups at hand, and what shrank."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import hmetad
from hmetad.bayes import fit_estimates, predict_estimates
from hmetad.report.page.blocks import Alerts, Prose, Table


@pytest.fixture(scope="module")
def table():
    """Two models in eight sets, on the scale of AUROC2."""
    rng = np.random.default_rng(1)
    cells = [(m, s) for m in "ab" for s in "ABCDEFGH"]
    sets = dict(zip("ABCDEFGH", rng.normal(0, 0.04, 8), strict=True))
    rows = {"model": [m for m, _ in cells], "set": [s for _, s in cells], "se": 0.03}
    means = [0.65 + 0.1 * (m == "b") + sets[s] for m, s in cells]
    return pd.DataFrame(rows).assign(auroc2=rng.normal(means, 0.03))


@pytest.fixture(scope="module")
def fit(table):
    return fit_estimates(table, "auroc2 ~ 0 + model + (1 | set)", se="se", link="logit", seed=1)


@pytest.fixture(scope="module")
def page(fit):
    return hmetad.report.fit_report(fit, command="hmetad report sets.nc")


def tables_of(page):
    return {block.name: block for block in page.blocks if isinstance(block, Table)}


def words_of(page):
    prose = [block for block in page.blocks if isinstance(block, Prose)]
    return {block.heading: " ".join(block.paragraphs) for block in prose}


def test_parts_of_the_page_stand_in_the_order_that_a_reader_asks(page):
    headings = [*words_of(page)]
    assert headings == [
        *("Answer", "Population", "Estimates, given and after shrinkage"),
        *("Does the model fit?", "Method", "Session"),
    ]
    assert "beyond the levels of set" in page.subtitle
    assert "hmetad report sets.nc" in words_of(page)["Session"]


def test_the_population_and_a_new_group_are_those_that_are_predicted(page, fit):
    average, new = (predict_estimates(fit, new=x)["auroc2"] for x in ((), "set"))
    rows = tables_of(page)["population"].rows
    assert [row[0] for row in rows] == ["a", "b"]
    for place, row in enumerate(rows):
        ends = [np.quantile(x[..., place], p) for x in (average, new) for p in (0.025, 0.975)]
        np.testing.assert_allclose(row[1:], [average[..., place].mean(), *ends])
        assert row[4] < row[2] < row[3] < row[5]
    assert f"is {rows[0][1]:.2f} [" in words_of(page)["Answer"]
    assert f"{rows[0][4]:.2f} to {rows[0][5]:.2f} (a)" in words_of(page)["Answer"]


def test_estimates_stand_beside_what_shrinkage_makes_of_them(page, table, fit):
    rows = pd.DataFrame(tables_of(page)["estimates"].rows)
    np.testing.assert_allclose(rows[1], table["auroc2"])
    # Errors on the scale of the logit, by the delta method.
    slope = 1 / (table["auroc2"] * (1 - table["auroc2"]))
    logit = np.log(table["auroc2"] / (1 - table["auroc2"]))
    lower = 1 / (1 + np.exp(-(logit - norm.ppf(0.975) * 0.03 * slope)))
    np.testing.assert_allclose(rows[2], lower, rtol=1e-6)
    np.testing.assert_allclose(rows[4], fit["posterior"]["auroc2"].mean(["chain", "draw"]))
    by_model = rows.groupby(rows[0].str[0])
    assert (by_model[4].std() < by_model[1].std()).all()


def test_terms_are_those_of_the_posterior_with_checks_of_chains(fit):
    found = hmetad.report.population_table(fit)
    assert found["kind"].tolist() == ["population"] * 2 + ["effect"] * 2 + ["sd"]
    sd = found.iloc[-1]
    assert sd["quantity"] == "SD of logit of AUROC2 by set"
    assert sd["mean"] == pytest.approx(float(fit["posterior"][sd["variable"]].mean()))
    assert (found["rhat"] < 1.02).all()


def test_a_model_that_explains_too_little_is_told_with_what_to_do(table):
    poor = fit_estimates(table.assign(se=0.002), "auroc2 ~ 1 + (1 | set)", se="se", seed=1)
    page = hmetad.report.fit_report(poor)
    (told,) = [block for block in page.blocks if isinstance(block, Alerts)]
    assert "Estimates differ from the formula" in told.items[0][1]
    assert "differ by more than" in words_of(page)["Does the model fit?"]


def test_correlated_effects_and_formulas_without_groups_have_pages():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"lab": np.repeat(list("ABCDEF"), 2), "hard": [0, 1] * 6, "se": 0.1})
    frame["y"] = rng.normal(frame["hard"], 0.2)
    for formula, kinds in (
        (
            "y ~ hard + (hard | lab)",
            ["population"] * 2 + ["effect"] * 2 + ["sd"] * 2 + ["correlation"],
        ),
        ("y ~ 1", ["population", "effect"]),
    ):
        found = fit_estimates(frame, formula, se="se", seed=1)
        table = hmetad.report.population_table(found)
        assert table["kind"].tolist() == kinds
        correlations = table[table["kind"] == "correlation"]["term"]
        assert set(correlations) <= {"intercept | hard"}
        page = hmetad.report.fit_report(found)
        assert "Does the model fit?" in page.html()
