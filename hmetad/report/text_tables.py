"""A table as text that other programs read: CSV, Markdown or LaTeX.

Records → text. Labels come from outside: nothing in them is read as markup.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hmetad.report.terminal import is_numeric
from hmetad.text.cells import csv_text, format_cell
from hmetad.text.escape import latex, markdown

__all__ = ["csv_table", "latex_table", "markdown_table"]

type Records = Sequence[Mapping[str, Any]]


def csv_table(records: Records) -> str:
    r"""All columns of the records in full precision; what is missing is empty.

    No spreadsheet runs a text in it: see `hmetad.spreadsheets`.

    Examples
    --------
    >>> csv_table([{"cell": "a, b", "m_ratio": 0.8563}, {"cell": "c", "m_ratio": None}])
    'cell,m_ratio\n"a, b",0.8563\nc,\n'
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = ([record.get(name) for name in names] for record in records)
    return csv_text([names, *rows])


def markdown_table(records: Records, columns: Mapping[str, str], title: str = "") -> str:
    r"""Table in Markdown, with the minus signs of print.

    Examples
    --------
    >>> print(markdown_table([{"cell": "a|b", "m_ratio": 0.8563}], {"cell": "", "m_ratio": "M"}))
    |  | M |
    | :--- | ---: |
    | a\|b | 0.856 |
    """
    marks = ["---:" if is_numeric(records, name) else ":---" for name in columns]
    rows = [list(map(markdown, columns.values())), marks, *texts(records, columns, markdown)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([markdown(title), "", *lines] if title else lines)


def latex_table(records: Records, columns: Mapping[str, str], title: str = "") -> str:
    r"""Table in LaTeX with the rules of booktabs, and the minus signs of print.

    Examples
    --------
    >>> print(latex_table([{"cell": "a_b", "m_ratio": 0.8563}], {"cell": "", "m_ratio": "M"}))
    \begin{tabular}{lr}
    \toprule
     & M \\
    \midrule
    a\_b & 0.856 \\
    \bottomrule
    \end{tabular}
    """
    marks = "".join("r" if is_numeric(records, name) else "l" for name in columns)
    rows = [list(map(latex, columns.values())), *texts(records, columns, latex)]
    heading, *lines = [" & ".join(row) + r" \\" for row in rows]
    body = [rf"\begin{{tabular}}{{{marks}}}", r"\toprule", heading, r"\midrule"]
    table = [*body, *lines, r"\bottomrule", r"\end{tabular}"]
    if title:
        table = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{latex(title)}}}",
            *table,
            r"\end{table}",
        ]
    return "\n".join(table)


def texts(
    records: Records, columns: Mapping[str, str], escape: Callable[[object], str]
) -> list[list[str]]:
    """Cells of the columns in the language of a format."""
    return [[escape(format_cell(record.get(name))) for name in columns] for record in records]
