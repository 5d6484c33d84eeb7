"""Tables of any kind, wherever they are, as rows that DuckDB reads.

DataFrame of pandas, Polars or Dask, Arrow table or dataset, relation of DuckDB, or paths → `Rows`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from hmetad.base.errors import InputError
from hmetad.rows.database import Opened, described, quoted, shared
from hmetad.rows.frames import FrameSource
from hmetad.rows.limits import Limits
from hmetad.rows.rows import Levels, Rows, Source, no_rows
from hmetad.rows.scans import are_paths, scan_table

__all__ = ["TableLike", "rows_of"]

# Tables of many packages have no type in common; `rows_of` says which there are.
type TableLike = Any

KINDS = (
    "a DataFrame of pandas, Polars or Dask, an Arrow table or dataset, a relation of DuckDB, or "
    "the path of a table"
)
# Rows of a batch.
BATCH = 2**19
# Weights of the rows of a table, under a name that nobody gives.
TIMES = "\x1ftimes"


def rows_of(
    trials: TableLike,
    *,
    text: Sequence[str] = (),
    limits: Limits | Mapping[str, int] | None = None,
) -> Rows:
    """Rows of a table of any kind.

    Parameters
    ----------
    trials : DataFrame, LazyFrame, Table, Dataset, relation, path, or sequence of paths
        A table of pandas, Polars, Dask, Arrow or DuckDB, any object with an Arrow stream, or
        files: a path, a pattern such as ``"runs/*.parquet"``, a folder, or several of these.
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands.
    limits : Limits or mapping of str to int, optional
        How much files may hold.

    Returns
    -------
    Rows
        Nothing is read of tables that are not in memory, save the names of their columns.

    Raises
    ------
    InputError
        If `trials` is nothing of this kind, has no rows, or a column twice.

    Examples
    --------
    >>> rows_of(pa.table({"correct": [True], "confidence": [3]})).columns
    ('correct', 'confidence')
    """
    if isinstance(trials, Rows):
        return trials
    if are_paths(trials):
        return scan_table(trials, text=text, limits=limits)
    if isinstance(trials, pd.DataFrame):
        rows = checked(tuple(trials.columns), FrameSource(trials))
        if trials.empty:
            raise no_rows()
        return rows
    if hasattr(trials, "to_delayed") and hasattr(trials, "columns"):
        return checked(tuple(trials.columns), PartitionSource(trials))
    found = streams_of(trials)
    if found is None:
        raise InputError("trials", type(trials).__name__, KINDS)
    columns, stream = found
    return checked(columns, StreamSource(stream))


def checked(columns: tuple[Any, ...], source: Source) -> Rows:
    """Rows, once it is sure that their columns have different names."""
    twice = sorted({str(name) for name in columns if columns.count(name) > 1})
    if twice:
        raise InputError("trials", f"columns {twice} more than once", "unique column names")
    return Rows(columns, source)


class StreamSource(Source):
    """What Arrow reads: a function of names of columns → batches of these."""

    def __init__(self, stream: Callable[[Sequence[str]], Any]) -> None:
        self.stream = stream

    @contextmanager
    def opened(self, columns: Sequence[str], _: Levels | None = None, /) -> Iterator[Opened]:
        """The columns for SQL."""
        with shared() as connection:

            def renew() -> object:
                # A connection of DuckDB has one result at a time.
                connection.unregister("stream")
                return connection.register("stream", self.stream(columns))

            renew()
            names = [f"c{place}" for place in range(len(columns))]
            select = f"SELECT * FROM stream AS own({', '.join(names)})"
            yield Opened(
                connection, *described(connection, select, len(names)), decoded, renew=renew
            )

    def head(self, columns: Sequence[str], most: int | None) -> pd.DataFrame:
        """The first rows."""
        with self.opened(columns) as table:
            limit = "" if most is None else f"LIMIT {most}"
            return decoded(table.frame(f"FROM trials {limit}"), columns)


def decoded(found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """What SQL found, under the names of the columns."""
    return found.set_axis([*columns], axis=1)


class PartitionSource(Source):
    """A Dask DataFrame, whose partitions are grouped where they are."""

    def __init__(self, trials: Any) -> None:
        self.trials = trials
        self.found: dict[tuple[Any, ...], FrameSource] = {}

    def grouped(self, columns: Sequence[Any]) -> FrameSource:
        """Distinct rows of the columns, with how often they occur in all partitions."""
        self.prepare([columns])
        return self.found[tuple(columns)]

    def prepare(self, needs: Sequence[Sequence[Any]]) -> None:
        """Group by each of some sets of columns, in one pass over the partitions."""
        new = [names for names in dict.fromkeys(map(tuple, needs)) if names not in self.found]
        if not new:
            return
        used = list(dict.fromkeys(name for names in new for name in names))
        grouped = partial(distinct_rows, new)
        parts = [part.pipe(grouped) for part in self.trials[used].to_delayed()]
        found = import_module("dask").compute(*parts)
        for names, tallies in zip(new, zip(*found, strict=True), strict=True):
            together = pd.concat(tallies, ignore_index=True)
            self.found[names] = FrameSource(together, together.pop(TIMES).to_numpy())

    @contextmanager
    def opened(self, columns: Sequence[Any], levels: Levels | None = None, /) -> Iterator[Opened]:
        """The columns for SQL."""
        with self.grouped(columns).opened(columns, levels) as table:
            yield table

    def head(self, columns: Sequence[Any], most: int | None) -> pd.DataFrame:
        """The first rows: of the first partition, unless all are asked for."""
        if most is None:
            return self.trials[list(columns)].compute().reset_index(drop=True)
        return self.trials[list(columns)].partitions[0].compute()[:most]


def distinct_rows(needs: Sequence[tuple[Any, ...]], part: pd.DataFrame) -> list[pd.DataFrame]:
    """Distinct rows of a partition by each of some sets of columns, and how often they occur."""
    grouped = (part.groupby([*names], dropna=False, observed=True, sort=False) for names in needs)
    return [groups.size().rename(TIMES).reset_index() for groups in grouped]


def streams_of(trials: Any) -> tuple[tuple[str, ...], Callable[[Sequence[str]], Any]] | None:
    """Column names, and what gives some columns to DuckDB; None for what is no table."""
    if isinstance(trials, pa.RecordBatchReader):
        # It can be read once only.
        trials = trials.read_all()
    if isinstance(trials, pa.Table | pa.RecordBatch):
        table = pa.table(trials) if isinstance(trials, pa.RecordBatch) else trials
        return tuple(table.column_names), lambda names: table.select(list(names))
    if isinstance(trials, ds.Dataset):
        return tuple(trials.schema.names), lambda names: trials.scanner(
            columns=list(names), batch_size=BATCH // 4, batch_readahead=4, fragment_readahead=1
        ).to_reader()
    if hasattr(trials, "collect_schema") and hasattr(trials, "collect_batches"):
        return tuple(trials.collect_schema().names()), partial(lazy_stream, trials)
    if hasattr(trials, "project") and hasattr(trials, "columns"):
        return tuple(trials.columns), partial(relation_stream, trials)
    if hasattr(trials, "__arrow_c_stream__"):
        try:
            names = tuple(pa.RecordBatchReader.from_stream(trials).schema.names)
        except pa.ArrowInvalid:
            # One column has a stream, but no names.
            return None
        return names, partial(own_stream, trials)
    return None


def own_stream(trials: Any, names: Sequence[str]) -> Any:
    """Columns of what has an Arrow stream; as a table of what is in memory, which takes none."""
    if hasattr(trials, "select"):
        return pa.RecordBatchReader.from_stream(trials.select(list(names))).read_all()
    reader = pa.RecordBatchReader.from_stream(trials)
    schema = pa.schema([reader.schema.field(name) for name in names])
    return pa.RecordBatchReader.from_batches(
        schema, (batch.select(list(names)) for batch in reader)
    )


def lazy_stream(trials: Any, names: Sequence[str]) -> pa.RecordBatchReader:
    """Batches of a lazy frame of Polars, which reads them as they are needed."""
    chosen = trials.select(list(names))
    schema = chosen.head(0).collect().to_arrow().schema
    return pa.RecordBatchReader.from_batches(schema, lazy_batches(chosen))


def lazy_batches(chosen: Any) -> Iterable[pa.RecordBatch]:
    """Batches of a lazy frame of Polars."""
    for frame in chosen.collect_batches(chunk_size=BATCH, maintain_order=False):
        yield from frame.to_arrow().to_batches()


def relation_stream(trials: Any, names: Sequence[str]) -> pa.RecordBatchReader:
    """Batches of a relation of DuckDB, which reads them as they are needed."""
    return trials.project(", ".join(map(quoted, names))).to_arrow_reader(BATCH)
