"""How the figures of the package look.

Axes → dressed axes: one ink, few lines, colours that colour-blind readers tell apart, and a marker
or hatch beside every colour.
"""

from functools import lru_cache
from typing import Any, Literal

from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from hmetad.report.escape import shorten

__all__ = [
    "BAND",
    "COLORS",
    "FAINT",
    "HATCHES",
    "INK",
    "LINES",
    "MARKERS",
    "SOFT",
    "drawable",
    "dress",
    "new_axes",
    "put_legend",
    "reference_line",
    "room",
]

INK, SOFT, FAINT, BAND = "#1d2329", "#56606b", "#d5dae0", "#e6eaee"
# Okabe and Ito's colours, darkest first, without yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#882255", "#56B4E9", "#E69F00", "#CC79A7", "#444444")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LINES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----")
SIZE, SMALL = 9.0, 8.0
POINTS = 72


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


def reference_line(ax: Axes, value: float, *, vertical: bool) -> None:
    """Dashed line at a value that readers compare with."""
    draw = ax.axvline if vertical else ax.axhline
    draw(value, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.5)


def room(ax: Axes) -> int:
    """How many signs of a label fit side by side on the axes, roughly."""
    width = ax.get_position().width * ax.figure.get_figure(root=True).get_figwidth() * POINTS
    return max(int(width / (0.6 * SIZE)), 1)


def put_legend(ax: Axes, **settings: object) -> None:
    """Legend above the axes, in as many columns as fit, without a frame."""
    handles, labels = ax.get_legend_handles_labels()
    fitting = room(ax) // (max(map(len, labels), default=0) + 7)
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.3}
    options: dict[str, Any] = {
        "frameon": False,
        "fontsize": SIZE,
        "labelcolor": INK,
        "handletextpad": 0.5,
        "columnspacing": 1.6,
        "borderpad": 0.2,
        "ncols": max(1, min(len(handles), fitting)),
    }
    if handles:
        ax.legend(**place | options | settings)


def drawable(text: object, length: int = 40) -> str:
    r"""Label that matplotlib draws as it is: no mathematics, no signs the font lacks.

    Examples
    --------
    >>> drawable("$x_1$ & 子")
    '\\$x_1\\$ & [U+5B50]'
    """
    known = _charmap(tuple(rcParams["font.family"]))
    line = "".join(
        sign if ord(sign) in known else f"[U+{ord(sign):04X}]" for sign in shorten(text, length)
    )
    return line.replace("$", r"\$")


@lru_cache(maxsize=16)
def _charmap(families: tuple[str, ...]) -> frozenset[int]:
    """Signs that the fonts in use can set."""
    signs: set[int] = set()
    for family in families:
        try:
            path = font_manager.findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            continue
        signs.update(font_manager.get_font(path).get_charmap())
    return frozenset(signs)
