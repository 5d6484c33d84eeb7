"""Effective draws per CPU-second against JAGS, on the same counts, in one run.

HMeta-d's group model with d′ and c plugged in (its default): in JAGS, written from its formulas
(`group.jags`), and by the card `hmetad_group` with `type1 = "plug_in"`. CPU seconds hold burn-in
or tuning and all threads, but neither compiler. ESS is the lower bulk ESS of the mean and SD of
log M in the population. Both posteriors are printed: they have to agree.

    python benchmarks/jags.py [--data FOLDER] [--subjects 20] [--burn-in 1000] [--draws 3000]

Needs `Rscript` and the R package rjags (Debian: r-cran-rjags). FOLDER as in `groups.py`.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from machine import calibrating_loop, describe_machine, print_table
from sampling import bulk_ess, compiled_model, group_counts, timed_draws

import hmetad

HERE = Path(__file__).parent
NAMES = ("mu_log_m", "sigma_log_m")
SEED = 1


class Run(NamedTuple):
    """Draws of the population's mean and SD of log M (chain, draw), and what they cost."""

    draws: xr.Dataset
    cpu: float

    @property
    def rate(self) -> float:
        """Effective draws of the worse of the two, per CPU-second."""
        return min(self.effective(name) for name in NAMES) / self.cpu

    def effective(self, name: str) -> float:
        """Bulk ESS of one variable."""
        return bulk_ess(self.draws, name)


def main() -> None:
    """Run both on the same counts, and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--subjects", type=int, default=20)
    parser.add_argument("--burn-in", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=3000)
    asked = parser.parse_args()
    if not has_rjags():
        print(
            "Nothing to compare with: this benchmark needs R with rjags (r-cran-rjags on Debian)."
        )
        return
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s")
    print(f"{asked.subjects} subjects\n")
    counts = group_counts(asked.subjects, asked.data)
    theirs = run_jags(counts, asked.burn_in, asked.draws)
    ours = run_hmetad(counts)
    print_comparison(ours, theirs)


def has_rjags() -> bool:
    """Whether R is here, and rjags in it."""
    if shutil.which("Rscript") is None:
        return False
    command = ["Rscript", "-e", "library(rjags)"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run_hmetad(counts: xr.DataArray) -> Run:
    """The card `hmetad_group`: 4 chains of 1000 draws after 1000 of tuning."""
    spec = hmetad.load_model("hmetad_group", type1="plug_in")
    drawn, _, sampling = timed_draws(compiled_model(counts, spec, "compiled"))
    return Run(drawn[list(NAMES)], sampling.cpu)


def run_jags(counts: xr.DataArray, burn_in: int, draws: int) -> Run:
    """One chain of JAGS."""
    plugged = hmetad.sdt(counts, correction="cell")
    numbers = [np.arange(1, size + 1) for size in counts.shape]
    index = pd.MultiIndex.from_product(numbers, names=["subject", "stimulus", "response", "rating"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.Series(counts.values.ravel(), index, name="count").to_csv(folder / "counts.csv")
        type1 = {"d": plugged["dprime"].values, "c": plugged["c"].values}
        pd.DataFrame(type1).to_csv(folder / "subjects.csv", index=False)
        command = ["Rscript", HERE / "group.R", folder, HERE / "group.jags", burn_in, draws, SEED]
        subprocess.run([str(x) for x in command], check=True)
        chain = pd.read_csv(folder / "draws.csv")
        cpu = float((folder / "seconds.txt").read_text(encoding="utf-8"))
    values = {n: (("chain", "draw"), chain[n].to_numpy()[None]) for n in NAMES}
    return Run(xr.Dataset(values), cpu)


def print_comparison(ours: Run, theirs: Run) -> None:
    """Posteriors, effective draws and CPU seconds, and the ratio of the rates."""
    rows = [(name, *figures(run)) for name, run in (("hmetad", ours), ("JAGS", theirs))]
    header = ("", "mean log M", "SD log M", "draws", "ESS mean", "ESS SD", "CPU s", "ESS/CPU s")
    print_table(header, rows)
    print(f"\nhmetad / JAGS, ESS per CPU-second: {ours.rate / theirs.rate:.1f}")


def figures(run: Run) -> tuple[object, ...]:
    """One line of the comparison."""
    posterior = [f"{float(x.mean()):.3f} ± {float(x.std()):.3f}" for x in run.draws.values()]
    effective = [run.effective(name) for name in NAMES]
    number = run.draws.sizes["chain"] * run.draws.sizes["draw"]
    return *posterior, number, *effective, run.cpu, run.rate


if __name__ == "__main__":
    main()
