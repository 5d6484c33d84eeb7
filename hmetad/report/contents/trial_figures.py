"""Figures of trials with confidence as it is: reliability diagrams, and risk–coverage curves.

Datasets of `calibration` and `selective_prediction` → Prose and Figures.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from hmetad.plots import coverage, diagrams
from hmetad.report.contents.chosen import in_a_row
from hmetad.report.page.blocks import Block, Figure, Prose
from hmetad.text.cells import format_cell

__all__ = ["coverage_blocks", "reliability_blocks"]

# Diagrams of one figure, figures of a page, and curves in colour.
MOST_PANELS, MOST_FIGURES, MOST_CURVES = 20, 8, 8
# Coverages that the words of a curve say.
SAID = (0.5, 0.8, 1.0)


def reliability_blocks(
    calibrated: xr.Dataset, strata: Mapping[str, Sequence[str]], order: Sequence[str], over: str
) -> list[Block]:
    """A figure of small diagrams for each stratum.

    Parameters
    ----------
    calibrated : Dataset
        What `calibration` returned.
    strata : mapping of str to sequence of str
        Cells of each stratum, by its name.
    order : sequence of str
        Levels; the first of them are drawn where there are many.
    over : str
        Column of the levels.

    Returns
    -------
    list of Block
    """
    said = (
        "On the dashed line, confidence is the share of right answers that follows; a point below "
        "it is of confidence that was too high, one above it of confidence that was too low. Bars "
        "are 95 % Wilson intervals of single answers, and the columns at the foot show how often "
        "each confidence was stated."
    )
    blocks: list[Block] = [Prose("Calibration", (said,))]
    for name, cells in first_few(strata).items():
        own = in_order(calibrated.sel(cell=list(cells)), order, over, MOST_PANELS)
        drawn = diagrams.calibration_panels(own)
        caption = f"Share right at each stated confidence{where(name)}{cut(own, cells)}."
        distance = "; ".join(
            f"{cell}: mean confidence {format_cell(float(p))}, right {format_cell(float(o))}"
            for cell, p, o in zip(
                own["cell"].values,
                own["mean_confidence"].values,
                own["accuracy"].values,
                strict=True,
            )
        )
        blocks.append(Figure(caption, f"{caption} {distance}.", drawn[0].figure, "reliability"))
    return [*blocks, *rest_of(strata)]


def coverage_blocks(
    curves: xr.Dataset,
    strata: Mapping[str, Sequence[str]],
    order: Sequence[str],
    over: str,
    strong: Sequence[str] = (),
) -> list[Block]:
    """A figure of curves for each stratum; arguments as of `reliability_blocks`.

    `strong` are levels that have a colour before others.
    """
    said = (
        "If only the most confident answers are given (coverage, to the left), how many of them "
        "are wrong (risk)? A lower line is better at that coverage. AURC is the mean height of a "
        "line."
    )
    blocks: list[Block] = [Prose("Answers withheld", (said,))]
    told = list(dict.fromkeys([*strong, *order]))
    for name, cells in first_few(strata).items():
        own = in_order(curves.sel(cell=list(cells)), order, over, len(cells))
        there = [str(level) for level in own["cell"].values]
        drawn = coverage.risk_coverage(
            own, strong=[level for level in told if level in there][:MOST_CURVES]
        )
        caption = f"Share wrong of the answers that are given, by coverage{where(name)}."
        blocks.append(Figure(caption, f"{caption} {in_words(own)}", drawn.figure, "risk-coverage"))
    return [*blocks, *rest_of(strata)]


def in_order(own: xr.Dataset, order: Sequence[str], over: str, most: int) -> xr.Dataset:
    """Cells of a stratum named by their level, in an order, the first few."""
    levels = [str(level) for level in own[over].values.tolist()]
    places = [levels.index(level) for level in order if level in levels][:most]
    return own.isel(cell=places).assign_coords(cell=[levels[place] for place in places])


def in_words(own: xr.Dataset) -> str:
    """Risks at some coverages, in words."""
    risk = 1 - own["selective_accuracy"].sel(coverage=list(SAID), method="nearest")
    parts = [
        f"{cell}: "
        + ", ".join(f"{format_cell(float(x))} at {at:g}" for x, at in zip(row, SAID, strict=True))
        for cell, row in zip(
            own["cell"].values, np.asarray(risk.transpose("cell", "coverage")), strict=True
        )
    ]
    return "Share wrong: " + "; ".join(parts) + "."


def first_few(strata: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Strata that have figures."""
    return dict(list(strata.items())[:MOST_FIGURES])


def rest_of(strata: Mapping[str, Sequence[str]]) -> list[Block]:
    """Words on strata without a figure."""
    rest = list(strata)[MOST_FIGURES:]
    return [Prose("", (f"Without a figure here: {in_a_row(rest)}.",))] if rest else []


def where(name: str) -> str:
    """Stratum of a caption."""
    return f", {name}" if name else ""


def cut(own: xr.Dataset, cells: Sequence[str]) -> str:
    """Remark of a caption where not all levels are drawn."""
    drawn, of_all = own.sizes["cell"], len(cells)
    return "" if drawn == of_all else f"; the first {drawn} of {of_all} by AUROC2"
