"""Numbers that are written with decimal commas.

Table with columns of text → table with numbers in their place, and the columns that were read so.
"""

import re
from typing import Literal

import pandas as pd

from hmetad.rows.values import GAPS, NUMBER, THOUSANDS

__all__ = ["Decimal", "with_decimal_commas"]

Decimal = Literal["comma", "point"]

# "-3e-05", as programs write 0.00003 beside others with a comma: no thousands, and no point.
POWER = re.compile(r"\s*[+-]?[0-9]+[eE][+-]?[0-9]+\s*")


def with_decimal_commas(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Table with the numbers that decimal commas stand for, and the columns that have commas.

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
    columns : dict of str to list of str
        Under ``decimal_commas`` those that were read so; under ``undecided_commas`` those that stay
        text, though some values look like numbers with a decimal comma. Neither where there are
        none.

    Examples
    --------
    >>> table = pd.DataFrame({"sure": ["0,85", None], "rt": ["1,234", "2,345"], "at": ["1,5", "2"]})
    >>> numbers, columns = with_decimal_commas(table)
    >>> numbers["sure"].tolist(), columns
    ([0.85, nan], {'decimal_commas': ['sure'], 'undecided_commas': ['rt', 'at']})
    """
    numbers, undecided = {}, []
    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name]):
            continue
        known = table[name].where(~table[name].isin(GAPS))
        values = [value for value in known.dropna().tolist() if isinstance(value, str)]
        commas = [one for one in values if NUMBER.fullmatch(one)]
        rest = [one for one in values if not NUMBER.fullmatch(one)]
        has_numbers = len(values) == known.notna().sum() and all(map(POWER.fullmatch, rest))
        if has_numbers and not all(map(THOUSANDS.fullmatch, commas)):
            numbers[name] = pd.to_numeric(known.str.strip().str.replace(",", "."))
        elif commas:
            undecided.append(name)
    found = {"decimal_commas": [*numbers], "undecided_commas": undecided}
    return table.assign(**numbers), {key: names for key, names in found.items() if names}
