"""Whether a table, and each level of its columns, is what it seems: scales, responses and ratings.

Count table or type-2 table → z of each cell, and notices: confidence that runs backwards, responses
at chance, ratings that some cells do not use. A level of which this holds makes a difference.
Source: Lehmann (1975) for the rank test.
"""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import bdtrc

from hmetad.base.notice import Notice, first_few, notice_of, notice_where
from hmetad.base.notice_registry import limit
from hmetad.counts.checks import TYPE1_DIMS, TYPE2_DIMS, has_more_options
from hmetad.counts.tables import EXPECTED, choice_z, items_together, ratings_in_use, without_columns
from hmetad.measures.scores import pairs
from hmetad.measures.sdt import sdt
from hmetad.rows.duplicates import is_item_name

__all__ = ["CLEAR_Z", "at_chance", "confidence_z", "reversed_scale", "unequal_ratings"]

type Flags = NDArray[np.bool_]
# Cells, and among how many levels they are one → whether something is found, and what to say.
type Check = Callable[[Flags, int], tuple[bool, dict[str, Any]]]

# Beyond CLEAR_Z lies TAIL on either side.
CLEAR_Z, TAIL = 1.96, 0.025
# A scale is reversed where confidence is lower for right answers in so many of so many cells at
# least, and chance alone has as many with such a probability.
MOST, FEWEST_CELLS, CHANCE = 0.75, 3, 0.001


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


def compared_levels(counts: xr.DataArray, people: Collection[str]) -> dict[str, Flags]:
    """Cells of each level of a column, and of combinations of levels, by what to call them.

    Left out are covariates, items, people that a model pools, and levels of one or two cells;
    columns with such levels are not combined.
    """
    of_cells = {str(x): own for x, own in counts.coords.items() if own.dims == ("cell",)}
    names = [x for x, own in of_cells.items() if own.attrs.get("role") != "covariate"]
    names = [x for x in names if x not in {"cell", "options", *people} and not is_item_name(x)]
    frame, found = pd.DataFrame({name: of_cells[name].values for name in names}), {}
    combined = [x for x in names if frame[x].value_counts().min() >= FEWEST_CELLS]
    for own in [*([name] for name in names), *([combined] if len(combined) > 1 else [])]:
        for level, places in frame.groupby(own, sort=False).indices.items():
            if FEWEST_CELLS <= len(places) < len(frame):
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
    for label, cells in levels.items():
        # What lies within a level that is found is no news.
        if not any((cells <= other).all() for other in found.values()):
            found |= {label: cells} if check(cells, len(levels))[0] else {}
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
    Of levels, both are as rare by chance, for all levels together.

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
        return is_found, {"number": below, "cells": known}

    return notice_of_levels(name, counts, people, check)


def at_chance(
    counts: xr.DataArray,
    fitted: xr.Dataset | None = None,
    name: str = "at-chance",
    people: Collection[str] = (),
) -> list[Notice]:
    """Notice of a table, or of levels, in which responses do not follow the stimuli.

    The mean of d′ over cells, weighted by 1/SE², is nearer to 0 than any task is meant to be; of
    more options it is taken from a fit of them. Cells with fewer than ten trials of a stimulus are
    not asked: the correction makes their d′ small. Of a level, the SE of the mean is at most half
    of that.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> at_chance(from_nr([20, 10, 15, 15], [16, 14, 10, 21]))[0].code
    'at-chance'
    """
    is_of_two = {*counts.dims} == {"cell", *TYPE1_DIMS} and not has_more_options(counts)
    if (fitted is None and not is_of_two) or counts.sum() < limit("few-trials"):
        return []
    if fitted is None:
        table = items_together(counts).reset_coords(drop=True)
        has_enough = (table.sum(["response", "rating"]) >= EXPECTED).all("stimulus")
        fitted = sdt(table, correction="cell").where(has_enough)
    weight, nearest = 1 / fitted["dprime_se"] ** 2, limit("at-chance")
    product = fitted["dprime"] * weight

    def check(where: Flags, levels: int) -> tuple[bool, dict[str, Any]]:
        """Whether the mean of d′ over some cells is near 0, and what it is."""
        total = float(weight[where].sum())
        mean = float(product[where].sum()) / total if total > 0 else np.nan
        is_known = total > 0 and (not levels or total**-0.5 <= nearest / 2)
        return is_known and abs(mean) < nearest, {"mean": mean}

    return notice_of_levels(name, counts, people, check)


def unequal_ratings(table: xr.DataArray) -> list[Notice]:
    """Notice of cells that use fewer ratings than others of the table.

    A cell that may lack a rating by chance is not named here but in the notices of few trials and
    empty ratings. Tables with further dims, such as resampled ones, give no notice.

    Examples
    --------
    >>> values = np.array([[[20, 20, 20], [20, 30, 40]], [[30, 30, 0], [30, 60, 0]]])
    >>> table = xr.DataArray(values, {"cell": ["a", "b"]}, ["cell", "correct", "rating"])
    >>> unequal_ratings(table)[0].cells
    ('b',)
    """
    has_further = bool(set(table.dims) - {"cell", "correct", *TYPE1_DIMS})
    if has_further or table.sizes.get("cell", 0) < 2:
        return []
    number = ratings_in_use(table)
    return notice_where(number < number.max(), "unequal-ratings")
