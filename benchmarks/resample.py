"""Bootstraps of maximum-likelihood fits: the nine cells of a study, and memory by number of cells.

The nine cells are those of Servajean & Servajean (2026), three models and three tasks, each drawn
and fitted 10,000 times. Memory is the most that a fresh process held in all, for 300 draws of M of
ever more cells, beside the size of the draws that it returns.

    python benchmarks/resample.py
"""

import resource
import subprocess
import sys

from machine import CpuClock, calibrating_loop, describe_machine, print_table

import hmetad
from hmetad.studies.servajean2026 import confidence_counts

DRAWS = 10_000
FEW = 300
SIZES = (10, 1000, 10_000)


def main() -> None:
    """Print both tables."""
    if len(sys.argv) > 1:
        print(*drawn(int(sys.argv[1])))
        return
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s\n")
    counts = confidence_counts()
    hmetad.resample(counts, hmetad.fit_mle, n=10, seed=1)
    rows = []
    for kind in ("bootstrap", "dirichlet", "permutation"):
        with CpuClock() as clock:
            draws = hmetad.resample(counts, hmetad.fit_mle, n=DRAWS, kind=kind, seed=1)
        lost = int(draws["meta_d"].isnull().sum())
        rows.append([kind, counts.sizes["cell"], DRAWS, clock.wall, clock.cpu, lost])
    print_table(["kind", "cells", "draws", "wall s", "CPU s", "undefined"], rows)
    print()
    header = ["cells", "draws", "peak MB", "result MB"]
    print_table(header, [[cells, FEW, *in_fresh_process(cells)] for cells in SIZES])


def in_fresh_process(cells: int) -> list[float]:
    """Figures of `drawn`, from a process that did nothing else."""
    run = subprocess.run(
        [sys.executable, __file__, str(cells)], capture_output=True, text=True, check=True
    )
    return [float(x) for x in run.stdout.split()]


def drawn(cells: int) -> tuple[float, float]:
    """Megabytes that this process held at most, and those of the result."""
    counts = hmetad.simulate_counts([1.5] * cells, m_ratio=0.8, trials=300, seed=1)
    draws = hmetad.resample(counts, lambda t: hmetad.fit_mle(t)[["m_ratio"]], n=FEW, seed=1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, draws["m_ratio"].nbytes / 1e6


if __name__ == "__main__":
    main()
