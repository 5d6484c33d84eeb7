"""Columns of decisions and how they are called; what was done for several comparisons, in words.

Rows → headings; numbers and attrs → words. No array is needed for that, so that the command line
starts without NumPy.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Literal

from hmetad.base.untrusted import read_attr

MOST_SHARES = 8
# Columns of decisions, in their order in the table, where coordinates come after the label.
TABLE = Path(__file__).with_name("columns.toml")


@dataclass(frozen=True)
class Column:
    """A column of a table of decisions, as columns.toml says it."""

    name: str
    means: str
    terminal: str = ""
    page: str | None = None
    usual: str | float | None = None
    brought: bool = False

    @property
    def is_reason(self) -> bool:
        """Whether it is shown only where it says anything."""
        return self.usual is not None

    def heading(self, where: Literal["terminal", "page"]) -> str:
        """Heading in a place; empty where the column is not shown there."""
        if where == "terminal":
            return self.terminal
        return self.terminal[:1].upper() + self.terminal[1:] if self.page is None else self.page


COLUMNS = tuple(
    Column(name, **entry)
    for name, entry in tomllib.loads(TABLE.read_text(encoding="utf-8")).items()
)
# Names of those that contrasts bring along, as coordinates.
BROUGHT = {column.name for column in COLUMNS if column.brought}


def headings(
    rows: Sequence[Mapping[Any, Any]], where: Literal["terminal", "page"], null: str = "null"
) -> dict[str, str]:
    """Columns of rows that are shown, and their headings; reasons where there are any.

    Examples
    --------
    >>> headings([{"label": "a", "mean": 0.3, "sd": 0.1, "withheld": ""}], "page")
    {'label': 'Contrast', 'mean': 'Mean'}
    """
    shown: dict[str, str] = {}
    for column in COLUMNS:
        cells = [row[column.name] for row in rows if column.name in row]
        said = [x for x in cells if x is not None and x == x and x != column.usual]
        title = column.heading(where)
        if title and (said if column.is_reason else cells):
            shown[column.name] = title.format(null=null)
    return shown


def correction_words(comparisons: int, judged: int) -> str:
    """Whether intervals allow for several comparisons; empty where a single one is judged.

    Examples
    --------
    >>> correction_words(10, 10), correction_words(1, 10), correction_words(1, 1)
    ("Bonferroni's correction for 10 comparisons", 'no correction for 10 comparisons', '')
    """
    if comparisons > 1:
        return f"Bonferroni's correction for {comparisons} comparisons"
    return f"no correction for {judged} comparisons" if judged > 1 else ""


def ranked_words(ranks: Sequence[float]) -> str:
    """How many of what is compared have a rank; empty where all have.

    Examples
    --------
    >>> ranked_words([1.2, 1.8]), ranked_words([1.2, 1.8, float("nan")])
    ('', ' of 2 of 3 levels')
    """
    ranked = sum(not isnan(rank) for rank in ranks)
    return "" if ranked == len(ranks) else f" of {ranked} of {len(ranks)} levels"


def setting_words(said: Mapping[Any, Any]) -> str:
    """The penalty of a score, and over what contrasts are pooled; empty where there is neither.

    Examples
    --------
    >>> setting_words({"penalty": 2.0, "pool": ""})
    'penalty 2'
    """
    penalty = f"penalty {said['penalty']:g}" if "penalty" in said else ""
    return "; ".join(filter(None, (penalty, pool_words(said))))


def pool_words(said: Mapping[Any, Any]) -> str:
    """Over what contrasts are pooled, and how levels are weighed; empty where they are not.

    Examples
    --------
    >>> pool_words({"pool": "set", "pool_rule": "trials", "pool_weights": '{"A": 0.25, "B": 0.75}'})
    'pooled over set with weights by trials: A 25 %, B 75 %'
    """
    if not said.get("pool"):
        return ""
    rules = {"equal": "with equal weights", "trials": "with weights by trials"}
    rule = (rules | {"given": "with weights as given"}).get(said.get("pool_rule", ""), "")
    shares = read_attr(said, "pool_weights")
    words = f"pooled over {said['pool']} {rule}"
    number = str(said.get("pool_levels", len(shares)))
    if said.get("pool_rule") == "equal" or len(shares) > MOST_SHARES:
        return f"{words} of {number} levels"
    named = ", ".join(f"{name} {100 * x:.3g} %" for name, x in shares.items())
    return f"{words}: {named}" + (f"; {number} levels" if " of " in number else "")
