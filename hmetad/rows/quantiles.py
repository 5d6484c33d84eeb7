"""Ratings by quantiles of a column of numbers, whatever the number of rows.

Rows and a column of numbers → distinct rows with ratings. The cuts are exactly those of
`bin_confidence`, without sorting the rows: numbers are counted in bins, and single values are only
those of bins in which a cut may lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import NumberError
from hmetad.rows.database import Opened, literal
from hmetad.rows.queries import Rows, Tally, groupable, no_rows, plain_value
from hmetad.rows.values import GAPS

# Texts that an error looks at.
MOST_TEXTS = 1000
# A bin is the sign, the exponent and 12 bits of the fraction of a number, so that bins rise with
# the numbers; the bits of negative numbers rise while these fall.
BIN = "(CASE WHEN bits < 0 THEN xor(bits, 9223372036854775807) ELSE bits END) >> 40"


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
    check : callable
        Raises an error for values that are neither numbers nor missing.
    """

    rows: Rows
    column: str
    within: Sequence[str]
    n: str | None
    kept: Sequence[str]
    check: Callable[[pd.Series], object]

    @property
    def columns(self) -> list[str]:
        """All columns in use, in the order in which they are opened: kept, within and own."""
        return [*dict.fromkeys([*self.kept, *self.within]), self.column]

    @property
    def keys(self) -> list[str]:
        """Names of the groups' columns in SQL."""
        return [f"c{self.columns.index(name)}" for name in self.within]

    def rated(self, quantiles: int, values: Sequence[float]) -> Rated:
        """Rows with ratings 1..K by average rank in their group; equal values share a rating.

        With average rank rho among the n trials of a group, the rating is the ceiling of
        K (rho - 1/2) / n; ratings that nobody has are closed up. `values` are those of interest.
        """
        with self.opened() as table:
            bins = ", ".join([*self.keys, "bin"])
            ends = "min(value) AS low, max(value) AS high, count(wrong) AS wrong"
            table.keep(
                "bins", f"SELECT {bins}, {table.number} AS n, {ends} FROM trials GROUP BY ALL"
            )
            self.check_numbers(table)
            keep_cuts(table, self.keys, quantiles)
            ask = table.connection.sql
            lows = ask("SELECT low FROM cuts WHERE rating > 1 ORDER BY rating").fetchall()
            sizes = ask(f"SELECT count(*) FROM cuts {group_by(self.keys)}").fetchall()
            seen = table.frame(looked_at(values, table.number)).dropna()
            found = table.frame(rated_rows(len(self.kept), self.keys, quantiles, table.number))
            found["rating"] = found["rating"].astype(float)
            rows = self.rows.tally(table, found, self.kept)
        return Rated(
            rows,
            [] if self.keys else [float(low) for (low,) in lows],
            min((size for (size,) in sizes), default=quantiles),
            seen["value"].to_numpy(dtype=np.float64),
            seen["n"].to_numpy(dtype=np.int64),
        )

    def check_numbers(self, table: Opened) -> None:
        """Raise an error for texts that are neither numbers nor missing, and infinite values."""
        found = table.connection.sql(
            "SELECT sum(wrong) > 0, bool_or(isinf(low) OR isinf(high)) FROM bins"
        ).fetchall()
        has_wrong, has_infinite = found[0]
        if has_wrong is None:
            raise no_rows()
        if has_wrong:
            texts = table.frame(
                "(SELECT wrong AS text FROM trials WHERE wrong IS NOT NULL "
                f"GROUP BY ALL ORDER BY ALL LIMIT {MOST_TEXTS}) UNION ALL "
                "(SELECT value::VARCHAR FROM trials WHERE value IS NOT NULL LIMIT 1)"
            )["text"]
            known = [plain_value(text) not in self.codes for text in texts]
            self.check(texts[known].astype(object))
        if has_infinite:
            argument = f"confidence column {self.column!r}"
            raise NumberError(argument, "infinite values", "finite numbers")

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """Columns for SQL, with the value, a text that is not a number, and the bin."""
        with groupable(), self.rows.opened(self.columns, self.n) as table:
            value, wrong = self.number_in(table)
            select = f"SELECT *, {value} + 0.0 AS value, {wrong} AS wrong FROM ({table.select})"
            select = f"SELECT *, value::BIT::BIGINT AS bits, {BIN} AS bin FROM ({select})"
            yield replace(table, select=select)

    @property
    def codes(self) -> Set[str | float]:
        """Values that are missing ones."""
        return self.rows.codes.get(self.rows.own_names([self.column])[0], frozenset())

    def number_in(self, table: Opened) -> tuple[str, str]:
        """SQL for the number, NULL where missing, and for a text that is not a number."""
        table.refuse_no_labels()
        if table.kinds[-1] == "BOOLEAN":
            self.check(pd.Series([True], dtype=object))
        number, wrong = table.number_in(-1), "NULL::VARCHAR"
        if not table.has_numbers(-1):
            text = table.text_in(-1)
            gaps = ", ".join(map(literal, GAPS))
            wrong = f"CASE WHEN {number} IS NULL AND {text} NOT IN ({gaps}) THEN {text} END"
        if codes := doubles(code for code in self.codes if isinstance(code, float)):
            number = f"CASE WHEN {number} NOT IN ({codes}) THEN {number} END"
        return number, wrong


def keep_cuts(table: Opened, keys: Sequence[str], quantiles: int) -> None:
    """Keep the table ``cuts``: the lowest value of each rating of each group.

    Single values are looked at only in bins in which a cut may lie; one value stands for each other
    bin, since all of its values have one quantile.
    """
    own = "".join(f"{key}, " for key in keys)
    part = f"PARTITION BY {', '.join(keys)}" if keys else ""
    trials = "".join(f"trials.{key}, " for key in keys)
    same = [f"trials.{key} IS NOT DISTINCT FROM placed.{key}" for key in [*keys, "bin"]]
    first, last = (quantile_of(odd, quantiles) for odd in ("2 * below + 1", "2 * (below + n) - 1"))
    table.connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE placed AS
        WITH sized AS (
            SELECT *, sum(n) OVER ({part} ORDER BY bin) - n AS below, sum(n) OVER ({part}) AS size
            FROM bins WHERE bin IS NOT NULL
        )
        SELECT *, low < high AND {first} < {last} AS is_split FROM sized"""
    )
    table.keep(
        "known",
        f"SELECT {own}low AS value, n FROM placed WHERE NOT is_split UNION ALL "
        f"SELECT {trials}value, {table.number} FROM trials JOIN placed "
        f"ON {' AND '.join([*same, 'is_split'])} GROUP BY ALL",
    )
    table.connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE cuts AS
        WITH ranked AS (
            SELECT *, 2 * sum(n) OVER ({part} ORDER BY value) - n AS odd,
                sum(n) OVER ({part}) AS size
            FROM known
        ), found AS (SELECT {own}{quantile_of("odd", quantiles)} AS quantile, value FROM ranked)
        SELECT {own}dense_rank() OVER ({part} ORDER BY quantile) AS rating, min(value) AS low
        FROM found GROUP BY {own}quantile"""
    )


def quantile_of(odd: str, quantiles: int) -> str:
    """SQL for the quantile, from twice the average rank less 1, which is an integer, and size."""
    return f"({quantiles} * ({odd}) + 2 * size - 1) // (2 * size)"


def group_by(keys: Sequence[str]) -> str:
    """SQL that groups by some columns, or by none."""
    return f"GROUP BY {', '.join(keys)}" if keys else ""


def rated_rows(number: int, keys: Sequence[str], quantiles: int, trials: str) -> str:
    """SQL for the distinct rows of the first columns with a rating by the table ``cuts``."""
    # The first columns, some of which are those of the groups.
    own = "".join(f"trials.c{place}, " for place in range(number))
    ratings = range(2, quantiles + 1)
    lows = [f"min(low) FILTER (rating = {rating}) AS low{rating}" for rating in ratings]
    of_group = f"SELECT {', '.join([*keys, *lows])} FROM cuts {group_by(keys)}"
    same = [f"trials.{key} IS NOT DISTINCT FROM of_group.{key}" for key in keys]
    above = " + ".join(f"coalesce(value >= low{rating}, false)::INTEGER" for rating in ratings)
    return (
        f", of_group AS ({of_group}) "
        f"SELECT {own}CASE WHEN value IS NOT NULL THEN 1 + {above} END AS rating, {trials} AS n "
        f"FROM trials LEFT JOIN of_group ON {' AND '.join(same) or 'true'} "
        "GROUP BY ALL ORDER BY ALL"
    )


def looked_at(values: Sequence[float], number: str) -> str:
    """SQL for trials of some values, and the lowest and the highest other with one trial each."""
    known = f"value IN ({doubles(values)})"
    return (
        f"SELECT value, {number} AS n FROM trials WHERE {known} GROUP BY value UNION ALL "
        f"SELECT unnest([min(value), max(value)]), 1 FROM trials WHERE NOT {known}"
    )


def doubles(values: Iterable[float]) -> str:
    """SQL for a list of numbers."""
    return ", ".join(f"'{float(value)!r}'::DOUBLE" for value in values)
