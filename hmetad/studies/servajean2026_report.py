"""The report of Servajean & Servajean (2026): what was printed, what comes out, what it means.

Study and its comparison → Report.
"""

from collections.abc import Mapping
from importlib.metadata import version

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure as Canvas

from hmetad.compare.contrasts import contrast
from hmetad.compare.decisions import decide
from hmetad.report.contents.estimates import estimate_frame
from hmetad.report.contents.tables import (
    convergence_table,
    decision_figure,
    decision_table,
    notice_block,
)
from hmetad.report.names import symbol
from hmetad.report.page.report import Block, Figure, Prose, Report, Table, table_from_frame
from hmetad.report.plots.bars import plot_sensitivity_bars
from hmetad.report.plots.by import plot_criterion
from hmetad.report.plots.intervals import describe_intervals, plot_forest
from hmetad.report.plots.ratings import plot_accuracy_by_rating
from hmetad.studies.servajean2026 import Study, interval_half_width, risk_counts
from hmetad.studies.tables import agreement, written

__all__ = ["report"]

TASKS = {"A": "A: sentiment", "B": "B: oral or written", "C": "C: word removed or not"}
DEEPSEEK_C = "DeepSeek-V3.2-Exp | C"
TITLES = {
    "log_m_optimality": "log M against optimality (0)",
    "log_m_between_models": "Differences in log M between models of a task",
    "log_m_between_tasks": "Differences in log M between tasks of a model",
    "dprime_between_models": "Differences in d′ between models of a task",
    "c_between_risks": "Differences in c between settings of risk",
    "dprime_between_risks": "Differences in d′ between settings of risk",
}
SECTIONS = {"S1": "Table S1", "S2": "Table S2", **dict.fromkeys(TITLES, "Contrast")}
VERDICTS_SAID = (
    "A contrast has two answers. The statistical one asks whether its 95 % interval excludes 0. "
    "The practical one places the interval against a region of practical equivalence (ROPE): "
    "different when it lies outside, negligible when inside, inconclusive otherwise. The ROPE is "
    "±0.05 for log M and ±0.1 for d′ and c. The limits are lost in the text of the paper; these "
    "are round numbers under which its decisions come out, as they would from ±0.034 to ±0.064 "
    "for log M and from ±0.089 to ±0.109 for d′ and c, so their agreement is in part by choice."
)


def report(study: Study, comparison: pd.DataFrame) -> Report:
    """Report of the reproduction.

    Parameters
    ----------
    study : Study
        What `analyse` returned.
    comparison : DataFrame
        What `compare` returned.

    Returns
    -------
    Report
    """
    blocks: list[Block] = [
        *summary(study, comparison),
        *efficiency(study, comparison),
        *contrasts_of_models(study, comparison),
        *risk(study, comparison),
        *choice_of_kappa(study),
        *method(study),
    ]
    return Report(
        "Measuring the metacognition of AI, reproduced",
        tuple(blocks),
        subtitle="Servajean & Servajean (2026): three language models, three two-choice tasks",
        meta=(
            ("Source", "arXiv:2603.29693, Tables S1 and S2"),
            ("Trials", f"{int(study.counts.sum()):,} rated, {int(risk_counts().sum()):,} on risk"),
            ("Seed", study.hmetad.attrs["seed"]),
            ("hmetad", version("hmetad")),
        ),
    )


def summary(study: Study, comparison: pd.DataFrame) -> list[Block]:
    """What agrees, what does not, and what to know before reading on."""
    return [
        Prose("In brief", (agreement(comparison), unconverged_finding(comparison))),
        differences_table(comparison[~comparison["agrees"]]),
        *notice_block(study.hmetad),
    ]


def unconverged_finding(comparison: pd.DataFrame) -> str:
    """The row of Table S1 that does not survive convergence, and the decisions it changes."""
    printed, ours = printed_and_ours(comparison, DEEPSEEK_C)
    decisions = comparison[comparison["tolerance"].isna() & ~comparison["agrees"]]
    changed = "; ".join(
        f"{r['row']} in {symbol(r['quantity'])} is “{r['printed']}” in print and “{r['ours']}” here"
        for r in decisions.to_dict("records")
    )
    return (
        f"One printed result does not survive convergence: DeepSeek-V3.2-Exp in task C. Print has "
        f"{printed}; converged chains have {ours}. The printed row is an unconverged run of the "
        "same counts, in which c drifts from one draw to the next. Decisions that change: "
        f"{changed or 'none'}."
    )


def differences_table(differing: pd.DataFrame) -> Table:
    """Every row that disagrees, with enough digits to see how."""
    records = differing.to_dict("records")
    what = [f"{row['row']}: {symbol(row['quantity'])}" for row in records]
    shown = pd.DataFrame({"Where": differing["table"].map(SECTIONS), "What": what})
    for side, heading in (("printed", "In print"), ("ours", "Here")):
        shown[heading] = [written(value) for value in differing[side]]
    shown["Cause"] = differing["note"]
    caption = "Every disagreement with print, and its cause."
    return table_from_frame(shown, caption, name="differences")


def printed_and_ours(comparison: pd.DataFrame, cell: str) -> tuple[str, str]:
    """Numbers of a cell of Table S1 as printed, and as they come out."""
    rows = comparison[(comparison["table"] == "S1") & (comparison["row"] == cell)]
    records = rows.to_dict("records")
    printed, ours = (
        ", ".join(f"{symbol(r['quantity'])} {r[side]:.4f}" for r in records)
        for side in ("printed", "ours")
    )
    return printed, ours


def efficiency(study: Study, comparison: pd.DataFrame) -> list[Block]:
    """Table S1 and Figure 1."""
    frame = named_estimates(study.hmetad)
    meaning = (
        "M-ratio = meta-d′/d′ says how much of the information that a model has about its answers "
        "reaches its confidence; 1 is optimal."
    )
    return [
        Prose("Metacognitive efficiency", (meaning,)),
        table_s1(frame, comparison),
        *efficiency_figures(study.counts, frame),
    ]


def table_s1(frame: pd.DataFrame, comparison: pd.DataFrame) -> Table:
    """Estimates of every cell beside those in print."""
    wide = comparison[comparison["table"] == "S1"].pivot(index="row", columns="quantity")
    columns = {"model": "Model", "task": "Task"}
    for name in ("dprime", "meta_d", "m_ratio"):
        in_print = wide["printed", name].reindex(frame["cell"]).to_numpy(float)
        frame = frame.assign(**{f"{name}_printed": in_print})
        columns |= {name: symbol(name), f"{name}_printed": f"{symbol(name)}, print"}
    caption = "Table S1: posterior means beside print."
    note = "Tolerances: d′ .015, meta-d′ .02, M-ratio .006."
    return table_from_frame(frame, caption, columns=columns, name="table-s1", note=note)


def efficiency_figures(counts: xr.DataArray, frame: pd.DataFrame) -> list[Figure]:
    """M of every cell as a forest, and the paper's Figure 1."""
    lower, upper = "m_ratio_lower", "m_ratio_upper"
    forest = plot_forest(
        frame,
        label="model",
        estimate="m_ratio",
        lower=lower,
        upper=upper,
        group="task",
        reference=1.0,
        xlabel="M-ratio, posterior mean and 95 % equal-tailed interval",
    )
    alt = describe_intervals(
        frame, label="cell", estimate="m_ratio", lower=lower, upper=upper, quantity="M-ratio"
    )
    caption = (
        "d′ and meta-d′ with M above (left), and accuracy by confidence rating (right), as in the "
        "paper's Figure 1. The area of a marker grows with its trials."
    )
    said = (
        f"Bars of d′ and meta-d′ per model and task. {alt} Lines of accuracy by confidence rating "
        "per model and task."
    )
    return [
        Figure("M-ratio of every model in every task.", alt, forest.figure, "m-ratio"),
        Figure(caption, said, figure_1(counts, frame), "figure-1"),
    ]


def figure_1(counts: xr.DataArray, frame: pd.DataFrame) -> Canvas:
    """The paper's Figure 1: a row of two panels per task."""
    canvas = Canvas(figsize=(7.8, 8.8), layout="constrained")
    axes = canvas.subplots(len(TASKS), 2, width_ratios=[1.15, 1])
    for (task, title), (left, right) in zip(TASKS.items(), axes, strict=True):
        plot_sensitivity_bars(frame[frame["task"] == title], ax=left, ylabel="Sensitivity")
        left.set_title(title, loc="left", fontweight="bold", fontsize=9, pad=22)
        of_task = counts.isel(cell=(counts["task"] == task).values)
        plot_accuracy_by_rating(of_task.assign_coords(cell=of_task["model"].values), ax=right)
        if task != next(iter(TASKS)):
            right.get_legend().remove()
    return canvas


def contrasts_of_models(study: Study, comparison: pd.DataFrame) -> list[Block]:
    """Decisions on M and d′ of the experiment with confidence."""
    blocks: list[Block] = [Prose("Which differences matter", (VERDICTS_SAID,))]
    for name in ("log_m_optimality", "log_m_between_models", "log_m_between_tasks"):
        caption = f"{TITLES[name]}, against the ROPE (band)."
        blocks += [
            beside_print(name, study, comparison),
            decision_figure(study.decisions[name], caption, name=name),
        ]
    return [*blocks, beside_print("dprime_between_models", study, comparison)]


def beside_print(name: str, study: Study, comparison: pd.DataFrame) -> Table:
    """Decisions beside the words of the paper, which the comparison has in the same order."""
    words = comparison.loc[comparison["table"] == name, "printed"]
    decisions = study.decisions[name]
    return decision_table(decisions, f"{TITLES[name]}.", in_print=list(words), name=name)


def risk(study: Study, comparison: pd.DataFrame) -> list[Block]:
    """Table S2, Figure 2 and the contrasts of c and d′ between settings of risk."""
    frame = study.criteria[["c", "c_se", "dprime"]].to_dataframe().reset_index()
    frame["half_width"] = interval_half_width(study.criteria["c_se"]).values
    frame["lower"] = frame["c"] - frame["half_width"]
    frame["upper"] = frame["c"] + frame["half_width"]
    rows = comparison[(comparison["table"] == "S2") & (comparison["quantity"] == "c")]
    frame["in_print"] = rows.set_index("row")["printed"].reindex(frame["cell"]).to_numpy(float)
    frame["task"] = frame["task"].map(TASKS)
    columns = {
        "model": "Model",
        "task": "Task",
        "risk": "Risk named",
        "c": "c",
        "in_print": "c in print",
        "half_width": "±",
        "dprime": "d′",
    }
    drawn = plot_criterion(frame, xlabel="Risk named in the prompt")[0].figure
    alt = describe_intervals(frame, label="cell", estimate="c", quantity="criterion c")
    return [
        Prose(
            "Criterion and risk",
            (
                "When the prompt names a high risk of one answer, the criterion c should move so "
                "that this answer needs more evidence: down for S1, up for S2.",
            ),
        ),
        Figure("c by the risk that the prompt names, as in the paper's Figure 2.", alt, drawn, "c"),
        table_from_frame(
            frame,
            "Table S2: c beside print.",
            columns=columns,
            name="table-s2",
            formats={"c": ".4f", "in_print": ".4f", "half_width": ".4f"},
            note="± is the half-width of the 95 % interval, by the delta method.",
        ),
        *(beside_print(f"{var}_between_risks", study, comparison) for var in ("c", "dprime")),
    ]


def choice_of_kappa(study: Study) -> list[Block]:
    """The nine cells under both rules for the criterion at the meta level."""
    fits = {"hmetad": study.hmetad, "absolute": study.absolute, "relative": study.relative}
    frame = named_estimates(study.hmetad)[["model", "task"]]
    for name, draws in fits.items():
        table = named_estimates(draws)
        frame[name], frame["c"] = table["m_ratio"].to_numpy(), table["c"].to_numpy()
    frame["shift"] = frame["relative"] - frame["absolute"]
    largest = frame.iloc[int(frame["shift"].abs().argmax())]
    changed = changed_verdicts(study)
    paragraph = (
        "Confidence is modelled from a criterion κ at the meta level. HMeta-d sets κ = c "
        "(absolute); Maniscalco & Lau set κ = M·c (relative), the package's default. The rules "
        "coincide where c or log M is 0, and part the more, the more biased and the less efficient "
        f"an observer is. Here the largest shift is {largest['shift']:+.3f} in M, for "
        f"{largest['model']} in task {largest['task']}, whose c is {largest['c']:.2f}. "
        f"{verdict_sentence(changed)} Compare M only between fits that use the same rule."
    )
    columns = {
        "model": "Model",
        "task": "Task",
        "c": "c",
        "hmetad": "M, hmetad_single (κ = c)",
        "absolute": "M, individual (κ = c)",
        "relative": "M, individual (κ = M·c)",
        "shift": "relative − absolute",
    }
    caption = "M-ratio of the same cells under both rules for κ, and under both sets of priors."
    return [
        Prose("What the choice of κ changes", (paragraph,)),
        table_from_frame(frame, caption, columns=columns, name="kappa"),
    ]


def changed_verdicts(study: Study) -> Mapping[str, tuple[str, str]]:
    """Contrasts between models whose verdict differs between κ = c and κ = M·c."""
    rope = study.decisions["log_m_between_models"].rope
    words = []
    for draws in (study.absolute, study.relative):
        differences = contrast(draws, var="log_m", over="model", within="task")
        words.append(decide(differences, rope=rope).table().set_index("label")["verdict"])
    absolute, relative = words
    differs = absolute != relative
    return {str(k): (absolute[k], relative[k]) for k in absolute.index[differs]}


def verdict_sentence(changed: Mapping[str, tuple[str, str]]) -> str:
    """Which verdicts the rule for κ changes."""
    if not changed:
        return "No verdict between models changes with the rule."
    said = "; ".join(
        f"{label}: {a} under κ = c, {r} under M·c" for label, (a, r) in changed.items()
    )
    return f"Verdicts that change with the rule, same priors: {said}."


def method(study: Study) -> list[Block]:
    """Models, convergence, and how to run it again."""
    said = (
        "Counts enter as they are, without correction. hmetad_single is HMeta-d's single-subject "
        "model (Fleming 2017) with d′ and c estimated, as the authors ran it in JAGS, here sampled "
        "by NUTS (nutpie); its priors are those of its card. c and its standard error in the "
        "experiment on risk follow from the 2 × 2 counts by the delta method."
    )
    fits = {
        "hmetad_single": study.hmetad,
        "individual, κ = M·c": study.relative,
        "individual, κ = c": study.absolute,
    }
    rerun = "To run it again: hmetad reproduce servajean2026 --seed " + study.hmetad.attrs["seed"]
    return [
        Prose("Method", (said, rerun)),
        convergence_table(fits),
    ]


def named_estimates(draws: xr.DataTree) -> pd.DataFrame:
    """Posterior means and intervals per cell, with the names of the tasks."""
    frame = estimate_frame(draws)
    return frame.assign(task=frame["task"].map(TASKS))
