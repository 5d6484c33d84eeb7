"""The marks that figures are made of.

Numbers and raw labels → points, whiskers, bands and words on given axes.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import offset_copy

from hmetad.measures.reliability import share_limits
from hmetad.measures.results import ratio
from hmetad.plots.style import (
    BAND,
    INK,
    SMALL,
    SOFT,
    drawable,
    dress,
    look_of,
    on_lines,
    reference_line,
    room,
)

# Share of a row that several intervals in it take.
SPREAD = 0.66


def limit_across(ax: Axes, numbers: Sequence[float] | np.ndarray) -> None:
    """Limits of the horizontal axis that hold all finite numbers, and what is drawn already."""
    inside = [float(number) for number in numbers if np.isfinite(number)]
    if any(one.has_data() for one in ax.get_shared_x_axes().get_siblings(ax)):
        inside += ax.get_xlim()
    if not inside:
        return
    left, right = min(inside), max(inside)
    margin = 0.05 * (right - left) or 0.5
    ax.set_xlim(left - margin, right + margin)


def intervals(
    ax: Axes,
    values: np.ndarray,
    markers: Sequence[tuple[str, str]],
    shared: tuple[int, int, object] | None = None,
) -> None:
    """Horizontal intervals in rows from the top; rows of `values` are estimate, lower, upper.

    An end at infinity is at the edge of the axes. `markers` are the shape and face of each. Where
    several share a row, `shared` is the place of these, of how many, and their name in the legend:
    they have a colour and a shape of their own.
    """
    place, number, name = shared or (0, 1, "")
    look = look_of(place) if shared else {"color": INK, "marker": None, "markersize": 5.5}
    places = np.arange(len(markers)) + SPREAD * ((place + 0.5) / number - 0.5)
    estimate, lower, upper = values
    left, right = ax.get_xlim()
    known = ~(np.isnan(lower) | np.isnan(upper))
    ends = np.clip([lower[known], upper[known]], left, right)
    ax.hlines(places[known], *ends, color=look["color"], linewidth=1.4, zorder=2)
    for shape, face in dict.fromkeys(markers):
        mine = np.array([one == (shape, face) for one in markers])
        ax.plot(
            estimate[mine],
            places[mine],
            marker=look["marker"] or shape,
            markersize=7 if shape == "X" else look["markersize"],
            markerfacecolor=look["color"] if shared else face,
            markeredgecolor=look["color"],
            linestyle="none",
            zorder=3,
            label=drawable(name) if shared else None,
        )


def backdrop(ax: Axes, reference: float | None, rope: tuple[float, float] | None) -> None:
    """Dashed line, and band of practical equivalence, perhaps open at one end."""
    dress(ax, grid="x")
    if reference is not None:
        reference_line(ax, reference, vertical=True)
    if rope is not None:
        for edge in filter(np.isfinite, rope):
            ax.axvline(edge, color=SOFT, linewidth=0.6, zorder=0.3)
        left, right = np.clip(rope, *ax.get_xlim())
        ax.axvspan(left, right, facecolor=BAND, linewidth=0, zorder=0.2)


def row_texts(ax: Axes, texts: Sequence[str], strong: Sequence[bool]) -> None:
    """Words at the right of the rows, where the axes are wide enough for them."""
    if room(ax) < 40:
        return
    beside = offset_copy(ax.get_yaxis_transform(), ax.get_figure(root=True), x=8, units="points")
    for place, (text, is_strong) in enumerate(zip(texts, strong, strict=True)):
        ax.text(
            1.0,
            place,
            text,
            transform=beside,
            va="center",
            fontsize=SMALL,
            color=INK if is_strong else SOFT,
            fontweight="bold" if is_strong else "normal",
        )


def name_rows(ax: Axes, names: Sequence[object], headings: Sequence[bool]) -> None:
    """Names at the left of the rows, first on top; headings in bold."""
    # Names leave narrow axes their half.
    length = min(48, max(10, 2 * room(ax) // 3))
    ax.set_yticks(range(len(names)), [drawable(name, length) for name in names])
    for tick, heading in zip(ax.get_yticklabels(), headings, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", left=False, pad=6)
    ax.spines["left"].set_visible(False)


def whiskers(ax: Axes, x: np.ndarray, lower: np.ndarray, upper: np.ndarray, color: str) -> None:
    """Vertical intervals with caps; none where an end is not finite.

    Ends are drawn where they are: a mean may lie outside its own interval.
    """
    known = np.isfinite(lower) & np.isfinite(upper)
    if known.any():
        at, ends = x[known], (lower[known], upper[known])
        ax.vlines(at, *ends, color=color, linewidth=1.1)
        ax.plot(np.tile(at, 2), np.concatenate(ends), "_", color=color, markersize=5)


def line_with_whiskers(
    ax: Axes,
    x: np.ndarray,
    values: np.ndarray,
    place: int,
    legend: str,
    *,
    areas: np.ndarray | None = None,
    is_joined: bool = True,
) -> None:
    """Points with whiskers, joined by a line; rows of `values` are estimate, lower, upper.

    NaN leaves a gap. `areas` are marker areas in square points.
    """
    estimate, lower, upper = values
    look = look_of(place) if is_joined else look_of(place) | {"linestyle": "none"}
    whiskers(ax, x, lower, upper, look["color"])
    if areas is None:
        ax.plot(x, estimate, label=drawable(legend), **look)
        return
    ax.plot(x, estimate, **look | {"marker": "none"})
    ax.plot([], [], label=drawable(legend), **look)
    scattered = {"marker": look["marker"], "color": look["color"], "linewidth": 0, "zorder": 3}
    ax.scatter(x, estimate, s=areas, **scattered)


def line_with_band(ax: Axes, x: np.ndarray, values: np.ndarray, place: int, legend: str) -> None:
    """Line with its interval as a band; rows of `values` are estimate, lower, upper.

    NaN leaves a gap. A single estimate has a whisker, as a band has no width there.
    """
    estimate, lower, upper = values
    look = look_of(place)
    if np.isfinite(estimate).sum() == 1:
        whiskers(ax, x, lower, upper, look["color"])
    # At most about a dozen markers, for they tell lines apart but hide what is between.
    ax.plot(x, estimate, label=drawable(legend), markevery=1 + len(x) // 12, **look)
    face, edge = (look["color"], 0.14), (look["color"], 0.5)
    # Edges tell bands apart without colour.
    strokes = {"linestyle": look["linestyle"], "linewidth": 0.6, "zorder": 1}
    ax.fill_between(x, lower, upper, facecolor=face, edgecolor=edge, **strokes)


def wilson(successes: np.ndarray, trials: np.ndarray, prob: float = 0.95) -> np.ndarray:
    """Proportion and its Wilson interval (rows: estimate, lower, upper); NaN without trials.

    Examples
    --------
    >>> wilson(np.array([8, 0]), np.array([10, 0])).round(3)
    array([[0.8  ,   nan],
           [0.49 ,   nan],
           [0.943,   nan]])
    """
    limits = share_limits(successes, trials, "wilson", prob)
    return np.vstack([ratio(successes, trials), *limits])


def name_columns(ax: Axes, names: Sequence[object]) -> None:
    """Names at the foot of the columns: on several lines, or upright, where they would touch."""
    own = room(ax) / max(len(names), 1)
    if own < 5:
        ax.set_xticks(range(len(names)), [drawable(name, 24) for name in names], rotation=90)
        return
    # A word of moderate length is better a little wide than broken.
    words = [len(word) for name in names for word in str(name).split()]
    width = max(int(own) - 1, 7, min(max(words, default=0), 12))
    ax.set_xticks(range(len(names)), [on_lines(name, width) for name in names])
