"""Results of promptfoo are read.

The file in data/promptfoo was written by promptfoo 0.121.20 with a provider of fixed answers:
`promptfoo eval --repeat 2 -o out.json`.
"""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.logs.kinds import recognise_kind
from hmetad.logs.promptfoo import read_promptfoo
from hmetad.logs.repeats import agreement
from hmetad.logs.samples import read_log

LOGS = Path(__file__).parent / "data" / "promptfoo"


@pytest.fixture
def write(tmp_path):
    def written(*results, name="out.json"):
        content = {"results": {"version": 3, "results": list(results)}}
        (tmp_path / name).write_text(json.dumps(content))
        return tmp_path / name

    return written


def result(output="4", success=True, **fields):
    made = {"success": success, "score": float(success), "provider": {"id": "gpt"}, "testIdx": 0}
    return made | {"vars": {"q": "2 + 2"}, "response": {"output": output}} | fields


def test_a_file_is_known_by_its_beginning(write, tmp_path):
    assert recognise_kind(LOGS / "colours.json") == "promptfoo"
    assert recognise_kind(LOGS) == "promptfoo"
    assert recognise_kind(write(result())) == "promptfoo"
    (tmp_path / "other.json").write_text('{"results": {"colours": {}}}')
    with pytest.raises(InputError, match="Name the kind"):
        recognise_kind(tmp_path / "other.json")


def test_results_become_trials():
    trials = read_log("auto", LOGS, field="confidence")
    assert trials["task"].unique().tolist() == ["colours"]
    assert trials["model"].unique().tolist() == ["house/fixed"]
    assert trials["id"].tolist() == list(range(8))
    by_target = trials.groupby("target", sort=False)
    assert by_target["correct"].sum().tolist() == [2, 1, 0, 0]
    assert by_target["correct"].count().tolist() == [2, 2, 2, 0]
    expected = {"green": [0.85, 0.8], "red": [0.7, 0.6], "white": [0.4, 0.35]}
    for target, confidence in expected.items():
        np.testing.assert_allclose(by_target.get_group(target)["confidence"], confidence)
    assert by_target["repeat"].apply(list).tolist() == [[1, 2]] * 4
    assert by_target["item"].nunique().tolist() == [1] * 4
    assert agreement(trials)["samples"].tolist() == [2, 2, 2, 0]
    assert trials.attrs["rejected"] == {
        "no score, the provider or an assertion ended in an error": 2,
        "confidence: missing": 2,
    }


def test_confidence_is_read_from_where_it_stands(write):
    made = result(
        namedScores={"sure": 0.7},
        metadata={"sure": "60%"},
        vars={"sure": "50%"},
        response={"output": {"answer": 4, "sure": "80%"}, "logProbs": [math.log(0.9)]},
    )
    path = write(made)
    found = {
        source: read_promptfoo(path, field="sure", source=source)["confidence"].item()
        for source in ("output", "scores", "metadata", "vars")
    }
    assert found == {"output": 0.8, "scores": 0.7, "metadata": 0.6, "vars": 0.5}
    assert read_promptfoo(path)["confidence"].item() == pytest.approx(0.9)
    assert read_promptfoo(path)["answer"].item() == '{"answer": 4, "sure": "80%"}'


@pytest.mark.parametrize(
    ("logged", "reason"),
    [
        (None, "no log-probabilities"),
        ([-0.1, -0.2], "log-probabilities of several tokens"),
        ([math.nan], "log-probabilities are not finite"),
        (["x"], "log-probabilities are not finite"),
        ([0.5], "log-probabilities are not finite"),
    ],
)
def test_log_probabilities_that_cannot_be_used_are_counted(write, logged, reason):
    trials = read_promptfoo(write(result(response={"output": "4", "logProbs": logged})))
    assert trials["confidence"].isna().all()
    assert trials.attrs["rejected"] == {f"confidence: {reason}": 1}


def test_scores_say_what_is_right(write):
    path = write(result(score=0.6, success=False, namedScores={"exact": 1.0, "style": 0.2}))
    assert read_promptfoo(path)["correct"].tolist() == [False]
    assert read_promptfoo(path, threshold=0.5)["correct"].tolist() == [True]
    assert read_promptfoo(path, metric="exact")["correct"].tolist() == [True]
    assert read_promptfoo(path, metric="style")["correct"].isna().all()
    with pytest.raises(InputError, match="Did you mean 'exact'"):
        read_promptfoo(path, metric="exat")
    # Older providers are names.
    old = result(provider="openai:gpt", testIdx=None)
    assert read_promptfoo(write(old))["model"].tolist() == ["openai:gpt"]


# --- a result on each line ------------------------------------------------------------------

# The rows are those of the .json that promptfoo 0.121.20 wrote, as lines. Their fields are in the
# orders that a row may have: that of the .json, or with these fields first.
ORDERS = [(), ("provider", "prompt", "vars"), ("id", "evalId")]


@pytest.mark.parametrize("first", ORDERS)
def test_lines_are_read_as_the_results_of_one_json(first, tmp_path):
    results = json.loads((LOGS / "colours.json").read_text())["results"]["results"]
    rows = [one | {"evalId": "eval-XNc"} if "evalId" in first else one for one in results]
    lines = [json.dumps({name: one[name] for name in first} | one) for one in rows]
    (tmp_path / "colours.jsonl").write_text("\n".join(lines) + "\n")
    assert recognise_kind(tmp_path / "colours.jsonl") == "promptfoo"
    assert recognise_kind(tmp_path) == "promptfoo"
    found = read_log("auto", tmp_path, field="confidence")
    whole = read_promptfoo(LOGS / "colours.json", field="confidence")
    named = whole.assign(task="colours", log="colours.jsonl")
    pd.testing.assert_frame_equal(found, named)
    assert found.attrs["rejected"] == whole.attrs["rejected"]


def test_a_table_of_lines_stays_a_table(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"id": "a", "correct": 1, "confidence": 0.7}\n')
    assert recognise_kind(tmp_path / "t.jsonl") == "table"
