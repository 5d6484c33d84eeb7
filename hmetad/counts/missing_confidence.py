"""Answers that were graded but have no confidence: how many, and whether they are right less often.

Distinct rows of trials → notice.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.correctness import as_correct
from hmetad.counts.table import cell_labels, cells_of
from hmetad.notice import Notice, first_few, notice_of
from hmetad.notice_registry import limit

__all__ = ["missing_confidence"]

CODE = "confidence-missing"


def missing_confidence(
    groups: pd.DataFrame, n: NDArray[np.int64], by: list[str], roles: Mapping[str, str]
) -> list[Notice]:
    """Notice of the cells in which many graded answers have no confidence.

    Parameters
    ----------
    groups : DataFrame
        Distinct rows of the used columns, missing values included; row i stands for n[i] trials.
    n : array of int
    by : list of str
        Grouping columns.
    roles : mapping
        Columns of ``"correct"`` and ``"confidence"``, and of others.

    Returns
    -------
    list of Notice
        One or none.

    Examples
    --------
    >>> rows = pd.DataFrame({"correct": [1, 0, 0], "sure": [0.9, 0.4, None]})
    >>> found = missing_confidence(
    ...     rows, np.array([6, 2, 2]), [], {"correct": "correct", "confidence": "sure"}
    ... )
    >>> found[0].cells, found[0].message.partition(": ")[2]
    (('all',), 'all (20 % of 10 answers; right are 75 % with, 0 % without, 60 % of all).')
    """
    is_missing = groups[roles["confidence"]].isna().to_numpy()
    if not is_missing.any():
        return []
    correct = groups[roles["correct"]]
    right = [as_correct(plain(value)) for value in correct.tolist()]
    others = groups.drop(columns=roles["confidence"]).isna().to_numpy().any(axis=1)
    graded = np.array([value is not None for value in right]) & ~others
    if not (graded & is_missing).any():
        return []
    index, cells = cells_of(groups[graded].reset_index(drop=True), by, [])
    is_right = np.array([value is True for value in right])[graded]
    n, is_missing = n[graded], is_missing[graded]
    shares = pd.DataFrame(
        {
            "without": np.bincount(index, n * is_missing),
            "right_without": np.bincount(index, n * (is_missing & is_right)),
            "all": np.bincount(index, n),
            "right": np.bincount(index, n * is_right),
        }
    ).assign(cell=cell_labels(cells))
    many = shares[shares["without"] > limit(CODE) * shares["all"]]
    return [notice_of(CODE, many["cell"], listed=said_of(many))] if len(many) else []


def plain(value: object) -> object:
    """A value without the type of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def said_of(many: pd.DataFrame) -> str:
    """Shares of answers without confidence, and of right ones among them, by cell."""
    rows = many.assign(share=many["without"] / many["all"]).sort_values("share", ascending=False)
    return first_few(map(shares_of, rows.to_dict("records")))


def shares_of(row: Mapping[Hashable, Any]) -> str:
    """Shares of one cell in words."""
    with_it, right_with = row["all"] - row["without"], row["right"] - row["right_without"]
    stated = f"{right_with / with_it:.0%} with, " if with_it else ""
    unstated = row["right_without"] / row["without"]
    shown = (
        f"{row['share']:.0%} of {row['all']:,.0f} answers; right are {stated}"
        f"{unstated:.0%} without, {row['right'] / row['all']:.0%} of all"
    )
    return f"{row['cell']} ({shown.replace('%', ' %')})"
