"""Figures of studies, by the names that their files use.

Name of a plot, what it draws and its options → matplotlib Figure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hmetad.plots import conditions, curves, intervals, reliability
from hmetad.plots.panels import name_outer_axes, name_panel, panel_axes, share_legend
from hmetad.plots.style import COLORS, MARKERS, dress, look_of, reference_line

__all__ = ["draw", "plot_lines", "plot_sensitivity_and_accuracy"]


def draw(plot: str, of: Sequence[Any], options: Mapping[str, Any]) -> Figure:
    """Figure of a plot of `PLOTS`."""
    first = np.ravel(np.asarray(PLOTS[plot](*of, **options), dtype=object))[0]
    figure: Figure = first.figure
    return figure


def plot_lines(
    lines: pd.DataFrame,
    points: pd.DataFrame | None = None,
    limits: Mapping[str, Sequence[float]] | None = None,
    *,
    x: str,
    y: str,
    hue: str,
    panel: str | None = None,
    size: tuple[float, float] = (2.5, 2.7),
    columns: int = 3,
    share_y: bool = False,
    reference: float | None = None,
    colors: Mapping[str, int] | None = None,
    has_markers: bool = True,
    xlabel: str = "",
    ylabel: str = "",
    **axis: Any,
) -> NDArray[Any]:
    """A line per hue, with axes per panel; points, with whiskers where they have an interval.

    `limits` are those of the vertical axis, by panel; `colors` are places in the palette, by hue.
    """
    names = list(lines[panel].unique()) if panel else [""]
    axes = panel_axes(None, len(names), (size[0], size[1]), columns=columns, share_y=share_y)
    hues = [name for one in (lines, points) if one is not None for name in one[hue].unique()]
    looks = {name: look_of(i) | {"markersize": 4} for i, name in enumerate(dict.fromkeys(hues))}
    for name, place in (colors or {}).items():
        looks[name] |= {"color": COLORS[place], "marker": MARKERS[place]}
    for ax, name in zip(axes, names, strict=True):
        dress(ax, grid="y")
        if reference is not None:
            reference_line(ax, reference, vertical=False)
        part = lines[lines[panel] == name] if panel else lines
        if points is not None:
            draw_points(ax, points[points[panel] == name] if panel else points, (x, y, hue), looks)
        for order, (label, line) in enumerate(part.groupby(hue, sort=False)):
            look = looks[label] if has_markers else looks[label] | {"marker": ""}
            # Where lines meet, the first are on top.
            ax.plot(line[x], line[y], label=label, zorder=3 - 0.1 * order, **look)
        ax.set(**axis)
        if limits and name in limits:
            ax.set_ylim(*limits[name])
        name_panel(ax, name)
    name_outer_axes(axes, xlabel, ylabel, share_y=share_y)
    share_legend(axes)
    return axes


def draw_points(
    ax: Axes,
    points: pd.DataFrame,
    columns: tuple[str, str, str],
    looks: Mapping[str, Mapping[str, Any]],
) -> None:
    """Points of each hue: many faint ones, or with intervals and named."""
    x, y, hue = columns
    for label, own in points.groupby(hue, sort=False):
        color, marker = looks[str(label)]["color"], looks[str(label)]["marker"]
        if "lower" in own:
            reach = [own[y] - own["lower"], own["upper"] - own[y]]
            look = {"fmt": marker, "color": color, "markersize": 4, "linewidth": 0.9}
            ax.errorbar(own[x], own[y], reach, label=label, **look)
        else:
            look = {"s": 5, "alpha": 0.35, "linewidth": 0, "rasterized": True}
            ax.scatter(own[x], own[y], color=color, marker=marker, **look)


def plot_sensitivity_and_accuracy(frame: pd.DataFrame, counts: xr.DataArray) -> NDArray[Any]:
    """Bars of d′ and meta-d′ beside lines of accuracy by rating, a row of two panels per task."""
    tasks = list(frame["task"].unique())
    axes = Figure(figsize=(7.8, 8.8), layout="constrained").subplots(
        len(tasks), 2, width_ratios=[1.15, 1]
    )
    for task, (left, right) in zip(tasks, axes, strict=True):
        conditions.sensitivity_bars(frame[frame["task"] == task], ax=left, ylabel="Sensitivity")
        left.set_title(task, loc="left", fontweight="bold", fontsize=9, pad=22)
        own = counts.isel(cell=(counts["task"] == task).to_numpy())
        reliability.accuracy_by_rating(own.assign_coords(cell=own["model"].to_numpy()), ax=right)
        if task != tasks[0]:
            right.get_legend().remove()
    return np.asarray(axes)


PLOTS: Mapping[str, Callable[..., Any]] = {
    "conditions": conditions.criterion,
    "forest": intervals.forest,
    "groups": curves.group_accuracy,
    "information plane": curves.information_plane,
    "lines": plot_lines,
    "sensitivity and accuracy": plot_sensitivity_and_accuracy,
    "type-1 ROC": curves.type1_roc,
    "type-2 ROC": curves.type2_roc,
}
