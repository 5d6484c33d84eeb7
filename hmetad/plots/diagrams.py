"""Reliability diagrams side by side, one for each cell.

Dataset of `calibration` (cell, bin) → array of matplotlib Axes.
Source: Murphy & Winkler (1977).
"""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.plots.marks import line_with_whiskers, wilson
from hmetad.plots.panels import AxesLike, name_outer_axes, panel_axes
from hmetad.plots.reliability import by_cell, draw_histogram
from hmetad.plots.style import INK, SIZE, SOFT, dress, nothing_to_draw, on_lines

__all__ = ["calibration_panels"]

# More diagrams on one figure are not read.
MOST_PANELS = 40
# Up to how many, inches of each, and how many may stand in a row.
SIZES = ((3, 2.7, (3,)), (12, 2.1, (4, 3)), (MOST_PANELS, 1.5, (6, 5, 4)))
FOOT = -0.22


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
        raise InputError("calibrated", f"{number} cells", f"at most {MOST_PANELS}", step)
    # As large as the width of a page allows; rows as few, and the last as full, as possible.
    width, numbers = next(one[1:] for one in SIZES if number <= one[0])
    columns = min(numbers, key=lambda x: (-(-number // x), -number % x))
    axes = panel_axes(ax, number, (width, width + 0.15), columns=columns, margins=(0.4, 0.2))
    for place, panel in enumerate(axes[:number]):
        draw_panel(panel, cells.isel(cell=place))
    if not number:
        nothing_to_draw(axes[0])
    name_outer_axes(axes, "confidence", "accuracy", share_y=True)
    return axes


def draw_panel(ax: Axes, cell: xr.Dataset) -> None:
    """Diagonal, histogram and bins of one cell, under its name."""
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0.7)
    draw_histogram(ax, cell["histogram"].to_numpy(), 0, alone=True)
    used = cell.isel(bin=np.flatnonzero(cell["bin_trials"].to_numpy()))
    trials = used["bin_trials"].to_numpy()
    right = np.round(used["bin_accuracy"].to_numpy() * trials)
    areas = 6 + 40 * trials / max(trials.sum(), 1)
    line_with_whiskers(
        ax, used["bin_confidence"].to_numpy(), wilson(right, trials), 0, "", areas=areas
    )
    dress(ax)
    ax.axhline(0.0, color=SOFT, linewidth=0.6, zorder=0.6)
    ticks = [0.0, 0.5, 1.0]
    ax.set(xlim=(-0.03, 1.03), ylim=(FOOT, 1.03), xticks=ticks, yticks=ticks)
    ax.spines["left"].set_bounds(0, 1)
    name = on_lines(cell["cell"].item(), 20, 40)
    ax.set_title(name, loc="left", fontsize=SIZE - 1, color=INK)
