"""Samples become the rows of one table, and what could not be read is counted beside it."""

import json
import math

import pytest

from hmetad.errors import InputError
from hmetad.logs.statements import read_statement, stated_wording
from hmetad.logs.trials import TrialCollector, sample_name


def collected(*trials):
    """A collector with one item for each trial."""
    collector = TrialCollector()
    for number, (row, *more) in enumerate(trials):
        collector.add({"item": f"i{number}", **row}, *more)
    return collector


def judged(correct, confidence=math.nan, statement=None, reasons=()):
    return {"correct": correct, "confidence": confidence}, statement, reasons


def test_columns_stand_in_the_order_of_the_first_row():
    frame = collected(judged(True, 0.9), judged(False, 0.4)).frame()
    assert frame.columns.tolist() == ["item", "correct", "confidence"]
    assert frame.values.tolist() == [["i0", True, 0.9], ["i1", False, 0.4]]


def test_stated_confidence_is_put_on_one_scale_in_the_rows_it_was_stated_in():
    stated = [read_statement(text, stated_wording()) for text in ("90", "20", "no idea")]
    trials = [judged(True, 0.3), *(judged(False, statement=one) for one in stated)]
    frame = collected(*trials).frame(files=["a"])
    assert frame["confidence"].tolist()[:3] == [0.3, 0.9, 0.2]
    assert frame["confidence"].isna().tolist() == [False, False, False, True]
    assert frame.attrs["scale"] == "percent"
    assert frame.attrs["rejected"] == {"confidence: not understood": 1}
    json.dumps(frame.attrs)


def test_reasons_are_counted_beside_what_the_reader_records():
    collector = collected(
        judged(None, reasons=("no score", "other")), judged(None, reasons=("other",))
    )
    collector.duplicates += 2
    expected = {"files": ["a"], "duplicates": 2, "rejected": {"no score": 1, "other": 2}}
    assert collector.frame(files=["a"]).attrs == expected


@pytest.mark.parametrize("value", [None, True, 1.5, ["a"]])
def test_a_sample_is_named_by_a_number_or_text(value):
    with pytest.raises(InputError, match=r"line 1: got id .*, allowed is a number or text"):
        sample_name("a.jsonl, line 1", "id", value)
    assert [sample_name("", "id", name) for name in (7, "a", "\ud800")] == [7, "a", "\\ud800"]
