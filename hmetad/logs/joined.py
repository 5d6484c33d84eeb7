"""Several tables below each other.

Paths of tables with the same columns → one DataFrame, and how their columns and numbers are read.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from hmetad.errors import InputError
from hmetad.logs.parts import of_each
from hmetad.logs.trials import safe_text
from hmetad.rows.decimals import Decimal, partly_decimal_commas, with_decimal_commas
from hmetad.rows.delimiters import DELIMITERS, sniffed_delimiter, text_suffix, usual_delimiter
from hmetad.rows.limits import Limits, as_limits, check_size
from hmetad.rows.tables import read_table

__all__ = ["FILE", "joined_tables"]

FILE = "file"


def joined_tables(
    files: Sequence[Path],
    delimiter: str | None,
    decimal: Decimal | None,
    limits: Limits | Mapping[str, int] | None,
    executor: Any = None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Tables below each other, and what was found out about how they are written.

    Parameters
    ----------
    files : sequence of Path
        At least one.
    delimiter : str or None
        As in `sniffed_delimiter`.
    decimal : {"comma", "point"} or None
        How numbers are written; None: by columns, as in `with_decimal_commas`, where no file has
        commas between its columns.
    limits : Limits, mapping of str to int, or None
        Of each table, and of the cells of all.
    executor : object, optional
        What reads them, as in `of_each`.

    Returns
    -------
    table : DataFrame
        Of several files with a column ``file``.
    found : dict
        ``delimiter``: names of delimiters that are not those of the suffixes; ``decimal_commas``:
        columns whose decimal commas were found; ``undecided_commas``: those that stay text, though
        some values look like numbers with a decimal comma. No key for what there is none of.

    Raises
    ------
    InputError
        If a table cannot be read, they have different columns, or are too large together.
    """
    tables: list[pd.DataFrame] = []
    signs: dict[Path, str | None] = {}
    cells = 0
    read = partial(one_table, delimiter, decimal, as_limits(limits))
    for file, (table, sign) in zip(files, of_each(read, files, executor), strict=True):
        signs[file] = sign
        cells += table.size
        check_size(file, 0, cells, as_limits(limits))
        if tables and list(table.columns) != list(tables[0].columns):
            only = set(table.columns) ^ set(tables[0].columns)
            odd = ", ".join(sorted(map(repr, only))[:5]) or "in another order"
            got = f"other columns than in {files[0]}: {odd}"
            raise InputError(str(file), got, "tables with the same columns", "Read it by itself.")
        tables.append(table)
    said = ", ".join(sorted(name for name, sign in DELIMITERS.items() if sign in signs.values()))
    found: dict[str, Any] = {"delimiter": said} if said else {}
    table = below_each_other(files, tables)
    between = {sign or usual_delimiter(file) for file, sign in signs.items()}
    if decimal is None and not between & {",", None}:
        table, commas = with_decimal_commas(table)
        partly = partly_decimal_commas(table)
        found |= {"decimal_commas": commas} if commas else {}
        found |= {"undecided_commas": partly} if partly else {}
    return table, found


def one_table(
    delimiter: str | None, decimal: Decimal | None, limits: Limits, file: Path
) -> tuple[pd.DataFrame, str | None]:
    """A table, and its delimiter where it is not that of the suffix."""
    sign = sniffed_delimiter(file, delimiter)
    if decimal is not None and text_suffix(file) is None:
        step = "Other formats say themselves what is a number."
        raise InputError("decimal", f"{decimal!r}, for {file}", "a text table", step)
    point: Literal[".", ","] = "," if decimal == "comma" else "."
    return read_table(file, delimiter=sign, decimal=point, limits=limits), sign


def below_each_other(files: Sequence[Path], tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables with the same columns as one; of several with the names of their files."""
    if len(files) == 1:
        return tables[0]
    if FILE in tables[0]:
        got = f"a column {FILE!r} in several tables"
        raise InputError(str(files[0]), got, "no column of that name", "Rename it.")
    named = [t.assign(**{FILE: safe_text(f)}) for t, f in zip(tables, files, strict=True)]
    return pd.concat(named, ignore_index=True)
