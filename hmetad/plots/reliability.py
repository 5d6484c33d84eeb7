"""Accuracy against confidence: reliability diagrams, and accuracy by rating.

Dataset of `calibration` (cell, bin), or count table → matplotlib Axes.
Source: Murphy & Winkler (1977).
"""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import MissingError, SourceError, TooManyError
from hmetad.plots.frames import require_counts
from hmetad.plots.marks import line_with_whiskers, wilson
from hmetad.plots.panels import AxesLike, name_outer_axes, panel_axes
from hmetad.plots.style import (
    COLORS,
    FAINT,
    INK,
    LINES,
    SIZE,
    SMALL,
    SOFT,
    drawable,
    dress,
    finish,
    new_axes,
    nothing_to_draw,
    on_lines,
    reference_line,
    told_apart,
)

NEEDED = ("bin_confidence", "bin_accuracy", "bin_trials", "histogram")
# The histogram lies below 0, where no accuracy can be.
FOOT, HEIGHT = -0.22, 0.17
# More diagrams on one figure are not read.
MOST_PANELS = 40
# Up to how many, inches of each, and how many may stand in a row.
SIZES = ((3, 2.7, (3,)), (12, 2.1, (4, 3)), (MOST_PANELS, 1.5, (6, 5, 4)))


@check_inputs(skip=("calibrated",))
def calibration(calibrated: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Accuracy at each bin of confidence, one line per cell, with how often each was given.

    On the dashed diagonal confidence is the accuracy that follows; below it, too high. Bars are
    95 % Wilson intervals, the area of a marker grows with its number of trials, and bins without
    trials are excluded. At the foot stands the histogram of confidence, each cell scaled to its
    highest column.

    Parameters
    ----------
    calibrated : xarray.Dataset
        As `hmetad.measures.calibration` returns it, dims (cell, bin), or one cell of it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `calibrated` is something else, has further dims, or more cells than can be
        distinguished.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.measures import reliability
    >>> trials = pd.DataFrame({"correct": [1, 0, 1, 1], "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> calibration(reliability.calibration(trials, bins=2)).get_xlabel()
    'confidence'
    """
    cells = by_cell(calibrated)
    number = cells.sizes["cell"]
    told_apart("calibrated", number, "cells")
    ax = ax if ax is not None else new_axes(4.4, 4.2)
    draw_ground(ax, 1.0)
    for place, name in enumerate(cells["cell"].to_numpy()):
        cell = cells.isel(cell=place)
        draw_histogram(ax, cell["histogram"].to_numpy(), place, alone=number == 1)
        draw_bins(ax, cell, place, str(name), (10, 90))
    ax.set(xlim=(-0.02, 1.02), ylim=(FOOT, 1.02), yticks=np.linspace(0, 1, 6))
    where = {"ha": "right", "va": "center", "transform": ax.get_yaxis_transform()}
    look = {"fontsize": SMALL, "color": SOFT}
    ax.text(-0.015, FOOT + HEIGHT / 2, "trials", look, **where)
    if number == 1:
        ax.set_title(drawable(cells["cell"].item()), loc="left", fontsize=SIZE, color=INK)
    return finish(ax, "confidence", "accuracy", is_empty=not number, has_legend=number > 1)


@check_inputs(skip=("calibrated", "ax"))
def calibration_panels(calibrated: xr.Dataset, *, ax: AxesLike | None = None) -> NDArray[Any]:
    """Accuracy at each bin of confidence, a small diagram for each cell.

    On the dashed diagonal confidence is the accuracy that follows; points below it are of
    confidence that is too high. Bars are 95 % Wilson intervals of single trials, and the columns at
    the foot show how often each confidence was given.

    Parameters
    ----------
    calibrated : xarray.Dataset
        As `hmetad.measures.calibration` returns it, dims (cell, bin).
    ax : sequence of matplotlib.axes.Axes, optional
        One for each cell; those of a new figure by default.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``axes[0].figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `calibrated` is something else, or has more than 40 cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.measures import reliability
    >>> rows = {"correct": [1, 0, 1, 1], "confidence": [0.6, 0.6, 0.9, 0.9], "model": list("abab")}
    >>> judged = reliability.calibration(pd.DataFrame(rows), by="model", bins=2)
    >>> [axes.get_title(loc="left") for axes in calibration_panels(judged)]
    ['a', 'b']
    """
    cells = by_cell(calibrated)
    number = cells.sizes["cell"]
    if number > MOST_PANELS:
        step = "Select some: .isel(cell=slice(40))."
        raise TooManyError("calibrated", f"{number} cells", f"at most {MOST_PANELS}", step)
    # As large as the width of a page allows; rows as few, and the last as full, as possible.
    width, numbers = next(one[1:] for one in SIZES if number <= one[0])
    columns = min(numbers, key=lambda x: (-(-number // x), -number % x))
    axes = panel_axes(ax, number, (width, width + 0.15), columns=columns, margins=(0.4, 0.2))
    for place, panel in enumerate(axes[:number]):
        cell = cells.isel(cell=place)
        draw_ground(panel, 0.9)
        draw_histogram(panel, cell["histogram"].to_numpy(), 0, alone=True)
        draw_bins(panel, cell, 0, "", (6, 40))
        ticks = [0.0, 0.5, 1.0]
        panel.set(xlim=(-0.03, 1.03), ylim=(FOOT, 1.03), xticks=ticks, yticks=ticks)
        dress(panel)
        name = on_lines(cell["cell"].item(), 20, 40)
        panel.set_title(name, loc="left", fontsize=SIZE - 1, color=INK)
    if not number:
        nothing_to_draw(axes[0])
    name_outer_axes(axes, "confidence", "accuracy", share_y=True)
    return axes


@check_inputs()
def accuracy_by_rating(counts: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Accuracy at each confidence rating, one line per cell.

    Bars are 95 % Wilson intervals, the area of a marker grows with its number of trials, and a
    rating that was never used leaves a gap.

    Parameters
    ----------
    counts : xarray.DataArray
        Count table, dims (cell, stimulus, response, rating).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `counts` has other dims, or more cells than can be distinguished.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> accuracy_by_rating(from_nr([84, 56, 48, 12], [4, 56, 64, 76])).get_ylabel()
    'accuracy'
    """
    require_counts(counts)
    cells, ratings = counts["cell"].to_numpy(), counts["rating"].to_numpy()
    told_apart("counts", len(cells), "cells")
    ax = ax if ax is not None else new_axes(5.6, 3.4)
    is_right = counts["stimulus"] == counts["response"]
    trials, correct = (
        one.sum(("stimulus", "response")).transpose("cell", "rating").to_numpy()
        for one in (counts, counts.where(is_right, 0))
    )
    # So far apart that whiskers do not cover each other.
    shifts = (np.arange(len(cells)) - (len(cells) - 1) / 2) * min(0.1, 0.5 / max(len(cells), 1))
    for place, cell in enumerate(cells):
        areas = 8 + 110 * trials[place] / max(trials[place].sum(), 1)
        accuracy = wilson(correct[place], trials[place])
        line_with_whiskers(ax, ratings + shifts[place], accuracy, place, str(cell), areas=areas)
    reference_line(ax, 0.5, vertical=False)
    ax.set_xticks(ratings)
    ax.set_ylim(min(ax.get_ylim()[0], 0.46), 1.03)
    return finish(ax, "confidence rating", "accuracy", grid="y", is_empty=not len(cells))


def by_cell(calibrated: xr.Dataset) -> xr.Dataset:
    """What is drawn, with dim cell first, or an error that says what is missing."""
    step = "Make one with calibration."
    allowed = "a Dataset of calibration, with dims (cell, bin)"
    missing = [name for name in NEEDED if name not in getattr(calibrated, "data_vars", ())]
    if missing:
        raise MissingError("calibrated", f"no variable {missing[0]!r}", allowed, step)
    drawn = calibrated[list(NEEDED)]
    if "cell" not in drawn.dims:
        drawn = drawn.assign_coords(cell=drawn.coords.get("cell", "all")).expand_dims("cell")
    if set(drawn.dims) != {"cell", "bin", "histogram_bin"}:
        got = f"dims ({', '.join(map(str, drawn.dims))})"
        raise SourceError("calibrated", got, allowed, "Choose one of each further dim.")
    return drawn.transpose("cell", ...)


def draw_ground(ax: Axes, width: float) -> None:
    """Diagonal, and the line on which the histogram stands below it."""
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=width, linestyle=(0, (4, 3)), zorder=0.7)
    ax.axhline(0.0, color=SOFT, linewidth=0.8 if width == 1.0 else 0.6, zorder=0.6)
    ax.spines["left"].set_bounds(0, 1)


def draw_bins(ax: Axes, cell: xr.Dataset, place: int, legend: str, areas: tuple[int, int]) -> None:
    """Line through the bins that hold trials, with their intervals; areas grow with trials."""
    used = cell.isel(bin=np.flatnonzero(cell["bin_trials"].to_numpy()))
    trials = used["bin_trials"].to_numpy()
    right = np.round(used["bin_accuracy"].to_numpy() * trials)
    sizes = areas[0] + areas[1] * trials / max(trials.sum(), 1)
    confidence = used["bin_confidence"].to_numpy()
    line_with_whiskers(ax, confidence, wilson(right, trials), place, legend, areas=sizes)


def draw_histogram(ax: Axes, trials: np.ndarray, place: int, *, alone: bool) -> None:
    """Columns of confidence at the foot of the axes: filled for one cell, outlined for several."""
    heights = FOOT + HEIGHT * trials / max(trials.max(initial=0), 1)
    edges = np.linspace(0, 1, len(trials) + 1)
    if alone:
        ax.stairs(heights, edges, baseline=FOOT, fill=True, facecolor=FAINT, edgecolor=SOFT)
        return
    color, line = COLORS[place % len(COLORS)], LINES[place % len(LINES)]
    ax.stairs(heights, edges, baseline=FOOT, edgecolor=color, linestyle=line, linewidth=0.9)
