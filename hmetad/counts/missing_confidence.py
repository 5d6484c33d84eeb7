"""Rows without an answer, or without confidence: how many, and whether these are right less often.

Distinct rows of trials → notices.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.counts.columns import as_correct
from hmetad.counts.tables import cell_labels, cells_of
from hmetad.notice import Notice, first_few, notice_of
from hmetad.notice_registry import limit

__all__ = ["missing_answers"]

UNGRADED, SILENT = "correct-missing", "confidence-missing"


def missing_answers(
    groups: pd.DataFrame,
    n: NDArray[np.int64],
    by: list[str],
    roles: Mapping[str, str],
    *,
    are_wrong: bool = False,
) -> list[Notice]:
    """Notices of the cells in which many rows have no grade, or many graded ones no confidence.

    Parameters
    ----------
    groups : DataFrame
        Distinct rows of the used columns, missing values included; row i stands for n[i] trials.
    n : array of int
    by : list of str
        Grouping columns.
    roles : mapping
        Columns of ``"correct"`` and ``"confidence"``, and of others.
    are_wrong : bool, optional
        Whether rows without a grade count as wrong: then each such cell is named.

    Returns
    -------
    list of Notice

    Examples
    --------
    >>> rows = pd.DataFrame({"correct": [1, 0, 0], "sure": [0.9, 0.4, None]})
    >>> found = missing_answers(
    ...     rows, np.array([6, 2, 2]), [], {"correct": "correct", "confidence": "sure"}
    ... )
    >>> found[0].cells, found[0].message.partition(": ")[2]
    (('all',), 'all (20 % of 10 answers; right are 75 % with, 0 % without, 60 % of all).')
    """
    lacks = {name: groups[roles[name]].isna().to_numpy() for name in ("correct", "confidence")}
    if not any(x.any() for x in lacks.values()):
        return []
    others = groups.drop(columns=[roles["correct"], roles["confidence"]])
    used = ~others.isna().to_numpy().any(axis=1)
    if not used.any():
        return []
    grades = [as_correct(plain(value)) for value in groups[roles["correct"]].tolist()]
    is_right = np.array([grade is True for grade in grades])
    graded = used & np.array([grade is not None for grade in grades])
    shares = cell_shares(groups, n, by, used, lacks["correct"], is_right)
    least = 0 if are_wrong else limit(UNGRADED)
    many = shares[shares["without"] > least * shares["all"]]
    found = []
    # What is abstained from need not be graded, and has a notice of its own.
    if len(many) and "abstained" not in roles:
        code, form = ("counted-wrong", counted) if are_wrong else (UNGRADED, ungraded)
        found.append(notice_of(code, many["cell"], listed=listed_by(form, many)))
    if (graded & lacks["confidence"]).any():
        shares = cell_shares(groups, n, by, graded, lacks["confidence"], is_right)
        many = shares[shares["without"] > limit(SILENT) * shares["all"]]
        name = "confidence-missing.kept" if are_wrong else SILENT
        if len(many):
            found.append(notice_of(name, many["cell"], listed=listed_by(shares_of, many)))
    return found


def cell_shares(
    groups: pd.DataFrame,
    n: NDArray[np.int64],
    by: list[str],
    used: NDArray[np.bool_],
    lacks: NDArray[np.bool_],
    is_right: NDArray[np.bool_],
) -> pd.DataFrame:
    """Rows of each cell, those without something, and the right ones of both."""
    index, cells = cells_of(groups[used].reset_index(drop=True), by, [])
    n, lacks, is_right = n[used], lacks[used], is_right[used]
    return pd.DataFrame(
        {
            "without": np.bincount(index, n * lacks),
            "right_without": np.bincount(index, n * (lacks & is_right)),
            "all": np.bincount(index, n),
            "right": np.bincount(index, n * is_right),
        }
    ).assign(cell=cell_labels(cells))


def plain(value: object) -> object:
    """A value without the type of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def listed_by(form: Callable[[Mapping[Hashable, Any]], str], many: pd.DataFrame) -> str:
    """Cells with their shares in words, the largest first."""
    rows = many.assign(share=many["without"] / many["all"]).sort_values("share", ascending=False)
    return first_few(map(form, rows.to_dict("records")))


def ungraded(row: Mapping[Hashable, Any]) -> str:
    """Share of the rows of a cell that are not graded."""
    return f"{row['cell']} ({100 * row['share']:.0f} % of {row['all']:,.0f} rows)"


def counted(row: Mapping[Hashable, Any]) -> str:
    """How many of a cell count as wrong."""
    return f"{row['cell']} ({row['without']:,.0f} of {row['all']:,.0f})"


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
