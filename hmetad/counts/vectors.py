"""The field's count vectors and count tables.

nR_S1 and nR_S2 ⇄ DataArray (cell, stimulus, response, rating) of counts.
Source: the layout of the vectors is that of Maniscalco & Lau (2012).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import KindError, NumberError, RepeatError, ShapeError, TooFewError
from hmetad.base.notice import with_notices
from hmetad.counts.checks import STIMULI, TYPE1, TYPE1_DIMS, require_stimulus
from hmetad.counts.columns import alike_notices, column_names, refuse_unwritable
from hmetad.counts.tables import cell_labels, count_notices, count_table


@check_inputs(skip=("nR_S1", "nR_S2"))
def from_nr(
    nR_S1: ArrayLike,
    nR_S2: ArrayLike,
    *,
    covariates: Mapping[str, Any] | None = None,
    **coords: Any,
) -> xr.DataArray:
    """Count table from the field's count vectors.

    Parameters
    ----------
    nR_S1, nR_S2 : array_like of int, shape (2K,) or (cells, 2K)
        Trials with stimulus S1 and S2, in the order: response S1 with rating K..1, then response
        S2 with rating 1..K. Raw counts, not padded.
    covariates : mapping of str to scalar or sequence of length cells, optional
        Further coordinates for formulas, such as ``{"age": [31, 45]}``, which are in no label.
    **coords : scalar or sequence of length cells
        Coordinates of the cells (model, task, subject, ...); their values make the cell labels.

    Returns
    -------
    DataArray
        Integer ``counts`` (trials) with dims (cell, stimulus, response, rating). Without `coords`
        one row is the cell ``"all"`` and several are ``"1"``, ``"2"``, ...

    Raises
    ------
    InputError
        If counts are negative, fractional or missing; if the shapes differ or the length is odd;
        if a coordinate has the wrong length or a reserved name; if two cells get the same label.

    Examples
    --------
    >>> counts = from_nr([5, 3, 2, 1], [1, 2, 4, 6], model="A")
    >>> counts.sel(cell="A", stimulus="S1", response="S1").values
    array([3, 5])
    """
    first, second = count_rows("nR_S1", nR_S1), count_rows("nR_S2", nR_S2)
    if np.shape(nR_S1) != np.shape(nR_S2):
        got = f"shape {np.shape(nR_S2)} beside {np.shape(nR_S1)} of nR_S1"
        raise ShapeError("nR_S2", got, "the shape of nR_S1")
    size, K = len(first), first.shape[1] // 2
    cells, labels = labelled_cells(size, coords, covariates or {})
    rows = np.stack([first, second], axis=1)
    values = np.stack([rows[..., K - 1 :: -1], rows[..., K:]], axis=2)
    attrs = {
        "labels": STIMULI,
        "by": [*coords],
        "covariates": [*(covariates or {})],
        "rows_dropped": 0,
        "ratings_rule": f"K = {K}, from the length of nR_S1",
    }
    counts = count_table(values, TYPE1, cells, attrs, labels)
    return with_notices(counts, [*count_notices(counts), *alike_notices(cells[[*coords]], labels)])


@check_inputs(skip=("counts",))
def to_nr(counts: xr.DataArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count vectors of a count table: the inverse of `from_nr`.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), or one cell of it.

    Returns
    -------
    nR_S1 : ndarray of int, shape (cells, 2K)
        Trials of S1, in the order: response S1 with rating K..1, then response S2 with rating 1..K.
        Shape (2K,) where the table has no cell dim.
    nR_S2 : ndarray of int, shape (cells, 2K)
        Trials of S2, likewise.

    Raises
    ------
    InputError
        If the table has no stimulus, or is no count table.

    Examples
    --------
    >>> nR_S1, nR_S2 = to_nr(from_nr([5, 3, 2, 1], [1, 2, 4, 6]))
    >>> nR_S1
    array([[5, 3, 2, 1]])
    """
    require_stimulus(counts, "to_nr")
    values = counts.transpose(..., *TYPE1_DIMS).to_numpy()
    vectors = np.concatenate([values[..., 0, ::-1], values[..., 1, :]], axis=-1)
    return vectors[..., 0, :], vectors[..., 1, :]


def labelled_cells(
    size: int, coords: Mapping[str, Any], covariates: Mapping[str, Any]
) -> tuple[pd.DataFrame, list[str]]:
    """Columns of so many cells, checked, and the labels that those of `coords` make."""
    given = {"coords": coords, "covariates": covariates}
    names, others = (column_names(argument, [*own]) for argument, own in given.items())
    twice = [name for name in others if name in names]
    if twice:
        raise RepeatError("covariates", repr(twice[0]), "names other than those of coords")
    columns = {
        name: cell_values(f"{argument} {name!r}", value, size)
        for argument, own in given.items()
        for name, value in own.items()
    }
    cells = pd.DataFrame(columns, range(size))
    numbered = not names and size > 1
    return cells, [str(i + 1) for i in range(size)] if numbered else cell_labels(cells[names])


def count_rows(argument: str, vector: ArrayLike) -> NDArray[np.int64]:
    """Raw counts as integers of shape (cells, 2K)."""
    try:
        numbers = np.asarray(vector, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        allowed = "whole numbers, (2K,) or (cells, 2K)"
        raise KindError(argument, f"{vector!r:.80}", allowed) from error
    if numbers.ndim not in (1, 2) or numbers.size == 0 or numbers.shape[-1] % 2:
        raise ShapeError(argument, f"shape {numbers.shape}", "shape (2K,) or (cells, 2K)")
    off = ~np.isfinite(numbers) | (numbers < 0) | (numbers > 2**53)
    if off.any():
        raise TooFewError(argument, f"{numbers[off][0]:g}", "counts of 0 or more, up to 2**53")
    padded = numbers != np.round(numbers)
    if padded.any():
        step = "Pass raw counts; name a correction where one is needed."
        raise NumberError(argument, f"the padded count {numbers[padded][0]:g}", "integers", step)
    return np.atleast_2d(numbers).astype(np.int64)


def cell_values(argument: str, value: object, size: int) -> list[object]:
    """Values of a coordinate or covariate, one per cell."""
    allowed = f"a scalar or one value for each of {size} cells"
    # As objects: NumPy's own text ends at a NUL.
    array = np.asarray(value, dtype=object)
    refuse_unwritable(argument, (x for x in array.ravel().tolist() if isinstance(x, str)))
    if array.ndim == 0:
        return [array.item()] * size
    if array.shape != (size,):
        raise ShapeError(argument, f"shape {array.shape}", allowed)
    return list(value)  # type: ignore[call-overload]
