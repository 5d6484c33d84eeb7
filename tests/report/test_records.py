"""Every number of a report and of decisions is there as JSON, in full."""

import json

import numpy as np
import pytest
from report.made_fit import made_fit

import hmetad
from hmetad.report.contents.tables import decision_table
from hmetad.report.page.blocks import Figure, Table
from hmetad.text.cells import format_cell
from hmetad.text.escape import latex, markdown


@pytest.fixture(scope="module")
def fit():
    return made_fit(["a", "b", "c"], ["A", "B"])


@pytest.fixture(scope="module")
def decisions(fit):
    draws = hmetad.contrast(fit, var="log_m", over="model", within="domain")
    return hmetad.decide(draws, rope=(-0.05, 0.05), ci_prob=0.9, ci_kind="hdi", comparisons=6)


def test_record_of_decisions_is_complete_and_json(decisions):
    record = json.loads(json.dumps(hmetad.report.decisions_record(decisions), allow_nan=False))
    asked = {k: record[k] for k in ("quantity", "rope", "null", "ci_prob", "ci_kind")}
    assert asked == {
        "quantity": "log_m",
        "rope": [-0.05, 0.05],
        "null": 0.0,
        "ci_prob": 0.9,
        "ci_kind": "hdi",
    }
    assert record["comparisons"] == 6
    assert np.isclose(record["level"], 1 - 0.1 / 6)
    assert (record["over"], record["within"], record["pairing"]) == ("model", "domain", "joint")
    table = decisions.table()
    assert [list(row) for row in record["results"]] == [list(table.columns)] * 6
    for name in table.columns:
        assert [row[name] for row in record["results"]] == table[name].tolist()


def test_record_of_one_sided_and_undefined_decisions_has_no_nan():
    made = hmetad.decide_normal([0.4, np.nan], [0.05, 0.1], rope=(-np.inf, 0.1))
    record = hmetad.report.decisions_record(made)
    assert record["rope"] == [None, 0.1]
    assert record["results"][1]["mean"] is None
    assert record["results"][1]["verdict"] == "unreliable"


def test_notices_of_decisions_are_in_their_record(fit, decisions):
    separate = hmetad.contrast(
        {"one": fit, "two": made_fit(["a", "b", "c"], ["A", "B"], seed=2)},
        var="log_m",
        over="fit",
        within=("model", "domain"),
        independent=True,
    )
    record = hmetad.report.decisions_record(hmetad.decide(separate, rope=(-0.1, 0.1)))
    assert "separate-fits" in [notice["code"] for notice in record["notices"]]
    assert hmetad.report.decisions_record(decisions)["notices"] == []


def test_record_of_a_report_has_every_number_of_its_tables(fit, decisions, tmp_path):
    report = hmetad.report.fit_report(fit, decisions)
    record = json.loads(report.save(tmp_path / "x.json").read_text(encoding="utf-8"))
    assert record["title"] == report.title
    assert {entry["name"]: entry["value"] for entry in record["meta"]}["Seed"] == "1"
    tables = [block for block in report.blocks if isinstance(block, Table)]
    kept = [block for block in record["blocks"] if block["kind"] == "table"]
    for table, entry in zip(tables, kept, strict=True):
        assert entry["columns"] == list(table.columns)
        assert entry["rows"] == [list(row) for row in table.rows]
    [shown] = [entry for entry in kept if entry["decisions"] == 0]
    assert shown["name"] == "decisions-log_m"
    assert record["decisions"] == [hmetad.report.decisions_record(decisions)]
    assert len(record["blocks"]) == len(report.blocks)


def test_decisions_shown_twice_are_kept_once(decisions):
    tables = tuple(decision_table(decisions, caption) for caption in ("One.", "Two."))
    record = hmetad.Report("R", tables).to_dict()
    assert len(record["decisions"]) == 1
    assert [block["decisions"] for block in record["blocks"]] == [0, 0]


def line_with(text, words, separator="\n"):
    """First part of a text that holds the words."""
    return next(part for part in text.split(separator) if words in part)


def test_one_object_says_the_same_in_every_format(fit, decisions):
    report = hmetad.report.fit_report(fit, decisions)
    alt = next(b.alt for b in report.blocks if isinstance(b, Figure) and "ROPE" in b.caption)
    kept = report.to_dict()["decisions"][0]["results"]
    for row, record in zip(decisions.table().to_dict("records"), kept, strict=True):
        label, verdict, number = row["label"], row["verdict"], format_cell(row["mean"])
        in_html = line_with(report.html(), f">{label}<", "<tr>")
        assert f'<span class="verdict {verdict}">' in in_html
        assert f">{number}<" in in_html
        in_markdown = line_with(report.markdown(), markdown(label))
        assert f"| {number} |" in in_markdown
        assert f"| {verdict} |" in in_markdown
        in_latex = line_with(report.latex(), latex(label))
        assert f"& {latex(number)} &" in in_latex
        assert f"& {verdict}" in in_latex
        assert f"{label} ({verdict}): {number}" in alt
        assert (record["label"], record["verdict"], record["mean"]) == (label, verdict, row["mean"])
