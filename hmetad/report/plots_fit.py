"""Figures that show whether a model fits: observed counts and type-2 ROC beside predicted ones.

Dataset of `predicted_counts` → matplotlib Axes, one for each cell.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hmetad.errors import InputError
from hmetad.report.style import (
    BAND,
    COLORS,
    INK,
    LINES,
    MARKERS,
    SIZE,
    SMALL,
    SOFT,
    drawable,
    dress,
)

__all__ = ["Kind", "describe_fit", "plot_fit"]

Kind = Literal["ratings", "roc"]
type Floats = NDArray[np.float64]

MOST_CELLS, COLUMNS = 24, 3
PANEL = {"ratings": (2.5, 1.9), "roc": (2.3, 2.3)}


def plot_fit(
    predicted: xr.Dataset,
    *,
    kind: Kind = "ratings",
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Observed beside predicted, a panel for each cell.

    Parameters
    ----------
    predicted : Dataset
        What `predicted_counts` returned, of at most 24 cells.
    kind : {"ratings", "roc"}, optional
        Trials of each response and rating, from surely S1 to surely S2, a colour for each
        stimulus; or the type-2 ROC. Markers are observed, bands and lines predicted.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per cell; a new figure by default.

    Returns
    -------
    numpy.ndarray of Axes

    Raises
    ------
    InputError
        If there are more cells than panels fit, `kind` is none of the above, or there are not
        as many axes as cells.
    """
    if kind not in get_args(Kind):
        raise InputError("kind", repr(kind), f"one of {get_args(Kind)}")
    cells = predicted["cell"].to_numpy()
    if len(cells) > MOST_CELLS:
        step = "Select some, such as those with the largest `outside`: .isel(cell=...)."
        raise InputError("predicted", f"{len(cells)} cells", f"at most {MOST_CELLS}", step)
    axes = panels(ax, len(cells), kind)
    draw = draw_ratings if kind == "ratings" else draw_roc
    for place, (axis, cell) in enumerate(zip(axes, cells, strict=True)):
        draw(axis, predicted.isel(cell=place))
        dress(axis, grid="y" if kind == "ratings" else None)
        axis.set_title(drawable(cell, 34), fontsize=SMALL, fontweight="bold", color=INK, loc="left")
    share_legend(axes)
    return axes


def describe_fit(predicted: xr.Dataset) -> str:
    """Words for those who do not see the figure: where the counts lie outside their intervals.

    Parameters
    ----------
    predicted : Dataset
        What `predicted_counts` returned.
    """
    level = f"{100 * predicted.attrs['ci_prob']:.4g} %"
    said = [
        f"{cell}: {100 * share:.0f} %"
        for cell, share in zip(
            predicted["cell"].to_numpy(), predicted["outside"].to_numpy(), strict=True
        )
    ]
    return f"Share of counts outside their {level} predictive interval. {'; '.join(said)}."


def draw_ratings(ax: Axes, one: xr.Dataset) -> None:
    """Counts of each response and rating of one cell, by stimulus."""
    number = one.sizes["rating"]
    x = np.arange(2 * number)
    for place, stimulus in enumerate(("S1", "S2")):
        observed, mean, lower, upper = (
            on_one_axis(one[name].isel(stimulus=place))
            for name in ("counts", "mean", "lower", "upper")
        )
        color, marker = COLORS[place], MARKERS[place]
        ax.fill_between(x, lower, upper, color=color, alpha=0.18, linewidth=0)
        ax.plot(x, mean, color=color, linewidth=1.1, linestyle=LINES[place])
        ax.plot(x, observed, marker, color=color, markersize=3.8, label=f"stimulus {stimulus}")
    labels = [*range(number, 0, -1), *range(1, number + 1)]
    ax.set_xticks(x, [str(label) for label in labels], fontsize=SMALL)
    ax.axvline(number - 0.5, color=SOFT, linewidth=0.7)
    ax.set_xlabel("response S1 | response S2, rating", fontsize=SMALL)
    ax.set_ylim(bottom=0)


def on_one_axis(counts: xr.DataArray) -> Floats:
    """Ratings of response S1 falling, then of response S2 rising."""
    values = counts.transpose("response", "rating").to_numpy().astype(float)
    return np.concatenate([values[0, ::-1], values[1]])


def draw_roc(ax: Axes, one: xr.Dataset) -> None:
    """Type-2 ROC of one cell, with the range of the predicted hit rates."""
    across = one["false_alarm_rate_mean"].to_numpy()
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    lower, upper = one["hit_rate_lower"].to_numpy(), one["hit_rate_upper"].to_numpy()
    ax.fill_between(across, lower, upper, color=BAND, linewidth=0)
    ax.plot(across, one["hit_rate_mean"], color=COLORS[0], linewidth=1.1, label="predicted")
    x, y = one["false_alarm_rate"].to_numpy(), one["hit_rate"].to_numpy()
    ax.plot(x, y, "o", color=INK, markersize=3.8, label="observed")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xlabel("P(confident | wrong)", fontsize=SMALL)
    ax.set_ylabel("P(confident | right)", fontsize=SMALL)


def panels(
    ax: Axes | Sequence[Axes] | NDArray[Any] | None, number: int, kind: Kind
) -> NDArray[Any]:
    """One axes per cell: those given, or those of a new figure."""
    if ax is None:
        columns = min(COLUMNS, number)
        rows = -(-number // columns)
        width, height = PANEL[kind]
        size = (max(columns, 2) * width, rows * height + 0.4)
        grid = Figure(figsize=size, layout="constrained").subplots(rows, columns, squeeze=False)
        for spare in grid.ravel()[number:]:
            spare.remove()
        return grid.ravel()[:number]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != number:
        raise InputError("ax", f"{len(axes)} axes", f"{number}, one per cell")
    return axes


def share_legend(axes: NDArray[Any]) -> None:
    """One legend: above a figure of their own, else on the first panel."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure = axes[0].figure
    style: dict[str, Any] = {"frameon": False, "fontsize": SIZE, "ncols": len(handles)}
    if figure.get_layout_engine() is not None and len(figure.axes) == len(axes):
        figure.legend(handles, labels, loc="outside upper left", **style)
    else:
        axes[0].legend(handles, labels, frameon=False, fontsize=SMALL)
