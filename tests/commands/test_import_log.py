"""`hmetad import` writes trials that the other commands read."""

from pathlib import Path

import pandas as pd
import pytest
from command_line import refused, run

from hmetad.commands.import_log import KINDS
from hmetad.logs.readers import READERS

LOGS = Path(__file__).parents[1] / "logs" / "data"


@pytest.mark.parametrize(
    ("log", "options"),
    [
        ("lm-eval lm_eval/house__dummy", ""),
        ("lm-eval lm_eval/house__fixed", "--answer-filter first --field confidence"),
        ("inspect inspect", "--task colours"),
    ],
)
def test_logs_become_trials_measures_and_a_report(tmp_path, log, options):
    kind, place = log.split()
    done = run(tmp_path, f"import {kind} {LOGS / place} {options} -o trials.csv --json")
    assert "Written: trials.csv" in done.stderr
    trials = pd.read_csv(tmp_path / "trials.csv")
    present = {row["column"]: row["present"] for row in done.answer["rows"]}
    assert present == trials.notna().sum().to_dict()
    assert done.answer["trials"] == len(trials)
    trials = trials.dropna(subset=["confidence", "correct"])
    trials["rating"] = (trials["confidence"] > trials["confidence"].median()) + 1
    trials.to_csv(tmp_path / "rated.csv", index=False)
    judged = "--correct correct --confidence rating --ratings 2"
    run(tmp_path, f"measures rated.csv --by model {judged} -o page.html")
    assert "There is no stimulus" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_table_is_parsed_and_what_cannot_be_is_counted(tmp_path):
    (tmp_path / "raw.csv").write_text("ok,sure\n1,85%\n0,20%\n1,very likely\n0,dunno\n")
    options = "--columns correct=ok,confidence=sure --words 'very likely=0.9' --json"
    done = run(tmp_path, f"import table raw.csv {options} -o out.csv")
    assert "rejected" in done.stderr
    assert done.answer["rejected"]
    assert pd.read_csv(tmp_path / "out.csv")["confidence"].tolist()[:3] == [0.85, 0.2, 0.9]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("import csv raw.csv -o out.csv", "kind: got 'csv'"),
        ("import table none.csv -o out.csv", "no such file"),
        ("import table raw.csv -o out.json", "a name that ends in .csv"),
        ("import table raw.csv --words sure -o out.csv", "--words"),
        ("import table raw.csv --columns correct -o out.csv", "--columns"),
        ("import inspect raw.csv --grades P=maybe -o out.csv", "true or false"),
        ("import lm-eval raw.csv -o out.csv", "raw.csv"),
        ("import dataset michael -o out.csv", "Did you mean 'michael2026'?"),
        ("import dataset michael2026 --field sure -o out.csv", "--field"),
        ("import inspect raw.csv --confidence-from text -o o.csv", "--confidence-from: got 'text'"),
        ("import lm-eval raw.csv --confidence-from score -o out.csv", "--confidence-from: got"),
        ("import dataset michael2026 --confidence-from score -o o.csv", "--confidence-from: got"),
        ("import table raw.csv", "--output"),
    ],
)
def test_what_cannot_be_imported_is_refused(tmp_path, line, says):
    (tmp_path / "raw.csv").write_text("ok,sure\n1,85%\n")
    assert says in refused(tmp_path, line)


def test_kinds_of_logs_are_those_that_are_read():
    assert set(KINDS) == set(READERS)
