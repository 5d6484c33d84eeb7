"""The report of Cacioli (2026): what follows from print, what was withdrawn, and what truth says.

Study and its comparison → Report.
"""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from hmetad.counts.notices import notices
from hmetad.report.report import Alerts, Block, Figure, Prose, Report
from hmetad.report.style import COLORS, INK, LINES, MARKERS, SIZE, dress, new_axes, put_legend
from hmetad.studies.cacioli2026 import (
    Study,
    printed_equivalence,
)
from hmetad.studies.cacioli2026_deposit import Deposit
from hmetad.studies.cacioli2026_pipeline import (
    WITHDRAWN,
    chance_of_relative_rule,
    equivalence,
    h3,
    ranks,
)
from hmetad.studies.cacioli2026_printed import by_model, printed, tempered
from hmetad.studies.cacioli2026_simulation import TRIALS, Simulation
from hmetad.studies.cacioli2026_tables import (
    domain_table,
    h3_table,
    loss_table,
    pair_table,
    quartile_table,
    revised_at_one,
    robustness_table,
    truth_table,
    withdrawn_table,
)
from hmetad.studies.tables import agreement, comparison_blocks

__all__ = ["report"]

INSTEAD = (
    "What is left of it is how well confidence tells right from wrong, by measures that need no "
    "stimulus. The author's revision has AUROC2, I₂ʳ, the slope of the zROC and d_a; they are "
    "compared here too. They depend on the number of ratings and on how confidence is binned."
)
FOLLOWS = (
    "d′ follows from the printed accuracies of quartiles alone (Table 5): the cut is the median of "
    "confidence, and d′ is the z-score of its hits less that of its false alarms. Nothing else "
    "goes into it."
)
REPLICATION = (
    "On Natural Questions the order is another one: Mistral, lowest by M on TriviaQA, is highest."
)
COVERAGE = (
    "Print says that of two systems which answer the half of which they are surer the one of "
    "higher M answers better: Gemma-2, .774 right, against Mistral, .707. But Gemma-2 is right "
    "more often to begin with. By how much abstaining helps goes the other way, as in the table."
)
RULE = (
    "What print calls TOST is a rule on the range of four estimates, without their error. An "
    "interval TOST asks whether the 90 % interval of every difference between temperatures is "
    "inside ±.3; its standard errors are taken from the printed interval of M at T = 1."
)
PAIRED = (
    "Temperatures share their questions, as models do: taken as independent, differences look less "
    "certain than they are."
)
OVERLAP = (
    "H4 asks for an interval of a difference that excludes 0. Print looks for intervals that do "
    "not overlap, which is stricter. By the printed intervals two pairs differ, not one."
)
DOMAINS = (
    "H2, domains that differ, was not met in print: one model of the two it needs has a "
    "significant pair. Beside M stands I₂ʳ of the author's revision, of the same trials. In three "
    "of four models the two order the domains against each other: Mistral's weakest domain by M is "
    "its strongest by I₂ʳ, and the strongest of Gemma-2 and of Llama-3-Base their weakest."
)
BINS = (
    "The deposit has 20 bins of equal width. In three models the highest of them holds 47 to 67 % "
    "of the trials, and the edge nearest to the median is its lower end: the withdrawn analysis "
    "then has a single rating above the cut, and its M is that of the other side. Only "
    "Llama-3-Base has edges on both sides; there it comes out as printed, nearly."
)
CORRECTIONS = (
    "The author subtracts from I₂ʳ the mean of its permutation null. The reduction of bias by "
    "resampling is twice the estimate less the mean of resamples: with many bins that hold few "
    "trials it takes away less."
)
TRUTH_SAID = (
    "Four simulated models decide between two alternatives and rate their confidence, with a known "
    "M from .4 to 1.2. Fitted by that decision, M is found again. The withdrawn analysis of the "
    "same trials forgets the decision, and puts correctness in the place of the stimulus."
)
UNAVAILABLE = (
    "R5 (forced decoding) and R6 (difficulty-matched subsamples) need trials and items, which were "
    "not deposited."
)
DISPLAYED = {
    "real": "by the decision",
    "withdrawn": "correctness as the stimulus (withdrawn)",
}


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
    said = tuple(
        (notice.severity, notice.message, notice.cells) for notice in notices(study.quartiles)
    )
    found = agreement(comparison), simulation_said(study.simulation)
    *differing, everything = comparison_blocks(comparison)
    blocks: list[Block] = [
        Alerts("Withdrawn", said),
        Prose("", (WITHDRAWN, INSTEAD)),
        Prose("In brief", found),
        *differing,
        *printed_blocks(study),
        *(deposit_blocks(study.deposit) if study.deposit is not None else []),
        *simulation_blocks(study.simulation),
        Prose("All of print", ()),
        everything,
    ]
    return Report(
        "Do LLMs know what they know? A withdrawn analysis, recomputed",
        tuple(blocks),
        subtitle="Cacioli (2026), arXiv:2603.25112, first version",
        meta=(
            ("Deposited counts", "20 bins" if study.deposit is not None else "not given"),
            ("Seed", str(study.seed)),
            ("hmetad", version("hmetad")),
        ),
    )


def simulation_said(simulation: Simulation) -> str:
    """What known truth shows."""
    curve, truth = simulation.curve, simulation.curve["m_ratio"]
    return (
        f"On simulated models whose true M is {float(truth.min()):.1f} to {float(truth.max()):.1f} "
        f"the withdrawn analysis finds, but for sampling error, {float(curve.min()):.2f} to "
        f"{float(curve.max()):.2f}: a little below 1 whatever the truth, and if anything the "
        f"lower the higher it is. Of {simulation.real['m_ratio'].size} intervals of M, of "
        f"{TRIALS:,} trials each, "
        f"{covering(simulation, 'real')} cover the truth by the decision that was made, "
        f"{covering(simulation, 'withdrawn')} by the withdrawn analysis."
    )


def covering(simulation: Simulation, name: str) -> int:
    """How many intervals of M cover the truth."""
    found, truth = getattr(simulation, name), simulation.truth["m_ratio"]
    return int(((found["lower"] <= truth) & (truth <= found["upper"])).sum())


def printed_blocks(study: Study) -> Iterator[Block]:
    """What follows from the printed tables."""
    yield Prose("What the quartiles say", (FOLLOWS, REPLICATION, COVERAGE))
    yield quartile_table(study)
    yield Prose("Rankings", ())
    yield ranking_figure()
    chance = (
        f"Of four temperatures in an order by chance, the second rule, |ρ(meta-d′, T)| < "
        f"|ρ(d′, T)|, passes with probability {chance_of_relative_rule():.2f}."
    )
    yield Prose("Temperature (H3)", (RULE, PAIRED, chance))
    yield temperature_figure()
    table = tempered()
    yield h3_table(
        h3(table["dprime"], table["meta_d"]), printed_equivalence(), "H3 by the printed Table 7."
    )
    yield Prose("Models (H4)", (OVERLAP,))
    yield pair_table(study)
    yield Prose("Domains (H2)", (DOMAINS,))
    yield domain_table()


def ranking_figure() -> Figure:
    """Ranks of the models by three measures, joined by lines."""
    table = by_model("aggregate")
    revised = revised_at_one()
    columns = {
        "AUROC2": table["auroc2"],
        "AUROC2, revised": revised["auroc2"],
        "I₂ʳ, revised": revised["meta_i2r"],
        "M-ratio, withdrawn": table["m_ratio"],
    }
    placed = {name: ranks(values) for name, values in columns.items()}
    ax = new_axes(6.4, 2.9)
    for place, model in enumerate(printed()["models"]):
        up = [placed[name].sel(model=model).item() for name in columns]
        # Equal ranks would hide each other.
        shifted = np.array(up, dtype=float) + (place - 1.5) * 0.05
        ax.plot(range(len(up)), shifted, label=model, linewidth=1.6, **look(place))
    dress(ax, grid="y")
    ax.set(ylabel="rank", yticks=[1, 2, 3, 4], xlim=(-0.3, len(columns) - 0.7))
    ax.set_xticks(range(len(columns)), list(columns))
    ax.invert_yaxis()
    put_legend(ax)
    said = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{model} {placed[name].sel(model=model).item()}" for model in table["model"].data
        )
        for name in columns
    )
    caption = "Ranks of the four models on TriviaQA at T = 1, the largest value first."
    return Figure(caption, f"Ranks. {said}.", ax.figure, name="ranks")


def look(place: int) -> dict[str, Any]:
    """Colour, marker and line of one of several."""
    return {"color": COLORS[place], "marker": MARKERS[place], "linestyle": LINES[place]}


def temperature_figure() -> Figure:
    """d′ and meta-d′ of the withdrawn analysis over temperature; I₂ʳ of the revised one."""
    table = tempered()
    revised = by_model("revised_temperature", "temperature", printed()["temperatures"])
    panels = {
        "d′ (withdrawn)": table["dprime"],
        "meta-d′ (withdrawn)": table["meta_d"],
        "I₂ʳ (revised)": revised["meta_i2r"],
    }
    axes = Canvas(figsize=(7.4, 3.0), layout="constrained").subplots(1, 3)
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        draw_over_temperature(ax, values)
        ax.set_title(name, fontsize=SIZE, fontweight="bold", color=INK, loc="left")
    for ax in axes[:2]:
        ax.set_ylim(0.85, 1.65)
    share_legend(axes)
    said = "; ".join(
        f"{model}: d′ {ends(table['dprime'], model)}, meta-d′ {ends(table['meta_d'], model)}, "
        f"I₂ʳ {ends(revised['meta_i2r'], model)}"
        for model in printed()["models"]
    )
    caption = (
        "The printed d′ and meta-d′ (K = 4), and the author's revised I₂ʳ (eight ratings), over "
        "temperature; TriviaQA."
    )
    return Figure(caption, f"From T = 0.3 to 1. {said}.", axes[0].figure, name="temperature")


def ends(values: xr.DataArray, model: str) -> str:
    """First and last value of a model."""
    own = values.sel(model=model)
    return f"{own[0].item():.2f} to {own[-1].item():.2f}"


def draw_over_temperature(ax: Axes, values: xr.DataArray) -> None:
    """One line per model."""
    for place, model in enumerate(values["model"].to_numpy().tolist()):
        own = values.sel(model=model)
        ax.plot(own["temperature"], own, label=model, linewidth=1.3, markersize=4, **look(place))
    dress(ax, grid="y")
    ax.set_xlabel("temperature")


def share_legend(axes: Any) -> None:
    """One legend for all panels, above them."""
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(handles, labels, loc="outside upper left", frameon=False, ncols=4)


def deposit_blocks(deposit: Deposit) -> Iterator[Block]:
    """What the deposited counts say."""
    yield Prose("The deposited counts", (BINS, UNAVAILABLE))
    yield withdrawn_table(deposit)
    found = deposit.withdrawn
    yield h3_table(
        h3(found["dprime"], found["meta_d"]),
        equivalence(found["meta_d"], found["meta_d_se"]),
        "H3 by the deposited counts, with standard errors of the fits.",
    )
    yield robustness_table(deposit.robustness, "Robustness: withdrawn M of the deposited counts.")
    yield Prose("What needs no stimulus", (CORRECTIONS,))
    yield measures_figure(deposit)
    yield loss_table(deposit)


def measures_figure(deposit: Deposit) -> Figure:
    """AUROC2 and I₂ʳ of the deposited bins over all temperatures."""
    own = deposit.measures.sel(dataset="TriviaQA")
    panels = {
        "accuracy": own["accuracy"],
        "AUROC2": own["auroc2"],
        "I₂ʳ less its null": own["less_null"],
    }
    axes = Canvas(figsize=(7.4, 3.0), layout="constrained").subplots(1, 3)
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        draw_over_temperature(ax, values)
        ax.set_title(name, fontsize=SIZE, fontweight="bold", color=INK, loc="left")
    share_legend(axes)
    said = "; ".join(
        f"{model}: AUROC2 {ends(own['auroc2'], model)}, I₂ʳ {ends(own['less_null'], model)}"
        for model in printed()["models"]
    )
    caption = (
        "Measures of the deposited 20 bins over seven temperatures, TriviaQA. Models may not be "
        "compared by their level: the bins lose much of three of them."
    )
    return Figure(caption, f"From T = 0.1 to 2. {said}.", axes[0].figure, name="measures")


def simulation_blocks(simulation: Simulation) -> Iterator[Block]:
    """What known truth says."""
    yield Prose("Known truth", (TRUTH_SAID, simulation_said(simulation)))
    yield truth_figure(simulation)
    yield truth_table(simulation)
    for name, words in DISPLAYED.items():
        found = getattr(simulation, name)
        yield h3_table(
            h3(found["dprime"], found["meta_d"]),
            equivalence(found["meta_d"], found["meta_d_se"]),
            f"H3 of the simulated models, {words}; in truth the ranges are {ranges(simulation)}.",
        )
    for name, words in DISPLAYED.items():
        yield robustness_table(
            simulation.robustness[name].transpose("model", "variant"),
            f"Robustness: M of the simulated models at T = 1, {words}.",
        )


def ranges(simulation: Simulation) -> str:
    """True ranges of meta-d′ over temperatures."""
    meta_d = simulation.truth["meta_d"]
    spans = (meta_d.max("temperature") - meta_d.min("temperature")).to_numpy()
    return ", ".join(f"{span:.2f}" for span in spans)


def truth_figure(simulation: Simulation) -> Figure:
    """M found over M that is true, by the decision and by the withdrawn analysis."""
    curve = simulation.curve
    ax = new_axes(6.4, 4.0)
    truth = curve["m_ratio"].to_numpy()
    ax.plot(truth, truth, color=INK, linewidth=1.0, linestyle=LINES[1], label="truth")
    for place, d in enumerate(curve["dprime"].to_numpy().tolist()):
        label = f"withdrawn, expected at d′ = {d:g}"
        ax.plot(truth, curve.sel(dprime=d), color=COLORS[1], linestyle=LINES[place], label=label)
    shift = np.linspace(-0.03, 0.03, simulation.truth.sizes["temperature"])
    for place, (name, words) in enumerate(DISPLAYED.items()):
        found = getattr(simulation, name)
        for i, t in enumerate(found["temperature"].to_numpy()):
            own = found.sel(temperature=t)
            ax.errorbar(
                simulation.truth["m_ratio"].sel(temperature=t) + shift[i],
                own["m_ratio"],
                [own["m_ratio"] - own["lower"], own["upper"] - own["m_ratio"]],
                fmt=MARKERS[place],
                color=COLORS[place],
                markersize=4,
                linewidth=0.9,
                label=words if i == 0 else None,
            )
    dress(ax, grid="y")
    ax.set(xlabel="true M", ylabel="M found", ylim=(0, 1.65))
    put_legend(ax)
    caption = (
        "Simulated models with a decision between two alternatives: M found, over the truth, with "
        "95 % bootstrap intervals; four temperatures side by side. Lines: what the withdrawn "
        "analysis finds of ever so many trials."
    )
    return Figure(caption, simulation_said(simulation), ax.figure, name="truth")
