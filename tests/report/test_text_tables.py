"""Tables for pages and programs say what the terminal says, whatever the labels are."""

import csv
import io
import json
import re

import pandas as pd
import pytest
from plots.hostile_labels import HOSTILE

from hmetad.report.terminal import csv_table, latex_table, markdown_table
from hmetad.spreadsheets import unguard

ROWS = [{"cell": label, "m_ratio": 0.5 + i} for i, label in enumerate(HOSTILE)]
COLUMNS = {"cell": "cell", "m_ratio": "M-ratio"}


def test_csv_gives_back_what_went_in():
    read = list(csv.DictReader(io.StringIO(csv_table(ROWS))))
    assert unguard(row["cell"] for row in read) == list(HOSTILE)
    assert [float(row["m_ratio"]) for row in read] == [row["m_ratio"] for row in ROWS]


def test_csv_is_that_of_pandas():
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", "y, z"], "c": [True, False]})
    assert csv_table(frame.to_dict("records")) == frame.to_csv(index=False)


def test_no_label_opens_a_column_or_a_line_in_markdown():
    lines = markdown_table(ROWS, COLUMNS, "Title").splitlines()
    assert len(lines) == len(ROWS) + 4
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines[2:])


def test_no_label_opens_a_column_or_a_command_in_latex():
    table = latex_table(ROWS, COLUMNS, "a_b & c")
    body = table.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == len(ROWS)
    assert all(len(re.findall(r"(?<!\\)&", line)) == 1 for line in body)
    assert r"\caption{a\_b \& c}" in table
    assert r"\input" not in table


@pytest.mark.parametrize("table", [markdown_table, latex_table])
def test_what_is_missing_is_a_dash(table):
    assert "textendash" in json.dumps(table([{"a": None}], {"a": "a"})).replace(
        "\\u2013", "textendash"
    )


def test_minus_signs_are_those_of_print():
    rows, columns = [{"a": -0.25}], {"a": "a"}
    assert "| −0.250 |" in markdown_table(rows, columns)
    assert r"\ensuremath{-}0.250 \\" in latex_table(rows, columns)
    assert csv_table(rows) == "a\n-0.25\n"
