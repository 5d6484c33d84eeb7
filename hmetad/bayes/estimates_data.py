"""Estimates and how precise they are: from a table with standard errors, or from draws.

DataFrame, Dataset, DataArray or DataTree → Estimates: values, their covariance, and their cells.
Source: Hartlap et al. (2007) for a covariance from few draws.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import (
    ChoiceError,
    ColumnError,
    ConflictError,
    FormulaError,
    KindError,
    MissingError,
    ModelError,
    NumberError,
    RepeatError,
    SourceError,
    TooFewError,
    UnknownError,
    nearest,
)
from hmetad.base.labels import row_labels
from hmetad.base.monte_carlo import too_undefined
from hmetad.base.notice import Notice, notice_of, notices
from hmetad.base.untrusted import read_attr
from hmetad.likelihood.families.normal import LINKS, Link
from hmetad.specs.design import cell_table

type Floats = NDArray[np.float64]
type Source = pd.DataFrame | xr.DataArray | xr.Dataset | xr.DataTree

# Draws for each cell, below which their covariance is too uncertain.
DRAWS_A_CELL = 5
FEWEST_CELLS = 2
# Crossed factors tie all estimates together: time grows with the cube of their number.
MOST_CELLS = 2000


class Estimates(NamedTuple):
    """Estimates on the scale of their link, with what they are of.

    Parameters
    ----------
    values : array, shape (cells,)
    covariance : array, shape (cells, cells)
    cells : DataFrame
        Coordinates, a row for each estimate, with their labels as the index.
    trials : array, shape (cells,), or None
    source : str
        "errors" or "draws".
    found : list of Notice
    ratings : str
        Numbers of ratings of the cells, as attrs say them, where the quantity depends on them.
    """

    values: Floats
    covariance: Floats
    cells: pd.DataFrame
    trials: Floats | None
    source: str
    found: list[Notice]
    ratings: str = ""


def read_estimates(
    source: Source, name: str, se: str | None, link: str, columns: Sequence[str]
) -> Estimates:
    """Estimates of one quantity; those that are undefined are left out, with a notice.

    Parameters
    ----------
    source, se, link
        As in `fit_estimates`, `source` being its estimates.
    name : str
        The quantity.
    columns : sequence of str
        Columns that a formula names: the labels of a DataFrame's rows.

    Examples
    --------
    >>> table = pd.DataFrame({"set": ["A", "B"], "auroc2": [0.7, 0.8], "error": [0.02, 0.03]})
    >>> found = read_estimates(table, "auroc2", "error", "identity", ["set"])
    >>> found.cells.index.tolist(), found.covariance.diagonal().round(4).tolist()
    (['A', 'B'], [0.0004, 0.0009])
    """
    if link not in LINKS:
        raise UnknownError("link", repr(link), ", ".join(LINKS), nearest(str(link), LINKS))
    if isinstance(source, pd.DataFrame):
        cells, values, errors = of_table(source, name, se, columns)
        return of_errors(cells, values, errors, None, link, [])
    data = dataset_of(source, name)
    found = list(dict.fromkeys([*notices(data), *notices(data[name])]))
    there = set(map(str, data["cell"].values))
    fewer = sorted(there & {*read_attr(data[name].attrs, "ratings")})
    found += [notice_of("unequal-ratings", fewer)] if fewer else []
    cells = cell_table(data).set_index(np.array(list(map(str, data["cell"].values))))
    trials = trials_in(data)
    if "draw" not in data[name].dims:
        numbers, own = data[name].values.astype(float), errors_in(data, name, se)
        result = of_errors(cells, numbers, own, trials, link, found)
    elif se is not None:
        raise ConflictError("se", "draws", next_step="Draws say how precise they are: omit se.")
    else:
        others = [dim for dim in ("chain", "draw") if dim in data[name].dims]
        rows = data[name].transpose("cell", *others).values.reshape(len(cells), -1)
        result = of_draws(cells, rows.astype(float), trials, link, found)
    return result._replace(ratings=str(data[name].attrs.get("ratings", "")))


def of_errors(
    cells: pd.DataFrame,
    values: Floats,
    errors: Floats,
    trials: Floats | None,
    link: str,
    found: list[Notice],
) -> Estimates:
    """Independent estimates with standard errors, which the link takes along by its slope."""
    scale = LINKS[link]
    values, errors = np.asarray(values, dtype=float), np.asarray(errors, dtype=float)
    if (errors < 0).any():
        raise NumberError("se", f"{np.nanmin(errors)}", "standard errors above 0")
    at_edge = np.zeros(len(values))
    if trials is not None:
        moved, is_moved = moved_in(values[:, None], trials, scale)
        values, at_edge = moved[:, 0], is_moved[:, 0].astype(float)
    inside = (values > scale.least) & (values < scale.most)
    good = np.isfinite(values) & np.isfinite(errors) & (errors > 0) & inside
    kept, told = kept_cells(cells, good, at_edge, found)
    covariance = np.diag((errors[good] * scale.slope(values[good])) ** 2)
    counted = None if trials is None else trials[good]
    return Estimates(scale.function(values[good]), covariance, kept, counted, "errors", told)


def of_draws(
    cells: pd.DataFrame, rows: Floats, trials: Floats | None, link: str, found: list[Notice]
) -> Estimates:
    """Means of draws (cell, draw) on the scale of the link, with their whole covariance."""
    scale = LINKS[link]
    rows, at_edge = moved_in(rows, trials, scale)
    inside = (rows > scale.least) & (rows < scale.most)
    share = (~inside).mean(axis=1)
    ends = np.where(inside, rows, np.inf).min(axis=1), np.where(inside, rows, -np.inf).max(axis=1)
    good = ~too_undefined(share) & (ends[0] < ends[1])
    kept, told = kept_cells(cells, good, at_edge.mean(axis=1), found)
    number = rows.shape[1]
    if number < DRAWS_A_CELL * len(kept):
        step = "Their covariance is not known well enough: draw more, or give standard errors."
        allowed = f"at least {DRAWS_A_CELL * len(kept)}"
        raise NumberError("estimates", f"{number} draws of {len(kept)} cells", allowed, step)
    drawn = scale.function(np.where(inside, rows, np.nan)[good])
    means = np.nanmean(drawn, axis=1)
    # A draw that is left out of one cell stays in the others: at the mean it adds nothing, and
    # sums of products over fewer draws are raised to those over all.
    known = np.sqrt(1 - share[good])
    covariance = np.cov(np.where(inside[good], drawn, means[:, None])) / np.outer(known, known)
    # The inverse of a covariance from draws is too large by this factor on average.
    covariance *= (number - 1) / (number - len(kept) - 2)
    counted = None if trials is None else trials[good]
    partly = good & (share > 0)
    if partly.any():
        worst = share[partly].max()
        told.append(notice_of("undefined-draws.estimates", cells.index[partly], share=worst))
    return Estimates(means, covariance, kept, counted, "draws", told)


def moved_in(rows: Floats, trials: Floats | None, scale: Link) -> tuple[Floats, NDArray[np.bool_]]:
    """Values of cells (cell, draw), none at an end of the range of a link, and which had been.

    They are moved in by half a unit: 1/(2n) of the range for n trials (of 1 where it is open), else
    half of the distance of the nearest value of the cell. Others of the cell are kept as far from
    the end, so that their order stays.
    """
    at_edge = np.isfinite(rows) & ((rows == scale.least) | (rows == scale.most))
    if not at_edge.any():
        return rows, at_edge
    if trials is None:
        distance = np.fmin(rows - scale.least, scale.most - rows)
        half = np.where(distance > 0, distance, np.inf).min(axis=1, keepdims=True) / 2
        half = np.where(np.isfinite(half), half, 0)
    else:
        span = scale.most - scale.least
        half = (span if np.isfinite(span) else 1) / (2 * np.maximum(trials, 1))[:, None]
    inner = np.clip(rows, scale.least + half, scale.most - half)
    return np.where(at_edge.any(axis=1, keepdims=True), inner, rows), at_edge


def kept_cells(
    cells: pd.DataFrame, good: NDArray[np.bool_], at_edge: Floats, found: list[Notice]
) -> tuple[pd.DataFrame, list[Notice]]:
    """Cells with an estimate, and notices of them, of the others, and of values at an edge."""
    number = int(good.sum())
    if number > MOST_CELLS:
        allowed = f"at most {MOST_CELLS}"
        raise NumberError("estimates", f"{number} estimates", allowed, "Pool some of them before.")
    if number < FEWEST_CELLS:
        got = f"{number} that are defined, of {len(good)}"
        raise TooFewError("estimates", got, "two or more, inside the range of the link")
    kept = {*map(str, cells.index[good])}
    own = [replace(one, cells=tuple(x for x in one.cells if x in kept)) for one in found]
    told = [new for old, new in zip(found, own, strict=True) if new.cells or not old.cells]
    if not good.all():
        told.append(notice_of("estimates-left-out", cells.index[~good]))
    moved = good & (at_edge > 0)
    if moved.any():
        share = float(at_edge[moved].max())
        told.append(notice_of("estimates-at-edge", cells.index[moved], share=share))
    return cells[good], told


def of_table(
    table: pd.DataFrame, name: str, se: str | None, columns: Sequence[str]
) -> tuple[pd.DataFrame, Floats, Floats]:
    """Cells, values and standard errors of a data frame."""
    if se is None:
        step = f"They are often in a column such as '{name}_se'."
        raise ColumnError("se", "nothing", "the column of standard errors", step)
    named = [str(column) for column in table.columns]
    for column in (name, se, *columns):
        if named.count(column) != 1:
            raise ColumnError("estimates", f"no column {column!r}", "one", nearest(column, named))
    numbers = []
    for column in (name, se):
        if table[column].dtype.kind not in "iuf":
            raise KindError("estimates", f"{column} of {table[column].dtype}", "numbers")
        numbers.append(table[column].to_numpy(dtype=float, na_value=np.nan))
    cells = table[list(columns)].reset_index(drop=True)
    if cells.isna().to_numpy().any():
        raise MissingError("estimates", "missing values in columns of the formula", "none missing")
    parts = row_labels(cells.itertuples(index=False)) if columns else [""] * len(cells)
    is_unique = bool(columns) and len(set(parts)) == len(parts)
    labels = parts if is_unique else [
        " | ".join(filter(None, (part, str(place)))) for place, part in enumerate(parts, start=1)
    ]  # fmt: skip
    plain = {column: np.array(cells[column].tolist()) for column in columns}
    return pd.DataFrame(plain, index=labels), numbers[0], numbers[1]


def dataset_of(source: Source, name: str) -> xr.Dataset:
    """Dataset with the quantity, of a result, draws or a fit."""
    if isinstance(source, xr.DataTree):
        if "posterior" not in source.children:
            raise ModelError("estimates", "a DataTree without posterior", "a fit")
        source = source["posterior"].to_dataset()
    if isinstance(source, xr.DataArray):
        if source.name is not None and source.name != name:
            raise FormulaError("formula", f"{name!r} on the left", repr(source.name))
        source = source.to_dataset(name=name)
    if not isinstance(source, xr.Dataset):
        allowed = "a DataFrame, a Dataset, or draws"
        raise KindError("estimates", type(source).__name__, allowed)
    if name not in source.data_vars:
        raise FormulaError(
            "formula",
            f"{name!r} on the left",
            "a quantity",
            nearest(name, map(str, source.data_vars)),
        )
    values = source[name]
    if not {"cell"} <= set(values.dims) <= {"cell", "chain", "draw"} or "cell" not in values.coords:
        got = f"{name} with dims {values.dims}"
        raise SourceError("estimates", got, "dim cell with labels, and those of draws")
    if set(values.dims) == {"cell", "chain"} or values.dtype.kind not in "iuf":
        raise KindError("estimates", f"{name} of {values.dtype}", "numbers")
    if not values.indexes["cell"].is_unique:
        raise RepeatError("estimates", "a cell more than once", "cells with names of their own")
    return source


def errors_in(data: xr.Dataset, name: str, se: str | None) -> Floats:
    """Standard errors beside estimates in a Dataset."""
    found = se or f"{name}_se"
    if found not in data.data_vars or data[found].dims != ("cell",):
        step = "Name the variable with the standard errors: se=..."
        raise ChoiceError("se", repr(se), f"{found!r} in estimates, by cell", step)
    return data[found].values.astype(float)


def trials_in(data: xr.Dataset) -> Floats | None:
    """Trials of each cell, where they are known."""
    if "trials" not in data.data_vars or "cell" not in data["trials"].dims:
        return None
    counted = data["trials"]
    return np.asarray(counted.mean([dim for dim in counted.dims if dim != "cell"]), dtype=float)
