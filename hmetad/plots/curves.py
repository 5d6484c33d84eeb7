"""Figures of measures as lines: ROC curves, information, groups, risk by coverage.

Count table, or Dataset of measures → matplotlib Axes.
Source: Meyen et al. (2025) of the bounds; El-Yaniv & Wiener (2010) of risk and coverage.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import cost, probability, with_variables
from hmetad.base.errors import ShapeError, SourceError, TooManyError, UnknownError, nearest
from hmetad.counts.checks import require_stimulus
from hmetad.measures import type2
from hmetad.measures.ideal_observers import (
    information_bounds,
    noise_information,
    type1_roc_bounds,
    type2_roc_bounds,
)
from hmetad.norms import Among, published, quantities_of, share_below
from hmetad.plots.frames import require_counts
from hmetad.plots.style import (
    BAND,
    INK,
    LINES,
    SOFT,
    drawable,
    finish,
    look_of,
    new_axes,
    reference_line,
    told_apart,
)

type Floats = NDArray[np.float64]

# Cells of one figure; and lines, or names, that are told apart by colour and stroke.
MOST_CELLS = MOST_TOLD = MOST_NAMED = 8
QUIET = "#b4bcc5"
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
        If there are more cells than can be distinguished, or no cell dim.

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
    across, up = (
        curve[name].transpose("cell", "point").to_numpy()
        for name in ("false_alarm_rate", "hit_rate")
    )
    return draw_curves(ax, cells, across, up, ("P(confident | wrong)", "P(confident | right)"))


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
        If there are more cells than can be distinguished, or no cell dim or no stimulus.

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
    names = "P(at least as surely S2 | S1)", "P(at least as surely S2 | S2)"
    return draw_curves(ax, cells, rates[:, 0], rates[:, 1], names)


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
        The larger proportion of the two labels.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If there is no ``info``, or there are more cells than can be distinguished.

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
        raise SourceError("information", got, "info and accuracy", step)
    cells = cells_to_draw(information)
    ax = ax if ax is not None else new_axes(5.0, 4.0)
    accuracy = np.linspace(prior, 1.0, 201)
    bounds = information_bounds(accuracy, prior)
    lower, upper = bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
    ax.fill_between(accuracy, lower, upper, color=BAND, linewidth=0, zorder=0)
    curves = {"lower bound": (lower, LINES[2]), "upper bound": (upper, LINES[0])}
    if prior == 0.5:
        curves["normal noise"] = (noise_information(accuracy)["normal"].to_numpy(), LINES[1])
    for name, (values, stroke) in curves.items():
        ax.plot(accuracy, values, color=SOFT, linewidth=1.0, linestyle=stroke, label=name)
    for place, cell in enumerate(cells):
        one = information.isel(cell=place)
        look = look_of(place) | {"linestyle": "none", "label": drawable(cell)}
        ax.plot(one["accuracy"], one["info"], **look)
    ax.set(xlim=(prior, 1.0), ylim=(0.0, 1.03 * upper.max()))
    return finish(ax, "accuracy", "information (bit)", grid="y", is_empty=not len(cells))


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
        raise ShapeError("accuracy", got, "two dims, one of them size")
    (kind,) = (dim for dim in accuracy.dims if dim != "size")
    values = accuracy.transpose(kind, "size")
    told_apart("accuracy", values.sizes[kind], f"values of {kind}")
    ax = ax if ax is not None else new_axes(5.0, 3.4)
    for place, name in enumerate(values[kind].to_numpy()):
        ax.plot(values["size"], values[place], label=drawable(name), **look_of(place))
    ax.set_xticks(values["size"].to_numpy())
    return finish(ax, "members", "accuracy of the group", grid="y", is_empty=not accuracy.size)


@check_inputs()
def norms(
    value: float,
    lower: float | None = None,
    upper: float | None = None,
    *,
    quantity: str = "m_ratio",
    among: Among = "people",
    domain: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A population, or a language model, among published ones: a point each.

    Parameters
    ----------
    value, lower, upper : float
        Estimate of a population, and the ends of its interval, drawn as a band.
    quantity, among, domain : str, optional
        As of `hmetad.norms.share_below`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        If the quantity has no norms, or no population is of that domain.

    Examples
    --------
    >>> norms(0.74, 0.61, 0.88).get_ylabel()
    'share of populations below'
    """
    known = np.sort(published(quantity, among, {"domain": domain}).to_numpy())
    ax = ax if ax is not None else new_axes(5.0, 3.4)
    if lower is not None and upper is not None:
        ax.axvspan(lower, upper, color=BAND, linewidth=0)
    reference_line(ax, value, vertical=True)
    shares = share_below(known, quantity, among=among, domain=domain)
    ax.plot(known, shares, "o", color=INK, markersize=3)
    ax.set_ylim(0, 1)
    below = f"share of {'populations' if among == 'people' else 'models'} below"
    return finish(ax, quantities_of(among)[quantity], below, grid="y", is_empty=False)


@check_inputs(
    curves=with_variables("selective_accuracy", dim="cell", made_by="selective_prediction")
)
def risk_coverage(
    curves: xr.Dataset, *, strong: Sequence[str] = (), ax: Axes | None = None
) -> Axes:
    """Proportion of errors among the most confident ones, one line per cell.

    At the right edge all answers are given; to the left the least confident are withheld. A line
    that decreases to the left shows confidence that distinguishes correct answers from errors; a
    flat line shows uninformative confidence.

    Parameters
    ----------
    curves : xarray.Dataset
        As `hmetad.measures.selective_prediction` returns it, dims (cell, coverage).
    strong : sequence of str, optional
        Cells with a colour and a place in the legend, at most eight; the others are thin and
        grey. By default the first eight.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `curves` is something else, or `strong` names no cell of it, or more than eight.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.measures.reliability import selective_prediction
    >>> trials = pd.DataFrame({"correct": [1, 0, 1, 1], "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> risk_coverage(selective_prediction(trials)).get_xlabel()
    'coverage (share of answers given)'
    """
    if set(curves["selective_accuracy"].dims) != {"cell", "coverage"}:
        got = f"dims {curves['selective_accuracy'].dims}"
        raise ShapeError("curves", got, "dims (cell, coverage)")
    cells = [str(name) for name in curves["cell"].to_numpy()]
    told = cells_told(cells, strong, "curves")
    ax = ax if ax is not None else new_axes(5.6, 3.8)
    risk = 1 - curves["selective_accuracy"].transpose("cell", "coverage").to_numpy()
    top = np.nanmax(risk) if np.isfinite(risk).any() else 1.0
    draw_lines(ax, curves["coverage"].to_numpy(), risk, cells, told, {"markersize": 4})
    ax.set(xlim=(0, 1.02), ylim=(0, max(1.08 * top, 0.02)))
    names = "coverage (share of answers given)", "risk (share wrong of those)"
    return finish(ax, *names, grid="y", is_empty=not cells)


@check_inputs(
    scores=with_variables("effective_reliability", dim="cell", made_by="measure_trials"),
    penalty=cost,
    ci_prob=probability,
)
def expected_score(
    scores: xr.Dataset,
    *,
    penalty: float = 1.0,
    strong: Sequence[str] = (),
    ci_prob: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Expected score by the penalty of an error, one line per cell.

    The line of a model with fewer errors decreases less. A model below 0 would score more by never
    answering.

    Parameters
    ----------
    scores : xarray.Dataset
        As `hmetad.measures.measure_trials` returns it with ``abstained=``, dims (cell,), or with
        draws of `hmetad.measures.resample_trials`, dims (cell, draw): then with intervals.
    penalty : float, optional
        Penalty that is marked; the axis ends at three times as much, or at 4.
    strong : sequence of str, optional
        Cells with a colour and a place in the legend, at most eight; the others are thin and
        grey. By default the first eight.
    ci_prob : float, optional
        Probability of the intervals, each separately.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it.

    Raises
    ------
    InputError
        When `scores` is something else, or `strong` names no cell of it, or more than eight.

    Notes
    -----
    With proportions R of correct answers and W of errors among all trials, it is R − λW.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.measures.trial_measures import measure_trials
    >>> trials = pd.DataFrame({"correct": [1, 0, 1, 0], "idk": [0, 0, 0, 1]})
    >>> expected_score(measure_trials(trials, abstained="idk")).get_xlabel()
    'penalty λ of a wrong answer'
    """
    cells = [str(name) for name in scores["cell"].to_numpy()]
    told = cells_told(cells, strong, "scores")
    ax = ax if ax is not None else new_axes(5.6, 3.8)
    costs = np.linspace(0, max(4.0, 3 * penalty), 81)
    has_draws = "draw" in scores.dims
    drawn = scores if has_draws else scores.expand_dims("draw")
    covered, reliable = (
        drawn[name].transpose("cell", "draw").to_numpy()[..., None]
        for name in ("coverage", "effective_reliability")
    )
    lines = (covered + reliable - costs * (covered - reliable)) / 2
    if has_draws:
        tail = (1 - ci_prob) / 2
        for place, name in enumerate(told):
            ends = np.quantile(lines[cells.index(name)], [tail, 1 - tail], axis=0)
            ax.fill_between(costs, *ends, color=look_of(place)["color"], alpha=0.12, linewidth=0)
    draw_lines(ax, costs, lines.mean(axis=1), cells, told, {"marker": ""})
    reference_line(ax, 0.0, vertical=False)
    reference_line(ax, penalty, vertical=True)
    ax.set(xlim=(0, costs[-1]))
    return finish(ax, "penalty λ of a wrong answer", "expected score", grid="y", is_empty=not cells)


def cells_told(cells: Sequence[str], strong: Sequence[str], argument: str) -> list[str]:
    """Cells with a place in the legend: those given, or the first."""
    for name in strong:
        if name not in cells:
            allowed = f"a cell of the {argument}"
            raise UnknownError("strong", repr(name), allowed, nearest(name, cells))
    if len(strong) > MOST_TOLD:
        raise TooManyError("strong", f"{len(strong)} cells", f"at most {MOST_TOLD}")
    return list(strong) or [*cells[:MOST_TOLD]]


def draw_lines(
    ax: Axes,
    across: Floats,
    rows: Floats,
    cells: Sequence[str],
    told: Sequence[str],
    look: dict[str, Any],
) -> None:
    """One line a cell: those that are told with a colour and a name, the others grey."""
    for row, name in zip(rows, cells, strict=True):
        if name not in told:
            ax.plot(across, row, color=QUIET, linewidth=1.1, zorder=1)
    for place, name in enumerate(told):
        own = look_of(place) | {"markevery": (place % 4, 4)} | look
        ax.plot(across, rows[cells.index(name)], label=drawable(name), **own)
    if len(told) < len(cells):
        rest = len(cells) - len(told)
        ax.plot([], [], color=QUIET, label=f"{rest} other{'s' * (rest > 1)}")


def cells_to_draw(result: xr.DataArray | xr.Dataset) -> NDArray[np.str_]:
    """Labels of the cells, if they are few enough to be told apart."""
    if "cell" not in result.dims:
        dims = f"dims ({', '.join(map(str, result.dims))})"
        raise ShapeError("counts", dims, "a dim cell", "Select with a list: .sel(cell=['all']).")
    cells: NDArray[np.str_] = result["cell"].to_numpy()
    if len(cells) > MOST_CELLS:
        step = "Select some: .isel(cell=slice(8)), or draw each on axes of its own."
        raise TooManyError("counts", f"{len(cells)} cells", f"at most {MOST_CELLS}", step)
    return cells


def draw_curves(
    ax: Axes, cells: NDArray[np.str_], across: Floats, up: Floats, names: tuple[str, str]
) -> Axes:
    """One curve per cell, with the chance diagonal, on square axes from 0 to 1."""
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.7)
    for place, cell in enumerate(cells):
        ax.plot(across[place], up[place], label=drawable(cell), **look_of(place))
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    return finish(ax, *names, is_empty=not len(cells))


def band(ax: Axes, bounds: xr.Dataset, accuracy: float) -> None:
    """Area between the bounds of an accuracy."""
    lower, upper = bounds["lower"].to_numpy(), bounds["upper"].to_numpy()
    label = f"possible at accuracy {accuracy:.3f}"
    ax.fill_between(GRID, lower, upper, color=BAND, linewidth=0, zorder=0, label=label)
