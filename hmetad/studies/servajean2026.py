"""Servajean & Servajean (2026): three language models, three tasks, nine cells.

The deposited counts → fits, contrasts and decisions → what is printed, computed. The fits are
HMeta-d's single-subject model as the authors ran it (`hmetad_single`), and the package's own
(`individual`) under both rules for κ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
from hmetad.report.page.report import Report
from hmetad.specs.loading import load_model
from hmetad.studies.comparison import compare_with_print, verdict_words
from hmetad.studies.printed import file_of, frame_of
from hmetad.studies.report import build_report
from hmetad.text.names import symbol

__all__ = ["Study", "analyse", "compare", "confidence_counts", "report"]

NAME = "servajean2026"
# So many per chain leave more than 20,000 effective draws of every M.
DRAWS = 14_000
SIDE_DRAWS = 2_000
CHAINS = 4
COMPARISONS = 27
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
    # Type-1 estimates of the 27 cells of the experiment on risk.
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


def half_width(criteria: xr.Dataset) -> xr.DataArray:
    """Half-width of the normal 95 % interval of c."""
    return norm.isf(0.025) * criteria["c_se"]


def compare(study: Study) -> pd.DataFrame:
    """Table of everything printed, numbers and decisions, beside ours."""
    means = study.hmetad["posterior"].to_dataset()[list(ESTIMATED)].mean(["chain", "draw"])
    ours: dict[tuple[str, str], Any] = {("S1", name): means[name] for name in ESTIMATED}
    ours |= {("S2", "c"): study.criteria["c"], ("S2", "half_width"): half_width(study.criteria)}
    for name, decisions in study.decisions.items():
        ours[name, decisions.quantity] = verdict_words(decisions)
    return compare_with_print(NAME, ours)


def report(study: Study, comparison: pd.DataFrame) -> Report:
    """Report of the reproduction."""
    tasks = file_of(NAME)["tasks"]
    titles = [tasks[task] for task in study.counts["task"].to_numpy()]
    estimates, criteria = estimates_beside_print(study, comparison), criteria_frame(study)
    contents = {
        "trials": int(study.counts.sum()),
        "trials_on_risk": int(risk_counts().sum()),
        **unconverged_finding(comparison),
        "hmetad": study.hmetad,
        "counts": study.counts.assign_coords(task=("cell", titles)),
        "table-s1": estimates,
        "m_ratios": describe_intervals(
            estimates,
            label="cell",
            estimate="m_ratio",
            lower="m_ratio_lower",
            upper="m_ratio_upper",
            quantity="M-ratio",
        ),
        "decided": study.decisions,
        "table-s2": criteria,
        "criteria": describe_intervals(
            criteria, label="cell", estimate="c", quantity="criterion c"
        ),
        **choice_of_kappa(study),
        "changed_verdicts": changed_verdicts(study),
        "fits": {
            "hmetad_single": study.hmetad,
            "individual, κ = M·c": study.relative,
            "individual, κ = c": study.absolute,
        },
        "seed": study.hmetad.attrs["seed"],
    }
    return build_report(NAME, contents, comparison)


def named_estimates(draws: xr.DataTree) -> pd.DataFrame:
    """Posterior means and intervals per cell, with the names of the tasks."""
    frame = estimate_table(draws)
    return frame.assign(task=frame["task"].map(file_of(NAME)["tasks"]))


def estimates_beside_print(study: Study, comparison: pd.DataFrame) -> pd.DataFrame:
    """Estimates of every cell, and those of Table S1."""
    frame = named_estimates(study.hmetad)
    own = comparison[comparison["table"] == "S1"]
    in_print = own.pivot(index="row", columns="quantity", values="printed").loc[frame["cell"]]
    columns = {f"{name}_printed": in_print[name].to_numpy(float) for name in ESTIMATED}
    return frame.assign(**columns)


def criteria_frame(study: Study) -> pd.DataFrame:
    """c of the experiment on risk with its interval, and that of Table S2."""
    frame = study.criteria[["c", "c_se", "dprime"]].to_dataframe().reset_index()
    frame = frame.assign(half_width=half_width(study.criteria).to_numpy())
    # Cells stand in the order of the table.
    in_print = frame_of(NAME, "risk")["c"]
    return frame.assign(
        lower=frame["c"] - frame["half_width"],
        upper=frame["c"] + frame["half_width"],
        in_print=in_print,
        task=frame["task"].map(file_of(NAME)["tasks"]),
    )


def unconverged_finding(comparison: pd.DataFrame) -> dict[str, str]:
    """The row of Table S1 that does not survive convergence, and the decisions it changes."""
    is_row = (comparison["table"] == "S1") & (comparison["row"] == "DeepSeek-V3.2-Exp | C")
    records = comparison[is_row].to_dict("records")
    in_print, ours = (
        ", ".join(f"{symbol(r['quantity'])} {r[side]:.4f}" for r in records)
        for side in ("printed", "ours")
    )
    decisions = comparison[comparison["tolerance"].isna() & ~comparison["agrees"]]
    changed = "; ".join(
        f"{r['row']} in {symbol(r['quantity'])} is “{r['printed']}” in print and “{r['ours']}” here"
        for r in decisions.to_dict("records")
    )
    return {
        "unconverged": in_print,
        "converged": ours,
        "changed_decisions": changed or "none",
    }


def choice_of_kappa(study: Study) -> dict[str, Any]:
    """The nine cells under both rules for the criterion at the meta level."""
    fits = {"hmetad": study.hmetad, "absolute": study.absolute, "relative": study.relative}
    frame = named_estimates(study.hmetad)[["model", "task"]]
    for name, draws in fits.items():
        table = estimate_table(draws)
        frame[name], frame["c"] = table["m_ratio"].to_numpy(), table["c"].to_numpy()
    frame["shift"] = frame["relative"] - frame["absolute"]
    return {"kappa": frame, "largest": frame.iloc[int(frame["shift"].abs().argmax())]}


def changed_verdicts(study: Study) -> str:
    """Which verdicts between models the rule for κ changes."""
    rope, verdicts = rope_of("log_m"), []
    for draws in (study.absolute, study.relative):
        differences = contrast(draws, var="log_m", over="model", within="task")
        verdicts.append(decide(differences, rope=rope).table().set_index("label")["verdict"])
    absolute, relative = verdicts
    changed = [
        f"{label}: {absolute[label]} under κ = c, {relative[label]} under M·c"
        for label in absolute.index[absolute != relative]
    ]
    if not changed:
        return "No verdict between models changes with the rule."
    return f"Verdicts that change with the rule, same priors: {'; '.join(changed)}."
