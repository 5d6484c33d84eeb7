"""Tables get the names that counting expects, and columns of their paths."""

import numpy as np
import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.logs import frame_notices
from hmetad.logs.trial_tables import read_trials

TABLE = pd.DataFrame({"item": ["a", "b"], "llama_ok": [0, 0], "llama_conf": [80, 20]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"correct": "acc"}}, "Did you mean|There are"),
        ({"columns": ["acc"]}, "Expected a mapping of text to text"),
        ({"columns": {"item": "llama_ok"}}, "a column 'item'"),
        ({"columns": {"x": "item", "y": "item"}}, "a different column for each"),
        ({"scale": "percent"}, "confidence: .*got no such column"),
    ],
)
def test_columns_that_are_not_there_are_refused(options, message, tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=message):
        read_trials(tmp_path / "t.csv", **options)


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        # Ratings stay as they are unless a scale is named; columns may swap their names.
        ({"confidence": [4, 2]}, {}, {"confidence": [4, 2]}),
        ({"confidence": [4, 2]}, {"scale": (1, 5)}, {"confidence": [0.75, 0.25]}),
        ({"a": [1], "b": [2]}, {"columns": {"a": "b", "b": "a"}}, {"b": [1], "a": [2]}),
    ],
)
def test_a_table_is_kept_but_for_what_is_asked(table, options, expected, tmp_path):
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    assert read_trials(tmp_path / "t.csv", **options).to_dict("list") == expected


def test_a_table_is_read_renamed_and_parsed(tmp_path):
    table = pd.DataFrame({"acc": [1, 0, 1], "sure": ["very", "8/10", "?"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    columns = {"correct": "acc", "confidence": "sure"}
    trials = read_trials(tmp_path / "t.csv", columns=columns, words={"very": 0.95})
    np.testing.assert_allclose(trials["confidence"], [0.95, 0.8, np.nan])
    assert trials["correct"].tolist() == [1, 0, 1]
    assert trials.attrs["rejected"] == {"confidence: not understood": 1}
    assert trials.attrs["examples"][0]["said"] == "?"


@pytest.mark.parametrize(("own", "expected"), [("abstained", ["no idea", "no"]), ("why", [0, 0])])
def test_a_grade_that_means_abstained_adds_the_column_where_no_row_has_it(own, expected, tmp_path):
    (tmp_path / "t.csv").write_text(f"correct,{own}\n1,no idea\n-1,no\n", encoding="utf-8")
    grades = {"1": True, "-1": False, "0": "abstained"}
    assert read_trials(tmp_path / "t.csv", grades=grades)["abstained"].tolist() == expected


@pytest.mark.parametrize(("column", "named"), [("model", "of small"), ("item", "of the table")])
def test_a_scale_that_spoils_numbers_from_0_to_1_is_refused(tmp_path, column, named):
    rows = {column: ["small"] * 12 + ["large"] * 12, "correct": [1, 0] * 12}
    table = pd.DataFrame(rows).assign(confidence=[0.9] * 12 + [90.0] * 12)
    table = table if column == "model" else table.head(12)
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=rf"scale: .*got 'percent', where all numbers {named} are"):
        read_trials(tmp_path / "t.csv", scale="percent")


TABLES = {
    "gpt_math.csv": "item,answer,p_A,p_B\n1,a,0.7,0.3\n2,b,0.4,0.6\n",
    "llama_math.csv": "item,answer,p_B,p_A,n\n1,A,0.1,0.9,3\n3,B,0.4,0.6,4\n",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    for name, text in TABLES.items():
        (tmp_path / "runs" / name).write_text(text)
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
        with pytest.raises(InputError, match=r"z\.csv: .*got no column that .*gpt_math\.csv has"):
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


@pytest.mark.parametrize(
    ("name", "template", "says"),
    [
        ("runs", "{model}.{set}.csv", "a pattern that all files fit"),
        ("runs", "model.csv", "different names in braces"),
        ("runs", "{a}_{a}.csv", "different names in braces"),
        ("runs", "{item}_{set}.csv", "path: .*got a column 'item' in .*gpt_math"),
        ("a_b_c.csv", "{model}_{set}.csv", "fits as .*'a'.* and as .*'a_b'"),
    ],
)
def test_paths_that_do_not_have_the_columns_are_refused(name, template, says, folder):
    (folder / "a_b_c.csv").write_text("item\n1\n")
    with pytest.raises(InputError, match=says):
        read_trials(folder / name, path_columns=template)
