"""Estimates with intervals of the same rows, in a panel for each quantity or condition.

Data frame → array of matplotlib Axes.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.plots.frames import number_rows, require_column
from hmetad.plots.marks import intervals, limit_across
from hmetad.plots.panels import AxesLike, is_left_of, name_panel, panel_axes
from hmetad.plots.style import INK, drawable, dress, name_axes, nothing_to_draw

__all__ = ["interval_panels"]

# Marker and face: told apart without colour.
LEADING, OTHER = ("o", INK), ("o", "white")


@check_inputs(skip=("ax",))
def interval_panels(
    table: pd.DataFrame,
    *,
    rows: str,
    panels: str,
    estimate: str = "mean",
    lower: str = "lower",
    upper: str = "upper",
    strong: str | None = None,
    xlabel: str | None = None,
    columns: int = 3,
    ax: AxesLike | None = None,
) -> NDArray[Any]:
    """Interval estimates in rows, with a panel for each value of a column.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per estimate. Rows and panels are in the order of their first occurrence.
    rows, panels : str
        Columns with the names of rows, which all panels share, and of panels.
    estimate, lower, upper : str
        Columns with numbers; without a number nothing is drawn.
    strong : str, optional
        Column with whether the marker is filled.
    xlabel : str, optional
        Column with the name of the axis of a panel.
    columns : int, optional
        Panels side by side.
    ax : sequence of matplotlib.axes.Axes, optional
        One for each panel; those of a new figure by default.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``axes[0].figure`` as the last line shows it.

    Raises
    ------
    InputError
        When the table lacks a column, or there are not as many axes as panels.

    Examples
    --------
    >>> rows = {"model": ["a", "b"], "set": ["x", "x"], "mean": [0.7, 0.8]}
    >>> frame = pd.DataFrame(rows | {"lower": [0.6, 0.7], "upper": [0.8, 0.9]})
    >>> [axes.get_title(loc="left") for axes in interval_panels(frame, rows="model", panels="set")]
    ['x']
    """
    asked = [name for name in (strong, xlabel) if name is not None]
    require_column(table, rows, panels, estimate, lower, upper, *asked)
    names = list(dict.fromkeys(table[rows]))
    parts = [(key, part) for key, part in table.groupby(panels, sort=False)]
    height = 0.85 + 0.19 * max(len(names), 1)
    axes = panel_axes(ax, len(parts), (2.15, height), columns=columns, margins=(1.7, 0.1))
    for panel, (key, part) in zip(axes, parts, strict=False):
        draw_part(panel, part.set_index(rows).reindex(names), (estimate, lower, upper), strong)
        name_panel(panel, key)
        name_axes(panel, part[xlabel].iloc[0] if xlabel is not None else "")
    if not parts:
        nothing_to_draw(axes[0])
    name_first_column(axes, names)
    return axes


def draw_part(
    ax: Any, part: pd.DataFrame, numbers: tuple[str, str, str], strong: str | None
) -> None:
    """Intervals of one panel."""
    values = number_rows(part, *numbers)
    dress(ax, grid="x")
    limit_across(ax, values.ravel())
    is_strong = np.zeros(len(part), bool) if strong is None else part[strong].eq(True).to_numpy()
    intervals(ax, values, [LEADING if one else OTHER for one in is_strong])


def name_first_column(axes: NDArray[Any], names: list[Any]) -> None:
    """Names of the rows at the panels that have none to their left."""
    shown = [drawable(name, 34) for name in names]
    places = [ax.get_subplotspec() for ax in axes]
    for ax, place in zip(axes, places, strict=True):
        has_left = place is not None and any(
            other is not None and is_left_of(other, place) for other in places
        )
        ax.set_yticks(range(len(names)), [""] * len(names) if has_left else shown)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", left=False, pad=4)
        ax.spines["left"].set_visible(False)
