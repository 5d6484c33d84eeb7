"""Compiled code that was kept and is damaged is compiled anew, and changes no result."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from attacks.damage import changed

import hmetad

LINES = {
    "measures": "measures trials.csv --by model --meta-d --json",
    "fit": "fit trials.csv --by model --draws 20 --seed 1 -o fit.nc",
}
WAYS = [("flip", 1), ("flip", 128), ("zero", 0.9), ("cut", 0.5), ("turn", 0.9), ("end", None)]


def printed(name, folder, caches):
    """What a command prints in a process that keeps compiled code in a folder."""
    places = {"NUMBA_CACHE_DIR": f"{caches}/numba", "PYTENSOR_FLAGS": f"base_compiledir={caches}"}
    line = [sys.executable, "-m", "hmetad", *LINES[name].split()]
    done = subprocess.run(
        line, cwd=folder, env={**os.environ, **places}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        pytest.param("measures", 1, marks=pytest.mark.integration),
        pytest.param("measures", 8, marks=pytest.mark.slow),
        pytest.param("fit", 4, marks=pytest.mark.slow),
    ],
)
def test_damaged_files_of_compiled_code_change_no_result(name, rounds, inputs, tmp_path):
    (tmp_path / "trials.csv").symlink_to(inputs / "trials.csv")
    caches, chance, number = tmp_path / "caches", random.Random(name), 0
    first = printed(name, tmp_path, caches)
    for _ in range(rounds):
        kept = [path for path in sorted(Path(caches).rglob("*.nb[ic]")) if path.stat().st_size]
        for path in kept:
            how, what = chance.choice(WAYS)
            path.write_bytes(changed(path.read_bytes(), (how, chance.random(), what)))
        number += len(kept)
        again = printed(name, tmp_path, caches)
        assert name == "fit" or again == first
    if name == "fit":
        assert hmetad.load_fit(tmp_path / "fit.nc")["posterior"].sizes["draw"] == 20
    print(f"{name}: {number} damaged files")
    assert number
