"""What is guessed of tables that nobody described, on tables that were made so."""

import numpy as np
import pandas as pd
import pytest

from hmetad import InputError, notices
from hmetad import datasets as public
from hmetad.counts.described import described_trials, guess_table, guessed_record


def made_table(people=6, trials=120, seed=1):
    """Trials of people who are right in three of four, and surer where they are right."""
    rng = np.random.default_rng(seed)
    n = people * trials
    stimulus = rng.integers(1, 3, n)
    right = rng.random(n) < 0.75
    confidence = 1 + rng.integers(0, 3, n) + (right & (rng.random(n) < 0.7))
    response = np.where(right, stimulus, 3 - stimulus)
    subject = np.repeat(np.arange(1, people + 1), trials)
    return pd.DataFrame(
        {"subj": subject, "Stimulus": stimulus, "Response": response, "Confidence": confidence}
    )


TABLE = made_table()
RIGHT = TABLE["Stimulus"] == TABLE["Response"]


def facts(table):
    """Guesses as fact → (guess, whether it is sure)."""
    return {one.fact: (one.value, one.is_sure) for one in guess_table(table)}


def trials_of(table):
    return described_trials(table, guessed_record(guess_table(table)))


# --- columns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        ("participant_id", "correct_answer", "choice", "certainty"),
        ("ppt", "target", "key_resp", "confRating"),
        ("Observer", "stimCategory", "respChoice", "PAS"),
        ("userID", "signal", "Answer", "Wager"),
    ],
)
def test_columns_are_found_by_what_laboratories_call_them(named):
    table = TABLE.set_axis([*named], axis=1)
    table = table.assign(confidence_RT=0.5, resp_time=0.7, stim_onset=3.0, trial=range(len(table)))
    found = facts(table)
    roles = ("subject", "stimulus", "response", "confidence")
    assert tuple(found[role][0] for role in roles) == named
    assert len(trials_of(table)) == len(TABLE)


def test_two_columns_with_names_of_confidence_are_not_sure():
    found = facts(TABLE.assign(certainty=1.5))
    assert found["confidence"] == ("Confidence", False)
    assert facts(TABLE)["confidence"] == ("Confidence", True)
    unnamed = facts(TABLE.rename(columns={"Confidence": "button"}))
    assert unnamed["confidence"] == (None, False)
    assert "levels" not in unnamed


def test_a_column_named_accuracy_that_holds_shares_is_no_correctness():
    assert "correct" not in facts(TABLE.assign(Accuracy=0.75))
    assert facts(TABLE.assign(Accuracy=RIGHT.astype(int)))["correct"] == ("Accuracy", True)


def test_tasks_and_conditions_are_found_and_one_that_never_changes_is_none():
    table = TABLE.assign(Task=np.tile(["a", "b"], len(TABLE) // 2), Condition="only")
    record = guessed_record(guess_table(table))
    assert record["by"] == ["subject", "task"]
    assert trials_of(table)["task"].nunique() == 2


# --- codes of answers -------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [(0, 1), (-1, 1), ("old", "new"), (10.0, 20.0)])
def test_any_two_codes_are_labels(codes):
    words = dict(zip((1, 2), codes, strict=True))
    table = TABLE.assign(
        Stimulus=TABLE["Stimulus"].map(words), Response=TABLE["Response"].map(words)
    )
    assert facts(table)["labels"] == (sorted(codes), True)
    assert trials_of(table)["correct"].tolist() == RIGHT.tolist()


@pytest.mark.parametrize("none", [0, -1, 99, "timeout"])
def test_a_response_that_is_never_shown_stands_for_no_answer(none):
    response = TABLE["Response"].astype(object)
    response.iloc[:5] = none
    found = facts(TABLE.assign(Response=response))
    assert found["missing_codes"] == ({"response": [none]}, True)
    agrees = np.random.default_rng(2).integers(0, 2, len(TABLE))
    assert facts(TABLE.assign(Accuracy=agrees))["labels"] == ([1, 2], False)
    assert len(trials_of(TABLE.assign(Response=response))) == len(TABLE) - 5


def test_correctness_tells_which_code_of_the_response_is_which():
    table = TABLE.assign(Response=TABLE["Response"].map({1: "z", 2: "m"}))
    assert not facts(table)["labels"][1]
    told = table.assign(Accuracy=RIGHT.astype(int))
    assert facts(told)["response_labels"] == (["z", "m"], True)
    assert trials_of(told)["correct"].tolist() == RIGHT.tolist()
    turned = TABLE.assign(Response=3 - TABLE["Response"], Accuracy=RIGHT.astype(int))
    assert facts(turned)["response_labels"] == ([2, 1], True)
    assert trials_of(turned)["correct"].tolist() == RIGHT.tolist()


def test_a_stimulus_in_degrees_is_told_by_its_side_and_said_to_be_unsure():
    side = TABLE["Stimulus"].map({1: -1, 2: 1})
    table = TABLE.assign(Stimulus=side * np.linspace(0.5, 45, len(TABLE)))
    assert facts(table)["cut"] == (0, False)
    assert trials_of(table)["correct"].tolist() == RIGHT.tolist()
    told = table.assign(Accuracy=RIGHT.astype(int))
    assert facts(told)["stimulus"] == (None, False)
    assert trials_of(told)["stimulus"].tolist() == TABLE["Stimulus"].tolist()


def test_several_options_are_as_many_labels_and_answers_on_a_continuum_are_none():
    rng = np.random.default_rng(4)
    shown = rng.integers(0, 4, len(TABLE))
    four = TABLE.assign(Stimulus=shown, Response=np.where(RIGHT, shown, (shown + 1) % 4))
    assert facts(four)["labels"] == ([0, 1, 2, 3], True)
    table = TABLE.assign(Stimulus=rng.uniform(0, 180, len(TABLE)))
    table = table.assign(Response=rng.uniform(0, 180, len(TABLE)))
    found = facts(table)
    assert found["stimulus"] == found["response"] == (None, False)
    with pytest.raises(InputError, match="neither stimulus nor correctness"):
        trials_of(table)
    assert trials_of(table.assign(Accuracy=RIGHT.astype(int)))["correct"].tolist() == RIGHT.tolist()


# --- confidence -------------------------------------------------------------------------------


def test_few_values_are_levels_and_many_are_quantiles():
    assert facts(TABLE)["levels"] == ([1, 2, 3, 4], True)
    silent = np.random.default_rng(5).permutation(TABLE["Confidence"])
    assert facts(TABLE.assign(Confidence=silent))["levels"] == ([1, 2, 3, 4], False)
    shares = TABLE.assign(Confidence=TABLE["Confidence"] + np.linspace(0, 0.9, len(TABLE)))
    assert facts(shares)["quantiles"] == (6, True)
    tenths = TABLE.assign(Confidence=TABLE["Confidence"] + np.arange(len(TABLE)) % 4 / 10)
    assert facts(tenths)["quantiles"] == (6, False)


def test_numbers_far_from_the_scale_and_a_rare_zero_stand_for_no_confidence():
    far, zero = TABLE["Confidence"].copy(), TABLE["Confidence"].copy()
    far.iloc[:4], zero.iloc[:2] = 99, 0
    assert facts(TABLE.assign(Confidence=far))["missing_codes"] == ({"confidence": [99]}, True)
    assert facts(TABLE.assign(Confidence=zero))["missing_codes"] == ({"confidence": [0]}, False)


def test_a_zero_of_rows_without_a_response_time_stands_for_no_confidence():
    silent = np.arange(len(TABLE)) % 10 == 0
    zero = TABLE.assign(Confidence=TABLE["Confidence"].mask(silent, 0), rt=0.7)
    assert "missing_codes" not in facts(zero)
    assert facts(zero.assign(rt=np.where(silent, np.nan, 0.7)))["missing_codes"] == (
        {"confidence": [0]},
        False,
    )


def test_a_scale_from_one_answer_to_the_other_is_counted_from_its_middle():
    side = TABLE["Response"].map({1: -1, 2: 1})
    six = 3.5 + side * (TABLE["Confidence"].clip(upper=3) - 0.5)
    found = facts(TABLE.assign(Confidence=six))
    assert found["centre"] == (3.5, True)
    trials = trials_of(TABLE.assign(Confidence=six))
    assert trials["confidence"].tolist() == TABLE["Confidence"].clip(upper=3).tolist()


def test_a_scale_that_falls_with_accuracy_is_turned_and_said_to_be_unsure():
    table = TABLE.assign(Confidence=5 - TABLE["Confidence"])
    assert facts(table)["reversed"] == (True, False)
    assert trials_of(table)["confidence"].tolist() == TABLE["Confidence"].tolist()


# --- rows that are no trials ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "left_out"),
    [
        ("Training", (1, 0), [1]),
        ("is_practice", (True, False), [True]),
        ("phase", ("Practice", "main"), ["Practice"]),
        ("Catch_trial", (1, 0), [1]),
    ],
)
def test_rows_of_training_and_catch_trials_are_left_out(name, values, left_out):
    stage = np.where(np.arange(len(TABLE)) % 120 < 20, *values)
    table = TABLE.assign(**{name: stage})
    assert facts(table)["leave_out"] == ({name: left_out}, True)
    most = np.where(np.arange(len(TABLE)) % 120 < 20, 0, 1)
    assert facts(TABLE.assign(Training=most))["leave_out"] == ({"Training": [1]}, False)
    assert len(trials_of(table)) == 600


PLACE = np.tile(np.arange(120), 6)


@pytest.mark.parametrize(
    ("column", "left_out", "is_sure"),
    [
        (np.where(PLACE < 9, 1, np.nan), [1], True),
        (np.where(PLACE < 9, "yes", ""), ["yes"], True),
        (np.where(PLACE < 9, PLACE + 1, np.nan), [*range(1, 10)], False),
        (np.where(PLACE < 9, PLACE + 1, 0), [*range(1, 10)], False),
        (np.where(PLACE < 9, 1, np.where(PLACE < 12, np.nan, 0)), [1], True),
    ],
)
def test_only_a_flag_of_practice_is_sure(column, left_out, is_sure):
    found, sure = facts(TABLE.assign(practice=pd.Series(column).replace("", None)))["leave_out"]
    assert (sorted(found["practice"]), sure) == (left_out, is_sure)


def test_a_short_block_zero_may_be_training():
    block = (np.arange(len(TABLE)) % 120 + 30) // 40
    assert facts(TABLE.assign(Block=block))["leave_out"] == ({"Block": [0]}, False)
    whole = np.arange(len(TABLE)) % 120 // 30
    assert "leave_out" not in facts(TABLE.assign(Block=whole))


# --- files --------------------------------------------------------------------------------------


def test_a_file_without_a_record_is_loaded_by_guesses_and_says_which_are_unsure(tmp_path):
    file = tmp_path / "data_Nobody_2020.csv"
    table = TABLE.assign(Stimulus=TABLE["Stimulus"].replace({1: "a", 2: "b"}))
    table.to_csv(file, index=False)
    trials = public.load_trials(file)
    assert trials["correct"].tolist() == RIGHT.tolist()
    counted = public.count_trials(trials, by="subject")
    [said] = [one for one in notices(counted) if one.code == "guessed-columns"]
    assert said.message.endswith("Unsure: labels, response_labels.")
    TABLE.to_csv(file, index=False)
    assert "notices" not in public.load_trials(str(file)).attrs
    found = public.describe(file).set_index("fact")
    assert found["sure"].all()
    assert found.loc["levels", "guess"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Confidence": "high"}, "Count the table itself"),
        ({"Stimulus": 1}, "the single label 1 in column 'Stimulus'"),
    ],
)
def test_a_file_that_cannot_be_counted_is_refused_in_one_line(tmp_path, change, said):
    file = tmp_path / "table.csv"
    TABLE.assign(**change).to_csv(file, index=False)
    with pytest.raises(InputError, match="got") as error:
        public.load_trials(file)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
