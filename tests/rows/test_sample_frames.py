"""Frames of Inspect, Every Eval Ever and uqlm go in as they are, and abstentions are no errors."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hmetad
from hmetad.cli import app
from hmetad.logs import frame_notices, trials_of

GRADES = ["C", "I", "P", "N", None, None] * 2


@pytest.fixture
def inspect_frame():
    """As `samples_df` with EvalModel, SampleSummary and SampleScores: text of Arrow."""
    n = len(GRADES)
    columns = {
        "sample_id": [f"u{i}" for i in range(n)],
        "eval_id": "e",
        "model": "gpt",
        "id": [f"{i}" for i in range(n)],
        "epoch": 1,
        "metadata_confidence": 0.5,
        "score_match": GRADES,
        "score_match_answer": "4",
        "score_match_metadata": ['{"confidence": 0.9}', '{"confidence": 0.4}', *[None] * (n - 2)],
        "score_match_reason": [None] * 4 + ["refusal"] + [None] * (n - 5),
        "error": ["", "", "", "", "", "RuntimeError('boom')"] * 2,
        "limit": [None] * 10 + ["token", None],
    }
    frame = pd.DataFrame(columns)
    texts = ["score_match", "score_match_metadata", "score_match_reason", "error", "limit"]
    return frame.astype(dict.fromkeys(texts, "string[pyarrow]"))


def instances(*results, confidence=True):
    """Rows of an instance file: each sample once for each result."""
    rows = []
    for i, (score, error) in enumerate([(1.0, None), (0.0, None), (0.5, None), (0.0, "timeout")]):
        for result in [None] if error else results:
            evaluation = {"score": score, "is_correct": score > 0}
            evaluation |= {"confidence": 0.8 - i / 10} if confidence else {}
            row = {"evaluation_id": "e", "model_id": "org/m", "evaluation_name": "sums"}
            row |= {"evaluation_result_id": result, "sample_id": f"q{i}", "error": error}
            rows.append({**row, "evaluation": evaluation, "metadata": {"epoch": "1"}})
    return pd.DataFrame(rows)


def test_grades_of_inspect_are_correct_wrong_partial_or_abstained(inspect_frame):
    trials = trials_of(inspect_frame)
    assert trials["correct"].iloc[:6].tolist() == [True, False, *[pd.NA] * 4]
    assert trials["abstained"].iloc[:6].tolist() == [*[None] * 3, "no answer", "refusal", None]
    assert trials["abstained"].iloc[10] == "limit: token"
    assert trials["item"].tolist() == inspect_frame["id"].tolist()
    expected = {"partial credit": 2, "no answer": 2, "refusal": 1, "error": 2, "limit: token": 1}
    assert trials.attrs["rejected"] == expected


def test_confidence_is_that_of_the_score_before_that_of_the_sample(inspect_frame):
    assert trials_of(inspect_frame)["confidence"].iloc[:2].tolist() == [0.9, 0.4]
    plain = inspect_frame.drop(columns="score_match_metadata")
    assert trials_of(plain)["confidence"].tolist() == [0.5] * 12
    own = inspect_frame.assign(sure=0.7)
    assert trials_of(own, confidence="sure")["confidence"].tolist() == [0.7] * 12


def test_a_notice_names_what_was_read(inspect_frame):
    (read,) = frame_notices(trials_of(inspect_frame))
    assert "correct from 'score_match', confidence from 'score_match_metadata'" in read.message
    assert "without a grade: partial credit 2; no answer 2; refusal 1; error 2" in read.message


def test_a_frame_goes_in_as_it_is(inspect_frame):
    frame = inspect_frame.drop(columns="score_match_metadata")
    trials = trials_of(frame)
    for measured in (
        lambda table: hmetad.measures.measure_trials(table, by="model"),
        lambda table: hmetad.count_correct(table.assign(rating=1), confidence="rating"),
    ):
        assert measured(frame).equals(measured(trials))
    codes = [one.code for one in hmetad.notices(hmetad.measures.measure_trials(frame))]
    assert codes[0] == "samples-read"


def test_nobody_abstained_is_a_coverage_of_all(inspect_frame):
    frame = inspect_frame.iloc[:2].drop(columns="limit")
    assert trials_of(frame)["abstained"].tolist() == [None, None]
    for table in (frame, instances("acc")):
        measured = hmetad.measures.measure_trials(table, abstained="abstained", penalty=2)
        assert measured["coverage"].item() == 1


def test_a_frame_with_a_choice_stays_as_it_is(inspect_frame):
    frame = inspect_frame.assign(score_human=["C", "I"] * 6, own=[1, 0] * 6, abstained=[0, 1] * 6)
    named = {"correct": "own", "confidence": "metadata_confidence"}
    assert hmetad.measures.measure_trials(frame, **named)["trials"].item() == 12
    judged = hmetad.count_judged(frame, by=(), label="own", verdict="abstained")
    assert judged.sum().item() == 12
    with pytest.raises(hmetad.InputError, match=r"a frame of Inspect\. .*scorer="):
        hmetad.measures.measure_trials(frame)
    assert trials_of(frame, scorer="human")["abstained"].tolist() == [0, 1] * 6


def test_commands_take_the_file_of_a_frame(inspect_frame, tmp_path):
    file = tmp_path / "samples.parquet"
    inspect_frame.drop(columns="score_match_metadata").to_parquet(file)
    found = CliRunner().invoke(
        app, ["measures", str(file), "--by", "model", "--correct", "correct"]
    )
    assert found.exit_code == 0, found.stderr
    assert "gpt" in found.stdout
    imported = tmp_path / "trials.csv"
    found = CliRunner().invoke(app, ["import", "table", str(file), "-o", str(imported)])
    assert found.exit_code == 0, found.stderr
    assert pd.read_csv(imported)["correct"].notna().sum() == 4


def test_instances_count_each_answer_once_and_partial_credit_as_missing():
    trials = trials_of(instances("match:accuracy", "match:stderr"))
    assert trials[["model", "task", "item"]].iloc[0].tolist() == ["org/m", "sums", "q0"]
    assert trials["correct"].tolist() == [True, False, pd.NA, pd.NA]
    assert trials["confidence"].tolist() == pytest.approx([0.8, 0.7, 0.6, 0.5])
    assert trials.attrs["rejected"] == {"partial credit": 1, "error": 1}
    without = instances("match:accuracy", confidence=False)
    assert "confidence" not in trials_of(without)
    # The schema has texts in metadata.
    for said, read in (("0.5", 0.5), ("85%", "85%")):
        stated = without.assign(metadata=[{"confidence": said}] * 4)
        assert trials_of(stated)["confidence"].tolist() == [read] * 4


def test_instances_of_a_file_of_lines_go_in_as_they_are(tmp_path):
    file = tmp_path / "x_samples.jsonl"
    instances("acc").to_json(file, orient="records", lines=True)
    found = hmetad.measures.measure_trials(file, by="model")
    assert found["cell"].item() == "org/m"
    assert found["trials"].item() == 2


def test_results_that_disagree_need_a_choice():
    frame = instances("acc", "acc_norm")
    frame.loc[1, "evaluation"]["score"] = 0.0
    frame.loc[1, "evaluation"]["is_correct"] = False
    with pytest.raises(hmetad.InputError, match="scorer='acc'"):
        trials_of(frame)
    assert trials_of(frame, scorer="acc_norm")["correct"].tolist()[:2] == [False, False]


def test_scores_of_uqlm_are_confidence_of_graded_responses():
    frame = pd.DataFrame({"prompt": ["2+2?", "3+3?"], "response": ["4", "7"]})
    frame = frame.assign(noncontradiction=[0.9, 0.2], num_semantic_set=1.0)
    with pytest.raises(hmetad.InputError, match="Grade the responses"):
        trials_of(frame, model="gpt")
    frame["is_correct"] = [True, False]
    trials = trials_of(frame, model="gpt")
    assert trials[["model", "item", "confidence"]].values.tolist()[0] == ["gpt", "2+2?", 0.9]
    several = frame.assign(other=0.5, certain=[1, 0])
    with pytest.raises(hmetad.InputError, match="scorer"):
        trials_of(several, model="gpt")
    assert trials_of(several, model="gpt", confidence="certain")["confidence"].tolist() == [1, 0]
    # It has the columns already, under the names of uqlm.
    named = {"correct": "is_correct", "confidence": "noncontradiction"}
    one, other = (
        hmetad.measures.measure_trials(trials),
        hmetad.measures.measure_trials(frame, **named),
    )
    assert one["auroc2"].item() == other["auroc2"].item() == 1
    with pytest.raises(hmetad.InputError, match=r"a frame of uqlm\. .* hmetad\.logs\.trials_of"):
        hmetad.measures.measure_trials(frame)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda x: x.drop(columns="model"), "model='NAME'"),
        (lambda x: x.assign(score_choice="C"), "scorer='match'"),
        (lambda x: x.assign(error="boom"), "failed='missing'"),
        (lambda x: x.drop(columns=[c for c in x if c.startswith("score")]), "scorer"),
        (lambda x: x[["sample_id", "epoch"]], "frame"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_the_option_that_helps(inspect_frame, change, named):
    with pytest.raises(hmetad.InputError) as error:
        trials_of(change(inspect_frame))
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("score", [[1, 0], {"apt": 1}, np.array([1, 0])])
def test_a_score_of_several_values_is_a_text_that_measures_refuse(inspect_frame, score):
    own = pd.Series([score, *GRADES[1:]], dtype=object)
    assert trials_of(inspect_frame.assign(score_match=own))["correct"].iloc[0] == str(score)
    with pytest.raises(hmetad.InputError, match="correct"):
        hmetad.measures.measure_trials(inspect_frame.assign(score_match=own))
    rows = instances("acc")
    rows.loc[0, "evaluation"]["score"] = score
    assert trials_of(rows)["correct"].tolist()[:2] == [True, False]
    frame = pd.DataFrame({"prompt": ["a", "b"], "response": "c", "correct": [score, True]})
    assert trials_of(frame.assign(p=0.5), model="m")["correct"].tolist() == [str(score), True]


def test_headline_scores_of_the_evaluation_are_no_scorers(inspect_frame):
    both = inspect_frame.assign(score_headline_value=0.5, score_headline_name="match")
    assert trials_of(both)["correct"].equals(trials_of(inspect_frame)["correct"])


def test_half_failed_is_read_where_the_user_says_how(inspect_frame):
    frame = inspect_frame.assign(error="boom")
    assert trials_of(frame, failed="missing")["abstained"].isna().all()
    assert trials_of(frame, failed="abstained")["abstained"].tolist() == ["error"] * 12
