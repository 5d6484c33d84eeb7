"""What makes cells hard to compare: other numbers of ratings, other d′ or c, the same items.

Table, or estimates (cell) and pairs of cells → list of Notice.
Source: Guggenmos (2021) and Rausch et al. (2023) for what M-ratio depends on.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtri

from hmetad.counts.checks import TYPE1_DIMS
from hmetad.notice import Notice, notice_where, notices_where
from hmetad.notice_registry import limit
from hmetad.results import about
from hmetad.rows.duplicates import is_item_name
from hmetad.untrusted import read_attr

__all__ = ["pair_notices", "unequal_ratings"]

type Positions = NDArray[np.int64]
type Truths = NDArray[np.bool_]

TYPE1 = ("dprime", "c")
# Of finding a difference in d′ or c in any of the pairs, where there is none.
FALSE_ALARM = 0.05
# Trials of a rating that are expected in a cell, and are not missing by chance.
EXPECTED = 10


def unequal_ratings(table: xr.DataArray) -> list[Notice]:
    """Notice of cells that use fewer ratings than others of the table.

    Parameters
    ----------
    table : DataArray
        Count table or type-2 table; tables with further dims, such as
        resampled ones, give no notice.

    Returns
    -------
    list of Notice
        ``"unequal-ratings"`` (warning), or none. A cell that may lack a rating by chance is not
        named here but in the notices of few trials and empty ratings: one with fewer than 100
        trials, or with fewer than 10 expected by the shares of the ratings in all cells.

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
    by_rating = table.sum([dim for dim in table.dims if dim not in ("cell", "rating")])
    used = (by_rating > 0).sum("rating")
    trials = by_rating.sum("rating")
    expected = trials * by_rating.sum("cell") / max(1, int(trials.sum()))
    has_enough = trials >= limit("few-trials")
    is_missed = ((by_rating == 0) & (expected >= EXPECTED)).any("rating")
    fewer = has_enough & is_missed & (used < used.where(has_enough, 0).max())
    return notice_where(fewer, "unequal-ratings")


def pair_notices(
    estimates: xr.Dataset, var: str, left: Positions, right: Positions
) -> list[Notice]:
    """Notices of pairs of cells that a test of independent cells should not compare.

    Parameters
    ----------
    estimates : Dataset
        Estimates with dim cell.
    var : str
        The variable that is compared.
    left, right : array of int
        Positions of the cells of each pair.

    Returns
    -------
    list of Notice
        ``"paired-data"`` where both cells were given the same items, and ``"type1-differs"``
        where `var` is M or meta-d′ and d′ or c differ too (z-tests at .05, Bonferroni-corrected
        for all pairs and both of them); warnings, which name the pairs.

    Examples
    --------
    >>> cells = {"cell": ["a", "b"], "item": ("cell", ["q1", "q1"])}
    >>> here, there = np.array([0]), np.array([1])
    >>> pair_notices(xr.Dataset(coords=cells), "c", here, there)[0].cells
    ('a − b',)
    """
    labels = estimates["cell"].to_numpy()
    names = [f"{a} − {b}" for a, b in zip(labels[left], labels[right], strict=True)]
    shared = have_the_same_items(estimates, left, right)
    is_known = {*TYPE1, *(f"{name}_se" for name in TYPE1)} <= set(estimates)
    may_tell = bool(about(var)) and is_known
    apart = type1_differs(estimates, left, right) if may_tell else np.zeros_like(shared)
    masks = {"paired-data.test": shared, "type1-differs.test": apart}
    return notices_where({code: xr.DataArray(x, {"cell": names}) for code, x in masks.items()})


def have_the_same_items(estimates: xr.Dataset, left: Positions, right: Positions) -> Truths:
    """Which pairs are of cells of one item, or of cells that were given the same ones."""
    labels = estimates["cell"].to_numpy()
    found = np.zeros(len(left), dtype=bool)
    for name in filter(is_item_name, estimates["cell"].coords):
        item = estimates[name].to_numpy()
        found |= item[left] == item[right]
    for group in read_attr(estimates.attrs, "same_items"):
        is_in = np.isin(labels, group)
        found |= is_in[left] & is_in[right]
    return found


def type1_differs(estimates: xr.Dataset, left: Positions, right: Positions) -> Truths:
    """Which pairs differ in d′ or c by more than their standard errors allow for."""
    found = np.zeros(len(left), dtype=bool)
    clear_z = -ndtri(FALSE_ALARM / 2 / max(1, len(TYPE1) * len(left)))
    for name in TYPE1:
        value, se = (estimates[x].to_numpy() for x in (name, f"{name}_se"))
        bound = clear_z * np.hypot(se[left], se[right])
        found |= np.abs(value[left] - value[right]) > bound
    return found
