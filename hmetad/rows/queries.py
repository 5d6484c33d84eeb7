"""Rows of any kind of table, and questions about them: which there are, and how often.

Rows and queries → answers. DuckDB groups the rows, wherever they are; what is done to values, such
as taking codes for missing ones, is done to the different ones that it finds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
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
from hmetad.rows.database import Opened, UngroupableError, literal, number_of
from hmetad.rows.values import GAPS, NUMBER, THOUSANDS, text_with_point, with_points

__all__ = [
    "PLAIN_KINDS",
    "Distinct",
    "Levels",
    "NumberColumn",
    "Query",
    "Rated",
    "Rows",
    "Sample",
    "Source",
    "Spread",
    "Tally",
    "Values",
    "columns_named",
    "no_rows",
    "plain_value",
    "regrouped",
]

type Tally = tuple[pd.DataFrame, NDArray[np.int64]]
# Different values of a column → a number for each.
type Levels = Callable[[pd.Index], NDArray[np.float64]]
type Query = Distinct | Sample | Spread

MOST_ROWS = 5_000_000
MOST_VALUES = 2000
PLAIN_KINDS = frozenset(["boolean", "categorical", "empty", "floating", "integer", "string"])
# Under a name that nobody gives.
N = "\x1fn"
LARGEST_HASH = 2**64 - 1
# More rows than a file has.
MOST_OF_PART = 2**40
# Rows that `first_rows` gives unless more or fewer are asked for.
MOST_FIRST = 2**19
# Bins of equal width in which numbers are counted before they are ranked.
BINS = 2**16
BLANKS = "".join(sign for sign in map(chr, range(1, 0x3001)) if sign.isspace())
# Texts that an error looks at.
MOST_TEXTS = 1000


@dataclass(frozen=True)
class Distinct:
    """The distinct rows of some columns, and how many rows each stands for.

    Parameters
    ----------
    columns : tuple of str
    most : int, optional
        With more distinct rows than this there is no answer: None.
    """

    columns: tuple[str, ...]
    most: int | None = None


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


@dataclass(frozen=True)
class Spread:
    """Whether a column has several values within groups, and which groups share values.

    Parameters
    ----------
    groups : tuple of str
        Columns of the groups.
    column : str
        Of a number only the absolute value is used: its sign often is that of the stimulus.
    """

    groups: tuple[str, ...]
    column: str


@dataclass(frozen=True)
class Sample:
    """Rows at random, with their values in some columns; all rows where there are few.

    Parameters
    ----------
    columns : tuple of str
    most : int
        How many rows are kept, about.
    """

    columns: tuple[str, ...]
    most: int


class Source(ABC):
    """Where rows are."""

    @abstractmethod
    def opened(
        self, columns: Sequence[Any], levels: Levels | None = None, /
    ) -> AbstractContextManager[Opened]:
        """Columns for SQL; `levels` may give numbers for the values of the last one."""

    def decoded(self, found: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as they were opened."""
        return found.set_axis([*columns], axis=1)

    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows, or all."""
        with self.opened(columns) as table:
            limit = "" if most is None else f"LIMIT {most}"
            return self.decoded(table.frame(f"FROM trials {limit}"), columns)

    # Most sources have nothing to prepare.
    def prepare(self, needs: Sequence[Sequence[Any]], /) -> None:  # noqa: B027
        """Make ready for several questions about some columns each, in one pass if it takes one."""

    def finished(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numbers in the place of texts, where a source keeps numbers as texts."""
        return frame


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
    points : frozenset of str, optional
        Columns of the table in which decimal commas are points.
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
    points: frozenset[str] = frozenset()
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

    def with_points(self, columns: Iterable[str]) -> Rows:
        """The same rows, "0,85" read as 0.85 in some columns: of files, and of pandas."""
        return replace(self, points=self.points | {self.names.get(x, x) for x in columns})

    def first_rows(self, columns: Sequence[str], most: int = MOST_FIRST) -> pd.DataFrame:
        """Some of the first rows."""
        return self.read(columns, most)

    def frame(self, columns: Sequence[Any] | None = None) -> pd.DataFrame:
        """All rows of some columns, or of all, in memory."""
        return self.read(self.columns if columns is None else dict.fromkeys(columns), None)

    def read(self, columns: Iterable[Any], most: int | None) -> pd.DataFrame:
        """Rows of some columns, in memory."""
        wanted = list(columns)
        own = self.own_names(wanted)
        found = self.source.finished(self.cleaned(self.source.head(own, most)))
        if found.empty and wanted:
            raise no_rows()
        return found if own == wanted else found.set_axis(wanted, axis=1)

    def cleaned(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Values without codes for missing ones and decimal commas; names are the table's."""
        names = frame.columns.tolist()
        coded = [name for name in names if name in self.codes]
        points = [name for name in names if name in self.points]
        for name in coded:
            frame = blanked(name, self.codes[name], frame)
        frame = with_points(points, frame)
        # Now 9.5 is what was "9,5".
        for name in (name for name in coded if name in points):
            frame = blanked(name, self.codes[name], frame)
        return frame

    def ask(self, queries: Sequence[Query], n: str | None = None) -> list[Any]:
        """Answers to queries: tallies or `Values`, or None.

        Parameters
        ----------
        queries : sequence of Distinct, Sample or Spread
        n : str, optional
            Column that says how many trials each row stands for.

        Returns
        -------
        list
            For a `Distinct` or `Sample` query rows and how many trials each stands for; for a
            `Spread` its `Values`; None where there is no answer.

        Raises
        ------
        InputError
            If a column cannot be grouped by, `n` holds no whole numbers, or there are no rows.
        """
        self.prepare(queries, n)
        return [self.answer(query, n) for query in queries]

    def prepare(
        self, queries: Sequence[Query], n: str | None = None, columns: Sequence[str] = ()
    ) -> None:
        """Make ready for queries, and for others about some columns."""
        needs = [columns] * bool(columns) + [needed(query, n) for query in queries]
        self.source.prepare([self.own_names(names) for names in needs])

    def answer(self, query: Query, n: str | None) -> Tally | Values | None:
        """Answer to a query."""
        if isinstance(query, Distinct) and query.most is None:
            with groupable():
                return self.groups(query, n)
        with suppress(UngroupableError):
            if not isinstance(query, Spread):
                return self.groups(query, n)
            values = self.spread(query)
            return values if values is None or n is None else values._replace(are_unique=False)
        return None

    def groups(self, query: Distinct | Sample, n: str | None) -> Tally | None:
        """Rows that a query asks for, and how many trials each stands for."""
        columns = needed(query, n)
        with self.source.opened(self.own_names(columns)) as table:
            found: pd.DataFrame | None
            if isinstance(query, Sample):
                found = sample_of(table, query.most)
            else:
                found = distinct_of(table, columns, query.most)
            if found is None:
                return None
            return self.tally(table, found, columns, n, is_counted=isinstance(query, Distinct))

    def tally(
        self,
        table: Opened,
        found: pd.DataFrame,
        columns: Sequence[str],
        n: str | None = None,
        *,
        is_counted: bool = True,
        beside: Sequence[str] = (),
    ) -> Tally:
        """Rows that SQL found, as columns c0, c1, ... and n, and how many trials each stands for.

        Columns `beside` come after the others, as they are. What cleaning made equal is one row.
        """
        number = found["n"].to_numpy(dtype=np.int64)
        own = self.own_names(columns)
        if is_counted and found.drop(columns="n").dropna().duplicated().any():
            got = f"numbers that differ beyond their first 15 digits, in {', '.join(columns)}"
            raise NumberError("trials", got, "numbers of fewer digits", "Make them text.")
        values = table.values(found, own)
        groups = self.source.finished(self.cleaned(values)).set_axis([*columns], axis=1)
        groups = groups.assign(**{name: found[name].to_numpy() for name in beside})
        if n is not None:
            number = number * whole_weights(n, groups[n])
            groups = groups.drop(columns=n)
        if is_counted and (n is not None or groups.duplicated().any()):
            groups, number = regrouped(groups, number)
        return groups, number

    def spread(self, query: Spread) -> Values | None:
        """What a column holds within groups; None where its values are no numbers or texts."""
        own = self.own_names((*query.groups, query.column))
        plain = PlainLevels()
        with self.source.opened(own, plain) as table:
            if plain.levels is not None and not plain.is_plain:
                return None
            found = spread_of(table, plain)
            if found is None:
                return None
            spread, different, are_numbers = found
            several = self.known_groups(table, own[:-1], spread, ["several"])
            sample = self.known_groups(table, own[:-1], different, ["value", "n"])
        are_unique = bool((sample.groupby("value")["n"].sum() == 1).all())
        return Values(several, sample.drop(columns="n"), are_numbers, are_unique)

    def known_groups(
        self, table: Opened, columns: Sequence[Any], found: pd.DataFrame, others: list[str]
    ) -> pd.DataFrame:
        """Groups without a missing value, columns numbered, and further columns that SQL found."""
        groups = self.cleaned(table.values(found, columns))
        known = groups.notna().all(axis=1).to_numpy()
        numbered = groups.set_axis(range(len(columns)), axis=1)
        return pd.concat([numbered, found[others].set_axis(numbered.index)], axis=1)[known]


class PlainLevels:
    """Numbers for the different values of a column, which are the same where these are alike."""

    def __init__(self) -> None:
        self.levels: pd.Index | None = None
        self.are_numbers = False
        self.is_plain = False

    def __call__(self, levels: pd.Index) -> NDArray[np.float64]:
        """Places of the values among the different ones; numbers without their sign."""
        self.levels = levels
        self.is_plain = pd.api.types.infer_dtype(levels, skipna=True) in PLAIN_KINDS
        values, self.are_numbers = plain_values(levels)
        return pd.factorize(values)[0].astype(np.float64)


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


def needed(query: Query, n: str | None) -> tuple[str, ...]:
    """Columns of a query, with that of the weights where they matter."""
    if isinstance(query, Spread):
        return (*query.groups, query.column)
    return query.columns if n is None or n in query.columns else (*query.columns, n)


def distinct_of(table: Opened, columns: Sequence[str], most: int | None) -> pd.DataFrame | None:
    """Distinct rows, in order, and how often they occur."""
    table.refuse_no_labels()
    groups = f"SELECT {', '.join(table.places)}, {table.number} AS n FROM trials GROUP BY ALL"
    limit = MOST_ROWS if most is None else most
    found = table.frame(f"FROM ({groups} LIMIT {limit + 1}) ORDER BY ALL")
    if found.empty:
        raise no_rows()
    if len(found) <= limit:
        return found
    if most is not None:
        return None
    steps = (
        f"Make ratings of confidence with {way}; group by columns that many trials have in common."
        for way in ("quantiles=4", "--quantiles 4")
    )
    got = f"over {MOST_ROWS:,} different rows of {', '.join(columns)}"
    raise TooManyError("trials", got, "rows that repeat", *steps)


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


def spread_of(table: Opened, plain: PlainLevels) -> tuple[pd.DataFrame, pd.DataFrame, bool] | None:
    """Whether groups have several values, a sample of these with their groups, and their kind."""
    *groups, column = table.places
    kind, are_numbers = table.kinds[-1], plain.are_numbers
    value = column
    if plain.levels is None:
        if kind in ("JSON", "VARCHAR") or kind.startswith("ENUM"):
            value = f"{column}->>'$'" if kind == "JSON" else f"{column}::VARCHAR"
            number = number_of(value)
            count = f"SELECT count({value}) AS n, count({number}) AS numbers FROM trials"
            found = table.frame(count).iloc[0]
            are_numbers = 0 < found["n"] == found["numbers"]
            value = f"abs({number})" if are_numbers else value
        elif is_number(kind):
            # The lowest whole number of a type has no absolute value in it.
            of_type = "::HUGEINT" if is_whole_number(kind) else ""
            value, are_numbers = f"abs({column}{of_type})", True
        elif kind != "BOOLEAN":
            return None
    keys = ", ".join(groups)
    known = f"FROM (SELECT *, {value} AS value FROM trials)"
    known += " WHERE value IS NOT NULL"
    sets = f"GROUP BY GROUPING SETS (({keys}), ())" if groups else ""
    spread = table.frame(
        f"SELECT {', '.join([*groups, ''])}min(value) < max(value) AS several, "
        f"approx_count_distinct(value) AS different"
        f"{f', grouping({groups[0]}) AS is_all' if groups else ', 1 AS is_all'} {known} {sets}"
    )
    different = int(spread.loc[spread["is_all"] == 1, "different"].max())
    several = spread if not groups else spread[spread["is_all"] == 0].reset_index(drop=True)
    # Without values it is not known of all rows together.
    several = several.assign(several=several["several"].astype(bool))
    # Estimates of numbers of different values are off by some percent.
    share = 1.0 if different <= 0.9 * MOST_VALUES else MOST_VALUES / different
    sample = table.frame(
        f"SELECT {', '.join([*groups, 'value'])}, {table.number} AS n {known} "
        f"AND hash(value) <= {int(LARGEST_HASH * share)} GROUP BY ALL ORDER BY ALL"
    )
    return several, sample, are_numbers


def is_number(kind: str) -> bool:
    """Whether DuckDB calls numbers so."""
    return is_whole_number(kind) or kind.startswith(("DECIMAL", "DOUBLE", "FLOAT"))


def is_whole_number(kind: str) -> bool:
    """Whether DuckDB calls whole numbers so."""
    return kind.endswith(("INT", "INTEGER"))


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
    try:
        places, levels = pd.factorize(frame[name])
    except TypeError:
        # Lists and records are no codes; what they are is said where they are counted.
        return frame
    # A missing value has the last place.
    is_code = np.array([*(plain_value(level) in codes for level in levels), False])
    return frame.assign(**{name: frame[name].mask(is_code[places])}) if is_code.any() else frame


def plain_values(levels: pd.Index) -> tuple[NDArray[np.generic], bool]:
    """Distinct values for hashing, and whether all are numbers; these without their sign.

    Numbers that stand as text, as in a CSV, are numbers.
    """
    if pd.api.types.is_bool_dtype(levels.dtype):
        return levels.to_numpy(dtype=np.int64), False
    numbers = pd.to_numeric(pd.Series(levels.astype(object)), errors="coerce")
    if len(levels) and numbers.notna().all():
        return np.abs(numbers.to_numpy(dtype=np.float64)), True
    return levels.astype(str).to_numpy(dtype=object), False


def no_rows() -> InputError:
    """Error for a table without rows."""
    return TooFewError("trials", "no rows", "at least one trial", "Check how they were read.")


def whole_weights(n: str, values: pd.Series) -> NDArray[np.int64]:
    """How many trials each row stands for."""
    allowed = "whole numbers of trials, 0 or more"
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    off = ~np.isfinite(numbers) | (numbers < 0) | (numbers != np.round(numbers))
    if off.any() or pd.api.types.is_bool_dtype(values.dtype):
        shown = values[off].iloc[0] if off.any() else "booleans"
        raise KindError(f"n column {n!r}", f"{shown!r}", allowed)
    return numbers.astype(np.int64)


def regrouped(groups: pd.DataFrame, n: NDArray[np.int64]) -> Tally:
    """Distinct rows once more, where some became equal or stand for no trial."""
    names = list(groups.columns)
    some = groups[n > 0].assign(**{N: n[n > 0]}).reset_index(drop=True)
    if some.empty:
        raise TooFewError("trials", "weights that are all 0", "at least one trial")
    grouped = some.groupby(names, dropna=False, observed=True, sort=False)
    # Of its index pandas would make floats where whole numbers have gaps.
    first = ~grouped.ngroup().duplicated()
    return some.loc[first, names].reset_index(drop=True), grouped[N].sum().to_numpy(dtype=np.int64)


class Rated(NamedTuple):
    """Rows whose confidence became ratings, and what was seen of it.

    Parameters
    ----------
    rows : Tally
        Distinct rows of the columns that were kept, with a rating (NaN where confidence is
        missing).
    cuts : list of float
        Lowest value of each rating but the first, for numbers in one group.
    fewest : int
        Ratings that the group with the fewest has.
    values, trials : ndarray
        Values of interest, the lowest and the highest other value, and the trials of each.
    """

    rows: Tally
    cuts: list[float]
    fewest: int
    values: NDArray[np.float64]
    trials: NDArray[np.int64]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers of rows, and the groups in which it is ranked.

    Parameters
    ----------
    rows : Rows
    column : str
    within : sequence of str
        Columns of the groups.
    n : str or None
        Column that says how many trials each row stands for.
    kept : sequence of str
        Further columns that rows with ratings have.
    levels : callable
        Numbers of the different values of a DataFrame's column; NaN where one is missing. Raises an
        error for what is not a number.
    """

    rows: Rows
    column: str
    within: Sequence[str]
    n: str | None
    kept: Sequence[str]
    levels: Callable[[pd.Series], NDArray[np.float64]]

    @property
    def columns(self) -> list[str]:
        """All columns in use, in the order in which they are opened: kept, n, within and own."""
        weight = [] if self.n is None else [self.n]
        return [*dict.fromkeys([*self.kept, *weight, *self.within]), self.column]

    @property
    def keys(self) -> list[str]:
        """Names of the groups' columns in SQL."""
        return [f"g{place}" for place in range(len(self.within))]

    def rated(self, quantiles: int, values: Sequence[float]) -> Rated:
        """Rows with ratings 1..K by average rank in their group; equal values share a rating.

        With average rank rho among the n trials of a group, the rating is the ceiling of
        K (rho - 1/2) / n; ratings that nobody has are closed up. `values` are those of interest.
        """
        columns = [*self.kept, *([] if self.n is None else [self.n])]
        with self.opened() as table:
            found = self.check_numbers(table, values)
            cut(table, self.keys, quantiles, (found["low"].item(), found["high"].item()))
            lows = table.connection.sql("SELECT low FROM cuts WHERE rating > 1 ORDER BY rating")
            cuts = [] if self.keys else [float(low) for (low,) in lows.fetchall()]
            groups = f"SELECT count(*) AS n FROM cuts {group_by(self.keys)}"
            numbers = [int(n) for (n,) in table.connection.sql(groups).fetchall()]
            seen = looked_at(table, values, found)
            found = table.frame(rated_rows(len(columns), self.keys, quantiles, table.number))
            found["rating"] = found["rating"].astype(float)
            rows = self.rows.tally(table, found, columns, self.n, beside=["rating"])
        trials = seen["n"].to_numpy(dtype=np.int64)
        return Rated(
            rows,
            cuts,
            min(numbers, default=quantiles),
            seen["value"].to_numpy(dtype=np.float64),
            trials,
        )

    def check_numbers(self, table: Opened, values: Sequence[float]) -> pd.DataFrame:
        """Lowest and highest number, of all and of those without some values.

        Raises an error for texts that are neither numbers nor codes for missing ones, and for
        infinite values.
        """
        other = f"WHERE weight > 0 AND value NOT IN ({', '.join(map(double, values))})"
        found = table.frame(
            "SELECT count(wrong) > 0 AS w, bool_or(isinf(value)) AS i, min(value) AS low, "
            f"max(value) AS high, min(value) FILTER ({other}) AS low_other, "
            f"max(value) FILTER ({other}) AS high_other FROM trials"
        )
        if found["w"].item():
            texts = table.frame(
                "(SELECT wrong AS text FROM trials WHERE wrong IS NOT NULL "
                f"GROUP BY ALL ORDER BY ALL LIMIT {MOST_TEXTS}) UNION ALL "
                "(SELECT value::VARCHAR FROM trials WHERE value IS NOT NULL LIMIT 1)"
            )["text"]
            known = [plain_value(text) not in self.codes for text in texts]
            self.levels(texts[known].astype(object))
        if found["i"].eq(True).any():
            argument = f"confidence column {self.column!r}"
            raise NumberError(argument, "infinite values", "finite numbers")
        return found.astype(float)

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """Columns for SQL (c0, c1, ...), with those of the groups (g0, ...), value and weight."""
        own = self.rows.own_names(self.columns)
        with groupable(), self.rows.source.opened(own, self.numbers_of_levels) as table:
            value, wrong = self.number_in(table)
            places = [self.columns.index(name) for name in self.within]
            groups = "".join(
                f", c{place} AS {key}" for key, place in zip(self.keys, places, strict=True)
            )
            weight, join = table.weight or "1", ""
            if self.n is not None:
                place = self.columns.index(self.n)
                self.register_weights(table, place)
                weight = f"{weight} * weights.number"
                join = f"JOIN weights ON trials.c{place}::VARCHAR IS NOT DISTINCT FROM weights.text"
            select = f"SELECT trials.*{groups}, {value} + 0.0 AS value, {wrong} AS wrong, "
            select += f"{weight} AS weight FROM trials {join}"
            yield replace(table, select=f"WITH trials AS ({table.select}) {select}")

    def register_weights(self, table: Opened, place: int) -> None:
        """How many trials rows stand for, by the text of each different value."""
        found = table.frame(
            f"SELECT c{place} AS c0, c{place}::VARCHAR AS text FROM trials GROUP BY ALL"
        )
        own = self.rows.own_names([str(self.n)])
        values = self.rows.source.finished(table.decode(found[["c0"]], own))[own[0]]
        numbers = whole_weights(str(self.n), values)
        weights = pd.DataFrame({"text": found["text"], "number": numbers})
        table.connection.register("weights", weights)

    def numbers_of_levels(self, levels: pd.Index) -> NDArray[np.float64]:
        """Numbers of the different values of a table in memory, once they are cleaned."""
        (own,) = self.rows.own_names([self.column])
        cleaned = self.rows.cleaned(pd.DataFrame({own: pd.Series(levels)}))[own]
        kind = cleaned.dtype
        if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
            return cleaned.to_numpy(dtype=np.float64, na_value=np.nan)
        return self.levels(cleaned.astype(object))

    @property
    def codes(self) -> set[str | float]:
        """Values that are missing ones, "9,5" as 9.5 where decimal commas are points."""
        (own,) = self.rows.own_names([self.column])
        codes = {*self.rows.codes.get(own, ())}
        return codes | {plain_value(text_with_point(code)) for code in codes if self.has_points}

    @property
    def has_points(self) -> bool:
        """Whether decimal commas are points."""
        return self.rows.own_names([self.column])[0] in self.rows.points

    def number_in(self, table: Opened) -> tuple[str, str]:
        """SQL for the number, NULL where missing, and for a text that is not a number."""
        column, kind = table.places[-1], table.kinds[-1]
        table.refuse_no_labels()
        if kind == "BOOLEAN":
            self.levels(pd.Series([True], dtype=object))
        if is_number(kind):
            number, wrong = f"{column}::DOUBLE", "NULL::VARCHAR"
        else:
            text = f"({column}->>'$')" if kind == "JSON" else f"{column}::VARCHAR"
            number = number_of(with_point(text) if self.has_points else text)
            gaps = ", ".join(map(literal, GAPS))
            wrong = f"CASE WHEN {number} IS NULL AND {text} NOT IN ({gaps}) THEN {text} END"
        codes = [f"'{code!r}'::DOUBLE" for code in self.codes if isinstance(code, float)]
        if codes:
            number = f"CASE WHEN {number} NOT IN ({', '.join(codes)}) THEN {number} END"
        return number, wrong


def cut(table: Opened, keys: Sequence[str], quantiles: int, ends: tuple[float, float]) -> None:
    """Keep the table ``cuts``: the lowest value of each rating of each group.

    Numbers are counted in bins of equal width first. A bin whose values all have one quantile is
    done; only the values of other bins are sorted. `ends` are the lowest and the highest number.
    """
    low, high = ends
    scale = BINS / (high - low) if 0 < high - low < np.inf else 0.0
    own = "".join(f"{key}, " for key in keys)
    part = f"PARTITION BY {', '.join(keys)}" if keys else ""
    same = " AND ".join(
        ["value_bin = bin", *(f"known.{key} IS NOT DISTINCT FROM split.{key}" for key in keys)]
    )
    taken = "".join(f"known.{key}, " for key in keys)
    in_bin = f"PARTITION BY {own}bin ORDER BY value"
    table.keep(
        "cuts",
        f""", known AS NOT MATERIALIZED (
            SELECT {own}value, weight, floor((value - '{low}'::DOUBLE) * '{scale}'::DOUBLE)::BIGINT
            AS value_bin FROM trials WHERE value IS NOT NULL AND weight > 0
        ), bins AS (
            SELECT {own}value_bin AS bin, sum(weight) AS n, min(value) AS value
            FROM known GROUP BY ALL
        ), placed AS (
            SELECT *, sum(n) OVER ({part} ORDER BY bin) - n AS below, sum(n) OVER ({part}) AS size
            FROM bins
        ), ends AS (
            SELECT *, {quantile_of("2 * below + 1", quantiles)} AS quantile,
                {quantile_of("2 * (below + n) - 1", quantiles)} AS last
            FROM placed
        ), split AS (
            SELECT {own}bin, below, size FROM ends WHERE quantile < last
        ), singles AS (
            SELECT {taken}bin, below, size, known.value, sum(weight) AS n
            FROM known JOIN split ON {same} GROUP BY ALL
        ), ranked AS (
            SELECT *, 2 * (below + sum(n) OVER ({in_bin})) - n AS odd FROM singles
        ), found AS (
            SELECT {own}quantile, value FROM ends WHERE quantile = last UNION ALL
            SELECT {own}{quantile_of("odd", quantiles)}, value FROM ranked
        )
        SELECT {own}dense_rank() OVER ({part} ORDER BY quantile) AS rating, min(value) AS low
        FROM found GROUP BY {own}quantile""",
    )


def quantile_of(odd: str, quantiles: int) -> str:
    """SQL for the quantile, from twice the average rank less 1, which is an integer, and size."""
    return f"({quantiles} * ({odd}) + 2 * size - 1) // (2 * size)"


def group_by(keys: Sequence[str]) -> str:
    """SQL that groups by some columns, or by none."""
    return f"GROUP BY {', '.join(keys)}" if keys else ""


def rated_rows(number: int, keys: Sequence[str], quantiles: int, times: str) -> str:
    """SQL for the distinct rows of the first columns with a rating by the table ``cuts``."""
    own = "".join(f"c{place}, " for place in range(number))
    ratings = range(2, quantiles + 1)
    lows = [f"min(low) FILTER (rating = {rating}) AS low{rating}" for rating in ratings]
    of_group = f"SELECT {', '.join([*keys, *lows])} FROM cuts {group_by(keys)}"
    same = [f"trials.{key} IS NOT DISTINCT FROM of_group.{key}" for key in keys]
    above = " + ".join(f"coalesce(value >= low{rating}, false)::INTEGER" for rating in ratings)
    return (
        f", of_group AS ({of_group}) "
        f"SELECT {own}CASE WHEN value IS NOT NULL THEN 1 + {above} END AS rating, {times} AS n "
        f"FROM trials LEFT JOIN of_group ON {' AND '.join(same) or 'true'} "
        "GROUP BY ALL ORDER BY ALL"
    )


def looked_at(table: Opened, values: Sequence[float], ends: pd.DataFrame) -> pd.DataFrame:
    """Trials of some values, and the lowest and the highest of all others with one trial each."""
    others = pd.DataFrame({"value": ends[["low_other", "high_other"]].iloc[0], "n": 1}).dropna()
    low, high = ends["low"].item(), ends["high"].item()
    listed = ", ".join(double(value) for value in values if low <= value <= high)
    if not listed:
        return others
    found = table.frame(
        "SELECT value, sum(weight)::BIGINT AS n FROM trials "
        f"WHERE weight > 0 AND value IN ({listed}) GROUP BY value"
    )
    return pd.concat([found, others], ignore_index=True)


def double(value: float) -> str:
    """SQL for a number."""
    return f"'{float(value)!r}'::DOUBLE"


def with_point(text: str) -> str:
    """SQL for a text, with a point for the decimal comma of a number."""
    bare = f"trim({text}, {literal(BLANKS)})"
    is_comma = f"contains({text}, ',') AND regexp_full_match({bare}, {literal(NUMBER.pattern)})"
    is_comma += f" AND NOT regexp_full_match({bare}, {literal(THOUSANDS.pattern)})"
    return f"(CASE WHEN {is_comma} THEN replace({bare}, ',', '.') ELSE {text} END)"
