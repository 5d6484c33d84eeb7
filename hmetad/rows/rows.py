"""Rows of any kind of table, asked piece by piece.

Rows and queries → answers; no more than a few pieces are in memory at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hmetad.errors import InputError, nearest
from hmetad.notice import Notice
from hmetad.rows.arrow import frame_of
from hmetad.rows.decimals import with_points
from hmetad.rows.queries import ORDER, N, Piece, Query, Sample, Spread, Values

__all__ = ["Rows", "Tally", "columns_named", "no_rows", "plain_value", "regrouped"]

Tally = tuple[pd.DataFrame, NDArray[np.int64]]
# Partial answers are merged when there are so many.
PARTS = 16
NOT_GROUPABLE = (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid, TypeError)


class Over(Protocol):
    """Applies a function to each piece of a table with some columns, in any order."""

    def __call__(
        self, function: Callable[[Piece], Any], columns: Sequence[str], /
    ) -> Iterable[Any]: ...


@dataclass(frozen=True)
class Rows:
    """Rows of a table, wherever they are.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns.
    over : callable
        A function of a piece, and the columns it needs → its value for each piece, in any order.
    finish : callable, optional
        What a DataFrame of distinct rows still needs, such as numbers in the place of their text.
    names : mapping of str to str, optional
        Columns that are called otherwise here: {name here: name in the table}.
    head : callable, optional
        As `over`, of the first piece alone, where `over` works on all of them at once.
    costly : frozenset of str, optional
        Columns of the table that are read only where they are named: some file lacks them, or
        their texts are long.
    notices : tuple of Notice, optional
        What reading them has shown.
    """

    columns: tuple[Any, ...]
    over: Over
    finish: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    head: Over | None = None
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

    def each(self, function: Callable[[Piece], Any], columns: Iterable[str]) -> Iterable[Any]:
        """Values of a function of each piece, which has these columns at least."""
        wanted = list(dict.fromkeys(columns))
        for name in wanted:
            if name not in self.columns:
                step = nearest(str(name), self.columns)
                raise InputError("column", repr(name), "a column of the trials", step)
        renamed = {self.names[name]: name for name in wanted if name in self.names}
        named = partial(of_renamed, function, renamed) if renamed else function
        return self.over(named, [self.names.get(name, name) for name in wanted])

    def first_rows(self, columns: Sequence[str], most: int | None = None) -> pd.DataFrame:
        """Rows of the first piece, finished: all, or not more than some."""
        first_ones = replace(self, over=self.over if self.head is None else self.head)
        first = next(iter(first_ones.each(partial(in_memory, columns, most), columns)), None)
        if first is None:
            raise no_rows()
        return first if self.finish is None else self.finish(first)

    def changed(
        self, change: Callable[[Piece], Piece], needs: Sequence[str], adds: Sequence[str]
    ) -> "Rows":
        """Rows with new columns: what `change` adds to a piece that has the columns it needs."""
        own = change, tuple(needs), frozenset(adds)
        over = partial(over_changed, self, *own)
        first = None if self.head is None else replace(self, over=self.head)
        head = None if first is None else partial(over_changed, first, *own)
        return replace(self, columns=(*self.columns, *adds), over=over, names={}, head=head)

    def without(self, codes: Sequence[Any], columns: Iterable[str]) -> "Rows":
        """The same rows, values that are codes missing in some columns; "1" is 1.

        Parameters
        ----------
        codes : sequence of str or float
        columns : iterable of str
        """
        known = frozenset(map(plain_value, codes))
        return self.changed(partial(blanked, [*columns], known), [], []) if known else self

    def with_points(self, columns: Iterable[str]) -> "Rows":
        """The same rows, "0,85" read as 0.85 in some columns: of files, and of pandas."""
        return self.changed(partial(with_points, [*columns]), [], [])

    def frame(self, columns: Sequence[Any] | None = None) -> pd.DataFrame:
        """All rows of some columns, or of all, in memory."""
        wanted = list(self.columns if columns is None else dict.fromkeys(columns))
        pieces = list(self.each(partial(in_memory, wanted, None), wanted))
        if not pieces:
            raise no_rows()
        together = pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
        return together if self.finish is None else self.finish(together)

    def ask(self, queries: Sequence[Query], n: str | None = None) -> list[Any]:
        """Answers to all queries, in one pass: tallies or `Values`, or None.

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
        asked = [weighted(query, n) for query in queries]
        needed = [name for query in asked for name in query.columns]
        parts: list[list[Any]] = [[] for _ in asked]
        for found in self.each(partial(answers_of, asked), needed):
            for query, own, one in zip(asked, parts, found, strict=True):
                own.append(one)
                if len(own) >= PARTS:
                    own[:] = [query.merge(own)]
        if not parts[0]:
            raise no_rows()
        return [
            self.answer(query, query.merge(own), n) for query, own in zip(asked, parts, strict=True)
        ]

    def answer(self, query: Query, merged: Any, n: str | None) -> Tally | Values | None:
        """Answer to a query, from what all pieces said."""
        if merged is None:
            return None
        if isinstance(query, Spread):
            values = query.values_of(merged)
            return values if n is None else values._replace(are_unique=False)
        is_sample = isinstance(query, Sample)
        if is_sample:
            merged = merged.drop(columns=ORDER).assign(**{N: 1})
        number = merged.pop(N).to_numpy(dtype=np.int64)
        groups = merged if self.finish is None else self.finish(merged)
        if n is not None:
            number = number * whole_weights(n, groups.pop(n))
        if not is_sample and (n is not None or self.finish is not None):
            groups, number = regrouped(groups, number)
        return groups, number


def columns_named(name: str, columns: Iterable[object]) -> list[str]:
    """The column of a name, or those whose names differ from it in case alone.

    Examples
    --------
    >>> columns_named("model", ["Model", "MODEL"]), columns_named("model", ["Model", "model"])
    (['Model', 'MODEL'], ['model'])
    """
    alike = [one for one in columns if isinstance(one, str) and one.casefold() == name.casefold()]
    return [name] if name in alike else alike


def over_changed(
    rows: Rows,
    change: Callable[[Piece], Piece],
    needs: Sequence[str],
    adds: frozenset[str],
    function: Callable[[Piece], Any],
    columns: Sequence[str],
) -> Iterable[Any]:
    """Values of a function of each piece of rows, changed."""
    kept = [name for name in columns if name not in adds]
    return rows.each(partial(of_changed, function, change), [*kept, *needs])


def of_changed(
    function: Callable[[Piece], Any], change: Callable[[Piece], Piece], piece: Piece
) -> Any:
    """Value of a function of a piece, changed."""
    return function(change(piece))


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


def blanked(columns: Sequence[str], codes: Set[str | float], piece: Piece) -> Piece:
    """Piece in which codes are missing values, in those of some columns that it has.

    Examples
    --------
    >>> blanked(["sure"], {999.0}, pa.table({"sure": [4, 999]}))["sure"].to_pylist()
    [4, None]
    """
    if isinstance(piece, pa.Table):
        for name in (name for name in columns if name in piece.column_names):
            place = piece.column_names.index(name)
            piece = piece.set_column(place, name, blanked_arrow(piece[name], codes))
        return piece
    new: dict[str, pd.Series] = {}
    for name in (name for name in columns if name in piece):
        try:
            places, levels = pd.factorize(piece[name])
        except TypeError:
            # Lists and records are no codes; what they are is said where they are counted.
            continue
        # A missing value has the last place.
        is_code = np.array([*(plain_value(level) in codes for level in levels), False])
        new |= {name: piece[name].mask(is_code[places])} if is_code.any() else {}
    return piece.assign(**new)


def blanked_arrow(column: pa.ChunkedArray, codes: Set[str | float]) -> pa.ChunkedArray:
    """Column of Arrow in which codes are missing values."""
    chunks = []
    for chunk in column.chunks:
        levels = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        is_code = [plain_value(level) in codes for level in levels.dictionary.to_pylist()]
        at_code = pa.array(is_code, pa.bool_()).take(levels.indices)
        places = pc.if_else(at_code, None, levels.indices)
        new = pa.DictionaryArray.from_arrays(places, levels.dictionary)
        chunks.append(new if levels is chunk else new.dictionary_decode())
    return pa.chunked_array(chunks, column.type)


def in_memory(columns: Sequence[Any], most: int | None, piece: Piece) -> pd.DataFrame:
    """DataFrame of some columns of a piece, or of its first rows."""
    piece = piece[:most]
    frame = piece if isinstance(piece, pd.DataFrame) else frame_of(piece)
    return frame[list(columns)]


def no_rows() -> InputError:
    """Error for a table without rows."""
    return InputError("trials", "no rows", "at least one trial", "Check how they were read.")


def weighted(query: Query, n: str | None) -> Query:
    """Query that tells rows of different weights apart."""
    if n is None or isinstance(query, Spread) or n in query.columns:
        return query
    return replace(query, columns=(*query.columns, n))


def answers_of(queries: Sequence[Query], piece: Piece) -> list[Any]:
    """Partial answers of a piece to all queries."""
    return [answer_of(query, piece) for query in queries]


def answer_of(query: Query, piece: Piece) -> Any:
    """Partial answer of a piece; None where its values cannot be grouped and need not be."""
    try:
        return query.ask(piece)
    except NOT_GROUPABLE as error:
        if isinstance(query, Spread) or query.most is not None:
            return None
        step = "Make its values text or numbers."
        reason = str(error).splitlines()[0]
        raise InputError("trials", reason, "one text or number per value", step) from error


def of_renamed(function: Callable[[Piece], Any], names: Mapping[str, str], piece: Piece) -> Any:
    """Value of a function of a piece whose columns are renamed: {old: new}."""
    if isinstance(piece, pa.Table):
        return function(
            piece.rename_columns([names.get(name, name) for name in piece.column_names])
        )
    return function(piece.rename(columns=dict(names)))


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
    some = groups[n > 0].assign(**{N: n[n > 0]})
    if some.empty:
        raise InputError("trials", "weights that are all 0", "at least one trial")
    sums = some.groupby(names, dropna=False, observed=True, sort=False)[N].sum()
    return sums.index.to_frame(index=False), sums.to_numpy(dtype=np.int64)
