"""What a group analysis promises, and what it keeps: verdicts and intervals of simulated studies.

Questions, people and trials → table of how often intervals hold the truth and verdicts are wrong.

    python benchmarks/coverage.py [--questions difference mean] [--n 200] [--workers 2]
    python benchmarks/coverage.py --keep docs/calibration
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from machine import describe_machine, print_table

from hmetad.base.threads import usable_cpus
from hmetad.base.workers import Workers
from hmetad.simulate import plan_groups

ROPE = (-0.1, 0.1)
PEOPLE, TRIALS = (20, 50, 100), (50, 100, 400)
# What is asked, and what is true.
STUDIES: Mapping[str, Mapping[str, Any]] = {
    "no difference": {"question": "difference", "effect": 0.0},
    "difference": {"question": "difference", "effect": 0.4},
    "mean": {"question": "mean", "m_ratio": 0.8},
    "no slope": {"question": "slope", "effect": 0.0},
    "tasks": {"question": "tasks", "effect": 0.0},
    "correlation": {"question": "correlation", "effect": 0.5},
}


def main() -> None:
    """Simulate and fit studies of every question, and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", nargs="+", choices=STUDIES, default=[*STUDIES][:3])
    parser.add_argument("--n", type=int, default=200, help="studies of each size")
    parser.add_argument("--workers", type=int, help="processes, by default one for each CPU")
    parser.add_argument("--keep", type=Path, help="folder for what the page of the site shows")
    given = parser.parse_args()
    print(describe_machine())
    rows: list[dict[str, Any]] = []
    with Workers(given.workers or usable_cpus()) as executor:
        for name in given.questions:
            plan = plan_groups(
                **STUDIES[name],
                subjects=PEOPLE,
                trials=TRIALS,
                rope=ROPE,
                n=given.n,
                executor=executor,
                seed=20261123,
            )
            of_question = rows_of(name, plan)
            print_table([*of_question[0]], [[*row.values()] for row in of_question])
            rows += of_question
            if given.keep:
                keep_for_site(given.keep / "coverage.csv", pd.DataFrame(rows))


def keep_for_site(path: Path, found: pd.DataFrame) -> None:
    """Write the table; rows of other questions stay as they are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        old = pd.read_csv(path)
        found = pd.concat([found, old[~old["question"].isin(found["question"])]])
    order = found["question"].map([*STUDIES].index)
    rows = found.iloc[order.argsort(kind="stable")]
    rows.to_csv(path, index=False, float_format="%.4g")


def rows_of(name: str, plan: xr.Dataset) -> list[dict[str, Any]]:
    """A row for every size."""
    rows = []
    for people in plan["subjects"].to_numpy():
        for trials in plan["trials"].to_numpy():
            size = plan.sel(subjects=people, trials=trials)
            row = {"question": name, "truth": plan.attrs["truth_value"]}
            row |= {"people": int(people), "trials": int(trials), "n": int(size["studies"])}
            row |= {
                str(verdict): float(size["probability"].sel(verdict=verdict))
                for verdict in plan["verdict"].to_numpy()
            }
            columns = ("coverage", "coverage_se", "bias", "bias_se", "half_width")
            rows.append(row | {column: float(size[column]) for column in columns})
    return rows


if __name__ == "__main__":
    main()
