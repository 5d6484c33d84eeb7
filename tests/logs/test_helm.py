"""Runs of HELM are read with the scores beside them.

The runs in data/helm were written by crfm-helm 0.5.16 (helm-run) with a model of fixed answers and
a scenario of four questions; they are stored without their spaces.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from logs.log_claims import check_colours

from hmetad.base.errors import InputError
from hmetad.logs.helm import read_helm
from hmetad.logs.kinds import recognise_kind
from hmetad.logs.samples import read_log

LOGS = Path(__file__).parent / "data" / "helm"


def scores(run, name):
    """A metric of the instances of a run, as HELM computed it."""
    stats = json.loads((LOGS / run / "per_instance_stats.json").read_text())
    return [next(one["mean"] for one in x["stats"] if one["name"]["name"] == name) for x in stats]


@pytest.fixture
def write(tmp_path):
    def written(states, stats=None, method="multiple_choice_joint"):
        adapter = {"method": method, "model": "house/model"}
        content = {"adapter_spec": adapter, "request_states": states}
        (tmp_path / "scenario_state.json").write_text(json.dumps(content))
        if stats is not None:
            (tmp_path / "per_instance_stats.json").write_text(json.dumps(stats))
        return tmp_path

    return written


def joint(said=" A", logprob=-0.5, name="id0", **fields):
    references = [{"output": {"text": t}, "tags": ["correct"][i:]} for i, t in enumerate("xy")]
    token = {"text": said, "logprob": logprob} | fields
    done = {"text": said, "logprob": logprob, "tokens": [token]}
    return {
        "instance": {"id": name, "references": references},
        "output_mapping": {"A": "x", "B": "y"},
        "train_trial_index": 0,
        "result": {"success": True, "completions": [done]},
    }


def test_options_scored_by_themselves_have_helms_own_probabilities():
    trials = read_log("auto", LOGS / "colours_separate")
    assert trials["task"].unique().tolist() == ["colours_separate"]
    assert trials["model"].unique().tolist() == ["simple/model1"]
    np.testing.assert_allclose(trials["confidence"], scores("colours_separate", "max_prob"))
    assert trials["chosen"].tolist() == scores("colours_separate", "predicted_index")
    assert trials["correct"].tolist() == scores("colours_separate", "exact_match")
    # One log-probability for each sign of an option, so that per token it is the option's.
    check_colours(trials)


def separate(option, mode, *logprobs):
    """A request for one of the options " x y" and " z", token by token."""
    tokens = [{"text": t, "logprob": p} for t, p in zip(OPTIONS[option], logprobs, strict=True)]
    completions = [{"tokens": [{"text": "?", "logprob": -9.0}, *tokens]}]
    state = {
        "reference_index": option,
        "request_mode": mode,
        "result": {"completions": completions},
    }
    texts = ["".join(parts).strip() for parts in OPTIONS]
    references = [{"output": {"text": t}, "tags": ["correct"][i:]} for i, t in enumerate(texts)]
    return state | {"instance": {"id": "id0", "references": references}}


OPTIONS = [[" x", " y"], [" z"]]
ASKED = [separate(0, "original", -1.0, -2.0), separate(1, "original", -2.0)]
BARE = [separate(0, "calibration", -2.5, -1.5), separate(1, "calibration", -2.5)]


@pytest.mark.parametrize(
    ("method", "states", "scored"),
    [
        # Per token; or less the option without the question.
        ("multiple_choice_separate_original", ASKED, [-1.5, -2.0]),
        ("multiple_choice_separate_calibrated", [*ASKED, *BARE], [1.0, 0.5]),
    ],
)
def test_options_of_several_tokens_are_scored_as_helm_scores_them(write, method, states, scored):
    trials = read_helm(write(states, method=method))
    odds = np.exp(scored)
    np.testing.assert_allclose(trials["option_probabilities"].item(), odds / odds.sum())
    assert trials[["chosen", "correct"]].values.tolist() == [[0, True]]


def test_a_joint_choice_has_the_probability_of_the_letter():
    trials = read_helm(LOGS / "colours_joint")
    assert trials["chosen"].tolist() == [0, 0, 0, 3]
    assert trials["correct"].tolist() == scores("colours_joint", "exact_match")
    np.testing.assert_allclose(trials["confidence"], scores("colours_joint", "max_prob"))
    assert trials["option_probabilities"].tolist() == [None] * 4


def test_completions_state_their_confidence():
    trials = read_helm(LOGS / "colours_open", pattern="([0-9]+%) sure")
    assert trials["chosen"].tolist() == ["green", "red", "blue. I am 60% sure", "white"]
    np.testing.assert_allclose(trials["confidence"], [np.nan, np.nan, 0.6, np.nan])
    assert trials["correct"].tolist() == [True, True, False, True]
    assert trials.attrs["rejected"] == {"confidence: pattern not found": 3}


def test_a_folder_of_runs_is_read_at_once():
    assert recognise_kind(LOGS) == "helm"
    trials = read_helm(LOGS)
    assert trials.groupby("task").size().to_dict() == {
        "colours_joint": 4,
        "colours_open": 4,
        "colours_separate": 4,
    }
    assert len(read_helm(LOGS, task="colours_open")) == 4
    beside = LOGS / "colours_open" / "per_instance_stats.json"
    assert len(read_helm(beside)) == 4


def test_letters_are_compared_where_their_log_probabilities_are_kept(write):
    top = {" A": -0.5, "B": -2.0, "C": -3.0}
    changed = joint("(B).")
    changed["instance"] = changed["instance"] | {"perturbation": {"name": "typos"}}
    made = joint(top_logprobs=top)
    trials = read_helm(write([made, made, changed]))
    odds = np.exp([-0.5, -2.0])
    np.testing.assert_allclose(trials["option_probabilities"][0], odds / odds.sum())
    np.testing.assert_allclose(trials["confidence"][0], odds[0] / odds.sum())
    # Without scores the option says what is right; copies and perturbations are told apart.
    assert trials["correct"].tolist() == [True, False]
    assert trials["perturbation"].tolist() == ["", "typos"]
    assert trials.attrs["duplicates"] == 1


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (joint(" green"), "no single letter as the answer"),
        (joint(logprob=0), "confidence: no log-probabilities"),
        (joint(logprob=math.nan), "confidence: log-probabilities are not finite"),
        (joint() | {"result": None}, "no single letter as the answer"),
    ],
)
def test_what_cannot_be_read_is_counted(write, state, reason):
    trials = read_helm(write([state]))
    assert trials["confidence"].isna().all()
    assert trials.attrs["rejected"][reason] == 1


def test_scores_that_contradict_the_option_leave_no_confidence(write):
    stats = [{"name": {"name": "exact_match"}, "count": 1, "mean": 0.0}]
    path = write([joint()], [{"instance_id": "id0", "train_trial_index": 0, "stats": stats}])
    trials = read_helm(path)
    assert trials["correct"].tolist() == [False]
    assert trials["confidence"].isna().all()
    assert trials.attrs["rejected"] == {"the option chosen contradicts the metric": 1}
    with pytest.raises(InputError, match=r"metric: .*got 'f1'"):
        read_helm(path, metric="f1")
    assert read_helm(path, metric="exact_match", threshold=0)["correct"].tolist() == [True]
