"""Printed against computed: the table that says whether a paper is reproduced.

Rows of printed and computed values → data frame, and a verdict on the whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan

import pandas as pd

from hmetad.compare.decisions import Decisions

__all__ = ["ComparisonRow", "compare_decisions", "comparison_frame", "is_reproduced"]

UNDIRECTED = ("different", "inconclusive", "negligible")

type Place = tuple[str, str, str]


@dataclass(frozen=True)
class ComparisonRow:
    """One printed value and ours.

    Parameters
    ----------
    table, row, quantity : str
        Where it stands in the paper.
    printed, ours : float or str
        Numbers, or verdicts in words.
    tolerance : float
        Largest difference between numbers that agree; NaN for words.
    """

    table: str
    row: str
    quantity: str
    printed: float | str
    ours: float | str
    tolerance: float = nan

    @property
    def agrees(self) -> bool:
        """Whether the numbers are within the tolerance, or the words are the same."""
        if isinstance(self.printed, str) or isinstance(self.ours, str):
            return self.printed == self.ours
        # A hair more than the tolerance, for decimal numbers that binary ones only approach.
        return abs(self.ours - self.printed) <= self.tolerance * (1 + 1e-9)


def comparison_frame(
    rows: Iterable[ComparisonRow], known_differences: Mapping[Place, str]
) -> pd.DataFrame:
    """Table of all rows.

    Parameters
    ----------
    rows : iterable of ComparisonRow
    known_differences : mapping of (table, row, quantity) to str
        Why a row differs; printed as its note where it does differ.

    Returns
    -------
    DataFrame
        Columns table, row, quantity, printed, ours, tolerance, agrees, note.
    """
    records = []
    for r in rows:
        note = "" if r.agrees else known_differences.get((r.table, r.row, r.quantity), "")
        values = (r.table, r.row, r.quantity, r.printed, r.ours, r.tolerance, r.agrees, note)
        records.append(values)
    names = ("table", "row", "quantity", "printed", "ours", "tolerance", "agrees", "note")
    return pd.DataFrame.from_records(records, columns=list(names))


def is_reproduced(frame: pd.DataFrame) -> bool:
    """Whether every row agrees, or its note says why it does not."""
    return bool((frame["agrees"] | (frame["note"] != "")).all())


def compare_decisions(
    table: str, decisions: Decisions, printed: Mapping[str, str]
) -> list[ComparisonRow]:
    """Printed words about contrasts against our verdicts.

    Parameters
    ----------
    table : str
        Name of the comparison.
    decisions : Decisions
    printed : mapping of label to str
        "not significant", "different", "inconclusive" or "negligible", the latter three after
        "greater, " or "less, " where the paper gives the direction; "otherwise" for all labels
        that are not named.

    Returns
    -------
    list of ComparisonRow
    """
    rows = []
    for record in decisions.table().to_dict("records"):
        label = str(record["label"])
        words = printed.get(label, printed["otherwise"])
        # Where there is no verdict there is no answer to the statistical question either.
        ours = "not significant" if record["statistical"] is not None else record["verdict"]
        if record["statistical"]:
            direction = "greater, " if record["mean"] > decisions.null else "less, "
            bare = words in UNDIRECTED
            ours = record["verdict"] if bare else direction + record["verdict"]
        rows.append(ComparisonRow(table, label, decisions.quantity, words, ours))
    return rows
