"""What the codes of notices mean, and how notices are said on a terminal."""

from dataclasses import replace
from pathlib import Path

from command_line import refused, run

from hmetad.base.notice import Notice, notice_attrs
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


def test_notices_are_said_in_full_the_worst_first(capsys):
    PrintOptions().give(Answer((Listing([], {}),), [LONG, FEW, RHAT]))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "warning", "info"]
    assert "Get more." in lines[1]
