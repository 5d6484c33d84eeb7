"""33 models in 6 domains stay readable: rankings and matrices in place of 3168 rows."""

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
from hmetad import InputError
from hmetad.report.contents.decided import decision_blocks, pair_matrix, pair_strata
from hmetad.report.page.blocks import Matrix, Table
from hmetad.report.page.layout import SIGNS, VERDICTS

ROPE = (-0.05, 0.05)
MODELS, DOMAINS = [f"model {i:02d}" for i in range(33)], list("ABCDEF")


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
    assert all(len(matrix.levels) == len(table.rows) == 33 for matrix, table in zip(
        matrices, rankings, strict=True))  # fmt: skip
    page = report.html()
    assert page.count("<tr>") < 6 * (33 + 34) + 2 * 199 + 60
    assert len(page.encode()) < 2e6


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


def test_matrix_reads_without_sight_or_colour(small):
    decisions = judged(small, within=())
    [stratum] = pair_strata(decisions)
    page = hmetad.Report("R", (pair_matrix(decisions, stratum, "All.", name="all"),)).html()
    assert page.count('scope="col"') == page.count('scope="row"') == 10
    for label, verdict in zip(decisions.table()["label"], stratum.table["verdict"], strict=True):
        sign = re.escape(SIGNS[verdict])
        assert re.search(rf'title="{label}: [^"]*, {verdict}">{sign} <span>', page)
    assert all(f"{sign} {word}" in page for word, sign in SIGNS.items())


def test_levels_stand_from_the_largest_to_the_smallest(small):
    [stratum] = pair_strata(judged(small, within=()))
    means = small["posterior"]["log_m"].mean(["chain", "draw"])
    assert list(stratum.levels) == [str(means["model"][i].item()) for i in np.argsort(-means)]


def test_ranks_are_those_of_the_same_draws(fit, report):
    ranks = hmetad.rank(fit, var="log_m", over="model", within="domain")
    table = next(b for b in report.blocks if isinstance(b, Table) and b.name.endswith("-1-ranks"))
    part = hmetad.compare.rank_table(ranks).query("domain == 'A'")
    assert [row[0] for row in table.rows] == part["model"].tolist()
    assert [row[4] for row in table.rows] == part["p_best"].tolist()


def test_decisions_on_other_draws_have_no_ranking(small):
    other = judged(made_fit(list("abcdefghij"), ["A"], seed=4), within=())
    names = [getattr(block, "name", "") for block in decision_blocks(other, small)]
    assert not any(name.endswith("-ranks") for name in names)
    assert any(isinstance(block, Matrix) for block in decision_blocks(other, small))


def test_more_is_not_better_of_a_criterion(small):
    blocks = decision_blocks(judged(small, var="c", within=()), small)
    assert not any(getattr(block, "name", "").endswith("-ranks") for block in blocks)


def test_contrasts_against_one_level_stay_rows(fit):
    blocks = decision_blocks(judged(fit, against="model 00"), fit)
    assert [type(block).__name__ for block in blocks] == ["Prose", "Table"]
    assert len(blocks[1].rows) == 32 * 6


def test_few_decisions_stay_rows_with_a_figure():
    few = made_fit(["a", "b", "c"], ["A", "B"])
    kinds = [type(block).__name__ for block in decision_blocks(judged(few), few)]
    assert kinds == ["Prose", "Table", "Figure"]


def test_asymmetric_rope_is_judged_in_the_direction_that_is_written(small):
    draws = hmetad.contrast(small, var="log_m", over="model")
    decisions = hmetad.decide(draws, rope=(-0.5, 0.01))
    [stratum] = pair_strata(decisions)
    matrix = pair_matrix(decisions, stratum, "All.", name="all")
    verdicts = dict(decisions.table()[["label", "verdict"]].to_numpy().tolist())
    for row in matrix.cells:
        for verdict, _, words in row:
            assert verdicts[words.partition(":")[0]] == verdict


def test_matrix_that_is_no_half_square_is_refused():
    pairs = Table("P", ("a",), ())
    with pytest.raises(InputError, match="rows of 0 to 1 cells"):
        Matrix("M", ("a", "b"), ((), ()), pairs)


def test_long_tables_are_cut_in_print_and_whole_beside(report, tmp_path):
    text = report.save(tmp_path / "x.md").read_text(encoding="utf-8")
    assert "The first 60 of 198 rows; all are in estimates.csv." in text
    assert (tmp_path / "x_tables" / "estimates.csv").read_text().count("\n") == 199
    assert "The first 60 of 198 rows; all are in estimates.csv." in report.latex()
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
    assert [row[1] for row in ranking.rows] == hmetad.compare.rank_table(ranks)[
        "mean_rank"
    ].tolist()
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


def test_few_pairs_of_separate_fits_are_rows_with_a_figure():
    fits = {"old": made_fit(["a"], ["A"], seed=3), "new": made_fit(["b"], ["A"])}
    drawn = hmetad.contrast(fits, var="log_m", over="model", independent=True)
    report = hmetad.report.fit_report(fits, hmetad.decide(drawn, rope=ROPE))
    kinds = [type(block).__name__ for block in report.blocks[:4]]
    assert kinds == ["Prose", "Prose", "Table", "Figure"]
