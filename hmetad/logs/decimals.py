"""Numbers that are written with decimal commas.

Table with columns of text → table with numbers in their place, and the columns that were read so.
"""

import re
from typing import Literal

import pandas as pd

__all__ = ["Decimal", "with_decimal_commas"]

Decimal = Literal["comma", "point"]

NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
# "1,234" may be 1234 as well.
THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*")


def with_decimal_commas(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Table with the numbers that decimal commas stand for, and the names of their columns.

    Parameters
    ----------
    table : DataFrame
        Of a file whose columns are not separated by commas; it is not changed.

    Returns
    -------
    table : DataFrame
        Columns of text in which every filled value is a number with one decimal comma are numbers.
        Others stay as they are, and so do those in which every comma may part thousands.
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
    numbers = {name: pd.to_numeric(table[name].str.replace(",", ".")) for name in found}
    return table.assign(**numbers), found


def has_decimal_commas(column: pd.Series) -> bool:
    """Whether all values of a column that are there are texts of numbers with a decimal comma."""
    if pd.api.types.is_numeric_dtype(column):
        return False
    values = column.dropna().tolist()
    are_numbers = all(isinstance(one, str) and NUMBER.fullmatch(one) for one in values)
    return are_numbers and not all(THOUSANDS.fullmatch(one) for one in values)
