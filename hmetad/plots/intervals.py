"""Figures of intervals in rows: estimates, in panels too, and decisions about them.

Data frame or decisions → matplotlib Axes, or words.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.compare.decisions import Decisions
from hmetad.plots.frames import number_rows, require_column
from hmetad.plots.marks import backdrop, intervals, limit_across, name_rows, row_texts
from hmetad.plots.panels import AxesLike, name_panel, panel_axes, places_in_grid, share_legend
from hmetad.plots.style import (
    INK,
    SOFT,
    drawable,
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    told_apart,
)
from hmetad.text.cells import format_cell
from hmetad.text.escape import shorten
from hmetad.text.names import axis_name, in_percent, interval_kind, judged_name

# Distance of a second interval from the first, in rows.
BELOW = 0.27
# Marker and face per verdict: told apart without colour.
VERDICT_MARKERS = {
    "different": ("o", INK),
    "negligible": ("s", "white"),
    "inconclusive": ("D", "white"),
    "unreliable": ("X", "white"),
}


@check_inputs()
def forest(
    table: pd.DataFrame,
    *,
    ax: Axes | None = None,
    label: str = "label",
    estimate: str = "mean",
    lower: str = "lower",
    upper: str = "upper",
    group: str | None = None,
    reference: float | None = None,
    rope: tuple[float, float] | None = None,
    xlabel: str = "",
    beside: tuple[str, str, str] | None = None,
    names: tuple[str, str] = ("", ""),
) -> Axes:
    """Interval estimates, one row each, under a heading per group.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per estimate, drawn from the top in the order given.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    label, estimate, lower, upper : str
        Columns of the table. A row without an estimate is marked.
    group : str, optional
        Column whose values become headings.
    reference : float, optional
        Value marked by a dashed line.
    rope : (float, float), optional
        Range marked by a band.
    xlabel : str, optional
        What is estimated, with its unit.
    beside : tuple of str, optional
        Columns of a second estimate of each row, its lower and upper end: an open square and a
        thin line below the first, such as the estimate before shrinkage.
    names : tuple of str, optional
        Of the first and of the second estimates, for a legend.

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
    >>> frame = pd.DataFrame({"label": ["A"], "mean": [0.86], "lower": [0.8], "upper": [0.9]})
    >>> ax = forest(frame, reference=1.0, xlabel="M-ratio")
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['A']
    """
    asked = [*([group] if group else []), *(beside or ())]
    require_column(table, label, estimate, lower, upper, *asked)
    rows = list(forest_rows(table, label, (estimate, lower, upper), group))
    headings = [values is None for _, values in rows]
    written = ["" if values is None else in_figures(values) for _, values in rows]
    values = np.array([values or (np.nan,) * 3 for _, values in rows]).reshape(-1, 3).T
    ax = ax if ax is not None else new_row_axes(len(rows))
    others = [] if beside is None else list(forest_rows(table, label, beside, group))
    second = np.array([values or (np.nan,) * 3 for _, values in others]).reshape(-1, 3).T
    draw_rows(ax, values, [("o", INK)] * len(rows), reference, rope, second)
    if beside is not None:
        second_intervals(ax, second, names)
    row_texts(ax, written, [False] * len(rows))
    name_rows(ax, [name for name, _ in rows], headings)
    name_axes(ax, xlabel, share=0.6)
    return ax


@check_inputs(skip=("decisions",))
def decisions(decisions: Decisions, *, ax: Axes | None = None) -> Axes:
    """Intervals against the range of practical equivalence, a marker per verdict.

    Parameters
    ----------
    decisions : Decisions
        As `hmetad.decide` returns them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.
    """
    table = decisions.table()
    require_column(table, "label", "mean", "lower", "upper", "verdict")
    verdicts = [str(verdict) for verdict in table["verdict"]]
    markers = [VERDICT_MARKERS.get(verdict, ("P", SOFT)) for verdict in verdicts]
    ax = ax if ax is not None else new_row_axes(len(table))
    values = number_rows(table, "mean", "lower", "upper")
    draw_rows(ax, values, markers, decisions.null, decisions.rope)
    words = [drawable(verdict, 20) for verdict in verdicts]
    row_texts(ax, words, [verdict == "different" for verdict in verdicts])
    name_rows(ax, list(table["label"]), [False] * len(table))
    name_axes(ax, decision_axis(decisions), share=0.6)
    return ax


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
    hue: str | None = None,
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
    hue : str, optional
        Column whose values share a row, one below the other, each with a colour and a marker.
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
    asked = [name for name in (strong, hue, xlabel) if name is not None]
    require_column(table, rows, panels, estimate, lower, upper, *asked)
    names = list(dict.fromkeys(table[rows]))
    hues = [None] if hue is None else list(dict.fromkeys(table[hue]))
    told_apart("hue", len(hues), "values")
    parts = [(key, part) for key, part in table.groupby(panels, sort=False)]
    # Above what shares a row stands a legend.
    first, each = (0.85, 0.19) if hue is None else (1.2, 0.1 + 0.18 * len(hues))
    height = first + each * max(len(names), 1)
    axes = panel_axes(ax, len(parts), (2.15, height), columns=columns, margins=(1.7, 0.1))
    for panel, (key, part) in zip(axes, parts, strict=False):
        dress(panel, grid="x")
        limit_across(panel, number_rows(part, estimate, lower, upper).ravel())
        for place, value in enumerate(hues):
            own = part if hue is None else part[part[hue] == value]
            drawn = own.set_index(rows).reindex(names)
            values = number_rows(drawn, estimate, lower, upper)
            is_strong = [False] * len(names) if strong is None else drawn[strong].eq(True)
            looks = [("o", INK if one else "white") for one in is_strong]
            intervals(panel, values, looks, None if hue is None else (place, len(hues), value))
        name_panel(panel, key)
        name_axes(panel, part[xlabel].iloc[0] if xlabel is not None else "")
    if hue is not None and parts:
        share_legend(axes)
    if not parts:
        nothing_to_draw(axes[0])
    name_first_column(axes, names)
    return axes


def describe_intervals(
    table: pd.DataFrame,
    *,
    label: str = "label",
    estimate: str = "mean",
    lower: str = "lower",
    upper: str = "upper",
    group: str | None = None,
    quantity: str = "",
    most: int = 12,
) -> str:
    """Interval estimates in words, one sentence per row, as a figure's alternative text.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per estimate.
    label, estimate, lower, upper, group : str
        Columns of the table, as in `forest`.
    quantity : str, optional
        What is estimated; opens the text.
    most : int, optional
        Rows described; the text says how many more there are.

    Returns
    -------
    str

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["A"], "mean": [0.86], "lower": [0.8], "upper": [0.9]})
    >>> describe_intervals(frame, quantity="M-ratio")
    'M-ratio. A: 0.860, interval 0.800 to 0.900.'
    """
    require_column(table, label, estimate, lower, upper, *([group] if group else []))
    sentences = [f"{shorten(quantity, 80)}."] if quantity else []
    for row in table.head(most).to_dict("records"):
        name = shorten(row[label]) + (f" ({shorten(row[group])})" if group else "")
        sentences.append(f"{name}: {interval_in_words((row[estimate], row[lower], row[upper]))}.")
    if len(table) > most:
        sentences.append(f"And {len(table) - most} more.")
    return " ".join(sentences)


def name_first_column(axes: NDArray[Any], names: list[Any]) -> None:
    """Names of the rows at the panels that have none to their left."""
    shown, places = [drawable(name, 34) for name in names], places_in_grid(axes)
    for ax, (grid, row, column) in zip(axes, places, strict=True):
        has_left = any((grid, row, x) in places for x in range(column))
        ax.set_yticks(range(len(names)), [""] * len(names) if has_left else shown)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", left=False, pad=4)
        ax.spines["left"].set_visible(False)


def new_row_axes(rows: int) -> Axes:
    """Axes as high as their rows need."""
    return new_axes(7.4, 0.75 + 0.27 * max(rows, 1))


def draw_rows(
    ax: Axes,
    values: np.ndarray,
    markers: Sequence[tuple[str, str]],
    reference: float | None,
    rope: tuple[float, float] | None,
    others: np.ndarray | None = None,
) -> None:
    """Intervals in rows before their references, on an axis that holds both and others."""
    references = [] if reference is None else [reference]
    more = () if others is None else others.ravel()
    limit_across(ax, [*values.ravel(), *references, *(rope or ()), *more])
    backdrop(ax, reference, rope)
    intervals(ax, values, markers)
    if not len(markers):
        nothing_to_draw(ax)


def second_intervals(ax: Axes, values: np.ndarray, names: tuple[str, str]) -> None:
    """Thin intervals with open squares below those of the rows, and a legend of both."""
    places = np.arange(values.shape[1]) + BELOW
    estimate, lower, upper = values
    ends = np.clip([lower, upper], *ax.get_xlim())
    ax.hlines(places, *ends, color=SOFT, linewidth=0.9, zorder=1.5)
    look: dict[str, Any] = {"markerfacecolor": "white", "linestyle": "none"}
    ax.plot([], [], "o", color=INK, label=names[0], linestyle="none", markersize=5.5)
    ax.plot(estimate, places, "s", color=SOFT, label=names[1], markersize=4, zorder=2, **look)
    if all(names):
        put_legend(ax)


def forest_rows(
    table: pd.DataFrame, label: str, columns: tuple[str, str, str], group: str | None
) -> Iterator[tuple[Hashable, tuple[float, ...] | None]]:
    """Names from the top, each with its interval, or None for a heading."""
    records = table.to_dict("records")
    groups = dict.fromkeys(record[group] for record in records) if group else {None: None}
    for heading in groups:
        if group:
            yield heading, None
        for record in records:
            if not group or record[group] == heading:
                yield record[label], tuple(float(record[column]) for column in columns)


def in_figures(values: Sequence[float]) -> str:
    """Estimate and interval in figures."""
    if np.isnan(values[0]):
        return "no estimate"
    estimate, lower, upper = (format_cell(value, ".2f") for value in values)
    return f"{estimate}  [{lower}, {upper}]"


def interval_in_words(values: Sequence[float]) -> str:
    """Estimate and interval in words."""
    if np.isnan(values[0]):
        return "no estimate"
    estimate, lower, upper = (format_cell(float(value)) for value in values)
    return f"{estimate}, interval {lower} to {upper}"


def decision_axis(decisions: Decisions) -> str:
    """Name the axis of decisions: the quantity and the kind of its intervals."""
    kind = interval_kind(decisions.ci_kind)
    corrected = f", corrected for {decisions.comparisons} comparisons"
    many = corrected if decisions.comparisons > 1 else ""
    name = judged_name(decisions.quantity, is_contrast="left" in decisions.table())
    said = f"{in_percent(decisions.ci_prob)} {kind} interval{many}"
    return axis_name(decisions.quantity, said, name=name)
