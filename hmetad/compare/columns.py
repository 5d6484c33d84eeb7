"""Columns of a table of decisions: meaning, computation, and where each is shown.

What was found and judged of each quantity → values by column; rows → the columns to show.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["COLUMNS", "Column", "headings", "labelled_columns"]

type Found = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table of decisions.

    Parameters
    ----------
    name, means : str
    terminal, page : str, optional
        Headings; a column without one is only in the complete table and in files. ``{null}``
        stands for the null value.
    compute : callable, optional
        Summaries by name → values. Without it, the summary of the same name, if there is one.
    usual : str or float, optional
        A value that says nothing: the column is a reason, and shown where it has another.
    """

    name: str
    means: str
    terminal: str = ""
    page: str = ""
    compute: Callable[[Found], Any] | None = None
    usual: str | float | None = None

    @property
    def is_reason(self) -> bool:
        """Whether it is shown only where it says anything."""
        return self.usual is not None


# In their order in the table, where coordinates come after the label.
COLUMNS = (
    Column("label", "what is judged", "contrast", "Contrast"),
    Column("mean", "mean of the draws, or the estimate", "mean", "Mean"),
    Column("sd", "standard deviation of the draws, or the standard error"),
    Column("lower", "lower bound of the interval", "lower", "Lower"),
    Column("upper", "upper bound of the interval", "upper", "Upper"),
    Column("mcse_lower", "Monte Carlo standard error of the lower bound"),
    Column("mcse_upper", "Monte Carlo standard error of the upper bound"),
    Column("p_value", "p of the two-sided z-test, times the number of comparisons"),
    Column("p_direction", "probability of the more likely sign", "P(dir.)", "P(dir.)"),
    Column("in_rope", "share of the posterior in the ROPE", "in ROPE", "In ROPE"),
    Column("rhat", "rank-normalised R̂ of the draws judged; independent draws have none"),
    Column("ess_tail", "effective draws of the worse bound"),
    Column(
        "statistical",
        "whether the interval excludes the null; no answer where it is withheld",
        "excludes null",
        "≠ {null}",
    ),
    Column("verdict", "where the interval lies against the ROPE", "verdict", "Verdict"),
    Column("direction", "greater or less than the ROPE, where the verdict is different"),
    Column("full_verdict", "the same words by the share of the posterior in the ROPE"),
    Column("pooled", "levels that a pooled contrast is over"),
    Column(
        "not_pooled",
        "levels that a pooled contrast lacks: a side is missing, or too often undefined, there",
        "without",
        "Without",
        usual="",
    ),
    Column(
        "undefined",
        "share of the draws that are undefined; up to 5 % are left out",
        "undefined",
        "Undefined",
        usual=0.0,
    ),
    Column(
        "left_coverage",
        "share of the items that the left side has, of those of levels that share items",
        "left coverage",
        "Left coverage",
        usual=1.0,
    ),
    Column(
        "right_coverage",
        "share of the items that the right side has",
        "right coverage",
        "Right coverage",
        usual=1.0,
    ),
    Column(
        "withheld",
        "codes of what withholds the answers",
        "withheld for",
        "Withheld for",
        usual="",
    ),
    Column(
        "unsettled",
        "answers that more draws could change",
        "MC error could turn",
        usual="",
    ),
)


def labelled_columns(found: Found, dim: str) -> dict[str, tuple[str, Any, dict[str, str]]]:
    """Columns that can be had from what was found: their dim, values, and what they are.

    Examples
    --------
    >>> labelled_columns({"verdict": ["different"], "tail_lower": [100]}, "pair")["verdict"]
    ('pair', ['different'], {'long_name': 'where the interval lies against the ROPE'})
    """
    columns = {}
    for column in COLUMNS:
        is_known = column.compute is not None or column.name in found
        if is_known:
            values = found[column.name] if column.compute is None else column.compute(found)
            columns[column.name] = (dim, values, {"long_name": column.means})
    return columns


def headings(
    rows: Sequence[Mapping[Any, Any]], where: Literal["terminal", "page"], null: str = "0"
) -> dict[str, str]:
    """Columns of rows that are shown, and their headings; reasons where there are any.

    Parameters
    ----------
    rows : sequence of mapping
    where : {"terminal", "page"}
    null : str, optional
        The null value, in words.

    Examples
    --------
    >>> headings([{"label": "a", "mean": 0.3, "sd": 0.1, "withheld": ""}], "page")
    {'label': 'Contrast', 'mean': 'Mean'}
    """
    shown: dict[str, str] = {}
    for column in COLUMNS:
        title = getattr(column, where)
        cells = [row[column.name] for row in rows if column.name in row]
        said = [x for x in cells if x is not None and x == x and x != column.usual]
        if title and (said if column.is_reason else cells):
            shown[column.name] = title.format(null=null)
    return shown
