"""`hmetad import` writes trials that the other commands read."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run, tells
from scipy.io import savemat

from hmetad.commands.import_log import trials_csv, trials_parquet
from hmetad.rows.files import read_table

LOGS = Path(__file__).parents[1] / "logs" / "data"


@pytest.mark.parametrize(
    "log",
    ["lm-eval {}/lm_eval/house__dummy", "inspect {}/inspect --task colours",
     "lm-eval {}/lm_eval/house__fixed --answer-filter first --field confidence"],
)  # fmt: skip
def test_logs_become_trials_measures_and_a_report(tmp_path, log):
    done = run(tmp_path, f"import {log.format(LOGS)} -o trials.csv --json")
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


def test_a_table_without_what_is_judged_says_which_kinds_of_logs_there_are(tmp_path):
    (tmp_path / "own.csv").write_text("ok,sure\n1,0.5\n0,0.6\n")
    line = "import table own.csv -o out.csv --json"
    done = run(tmp_path, line)
    assert "no column 'correct' or 'confidence'" in done.stderr
    assert "inspect: logs of Inspect" in done.stderr
    assert done.answer["absent"] == ["correct", "confidence"]
    for option in ("correct=ok", "confidence=sure"):
        done = run(tmp_path, f"{line} --columns {option}")
        assert "no column" not in done.stderr
        assert "absent" not in done.answer


def test_a_folder_of_tasks_with_several_filters_says_which_one_counts(tmp_path):
    line = f"import lm-eval {LOGS / 'lm_eval'} -o trials.csv --json"
    done = run(tmp_path, line)
    assert done.answer["filters"] == {"colours": "none", "colours_open": "first"}
    assert "colours_open: first, not answer" in done.stderr
    assert [notice["code"] for notice in done.answer["notices"]] == ["filter-chosen"]
    answer = run(tmp_path, f"{line} --answer-filter colours_open=answer").answer
    assert answer["filters"] == {"colours": "none", "colours_open": "answer"}
    assert (answer["notices"], answer["trials"]) == ([], 12)


@pytest.mark.parametrize(
    "line",
    ["inspect --task colours", "table", "helm --task colours_separate"],
)
def test_the_kind_need_not_be_given(tmp_path, line):
    (tmp_path / "t.csv").write_text("correct,confidence\n1,0.5\n0,0.6\n")
    kind, _, options = line.partition(" ")
    path = "t.csv" if kind == "table" else LOGS / kind.replace("-", "_")
    for number, given in enumerate((kind, "")):
        run(tmp_path, f"import {given} {path} {options} -o out{number}.csv")
    assert len({path.read_text() for path in tmp_path.glob("out*.csv")}) == 1
    trials = pd.read_csv(tmp_path / "out0.csv").dropna(subset=["confidence"])
    assert trials["confidence"].between(0, 1).all()
    assert trials["correct"].notna().all()


def test_agreement_over_epochs_is_confidence(tmp_path):
    options = "--task colours --agreement modal --json"
    done = run(tmp_path, f"import inspect {LOGS / 'inspect'} {options} -o trials.csv")
    trials = pd.read_csv(tmp_path / "trials.csv")
    assert trials[["samples", "confidence"]].values.tolist() == [[2, 1], [2, 1]]
    assert done.answer["trials"] == 2
    # Of the log-probabilities, which are no longer the confidence, nothing is said.
    assert done.answer["notices"] == []


SETS = """model,set,item,epoch,answer,correct
m,math,0,1,4,1
m,math,0,2,4,1
m,code,0,1,7,0
m,code,0,2,8,0
"""


def test_questions_of_two_sets_with_one_number_are_told_apart_by_columns(tmp_path):
    (tmp_path / "t.csv").write_text(SETS)
    line = "import table t.csv --agreement modal -o out.csv --json"
    said = refused(tmp_path, line)
    assert "got none, where answers to one item differ in 'set' (in 1 items)" in said
    assert "Name all such columns with --by, for instance 'model', 'set'." in said
    assert run(tmp_path, f"{line} --by model,set").answer["trials"] == 2
    assert pd.read_csv(tmp_path / "out.csv")["set"].tolist() == ["math", "code"]
    done = run(tmp_path, f"{line} --by model")
    assert done.answer["notices"][0]["code"] == "merged-answers"


REFUSED = {
    "lm-eval lm_eval --words sure=x": "a number for each word",
    "lm-eval lm_eval --scale procent": "Expected probability, percent.*got 'procent'",
    "lm-eval lm_eval --limit line=x": "an integer for each limit, as in line=20000",
    "lm-eval lm_eval --confidence-from score": "No such option: --confidence-from",
    "lm-eval lm_eval --workers 0": "--workers",
    "inspect inspect --grades P=maybe": "true, false or abstained",
    "table t.csv --ratings 4": "--ratings: .*got no column 'confidence'",
    "table t.csv --grades yes=true": "Name it with --columns.",
    "table t.csv --agreement modal": "--agreement: .*got none, for columns",
    "table said.csv --agreement modal": "--agreement: .*got at most one answer to each of 2",
    "table said.csv --by item": "--by has an effect only with --agreement",
    "table out.csv": "--output: .*got the input 'out.csv'",
    "dataset michael": "Did you mean 'michael2026'?",
    "table t.csv --describe": "--output does not go with --describe",
    "table t.csv --columns correct": "--columns: .*Expected name=value.*got 'correct'",
    "x t.csv": "KIND: .*Expected one of lm-eval, inspect, lighteval.*got 'x'",
    "lmeval lm_eval": "Did you mean 'lm-eval'?",
    "notes.txt": "Name the kind. Kinds are lm-eval: sample logs of lm-evaluation-harness",
    "--json t.csv": "KIND: .*Expected a kind of log, or the path, before options.*got --json",
    "lm-eval": "Missing argument 'PATH'",
    "table t.csv -o out.json": "a name that ends in .csv, .parquet, .jsonl",
}


@pytest.mark.parametrize(("line", "says"), REFUSED.items())
def test_an_error_names_the_option_that_was_typed(tmp_path, line, says):
    for name in ("lm_eval", "inspect"):
        (tmp_path / name).symlink_to(LOGS / name)
    texts = {"t.csv": 'item,option_probabilities\n1,"[0.2, 0.8]"\n', "out.csv": "item\n1\n"}
    texts["said.csv"] = "item,answer,correct\n1,a,1\n2,b,0\n"
    texts |= dict.fromkeys(("notes.txt", "several/a.eval", "several/samples_a.jsonl"), "")
    (tmp_path / "several").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    savemat(tmp_path / "m.mat", {"nR_S1": [3, 2, 1, 0], "nR_S2": [0, 1, 2, 4]})
    output = "" if "-o" in line.split() else "-o out.csv"
    assert tells(refused(tmp_path, f"import {line} {output}"), says)


def test_tables_of_a_pattern_in_other_words_are_read(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("item ok sure\n1 Yes 80%\n2 no 60%\n3 eh high\n")
    options = "--columns correct=ok,confidence=sure --grades yes=true,no=false --scale percent"
    done = run(tmp_path, f"import table '*.txt' {options} --delimiter space -o out.csv --json")
    trials = pd.read_csv(tmp_path / "out.csv")
    assert trials["file"].tolist() == ["a.txt"] * 3 + ["b.txt"] * 3
    assert trials["correct"].tolist()[:2] == [True, False]
    assert trials["confidence"].tolist()[:2] == [0.8, 0.6]
    assert done.answer["rejected"] == {
        "correct: score 'eh'": 2,
        "confidence: a word without a number (words=)": 2,
    }
    assert done.answer["delimiter"] == "space"


def test_decimal_commas_are_said_or_asked_for(tmp_path):
    (tmp_path / "t.csv").write_text("correct;confidence;rt\n1;0,85;0,5\n0;0,6;2\n")
    done = run(tmp_path, "import table t.csv -o out.csv --json")
    assert pd.read_csv(tmp_path / "out.csv")["confidence"].tolist() == [0.85, 0.6]
    assert done.answer["decimal_commas"] == ["confidence"]
    assert done.answer["undecided_commas"] == ["rt"]
    assert 'undecided commas: ["rt"]' in done.stderr
    assert "Give --decimal comma if they are numbers." in done.stderr
    run(tmp_path, "import table t.csv --decimal comma -o out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["rt"].tolist() == [0.5, 2]
    run(tmp_path, "import table t.csv --decimal point -o out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["confidence"].tolist() == ["0,85", "0,6"]


@pytest.mark.parametrize("log", ["lm_eval --runs all", "helm"])
def test_trials_are_written_as_parquet_and_lines_with_the_values_of_the_csv(tmp_path, log):
    kind = log.split()[0].replace("_", "-")
    for suffix in ("csv", "parquet", "jsonl"):
        run(tmp_path, f"import {kind} {LOGS}/{log} -o trials.{suffix}")
    written = pd.read_csv(tmp_path / "trials.csv")
    for suffix in ("parquet", "jsonl"):
        found = read_table(tmp_path / f"trials.{suffix}")
        assert list(found) == list(written)
        np.testing.assert_allclose(found["confidence"].astype(float), written["confidence"], 1e-12)
        assert found["correct"].isna().tolist() == written["correct"].isna().tolist()
        assert found["correct"].dropna().tolist() == written["correct"].dropna().tolist()
        for name in {"option_probabilities"} & {*found}:
            lists = [list(one) for one in found[name].dropna()]
            assert lists == [json.loads(one) for one in written[name].dropna()]
        run(tmp_path, f"measures trials.{suffix} --correct correct --by model,task --json")


def test_undefined_numbers_are_read_and_never_written_as_json(tmp_path):
    lines = [
        '{"item": 1, "correct": 1, "confidence": NaN, "options": [0.2, NaN]}',
        '{"item": 2, "correct": 0, "confidence": 0.5, "options": {"a": -Infinity}}',
        '{"item": 3, "correct": 1, "confidence": 0.7, "options": null}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    for suffix in ("jsonl", "csv"):
        done = run(tmp_path, f"import table in.jsonl -o out.{suffix} --json")
        assert {row["column"]: row["missing"] for row in done.answer["rows"]}["confidence"] == 1
        text = (tmp_path / f"out.{suffix}").read_text()
        assert not [word for word in ("NaN", "Infinity") if word in text]
        answer = run(tmp_path, f"measures out.{suffix} --correct correct --json").stdout
        assert "NaN" not in answer
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert (first["options"], first["confidence"]) == ([0.2, None], None)


def test_values_that_hold_others_or_are_of_several_types_are_written_as_json_and_text():
    values = [{"a": ["b"]}, [1, None], (0.5, 2), np.array([1.0, 2.5]), {"a": np.array([1])}, "x"]
    values += [{"at": pd.Timestamp("2026-01-31")}, None]
    written = pd.read_csv(io.StringIO(trials_csv(pd.DataFrame({"meta": values}))))["meta"]
    parsed = [json.loads(text) for text in written.drop(5).dropna()]
    expected = [{"a": ["b"]}, [1, None], [0.5, 2], [1.0, 2.5], {"a": [1]}]
    assert parsed == [*expected, {"at": "2026-01-31 00:00:00"}]
    assert written[5] == "x"
    frame = pd.DataFrame({"chosen": [1, "a", None], "lists": [[0.5], None, [1.0, 2.0]]})
    found = pd.read_parquet(io.BytesIO(trials_parquet(frame)))
    assert found["chosen"].fillna("").tolist() == ["1", "a", ""]
    assert [*found["lists"][2]] == [1.0, 2.0]


def test_trials_need_a_file_and_guesses_none(tmp_path):
    (tmp_path / "t.csv").write_text("correct,confidence\n1,2\n0,1\n")
    assert tells(refused(tmp_path, "import table t.csv"), "--output: .*Expected .csv.*got none")
    run(tmp_path, "import table t.csv --describe")
    line = "import table t.csv --describe --columns correct=x"
    assert "--columns does not go with --describe" in refused(tmp_path, line)


@pytest.mark.parametrize("place", ["raw", "'raw/*.csv'"])
def test_tables_together_are_guessed_and_their_decimal_commas_are_read(place, tmp_path):
    rows = [f"{s};{r};0,{c}" for s in "LR" for r in "LRLRL" for c in (5, 75, 9)]
    (tmp_path / "raw").mkdir()
    for subject in ("p1", "p2"):
        lines = ["subj;stim;resp;conf", *(f"{subject};{row}" for row in rows)]
        (tmp_path / "raw" / f"{subject}.csv").write_text("\n".join(lines))
    done = run(tmp_path, f"import table {place} --describe --json")
    found = {one["fact"]: one["guess"] for one in done.answer["rows"]}
    assert found["subject"] == "subj"
    assert found["levels"] == [0.5, 0.75, 0.9]
    run(tmp_path, f"import dataset {place} -o trials.csv")
    trials = pd.read_csv(tmp_path / "trials.csv")
    assert len(trials) == 60
    assert sorted(trials["confidence"].unique()) == [1, 2, 3]


def test_a_table_that_nobody_described_is_guessed_with_reasons(tmp_path):
    rows = ["participant,stim,choice,sure,phase"]
    rows += [
        f"{k // 40},{'LR'[k % 2]},{'LR'[(k + (k % 5 == 0)) % 2]},{1 + k % 5},main"
        for k in range(200)
    ]
    (tmp_path / "raw.csv").write_text("\n".join([*rows, "4,L,L,1,practice"]))
    done = run(tmp_path, "import table raw.csv --describe --json")
    said = {one["fact"]: one for one in done.answer["rows"]}
    assert said["response"]["guess"] == "choice"
    assert said["labels"]["reason"] == "they agree in 80.0% of trials"
    run(tmp_path, "import dataset raw.csv -o trials.csv")
    trials = pd.read_csv(tmp_path / "trials.csv")
    assert trials.columns.tolist() == ["subject", "stimulus", "response", "confidence", "correct"]
    assert (len(trials), trials["correct"].sum()) == (200, 160)


@pytest.mark.integration
def test_other_processes_read_the_files_where_workers_are_asked_for(tmp_path):
    line = f"import lm-eval {LOGS}/lm_eval --field confidence"
    run(tmp_path, f"{line} -o one.csv")
    run(tmp_path, f"{line} -o two.csv --workers 2")
    assert (tmp_path / "two.csv").read_text() == (tmp_path / "one.csv").read_text()
