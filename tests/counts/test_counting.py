"""Trials and count vectors become count tables that say what was done to them."""

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from counts.trials import frame
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hmetad import simulate_trials
from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.counting import count_trials
from hmetad.counts.tables import count_notices
from hmetad.counts.vectors import from_nr, to_nr

# Servajean & Servajean (2026), task A, GPT-5.
NR_S1 = [4796, 2124, 542, 1017, 285, 33, 123, 65, 36, 6]
NR_S2 = [12, 120, 107, 301, 469, 434, 1304, 967, 3085, 4174]


def codes(counts):
    return [notice.code for notice in notices(counts)]


def noticed(counts, code):
    return next(notice for notice in notices(counts) if notice.code == code)


# --- the table ------------------------------------------------------------------------------


def test_every_count_is_the_number_of_such_trials():
    trials = frame()
    counts = count_trials(trials, by=["model", "task"])
    raw = {"S1": "neg", "S2": "pos"}
    for cell, s, r, k in product(counts["cell"].to_numpy(), raw, raw, range(1, 5)):
        rows = trials[(trials["model"] + " | " + trials["task"]) == cell]
        rows = rows[(rows["stimulus"] == raw[s]) & (rows["response"] == raw[r])]
        expected = (rows["confidence"] == k).sum()
        assert counts.sel(cell=cell, stimulus=s, response=r, rating=k) == expected


def test_the_table_is_labelled_as_agreed():
    trials = frame()
    before = trials.copy()
    counts = count_trials(trials, by=["model", "task"])
    pd.testing.assert_frame_equal(trials, before)
    assert (counts.name, counts.dtype) == ("counts", np.int64)
    assert counts.dims == ("cell", "stimulus", "response", "rating")
    for dim, labels in (("stimulus", ["S1", "S2"]), ("response", ["S1", "S2"])):
        assert counts[dim].to_numpy().tolist() == labels
    assert counts["rating"].to_numpy().tolist() == [1, 2, 3, 4]
    labels = ["GPT-5 | A", "GPT-5 | B", "Mistral | A", "Mistral | B"]
    assert counts["cell"].to_numpy().tolist() == labels
    whole = count_trials(trials)
    assert (whole["cell"].to_numpy().tolist(), whole.sum()) == (["all"], 400)
    # One column may be given as text; the order of the rows does not matter.
    for same in (count_trials(trials, by=["model"]), count_trials(trials[::-1], by="model")):
        xr.testing.assert_identical(same, count_trials(trials, by="model"))


def test_a_categorical_keeps_its_own_order_and_an_unbalanced_design_is_just_fewer_cells():
    level = pd.Categorical(np.tile(["low", "high"], 200), ["low", "high", "never"], ordered=True)
    counts = count_trials(frame(level=level), by="level")
    assert counts["cell"].to_numpy().tolist() == ["low", "high"]
    trials = frame().query("not (model == 'Mistral' and task == 'B')")
    assert count_trials(trials, by=["model", "task"]).sizes["cell"] == 3


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b"], "U"),
        ([1, 2], "i"),
        ([0.5, 1.5], "f"),
        ([True, False], "b"),
        (pd.array([1, 2], dtype="Int64"), "i"),
        (pd.array(["a", "b"], dtype="string"), "U"),
        (pd.Categorical(["a", "b"]), "U"),
        (np.array(["a", "b"], dtype=object), "U"),
    ],
)
def test_coordinates_are_plain_numpy_arrays(values, kind):
    trials = frame(2, stimulus=["neg", "pos"], response=["pos", "neg"], group=values)
    trials["age"] = values
    counts = count_trials(trials, by="group", covariates="age")
    assert isinstance(counts["group"].variable.values, np.ndarray)
    assert counts["group"].dims == counts["age"].dims == ("cell",)
    assert counts["group"].dtype.kind == counts["age"].dtype.kind == kind


def test_what_was_done_is_recorded_in_attrs_that_files_keep(tmp_path):
    counts = count_trials(frame(age=30), by=["model", "task"], covariates="age")
    assert json.loads(counts.attrs["labels"]) == ["neg", "pos"]
    assert json.loads(counts.attrs["by"]) == ["model", "task"]
    assert json.loads(counts.attrs["covariates"]) == ["age"]
    assert json.loads(counts.attrs["columns"])["confidence"] == "confidence"
    assert counts.attrs["ratings_rule"] == "K = 4, the largest in column 'confidence'"
    assert counts.attrs["rows_dropped"] == 0
    counts.to_netcdf(tmp_path / "counts.nc", engine="h5netcdf")
    read = xr.load_dataarray(tmp_path / "counts.nc", engine="h5netcdf")
    xr.testing.assert_equal(read, counts)
    assert read.attrs == counts.attrs


# --- missing values -------------------------------------------------------------------------


def test_incomplete_rows_are_dropped_counted_and_noticed():
    level = pd.Categorical(["x"] * 399 + [None])
    assert count_trials(frame(level=level), by="level").attrs["rows_dropped"] == 1
    assert codes(count_trials(frame(note=None), by="model")) == []
    trials = frame()
    trials["confidence"] = trials["confidence"].astype(float)
    trials.loc[:4, "confidence"] = np.nan
    trials.loc[4:6, "model"] = None
    counts = count_trials(trials, by="model")
    assert counts.sum() == 393
    assert counts.attrs["rows_dropped"] == 7
    notice = noticed(counts, "rows-dropped")
    expected = "7 of 400 rows dropped for a missing value, in confidence (5), model (3)."
    assert notice.message == expected
    assert notice.severity == "warning"


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("column", ["stimulus", "response", "confidence", "model", "age"])
def test_every_kind_of_missing_value_is_seen_in_every_used_column(column, missing):
    trials = frame(age=30).astype({column: object})
    trials.loc[3, column] = missing
    counts = count_trials(trials, by="model", covariates="age")
    assert counts.attrs["rows_dropped"] == 1
    assert f"in {column} (1)" in noticed(counts, "rows-dropped").message


# --- cells ----------------------------------------------------------------------------------


def varying_age():
    trials = frame()
    return trials.assign(age=np.where(trials["model"] == "GPT-5", 30, trials.index % 2 + 20))


@pytest.mark.parametrize(
    ("trials", "options", "message"),
    [
        (frame(stimulus=None), {}, r"missing value in each of the 400 rows, in stimulus \(400\)"),
        (frame(group=[["a"]] * 400), {"by": "group"}, "one text or number per value"),
        (
            frame(a=np.tile(["x", "x | y"], 200), b=np.tile(["y | z", "z"], 200)),
            {"by": ["a", "b"]},
            r"'x \| y \| z' for more than one cell",
        ),
        (
            varying_age(),
            {"by": "model", "covariates": "age"},
            r"covariate 'age': .*got 2 values in cell 'Mistral', such as \[20, 21\]",
        ),
        (frame(), {"covariates": "task"}, "covariate 'task': .*got 2 values in cell 'all'"),
    ],
)
def test_what_makes_no_cells_is_refused(trials, options, message):
    with pytest.raises(InputError, match=message):
        count_trials(trials, **options)


def test_a_covariate_travels_with_its_cell():
    trials = frame()
    trials["size"] = trials["model"].map({"GPT-5": 9.5, "Mistral": 0.5})
    counts = count_trials(trials, by=["model", "task"], covariates="size")
    assert counts["size"].to_numpy().tolist() == [9.5, 9.5, 0.5, 0.5]
    assert counts["cell"].to_numpy()[0] == "GPT-5 | A"


# --- notices of any table -------------------------------------------------------------------


def test_empty_ratings_are_noticed_with_their_cells():
    table = from_nr([50, 60, 0, 0, 0, 0, 0, 0, 40, 30], [20, 40, 0, 0, 0, 0, 0, 0, 60, 70])
    assert "sparse-ratings" in codes(table)
    assert codes(count_trials(frame(), ratings=6))[0] == "empty-ratings"
    assert codes(from_nr(NR_S1, NR_S2)) == []
    other, second = [40, 20, 9, 9], [[9, 0, 0, 60], [9, 9, 9, 60]]
    assert codes(from_nr([[40, 0, 9, 9], other], second, who=["a", "b"])) == []
    counts = from_nr([[49, 0, 0, 9], other], second, who=["a", "b"])
    assert codes(counts) == ["empty-ratings", "all-one-rating"]
    assert {notice.cells for notice in notices(counts)} == {("a",)}
    assert noticed(counts, "empty-ratings").severity == "info"


def test_a_stimulus_never_shown_is_noticed():
    counts = from_nr([[90, 10], [90, 10]], [[0, 0], [10, 90]], who=["a", "b"])
    (alone,) = count_notices(from_nr([4, 1], [1, 4]).isel(cell=0))
    assert (alone.code, alone.cells) == ("few-trials", ())
    notice = noticed(counts, "one-stimulus")
    assert (notice.cells, notice.severity) == (("a",), "warning")
    assert codes(counts) == ["one-stimulus"]


@pytest.mark.parametrize(("n", "expected"), [(99, ["few-trials"]), (100, [])])
def test_fewer_than_a_hundred_trials_are_noticed(n, expected):
    counts = from_nr([40, 10], [10, n - 60])
    assert codes(counts) == expected
    assert [notice.source for notice in notices(counts)] == ["Rahnev 2025"] * len(expected)


@pytest.mark.parametrize("vectors", [([50, 0], [9, 50]), ([9, 50], [0, 50]), ([0, 60], [9, 50])])
def test_a_rate_of_zero_or_one_is_noticed_as_ceiling(vectors):
    assert noticed(from_nr(*vectors), "ceiling").cells == ("all",)


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        (60, 0, {"no-errors", "ceiling"}),
        (60, 4, {"few-errors"}),
        (60, 5, set()),
        (6, 0, {"few-trials", "no-errors", "ceiling"}),
        (6, 4, {"few-trials"}),
        (0, 0, {"few-trials", "empty-ratings", "one-stimulus"}),
    ],
)
def test_no_errors_are_told_from_few(right, wrong, expected):
    counts = from_nr([right, wrong], [wrong, right])
    assert set(codes(counts)) == expected


def test_messages_leave_the_cells_to_the_record():
    silent = [[0, 0, 0, 0], [2, 0, 0, 1]], [[0, 3, 0, 0], [0, 0, 0, 9]]
    found = notices(from_nr(*silent, who=["Ann", "Bob"]))
    assert len(found) == 5
    assert all(notice.cells for notice in found)
    assert not any(re.search("Ann|Bob|{", notice.message) for notice in found)


# --- count vectors --------------------------------------------------------------------------


def test_the_vectors_run_from_sure_s1_to_sure_s2():
    counts = from_nr(NR_S1, NR_S2).sel(cell="all")
    for label, expected in (("S1", NR_S1[4::-1]), ("S2", NR_S2[5:])):
        assert counts.sel(stimulus=label, response=label).to_numpy().tolist() == expected
    assert counts.sel(stimulus="S2", response="S1", rating=5) == 12


def test_one_cell_gives_vectors_and_a_table_rows_by_the_names_of_dims():
    counts = from_nr(NR_S1, NR_S2)
    assert [row.shape for row in to_nr(counts)] == [(1, 10), (1, 10)]
    assert [row.tolist() for row in to_nr(counts.sel(cell="all"))] == [NR_S1, NR_S2]
    turned = from_nr([NR_S1, NR_S2], [NR_S2, NR_S1]).transpose("rating", "cell", ...)
    assert to_nr(turned)[0].tolist() == [NR_S1, NR_S2]


@st.composite
def count_vectors(draw):
    """Two arrays of counts of the same legal shape."""
    cells, K = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    shape = draw(st.sampled_from([(2 * K,), (cells, 2 * K)]))
    counts = arrays(np.int64, shape, elements=st.integers(0, 10**9))
    return draw(counts), draw(counts)


@settings(max_examples=30)
@given(count_vectors())
def test_vectors_survive_the_round_trip(vectors):
    counts = from_nr(*vectors)
    for vector, back in zip(vectors, to_nr(counts), strict=True):
        np.testing.assert_array_equal(np.atleast_2d(vector), back)
    np.testing.assert_array_equal(from_nr(*to_nr(counts)), counts)
    assert counts.dtype == np.int64


def test_coordinates_may_be_scalars_or_one_per_cell():
    numbered = from_nr([NR_S1] * 2, [NR_S2] * 2)
    assert numbered["cell"].to_numpy().tolist() == ["1", "2"]
    assert set(numbered.coords) == {"cell", "stimulus", "response", "rating"}
    models = pd.Series(["GPT-5", "Mistral"], index=[7, 8])
    counts = from_nr([NR_S1] * 2, [NR_S2] * 2, model=models, task="A")
    assert counts["cell"].to_numpy().tolist() == ["GPT-5 | A", "Mistral | A"]
    assert counts["task"].to_numpy().tolist() == ["A", "A"]
    assert json.loads(counts.attrs["by"]) == ["model", "task"]


def test_two_cells_cannot_have_the_same_coordinates():
    with pytest.raises(InputError, match="'A' for more than one cell"):
        from_nr([NR_S1] * 2, [NR_S2] * 2, model="A")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([3, -1], [1, 1], "nR_S1: .*Expected counts of 0 or more.*, got -1"),
        ([3, 1], [1, np.nan], "nR_S2: .*got nan"),
        ([3, 1e30], [1, 1], "nR_S1: .*Expected counts of 0 or more, up to.*, got 1e\\+30"),
        ([3.5, 1], [1, 1], r"Pass raw counts; name a correction.*the padded count 3.5"),
        ([3, 1, 2], [1, 1, 2], r"Expected shape \(2K,\) or \(cells, 2K\).*shape \(3,\)"),
        ([3, 1], [1, 1, 2, 2], r"nR_S2: .*got shape \(4,\) beside \(2,\)"),
        ([[3, 1]], [1, 1], r"nR_S2: .*got shape \(2,\) beside \(1, 2\)"),
        ([], [], r"shape \(0,\)"),
        (5, 5, r"shape \(\)"),
        (["a", "b"], [1, 1], "nR_S1: .*Expected whole numbers.*, got .*"),
        ([[1, 2], [3]], [1, 1], "nR_S1: .*Expected whole numbers.*, got .*"),
    ],
)
def test_what_is_no_vector_of_counts_is_refused(first, second, message):
    with pytest.raises(InputError, match=message):
        from_nr(first, second)


@pytest.mark.parametrize("values", [["a"], ["a", "b", "c"], [["a", "b"]]])
def test_a_coordinate_of_the_wrong_length_or_a_reserved_name_is_refused(values):
    with pytest.raises(InputError, match=r"coords: .*got 'rating'"):
        from_nr(NR_S1, NR_S2, rating="a")
    with pytest.raises(InputError, match=r"coords 'who'.*one value for each of 2 cells"):
        from_nr([NR_S1] * 2, [NR_S2] * 2, who=values)


def test_numbers_that_are_text_come_by_their_value():
    """As in a file: by the digits alone, .5 comes before .25."""
    levels = [".9", ".25", "-1", "1e-1", ".5", ".75"]
    trials = pd.concat([frame().assign(level=level) for level in levels])
    found = count_trials(trials, by="level")["level"].values.tolist()
    assert found == ["-1", "1e-1", ".25", ".5", ".75", ".9"]


def test_cells_come_in_natural_order_by_the_columns_in_their_order():
    floats = count_trials(frame(subject=np.tile([10.0, 2.0], 200)), by=["model", "subject"])
    order = ["GPT-5 | 2", "GPT-5 | 10", "Mistral | 2", "Mistral | 10"]
    assert floats["cell"].to_numpy().tolist() == order
    names = ["s10", "s2", "s1", "b3", "s2b"]
    trials = pd.DataFrame(
        {
            "subject": np.repeat(names, 8),
            "stimulus": [0, 1] * 20,
            "response": [0, 1, 1, 0] * 10,
            "confidence": [1, 2] * 20,
        }
    )
    counts = count_trials(trials, by="subject", ratings=2)
    assert counts["cell"].values.tolist() == ["b3", "s1", "s2", "s2b", "s10"]
    for name, part in trials.groupby("subject"):
        alone = count_trials(part, ratings=2, labels=(0, 1))
        assert (counts.sel(cell=name).values == alone.values[0]).all()
    own = pd.Categorical(trials["subject"], names, ordered=True)
    kept = count_trials(trials.assign(subject=own), by="subject", ratings=2)
    assert kept["cell"].values.tolist() == names


def test_vectors_have_covariates_that_are_in_no_label():
    vectors = [NR_S1, NR_S1], [NR_S2, NR_S2]
    counts = from_nr(*vectors, covariates={"age": [31, 45]}, subject=["a", "b"])
    assert counts["cell"].values.tolist() == ["a", "b"]
    assert counts["age"].values.tolist() == [31, 45]
    assert json.loads(counts.attrs["covariates"]) == ["age"]
    alone = from_nr(*vectors, covariates={"age": [31, 45]})
    assert alone["cell"].values.tolist() == ["1", "2"]
    with pytest.raises(InputError, match="names other than those of coords"):
        from_nr(*vectors, covariates={"subject": [1, 2]}, subject=["a", "b"])
    with pytest.raises(InputError, match=r"covariates 'age': .*got shape"):
        from_nr(*vectors, covariates={"age": [31, 45, 60]})


def test_confidence_after_one_response_alone_is_refused_with_what_to_do():
    trials = pd.DataFrame(
        {
            "stimulus": [0, 1, 0, 1] * 30,
            "response": [0, 1, 1, 0] * 30,
            "confidence": [np.nan, 2, 1, np.nan] * 30,
        }
    )
    with pytest.raises(InputError, match=r"no value in any of the 60 trials with response 0") as e:
        count_trials(trials, ratings=2)
    assert "trials.fillna({'confidence': 1})" in e.value.next_step
    counts = count_trials(trials.fillna({"confidence": 1}), ratings=2)
    assert counts.sel(response="S1", rating=1).sum() == 60
    # Single missing values are dropped and told.
    some = trials.fillna({"confidence": 1}).mask(np.arange(120)[:, None] < [[0, 0, 7]])
    assert next(x.code for x in notices(count_trials(some, ratings=2))) == "rows-dropped"


def test_levels_of_which_no_row_is_left_are_named():
    parts = {"part": ["training", "test"]}
    trials = simulate_trials([1.2, 1.2], trials=200, coords=parts, seed=1)
    trials["confidence"] = trials["confidence"].mask(trials["part"] == "training")
    found = notices(count_trials(trials, by="part"))
    (said,) = [one for one in found if one.code == "rows-dropped"]
    assert "No row is left of part training." in said.message
