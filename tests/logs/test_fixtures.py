"""Logs that the real tools wrote are read: those kept in the tree, and fresh ones."""

import subprocess
import sys
from pathlib import Path

import pytest
from logs.log_claims import CLAIMS, each_claim

HERE = Path(__file__).parent


@each_claim
def test_kept_logs_are_read(claim):
    claim(HERE / "data")


def test_kept_logs_name_no_folder_of_a_machine():
    texts = [path.read_bytes() for path in (HERE / "data").rglob("*.json*")]
    assert texts
    assert not any(trace in text for text in texts for trace in (b"/tmp", b"/root", b"/home"))


@pytest.mark.slow
def test_fresh_logs_of_the_tools_are_read(tmp_path):
    uv = ["uv"]
    python = tmp_path / "tools" / "bin" / "python"
    group = f"{HERE / 'tools' / 'pyproject.toml'}:log-tools"
    for command in (
        [*uv, "venv", "--python", sys.executable, str(tmp_path / "tools")],
        [*uv, "pip", "install", "--python", str(python), "--group", group],
        [str(python), str(HERE / "make_fixtures.py"), str(tmp_path / "logs")],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=900, cwd=tmp_path)
    for claim in CLAIMS:
        claim(tmp_path / "logs")
