"""Columns that a table does not spell out come from its path, a key, or a column per option."""

import numpy as np
import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.logs import frame_notices, read_trials

TABLES = {
    "gpt_math.csv": "item,answer,p_A,p_B\n1,a,0.7,0.3\n2,b,0.4,0.6\n",
    "llama_math.csv": "item,answer,p_B,p_A,n\n1,A,0.1,0.9,3\n3,B,0.4,0.6,4\n",
}
KEY = "item,target,topic\n1,A,x\n2,A,y\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    for name, text in TABLES.items():
        (tmp_path / "runs" / name).write_text(text)
    (tmp_path / "key.csv").write_text(KEY)
    return tmp_path


def test_tables_of_different_columns_have_all_of_them_and_it_is_said(folder):
    trials = read_trials(folder / "runs")
    assert trials.columns.tolist() == ["item", "answer", "p_A", "p_B", "n", "file"]
    assert trials["p_A"].tolist() == [0.7, 0.4, 0.9, 0.6]
    # Whole numbers stay whole beside the rows that lack them.
    assert trials["n"].dtype == "Int64"
    assert trials["n"].isna().tolist() == [True, True, False, False]
    (notice,) = frame_notices(trials)
    assert notice.code == "columns-of-some-files"
    assert "2 files have columns 'n'" in notice.message
    (folder / "runs" / "z.csv").write_text("codebook\nx\n")
    for options in ({}, {"path_columns": "{name}.csv"}):
        with pytest.raises(InputError, match=r"z\.csv: got no column that .*gpt_math\.csv has"):
            read_trials(folder / "runs", **options)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{model}_{set}.csv", {"model": ["gpt", "llama"], "set": ["math"] * 2}),
        ("{kind}/{model}_math.csv", {"kind": ["runs"] * 2, "model": ["gpt", "llama"]}),
    ],
)
def test_columns_stand_in_paths(template, expected, folder):
    trials = read_trials(folder / "runs", path_columns=template)
    assert trials[[*expected]].iloc[[0, 2]].to_dict("list") == expected
    one = read_trials(folder / "runs" / "gpt_math.csv", path_columns=template)
    assert one["model"].tolist() == ["gpt"] * 2
    # A wide table keeps them for each of its models.
    options = {"path_columns": "{who}_{set}.csv", "wide": {"sure": "p_{model}"}, "keep": "item"}
    wide = read_trials(folder / "runs", **options)
    assert wide.columns.tolist() == ["file", "who", "set", "item", "model", "sure"]
    assert len(wide) == 8


def test_a_key_stands_beside_the_trials_and_judges_their_answers(folder):
    trials = read_trials(folder / "runs", key=folder / "key.csv", on="item")
    assert trials["topic"].tolist()[:3] == ["x", "y", "x"]
    assert trials["topic"].isna().tolist() == [False, False, False, True]
    assert trials["correct"].tolist()[:3] == [True, False, True]
    assert trials["correct"].isna().tolist() == [False, False, False, True]
    assert trials.attrs["rejected"] == {"key: no row of it": 1}
    (folder / "own.csv").write_text("item,answer,correct\n1.0,B,1\n")
    own = read_trials(folder / "own.csv", key=folder / "key.csv", on=["item"])
    # A column that says what is right stays; 1.0 is item 1.
    assert own[["correct", "target"]].values.tolist() == [[1, "A"]]


def test_probabilities_of_options_give_the_one_chosen(folder):
    options = {"key": folder / "key.csv", "on": "item", "option_columns": "p_{option}"}
    trials = read_trials(folder / "runs", **options)
    assert trials["confidence"].tolist() == [0.7, 0.6, 0.9, 0.4]
    assert trials["chosen"].tolist() == [0, 1, 0, 1]
    assert trials.attrs["options"] == ["A", "B"]
    assert trials["target"].tolist()[:3] == [0, 0, 0]
    assert trials["correct"].tolist()[:3] == [True, False, True]
    # Nothing depends on the order of columns in each file.
    assert trials["option_probabilities"].tolist()[2] == [0.9, 0.1]


def test_without_answers_the_most_probable_option_is_chosen(tmp_path):
    table = pd.DataFrame({"p1": [0.2, np.nan, 0.5], "p2": [0.8, np.nan, np.nan], "key": [2, 1, 1]})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = {"option_columns": "p{option}", "columns": {"target": "key"}}
    trials = read_trials(tmp_path / "t.csv", **options)
    # Options are numbered from 0, whatever their names.
    assert trials["target"].tolist() == [1, 0, 0]
    assert trials["chosen"].tolist() == [1, pd.NA, 0]
    assert trials["correct"].tolist() == [True, pd.NA, True]
    assert trials["option_probabilities"][1] is None
    np.testing.assert_array_equal(trials["confidence"], [0.8, np.nan, 0.5])


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("runs", {"path_columns": "{model}.{set}.csv"}, "a pattern that all files fit"),
        ("runs", {"path_columns": "model.csv"}, "different names in braces"),
        ("runs", {"path_columns": "{a}_{a}.csv"}, "different names in braces"),
        ("runs", {"path_columns": "{item}_{set}.csv"}, "path: got a column 'item' in .*gpt_math"),
        ("a_b_c.csv", {"path_columns": "{model}_{set}.csv"}, "fits as .*'a'.* and as .*'a_b'"),
        ("runs", {"key": "key.csv"}, "on: got none, beside a key"),
        ("runs", {"on": "item"}, "key: got none, beside"),
        ("runs", {"key": "key.csv", "on": "id"}, "on: got 'id', allowed is a column of the trials"),
        ("runs", {"key": "key.csv", "on": "answer"}, "on: got 'answer', .* a column of the key"),
        ("runs", {"key": "twice.csv", "on": "item"}, "key: got several rows of 1"),
        ("runs", {"key": "other.csv", "on": "item"}, "key: got no value of 'item' that stands in"),
        ("runs", {"key": "same.csv", "on": "item"}, "key: got columns 'answer' of the trials"),
        ("runs", {"option_columns": "p_"}, r"a name with \{option\} in it, once"),
        ("runs", {"option_columns": "q_{option}"}, "columns of two options or more"),
        ("a_b_c.csv", {"option_columns": "p_{option}"}, "got 85, allowed is probabilities from 0"),
        ("alike.csv", {"option_columns": "p_{option}"}, "names that differ in more than case"),
        ("text.csv", {"option_columns": "p_{option}"}, "allowed is numbers"),
        ("runs/gpt_math.csv", {"option_columns": "p_{option}", "columns": {"confidence": "item"}},
         "a column 'confidence' beside them"),
        ("none.csv", {"option_columns": "p_{option}"}, "got 'c' in column 'answer'"),
    ],
)  # fmt: skip
def test_what_cannot_be_derived_is_refused(name, options, says, folder):
    texts = {
        "twice.csv": "item,target\n1,A\n1,B\n",
        "other.csv": "item,target\n9,A\n",
        "same.csv": "item,answer\n1,A\n",
        "a_b_c.csv": "item,p_A,p_B\n1,85,15\n",
        "alike.csv": "item,p_A,p_a\n1,0.5,0.5\n",
        "text.csv": "item,p_A,p_B\n1,high,low\n",
        "none.csv": "answer,p_A,p_B\nC,0.5,0.5\n",
    }
    for file, text in texts.items():
        (folder / file).write_text(text)
    if "key" in options:
        options = options | {"key": folder / options["key"]}
    with pytest.raises(InputError, match=says):
        read_trials(folder / name, **options)
