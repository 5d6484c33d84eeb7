"""What may not be counted is refused, with the next step; what looks like it is counted."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from counts.trials import frame

from hmetad import InputError, count_correct, count_trials, sdt

HALF = np.tile([0, 1], 200)
DIMS = "cell stimulus response rating correct chain draw pair criterion summary counts"
FREE = ["label", "rank", "kind", "left", "accuracy", "trials", "dprime", "c_se", "mean"]
CORRECTNESS = ("correct", "Accuracy", "acc", "isCorrect", "Is Correct", "correctness")
CHOICE = "Expected the choice made"
TWO_LABELS = r"labels: .*Expected two different labels, \(S1, S2\)"


def tiled(*values):
    """A column of 400 values in turn, of mixed kinds where they are."""
    return np.resize(np.array(values, dtype=object), 400)


def with_third_label():
    trials = frame()
    trials.loc[:2, "response"] = "skip"
    return trials


def repeated(kind):
    """Trials of which the response is correctness under another name."""
    response = np.tile([1, 1, 0, 1], 100)
    return frame(stimulus=HALF, response=response, is_correct=response.astype(kind))


# --- trials ---------------------------------------------------------------------------------

OF_TRIALS = [
    (
        frame().rename(columns={"stimulus": "Stimuli"}),
        "Did you mean 'Stimuli'.*got 'stimulus'",
    ),
    *[
        (x, r"trials: .*Expected a DataFrame of pandas.*, got \w+")
        for x in ({"stimulus": [1]}, [[1, 2]], np.zeros((2, 3)), None)
    ],
    (frame().head(0), "trials: .*Expected at least one trial.*, got no rows"),
    (pd.concat([frame(), frame()[["task"]]], axis=1), r"columns \['task'\] more than once"),
    # Labels
    (with_third_label(), r"3 labels: .*'skip' \(stimulus 0, response 3\)"),
    (
        frame(stimulus=np.tile(["1", "b"], 200), response=np.tile([1, 2], 200)),
        r"Recode both columns.*4 labels: '1'",
    ),
    (
        frame(stimulus=np.tile([*"ABCD"], 100), response=np.tile([*"ABDC"], 100)),
        r"selected by their answer.*count_correct.*auroc2.*4 labels: 'A'",
    ),
    (frame(stimulus="neg", response="neg"), r"Name both: labels=.*single label 'neg'"),
    # Correctness as the response
    (frame(stimulus=HALF + 1, response=np.tile([0, 1, 1, 1], 100)), CHOICE),
    (frame(stimulus="neg", response="correct"), CHOICE),
    *[
        (repeated(kind), f"{CHOICE}.*the same as 'is_correct' in every row")
        for kind in (int, bool, float)
    ],
    # Ratings
    *[
        (
            frame(confidence=pd.Series(np.linspace(0, 1, 400), dtype=dtype)),
            r"bin_confidence.*398 values such as ",
        )
        for dtype in ("float64", object, "Float64")
    ],
    (frame(confidence=np.inf), "400 values such as inf"),
    (
        frame(confidence=tiled("low", "high")),
        r"'high', 'low' in order, the least.*1..K.*\(400 of 400 ",
    ),
    (
        frame(confidence=tiled("1", "2", "2", "high")),
        r"import table.*'high' \(100 of 400 values are no ",
    ),
    (frame(confidence=tiled(1, "sure")), "text such as 'sure'"),
    (frame(confidence=tiled(True, False)), "booleans such as"),
    (frame(confidence=np.tile([1, 1e300], 200)), "ratings up to"),
    (frame(confidence=np.tile([450, 5000], 200)), r"bin_confidence.*ratings up to 5000"),
]


@pytest.mark.parametrize(("trials", "message"), OF_TRIALS)
def test_trials_that_cannot_be_counted_are_refused(trials, message):
    with pytest.raises(InputError, match=message):
        count_trials(trials)


ZERO_TO_3 = frame(confidence=np.tile([0, 1, 2, 3], 100))
OF_ARGUMENTS = [
    *[
        (frame(), {argument: "taks"}, f"{argument}: .*Did you mean 'task'.*got 'taks'")
        for argument in ("by", "covariates", "response", "confidence")
    ],
    *[
        (frame(), arguments, r"Expected a different column for each.*2 times")
        for arguments in (
            {"by": ["model", "model"]},
            {"by": "model", "covariates": "model"},
            {"stimulus": "task", "response": "task"},
            {"by": "confidence"},
        )
    ],
    *[
        (
            frame() if name in ("stimulus", "response") else frame(**{name: "x"}),
            {argument: [name]},
            f"{argument}: Rename the column.*got '{name}'",
        )
        for name in (*DIMS.split(), "model/version")
        for argument in ("by", "covariates")[:: 1 if name == "rating" else 2]
    ],
    *[
        (frame(), {argument: name}, f"{argument}: .*Expected text.*, got .*")
        for argument in ("by", "stimulus")
        for name in (None, [["model"]])
    ],
    (frame(), {"by": [0]}, r"by: .*Expected text.*, got \[0\]"),
    (frame(group=2**70), {"by": "group"}, "group: .*got integers beyond 64 bits"),
    (frame(group=tiled("a", 1)), {"by": "group"}, r"astype\(str\).*type int and str"),
    (frame(), {"labels": ("negative", "pos")}, r"in the data 'neg' \(stimulus"),
    *[
        (frame(), {"labels": x}, TWO_LABELS)
        for x in ("ab", ("neg",), ("neg", "neg"), (None, "a"), {"neg", "pos"})
    ],
    (
        frame().rename(columns={"stimulus": "correct"}),
        {"stimulus": "correct"},
        r"stimulus: .*auroc2.*got column 'correct'",
    ),
    *[
        (
            frame().rename(columns={"response": name}),
            {"response": name},
            f"{CHOICE}.*named like correctness",
        )
        for name in CORRECTNESS
    ],
    *[
        (ZERO_TO_3, {"ratings": x}, r"least confident first: levels=\[0, 1, .*got 0 \(100 trials\)")
        for x in (None, 4)
    ],
    (ZERO_TO_3, {"ratings": 3}, r" levels=\[0, 1, 2, 3\].*Expected 1\.\.3. "),
    (
        frame(confidence=np.r_[np.tile([1, 2], 198), [9, 9, -1, 2]]),
        {"ratings": 4},
        r"Expected 1\.\.4.*-1 \(1 trials\), 9 \(2 trials\)",
    ),
    (frame(confidence=tiled("71%", "83%")), {"quantiles": 2}, r"import table FILE --sc.*'71%'"),
    *[(frame(), {"ratings": x}, r"ratings: .*Expected a whole number.*, got .*") for x in (0, 2.5)],
    (frame(confidence=np.tile([1, 1e300], 200)), {"ratings": 4}, "200 trials"),
    (frame(), {"ratings": 1001}, r"^ratings: .*from 1 to 1000, got 1001"),
]


@pytest.mark.parametrize(("trials", "arguments", "message"), OF_ARGUMENTS)
def test_arguments_that_do_not_fit_the_trials_are_refused(trials, arguments, message):
    with pytest.raises(InputError, match=message):
        count_trials(trials, **arguments)


@pytest.mark.parametrize(
    "said", [(True, False), (1.0, 0.0), ("1", "0"), ("Right", "Wrong"), ("TRUE", "FALSE")], ids=str
)
def test_a_response_that_says_right_or_wrong_is_refused(said):
    for labels in (None, ("neg", "pos")):
        with pytest.raises(InputError, match=f"Rebuild the choice.*{CHOICE}"):
            count_trials(frame(response=tiled(*said)), labels=labels)


def test_right_and_wrong_in_two_roles_and_a_mapping_to_what_is_no_name_are_refused():
    with pytest.raises(InputError, match="Name 'right' once, and leave it out of the others"):
        count_correct(frame(right=1), correct="right", by=["right"])
    trials = pd.DataFrame({"correct": [1, 0], "confidence": [1, 2]})
    given = xr.Dataset({"model": ("x", [1.0, 2.0])})
    with pytest.raises(InputError, match=r"by: .*Expected text, a list of text.*, got Dataset"):
        count_correct(trials, by=given)


# --- what is counted ------------------------------------------------------------------------


@pytest.mark.parametrize("name", FREE)
def test_other_names_of_columns_are_free(name):
    trials = frame()
    named, plain = (count_trials(trials.assign(**{x: trials["task"]}), by=x) for x in (name, "z"))
    xr.testing.assert_equal(named.rename({name: "z"}), plain)


@pytest.mark.parametrize("pair", [("Real", "fake"), (False, True), (1, 2), (-1.0, 1.0)], ids=str)
@pytest.mark.parametrize("dtype", [None, object, "category"])
def test_by_default_s1_is_the_first_label_in_order(pair, dtype):
    first, second = pair
    columns = {"stimulus": [second, first, first], "response": [second, first, second]}
    trials = pd.DataFrame({name: pd.Series(x, dtype=dtype) for name, x in columns.items()})
    counts = count_trials(trials.assign(confidence=[1, 1, 2]))
    assert json.loads(counts.attrs["labels"]) == [*pair]
    assert counts.sel(stimulus="S1").sum() == 2
    assert counts.sel(stimulus="S1", response="S2", rating=2).item() == 1


def test_labels_as_given_decide_what_s1_is():
    counts = count_trials(frame(), labels=("pos", "neg"))
    assert json.loads(counts.attrs["labels"]) == ["pos", "neg"]
    swapped = count_trials(frame()).isel(stimulus=[1, 0], response=[1, 0])
    np.testing.assert_array_equal(counts, swapped)
    single = count_trials(frame(stimulus="neg", response="neg"), labels=("neg", "pos"))
    assert single.sel(stimulus="S1").sum() == 400


TURN = np.tile([1, 1, 0, 1], 100)


@pytest.mark.parametrize(
    "trials",
    [
        frame(stimulus=tiled("true", "false"), response="true"),
        frame(stimulus=tiled("left", "right"), response="right"),
        frame(stimulus=HALF, response=TURN, correct=HALF == TURN),
        frame(stimulus=1, response=HALF, correct=HALF),
        frame(stimulus=HALF, response=1 - HALF, accuracy=np.linspace(0, 1, 400)),
    ],
    ids=["true and false", "left and right", "correctness", "by nature", "a continuous score"],
)
def test_what_only_looks_like_correctness_is_counted(trials):
    assert count_trials(trials).sum() == 400


@pytest.mark.parametrize("dtype", ["int8", "float64", "Int64", "Float64", "category", object])
def test_whole_ratings_of_any_type_are_ratings(dtype):
    cast = count_trials(frame().astype({"confidence": dtype}))
    xr.testing.assert_identical(count_trials(frame()), cast)
    hundred = frame(confidence=np.tile([25, 50, 75, 100], 100))
    assert count_trials(hundred, ratings=100).sizes["rating"] == 100


# --- count tables ---------------------------------------------------------------------------

COUNTS = count_trials(frame())


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, r"counts: .*Make one with count_trials or from_nr.*got dict"),
        (xr.DataArray([1.0], dims="cell"), r"counts: .*count_trials or from_nr.*got dims \(cell\)"),
        (COUNTS.isel(stimulus=[1, 0]), r"counts.sel\(stimulus=.*\['S2', 'S1'\]"),
        (COUNTS.isel(response=[1, 0]), "labels in dim response"),
        (COUNTS.isel(stimulus=[0]), r"assign_coords\(stimulus=.*1 labels "),
        (COUNTS.isel(stimulus=[0, 1, 1]), "3 labels in dim stimulus"),
        (COUNTS.isel(rating=[3, 2, 1, 0]), r"Expected numbers that.*\[4, 3, 2, 1\]"),
        *[
            (COUNTS.assign_coords(rating=ratings), f"{step}.*numbers that rise")
            for ratings, step in (
                (np.array([4, 3, 2, 1], dtype=np.uint8), "sortby"),
                ([1, 2, np.nan, 4], "sortby"),
                (["a", "b", "c", "d"], "Number them 1 to K"),
            )
        ],
    ],
)
def test_what_is_no_count_table_or_one_in_another_order_is_refused(counts, message):
    with pytest.raises(InputError, match=message):
        sdt(counts)


def test_a_table_without_labels_is_read_by_position():
    bare = COUNTS.drop_vars(["stimulus", "response", "rating"])
    np.testing.assert_array_equal(sdt(bare)["dprime"], sdt(COUNTS)["dprime"])
