"""Whether confidence runs backwards in a table, or in a level of one of its columns.

Count table or type-2 table → z of each cell, and notices; results of a table → results without a
verdict where it does. A level of which this holds makes a difference.
Source: Lehmann (1975) for the rank test; Stouffer et al. (1949) for the sum of z.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc, ndtri

from hmetad.base.notice import Notice, first_few, notice_attrs, notice_of, notices
from hmetad.base.results import rests_on_confidence
from hmetad.counts.checks import TYPE1_DIMS, TYPE2_DIMS
from hmetad.counts.tables import choice_z, items_together, without_columns
from hmetad.rows.duplicates import is_item_name, is_people_name

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
# Cells, and among how many levels they are one → whether something is found, and what to say.
type Check = Callable[[Flags, int], tuple[bool, dict[str, Any]]]

# Beyond CLEAR_Z lies TAIL on either side.
CLEAR_Z, TAIL = 1.96, 0.025
# A scale is reversed where confidence is lower for right answers in so many of so many cells at
# least, and chance alone has as many with such a probability.
MOST, FEWEST_CELLS, CHANCE = 0.75, 3, 0.001
# Levels of one or two cells are asked in columns of so many levels at most.
MOST_LEVELS = 200


def confidence_z(counts: xr.DataArray) -> xr.DataArray:
    """Rank test, per cell, of whether confidence is higher for right answers than for wrong ones.

    Mann & Whitney's U of the ratings, within each response, summed over responses and divided by
    its standard deviation, which ties make smaller (Lehmann 1975): with n₁ right and n₂ wrong
    answers in a response, n = n₁ + n₂, of which t_k have rating k,
    Var U = n₁n₂ (n³ − Σ t_k³) / (12 n (n − 1)). NaN where nothing can be compared: all answers of
    a response have one rating, or are all right or all wrong.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([[20, 10, 5, 5], [15, 15, 5, 5]], [[5, 5, 10, 20], [5, 5, 15, 15]])
    >>> confidence_z(table).round(2).values
    array([1.32, 0.  ])
    """
    dims = TYPE2_DIMS if "correct" in counts.dims else TYPE1_DIMS
    ordered = counts.transpose(..., *dims)
    n = ordered.to_numpy().astype(float)
    if "correct" in dims:
        right, both = n[..., 1:, :], n.sum(axis=-2, keepdims=True)
    else:
        each = np.arange(n.shape[-2])
        right, both = n[..., each, each, :], n.sum(axis=-3)
    concordant, discordant, tied = pairs(np.stack([both - right, right], axis=-2))
    compared, trials = concordant + discordant + tied, both.sum(axis=-1)
    choices = np.where(compared > 0, trials * (trials - 1), 1.0)
    untied = (trials**3 - (both**3).sum(axis=-1)) / choices
    error = np.sqrt((compared * untied / 12).sum(axis=-1))
    excess = ((concordant - discordant) / 2).sum(axis=-1)
    z = np.where(error > 0, excess / np.where(error > 0, error, 1.0), np.nan)
    return ordered.isel(dict.fromkeys(dims, 0), drop=True).copy(data=z)


def pairs(table: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Pairs of a right and a wrong trial that are concordant, discordant and tied, each (...)."""
    values = np.asarray(table, dtype=float)
    wrong, right = values[..., 0, :], values[..., 1, :]
    wrong_below = wrong.cumsum(axis=-1) - wrong
    right_below = right.cumsum(axis=-1) - right
    tied = (right * wrong).sum(axis=-1)
    return (right * wrong_below).sum(axis=-1), (wrong * right_below).sum(axis=-1), tied


def compared_levels(counts: xr.DataArray, people: Collection[str]) -> dict[str, Flags]:
    """Cells of each level of a column, and of combinations of levels, by what to call them.

    Left out are covariates, items, people that a model pools, and levels of one or two cells that
    are of people, or of more than MOST_LEVELS.
    """
    of_cells = {str(x): own for x, own in counts.coords.items() if own.dims == ("cell",)}
    names = [x for x, own in of_cells.items() if own.attrs.get("role") != "covariate"]
    names = [x for x in names if x not in {"cell", "options", *people} and not is_item_name(x)]
    frame, found = pd.DataFrame({name: of_cells[name].values for name in names}), {}
    combined = [x for x in names if frame[x].value_counts().min() >= FEWEST_CELLS]
    for own in [*([name] for name in names), *([combined] if len(combined) > 1 else [])]:
        levels = frame.groupby(own, sort=False).indices
        has_few = len(levels) <= MOST_LEVELS and not any(map(is_people_name, own))
        for level, places in levels.items():
            if (1 if has_few else FEWEST_CELLS) <= len(places) < len(frame):
                parts = level if isinstance(level, tuple) else (level,)
                label = ", ".join(f"{x} {part}" for x, part in zip(own, parts, strict=True))
                found[label] = np.isin(np.arange(len(frame)), places)
    return found


def notice_of_levels(
    name: str, counts: xr.DataArray, people: Collection[str], check: Check
) -> list[Notice]:
    """Notice of a check of all cells, or else of those levels in which it finds something."""
    is_found, said = check(np.ones(counts.sizes["cell"], dtype=bool), 0)
    if is_found:
        return [notice_of(name, where="", **said)]
    levels, found = compared_levels(counts, people), dict[str, Flags]()
    is_large = {label: cells.sum() >= FEWEST_CELLS for label, cells in levels.items()}
    for label, cells in levels.items():
        # What lies within a level that is found is no news.
        if not any((cells <= other).all() for other in found.values()):
            number = sum(own == is_large[label] for own in is_large.values())
            found |= {label: cells} if check(cells, number)[0] else {}
    if not found:
        return []
    concerned = np.any([*found.values()], axis=0)
    said = check(concerned, len(levels))[1] | {"where": f" ({first_few(found)})"}
    return [notice_of(name, map(str, counts["cell"].to_numpy()[concerned]), **said)]


def reversed_scale(counts: xr.DataArray, name: str, people: Collection[str] = ()) -> list[Notice]:
    """Notice that confidence is lower for right answers in most cells of a table, or of a level.

    It is clear by itself (z < −1.96) in more than half of them, or lower in three of four and by
    more cells than a coin would give in one of 1,000 tables. Cells whose d′ is not above 0 are not
    asked, for there right and wrong may be exchanged; and it takes three cells to speak of a scale.
    Of levels, both are as rare by chance, for all levels together. In a level of one or two cells,
    the sum of z over √cells has to be as low as in one of 1,000 tables, for all such levels
    together.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> one = [10, 20, 60, 5, 5, 40], [40, 5, 5, 60, 20, 10]
    >>> table = from_nr(*([side] * 3 for side in one), model=["A", "B", "C"])
    >>> reversed_scale(table, "reversed-scale")[0].message[:56]
    'Confidence is lower for correct answers in 3 of 3 cells:'
    """
    is_right = "correct" in counts.dims
    dims = {"cell", *(TYPE2_DIMS if is_right else TYPE1_DIMS)}
    if {*counts.dims} != dims or (is_right and "options" not in counts.coords):
        return []
    together = items_together(counts)
    cells = without_columns(together.transpose("cell", ...))
    unit = np.arange(cells.sizes["cell"])
    if together is not counts:
        # Cells of items have the sum over all items, many times.
        unit = np.unique(cells.to_numpy(), axis=0, return_inverse=True)[1].ravel()
    z = confidence_z(cells).where(choice_z(cells) > 0).to_numpy()

    def check(where: Flags, levels: int) -> tuple[bool, dict[str, Any]]:
        """Whether confidence is lower in most of some cells, and in how many."""
        own = z[where][np.unique(unit[where], return_index=True)[1]]
        below, clear, known = (int(x.sum()) for x in (own < 0, own < -CLEAR_Z, ~np.isnan(own)))
        chance = CHANCE / max(1, levels)
        is_clear = clear > known / 2 and (not levels or bdtrc(clear - 1, known, TAIL) < chance)
        is_most = below >= MOST * known and bdtrc(below - 1, known, 0.5) < chance
        is_found = known >= FEWEST_CELLS and bool(is_clear or is_most)
        if levels and 0 < known < FEWEST_CELLS:
            is_found = bool(np.nansum(own) < ndtri(chance) * known**0.5)
        return is_found, {"number": below, "cells": known}

    return notice_of_levels(name, counts, people, check)


def with_scale_notices(result: xr.Dataset, counts: xr.DataArray) -> xr.Dataset:
    """Result of a table whose variables have a notice where confidence runs backwards.

    An error of what rests on confidence, unless it is of single people, who may differ in that.
    """
    people = [str(name) for name in counts.coords if is_people_name(name)]
    found = reversed_scale(counts, "reversed-scale", people)
    found = found or reversed_scale(counts, "reversed-scale.measured")
    if not found:
        return result
    softened, said, own = [replace(one, severity="warning") for one in found], notices(result), {}
    for name, values in result.items():
        about = found if rests_on_confidence(str(name)) else softened
        others = notices(values) if "notices" in values.attrs else said
        own[name] = values.assign_attrs(notice_attrs([*about, *others]))
    return result.assign(own).assign_attrs(notice_attrs([*found, *said]))
