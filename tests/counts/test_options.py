"""Tables of tasks with more than two options, and of right and wrong answers with their number."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from hmetad import (
    count_correct,
    count_trials,
    measure,
    resample,
    sdt,
    simulate_counts,
    to_nr,
    uvsdt,
)
from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.checks import counted_options
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.measures.type2 import auroc2, gamma


def letters(options=4, trials=400, seed=1, **columns):
    """Trials of so many options, named by letters, seven in ten of them right."""
    rng = np.random.default_rng(seed)
    names = np.array([f"{chr(65 + k % 26)}{k // 26 or ''}" for k in range(options)])
    shown = np.arange(trials) % options
    said = np.where(rng.random(trials) < 0.7, shown, rng.integers(0, options, trials))
    confidence = np.where(said == shown, rng.integers(2, 5, trials), rng.integers(1, 4, trials))
    own = {"stimulus": names[shown], "response": names[said], "confidence": confidence}
    return pd.DataFrame({**own, "correct": said == shown, **columns})


def by_hand(trials, labels):
    """Counts of a table without cells, counted one by one."""
    found = np.zeros((len(labels), len(labels), 4), dtype=int)
    for row in trials.itertuples():
        place = labels.index(row.stimulus), labels.index(row.response), row.confidence - 1
        found[place] += 1
    return found


@pytest.mark.parametrize("options", [4, [*"ABCD"], np.int64(4)])
def test_every_option_is_a_stimulus_and_a_response(options):
    trials = letters()
    counts = count_trials(trials, options=options)
    assert counts.dims == ("cell", "stimulus", "response", "rating")
    assert counts["stimulus"].values.tolist() == counts["response"].values.tolist() == [*"ABCD"]
    assert (counts.sel(cell="all").values == by_hand(trials, [*"ABCD"])).all()
    assert json.loads(counts.attrs["labels"]) == [*"ABCD"]


def test_labels_are_kept_in_the_order_that_is_given_unseen_ones_too():
    trials = letters(3)
    counts = count_trials(trials, options=["C", "A", "E", "B"])
    assert counts["response"].values.tolist() == ["C", "A", "E", "B"]
    assert (counts.sel(cell="all").values == by_hand(trials, ["C", "A", "E", "B"])).all()
    padded = count_trials(trials, options=5)
    assert padded["stimulus"].values.tolist() == ["A", "B", "C", "unseen 1", "unseen 2"]
    two = letters(2)
    given = count_trials(two, options=["B", "A"])
    xr.testing.assert_identical(given, count_trials(two, labels=["B", "A"]))
    assert padded.sum() == len(trials)
    assert "unseen-options" in {x.code for x in notices(padded)}
    assert "unseen-options" not in {x.code for x in notices(count_trials(trials, options=3))}


def test_numbers_as_labels_become_text_and_fifty_options_are_counted():
    trials = letters().replace(dict(zip("ABCD", range(4), strict=True)))
    assert count_trials(trials, options=4)["stimulus"].values.tolist() == [*"0123"]
    assert count_trials(letters(50, 5000), options=50).sizes["response"] == 50


REFUSED = [
    ({}, r"More than two alternatives: give options=4.*4 labels"),
    ({"options": 3}, "Expected at most 3 labels, got 4 labels"),
    ({"options": [*"ABC"]}, "labels: .*got .* but in the data .*'D'"),
    ({"options": [*"ABCC"]}, "4 different labels"),
    ({"options": ["A", "B", "C", "D", "D\u200b"]}, "look alike"),
    ({"options": 4, "labels": [*"ABC"]}, "4 different labels"),
    ({"options": [*"ABCD"], "labels": [*"ABCD"]}, "does not go with a list of options"),
    *[({"options": x}, "whole numbers of options, from 2 to 1000") for x in (1, 0, -4, 2000)],
    *[({"options": x}, "a number, or a list") for x in ("ABCD", 4.5, True, {"A": 1})],
    ({"options": ["A"]}, "at least two labels"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_options_that_do_not_fit_the_trials_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        count_trials(letters(), **arguments)


def test_a_right_option_outside_the_labels_is_refused():
    trials = letters()
    trials.loc[3, "stimulus"] = "E"
    with pytest.raises(InputError, match=r"'E' \(stimulus 1, response 0\)"):
        count_trials(trials, options=[*"ABCD"])
    with pytest.raises(InputError, match="5 labels"):
        count_trials(trials, options=4)


# Right and wrong, with the number of options


def test_a_number_of_options_is_a_coordinate_of_the_cells():
    counts = count_correct(letters(model=np.repeat(["x", "y"], 200)), by="model", options=4)
    assert counts.dims == ("cell", "correct", "rating")
    assert counts["options"].dims == ("cell",)
    assert counts["options"].values.tolist() == [4, 4]
    assert counts["cell"].values.tolist() == ["x", "y"]
    assert json.loads(counts.attrs["by"]) == ["model"]
    plain = count_correct(letters(model=np.repeat(["x", "y"], 200)), by="model")
    assert (counts.values == plain.values).all()
    assert "options" not in plain.coords


@pytest.mark.parametrize(
    "by", ["model", ["model", "n"], {"model": "model"}, {"options": "n", "model": "model"}]
)
def test_a_column_of_numbers_of_options_tells_cells_apart(by):
    trials = letters(model=np.repeat(["x", "y"], 200), n=np.tile([3.0, 5.0], 200))
    counts = count_correct(trials, by=by, options="n")
    assert counts.sizes["cell"] == 4
    assert counts["options"].dtype == np.int64
    for n in (3, 5):
        own = trials[(trials["n"] == n) & (trials["model"] == "y")]
        cell = (counts["options"] == n) & (counts["model"] == "y")
        assert int(counts[{"cell": cell.values}].sum()) == len(own)
    assert sorted(json.loads(counts.attrs["by"])) == ["model", "options"]


@pytest.mark.parametrize(
    ("n", "said"), [(1, "1"), (0, "0"), (2.5, "2.5"), ("four", "'four'"), (True, "True")]
)
def test_numbers_that_no_task_has_are_refused(n, said):
    trials = letters(n=n)
    with pytest.raises(InputError, match="whole numbers of options"):
        simulate_counts(2.0, trials=100, seed=1, likelihood="alternatives", options=2.5)
    with pytest.raises(InputError, match=rf"options: .*Expected whole.*, got {said} in column 'n'"):
        count_correct(trials, options="n")
    if not isinstance(n, str):
        with pytest.raises(InputError, match=r"options.*got"):
            count_correct(trials, options=n)


def test_a_column_that_is_not_there_or_means_something_else_is_refused():
    with pytest.raises(InputError, match=r"'choices'.*Expected a column of the trials"):
        count_correct(letters(), options="choices")
    trials = letters(n=4).assign(options="A,B,C,D")
    assert count_correct(trials, options="n")["options"].values.tolist() == [4]
    with pytest.raises(InputError, match="Rename the column 'options'"):
        count_correct(trials, by="options", options="n")
    with pytest.raises(InputError, match="does not go with a column 'options' in by"):
        count_correct(trials, by="options", options=4)
    for options in ("4", "A,B,C,D"):
        with pytest.raises(InputError, match=r"options: .*Write options=4.*got "):
            count_correct(letters(), options=options)


# From the full table to right and wrong


def test_right_and_wrong_of_a_full_table_keep_the_number_of_options():
    trials = letters(5, model=np.repeat(["x", "y"], 200))
    full = count_trials(trials, by="model", options=6)
    table = type2_counts(full)
    own = count_correct(trials, by="model", options=6)
    assert table.dims == own.dims
    assert (table.values == own.values).all()
    assert table["options"].values.tolist() == own["options"].values.tolist() == [6, 6]
    assert "options" not in type2_counts(count_trials(letters(2))).coords
    assert "options" not in type2_counts(full, response_conditional=True).coords


def test_numbers_of_options_are_read_from_a_table_or_asked_for():
    table = count_correct(letters(), options=4)
    assert counted_options(table).tolist() == [4]
    assert counted_options(table.assign_coords(options=3)).tolist() == [3]
    with pytest.raises(InputError, match=r"give options=.*auroc2.*without the number of options"):
        counted_options(count_correct(letters()))
    with pytest.raises(InputError, match=r"2.5 in the coordinate options"):
        counted_options(table.assign_coords(options=("cell", [2.5])))


# What applies to which table


@pytest.mark.parametrize("function", [sdt, uvsdt, to_nr])
def test_functions_of_two_stimuli_say_what_applies_to_more(function):
    full = count_trials(letters(), options=4)
    with pytest.raises(InputError, match=r"two alternatives.*apply fit_mle.*auroc2.*4 labels"):
        function(full)
    with pytest.raises(InputError, match=r"fit_mle and fit have M of it"):
        function(type2_counts(full))
    with pytest.raises(InputError, match=r"options=4\) does: fit_mle and fit have M"):
        function(type2_counts(full).drop_vars("options"))


def test_measures_of_right_and_wrong_take_every_table():
    full = count_trials(letters(), options=4)
    right = count_correct(letters(), options=4)
    for function in (auroc2, gamma):
        assert function(full).item() == function(right).item()
    measured, of_right = measure(full), measure(right)
    assert set(measured) == set(of_right)
    for name in of_right:
        np.testing.assert_array_equal(measured[name], of_right[name])
    assert measured["options"].values.tolist() == [4]


def test_rows_and_columns_of_a_table_have_one_order():
    full = count_trials(letters(), options=4)
    draws = resample(full, auroc2, n=50, seed=1)
    assert draws.sizes == {"cell": 1, "draw": 50}
    assert draws["auroc2"].std() > 0
    with pytest.raises(InputError, match=r"Expected the same.*responses .* for stimuli "):
        resample(full.isel(response=[1, 0, 2, 3]), auroc2, n=5)


def test_what_is_thin_in_a_table_of_options_is_said():
    codes = {one.code for one in notices(count_trials(letters(50, 200), options=50))}
    # Most pairs of fifty options have no trials, which is no ceiling.
    assert "ceiling" not in codes
    one = letters().assign(stimulus="A")
    assert "one-stimulus" in {x.code for x in notices(count_trials(one, options=4))}
    assert "one-stimulus" not in {x.code for x in notices(count_trials(letters(3), options=4))}
    pair = from_nr([0, 0, 0, 0], [5, 3, 2, 1])
    assert "one-stimulus" in {x.code for x in notices(pair)}


def test_questions_of_one_cell_are_said_to_differ_in_difficulty_where_there_is_an_m():
    trials = letters()
    trials["item"] = np.arange(len(trials)) % 40
    assert "mixed-items" not in [one.code for one in notices(count_correct(trials))]
    said = [one for one in notices(count_correct(trials, options=4)) if one.code == "mixed-items"]
    assert "questions (item)" in said[0].message
    assert "alternatives_crossed" in said[0].next_step
    alone = count_correct(trials.drop(columns="item"), options=4)
    assert "mixed-items" not in [one.code for one in notices(alone)]
    by_item = count_correct(trials, by="item", options=4)
    assert "mixed-items" not in [one.code for one in notices(by_item)]


def test_a_preferred_option_is_noticed_where_biases_are_left_out():
    def codes(preferred, **changes):
        # Seven in ten are right, the other answers are at random or all the same letter.
        trials = letters(trials=1000)
        wrong = trials["stimulus"] != trials["response"]
        trials.loc[wrong & (np.arange(1000) % 10 < preferred), "response"] = "A"
        trials["correct"] = trials["stimulus"] == trials["response"]
        return {x.code for x in notices(count_correct(trials.assign(**changes), options=4))}

    assert "letters-uneven" in codes(10)
    assert "letters-uneven" not in codes(0)
    # Words are no letters: there are more of them than a question has options.
    assert "letters-uneven" not in codes(10, stimulus=np.arange(1000).astype(str))


def test_an_option_that_is_never_right_or_never_wrongly_chosen_may_be_preferred():
    """Of a model that never answers D, and is never asked what has that answer."""
    trials = letters(trials=1000).assign(model=["ada", "bob"] * 500)
    trials["response"] = trials["response"].where(trials["model"] == "ada", "A")
    trials = trials[(trials["model"] == "ada") | (trials["stimulus"] != "D")]
    trials["correct"] = trials["stimulus"] == trials["response"]
    said = notices(count_correct(trials, by="model", options=4))
    (uneven,) = [one for one in said if one.code == "letters-uneven"]
    assert "bob" in uneven.cells
    share = (trials["correct"][trials["model"] == "bob"] == 0).mean()
    assert f"bob (A: {100 * share:.0f} %)" in uneven.message


def test_fewer_options_than_letters_are_refused():
    trials = letters().assign(correct=lambda x: x["stimulus"] == x["response"])
    with pytest.raises(InputError, match=r".*Expected at least 4: .* A, B, C, D.*, got 3"):
        count_correct(trials, options=3)
    # Answers in words need not be options.
    spoken = trials.assign(response=[f"word {i}" for i in range(len(trials))])
    assert count_correct(spoken, options=3)["options"] == 3


def test_a_rating_below_half_is_no_fault_where_there_are_more_options():
    def severity(table):
        said = notices(measure(table))
        return [x.severity for x in said if x.code == "rating-below-half"]

    table = count_correct(letters(trials=800), options=4)
    assert severity(table) == ["info"]
    assert severity(table.drop_vars("options")) == ["warning"]
