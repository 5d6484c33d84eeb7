"""The reproduction of Servajean & Servajean (2026) disagrees with print only where it must."""

import csv
import json
import subprocess
import sys

import arviz as az
import numpy as np
import pytest

from hmetad.studies import servajean2026
from hmetad.studies.comparison import file_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def study():
    """The whole study, with fewer draws than the command takes."""
    return servajean2026.analyse(draws=6000, seed=1, progressbar=False, quiet=True)


def test_nothing_disagrees_but_the_known_differences(check_differences):
    check_differences(171)


def test_deepseek_c_converges_to_another_value_than_print(study):
    cell = study.hmetad["posterior"].to_dataset().sel(cell="DeepSeek-V3.2-Exp | C")
    means = cell.mean(["chain", "draw"])
    expected = {"dprime": 1.380, "c": 0.499, "meta_d": 0.865, "m_ratio": 0.627}
    for name, value in expected.items():
        assert float(means[name]) == pytest.approx(value, abs=0.005), name


def test_counts_give_the_printed_numbers_of_trials(study):
    trials = study.counts.sum(["stimulus", "response", "rating"])
    assert trials.values.tolist() == [20_000] * 3 + [10_000] * 6


def test_printed_words_name_contrasts_that_exist(study):
    entries = {e["table"]: e for e in file_of("servajean2026")["compare"] if "otherwise" in e}
    assert set(entries) == set(study.decisions)
    for name, decisions in study.decisions.items():
        labels = set(decisions.table()["label"])
        assert set(entries[name].get("words", {})) <= labels, name


def test_the_rule_for_kappa_moves_m_where_c_is_not_zero(study):
    absolute, relative = (
        draws["posterior"].to_dataset().mean(["chain", "draw"])
        for draws in (study.absolute, study.relative)
    )
    shift = abs(relative["m_ratio"] - absolute["m_ratio"])
    assert float(shift.sel(cell="DeepSeek-V3.2-Exp | C")) > 0.02
    assert float(shift.sel(cell="GPT-5 | C")) < 0.01


def test_the_report_states_the_finding_with_its_numbers(shown, comparison):
    text = shown[1].markdown()
    assert "164 of 171" in text
    assert "120,000 rated, 359,000 on risk" in text
    assert "does not survive convergence" in text
    assert "1.2565" in text
    ours = comparison.set_index(["row", "quantity"])["ours"]
    assert f"{ours['DeepSeek-V3.2-Exp | C', 'dprime']:.4f}" in text


@pytest.mark.slow
def test_the_command_writes_everything_and_exits_with_zero(tmp_path):
    command = [sys.executable, "-c", "from hmetad.cli import main; main()", "reproduce"]
    done = subprocess.run(
        [*command, "servajean2026", "--out", str(tmp_path), "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (tmp_path / "comparison.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 171 == len(json.loads(done.stdout)["rows"])
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


@pytest.mark.slow
def test_m_has_twenty_thousand_effective_draws_by_default():
    study = servajean2026.analyse(progressbar=False, quiet=True)
    ess = az.ess(study.hmetad["posterior"].to_dataset()["m_ratio"])
    assert float(np.min(ess)) >= 20_000
