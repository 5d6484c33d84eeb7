"""Every published set of the Confidence Database: what a usual M is, and what it goes with.

Names of sets → `norms.csv`, the table behind `hmetad.norms`; `populations.csv`, with what was found
of each task, condition or group, its convergence, and why norms leave it out; and `kinds.csv`, with
M pooled by kinds of design. A set is kept in the folder when it is done.

    python benchmarks/confidence_database.py --out norms [--sets Rouault_2018_Expt1,Clark_2018]
    python benchmarks/confidence_database.py --out norms --resume
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from machine import describe_machine, print_table

from hmetad import InputError, Prior, fit, fit_mle, notices
from hmetad.base.files import write_together
from hmetad.base.threads import in_order_of_end, usable_cpus
from hmetad.base.workers import Workers
from hmetad.bayes import fit_estimates, predict_estimates
from hmetad.datasets import load, registry
from hmetad.measures import auroc2, split_half
from hmetad.report import convergence_record

# A fit of 500 people needs some 1.5 GB.
MOST_WORKERS = 8
# Half-normal prior of the SD between sets, of mean log M.
SPREAD = 0.5
# Columns that are missing where no set has them.
NEEDED = (
    "people",
    "trials",
    "ratings",
    "excluded",
    "failed",
    "below_guessing",
    "continuous",
    "difficulty",
    "domain",
)
FEWEST_SETS = 3
NORMS = (
    *("set", "population", "domain", "difficulty", "below_guessing", "continuous"),
    *("people", "trials", "ratings", "m_ratio", "m_ratio_lower", "m_ratio_upper", "log_m_sd"),
    *("dprime", "dprime_sd", "c_sd", "auroc2", "auroc2_sd", "auroc2_reliability"),
    *("m_reliability", "not_positive"),
)
# What is too small where continuous confidence is cut by the quantiles of each person.
SHRUNKEN = ("log_m_sd", "m_reliability")
# A population this small says little of people.
FEW_PEOPLE = 10
# Upper limits of numbers of ratings and of trials a person, with their names.
RATINGS = {3: "2 or 3 levels", 4: "4 levels", 6: "5 or 6 levels", 100: "7 levels or more"}
TRIALS = {200: "at most 200 trials each", 500: "201 to 500", 10**9: "more than 500"}
CONTINUOUS = "continuous, in 4 parts"
# Kinds that have an order; the others are sorted by their size.
ORDER = {name: i for i, name in enumerate((*RATINGS.values(), CONTINUOUS, *TRIALS.values()))}
DIFFICULTIES = {
    "levels": "in known levels, mixed here",
    "varied": "varied, mixed here",
    "staircase": "by a staircase",
    "none": "one difficulty",
}
BELOW = {True: "scale reaches to surely wrong", False: "scale begins at guessing"}
# Headings of kinds of design, and their columns.
KINDS = {
    "": "all",
    "domain": "domain",
    "difficulty": "difficulty",
    "confidence": "levels",
    "where the scale begins": "scale",
    "trials": "length",
}
# What tells people of a set apart, rather than populations.
SUBJECT = "subject"
FEWEST_PEOPLE = 5
SPLITS = 20
# Codes of what is wrong with the draws.
FAILING = {"divergences", "ess", "one-chain", "rhat"}
# What the record of a set says of its design.
KNOWN = ("domain", "difficulty", "below_guessing")


def main() -> None:
    """Fit the sets, and write and print what was found."""
    known = [name for name, entry in registry().items() if "record" in entry]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("norms"), help="folder of the tables")
    parser.add_argument("--sets", help="names, separated by commas; by default all")
    parser.add_argument("--workers", type=int, default=min(usable_cpus(), MOST_WORKERS))
    parser.add_argument("--resume", action="store_true", help="go on with what the folder has")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sets = given.sets.split(",") if given.sets else known
    if not {*sets} <= {*known}:
        parser.error(f"no sets of the registry: {sorted({*sets} - {*known})}")
    kept = given.out / "sets"
    if not given.resume and any(kept.glob("*.json")):
        parser.error(f"{kept} has results: add --resume, or name another folder")
    print(describe_machine())
    populations = survey(sets, kept, given.seed, given.workers)
    pooled = pool_kinds(kinds_of_design(populations))
    made = f"# benchmarks/confidence_database.py, hmetad {version('hmetad')}, {date.today()}\n"
    tables = {"populations": populations.assign(left_out=[*reasons(populations)]), "kinds": pooled}
    files = {given.out / f"{name}.csv": csv_text(table) for name, table in tables.items()}
    write_together(files | {given.out / "norms.csv": made + csv_text(norms_of(populations))})
    if len(pooled):
        print_table([*pooled], pooled.to_numpy().tolist())


def csv_text(table: pd.DataFrame) -> str:
    """Rows of a table, without numbers of rows."""
    return str(table.to_csv(index=False, lineterminator="\n"))


def describe_set(name: str, seed: int) -> list[dict[str, Any]]:
    """Records of the populations of a set, or one record with why there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            counts = load(name)
        except InputError as error:
            return [{"set": name, "population": "", "excluded": str(error)}]
    record = registry()[name].get("record", {})
    known = {key: record[key] for key in KNOWN if key in record}
    remarks = dict.fromkeys(str(one.message) for one in caught)
    known |= {"continuous": "quantiles" in record, "remarks": " ".join(remarks)}
    return [
        {"set": name, "population": label, **known, **describe_population(part, seed)}
        for label, part in populations_of(counts)
    ]


def populations_of(counts: xr.DataArray) -> Iterator[tuple[str, xr.DataArray]]:
    """Cells of each task, condition or group of a table, under its name ("" where it is one)."""
    names = [str(name) for name in counts.coords if counts[name].dims == ("cell",)]
    apart = [name for name in names if name not in ("cell", SUBJECT)]
    if not apart:
        yield "", counts
        return
    parts = [[f"{name} {value}" for value in counts[name].values] for name in apart]
    labels = np.array([", ".join(row) for row in zip(*parts, strict=True)])
    for label in np.unique(labels):
        yield str(label), counts.isel(cell=labels == label).drop_vars(apart)


def describe_population(counts: xr.DataArray, seed: int) -> dict[str, Any]:
    """Numbers of people and trials, M and its like, and how well chains converged."""
    started = time.perf_counter()
    people = counts.sizes["cell"]
    size = {"people": people, "trials": int(counts.sum()), "ratings": counts.sizes["rating"]}
    if people < FEWEST_PEOPLE:
        return size | {"excluded": f"people: {people}, of {FEWEST_PEOPLE} that are needed"}
    try:
        fitted = fit(counts, "group", random_seed=seed, progressbar=False, quiet=True)
    except InputError as error:
        return size | {"excluded": str(error)}
    wrong = {one.code for one in notices(fitted) if one.severity == "error"}
    return {
        **size,
        **of_posterior(fitted["posterior"].to_dataset()),
        **of_people(counts, seed),
        **convergence_record(fitted),
        "failed": ", ".join(sorted(wrong & FAILING)),
        "seconds": time.perf_counter() - started,
    }


def of_posterior(posterior: xr.Dataset) -> dict[str, float]:
    """Medians and 95 % intervals of the population: median M, SD of log M, d′, c, reliability."""
    log_m = posterior["log_m_Intercept"]
    found: dict[str, xr.DataArray] = {
        "log_m": log_m,
        "m_ratio": xr.DataArray(np.exp(log_m)),
        "log_m_sd": posterior[f"log_m_1|{SUBJECT}_sigma"],
        "dprime": posterior["dprime_Intercept"],
        "dprime_sd": posterior[f"dprime_1|{SUBJECT}_sigma"],
        "c": posterior["c_Intercept"],
        "c_sd": posterior[f"c_1|{SUBJECT}_sigma"],
    }
    rows: dict[str, float] = {}
    for name, draws in found.items():
        middle, lower, upper = np.quantile(draws.to_numpy(), [0.5, 0.025, 0.975])
        rows |= {name: float(middle), f"{name}_lower": float(lower), f"{name}_upper": float(upper)}
    effects = posterior[f"log_m_1|{SUBJECT}"]
    # Variance of people's posterior means, of all that is between and within people.
    between, within = effects.mean(("chain", "draw")).var(), effects.var(("chain", "draw")).mean()
    reliability = float(between / (between + within))
    return rows | {"log_m_error": float(log_m.std()), "m_reliability": reliability}


def of_people(counts: xr.DataArray, seed: int) -> dict[str, float]:
    """AUROC2 and its split-half reliability, and maximum likelihood, over people."""
    found = fit_mle(counts)["m_ratio"]
    m_ratio = found.values[np.isfinite(found.values)]
    area = auroc2(counts)
    halves = split_half(counts, auroc2, n=SPLITS, seed=seed)
    return {
        "auroc2": float(area.mean()),
        "auroc2_sd": float(area.std(ddof=1)),
        "auroc2_reliability": float(halves["reliability"].squeeze()),
        "m_ratio_ml": float(np.median(m_ratio)) if m_ratio.size else math.nan,
        "not_positive": float((m_ratio <= 0).mean()) if m_ratio.size else math.nan,
        "no_estimate": float(1 - m_ratio.size / counts.sizes["cell"]),
    }


def survey(sets: Sequence[str], folder: Path, seed: int, workers: int) -> pd.DataFrame:
    """Populations of sets, in their order; each set is kept in the folder when it is done."""
    made = {"seed": seed, "version": version("hmetad")}
    kept = {name: read_rows(folder / f"{name}.json", made) for name in sets}
    missing = [name for name in sets if kept[name] is None]
    work = partial(describe_set, seed=seed)
    with Workers(workers) as executor, closing(in_order_of_end(work, missing, executor)) as ended:
        for number, rows in ended:
            name = missing[number]
            kept[name] = rows
            text = json.dumps({"made": made, "rows": rows}, indent=1)
            write_together({folder / f"{name}.json": text})
            print(f"{name}: {len(rows)} population{'s' * (len(rows) != 1)}", flush=True)
    found = pd.DataFrame([row for name in sets for row in kept[name] or ()])
    return found.reindex(columns=[*dict.fromkeys([*NEEDED, *found])])


def read_rows(path: Path, made: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Rows of a set that a run with the same settings left; None if there are none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found["rows"] if found.get("made") == made else None


def kinds_of_design(populations: pd.DataFrame) -> pd.DataFrame:
    """Populations with a fit that meets its thresholds, and the kinds of their designs in words."""
    found = populations[[not why for why in reasons(populations)]]
    levels = named(found["ratings"], RATINGS)
    return found.assign(
        all="all sets",
        difficulty=found["difficulty"].map(DIFFICULTIES),
        scale=found["below_guessing"].map(BELOW),
        levels=np.where(found["continuous"].eq(True), CONTINUOUS, levels),
        length=named(found["trials"] / found["people"], TRIALS),
    )


def named(numbers: pd.Series, limits: Mapping[int, str]) -> list[str]:
    """Name of the first limit that a number does not exceed."""
    return [next(name for most, name in limits.items() if one <= most) for one in numbers]


def pool_kinds(found: pd.DataFrame) -> pd.DataFrame:
    """Mean M, spread between sets, and what a new set would have, of each kind of design."""
    rows = []
    for heading, column in KINDS.items():
        kinds = sorted(found.groupby(column), key=lambda one: ORDER.get(str(one[0]), -len(one[1])))
        for kind, part in kinds:
            # Populations of a set share people or a laboratory: their errors are not averaged out.
            sets = part.groupby("set")[["log_m", "log_m_error"]].mean()
            if len(sets) < FEWEST_SETS:
                continue
            rows.append({"by": heading, "kind": kind, "sets": len(sets), **pooled(sets)})
    return pd.DataFrame(rows)


def pooled(sets: pd.DataFrame) -> dict[str, float]:
    """M on average and of a new set; the spread stays one of log M: medians and 95 % intervals."""
    prior = {"log_m_1|set_sigma": Prior("HalfNormal", sigma=SPREAD)}
    drawn_fit = fit_estimates(
        sets.reset_index(), "log_m ~ 1 + (1 | set)", se="log_m_error", priors=prior, seed=1
    )
    drawn = {
        "mean": np.exp(drawn_fit["posterior"]["log_m_Intercept"]),
        "new": np.exp(predict_estimates(drawn_fit, new="set", seed=1)["log_m"]),
        "spread": drawn_fit["posterior"]["log_m_1|set_sigma"],
    }
    ends = {"": 0.5, "_lower": 0.025, "_upper": 0.975}
    return {
        name + end: float(np.quantile(draws, tail))
        for end, tail in ends.items()
        for name, draws in drawn.items()
    }


def norms_of(populations: pd.DataFrame) -> pd.DataFrame:
    """What `hmetad.norms` has of each population that may stand for a usual one."""
    found = kinds_of_design(populations)
    known = populations["difficulty"].reindex(found.index)
    found = found.assign(difficulty=known).reindex(columns=[*NORMS]).round(4)
    found.loc[found["continuous"].eq(True), [*SHRUNKEN]] = np.nan
    return found


def other_question(populations: pd.DataFrame) -> pd.Series:
    """What people of a set rated, where that is no confidence ("" elsewhere)."""
    known = registry()
    asked = {
        name: known[name]["record"]["asked"]
        for name in set(populations["set"]) & {*known}
        if not known[name].get("record", {}).get("is_confidence", True)
    }
    return populations["set"].map(lambda name: asked.get(name, ""))


def reasons(populations: pd.DataFrame) -> Iterator[str]:
    """Why a population has no part in the norms ("" where it has)."""
    for row in populations.assign(asked=other_question(populations)).to_dict("records"):
        if isinstance(row.get("excluded"), str):
            yield row["excluded"]
        elif row["failed"]:
            yield f"the chains fail: {row['failed']}"
        elif row["asked"]:
            yield f"people were asked for something else: {row['asked']}"
        elif row["people"] < FEW_PEOPLE:
            yield f"{row['people']:.0f} people, of {FEW_PEOPLE} for norms"
        else:
            yield ""


if __name__ == "__main__":
    main()
