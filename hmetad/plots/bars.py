"""Bars of sensitivities with their ratio.

Data frame, a row per group of bars → matplotlib Axes.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from hmetad.arguments import check_inputs
from hmetad.plots.frames import number_rows, require_column
from hmetad.plots.marks import bars, name_columns
from hmetad.plots.style import (
    INK,
    SIZE,
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    told_apart,
)
from hmetad.text.cells import format_cell
from hmetad.text.names import unit

__all__ = ["sensitivity_bars"]


@check_inputs()
def sensitivity_bars(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    label: str = "model",
    values: Sequence[tuple[str, str]] = (("dprime", "d′"), ("meta_d", "meta-d′")),
    lower: str = "_lower",
    upper: str = "_upper",
    ratio: str | None = "m_ratio",
    ylabel: str = "",
) -> Axes:
    """Bars of several quantities per row, with intervals, and their ratio above.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per group of bars.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    label : str
        Column that names the groups.
    values : sequence of (column, legend)
        The bars of a group, from left to right.
    lower, upper : str
        What follows a column's name in the names of its interval's columns; bars whose interval
        columns are missing have no whiskers.
    ratio : str or None
        Column written above each group; None for nothing.
    ylabel : str, optional
        What the bars measure; by default their unit, if they have one in common.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When the table lacks a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["A"], "dprime": [2.0], "meta_d": [1.5], "m_ratio": [0.75]})
    >>> [text.get_text() for text in sensitivity_bars(frame).texts]
    ['0.75']
    """
    require_column(table, label, *(column for column, _ in values), *([ratio] if ratio else []))
    told_apart("values", len(values), "bars in a group")
    ax = ax if ax is not None else new_axes(min(1.6 + 1.3 * max(len(table), 1), 14.0), 3.2)
    width = 0.8 / max(len(values), 1)
    for place, (column, legend) in enumerate(values):
        x = np.arange(len(table)) + (place - (len(values) - 1) / 2) * width
        drawn = number_rows(table, column, column + lower, column + upper)
        bars(ax, x, 0.9 * width, place, legend, drawn)
    if ratio and len(table):
        write_ratios(ax, table, ratio, [c for name, _ in values for c in (name, name + upper)])
    dress(ax, grid="y")
    name_columns(ax, list(table[label]))
    ax.tick_params(axis="x", bottom=False)
    units = {unit(column) for column, _ in values}
    name_axes(ax, "", ylabel or (units.pop() if len(units) == 1 else ""))
    put_legend(ax)
    if table.empty:
        nothing_to_draw(ax)
    return ax


def write_ratios(ax: Axes, table: pd.DataFrame, ratio: str, tops: list[str]) -> None:
    """Ratio above each group of bars and whiskers."""
    known = [column for column in tops if column in table.columns]
    heights = table[known].max(axis=1).fillna(0.0).clip(lower=0.0)
    for place, (value, height) in enumerate(zip(table[ratio], heights, strict=True)):
        ax.annotate(
            format_cell(float(value), ".2f"),
            (place, height),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=SIZE,
            fontweight="bold",
            color=INK,
        )
    ax.margins(y=0.12)
