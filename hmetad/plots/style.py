"""How the figures of the package look.

Axes → dressed axes: one ink, few lines, colours that colour-blind readers tell apart, and a marker
or hatch beside every colour. Figures of their own need no display and no pyplot.
"""

import math
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.transforms import Transform, offset_copy

from hmetad.base.errors import TooManyError
from hmetad.text.escape import visible

INK, SOFT, FAINT, BAND = "#1d2329", "#56606b", "#d5dae0", "#e6eaee"
# Okabe and Ito's colours, darkest first, without yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#882255", "#56B4E9", "#E69F00", "#CC79A7", "#444444")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))
SIZE, SMALL = 9.0, 8.0
# Of the usual font, on average.
SIGNS_PER_INCH = 72 / (0.55 * SIZE)
# More lines on one pair of axes are not told apart, whatever they look like.
MOST_LINES = 16


def new_axes(width: float, height: float) -> Axes:
    """Axes on a figure of their own (inches) that needs no display."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def dress(ax: Axes, *, grid: Literal["x", "y"] | None = None) -> None:
    """Bare frame, small soft ticks, and a faint grid across the axis named, if any."""
    ax.patch.set_alpha(0.0)
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(SOFT)
        spine.set_linewidth(0.8)
    ax.tick_params(length=3, width=0.8, color=SOFT, labelcolor=INK, labelsize=SIZE)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=FAINT, linewidth=0.7)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(size=SIZE, color=INK)
    ax.title.set(size=SIZE + 1, color=INK)


def finish(
    ax: Axes,
    x: object = "",
    y: object = "",
    *,
    grid: Literal["x", "y"] | None = None,
    is_empty: bool = False,
    has_legend: bool = True,
) -> Axes:
    """Axes with their look, names and legend; with words where nothing is drawn."""
    dress(ax, grid=grid)
    name_axes(ax, x, y)
    if has_legend:
        put_legend(ax)
    if is_empty:
        nothing_to_draw(ax)
    return ax


def reference_line(ax: Axes, value: float, *, vertical: bool) -> None:
    """Dashed line at a value that readers compare with."""
    draw = ax.axvline if vertical else ax.axhline
    # Above the grid, which would break its dashes.
    draw(value, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.7)


def name_axes(ax: Axes, x: object = "", y: object = "", *, share: float = 1.0) -> None:
    """Labels of both axes, as they are, on several lines where they are longer than the axis.

    `share` is what is left of the width where names of rows stand beside.
    """
    across, up = int(share * room(ax)), room(ax, upright=True)
    for axis, name, length in ((ax.xaxis, x, across), (ax.yaxis, y, up)):
        axis.set_label_text(on_lines(name, max(length, 16), 120), fontsize=SIZE, color=INK)


def nothing_to_draw(ax: Axes) -> None:
    """Words instead of marks, where a table is empty."""
    ax.text(0.5, 0.5, "nothing to draw", transform=ax.transAxes, ha="center", color=SOFT)


def told_apart(argument: str, number: int, what: str) -> None:
    """Raise where there are more lines than a reader tells apart."""
    if number > MOST_LINES:
        step = "Select some, or draw each on axes of its own."
        raise TooManyError(argument, f"{number} {what}", f"at most {MOST_LINES}", step)


def look_of(place: int) -> dict[str, Any]:
    """Colour, marker and stroke of a line, so that one of the three tells it apart."""
    return {
        "color": COLORS[place % len(COLORS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place % len(LINES)],
        "linewidth": 1.3,
        "markersize": 5,
    }


def room(ax: Axes, *, upright: bool = False) -> int:
    """How many signs of a label fit side by side along the axes, roughly."""
    box = ax.get_position(original=True)
    width, height = ax.figure.get_figure(root=True).get_size_inches()
    inches = box.height * height if upright else box.width * width
    return max(int(inches * SIGNS_PER_INCH), 1)


def put_legend(ax: Axes, width: int | None = None) -> None:
    """Legend without a frame: above the axes, or beside them where it would take half of them.

    `width`, in signs, is that of the axes unless others beside leave it more.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    columns = legend_columns(labels, room(ax) if width is None else width)
    lines = math.ceil(len(handles) / columns)
    # A line of the legend is about as high as two and a half signs are wide.
    is_tall = lines > 4 and 2.5 * lines > 0.5 * room(ax, upright=True)
    place: dict[str, Any] = (
        {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": 1}
        if is_tall
        else {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns}
    )
    if not is_tall:
        place["bbox_transform"] = above_title(ax)
    spaces = {"borderaxespad": 0.3, "handletextpad": 0.5, "columnspacing": 1.6, "borderpad": 0.2}
    size = SMALL if is_tall else SIZE
    ax.legend(handles, labels, frameon=False, fontsize=size, labelcolor=INK, **place, **spaces)


def above_title(ax: Axes) -> Transform:
    """Places of the axes, moved up by the height of a title that is there."""
    titles = [text for loc in ("left", "center", "right") if (text := ax.get_title(loc))]
    lines = max((title.count("\n") + 1 for title in titles), default=0)
    points = rcParams["axes.titlepad"] + 1.2 * (SIZE + 1) * lines if lines else 0.0
    figure = ax.figure.get_figure(root=True)
    return offset_copy(ax.transAxes, figure, y=points, units="points")


def legend_columns(labels: Sequence[str], width: int) -> int:
    """In how many columns a legend fits a width in signs."""
    for number in range(len(labels), 1, -1):
        columns = np.array_split([len(label) for label in labels], number)
        # A line and the space around it take about six signs.
        if sum(column.max() + 6 for column in columns) <= width:
            return number
    return 1


def drawable(text: object, length: int = 40) -> str:
    r"""Label that matplotlib draws as it is: no mathematics, no signs the font lacks.

    Signs that the font lacks are named by their code. A label longer than `length` loses its
    middle, and one that begins with an underscore, which legends would leave out, gets a space.

    Examples
    --------
    >>> drawable("$x_1$ & 子"), drawable("_hidden"), drawable("子" * 100, 20)
    ('\\$x_1\\$ & [U+5B50]', ' _hidden', '[U+5B50]…[U+5B50]')
    """
    return without_mathematics(with_signs_of_the_font(text, length))


def on_lines(text: object, width: int, length: int = 40) -> str:
    r"""Label as of `drawable`, on at most four lines of a width.

    Examples
    --------
    >>> on_lines("C: word removed or not", 12)
    'C: word\nremoved or\nnot'
    """
    shown = with_signs_of_the_font(text, length)
    lines = textwrap.wrap(shown, width, max_lines=4, placeholder="…")
    return without_mathematics("\n".join(lines))


def with_signs_of_the_font(text: object, length: int) -> str:
    """Text of at most a length in which signs that the font lacks are codes."""
    known = charmap(tuple(rcParams["font.family"]))
    signs = [sign if ord(sign) in known else f"[U+{ord(sign):04X}]" for sign in visible(text)]
    return "".join(cut(signs, length))


def without_mathematics(shown: str) -> str:
    """Text that neither opens mathematics nor hides from a legend."""
    return (f" {shown}" if shown.startswith("_") else shown).replace("$", r"\$")


def cut(signs: list[str], length: int) -> list[str]:
    """Signs, each perhaps a code, of at most a length in all; their middle left out."""
    if sum(map(len, signs)) <= length:
        return signs
    tail = (length - 1) // 2
    return [*fitting(signs, length - 1 - tail), "…", *fitting(signs[::-1], tail)[::-1]]


def fitting(signs: list[str], length: int) -> list[str]:
    """As many of the first signs as a length holds."""
    ends = list(accumulate(map(len, signs)))
    return signs[: bisect_right(ends, length)]


@lru_cache(maxsize=16)
def charmap(families: tuple[str, ...]) -> frozenset[int]:
    """Signs that the fonts in use can set."""
    signs: set[int] = set()
    for family in families:
        try:
            path = font_manager.findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            continue
        signs.update(font_manager.get_font(path).get_charmap())
    return frozenset(signs)
