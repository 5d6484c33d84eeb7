"""The report of a fit says what was asked, found and decided, and whether the model fits."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

import hmetad
from hmetad import InputError, plots
from hmetad.bayes import predicted_counts
from hmetad.likelihood import load_likelihood, register
from hmetad.likelihood.registry import REGISTERED
from hmetad.plots.fits import describe_fit
from hmetad.report import combine_reports, fit_report

pytestmark = pytest.mark.integration

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 800, "chains": 2}
NAMES = ["plain", "<script>alert(1)</script>", "a|b $x_1$"]


@pytest.fixture(scope="module")
def fit():
    counts = hmetad.simulate_counts(
        [1.5, 1.5, 2.0], 0.2, [1.0, 0.3, 0.9], trials=2000, coords={"model": NAMES}, seed=1
    )
    return hmetad.fit(counts, **QUIET)


def decided(fit, rope):
    return hmetad.decide(hmetad.contrast(fit, var="log_m", over="model"), rope=(-rope, rope))


def test_all_sections_are_there_in_their_order(fit):
    page = fit_report(fit, decided(fit, 0.05), command="hmetad report fit.nc").markdown()
    headings = ["Question", "Decisions", "Data", "Estimates", "Does the model fit", "Method"]
    places = [page.index(f"## {heading}") for heading in [*headings, "Session"]]
    assert places == sorted(places)
    for said in ("Model card individual", "Priors", "Convergence", "To run it again", "Vehtari"):
        assert said in page


def test_a_fit_alone_is_reported_without_decisions(fit):
    page = fit_report(fit, question="Who knows?").markdown()
    assert "Who knows?" in page
    assert "## Decisions" not in page


def test_decisions_are_the_same_in_the_table_as_in_the_object(fit):
    made = decided(fit, 0.05)
    page = fit_report(fit, made).html()
    for verdict in made.table()["verdict"]:
        assert verdict in page
    assert "<script>alert(1)</script>" not in page


def test_verdicts_that_another_choice_changes_are_named(fit):
    narrow, wide = decided(fit, 0.05), decided(fit, 3.0)
    page = fit_report(fit, narrow, sensitivity={"a wide ROPE": wide}).markdown()
    changed = int((narrow.table()["verdict"] != wide.table()["verdict"]).sum())
    assert changed > 0
    assert f"Verdicts that change, of 3: a wide ROPE: {changed}." in page
    same = fit_report(fit, narrow, sensitivity={"the same": narrow}).markdown()
    assert "the same: 0" in same


def test_a_verdict_that_another_choice_withholds_is_not_counted_as_changed(fit):
    narrow, wide = decided(fit, 0.05), decided(fit, 3.0)
    drifting = hmetad.contrast(fit, var="log_m", over="model").assign_attrs(sampling="nuts")
    drifting[0] += 2
    withheld = hmetad.decide(drifting, rope=(-0.05, 0.05))
    assert set(withheld.table()["verdict"]) == {"unreliable"}
    given = int((narrow.table()["verdict"] != "unreliable").sum())
    page = fit_report(fit, narrow, sensitivity={"wide": wide, "drift": withheld}).markdown()
    assert "drift: 0." in page
    words = "Withheld under another choice, with nothing contrary found:"
    assert f"{words} wide: 0; drift: {given}." in page
    other = fit_report(fit, withheld, sensitivity={"more draws": wide}).markdown()
    assert "Verdicts that change, of 3: more draws: 0." in other
    assert "Given under another choice alone: more draws: 3." in other
    assert "Withheld under" not in other


def test_sensitivity_needs_the_same_contrasts(fit):
    part = hmetad.decide(
        hmetad.contrast(fit, var="log_m", over="model", against="plain"), rope=(-1, 1)
    )
    with pytest.raises(InputError, match="other contrasts in 'part'"):
        fit_report(fit, decided(fit, 0.05), sensitivity={"part": part})
    with pytest.raises(InputError, match="no decisions"):
        fit_report(fit, sensitivity={"part": part})


def test_several_reports_become_one(fit):
    whole = combine_reports("All", {"first": fit_report(fit), "second": fit_report(fit)})
    page = whole.markdown()
    headings = re.findall("^## (.*)", page, re.MULTILINE)
    assert len(set(headings)) == len(headings)
    assert {"first: Does the model fit?", "second: Does the model fit?"} <= set(headings)
    with pytest.raises(InputError, match="at least one report"):
        combine_reports("None", {})


@pytest.mark.parametrize("kind", ["ratings", "roc"])
def test_the_fit_check_draws_observed_and_predicted(fit, kind):
    predicted = predicted_counts(fit)
    axes = plots.fit(predicted, kind=kind)
    assert len(axes) == 3
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes[0].lines])
    one = predicted.isel(cell=0)
    names = ("counts", "mean") if kind == "ratings" else ("hit_rate", "hit_rate_mean")
    for name in names:
        for value in one[name].to_numpy().ravel():
            assert np.isclose(drawn, value).any()


def test_words_say_where_the_fit_is_poor(fit):
    predicted = predicted_counts(fit)
    said = describe_fit(predicted)
    assert said.count("%") == 4
    assert "plain: " in said


def test_too_many_cells_or_other_axes_are_refused(fit):
    predicted = predicted_counts(fit)
    with pytest.raises(InputError, match="one per panel"):
        plots.fit(predicted, ax=list(plots.fit(predicted))[:2])
    with pytest.raises(InputError, match="kind: got 'bars'"):
        plots.fit(predicted, kind="bars")
    many = predicted.isel(cell=np.zeros(30, int))
    with pytest.raises(InputError, match="at most 24"):
        plots.fit(many)


def test_responses_with_an_m_of_their_own_are_reported():
    subjects = {"subject": ["1", "2", "3"]}
    truth = [[0.6, 1.0]] * 3
    counts = hmetad.simulate_counts([1.5] * 3, 0.2, truth, trials=1000, coords=subjects, seed=2)
    fitted = hmetad.fit(counts, "response_conditional", **QUIET)
    page = fit_report(fitted).markdown()
    assert "response-conditional" in page


def test_latex_of_the_report_has_its_tables_and_figures(fit, tmp_path):
    fit_report(fit, decided(fit, 0.05)).save(tmp_path / "page.tex")
    assert (tmp_path / "page_figures" / "fit-roc.pdf").exists()
    assert (tmp_path / "page_tables" / "estimates.csv").exists()


def test_a_withheld_verdict_says_why():
    models = {"model": ["a", "b"]}
    counts = hmetad.simulate_counts([1.5, 1.5], 0.2, 0.8, trials=400, coords=models, seed=1)
    short = hmetad.fit(counts, **QUIET | {"draws": 60, "tune": 60})
    made = hmetad.decide(hmetad.contrast(short, var="log_m", over="model"), rope=(-0.05, 0.05))
    assert made.table()["verdict"].tolist() == ["unreliable"]
    page = fit_report(short, made).markdown()
    assert "Withheld for" in page
    assert "few effective draws" in page


def test_what_is_no_fit_is_refused():
    with pytest.raises(InputError, match="decisions about it"):
        fit_report(hmetad.from_nr([5, 3], [2, 6]))


def test_a_bad_fit_gets_no_verdict_but_the_reasons():
    models = {"model": ["a", "b"]}
    counts = hmetad.simulate_counts([1.5, 1.5], 0.2, [0.4, 1.6], trials=400, coords=models, seed=1)
    bad = hmetad.fit(counts, **QUIET | {"draws": 20, "tune": 5})
    made = hmetad.decide(hmetad.contrast(bad, var="log_m", over="model"), rope=(-0.05, 0.05))
    report = fit_report(bad, made)
    [row] = next(b.rows for b in report.blocks if getattr(b, "name", "") == "decisions-log_m")
    assert "unreliable" in row
    assert "different" not in row
    assert row[-1].split("; ")[0] in ("R̂ above 1.01", "few effective draws", "divergences")
    for text in (report.html(), report.markdown(), report.latex()):
        assert "Withheld for" in text
        assert "error" in text.partition("Notices")[2]
    record = report.to_dict()
    assert record["decisions"][0]["results"][0]["verdict"] == "unreliable"
    assert "error" in {notice["severity"] for notice in record["notices"]}


def test_models_are_compared_in_numbers_and_words(fit):
    spec = {
        "c_one": fit,
        "c_two": hmetad.fit(fit["observed_data"]["counts"], "individual", **QUIET),
    }
    models = hmetad.compare_models({name: hmetad.loo(one) for name, one in spec.items()})
    report = fit_report(fit, models=models)
    rows = next(b.rows for b in report.blocks if getattr(b, "name", "") == "models")
    assert [row[0] for row in rows] == list(models.index)
    assert [row[1] for row in rows] == models["elpd"].tolist()
    assert [row[-1] for row in rows] == models["in_words"].tolist()
    assert models["in_words"].iloc[0] in report.markdown()


@pytest.mark.parametrize("models", ["a", {"one": 1}])
def test_what_is_no_comparison_of_models_is_refused(fit, models):
    with pytest.raises(InputError, match="what compare_models returned"):
        fit_report(fit, models=models)


LABELS = ["<script>alert(1)</script>", "a|b", "$x_1$", "Müller & 子", "x" * 300]


@pytest.fixture(scope="module")
def hostile():
    """Report on names as they come in log files, from trials on."""
    trials = [
        hmetad.simulate_trials(1.5, m_ratio=0.5 + 0.2 * i, trials=300, seed=i).assign(model=label)
        for i, label in enumerate(LABELS)
    ]
    counts = hmetad.count_trials(pd.concat(trials), by="model", confidence="confidence")
    tiny = hmetad.fit(counts, **QUIET | {"draws": 50, "tune": 50})
    return fit_report(tiny, decided(tiny, 0.05))


def test_names_are_text_in_a_browser(hostile, browser, tmp_path):
    dom = browser(hostile.save(tmp_path / "page.html"))
    assert dom.count("<script") == 1
    words = re.sub("<svg.*?</svg>|<style.*?</style>", "", dom, flags=re.DOTALL)
    for label in LABELS:
        assert html.escape(label, quote=False) in words


def test_names_are_text_in_markdown(hostile):
    page = MarkdownIt("commonmark").enable("table").render(hostile.markdown())
    assert "<script" not in page
    table = page.partition("Data: trials")[2].partition("</table>")[0]
    first = [re.search("<td[^>]*>(.*?)</td>", row)[1] for row in table.split("<tr>")[2:]]
    assert sorted(map(html.unescape, first)) == sorted(LABELS)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_names_are_text_in_latex(hostile, tmp_path):
    hostile.save(tmp_path / "page.tex")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_names_are_whole_in_json(hostile, tmp_path):
    record = json.loads(hostile.save(tmp_path / "page.json").read_text(encoding="utf-8"))
    [decisions] = record["decisions"]
    assert {row[side] for row in decisions["results"] for side in ("left", "right")} == set(LABELS)


def test_a_notebook_shows_the_report_without_script(hostile):
    shown = hostile._repr_html_()
    assert shown.startswith("<style>")
    assert "<script>" not in shown
    assert html.escape(LABELS[0]) in shown


def test_a_quantity_that_is_judged_as_it_is_is_not_called_a_difference(fit):
    alone = fit_report(fit, hmetad.decide(fit["posterior"]["c"], rope=(-0.1, 0.1)))
    page = alone.markdown()
    assert "Is c more than negligibly other than 0?" in page
    assert "ifference in c" not in page
    drawn = hmetad.contrast(fit, var="m_ratio", over="model", kind="log_ratio")
    page = fit_report(fit, hmetad.decide(drawn, rope=(-0.1, 0.1))).markdown()
    assert "Log ratio of M-ratio" in page
    assert "m_ratio" not in page.partition("## Notices")[0]


@pytest.fixture
def own_likelihood():
    """A likelihood with mathematics in its method, forgotten afterwards."""
    own = load_likelihood("signal-detection")
    yield register(replace(own, name="mine", tabulated=("c",), method=r"$\frac{1}{2}$ evidence."))
    REGISTERED.pop("mine")


def test_a_model_of_a_name_and_a_likelihood_alone_is_reported_without_gaps(own_likelihood):
    model = hmetad.ModelSpec("bare", likelihood=own_likelihood.name)
    fit = hmetad.fit(hmetad.simulate_counts([1.5, 2.0], seed=1), model, **QUIET)
    report = fit_report(fit)
    page = report.markdown()
    assert page.startswith("# bare\n")
    assert "## Question" not in page
    assert "card 'bare' of hmetad" in page
    assert "Reference" not in page
    assert r"$\frac{1}{2}$ evidence." in report.html()
    # What the likelihood shows, and no more; its forest is that of d′ all the same.
    assert "| Cell | c | lower | upper |" in page
    assert "d′ of every cell" in page
    assert "Least bulk ESS" in page
    assert "Convergence of all that was sampled." in page
