"""Decisions on a page: few as rows, many as rankings and matrices, and all of them as records."""

import csv
import html
import json
import re
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit

import hmetad
from hmetad.report.contents.decided import decision_blocks, pair_matrix, pair_strata
from hmetad.report.contents.tables import decision_table
from hmetad.report.page.blocks import Figure, Matrix, Table
from hmetad.report.page.layout import SIGNS, VERDICTS
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
    return hmetad.report.fit_report(fit, decisions, title="Large")


@pytest.fixture
def small():
    return made_fit(list("abcdefghij"), ["A"], seed=3)


def test_cells_with_columns_left_and_right_are_no_pairs():
    left, right = zip(*combinations("abcd", 2), strict=True)
    draws = np.random.default_rng(1).normal(size=(2, 100, 6))
    sides = {"cell": list("uvwxyz"), "left": ("cell", list(left)), "right": ("cell", list(right))}
    cells = xr.DataArray(draws, sides, ("chain", "draw", "cell"), name="log_m")
    assert pair_strata(hmetad.decide(cells, rope=ROPE)) == []


def test_every_domain_has_a_ranking_and_a_matrix_in_place_of_rows(report):
    matrices = [block for block in report.blocks if isinstance(block, Matrix)]
    rankings = [b for b in report.blocks if isinstance(b, Table) and b.name.endswith("-ranks")]
    assert len(matrices) == len(rankings) == 6
    assert all(len(matrix.levels) == len(table.rows) == 15 for matrix, table in zip(
        matrices, rankings, strict=True))  # fmt: skip
    assert report.html().count("<tr>") < 6 * (15 + 16) + 2 * 91 + 60


def test_matrix_ranking_page_csv_and_record_say_the_same_of_every_pair(report, decisions, tmp_path):
    table = decisions.table()
    expected = {row["label"]: (row["verdict"], row["mean"]) for row in table.to_dict("records")}
    in_matrix = {}
    for block in report.blocks:
        if isinstance(block, Matrix):
            for row, level in zip(block.cells, block.levels, strict=True):
                for cell, other in zip(row, block.levels, strict=False):
                    label = cell[2].partition(":")[0]
                    sign = 1 if label.startswith(f"{level} −") else -1
                    assert {level, other} == set(label.partition(" | ")[0].split(" − "))
                    in_matrix[label] = (cell[0], sign * cell[1])
    assert in_matrix == expected
    record = json.loads(report.save(tmp_path / "x.json").read_text())
    [kept] = record["decisions"]
    assert {r["label"]: (r["verdict"], r["mean"]) for r in kept["results"]} == expected
    report.save(tmp_path / "x.md")
    rows = {}
    for path in (tmp_path / "x_tables").glob("decisions-log-m-?.csv"):
        with path.open(encoding="utf-8") as file:
            found = csv.DictReader(file)
            rows |= {r["Contrast"]: (r["Verdict"], float(r["Mean"])) for r in found}
    assert rows == expected
    page = html.unescape(report.html())
    for word in VERDICTS:
        count = sum(verdict == word for verdict, _ in expected.values())
        assert len(re.findall(rf'<td class="{word}"><abbr', page)) == count


def kinds_and_names(decisions, fit):
    blocks = decision_blocks(decisions, fit)
    return [(type(block).__name__, getattr(block, "name", "")[-6:]) for block in blocks]


def test_only_all_pairs_of_many_are_a_matrix_and_only_what_has_a_best_end_has_ranks(small, fit):
    other = made_fit(list("abcdefghij"), ["A"], seed=4)
    few = made_fit(["a", "b", "c"], ["A", "B"])
    rows = [("Prose", ""), ("Table", "-log_m")]
    matrix = [("Prose", ""), ("Table", "ounted"), ("Matrix", "")]
    ranked = [*matrix[:2], ("Table", "-ranks"), *matrix[2:]]
    for decisions, drawn, expected in (
        (judged(small, within=()), small, ranked),
        # Of other draws, and where more is not better.
        (judged(other, within=()), small, matrix),
        (judged(small, var="c", within=()), small, matrix),
        # The answer comes first, then the rule.
        (judged(fit, against="model 00"), fit, [*rows, ("Prose", "")]),
        (judged(few), few, [*rows, ("Figure", "-log_m"), ("Prose", "")]),
    ):
        assert kinds_and_names(decisions, drawn) == expected
    fits = {"old": made_fit(["a"], ["A"], seed=3), "new": made_fit(["b"], ["A"])}
    drawn = hmetad.contrast(fits, var="log_m", over="model", independent=True)
    page = hmetad.report.fit_report(fits, hmetad.decide(drawn, rope=ROPE))
    assert [type(x).__name__ for x in page.blocks[:4]] == ["Prose", "Prose", "Table", "Figure"]


def test_levels_fall_and_an_uneven_rope_is_judged_in_the_direction_that_is_written(small):
    decisions = hmetad.decide(hmetad.contrast(small, var="log_m", over="model"), rope=(-0.5, 0.01))
    [stratum] = pair_strata(decisions)
    means = small["posterior"]["log_m"].mean(["chain", "draw"])
    assert list(stratum.levels) == [str(means["model"][i].item()) for i in np.argsort(-means)]
    verdicts = dict(decisions.table()[["label", "verdict"]].to_numpy().tolist())
    for row in pair_matrix(decisions, stratum, "All.", name="all").cells:
        for verdict, _, words in row:
            assert verdicts[words.partition(":")[0]] == verdict


def test_matrix_reads_without_sight_or_colour(small):
    decisions = judged(small, within=())
    [stratum] = pair_strata(decisions)
    page = hmetad.Report("R", (pair_matrix(decisions, stratum, "All.", name="all"),)).html()
    assert page.count('scope="col"') == page.count('scope="row"') == 10
    for label, verdict in zip(decisions.table()["label"], stratum.table["verdict"], strict=True):
        sign = re.escape(SIGNS[verdict])
        assert re.search(rf'title="{label}: [^"]*, {verdict}">{sign} <span>', page)
    assert all(f"{sign} {word}" in page for word, sign in SIGNS.items())


def test_ranks_are_those_of_the_same_draws(fit, report):
    ranks = hmetad.rank(fit, var="log_m", over="model", within="domain")
    table = next(b for b in report.blocks if isinstance(b, Table) and b.name.endswith("-1-ranks"))
    part = hmetad.compare.rank_table(ranks).query("domain == 'A'")
    assert [row[0] for row in table.rows] == part["model"].tolist()
    assert [row[4] for row in table.rows] == part["p_best"].tolist()


def test_long_tables_are_cut_in_print_and_whole_beside(report, tmp_path):
    text = report.save(tmp_path / "x.md").read_text(encoding="utf-8")
    assert "The first 60 of 90 rows; all are in estimates.csv." in text
    assert (tmp_path / "x_tables" / "estimates.csv").read_text().count("\n") == 91
    assert "The first 60 of 90 rows; all are in estimates.csv." in report.latex()
    assert report.html().count('class="scroll long"') == 2


def test_many_pairs_of_separate_fits_are_a_ranking_and_a_matrix_too():
    fits = {"old": made_fit(list("abcde"), ["A"], seed=3), "new": made_fit(list("fghij"), ["A"])}
    drawn = hmetad.contrast(fits, var="log_m", over="model", within="domain", independent=True)
    decisions = hmetad.decide(drawn, rope=ROPE)
    report = hmetad.report.fit_report(fits, decisions)
    [matrix] = [block for block in report.blocks if isinstance(block, Matrix)]
    ranking = next(b for b in report.blocks if getattr(b, "name", "").endswith("-ranks"))
    ranks = hmetad.rank(fits, var="log_m", over="model", within="domain", independent=True)
    assert sorted(matrix.levels) == list("abcdefghij")
    assert [row[0] for row in ranking.rows] == hmetad.compare.rank_table(ranks)["model"].tolist()
    assert "The fits are separate" in report.markdown().partition("**Table 1")[0]


def test_many_pooled_pairs_have_one_matrix_and_ranks_over_the_pool():
    names = [(f"m{i}", name) for i in range(12) for name in "xy"]
    models, sets = (list(part) for part in zip(*names, strict=True))
    values = np.random.default_rng(1).normal(0.7, 0.02, (24, 400))
    drawn = xr.Dataset(
        {"auroc2": (("cell", "draw"), values, {"sampling": "independent"})},
        {
            "cell": [" | ".join(one) for one in names],
            "model": ("cell", models),
            "set": ("cell", sets),
        },
    )
    made = hmetad.contrast(drawn, var="auroc2", over="model", pool="set")
    page = hmetad.report.decisions_report(hmetad.decide(made, rope=(-0.01, 0.01)), drawn)
    ranks = [one for one in page.blocks if str(getattr(one, "name", "")).endswith("ranks")]
    assert [len(one.rows) for one in ranks] == [12]


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


def test_record_of_a_report_has_every_number_of_its_tables(few, made, tmp_path):
    report = hmetad.report.fit_report(few, made)
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
    assert record["decisions"] == [hmetad.report.decisions_record(made)]
    assert len(record["blocks"]) == len(report.blocks)


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
        in_markdown = next(x for x in lines if markdown(label) in x)
        assert f"| {number} |" in in_markdown
        assert f"| {verdict} |" in in_markdown
        in_latex = next(x for x in sources if latex(label) in x)
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
        (0.2, 0.02, "b has the higher AUROC2 than a: by 0.20"),
        (0.2, 0.5, "b and a differ in AUROC2 by a negligible amount: 0.20"),
        (0.02, 0.02, "whether b and a differ in AUROC2 is open: by 0.02"),
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
    assert words in page.partition("## Decisions")[0]
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
    with pytest.raises(hmetad.InputError, match="draws: got dims"):
        hmetad.report.decisions_report(judged, hmetad.fit_mle(counts))
