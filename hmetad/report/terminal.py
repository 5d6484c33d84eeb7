"""Results on a terminal, and as text that other programs read: CSV, Markdown, LaTeX or JSON.

Records → a table of text on standard output, or text; notices and remarks → standard error.
Labels come from outside: nothing in them is read as markup, and control and direction marks are
shown by their code.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hmetad.text.cells import csv_text, format_cell, is_number
from hmetad.text.escape import HIDDEN, latex, markdown, reveal, visible

type Records = Sequence[Mapping[str, Any]]

PIPED_WIDTH = 200
# Rows above which a table on a terminal is cut, and those that are then shown.
MOST_ROWS, SHOWN_ROWS = 60, 40


def print_table(records: Records, columns: Mapping[str, str], title: str = "") -> None:
    """Print records as a table; a long one is cut short on a terminal, and whole in a pipe.

    Parameters
    ----------
    records : sequence of mapping
        One per row.
    columns : mapping of str to str
        Keys of the records to print, and their headings.
    title : str
        Printed above.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, column in columns.items():
        justify: Literal["right", "left"] = "right" if is_numeric(records, name) else "left"
        table.add_column(Text(cell_text(column)), justify=justify, overflow="fold")
    is_terminal = sys.stdout.isatty()
    shown = records[:SHOWN_ROWS] if is_terminal and len(records) > MOST_ROWS else records
    for record in shown:
        table.add_row(*(Text(cell_text(record.get(name))) for name in columns))
    # A pipe has no width of its own: rows stay whole, for grep and cut.
    console = Console(width=None if is_terminal else PIPED_WIDTH, highlight=False)
    if title:
        # A title of the table would be wrapped to its width.
        console.print(Text(cell_text(title), style="italic"))
    console.print(table)
    if len(shown) < len(records):
        console.print(f"{len(records) - len(shown)} more rows: --format csv, or -o FILE, has all.")


def print_text(text: str) -> None:
    """Print what programs read, as it is; on a terminal control and direction marks are shown."""
    whole = text.encode("utf-8", "replace").decode()
    print(reveal(text) if sys.stdout.isatty() else whole, end="")


def say(text: str) -> None:
    """Print a remark, in one line, to standard error; if that is closed, go on."""
    with suppress(OSError):
        print(cell_text(text), file=sys.stderr)


def csv_table(records: Records) -> str:
    r"""All columns of the records in full precision; what is missing is empty.

    No spreadsheet runs a text in it: see `hmetad.base.spreadsheets`.

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
        start = [r"\begin{table}", r"\centering\small", rf"\caption{{{latex(title)}}}"]
        table = [*start, *table, r"\end{table}"]
    return "\n".join(table)


def json_text(value: Any, indent: int) -> str:
    r"""JSON in which every letter stands as it is, and what would hide is escaped.

    Control and direction marks act on a terminal; halves of signs cannot be written to a file.

    Examples
    --------
    >>> print(json_text({"label": "é\x9b2J\u202e"}, 0))
    {
    "label": "é\u009b2J\u202e"
    }
    """
    text = json.dumps(strict(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return HIDDEN.sub(lambda sign: json.dumps(sign[0])[1:-1], text)


def strict(value: Any) -> Any:
    """Value that JSON has: NaN and infinities become None, values of NumPy Python's own.

    Examples
    --------
    >>> strict({"rope": (-0.1, float("inf"))})
    {'rope': [-0.1, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if getattr(value, "ndim", 0):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def texts(
    records: Records, columns: Mapping[str, str], escape: Callable[[object], str]
) -> list[list[str]]:
    """Cells of the columns in the language of a format."""
    return [[escape(format_cell(record.get(name))) for name in columns] for record in records]


def is_numeric(records: Records, name: str) -> bool:
    """Whether all records have numbers there, or yes and no."""
    return all(isinstance(record.get(name), int | float) for record in records)


def cell_text(value: object) -> str:
    """Text of a value on one line with nothing hidden, and of a number with its plain minus."""
    text = visible(format_cell(value))
    return text.replace("−", "-") if is_number(value) else text
