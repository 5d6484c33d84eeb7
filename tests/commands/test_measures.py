"""`hmetad measures` prints and writes what `measure` gives."""

import json

import pandas as pd
import pytest
from command_line import refused, run

import hmetad


def test_every_measure_is_written(folder):
    done = run(folder, "measures trials.csv --by model,task --meta-d -o measures.csv")
    assert "AUROC2" in done.stdout
    table = pd.read_csv(folder / "measures.csv")
    counts = hmetad.count_trials(pd.read_csv(folder / "trials.csv"), by=["model", "task"])
    assert table["m_ratio"].to_numpy() == pytest.approx(hmetad.fit_mle(counts)["m_ratio"])
    assert table["rmi"].to_numpy() == pytest.approx(hmetad.measure(counts)["rmi"])


def test_rows_are_written_and_printed_alike(folder):
    done = run(folder, "measures trials.csv --by model --format csv -o rows.csv")
    assert (folder / "rows.csv").read_text(encoding="utf-8") == done.stdout
    run(folder, "measures trials.csv --by model -o rows.json")
    answer = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    assert list(answer) == ["rows", "notices", "seed", "versions"]
    assert answer["seed"] is None


def test_right_and_wrong_alone_have_intervals(folder):
    options = "--by model --correct hit --interval --draws 50 --seed 1 --json"
    answer = run(folder, f"measures judged.csv {options}").answer
    rows = answer["rows"]
    assert [row["cell"] for row in rows] == ["good", "poor"]
    assert all(row["auroc2_lower"] < row["auroc2"] < row["auroc2_upper"] for row in rows)
    assert "dprime" not in rows[0]
    assert answer["seed"] == 1
    assert answer["intervals"] == {"method": "percentile", "ci_prob": 0.95, "draws": 50}


def test_a_seed_that_was_not_given_makes_the_same_intervals(folder):
    options = "measures judged.csv --by model --correct hit --interval --draws 20 --json"
    first = run(folder, options).answer
    again = run(folder, f"{options} --seed {first['seed']}").answer
    assert again["rows"] == first["rows"]


def test_the_page_can_be_made_again(folder):
    run(folder, "measures trials.csv --by model --interval --draws 20 -o again.html")
    page = (folder / "again.html").read_text(encoding="utf-8")
    assert "--draws 20 -o again.html --seed " in page


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("measures judged.csv --by model --correct hit --meta-d -o never.csv", "stimulus"),
        ("measures judged.csv --by model --correct hti", "Did you mean 'hit'"),
        ("measures trials.csv --correction lots", "correction"),
        ("measures trials.csv --interval --ci-prob 2", "ci-prob"),
        ("measures trials.csv --interval --method best", "--method"),
        ("measures trials.csv -o table.xlsx", ".csv, .json, .html"),
        ("measures none.csv", "no such file"),
    ],
)
def test_what_cannot_be_measured_is_refused(folder, line, says):
    assert says in refused(folder, line)
