"""One call reads every kind of log, and says which kinds and options there are."""

import json
from pathlib import Path

import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.base.files import TABLES
from hmetad.logs.kinds import READERS, recognise_kind
from hmetad.logs.samples import read_log

LOGS = Path(__file__).parent / "data"
PAGE = Path(__file__).parents[2] / "docs" / "logs.md"


@pytest.mark.parametrize("kind", READERS)
def test_readers_have_an_executor_and_ways_to_state_confidence_and_those_of_logs_limits(
    kind, tmp_path
):
    # Matlab's files hold numbers: nothing is stated in words.
    stated = set() if kind == "matlab" else {"field", "pattern", "words", "scale"}
    limits = set() if kind in ("table", "lighteval") else {"limits"}
    assert stated | limits | {"executor"} <= {*READERS[kind].options}
    with pytest.raises(InputError, match=r"executor: .*Expected an executor of.*, got 2"):
        READERS[kind].read("t", executor=2)
    with pytest.raises(InputError, match="no such file"):
        read_log(kind, "nowhere.csv")
    with pytest.raises(InputError, match="a folder without"):
        read_log(kind, tmp_path)


def scored_log(kind, folder, scores):
    """A log with one sample for each score."""
    made = [{"doc_id": i, "doc": i, "target": "x", "resps": [["y"]], "filtered_resps": ["y"]}
            for i in range(len(scores))]  # fmt: skip
    if kind == "lm-eval":
        lines = [json.dumps(one | {"acc": x}) for one, x in zip(made, scores, strict=True)]
        (folder / "samples_a.jsonl").write_text("\n".join(lines))
    elif kind == "inspect":
        made = [{"id": i, "epoch": 1, "scores": {"a": {"value": x}}} for i, x in enumerate(scores)]
        log = {"version": 2, "eval": {"task": "a", "model": "b"}, "samples": made}
        (folder / "2026-01-31T10.json").write_text(json.dumps(log))
    elif kind == "lighteval":
        doc = {"choices": ["x"], "gold_index": 0}
        made = [{"doc": doc | {"query": f"{i}"}, "model_response": {"text": ["y"]},
                 "metric": {"metric": x}} for i, x in enumerate(scores)]  # fmt: skip
        pd.DataFrame(made).to_parquet(folder / "details_a_2026-01-31T10-00-00.parquet")
    elif kind == "helm":
        requests = [{"instance": {"id": f"{i}"}} for i in range(len(scores))]
        state = {"adapter_spec": {"method": "generation"}, "request_states": requests}
        (folder / "scenario_state.json").write_text(json.dumps(state))
        made = [{"instance_id": f"{i}", "stats": {"exact_match": x}} for i, x in enumerate(scores)]
        (folder / "per_instance_stats.json").write_text(json.dumps(made))
    else:
        pd.DataFrame({"correct": scores, "x": 1}).to_csv(folder / "a.csv", index=False)
    return folder


GRADED = [kind for kind in READERS if kind != "matlab"]


@pytest.mark.parametrize("kind", GRADED)
def test_a_score_of_0_is_not_wrong_by_itself_where_wrong_answers_score_minus_1(kind, tmp_path):
    log = scored_log(kind, tmp_path, [1, 0, -1])
    trials = read_log(kind, log, grades={"1": True, "-1": False})
    assert trials["correct"].tolist() == [True, pd.NA, False]
    (said,) = [one for one in trials.attrs["rejected"] if "score 0 is not among" in one]
    assert trials.attrs["rejected"][said] == 1
    named = read_log(kind, log, grades={"-1.0": False, "0": False})
    assert named["correct"].tolist() == [True, False, False]
    assert read_log(kind, log, threshold=1)["correct"].tolist() == [True, False, False]


@pytest.mark.parametrize("kind", GRADED)
@pytest.mark.parametrize("score", [-1, 7, -0.5])
def test_a_score_outside_0_and_1_asks_for_its_meaning(kind, score, tmp_path):
    log = scored_log(kind, tmp_path, [1, 0, score])
    with pytest.raises(InputError, match=rf"grades: .*grades=.*got none, for a score of {score}"):
        read_log(kind, log, grades={"P": False})


def test_one_metric_of_lighteval_decides_in_all_samples(tmp_path):
    doc, answer = {"query": "?", "choices": ["x"], "gold_index": 0}, {"text": ["y"]}
    both = [{"em": 1, "f1": 0.5}, {"em": 0, "f1": 1}, {"em": -1, "f1": 0}]
    made = [{"doc": doc, "model_response": answer, "metric": one} for one in both]
    pd.DataFrame(made).to_parquet(tmp_path / "details_a_2026-01-31T10-00-00.parquet")
    trials = read_log("lighteval", tmp_path, grades={"-1": False, "0": False})
    assert trials["correct"].tolist() == [True, False, False]
    made[0]["metric"] = {"em": 0.5, "f1": 0.5}
    pd.DataFrame(made).to_parquet(tmp_path / "details_a_2026-01-31T10-00-00.parquet")
    with pytest.raises(InputError, match="got none, for samples with 'em', 'f1'"):
        read_log("lighteval", tmp_path)


def test_unknown_kinds_and_options_are_refused(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'lm-eval'"):
        read_log("lmeval", tmp_path)
    with pytest.raises(InputError, match="Did you mean 'metric'"):
        read_log("lm-eval", tmp_path, metrics="acc")
    said = "runs: There are: 'columns', 'dec.*got an option that 'table' does not have"
    with pytest.raises(InputError, match=said):
        read_log("table", tmp_path / "t.csv", runs="all")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("samples_a_2026-01-31T10-00-00.1.jsonl", "lm-eval"),
        ("samples_a.jsonl", "lm-eval"),
        ("a.eval", "inspect"),
        ("2026-11-21T19-55-20-00-00_colours_x.json", "inspect"),
        ("details_arc|0_2026-01-31T10-00-00.1.parquet", "lighteval"),
        ("details_of_mine.parquet", "table"),
        ("scenario_state.json", "helm"),
        *((f"answers{suffix}", "table") for suffix in TABLES),
        ("answers.CSV", "table"),
        ("answers.csv.gz", "table"),
    ],
)
def test_a_file_is_known_by_its_name(name, kind, tmp_path):
    (tmp_path / name).touch()
    assert recognise_kind(tmp_path / name) == kind


@pytest.mark.parametrize("name", ["results_2026-01-31T10-00-00.json", "logs.json", "notes.txt"])
def test_a_name_of_no_kind_is_refused_with_the_kinds(name, tmp_path):
    (tmp_path / name).touch()
    for path in (tmp_path / name, tmp_path):
        with pytest.raises(InputError, match=r"Kinds are lm-eval: .*; inspect: .*; table: "):
            recognise_kind(path)


def test_a_folder_is_of_the_kind_of_its_logs(tmp_path):
    assert recognise_kind(LOGS / "inspect") == "inspect"
    assert recognise_kind(LOGS / "lm_eval") == "lm-eval"
    with pytest.raises(
        InputError,
        match="a folder with logs of lm-eval and inspect and lighteval and helm",
    ):
        recognise_kind(LOGS)
    (tmp_path / "answers.csv").touch()
    with pytest.raises(InputError, match="a folder without logs"):
        recognise_kind(tmp_path)
    (tmp_path / "a.eval").touch()
    assert recognise_kind(tmp_path) == "inspect"


@pytest.mark.skipif(not PAGE.is_file(), reason="no documentation beside the tests")
@pytest.mark.parametrize(
    ("kind", "path", "task"),
    [
        ("lm-eval", "lm_eval/house__dummy", "colours"),
        ("inspect", "inspect", "colours"),
        ("lighteval", "lighteval", "colours-0"),
        ("helm", "helm", "colours_joint"),
    ],
)
def test_the_columns_of_a_reader_are_those_of_the_documentation(kind, path, task):
    lines = [line.strip("|").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    rows = [[cell.strip() for cell in line] for line in lines if len(line) == 7]
    place = rows[0].index(kind)
    described = {name for row in rows[2:] if row[place] for name in row[0].split(", ")}
    trials = read_log(kind, LOGS / path, task=task)
    assert described == {f"`{name}`" for name in trials.columns}
