"""Numbers that are written with decimal commas.

Table with columns of text → table with numbers in their place, and the columns that were read so.
"""

import re
from typing import Literal

import pandas as pd

from hmetad.rows.values import GAPS, NUMBER, THOUSANDS

__all__ = ["Decimal", "partly_decimal_commas", "with_decimal_commas"]

Decimal = Literal["comma", "point"]

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
    known = {name: table[name].where(~table[name].isin(GAPS)) for name in found}
    numbers = {
        name: pd.to_numeric(column.str.strip().str.replace(",", "."))
        for name, column in known.items()
    }
    return table.assign(**numbers), found


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
    filled = (~column.isin(GAPS) & column.notna()).sum()
    return is_sure and len(values) == filled and all(map(POWER.fullmatch, rest))


def texts(column: pd.Series) -> list[str]:
    """Values of a column that are text, without those that stand for a missing one."""
    if pd.api.types.is_numeric_dtype(column):
        return []
    known = column[~column.isin(GAPS)].dropna()
    return [value for value in known.tolist() if isinstance(value, str)]
