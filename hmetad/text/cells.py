"""How a value is written in a table.

Cell → text for a reader, or text for a CSV file.
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from hmetad.base.spreadsheets import guard, guard_frame

if TYPE_CHECKING:
    import pandas as pd

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


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    r"""Rows of values as a CSV file has them: in full precision, empty where there is no value.

    Text that a spreadsheet would run is guarded (`hmetad.base.spreadsheets`).

    Examples
    --------
    >>> csv_text([("model", "mean"), ("a,b", 0.1), ("=1+1", None)])
    'model,mean\n"a,b",0.1\n\'=1+1,\n'
    """
    text = io.StringIO()
    written = ([guard(present(value)) for value in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(written)
    return text.getvalue()


def csv_frame(frame: "pd.DataFrame") -> str:
    r"""Table as a CSV file has it, without its index; text is guarded as in `csv_text`.

    Examples
    --------
    >>> import pandas as pd
    >>> csv_frame(pd.DataFrame({"model": ["=1+1"], "mean": [-0.5]}))
    "model,mean\n'=1+1,-0.5\n"
    """
    text: str = guard_frame(frame).to_csv(index=False)
    return text


def present(value: object) -> object:
    """The value, or an empty text where there is none."""
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else value


def default_format(value: Real) -> str:
    """Three decimals without a negative zero; large numbers in scientific notation."""
    if isinstance(value, Integral):
        return "d"
    return "z.3f" if abs(float(value)) < LARGE else ".3e"
