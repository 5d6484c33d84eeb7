"""The marks that figures are made of.

Numbers and raw labels → bars, points, whiskers, bands and words on given axes.
"""

import textwrap
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from hmetad.report.style import (
    BAND,
    COLORS,
    HATCHES,
    INK,
    LINES,
    MARKERS,
    SMALL,
    SOFT,
    drawable,
    dress,
    reference_line,
    room,
)

__all__ = [
    "backdrop",
    "bars",
    "interval",
    "line_with_whiskers",
    "name_columns",
    "name_rows",
    "value_text",
    "wilson",
]

WHISKER: dict[str, Any] = {"linewidth": 1.1, "capsize": 2.5, "capthick": 1.1}


def backdrop(ax: Axes, reference: float | None, rope: tuple[float, float] | None) -> None:
    """Band of practical equivalence, perhaps open at one end, and dashed line.

    Drawn after the intervals, which give the axis its limits, and behind them.
    """
    dress(ax, grid="x")
    if reference is not None:
        reference_line(ax, reference, vertical=True)
    if rope is not None:
        for edge in filter(np.isfinite, rope):
            ax.axvline(edge, color=SOFT, linewidth=0.6, zorder=0.3)
        left, right = ax.get_xlim()
        ax.axvspan(max(left, rope[0]), min(right, rope[1]), facecolor=BAND, linewidth=0, zorder=0.2)
        ax.set_xlim(left, right)


def interval(ax: Axes, y: float, values: Sequence[float], marker: str, face: str) -> None:
    """Horizontal interval (estimate, lower, upper) with its estimate marked."""
    estimate, lower, upper = (float(value) for value in values)
    ax.plot([lower, upper], [y, y], color=INK, linewidth=1.4, solid_capstyle="butt", zorder=2)
    ax.plot(
        [estimate],
        [y],
        marker=marker,
        markersize=7 if marker == "X" else 5.5,
        markerfacecolor=face,
        markeredgecolor=INK,
        linestyle="none",
        zorder=3,
    )


def value_text(ax: Axes, y: float, text: str, *, strong: bool = False) -> None:
    """Words at the right of a row."""
    ax.annotate(
        text,
        (1.0, y),
        xycoords=("axes fraction", "data"),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=SMALL,
        color=INK if strong else SOFT,
        fontweight="bold" if strong else "normal",
        annotation_clip=False,
    )


def name_rows(ax: Axes, names: Sequence[object], headings: Sequence[bool]) -> None:
    """Names at the left of the rows, first on top; headings in bold."""
    ax.set_yticks(range(len(names)), [drawable(name, 48) for name in names])
    for tick, heading in zip(ax.get_yticklabels(), headings, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0, pad=6)
    ax.spines["left"].set_visible(False)


def bars(
    ax: Axes, x: np.ndarray, width: float, place: int, legend: str, values: np.ndarray
) -> None:
    """Vertical bars; rows of `values` are height, lower, upper (NaN for no whisker)."""
    height, lower, upper = values
    ax.bar(
        x,
        height,
        width,
        facecolor=COLORS[place % len(COLORS)] if place % 2 == 0 else "white",
        edgecolor=COLORS[place % len(COLORS)] if place % 2 else "white",
        hatch=HATCHES[place % len(HATCHES)],
        linewidth=0.9,
        label=drawable(legend),
    )
    known = np.isfinite(lower) & np.isfinite(upper)
    spread = np.vstack([height - lower, upper - height])[:, known]
    if known.any():
        ax.errorbar(x[known], height[known], spread, fmt="none", ecolor=INK, **WHISKER)


def line_with_whiskers(
    ax: Axes,
    x: np.ndarray,
    values: np.ndarray,
    place: int,
    legend: str,
    *,
    areas: np.ndarray | None = None,
) -> None:
    """Line through estimates with whiskers; rows of `values` are estimate, lower, upper.

    NaN leaves a gap. `areas` are marker areas in square points.
    """
    estimate, lower, upper = values
    color, marker = COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)]
    style: dict[str, Any] = {
        "color": color,
        "linestyle": LINES[place % len(LINES)],
        "linewidth": 1.2,
    }
    spread = np.vstack([estimate - lower, upper - estimate])
    ax.errorbar(x, estimate, spread, fmt="none", ecolor=color, **WHISKER)
    if areas is None:
        ax.plot(x, estimate, marker=marker, markersize=5.5, label=drawable(legend), **style)
        return
    ax.plot(x, estimate, **style)
    ax.plot([], [], marker=marker, markersize=5.5, label=drawable(legend), **style)
    ax.scatter(x, estimate, s=areas, marker=marker, color=color, linewidth=0, zorder=3)


def wilson(successes: np.ndarray, trials: np.ndarray, prob: float = 0.95) -> np.ndarray:
    """Proportion and its Wilson interval (rows: estimate, lower, upper); NaN without trials.

    Source: Wilson (1927).

    Examples
    --------
    >>> wilson(np.array([8, 0]), np.array([10, 0])).round(3)
    array([[0.8  ,   nan],
           [0.49 ,   nan],
           [0.943,   nan]])
    """
    z = NormalDist().inv_cdf((1 + prob) / 2)
    n = np.where(trials > 0, trials, np.nan)
    p = successes / n
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.vstack([p, np.minimum(centre - half, p), np.maximum(centre + half, p)])


def name_columns(ax: Axes, names: Sequence[object]) -> None:
    """Names at the foot of the columns, on several lines where they would touch."""
    # A word of moderate length is better a little wide than broken.
    words = [len(word) for name in names for word in str(name).split()]
    width = max(int(room(ax) / max(len(names), 1)) - 1, 7, min(max(words, default=0), 12))
    labels = [textwrap.wrap(drawable(name), width, max_lines=4, placeholder="…") for name in names]
    ax.set_xticks(range(len(names)), ["\n".join(lines) for lines in labels])
