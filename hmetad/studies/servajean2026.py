"""Servajean & Servajean (2026): three language models, three tasks, nine cells.

The deposited counts → fits, contrasts and decisions, each beside what the paper prints.
The fits are HMeta-d's single-subject model as the authors ran it (`hmetad_single`), and the
package's own (`individual`) under both rules for κ.
Source: arXiv:2603.29693, Tables S1 and S2 and the text of its Results.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm

from hmetad.bayes.fit import fit
from hmetad.bayes.loading import load_model
from hmetad.compare.contrasts import contrast, pair_cells
from hmetad.compare.decisions import Decisions, decide
from hmetad.compare.normal_decisions import decide_normal
from hmetad.counts.table import from_nr
from hmetad.measures.sdt import sdt, z_test
from hmetad.studies.comparison import ComparisonRow, compare_decisions, comparison_frame
from hmetad.studies.transcribed import frame_of, transcribed

__all__ = ["KNOWN_DIFFERENCES", "Study", "analyse", "compare"]

DRAWS = 14_000
SIDE_DRAWS = 2_000
CHAINS = 4
COMPARISONS = 27
TOLERANCES = {"dprime": 0.015, "meta_d": 0.02, "m_ratio": 0.006}
LAST_DIGIT = 0.00005

UNCONVERGED = (
    "Printed from an unconverged run: HMeta-d's default settings (JAGS, 1,000 burn-in, 3 × 10,000 "
    "draws) let c drift on these counts and give it again; converged chains do not."
)
FOLLOWS = "Follows from the unconverged run of DeepSeek-V3.2-Exp in task C."
KNOWN_DIFFERENCES: Mapping[tuple[str, str, str], str] = {
    ("S1", "DeepSeek-V3.2-Exp | C", "dprime"): UNCONVERGED,
    ("S1", "DeepSeek-V3.2-Exp | C", "meta_d"): UNCONVERGED,
    ("S1", "DeepSeek-V3.2-Exp | C", "m_ratio"): UNCONVERGED,
    ("log_m_between_models", "GPT-5 − DeepSeek-V3.2-Exp | C", "log_m"): FOLLOWS,
    ("dprime_between_models", "Mistral-Medium-2508 − DeepSeek-V3.2-Exp | C", "dprime"): FOLLOWS,
    ("S2", "GPT-5 | C | none", "half_width"): "A misprint of .0359; computed .035949.",
    ("S2", "GPT-5 | C | S2", "c"): "Cut off instead of rounded; computed .766771.",
}


@dataclass(frozen=True)
class Study:
    """All that the study computes.

    Parameters
    ----------
    counts : DataArray
        The nine cells with confidence ratings.
    hmetad : DataTree
        `hmetad_single`: HMeta-d's priors, κ = c, d′ and c estimated.
    relative, absolute : DataTree
        `individual` with κ = M·c and with κ = c.
    criteria : Dataset
        Type-1 estimates of the 27 cells of the experiment on risk.
    decisions : mapping of str to Decisions
        By the names that the printed ones have in servajean2026.toml.
    """

    counts: xr.DataArray
    hmetad: xr.DataTree
    relative: xr.DataTree
    absolute: xr.DataTree
    criteria: xr.Dataset
    decisions: Mapping[str, Decisions]


def analyse(*, draws: int = DRAWS, seed: int = 1, **sample_kwargs: Any) -> Study:
    """Fit the nine cells and judge every contrast of the paper.

    Parameters
    ----------
    draws : int
        Posterior draws per chain of `hmetad_single`; the default leaves more than 20,000
        effective draws of every M.
    seed : int
        Seed of all fits.
    **sample_kwargs
        Passed on to `hmetad.fit`.

    Returns
    -------
    Study
    """
    counts = confidence_counts()
    options = {"chains": CHAINS, "random_seed": seed, **sample_kwargs}
    side = {**options, "draws": min(draws, SIDE_DRAWS)}
    hmetad = fit(counts, "hmetad_single", **{**options, "draws": draws})
    relative = fit(counts, "individual", **side)
    absolute = fit(counts, load_model("individual", meta_criterion="absolute"), **side)
    criteria = sdt(risk_counts())
    decisions = {**model_decisions(hmetad), **risk_decisions(criteria)}
    return Study(counts, hmetad, relative, absolute, criteria, decisions)


def compare(study: Study) -> pd.DataFrame:
    """Every printed number and decision beside ours.

    Parameters
    ----------
    study : Study

    Returns
    -------
    DataFrame
        Columns table, row, quantity, printed, ours, tolerance, agrees, note.
    """
    spoken = printed()["decisions"]
    rows = [*rows_s1(study.hmetad), *rows_s2(study.criteria)]
    for name, decisions in study.decisions.items():
        rows += compare_decisions(name, decisions, spoken[name])
    return comparison_frame(rows, KNOWN_DIFFERENCES)


def model_decisions(hmetad: xr.DataTree) -> dict[str, Decisions]:
    """Decisions on M and d′: against optimality, between models, between tasks."""
    draws = hmetad["posterior"].to_dataset()
    judged = {
        "log_m_optimality": draws["log_m"],
        "log_m_between_models": contrast(draws, var="log_m", over="model", within="task"),
        "log_m_between_tasks": contrast(draws, var="log_m", over="task", within="model"),
        "dprime_between_models": contrast(draws, var="dprime", over="model", within="task"),
    }
    return {name: decide(values, rope=rope_of(str(values.name))) for name, values in judged.items()}


def risk_decisions(criteria: xr.Dataset) -> dict[str, Decisions]:
    """Decisions on c and d′ between settings of risk, by z-tests with Bonferroni's correction."""
    pairs = pair_cells(criteria, over="risk", within=("task", "model"))
    left, right = (
        criteria["cell"].values[pairs[side]].tolist() for side in ("left_cell", "right_cell")
    )
    decisions = {}
    for var in ("c", "dprime"):
        tests = z_test(criteria, var, left, right)
        difference = xr.DataArray(
            tests["difference"].values, dims="pair", coords={"pair": list(pairs["label"])}, name=var
        )
        decisions[f"{var}_between_risks"] = decide_normal(
            difference,
            tests["se"].values,
            rope=rope_of(var),
            comparisons=COMPARISONS,
        )
    return decisions


def rows_s1(hmetad: xr.DataTree) -> list[ComparisonRow]:
    """Table S1: posterior means of d′, meta-d′ and M."""
    means = hmetad["posterior"].to_dataset()[list(TOLERANCES)].mean(["chain", "draw"])
    return [
        ComparisonRow(
            "S1", cell, name, float(row[name]), float(means[name].sel(cell=cell)), tolerance
        )
        for row in confidence_rows().to_dict("records")
        for cell in [f"{row['model']} | {row['task']}"]
        for name, tolerance in TOLERANCES.items()
    ]


def rows_s2(criteria: xr.Dataset) -> list[ComparisonRow]:
    """Table S2: c and the half-width of its 95 % interval, to the printed digits."""
    ours = {"c": criteria["c"], "half_width": interval_half_width(criteria["c_se"])}
    return [
        ComparisonRow("S2", cell, name, float(row[name]), float(values.sel(cell=cell)), LAST_DIGIT)
        for row in risk_rows().to_dict("records")
        for cell in [f"{row['model']} | {row['task']} | {row['risk']}"]
        for name, values in ours.items()
    ]


def rope_of(quantity: str) -> tuple[float, float]:
    """Region of practical equivalence of the paper."""
    lower, upper = printed()["rope"][quantity]
    return lower, upper


def interval_half_width(se: xr.DataArray) -> xr.DataArray:
    """Half-width of a normal 95 % interval."""
    return norm.isf(0.025) * se


def confidence_counts() -> xr.DataArray:
    """Count table of the nine cells with confidence ratings."""
    rows = confidence_rows()
    vectors = (np.array(rows[name].tolist()) for name in ("nR_S1", "nR_S2"))
    return from_nr(*vectors, model=list(rows["model"]), task=list(rows["task"]))


def risk_counts() -> xr.DataArray:
    """Count table, without ratings, of the 27 cells of the experiment on risk."""
    rows = risk_rows()
    coords = {name: list(rows[name]) for name in ("model", "task", "risk")}
    s1, s2 = rows[["rejections", "false_alarms"]], rows[["misses", "hits"]]
    return from_nr(s1.to_numpy(), s2.to_numpy(), **coords)


def confidence_rows() -> pd.DataFrame:
    """Cells of Table S1: counts, and what is printed."""
    return frame_of(printed()["confidence"])


def risk_rows() -> pd.DataFrame:
    """Cells of Table S2: counts, and what is printed."""
    return frame_of(printed()["risk"])


def printed() -> Mapping[str, Any]:
    """The paper's counts, numbers and verdicts."""
    return transcribed("servajean2026")
