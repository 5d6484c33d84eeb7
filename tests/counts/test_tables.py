"""Type-2 tables: from right and wrong trials, and from count tables without their stimulus."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from counts.trials import frame
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hmetad import InputError, count_correct, count_trials, from_nr, measure, notices
from hmetad.counts import type2_counts
from hmetad.counts.tables import count_notices

TABLES = arrays(np.int64, (3, 2, 2, 4), elements=st.integers(0, 60))


def codes(counts):
    return [notice.code for notice in notices(counts)]


def marked(n=400, **columns):
    """Trials that also say whether they were right."""
    trials = frame(n, **columns)
    return trials.assign(correct=trials["stimulus"] == trials["response"])


def labelled(values):
    """Count table of an array (cell, stimulus, response, rating)."""
    nR = np.concatenate([values[..., 0, ::-1], values[..., 1, :]], axis=-1)
    return from_nr(nR[:, 0], nR[:, 1])


def type2(values, **coords):
    """Type-2 table of an array (cell, correct, rating), as a user would make it."""
    return xr.DataArray(values, coords, ("cell", "correct", "rating"), name="counts")


RISING = labelled(np.arange(48).reshape(3, 2, 2, 4))

# --- trials to a table ----------------------------------------------------------------------


def test_every_count_is_the_number_of_such_trials(tmp_path):
    trials = marked()
    before = trials.copy()
    counts = count_correct(trials, by=["model", "task"])
    pd.testing.assert_frame_equal(trials, before)
    words = {"wrong": False, "right": True}
    for cell, word, k in product(counts["cell"].to_numpy(), words, range(1, 5)):
        rows = trials[(trials["model"] + " | " + trials["task"]) == cell]
        expected = ((rows["correct"] == words[word]) & (rows["confidence"] == k)).sum()
        assert counts.sel(cell=cell, correct=word, rating=k) == expected
    assert (counts.name, counts.dtype) == ("counts", np.int64)
    assert counts.dims == ("cell", "correct", "rating")
    assert counts["correct"].to_numpy().tolist() == ["wrong", "right"]
    assert counts["rating"].to_numpy().tolist() == [1, 2, 3, 4]
    assert codes(count_correct(trials, by="model")) == []
    few = count_correct(marked(40, task=[1, 2] * 20), by="task")
    few.to_netcdf(tmp_path / "counts.nc", engine="h5netcdf")
    read = xr.load_dataarray(tmp_path / "counts.nc", engine="h5netcdf")
    xr.testing.assert_identical(read, few)
    assert notices(read) == notices(few) != []
    xr.testing.assert_equal(type2_counts(read), few)


def test_cells_coordinates_and_attrs_are_those_of_count_trials():
    trials = marked(age=30).rename(columns={"model": "llm"})
    ours, theirs = (
        count(trials, by={"model": "llm", "task": "task"}, ratings=6)
        for count in (count_correct, count_trials)
    )
    for name in ("cell", "model", "task", "rating"):
        xr.testing.assert_identical(ours[name], theirs[name])
    for name in ("long_name", "units", "by", "rows_dropped", "ratings_rule"):
        assert ours.attrs[name] == theirs.attrs[name]
    assert json.loads(ours.attrs["columns"]) == {"correct": "correct", "confidence": "confidence"}
    xr.testing.assert_equal(type2_counts(theirs), ours)
    alone = count_correct(trials)
    assert alone["cell"].to_numpy().tolist() == ["all"]
    assert alone.sum() == 400


@pytest.mark.parametrize(
    ("wrong", "right", "dtype"),
    [
        *[(wrong, right, None) for wrong, right in ((False, True), (0.0, 1.0), ("0", "1"))],
        *(("Wrong", " right ", "category"), ("error", "TRUE", "string"), (0, 1, "Int64")),
        *((False, True, "boolean"), (np.bool_(False), np.bool_(True), object)),
    ],
)
def test_correctness_may_be_booleans_zero_and_one_or_words(wrong, right, dtype):
    trials = marked()
    said = [right if value else wrong for value in trials["correct"]]
    counts = count_correct(trials.assign(correct=pd.Series(said, dtype=dtype)))
    xr.testing.assert_equal(counts, count_correct(trials))
    assert json.loads(counts.attrs["labels"]) == [[wrong], [right]]
    several = pd.DataFrame({"correct": ["wrong", "error", "right", "correct"], "confidence": 1})
    counts = count_correct(several)
    assert counts.sum("rating").sel(cell="all").to_numpy().tolist() == [2, 2]
    assert json.loads(counts.attrs["labels"]) == [["error", "wrong"], ["correct", "right"]]


NEITHER = [
    (["right", "maybe"], r"correct column 'correct': .*Expected T.*, got 'maybe' \(200 trials\)"),
    ([1, 2], r"Decide for each trial.*got 2 \(200 trials\)"),
    ([0.25, 1.0], r"Partial credit becomes right or wrong by a cut.*got 0.25 \(200 trials\)"),
    (["A", "B"], r"got 'A' \(200 trials\), 'B' \(200 trials\)"),
    ([True, "wrong"], "correct column 'correct': .*got values of type bool and str"),
    ([1, np.inf], r"got inf \(200 trials\)"),
    (["C", "I"], r"import table FILE --grades C=true,I=false"),
    ([1, -1], r"If -1 is the score of an error, and 0 that of no answer: .* 1=true,-1=false"),
]


@pytest.mark.parametrize(
    ("trials", "arguments", "message"),
    [
        *[(marked().assign(correct=x * 200), {}, message) for x, message in NEITHER],
        *[(x, {}, r"trials.*got") for x in ([1, 2], pd.DataFrame())],
        (marked(), {"correct": "corect"}, r"correct: .*Did you mean 'correct'.*got 'corect'"),
        (marked(), {"confidence": "correct"}, "correct, confidence: .*got 'correct' 2 times"),
        (marked(), {"by": {"who": "modell"}}, r"column for 'who': .*Did you mean 'model'.*got "),
        (marked(), {"by": {"who": "model", "llm": "model"}}, "which is named 'who' already"),
        (marked(), {"ratings": 3}, "confidence column 'confidence': .*got 4 "),
    ],
)
def test_what_cannot_be_counted_by_right_and_wrong_is_refused(trials, arguments, message):
    with pytest.raises(InputError, match=message):
        count_correct(trials, **arguments)


# --- notices --------------------------------------------------------------------------------


def test_every_notice_names_its_own_cells():
    cells = {"full": [[30, 30], [30, 30]], "few": [[3, 3], [3, 3]], "unused": [[60, 0], [60, 0]]}
    cells |= {"able": [[0, 0], [90, 90]], "lost": [[90, 90], [0, 0]], "none": [[0, 0], [0, 0]]}
    found = count_notices(type2(list(cells.values()), cell=list(cells)))
    assert {notice.code: (notice.cells, notice.severity) for notice in found} == {
        "empty-ratings": (("unused", "none"), "info"),
        "few-trials": (("few", "none"), "warning"),
        "no-errors": (("able",), "warning"),
        "no-rights": (("lost",), "warning"),
    }


def test_what_a_count_table_said_is_carried_along_and_not_said_twice():
    counts = from_nr([[9, 9, 0, 0], [90, 9, 9, 9]], [[0, 0, 9, 9], [9, 9, 9, 90]], who=["a", "b"])
    table = type2_counts(counts)
    assert notices(table)[: len(notices(counts))] == notices(counts)
    assert codes(table) == ["few-trials", "no-errors", "ceiling"]
    assert notices(table)[1].cells == ("a",)
    for again in (table, table.isel(cell=[0])):
        assert notices(type2_counts(again)) == notices(table)
    joined = type2([[[0, 0], [90, 90]]] * 2, cell=["a", "b"])
    both = joined.assign_attrs(type2_counts(joined.isel(cell=[0])).attrs)
    assert [notice.cells for notice in notices(type2_counts(both))] == [("a",), ("a", "b")]


def test_few_trials_of_one_response_are_not_few_trials_of_the_cell():
    counts = from_nr([[600, 500, 20, 5]], [[200, 100, 25, 30]])
    (notice,) = [x for x in notices(measure(counts)) if x.code == "few-trials"]
    assert int(counts.sum()) == 1480
    assert "One of the two responses" in notice.message
    few = from_nr([[30, 20, 2, 5]], [[10, 10, 2, 3]])
    said = {x.message for x in notices(measure(few)) if x.code == "few-trials"}
    assert not any("one of the two" in text for text in said)


# --- from a count table ---------------------------------------------------------------------


@settings(max_examples=40)
@given(TABLES)
def test_right_is_where_the_response_equals_the_stimulus(values):
    counts = labelled(values)
    before = counts.copy(deep=True)
    table, of_responses = type2_counts(counts), type2_counts(counts, response_conditional=True)
    right = values[:, 0, 0] + values[:, 1, 1]
    np.testing.assert_array_equal(table.sel(correct="right"), right)
    np.testing.assert_array_equal(table.sel(correct="wrong"), values.sum(axis=(1, 2)) - right)
    assert (table.dtype, table.dims) == (np.int64, ("cell", "correct", "rating"))
    assert of_responses.dims == ("cell", "response", "correct", "rating")
    np.testing.assert_array_equal(of_responses.sum("response"), table)
    np.testing.assert_array_equal(of_responses.sel(response="S2", correct="right"), values[:, 1, 1])
    np.testing.assert_array_equal(of_responses.sel(response="S1", correct="wrong"), values[:, 1, 0])
    xr.testing.assert_identical(counts, before)


def test_labels_decide_not_the_order_of_the_dims_or_of_the_labels():
    turned = RISING.isel(stimulus=[1, 0]).transpose("rating", "response", "cell", "stimulus")
    xr.testing.assert_equal(type2_counts(turned), type2_counts(RISING))
    only_s1 = type2_counts(RISING.sel(response=["S1"]))
    both = type2_counts(RISING, response_conditional=True)
    np.testing.assert_array_equal(only_s1, both.sel(response="S1"))
    # A table without labels goes by position.
    bare = xr.DataArray(RISING.values, dims=RISING.dims)
    np.testing.assert_array_equal(type2_counts(bare), type2_counts(RISING))


def test_further_dims_weights_coordinates_and_attrs_are_kept():
    draws = xr.concat([RISING, RISING / 4], "draw").transpose("rating", "draw", ...)
    table = type2_counts(draws)
    assert table.dims == ("draw", "cell", "correct", "rating")
    np.testing.assert_array_equal(table[1] * 4, type2_counts(RISING))
    counts = count_trials(marked(), by="model")
    table = type2_counts(counts)
    assert table.attrs == {key: value for key, value in counts.attrs.items() if key != "labels"}
    assert table.name == "counts"
    xr.testing.assert_identical(table["model"], counts["model"])


def test_a_type2_table_is_left_as_it_is_and_may_have_other_names_for_right_and_wrong():
    counts = count_correct(marked(), by="model")
    for table in (counts, counts.transpose("rating", "correct", "cell")):
        xr.testing.assert_identical(type2_counts(table), counts)
    for labels in (["wrong", "right"], [False, True], [0, 1], ["incorrect", "correct"]):
        own = type2([[[40, 20], [20, 40]]], correct=labels)
        before = own.copy(deep=True)
        assert type2_counts(own)["correct"].to_numpy().tolist() == ["wrong", "right"]
        xr.testing.assert_identical(own, before)


FALLING = RISING.assign_coords(rating=[1, 2, 3, 4]).isel(rating=[3, 2, 1, 0])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 2], [3, 4]], r"counts: .*count_correct.*Expected a count table .*got list"),
        (xr.DataArray([1, 2], dims="rating"), r".*Expected a count table.*, got dims \(rating\)"),
        (type2([[[1, 2], [3, -4]]]), "counts: .*Expected counts of 0 or more.*, got -4"),
        (type2([[[1, 2], [3, np.nan]]]), r"counts: .*Leave out cells without trials.*got nan"),
        (type2([[["a", "b"], ["c", "d"]]]), "got values of type <U1"),
        (type2([[[1, 2], [3, 4]]], correct=["right", "wrong"]), r"\['right', 'wrong'\]"),
        (type2([[[1, 2]] * 3]), r"dim correct with \[0, 1, 2\]"),
        (RISING.assign_coords(response=["a", "b"]), "response"),
        (FALLING, r"ratings \[4, 3, 2, 1\]"),
        (FALLING.sum("stimulus").rename(response="correct"), r"ratings \[4, 3, 2, 1\]"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(counts, message):
    with pytest.raises(InputError, match=message):
        type2_counts(counts)


def test_a_type2_table_has_no_responses_to_tell_apart():
    with pytest.raises(InputError, match=r"response_conditional: .*got True for a type-2 table"):
        type2_counts(type2([[[1, 2], [3, 4]]]), response_conditional=True)
