"""How far importance sampling of cells is from long chains.

Simulated cells, and cells of count tables → distance of means, standard deviations and quantiles of
M, on the scale of the model, from those of No-U-Turn chains of 20,000 draws, in standard deviations
of the posterior.

    python benchmarks/importance.py FILE.csv [--cells 200] [--tables counts.nc …] [--most 60]

What is done is kept in the file: the same command goes on where it stopped.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from machine import describe_machine, print_table

import hmetad
from hmetad.base.monte_carlo import check_chains
from hmetad.base.notice_registry import limit

QUANTILES = np.array([0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975])
DRAWS = {"draws": 5000, "chains": 4}
CHAINS = {"tune": 1000, "cores": 1, "target_accept": 0.95}
QUIET = {**DRAWS, "progressbar": False, "quiet": True}
# Long chains worth fewer draws say too little.
LEAST_ESS = 1000
CARDS = ("individual", "hmetad_single", "individual", "dmc")
FIELDS = ["source", "cell", "card", "trials", "ratings", "k", "effective", "by_chains", "ess"]
FIELDS += ["divergences", "mean", "sd", "quantile", "noise"]


def main() -> None:
    """Compare what is missing, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="where distances are kept")
    parser.add_argument("--cells", type=int, default=200, help="simulated cells")
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="count tables, netCDF")
    parser.add_argument("--most", type=int, default=60, help="cells of a table, by chance")
    given = parser.parse_args()
    print(describe_machine())
    rows = read_rows(given.file)
    done = {(row["source"], row["cell"], row["card"]) for row in rows}
    for i, (source, table) in enumerate(cells_of(given.cells, given.tables, given.most)):
        card = CARDS[i % len(CARDS)] if source == "simulated" else "individual"
        key = (source, str(table["cell"].values[0]), card)
        if key in done:
            continue
        rows.append(dict(zip(FIELDS[:3], key, strict=True)) | compare(table, card))
        write_rows(given.file, rows)
    print_summary(rows)


def cells_of(number: int, tables: list[Path], most: int) -> Iterator[tuple[str, xr.DataArray]]:
    """Count tables of a cell each, with the name of their source."""
    for i in range(number):
        yield "simulated", simulated(i)
    for path in tables:
        counts = xr.load_dataarray(path)
        size = counts.sizes["cell"]
        chosen = np.random.default_rng(1).permutation(size)[:most]
        for i in np.sort(chosen):
            yield path.stem, counts.isel(cell=[i])


def simulated(seed: int) -> xr.DataArray:
    """A cell of 30 to 2,000 trials, 2 to 6 ratings, d′ from 0 to 3 and M from 0 to 1.5."""
    rng = np.random.default_rng([20261123, seed])
    trials = int(np.exp(rng.uniform(np.log(30), np.log(2000))))
    table = hmetad.simulate_counts(
        rng.uniform(0, 3),
        c=rng.normal(0, 0.3),
        m_ratio=rng.uniform(0, 1.5),
        trials=trials,
        ratings=int(rng.integers(2, 7)),
        seed=rng,
    )
    return table.assign_coords(cell=[str(seed)])


def compare(table: xr.DataArray, card: str) -> dict[str, Any]:
    """Distances of one cell."""
    ours = hmetad.fit(table, card, method="importance", random_seed=1, **QUIET)
    theirs = hmetad.fit(table, card, method="nuts", random_seed=2, **CHAINS, **QUIET)
    main = hmetad.load_model(card).record.parameter_of_interest
    first, second = (tree["posterior"][main].to_numpy()[..., 0] for tree in (ours, theirs))
    sd = second.std()
    away = np.abs(np.quantile(first, QUANTILES) - np.quantile(second, QUANTILES)) / sd
    statistics = ours["sample_stats"]
    ess = float(min(part[0] for part in check_chains(second[None])[1:]))
    return {
        "trials": int(table.sum()),
        "ratings": table.sizes["rating"],
        "k": float(statistics["pareto_k"][0]),
        "effective": float(statistics["effective_draws"][0]),
        "by_chains": bool(statistics["by_chains"][0]),
        "ess": ess,
        "divergences": int(theirs["sample_stats"]["diverging"].sum()),
        "mean": abs(float(first.mean() - second.mean())) / sd,
        "sd": abs(float(first.std() / sd - 1)),
        "quantile": float(away.max()),
        # Of the difference of two means, by the draws that each is worth.
        "noise": float(np.sqrt(1 / first.size + 1 / ess)),
    }


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """All rows, in place of the old file."""
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    part.rename(path)


def print_summary(rows: list[dict[str, Any]]) -> None:
    """A line for every source: largest distances, and how many cells lie within the limits.

    Left out are cells that `fit` would sample by chains, and those whose chains say too little.
    """
    lines = []
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [row for row in rows if row["source"] == source]
        k, ess = (np.array([float(row[name]) for row in own]) for name in ("k", "ess"))
        is_weighted, is_known = k <= limit("pareto-k"), ess >= LEAST_ESS
        kept = is_weighted & is_known
        mean, sd, quantile = (
            np.array([float(row[name]) for row in own])[kept] for name in ("mean", "sd", "quantile")
        )
        good = (mean <= 0.05) & (sd <= 0.05) & (quantile <= 0.15)
        counts = [len(own), (~is_weighted).sum(), (~is_known).sum(), kept.sum(), good.sum()]
        largest = [f"{x.max(initial=0):.3f}" for x in (mean, sd, quantile)]
        lines.append([source, *map(int, counts), *largest])
    header = ["source", "cells", "to chains", "chains say little", "kept", "within .05, 5 %, .15"]
    print_table([*header, "mean", "SD", "quantile"], lines)


if __name__ == "__main__":
    main()
