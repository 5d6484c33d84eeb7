"""What the codes of notices mean, and how notices are said on a terminal."""

import sys

import pytest
from command_line import refused, run

from hmetad.commands.answer import Answer, Listing, give, short_line
from hmetad.notice import Notice
from hmetad.notice_registry import codes

FEW = Notice("few-trials", "warning", "12 trials. So M is rough.", ("a",), next_step="Get more.")
RHAT = Notice("rhat", "error", "R̂ above 1.01 for log_m.")
LONG = Notice("rows-dropped", "info", f"{'word ' * 40}and more.", ("a", "b"))


def test_codes_are_explained(tmp_path):
    rows = run(tmp_path, "notices --json").answer["rows"]
    assert {row["code"] for row in rows} == {name for name, one in codes().items() if one.texts}
    assert all(row["means"] and row["severity"] for row in rows)
    (row,) = run(tmp_path, "notices rhat --json").answer["rows"]
    assert (row["code"], row["severity"]) == ("rhat", "error")
    assert "Did you mean 'rhat'?" in refused(tmp_path, "notices rhatt")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_many_notices_are_a_line_each_on_a_terminal_the_worst_first(
    is_terminal, monkeypatch, capsys
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    give(Answer((Listing([], {}),), [LONG, FEW, RHAT]))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: R̂ above 1.01")
    assert ("Get more." in " ".join(lines)) is not is_terminal
    assert ("hmetad notices CODE" in lines[-1]) is is_terminal
    assert (max(map(len, lines)) <= 100) is is_terminal


def test_a_short_line_ends_at_a_word_and_has_the_code():
    line = short_line(LONG)
    assert len(line) <= 100
    assert "word… (2" in line
    assert line.endswith("2 cells) [rows-dropped]")
