"""Draws of contrasts, from draws of cells.

Arrays (chain, draw, cell) and weights of cells → arrays (chain, draw, pair).
"""

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = [
    "Kind",
    "comparable",
    "moved_apart",
    "pair_contrasts",
    "pair_weights",
    "weighted_contrasts",
]

type Floats = NDArray[np.float64]

Kind = Literal["difference", "log_ratio", "superiority"]
# Rows of draws at a time, in numbers: what fits a processor's cache.
CHUNK = 2**18


def comparable(values: xr.DataArray, kind: Kind) -> Floats:
    """Values to subtract or compare: as they are, or logarithms, NaN where undefined."""
    numbers = values.values.astype(float)
    if kind != "log_ratio":
        return numbers
    return np.log(numbers, out=np.full_like(numbers, np.nan), where=numbers > 0)


def pair_contrasts(
    numbers: Floats,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    kind: Kind,
    independent: bool,
) -> Floats:
    """Contrasts of pairs of cells, (chain, draw, cell) → (chain, draw, pair).

    In memory pairs come first: what is done with a pair next reads its draws in one run.
    """
    moved = np.roll(numbers, (1, numbers.shape[1] // 2), (0, 1)) if independent else numbers
    rows, others = (np.ascontiguousarray(np.moveaxis(x, -1, 0)) for x in (numbers, moved))
    result = np.empty((len(left), *rows.shape[1:]))
    step = max(1, CHUNK // rows[0].size)
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        difference = np.subtract(rows[left[part]], others[right[part]], out=result[part])
        if kind == "superiority":
            result[part] = above_zero(difference)
    return np.moveaxis(result, 0, -1)


def weighted_contrasts(
    numbers: Floats, weights: csr_array, kind: Kind, sides: NDArray[Any] | None
) -> Floats:
    """Weighted sums of cells, (chain, draw, cell) and (pair, cell) → (chain, draw, pair).

    Cells of different sides are independent of each other; without sides, none are.
    """
    numbers = numbers if sides is None else moved_apart(numbers, sides)
    defined = np.isfinite(numbers)
    rows = np.moveaxis(np.where(defined, numbers, 0), -1, 0).reshape(weights.shape[1], -1)
    sums = weights @ rows
    if not defined.all():
        # An undefined draw counts for the contrasts that it is in, not for those where it has
        # weight 0.
        missing = np.moveaxis(~defined, -1, 0).reshape(rows.shape).astype(float)
        sums[abs(weights) @ missing > 0] = np.nan
    result = above_zero(sums) if kind == "superiority" else sums
    return np.moveaxis(result.reshape(-1, *numbers.shape[:2]), 0, -1)


def moved_apart(numbers: Floats, sides: NDArray[Any]) -> Floats:
    """Draws (chain, draw, cell), those of each side moved on by its own part of a run."""
    chains, draws, cells = numbers.shape
    number = pd.factorize(sides)[0]
    moves = [(i % chains, i * draws // (number.max() + 1)) for i in number.tolist()]
    return np.stack([np.roll(numbers[..., i], moves[i], (0, 1)) for i in range(cells)], axis=-1)


def above_zero(difference: Floats) -> Floats:
    """1 where a difference is above zero, else 0; NaN where it is undefined."""
    return np.where(np.isnan(difference), np.nan, difference > 0)


def pair_weights(left: NDArray[np.intp], right: NDArray[np.intp], cells: int) -> csr_array:
    """Weights of pairs, (pair, cell): 1 on the left, −1 on the right."""
    pair = np.arange(len(left))
    ones = np.ones(len(left))
    rows, columns = np.concatenate([pair, pair]), np.concatenate([left, right])
    return csr_array((np.concatenate([ones, -ones]), (rows, columns)), (len(left), cells))
