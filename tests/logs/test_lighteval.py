"""Details of lighteval are read.

The tables in data/lighteval were written by lighteval 0.13.0 (`lighteval custom`, --save-details)
with a model of fixed answers; only their names have "-" for "|".
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from logs.log_claims import check_colours

from hmetad.base.errors import InputError
from hmetad.counts.noticed import frame_notices
from hmetad.logs.kinds import recognise_kind
from hmetad.logs.lighteval import read_lighteval
from hmetad.logs.repeats import agreement
from hmetad.logs.samples import read_log

LOGS = Path(__file__).parent / "data" / "lighteval"
RUN = "2024-01-31T10-00-00.000001"
CHOICE = "colours-0"
OPEN = "colours_open-0"


@pytest.fixture
def write(tmp_path):
    def written(rows, task="leaderboard|arc:challenge|25", run=RUN, model="house/old"):
        path = tmp_path / "details" / model / run / f"details_{task}_{run}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_parquet(path)
        return path

    return written


def new(logprobs=(-1.0, -2.0), gold=0, text=(), options=(" a", " b"), name="0", **metrics):
    doc = {"query": f"q{name}", "choices": list(options), "gold_index": gold, "id": name}
    response = {"logprobs": list(logprobs), "text": list(text)}
    return {"doc": doc, "model_response": response, "metric": metrics or {"acc": 1}}


def test_options_become_probabilities_as_the_tool_scored_them():
    trials = read_log("auto", LOGS, task=CHOICE).sort_values("id")
    assert trials["model"].unique().tolist() == ["house/fixed"]
    # The tool's own metric, which the tables hold.
    assert trials["correct"].tolist() == [True, False, False, True]
    check_colours(trials)
    assert trials["item"].nunique() == 4
    assert trials.attrs["rejected"] == {}


def test_responses_state_their_confidence():
    trials = read_lighteval(LOGS, task=OPEN, pattern="([0-9]+%) sure").sort_values("id")
    assert trials["correct"].tolist() == [True, True, False, False]
    assert trials["target"].tolist() == ["green", "red", "deep blue", "white"]
    np.testing.assert_allclose(trials["confidence"], [np.nan, np.nan, 0.6, 0.85])
    assert trials["chosen"].tolist()[3] == "I'm 85% sure of white."
    assert len(read_lighteval(LOGS)) == 8


@pytest.mark.parametrize(
    "row",
    [
        new(),
        new(logprobs=[-1.0, -2.0, -5.0, -1.0]),
    ],
)
def test_unconditioned_options_change_nothing(write, row):
    path = write([row])
    assert recognise_kind(path) == "lighteval"
    trials = read_lighteval(path)
    assert trials["task"].item() == "leaderboard|arc:challenge|25"
    assert trials["model"].item() == "house/old"
    assert trials["run"].item() == RUN
    assert trials[["chosen", "target", "correct"]].values.tolist() == [[0, 0, True]]
    assert trials["confidence"].item() == pytest.approx(1 / (1 + np.exp(-1)))


def test_generation_tasks_have_text_and_several_responses_agree(write):
    row = new(logprobs=[], text=["4\nConfidence: 90%"], options=["4"], em=1)
    trials = read_lighteval(write([row]), field="confidence")
    assert trials[["target", "correct", "confidence"]].values.tolist() == [["4", True, 0.9]]
    row = new(logprobs=[], text=["#### 4", "#### 5", "?"], options=["4"], **{"pass@1": 1})
    trials = read_lighteval(write([row]), answer_pattern="#### ([0-9])")
    assert trials["answers"].tolist() == [["4", "5", None]]
    assert trials["chosen"].tolist() == [None]
    assert trials.attrs["rejected"] == {"several answers": 1}


# As the tool names it: with its parameters, one of them the place of a function in memory.
VOTE = "maj@n:n={}&strip_strings=True&normalize_pred=<function math_normalizer at 0x7f01>"


def test_the_grade_of_a_vote_is_that_of_the_answer_that_won(write):
    said = [["#### 5", "#### 4", "#### 4", "#### 5"], ["#### 5", "#### 4", "?", "?"]]
    row, unsaid = (new(logprobs=[], text=x, options=["4"], **{VOTE.format(3): 1}) for x in said)
    trials = read_lighteval(write([row, unsaid]), answer_pattern="#### ([0-9])")
    assert trials["chosen"].tolist() == ["4", "5"]
    assert trials["correct"].tolist() == [True, True]
    assert trials.attrs["rejected"] == {}
    unsaid["model_response"]["text"] = said[1][1:]
    trials = read_lighteval(write([row, unsaid]), answer_pattern="#### ([0-9])")
    assert trials["chosen"].tolist()[0] == "4"
    assert trials["chosen"].isna().tolist() == [False, True]
    assert trials.attrs["rejected"] == {"several answers": 1}
    # Texts that all differ may have the same answer.
    unsaid["model_response"]["text"] = said[1]
    assert read_lighteval(write([row, unsaid]))["chosen"].isna().tolist() == [False, True]
    agreed = agreement(trials.assign(item=[0, 1]), of="graded")
    assert agreed[["answer", "correct", "confidence"]].values.tolist()[0] == ["4", True, 0.5]


def test_a_metric_is_chosen_without_its_parameters(write):
    metrics = {VOTE.format(2): 1, "pass@k:k=1&n=2": 0}
    path = write([new(logprobs=[], text=["4", "4"], options=["4"], **metrics)])
    with pytest.raises(InputError, match=r"none, for samples with 'maj@n', 'pass@k'"):
        read_lighteval(path)
    for metric, right in (("maj@n", True), ("pass@k", False), ("pass@k:k=1&n=2", False)):
        trials = read_lighteval(path, metric=metric)
        assert trials["correct"].tolist() == [right]
        assert trials["chosen"].tolist() == ["4" if right else None]
    metrics["pass@k:k=2&n=2"] = 1
    path = write([new(logprobs=[], text=["4", "4"], options=["4"], **metrics)])
    with pytest.raises(InputError, match=r"metric: .*got 'pass@k'"):
        read_lighteval(path, metric="pass@k")


def test_metrics_lengths_and_several_right_options(write):
    trials = read_lighteval(write([new(acc=0), new(gold=1, acc=0, name="1")]))
    assert trials["confidence"].isna().tolist() == [True, False]
    assert trials.attrs["rejected"] == {"the option chosen contradicts the metric": 1}
    assert [notice.code for notice in frame_notices(trials)] == ["confidence-of-the-choice"]
    rows = [new(options=(" aaaa", " b"), acc=1, acc_norm=0, gold=1, logprobs=(-2.0, -3.0))]
    trials = read_lighteval(write(rows), normalise="characters")
    assert trials[["chosen", "correct"]].values.tolist() == [[0, False]]
    both = read_lighteval(write([new(gold=[0, 1], acc=1)]))
    assert both[["target", "correct"]].values.tolist() == [["[0, 1]", True]]


def test_runs_and_metrics_are_chosen(write, tmp_path):
    write([new()])
    write([new()], run="2025-01-31T10-00-00.000001")
    with pytest.raises(InputError, match=r"runs: .*got none, for 2 runs of task 'leaderboard\|arc"):
        read_lighteval(tmp_path)
    assert read_lighteval(tmp_path, runs="latest")["run"].str[:4].tolist() == ["2025"]
    assert len(read_lighteval(tmp_path, runs="all")) == 2
    path = write([new(logprobs=[], text=["4"], options=["4"], em=1, qem=0)], task="sums|0")
    with pytest.raises(InputError, match=r"metric: .*got none, for samples with 'em', 'qem'"):
        read_lighteval(path)
    assert read_lighteval(path, metric="qem")["correct"].tolist() == [False]
    assert read_lighteval(path, metric={"sums|0": "em"})["correct"].tolist() == [True]
    with pytest.raises(InputError, match="Did you mean 'qem'"):
        read_lighteval(path, metric="qme")


@pytest.mark.parametrize("text", ["[1, 2]", "{'a': 1}", "[a()]"])
def test_text_that_looks_like_a_list_stays_text(write, text):
    row = new(logprobs=[], text=[text], options=[text], em=1)
    trials = read_lighteval(write([row]))
    assert trials[["chosen", "target"]].values.tolist() == [[text, text]]


def test_tables_of_old_versions_are_refused(write):
    row = {"example": "q", "choices": ["a", "b"], "gold_index": [0]}
    row |= {"predictions": [-1.0, -2.0], "metrics": {"acc": 1}}
    with pytest.raises(InputError, match=r"lighteval 0\.10 or older.*without 'doc' and 'metric'"):
        read_lighteval(write([row]))
