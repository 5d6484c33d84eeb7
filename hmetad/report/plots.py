"""Figures of estimates, decisions and counts.

Data frame, decisions or count table (cell, stimulus, response, rating) → matplotlib Axes.
Figures of their own need no display and no pyplot; give `ax` to draw into yours.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hmetad.errors import InputError, nearest
from hmetad.report.cells import format_cell
from hmetad.report.escape import shorten
from hmetad.report.marks import (
    backdrop,
    bars,
    interval,
    line_with_whiskers,
    name_columns,
    name_rows,
    value_text,
    wilson,
)
from hmetad.report.names import interval_kind, symbol
from hmetad.report.style import (
    INK,
    SIZE,
    SOFT,
    drawable,
    dress,
    new_axes,
    put_legend,
    reference_line,
)

__all__ = [
    "IntervalDecisions",
    "describe_intervals",
    "plot_accuracy_by_rating",
    "plot_criterion",
    "plot_decisions",
    "plot_forest",
    "plot_sensitivity_bars",
]

# Marker and face per verdict: told apart without colour.
VERDICT_MARKERS = {
    "different": ("o", INK),
    "negligible": ("s", "white"),
    "inconclusive": ("D", "white"),
    "unreliable": ("X", "white"),
}


class IntervalDecisions(Protocol):
    """What `plot_decisions` needs to know of decisions."""

    @property
    def rope(self) -> tuple[float, float]:
        """Limits of what counts as practically no difference."""

    @property
    def null(self) -> float:
        """The value that means no difference."""

    @property
    def ci_prob(self) -> float:
        """Probability inside the intervals."""

    @property
    def ci_kind(self) -> str:
        """Kind of the intervals."""

    @property
    def comparisons(self) -> int:
        """Number of comparisons the intervals allow for."""

    @property
    def quantity(self) -> str:
        """What was compared."""

    def table(self) -> pd.DataFrame:
        """One row per comparison: label, mean, lower, upper, verdict and more."""


def plot_forest(
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
) -> Axes:
    """Interval estimates, one row each, under a heading per group.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per estimate, drawn from the top in the order given.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    label, estimate, lower, upper : str
        Columns of the table. A row without estimate stays, and says so.
    group : str, optional
        Column whose values become headings.
    reference : float, optional
        Value marked by a dashed line.
    rope : (float, float), optional
        Range marked by a band.
    xlabel : str, optional
        What is estimated, with its unit.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        When the table lacks a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"label": ["A"], "mean": [0.86], "lower": [0.8], "upper": [0.9]})
    >>> ax = plot_forest(frame, reference=1.0, xlabel="M-ratio")
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['A']
    """
    _need(table, label, estimate, lower, upper, *([group] if group else []))
    rows = list(_forest_rows(table, label, (estimate, lower, upper), group))
    ax = ax if ax is not None else new_axes(7.4, 0.75 + 0.27 * len(rows))
    for place, (_, values) in enumerate(rows):
        if values is not None:
            interval(ax, place, values, "o", INK)
            value_text(ax, place, _written(values))
    backdrop(ax, reference, rope)
    name_rows(ax, [name for name, _ in rows], [values is None for _, values in rows])
    ax.set_xlabel(drawable(xlabel, 80))
    return ax


def plot_decisions(decisions: IntervalDecisions, *, ax: Axes | None = None) -> Axes:
    """Intervals against the range of practical equivalence, a marker per verdict.

    Parameters
    ----------
    decisions : IntervalDecisions
        As `hmetad.decide` returns them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    table = decisions.table()
    _need(table, "label", "mean", "lower", "upper", "verdict")
    ax = ax if ax is not None else new_axes(7.4, 0.75 + 0.27 * len(table))
    for place, row in enumerate(table.to_dict("records")):
        marker, face = VERDICT_MARKERS.get(row["verdict"], ("P", SOFT))
        interval(ax, place, (row["mean"], row["lower"], row["upper"]), marker, face)
        value_text(ax, place, drawable(row["verdict"], 20), strong=row["verdict"] == "different")
    backdrop(ax, decisions.null, decisions.rope)
    name_rows(ax, list(table["label"]), [False] * len(table))
    ax.set_xlabel(drawable(_decision_axis(decisions), 100))
    return ax


def plot_sensitivity_bars(
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
        What the bars measure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        When the table lacks a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["A"], "dprime": [2.0], "meta_d": [1.5], "m_ratio": [0.75]})
    >>> [text.get_text() for text in plot_sensitivity_bars(frame).texts]
    ['0.75']
    """
    _need(table, label, *(column for column, _ in values), *([ratio] if ratio else []))
    ax = ax if ax is not None else new_axes(1.6 + 1.3 * len(table), 3.2)
    width = 0.8 / len(values)
    for place, (column, legend) in enumerate(values):
        x = np.arange(len(table)) + (place - (len(values) - 1) / 2) * width
        columns = (column, column + lower, column + upper)
        bars(ax, x, 0.9 * width, place, legend, _columns(table, columns))
    if ratio:
        _write_ratios(ax, table, ratio, [c for name, _ in values for c in (name, name + upper)])
    dress(ax, grid="y")
    name_columns(ax, list(table[label]))
    ax.tick_params(axis="x", length=0)
    ax.set_ylabel(drawable(ylabel, 60))
    put_legend(ax)
    return ax


def plot_accuracy_by_rating(counts: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Accuracy at each confidence rating, one line per cell.

    Bars are 95 % Wilson intervals, the area of a marker grows with its number of trials, and a
    rating that was never used leaves a gap.

    Parameters
    ----------
    counts : xarray.DataArray
        Count table, dims (cell, stimulus, response, rating).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        When `counts` has other dims.
    """
    dims = {"cell", "stimulus", "response", "rating"}
    if set(counts.dims) != dims:
        raise InputError(
            "counts",
            f"dims {tuple(map(str, counts.dims))}",
            "(cell, stimulus, response, rating)",
            "Make one with count_trials.",
        )
    ax = ax if ax is not None else new_axes(5.6, 3.4)
    cells, ratings = counts["cell"].to_numpy(), counts["rating"].to_numpy()
    trials, correct = _trials_and_correct(counts)
    for place, cell in enumerate(cells):
        x = ratings + _shift(place, len(cells))
        areas = 8 + 110 * trials[place] / max(trials[place].sum(), 1)
        accuracy = wilson(correct[place], trials[place])
        line_with_whiskers(ax, x, accuracy, place, str(cell), areas=areas)
    reference_line(ax, 0.5, vertical=False)
    dress(ax, grid="y")
    ax.set_xticks(ratings)
    ax.set(xlabel="Confidence rating", ylabel="Accuracy", ylim=(None, 1.03))
    put_legend(ax)
    return ax


def plot_criterion(
    table: pd.DataFrame,
    *,
    ax: Axes | Sequence[Axes] | np.ndarray | None = None,
    x: str = "risk",
    hue: str = "model",
    panel: str | None = "task",
    estimate: str = "c",
    lower: str = "lower",
    upper: str = "upper",
    ylabel: str = "c",
    xlabel: str = "",
) -> np.ndarray:
    """Estimates with intervals over a condition, a line per hue and axes per panel.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per estimate. Conditions, hues and panels keep the order in which they appear.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per panel; a new figure by default.
    x, hue, estimate, lower, upper : str
        Columns of the table.
    panel : str or None
        Column whose values have axes of their own; None for one panel.
    ylabel, xlabel : str, optional
        What is estimated, and what the condition is.

    Returns
    -------
    numpy.ndarray of Axes

    Raises
    ------
    InputError
        When the table lacks a column, or there are not as many axes as panels.

    Examples
    --------
    >>> row = {"risk": "none", "model": "A", "task": "T", "c": 0.1, "lower": 0.0, "upper": 0.2}
    >>> plot_criterion(pd.DataFrame([row])).shape
    (1,)
    """
    _need(table, x, hue, estimate, lower, upper, *([panel] if panel else []))
    panels = list(dict.fromkeys(table[panel])) if panel else [None]
    axes = _panel_axes(ax, len(panels))
    conditions, hues = list(dict.fromkeys(table[x])), list(dict.fromkeys(table[hue]))
    for axis, name in zip(axes, panels, strict=True):
        part = table if panel is None else table[table[panel] == name]
        for place, one in enumerate(hues):
            rows = part[part[hue] == one].drop_duplicates(x).set_index(x).reindex(conditions)
            places = np.arange(len(conditions)) + _shift(place, len(hues))
            values = _columns(rows, (estimate, lower, upper))
            line_with_whiskers(axis, places, values, place, str(one))
        _finish_panel(axis, conditions, name, xlabel)
    axes[0].set_ylabel(drawable(ylabel, 60))
    _share_legend(axes)
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
        Columns of the table, as in `plot_forest`.
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
    _need(table, label, estimate, lower, upper, *([group] if group else []))
    sentences = [f"{shorten(quantity, 80)}."] if quantity else []
    for row in table.head(most).to_dict("records"):
        name = shorten(row[label]) + (f" ({shorten(row[group])})" if group else "")
        sentences.append(f"{name}: {_spoken((row[estimate], row[lower], row[upper]))}.")
    if len(table) > most:
        sentences.append(f"And {len(table) - most} more.")
    return " ".join(sentences)


def _need(table: pd.DataFrame, *columns: str) -> None:
    """Raise where a table lacks a column."""
    for column in columns:
        if column not in table.columns:
            raise InputError(
                "table",
                f"no column {column!r}",
                "a table with the columns that are drawn",
                nearest(column, map(str, table.columns)),
            )


def _forest_rows(
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


def _written(values: Sequence[float]) -> str:
    """Estimate and interval in figures."""
    if np.isnan(values[0]):
        return "no estimate"
    estimate, lower, upper = (format_cell(value, ".2f") for value in values)
    return f"{estimate}  [{lower}, {upper}]"


def _spoken(values: Sequence[float]) -> str:
    """Estimate and interval in words."""
    if np.isnan(values[0]):
        return "no estimate"
    estimate, lower, upper = (format_cell(float(value)) for value in values)
    return f"{estimate}, interval {lower} to {upper}"


def _decision_axis(decisions: IntervalDecisions) -> str:
    """Name the axis of decisions: the quantity and the kind of its intervals."""
    kind = interval_kind(decisions.ci_kind)
    many = (
        f", corrected for {decisions.comparisons} comparisons" if decisions.comparisons > 1 else ""
    )
    name = symbol(decisions.quantity)
    name = f"Difference in {name}" if "left" in decisions.table() else name
    return f"{name} ({100 * decisions.ci_prob:g} % {kind} interval{many})"


def _columns(table: pd.DataFrame, columns: tuple[str, str, str]) -> np.ndarray:
    """Estimate, lower and upper as rows; NaN where the table has no such column."""
    missing = np.full(len(table), np.nan)
    return np.vstack(
        [table[name].to_numpy(float) if name in table.columns else missing for name in columns]
    )


def _write_ratios(ax: Axes, table: pd.DataFrame, ratio: str, tops: list[str]) -> None:
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


def _trials_and_correct(counts: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Trials and correct trials, shape (cells, ratings)."""
    correct = counts.where(counts["stimulus"] == counts["response"], 0)
    order = ("cell", "rating")
    trials, right = (c.sum(("stimulus", "response")).transpose(*order) for c in (counts, correct))
    return trials.to_numpy(), right.to_numpy()


def _shift(place: int, number: int) -> float:
    """How far lines stand apart, so that whiskers do not cover each other."""
    return (place - (number - 1) / 2) * min(0.1, 0.5 / number)


def _panel_axes(ax: Axes | Sequence[Axes] | np.ndarray | None, number: int) -> np.ndarray:
    """One axes per panel: those given, or those of a new figure."""
    if ax is None:
        figure = Figure(figsize=(1.2 + 2.3 * number, 3.2), layout="constrained")
        return figure.subplots(1, number, sharey=True, squeeze=False)[0]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != number:
        raise InputError("ax", f"{len(axes)} axes", f"{number}, one per panel")
    return axes


def _finish_panel(ax: Axes, conditions: list[Hashable], name: object, xlabel: str) -> None:
    """Zero line, names of conditions and title of one panel."""
    dress(ax, grid="y")
    reference_line(ax, 0.0, vertical=False)
    name_columns(ax, conditions)
    ax.set_xlim(-0.5, len(conditions) - 0.5)
    ax.set_xlabel(drawable(xlabel, 60))
    if name is not None:
        ax.set_title(drawable(name), fontsize=SIZE, fontweight="bold", color=INK, loc="left")


def _share_legend(axes: np.ndarray) -> None:
    """One legend for all panels: above a figure of their own, else above the first panel."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure = axes[0].figure
    style: dict[str, Any] = {
        "frameon": False,
        "fontsize": SIZE,
        "labelcolor": INK,
        "ncols": len(handles),
    }
    if figure.get_layout_engine() is not None and len(figure.axes) == len(axes):
        figure.legend(handles, labels, loc="outside upper left", **style)
    else:
        put_legend(axes[0])
