"""Numbers of trials with intervals, how they were made, and what they mean.

Evidence → Tables and Prose.
"""

import pandas as pd

from hmetad.report.contents.matrix_tables import interval_table
from hmetad.report.contents.trial_evidence import Evidence
from hmetad.report.page.blocks import Block, Prose, table_from_frame
from hmetad.text.names import heading

__all__ = ["interval_tables", "meaning", "method"]

TABLES = {
    "Right answers, and how well confidence orders them": (
        *("accuracy", "auroc2", "gamma_pairs", "aurc"),
    ),
    "Confidence as a probability": ("mean_confidence", "overconfidence", "ece", "ece_debiased"),
    "The Brier score and its parts": (
        *("brier", "reliability", "resolution", "uncertainty", "residual"),
    ),
}
HEADINGS = {
    "gamma_pairs": "Gamma",
    "brier": "Brier score",
    "mean_confidence": "Mean confidence",
    "overconfidence": "Over-confidence",
    "reliability": "Calibration term",
    "resolution": "Resolution",
    "uncertainty": "Uncertainty",
    "residual": "Within bins",
}


def interval_tables(found: Evidence) -> list[Block]:
    """Every number with its interval."""
    blocks: list[Block] = [Prose("Numbers with intervals", ())]
    for caption, names in TABLES.items():
        shown = {
            name: HEADINGS.get(name) or heading(name, "measure_trials")
            for name in names
            if name in found.draws
        }
        if shown:
            asked = (found.single, shown, found.ci_prob, f"{caption}.", found.over)
            blocks.append(interval_table(*asked, name=names[0]))
    return blocks


def method(found: Evidence, command: str) -> tuple[str, ...]:
    """How the numbers were made, in sentences."""
    attrs = found.draws.attrs
    drawn = {
        "bootstrap": "as many as there were, with replacement (bootstrap)",
        "dirichlet": "with weights of a Dirichlet distribution (Bayesian bootstrap)",
    }[str(attrs["kind"])]
    unit = attrs["cluster"]
    whole = (
        f"Levels of {unit} were drawn whole and for all cells at once, so that cells with the same "
        f"{unit} stay paired."
        if unit
        else "Single answers were drawn, in each cell by itself; where several answers are to one "
        "item, intervals that draw items whole are the right ones (cluster)."
    )
    said = [
        f"Confidence is taken as it is: no ratings were made. All measures were computed again in "
        f"each of {attrs['n']:,} draws of the data, {drawn}, seed {attrs['seed']}. {whole}",
        "Accuracy, as all measures here, is that of answers with a confidence.",
        f"Intervals are the quantiles of the draws. {of_calibration(found)}",
        "A verdict of best rests on the probability of being the best over the draws; it says "
        "nothing about how large a difference is. To judge differences against what is negligible, "
        "use contrast and decide, or hmetad compare with a region of practical equivalence.",
    ]
    return (*said, *([f"To run it again: {command}"] if command else []))


def of_calibration(found: Evidence) -> str:
    """What intervals of calibration errors are worth, or why there are none."""
    if "ece" not in found.draws:
        return "Confidence is not from 0 to 1 everywhere, so that there are no ECE and Brier score."
    bins = found.estimates.attrs["bins"]
    return (
        f"ECE uses {bins} bins of about as many answers each, those of all answers of a cell. "
        "Sampling noise biases ECE upward, and bootstrapping adds to it, so its intervals are too "
        "high and often miss the true value: with 300 answers and a true ECE of 0.05, 95 % "
        "intervals contained it in 15 % of simulated data sets, those of the debiased ECE in 96 %. "
        "The bias grows with fewer answers and a smaller ECE, so the best is chosen by the "
        "debiased ECE, and only where numbers of answers are alike. The Brier score does not have "
        "this bias."
    )


def meaning(found: Evidence) -> Block:
    """What each measure is."""
    rows = [
        {
            "Measure": HEADINGS.get(name) or heading(name, "measure_trials"),
            "Meaning": found.draws[name].attrs.get("long_name", ""),
            "Source": found.draws[name].attrs.get("source", ""),
        }
        for names in TABLES.values()
        for name in names
        if name in found.draws
    ]
    return table_from_frame(pd.DataFrame(rows), "What the measures mean.", name="meaning")
