"""Which model wins on data of which: a square for each pair.

DataArray of `recover_models` (generating, winning) → matplotlib Axes.
"""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.plots.marks import name_columns, name_rows
from hmetad.plots.style import (
    COLORS,
    INK,
    SIZE,
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    told_apart,
)

__all__ = ["confusion"]

GENERATING, WINNING = "generating", "winning"
DIMS = (GENERATING, WINNING)
SHADES = LinearSegmentedColormap.from_list("shares", ["#ffffff", COLORS[0]])
# Of the darkest square on which dark figures are read well.
DARK = 0.6
# Inches of a column: at least, at most, and for each letter of its name.
NARROWEST, WIDEST, LETTER = 0.72, 1.3, 0.085


@check_inputs(skip=("shares",))
def confusion(shares: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Shares of winners by generating model, as numbers in squares.

    A row is a model that data come from, and a column a model that wins on them. The squares in
    which both are the same have a frame.

    Parameters
    ----------
    shares : DataArray
        Dims (generating, winning), from 0 to 1, as `hmetad.simulate.recover_models` returns them:
        ``found["people"]``. At most 16 models.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it. Numbers
        are percent; a share that is missing is a dash.

    Raises
    ------
    InputError
        If `shares` has other dims, no names of models, values below 0 or above 1, or more models
        than can be told apart.

    Examples
    --------
    >>> names = {"generating": ["sdt", "wev"], "winning": ["sdt", "wev"]}
    >>> ax = confusion(xr.DataArray([[0.9, 0.1], [0.2, 0.8]], names))
    >>> [text.get_text() for text in ax.texts]
    ['90', '10', '20', '80']
    """
    table = checked_shares(shares)
    rows, columns = (table[dim].to_numpy().tolist() for dim in DIMS)
    told_apart("shares", max(len(rows), len(columns)), "models")
    if ax is None:
        width = min(max(NARROWEST, LETTER * max(map(len, map(str, columns)), default=0)), WIDEST)
        ax = new_axes(1.9 + width * len(columns), 1.2 + 0.5 * len(rows))
    if table.size:
        draw_squares(ax, table.to_numpy().astype(float))
        frame_same(ax, rows, columns)
    else:
        nothing_to_draw(ax)
    dress(ax)
    name_rows(ax, rows, [False] * len(rows))
    name_columns(ax, columns)
    ax.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    name_axes(ax, "model that wins, % of each row", "model that data come from")
    return ax


def checked_shares(shares: xr.DataArray) -> xr.DataArray:
    """Shares with generating models first, or an error that says what is missing."""
    allowed = "shares of recover_models, with dims (generating, winning)"
    step = "Give found['people'] or found['groups']."
    if not isinstance(shares, xr.DataArray):
        raise InputError("shares", type(shares).__name__, allowed, step)
    if {*shares.dims} != {*DIMS}:
        got = f"dims ({', '.join(map(str, shares.dims))})"
        raise InputError("shares", got, allowed, step)
    for dim in DIMS:
        if dim not in shares.coords:
            raise InputError("shares", f"no names along {dim}", allowed)
    if shares.dtype.kind not in "biuf" or ((shares < 0) | (shares > 1)).any():
        raise InputError("shares", "values that are no shares", "numbers from 0 to 1")
    return shares.transpose(*DIMS)


def draw_squares(ax: Axes, values: np.ndarray) -> None:
    """Squares, the darker the larger the share, with their numbers."""
    edges = [np.arange(size + 1) - 0.5 for size in values.shape]
    filled = np.nan_to_num(values)
    ax.pcolormesh(
        edges[1], edges[0], filled, cmap=SHADES, vmin=0, vmax=1, edgecolors="white", linewidth=1.5
    )
    for (row, column), share in np.ndenumerate(values):
        shown = f"{100 * share:.0f}" if np.isfinite(share) else "–"
        color = "white" if share > DARK else INK
        ax.text(column, row, shown, ha="center", va="center", fontsize=SIZE, color=color)


def frame_same(ax: Axes, rows: list[object], columns: list[object]) -> None:
    """Frames of the squares in which the generating model is the one that wins."""
    for row, name in enumerate(rows):
        for column in [place for place, other in enumerate(columns) if other == name]:
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=1.2))
