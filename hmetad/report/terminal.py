"""Results on a terminal.

Records → a table of text on standard output; notices and remarks → standard error.
Labels come from outside: nothing in them is read as markup, and control and direction marks are
shown by their code.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hmetad.text.escape import reveal, visible

__all__ = ["is_numeric", "print_table", "print_text", "say"]

PIPED_WIDTH = 200
# Rows above which a table on a terminal is cut, and those that are then shown.
MOST_ROWS, SHOWN_ROWS = 60, 40


def print_table(
    records: Sequence[Mapping[str, Any]], columns: Mapping[str, str], title: str = ""
) -> None:
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


def is_numeric(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether all records have numbers there, or yes and no."""
    return all(isinstance(record.get(name), int | float) for record in records)


def cell_text(value: object) -> str:
    """Text of a value: three decimals, yes and no, text on one line with nothing hidden."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:z.3f}"
    return visible(value)
