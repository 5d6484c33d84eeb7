"""How a value is written in a table.

Cell → text for a reader, or text for a CSV file.
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

__all__ = ["csv_text", "csv_value", "format_cell", "is_number", "present"]

MISSING = "–"
LARGE = 1e7


def is_number(value: object) -> bool:
    """Whether a cell is a number; True and False are not.

    Examples
    --------
    >>> is_number(3), is_number(True), is_number("3")
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def format_cell(value: Any, spec: str = "") -> str:
    """Text of a cell for a reader: true minus sign, en dash for no value.

    Parameters
    ----------
    value : str, float, int, bool or None
        The cell. NaN counts as no value.
    spec : str, optional
        Format specification for numbers; the default is three decimals, or scientific notation
        from ten million, and whole numbers as they are.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        When `spec` cannot write the number.

    Examples
    --------
    >>> format_cell(-0.85634), format_cell(5), format_cell(None), format_cell(True)
    ('−0.856', '5', '–', 'yes')
    >>> format_cell(0.85634, ".1%")
    '85.6%'
    """
    # Of a NumPy scalar, Python's own value.
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, Real):
        return str(value)
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if float(value) > 0 else "−∞"
    return format(value, spec or default_format(value)).replace("-", "−")


def csv_value(value: object) -> object:
    """Cell for a CSV file: full precision; text that a spreadsheet would run gets an apostrophe.

    Examples
    --------
    >>> csv_value(0.1), csv_value(None), csv_value("=HYPERLINK(0)"), csv_value("−")
    (0.1, '', "'=HYPERLINK(0)", '−')
    """
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return present(value)


def present(value: object) -> object:
    """The value, or an empty text where there is none.

    Examples
    --------
    >>> present(0), present(float("nan")), present(None)
    (0, '', '')
    """
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else value


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Rows of values as a CSV file has them.

    Examples
    --------
    >>> csv_text([("model", "mean"), ("a,b", 0.1)])
    'model,mean\n"a,b",0.1\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def default_format(value: Real) -> str:
    """Three decimals without a negative zero; large numbers in scientific notation."""
    if isinstance(value, Integral):
        return "d"
    return "z.3f" if abs(float(value)) < LARGE else ".3e"
