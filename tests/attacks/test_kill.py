"""Runs that are ended at any moment leave the old files, or the new ones, and nothing else.

HMETAD_TEST_MOMENTS says at how many moments each command gets each signal; 20 take half an hour.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import hmetad

MOMENTS = int(os.environ.get("HMETAD_TEST_MOMENTS", "20"))
DRAWS = 20
HMETAD = [sys.executable, "-m", "hmetad"]
OLD = b"what was there before"
ENDED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}
SAID = {signal.SIGINT: "hmetad: interrupted; ", signal.SIGTERM: "hmetad: terminated; "}
COMPARED = "compare made.nc --over model --within domain --rope=-0.05,0.05"
IMPORTED = "--columns correct=right -o out/trials.csv"
COMMANDS = {
    "fit": (f"fit trials.csv --draws {DRAWS} --seed 1 -o out/fit.nc", ["fit.nc"]),
    "reproduce": ("reproduce meyen2025 --out out", ["comparison.csv", "report.html"]),
    "import": (f"import table raw.csv {IMPORTED}", ["trials.csv"]),
    "workers": (f"import table raw*.csv --workers 2 {IMPORTED}", ["trials.csv"]),
    "measures": ("measures trials.csv --meta-d -o out/page.md", ["page.md"]),
    "report": ("report made.nc -o out/page.html", ["page.html"]),
    "compare": (f"{COMPARED} -o out/rows.csv", ["rows.csv"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_runs_that_are_ended_at_random_moments_leave_whole_files(name, inputs, tmp_path):
    place = workplace(inputs, tmp_path / "work")
    process, begun = started(name, place)
    assert finished(process) == 0
    length, whole = time.monotonic() - begun, contents(place / "out")
    moments = random.Random(name)
    for number in ENDED:
        ends = Counter()
        for _ in range(MOMENTS):
            for output in COMMANDS[name][1]:
                (place / "out" / output).write_bytes(OLD)
            ends[attack(name, number, place, moments.uniform(0, length), whole)] += 1
        counts = "; ".join(f"{n} {how}" for how, n in sorted(ends.items()))
        print(f"\n{name:<10} {number.name:<8} within {length:5.1f} s: {counts}", flush=True)
    assert finished(started(name, place)[0]) == 0
    assert sorted(contents(place / "out")) == sorted(whole), "nothing is left over"


def attack(name, number, place, after, whole):
    """How one run ended that was sent a signal after some seconds."""
    process, _ = started(name, place)
    time.sleep(after)
    process.send_signal(number)
    said = process.communicate(timeout=300)[1]
    assert "Traceback" not in said
    assert process.returncode in (0, ENDED[number]), (process.returncode, said)
    if process.returncode == 0:
        how = "finished before"
    elif number in SAID:
        assert said.splitlines()[-1].startswith(SAID[number])
        how = f"exit {process.returncode} in one line"
    else:
        how = "killed"
    there = contents(place / "out")
    states = {state_of(place / "out" / output, there, whole) for output in COMMANDS[name][1]}
    left = [path for path in there if path.endswith(".hmetad")]
    assert number == signal.SIGKILL or not left
    if number in SAID and process.returncode and "nothing was written" in said:
        assert states == {"old"}
    return f"{how}: {' and '.join(sorted(states))}{', left over' if left else ''}"


def state_of(path, there, whole):
    """Whether a file is the old one or the new one."""
    found = there[path.name]
    if found == OLD:
        return "old"
    if path.suffix == ".nc":
        assert hmetad.load_fit(path)["posterior"].sizes["draw"] == DRAWS
    else:
        assert found == whole[path.name]
    return "new"


def finished(process):
    """Exit status of a run that nobody disturbs."""
    process.communicate()
    return process.returncode


def workplace(folder, place):
    """A folder of its own with the inputs, and one for the outputs."""
    shutil.copytree(folder, place)
    (place / "out").mkdir()
    return place


def contents(folder):
    """Bytes of every file in a folder, by its path."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def started(name, place):
    """A run whose handlers are in place, and when they were: Python's own start is not ours."""
    line = [*HMETAD, *COMMANDS[name][0].split()]
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, cwd=place, stdout=pipe, stderr=pipe, text=True)
    while not catches(process, signal.SIGTERM) and process.poll() is None:
        time.sleep(0.002)
    return process, time.monotonic()


def catches(process, number):
    """Whether a process has a handler for a signal; where the system does not say, after 1 s."""
    status = Path(f"/proc/{process.pid}/status")
    try:
        caught = status.read_text(encoding="ascii").partition("SigCgt:")[2].split()[0]
    except (OSError, IndexError):
        time.sleep(1)
        return True
    return bool(int(caught, 16) >> (number - 1) & 1)
