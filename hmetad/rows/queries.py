"""Rows of any kind of table, and questions about them: which there are, and how often.

Rows and queries → answers. DuckDB groups the rows, wherever they are; what is done to values, such
as taking codes for missing ones, is done to the different ones that it finds.
"""

from __future__ import annotations

import string
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import (
    ColumnError,
    InputError,
    KindError,
    NumberError,
    TooFewError,
    TooManyError,
    nearest,
)
from hmetad.base.notice import Notice
from hmetad.rows.database import Opened, UngroupableError, literal

type Tally = tuple[pd.DataFrame, NDArray[np.int64]]

MOST_ROWS = 5_000_000
MOST_VALUES = 2000
LARGEST_HASH = 2**64 - 1
# More rows than a file has.
MOST_OF_PART = 2**40
# Rows that `first_rows` gives unless more or fewer are asked for.
MOST_FIRST = 2**19


class Values(NamedTuple):
    """What a column holds within groups.

    Parameters
    ----------
    several : DataFrame
        One row per group, and whether it has several values (column `several`).
    sample : DataFrame
        Distinct rows of the groups and `value`, of some 2000 values, the same in all groups.
    are_numbers, are_unique : bool
        Whether all values are numbers; whether no two rows of the sample share one.
    """

    several: pd.DataFrame
    sample: pd.DataFrame
    are_numbers: bool
    are_unique: bool


class Source(ABC):
    """Where rows are; `lab` has the program that wrote the file, and what was taken of it."""

    lab: tuple[str, Counter[str]] | None = None

    @abstractmethod
    def opened(self, columns: Sequence[Any]) -> AbstractContextManager[Opened]:
        """Columns for SQL."""

    def decoded(self, found: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as they were opened."""
        return found.set_axis([*columns], axis=1)

    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows, or all."""
        with self.opened(columns) as table:
            limit = "" if most is None else f"LIMIT {most}"
            return self.decoded(table.frame(f"FROM trials {limit}"), columns)

    # Most sources have nothing to do in these three, and inherit them (B027, ARG002).
    def prepare(self, needs: Sequence[Sequence[Any]], /) -> None:  # noqa: B027
        """Make ready for several questions about some columns each, in one pass if it takes one."""

    def refuse_unwritable(self, columns: Sequence[Any], /) -> None:  # noqa: B027
        """Refuse texts in some columns that no file keeps, where they are in memory."""

    def finished(self, frame: pd.DataFrame, texts: Set[str]) -> pd.DataFrame:  # noqa: ARG002
        """Numbers in place of texts, where a source has texts of numbers; `texts` stay text."""
        return frame


class PartSource(Source):
    """Rows of another source in which a column is missing, 0, or one of some words."""

    def __init__(self, source: Source, column: Any, words: Sequence[str]) -> None:
        self.source, self.column, self.words = source, column, words

    @contextmanager
    def opened(self, columns: Sequence[Any]) -> Iterator[Opened]:
        """The columns for SQL."""
        with self.source.opened([*columns, self.column]) as table:
            text, number = table.text_in(-1), table.number_in(-1)
            word = f"lower(trim({text}, {literal(string.whitespace)}))"
            known = f"{word} IN ({', '.join(map(literal, self.words))})"
            is_in = f"{text} IS NULL OR {known} OR {number} = 0"

            def some(rows: str) -> str:
                return f"SELECT * EXCLUDE ({table.places[-1]}) FROM ({rows}) WHERE {is_in}"

            parts = tuple(map(some, table.parts))
            yield replace(table, select=some(table.select), kinds=table.kinds[:-1], parts=parts)

    def decoded(self, found: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
        """Values of the columns, as the source has them."""
        return self.source.decoded(found, columns)

    def prepare(self, needs: Sequence[Sequence[Any]]) -> None:
        """Make the source ready for the same questions, and its column."""
        self.source.prepare([[*columns, self.column] for columns in needs])

    def refuse_unwritable(self, columns: Sequence[Any]) -> None:
        """Refuse texts as the source does."""
        self.source.refuse_unwritable(columns)

    def finished(self, frame: pd.DataFrame, texts: Set[str]) -> pd.DataFrame:
        """Numbers instead of texts, as the source has them."""
        return self.source.finished(frame, texts)


@dataclass(frozen=True)
class Rows:
    """Rows of a table, wherever they are.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns.
    source : Source
        Where they are.
    names : mapping of str to str, optional
        Columns that are called otherwise here: {name here: name in the table}.
    codes : mapping of str to set, optional
        Values that are missing ones, by the column of the table.
    texts : frozenset of str, optional
        Columns of the table that stay text as it stands, in files of texts.
    costly : frozenset of str, optional
        Columns of the table that are read only where they are named: some file lacks them, or
        their texts are long.
    notices : tuple of Notice, optional
        What reading them has shown.
    """

    columns: tuple[Any, ...]
    source: Source
    names: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Set[str | float]] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    costly: frozenset[str] = frozenset()
    notices: tuple[Notice, ...] = ()

    @property
    def cheap_columns(self) -> list[Any]:
        """Columns that may be looked at without being named."""
        return [name for name in self.columns if self.names.get(name, name) not in self.costly]

    def rename(self, names: Mapping[str, str]) -> Rows:
        """The same rows, columns renamed: {old: new}."""
        new = {new: self.names.get(old, old) for old, new in names.items()}
        columns = tuple(names.get(name, name) for name in self.columns)
        kept = {name: old for name, old in self.names.items() if name in columns}
        return replace(self, columns=columns, names=kept | new)

    def spelled(self, names: Iterable[object]) -> Rows:
        """The same rows, columns under the names that are asked for, whose case does not matter.

        Parameters
        ----------
        names : iterable
            Names of columns. What is none is left for later checks.

        Raises
        ------
        InputError
            If a name is that of no column, but for its case that of several.
        """
        wanted = list(dict.fromkeys(name for name in names if isinstance(name, str)))
        found: dict[str, str] = {}
        for name in wanted:
            columns = [one for one in columns_named(name, self.columns) if one not in wanted]
            if len(columns) > 1:
                got = f"columns {' and '.join(map(repr, sorted(columns)))}"
                step = "Name one of them as it is written."
                raise ColumnError(f"column {name!r}", got, "one column", step)
            found |= {} if columns[:1] in ([], [name]) else {columns[0]: name}
        return self.rename(found) if found else self

    def own_names(self, columns: Iterable[Any]) -> list[Any]:
        """Names that the table has for columns, or an error for one that is not there."""
        for name in (wanted := list(columns)):
            if name not in self.columns:
                step = nearest(str(name), map(str, self.columns))
                raise ColumnError("column", repr(name), "a column of the trials", step)
        return [self.names.get(name, name) for name in wanted]

    def without(self, codes: Sequence[Any], columns: Iterable[str]) -> Rows:
        """The same rows, values that are codes missing in some columns; "1" is 1.

        Parameters
        ----------
        codes : sequence of str or float
        columns : iterable of str
        """
        known = frozenset(map(plain_value, codes))
        own = [self.names.get(name, name) for name in columns if name in self.columns]
        more = {name: frozenset(self.codes.get(name, ())) | known for name in own}
        return replace(self, codes={**self.codes, **more}) if known else self

    def with_texts(self, columns: Iterable[str]) -> Rows:
        """The same rows, some columns of files of texts as they stand: "NA" is a label there."""
        return replace(self, texts=self.texts | {self.names.get(x, x) for x in columns})

    def blank_in(self, column: str, words: Sequence[str]) -> Rows:
        """Rows in which a column is missing, 0, or one of some words, without this column."""
        (own,) = self.own_names([column])
        columns = tuple(name for name in self.columns if name != column)
        return replace(self, columns=columns, source=PartSource(self.source, own, words))

    def frame(self, columns: Sequence[Any] | None = None) -> pd.DataFrame:
        """All rows of some columns, or of all, in memory."""
        every = self.columns if columns is None else dict.fromkeys(columns)
        return self.first_rows(every, None)

    def first_rows(self, columns: Iterable[Any], most: int | None = MOST_FIRST) -> pd.DataFrame:
        """Some of the first rows of some columns, or all rows, in memory."""
        wanted = list(columns)
        own = self.own_names(wanted)
        found = self.source.finished(self.cleaned(self.source.head(own, most)), self.texts)
        if found.empty and wanted:
            raise no_rows()
        return found if own == wanted else found.set_axis(wanted, axis=1)

    def cleaned(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Values without codes for missing ones; names are the table's."""
        for name in (name for name in frame.columns.tolist() if name in self.codes):
            frame = blanked(name, self.codes[name], frame)
        return frame

    def prepare(self, needs: Iterable[Sequence[str]], n: str | None = None) -> None:
        """Make ready for questions about some columns each, in one pass if it takes one."""
        weight = [] if n is None else [n]
        self.source.prepare([self.own_names([*columns, *weight]) for columns in needs])

    def distinct(self, columns: Sequence[str], n: str | None = None) -> Tally:
        """Distinct rows of some columns, and how many trials each stands for.

        Parameters
        ----------
        columns : sequence of str
        n : str, optional
            Column that says how many trials each row stands for.

        Raises
        ------
        InputError
            If a column cannot be grouped by, `n` holds non-integers, there are no rows, or more
            than five million are distinct.
        """
        with groupable(), self.opened(columns, n) as table:
            found = distinct_of(table, MOST_ROWS)
            if found is not None:
                return self.tally(table, found, columns)
        steps = (
            f"Make ratings of confidence with {way}; "
            "group by columns that many trials have in common."
            for way in ("quantiles=4", "--quantiles 4")
        )
        got = f"over {MOST_ROWS:,} different rows of {', '.join(columns)}"
        raise TooManyError("trials", got, "rows that repeat", *steps)

    def few_distinct(self, columns: Sequence[str], most: int, n: str | None = None) -> Tally | None:
        """The same where there are at most so many; else, or without labels, None."""
        with suppress(UngroupableError), self.opened(columns, n) as table:
            found = distinct_of(table, most)
            return None if found is None else self.tally(table, found, columns)
        return None

    def sample(self, columns: Sequence[str], most: int, n: str | None = None) -> Tally | None:
        """About so many rows at random, and how many trials each stands for; None without labels.

        All rows where there are few.
        """
        with suppress(UngroupableError), self.opened(columns, n) as table:
            return self.values(table, sample_of(table, most), columns)
        return None

    def spreads(
        self, groups: Sequence[str], columns: Iterable[str], n: str | None = None
    ) -> dict[str, Values]:
        """What columns hold within groups, of those that do not hold lists or records."""
        found = {column: self.spread(groups, column, n) for column in columns}
        return {column: values for column, values in found.items() if values is not None}

    def spread(self, groups: Sequence[str], column: str, n: str | None = None) -> Values | None:
        """Whether a column has several values within groups, and which groups share values.

        None where its values are lists or records.
        """
        own = self.own_names([*groups, column])
        with suppress(UngroupableError), self.source.opened(own) as table:
            found = spread_of(table)
            several, sample = (
                self.known_groups(table, own[:-1], one, further)
                for one, further in zip(found, (["several"], ["value", "n"]), strict=True)
            )
            are_unique = n is None and bool((sample.groupby("value")["n"].sum() == 1).all())
            are_numbers = bool(found[0]["are_numbers"].all())
            return Values(several, sample.drop(columns="n"), are_numbers, are_unique)
        return None

    @contextmanager
    def opened(self, columns: Sequence[Any], n: str | None) -> Iterator[Opened]:
        """Columns for SQL, of rows that stand for one trial or more."""
        with self.source.opened(self.own_names([*columns, *([] if n is None else [n])])) as table:
            yield table if n is None else weighted(table, n)

    def tally(self, table: Opened, found: pd.DataFrame, columns: Sequence[str]) -> Tally:
        """Distinct rows that SQL found, and how many trials each stands for.

        What cleaning made equal is one row.
        """
        if found.drop(columns="n").dropna().duplicated().any():
            got = f"numbers that differ beyond their first 15 digits, in {', '.join(columns)}"
            raise NumberError("trials", got, "numbers of fewer digits", "Make them text.")
        groups, number = self.values(table, found, columns)
        return regrouped(groups, number) if groups.duplicated().any() else (groups, number)

    def values(self, table: Opened, found: pd.DataFrame, columns: Sequence[str]) -> Tally:
        """Values of what SQL found, as columns c0, c1, ..., others as they are, and n."""
        raw = table.values(found, self.own_names(columns))
        groups = self.source.finished(self.cleaned(raw), self.texts).set_axis([*columns], axis=1)
        others = found.drop(columns=["n", *table.places[: len(columns)]])
        return pd.concat([groups, others], axis=1), found["n"].to_numpy(dtype=np.int64)

    def known_groups(
        self, table: Opened, columns: Sequence[Any], found: pd.DataFrame, others: list[str]
    ) -> pd.DataFrame:
        """Groups without a missing value, columns numbered, and further columns that SQL found."""
        groups = self.cleaned(table.values(found, columns))
        known = groups.notna().all(axis=1).to_numpy()
        numbered = groups.set_axis(range(len(columns)), axis=1)
        return pd.concat([numbered, found[others].set_axis(numbered.index)], axis=1)[known]


@contextmanager
def groupable() -> Iterator[None]:
    """Refuse, in words, columns whose values are no labels.

    Raises
    ------
    InputError
        In the place of an `UngroupableError`.
    """
    try:
        yield
    except UngroupableError as error:
        step, allowed = "Make its values text or numbers.", "one text or number per value"
        raise KindError("trials", str(error), allowed, step) from error


def weighted(table: Opened, n: str) -> Opened:
    """Rows of which each stands for as many trials as the last column says, if for any."""
    column, number = table.places[-1], table.number_in(-1)
    is_off = f"{number} IS NULL OR {number} < 0 OR {number} <> trunc({number}) OR isinf({number})"
    off = table.frame(f"SELECT {column} AS n FROM trials WHERE {is_off} LIMIT 1")["n"].tolist()
    if off:
        allowed = "whole numbers of trials, 0 or more"
        raise KindError(f"n column {n!r}", repr(off[0]), allowed)

    def some(rows: str) -> str:
        weight = f"{number}::BIGINT * {table.weight or 1}"
        return f"SELECT *, {weight} AS weight FROM ({rows}) WHERE {number} > 0"

    parts = tuple(map(some, table.parts))
    found = replace(table, select=some(table.select), weight="weight", parts=parts)
    if found.frame("SELECT 1 FROM trials LIMIT 1").empty:
        raise TooFewError("trials", "weights that are all 0", "at least one trial")
    return replace(found, kinds=table.kinds[:-1])


def distinct_of(table: Opened, most: int) -> pd.DataFrame | None:
    """Distinct rows, in order, and how often they occur; None for more than so many."""
    table.refuse_no_labels()
    groups = f"SELECT {', '.join(table.places)}, {table.number} AS n FROM trials GROUP BY ALL"
    found = table.frame(f"FROM ({groups} LIMIT {most + 1}) ORDER BY ALL")
    if found.empty:
        raise no_rows()
    return found if len(found) <= most else None


def sample_of(table: Opened, most: int) -> pd.DataFrame:
    """About so many rows at random, as they come, and what each stands for; always the same."""
    number = int(table.frame("SELECT count(*) AS n FROM trials")["n"].iloc[0])
    chosen = f"SELECT {', '.join(table.places)}, {table.weight or 1} AS n FROM"
    if number <= most:
        return table.frame(f"{chosen} trials")
    # Rows are numbered as they come in each part; of all parts together DuckDB would keep all rows.
    numbered = " UNION ALL ".join(
        f"SELECT *, row_number() OVER () + {part * MOST_OF_PART} AS place FROM ({select})"
        for part, select in enumerate(table.parts or ["FROM trials"])
    )
    cut = int(LARGEST_HASH * (most / number))
    return table.frame(f"{chosen} ({numbered}) WHERE hash(place) <= {cut}")


def spread_of(table: Opened) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Whether groups have several values, and a sample of these with their groups.

    Values are told apart by their hashes, numbers in texts as numbers.
    """
    table.refuse_no_labels()
    text, is_number = table.text_in(-1), f"{table.number_in(-1)} IS NOT NULL"
    value = f"CASE WHEN {is_number} THEN hash({table.number_in(-1)}) ELSE hash({text}) END"
    own = "".join(f"{group}, " for group in table.places[:-1])
    known = f"FROM (SELECT *, {value} AS value, {is_number} AS is_number FROM trials "
    known += f"WHERE {text} IS NOT NULL)"
    several = table.frame(
        f"SELECT {own}min(value) < max(value) AS several, bool_and(is_number) AS are_numbers "
        f"{known} GROUP BY ALL HAVING count(*) > 0"
    )
    different = table.frame(f"SELECT approx_count_distinct(value) AS n {known}")["n"].item()
    # Estimates of numbers of different values are off by some percent.
    share = 1.0 if different <= 0.9 * MOST_VALUES else MOST_VALUES / different
    sample = table.frame(
        f"SELECT {own}value, {table.number} AS n {known} "
        f"WHERE value <= {int(LARGEST_HASH * share)} GROUP BY ALL ORDER BY ALL"
    )
    return several, sample


def columns_named(name: str, columns: Iterable[object]) -> list[str]:
    """The column of a name, or those whose names differ from it in case alone.

    Examples
    --------
    >>> columns_named("model", ["Model", "MODEL"]), columns_named("model", ["Model", "model"])
    (['Model', 'MODEL'], ['model'])
    """
    alike = [one for one in columns if isinstance(one, str) and one.casefold() == name.casefold()]
    return [name] if name in alike else alike


def plain_value(value: Any) -> str | float:
    """Number of a value, or of its text; else the text, without regard to case.

    Examples
    --------
    >>> plain_value("999"), plain_value(999), plain_value(" None")
    (999.0, 999.0, 'none')
    """
    text = str(value).strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    # NaN is not equal to itself.
    return text if np.isnan(number) else number


def blanked(name: str, codes: Set[str | float], frame: pd.DataFrame) -> pd.DataFrame:
    """DataFrame in which codes are missing values, in one column.

    Examples
    --------
    >>> blanked("sure", {999.0}, pd.DataFrame({"sure": [4, 999]}))["sure"].tolist()
    [4.0, nan]
    """
    places, levels = pd.factorize(frame[name])
    # A missing value has the last place.
    is_code = np.array([*(plain_value(level) in codes for level in levels), False])
    return frame.assign(**{name: frame[name].mask(is_code[places])}) if is_code.any() else frame


def no_rows() -> InputError:
    """Error for a table without rows."""
    return TooFewError("trials", "no rows", "at least one trial", "Check how they were read.")


def regrouped(groups: pd.DataFrame, n: NDArray[np.int64]) -> Tally:
    """Distinct rows once more, where some became equal."""
    place = groups.groupby([*groups], dropna=False, observed=True, sort=False).ngroup()
    # Of an index of groups pandas would make floats where whole numbers have gaps.
    first = groups[~place.duplicated()].reset_index(drop=True)
    number = np.zeros(len(first), dtype=np.int64)
    np.add.at(number, place, n)
    return first, number
