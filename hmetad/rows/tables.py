"""Tables of any kind, wherever they are, as rows that DuckDB reads.

DataFrame of pandas, Polars or Dask, Arrow table or dataset, relation of DuckDB, or paths → `Rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import ChoiceError, FileError, KindError, RepeatError
from hmetad.rows.database import Opened, UngroupableError, described, refuse_nested, shared
from hmetad.rows.files import are_paths, scan_table
from hmetad.rows.labs import practice_notices, question_rows
from hmetad.rows.queries import Rows, Source
from hmetad.rows.sample_frames import graded_rows, graded_trials, tool_of
from hmetad.rows.values import refuse_unwritable, safe_text

# Tables of many packages have no type in common; `rows_of` says which there are.
type TableLike = Any

KINDS = (
    "a DataFrame of pandas, Polars or Dask, an Arrow table or dataset, a relation of DuckDB, or "
    "the path of a table"
)
# What tables have that another engine computes when it is told to.
LAZY = ("collect", "execute", "toPandas")
GROUP_THERE = (
    "Group there by the columns in use, count the rows of each group, and pass that table with "
    "n=, the column of the counts."
)
# Rows of a batch.
BATCH = 2**19
# Weights of the rows of a table, under a name that nobody gives.
TIMES = "\x1ftimes"


def rows_of(trials: TableLike, *, text: Sequence[str] = ()) -> Rows:
    """Rows of a table of any kind.

    Parameters
    ----------
    trials : DataFrame, Table, Dataset, relation, path, or sequence of paths
        A table of pandas, Polars, Dask, Arrow or DuckDB, any object with an Arrow stream, or
        files: a path, a pattern such as ``"runs/*.parquet"``, a folder, or several of these.
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands.

    Returns
    -------
    Rows
        Nothing is read of tables that are not in memory, save the names of their columns.

    Raises
    ------
    InputError
        If `trials` is nothing of this kind, or has a column twice.

    Examples
    --------
    >>> rows_of(pd.DataFrame({"correct": [True], "confidence": [3]})).columns
    ('correct', 'confidence')
    """
    rows = trials if isinstance(trials, Rows) else plain_rows(trials, text)
    tool = tool_of(rows.columns) if "correct" not in rows.columns else None
    if tool is None or tool == "uqlm":
        return rows
    # Where there is a choice, the table stays as it is: errors of columns name `trials_of`.
    with suppress(ChoiceError):
        frame, found = graded_trials(graded_rows(rows.frame(rows.cheap_columns), tool), tool)
        return Rows((*frame.columns,), FrameSource(frame), notices=(*rows.notices, *found))
    return rows


def plain_rows(trials: TableLike, text: Sequence[str] = ()) -> Rows:
    """Rows of a table under the names that it has."""
    if are_paths(trials):
        return scan_table(trials, text=text)
    if isinstance(trials, pd.DataFrame):
        if number := question_rows(trials.head(2).to_numpy(dtype=object).tolist()):
            got = f"{number} rows of Qualtrics's questions and their ids under the header"
            step = f"Give the path of the file, or drop them: trials[{number}:]."
            raise FileError("trials", got, "one row of header", step)
        rows = checked(tuple(trials.columns), FrameSource(trials))
        return replace(rows, notices=tuple(practice_notices(trials)))
    if hasattr(trials, "to_delayed") and hasattr(trials, "columns"):
        return checked(tuple(trials.columns), PartitionSource(trials))
    if hasattr(trials, "to_arrow_reader"):
        names = tuple(trials.columns)
        batches = StreamSource(names, lambda: trials.to_arrow_reader(BATCH), is_read_once=True)
        return checked(names, batches)
    if any(hasattr(trials, name) for name in LAZY):
        raise KindError(
            "trials", f"a table of another engine ({type(trials).__name__})", KINDS, GROUP_THERE
        )
    # A reader can be read once only.
    table = trials.read_all() if hasattr(trials, "read_all") else trials
    known = names_of(table)
    if known is None:
        raise KindError("trials", type(trials).__name__, KINDS)
    return checked(known, StreamSource(known, lambda: table))


def names_of(table: Any) -> tuple[str, ...] | None:
    """Names of the columns of what DuckDB can scan; None for what is not a table."""
    if hasattr(table, "scanner") or hasattr(table, "column_names"):
        return tuple(table.schema.names)
    if hasattr(table, "__arrow_c_stream__") and hasattr(table, "columns"):
        return tuple(table.columns)
    return None


def checked(columns: tuple[Any, ...], source: Source) -> Rows:
    """Rows, once it is sure that their columns have different names."""
    twice = sorted({str(name) for name in columns if columns.count(name) > 1})
    if twice:
        raise RepeatError("trials", f"columns {twice} more than once", "unique column names")
    return Rows(columns, source)


class FrameSource(Source):
    """A DataFrame of pandas; values that are not plain numbers are an enumeration of their texts.

    Parameters
    ----------
    frame : DataFrame
    weights : ndarray of int, optional
        How many rows each stands for.
    """

    def __init__(self, frame: pd.DataFrame, weights: NDArray[np.int64] | None = None) -> None:
        self.frame, self.weights = frame, weights
        self.texts: dict[Any, tuple[pd.Categorical, pd.Series]] = {}

    @contextmanager
    def opened(self, columns: Sequence[Any]) -> Iterator[Opened]:
        """The columns for SQL."""
        registered = {f"c{place}": self.column(name) for place, name in enumerate(columns)}
        if self.weights is not None:
            registered |= {"times": self.weights}
        with shared() as connection:
            connection.register("frame", pd.DataFrame(registered, copy=False))
            select = f"SELECT {', '.join(registered)} FROM frame"
            select, kinds = described(connection, select, len(columns))
            weight = None if self.weights is None else "times"
            yield Opened(connection, select, kinds, self.decoded, weight)

    def column(self, name: Any) -> NDArray[Any] | pd.Categorical:
        """A column as DuckDB reads it."""
        column = self.frame[name]
        if not is_plain(column):
            return self.enumerated(name)[0]
        # DuckDB has no numbers of 2 or of 16 bytes.
        return np.ascontiguousarray(
            column.to_numpy(np.float64 if column.dtype.kind == "f" else None)
        )

    def enumerated(self, name: Any) -> tuple[pd.Categorical, pd.Series]:
        """Texts of a column's values, and the different values by their text."""
        if name not in self.texts:
            try:
                codes, levels = pd.factorize(self.frame[name])
            except TypeError as error:
                refuse_nested(name, self.frame[name])
                raise UngroupableError(str(error)) from error
            texts = pd.Index([*map(safe_text, levels.tolist())], dtype=object)
            values = pd.Series(levels, texts, dtype=self.frame[name].dtype)
            values = values[~texts.duplicated()]
            # A missing value has the last place.
            places = np.append(values.index.get_indexer(texts), -1)[codes]
            self.texts[name] = pd.Categorical.from_codes(places, values.index), values
        return self.texts[name]

    def refuse_unwritable(self, columns: Sequence[Any]) -> None:
        """Refuse texts in some columns that no file keeps."""
        for name in columns:
            with suppress(UngroupableError):
                levels = [] if is_plain(self.frame[name]) else self.enumerated(name)[1].tolist()
                texts = (value for value in levels if isinstance(value, str))
                refuse_unwritable(f"column {name!r}", texts)

    def decoded(self, found: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as they were opened."""
        values = {}
        for place, name in enumerate(columns):
            own = found[f"c{place}"]
            if not is_plain(self.frame[name]):
                own = self.enumerated(name)[1].reindex(own).set_axis(found.index)
            values[name] = own
        return pd.DataFrame(values, index=found.index)

    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows, or all."""
        return self.frame[list(columns)][:most]


def is_plain(column: pd.Series) -> bool:
    """Whether a column holds numbers or truth values as NumPy has them."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"


class StreamSource(Source):
    """What DuckDB scans as it is; `table` gives it anew for each question."""

    def __init__(
        self, names: tuple[str, ...], table: Callable[[], Any], *, is_read_once: bool = False
    ) -> None:
        self.names, self.table, self.is_read_once = names, table, is_read_once

    @contextmanager
    def opened(self, columns: Sequence[str]) -> Iterator[Opened]:
        """The columns for SQL."""
        with shared() as connection:
            connection.register("stream", self.table())
            own = ", ".join(f"own{place}" for place in range(len(self.names)))
            chosen = ", ".join(
                f"own{self.names.index(name)} AS c{k}" for k, name in enumerate(columns)
            )
            select = f"SELECT {chosen} FROM stream AS own({own})"
            if self.is_read_once:
                connection.execute(f"CREATE OR REPLACE TEMP TABLE kept AS {select}")
                select = "FROM kept"
            select, kinds = described(connection, select, len(columns))
            yield Opened(connection, select, kinds, self.decoded)


class PartitionSource(Source):
    """A Dask DataFrame, which its own engine groups, on its cluster."""

    def __init__(self, trials: Any) -> None:
        self.trials = trials
        self.found: dict[tuple[Any, ...], FrameSource] = {}

    def prepare(self, needs: Sequence[Sequence[Any]]) -> None:
        """Group by each of some sets of columns."""
        new = [names for names in dict.fromkeys(map(tuple, needs)) if names not in self.found]
        groups = [
            self.trials[[*names]].groupby([*names], dropna=False, observed=True, sort=False).size()
            for names in new
        ]
        counted = import_module("dask").compute(*groups) if groups else ()
        for names, numbers in zip(new, counted, strict=True):
            frame = numbers.rename(TIMES).reset_index()
            self.found[names] = FrameSource(frame, frame.pop(TIMES).to_numpy(dtype=np.int64))

    @contextmanager
    def opened(self, columns: Sequence[Any]) -> Iterator[Opened]:
        """The columns for SQL."""
        self.prepare([columns])
        with self.found[tuple(columns)].opened(columns) as table:
            yield table

    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows: of the first partition, unless all are requested."""
        if most is None:
            return self.trials[list(columns)].compute().reset_index(drop=True)
        return self.trials[list(columns)].partitions[0].compute()[:most]
