"""One table says what every code of a notice means; nothing else does, and all of it is used."""

import ast
from functools import cache
from pathlib import Path
from string import Formatter

import numpy as np
import pytest
import xarray as xr

import hmetad
from hmetad.base.notice import notice_of, notice_where, notices_where
from hmetad.base.notice_registry import (
    about_alone,
    codes,
    filled_in,
    limit,
    sentence,
    short_words,
    table,
    text_of,
)

PACKAGE = Path(hmetad.__file__).parent
KEYS = {"severity", "about", "message", "next_step", "source", "limit", "short", "traps", "means"}
KEYS |= {"do", "weakens"}
ENTRIES = {name: entry for name, entry in table().items() if name != "sentences"}


@cache
def nodes():
    """Everything that is written in the package, with the name of its file."""
    return [
        (path.name, node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


@cache
def written_in_code():
    """Texts that stand in code by themselves, and are no part of another."""
    values = (node.value for _, node in nodes() if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str)}


def calls_of(*names):
    """Calls of functions by their names, each with its file."""
    calls = [(file, node) for file, node in nodes() if isinstance(node, ast.Call)]
    return [(file, call) for file, call in calls if getattr(call.func, "id", "") in names]


def names_in(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_text_of_the_table_is_used_in_the_code_and_no_other():
    written = written_in_code()
    texts = {name for code in codes().values() for name in code.texts}
    reasons = {name for name, code in codes().items() if not code.texts}
    assert {"rhat", "few-trials.of-confidence", "meta-d-sign.faint"} <= texts
    assert {"few-draws", "unsettled"} <= reasons
    assert sorted((texts | reasons) - written) == []
    for file, call in calls_of("notice_of", "notice_where"):
        named = {getattr(argument, "value", None) for argument in call.args}
        named = {name for name in named if isinstance(name, str)}
        assert named <= texts, f"{file}: {named}"
    # No notice is made without the table.
    assert {file for file, _ in calls_of("Notice")} == {"notice.py"}


def test_every_shared_sentence_is_used():
    used = {x for entry in ENTRIES.values() for x in values_of(entry)}
    named = {text.removeprefix("@") for text in used if text.startswith("@")}
    assert sorted(set(table()["sentences"]) - named - written_in_code()) == []


def values_of(entry):
    for value in entry.values():
        yield from values_of(value) if isinstance(value, dict) else [str(value)]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_record_is_whole_and_says_nothing_twice(name):
    entry, code = ENTRIES[name], codes()[name]
    cases = [value for value in entry.values() if isinstance(value, dict)]
    own = {key for key, value in entry.items() if not isinstance(value, dict)}
    assert own <= KEYS
    assert all(set(case) <= {"severity", "message", "next_step", "source"} for case in cases)
    assert set(code.traps) <= set(range(1, 13))
    for text in (code.means, code.do):
        assert text.endswith((".", "!", "?", ")"))
        assert names_in(text) == set()
    assert not code.weakens or "warning" in {said.severity for said in code.texts.values()}
    for said in code.texts.values():
        assert said.message
        assert said.severity in ("info", "warning", "error")
    # A meaning of its own only where a message cannot stand for it.
    for general, particular in (("means", "message"), ("do", "next_step")):
        varies = any(particular in case for case in cases)
        is_filled = names_in(entry.get(particular, "")) - {"limit"}
        needs_data = is_filled or entry.get(particular) == "@type2-measures"
        if general in entry:
            assert varies or needs_data or particular not in entry, general


def test_what_may_withhold_a_verdict_has_words_for_a_table():
    for name, code in codes().items():
        may_withhold = not code.texts or "error" in {x.severity for x in code.texts.values()}
        assert bool(code.short) == may_withhold, name
    assert short_words("rhat") == "R̂ above 1.01"


def test_a_text_has_its_data_and_its_limit():
    text = text_of("rhat", {"names": "dprime, c"})
    assert text.message == "R̂ above 1.01 for dprime, c: the chains disagree."
    assert limit("few-trials") == 100
    with pytest.raises(KeyError, match="names"):
        text_of("rhat", {})
    with pytest.raises(KeyError, match="dprime-sign"):
        text_of("dprime-sign", {})


def test_a_shared_sentence_is_named_with_a_sign_but_not_by_data_and_a_wrong_name_is_an_error():
    assert filled_in("@all-tied", {}) == sentence("all-tied") != "@all-tied"
    assert filled_in("all-tied", {}) == "all-tied"
    with pytest.raises(KeyError, match="all-tide"):
        filled_in("@all-tide", {})
    said = notice_of("mixed-items", columns="{first}, @all-tied")
    assert said.message.startswith("A cell is a mixture of items ({first}, @all-tied), and")
    assert notice_of("meta-d-sign.faint", step="@cf/meta/llama").next_step == "@cf/meta/llama"
    # A next step may be given where it is noticed.
    said = notice_of("meta-d-sign.faint", ["a"], step=sentence("more-trials"))
    assert said.next_step == "Collect more trials, or compare meta_d, which may be negative."
    assert (said.code, said.severity, said.cells) == ("meta-d-sign", "warning", ("a",))


def test_a_case_says_otherwise_and_has_the_code_and_the_rest_of_its_record():
    some, much = (notice_of(f"correction-moves-m{x}", by="", owed="") for x in ("", ".large"))
    assert (some.severity, much.severity) == ("info", "warning")
    assert (some.code, some.message, some.source) == (much.code, much.message, much.source)


def test_masks_of_several_codes_become_notices_in_their_order():
    where = xr.DataArray([True, False], {"cell": ["a", "b"]})
    found = notices_where({"no-errors": ~where, "ceiling": where, "no-rights": where & ~where})
    expected = [("no-errors", ("b",)), ("ceiling", ("a",))]
    assert [(notice.code, notice.cells) for notice in found] == expected
    assert notice_where(np.logical_not(where), "ceiling")[0].cells == ("b",)


def test_only_signs_and_no_errors_are_about_alone_and_a_foreign_code_is_about_all():
    alone = {name: about_alone(name) for name in codes() if about_alone(name)}
    signs = dict.fromkeys(("dprime-sign", "meta-d-sign", "negative-in-population"), "M")
    assert alone == {**signs, **dict.fromkeys(("no-errors", "all-one-rating"), "meta-d′")}
    assert not about_alone("some-other-sign")
    assert short_words("some-other-sign") == "some-other-sign"
