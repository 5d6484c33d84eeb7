"""Decisions: the one record of verdicts that tables, text, figures, pages and gates render.

Results of each quantity, with settings → table by its columns, short text, and words on what was
done for several comparisons and levels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import refuse_same_names
from hmetad.errors import one_line
from hmetad.notice import notices
from hmetad.untrusted import read_attr

__all__ = [
    "COLUMNS",
    "Column",
    "Decisions",
    "correction_words",
    "headings",
    "labelled_columns",
    "pool_words",
    "ranked_words",
]

MOST_ROWS, MOST_SHARES = 60, 8


@dataclass(frozen=True)
class Column:
    """A column of a table of decisions: name, meaning, and where it is shown.

    A column without a heading is only in the complete table and in files; that of a page is the
    terminal's with a capital, unless another is given. ``{null}`` stands for the null value.
    `usual` is a value that says nothing: the column is shown where it has another.
    """

    name: str
    means: str
    terminal: str = ""
    page: str | None = None
    usual: str | float | None = None

    @property
    def is_reason(self) -> bool:
        """Whether it is shown only where it says anything."""
        return self.usual is not None

    def heading(self, where: Literal["terminal", "page"]) -> str:
        """Heading in a place; empty where the column is not shown there."""
        if where == "terminal":
            return self.terminal
        return self.terminal[:1].upper() + self.terminal[1:] if self.page is None else self.page


# In their order in the table, where coordinates come after the label.
COLUMNS = (
    Column("label", "what is judged", "contrast"),
    Column("mean", "mean of the draws, or the estimate", "mean"),
    Column("sd", "standard deviation of the draws, or the standard error"),
    Column("lower", "lower bound of the interval", "lower"),
    Column("upper", "upper bound of the interval", "upper"),
    Column("mcse_lower", "Monte Carlo standard error of the lower bound"),
    Column("mcse_upper", "Monte Carlo standard error of the upper bound"),
    Column("p_value", "p of the two-sided z-test, times the number of comparisons"),
    Column("p_direction", "probability of the more likely sign", "P(dir.)"),
    Column("in_rope", "share of the posterior in the ROPE", "in ROPE"),
    Column("rhat", "rank-normalised R̂ of the draws judged; independent draws have none"),
    Column("ess_tail", "effective draws of the worse bound"),
    Column(
        "statistical",
        "whether the interval excludes the null; no answer where it is withheld",
        "excludes null",
        "≠ {null}",
    ),
    Column("verdict", "where the interval lies against the ROPE", "verdict"),
    Column("direction", "greater or less than the ROPE, where the verdict is different"),
    Column("full_verdict", "the same words by the share of the posterior in the ROPE"),
    Column("pooled", "levels that a pooled contrast is over"),
    Column(
        "not_pooled",
        "levels that a pooled contrast lacks: a side is missing, or too often undefined, there",
        "without",
        usual="",
    ),
    Column(
        "undefined",
        "share of the draws that are undefined; up to 5 % are left out",
        "undefined",
        usual=0.0,
    ),
    Column(
        "left_coverage",
        "share of the items that the left side has, of those of levels that share items",
        "left coverage",
        usual=1.0,
    ),
    Column(
        "right_coverage", "share of the items that the right side has", "right coverage", usual=1.0
    ),
    Column("withheld", "codes of what withholds the answers", "withheld for", usual=""),
    Column(
        "unsettled", "answers that more draws could change", "MC error could turn", "", usual=""
    ),
)
# Columns that contrasts bring along as coordinates.
BROUGHT = {"withheld", "pooled", "not_pooled", "left_coverage", "right_coverage"}


@dataclass(frozen=True)
class Decisions:
    """Verdicts on a set of quantities, with the settings and results that they are based on.

    Tables, text and figures render this one object, so that they cannot disagree. It shows itself
    as a short table; `table` has everything, and `hmetad.notices` reads the notices.

    Parameters
    ----------
    results : Dataset
        One dim (pair or cell), with its labels, and a variable for each column of `table` that is
        a number or an answer; the attr long_name says what it is. statistical is False where
        withheld. verdict is "different" (interval entirely outside the ROPE), "negligible"
        (entirely inside), "inconclusive", or "unreliable" (withheld: see `decide`); full_verdict
        the same words by the share of the posterior in the ROPE, below .025 and above .975.
    quantity : str
        What is judged, such as "log_m".
    rope : tuple of float
        Region of practical equivalence, on the scale of the quantity.
    null : float
        Null value of the statistical answer.
    ci_prob : float
        Probability of an interval before the correction for several comparisons.
    ci_kind : {"eti", "hdi", "normal"}
        Equal-tailed, highest density, or estimate ± z·SE.
    comparisons : int
        m: intervals have probability 1 - (1 - ci_prob)/m, p-values are multiplied by m.

    Examples
    --------
    >>> import hmetad
    >>> decisions = hmetad.decide_normal([0.3], [0.05], rope=(-0.1, 0.1), labels=["A - B"])
    >>> decisions.ci_kind, decisions.results["verdict"].item()
    ('normal', 'different')
    """

    results: xr.Dataset
    quantity: str
    rope: tuple[float, float]
    null: float
    ci_prob: float
    ci_kind: str
    comparisons: int

    def table(self) -> pd.DataFrame:
        """One row per quantity: label, its coordinates, then the results, and direction.

        direction is "greater" or "less" where the verdict is "different", else empty.

        Coefficients of a column in treatment coding are labelled as differences from its first
        level, as in "on − off".

        Where there is no verdict, since it is withheld, `statistical` is None: no answer.
        """
        dim = next(iter(self.results.dims))
        frame = self.results.to_dataframe().reset_index().rename(columns={dim: "label"})
        frame["verdict"] = frame["verdict"].astype(str)
        if "reference" in self.attrs:
            reference = self.attrs["reference"]
            frame["label"] = [f"{label} − {reference}" for label in frame["label"]]
        withheld = self.results.coords["withheld"].values != ""
        if withheld.any():
            answers = zip(frame["statistical"], withheld, strict=True)
            told = [None if is_withheld else answer for answer, is_withheld in answers]
            frame["statistical"] = pd.Series(told, dtype=object)
        results = [str(name) for name in self.results.data_vars]
        frame = frame[[c for c in frame.columns if c not in results] + results]
        sides = np.where(frame["lower"] > self.rope[1], "greater", "less")
        directions = np.where(frame["verdict"] == "different", sides, "")
        frame.insert([*frame.columns].index("verdict") + 1, "direction", directions)
        return frame

    @property
    def attrs(self) -> Mapping[Any, Any]:
        """Attrs of the draws or estimates; `notices` reads the notices in them."""
        return self.results.attrs

    def __repr__(self) -> str:
        headline, shown, below = short_form(self)
        text = shown.to_string(index=False, float_format="{:.3f}".format, max_rows=MOST_ROWS)
        return "\n".join([headline, text, *below])

    def _repr_html_(self) -> str:
        headline, shown, below = short_form(self)
        # A label that is cut short may be that of another.
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(index=False, float_format="{:.3f}".format, max_rows=MOST_ROWS)
        first, *last = (f"<p>{escape(line)}</p>" for line in (headline, *below))
        return "\n".join([first, table, *last])


def short_form(decisions: Decisions) -> tuple[str, pd.DataFrame, list[str]]:
    """What is judged and how; the columns shown by default; and how many draws are needed."""
    low, high = decisions.rope
    level = 100 * (1 - (1 - decisions.ci_prob) / decisions.comparisons)
    number = decisions.results["verdict"].size
    parts = (
        f"{number} of {decisions.quantity}",
        f"ROPE {low:g} to {high:g}",
        f"null {decisions.null:g}",
        f"{level:.4g} % intervals ({decisions.ci_kind})",
        correction_words(decisions.comparisons, number),
        pool_words(decisions.attrs),
    )
    table = decisions.table()
    shown = table[[*headings(table.to_dict("records"), "terminal")]]
    shown = shown.map(lambda cell: one_line(cell, None) if isinstance(cell, str) else cell)
    found = notices(decisions.results)
    below = [notice.message for notice in found if notice.code == "draws-for-level"]
    return f"Decisions: {'; '.join(filter(None, parts))}", shown, below


def labelled_columns(
    found: Mapping[str, Any], judged: xr.DataArray, dim: str
) -> dict[str, tuple[str, Any, dict[str, str]]]:
    """Columns among what was found of what is judged: their dim, values, and what they are.

    Coordinates with the name of a column are refused, but those of contrasts, which bring some
    along; of cells they would be grouping columns.
    """
    brought = set() if "cell" in judged.dims else BROUGHT
    refuse_same_names(judged.coords, {column.name for column in COLUMNS} - brought)
    return {
        column.name: (dim, found[column.name], {"long_name": column.means})
        for column in COLUMNS
        if column.name in found
    }


def headings(
    rows: Sequence[Mapping[Any, Any]], where: Literal["terminal", "page"], null: str = "0"
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
