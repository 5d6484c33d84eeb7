"""Numbers that are written with decimal commas.

Table with columns of text → table with numbers in their place, and the columns that were read so.
"""

import re
from collections.abc import Sequence
from typing import Literal

import pandas as pd
import pyarrow as pa

from hmetad.rows.rows import columns_named

__all__ = ["Decimal", "partly_decimal_commas", "with_decimal_commas", "with_points"]

Decimal = Literal["comma", "point"]

NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
# "1,234" may be 1234 as well.
THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*")
# "-3e-05", as programs write 0.00003 beside others with a comma: no thousands, and no point.
POWER = re.compile(r"\s*[+-]?[0-9]+[eE][+-]?[0-9]+\s*")


def with_decimal_commas(
    table: pd.DataFrame, text: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Table with the numbers that decimal commas stand for, and the names of their columns.

    Parameters
    ----------
    table : DataFrame
        Of a file whose columns are not separated by commas; it is not changed.
    text : sequence of str, optional
        Columns that stay text.

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
    kept = {column for name in text for column in columns_named(name, table.columns)}
    found = [x for x in table.columns if x not in kept and has_decimal_commas(table[x])]
    numbers = {name: pd.to_numeric(table[name].str.replace(",", ".")) for name in found}
    return table.assign(**numbers), found


def with_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Column of texts, as dictionaries, with points for the decimal commas of numbers.

    Examples
    --------
    >>> with_points(pa.chunked_array([pa.array(["0,5", "so, so"]).dictionary_encode()])).to_pylist()
    ['0.5', 'so, so']
    """
    chunks = []
    for chunk in column.chunks:
        texts = [
            text.replace(",", ".") if NUMBER.fullmatch(text) else text
            for text in chunk.dictionary.to_pylist()
        ]
        # "0,5" and "0.5" are one text from now on.
        changed = pa.DictionaryArray.from_arrays(chunk.indices, pa.array(texts, pa.string()))
        chunks.append(changed.dictionary_decode().dictionary_encode())
    return pa.chunked_array(chunks, column.type)


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
