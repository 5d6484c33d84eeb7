"""Quantities by condition: side by side for named conditions, lines over numbers.

Fit, Dataset or data frame → matplotlib Axes.
"""

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability
from hmetad.base.errors import KindError, ModelError, SourceError, nearest
from hmetad.base.labels import check_same_names
from hmetad.base.monte_carlo import mean_and_interval
from hmetad.plots.frames import (
    draws_of_cells,
    draws_of_population,
    number_rows,
    require_column,
)
from hmetad.plots.marks import line_with_band, line_with_whiskers, name_columns
from hmetad.plots.panels import AxesLike, name_panel, panel_axes, share_legend
from hmetad.plots.style import finish, new_axes, reference_line, told_apart
from hmetad.text.names import axis_name, in_percent


@check_inputs(skip=("estimates",), ci_prob=probability)
def by(
    estimates: xr.DataTree | xr.Dataset | pd.DataFrame,
    var: str = "m_ratio",
    *,
    x: str = "",
    hue: str | None = "",
    lower: str = "",
    upper: str = "",
    ci_prob: float = 0.95,
    reference: float | None = None,
    xlabel: str = "",
    ylabel: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Estimates with intervals over a condition, each level of `hue` with its own colour.

    If `x` is text, its values are side by side in order of appearance, with whiskers as intervals.
    If it is a number, such as a temperature or the number of trials, a line joins the estimates,
    with a band as interval.

    Parameters
    ----------
    estimates : DataTree, Dataset or DataFrame
        A fit: its cells or, if `x` and `hue` do not distinguish these (participants), the
        population values of `predict`. Or a Dataset with dim cell, of draws (`predict`, `resample`)
        or of estimates (`fit_mle`, `resample_interval`); or a table with a row per estimate. For
        draws, the figure has the mean and the equal-tailed interval of the defined draws; nothing
        if more than 5 % are undefined.
    var : str, optional
        Variable or column to draw.
    x, hue : str, optional
        Coordinates or columns; None for no `hue`. By default task, else the first grouping column
        of a fit or Dataset; and model, if it exists. To show the values of a number side by side,
        make them text.
    lower, upper : str, optional
        Columns of the interval; by default `var` with ``_lower`` and ``_upper``. Without such
        columns no interval is drawn.
    ci_prob : float, optional
        Probability of the interval of draws.
    reference : float, optional
        Value marked by a dashed line.
    xlabel, ylabel : str, optional
        By default `x`, and the symbol of `var` with its unit.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If there is no such variable or column, there are several estimates of one place, or more
        levels of `hue` than can be distinguished.

    Examples
    --------
    >>> rows = {"task": ["A", "B"], "model": "GPT-5", "m_ratio": [0.86, 0.9]}
    >>> ax = by(pd.DataFrame(rows), reference=1.0)
    >>> ax.get_ylabel(), [tick.get_text() for tick in ax.get_xticklabels()]
    ('M-ratio', ['A', 'B'])
    """
    if isinstance(estimates, xr.DataTree):
        own = draws_of_cells(estimates, "estimates")
        x, hue = places_of(own, x, hue)
        if not are_told_apart(own, x, hue):
            population = draws_of_population(estimates)
            own = population if {x, hue or x} <= {*population.coords} else own
        estimates = own
    elif isinstance(estimates, xr.Dataset):
        x, hue = places_of(estimates, x, hue)
    frame, said = drawn_frame(estimates, var, ci_prob)
    x = x or "task"
    hue = ("model" if "model" in frame else None) if hue == "" else hue
    named = [name for name in (x, hue, var, lower, upper) if name]
    require_column(frame, *named, argument="estimates")
    columns = (var, lower or f"{var}_lower", upper or f"{var}_upper")
    is_scale = is_numeric_dtype(frame[x]) and not is_bool_dtype(frame[x])
    lines = lines_of(frame, x, hue)
    if ax is None:
        room = 5.6 if is_scale else float(np.clip(1.2 + 0.2 * frame[x].nunique(), 5.6, 14.0))
        ax = new_axes(room, 3.4)
    if is_scale:
        draw_over(ax, lines, x, columns)
    else:
        draw_beside(ax, lines, x, columns, list(dict.fromkeys(frame[x])))
    if reference is not None:
        reference_line(ax, reference, vertical=False)
    names = xlabel or x, ylabel or axis_name(var, *said)
    return finish(ax, *names, grid="y", is_empty=frame.empty, has_legend=bool(hue))


@check_inputs()
def criterion(
    table: pd.DataFrame,
    *,
    ax: AxesLike | None = None,
    x: str = "risk",
    hue: str = "model",
    panel: str | None = "task",
    estimate: str = "c",
    lower: str = "lower",
    upper: str = "upper",
    ylabel: str = "",
    xlabel: str = "",
) -> np.ndarray:
    """Estimates over conditions in order, joined by a line per hue, with axes per panel.

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
        What is estimated, by default the symbol of `estimate` with its unit; what the condition is.

    Returns
    -------
    numpy.ndarray of Axes
        Of a figure outside pyplot: in a notebook ``axes[0].figure`` as the last line shows it.

    Raises
    ------
    InputError
        When the table lacks a column, has several estimates of one place, or more hues than can be
        distinguished; or there are not as many axes as panels.

    Examples
    --------
    >>> row = {"risk": "none", "model": "A", "task": "T", "c": 0.1, "lower": 0.0, "upper": 0.2}
    >>> criterion(pd.DataFrame([row])).shape
    (1,)
    """
    require_column(table, *(name for name in (x, hue, estimate, lower, upper, panel) if name))
    parts = dict(iter(table.groupby(panel, sort=False))) if panel else {"": table}
    axes = panel_axes(ax, len(parts), (2.3, 3.2), columns=99, margins=(1.2, 0.0), share_y=True)
    hues, conditions = list(dict.fromkeys(table[hue])), list(dict.fromkeys(table[x]))
    for axis, (name, part) in zip(axes, parts.items(), strict=False):
        lines = lines_of(part, x, hue, hues)
        draw_beside(axis, lines, x, (estimate, lower, upper), conditions, is_joined=True)
        reference_line(axis, 0.0, vertical=False)
        name_panel(axis, name)
    for place, axis in enumerate(axes):
        name = "" if place else ylabel or axis_name(estimate)
        finish(axis, xlabel, name, grid="y", is_empty=table.empty, has_legend=False)
    share_legend(axes)
    return axes


def places_of(estimates: xr.Dataset, x: str, hue: str | None) -> tuple[str, str | None]:
    """Columns of the cells that stand for x and hue, where these are not named."""
    columns = [str(name) for name, one in estimates.coords.items() if one.dims == ("cell",)]
    grouping = [name for name in columns if name not in ("cell", hue)]
    x = x or next((name for name in ("task", *grouping) if name in columns), "cell")
    if hue == "":
        hue = "model" if "model" in columns and x != "model" else None
    return x, hue


def are_told_apart(estimates: xr.Dataset, x: str, hue: str | None) -> bool:
    """Whether no two cells have the same x and hue; of columns that are missing nothing is said."""
    names = [name for name in (x, hue) if name]
    if not {*names} <= {*estimates.coords}:
        return True
    columns = pd.DataFrame({name: estimates[name].to_numpy() for name in names})
    return not columns.duplicated().any()


def drawn_frame(
    estimates: object, var: str, ci_prob: float
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Table of a variable with its interval, and a description of the interval."""
    if isinstance(estimates, pd.DataFrame):
        return estimates, ()
    if not isinstance(estimates, xr.Dataset):
        allowed = "a fit, a Dataset or a data frame"
        raise KindError("estimates", f"a {type(estimates).__name__}", allowed)
    if var not in estimates:
        names = map(str, estimates.data_vars)
        raise ModelError("var", repr(var), "a variable of estimates", nearest(var, names))
    sampled = [dim for dim in ("chain", "draw") if dim in estimates[var].dims]
    if not sampled:
        return estimate_with_interval(estimates, var).to_dataframe().reset_index(), ()
    values = estimates[var]
    check_same_names(values.coords, [f"{var}_lower", f"{var}_upper"])
    found = mean_and_interval(values, sampled, ci_prob)
    summary = xr.Dataset({var: found.pop("mean")})
    summary = summary.assign({f"{var}_{side}": x for side, x in found.items()})
    said = f"{in_percent(ci_prob)} equal-tailed interval"
    return summary.to_dataframe().reset_index(), (said,)


def estimate_with_interval(estimates: xr.Dataset, var: str) -> xr.Dataset:
    """A variable with the interval that stands beside it, if any."""
    values = estimates[var]
    if "summary" in values.dims:
        names = {"estimate": var, "lower": f"{var}_lower", "upper": f"{var}_upper"}
        return values.to_dataset("summary").rename_vars(names)
    sides = [f"{var}_{side}" for side in ("lower", "upper")]
    return estimates[[var, *(name for name in sides if name in estimates)]]


def lines_of(
    frame: pd.DataFrame, x: str, hue: str | None, hues: Sequence[Hashable] | None = None
) -> dict[Hashable, pd.DataFrame]:
    """Rows of each level of hue, in the order in which levels appear, each with one row per x."""
    if hue is None:
        lines: dict[Hashable, pd.DataFrame] = {"": frame}
    else:
        groups = frame.groupby(hue, sort=False, dropna=False)
        found = dict[Hashable, pd.DataFrame](iter(groups))
        lines = {level: found.get(level, frame.iloc[:0]) for level in hues or found}
    told_apart("estimates", len(lines), f"values of {hue}")
    for level, part in lines.items():
        if part[x].duplicated().any():
            place = f"{x} {part[x][part[x].duplicated()].iloc[0]!r}"
            got = f"several rows of {place}" + (f" and {hue} {level!r}" if hue else "")
            others = ", ".join(str(name) for name in frame.columns if name not in (x, hue))
            raise SourceError("estimates", got, "one", f"Select by another column: {others}.")
    return lines


def draw_beside(
    ax: Axes,
    lines: dict[Hashable, pd.DataFrame],
    x: str,
    columns: tuple[str, str, str],
    conditions: Sequence[Hashable],
    *,
    is_joined: bool = False,
) -> None:
    """Points with whiskers, levels side by side at every condition."""
    # So far apart that whiskers do not cover each other.
    step = min(0.1 if is_joined else 0.2, (0.5 if is_joined else 0.7) / max(len(lines), 1))
    for place, (level, part) in enumerate(lines.items()):
        rows = part.set_index(x).reindex(list(conditions))
        across = np.arange(len(conditions)) + (place - (len(lines) - 1) / 2) * step
        values = number_rows(rows, *columns)
        line_with_whiskers(ax, across, values, place, str(level), is_joined=is_joined)
    name_columns(ax, conditions)
    ax.set_xlim(-0.5, max(len(conditions), 1) - 0.5)


def draw_over(
    ax: Axes, lines: dict[Hashable, pd.DataFrame], x: str, columns: tuple[str, str, str]
) -> None:
    """Lines with bands over a number."""
    for place, (level, part) in enumerate(lines.items()):
        rows = part.sort_values(x)
        values = number_rows(rows, *columns)
        line_with_band(ax, rows[x].to_numpy(float), values, place, str(level))
    if all(is_integer_dtype(part[x]) for part in lines.values()):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
