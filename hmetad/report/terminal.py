"""Results on a terminal.

Records → a table of text on standard output, or JSON; notices and remarks → standard error.
Labels come from outside: nothing in them is read as markup, and control characters are shown.
"""

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_json", "print_table", "say"]

PIPED_WIDTH = 200


def print_table(
    records: Iterable[Mapping[str, Any]], columns: Mapping[str, str], title: str = ""
) -> None:
    """Print records as a table.

    Parameters
    ----------
    records : iterable of mapping
        One per row.
    columns : mapping of str to str
        Keys of the records to print, and their headings.
    title : str
        Printed above.
    """
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    rows = [[record.get(key) for key in columns] for record in records]
    for place, heading in enumerate(columns.values()):
        numeric = all(isinstance(row[place], int | float) for row in rows)
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(value)) for value in row))
    # A pipe has no width of its own: rows stay whole, for grep and cut.
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False).print(table)


def print_json(value: Any) -> None:
    """Print a value as JSON; what is not a number becomes null."""
    print(json.dumps(strict(value), ensure_ascii=False, indent=2))


def say(text: str) -> None:
    """Print a remark to standard error."""
    print(shown(text), file=sys.stderr)


def shown(value: object) -> str:
    """Text of a value: three decimals, yes and no, control characters made visible."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def strict(value: Any) -> Any:
    """Value that JSON has: NaN and infinities become None, NumPy scalars Python's own."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
