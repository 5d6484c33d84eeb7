"""Whether a table, and each level of its columns, is what it seems: responses and ratings.

Count table or type-2 table → notices: responses at chance, ratings that some cells do not use. A
level of which this holds makes a difference.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import xarray as xr

from hmetad.base.notice import Notice, notice_where
from hmetad.base.notice_registry import limit
from hmetad.counts.checks import TYPE1_DIMS, has_more_options
from hmetad.counts.reversed_scales import FEWEST_CELLS, Flags, notice_of_levels
from hmetad.counts.tables import EXPECTED, items_together, ratings_in_use
from hmetad.measures.sdt import sdt

__all__ = ["at_chance", "unequal_ratings"]


def at_chance(
    counts: xr.DataArray,
    fitted: xr.Dataset | None = None,
    name: str = "at-chance",
    people: Collection[str] = (),
) -> list[Notice]:
    """Notice of a table, or of levels, in which responses do not follow the stimuli.

    The mean of d′ over cells, weighted by 1/SE², is nearer to 0 than any task is meant to be; of
    more options it is taken from a fit of them. Cells with fewer than ten trials of a stimulus are
    not asked: the correction makes their d′ small. Of a level, which has three cells at least, the
    SE of the mean is at most half of that.

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
        is_exact = total > 0 and total**-0.5 <= nearest / 2 and where.sum() >= FEWEST_CELLS
        is_known = bool(is_exact) if levels else total > 0
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
