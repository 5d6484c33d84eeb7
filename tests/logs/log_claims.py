"""What holds of the logs that make_fixtures.py makes, whenever it made them."""

import json

import numpy as np
import pytest
from hypothesis import strategies as st

from hmetad.base.errors import InputError
from hmetad.counts.counting import count_correct
from hmetad.counts.ratings import bin_confidence
from hmetad.logs.samples import read_log

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


COLOURS = [[-0.5, -1.5, -3.0, -2.5], [-1.0, -1.25, -2.0, -4.0], [-2.0, -3.0, -2.5, -4.0]]
COLOURS += [[-3.0, -3.5, -5.0, -1.0]]


def check_colours(trials):
    """Probabilities of four options to four questions, of a model of fixed log-probabilities."""
    odds = np.exp(COLOURS)
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(trials["option_probabilities"].tolist(), expected)
    np.testing.assert_allclose(trials["confidence"], expected.max(axis=1))
    assert trials["target"].tolist() == [0, 1, 2, 3]
    assert trials["chosen"].tolist() == [0, 0, 0, 3]


TEXTS = ["<script>alert(1)</script>", "\x00\x07\x1b[31m", "=1+1", "\ud800", "y" * 5000]


def check_texts(found):
    """Text is data, whatever is in it; halves of characters are shown, long text is cut."""
    assert found[:4] == [*TEXTS[:3], "\\ud800"]
    assert len(found[4]) == 1000


def check_read_or_refused(kind, path, options):
    """Whatever stands in a log: a table that can be written, or an error in words."""
    try:
        trials = read_log(kind, path, **options)
    except InputError:
        return
    json.dumps(trials.attrs)
    assert trials.to_csv(index=False).encode()
    assert trials["confidence"].dropna().between(0, 1).all()


STATED = [0.85, 0.7, 0.9, 0.4, np.nan, np.nan]


def check_lm_eval_options(folder):
    """Probabilities, choices and correctness are those that the tool itself recorded."""
    (path,) = (folder / "lm_eval").rglob("samples_colours_2*.jsonl")
    samples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    trials = read_log("lm-eval", folder / "lm_eval", task="colours")
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
        trials = read_log("lm-eval", folder / "lm_eval", task="colours", normalise=normalise)
        assert trials.attrs["rejected"] == {}
        assert trials["correct"].tolist() == [bool(sample[metric]) for sample in samples]
        assert (trials["correct"] == (trials["chosen"] == trials["target"])).all()


def check_lm_eval_responses(folder):
    """Of a generation task the filter chooses the answer, and the response states confidence."""
    options = {"task": "colours_open", "field": "confidence", "scale": "percent"}
    trials = read_log("lm-eval", folder / "lm_eval", answer_filter="answer", **options)
    np.testing.assert_allclose(trials["confidence"], STATED)
    assert trials["chosen"].tolist()[:3] == ["green", "red", "deep blue"]
    assert trials["correct"].tolist() == [True, True, True, False, True, False]
    assert trials["option_probabilities"].tolist() == [None] * 6
    assert sum(trials.attrs["rejected"].values()) == 2
    assert "<script>alert(1)</script>" in {e["said"] for e in trials.attrs["examples"]}


def check_inspect_options(folder):
    """Log-probabilities of the letters become probabilities, in every epoch."""
    trials = read_log("inspect", folder / "inspect", task="colours")
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


def check_inspect_stated(folder):
    """Confidence is read from the completion, from the score and from the sample."""
    options = {"task": "colours_open", "scorer": "includes"}
    said = read_log("inspect", folder / "inspect", field="confidence", scale="percent", **options)
    np.testing.assert_allclose(said["confidence"], STATED)
    assert said["correct"].tolist() == [True, True, True, False, True, False]
    kept = read_log("inspect", folder / "inspect", source="metadata", field="sure", **options)
    np.testing.assert_allclose(kept["confidence"], np.arange(45, 100, 10) / 100)
    options["scorer"] = "sure"
    scored = read_log("inspect", folder / "inspect", source="score", **options)
    np.testing.assert_allclose(scored["confidence"], np.where(said["correct"], 0.75, 0.25))
    assert (scored["correct"] == said["correct"]).all()


def check_counts(folder):
    """Trials of a log are counted as they are, once confidence is cut into ratings."""
    options = {"task": "colours_open", "field": "confidence", "scale": "percent"}
    logged = {
        "lm-eval": read_log("lm-eval", folder / "lm_eval", answer_filter="answer", **options),
        "inspect": read_log("inspect", folder / "inspect", scorer="includes", **options),
    }
    for trials in logged.values():
        rating = bin_confidence(trials["confidence"], 2, method="edges", edges=[0.8])
        counts = count_correct(trials.assign(confidence=rating), by=["task", "model"], ratings=2)
        assert counts.isel(cell=0).values.tolist() == [[1, 0], [1, 2]]
        assert counts.attrs["rows_dropped"] == 2


CLAIMS = [
    check_lm_eval_options,
    check_lm_eval_responses,
    check_inspect_options,
    check_inspect_stated,
    check_counts,
]
each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
