"""Reliability diagram: accuracy against confidence.

Dataset of `calibration` (cell, bin) → matplotlib Axes.
Source: Murphy & Winkler (1977).
"""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.plots.marks import line_with_whiskers, wilson
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
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    told_apart,
)

__all__ = ["calibration"]

NEEDED = ("bin_confidence", "bin_accuracy", "bin_trials", "histogram")
# The histogram lies below 0, where no accuracy can be.
FOOT, HEIGHT = -0.22, 0.17


@check_inputs(skip=("calibrated",))
def calibration(calibrated: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Accuracy at each bin of confidence, one line per cell, with how often each was given.

    On the dashed diagonal confidence is the accuracy that follows; below it, too high. Bars are
    95 % Wilson intervals, the area of a marker grows with its number of trials, and bins without
    trials are left out. At the foot stands the histogram of confidence, each cell scaled to its
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
        When `calibrated` is something else, has further dims, or more cells than can be told apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.measures import reliability
    >>> trials = pd.DataFrame({"correct": [1, 0, 1, 1], "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> calibration(reliability.calibration(trials, bins=2)).get_xlabel()
    'confidence'
    """
    cells = by_cell(calibrated)
    told_apart("calibrated", cells.sizes["cell"], "cells")
    ax = ax if ax is not None else new_axes(4.4, 4.2)
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.7)
    for place, name in enumerate(cells["cell"].to_numpy()):
        cell = cells.isel(cell=place)
        draw_histogram(ax, cell["histogram"].to_numpy(), place, alone=cells.sizes["cell"] == 1)
        draw_bins(ax, cell, place, str(name))
    if not cells.sizes["cell"]:
        nothing_to_draw(ax)
    finish(ax)
    if cells.sizes["cell"] > 1:
        put_legend(ax)
    elif cells.sizes["cell"]:
        ax.set_title(drawable(cells["cell"].item()), loc="left", fontsize=SIZE, color=INK)
    return ax


def by_cell(calibrated: xr.Dataset) -> xr.Dataset:
    """What is drawn, with dim cell first, or an error that says what is missing."""
    step = "Make one with calibration."
    allowed = "a Dataset of calibration, with dims (cell, bin)"
    if not isinstance(calibrated, xr.Dataset):
        raise InputError("calibrated", type(calibrated).__name__, allowed, step)
    missing = [name for name in NEEDED if name not in calibrated.data_vars]
    if missing:
        raise InputError("calibrated", f"no variable {missing[0]!r}", allowed, step)
    drawn = calibrated[list(NEEDED)]
    if "cell" not in drawn.dims:
        drawn = drawn.assign_coords(cell=drawn.coords.get("cell", "all")).expand_dims("cell")
    if set(drawn.dims) != {"cell", "bin", "histogram_bin"}:
        got = f"dims ({', '.join(map(str, drawn.dims))})"
        raise InputError("calibrated", got, allowed, "Choose one of each further dim.")
    return drawn.transpose("cell", ...)


def finish(ax: Axes) -> None:
    """Limits and names of the axes, and of the foot."""
    dress(ax)
    ax.axhline(0.0, color=SOFT, linewidth=0.8, zorder=0.6)
    ax.set(xlim=(-0.02, 1.02), ylim=(FOOT, 1.02), yticks=np.linspace(0, 1, 6))
    ax.spines["left"].set_bounds(0, 1)
    name_axes(ax, "confidence", "accuracy")
    middle, beside = FOOT + HEIGHT / 2, ax.get_yaxis_transform()
    where = {"ha": "right", "va": "center", "transform": beside}
    ax.text(-0.015, middle, "trials", {"fontsize": SMALL, "color": SOFT}, **where)


def draw_bins(ax: Axes, cell: xr.Dataset, place: int, legend: str) -> None:
    """Line through the bins that hold trials, with their intervals."""
    used = cell.isel(bin=np.flatnonzero(cell["bin_trials"].to_numpy()))
    trials = used["bin_trials"].to_numpy()
    right = np.round(used["bin_accuracy"].to_numpy() * trials)
    areas = 10 + 90 * trials / trials.sum()
    confidence = used["bin_confidence"].to_numpy()
    line_with_whiskers(ax, confidence, wilson(right, trials), place, legend, areas=areas)


def draw_histogram(ax: Axes, trials: np.ndarray, place: int, *, alone: bool) -> None:
    """Columns of confidence at the foot of the axes: filled for one cell, outlined for several."""
    heights = FOOT + HEIGHT * trials / max(trials.max(initial=0), 1)
    edges = np.linspace(0, 1, len(trials) + 1)
    if alone:
        ax.stairs(heights, edges, baseline=FOOT, fill=True, facecolor=FAINT, edgecolor=SOFT)
        return
    color, line = COLORS[place % len(COLORS)], LINES[place % len(LINES)]
    ax.stairs(heights, edges, baseline=FOOT, edgecolor=color, linestyle=line, linewidth=0.9)
