"""People whose M is at or below 0: what a population of log M, and one of M, say of their group.

Groups of 30 people with 200 trials and of 15 with 100 are drawn from five populations of M, and
fitted with M of people normal on each scale. Rows, by population and by how many people are seen to
be at or below 0 by maximum likelihood (3: or more): how far quantiles of M in the population are
off; errors of the median and of people; how often 95 % intervals hold the median, people, and
people below 0; elpd of people left out less that of the first scale, of the first groups and of
count tables in netCDF files. Each fit is added to FILE; the same command goes on where it stopped.

    python benchmarks/negative.py FILE.jsonl [--groups 20] [--scales log_m m] [--tables counts.nc …]
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from machine import describe_machine, print_table
from numpy.typing import NDArray

import hmetad

SIZES = {"30 × 200": (30, 200), "15 × 100": (15, 100)}
NORMAL = {"normal, 0 %": (0.8, 0.25), "normal, 5 %": (0.74, 0.45), "normal, 20 %": (0.38, 0.45)}
POPULATIONS = ("log-normal", *NORMAL, "a fifth around 0")
# Quantiles, and where they are in a normal distribution.
SHARES, Z = (0.1, 0.5, 0.9), (-1.2815515655446004, 0.0, 1.2815515655446004)
M_OF = {"log_m": np.exp, "m": lambda x: x}
BAD = {"rhat", "ess", "divergences"}
# Leaving people out takes as long as the fit.
GROUPS_LEFT_OUT = 4
HEADINGS = ["10 %", "median", "90 %", "error", "of people", "held", "people held", "below 0 held"]


def draw_m(population: str, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """True M of people of a population."""
    if population in NORMAL:
        return rng.normal(*NORMAL[population], size)
    m: NDArray[np.float64] = np.exp(rng.normal(np.log(0.8), 0.35, size))
    if population == "log-normal":
        return m
    return np.where(rng.permutation(size) < size / 5, rng.normal(0, 0.15, size), m)


def draw_group(population: str, size: str, number: int) -> tuple[NDArray[np.float64], xr.DataArray]:
    """True M of every person of a group, and their counts."""
    rng = np.random.default_rng([number, POPULATIONS.index(population)])
    people, trials = SIZES[size]
    m = draw_m(population, people, rng)
    counts = hmetad.simulate_counts(
        rng.normal(1.5, 0.4, people).clip(0.5),
        m_ratio=m,
        c=rng.normal(0, 0.3, people),
        trials=trials,
        ratings=4,
        coords={"subject": [str(i) for i in range(people)]},
        seed=number,
    )
    return m, counts


def judge(
    scale: str, counts: xr.DataArray, m: NDArray[np.float64] | None, *, leave_out: bool
) -> dict[str, Any]:
    """What a fit says of the population, of people, and of people left out."""
    formula = dict.fromkeys((scale, "dprime", "c", "log_gap"), "1 + (1|subject)")
    spec = hmetad.load_model("group", scale=scale, formula=formula)
    fit = hmetad.fit(counts, spec, random_seed=1, progressbar=False, quiet=True)
    posterior = fit["posterior"]
    mean, sd = (posterior[f"{scale}_{end}"] for end in ("Intercept", "1|subject_sigma"))
    quantiles = [M_OF[scale](mean + z * sd).to_numpy() for z in Z]
    said: dict[str, Any] = {"quantiles": [float(np.median(one)) for one in quantiles]}
    said["seen"] = int((hmetad.fit_mle(counts)["m_ratio"] <= 0).sum())
    said["interval"] = [*np.quantile(quantiles[1], [0.025, 0.975])]
    said["converged"] = not BAD & {notice.code for notice in hmetad.notices(fit)}
    if m is not None:
        ends = posterior["m_ratio"].quantile([0.025, 0.5, 0.975], ["chain", "draw"]).to_numpy()
        held = (m >= ends[0]) & (m <= ends[2])
        said["held"], said["held_below"] = float(held.mean()), [*map(int, held[m <= 0])]
        said["error"] = float(((ends[1] - m) ** 2).mean())
    if leave_out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            said["elpd"] = [*map(float, hmetad.loo(fit, by="subject").elpd_i)]
    return said


def add_fits(file: Path, groups: int, scales: list[str], tables: list[Path]) -> pd.DataFrame:
    """Fits that the file has, after those that it lacks were added."""
    rows = [*map(json.loads, file.read_text().splitlines())] if file.exists() else []
    known = {(row["of"], row["size"], row["number"], row["scale"]) for row in rows}
    wanted = [(p, size, n) for n in range(groups) for size in SIZES for p in POPULATIONS]
    wanted += [(str(table), "table", 0) for table in tables]
    for of, size, number in wanted:
        for scale in [one for one in scales if (of, size, number, one) not in known]:
            is_table = size == "table"
            m, counts = (None, xr.load_dataarray(of)) if is_table else draw_group(of, size, number)
            said = judge(scale, counts, m, leave_out=is_table or number < GROUPS_LEFT_OUT)
            rows.append({"of": of, "size": size, "number": number, "scale": scale} | said)
            with file.open("a") as opened:
                opened.write(f"{json.dumps(rows[-1])}\n")
    return pd.DataFrame(rows)


def elpd_beside(own: pd.DataFrame, first: pd.DataFrame) -> str:
    """Difference of elpd from the first scale, over all people left out, and its standard error."""
    both = own.dropna(subset="elpd").merge(first, on=["of", "size", "number"])
    difference = np.concatenate([*both["elpd_x"]]) - np.concatenate([*both["elpd_y"]])
    return f"{difference.sum():+.1f} ± {np.sqrt(len(difference) * difference.var()):.1f}"


def summary(fits: pd.DataFrame) -> list[object]:
    """How far quantiles of populations are off, errors and coverage, of fits on a scale."""
    draw = np.random.default_rng(0)
    every = {of: np.quantile(draw_m(of, 10**6, draw), SHARES) for of in fits["of"].unique()}
    true = np.stack([every[of] for of in fits["of"]])
    off, (lower, upper) = np.stack(fits["quantiles"]) - true, np.stack(fits["interval"]).T
    is_held = (lower <= true[:, 1]) & (true[:, 1] <= upper)
    below = fits["held_below"].explode().dropna()
    errors = (f"{np.sqrt(x):.3f}" for x in ((off[:, 1] ** 2).mean(), fits["error"].mean()))
    shares = (f"{one.mean():.0%}" if len(one) else "" for one in (is_held, fits["held"], below))
    return [*(f"{one:+.3f}" for one in off.mean(axis=0)), *errors, *shares]


def main() -> None:
    """Simulate, fit, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--groups", type=int, default=20, help="of each population and size")
    parser.add_argument("--scales", nargs="+", default=["log_m", "m"], choices=[*M_OF])
    parser.add_argument("--tables", type=Path, nargs="*", default=[])
    asked = parser.parse_args()
    print(describe_machine())
    every = add_fits(asked.file, asked.groups, asked.scales, asked.tables)
    every["seen"] = every["seen"].clip(upper=3)
    first = every[every["scale"] == asked.scales[0]]
    made, tables = every[every["size"] != "table"], every[every["size"] == "table"]
    for columns in (["size", "of"], ["seen"]):
        grouped = made.groupby([*columns, "scale"], sort=columns == ["seen"])
        rows = [[*keys, len(own), *summary(own), elpd_beside(own, first)] for keys, own in grouped]
        print_table([*columns, "scale", "groups", *HEADINGS, "elpd"], rows)
    rows = [
        [Path(str(of)).stem, scale, *own["seen"], *own["converged"], elpd_beside(own, first)]
        + [f"{x:.2f}" for x in own["quantiles"].item()]
        for (of, scale), own in tables.groupby(["of", "scale"], sort=False)
    ]
    print_table(["table", "scale", "seen", "converged", "elpd", *HEADINGS[:3]], rows)


if __name__ == "__main__":
    main()
