"""Risk–coverage curves: how many answers are wrong when the least confident are withheld.

Dataset of `selective_prediction` (cell, coverage) → matplotlib Axes.
Source: El-Yaniv & Wiener (2010).
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hmetad.arguments import check_inputs, with_variables
from hmetad.errors import InputError, nearest
from hmetad.plots.style import (
    drawable,
    dress,
    look_of,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
)

__all__ = ["risk_coverage"]

# Lines that are told apart by colour and stroke; of more, those asked for are.
MOST_TOLD = 8
QUIET = "#b4bcc5"


@check_inputs(
    curves=with_variables("selective_accuracy", dim="cell", made_by="selective_prediction")
)
def risk_coverage(
    curves: xr.Dataset, *, strong: Sequence[str] = (), ax: Axes | None = None
) -> Axes:
    """Share of wrong answers among the most confident ones, one line per cell.

    At the right all answers are given; to the left the least confident are withheld. A line that
    falls towards the left is of confidence that tells right from wrong; a flat one is of
    confidence that says nothing.

    Parameters
    ----------
    curves : xarray.Dataset
        As `hmetad.measures.selective_prediction` returns it, dims (cell, coverage).
    strong : sequence of str, optional
        Cells with a colour and a place in the legend, at most eight; the others are thin and
        grey. By default the first eight.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `curves` is something else, or `strong` names no cell of it, or more than eight.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.measures.reliability import selective_prediction
    >>> trials = pd.DataFrame({"correct": [1, 0, 1, 1], "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> risk_coverage(selective_prediction(trials)).get_xlabel()
    'coverage (share of answers given)'
    """
    cells = [str(name) for name in curves["cell"].to_numpy()]
    told = check_strong(strong, cells) or cells[:MOST_TOLD]
    if set(curves["selective_accuracy"].dims) != {"cell", "coverage"}:
        got = f"dims {curves['selective_accuracy'].dims}"
        raise InputError("curves", got, "dims (cell, coverage)")
    ax = ax if ax is not None else new_axes(5.6, 3.8)
    risk = 1 - curves["selective_accuracy"].transpose("cell", "coverage").to_numpy()
    coverage = curves["coverage"].to_numpy()
    for row, name in zip(risk, cells, strict=True):
        if name not in told:
            ax.plot(coverage, row, color=QUIET, linewidth=1.1, zorder=1)
    for place, name in enumerate(told):
        look = look_of(place) | {"markersize": 4, "markevery": (place % 4, 4)}
        ax.plot(coverage, risk[cells.index(name)], label=drawable(name), **look)
    dress(ax, grid="y")
    if not cells:
        nothing_to_draw(ax)
    top = np.nanmax(risk) if np.isfinite(risk).any() else 1.0
    ax.set(xlim=(0, 1.02), ylim=(0, max(1.08 * top, 0.02)))
    name_axes(ax, "coverage (share of answers given)", "risk (share wrong of those)")
    if len(told) < len(cells):
        rest = len(cells) - len(told)
        ax.plot([], [], color=QUIET, label=f"{rest} other{'s' * (rest > 1)}")
    put_legend(ax)
    return ax


def check_strong(strong: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Cells to tell apart, if they are there and few enough."""
    for name in strong:
        if name not in cells:
            raise InputError("strong", repr(name), "a cell of the curves", nearest(name, cells))
    if len(strong) > MOST_TOLD:
        raise InputError("strong", f"{len(strong)} cells", f"at most {MOST_TOLD}")
    return list(strong)
