"""Decisions on a page: few with a figure, many after their ranks, and all of them as records."""

import json
import re

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit

import hmetad
from hmetad.report.contents.decided import decision_blocks
from hmetad.report.contents.tables import decision_table
from hmetad.report.page.blocks import Figure
from hmetad.text.cells import format_cell
from hmetad.text.escape import latex, markdown

ROPE = (-0.05, 0.05)
MODELS, DOMAINS = [f"model {i:02d}" for i in range(15)], list("ABCDEF")


def judged(fit, **kwargs):
    asked = {"var": "log_m", "over": "model", "within": "domain"} | kwargs
    return hmetad.decide(hmetad.contrast(fit, **asked), rope=ROPE)


@pytest.fixture(scope="module")
def fit():
    return made_fit(MODELS, DOMAINS)


@pytest.fixture(scope="module")
def decisions(fit):
    return judged(fit)


@pytest.fixture(scope="module")
def report(fit, decisions):
    ranks = hmetad.rank(fit, var="log_m", over="model", within="domain")
    return hmetad.report.fit_report(fit, decisions, title="Large", ranks=ranks)


@pytest.fixture
def small():
    return made_fit(list("abcdefghij"), ["A"], seed=3)


def kinds_and_names(*given):
    blocks = decision_blocks(*given)
    return [(type(block).__name__, getattr(block, "name", "")[-6:]) for block in blocks]


def test_many_contrasts_have_no_figure_and_are_folded_away_after_ranks(small):
    ranks = hmetad.rank(small, var="log_m", over="model")
    few = made_fit(["a", "b", "c"], ["A", "B"])
    rows = [("Prose", ""), ("Table", "-log_m")]
    many = judged(small, within=())
    assert kinds_and_names(many) == rows
    assert kinds_and_names(many, "", ranks) == [rows[0], ("Table", "-ranks"), rows[1]]
    assert decision_blocks(many, "", ranks)[-1].is_folded
    assert not decision_blocks(many)[-1].is_folded
    # The answer comes first, then the rule.
    assert kinds_and_names(judged(few)) == [*rows, ("Figure", "-log_m"), ("Prose", "")]
    fits = {"old": made_fit(["a"], ["A"], seed=3), "new": made_fit(["b"], ["A"])}
    drawn = hmetad.contrast(fits, var="log_m", over="model", independent=True)
    page = hmetad.report.fit_report(fits, hmetad.decide(drawn, rope=ROPE))
    assert [type(x).__name__ for x in page.blocks[:4]] == ["Prose", "Prose", "Table", "Figure"]
    assert "The fits are separate" in page.markdown().partition("**Table 1")[0]


def test_long_tables_are_cut_in_print_and_whole_beside(report, tmp_path):
    text = report.save(tmp_path / "x.md").read_text(encoding="utf-8")
    assert "The first 60 of 90 rows; all are in estimates.csv." in text
    assert (tmp_path / "x_tables" / "estimates.csv").read_text().count("\n") == 91
    assert "The first 60 of 90 rows; all are in estimates.csv." in report.latex()
    assert report.html().count('class="scroll long"') == 4


@pytest.fixture(scope="module")
def few():
    return made_fit(["a", "b", "c"], ["A", "B"])


@pytest.fixture(scope="module")
def made(few):
    draws = hmetad.contrast(few, var="log_m", over="model", within="domain")
    return hmetad.decide(draws, rope=(-0.05, 0.05), ci_prob=0.9, ci_kind="hdi", comparisons=6)


def test_record_of_decisions_is_complete_and_json(made):
    record = json.loads(json.dumps(hmetad.report.decisions_record(made), allow_nan=False))
    expected = {"quantity": "log_m", "rope": [-0.05, 0.05], "null": 0.0, "ci_prob": 0.9}
    expected |= {"ci_kind": "hdi", "comparisons": 6, "level": pytest.approx(1 - 0.1 / 6)}
    expected |= {"over": "model", "within": "domain", "pairing": "joint"}
    assert {name: record[name] for name in expected} == expected
    table = made.table()
    assert [list(row) for row in record["results"]] == [list(table.columns)] * 6
    for name in table.columns:
        assert [row[name] for row in record["results"]] == table[name].tolist()


def test_one_object_says_the_same_in_every_format(few, made):
    report = hmetad.report.fit_report(few, made)
    alt = next(b.alt for b in report.blocks if isinstance(b, Figure) and "ROPE" in b.caption)
    kept = report.to_dict()["decisions"][0]["results"]
    rows, lines = report.html().split("<tr>"), report.markdown().split("\n")
    sources = report.latex().split("\n")
    for row, record in zip(made.table().to_dict("records"), kept, strict=True):
        label, verdict, number = row["label"], row["verdict"], format_cell(row["mean"])
        in_html = next(x for x in rows if f">{label}<" in x)
        assert f'<span class="verdict {verdict}">' in in_html
        assert f">{number}<" in in_html
        in_markdown = next(x for x in lines if x.startswith(f"| {markdown(label)}"))
        assert f"| {number} |" in in_markdown
        assert f"| {verdict} |" in in_markdown
        in_latex = next(x for x in sources if x.startswith(f"{latex(label)} &"))
        assert f"& {latex(number)} &" in in_latex
        assert f"& {verdict}" in in_latex
        assert f"{label} ({verdict}): {number}" in alt
        assert (record["label"], record["verdict"], record["mean"]) == (label, verdict, row["mean"])


def test_records_have_no_nan_all_notices_and_decisions_that_are_shown_twice_once(few, made):
    undefined = hmetad.decide_normal([0.4, np.nan], [0.05, 0.1], rope=(-np.inf, 0.1))
    record = hmetad.report.decisions_record(undefined)
    assert (record["rope"], record["results"][1]["mean"]) == ([None, 0.1], None)
    assert record["results"][1]["verdict"] == "unreliable"
    fits = {"one": few, "two": made_fit(["a", "b", "c"], ["A", "B"], seed=2)}
    asked = {"var": "log_m", "over": "fit", "within": ("model", "domain"), "independent": True}
    separate = hmetad.decide(hmetad.contrast(fits, **asked), rope=(-0.1, 0.1))
    codes = [notice["code"] for notice in hmetad.report.decisions_record(separate)["notices"]]
    assert "separate-fits" in codes
    assert hmetad.report.decisions_record(made)["notices"] == []
    tables = tuple(decision_table(made, caption) for caption in ("One.", "Two."))
    record = hmetad.Report("R", tables).to_dict()
    assert len(record["decisions"]) == 1
    assert [block["decisions"] for block in record["blocks"]] == [0, 0]


@pytest.mark.parametrize(
    ("gain", "rope", "words"),
    [
        (
            0.2,
            0.02,
            (r"by 0\.20 \[0\.1\d, 0\.2\d\]: different at ± 0\.02"),
        ),
        (0.2, 0.5, r"AUROC2 is lower for a than for b, by 0\.20 .*: negligible at ± 0\.5"),
        (0.02, 0.02, r"lower for a than for b, by 0\.02 .*: inconclusive at ± 0\.02"),
    ],
)
def test_a_page_of_draws_answers_in_words_with_both_values(gain, rope, words):
    rng = np.random.default_rng(1)
    drawn = rng.normal([0.6, 0.6 + gain], 0.02, (500, 2)).T
    cells = {"cell": ["a", "b"], "model": ("cell", ["a", "b"])}
    draws = xr.Dataset(
        {
            "auroc2": (("chain", "cell", "draw"), drawn[None]),
            "accuracy": (("chain", "cell", "draw"), 0.1 + drawn[None]),
            "trials": ("cell", [200, 300]),
        },
        cells,
    )
    judged = hmetad.decide(hmetad.contrast(draws, var="auroc2", over="model"), rope=(-rope, rope))
    page = hmetad.report.decisions_report(judged, draws).markdown()
    answer = page.replace("\\", "").partition("## Decisions")[0].partition("## Answer")[2]
    assert re.search(words, answer)
    assert "Of AUROC2, more is better." in page
    assert "with accuracy" in page
    row = f"| b | 300 | {0.7 + gain:.1f}"
    assert row in page.replace("0.72", "0.7")


def test_a_page_takes_draws_of_resampling_and_refuses_estimates():
    counts = hmetad.simulate_counts([1.0, 2.0], trials=300, seed=1, coords={"model": ["a", "b"]})
    draws = hmetad.resample(counts, hmetad.measures.auroc2, n=100, seed=1)
    judged = hmetad.decide(hmetad.contrast(draws, var="auroc2", over="model"), rope=(-0.02, 0.02))
    page = hmetad.report.decisions_report(judged, draws).markdown()
    assert "What is compared: each model by itself." in page
    with pytest.raises(hmetad.InputError, match=r"draws: .*got dims"):
        hmetad.report.decisions_report(judged, hmetad.fit_mle(counts))
