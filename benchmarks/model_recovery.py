"""How often the model that made the ratings is selected, and how well its parameters are recovered.

Folder → a file for each number of trials, kept when it is done, and Markdown tables.

    python benchmarks/model_recovery.py FOLDER [--trials 100 400 1600] [--people 20] [--n 3]
"""

import argparse
import time
from pathlib import Path

import xarray as xr
from machine import describe_machine

from hmetad.simulate import recover_models


def main() -> None:
    """Simulate what is missing, then print everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, nargs="+", default=[100, 400, 1600])
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--n", type=int, default=3, help="data sets of each model")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(describe_machine())
    for trials in given.trials:
        path = given.folder / f"{trials}.nc"
        if not path.exists():
            start = time.perf_counter()
            found = recover_models(trials=trials, people=given.people, n=given.n, seed=trials)
            found.attrs["seconds"] = time.perf_counter() - start
            found.to_netcdf(path)
        with xr.open_dataset(path) as found:
            print_tables(found.load())


def print_tables(found: xr.Dataset) -> None:
    """Shares of people and of groups, and errors of parameters, in Markdown."""
    own = found.attrs
    print(
        f"\n{own['trials']} trials a person, {own['n']} data sets of {own['people']} people, "
        f"{own['seconds']:.0f} s\n"
    )
    winning = list(map(str, found["winning"].values))
    print(f"| made by | {' | '.join(winning)} | groups | at an edge |")
    print("|---" * (len(winning) + 3) + "|")
    for name in map(str, found["generating"].values):
        row = found.sel(generating=name)
        shares = " | ".join(f"{float(x):.2f}" for x in row["people"])
        right = float(row["groups"].sel(winning=name))
        print(f"| {name} | {shares} | {right:.2f} | {float(row['at_edge']):.2f} |")
    print("\n| made by | parameter | correlation | bias | RMSE |\n|---|---|---|---|---|")
    errors = found[["correlation", "bias", "rmse"]].to_dataframe().dropna()
    for (name, quantity), row in errors.iterrows():
        print(f"| {name} | {quantity} | {row['correlation']:.2f} | ", end="")
        print(f"{row['bias']:+.3f} | {row['rmse']:.3f} |")


if __name__ == "__main__":
    main()
