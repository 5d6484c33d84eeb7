"""Every published set of the Confidence Database: what a usual M is, and what it goes with.

Populations of the sets (`hmetad.studies.populations`) → pooled by kinds of design, and the report.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from hmetad.compare.pooling import pool_studies
from hmetad.datasets import registry
from hmetad.report.page.report import Report
from hmetad.studies.report import build_report

__all__ = ["NAME", "kinds_of_design", "norms_of", "pool_kinds", "report_of", "set_names"]

NAME = "confidence_database"
# Half-normal prior of the SD between sets, of mean log M.
SPREAD = 0.5
# Columns that are missing where no set has them.
NEEDED = ("excluded", "failed", "below_guessing", "continuous", "difficulty", "domain")
FEWEST_SETS = 3
NORMS = (
    *("set", "population", "domain", "difficulty", "below_guessing", "continuous"),
    *("people", "trials", "ratings", "m_ratio", "m_ratio_lower", "m_ratio_upper", "log_m_sd"),
    *("dprime", "dprime_sd", "c_sd", "auroc2", "auroc2_sd", "auroc2_reliability"),
    *("m_reliability", "not_positive"),
)
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


def set_names() -> list[str]:
    """Names of all sets that the registry has a record of."""
    return [name for name, entry in registry().items() if "record" in entry]


def kinds_of_design(populations: pd.DataFrame) -> pd.DataFrame:
    """Populations with a fit that meets its thresholds, and the kinds of their designs in words."""
    populations = populations.reindex(columns=[*dict.fromkeys([*NEEDED, *populations])])
    is_known = populations["excluded"].isna() & (populations["failed"] == "")
    is_known &= (populations["people"] >= FEW_PEOPLE) & (other_question(populations) == "")
    found = populations[is_known].copy()
    each = found["trials"] / found["people"]
    found["all"] = "all sets"
    found["difficulty"] = found["difficulty"].map(DIFFICULTIES)
    found["scale"] = found["below_guessing"].map(BELOW)
    found["levels"] = np.where(
        found["continuous"].eq(True), CONTINUOUS, named(found["ratings"], RATINGS)
    )
    found["length"] = named(each, TRIALS)
    return found


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
            own = sets.to_xarray()
            pooled = pool_studies(own["log_m"], own["log_m_error"], scale=SPREAD)
            rows.append({"by": heading, "kind": kind, "sets": len(sets), **in_ratios(pooled)})
    return pd.DataFrame(rows)


def in_ratios(pooled: Any) -> dict[str, float]:
    """Pooled log M as M; the spread stays one of log M."""
    ends = ("", "_lower", "_upper")
    found = {f"{name}{end}": float(pooled[name + end]) for name in ("mean", "new") for end in ends}
    return {name: float(np.exp(value)) for name, value in found.items()} | {
        f"spread{end}": float(pooled["spread" + end]) for end in ends
    }


KINDS = {
    "": "all",
    "domain": "domain",
    "difficulty": "difficulty",
    "confidence": "levels",
    "where the scale begins": "scale",
    "trials": "length",
}


def norms_of(populations: pd.DataFrame) -> pd.DataFrame:
    """What `hmetad.norms` has of each population that may stand for a usual one."""
    found = kinds_of_design(populations)
    known = populations["difficulty"].reindex(found.index)
    return found.assign(difficulty=known)[[*NORMS]].round(4)


def report_of(populations: pd.DataFrame, seed: int) -> Report:
    """The page: the answer, what M goes with, every population, and what is left out."""
    found = kinds_of_design(populations)
    populations = populations.reindex(columns=[*dict.fromkeys([*NEEDED, *populations])])
    contents: dict[str, Any] = {"seed": seed, **numbers_of(populations, found)}
    contents["populations"] = labelled(populations[populations["excluded"].isna()])
    contents["found"] = labelled(found).sort_values(["domain", "m_ratio"])
    left = labelled(populations.assign(why=[*reasons(populations)]))
    left = left[left["why"] != ""]
    contents["left_out"] = left if len(left) else None
    pooled = pool_kinds(found)
    contents["pooled"] = pooled if len(pooled) else None
    if len(pooled):
        contents |= {name: pooled.iloc[0][name] for name in ("mean", "new_lower", "new_upper")}
        contents |= {
            f"all_{name}": pooled.iloc[0][name] for name in ("mean_lower", "mean_upper", "spread")
        }
    return build_report(NAME, contents)


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """Populations under one name each."""
    names = [
        f"{one} | {part}" if part else one
        for one, part in zip(rows["set"], rows["population"], strict=True)
    ]
    return rows.assign(label=names)


def numbers_of(populations: pd.DataFrame, found: pd.DataFrame) -> dict[str, Any]:
    """Counts and quantiles that the sentences of the page have."""
    fitted = populations[populations["excluded"].isna()]
    low, middle, high = (
        np.nanquantile(found["m_ratio"], [0.1, 0.5, 0.9]) if len(found) else [np.nan] * 3
    )
    return {
        "sets": populations["set"].nunique(),
        "fitted": len(fitted),
        "meeting": int((fitted["failed"] == "").sum()),
        "used": len(found),
        "people": int(fitted["people"].sum()),
        "trials": int(fitted["trials"].sum()),
        "low": low,
        "middle": middle,
        "high": high,
        "above": float((found["m_ratio"] > 1).mean()) if len(found) else np.nan,
        "minutes": float(fitted["seconds"].sum()) / 60,
    }


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
        if isinstance(row["excluded"], str):
            yield row["excluded"]
        elif row["failed"]:
            yield f"the chains fail: {row['failed']}"
        elif row["asked"]:
            yield f"people were asked for something else: {row['asked']}"
        elif row["people"] < FEW_PEOPLE:
            yield f"{row['people']:.0f} people, of {FEW_PEOPLE} for norms"
        else:
            yield ""
