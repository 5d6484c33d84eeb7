"""Processes that work for a command end with it, however it ends."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

# Names of the ends: a signal, and whether the workers get it too, as from Ctrl-C on a terminal.
ENDS = {
    "killed": (signal.SIGKILL, False),
    "terminated": (signal.SIGTERM, False),
    "interrupted": (signal.SIGINT, False),
    "Ctrl-C": (signal.SIGINT, True),
}
COMMANDS = {
    "import": "import table raw --workers 2 --columns correct=right -o trials.csv",
    "plan": "plan groups --question mean --rope=-0.1,0.1",
}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "end"),
    [*(("import", end) for end in ENDS), ("plan", "Ctrl-C")],
)
def test_workers_end_with_their_command_without_a_traceback(name, end, tmp_path):
    (tmp_path / "raw").mkdir()
    for number in range(9):
        (tmp_path / "raw" / f"{number}.csv").write_text("right,confidence\n" + "1,0.5\n" * 99_999)
    line = [sys.executable, "-m", "hmetad", *COMMANDS[name].split()]
    options = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    number, is_of_all = ENDS[end]
    with subprocess.Popen(line, cwd=tmp_path, **options) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        try:
            # One tracks semaphores; the others are workers, which may have just begun.
            while len(children.read_text(encoding="ascii").split()) < 2:
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(0.3)
            (os.killpg if is_of_all else os.kill)(process.pid, number)
            # Workers have the stream too: it ends when the last of them has.
            said = process.communicate(timeout=20)[1]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode in (-number, 128 + number)
    assert "Traceback" not in said
