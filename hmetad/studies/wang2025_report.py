"""The report of Wang et al. (2025): what DMC decouples, and how little its numbers scatter.

Study and its comparison → Report.
"""

from importlib.metadata import version

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from hmetad.report.page.report import Block, Figure, Prose, Report, Table, table_from_frame
from hmetad.report.plots.style import COLORS, INK, LINES, MARKERS, SIZE, dress, reference_line
from hmetad.studies.tables import agreement, comparison_blocks
from hmetad.studies.wang2025 import (
    DPRIMES,
    DRAWS,
    MEASURES,
    RATIOS,
    SAMPLED_DPRIME,
    SAMPLED_RATINGS,
    SCENARIOS,
    Study,
    lowest_possible,
    printed,
    variation,
)

__all__ = ["report"]

SHOWN = 0.5  # the M of the figure
MEANING = (
    "DMC is meta-d′ over d′, fitted by least squares. The paper shows that it decouples "
    "metacognition from sensitivity by how little it varies over eight data sets: its coefficient "
    "of variation (CV) is below .01, and those of AUROC, ECE and the Brier score are between .26 "
    "and .73."
)
VERDICT = (
    "Simulated tasks support the order, though not the size: DMC and M-ratio vary less than "
    "AUROC2, ECE and Brier where the meta-d′ model holds or fails mildly. They stop doing so where "
    "a good part of the ratings is random and tasks differ in how much it takes to be confident. "
    "And the printed scatter is far below that of samples with one and the same M."
)
UNKNOWN = (
    "Print does not say how many questions were asked, nor in how many ratings confidence was cut. "
    "The samples here are in favour of a small scatter: the public sizes of the test sets, both "
    "orders of every pair of options and all of them taken for independent, a high d′, many "
    "ratings. The printed values are closer to each other than separate estimates of one M would "
    "be, unless there were hundreds of times more answers than the test sets have, or the fit "
    "stayed near where it began. Which it was print cannot tell; but that they are so close is no "
    "evidence that M is the same in all tasks."
)
SCALES = (
    "A CV compares measures only as far as their zeros mean the same. AUROC2 is .5 without any "
    "metacognition, and ends at 1: its CV is small because of its scale. ECE and Brier "
    "say how accuracy and overconfidence vary, of which neither is what M measures: that they "
    "change from task to task is no fault of theirs."
)
SCENES = (
    "Eight tasks, d′ from .6 to 3.0, without sampling error. The M of a row is the parameter of "
    "its scenario, which is M itself in the first two. Meta-d′ model: ratings follow it, with no "
    "bias. Differing bias: the same with c from −.6 to .6. Noisy confidence: ratings see the "
    "evidence of the choice through normal noise, the larger the smaller M. Mixed items: "
    "half the items of a task have .4 of its d′, the others 1.6 of it. Random ratings: a "
    "share of 1 − M of all ratings is drawn at random, the others are ideal. Differing criteria: "
    "the same, in tasks that also differ in how much it takes to be confident. For ECE and Brier "
    "a rating states the same probability in every task."
)
DECOUPLED = (
    "In the first scenario DMC and M-ratio do not vary at all: by construction, since the tasks "
    "are made by the model that is fitted. With differing bias only DMC stays: its criterion at "
    "the meta level is c, as in the tasks, and that of M-ratio is M·c. Noise that is added to "
    "confidence makes M rise with d′ slightly, mixed items inflate it more where d′ is high. RMI "
    "is no ratio to sensitivity and grows with it: it is the information beyond accuracy, as a "
    "share of what accuracy leaves room for. With differing bias it also counts that the two "
    "responses are not equally accurate. Random ratings alone leave M flat; where tasks also "
    "differ in how much it takes to be confident they are told apart from a lack of metacognition "
    "by no measure here, and M varies with these criteria."
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
    *differences, everything = comparison_blocks(comparison)
    blocks: list[Block] = [
        Prose("In brief", (MEANING, VERDICT, agreement(comparison))),
        *differences,
        Prose("How little can M scatter?", (scatter_text(study), UNKNOWN)),
        scatter_table(study),
        Prose("Does DMC decouple?", (SCENES,)),
        tasks_figure(study),
        Prose("", (DECOUPLED, SCALES, short_scale_text(study))),
        variation_table(study),
        Prose("CVs of AUROC", (auroc_text(),)),
        Prose("All that is printed", ()),
        everything,
    ]
    return Report(
        "DMC, added up and simulated",
        tuple(blocks),
        subtitle="Wang et al. (2025): decoupling metacognition from cognition",
        meta=(
            ("Source", "AAAI 39, Tables 1 to 3"),
            ("Scatter", f"{DRAWS} samples of eight data sets for each method"),
            ("Seed", str(study.seed)),
            ("hmetad", version("hmetad")),
        ),
    )


def scatter_text(study: Study) -> str:
    """How the printed CVs compare with those of samples."""
    least = study.scatter.min().item()
    middle = study.scatter.median("draw")
    cv = np.array([row["DMC"] for row in printed("table1")])
    times = (middle / cv).to_numpy()
    return (
        "An M that is the same in eight data sets is estimated differently in each. In "
        f"{study.scatter.size:,} samples the CV of DMC was {least:.3f} at the least, and its "
        f"median {times.min():.0f} to {times.max():.0f} times the printed CV of the method, which "
        f"is between {cv.min():.4f} and {cv.max():.4f}."
    )


def scatter_table(study: Study) -> Table:
    """Printed CV of each method beside that of samples."""
    low, middle, high = study.scatter.quantile([0.025, 0.5, 0.975], "draw").to_numpy()
    cv = np.array([row["DMC"] for row in printed("table1")])
    frame = pd.DataFrame(
        {
            "Method": study.scatter["elicitation"].to_numpy(),
            "M": [row["average"] for row in printed("table2")],
            "Printed CV": cv,
            "CV of samples": middle,
            "95 % of samples": [f"{a:.3f} to {b:.3f}" for a, b in zip(low, high, strict=True)],
            # The SD of an estimate falls with the root of the number of trials.
            "Trials needed": [f"× {x:,.0f}" for x in (middle / cv) ** 2],
        }
    )
    caption = "CV of DMC over eight data sets: printed, and by sampling alone where M is the same."
    note = (
        f"d′ {SAMPLED_DPRIME}, {SAMPLED_RATINGS} ratings, pairs independent. Trials needed: how "
        "many times the public size, for a median as small as print."
    )
    formats = (("M", ".4f"), ("Printed CV", ".4f"))
    return table_from_frame(frame, caption, note=note, name="scatter", formats=dict(formats))


def tasks_figure(study: Study) -> Figure:
    """A panel per scenario: every measure over d′, relative to its mean."""
    axes = Canvas(figsize=(7.4, 6.6), layout="constrained").subplots(3, 2, sharex=True, sharey=True)
    for ax, scenario in zip(axes.ravel(), SCENARIOS, strict=True):
        draw_scenario(ax, study, scenario)
    for ax in axes[:, 0]:
        ax.set_ylabel("relative to the mean")
    for ax in axes[-1]:
        ax.set_xlabel("d′ of the task")
    figure = axes[0, 0].figure
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", frameon=False, ncols=6, fontsize=SIZE)
    caption = (
        f"Measures of eight tasks, each relative to its mean over them; parameter M {SHOWN}. What "
        "is decoupled from d′ is a flat line."
    )
    ends = study.tasks["dmc"].sel(ratio=SHOWN).isel(task=[0, -1])
    said = "; ".join(
        f"{scenario} {a:.2f} and {b:.2f}"
        for scenario, (a, b) in zip(SCENARIOS, ends.to_numpy(), strict=True)
    )
    alt = f"DMC of the tasks with the lowest and the highest d′: {said}."
    return Figure(caption, alt, figure, name="tasks")


def draw_scenario(ax: Axes, study: Study, scenario: str) -> None:
    """One panel of `tasks_figure`."""
    reference_line(ax, 1.0, vertical=False)
    for place, (name, label) in enumerate(MEASURES.items()):
        values = study.tasks[name].sel(scenario=scenario, ratio=SHOWN)
        ax.plot(
            DPRIMES,
            values / values.mean("task"),
            color=COLORS[place],
            marker=MARKERS[place],
            linestyle=LINES[place % len(LINES)],
            markersize=4,
            # Where lines meet, those in question are on top.
            zorder=3 - 0.1 * place,
            linewidth=1.2,
            label=label,
        )
    dress(ax, grid="y")
    ax.set_title(scenario, fontsize=SIZE, fontweight="bold", color=INK, loc="left")


def variation_table(study: Study) -> Table:
    """CV of every measure over the tasks, by scenario and M."""
    cv = variation(study.tasks)
    frame = pd.DataFrame(
        [
            {"Scenario": scenario, "M": f"{ratio:.1f}"}
            | {
                label: cv[name].sel(scenario=scenario, ratio=ratio).item()
                for name, label in MEASURES.items()
            }
            for scenario in SCENARIOS
            for ratio in RATIOS
        ]
    )
    caption = "CV over eight tasks that differ in d′, without sampling error."
    return table_from_frame(frame, caption, name="variation")


def short_scale_text(study: Study) -> str:
    """What the CV of AUROC2 becomes on a scale that begins at nothing."""
    values = study.tasks["auroc2"].sel(scenario=SCENARIOS[0], ratio=SHOWN)
    plain, moved = (variation(x).item() for x in (values, 2 * values - 1))
    return (
        f"In the first scenario at M {SHOWN} AUROC2 has a CV of {plain:.2f}, and 2·AUROC2 − 1, "
        f"which says the same on a scale from 0 to 1, one of {moved:.2f}."
    )


def auroc_text() -> str:
    """What the printed CVs of AUROC say of the least of them."""
    found = [
        (row["method"], row["AUROC"], lowest_possible(row["AUROC"])) for row in printed("table1")
    ]
    said = "; ".join(
        f"{method} {cv:.4f}: {least:.2f}" for method, cv, least in found if least < 0.5
    )
    number = sum(least < 0.5 for _, _, least in found)
    return (
        "Values from .5 to 1 cannot have a CV above .354 (Bhatia and Davis 2000). The CVs that are "
        f"printed for AUROC are larger for {number} of six methods, so that in some data set "
        "confidence must have been worse than chance at telling right from wrong. The least AUROC "
        f"of the eight can then be no more than: {said}. The AUROCs themselves are not printed."
    )
