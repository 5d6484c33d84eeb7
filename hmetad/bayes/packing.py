"""A program as one row of integers, as compiled code reads it.

Program → its length, place of the likelihood in `MODULES`, cells, ratings, where each array begins
and where the last ends, and the arrays, those of numbers as their bits. One array is handed to
compiled code faster than thirty.
"""

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.program import Program
from hmetad.likelihood.tails import compiled

__all__ = ["HEAD", "LENGTH", "MODULES", "pack", "real", "whole"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Where likelihoods are compiled; `hmetad.bayes.density` calls each.
MODULES = (
    "hmetad.likelihood.meta_d_compiled",
    "hmetad.likelihood.linear_gaussian_compiled",
    "hmetad.likelihood.lognormal_compiled",
)
LENGTH, LIKELIHOOD, CELLS, RATINGS, HEAD = range(5)
# Arrays of integers, then, from `WEIGHT` on, of numbers.
(
    LINKS, OWNERS, PRIOR_PLACES, PRIOR_KINDS, AROUND_PLACES, AROUND_FIRST, AROUND_COLUMN, BLOCKS,
    OFFSET_PLACES, SD_PLACES, MEAN_FIRST, MEAN_COLUMN, FIRST, COLUMN, CHOICES, WEIGHT,
    PRIOR_PARAMETERS, AROUND_SD, AROUND_MEAN, AROUND_WEIGHT, ESTIMATES, INFORMATION, MEAN_WEIGHT,
    OFFSETS, COUNTS, CONSTANT, ARRAYS,
) = range(27)  # fmt: skip


def pack(program: Program) -> Integers:
    """Program in one row of integers."""
    p = program
    arrays = [
        p.links, p.owners, p.prior_places, p.prior_codes, p.around_places, p.around_rows.first,
        p.around_rows.column, p.blocks, p.offset_places, p.sd_places, p.mean_rows.first,
        p.mean_rows.column, p.rows.first, p.rows.column, p.choices, p.rows.weight,
        p.prior_parameters, p.around_sd, p.around_mean, p.around_rows.weight, p.estimates,
        p.information, p.mean_rows.weight, p.offsets, p.counts, np.array([p.constant]),
    ]  # fmt: skip
    rows = [
        (row.astype(float).view(np.int64) if k >= WEIGHT else row.astype(np.int64))
        for k, row in enumerate(np.ascontiguousarray(array).ravel() for array in arrays)
    ]
    first = np.cumsum([HEAD + ARRAYS + 1, *(len(row) for row in rows)])
    head = [first[-1], MODULES.index(p.density), len(p.counts), p.counts.shape[-1]]
    return np.concatenate([np.array(head), first, *rows]).astype(np.int64)


@compiled
def whole(packed: Integers, k: int) -> Integers:
    """The k-th array, of integers."""
    return packed[packed[HEAD + k] : packed[HEAD + k + 1]]


@compiled
def real(packed: Integers, k: int) -> Floats:
    """The k-th array, of numbers."""
    return packed[packed[HEAD + k] : packed[HEAD + k + 1]].view(np.float64)
