"""Figures of measures: ROC curves with their bounds, the information plane, groups by size.

Count table, or Dataset of measures → matplotlib Axes.
Source of the bounds: Meyen et al. (2025).
"""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import require_stimulus
from hmetad.errors import InputError
from hmetad.measures import type2
from hmetad.measures.ideal_observers import (
    information_bounds,
    noise_information,
    type1_roc_bounds,
    type2_roc_bounds,
)
from hmetad.plots.frames import require_counts
from hmetad.plots.style import (
    BAND,
    LINES,
    SOFT,
    drawable,
    dress,
    look_of,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    told_apart,
)

__all__ = [
    "group_accuracy",
    "information_plane",
    "type1_roc",
    "type2_roc",
]

type Floats = NDArray[np.float64]

MOST_CELLS = 8
GRID = np.linspace(0.0, 1.0, 201)


@check_inputs()
def type2_roc(counts: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Type-2 ROC curve of each cell; of a single cell with the bounds that its accuracy sets.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table with dim cell, at most eight cells.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If there are more cells than can be told apart, or no cell dim.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> ax = type2_roc(from_nr([84, 56, 48, 12], [4, 56, 64, 76]))
    >>> ax.get_xlabel()
    'P(confident | wrong)'
    """
    cells = cells_to_draw(counts)
    curve = type2.type2_roc(counts)
    ax = ax if ax is not None else new_axes(4.2, 4.2)
    if len(cells) == 1:
        right, wrong = (curve[name].isel(cell=0, point=-1) for name in ("hits", "false_alarms"))
        accuracy = (right / (right + wrong)).item()
        # The bounds are those of an observer whose predictions are best, hence above chance.
        if accuracy >= 0.5:
            band(ax, type2_roc_bounds(GRID, accuracy), accuracy)
    rates = (curve[name].transpose("cell", "point") for name in ("false_alarm_rate", "hit_rate"))
    draw_curves(ax, cells, *(rate.to_numpy() for rate in rates))
    return finish_axes(ax, "P(confident | wrong)", "P(confident | right)")


@check_inputs()
def type1_roc(counts: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Pseudo type-1 ROC curve of each cell, from response and rating together, with its bounds.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), at most eight cells.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If there are more cells than can be told apart, or no cell dim or no stimulus.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> type1_roc(from_nr([84, 56, 48, 12], [4, 56, 64, 76])).get_ylabel()
    'P(at least as surely S2 | S2)'
    """
    require_stimulus(counts, "type1_roc")
    require_counts(counts)
    cells = cells_to_draw(counts)
    table = counts.transpose("cell", "stimulus", "response", "rating").to_numpy().astype(float)
    scale = np.concatenate([table[:, :, 1, ::-1], table[:, :, 0]], axis=-1)
    total = scale.sum(axis=-1, keepdims=True)
    rates = np.divide(scale, total, out=np.full_like(scale, np.nan), where=total > 0)
    rates = np.concatenate([np.zeros_like(rates[..., :1]), rates.cumsum(axis=-1)], axis=-1)
    ax = ax if ax is not None else new_axes(4.2, 4.2)
    if len(cells) == 1:
        # Accuracy when each response is taken for the stimulus it speaks for, at equal priors.
        accuracy = np.diff(rates[0], axis=-1).max(axis=0).sum() / 2
        if np.isfinite(accuracy):
            band(ax, type1_roc_bounds(GRID, min(accuracy, 1.0)), accuracy)
    draw_curves(ax, cells, rates[:, 0], rates[:, 1])
    return finish_axes(ax, "P(at least as surely S2 | S1)", "P(at least as surely S2 | S2)")


@check_inputs()
def information_plane(
    information: xr.Dataset, *, prior: float = 0.5, ax: Axes | None = None
) -> Axes:
    """Transmitted information over accuracy, with the bounds of two labels.

    The area holds every observer; the dashed line is one with normal noise, where both labels are
    equally frequent.

    Parameters
    ----------
    information : Dataset
        What `meta_information` returned for count tables: ``info`` and ``accuracy``, dim cell, at
        most eight cells.
    prior : float, optional
        The larger share of the two labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If there is no ``info``, or there are more cells than can be told apart.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> from hmetad.measures.information import meta_information
    >>> measured = meta_information(from_nr([84, 56, 48, 12], [4, 56, 64, 76]))
    >>> information_plane(measured).get_xlabel()
    'accuracy'
    """
    if "info" not in information:
        got = f"variables {', '.join(map(str, information.data_vars))}"
        step = "meta_information of a count table gives it; a type-2 table does not."
        raise InputError("information", got, "info and accuracy", step)
    cells = cells_to_draw(information)
    ax = ax if ax is not None else new_axes(5.0, 4.0)
    accuracy = np.linspace(prior, 1.0, 201)
    bounds = information_bounds(accuracy, prior)
    lower, upper = bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
    ax.fill_between(accuracy, lower, upper, color=BAND, linewidth=0, zorder=0)
    ax.plot(accuracy, lower, color=SOFT, linewidth=1.0, linestyle=LINES[2], label="lower bound")
    ax.plot(accuracy, upper, color=SOFT, linewidth=1.0, label="upper bound")
    if prior == 0.5:
        normal = noise_information(accuracy)["normal"].to_numpy()
        ax.plot(
            accuracy, normal, color=SOFT, linewidth=1.0, linestyle=LINES[1], label="normal noise"
        )
    for place, cell in enumerate(cells):
        one = information.isel(cell=place)
        look = look_of(place) | {"linestyle": "none", "label": drawable(cell)}
        ax.plot(one["accuracy"], one["info"], **look)
    if not len(cells):
        nothing_to_draw(ax)
    dress(ax, grid="y")
    ax.set(xlim=(prior, 1.0), ylim=(0.0, 1.03 * upper.max()))
    name_axes(ax, "accuracy", "information (bit)")
    put_legend(ax)
    return ax


@check_inputs()
def group_accuracy(accuracy: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Accuracy of groups by their size, a line for each kind of member.

    Parameters
    ----------
    accuracy : DataArray
        Two dims: the kind of member, and ``size``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If the dims are others.

    Examples
    --------
    >>> coords = {"noise": ["uniform"], "size": [1, 3]}
    >>> grown = xr.DataArray([[0.7, 0.892]], coords, ("noise", "size"))
    >>> group_accuracy(grown).get_xlabel()
    'members'
    """
    if accuracy.ndim != 2 or "size" not in accuracy.dims:
        got = f"dims ({', '.join(map(str, accuracy.dims))})"
        raise InputError("accuracy", got, "two dims, one of them size")
    (kind,) = (dim for dim in accuracy.dims if dim != "size")
    values = accuracy.transpose(kind, "size")
    told_apart("accuracy", values.sizes[kind], f"values of {kind}")
    ax = ax if ax is not None else new_axes(5.0, 3.4)
    for place, name in enumerate(values[kind].to_numpy()):
        ax.plot(values["size"], values[place], label=drawable(name), **look_of(place))
    if not accuracy.size:
        nothing_to_draw(ax)
    dress(ax, grid="y")
    ax.set_xticks(values["size"].to_numpy())
    name_axes(ax, "members", "accuracy of the group")
    put_legend(ax)
    return ax


def cells_to_draw(result: xr.DataArray | xr.Dataset) -> NDArray[np.str_]:
    """Labels of the cells, if they are few enough to be told apart."""
    if "cell" not in result.dims:
        dims = f"dims ({', '.join(map(str, result.dims))})"
        raise InputError("counts", dims, "a dim cell", "Select with a list: .sel(cell=['all']).")
    cells: NDArray[np.str_] = result["cell"].to_numpy()
    if len(cells) > MOST_CELLS:
        step = "Select some: .isel(cell=slice(8)), or draw each on axes of its own."
        raise InputError("counts", f"{len(cells)} cells", f"at most {MOST_CELLS}", step)
    return cells


def draw_curves(ax: Axes, cells: NDArray[np.str_], across: Floats, up: Floats) -> None:
    """One curve per cell, with the chance diagonal."""
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.7)
    if not len(cells):
        nothing_to_draw(ax)
    for place, cell in enumerate(cells):
        ax.plot(across[place], up[place], label=drawable(cell), **look_of(place))


def band(ax: Axes, bounds: xr.Dataset, accuracy: float) -> None:
    """Area between the bounds of an accuracy."""
    lower, upper = bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
    label = f"possible at accuracy {accuracy:.3f}"
    ax.fill_between(GRID, lower, upper, color=BAND, linewidth=0, zorder=0, label=label)


def finish_axes(ax: Axes, xlabel: str, ylabel: str) -> Axes:
    """Square axes from 0 to 1 with a legend."""
    dress(ax)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    name_axes(ax, xlabel, ylabel)
    put_legend(ax)
    return ax
