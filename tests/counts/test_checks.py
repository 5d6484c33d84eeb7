"""What may not be counted is refused, with the next step; what looks like it is counted."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from counts.trials import frame

from hmetad.counts.checks import require_stimulus
from hmetad.counts.counting import count_correct, count_trials
from hmetad.errors import InputError


def tiled(*values):
    """400 values that take turns, each of its own type."""
    return np.tile(np.array(values, dtype=object), 400 // len(values))


def renamed(**names):
    return frame().rename(columns=names)


# --- refused --------------------------------------------------------------------------------

DIMS = "cell stimulus response rating correct chain draw pair criterion summary counts"
ROLES = "2 times, allowed is a different column for each"
CHOICE = "allowed is the choice made"
REBUILD = r"allowed is the choice made.*Rebuild the choice"
TWO_LABELS = r"labels: .*allowed is two different labels, \(S1, S2\)"
FROM_ZERO = r"got 0 \(100 trials\).*least confident first: levels=\[0, 1, 2, 3\]"
PERCENT = r"text such as '71%'.*import table FILE --scale"
SKIP = r"3 labels: 'neg' .*, 'skip' \(stimulus 0, response 3\), allowed is the same two"
SAME = "column 'response', the same as 'is_correct' in every row, allowed is the choice made"
WORDS = r"text such as '\w+' \(400 of 400 .*integers 1..K.*'high', 'low' in order, the least"
HIGH = r"text such as 'high' \(100 of 400 values are no numbers\).*import table FILE --scale"
SHARES = np.linspace(0, 1, 400)
VERDICTS = [
    (True, False), (1, 0), (1.0, 0.0), ("1", "0"), ("correct", "incorrect"),
    ("Right", "Wrong"), ("TRUE", "FALSE"), ("correct", "correct"),
]  # fmt: skip
NAMED_CORRECT = ["correct", "Accuracy", "acc", "is_correct", "Is Correct", "isCorrect"]
NO_LABELS = ["ab", ("neg",), ("neg", "neg"), ("a", "b", "c"), (None, "a"), 3, {"neg", "pos"}]
TURNS = tiled(1, 1, 0, 1).astype(int)
CASES = [
    # The table and its columns.
    *[(x, {}, r"trials: got \w+, allowed is a DataFrame of pandas")
      for x in ({"stimulus": [1]}, [[1, 2]], np.zeros((2, 3)), None)],
    (frame().head(0), {}, "trials: got no rows, allowed is at least one trial"),
    (pd.concat([frame(), frame()[["task"]]], axis=1), {}, r"columns \['task'\] more than once"),
    (renamed(stimulus="Stimuli"), {}, "stimulus: got 'stimulus', .*Did you mean 'Stimuli'"),
    *[(frame(), {x: "taks"}, f"{x}: got 'taks'.*Did you mean 'task'")
      for x in ("by", "covariates", "response", "confidence")],
    *[(frame(), x, ROLES) for x in (
        {"by": ["model", "model"]}, {"by": "model", "covariates": "model"},
        {"stimulus": "task", "response": "task"}, {"by": "confidence"})],
    *[(frame(**({} if name in ("stimulus", "response") else {name: "x"})), {argument: [name]},
       f"{argument}: got '{name}'.*Rename the column")
      for name in [*DIMS.split(), "model/version"] for argument in ("by", "covariates")],
    *[(frame(), {argument: name}, rf"{argument}: got .*, allowed is text")
      for argument in ("by", "covariates", "stimulus", "confidence")
      for name in (None, 3, [["model"]])],
    (frame(), {"by": [0]}, r"by: got \[0\], allowed is text"),
    (frame(group=2**70), {"by": "group"}, "group: got integers beyond 64 bits"),
    (frame(group=tiled("a", 1)), {"by": "group"}, r"values of type int and str.*astype\(str\)"),
    # Labels.
    (frame(response=["skip"] * 3 + ["pos"] * 397), {}, SKIP),
    (frame(stimulus=tiled("1", "2"), response=tiled(1, 2)), {}, "4 labels: '1'.*recode both"),
    (frame(stimulus="neg", response="neg"), {}, r"single label 'neg'.*labels=\(S1, S2\)"),
    (frame(), {"labels": ("negative", "pos")}, r"labels: got .* but in the data 'neg' \(stim"),
    *[(frame(), {"labels": x}, TWO_LABELS) for x in NO_LABELS],
    # Correctness in the wrong place.
    *[(frame(response=tiled(*pair)), {"labels": labels}, REBUILD)
      for pair in VERDICTS for labels in (None, ("neg", "pos"))],
    (frame(stimulus=tiled(1, 2), response=tiled(0, 1, 1, 1)), {}, CHOICE),
    (frame(stimulus="neg", response="correct"), {}, CHOICE),
    *[(renamed(response=name), {"response": name}, "named like correctness, " + CHOICE)
      for name in [*NAMED_CORRECT, "correctness"]],
    *[(frame(stimulus=np.tile([0, 1], 200), response=TURNS, is_correct=TURNS.astype(x)), {}, SAME)
      for x in (int, bool, float)],
    (renamed(stimulus="correct"), {"stimulus": "correct"}, "got column 'correct'.*auroc2"),
    # Ratings.
    *[(frame(confidence=pd.Series(SHARES, dtype=x)), {}, r"398 values such as 0.*bin_confidence")
      for x in ("float64", object, "Float64")],
    (frame(confidence=np.inf), {}, "400 values such as inf"),
    *[(frame(confidence=np.tile([0, 1, 2, 3], 100)), {"ratings": K}, FROM_ZERO) for K in (None, 4)],
    (frame(confidence=np.tile([0, 1, 2, 3], 100)), {"ratings": 3},
     r"allowed is 1\.\.3. .* levels=\[0, 1, 2, 3\]"),
    (frame(confidence=np.r_[np.tile([1, 2], 198), [9, 9, -1, 2]]), {"ratings": 4},
     r"got -1 \(1 trials\), 9 \(2 trials\), allowed is 1\.\.4"),
    (frame(confidence=tiled("low", "high")), {}, WORDS),
    (frame(confidence=tiled("1", "2", "2", "high")), {}, HIGH),
    (frame(confidence=tiled("71%", "83%")), {"quantiles": 2}, PERCENT),
    (frame(confidence=tiled(1, "sure")), {}, "text such as 'sure'"),
    (frame(confidence=np.tile([True, False], 200)), {}, "booleans such as"),
    *[(frame(), {"ratings": K}, r"ratings: got .*, allowed is a whole number")
      for K in (0, -1, 2.5, "4", True)],
    (frame(), {"ratings": 1001}, r"^ratings: got 1001, allowed is at most 1000"),
    (frame(confidence=np.tile([1, 1e300], 200)), {}, "ratings up to"),
    (frame(confidence=np.tile([1, 1e300], 200)), {"ratings": 4}, "200 trials"),
    (frame(confidence=np.tile([450, 5000], 200)), {}, r"ratings up to 5000.*bin_confidence"),
    (frame(confidence=np.tile([25, 50, 75, 100], 100)), {}, "bin_confidence"),
]  # fmt: skip


@pytest.mark.parametrize(("trials", "options", "message"), CASES)
def test_what_may_not_be_counted_is_refused(trials, options, message):
    with pytest.raises(InputError, match=message):
        count_trials(trials, **options)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["right"], "Name 'right' once, and leave it out of the others"),
        (xr.Dataset({"model": ("x", [1.0])}), "by: got Dataset, allowed is text, a list of text"),
    ],
)
def test_columns_beside_right_and_wrong_are_names_of_others(by, message):
    with pytest.raises(InputError, match=message):
        count_correct(frame(right=1), correct="right", by=by)


COUNTS = count_trials(frame())
RISE = "numbers that rise"


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, r"counts: got dict.*Make one with count_trials or from_nr"),
        (xr.DataArray([1.0], dims="cell"), r"got dims \(cell\).*count_trials or from_nr"),
        (COUNTS[:, [1, 0]], r"in dim stimulus: \['S2', 'S1'\].*counts.sel\(stimulus="),
        (COUNTS[:, :, [1, 0]], "labels in dim response"),
        (COUNTS[:, [0]], r"1 labels in dim stimulus.*counts.assign_coords\(stimulus="),
        (COUNTS[:, [0, 1, 1]], "3 labels in dim stimulus"),
        (COUNTS[..., ::-1], rf"ratings \[4, 3, 2, 1\], allowed is {RISE}"),
        (COUNTS.assign_coords(rating=np.uint8([4, 3, 2, 1])), f"{RISE}.*sortby"),
        (COUNTS.assign_coords(rating=[1, 2, np.nan, 4]), f"{RISE}.*sortby"),
        (COUNTS.assign_coords(rating=[*"abcd"]), f"{RISE}.*Number them 1 to K"),
    ],
)
def test_a_table_in_another_order_is_not_read_by_position(counts, message):
    with pytest.raises(InputError, match=message):
        require_stimulus(counts, "sdt")
    require_stimulus(COUNTS.drop_vars(["stimulus", "response", "rating"]), "sdt")


# --- counted --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["label", "rank", "kind", "left", "accuracy", "trials", "dprime", "c_se", "mean"]
)
def test_other_names_of_columns_are_free(name):
    trials = frame()
    named, plain = (count_trials(trials.assign(**{x: trials["task"]}), by=x) for x in (name, "z"))
    xr.testing.assert_equal(named.rename({name: "z"}), plain)


@pytest.mark.parametrize(
    "pair",
    [("neg", "pos"), (False, True), (0, 1), (1, 2), (-1.0, 1.0), ("Real", "fake")],
)
@pytest.mark.parametrize("dtype", [None, object, "category"])
def test_by_default_s1_is_the_first_label_in_order(pair, dtype):
    first, second = pair
    columns = {"stimulus": [second, first, first], "response": [second, first, second]}
    trials = pd.DataFrame({name: pd.Series(x, dtype=dtype) for name, x in columns.items()})
    counts = count_trials(trials.assign(confidence=[1, 1, 2]))
    assert json.loads(counts.attrs["labels"]) == list(pair)
    assert counts.sel(stimulus="S1").sum() == 2
    assert counts.sel(stimulus="S1", response="S2", rating=2).item() == 1


def test_labels_as_given_decide_what_s1_is():
    counts = count_trials(frame(), labels=("pos", "neg"))
    assert json.loads(counts.attrs["labels"]) == ["pos", "neg"]
    np.testing.assert_array_equal(counts, COUNTS.isel(stimulus=[1, 0], response=[1, 0]))
    alone = frame(stimulus="neg", response="neg")
    assert count_trials(alone, labels=("neg", "pos")).sel(stimulus="S1").sum() == 400


FALSE, LEFT = np.tile(["true", "false"], 200), np.tile(["left", "right"], 200)
SHOWN = np.tile([0, 1], 200)


@pytest.mark.parametrize(
    "columns",
    [
        {"stimulus": FALSE, "response": "true"},
        {"stimulus": LEFT, "response": "right"},
        {"stimulus": SHOWN, "response": TURNS, "correct": SHOWN == TURNS},
        {"stimulus": 1, "response": SHOWN, "correct": SHOWN},
        {"stimulus": SHOWN, "response": 1 - SHOWN, "accuracy": SHARES},
    ],
    ids=["true-false", "left-right", "is-correctness", "by-nature", "score"],
)
def test_what_only_looks_like_correctness_is_counted(columns):
    assert count_trials(frame(**columns)).sum() == 400


@pytest.mark.parametrize("dtype", ["int8", "float64", "Int64", "Float64", "category", object])
def test_whole_ratings_of_any_type_are_ratings(dtype):
    xr.testing.assert_identical(COUNTS, count_trials(frame().astype({"confidence": dtype})))


def test_a_hundred_ratings_are_counted_where_they_are_asked_for():
    trials = frame(confidence=np.tile([25, 50, 75, 100], 100))
    assert count_trials(trials, ratings=100).sizes["rating"] == 100
