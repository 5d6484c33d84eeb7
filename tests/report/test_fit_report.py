"""The report of a fit says what was asked, found and decided, and whether the model fits."""

import re
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest
import xarray as xr
from plots.hostile_labels import HOSTILE
from report.made_fit import made_fit

import hmetad
from hmetad import InputError
from hmetad.base.notice import notice_of, with_notices
from hmetad.base.variable_roles import Identity
from hmetad.bayes.finish import with_variable_notices
from hmetad.bayes.fitted import Fitted
from hmetad.likelihood import load_likelihood, register
from hmetad.likelihood.registry import REGISTERED
from hmetad.report import (
    combine_reports,
    convergence_record,
    estimate_table,
    fit_report,
    manuscript_details,
    results_paragraph,
)
from hmetad.report.contents.tables import empty_names, formulas_text, model_table, prior_table
from hmetad.report.page.blocks import Table

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}
NAMES = ["plain", *HOSTILE[2:5]]


@pytest.fixture(scope="module")
def fit():
    return made_fit(NAMES, ["x"])


@pytest.fixture(scope="module")
def draws(fit):
    return hmetad.contrast(fit, var="log_m", over="model")


@pytest.fixture(scope="module")
def decisions(draws):
    return hmetad.decide(draws, rope=(-0.05, 0.05))


def drifting(draws):
    """Draws whose chains disagree, so that verdicts are withheld."""
    moved = draws.assign_attrs(sampling="nuts").copy()
    moved[0] += 2
    return moved


def changed(fit, **variables):
    return fit.assign(posterior=xr.DataTree(fit["posterior"].to_dataset().assign(variables)))


def table(report, name):
    return next(x for x in report.blocks if isinstance(x, Table) and x.name == name)


def test_all_sections_are_there_in_their_order(fit, decisions):
    page = fit_report(fit, decisions, command="hmetad report fit.nc").markdown()
    headings = ["Answer", "Decisions", "Data", "Estimates", "Does the model fit", "Method"]
    headings += ["Session", "For a manuscript"]
    places = [page.index(f"## {heading}") for heading in headings]
    assert places == sorted(places)
    for said in ("Model card individual", "Priors", "Convergence", "To run it again", "Vehtari"):
        assert said in page
    alone = fit_report(fit, question="Who knows?").markdown()
    assert "Who knows?" in alone
    assert "## Decisions" not in alone


def test_verdicts_that_another_choice_changes_withholds_or_gives_are_counted_apart(fit, draws):
    narrow, wide = (hmetad.decide(draws, rope=(-x, x)) for x in (0.05, 3.0))
    withheld = hmetad.decide(drifting(draws), rope=(-0.05, 0.05))
    verdicts = [x.table()["verdict"] for x in (narrow, wide)]
    assert set(withheld.table()["verdict"]) == {"unreliable"}
    changed, given = (verdicts[0] != verdicts[1]).sum(), (verdicts[0] != "unreliable").sum()
    assert changed > 0
    choices = {"wide": wide, "same": narrow, "drift": withheld}
    page = fit_report(fit, narrow, sensitivity=choices).markdown()
    assert f"Verdicts that change, of 6: wide: {changed}; same: 0; drift: 0." in page
    words = "Withheld under another choice, with nothing contrary found"
    assert f"{words}: wide: 0; same: 0; drift: {given}." in page
    other = fit_report(fit, withheld, sensitivity={"more draws": wide}).markdown()
    assert "Verdicts that change" not in other
    assert "Given under another choice alone: more draws: 6." in other
    assert "Withheld under" not in other
    same = fit_report(fit, narrow, sensitivity={"a": narrow, "κ = c": narrow}).markdown()
    words = (
        f"None of the {given} verdicts changes under any of the 2 alternative choices: a, κ = c."
    )
    assert words in same
    assert "κ is the criterion of the response" in same


def test_what_is_no_fit_no_choice_and_no_comparison_is_refused(fit, decisions):
    against = hmetad.contrast(fit, var="log_m", over="model", against="plain")
    part = {"part": hmetad.decide(against, rope=(-1, 1))}
    for given, asked, words in (
        ((fit, decisions), {"sensitivity": part}, "other contrasts in 'part'"),
        ((fit,), {"sensitivity": part}, "no decisions"),
        ((fit,), {"models": "a"}, "what compare_models returned"),
        ((fit,), {"models": {"one": 1}}, "what compare_models returned"),
        ((hmetad.from_nr([5, 3], [2, 6]),), {}, "decisions about it"),
    ):
        with pytest.raises(InputError, match=words):
            fit_report(*given, **asked)
    with pytest.raises(InputError, match="at least one report"):
        combine_reports("None", {})


def test_several_reports_become_one(fit):
    whole = combine_reports("All", {"first": fit_report(fit), "second": fit_report(fit)})
    headings = re.findall("^## (.*)", whole.markdown(), re.MULTILINE)
    assert len(set(headings)) == len(headings)
    assert {"first: Does the model fit?", "second: Does the model fit?"} <= set(headings)


def test_a_withheld_verdict_says_why_everywhere(fit, draws):
    made = hmetad.decide(drifting(draws), rope=(-0.05, 0.05))
    report = fit_report(fit, made)
    for row in table(report, "decisions-log_m").rows:
        assert "unreliable" in row
        assert "different" not in row
        assert row[-1] == "R̂ above 1.01"
    for text in (report.html(), report.markdown(), report.latex()):
        assert "Withheld for" in text
    record = report.to_dict()
    assert {x["verdict"] for x in record["decisions"][0]["results"]} == {"unreliable"}
    bad = with_notices(fit, [hmetad.Notice("rhat", "error", "Chains disagree.")])
    assert "error" in {notice["severity"] for notice in fit_report(bad).to_dict()["notices"]}
    assert "are withheld at ± 0.05" in results_paragraph(fit, made)
    assert "R̂ above 1.01" in report.blocks[0].paragraphs[0]


def test_a_quantity_that_is_judged_as_it_is_is_not_called_a_difference(fit):
    page = fit_report(fit, hmetad.decide(fit["posterior"]["c"], rope=(-0.1, 0.1))).markdown()
    assert "Does c differ from 0 by more than a negligible amount?" in page
    assert "ifference in c" not in page
    drawn = hmetad.contrast(fit, var="m_ratio", over="model", kind="log_ratio")
    page = fit_report(fit, hmetad.decide(drawn, rope=(-0.1, 0.1))).markdown()
    assert "Log ratio of M-ratio" in page
    assert "m_ratio" not in page.partition("## Notices")[0].partition("## Data")[0]


@pytest.fixture
def own_likelihood():
    """A likelihood with mathematics in its method, forgotten afterwards."""
    own = load_likelihood("signal-detection")
    yield register(replace(own, name="mine", tabulated=("c",), method=r"$\frac{1}{2}$ evidence."))
    REGISTERED.pop("mine")


def test_a_model_of_a_name_and_a_likelihood_alone_is_reported_without_gaps(own_likelihood):
    model = hmetad.ModelSpec("bare", likelihood=own_likelihood.name)
    counts = hmetad.simulate_counts([1.5, 2.0], seed=1)
    report = fit_report(hmetad.fit(counts, model, draws=200, chains=2, **QUIET))
    page = report.markdown()
    assert page.startswith("# bare\n\n- Model")
    assert "card 'bare' of hmetad" in page
    assert "Reference" not in page
    assert r"$\frac{1}{2}$ evidence." in report.html()
    # What the likelihood shows, and no more; its forest is that of d′ all the same.
    assert "| Cell | c | lower | upper |" in page
    assert "d′ of every cell" in page
    assert "Least bulk ESS" in page
    assert "Convergence of all that was sampled." in page


# Tables of estimates


def test_log_m_has_its_mean_and_equal_tailed_interval_and_stays_off_the_page(fit):
    frame = estimate_table(fit, ci_prob=0.9)
    drawn = fit["posterior"]["log_m"].transpose("cell", ...).to_numpy().reshape(4, -1)
    np.testing.assert_allclose(frame["log_m"], drawn.mean(axis=1))
    for side, tail in (("lower", 0.05), ("upper", 0.95)):
        expected = np.quantile(drawn, tail, axis=1)
        # ArviZ's quantiles of 1000 draws may lie a neighbour further.
        np.testing.assert_allclose(frame[f"log_m_{side}"], expected, atol=2e-3)
    columns = table(fit_report(fit), "estimates").columns
    assert (len(columns), any("log" in name for name in columns)) == (13, False)
    without = fit["posterior"].to_dataset().drop_vars("log_m")
    rest = estimate_table(fit.assign(posterior=xr.DataTree(without)), ci_prob=0.9)
    assert rest.equals(frame.drop(columns=["log_m", "log_m_lower", "log_m_upper"]))


@pytest.mark.parametrize(("code", "words"), [("meta-d-sign.cells", "M ≤ 0"), ("rhat.cells", "R̂ a")])
def test_the_row_of_a_cell_without_a_verdict_is_marked_with_the_reason(fit, code, words):
    cells = fit["posterior"]["cell"].values.tolist()
    m_ratio = with_notices(fit["posterior"]["m_ratio"], [notice_of(code, [cells[1]], names="c")])
    shown = table(fit_report(changed(fit, m_ratio=m_ratio)), "estimates")
    assert (shown.columns[-1], "log M cannot" in shown.note) == ("Withheld for", "M" in words)
    assert [row[0] for row in shown.rows if row[-1].startswith(words)] == [cells[1]]


@pytest.mark.parametrize(("share", "is_beyond"), [(0.04, False), (0.06, True)])
def test_log_m_that_is_undefined_in_many_draws_has_no_mean(fit, share, is_beyond):
    log_m, number = fit["posterior"]["log_m"], fit["posterior"].sizes["draw"] * share
    kept = (log_m["draw"] >= number) | (log_m["cell"] != log_m["cell"][0])
    frame = estimate_table(changed(fit, log_m=log_m.where(kept)))
    columns = ["log_m", "log_m_lower", "log_m_upper"]
    assert frame[columns].isna().to_numpy().tolist() == [[is_beyond] * 3, *[[False] * 3] * 3]
    assert frame["m_ratio"].notna().all()
    if not is_beyond:
        own = log_m.transpose("cell", ...)[0, :, round(number) :]
        assert frame["log_m"][0] == pytest.approx(float(own.mean()))


# The paragraph for a manuscript


def test_numbers_of_the_paragraph_are_those_of_the_decisions_and_of_the_sampling(fit):
    pair = fit["posterior"].to_dataset().isel(cell=[0, 1])
    made = hmetad.decide(hmetad.contrast(pair, var="log_m", over="model"), rope=(-0.1, 0.1))
    text, row, record = results_paragraph(fit, made), made.table().iloc[0], convergence_record(fit)
    report = fit_report(fit, made)
    assert report.blocks[-2].paragraphs == (text,)
    ends = sorted(abs(row[x]) for x in ("mean", "lower", "upper"))
    assert all(f"{end:.2f}" in text for end in ends)
    assert f"{row['verdict']} at ± 0.1" in text
    assert f"R̂ ≤ {record['rhat']:.3f}, ESS ≥ {record['ess_bulk']:,}"[:12] in text
    assert "no divergent transitions" in text
    assert "3,200 trials in 4 cells, with 4 levels of confidence" in text
    details = manuscript_details(fit)
    assert dict(table(report, "manuscript").rows) == details
    assert details["Largest R̂"].startswith(f"{record['rhat']:.3f} (")
    assert re.match(rf"{record['ess_bulk']:,} \(\w+\)", details["Smallest bulk ESS"])
    assert len(text.split()) <= 120


@pytest.fixture(scope="module")
def of_people():
    """Twelve people, one with confidence that runs backward; 2 trials unrated, 40 unanswered."""
    who = {"subject": [f"p{i:02d}" for i in range(12)], "group": ["x", "y"] * 6}
    m_ratio = [0.8] * 11 + [-0.6]
    trials = hmetad.simulate_trials([1.5] * 12, m_ratio=m_ratio, trials=300, coords=who, seed=1)
    trials = trials.astype({"confidence": float})
    trials.loc[[0, 5], "confidence"] = np.nan
    trials = trials.loc[[*trials.index, *range(40)]].reset_index(drop=True)
    trials["idk"] = trials.index >= 3600
    counts = hmetad.count_trials(trials, by=["subject", "group"], ratings=4, abstained="idk")
    return {n: hmetad.fit(counts, "group", draws=n, **QUIET) for n in (1000, 50)}


def test_formulas_and_priors_of_criteria_are_left_out_without_ratings():
    spec = hmetad.load_model("judge_group")
    roles = Identity("coefficient", "log_gap", "judge").attrs
    gaps = xr.DataArray(np.zeros((1, 2, 3, 2, 0)), dims=["chain", "draw", "judge_dim", "r", "k"])
    posterior = xr.Dataset({"log_gap_judge": gaps.assign_attrs(roles)})
    empty = empty_names(xr.DataTree.from_dict({"posterior": posterior}))
    assert empty == {"log_gap", "log_gap_judge"}
    assert not any("log_gap" in str(row[0]) for row in model_table(spec, empty).rows)
    assert "log_gap" not in formulas_text(spec, empty)
    assert "log_gap_judge" not in [row[0] for row in prior_table(spec, empty).rows]


def test_people_rows_left_out_and_low_m_are_counted(of_people):
    text = results_paragraph(of_people[1000], labels={"subject": "Person"})
    assert text.startswith("The data were 3,598 trials of 12 participants in 12 cells, with 4")
    assert "Withheld: M in 1 of 12 cells: M ≤ 0 in p11 | y." in text
    assert f"the card 'group' (A group of observers) of hmetad {version('hmetad')} (4,000" in text
    assert "In the population, M-ratio is 0." in text
    assert len(text.split()) <= 120
    details = manuscript_details(of_people[1000])
    assert (
        "2 of 3,600 rows dropped for a missing value, in confidence (2)."
        in (details["Rows excluded"])
    )
    assert "40 of 3,638 trials were abstained from (" in details["Rows excluded"]
    assert details["M or d′ ≤ 0 by maximum likelihood"] == "1 of 12 participants"
    assert details["Formulas"] == "log M-ratio, d′, c, log_gap ~ 1 + (1|subject)"


def test_what_concerns_the_whole_fit_is_said_before_any_estimate(of_people):
    named = notice_of("reversed-scale", number=9, cells=12, where="")
    text = results_paragraph(
        with_variable_notices(Fitted.of(with_notices(of_people[1000], [named])))
    )
    assert text.startswith("These estimates must not be reported before the following is fixed. C")
    assert "Confidence is lower for correct answers in 9 of 12 cells: the scale seems" in text


def test_where_sampling_failed_it_is_said_first_and_beside_the_estimates_as_such(of_people):
    for draws, has_failed in {1000: False, 50: True}.items():
        fit = of_people[draws]
        codes = {one.code for one in hmetad.notices(fit) if one.severity == "error"}
        assert has_failed == bool(codes & {"rhat", "ess", "divergences"})
        text = results_paragraph(fit)
        assert text.startswith("These estimates must not be reported") == has_failed
        assert ("ESS below 400 for" in text) == has_failed
        assert len(text.split()) <= 120
    named = "R̂ above 1.01 for log_gap_1|subject_sigma: the chains disagree."
    beside = with_notices(of_people[1000], [hmetad.Notice("rhat", "error", named)])
    text = results_paragraph(beside)
    assert "must not be reported" not in text
    assert text.startswith("The following failed in parts of the model that no estimate here rests")
    assert "log_gap_1|subject_sigma" in text


def test_divergences_are_those_that_the_notice_counts():
    """Cells that share nothing diverge in the same draws, and in draws that are not kept."""
    fit = made_fit(list("AB"), ["x"])
    cells = fit["posterior"].sizes["cell"]
    stats = fit["sample_stats"].to_dataset().assign(divergences=("cell", np.full(cells, 3)))
    fit = fit.assign(sample_stats=xr.DataTree(stats))
    assert convergence_record(fit)["divergences"] == 3 * cells


def test_convergence_is_that_of_all_that_was_sampled(of_people):
    """A parameter other than M that mixes badly is what the paragraph and the record tell."""
    name, fit = "log_gap_Intercept", of_people[1000].copy()
    values = fit["posterior"][name]
    fit = changed(fit, **{name: values + 5 * values["chain"]})
    details, record = manuscript_details(fit), convergence_record(fit)
    assert record["rhat"] > 1.5
    assert record["ess_bulk"] < 50
    assert details["Largest R̂"] == f"{record['rhat']:.3f} ({name})"
    assert details["Smallest bulk ESS"] == f"{record['ess_bulk']} ({name})"
