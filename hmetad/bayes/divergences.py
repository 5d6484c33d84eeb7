"""In whose part of the posterior divergences lie.

Start and end of the sampler's divergent steps → number of them by cell.
A step of leapfrog keeps the energy as long as the log density is quadratic along it. That density
is a sum over cells: how far each cell's term is from quadratic says in whose part a step failed.
Source: Betancourt (2017).
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.density import CELLS, evaluate_parts
from hmetad.bayes.program import Program

__all__ = ["OF_DIVERGENCES", "divergences_by_cell"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

OF_DIVERGENCES = ("divergences_within", "divergences_nowhere", "divergences_shared")
# Of a step, for the slope at its ends by central differences.
NUDGE = 1e-4
HUGE = 1e300


def divergences_by_cell(program: Program, steps: Floats) -> xr.Dataset:
    """How many divergent steps failed in what the posterior has of each cell.

    Parameters
    ----------
    program : Program
    steps : array, shape (divergences, 2, free)
        Free values at the start and at the end of each.

    Returns
    -------
    Dataset
        ``divergences_within``, dim cell. A step is that of a group, such as a person, and of all
        cells of it, where its part of the error is larger than all others together; else it is one
        of ``divergences_nowhere``, a number.
    """
    blocks = [block for design in program.designs.values() for block in design.blocks]
    cells = np.arange(program.counts.sizes["cell"])
    # Each factor once; cells that no factor groups are groups of their own.
    groupings = list({block.factor: block.index for block in blocks}.values()) or [cells]
    packed, found, nowhere = program.packed, np.zeros(len(cells), dtype=np.int64), 0
    shared = np.zeros(len(cells))
    is_whole = np.isfinite(steps).all(axis=(1, 2))
    nowhere += int((~is_whole).sum())
    for start, end in steps[is_whole]:
        errors = step_errors(start, end, packed)
        for group in groupings:
            of_groups = np.bincount(group, errors[:-1])
            if 2 * of_groups.max() > errors.sum():
                own = group == of_groups.argmax()
                found, shared = found + own, shared + own / own.sum()
                break
        else:
            nowhere += 1
    counted = dict(zip(OF_DIVERGENCES, (("cell", found), nowhere, ("cell", shared)), strict=True))
    return xr.Dataset(counted, {"cell": program.counts["cell"].values})


def step_errors(start: Floats, end: Floats, packed: Integers) -> Floats:
    """How far each term of the log density is from quadratic along a step: cells, then the rest."""
    step = end - start

    def terms(x: Floats) -> Floats:
        by_cell = np.zeros(packed[CELLS])
        shared = evaluate_parts(np.ascontiguousarray(x), packed, by_cell, np.empty(0))
        return np.append(by_cell, shared)

    with np.errstate(all="ignore"):
        at_start, at_end = (
            (terms(x + NUDGE * step) - terms(x - NUDGE * step)) / (2 * NUDGE) for x in (start, end)
        )
        error = np.abs((at_start + at_end) / 2 - (terms(end) - terms(start)))
    # A term that is not finite is the one that failed.
    return np.nan_to_num(error, nan=HUGE, posinf=HUGE)
