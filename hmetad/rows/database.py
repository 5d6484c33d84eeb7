"""DuckDB, which reads and groups rows of any number.

Files that may be read → a connection to a database in memory; SQL about trials → DataFrame.
Nothing but what is named can be read through it, and what does not fit into its memory goes to a
temporary folder, which is removed.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from hmetad.base.errors import NumberError
from hmetad.base.threads import usable_cpus

MEMORY = "1GiB"
NUMBERS = count()
NO_LABELS = ("LIST", "STRUCT", "MAP", "UNION", "ARRAY", "VARIANT", "BLOB", "BIT")
# How DuckDB calls whole numbers, and other numbers.
WHOLE = ("INT", "INTEGER")
FRACTIONS = ("DECIMAL", "DOUBLE", "FLOAT")
# Whole numbers up to this one are floats as well.
EXACT = 2**53
# The bits of infinity; but for the sign, those of NaN are more.
INFINITY = 0x7FF0000000000000


class UngroupableError(TypeError):
    """Values that are no labels, such as lists."""


@dataclass(frozen=True)
class Opened:
    """Some columns of a table, which a connection can read.

    Parameters
    ----------
    connection : DuckDBPyConnection
    select : str
        SQL for the rows; column i is called ci, and one of weights ``times``.
    kinds : tuple of str
        Types of the columns, as DuckDB calls them.
    decode : callable
        What SQL found in the first columns, and their names → their values under these names.
    weight : str, optional
        SQL for how many rows each stands for; by default 1.
    parts : tuple of str, optional
        SQL for the rows of each file, where there are several.
    """

    connection: duckdb.DuckDBPyConnection
    select: str
    kinds: tuple[str, ...]
    decode: Callable[[pd.DataFrame, Sequence[Any]], pd.DataFrame]
    weight: str | None = None
    parts: tuple[str, ...] = ()

    def frame(self, sql: str) -> pd.DataFrame:
        """What SQL says about ``trials``."""
        return plain_frame(self.connection.execute(self.about_trials(sql)).df())

    def keep(self, name: str, sql: str) -> None:
        """Table of this name, for later questions, with what SQL says about ``trials``."""
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {self.about_trials(sql)}")

    def about_trials(self, sql: str) -> str:
        """SQL in which ``trials`` are the rows."""
        return f"WITH trials AS NOT MATERIALIZED ({self.select}) {sql}"

    @property
    def number(self) -> str:
        """SQL for how many rows there are of a group."""
        return "count(*)::BIGINT" if self.weight is None else f"sum({self.weight})::BIGINT"

    @property
    def places(self) -> list[str]:
        """Names of the columns in SQL."""
        return [f"c{place}" for place in range(len(self.kinds))]

    def values(self, found: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
        """Values of the first columns, under their names in the table."""
        return self.decode(found[self.places[: len(columns)]], columns)

    def has_numbers(self, place: int) -> bool:
        """Whether a column holds numbers, and not texts of them."""
        return self.kinds[place].endswith(WHOLE) or self.kinds[place].startswith(FRACTIONS)

    def text_in(self, place: int) -> str:
        """SQL for the text of a column."""
        column = self.places[place]
        return f"({column}->>'$')" if self.kinds[place] == "JSON" else f"{column}::VARCHAR"

    def number_in(self, place: int) -> str:
        """SQL for the number of a column, or of its text; missing where it is not a number."""
        if self.has_numbers(place):
            return f"{self.places[place]}::DOUBLE"
        return number_of(self.text_in(place))

    def refuse_no_labels(self) -> None:
        """Raise an error for columns of lists, records or bytes."""
        for kind in self.kinds:
            if kind.endswith("]") or kind.startswith(NO_LABELS):
                raise UngroupableError(f"values of type {kind}")


def refuse_nested(name: object, column: pd.Series) -> None:
    """Raise an error that names the first value of a column that holds others."""
    for value in column.tolist():
        if isinstance(value, dict | list):
            raise UngroupableError(f"{value!r:.60} in column {name!r}")


def literal(text: str) -> str:
    """Text in SQL.

    Examples
    --------
    >>> literal("it's")
    "'it''s'"
    """
    return "'{}'".format(text.replace("'", "''"))


def of_files(paths: Sequence[Path]) -> str:
    """SQL for the names of files, in which no sign is a pattern.

    Examples
    --------
    >>> of_files([Path("a[1].csv")])
    "['a[[]1].csv']"
    """
    return f"[{', '.join(literal(as_pattern(path)) for path in paths)}]"


def as_pattern(path: Path) -> str:
    """Pattern that only this path fits."""
    return re.sub(r"([\[*?])", r"[\1]", str(path))


def connected(paths: Sequence[Path] = ()) -> duckdb.DuckDBPyConnection:
    """Connection to a database of its own, which can read these files and no other."""
    # DuckDB makes the folder when it needs it, and removes it.
    folder = Path(tempfile.gettempdir(), f"hmetad-{os.getpid()}-{next(NUMBERS)}")
    settings: dict[str, Any] = {"memory_limit": MEMORY, "threads": usable_cpus()}
    connection = duckdb.connect(config={**settings, "temp_directory": str(folder)})
    names = [name for path in paths for name in {str(path), as_pattern(path)}]
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, names))}]")
    connection.execute("SET enable_external_access = false")
    # In notebooks without widgets it cannot be set, and there is no bar.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextmanager
def shared() -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection for tables in memory, to the one database of this process.

    Raises
    ------
    InputError
        If DuckDB cannot read a column, or what reads the rows fails.
    """
    try:
        with interruptible(), database().cursor() as connection:
            yield connection
    except duckdb.Error as error:
        got = f"rows that cannot be read ({str(error).splitlines()[0]})"
        raise NumberError("trials", got, "a table of texts and numbers") from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C is what it is elsewhere: DuckDB makes an error of it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Database of this process."""
    return connected()


if hasattr(os, "register_at_fork"):
    # A process that is forked would wait, at its end, for threads of DuckDB that it has not.
    os.register_at_fork(before=database.cache_clear)


def plain_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """DataFrame without the types of pandas that DuckDB takes for columns with gaps.

    Whole numbers become floats where these are exact.

    Examples
    --------
    >>> plain_frame(pd.DataFrame({"a": pd.array([1, None], "Int64")}))["a"].tolist()
    [1.0, nan]
    """
    new: dict[str, pd.Series] = {}
    for name, column in zip(map(str, frame.columns), (frame[x] for x in frame), strict=True):
        kind = column.dtype
        if isinstance(kind, pd.CategoricalDtype):
            new[name] = column.astype(kind.categories.dtype)
        elif isinstance(kind, pd.BooleanDtype) and column.isna().any():
            new[name] = column.astype(object).where(column.notna(), None)
        elif hasattr(kind, "numpy_dtype"):
            is_exact = column.dropna().between(-EXACT, EXACT).all()
            new[name] = column.astype(float if is_exact else object)
    return frame.assign(**new)


def described(
    connection: duckdb.DuckDBPyConnection, select: str, number: int
) -> tuple[str, tuple[str, ...]]:
    """SQL in which NaN is missing, and the types of so many columns, c0, c1, ...."""
    found = connection.execute(f"DESCRIBE {select}").fetchall()
    kinds = tuple(row[1] for row in found[:number])
    floats = [f"c{place}" for place, kind in enumerate(kinds) if kind in ("DOUBLE", "FLOAT")]
    if floats:
        values = ", ".join(f"{without_nan(column)} AS {column}" for column in floats)
        select = f"SELECT * REPLACE ({values}) FROM ({select})"
    return select, kinds


def number_of(text: str) -> str:
    """SQL for the number of a text, missing where it is none: to DuckDB 1_000 and +-1 are some."""
    is_none = f"contains({text}, '_') OR contains({text}, '+-')"
    return without_nan(f"(CASE WHEN NOT ({is_none}) THEN TRY_CAST({text} AS DOUBLE) END)")


def without_nan(number: str) -> str:
    """SQL for a number that is missing where it is NaN.

    DuckDB takes isnan() of a column of Parquet for false, since its statistics tell nothing of NaN;
    of bits there are no statistics.
    """
    bits = f"{number}::DOUBLE::BIT::BIGINT & {2**63 - 1}"
    return f"CASE WHEN ({bits}) <= {INFINITY} THEN {number} END"
