"""What may not be counted is refused, with the next step."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from counts.trials import frame

from hmetad.counts.checks import require_stimulus
from hmetad.counts.counting import count_correct, count_trials
from hmetad.errors import InputError

# --- columns --------------------------------------------------------------------------------


def test_a_missing_column_is_answered_with_the_nearest():
    message = "stimulus: got 'stimulus', allowed is a column of the trials. Did you mean 'Stimuli'"
    with pytest.raises(InputError, match=message):
        count_trials(frame().rename(columns={"stimulus": "Stimuli"}))


@pytest.mark.parametrize("argument", ["by", "covariates", "response", "confidence"])
def test_every_argument_names_itself_when_its_column_is_missing(argument):
    with pytest.raises(InputError, match=f"{argument}: got 'taks'.*Did you mean 'task'"):
        count_trials(frame(), **{argument: "taks"})


@pytest.mark.parametrize("trials", [{"stimulus": [1]}, [[1, 2]], np.zeros((2, 3)), None])
def test_only_a_table_is_a_table_of_trials(trials):
    with pytest.raises(InputError, match=r"trials: got \w+, allowed is a DataFrame of pandas"):
        count_trials(trials)


def test_an_empty_frame_is_refused():
    with pytest.raises(InputError, match="trials: got no rows, allowed is at least one trial"):
        count_trials(frame().head(0))


def test_duplicated_column_names_are_refused():
    trials = pd.concat([frame(), frame()[["task"]]], axis=1)
    with pytest.raises(InputError, match=r"columns \['task'\] more than once"):
        count_trials(trials)


@pytest.mark.parametrize(
    "arguments",
    [
        {"by": ["model", "model"]},
        {"by": "model", "covariates": "model"},
        {"stimulus": "task", "response": "task"},
        {"by": "confidence"},
    ],
)
def test_a_column_has_one_role(arguments):
    with pytest.raises(InputError, match=r"2 times, allowed is a different column for each"):
        count_trials(frame(), **arguments)


DIMS = "cell stimulus response rating correct chain draw pair criterion summary counts"


@pytest.mark.parametrize("name", [*DIMS.split(), "model/version"])
@pytest.mark.parametrize("argument", ["by", "covariates"])
def test_a_column_called_like_a_dim_is_refused(name, argument):
    trials = frame(**{name: "x"}) if name not in {"stimulus", "response"} else frame()
    with pytest.raises(InputError, match=f"{argument}: got '{name}'.*Rename the column"):
        count_trials(trials, **{argument: [name]})


FREE = "label rank kind left accuracy trials dprime c_se mean"


@pytest.mark.parametrize("name", FREE.split())
def test_other_names_of_columns_are_free(name):
    trials = frame()
    named, plain = (count_trials(trials.assign(**{x: trials["task"]}), by=x) for x in (name, "z"))
    xr.testing.assert_equal(named.rename({name: "z"}), plain)


@pytest.mark.parametrize("argument", ["by", "covariates", "stimulus", "confidence"])
@pytest.mark.parametrize("name", [None, 3, [["model"]]])
def test_whatever_is_no_name_of_a_column_is_refused(argument, name):
    with pytest.raises(InputError, match=rf"{argument}: got .*, allowed is text"):
        count_trials(frame(), **{argument: name})


def test_integers_beyond_64_bits_are_refused():
    with pytest.raises(InputError, match="group: got integers beyond 64 bits"):
        count_trials(frame(group=2**70), by="group")


def test_a_column_name_is_text():
    with pytest.raises(InputError, match=r"by: got \[0\], allowed is text"):
        count_trials(frame(), by=[0])


# --- labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "recorded"),
    [
        (("neg", "pos"), ["neg", "pos"]),
        ((False, True), [False, True]),
        ((0, 1), [0, 1]),
        ((1, 2), [1, 2]),
        ((-1.0, 1.0), [-1.0, 1.0]),
        (("Real", "fake"), ["Real", "fake"]),
    ],
)
@pytest.mark.parametrize("dtype", [None, object, "category"])
def test_by_default_s1_is_the_first_label_in_order(pair, recorded, dtype):
    first, second = pair
    trials = pd.DataFrame(
        {
            "stimulus": pd.Series([second, first, first], dtype=dtype),
            "response": pd.Series([second, first, second], dtype=dtype),
            "confidence": [1, 1, 2],
        }
    )
    counts = count_trials(trials)
    assert json.loads(counts.attrs["labels"]) == recorded
    assert counts.sel(stimulus="S1").sum() == 2
    assert counts.sel(stimulus="S1", response="S2", rating=2).item() == 1


def test_labels_as_given_decide_what_s1_is():
    counts = count_trials(frame(), labels=("pos", "neg"))
    assert json.loads(counts.attrs["labels"]) == ["pos", "neg"]
    swapped = count_trials(frame()).isel(stimulus=[1, 0], response=[1, 0])
    np.testing.assert_array_equal(counts, swapped)


def test_a_third_label_is_refused_with_its_frequency():
    trials = frame()
    trials.loc[:2, "response"] = "skip"
    message = r"3 labels: 'neg' .*, 'skip' \(stimulus 0, response 3\), allowed is the same two"
    with pytest.raises(InputError, match=message):
        count_trials(trials)


def test_text_and_numbers_for_the_same_labels_are_refused():
    trials = frame(stimulus=np.tile(["1", "2"], 200), response=np.tile([1, 2], 200))
    with pytest.raises(InputError, match=r"4 labels: '1'.*recode both columns"):
        count_trials(trials)


def test_a_single_label_asks_for_both():
    with pytest.raises(InputError, match=r"single label 'neg'.*Name both: labels=\(S1, S2\)"):
        count_trials(frame(stimulus="neg", response="neg"))


def test_a_single_label_will_do_when_both_are_named():
    trials = frame(stimulus="neg", response="neg")
    assert count_trials(trials, labels=("neg", "pos")).sel(stimulus="S1").sum() == 400


def test_labels_must_cover_the_data():
    with pytest.raises(InputError, match=r"labels: got .* but in the data 'neg' \(stimulus"):
        count_trials(frame(), labels=("negative", "pos"))


@pytest.mark.parametrize(
    "labels",
    ["ab", ("neg",), ("neg", "neg"), ("a", "b", "c"), (None, "a"), 3, {"neg", "pos"}],
)
def test_labels_are_two_different_values(labels):
    with pytest.raises(InputError, match=r"labels: .*allowed is two different labels, \(S1, S2\)"):
        count_trials(frame(), labels=labels)


def test_a_mixture_of_kinds_in_a_column_is_refused():
    mixed = np.array(["a", 1] * 200, dtype=object)
    with pytest.raises(InputError, match=r"group: got values of type int and str.*astype\(str\)"):
        count_trials(frame(group=mixed), by="group")


# --- correctness in the wrong place ---------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (True, False),
        (1, 0),
        (1.0, 0.0),
        ("1", "0"),
        ("correct", "incorrect"),
        ("Right", "Wrong"),
        ("TRUE", "FALSE"),
        ("correct", "correct"),
    ],
)
@pytest.mark.parametrize("labels", [None, ("neg", "pos")])
def test_a_response_that_says_right_or_wrong_is_refused(right, wrong, labels):
    trials = frame(response=np.tile(np.array([right, wrong], dtype=object), 200))
    with pytest.raises(InputError, match=r"allowed is the choice made.*Rebuild the choice"):
        count_trials(trials, labels=labels)


def test_zero_and_one_for_a_stimulus_of_one_and_two_is_correctness():
    trials = frame(stimulus=np.tile([1, 2], 200), response=np.tile([0, 1, 1, 1], 100))
    with pytest.raises(InputError, match="allowed is the choice made"):
        count_trials(trials)


def test_correctness_is_refused_even_when_there_was_one_stimulus():
    with pytest.raises(InputError, match="allowed is the choice made"):
        count_trials(frame(stimulus="neg", response="correct"))


def test_true_and_false_are_a_choice_when_the_stimulus_has_them():
    trials = frame(stimulus=np.tile(["true", "false"], 200), response=np.tile(["true"], 400))
    assert count_trials(trials).sum() == 400


def test_left_and_right_are_a_choice():
    trials = frame(stimulus=np.tile(["left", "right"], 200), response=np.tile(["right"], 400))
    assert count_trials(trials).sum() == 400


@pytest.mark.parametrize(
    "name", ["correct", "Accuracy", "acc", "is_correct", "Is Correct", "isCorrect", "correctness"]
)
def test_a_response_column_named_like_correctness_is_refused(name):
    trials = frame().rename(columns={"response": name})
    with pytest.raises(InputError, match="named like correctness, allowed is the choice made"):
        count_trials(trials, response=name)


@pytest.mark.parametrize("kind", [int, bool, float])
def test_a_response_that_repeats_a_correctness_column_is_refused(kind):
    stimulus = np.tile([0, 1], 200)
    response = np.tile([1, 1, 0, 1], 100)
    trials = frame(stimulus=stimulus, response=response, is_correct=response.astype(kind))
    message = "column 'response', the same as 'is_correct' in every row, allowed is the choice made"
    with pytest.raises(InputError, match=message):
        count_trials(trials)


def test_a_correctness_column_that_is_correctness_is_left_alone():
    trials = frame(stimulus=np.tile([0, 1], 200), response=np.tile([1, 1, 0, 1], 100))
    trials["correct"] = trials["stimulus"] == trials["response"]
    assert count_trials(trials).sum() == 400


def test_correctness_that_equals_the_response_by_nature_is_left_alone():
    trials = frame(stimulus=1, response=np.tile([0, 1], 200), correct=np.tile([0, 1], 200))
    assert count_trials(trials).sum() == 400


def test_a_continuous_score_is_not_searched_for_correctness():
    trials = frame(stimulus=np.tile([0, 1], 200), response=np.tile([1, 0], 200))
    trials["accuracy"] = np.linspace(0, 1, 400)
    assert count_trials(trials).sum() == 400


def test_correctness_as_the_stimulus_is_refused_and_told_what_applies():
    trials = frame().rename(columns={"stimulus": "correct"})
    with pytest.raises(InputError, match=r"stimulus: got column 'correct'.*auroc2"):
        count_trials(trials, stimulus="correct")


# --- ratings --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "float64", "Int64", "Float64", "category", object])
def test_whole_ratings_of_any_type_are_ratings(dtype):
    plain = count_trials(frame())
    cast = count_trials(frame().astype({"confidence": dtype}))
    xr.testing.assert_identical(plain, cast)


@pytest.mark.parametrize("dtype", ["float64", object, "Float64"])
def test_continuous_confidence_is_sent_to_bin_confidence(dtype):
    confidence = pd.Series(np.linspace(0, 1, 400), dtype=dtype)
    with pytest.raises(InputError, match=r"398 values such as 0.*bin_confidence"):
        count_trials(frame(confidence=confidence))


def test_infinite_confidence_is_refused():
    with pytest.raises(InputError, match="400 values such as inf"):
        count_trials(frame(confidence=np.inf))


@pytest.mark.parametrize(
    ("ratings", "step"), [(None, r"levels=\[0, 1, 2, 3\]"), (4, r"levels=\[0, 1, 2, 3\]")]
)
def test_ratings_that_start_at_zero_are_told_to_name_their_levels(ratings, step):
    trials = frame(confidence=np.tile([0, 1, 2, 3], 100))
    message = rf"got 0 \(100 trials\).*least confident first: {step}"
    with pytest.raises(InputError, match=message):
        count_trials(trials, ratings=ratings)


def test_zero_to_k_are_one_rating_more():
    trials = frame(confidence=np.tile([0, 1, 2, 3], 100))
    with pytest.raises(InputError, match=r"allowed is 1\.\.3. .* levels=\[0, 1, 2, 3\]"):
        count_trials(trials, ratings=3)


def test_ratings_out_of_range_are_listed_with_their_numbers():
    trials = frame(confidence=np.r_[np.tile([1, 2], 198), [9, 9, -1, 2]])
    with pytest.raises(InputError, match=r"got -1 \(1 trials\), 9 \(2 trials\), allowed is 1\.\.4"):
        count_trials(trials, ratings=4)


def test_text_confidence_is_refused():
    message = r"text such as '\w+' \(400 of 400 .*integers 1..K.*'high', 'low' in order, the least"
    with pytest.raises(InputError, match=message):
        count_trials(frame(confidence=np.tile(["low", "high"], 200)))


def test_the_text_that_is_no_number_is_named_and_counted():
    confidence = np.array(["1", "2", "2", "high"] * 100, dtype=object)
    says = r"text such as 'high' \(100 of 400 values are no numbers\).*import table FILE --scale"
    with pytest.raises(InputError, match=says):
        count_trials(frame(confidence=confidence))
    with pytest.raises(InputError, match=r"text such as '71%'.*import table FILE --scale"):
        count_trials(frame(confidence=np.tile(["71%", "83%"], 200)), quantiles=2)


def test_a_column_with_two_roles_is_to_be_left_out_of_one():
    with pytest.raises(InputError, match="Name 'right' once, and leave it out of the others"):
        count_correct(frame(right=1), correct="right", by=["right"])


def test_boolean_confidence_is_refused():
    with pytest.raises(InputError, match="booleans such as"):
        count_trials(frame(confidence=np.tile([True, False], 200)))


@pytest.mark.parametrize("ratings", [0, -1, 2.5, "4", True])
def test_k_is_a_positive_whole_number(ratings):
    with pytest.raises(InputError, match=r"ratings: got .*, allowed is a whole number"):
        count_trials(frame(), ratings=ratings)


def test_mixed_text_and_numbers_are_text():
    with pytest.raises(InputError, match="text such as 'sure'"):
        count_trials(frame(confidence=np.array([1, "sure"] * 200, dtype=object)))


@pytest.mark.parametrize(("ratings", "message"), [(None, "ratings up to"), (4, r"200 trials")])
def test_numbers_beyond_integers_are_out_of_range(ratings, message):
    with pytest.raises(InputError, match=message):
        count_trials(frame(confidence=np.tile([1, 1e300], 200)), ratings=ratings)


def test_reaction_times_are_not_ratings():
    with pytest.raises(InputError, match=r"ratings up to 5000.*bin_confidence"):
        count_trials(frame(confidence=np.tile([450, 5000], 200)))


def test_more_ratings_than_any_scale_has_are_refused_by_their_argument():
    with pytest.raises(InputError, match=r"^ratings: got 1001, allowed is at most 1000"):
        count_trials(frame(), ratings=1001)


# --- count tables ---------------------------------------------------------------------------


def test_any_other_object_is_sent_to_count_trials():
    with pytest.raises(
        InputError, match=r"counts: got dict.*Make one with count_trials or from_nr"
    ):
        require_stimulus({}, "sdt")
    with pytest.raises(InputError, match=r"counts: got dims \(cell\).*count_trials or from_nr"):
        require_stimulus(xr.DataArray([1.0], dims="cell"), "sdt")


@pytest.mark.parametrize(
    ("turned", "message"),
    [
        ({"stimulus": [1, 0]}, r"2 labels in dim stimulus: \['S2', 'S1'\].*counts.sel\(stimulus="),
        ({"response": [1, 0]}, "labels in dim response"),
        ({"stimulus": [0]}, "1 labels in dim stimulus"),
        ({"stimulus": [0, 1, 1]}, "3 labels in dim stimulus"),
        ({"stimulus": [0]}, r"counts.assign_coords\(stimulus="),
        ({"rating": [3, 2, 1, 0]}, r"ratings \[4, 3, 2, 1\], allowed is numbers that rise"),
    ],
)
def test_a_table_in_another_order_is_not_read_by_position(turned, message):
    counts = count_trials(frame())
    with pytest.raises(InputError, match=message):
        require_stimulus(counts.isel(turned), "sdt")
    bare = counts.drop_vars(["stimulus", "response", "rating"])
    require_stimulus(bare, "sdt")


@pytest.mark.parametrize(
    ("ratings", "step"),
    [
        (np.array([4, 3, 2, 1], dtype=np.uint8), "sortby"),
        ([1, 2, np.nan, 4], "sortby"),
        (["a", "b", "c", "d"], "Number them 1 to K"),
    ],
)
def test_ratings_of_any_kind_that_do_not_rise_are_refused(ratings, step):
    counts = count_trials(frame()).assign_coords(rating=ratings)
    with pytest.raises(InputError, match=f"numbers that rise.*{step}"):
        require_stimulus(counts, "sdt")


def test_percentages_are_not_taken_for_a_hundred_ratings():
    trials = frame(confidence=[25, 50, 75, 100] * (len(frame()) // 4))
    with pytest.raises(InputError, match="bin_confidence"):
        count_trials(trials)
    assert count_trials(trials, ratings=100).sizes["rating"] == 100


def test_a_mapping_to_what_is_no_name_is_refused():
    trials = pd.DataFrame({"correct": [1, 0], "confidence": [1, 2]})
    given = xr.Dataset({"model": ("x", [1.0, 2.0])})
    with pytest.raises(InputError, match="by: got Dataset, allowed is text, a list of text"):
        count_correct(trials, by=given)
