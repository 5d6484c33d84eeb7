"""Several tables below each other.

Paths of tables with the same columns → one DataFrame, and what separates their columns.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from hmetad.errors import InputError
from hmetad.logs.delimiters import DELIMITERS, sniffed_delimiter
from hmetad.logs.parts import of_each
from hmetad.logs.trials import safe_text
from hmetad.rows.limits import Limits, as_limits, check_size
from hmetad.rows.tables import read_table

__all__ = ["FILE", "joined_tables"]

FILE = "file"


def joined_tables(
    files: Sequence[Path],
    delimiter: str | None,
    limits: Limits | Mapping[str, int] | None,
    executor: Any = None,
) -> tuple[pd.DataFrame, str]:
    """Tables below each other, and the delimiters that are not those of the suffixes.

    Parameters
    ----------
    files : sequence of Path
        At least one.
    delimiter : str or None
        As in `sniffed_delimiter`.
    limits : Limits, mapping of str to int, or None
        Of each table, and of the cells of all.
    executor : object, optional
        What reads them, as in `of_each`.

    Returns
    -------
    table : DataFrame
        Of several files with a column ``file``.
    delimiters : str
        Their names, or "".

    Raises
    ------
    InputError
        If a table cannot be read, they have different columns, or are too large together.
    """
    tables: list[pd.DataFrame] = []
    signs: set[str] = set()
    cells = 0
    read = partial(one_table, delimiter, as_limits(limits))
    for file, (table, sign) in zip(files, of_each(read, files, executor), strict=True):
        signs |= set() if sign is None else {sign}
        cells += table.size
        check_size(file, 0, cells, as_limits(limits))
        if tables and list(table.columns) != list(tables[0].columns):
            only = set(table.columns) ^ set(tables[0].columns)
            odd = ", ".join(sorted(map(repr, only))[:5]) or "in another order"
            got = f"other columns than in {files[0]}: {odd}"
            raise InputError(str(file), got, "tables with the same columns", "Read it by itself.")
        tables.append(table)
    names = {sign: name for name, sign in DELIMITERS.items()}
    said = ", ".join(sorted(names[sign] for sign in signs))
    if len(files) == 1:
        return tables[0], said
    if FILE in tables[0]:
        got = f"a column {FILE!r} in several tables"
        raise InputError(str(files[0]), got, "no column of that name", "Rename it.")
    named = [t.assign(**{FILE: safe_text(f)}) for t, f in zip(tables, files, strict=True)]
    return pd.concat(named, ignore_index=True), said


def one_table(delimiter: str | None, limits: Limits, file: Path) -> tuple[pd.DataFrame, str | None]:
    """A table, and its delimiter where it is not that of the suffix."""
    sign = sniffed_delimiter(file, delimiter)
    return read_table(file, delimiter=sign, limits=limits), sign
