"""Posteriors of people: each beside the population, and correlations between them.

Fit, or draws (DataArray) → matplotlib Axes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability
from hmetad.base.errors import ModelError, NumberError, ShapeError, UnknownError, nearest
from hmetad.base.labels import number_text
from hmetad.base.notice import undetermined_cells
from hmetad.base.results import about
from hmetad.base.variable_roles import identity_of
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import average_conditions, covariate_means, predict
from hmetad.plots.frames import draws_of_cells
from hmetad.plots.intervals import forest
from hmetad.plots.marks import name_columns, whiskers
from hmetad.plots.style import (
    COLORS,
    INK,
    SOFT,
    finish,
    new_axes,
    reference_line,
    told_apart,
)
from hmetad.text.names import axis_name, effect_names, in_percent

type Floats = NDArray[np.float64]
type Texts = NDArray[np.object_]

SAMPLES = ("chain", "draw")
# People whose names are written, and inches of the figure: for each, at least, at most, height.
NAMED, EACH, NARROWEST, WIDEST, HEIGHT = 40, 0.16, 4.0, 10.0, 3.2
# Inches of a row, and of the figure beside its rows; share of a row that the highest curve fills.
ROW, BESIDE, WIDTH, FILLED = 0.55, 0.9, 5.6, 0.8
GRID = np.linspace(-0.999, 0.999, 400)


@check_inputs(skip=("separate",), ci_prob=probability)
def people(
    fit: xr.DataTree,
    *,
    var: str = "m_ratio",
    separate: xr.DataArray | None = None,
    labels: Mapping[str, str] | None = None,
    reference: float | None = None,
    ci_prob: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Population by condition, and every participant behind it, alone and partially pooled.

    Conditions stand side by side, and participants in the order of their estimates; over a
    covariate the population is a line with a band.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned; without formulas there is no population. M and meta-d′ of cells
        without errors are left out.
    var : str, optional
        Variable.
    separate : DataArray, optional
        Dim cell: an estimate of each cell alone, such as ``fit_mle(counts)["m_ratio"]``: an open
        point, with a line to the partially pooled one.
    labels : mapping of str to str, optional
        Words for columns and levels.
    reference : float, optional
        Value marked by a dashed line.
    ci_prob : float, optional
        Probability of the equal-tailed intervals.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot. A separate estimate outside the figure is an arrow at its edge.

    Raises
    ------
    InputError
        If the fit has no such variable, or there are more conditions than can be distinguished.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> coords = {"subject": [*"abcd"] * 2, "task": [*"xxxxyyyy"]}
    >>> quiet = {"draws": 60, "chains": 2, "progressbar": False, "quiet": True, "random_seed": 1}
    >>> counts = simulate_counts([1.5] * 8, coords=coords, seed=1)
    >>> drawn = fit(counts, "group", conditions="task", **quiet)
    >>> [text.get_text() for text in people(drawn).get_xticklabels()]
    ['x', 'y']
    """
    values, words, covariates = cells_of_fit(fit, var), labels or {}, covariate_means(fit)
    columns = [x for x in Fitted.of(fit).cells if x in Fitted.of(fit).predictors]
    levels, covariate = [x for x in columns if x not in covariates], next(iter(covariates), "")
    population = predict(fit, average_conditions(fit, keep=[*levels, covariate]))[var]
    if not Fitted.of(fit).spec.formula:
        population = population.isel(cell=slice(0))
    own, of_population = names_of(values, levels, words), names_of(population, levels, words)
    names = list(dict.fromkeys([*of_population, *own]))
    told_apart("fit", len(names), "conditions")
    mean, drawn, outside = rows_of(values).mean(axis=1), rows_of(population), (1 - ci_prob) / 2
    rows = np.vstack([drawn.mean(1), np.quantile(drawn, [outside, 1 - outside], axis=1)])
    x = values[covariate].to_numpy() if covariate else places_in_columns(own, names, mean)
    if ax is None:
        ax = new_axes(WIDTH if covariate else min(3.0 + 0.9 * len(names), WIDEST), HEIGHT)
    if reference is not None:
        reference_line(ax, reference, vertical=False)
    size = 4.5 if len(mean) <= NAMED * len(names) else 2.5
    if separate is not None:
        alone, held = estimates_of(separate, values), np.append(rows, mean)
        inside = draw_separate(ax, x, alone, held, size)
        ax.vlines(x[inside], alone[inside], mean[inside], color=SOFT, linewidth=0.4, alpha=0.6)
    for place, name in enumerate(names):
        at, mine = of_population == name, own == name
        across = population[covariate].to_numpy()[at] if covariate else np.array([float(place)])
        label = (f" {name}".rstrip() if covariate else "") if covariate or not place else None
        draw_condition(ax, place, (x[mine], mean[mine]), (across, rows[:, at]), label, size)
    if not covariate:
        name_columns(ax, names)
        ax.set_xlim(-0.5, len(names) - 0.5)
    titles = [words.get(x, x) for x in ([covariate] if covariate else levels)]
    return finish(ax, " | ".join(titles), axis_name(var), grid="y")


@check_inputs(skip=("draws",), ci_prob=probability)
def correlations(
    draws: xr.DataTree | xr.DataArray,
    *,
    labels: Mapping[str, str] | None = None,
    ci_prob: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Posterior mean and interval of every correlation.

    Parameters
    ----------
    draws : DataTree or DataArray
        A fit: all correlations that its formulas have. Or dims (chain, draw): one correlation. Or
        with the two dims of a matrix of correlations, as
        ``fit["posterior"]["log_m_task|subject_corr"]``: each pair once.
    labels : mapping of str to str, optional
        Words in place of the names of effects.
    ci_prob : float, optional
        Probability of the equal-tailed intervals.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If draws have other dims, or values beyond ±1; or a fit has no correlations.

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
    outside = (1 - ci_prob) / 2
    found = [
        (name, x.mean(), *np.quantile(x, [outside, 1 - outside]))
        for name, x in known.items()
        if len(x)
    ]
    table = pd.DataFrame(found, columns=["label", "mean", "lower", "upper"])
    said = f"correlation between people (mean, {in_percent(ci_prob)} equal-tailed interval)"
    ax = forest(table, reference=0.0, xlabel=said, ax=ax)
    ax.set_xlim(-1, 1)
    return ax


def draw_condition(
    ax: Axes,
    place: int,
    people: tuple[Floats, Floats],
    population: tuple[Floats, Floats],
    label: str | None,
    size: float,
) -> None:
    """Points of participants, and of their population a diamond with whiskers, or a line."""
    (across, rows), is_line = population, len(population[0]) > 1
    color = COLORS[place % len(COLORS)] if is_line else COLORS[0]
    named = [None if label is None else x + label for x in ("partially pooled", "population")]
    look: dict[str, Any] = {"markersize": size, "linestyle": "none", "alpha": 0.7, "zorder": 3}
    ax.plot(*people, "o", color=color, label=named[0], **look)
    if not rows.size:
        return
    if is_line:
        order = np.argsort(across)
        middle, lower, upper = rows[:, order]
        ax.plot(across[order], middle, color=color, linewidth=1.6, label=named[1], zorder=4)
        ax.fill_between(across[order], lower, upper, color=color, alpha=0.15, linewidth=0)
    else:
        whiskers(ax, across, rows[1], rows[2], INK)
        ax.plot(across, rows[0], "D", color=INK, markersize=6, label=named[1], zorder=4)


def names_of(values: xr.DataArray, columns: Sequence[str], words: Mapping[str, str]) -> Texts:
    """Condition of each cell, in words."""
    levels = [map(number_text, values[name].to_numpy().tolist()) for name in columns]
    rows = list(zip(*levels, strict=True)) if levels else [()] * values.sizes["cell"]
    return np.array([" | ".join(words.get(x, x) for x in row) for row in rows], dtype=object)


def places_in_columns(own: Texts, names: Sequence[str], mean: Floats) -> Floats:
    """Place of each participant: in the column of its condition, in the order of estimates."""
    x = np.zeros(len(own))
    for place, name in enumerate(names):
        mine = np.flatnonzero(own == name)
        order = np.argsort(np.argsort(mean[mine], kind="stable"), kind="stable")
        x[mine] = place + 0.7 * ((order + 0.5) / max(len(mine), 1) - 0.5)
    return x


def cells_of_fit(fit: xr.DataTree, var: str) -> xr.DataArray:
    """Draws of a variable of each cell of a fit, or of each level where cells are not kept."""
    drawn = draws_of_cells(fit, "draws")
    if var not in drawn or "cell" not in drawn[var].dims:
        names = [str(name) for name in drawn if "cell" in drawn[name].dims]
        allowed = "a variable of the cells of the fit"
        raise UnknownError("var", repr(var), allowed, nearest(var, names))
    return drawn[var]


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


def draw_separate(
    ax: Axes, x: Floats, values: Floats, held: Floats, size: float
) -> NDArray[np.bool_]:
    """Open markers of separate estimates, arrows at the edge for those far out; who is inside."""
    low, high = np.nanmin(held), np.nanmax(held)
    room = 0.35 * (high - low)
    above, below = values > high + room, values < low - room
    is_inside: NDArray[np.bool_] = np.isfinite(values) & ~above & ~below
    inside = values[is_inside]
    bottom, top = min(low, inside.min(initial=low)), max(high, inside.max(initial=high))
    open_marker: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": INK}
    open_marker |= {"markersize": size, "linestyle": "none", "zorder": 2, "markeredgewidth": 0.7}
    ax.plot(x[is_inside], inside, "o", label="alone", **open_marker)
    for sign, edge, beyond in (("^", top, above), ("v", bottom, below)):
        ax.plot(x[beyond], np.full(beyond.sum(), edge), sign, **open_marker)
    ax.set_ylim(bottom - 0.15 * room, top + 0.15 * room)
    return is_inside


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
