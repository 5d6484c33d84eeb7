"""Tables are read by their suffix, or refused with the next step."""

import json

import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.rows.files import read_table

FRAME = pd.DataFrame({"stimulus": ["a", "b"], "confidence": [1, 2]})


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", lambda path: FRAME.to_csv(path, index=False)),
        ("t.csv.gz", lambda path: FRAME.to_csv(path, index=False)),
        ("t.tsv", lambda path: FRAME.to_csv(path, index=False, sep="\t")),
        ("t.jsonl", lambda path: FRAME.to_json(path, orient="records", lines=True)),
        ("t.parquet", lambda path: FRAME.to_parquet(path)),
        ("my.model.v2.csv", lambda path: FRAME.to_csv(path, index=False)),
    ],
)
def test_every_format_gives_the_same_trials(name, write, tmp_path):
    write(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), FRAME, check_dtype=False)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "an empty file"),
        ("header.csv", "a,b\n", "without rows"),
        ("semicolons.csv", "a;b\n1;2\n3\n", "semicolons, of which row 3 has 1 and the header 2"),
        ("tabs.csv", "a\tb\n1\t2\t3\n", "tabs"),
        ("commas.tsv", "a,b\n1,2\n3\n", "commas"),
        ("broken.jsonl", "{no json", "no JSON"),
        ("blank.jsonl", "\n", "an empty file"),
        ("broken.parquet", "no parquet", "cannot be read"),
        ("ragged.csv", "a,b\n1,2\n1,2,3\n", "cannot be read"),
        ("wider.csv", "a,b\n1,2,3\n1,2,3\n", "cannot be read"),
        ("notes.txt", "a word\nand more of them\n", "suffix '.txt'"),
    ],
)
def test_files_that_are_no_such_table_are_refused(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "values"),
    [
        ("semicolons.csv", "a;b\n1;2\n3;4\n", [[1, 2], [3, 4]]),
        ("commas.csv", "a;b\n0,5;x, y\n0,75;z\n", [["0,5", "x, y"], ["0,75", "z"]]),
        ("quoted.csv", 'a;b\n1;"x;\ny"\n2;z\n', [[1, "x;\ny"], [2, "z"]]),
        ("tabs.csv", "a\tb\n1\t2\n", [[1, 2]]),
        ("commas.tsv", "a,b\n1,2\n", [[1, 2]]),
        ("bars.txt", "a|b\n1|2\n", [[1, 2]]),
        ("spaces.dat", "a   b\n 1   2\n", [[1, 2]]),
    ],
)
def test_delimiters_are_found(name, content, values, tmp_path):
    (tmp_path / name).write_text(content)
    found = read_table(tmp_path / name)
    assert found.values.tolist() == values
    assert found.columns.tolist() == ["a", "b"]
    as_text = read_table(tmp_path / name, text=["a"])
    assert as_text["a"].tolist() == [row.split(sign)[0] for row, sign in first_fields(content)]


def first_fields(content):
    """Rows of a text without the header, each with its delimiter."""
    sign = next(x for x in ";\t|, " if x in content)
    rows = [" ".join(row.split()) if sign == " " else row for row in content.splitlines()[1:]]
    return [(row, sign) for row in rows if sign in row]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_delimiter_is_found_where_the_first_rows_are_long(end, tmp_path):
    texts = [f"{number} {'word' * 700}{end}more" for number in range(60)]
    rows = "".join(f'{number};"{text}"{end}' for number, text in enumerate(texts))
    (tmp_path / "t.csv").write_bytes(f"item;text{end}{rows}".encode())
    found = read_table(tmp_path / "t.csv")
    assert found["item"].tolist() == list(range(60))
    assert found["text"].str.len().tolist() == [len(text) for text in texts]


def test_a_missing_file_names_what_lies_beside_it(tmp_path):
    (tmp_path / "trials.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"In that folder: trials\.csv"):
        read_table(tmp_path / "trails.csv")
    with pytest.raises(InputError, match="no folder"):
        read_table(tmp_path / "nowhere" / "trials.csv")


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(InputError, match="a folder"):
        read_table(tmp_path)


def test_columns_kept_as_text_are_not_read_as_numbers_or_gaps(tmp_path):
    (tmp_path / "t.csv").write_text("model,x\n4.1,1\n4.10,2\n007,3\nNone,4\n,5\n")
    table = read_table(tmp_path / "t.csv", text=["model"])
    assert table["model"].tolist()[:4] == ["4.1", "4.10", "007", "None"]
    assert table["model"].isna().tolist() == [False, False, False, False, True]
    assert table["x"].sum() == 15


def test_json_lines_keep_the_types_of_json(tmp_path):
    rows = [{"item": "001", "sure": 3, "date": 1.6e9}, {"item": "1", "sure": None, "date": 1.7e9}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8-sig")
    table = read_table(path)
    assert table["item"].tolist() == ["001", "1"]
    assert table["date"].tolist() == [1.6e9, 1.7e9]
    assert table["sure"].isna().tolist() == [False, True]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files_that_are_broken_are_refused(suffix, tmp_path):
    path = tmp_path / f"t.csv{suffix}"
    FRAME.to_csv(path, index=False)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        read_table(path)
