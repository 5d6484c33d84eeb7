"""Rows of any kind of table, and what is asked of them: which there are, and how often.

Rows and queries → answers. DuckDB groups the rows, wherever they are; what is done to values, such
as taking codes for missing ones, is done to the different ones that it finds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import InputError, nearest
from hmetad.base.notice import Notice
from hmetad.rows.database import Opened, UngroupableError, number_of
from hmetad.rows.decimals import with_points

__all__ = [
    "PLAIN_KINDS",
    "Distinct",
    "Levels",
    "Query",
    "Rows",
    "Sample",
    "Source",
    "Spread",
    "Tally",
    "Values",
    "columns_named",
    "groupable",
    "is_number",
    "no_rows",
    "plain_value",
    "regrouped",
    "whole_weights",
]

Tally = tuple[pd.DataFrame, NDArray[np.int64]]
# Different values of a column → a number for each.
Levels = Callable[[pd.Index], NDArray[np.float64]]
type Query = Distinct | Sample | Spread

MOST_ROWS = 5_000_000
MOST_VALUES = 2000
PLAIN_KINDS = frozenset(["boolean", "categorical", "empty", "floating", "integer", "string"])
# Under a name that nobody gives.
N = "\x1fn"
LARGEST_HASH = 2**64 - 1
# Rows that `first_rows` gives unless more or fewer are asked for.
MOST_FIRST = 2**19


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

    @abstractmethod
    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows, or all."""

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

    def rename(self, names: Mapping[str, str]) -> "Rows":
        """The same rows, columns renamed: {old: new}."""
        new = {new: self.names.get(old, old) for old, new in names.items()}
        columns = tuple(names.get(name, name) for name in self.columns)
        kept = {name: old for name, old in self.names.items() if name in columns}
        return replace(self, columns=columns, names=kept | new)

    def spelled(self, names: Iterable[object]) -> "Rows":
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
                raise InputError(f"column {name!r}", got, "one column", step)
            found |= {} if columns[:1] in ([], [name]) else {columns[0]: name}
        return self.rename(found) if found else self

    def own_names(self, columns: Iterable[Any]) -> list[Any]:
        """Names that the table has for columns, or an error for one that is not there."""
        for name in (wanted := list(columns)):
            if name not in self.columns:
                step = nearest(str(name), map(str, self.columns))
                raise InputError("column", repr(name), "a column of the trials", step)
        return [self.names.get(name, name) for name in wanted]

    def without(self, codes: Sequence[Any], columns: Iterable[str]) -> "Rows":
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

    def with_points(self, columns: Iterable[str]) -> "Rows":
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
            raise InputError("trials", got, "numbers of fewer digits", "Make them text.")
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
        raise InputError("trials", str(error), allowed, step) from error


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
    step = (
        "Confidence that is no rating becomes ratings by quantiles=4; group by columns that many "
        "trials have in common."
    )
    got = f"over {MOST_ROWS:,} different rows of {', '.join(columns)}"
    raise InputError("trials", got, "rows that repeat", step)


def sample_of(table: Opened, most: int) -> pd.DataFrame:
    """About so many rows at random, as they come, and what each stands for; always the same."""
    number = int(table.frame("SELECT count(*) AS n FROM trials")["n"].iloc[0])
    chosen = f"SELECT {', '.join(table.places)}, {table.weight or 1} AS n FROM"
    if number <= most:
        return table.frame(f"{chosen} trials")
    numbered = "SELECT *, row_number() OVER () AS place FROM trials"
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
    return InputError("trials", "no rows", "at least one trial", "Check how they were read.")


def whole_weights(n: str, values: pd.Series) -> NDArray[np.int64]:
    """How many trials each row stands for."""
    allowed = "whole numbers of trials, 0 or more"
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    off = ~np.isfinite(numbers) | (numbers < 0) | (numbers != np.round(numbers))
    if off.any() or pd.api.types.is_bool_dtype(values.dtype):
        shown = values[off].iloc[0] if off.any() else "booleans"
        raise InputError(f"n column {n!r}", f"{shown!r}", allowed)
    return numbers.astype(np.int64)


def regrouped(groups: pd.DataFrame, n: NDArray[np.int64]) -> Tally:
    """Distinct rows once more, where some became equal or stand for no trial."""
    names = list(groups.columns)
    some = groups[n > 0].assign(**{N: n[n > 0]}).reset_index(drop=True)
    if some.empty:
        raise InputError("trials", "weights that are all 0", "at least one trial")
    grouped = some.groupby(names, dropna=False, observed=True, sort=False)
    # Of its index pandas would make floats where whole numbers have gaps.
    first = ~grouped.ngroup().duplicated()
    return some.loc[first, names].reset_index(drop=True), grouped[N].sum().to_numpy(dtype=np.int64)
