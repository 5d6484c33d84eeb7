"""Logs that the real tools wrote are read as the tools themselves scored them.

Those in data/lm_eval and data/inspect were written by lm-eval 0.4.13 and inspect-ai 0.3.285, with
models of fixed answers to six questions; paths of the machine were removed.
"""

import json
from pathlib import Path

import numpy as np

from hmetad.counts.judged import count_judged
from hmetad.logs.samples import read_log

LOGS = Path(__file__).parent / "data"
STATED = [0.85, 0.7, 0.9, 0.4, np.nan, np.nan]


def test_options_of_lm_eval_have_the_probabilities_that_the_tool_recorded():
    """Probabilities, choices and correctness are those that the tool itself recorded."""
    (path,) = (LOGS / "lm_eval").rglob("samples_colours_2*.jsonl")
    samples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    trials = read_log("lm-eval", LOGS / "lm_eval", task="colours")
    assert trials["model"].unique().tolist() == ["house/dummy"]
    assert trials["task"].unique().tolist() == ["colours"]
    assert trials["doc_id"].tolist() == list(range(6))
    assert trials["item"].tolist() == [sample["doc_hash"] for sample in samples]
    assert trials["target"].tolist() == [0, 1, 2, 3, 0, 1]
    # The tool writes its own softmax as text, with 8 digits.
    recorded = [[*map(float, s["brier_score"][1].strip("[]").split())] for s in samples]
    np.testing.assert_allclose(trials["option_probabilities"].tolist(), recorded, atol=1e-8)
    np.testing.assert_allclose(trials["confidence"], np.max(recorded, axis=1), atol=1e-8)
    for normalise, metric in (("none", "acc"), ("characters", "acc_norm"), ("bytes", "acc_bytes")):
        trials = read_log("lm-eval", LOGS / "lm_eval", task="colours", normalise=normalise)
        assert trials.attrs["rejected"] == {}
        assert trials["correct"].tolist() == [bool(sample[metric]) for sample in samples]
        assert (trials["correct"] == (trials["chosen"] == trials["target"])).all()


def test_responses_of_lm_eval_state_their_confidence():
    """Of a generation task the filter chooses the answer, and the response states confidence."""
    options = {"task": "colours_open", "field": "confidence", "scale": "percent"}
    trials = read_log("lm-eval", LOGS / "lm_eval", answer_filter="answer", **options)
    np.testing.assert_allclose(trials["confidence"], STATED)
    assert trials["chosen"].tolist()[:3] == ["green", "red", "deep blue"]
    assert trials["correct"].tolist() == [True, True, True, False, True, False]
    assert trials["option_probabilities"].tolist() == [None] * 6
    assert sum(trials.attrs["rejected"].values()) == 2
    assert "<script>alert(1)</script>" in {e["said"] for e in trials.attrs["examples"]}


def test_letters_of_inspect_have_their_probabilities_in_every_epoch():
    """Log-probabilities of the letters become probabilities, in every epoch."""
    trials = read_log("inspect", LOGS / "inspect", task="colours")
    assert trials[["id", "epoch"]].apply(tuple, axis=1).tolist() == [
        ("grass", 1),
        (7, 1),
        ("grass", 2),
        (7, 2),
    ]
    assert trials["correct"].tolist() == [True, False] * 2
    assert trials["target"].tolist() == ["A", "B"] * 2
    assert trials["answer"].tolist() == ["A"] * 4
    odds = np.exp([-0.2, -1.8])
    np.testing.assert_allclose(trials["option_probabilities"].tolist(), [odds / odds.sum()] * 4)
    np.testing.assert_allclose(trials["confidence"], odds[0] / odds.sum())


def test_samples_of_inspect_state_their_confidence():
    """Confidence is read from the completion, from the score and from the sample."""
    options = {"task": "colours_open", "scorer": "includes"}
    said = read_log("inspect", LOGS / "inspect", field="confidence", scale="percent", **options)
    np.testing.assert_allclose(said["confidence"], STATED)
    assert said["correct"].tolist() == [True, True, True, False, True, False]
    kept = read_log("inspect", LOGS / "inspect", source="metadata", field="sure", **options)
    np.testing.assert_allclose(kept["confidence"], np.arange(45, 100, 10) / 100)
    options["scorer"] = "sure"
    scored = read_log("inspect", LOGS / "inspect", source="score", **options)
    np.testing.assert_allclose(scored["confidence"], np.where(said["correct"], 0.75, 0.25))
    assert (scored["correct"] == said["correct"]).all()


def test_scores_of_a_log_are_the_columns_of_a_judge():
    """The grade of a scorer of Inspect, and a metric of lm-eval, next to another as the label."""
    graded = read_log("inspect", LOGS / "inspect", task="colours_open", scorer="all")
    assert graded["correct"].isna().all()
    assert graded.attrs["rejected"]["no score was chosen"] == 6
    judged = count_judged(graded, by=(), label="includes", verdict="sure")
    assert judged.sum(("response", "rating")).values.tolist() == [[2, 4]]
    kept = read_log("inspect", LOGS / "inspect", task="colours_open", scorer="sure")
    assert (kept["correct"] == graded["includes"]).all()
    metrics = read_log("lm-eval", LOGS / "lm_eval", task="colours_open", metric="all")
    chosen = read_log("lm-eval", LOGS / "lm_eval", task="colours_open")
    assert metrics["exact_match"].tolist() == chosen["correct"].tolist()
