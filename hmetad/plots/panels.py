"""Several axes side by side, those that are given or those of a new figure.

Number of panels → array of matplotlib Axes, with one legend for all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hmetad.base.errors import ShapeError
from hmetad.plots.style import (
    INK,
    SIGNS_PER_INCH,
    SIZE,
    legend_columns,
    name_axes,
    on_lines,
    put_legend,
)

# Most and fewest letters of a line above a panel; bold ones are wider.
LONGEST, SHORTEST, BOLD = 40, 8, 0.75

type AxesLike = Axes | Sequence[Axes] | NDArray[Any]


def panel_axes(
    ax: AxesLike | None,
    number: int,
    size: tuple[float, float],
    *,
    columns: int = 3,
    margins: tuple[float, float] = (0.0, 0.0),
    share_y: bool = False,
) -> NDArray[Any]:
    """One axes per panel: those given, or those of a new figure.

    Parameters
    ----------
    ax : Axes or sequence of Axes or None
    number : int
        Of panels; for none there is one, to say so.
    size, margins : (float, float)
        Width and height of a panel, and what the figure has beside, inches.
    columns : int, optional
    share_y : bool, optional

    Returns
    -------
    numpy.ndarray of Axes

    Raises
    ------
    InputError
        If there are not as many axes as panels, or one is something else.

    Examples
    --------
    >>> panel_axes(None, 4, (2.0, 2.0)).shape
    (4,)
    """
    number = max(number, 1)
    if ax is None:
        columns = min(columns, number)
        rows = -(-number // columns)
        inches = (columns * size[0] + margins[0], rows * size[1] + margins[1])
        figure = Figure(figsize=inches, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y).ravel()
        for spare in grid[number:]:
            spare.remove()
        return grid[:number]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != number:
        raise ShapeError("ax", f"{len(axes)} axes", f"{number}, one per panel")
    for one in axes:
        if not isinstance(one, Axes):
            raise ShapeError("ax", type(one).__name__, "axes of matplotlib")
    return axes


def name_panel(ax: Axes, name: object) -> None:
    """Name above a panel, on the left, on lines that end before the next panel."""
    figure, place = ax.get_figure(root=True), ax.get_subplotspec()
    share = 1 / place.get_gridspec().ncols if place else ax.get_position().width
    fitting = int(BOLD * SIGNS_PER_INCH * share * figure.get_figwidth()) if figure else LONGEST
    text = on_lines(name, max(SHORTEST, min(fitting, LONGEST)), LONGEST)
    ax.set_title(text, fontsize=SIZE, fontweight="bold", color=INK, loc="left")


def name_outer_axes(axes: NDArray[Any], xlabel: str, ylabel: str, *, share_y: bool) -> None:
    """Names and numbers where no other panel of the same grid is below, or to the left.

    Panels have the same x axis and, where `share_y`, the same y axis.
    """
    places = places_in_grid(axes)
    for ax, place in zip(axes, places, strict=True):
        grid, row, column = place
        is_first = not any((grid, row, x) in places for x in range(column))
        is_lowest = not any(one[::2] == (grid, column) and one[1] > row for one in places)
        name_axes(ax, xlabel if is_lowest else "", ylabel if is_first else "")
        ax.tick_params(labelbottom=is_lowest, labelleft=is_first or not share_y)


def places_in_grid(axes: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Grid, row and column of each axes; axes in no grid have one to themselves."""
    found = []
    for number, ax in enumerate(axes):
        place = ax.get_subplotspec()
        rows = (place.rowspan.start, place.colspan.start) if place else (0, 0)
        found.append((id(place.get_gridspec()) if place else number, *rows))
    return found


def width_from(axes: NDArray[Any]) -> int:
    """How many signs fit between the left of the first axes and the right of the furthest."""
    places = [ax.get_position(original=True) for ax in axes]
    share = max(place.x1 for place in places) - places[0].x0
    inches = share * axes[0].figure.get_figure(root=True).get_figwidth()
    return max(int(inches * SIGNS_PER_INCH), 1)


def share_legend(axes: NDArray[Any]) -> None:
    """One legend for all panels: above a figure of their own, else above the first panel."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure = axes[0].figure
    if figure.get_layout_engine() is None or len(figure.axes) != len(axes):
        put_legend(axes[0], width_from(axes))
        return
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        frameon=False,
        fontsize=SIZE,
        labelcolor=INK,
        ncols=legend_columns(labels, int(SIGNS_PER_INCH * figure.get_figwidth())),
    )
