"""Divergent transitions: in whose part of the posterior they lie, and what is said of them.

Start and end of the sampler's divergent steps → number of them by cell; fit → list of Notice.
A step of leapfrog keeps the energy as long as the log density is quadratic along it. That density
is a sum over cells: how far each cell's term is from quadratic says in whose part a step failed.
Source: Betancourt (2017).
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.bayes.density import CELLS, evaluate_parts
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.program import Program
from hmetad.notice import Notice, first_few, notice_of, notices
from hmetad.notice_registry import about_alone

__all__ = ["OF_DIVERGENCES", "divergence_notices", "divergences_by_cell"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

OF_DIVERGENCES = ("divergences_within", "divergences_nowhere", "divergences_shared")
# Of a step, for the slope at its ends by central differences.
NUDGE = 1e-4
HUGE = 1e300
# Divergences are charged to cells that have so many each, are such a share of the cells at most,
# and leave such a share of the divergences to others at most.
FEWEST_OF_A_CELL, MOST_CHARGED, MOST_ELSEWHERE = 5, 0.2, 0.1


def divergences_by_cell(program: Program, steps: Floats) -> xr.Dataset:
    """How many divergent steps, (divergences, 2, free), failed in what is each cell's own.

    A step from start to end is that of a group, such as a person, and of all cells of it, where its
    part of the error is larger than all others together; else it is one of
    ``divergences_nowhere``, a number.
    """
    blocks = [block for design in program.designs.values() for block in design.blocks]
    cells = np.arange(program.counts.sizes["cell"])
    # Each factor once; cells that no factor groups are groups of their own.
    groupings = list({block.factor: block.index for block in blocks}.values()) or [cells]
    packed, found = program.packed, np.zeros(len(cells), dtype=np.int64)
    shared = np.zeros(len(cells))
    is_whole = np.isfinite(steps).all(axis=(1, 2))
    nowhere = int((~is_whole).sum())
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


def divergence_notices(fitted: Fitted) -> list[Notice]:
    """Divergent transitions, counted; of some cells, where they are these cells' alone."""
    stats = fitted.tree["sample_stats"].to_dataset()
    # Cells that share nothing have divergences of their own.
    are_apart = "divergences" in stats
    number = int(stats["divergences"].sum() if are_apart else stats["diverging"].sum())
    if number == 0:
        return []
    said = {"number": number, "transitions": "transition" if number == 1 else "transitions"}
    if are_apart:
        cells = map(str, stats["cell"].values[stats["divergences"].values > 0])
        return [notice_of("divergences", cells, where="", **said)]
    if "divergences_within" not in stats:
        return [notice_of("divergences", where="", **said)]
    if charged := charged_cells(fitted, stats, number):
        return [notice_of("divergences.within", charged, labels=charged, **said)]
    within, nowhere = stats["divergences_within"], int(stats["divergences_nowhere"])
    most = within.sortby(within, ascending=False)
    where = [f"{cell} ({n})" for cell, n in zip(most["cell"].values, most.values, strict=True) if n]
    where += [f"nobody ({nowhere})"] if nowhere else []
    return [notice_of("divergences", where=f" By whose part: {first_few(where, ', ')}.", **said)]


def charged_cells(fitted: Fitted, stats: xr.Dataset, number: int) -> list[str]:
    """Cells to which divergences are charged: few, with nearly all of them, and not by chance.

    A step that is too long for all fails now here, now there. So a cell needs several of them, but
    for one whose M the counts do not determine, which is the first to be suspected.
    """
    errors = [one for one in notices(fitted.tree) if one.severity == "error"]
    suspects = {cell for one in errors if about_alone(one.code) for cell in one.cells}
    within = stats["divergences_within"]
    fewest = np.where(np.isin(within["cell"].values, [*suspects]), 1, FEWEST_OF_A_CELL)
    charged = within >= fewest
    # Each step once, not once for every cell of a person.
    once = stats.get("divergences_shared", within)
    shared = round(float(once.where(~charged, 0).sum()), 6)
    elsewhere = int(stats["divergences_nowhere"]) + shared
    is_few = charged.mean() <= MOST_CHARGED and elsewhere <= MOST_ELSEWHERE * number
    return [*map(str, within["cell"].values[charged.values])] if is_few else []
