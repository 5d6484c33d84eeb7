"""Labels that look alike are told of or refused, and texts that no file keeps are refused."""

import unicodedata

import pandas as pd
import pytest

import hmetad
from hmetad import InputError, notices
from hmetad.counts import without_codes
from hmetad.measures import measure_trials
from hmetad.rows.tables import rows_of

COUNTS = [5, 3, 2, 1], [1, 2, 4, 6]
TWO_ROWS = [COUNTS[0]] * 2, [COUNTS[1]] * 2
ACCENT = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
ALIKE = [("x", "x "), ACCENT, ("a b", "a  b"), ("x", "x\u200b"), ("x y", "\u00a0x\ty\u200d ")]


def trials_of(models):
    """Four trials of each model."""
    row = {"stimulus": list("abab"), "response": list("abba"), "confidence": [1, 2, 1, 2]}
    parts = [pd.DataFrame(row | {"correct": True, "model": model}) for model in models]
    return pd.concat(parts, ignore_index=True)


def codes(counts):
    return [notice.code for notice in hmetad.notices(counts)]


@pytest.mark.parametrize("pair", ALIKE, ids=ascii)
def test_cells_whose_labels_look_alike_carry_a_notice(pair):
    named = notices(hmetad.count_trials(trials_of([*pair, "other"]), by="model"))
    assert [set(x.cells) for x in named if x.code == "labels-alike"] == [set(pair)]
    trials = trials_of(pair)
    for counts in (
        hmetad.count_trials(trials, by="model"),
        hmetad.count_correct(trials, by="model"),
        hmetad.from_nr(*TWO_ROWS, model=list(pair)),
    ):
        said = next(x for x in hmetad.notices(counts) if x.code == "labels-alike")
        assert set(said.cells) == set(pair)
        assert counts.sizes["cell"] == 2


def test_labels_that_a_reader_tells_apart_carry_none():
    for models in (["x", "X"], ["e", "é"], ["1", "1.0"]):
        assert "labels-alike" not in codes(hmetad.count_trials(trials_of(models), by="model"))


@pytest.mark.parametrize("pair", ALIKE, ids=ascii)
def test_stimuli_that_look_alike_are_refused(pair):
    trials = trials_of(["x"]).replace({"a": pair[0], "b": pair[1]})
    for labels in (None, pair):
        with pytest.raises(hmetad.InputError, match="look alike"):
            hmetad.count_trials(trials, labels=labels)


@pytest.mark.parametrize("text", ["a\0b", "a\0", "\ud800", "a\udfff"], ids=ascii)
def test_texts_that_no_file_keeps_are_refused_where_labels_are_made(text):
    named = trials_of(["x", "y"]).astype(object).replace({"y": text})
    for make in (
        lambda: hmetad.count_trials(named, by="model"),
        lambda: hmetad.count_correct(named, by="model"),
        lambda: hmetad.count_trials(named.replace({"b": text})),
        lambda: hmetad.from_nr(*TWO_ROWS, model=["a", text]),
        lambda: hmetad.from_nr(*COUNTS, **{text: "a"}),
    ):
        with pytest.raises(hmetad.InputError, match="without NUL and without unpaired surrogates"):
            make()


@pytest.mark.parametrize("labels", [{"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}, "ab"])
def test_labels_without_an_order_are_refused(labels):
    with pytest.raises(hmetad.InputError, match="labels"):
        hmetad.count_trials(trials_of(["x"]), labels=labels)


def test_groups_without_an_order_are_refused():
    trials = trials_of(["x"]).assign(task="A")
    with pytest.raises(hmetad.InputError, match="A set has no order"):
        hmetad.count_trials(trials, by={"model", "task"})


def test_codes_need_columns_by_role():
    rows = rows_of(pd.DataFrame({"confidence": [1, 2]}))
    with pytest.raises(InputError, match=r"^columns: .*Expected a mapping.*, got 3"):
        without_codes(rows, 1, 3)


@pytest.mark.parametrize("role", ["stimulus", "response", "confidence", "correct", "subject"])
@pytest.mark.parametrize(("text", "says"), [("x\ud800", "surrogates"), ("x" * 200_000, "200,000")])
def test_a_text_that_no_file_keeps_is_refused_by_name_in_every_column(role, text, says):
    trials = trials_of(["a", "b"]).rename(columns={"model": "subject"}).astype(object)
    trials.loc[3, role] = text
    counts = [hmetad.count_trials] * (role != "correct")
    counts += [hmetad.count_correct, measure_trials] * (role not in ("stimulus", "response"))
    for count in counts:
        with pytest.raises(InputError, match=rf"column '{role}': .*{says}") as caught:
            count(trials, by="subject")
        assert len(str(caught.value)) < 1000
