"""Seconds for all measures of many cells, and for information measures with reduced bias.

Cells are simulated: d′ 1.5, M 0.8, four ratings, 300 trials.

    python benchmarks/measures.py
"""

from functools import partial

import xarray as xr
from machine import CpuClock, calibrating_loop, describe_machine, print_table

import hmetad


def main() -> None:
    """Print a row for each task."""
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s\n")
    few, many = (simulated(cells) for cells in (1000, 100_000))
    debiased = partial(hmetad.information.meta_information, debias=1000, seed=1)
    tasks = [
        ("measure, all of them", hmetad.measure, many),
        ("meta_information", hmetad.information.meta_information, many),
        ("meta_information(debias=1000)", debiased, few),
        ("auroc2", hmetad.measures.auroc2, many),
        ("uvsdt", hmetad.uvsdt, many),
        ("fit_mle", hmetad.fit_mle, many),
        ("fit_mle(s='estimate')", partial(hmetad.fit_mle, s="estimate"), few),
        ("fit_dmc", hmetad.fit_dmc, many),
    ]
    rows = []
    for name, function, counts in tasks:
        function(counts.isel(cell=slice(2)))
        with CpuClock() as clock:
            function(counts)
        rows.append([name, counts.sizes["cell"], clock.wall, clock.cpu])
    print_table(["", "cells", "wall s", "CPU s"], rows)


def simulated(cells: int) -> xr.DataArray:
    """Counts of as many observers."""
    return hmetad.simulate_counts([1.5] * cells, 0.1, 0.8, trials=300, seed=1)


if __name__ == "__main__":
    main()
