"""Numbers that are written with decimal commas.

Table with columns of text → table with numbers in their place, and the columns that were read so.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

__all__ = [
    "Decimal",
    "partly_decimal_commas",
    "text_with_point",
    "with_decimal_commas",
    "with_points",
]

Decimal = Literal["comma", "point"]

NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
# "1,234" may be 1234 as well.
THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*")
# "-3e-05", as programs write 0.00003 beside others with a comma: no thousands, and no point.
POWER = re.compile(r"\s*[+-]?[0-9]+[eE][+-]?[0-9]+\s*")


def with_decimal_commas(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table with the numbers that decimal commas stand for, and the names of their columns.

    Parameters
    ----------
    table : DataFrame
        Of a file whose columns are not separated by commas; it is not changed.

    Returns
    -------
    table : DataFrame
        Columns of text in which every filled value is a number with one decimal comma are numbers,
        and some may be whole numbers times a power of ten, such as ``-3e-05``. Others stay as they
        are, and so do those in which every comma may part thousands.
    columns : list of str
        Those that were read so.

    Examples
    --------
    >>> table = pd.DataFrame({"sure": ["0,85", None], "rt": ["1,234", "2,345"], "at": ["1,5", "2"]})
    >>> numbers, columns = with_decimal_commas(table)
    >>> numbers["sure"].tolist(), columns
    ([0.85, nan], ['sure'])
    """
    found = [name for name in table.columns if has_decimal_commas(table[name])]
    numbers = {name: pd.to_numeric(table[name].str.strip().str.replace(",", ".")) for name in found}
    return table.assign(**numbers), found


def with_points(columns: Sequence[str], frame: pd.DataFrame) -> pd.DataFrame:
    """Table with points for the decimal commas of numbers, in some columns.

    Words stay, and so does what may be a number of thousands.

    Examples
    --------
    >>> frame = pd.DataFrame({"sure": ["0,85", None, "1"], "rt": ["1,234", "0,5", "?"]})
    >>> with_points(["sure", "rt"], frame).to_dict("list")
    {'sure': [0.85, nan, 1.0], 'rt': ['1,234', '0.5', '?']}
    """
    for name in columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame = frame.assign(**{name: series_with_points(frame[name])})
    return frame


def series_with_points(column: pd.Series) -> pd.Series:
    """Column of texts, as numbers where all are numbers and some have a decimal comma."""
    try:
        places, levels = pd.factorize(column)
    except TypeError:
        # Lists and records are no numbers; what they are is said where they are counted.
        return column
    texts = [*map(text_with_point, levels)]
    if texts == [*levels]:
        return column
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    values = (numbers if numbers.notna().all() else pd.Series(texts, dtype=object)).to_numpy()
    # A missing value has the last place.
    return pd.Series(np.append(values, np.nan)[places], column.index, name=column.name)


def text_with_point(value: Any) -> Any:
    """Text of a number with a point for its decimal comma; anything else as it is."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value) or THOUSANDS.fullmatch(value):
        return value
    return value.strip().replace(",", ".")


def partly_decimal_commas(table: pd.DataFrame) -> list[str]:
    """Columns that stay text, though some values look like numbers with a decimal comma.

    Parameters
    ----------
    table : DataFrame
        As `with_decimal_commas` gives it.

    Returns
    -------
    list of str
        Also those in which every comma may part thousands.

    Examples
    --------
    >>> partly_decimal_commas(pd.DataFrame({"at": ["1,5", "2"], "name": ["a", "b"]}))
    ['at']
    """
    return [name for name in table.columns if any(map(NUMBER.fullmatch, texts(table[name])))]


def has_decimal_commas(column: pd.Series) -> bool:
    """Whether all values are texts of numbers, with commas that are decimal ones for sure."""
    values = texts(column)
    commas = [one for one in values if NUMBER.fullmatch(one)]
    is_sure = any(not THOUSANDS.fullmatch(one) for one in commas)
    rest = (one for one in values if not NUMBER.fullmatch(one))
    return is_sure and len(values) == column.count() and all(map(POWER.fullmatch, rest))


def texts(column: pd.Series) -> list[str]:
    """Values of a column that are text."""
    if pd.api.types.is_numeric_dtype(column):
        return []
    return [value for value in column.dropna().tolist() if isinstance(value, str)]
