"""What the codes of notices mean, and how notices are said on a terminal."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import refused, run

from hmetad.base.notice import Notice, notice_attrs, notice_of
from hmetad.base.notice_registry import codes
from hmetad.bayes.store import save_draws
from hmetad.commands.answer import Answer, Listing, PrintOptions
from hmetad.counts.resample import resample
from hmetad.counts.vectors import from_nr
from hmetad.measures.sdt import sdt

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


def test_fits_of_one_name_say_their_own(tmp_path):
    """A comparison of fits names such a command."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        drawn = resample(from_nr([80, 20], [30, 70]), sdt, n=50, seed=1)
        drawn = drawn.assign_attrs(notice_attrs([replace(RHAT, message=f"That of {name}.")]))
        save_draws(drawn, tmp_path / name / "draws.nc")
    rows = run(tmp_path, "notices a/draws.nc b/draws.nc --json").answer["rows"]
    said = [f"{Path(name, 'draws.nc')}: That of {name}." for name in ("a", "b")]
    assert [row["message"] for row in rows] == said


@pytest.mark.parametrize("is_terminal", [True, False])
def test_many_notices_are_a_line_each_on_a_terminal_the_worst_first(
    is_terminal, monkeypatch, capsys
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    PrintOptions().give(Answer((Listing([], {}),), [LONG, FEW, RHAT]))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: R̂ above 1.01")
    assert ("Get more." in " ".join(lines)) is not is_terminal
    assert ("hmetad notices CODE" in lines[-1]) is is_terminal
    assert (max(map(len, lines)) <= 100) is is_terminal


def test_a_single_notice_is_said_whole_unless_a_command_says_it(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for whole in ("", "hmetad notices x.nc"):
        PrintOptions().give(Answer((Listing([], {}),), [FEW], whole=whole))
        assert ("Get more." in capsys.readouterr().err) is (whole == "")


def test_a_terminal_has_one_line_for_each_cause_at_its_width(monkeypatch, capsys):
    sign = [
        notice_of("meta-d-sign.cells-on-m", ["a", "b"]),
        notice_of("meta-d-sign.cells", ["c"]),
    ]
    undefined = [notice_of("undefined-rmi", ["a"]), notice_of("undefined-zroc", ["a", "b"])]
    remarks = [notice_of("empty-ratings", ["a"]), notice_of("empty-bins")]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for columns in (80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        PrintOptions().give(
            Answer((Listing([], {}),), [*remarks, *undefined, *sign], whole="hmetad notices x.nc")
        )
        first, *others = capsys.readouterr().err.splitlines()
        assert len(first) <= min(columns, 100)
        assert first.startswith("error: Confidence is not higher for")
        assert first.endswith("(1 + 2 cells) [meta-d-sign]")
        assert others == [
            "warning: undefined-rmi (1), undefined-zroc (2)",
            "info: empty-bins, empty-ratings (1)",
            "What they mean and what to do: hmetad notices x.nc",
        ]
