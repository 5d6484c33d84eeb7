"""Trials that are there twice: files with the same bytes, and rows that are the same."""

import shutil

import numpy as np
import pandas as pd
import pytest
from command_line import run

import hmetad

SIZE = 300


def answers(model="a", seed=1):
    """Graded answers to items, one a row."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "item_id": np.arange(SIZE),
            "model": model,
            "correct": rng.integers(0, 2, SIZE),
            "confidence": rng.integers(0, 101, SIZE),
        }
    )


@pytest.fixture
def folder(tmp_path):
    """A folder in which c.csv is a copy of b.csv."""
    (tmp_path / "in").mkdir()
    answers().to_csv(tmp_path / "in" / "a.csv", index=False)
    answers("b", 2).to_csv(tmp_path / "in" / "b.csv", index=False)
    shutil.copy(tmp_path / "in" / "b.csv", tmp_path / "in" / "c.csv")
    return tmp_path


def messages(found):
    return {notice.code: notice.message for notice in found}


def check(found, copies=SIZE):
    """Both notices: which files are the same, and how many rows."""
    said = messages(found)
    assert "b.csv" in said["same-files"]
    assert "c.csv" in said["same-files"]
    assert "a.csv" not in said["same-files"]
    assert f"{copies} of {3 * SIZE} rows" in said["same-rows"]
    assert "'item_id'" in said["same-rows"]


def test_files_with_the_same_bytes_are_noticed_and_nothing_is_dropped(folder):
    for place in (folder / "in", folder / "in" / "*.csv", sorted((folder / "in").iterdir())):
        counts = hmetad.count_correct(place, by="model", quantiles=3)
        assert counts.sum() == 3 * SIZE
        check(hmetad.notices(counts))
    check(hmetad.notices(hmetad.measures.measure_trials(folder / "in", by="model")))
    for trials in (
        hmetad.logs.read_trials(folder / "in"),
        hmetad.logs.read_log("table", folder / "in"),
    ):
        assert len(trials) == 3 * SIZE
        check(hmetad.logs.frame_notices(trials))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_rows_that_come_twice_in_a_table_are_noticed(tmp_path, suffix):
    twice = pd.concat([answers(), answers().iloc[:7]])
    path = tmp_path / f"trials.{suffix}"
    if suffix == "parquet":
        twice.to_parquet(path, index=False)
    elif suffix == "jsonl":
        twice.to_json(path, orient="records", lines=True)
    else:
        twice.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    for found in (
        hmetad.logs.frame_notices(hmetad.logs.read_table(path)),
        hmetad.notices(hmetad.count_correct(path, quantiles=3)),
        hmetad.notices(hmetad.count_correct(hmetad.logs.read_table(path), quantiles=3)),
    ):
        assert f"7 of {SIZE + 7} rows" in messages(found)["same-rows"]


@pytest.mark.parametrize(
    "columns", [["correct", "confidence"], ["model", "correct", "confidence"]]
)  # fmt: skip
def test_few_columns_without_an_item_tell_nothing(tmp_path, columns):
    pd.concat([answers()] * 2)[columns].to_csv(tmp_path / "trials.csv", index=False)
    found = hmetad.logs.frame_notices(hmetad.logs.read_table(tmp_path / "trials.csv"))
    assert "same-rows" not in messages(found)


def test_people_in_files_of_their_own_give_the_same_answers_by_chance(tmp_path):
    for seed in range(3):
        judged = answers(seed=seed).assign(confidence=1).drop(columns="model")
        judged.to_csv(tmp_path / f"p{seed}.csv", index=False)
    for found in (
        hmetad.notices(hmetad.count_correct(tmp_path, ratings=2)),
        hmetad.logs.frame_notices(hmetad.logs.read_trials(tmp_path)),
    ):
        assert "same-rows" not in messages(found)


def test_answers_that_differ_in_a_column_are_none_that_come_twice(tmp_path):
    asked = pd.concat([answers().assign(epoch=1), answers().assign(epoch=2)])
    asked.to_csv(tmp_path / "trials.csv", index=False)
    assert hmetad.logs.frame_notices(hmetad.logs.read_table(tmp_path / "trials.csv")) == []


def test_lists_in_lines_are_compared(tmp_path):
    lines = '{"item": 1, "p": [0.2, 0.8]}\n{"item": 1, "p": [0.2, 0.8]}\n{"item": 2, "p": null}\n'
    (tmp_path / "trials.jsonl").write_text(lines)
    found = hmetad.logs.frame_notices(hmetad.logs.read_table(tmp_path / "trials.jsonl"))
    assert "1 of 3 rows" in messages(found)["same-rows"]


@pytest.mark.parametrize(
    "line",
    [
        "measures 'in/*.csv' --by model --correct correct --quantiles 3 --json",
        "import table in -o trials.csv --json",
    ],
)
def test_commands_say_it(folder, line):
    codes = [notice["code"] for notice in run(folder, line).answer["notices"]]
    assert codes.count("same-files") == codes.count("same-rows") == 1


def test_copies_of_a_log_are_noticed(tmp_path, log_of_lm_eval):
    for name in ("samples_a_2026-01-01T00.jsonl", "samples_b_2026-01-01T00.jsonl"):
        (tmp_path / name).write_text(log_of_lm_eval)
    trials = hmetad.logs.read_lm_eval(tmp_path)
    assert "samples_b" in messages(hmetad.logs.frame_notices(trials))["same-files"]


@pytest.fixture
def log_of_lm_eval():
    sample = (
        '{"doc_id": %d, "doc": {}, "target": "a", "arguments": [["q", "a"]], "resps": [["a"]], '
        '"filtered_resps": ["a"], "exact_match": 1.0}\n'
    )
    return "".join(sample % number for number in range(3))


@pytest.mark.integration
def test_the_atlas_has_one_model_twice(shared):
    raw = shared / "data" / "cacioli2026_profile_atlas" / "raw"
    trials = hmetad.logs.read_trials(raw, columns={"correct": "is_correct"})
    assert len(trials) == 47749
    said = messages(hmetad.logs.frame_notices(trials))
    assert "results (18).csv.gz" in said["same-files"]
    assert "results (19).csv.gz" in said["same-files"]
    assert "598 of 47,749 rows" in said["same-rows"]
