"""Labels that are swapped, and labels that tasks have of their own."""

import numpy as np
import pandas as pd
import pytest
from command_line import refused, run

import hmetad
from hmetad import InputError, notices
from hmetad.counts.described import guess_table, guessed_record

TRIALS = hmetad.simulate_trials([1.5, 1.0, 2.0, 1.2], m_ratio=0.8, trials=200, seed=1)
TRIALS = TRIALS.rename(columns={"cell": "subject"})
SWAPPED = TRIALS.replace({"response": {"S1": "S2", "S2": "S1"}})
TASKS = pd.concat(
    [
        TRIALS.replace({"S1": first, "S2": first + 1}).assign(task=task)
        for first, task in ((0, "memory"), (1, "perception"))
    ],
    ignore_index=True,
)


def swapped(counts):
    return [notice for notice in notices(counts) if notice.code == "swapped-codes"]


@pytest.mark.parametrize("by", [(), "subject", ["subject", "half"]])
def test_swapped_codes_of_the_response_are_an_error_with_the_call_that_recodes(by):
    half = np.arange(len(TRIALS)) % 2
    (notice,) = swapped(hmetad.count_trials(SWAPPED.assign(half=half), by=by))
    assert (notice.severity, notice.cells) == ("error", ())
    assert "again with response_labels=['S2', 'S1']." in notice.next_step
    assert "again with --response-labels S2,S1." in notice.shell_step
    counts = hmetad.count_trials(SWAPPED.assign(half=half), by=by, response_labels=["S2", "S1"])
    np.testing.assert_array_equal(counts, hmetad.count_trials(TRIALS.assign(half=half), by=by))


def test_labels_in_their_order_state_that_nothing_is_swapped():
    counts = hmetad.count_trials(SWAPPED, by="subject", response_labels=("S1", "S2"))
    assert not swapped(counts)
    np.testing.assert_array_equal(counts, hmetad.count_trials(SWAPPED, by="subject"))


def test_chance_one_odd_person_and_a_bias_to_the_rare_stimulus_are_no_swapped_codes():
    rng = np.random.default_rng(0)
    chance = TRIALS.assign(response=rng.permutation(TRIALS["response"]))
    one = TRIALS.where(TRIALS["subject"] != TRIALS["subject"][0], SWAPPED)
    rare = TRIALS.assign(stimulus=np.where(rng.random(len(TRIALS)) < 0.2, "S1", "S2"))
    rare = rare.assign(response=np.where(rng.random(len(TRIALS)) < 0.9, "S1", rare["stimulus"]))
    for trials in (chance, one, rare):
        assert not swapped(hmetad.count_trials(trials, by="subject"))


def test_responses_with_labels_of_their_own_stand_for_stimuli_in_order(tmp_path):
    named = TRIALS.replace({"response": {"S1": "left", "S2": "NA"}})
    named.to_csv(tmp_path / "t.csv", index=False)
    for table in (named, tmp_path / "t.csv"):
        counts = hmetad.count_trials(table, by="subject", response_labels=("left", "NA"))
        np.testing.assert_array_equal(counts, hmetad.count_trials(TRIALS, by="subject"))
    with pytest.raises(InputError, match=r"response_labels: .*but in the data also left"):
        hmetad.count_trials(named, response_labels=("right", "NA"))


@pytest.mark.parametrize("known", [{}, {"correct": SWAPPED["stimulus"] == SWAPPED["response"]}])
def test_describe_turns_swapped_responses_and_not_confidence(known):
    record = guessed_record(guess_table(SWAPPED.assign(**known)))
    assert record["response_labels"] == ["S2", "S1"]
    assert "reversed" not in record


@pytest.mark.parametrize(
    "asked",
    [{"by": "subject"}, {"by": ["subject", "task"]}, {"by": ["subject", "task"], "options": 3}],
)
def test_tasks_with_labels_of_their_own_are_not_advised_to_have_options(asked):
    with pytest.raises(InputError) as caught:
        hmetad.count_trials(TASKS, **asked)
    step = "by=['subject', 'task'] and labels_within='task'"
    assert step in str(caught.value)
    assert "options" not in str(caught.value)
    assert "--labels-within task" in caught.value.shell_step


def test_labels_within_tasks_count_each_task_by_its_two_labels(tmp_path):
    counts = hmetad.count_trials(TASKS, by=["subject", "task"], labels_within="task")
    expected = hmetad.count_trials(TRIALS, by="subject")
    for task in ("memory", "perception"):
        np.testing.assert_array_equal(counts[(counts["task"] == task).to_numpy()], expected)
    assert counts.attrs["labels_within"] == '{"memory": [0, 1], "perception": [1, 2]}'
    TASKS.to_csv(tmp_path / "t.csv", index=False)
    line = "measures t.csv --by subject,task"
    assert "--labels-within task" in refused(tmp_path, line)
    assert len(run(tmp_path, f"{line} --labels-within task --json").answer["rows"]) == 8
    for more, says in (({"by": "subject"}, "Add 'task' to by"), ({"labels": (0, 1)}, "labels")):
        with pytest.raises(InputError, match=f"labels_within.*{says}"):
            hmetad.count_trials(TASKS, **{"by": "task", "labels_within": "task", **more})


def test_options_of_which_a_condition_has_all_are_options():
    rng = np.random.default_rng(1)
    trials = pd.DataFrame(
        {"stimulus": rng.choice(list("abc"), 300), "task": rng.choice(["u", "v"], 300)}
    )
    trials = trials.assign(response=rng.permutation(trials["stimulus"]), confidence=1)
    with pytest.raises(InputError, match=r"give options=3"):
        hmetad.count_trials(trials, by="task")
    assert hmetad.count_trials(trials, by="task", options=3).sizes["stimulus"] == 3
