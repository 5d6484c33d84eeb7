"""Servajean & Servajean (2026): three language models, three tasks, nine cells.

The deposited counts → fits, contrasts and decisions → what is printed, computed. The fits are
HMeta-d's single-subject model as the authors ran it (`hmetad_single`), and the package's own
(`individual`) under both rules for κ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm

from hmetad.bayes.fit import fit
from hmetad.compare.contrasts import contrast, pair_cells
from hmetad.compare.decisions import Decisions
from hmetad.compare.verdicts import decide, decide_normal
from hmetad.counts.vectors import from_nr
from hmetad.measures.sdt import sdt, z_test
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.estimates import estimate_table
from hmetad.specs.loading import load_model
from hmetad.studies.comparison import Ours, file_of, frame_of
from hmetad.text.names import symbol

NAME = "servajean2026"
# So many per chain leave more than 20,000 effective draws of every M.
DRAWS = 14_000
SIDE_DRAWS = 2_000
CHAINS = 4
COMPARISONS = 27
# Columns of M as those of a table of intervals.
M_RATIO = {"m_ratio": "mean", "m_ratio_lower": "lower", "m_ratio_upper": "upper"}
ESTIMATED = ("dprime", "meta_d", "m_ratio")


@dataclass(frozen=True)
class Study:
    """All that the study computes."""

    # The nine cells with confidence ratings.
    counts: xr.DataArray
    # `hmetad_single`: HMeta-d's priors, κ = c, d′ and c estimated.
    hmetad: xr.DataTree
    # `individual` with κ = M·c, and with κ = c.
    relative: xr.DataTree
    absolute: xr.DataTree
    # Type-1 estimates of the 27 cells of the experiment on risk, and half_width, that of the normal
    # 95 % interval of c.
    criteria: xr.Dataset
    # By the names that the printed ones have in servajean2026.toml.
    decisions: Mapping[str, Decisions]


def analyse(*, draws: int = DRAWS, seed: int = 1, **sample_kwargs: Any) -> Study:
    """Fit the nine cells and judge every contrast; what else is given goes on to `hmetad.fit`."""
    counts = confidence_counts()
    options = {"chains": CHAINS, "random_seed": seed, **sample_kwargs}
    side = {**options, "draws": min(draws, SIDE_DRAWS)}
    hmetad = fit(counts, "hmetad_single", **{**options, "draws": draws})
    relative = fit(counts, "individual", **side)
    absolute = fit(counts, load_model("individual", meta_criterion="absolute"), **side)
    criteria = sdt(risk_counts())
    criteria = criteria.assign(half_width=norm.isf(0.025) * criteria["c_se"])
    decisions = {**model_decisions(hmetad), **risk_decisions(criteria)}
    return Study(counts, hmetad, relative, absolute, criteria, decisions)


def confidence_counts() -> xr.DataArray:
    """Count table of the nine cells with confidence ratings."""
    rows = frame_of(NAME, "confidence")
    vectors = (np.array(rows[name].tolist()) for name in ("nR_S1", "nR_S2"))
    return from_nr(*vectors, model=list(rows["model"]), task=list(rows["task"]))


def risk_counts() -> xr.DataArray:
    """Count table, without ratings, of the 27 cells of the experiment on risk."""
    rows = frame_of(NAME, "risk")
    coords: dict[str, Any] = {name: list(rows[name]) for name in ("model", "task", "risk")}
    s1, s2 = rows[["rejections", "false_alarms"]], rows[["misses", "hits"]]
    return from_nr(s1.to_numpy(), s2.to_numpy(), **coords)


def model_decisions(hmetad: xr.DataTree) -> dict[str, Decisions]:
    """Decisions on M and d′: against optimality, between models, between tasks."""
    draws = hmetad["posterior"].to_dataset()
    return {
        "log_m_optimality": decide(draws["log_m"], rope=rope_of("log_m")),
        "log_m_between_models": differences(draws, "log_m", "model", "task"),
        "log_m_between_tasks": differences(draws, "log_m", "task", "model"),
        "dprime_between_models": differences(draws, "dprime", "model", "task"),
    }


def differences(draws: xr.Dataset | xr.DataTree, var: str, over: str, within: str) -> Decisions:
    """Decisions on differences between levels of one column within those of the other."""
    return decide(contrast(draws, var=var, over=over, within=within), rope=rope_of(var))


def risk_decisions(criteria: xr.Dataset) -> dict[str, Decisions]:
    """Decisions on c and d′ between settings of risk, by z-tests with Bonferroni's correction."""
    pairs = pair_cells(criteria, over="risk", within=("task", "model"))
    cells = criteria["cell"].to_numpy()
    left, right = (cells[pairs[f"{side}_cell"]].tolist() for side in ("left", "right"))
    labels, decisions = {"pair": list(pairs["label"])}, {}
    for var in ("c", "dprime"):
        tests = z_test(criteria, var, left, right)
        difference = xr.DataArray(tests["difference"].values, labels, name=var)
        decisions[f"{var}_between_risks"] = decide_normal(
            difference, tests["se"].values, rope=rope_of(var), comparisons=COMPARISONS
        )
    return decisions


def rope_of(quantity: str) -> tuple[float, float]:
    """Region of practical equivalence of the paper."""
    lower, upper = file_of(NAME)["rope"][quantity]
    return lower, upper


def recompute(study: Study) -> Ours:
    """All that is printed, numbers and decisions, by table and quantity."""
    means = study.hmetad["posterior"].to_dataset()[list(ESTIMATED)].mean(["chain", "draw"])
    ours: dict[tuple[str, str], Any] = {("S1", name): means[name] for name in ESTIMATED}
    ours |= {("S2", name): study.criteria[name] for name in ("c", "half_width")}
    for name, decisions in study.decisions.items():
        ours[name, decisions.quantity] = verdict_words(decisions)
    return ours


def verdict_words(decisions: Decisions) -> dict[str, str]:
    """Verdicts in the words of the paper, by label: "greater, different", "not significant"."""
    words = {}
    for row in decisions.table().to_dict("records"):
        # Where there is no verdict there is no answer to the statistical question either.
        said = "not significant" if row["statistical"] is not None else row["verdict"]
        if row["statistical"]:
            side = "greater" if row["mean"] > decisions.null else "less"
            said = f"{side}, {row['verdict']}"
        words[str(row["label"])] = said
    return words


def contents(study: Study, comparison: pd.DataFrame) -> dict[str, Any]:
    """What the report shows."""
    tasks = file_of(NAME)["tasks"]
    titles = [tasks[task] for task in study.counts["task"].to_numpy()]
    estimates, criteria = estimates_beside_print(study), criteria_beside_print(study)
    intervals = partial(describe_intervals, label="cell")
    return {
        "trials": int(study.counts.sum()),
        "trials_on_risk": int(risk_counts().sum()),
        **unconverged_finding(comparison),
        "hmetad": study.hmetad,
        "counts": study.counts.assign_coords(task=("cell", titles)),
        "table-s1": estimates,
        "m_ratios": intervals(estimates.rename(columns=M_RATIO), quantity="M-ratio"),
        "decided": study.decisions,
        "table-s2": criteria,
        "criteria": intervals(criteria, estimate="c", quantity="criterion c"),
        **choice_of_kappa(study),
        "changed_verdicts": changed_verdicts(study),
        "fits": {
            "hmetad_single": study.hmetad,
            "individual, κ = M·c": study.relative,
            "individual, κ = c": study.absolute,
        },
        "seed": study.hmetad.attrs["seed"],
    }


def estimates_beside_print(study: Study) -> pd.DataFrame:
    """Estimates of every cell, and those of Table S1; cells stand in its order."""
    frame, in_print = estimate_table(study.hmetad), frame_of(NAME, "confidence")
    columns = {f"{name}_printed": in_print[name] for name in ESTIMATED}
    return frame.assign(task=frame["task"].map(file_of(NAME)["tasks"]), **columns)


def criteria_beside_print(study: Study) -> pd.DataFrame:
    """c of the experiment on risk with its interval, and that of Table S2, in its order."""
    names = ["c", "half_width", "dprime"]
    frame = study.criteria[names].to_dataframe().reset_index()
    return frame.assign(
        lower=frame["c"] - frame["half_width"],
        upper=frame["c"] + frame["half_width"],
        in_print=frame_of(NAME, "risk")["c"],
        task=frame["task"].map(file_of(NAME)["tasks"]),
    )


def unconverged_finding(comparison: pd.DataFrame) -> dict[str, str]:
    """The row of Table S1 that does not survive convergence, and the decisions it changes."""
    records = comparison.query("table == 'S1' and row == 'DeepSeek-V3.2-Exp | C'")
    in_print, ours = (
        ", ".join(f"{symbol(r['quantity'])} {r[side]:.4f}" for r in records.to_dict("records"))
        for side in ("printed", "ours")
    )
    decisions = comparison[comparison["tolerance"].isna() & ~comparison["agrees"]]
    changed = "; ".join(
        f"{r['row']} in {symbol(r['quantity'])} is “{r['printed']}” in print and “{r['ours']}” here"
        for r in decisions.to_dict("records")
    )
    return {"unconverged": in_print, "converged": ours, "changed_decisions": changed or "none"}


def choice_of_kappa(study: Study) -> dict[str, Any]:
    """The nine cells under both rules for the criterion at the meta level."""
    fits = {"hmetad": study.hmetad, "absolute": study.absolute, "relative": study.relative}
    tables = {name: estimate_table(draws) for name, draws in fits.items()}
    m = {name: table["m_ratio"] for name, table in tables.items()}
    frame = tables["relative"][["model", "task", "c"]]
    frame = frame.assign(task=frame["task"].map(file_of(NAME)["tasks"]), **m)
    frame["shift"] = frame["relative"] - frame["absolute"]
    return {"kappa": frame, "largest": frame.iloc[int(frame["shift"].abs().argmax())]}


def changed_verdicts(study: Study) -> str:
    """Which verdicts between models the rule for κ changes."""
    absolute, relative = (
        differences(draws, "log_m", "model", "task").table().set_index("label")["verdict"]
        for draws in (study.absolute, study.relative)
    )
    changed = [
        f"{label}: {absolute[label]} under κ = c, {relative[label]} under M·c"
        for label in absolute.index[absolute != relative]
    ]
    if not changed:
        return "No verdict between models changes with the rule."
    return f"Verdicts that change with the rule, same priors: {'; '.join(changed)}."
