"""The population of a fit as a table: values, effects, differences, in words."""

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad import InputError
from hmetad.report import fit_report, population_table
from hmetad.report.contents.population import summary
from hmetad.report.page.blocks import Figure, Prose, Table

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
LABELS = {"drug": "Medication", "off": "Placebo", "on": "Propranolol"}


@pytest.fixture(scope="module")
def counts():
    people = [f"s{i}" for i in range(1, 13)]
    coords = {"subject": people * 2, "drug": ["off"] * 12 + ["on"] * 12}
    return hmetad.simulate_counts([1.5] * 24, m_ratio=0.8, coords=coords, trials=400, seed=3)


@pytest.fixture(scope="module")
def fitted(counts):
    formula = {"log_m": "1 + drug + (1 + drug | subject)"}
    return hmetad.fit(counts, "group", formula=formula, draws=150, tune=200, chains=2, **QUIET)


@pytest.fixture(scope="module")
def table(fitted):
    return population_table(fitted)


def one(table, **wanted):
    found = table.query(" and ".join(f"{name} == {value!r}" for name, value in wanted.items()))
    assert len(found) == 1
    return found.iloc[0]


def test_population_values_are_those_of_predict(fitted, table):
    predicted = hmetad.predict(fitted)
    for level in ("off", "on"):
        draws = predicted["m_ratio"].sel(cell=level).values
        row = one(table, kind="population", quantity="M-ratio", term=level)
        assert row["mean"] == pytest.approx(draws.mean())
        assert [row["lower"], row["upper"]] == pytest.approx(np.quantile(draws, [0.025, 0.975]))


def test_what_moves_by_more_than_half_its_sd_is_reported_with_both_numbers(fitted, table):
    row = one(table, kind="population", quantity="M-ratio", term="on")
    posterior = fitted["posterior"].to_dataset()
    for sds, number in ((0.3, 0), (0.9, 1)):
        # M of "on" alone is larger by so many SDs.
        change = np.log1p(sds * row["sd"] / row["mean"])
        other = fitted.copy()
        drawn = posterior.assign(log_m_drug=posterior["log_m_drug"] + change)
        other["posterior"] = xr.DataTree(drawn)
        other.attrs["choice"] = "another prior"
        said = hmetad.report.moved_populations(fitted, other)
        assert len(said) == number
    start = f"on: M of the population is {row['mean']:.2f} [{row['lower']:.2f}, "
    assert said[0].startswith(start)
    assert f"and {row['mean'] + 0.9 * row['sd']:.2f} [" in said[0]
    assert "with another prior: it moves by 0.9 posterior SDs" in said[0]


def test_a_population_with_an_undefined_draw_has_a_report(fitted):
    posterior = fitted["posterior"].to_dataset()
    drawn = posterior["log_m_Intercept"].where(posterior["draw"] > 0)
    other = fitted.assign(posterior=xr.DataTree(posterior.assign(log_m_Intercept=drawn)))
    assert "M-ratio" in fit_report(other).markdown()


def test_effects_say_which_level_they_are_differences_from(fitted, table):
    row = one(table, kind="effect", quantity="Effect on log M-ratio")
    assert row["term"] == "drug: on − off"
    draws = fitted["posterior"]["log_m_drug"].values
    assert row["mean"] == pytest.approx(draws.mean())
    # The contrast of the populations has the same sign and value.
    pair = hmetad.contrast(hmetad.predict(fitted), var="log_m", over="drug", against="off")
    assert pair["pair"].item() == "on − off"
    np.testing.assert_allclose(pair.values.ravel(), draws.ravel(), atol=1e-12)


def test_differences_between_people_and_their_correlation(fitted, table):
    posterior = fitted["posterior"]
    spread = one(table, kind="sd", quantity="SD of log M-ratio by subject", term="")
    assert spread["mean"] == pytest.approx(posterior["log_m_1|subject_sigma"].values.mean())
    slopes = one(table, kind="sd", quantity="SD of log M-ratio by subject", term="drug: on")
    assert slopes["variable"] == "log_m_drug|subject_sigma"
    row = one(table, kind="correlation")
    assert row["mean"] == pytest.approx(
        posterior["log_m_drug|subject_corr"].values[..., 0, 1].mean()
    )
    assert row["term"] == "intercept, drug[on]"


def test_diagnostics_are_those_of_arviz(fitted, table):
    import arviz as az

    row = one(table, kind="effect", quantity="Effect on log M-ratio")
    draws = fitted["posterior"]["log_m_drug"].isel(drug_dim=0, drop=True)
    assert row["rhat"] == pytest.approx(az.rhat(draws).item(), abs=1e-9)
    assert row["ess_bulk"] == pytest.approx(az.ess(draws, method="bulk").item(), rel=1e-6)


def test_covariates_are_at_their_means(counts):
    ages = np.tile(np.linspace(20.0, 64.0, 12), 2)
    aged = counts.assign_coords(age=("cell", ages))
    formula = {"log_m": "1 + age + (1 | subject)"}
    draws = hmetad.fit(aged, "group", formula=formula, draws=60, tune=60, chains=2, **QUIET)
    table = population_table(draws)
    mean = hmetad.predict(draws, {"age": [42.0]})["m_ratio"].values.mean()
    assert one(table, kind="population", quantity="M-ratio")["mean"] == pytest.approx(mean)


def test_a_model_without_a_population_is_refused(counts):
    draws = hmetad.fit(counts.isel(cell=slice(0, 2)), draws=50, chains=2, **QUIET)
    with pytest.raises(InputError, match="a model with formulas"):
        population_table(draws)


def test_the_page_begins_with_the_population_and_folds_people_away(fitted):
    blocks = fit_report(fitted, labels=LABELS).blocks
    headings = [block.heading for block in blocks if isinstance(block, Prose) and block.heading]
    assert headings[:4] == ["Answer", "Population", "Data", "Estimates"]
    tables = {block.name: block for block in blocks if isinstance(block, Table)}
    conditions = [row[0].partition("; ")[0] for row in tables["population"].rows]
    assert conditions == ["Placebo", "Propranolol"]
    assert tables["estimates"].is_folded
    assert tables["data"].is_folded
    assert not tables["population"].is_folded
    assert tables["estimates"].rows[0][0] == "s1 | Placebo"


def test_the_page_says_which_level_has_no_row_and_what_a_rope_of_logs_is_in_percent(counts):
    formula = {"log_m": "1 + S(drug) + (1 + S(drug) | subject)"}
    draws = hmetad.fit(counts, "group", formula=formula, draws=40, tune=60, chains=2, **QUIET)
    made = hmetad.decide(
        hmetad.contrast(hmetad.predict(draws), var="log_m", over="drug"), rope=(-0.1, 0.1)
    )
    page = fit_report(draws, made, labels=LABELS).markdown()
    assert "the effect of Propranolol is minus the sum of those shown" in page
    assert "Estimates for the population the participants were sampled from." in page
    assert "−0.1 to 0.1 on the log scale (−10 % to +11 %)" in page
    assert "| Excludes 0 |" in page
    of_ratio = hmetad.decide(hmetad.predict(draws)["m_ratio"], rope=(0.9, 1.1), null=1.0)
    page = fit_report(draws, of_ratio).markdown()
    assert "| Excludes 1 |" in page
    assert "on the log scale" not in page


def test_decisions_bear_words_in_table_figure_and_paragraph(fitted):
    draws = hmetad.contrast(hmetad.predict(fitted), var="log_m", over="drug")
    made = hmetad.decide(draws, rope=(-0.1, 0.1))
    other = hmetad.decide(draws, rope=(-0.2, 0.2))
    report = fit_report(fitted, made, sensitivity={"wider": other}, labels=LABELS)
    (label,) = [
        row[0]
        for block in report.blocks
        if isinstance(block, Table) and block.name == "decisions-log_m"
        for row in block.rows
    ]
    assert {*label.split(" − ")} == {"Placebo", "Propranolol"}
    first, paragraph = report.blocks[0].paragraphs[0], report.blocks[-2].paragraphs[0]
    assert all(word in first for word in ("Placebo", "Propranolol"))
    assert first in paragraph
    behind, figure = [block for block in report.blocks if isinstance(block, Figure)][:2]
    assert label in figure.alt
    assert "Placebo" in behind.alt


def test_a_coefficient_is_labelled_as_the_difference_that_it_is(fitted, tmp_path):
    for fit in (fitted, hmetad.load_fit(hmetad.save_fit(fitted, tmp_path / "fit.nc"))):
        made = hmetad.decide(fit["posterior"]["log_m_drug"], rope=(-0.1, 0.1))
        assert made.table()["label"].tolist() == ["on − off"]


@pytest.mark.integration
def test_a_level_without_a_verdict_has_the_same_reason_in_table_page_paragraph_and_norms():
    coords = {"subject": [*"abcdefgh"], "group": ["x"] * 4 + ["y"] * 4}
    counts = hmetad.simulate_counts([1.5] * 8, m_ratio=0.9, trials=600, coords=coords, seed=1)
    counts.values[4:] = counts.values[4:, ..., ::-1]
    drawn = hmetad.fit(counts, "group_comparison", draws=600, **QUIET)
    judged = hmetad.decide(hmetad.predict(drawn)["m_ratio"], rope=(0.9, 1.1)).table()
    table = population_table(drawn)
    rows = table[table["variable"] == "m_ratio"]
    assert rows["withheld"].tolist() == judged["withheld"].tolist() == ["", "reversed-scale"]
    spread = one(table, kind="sd", quantity="SD of log M-ratio by subject")
    assert spread["withheld"] == "reversed-scale"
    why = "unreliable: scale of confidence reversed"
    text = hmetad.report.results_paragraph(drawn)
    assert f"(y; {why})" in text
    assert "(x)" in text
    placed = hmetad.report.among_published(drawn)
    assert placed[0].startswith("x: M ")
    assert placed[1] == f"y: {why}."
    report = fit_report(drawn)
    answer = next(b for b in report.blocks if isinstance(b, Prose))
    assert f"(y; {why})" in answer.paragraphs[0]
    page = next(b for b in report.blocks if isinstance(b, Table))
    assert [row[0] for row in page.rows] == ["x", f"y; {why}"]


def test_draws_by_weight_have_no_diagnostics_of_chains():
    values = np.random.default_rng(1).normal(size=(4, 100))
    for sampling, has_them in (("nuts", True), ("importance", False)):
        draws = xr.DataArray(values, dims=("chain", "draw"), attrs={"sampling": sampling})
        row = summary(draws, 0.025)
        assert [bool(np.isfinite(row[name])) for name in ("rhat", "ess_bulk")] == [has_them] * 2
        assert row["mean"] == pytest.approx(values.mean())
