"""Effective draws per CPU-second of the group model, and the time from nothing to a result.

For groups of 20, 100 and 500 subjects, with the cards `group` (κ = c) and `hmetad_group`: 4 chains
of 1000 draws after 1000 of tuning by nutpie, of the density that is compiled once and of PyMC's, in
turn. CPU seconds are those of sampling, tuning and the variables of the posterior included, over
all threads; building and compiling are a column of their own. ESS is the lower bulk ESS of
the mean and the SD of log M in the population. The last column, ESS in the CPU time of one
calibrating loop, can be compared between machines.

Then, for 20 subjects in a fresh process: seconds of import (interpreter and reading counts
included), of building and compiling, and of sampling, with empty compile caches (cold) and again
with the caches just filled (warm).

    python benchmarks/groups.py [--data FOLDER] [--subjects 20 100 500] [--skip-fresh]

FOLDER holds g20.csv, g100.csv, g500.csv of columns subject, stimulus, response (0 for S1, 1 for
S2), rating, count; without it groups are simulated.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import xarray as xr
from machine import CpuClock, calibrating_loop, describe_machine, print_table
from sampling import DENSITIES, bulk_ess, compiled_model, group_counts, timed_draws

import hmetad

# Card, what to change in it, and its names of the population's mean and SD of log M.
CARDS: Mapping[str, tuple[Mapping[str, str], tuple[str, str]]] = {
    "group": ({"meta_criterion": "absolute"}, ("log_m_Intercept", "log_m_1|subject_sigma")),
    "hmetad_group": ({}, ("mu_log_m", "sigma_log_m")),
}


def main() -> None:
    """Measure what the command line asks for, or be the fresh process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--subjects", type=int, nargs="+", default=[20, 100, 500])
    parser.add_argument("--skip-fresh", action="store_true", help="no runs in a fresh process")
    parser.add_argument("--once", nargs=2, metavar=("CARD", "DENSITY"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.once:
        print(json.dumps(stages(*asked.once, asked.data)))
        return
    print(describe_machine())
    loop = calibrating_loop()
    print(f"calibrating loop: {loop:.3f} s\n")
    print_sampling(asked.subjects, asked.data, loop)
    if not asked.skip_fresh:
        print_fresh(asked.data)


def print_sampling(sizes: list[int], folder: Path | None, loop: float) -> None:
    """Table of effective draws, one line for each group and card."""
    header = (
        "subjects",
        "card",
        "density",
        "compile s",
        "wall s",
        "CPU s",
        "divergences",
        "ESS mean",
        "ESS SD",
        "ESS/CPU s",
        "ESS/loop",
    )
    rows = []
    for subjects in sizes:
        counts = group_counts(subjects, folder)
        for card in CARDS:
            for density in DENSITIES:
                figures = sampling_figures(counts, card, density, loop)
                rows.append((str(subjects), card, density, *figures))
    print_table(header, rows)


def sampling_figures(
    counts: xr.DataArray, card: str, density: str, loop: float
) -> tuple[object, ...]:
    """Compile, wall and CPU seconds, divergences and effective draws of one fit."""
    with CpuClock() as compiling:
        compiled = compiled_model(counts, spec_of(card), density)
    draws, divergences, sampling = timed_draws(compiled)
    _, names = CARDS[card]
    mean, sd = (bulk_ess(draws, name) for name in names)
    rate = min(mean, sd) / sampling.cpu
    return compiling.wall, sampling.wall, sampling.cpu, divergences, mean, sd, rate, rate * loop


def spec_of(card: str) -> hmetad.ModelSpec:
    """The card, with the changes that this benchmark makes."""
    changes, _ = CARDS[card]
    return hmetad.load_model(card, **changes)


def print_fresh(folder: Path | None) -> None:
    """Table of the stages of a fresh process, cold and warm."""
    print("\n20 subjects in a fresh process, wall seconds:\n")
    rows = []
    for card in CARDS:
        for density in DENSITIES:
            with tempfile.TemporaryDirectory() as caches:
                for state in ("cold", "warm"):
                    seconds = fresh_process((card, density), folder, Path(caches))
                    rows.append((card, density, state, *seconds.values()))
    print_table((*("card", "density", "caches"), *seconds), rows)


def fresh_process(asked: tuple[str, str], folder: Path | None, caches: Path) -> dict[str, float]:
    """Seconds of each stage and of the whole, with the compile caches in a folder."""
    command = [sys.executable, __file__, "--once", *asked]
    if folder is not None:
        command += ["--data", str(folder)]
    flags = f"{os.environ.get('PYTENSOR_FLAGS', '')},base_compiledir={caches / 'pytensor'}"
    environment = {
        **os.environ,
        "PYTENSOR_FLAGS": flags.removeprefix(","),
        "NUMBA_CACHE_DIR": str(caches / "numba"),
    }
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    total = time.perf_counter() - start
    later = json.loads(done.stdout.splitlines()[-1])
    return {"import": total - sum(later.values()), **later, "total": total}


def stages(card: str, density: str, folder: Path | None) -> dict[str, float]:
    """Wall seconds of build and compile, and of sampling, in this process."""
    counts = group_counts(20, folder)
    with CpuClock() as compiling:
        compiled = compiled_model(counts, spec_of(card), density)
    *_, sampling = timed_draws(compiled)
    return {"compile": compiling.wall, "sample": sampling.wall}


if __name__ == "__main__":
    main()
