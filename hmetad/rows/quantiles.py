"""Numbers of a column in groups, whatever their number: how many there are in bins, and which.

Rows and a column of numbers → trials by bin; single values of some bins; rows with a rating in the
place of the number. A bin is the sign, the exponent and the first 12 bits of the fraction of a
double, so that bins rise with the numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import InputError
from hmetad.rows.database import Opened, literal, number_of
from hmetad.rows.decimals import NUMBER, THOUSANDS, text_with_point
from hmetad.rows.rows import Rows, Tally, groupable, is_number, plain_value, whole_weights
from hmetad.rows.tables import GAPS

__all__ = ["NumberColumn", "bin_of", "low_end"]

type Ints = NDArray[np.int64]
SHIFT = 40
BLANKS = "".join(sign for sign in map(chr, range(1, 0x3001)) if sign.isspace())
# Texts that an error looks at.
MOST_TEXTS = 1000
# The bits of negative numbers rise while the numbers fall.
IN_ORDER = "CASE WHEN bits < 0 THEN xor(bits, 9223372036854775807) ELSE bits END"


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers of rows, and the groups in which it is looked at.

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
        error for what is no number.
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
        """Names of the groups' columns in SQL, and of the weight."""
        groups = [f"g{place}" for place in range(len(self.within))]
        return groups if self.n is None else [*groups, "weight"]

    def bins(self) -> tuple[pd.DataFrame, Ints]:
        """Groups (g0, g1, ...) and bins of numbers, and the trials of each; missing ones have none.

        Bins are NaN for missing numbers.
        """
        keys = "".join(f"{key}, " for key in self.keys)
        with self.opened() as table:
            found = table.frame(
                f"SELECT {keys}bin, {table.number} AS n, count(wrong) AS wrong, "
                "bool_or(isinf(value)) AS is_infinite FROM trials GROUP BY ALL ORDER BY ALL"
            )
            bins, number = self.weighted(table, found)
            if found["wrong"].any():
                self.refuse_wrong(table)
        if found["is_infinite"].eq(True).any():
            argument = f"confidence column {self.column!r}"
            raise InputError(argument, "infinite values", "finite numbers")
        return bins, number

    def refuse_wrong(self, table: Opened) -> None:
        """Raise an error for texts that are neither numbers nor codes for missing ones."""
        texts = table.frame(
            "(SELECT wrong AS text FROM trials WHERE wrong IS NOT NULL "
            f"GROUP BY ALL ORDER BY ALL LIMIT {MOST_TEXTS}) UNION ALL "
            "(SELECT value::VARCHAR FROM trials WHERE value IS NOT NULL LIMIT 1)"
        )["text"]
        codes = self.codes
        self.levels(texts[[plain_value(text) not in codes for text in texts]].astype(object))

    def values(self, bins: pd.DataFrame) -> tuple[pd.DataFrame, Ints]:
        """Groups, bins and single values of some bins, and the trials of each."""
        keys = "".join(f"trials.{key}, " for key in self.keys)
        with self.opened() as table:
            found = table.frame(
                f"SELECT {keys}trials.bin, value, {table.number} AS n FROM trials "
                f"JOIN bins ON {self.same('bins', 'bin')} GROUP BY ALL ORDER BY ALL",
                bins=bins,
            )
            return self.weighted(table, found)

    def rated(self, bins: pd.DataFrame, values: pd.DataFrame) -> Tally:
        """Distinct rows of the kept columns with a rating (NaN where missing), and their trials.

        `bins` and `values` tell it: of a value where it is there, else of its bin.
        """
        columns = [*self.kept, *([] if self.n is None else [self.n])]
        own = "".join(f"c{place}, " for place in range(len(columns)))
        with self.opened() as table:
            found = table.frame(
                f"SELECT {own}coalesce(single.rating, bins.rating) AS rating, "
                f"{table.number} AS n FROM trials "
                f"LEFT JOIN bins ON {self.same('bins', 'bin')} "
                f"LEFT JOIN single ON {self.same('single', 'value')} GROUP BY ALL ORDER BY ALL",
                bins=bins,
                single=values,
            )
            found["rating"] = found["rating"].astype(float)
            return self.rows.tally(table, found, columns, self.n, beside=["rating"])

    def same(self, table: str, name: str) -> str:
        """SQL for rows whose group and number are those of a row of a table."""
        groups = [f"g{place}" for place in range(len(self.within))]
        equal = [f"trials.{one} IS NOT DISTINCT FROM {table}.{one}" for one in groups]
        return " AND ".join([*equal, f"trials.{name} = {table}.{name}"])

    def weighted(self, table: Opened, found: pd.DataFrame) -> tuple[pd.DataFrame, Ints]:
        """Groups and numbers that stand for trials, and for how many."""
        names = [name for name in ("bin", "value") if name in found]
        names = [*(key for key in self.keys if key != "weight"), *names]
        number = found["n"]
        if self.n is not None:
            own = self.rows.own_names([self.n])
            weights = table.decode(found[["weight"]].set_axis(["c0"], axis=1), own)
            number = number * whole_weights(self.n, weights[own[0]])
        sums = found.assign(n=number)[number > 0].groupby(names, dropna=False)["n"].sum()
        together = sums.reset_index()
        return together[names], together["n"].to_numpy(dtype=np.int64)

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """Columns for SQL (c0, c1, ...), with those of the groups (g0, ..., weight), value, bin."""
        own = self.rows.own_names(self.columns)
        with groupable(), self.rows.source.opened(own, self.numbers_of_levels) as table:
            value, wrong = self.number_in(table)
            named = dict(zip(self.keys, [*self.within, *([self.n] if self.n else [])], strict=True))
            places = {key: self.columns.index(name) for key, name in named.items()}
            keys = "".join(f", {key_of(table, place)} AS {key}" for key, place in places.items())
            select = f"SELECT *{keys}, {value} + 0.0 AS value, {wrong} AS wrong FROM trials"
            bits = f"SELECT *, value::BIT::BIGINT AS bits FROM ({select})"
            bins = f"SELECT *, ({IN_ORDER}) >> {SHIFT} AS bin FROM ({bits})"
            yield replace(table, select=f"WITH trials AS ({table.select}) {bins}")

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
        """SQL for the number, NULL where missing, and for a text that is none."""
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


def key_of(table: Opened, place: int) -> str:
    """SQL for a column of groups: long numbers, of which pandas may make floats, are texts."""
    is_long = table.kinds[place].startswith(("BIG", "UBIG", "HUGE", "UHUGE", "DECIMAL"))
    return f"c{place}::VARCHAR" if is_long else f"c{place}"


def with_point(text: str) -> str:
    """SQL for a text, with a point for the decimal comma of a number."""
    bare = f"trim({text}, {literal(BLANKS)})"
    is_comma = f"contains({text}, ',') AND regexp_full_match({bare}, {literal(NUMBER.pattern)})"
    is_comma += f" AND NOT regexp_full_match({bare}, {literal(THOUSANDS.pattern)})"
    return f"(CASE WHEN {is_comma} THEN replace({bare}, ',', '.') ELSE {text} END)"


def bin_of(values: NDArray[np.float64]) -> Ints:
    """Bins of numbers.

    Examples
    --------
    >>> bin_of(np.array([0.0, -0.0, 1.0])).tolist()
    [0, 0, 4190208]
    """
    return in_order((values + 0.0).view(np.int64)) >> SHIFT


def low_end(bins: Ints) -> NDArray[np.float64]:
    """The smallest number of a bin.

    Examples
    --------
    >>> low_end(bin_of(np.array([1.0, 1.0001]))).tolist()
    [1.0, 1.0]
    """
    return in_order(bins << SHIFT).view(np.float64)


def in_order(bits: Ints) -> Ints:
    """Bits of numbers as integers in the order of the numbers, and these as bits."""
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
