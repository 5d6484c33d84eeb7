"""Do the tests notice a wrong line? Random mutants of the rooms, and how many the tests kill.

Rooms → share of mutants killed, and the survivors as diffs. Run by hand, on a clean commit:

    uv run --with cosmic-ray python benchmarks/mutants.py --mutants 100

Cosmic Ray mutates a clone of the last commit, one place at a time, and runs the room's tests with
compilation switched off. Tests that need the compiler fail without it and are left out.
"""

import argparse
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOMS = ("likelihood", "measures", "compare")
# Annotations are full of "int | None", which no test is there to notice.
EXCLUDED = ("core/ReplaceBinaryOperator_BitOr_.*",)
TIMEOUT_SECONDS = 1200
CONFIG = """
[cosmic-ray]
module-path = "hmetad/{room}"
timeout = {timeout}
excluded-modules = ["hmetad/{room}/__init__.py"]
test-command = {command}

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
exclude-operators = {excluded}
"""


def main() -> None:
    """Mutate each room, and print what its tests make of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), metavar="ROOM")
    parser.add_argument("--mutants", type=int, default=100, help="of each room")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
        clone = Path(scratch) / "hmetad"
        subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
        for room in options.rooms:
            session = mutate(clone, room, options.mutants, options.seed)
            print_outcome(room, session)


def mutate(clone: Path, room: str, mutants: int, seed: int) -> Path:
    """Session of a room in which each of so many random mutants has met the tests."""
    # With importlib's way of importing, and an editable install elsewhere, the path decides.
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(clone)}
    config, session = clone / f"{room}.toml", clone / f"{room}.sqlite"
    tests = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    tests += [f"tests/{room}", f"hmetad/{room}"]
    failing = failing_tests(tests, clone, environment)
    command = " ".join([*tests, "-x", *(f"--deselect={test}" for test in failing)])
    text = {"command": json.dumps(command), "excluded": json.dumps(EXCLUDED)}
    config.write_text(CONFIG.format(room=room, timeout=TIMEOUT_SECONDS, **text))
    cosmic_ray(["cosmic-ray", "init", config.name, session.name], clone, environment)
    cosmic_ray(["cr-filter-operators", session.name, config.name], clone, environment)
    keep_some(session, mutants, seed)
    cosmic_ray(["cosmic-ray", "exec", config.name, session.name], clone, environment)
    return session


def failing_tests(tests: Sequence[str], clone: Path, environment: dict[str, str]) -> list[str]:
    """Tests that fail on the code as it is, without the compiler."""
    ran = subprocess.run(
        [*tests, "-rf", "--tb=no"], cwd=clone, env=environment, capture_output=True, text=True
    )
    return re.findall(r"^FAILED (\S+)", ran.stdout, re.MULTILINE)


def cosmic_ray(command: Sequence[str], clone: Path, environment: dict[str, str]) -> None:
    """Run one of Cosmic Ray's programs, which stand beside the interpreter."""
    program = Path(sys.prefix) / "bin" / command[0]
    found = [str(program) if program.exists() else command[0], *command[1:]]
    subprocess.run(found, cwd=clone, env=environment, check=True)


def keep_some(session: Path, mutants: int, seed: int) -> None:
    """Leave a random choice of the mutants that no filter has set aside."""
    with sqlite3.connect(session) as database:
        skipped = "SELECT job_id FROM work_results"
        rows = database.execute(f"SELECT job_id FROM work_items WHERE job_id NOT IN ({skipped})")
        jobs = sorted(job for (job,) in rows)
        order = (
            "SELECT job_id, module_path, start_pos_row, start_pos_col, operator_name, occurrence"
        )
        specs = database.execute(f"{order} FROM mutation_specs").fetchall()
        place = {job: tuple(map(str, rest)) for job, *rest in specs}
        # Jobs have random names; their places in the code have not.
        jobs.sort(key=place.__getitem__)
        kept = set(random.Random(seed).sample(jobs, min(mutants, len(jobs))))
        for table in ("work_results", "mutation_specs", "work_items"):
            known = [job for (job,) in database.execute(f"SELECT job_id FROM {table}")]
            gone = [(job,) for job in known if job not in kept]
            database.executemany(f"DELETE FROM {table} WHERE job_id = ?", gone)


def print_outcome(room: str, session: Path) -> None:
    """Share of mutants killed, then the diff of each that survived."""
    with sqlite3.connect(session) as database:
        outcomes = database.execute("SELECT test_outcome, diff FROM work_results").fetchall()
    survivors = [diff for outcome, diff in outcomes if "SURVIVED" in str(outcome).upper()]
    killed = len(outcomes) - len(survivors)
    for diff in survivors:
        print(diff, end="\n\n")
    print(f"{room}: {killed} of {len(outcomes)} mutants killed ({killed / len(outcomes):.0%})")


if __name__ == "__main__":
    main()
