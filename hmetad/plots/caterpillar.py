"""People in order of what confidence is worth to them, beside their population.

Fit, or draws of each person (DataArray) → matplotlib Axes.
"""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hmetad.arguments import check_inputs, probability
from hmetad.bayes.fitted import Fitted
from hmetad.errors import InputError, nearest
from hmetad.notice import undetermined_cells
from hmetad.plots.frames import draws_of_cells, draws_of_population
from hmetad.plots.marks import whiskers
from hmetad.plots.style import (
    INK,
    SOFT,
    drawable,
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    put_legend,
    reference_line,
)
from hmetad.results import about
from hmetad.text.names import axis_name

__all__ = ["people"]

SAMPLES = ("chain", "draw")
# People whose names are written, and inches of the figure: for each, at least, at most, height.
NAMED, EACH, NARROWEST, WIDEST, HEIGHT = 40, 0.16, 4.0, 10.0, 3.2


@check_inputs(skip=("draws",), ci_prob=probability)
def people(
    draws: xr.DataTree | xr.DataArray,
    *,
    var: str = "m_ratio",
    population: xr.DataArray | None = None,
    separate: xr.DataArray | None = None,
    reference: float | None = None,
    ci_prob: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Posterior of each person, the lowest first, with the population's and separate estimates.

    Parameters
    ----------
    draws : DataTree or DataArray
        A fit; or dims (chain, draw, cell), such as ``fit["posterior"]["m_ratio"]``. M and meta-d′
        of cells without errors, which have none, are left out.
    var : str, optional
        What is drawn of a fit.
    population : DataArray, optional
        Dims (chain, draw), such as ``predict(fit)["m_ratio"].isel(cell=0)``: a line at its mean and
        a band for its interval. By default that of a fit which has one.
    separate : DataArray, optional
        Dim cell, the same cells: an estimate of each person alone, such as
        ``fit_mle(counts)["m_ratio"]``. How far the posterior lies from it is shrinkage.
    reference : float, optional
        Value marked by a dashed line.
    ci_prob : float, optional
        Probability of the equal-tailed intervals.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it. A
        separate estimate outside the figure is an arrow at its edge.

    Raises
    ------
    InputError
        If draws have other dims, a fit has no such variable, or `separate` has other cells.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draws = xr.DataArray(
    ...     rng.normal([0.9, 0.7], 0.1, (2, 100, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"]},
    ...     name="m_ratio",
    ... )
    >>> [text.get_text() for text in people(draws).get_xticklabels()]
    ['b', 'a']
    """
    if isinstance(draws, xr.DataTree):
        own = population_of(draws, var) if population is None else population
        draws, population = cells_of_fit(draws, var), own
    values = rows_of(draws)
    outside = (1 - ci_prob) / 2
    with np.errstate(invalid="ignore"):
        mean = values.mean(axis=1)
        lower, upper = np.quantile(values, [outside, 1 - outside], axis=1)
    order = np.argsort(mean, kind="stable")
    x = np.arange(len(order))
    if ax is None:
        ax = new_axes(float(np.clip(EACH * len(order), NARROWEST, WIDEST)), HEIGHT)
    dress(ax, grid="y")
    if not np.isfinite(mean).any():
        nothing_to_draw(ax)
        return ax
    mean, lower, upper = mean[order], lower[order], upper[order]
    if population is not None:
        draw_population(ax, population, outside)
    if reference is not None:
        reference_line(ax, reference, vertical=False)
    whiskers(ax, x, lower, upper, INK)
    ax.plot(x, mean, "o", color=INK, markersize=4, label="posterior", zorder=3)
    if separate is not None:
        draw_separate(ax, x, estimates_of(separate, draws)[order], lower, upper)
    labels = [drawable(name, 16) for name in draws["cell"].values[order]]
    if len(labels) <= NAMED:
        ax.set_xticks(x, labels, rotation=90 if len(labels) > 6 else 0)
    else:
        ax.set_xticks([])
    ax.set_xlim(-0.7, len(x) - 0.3)
    named = axis_name(str(draws.name)) if draws.name else ""
    name_axes(ax, "" if len(labels) <= NAMED else f"{len(labels)} people", named)
    if population is not None or separate is not None:
        put_legend(ax)
    return ax


def cells_of_fit(fit: xr.DataTree, var: str) -> xr.DataArray:
    """Draws of a variable of each cell of a fit, or of each level where cells are not kept."""
    drawn = draws_of_cells(fit, "draws")
    if var not in drawn or "cell" not in drawn[var].dims:
        names = [str(name) for name in drawn if "cell" in drawn[name].dims]
        allowed = "a variable of the cells of the fit"
        raise InputError("var", repr(var), allowed, nearest(var, names))
    return drawn[var]


def population_of(fit: xr.DataTree, var: str) -> xr.DataArray | None:
    """Draws of the population's value, where a fit has one population."""
    if "spec" in fit.attrs and var not in Fitted.of(fit).shrunk_over:
        return None
    found = draws_of_population(fit)
    is_one = (
        var in found and set(found[var].dims) == {*SAMPLES, "cell"} and found.sizes["cell"] == 1
    )
    return found[var].isel(cell=0, drop=True) if is_one else None


def rows_of(draws: xr.DataArray) -> np.ndarray:
    """Draws of each cell, (cells, draws)."""
    if not isinstance(draws, xr.DataArray) or set(draws.dims) != {*SAMPLES, "cell"}:
        got = f"dims {draws.dims}" if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise InputError("draws", got, "a DataArray with dims chain, draw and cell")
    flat = draws.transpose("cell", *SAMPLES).to_numpy().astype(float)
    if about(str(draws.name)):
        flat[draws["cell"].isin([*undetermined_cells(draws)]).to_numpy()] = np.nan
    return flat.reshape(len(flat), -1)


def estimates_of(separate: xr.DataArray, draws: xr.DataArray) -> np.ndarray:
    """Separate estimates in the order of the cells of the draws."""
    if set(separate.dims) != {"cell"} or set(separate["cell"].values) != set(draws["cell"].values):
        raise InputError("separate", f"dims {separate.dims}", "a number for each cell of draws")
    found: np.ndarray = separate.sel(cell=draws["cell"].values).to_numpy().astype(float)
    return found


def draw_population(ax: Axes, population: xr.DataArray, outside: float) -> None:
    """Line and band of the population's value."""
    if set(population.dims) != set(SAMPLES):
        raise InputError("population", f"dims {population.dims}", "draws of one number")
    flat = population.to_numpy().ravel()
    low, high = np.quantile(flat, [outside, 1 - outside])
    ax.axhspan(low, high, color=SOFT, alpha=0.2, linewidth=0, label="population", zorder=0)
    ax.axhline(flat.mean(), color=SOFT, linewidth=1.2, zorder=1)


def draw_separate(
    ax: Axes, x: np.ndarray, values: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> None:
    """Open markers of separate estimates; arrows at the edge for those far outside."""
    low, high = np.nanmin(lower), np.nanmax(upper)
    room = 0.35 * (high - low)
    above, below = values > high + room, values < low - room
    is_inside = np.isfinite(values) & ~above & ~below
    inside = values[is_inside]
    bottom, top = min(low, inside.min(initial=low)), max(high, inside.max(initial=high))
    open_marker: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": INK}
    open_marker |= {"markersize": 4.5, "linestyle": "none", "zorder": 2}
    ax.plot(x[is_inside], inside, "s", label="alone", **open_marker)
    for sign, edge, beyond in (("^", top, above), ("v", bottom, below)):
        ax.plot(x[beyond], np.full(beyond.sum(), edge), sign, **open_marker)
    ax.set_ylim(bottom - 0.15 * room, top + 0.15 * room)
