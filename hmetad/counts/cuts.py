"""Responses that are a cut of the rating: detected in the counts, then refused or noticed.

Counts (cell, stimulus, response, rating) and what the cells are grouped by → list of Notice, or
InputError. Source: the withdrawn analysis of Cacioli (2026).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.checks import type2_measures
from hmetad.counts.columns import CUT_TRIALS
from hmetad.errors import InputError
from hmetad.notice import Notice, notice_of

__all__ = ["cut_notices"]

# Trials of each response from which one shared rating is no chance.
MANY_TRIALS = 200
STEP = (
    "A scale from sure S1 to sure S2 is no confidence before it is folded: the rating is the "
    "distance from its middle. response_from_confidence=True counts all the same."
)


def cut_notices(
    values: NDArray[np.int64], cells: pd.DataFrame, labels: Sequence[str], is_allowed: bool
) -> list[Notice]:
    """Notices of responses that a cut of the rating determines, or InputError.

    Parameters
    ----------
    values : array of int, shape (cells, 2, 2, K)
        Trials by stimulus, response and rating.
    cells : DataFrame
        A row of grouping columns for each cell.
    labels : sequence of str, length cells
        Names of the cells.
    is_allowed : bool
        Whether such responses are counted, with a notice, instead of refused.

    Returns
    -------
    list of Notice
        ``"response-is-confidence-cut"`` of severity "error", with the cells unless it is all; a
        warning where a single rating is of both responses, as quantiles of the confidence that
        responses were cut from.

    Raises
    ------
    InputError
        If they are not allowed and there is proof: for all trials together, of a level of one
        grouping column, or of a cell, each response has ten trials and two ratings, and every
        rating of the one response is below every rating of the other.

    Notes
    -----
    Where a response always comes with one and the same rating, a strong bias looks the same. It is
    noticed where it holds for all trials together, and never refused.

    Examples
    --------
    >>> counts = np.array([[[[9, 3, 0, 0], [0, 0, 2, 4]], [[2, 4, 0, 0], [0, 0, 8, 9]]]])
    >>> [notice.code for notice in cut_notices(counts, pd.DataFrame(index=[0]), ["all"], True)]
    ['response-is-confidence-cut']
    """
    used = values.sum(axis=1)
    groupings = [np.zeros(len(used), dtype=np.int64), np.arange(len(used))]
    groupings += [pd.factorize(cells[name])[0].astype(np.int64) for name in cells]
    is_proven = np.zeros(len(used), dtype=bool)
    for group in groupings:
        is_proven |= is_cut(pool_cells(used, group), ratings=2)[group]
    concerned = tuple(np.asarray(labels)[is_proven].tolist())
    if concerned and not is_allowed:
        where = "every cell" if is_proven.all() else f"cell {concerned[0]!r}"
        more = f" and {len(concerned) - 1} more" if 1 < len(concerned) < len(used) else ""
        got = f"a choice that the rating alone determines, in {where}{more}"
        said = cut_notice(())
        step = f"{said.message} {said.next_step} {STEP}"
        raise InputError("response", got, "a choice between the stimuli, made apart from it", step)
    if is_proven.all() or (not concerned and is_cut(used.sum(axis=0, keepdims=True), ratings=1)):
        return [cut_notice(())]
    if not concerned and is_nearly_cut(used.sum(axis=0)):
        measures = type2_measures()
        return [notice_of("response-is-confidence-cut.nearly", type2_measures=measures)]
    return [cut_notice(concerned)] if concerned else []


def cut_notice(cells: Sequence[str]) -> Notice:
    """Notice of cells whose responses a cut of the rating determines; none stands for all."""
    return notice_of("response-is-confidence-cut", cells, type2_measures=type2_measures())


def pool_cells(used: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts of cells with the same group, added."""
    together = np.zeros((group.max() + 1, *used.shape[1:]), dtype=np.int64)
    np.add.at(together, group, used)
    return together


def is_cut(used: NDArray[np.int64], *, ratings: int) -> NDArray[np.bool_]:
    """Whether one response has all its ratings below the other's; `used` is (..., response, K).

    Each response needs enough trials, and so many different ratings.
    """
    is_used = used > 0
    has_enough = (used.sum(axis=-1) >= CUT_TRIALS) & (is_used.sum(axis=-1) >= ratings)
    lowest = is_used.argmax(axis=-1)
    highest = used.shape[-1] - 1 - is_used[..., ::-1].argmax(axis=-1)
    is_apart = (highest < lowest[..., ::-1]).any(axis=-1)
    return has_enough.all(axis=-1) & is_apart


def is_nearly_cut(used: NDArray[np.int64]) -> bool:
    """Whether many trials, (response, K), have one rating alone in common."""
    is_used = used > 0
    if (used.sum(axis=1) < MANY_TRIALS).any() or (is_used.sum(axis=1) < 2).any():
        return False
    (first, last), (other, end) = (np.flatnonzero(one)[[0, -1]] for one in is_used)
    return bool(last == other or end == first)
