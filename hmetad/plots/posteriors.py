"""Posteriors of people: each beside the population, and correlations between them.

Fit, or draws (DataArray) → matplotlib Axes.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability
from hmetad.base.errors import ModelError, NumberError, ShapeError, UnknownError, nearest
from hmetad.base.notice import undetermined_cells
from hmetad.base.results import about
from hmetad.base.variable_roles import identity_of
from hmetad.bayes.fitted import Fitted
from hmetad.plots.frames import draws_of_cells, draws_of_population
from hmetad.plots.marks import name_rows, row_texts, whiskers
from hmetad.plots.style import (
    COLORS,
    INK,
    SOFT,
    drawable,
    dress,
    finish,
    new_axes,
    nothing_to_draw,
    reference_line,
)
from hmetad.text.names import axis_name, effect_names, in_percent

type Floats = NDArray[np.float64]

SAMPLES = ("chain", "draw")
# People whose names are written, and inches of the figure: for each, at least, at most, height.
NAMED, EACH, NARROWEST, WIDEST, HEIGHT = 40, 0.16, 4.0, 10.0, 3.2
# Inches of a row, and of the figure beside its rows; share of a row that the highest curve fills.
ROW, BESIDE, WIDTH, FILLED = 0.55, 0.9, 5.6, 0.8
GRID = np.linspace(-0.999, 0.999, 400)


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
    """Posterior of each participant, lowest first, with the population and separate estimates.

    Parameters
    ----------
    draws : DataTree or DataArray
        A fit; or dims (chain, draw, cell), such as ``fit["posterior"]["m_ratio"]``. M and meta-d′
        of cells without errors, which have none, are excluded.
    var : str, optional
        What is drawn of a fit.
    population : DataArray, optional
        Dims (chain, draw), such as ``predict(fit)["m_ratio"].isel(cell=0)``: a line at its mean and
        a band for its interval. By default that of a fit which has one.
    separate : DataArray, optional
        Dim cell, the same cells: an estimate of each participant alone, such as
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
        population = population_of(draws, var) if population is None else population
        draws = cells_of_fit(draws, var)
    values, outside = rows_of(draws), (1 - ci_prob) / 2
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
    are_named = len(labels) <= NAMED
    ax.set_xticks(x if are_named else [], labels if are_named else [])
    ax.tick_params(axis="x", labelrotation=90 if len(labels) > 6 else 0)
    ax.set_xlim(-0.7, len(x) - 0.3)
    names = "" if are_named else f"{len(labels)} people", axis_name(str(draws.name or ""))
    return finish(ax, *names, grid="y", has_legend=not (population is None and separate is None))


@check_inputs(skip=("draws",), ci_prob=probability)
def correlations(
    draws: xr.DataTree | xr.DataArray,
    *,
    labels: Mapping[str, str] | None = None,
    ci_prob: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Posterior density of every correlation, with its mean and its interval.

    Parameters
    ----------
    draws : DataTree or DataArray
        A fit: all correlations that its formulas have. Or dims (chain, draw): one correlation. Or
        with the two dims of a matrix of correlations, as
        ``fit["posterior"]["log_m_task|subject_corr"]``: each pair once.
    labels : mapping of str to str, optional
        Words instead of the names of effects.
    ci_prob : float, optional
        Probability of the equal-tailed intervals, whose part of each density is darker.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it. Next to
        each density stand its mean and interval, where there is room.

    Raises
    ------
    InputError
        If draws have other dims, or values beyond ±1; or a fit has no correlations.

    Notes
    -----
    Densities are kernel estimates of Fisher's z of the draws, on the scale of the correlation, so
    that none has mass beyond ±1.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> r = xr.DataArray(np.tanh(rng.normal(0.6, 0.2, (2, 200))), dims=("chain", "draw"))
    >>> ax = correlations(r.rename("memory, vision"))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['memory, vision']
    """
    if isinstance(draws, xr.DataTree):
        rows = correlations_of_fit(draws, labels or {})
    else:
        rows = dict(pairs_of(draws, labels or {}))
    known = {name: values[np.isfinite(values)] for name, values in rows.items()}
    known = {name: values for name, values in known.items() if len(values)}
    ax = ax if ax is not None else new_axes(WIDTH, BESIDE + ROW * max(len(rows), 1))
    reference_line(ax, 0.0, vertical=True)
    outside = (1 - ci_prob) / 2
    texts = [
        draw_density(ax, place, values, outside) for place, values in enumerate(known.values())
    ]
    name = f"correlation between people (mean, {in_percent(ci_prob)} equal-tailed interval)"
    finish(ax, name, grid="x", is_empty=not known, has_legend=False)
    name_rows(ax, list(known), [False] * len(known))
    ax.set_xlim(-1, 1)
    ax.set_ylim(max(len(known), 1) - 0.75, -1.0)
    row_texts(ax, texts, [False] * len(texts))
    return ax


def cells_of_fit(fit: xr.DataTree, var: str) -> xr.DataArray:
    """Draws of a variable of each cell of a fit, or of each level where cells are not kept."""
    drawn = draws_of_cells(fit, "draws")
    if var not in drawn or "cell" not in drawn[var].dims:
        names = [str(name) for name in drawn if "cell" in drawn[name].dims]
        allowed = "a variable of the cells of the fit"
        raise UnknownError("var", repr(var), allowed, nearest(var, names))
    return drawn[var]


def population_of(fit: xr.DataTree, var: str) -> xr.DataArray | None:
    """Draws of the population's value, where a fit has one population."""
    if "spec" in fit.attrs and var not in Fitted.of(fit).shrunk_over:
        return None
    found = draws_of_population(fit)
    is_there = var in found and set(found[var].dims) == {*SAMPLES, "cell"}
    is_one = is_there and found.sizes["cell"] == 1
    return found[var].isel(cell=0, drop=True) if is_one else None


def rows_of(draws: xr.DataArray) -> np.ndarray:
    """Draws of each cell, (cells, draws)."""
    if not isinstance(draws, xr.DataArray) or set(draws.dims) != {*SAMPLES, "cell"}:
        got = f"dims {draws.dims}" if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise ShapeError("draws", got, "a DataArray with dims chain, draw and cell")
    flat = draws.transpose("cell", *SAMPLES).to_numpy().astype(float)
    if about(str(draws.name)):
        flat[draws["cell"].isin([*undetermined_cells(draws)]).to_numpy()] = np.nan
    return flat.reshape(len(flat), math.prod(flat.shape[1:]))


def estimates_of(separate: xr.DataArray, draws: xr.DataArray) -> np.ndarray:
    """Separate estimates in the order of the cells of the draws."""
    if set(separate.dims) != {"cell"} or set(separate["cell"].values) != set(draws["cell"].values):
        raise ShapeError("separate", f"dims {separate.dims}", "a number for each cell of draws")
    found: np.ndarray = separate.sel(cell=draws["cell"].values).to_numpy().astype(float)
    return found


def draw_population(ax: Axes, population: xr.DataArray, outside: float) -> None:
    """Line and band of the population's value."""
    if set(population.dims) != set(SAMPLES):
        raise ShapeError("population", f"dims {population.dims}", "draws of one number")
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


def correlations_of_fit(fit: xr.DataTree, labels: Mapping[str, str]) -> dict[str, Floats]:
    """Names and draws of every correlation of a fit; of several matrices also what it is of."""
    posterior = fit["posterior"].to_dataset() if "posterior" in fit.children else xr.Dataset()
    known = [(identity_of(values.attrs), values) for values in posterior.values()]
    matrices = {own.stem: x for own, x in known if own and own.role == "correlation"}
    if not matrices:
        allowed = "a fit with correlated effects, such as (0 + task | subject)"
        step = "Fit several tasks with the card multitask."
        raise ModelError("draws", "a fit without correlations", allowed, step)
    rows: dict[str, Floats] = {}
    for name, matrix in matrices.items():
        of = f"{name}: " if len(matrices) > 1 else ""
        rows |= {of + pair: values for pair, values in pairs_of(matrix, labels)}
    return rows


def pairs_of(draws: xr.DataArray, labels: Mapping[str, str]) -> Iterator[tuple[str, Floats]]:
    """Names of the two whose correlation it is, and its draws in one row."""
    if not isinstance(draws, xr.DataArray) or not set(SAMPLES) <= set(draws.dims):
        got = f"dims {draws.dims}" if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise ShapeError("draws", got, "a DataArray with dims chain and draw")
    own = [str(dim) for dim in draws.dims if dim not in SAMPLES]
    if len(own) not in (0, 2) or (own and draws.sizes[own[0]] != draws.sizes[own[1]]):
        raise ShapeError("draws", f"dims {draws.dims}", "no dims beside, or two of a matrix")
    values = draws.transpose(*own, *SAMPLES).to_numpy().astype(float)
    if (abs(values) > 1 + 1e-9).any():
        raise NumberError("draws", f"values up to {abs(values).max():.3g}", "from -1 to 1")
    if not own:
        name = str(draws.name or "")
        yield labels.get(name, name), values.ravel()
        return
    effects = effect_names(own[0], draws[own[0]].values, labels)
    for i, j in combinations(range(len(effects)), 2):
        yield f"{effects[i]}, {effects[j]}", values[i, j].ravel()


def draw_density(ax: Axes, place: int, values: Floats, outside: float) -> str:
    """Density above the line of a row, the interval darker, the mean a point; both in words."""
    mean, (lower, upper) = values.mean(), np.quantile(values, [outside, 1 - outside])
    density = density_of(values)
    if density is not None:
        line = place - FILLED * density / density.max()
        inside = (lower <= GRID) & (upper >= GRID)
        ax.fill_between(GRID, place, line, color=COLORS[0], alpha=0.2, linewidth=0)
        ax.fill_between(GRID, place, line, inside, color=COLORS[0], alpha=0.45, linewidth=0)
    ax.hlines(place, lower, upper, color=INK, linewidth=1.4, zorder=2)
    ax.plot(mean, place, "o", color=INK, markersize=5, zorder=3)
    return f"{mean:.2f} [{lower:.2f}, {upper:.2f}]".replace("-", "−")


def density_of(values: Floats) -> Floats | None:
    """Density at the points of the grid; None where draws do not vary."""
    z = np.arctanh(np.clip(values, -0.9999, 0.9999))
    if np.ptp(z) < 1e-6:
        return None
    found: Floats = gaussian_kde(z)(np.arctanh(GRID)) / (1 - GRID**2)
    return found
