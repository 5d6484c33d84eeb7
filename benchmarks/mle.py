"""Maximum-likelihood fits per second, by number of cells and ratings; and against metadpy.

Cells are simulated: d′ about 1.5, M about 0.8, 300 trials, counts with 1/(2K) added. All cells
have to converge. metadpy is run where a Python that has it is named, on the same counts, and has
to find the same meta-d′; its first fit, which compiles, is left out.

    python benchmarks/mle.py [--metadpy PYTHON]
"""

import argparse
import json
import subprocess

import numpy as np
import xarray as xr
from machine import CpuClock, calibrating_loop, describe_machine, print_table

import hmetad

THEIR_FITS = 20
# Run by the other Python: counts as JSON on standard input, meta-d′ and seconds as JSON out.
THEIRS = """
import json, sys, time, warnings
import numpy as np
from metadpy.mle import fit_metad
warnings.simplefilter("ignore")
pairs = [(np.array(s1), np.array(s2)) for s1, s2 in json.load(sys.stdin)]

def fitted(s1, s2):
    try:
        return float(fit_metad(s1, s2, 4)["meta_d"])
    except ZeroDivisionError:
        return None

fitted(*pairs[0])
start = time.process_time()
found = [fitted(s1, s2) for s1, s2 in pairs]
print(json.dumps([found, time.process_time() - start]))
"""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metadpy", metavar="PYTHON", help="a Python that has metadpy")
    asked = parser.parse_args()
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s\n")
    hmetad.fit_mle(simulated(10))
    sizes = [(1, 4), (100, 4), (10_000, 4), (100_000, 4), (10_000, 2), (10_000, 6), (10_000, 11)]
    header = ["cells", "K", "wall s", "CPU s", "fits per CPU s", "not converged"]
    print_table(header, [timed_fit(cells, ratings) for cells, ratings in sizes])
    if asked.metadpy:
        compare(asked.metadpy)


def simulated(cells: int, ratings: int = 4) -> xr.DataArray:
    """Counts of different observers."""
    rng = np.random.default_rng(1)
    d, c = rng.normal(1.5, 0.3, cells), rng.normal(0, 0.3, cells)
    m_ratio = np.exp(rng.normal(-0.2, 0.3, cells))
    return hmetad.simulate_counts(d, c, m_ratio, trials=300, ratings=ratings, seed=2)


def timed_fit(cells: int, ratings: int) -> list[object]:
    """A row of the table."""
    counts = simulated(cells, ratings)
    with CpuClock() as clock:
        fitted = hmetad.fit_mle(counts, correction="cell")
    lost = int((~fitted["converged"]).sum())
    return [cells, ratings, clock.wall, clock.cpu, cells / clock.cpu, lost]


def compare(python: str) -> None:
    """Print seconds per fit of both, and their ratio."""
    counts = simulated(THEIR_FITS)
    pairs = [
        [(x + 1 / 8).tolist() for x in pair] for pair in zip(*hmetad.to_nr(counts), strict=True)
    ]
    run = subprocess.run(
        [python, "-c", THEIRS], input=json.dumps(pairs), capture_output=True, text=True, check=True
    )
    found, seconds = json.loads(run.stdout)
    ours = hmetad.fit_mle(counts, correction="cell")["meta_d"]
    difference = abs(ours - np.array(found, dtype=float))
    theirs, rate = seconds / THEIR_FITS, timed_fit(10_000, 4)[4]
    print(f"\nmetadpy: {theirs:.3f} s a fit; hmetad, 10,000 cells: {1e6 / rate:.1f} µs a fit")
    middle, worst = float(difference.median()), float(difference.max())
    print(f"ratio {theirs * rate:,.0f}; {found.count(None)} of metadpy's fits failed;")
    print(f"its meta-d′ differs by {middle:.0e} in the median, by {worst:.0e} at most")


if __name__ == "__main__":
    main()
