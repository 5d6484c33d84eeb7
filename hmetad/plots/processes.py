"""Models of confidence: what they predict beside what was observed, and which wins on whose data.

Count table and predicted counts (model, cell, ...) → matplotlib Axes, one for each model; shares
of winners (generating, winning) → Axes.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import (
    ColumnError,
    EmptyError,
    NumberError,
    ShapeError,
    SourceError,
)
from hmetad.plots.frames import require_counts
from hmetad.plots.marks import name_columns, name_rows
from hmetad.plots.panels import AxesLike, name_outer_axes, name_panel, panel_axes, share_legend
from hmetad.plots.style import (
    COLORS,
    INK,
    MARKERS,
    SIZE,
    SMALL,
    drawable,
    dress,
    finish,
    name_axes,
    new_axes,
    told_apart,
)
from hmetad.text.cells import format_cell, is_number

type Floats = NDArray[np.float64]

OUTCOME = ("stimulus", "response", "rating")
# Residuals beyond this have the strongest colour.
STRONGEST = 6.0
DIMS = ("generating", "winning")
SHADES = LinearSegmentedColormap.from_list("shares", ["#ffffff", COLORS[0]])
# Of the darkest square on which dark figures are read well.
DARK = 0.6
# Inches of a column: at least, at most, and for each letter of its name.
NARROWEST, WIDEST, LETTER = 0.72, 1.3, 0.085


@check_inputs()
def predicted_ratings(
    counts: xr.DataArray,
    predicted: xr.DataArray,
    *,
    difficulty: str = "",
    titles: Mapping[str, str] | None = None,
    ax: AxesLike | None = None,
) -> NDArray[np.object_]:
    """Mean rating of correct and incorrect responses by difficulty, observed and predicted.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating); participants are added up.
    predicted : DataArray
        Dims (model, cell, stimulus, response, rating): mean predicted counts.
    difficulty : str, optional
        Column of the cells. Without one, the proportion of each rating is drawn.
    titles : mapping of str to str, optional
        Names over the panels, by model.
    ax : Axes or sequence of Axes, optional
        Where to draw, one for each model; a new figure by default.

    Returns
    -------
    numpy.ndarray of Axes

    Raises
    ------
    InputError
        If dims are none of these, or there is no such column.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> counts = from_nr([84, 56, 48, 12], [4, 56, 64, 76])
    >>> predicted_ratings(counts, counts.expand_dims(model=["itself"]))[0].get_title(loc="left")
    'itself'
    """
    observed, models = by_level(counts, predicted, difficulty)
    names = [str(name) for name in predicted["model"].values]
    axes = panel_axes(ax, len(names), (2.5, 2.5), columns=3, share_y=True)
    levels = [*observed]
    x = np.arange(len(levels)) if difficulty else observed[levels[0]]["rating"].to_numpy()
    for axis, name in zip(axes, names, strict=False):
        for place, said in enumerate(("errors", "right")):
            seen = curve(observed, place, by_rating=not difficulty)
            said_by = curve(models[name], place, by_rating=not difficulty)
            look = {"color": COLORS[1 - place], "marker": MARKERS[place], "ms": 5}
            axis.plot(x, seen, **look, ls="", label=f"{said}, observed")
            axis.plot(x, said_by, color=COLORS[1 - place], lw=1.5, label=f"{said}, predicted")
        dress(axis, grid="y")
        name_panel(axis, (titles or {}).get(name, name))
        if difficulty:
            name_columns(axis, [level_name(level) for level in levels])
        else:
            axis.set_xticks(x)
    what = "mean rating" if difficulty else "share of ratings"
    name_outer_axes(axes, difficulty or "rating", what, share_y=True)
    share_legend(axes)
    return axes


@check_inputs()
def rating_residuals(
    counts: xr.DataArray,
    predicted: xr.DataArray,
    *,
    difficulty: str = "",
    titles: Mapping[str, str] | None = None,
    ax: AxesLike | None = None,
) -> NDArray[np.object_]:
    r"""Where models fail: observed less predicted counts, by difficulty, response and rating.

    Parameters
    ----------
    counts, predicted, difficulty, titles, ax
        As in `predicted_ratings`.

    Returns
    -------
    numpy.ndarray of Axes

    Raises
    ------
    InputError
        As `predicted_ratings`.

    Notes
    -----
    The numbers are Pearson's residuals, :math:`(n - \hat n) / \sqrt{\hat n}`, of all participants
    together: about 1 of 20 lies outside of ±2 where the model is correct.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> counts = from_nr([84, 56, 48, 12], [4, 56, 64, 76])
    >>> len(rating_residuals(counts, counts.expand_dims(model=["itself"]))[0].texts)
    4
    """
    observed, models = by_level(counts, predicted, difficulty)
    names = [str(name) for name in predicted["model"].values]
    ratings = counts.sizes["rating"]
    size = (0.34 * 2 * ratings + 0.3, 0.27 * len(observed) + 0.9)
    columns = max(1, min(3, int(10 / size[0])))
    axes = panel_axes(ax, len(names), size, columns=columns, share_y=True)
    heads = [*(f"{k}" for k in range(ratings, 0, -1)), *(f"{k}" for k in range(1, ratings + 1))]
    for axis, name in zip(axes, names, strict=False):
        table = np.array([residuals(observed[x], models[name][x]) for x in observed])
        bound = {"vmin": -STRONGEST, "vmax": STRONGEST}
        axis.imshow(table, cmap="RdBu_r", aspect="auto", **bound)
        for (row, column), value in np.ndenumerate(table):
            ink = "white" if abs(value) > 0.6 * STRONGEST else INK
            text = f"{value:.0f}".replace("-0", "0").replace("-", "\N{MINUS SIGN}")
            axis.text(column, row, text, ha="center", va="center", fontsize=SMALL - 1, color=ink)
        dress(axis)
        name_panel(axis, (titles or {}).get(name, name))
        axis.set_xticks(range(2 * ratings), heads)
        rows = [level_name(x) for x in observed] if difficulty else [""]
        axis.set_yticks(range(len(observed)), rows)
        axis.axvline(ratings - 0.5, color=INK, lw=1)
        name_axes(axis, "rating: errors | right responses", "")
    if difficulty:
        axes[0].set_ylabel(difficulty)
    return axes


@check_inputs(skip=("shares",))
def confusion(shares: xr.DataArray, *, ax: Axes | None = None) -> Axes:
    """Proportions of best models by generating model, as numbers in squares.

    A row is the generating model, and a column the best model. Squares in which both are equal have
    a frame.

    Parameters
    ----------
    shares : DataArray
        Dims (generating, winning), from 0 to 1, as `hmetad.simulate.recover_models` returns them:
        ``found["people"]``. At most 16 models.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Of a figure outside pyplot: in a notebook ``ax.figure`` as the last line shows it. Numbers
        are percent; a proportion that is missing is a dash.

    Raises
    ------
    InputError
        If `shares` has other dims, no names of models, values below 0 or above 1, or more models
        than can be distinguished.

    Examples
    --------
    >>> names = {"generating": ["sdt", "wev"], "winning": ["sdt", "wev"]}
    >>> ax = confusion(xr.DataArray([[0.9, 0.1], [0.2, 0.8]], names))
    >>> [text.get_text() for text in ax.texts]
    ['90', '10', '20', '80']
    """
    table = checked_shares(shares)
    rows, columns = (table[dim].to_numpy().tolist() for dim in DIMS)
    told_apart("shares", max(len(rows), len(columns)), "models")
    if ax is None:
        width = min(max(NARROWEST, LETTER * max(map(len, map(str, columns)), default=0)), WIDEST)
        ax = new_axes(1.9 + width * len(columns), 1.2 + 0.5 * len(rows))
    if table.size:
        draw_squares(ax, table.to_numpy().astype(float), rows, columns)
    finish(
        ax, "model that wins, % of each row", "model that data come from", is_empty=not table.size
    )
    name_rows(ax, rows, [False] * len(rows))
    name_columns(ax, columns)
    ax.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def checked_shares(shares: xr.DataArray) -> xr.DataArray:
    """Shares with generating models first, or an error that says what is missing."""
    allowed = "shares of recover_models, with dims (generating, winning)"
    step = "Give found['people'] or found['groups']."
    if not isinstance(shares, xr.DataArray) or {*shares.dims} != {*DIMS}:
        got = str(getattr(shares, "dims", type(shares).__name__))
        raise SourceError("shares", got, allowed, step)
    for dim in DIMS:
        if dim not in shares.coords:
            raise EmptyError("shares", f"no names along {dim}", allowed)
    if shares.dtype.kind not in "biuf" or ((shares < 0) | (shares > 1)).any():
        raise NumberError("shares", "values that are not proportions", "numbers from 0 to 1")
    return shares.transpose(*DIMS)


def draw_squares(ax: Axes, values: Floats, rows: list[object], columns: list[object]) -> None:
    """Squares, the darker the larger the share, with numbers; in a frame where names are the same.

    A row is a generating model, a column one that wins.
    """
    edges = [np.arange(size + 1) - 0.5 for size in values.shape]
    filled = np.nan_to_num(values)
    ax.pcolormesh(
        edges[1], edges[0], filled, cmap=SHADES, vmin=0, vmax=1, edgecolors="white", linewidth=1.5
    )
    for (row, column), share in np.ndenumerate(values):
        shown = f"{100 * share:.0f}" if np.isfinite(share) else "–"
        color = "white" if share > DARK else INK
        ax.text(column, row, shown, ha="center", va="center", fontsize=SIZE, color=color)
        if rows[row] == columns[column]:
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=1.2))


def level_name(level: Hashable) -> str:
    """A difficulty as it is written on an axis."""
    return format_cell(level, "g") if is_number(level) else drawable(level, 24)


def by_level(
    counts: xr.DataArray, predicted: xr.DataArray, difficulty: str
) -> tuple[dict[Hashable, xr.DataArray], dict[str, dict[Hashable, xr.DataArray]]]:
    """Tables (correct, rating) of each difficulty, observed and of each model."""
    require_counts(counts)
    if (
        set(predicted.dims) != {"model", *counts.dims}
        or predicted.sizes["cell"] != counts.sizes["cell"]
    ):
        got = f"sizes {dict(predicted.sizes)}"[:200]
        raise SourceError("predicted", got, "dim model, and the sizes of counts")
    if not {"model", *OUTCOME} <= {*predicted.coords}:
        named = ", ".join(("model", *OUTCOME))
        raise ShapeError("predicted", "dims without labels", f"labels of {named}")
    if difficulty and difficulty not in counts.coords:
        own = ", ".join(map(str, counts.coords))
        raise ColumnError("difficulty", repr(difficulty), f"a column of the cells: {own}")
    levels: NDArray[Any] = (
        counts[difficulty].to_numpy() if difficulty else np.zeros(counts.sizes["cell"], int)
    )
    order = in_order(list(dict.fromkeys(levels.tolist())))

    def tables(values: xr.DataArray) -> dict[Hashable, xr.DataArray]:
        bare = values.reset_coords(drop=True)
        return {one: right_and_wrong(bare.isel(cell=levels == one).sum("cell")) for one in order}

    names = map(str, predicted["model"].values)
    models = {name: tables(predicted.sel(model=name, drop=True)) for name in names}
    return tables(counts), models


def in_order(levels: list[Hashable]) -> list[Hashable]:
    """Levels by size where all are numbers, if only as text; else as they come."""
    try:
        return sorted(levels, key=lambda level: float(str(level)))
    except ValueError:
        return levels


def right_and_wrong(table: xr.DataArray) -> xr.DataArray:
    """Table (correct, rating): errors, then right responses."""
    is_right = table["stimulus"] == table["response"]
    parts = [table.where(~is_right, 0), table.where(is_right, 0)]
    both = xr.concat([part.sum(["stimulus", "response"]) for part in parts], "correct")
    return both.transpose("correct", "rating")


def curve(tables: Mapping[Hashable, xr.DataArray], correct: int, *, by_rating: bool) -> Floats:
    """Mean rating at each level, or the share of each rating in the one level there is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        own = [table.isel(correct=correct) for table in tables.values()]
        if by_rating:
            return (own[0] / own[0].sum()).to_numpy()
        return np.array([float((x * x["rating"]).sum() / x.sum()) for x in own])


def residuals(observed: xr.DataArray, predicted: xr.DataArray) -> Floats:
    """Pearson's residuals: errors from the highest rating, then right responses to the highest."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = ((observed - predicted) / np.sqrt(predicted)).to_numpy()
    found = np.nan_to_num(found, nan=0.0, posinf=99.0, neginf=-99.0)
    return np.concatenate([found[0, ::-1], found[1]])
