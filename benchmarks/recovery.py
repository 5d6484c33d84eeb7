"""Recovery of M-ratio: bias and error of maximum likelihood, DMC and Bayes over d′ and trials.

Cells are simulated with M = 0.8, c = 0.2, four ratings and κ = c, the rule of DMC; 200 of each
design, all fitted by all. Bayes is the card `dmc` fitted to all cells at once, each with
parameters of its own; its estimate is the posterior median of M.

    python benchmarks/recovery.py [--cells 200] [--skip-bayes]
"""

import argparse
from collections.abc import Callable

import xarray as xr
from machine import CpuClock, describe_machine, print_table

import hmetad

type Estimator = Callable[[xr.DataArray], xr.Dataset]

TRUTH = {"m_ratio": 0.8, "c": 0.2, "meta_criterion": "absolute"}
DPRIMES, TRIALS = [0.5, 1.0, 1.5, 2.5], [100, 400, 1600]
SHOWN = ("bias", "bias_se", "median_bias", "rmse", "undefined")


def main() -> None:
    """Print a row for each design and estimator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=200, help="of each design")
    parser.add_argument("--skip-bayes", action="store_true", help="leave out what samples")
    asked = parser.parse_args()
    print(describe_machine(), "\n")
    estimators = {"ML": likelihood, "DMC": least_squares}
    if not asked.skip_bayes:
        estimators["Bayes"] = posterior
    clocks = {name: CpuClock() for name in estimators}
    timed = {name: timed_by(clocks[name], run) for name, run in estimators.items()}
    found = hmetad.simulate.recover(
        timed, dprime=DPRIMES, trials=TRIALS, n=asked.cells, seed=1, **TRUTH
    )
    header = ["d′", "trials", "estimator", "bias", "± MC", "median bias", "RMSE", "undefined"]
    rows = [
        [d, trials, name, *(value(found, d, trials, name, x) for x in SHOWN)]
        for d in DPRIMES
        for trials in TRIALS
        for name in estimators
    ]
    print_table(header, rows)
    cells = asked.cells * len(DPRIMES) * len(TRIALS)
    seconds = {name: round(clock.cpu, 2) for name, clock in clocks.items()}
    print(f"\nCPU seconds for {cells} cells:", seconds)


def value(found: xr.Dataset, d: float, trials: int, name: str, shown: str) -> float:
    """One entry of the table."""
    return found[shown].sel(true_dprime=d, trials=trials, estimator=name).item()


def likelihood(counts: xr.DataArray) -> xr.Dataset:
    """Maximum likelihood, with 1/(2K) in every count."""
    return hmetad.fit_mle(counts, meta_criterion="absolute", correction="cell")


def least_squares(counts: xr.DataArray) -> xr.Dataset:
    """DMC, with 1/(2K) in every count."""
    return hmetad.fit_dmc(counts, correction="cell")


def posterior(counts: xr.DataArray) -> xr.Dataset:
    """Posterior median of each cell."""
    fitted = hmetad.fit(counts, "dmc", random_seed=1, progressbar=False, quiet=True)
    return fitted["posterior"].dataset[["m_ratio"]].median(["chain", "draw"])


def timed_by(clock: CpuClock, estimator: Estimator) -> Estimator:
    """The estimator, whose last run the clock has timed."""

    def run(counts: xr.DataArray) -> xr.Dataset:
        with clock:
            return estimator(counts)

    return run


if __name__ == "__main__":
    main()
