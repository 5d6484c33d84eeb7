"""Eleven language models in two tasks, from a CSV to verdicts, as a user would run it."""

import pytest
from command_line import run
from real_data import michael2026

pytestmark = pytest.mark.integration

BELOW_CHANCE = "claude-sonnet-4-20250514 | HaluEval"


@pytest.fixture(scope="module")
def folder(shared, tmp_path_factory):
    """Trials in the two tasks with two alternatives, as the data's README says."""
    folder = tmp_path_factory.mktemp("michael2026")
    michael2026(shared / "data").to_csv(folder / "trials.csv", index=False)
    return folder


def test_from_a_csv_to_verdicts(folder):
    fit = "fit trials.csv --by llm,task --confidence rating --ratings 4 --seed 1 -o fit.nc --json"
    done = run(folder, fit)
    estimates = {row["cell"]: row for row in done.answer["rows"]}
    assert len(estimates) == 22
    usual = [row for cell, row in estimates.items() if cell != BELOW_CHANCE]
    # Maximum likelihood on padded counts, computed elsewhere: M .41 to .82 and .57 to .99.
    assert all(0.3 < row["m_ratio"] < 1.1 for row in usual)
    below = next(line for line in done.stderr.splitlines() if "dprime-sign" in line)
    assert "M-ratio = meta-d′/d′ is meaningless there" in below
    assert BELOW_CHANCE in below

    compare = "compare fit.nc --over llm --within task --rope=-0.1,0.1 -o report.html --json"
    done = run(folder, compare)
    assert len(done.answer["rows"]) == 2 * 55
    assert BELOW_CHANCE in (folder / "report.html").read_text(encoding="utf-8")
