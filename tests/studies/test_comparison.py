"""A comparison with print says what agrees, and excuses only what is listed."""

from importlib.resources import files

import numpy as np
import pytest
import xarray as xr

from hmetad.compare.verdicts import decide_normal
from hmetad.studies.comparison import (
    compare_with_print,
    file_of,
    is_reproduced,
)
from hmetad.studies.run import STUDIES
from hmetad.studies.servajean2026 import verdict_words


@pytest.mark.parametrize(
    ("printed", "ours", "tolerance", "agrees"),
    [
        (1.0, 1.0149, 0.015, True),
        (1.0, 1.0151, 0.015, False),
        # To the printed digit.
        (0.033, 0.03305, 0.00005, True),
        ("greater, different", "greater, different", np.nan, True),
        ("greater, different", "different", np.nan, False),
        ("different", "less, different", np.nan, True),
    ],
)
def test_numbers_agree_within_their_tolerance_and_words_where_they_are_the_same(
    monkeypatch, printed, ours, tolerance, agrees
):
    """A difference is excused where it is listed; what agrees carries no excuse."""
    place = ("S1", "a", "d")
    entry = {"table": "S1", "values": [["a", "d", printed, tolerance]]}
    for known in ([], [{"at": [place], "note": "a misprint"}]):
        numbers = {"compare": [entry], "differs": known}
        monkeypatch.setattr("hmetad.studies.comparison.file_of", lambda _, own=numbers: own)
        frame = compare_with_print("made", {("S1", "d"): {"a": ours}})
        assert frame["agrees"].tolist() == [agrees]
        assert is_reproduced(frame) == (agrees or bool(known))
        assert frame["note"].tolist() == ["a misprint" if known and not agrees else ""]


@pytest.mark.parametrize(
    ("estimate", "ours"),
    [
        (0.5, "greater, different"),
        (-0.5, "less, different"),
        (0.01, "not significant"),
        (np.nan, "unreliable"),
    ],
)
def test_verdicts_are_put_into_the_words_of_the_paper(estimate, ours):
    values = xr.DataArray(np.array([estimate]), dims="pair", coords={"pair": ["a − b"]}, name="c")
    assert verdict_words(decide_normal(values, 0.05, rope=(-0.1, 0.1))) == {"a − b": ours}


# --- a study's file against what is computed ------------------------------------------------


@pytest.fixture
def study(monkeypatch):
    """Return the name of a study with a file of its own."""
    numbers = {
        "labels": {"t": [0.5, 1.0]},
        "wide": {"over": "t", "columns": ["model", "d"], "rows": [["A", [1.0, 2.0]]]},
        "gaps": {"columns": ["model", "d"], "rows": [["A", 1.0], ["B", ""], ["C", np.nan]]},
        "compare": [
            {"of": "wide", "row": "{model} | {t}", "cells": [["W", "d", "d", 0.1]]},
            {"of": "gaps", "row": "{model}", "cells": [["G", "d", "d"]]},
            {"table": "L", "values": [["all", "word", "passed"]]},
            {"table": "O", "quantity": "word", "otherwise": "yes", "words": {"B": "no"}},
            {"optional": True, "table": "D", "values": [["A", "d", 1.0, 0.1], ["B", "d", 1.0]]},
        ],
        "differs": [{"at": [["W", "A*", "d"]], "note": "By {size:.1f}."}],
    }
    monkeypatch.setattr("hmetad.studies.comparison.file_of", lambda _: numbers)
    return "made"


@pytest.fixture
def ours():
    coords = {"model": ["A"], "t": [0.5, 1.0]}
    return {
        ("W", "d"): xr.DataArray([[1.05, 2.5]], coords, ("model", "t")),
        ("G", "d"): ({"A": 1.3}, {"A": 0.5}),
        ("L", "word"): {"all": "passed"},
        ("O", "word"): {"A": "yes", "B": "no"},
        ("note", "size"): {"A | 1.0": 0.5},
    }


def test_everything_listed_is_compared_in_the_order_of_the_file(study, ours):
    frame = compare_with_print(study, ours)
    assert frame[["table", "row"]].agg(" ".join, axis=1).tolist() == [
        "W A | 0.5", "W A | 1.0", "G A", "L all", "O A", "O B"
    ]  # fmt: skip
    assert frame["agrees"].tolist() == [True, False, True, True, True, True]
    assert frame["note"].tolist() == ["", "By 0.5.", "", "", "", ""]
    assert frame["tolerance"].tolist()[:3] == [0.1, 0.1, 0.5]
    assert all(type(x) in (float, str) for x in frame["ours"])
    # What is optional is compared if it is computed.
    frame = compare_with_print(study, ours | {("D", "d"): {"A": 1.05}})
    assert frame[frame["table"] == "D"]["row"].tolist() == ["A"]


@pytest.mark.parametrize(("lacking", "says"), [(("note", "size"), "size"), (("L", "word"), "all")])
def test_a_note_without_its_number_and_a_printed_value_without_ours_are_errors(
    study, ours, lacking, says
):
    del ours[lacking]
    with pytest.raises(KeyError, match=says):
        compare_with_print(study, ours)


@pytest.mark.parametrize("name", STUDIES)
def test_the_file_of_a_study_says_whose_numbers_these_are_and_repeats_no_name(name):
    text = files("hmetad.studies").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    header = text.split("\n\n", 1)[0]
    assert all(line.startswith("#") for line in header.splitlines())
    assert name[-4:] in header
    assert "licence" in header or "CC BY" in header
    tables = {key for key, section in file_of(name).items() if "columns" in section}
    for table in tables:
        rows = file_of(name)[table]["rows"]
        assert {len(row) for row in rows} == {len(file_of(name)[table]["columns"])}, table
    assert {entry["of"] for entry in file_of(name)["compare"] if "of" in entry} <= tables
