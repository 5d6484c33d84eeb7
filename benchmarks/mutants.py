"""Do the tests notice a wrong line? Random mutants of the rooms, and how many the tests kill.

Rooms → share of mutants killed, and the survivors as diffs. Run by hand, on a clean commit:

    uv run --with cosmic-ray python benchmarks/mutants.py --mutants 100

Cosmic Ray mutates a clone of the last commit, one place at a time, and runs the tests with
compilation switched off: those of the mutated module, which notice most mutants in seconds, then
those of its room. Tests that need the compiler fail without it and are left out.
"""

import argparse
import json
import os
import random
import re
import shlex
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
# What compiled code passes over in silence, NumPy warns of.
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")
PYTEST += ("-W", "ignore::RuntimeWarning")
NONE_COLLECTED = 5  # what pytest exits with where there is no test
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
    """Mutate each room and print what its tests make of it; or be the tests of one mutant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), metavar="ROOM")
    parser.add_argument("--mutants", type=int, default=100, help="of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--meet", metavar="ROOM", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.meet:
        sys.exit(status_of_tests(options.meet))
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
    failing = failing_tests(room, clone, environment)
    environment["PYTEST_ADDOPTS"] = shlex.join(f"--deselect={test}" for test in failing)
    command = shlex.join([sys.executable, __file__, "--meet", room])
    text = {"command": json.dumps(command), "excluded": json.dumps(EXCLUDED)}
    config.write_text(CONFIG.format(room=room, timeout=TIMEOUT_SECONDS, **text))
    # Tests that fail of themselves would kill every mutant.
    cosmic_ray(["cosmic-ray", "baseline", config.name], clone, environment)
    cosmic_ray(["cosmic-ray", "init", config.name, session.name], clone, environment)
    cosmic_ray(["cr-filter-operators", session.name, config.name], clone, environment)
    keep_some(session, mutants, seed)
    cosmic_ray(["cosmic-ray", "exec", config.name, session.name], clone, environment)
    return session


def failing_tests(room: str, clone: Path, environment: dict[str, str]) -> list[str]:
    """Tests that fail on the code as it is, without the compiler."""
    command = [*PYTEST, *folders(room), "-rfE", "--tb=no"]
    ran = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    return re.findall(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)


def folders(room: str) -> list[str]:
    """Where the tests and the doctests of a room are."""
    return [f"tests/{room}", f"hmetad/{room}"]


def status_of_tests(room: str) -> int:
    """Exit status of the tests that a mutant in this clone meets, those of its module first."""
    command = ["git", "diff", "--name-only", "hmetad"]
    changed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    both = [path for x in changed for path in (f"tests/{room}/test_{Path(x).name}", x)]
    own = [path for path in both if Path(path).exists()]
    rest = [*folders(room), *(f"--ignore={path}" for path in own)]
    for tests in filter(None, (own, rest)):
        status = subprocess.run([*PYTEST, "-x", *tests], check=False).returncode
        if status not in (0, NONE_COLLECTED):
            return status
    return 0


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
        columns = "job_id, module_path, start_pos_row, start_pos_col, operator_name, occurrence"
        specs = database.execute(f"SELECT {columns} FROM mutation_specs")
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
        rows = database.execute("SELECT test_outcome, diff FROM work_results").fetchall()
    # A mutation that could not be made, or whose tests could not be started, is neither.
    killed, survivors = (
        [diff for outcome, diff in rows if word in str(outcome).upper()]
        for word in ("KILLED", "SURVIVED")
    )
    for diff in survivors:
        print(diff, end="\n\n")
    met = len(killed) + len(survivors)
    share = f" ({len(killed) / met:.0%})" if met else ""
    print(f"{room}: {len(killed)} of {met} mutants killed{share}")


if __name__ == "__main__":
    main()
