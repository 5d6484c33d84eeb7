"""Decimal commas are read where they are sure, or asked for, and never guessed."""

import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.logs.trial_tables import read_trials

NUMBERS = [0.85, -1.5, 0.123456789012345, 1e-7]
TEXTS = ["0,85", "-1,5", "0,123456789012345", "1,0e-7"]


@pytest.fixture
def write(tmp_path):
    def write_rows(name, *lines):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    return write_rows


@pytest.mark.parametrize(
    ("name", "sep"),
    [("t.csv", ";"), ("t.tsv", "\t"), ("t.txt", "|"), ("t.dat", "  "), ("t.csv.gz", ";")],
)
def test_a_column_of_decimal_commas_is_read_and_said(name, sep, tmp_path):
    frame = pd.DataFrame({"item": range(4), "sure": NUMBERS})
    pd.DataFrame({"item": frame["item"], "sure": TEXTS}).to_csv(
        tmp_path / name, sep=sep[0], index=False
    )
    trials = read_trials(tmp_path / name, columns={"confidence": "sure"})
    assert trials["confidence"].tolist() == NUMBERS
    assert trials.attrs["decimal_commas"] == ["sure"]


def test_gaps_of_a_column_of_decimal_commas_stay_missing(write):
    trials = read_trials(write("t.csv", "a;sure", "1;0,5", "2;", "3;NA"))
    assert trials["sure"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    "values",
    [
        ("0,5", "1"),
        ("0,5", "0.5"),
        ("0,5", "1,2,3"),
        ("0,5", "a"),
        ("0,5", "1.000,5"),
        ("0,5", ",5"),
        ("0,5", "٣,٥"),
        ("1,234", "-22,500"),
    ],
)
def test_a_column_that_may_be_something_else_stays_text(write, values):
    trials = read_trials(write("t.csv", "a;sure", *(f"1;{value}" for value in values)))
    assert trials["sure"].tolist() == list(values)
    assert "decimal_commas" not in trials.attrs
    assert trials.attrs["undecided_commas"] == ["sure"]


def test_powers_of_ten_beside_sure_decimal_commas_are_numbers_too(write):
    trials = read_trials(write("t.csv", "a;p;q", "1;-3,6e-05;1,234", "2;-3e-05;1e3", "3;;2,000"))
    assert trials["p"].tolist()[:2] == [-3.6e-05, -3e-05]
    assert trials.attrs["decimal_commas"] == ["p"]
    assert trials["q"].tolist() == ["1,234", "1e3", "2,000"]
    assert trials.attrs["undecided_commas"] == ["q"]


def test_nothing_is_found_in_a_file_of_commas_or_that_says_what_is_text(tmp_path, write):
    trials = read_trials(write("t.csv", "a,sure", '1,"0,5"'))
    assert trials["sure"].tolist() == ["0,5"]
    trials.to_parquet(tmp_path / "t.parquet")
    trials.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for name in ("t.parquet", "t.jsonl"):
        assert read_trials(tmp_path / name)["sure"].tolist() == ["0,5"]


def test_a_column_of_several_files_is_read_as_one(write):
    folder = write("a.csv", "a;sure;rt", "1;0,5;0,5").parent
    write("b.csv", "a;sure;rt", "1;0,25;1")
    trials = read_trials(folder)
    assert trials["sure"].tolist() == [0.5, 0.25]
    assert trials["rt"].tolist() == ["0,5", 1]
    assert trials.attrs["decimal_commas"] == ["sure"]
    write("c.csv", "a,sure,rt", '1,"0,5",1')
    assert "decimal_commas" not in read_trials(folder).attrs


def test_decimal_says_what_the_commas_are(write):
    path = write("t.csv", "a;sure;rt;at", "x;0,5;1,234;1.5", "y;1;2,345;2.5")
    commas = read_trials(path, decimal="comma")
    assert commas["sure"].tolist() == [0.5, 1]
    assert commas["rt"].tolist() == [1.234, 2.345]
    # With decimal commas a point is none of a number.
    assert commas["at"].tolist() == ["1.5", "2.5"]
    quoted = write("q.csv", "a,sure", '1,"0,5"', "2,1")
    assert read_trials(quoted, decimal="comma")["sure"].tolist() == [0.5, 1]
    points = read_trials(write("p.csv", "a;sure", "1;0,5"), decimal="point")
    assert points["sure"].tolist() == ["0,5"]
    assert "decimal_commas" not in points.attrs


def test_a_decimal_that_there_is_not_is_refused(write):
    with pytest.raises(InputError, match=r"decimal: .*got 'dot'"):
        read_trials(write("t.csv", "a;sure", "1;0,5"), decimal="dot")
    for decimal in ("comma", "point"):
        with pytest.raises(InputError, match=r"decimal: .*a text table.*got '.*', for .*t\.jsonl"):
            read_trials(write("t.jsonl", '{"sure": "0,5"}'), decimal=decimal)


def test_one_sure_comma_says_what_those_of_the_column_are_wherever_it_is_read(write):
    said = ["0,912", "1,000", "1,234", "0,5"] * 20
    path = write("t.csv", "correct;confidence", *(f"{i % 3 % 2};{x}" for i, x in enumerate(said)))
    trials = read_trials(path)
    assert trials["confidence"].tolist()[:4] == [0.912, 1, 1.234, 0.5]
