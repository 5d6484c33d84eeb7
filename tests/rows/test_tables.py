"""Tables are read by their suffix, or refused with the next step."""

import json
import os

import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.counts.counting import count_correct
from hmetad.logs.kinds import recognise_kind
from hmetad.logs.trial_tables import read_trials
from hmetad.rows.files import read_table
from hmetad.rows.tables import rows_of


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "an empty file"),
        ("header.csv", b"a,b\n", "without rows"),
        ("semicolons.csv", b"a;b\n1;2\n3\n", "semicolons, of which row 3 has 1 and the header 2"),
        ("tabs.csv", b"a\tb\n1\t2\t3\n", "tabs"),
        ("commas.tsv", b"a,b\n1,2\n3\n", "commas"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read"),
        ("wider.csv", b"a,b\n1,2,3\n1,2,3\n", "cannot be read"),
        ("bytes.csv", b"a,b\n1,\xff\n", "UTF-?8"),
        ("broken.jsonl", b"{no json", "a JSON object in each line"),
        ("half.jsonl", b'{"a": 1, "b": 2}\n{"a": 1', "a JSON object in each line"),
        ("list.jsonl", b'{"a": 1, "b": 2}\n[1]\n', "a JSON object"),
        ("blank.jsonl", b"\n", "an empty file"),
        ("broken.parquet", b"PAR1 no Parquet PAR1", "cannot be read"),
        ("notes.txt", b"a word\nand more of them\n", "suffix '.txt'"),
    ],
)
def test_files_that_are_no_such_table_are_refused(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["a.ods", "a.sav.gz", "a"])
def test_a_table_of_another_format_is_to_be_converted_and_not_renamed(name, tmp_path):
    (tmp_path / name).write_text("[]")
    with pytest.raises(InputError, match="Save it as CSV") as raised:
        read_table(tmp_path / name)
    assert "Rename" not in str(raised.value)
    with pytest.raises(InputError, match=name):
        recognise_kind(tmp_path / name)


def test_further_rows_of_header_of_qualtrics_in_a_frame_are_named():
    ids = '{"ImportId": "QID1"}'
    for labels in ([ids], ["What was shown?", ids]):
        table = pd.DataFrame({"a": [*labels, "1"]})
        with pytest.raises(InputError, match=rf"trials\[{len(labels)}:\].*Qualtrics"):
            rows_of(table)
        assert rows_of(table[len(labels) :]).columns == ("a",)


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files.")
def test_a_pipe_is_refused_as_one_and_not_waited_for(tmp_path):
    path = tmp_path / "t.csv"
    os.mkfifo(path)
    for read in (read_table, count_correct, read_trials, recognise_kind):
        with pytest.raises(InputError, match=r"t\.csv: Write its content to a file.*a pipe"):
            read(path)
