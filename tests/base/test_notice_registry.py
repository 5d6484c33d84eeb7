"""One table says what every code of a notice means; nothing else does, and all of it is used."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
import typer

import hmetad
from hmetad.base.lazy import homes_in
from hmetad.base.notice import notice_of
from hmetad.base.notice_registry import (
    about_alone,
    codes,
    filled_in,
    limit,
    sentence,
    short_words,
    step_values,
    table,
    text_of,
)
from hmetad.cli import app
from hmetad.logs.choices import Choices

PACKAGE = Path(hmetad.__file__).parent
KEYS = {"severity", "about", "message", "next_step", "source", "limit", "short", "traps", "means"}
KEYS |= {"do", "shell_step", "shell_do", "repeat_in_comparison"}
IN_CASES = {"severity", "message", "next_step", "shell_step", "source"}
# Arguments of xarray and PyMC that a next step may name.
OF_OTHERS = {"cell", "target_accept"}
OPTION = re.compile(r"--[a-z][a-z-]*")
# An option with its value, in quotes or not.
WITH_VALUE = re.compile(r"--[a-z][a-z-]*[= ](?:'[^']*'|\S+)")
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
    assert {"rhat", "few-trials.of-confidence", "meta-d-sign.cells"} <= texts
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
    named = {text.removeprefix("@") for text in used if text.startswith("@")} | written_in_code()
    sentences = {name.removesuffix("-shell") for name in table()["sentences"]}
    assert sorted(sentences - named) == []


def values_of(entry):
    for value in entry.values():
        yield from values_of(value) if isinstance(value, dict) else [str(value)]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_record_is_complete_and_has_no_text_twice(name):
    entry, code = ENTRIES[name], codes()[name]
    cases = [value for value in entry.values() if isinstance(value, dict)]
    own = {key for key, value in entry.items() if not isinstance(value, dict)}
    assert own <= KEYS
    assert all(set(case) <= IN_CASES for case in cases)
    assert set(code.traps) <= set(range(1, 13))
    for text in (code.means, code.do, code.shell_do):
        assert text.endswith((".", "!", "?", ")"))
        assert names_in(text) == set()
    severities = {text.severity for text in code.texts.values()}
    assert not code.repeat_in_comparison or "warning" in severities
    for said in code.texts.values():
        assert said.message
        assert said.severity in ("info", "warning", "error")
    # A separate meaning only if a message cannot serve as one.
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
    assert filled_in("@more-trials", {}) == sentence("more-trials") != "@more-trials"
    assert filled_in("more-trials", {}) == "more-trials"
    with pytest.raises(KeyError, match="more-trails"):
        filled_in("@more-trails", {})
    said = notice_of("mixed-items", columns="{first}, @more-trials")
    assert said.message.startswith("A cell is a mixture of items ({first}, @more-trials), and")
    steps = {"step": "@cf/meta/llama", "shell_step": ""}
    assert notice_of("dprime-sign.near", **steps).next_step == "@cf/meta/llama"
    # The function that raises a notice may give its next step.
    said = notice_of("dprime-sign.near", ["a"], **step_values("compare-meta-d"))
    assert said.next_step == "Compare meta_d in these cells, or exclude them from comparisons of M."
    assert (said.code, said.severity, said.cells) == ("dprime-sign", "warning", ("a",))


def test_a_next_step_names_arguments_that_exist_and_a_shell_step_options_that_exist():
    options, arguments = options_of(typer.main.get_command(app)), parameters() | OF_OTHERS
    for code in codes().values():
        pairs = [(code.do, code.shell_do)]
        pairs += [(x.next_step, x.shell_step) for x in code.texts.values()]
        for written, in_shell in pairs:
            step = sentence(written[1:]) if written.startswith("@") else written
            shell = sentence(in_shell[1:]) if in_shell.startswith("@") else in_shell
            assert not OPTION.search(step), step
            assert set(re.findall(r"\b([a-z_]+)=", step)) <= arguments, step
            assert set(OPTION.findall(shell)) <= options, shell
            if shell != step:
                assert not re.search(r"\w\(|\b[a-z_]+=", WITH_VALUE.sub("", shell)), shell


def options_of(command):
    """Options of a command, or of all in a group."""
    if isinstance(command, typer.core.TyperGroup):
        return set().union(*map(options_of, command.commands.values()))
    return {name for given in command.params for name in given.opts + given.secondary_opts}


def parameters():
    """Names of the parameters of all public functions and classes, and of the readers of logs."""
    modules = (getattr(hmetad, name) for name in set(dir(hmetad)) - set(hmetad.__all__))
    names = homes_in(str(Path(hmetad.__file__).with_suffix(".pyi")))
    public = [getattr(hmetad, name) for name in names]
    public += [getattr(module, name) for module in modules for name in module.__all__]
    functions = [x for x in public if inspect.isfunction(x) or inspect.isclass(x)]
    functions.append(Choices)  # what the readers of logs take as **options
    return {name for function in functions for name in inspect.signature(function).parameters}


def test_a_case_with_its_own_next_step_does_not_take_the_shell_step_of_its_code():
    whole, few = (codes()["ess"].texts[name] for name in ("ess", "ess.cells"))
    assert whole.shell_step == few.shell_step == "Increase --draws."
    assert codes()["not-probabilities"].texts["not-probabilities.few"].shell_step == ""
    assert text_of("empty-ratings", {}).shell_step == sentence("fewer-ratings-shell")


def test_only_signs_and_no_errors_are_about_alone_and_a_foreign_code_is_about_all():
    alone = {name: about_alone(name) for name in codes() if about_alone(name)}
    signs = dict.fromkeys(("at-chance", "dprime-sign", "meta-d-sign", "verdict-is-score-cut"), "M")
    assert alone == {**signs, **dict.fromkeys(("no-errors", "all-one-rating"), "meta-d′")}
    assert not about_alone("some-other-sign")
    assert short_words("some-other-sign") == "some-other-sign"
