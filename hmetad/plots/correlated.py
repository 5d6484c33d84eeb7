"""Posteriors of correlations between people: between tasks, or between parameters.

Fit, or draws (DataArray) → matplotlib Axes.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from hmetad.arguments import check_inputs, probability
from hmetad.errors import InputError
from hmetad.plots.marks import name_rows, row_texts
from hmetad.plots.style import (
    COLORS,
    INK,
    dress,
    name_axes,
    new_axes,
    nothing_to_draw,
    reference_line,
)
from hmetad.text.names import effect_names, in_percent
from hmetad.variable_names import name_parts

__all__ = ["correlations"]

type Floats = NDArray[np.float64]

SAMPLES = ("chain", "draw")
# Inches of a row, and of the figure beside its rows; share of a row that the highest curve fills.
EACH, BESIDE, WIDTH, FILLED = 0.55, 0.9, 5.6, 0.8
GRID = np.linspace(-0.999, 0.999, 400)


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
        A fit: all correlations that its formulas have. Or dims (chain, draw): one correlation, as
        of `hmetad.bayes.group_correlation`. Or with the two dims of a matrix of correlations, as
        ``fit["posterior"]["log_m_task|subject_corr"]``: each pair once.
    labels : mapping of str to str, optional
        Words in place of the names of effects.
    ci_prob : float, optional
        Probability of the equal-tailed intervals, whose part of each density is darker.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it. Beside
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
    >>> ax = correlations(r.assign_attrs(first="log_m", second="dprime"))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['log_m, dprime']
    """
    if isinstance(draws, xr.DataTree):
        rows = correlations_of_fit(draws, labels or {})
    else:
        rows = dict(pairs_of(draws, labels or {}))
    height = BESIDE + EACH * max(len(rows), 1)
    ax = ax if ax is not None else new_axes(WIDTH, height)
    dress(ax, grid="x")
    reference_line(ax, 0.0, vertical=True)
    known = {name: values[np.isfinite(values)] for name, values in rows.items()}
    known = {name: values for name, values in known.items() if len(values)}
    outside = (1 - ci_prob) / 2
    texts = [
        draw_density(ax, place, values, outside) for place, values in enumerate(known.values())
    ]
    name_rows(ax, list(known), [False] * len(known))
    ax.set_xlim(-1, 1)
    ax.set_ylim(max(len(known), 1) - 0.75, -1.0)
    row_texts(ax, texts, [False] * len(texts))
    name_axes(ax, f"correlation between people (mean, {in_percent(ci_prob)} equal-tailed interval)")
    if not known:
        nothing_to_draw(ax)
    return ax


def correlations_of_fit(fit: xr.DataTree, labels: Mapping[str, str]) -> dict[str, Floats]:
    """Names and draws of every correlation of a fit; of several matrices also what it is of."""
    posterior = fit["posterior"].to_dataset() if "posterior" in fit.children else xr.Dataset()
    named = {name_parts(str(name)): x for name, x in posterior.items()}
    matrices = {parts.stem: x for parts, x in named.items() if parts.role == "correlation"}
    if not matrices:
        step = "That of two parameters is bayes.group_correlation(fit, 'log_m', 'dprime')."
        allowed = "a fit with correlated effects, such as (0 + task | subject)"
        raise InputError("draws", "a fit without correlations", allowed, step)
    rows: dict[str, Floats] = {}
    for name, matrix in matrices.items():
        of = f"{name}: " if len(matrices) > 1 else ""
        rows |= {of + pair: values for pair, values in pairs_of(matrix, labels)}
    return rows


def pairs_of(draws: xr.DataArray, labels: Mapping[str, str]) -> Iterator[tuple[str, Floats]]:
    """Names of the two whose correlation it is, and its draws in one row."""
    if not isinstance(draws, xr.DataArray) or not set(SAMPLES) <= set(draws.dims):
        got = f"dims {draws.dims}" if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise InputError("draws", got, "a DataArray with dims chain and draw")
    own = [str(dim) for dim in draws.dims if dim not in SAMPLES]
    if len(own) not in (0, 2) or (own and draws.sizes[own[0]] != draws.sizes[own[1]]):
        raise InputError("draws", f"dims {draws.dims}", "no dims beside, or two of a matrix")
    values = draws.transpose(*own, *SAMPLES).to_numpy().astype(float)
    if (abs(values) > 1 + 1e-9).any():
        raise InputError("draws", f"values up to {abs(values).max():.3g}", "from -1 to 1")
    if not own:
        names = [str(draws.attrs.get(key, "")) for key in ("first", "second")]
        yield (
            ", ".join(labels.get(n, n) for n in names if n) or str(draws.name or ""),
            values.ravel(),
        )
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
