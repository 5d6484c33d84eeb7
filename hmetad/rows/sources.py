"""Tables of any kind, wherever they are, as rows that are read piece by piece.

DataFrame of pandas, Polars or Dask, Arrow table or dataset, relation of DuckDB, or paths → `Rows`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from hmetad.errors import InputError
from hmetad.rows.arrow import coded
from hmetad.rows.limits import Limits
from hmetad.rows.queries import Piece
from hmetad.rows.rows import Rows, no_rows
from hmetad.rows.scans import are_paths, scan_table
from hmetad.threads import in_threads_as_read

__all__ = ["TableLike", "rows_of"]

# Tables of many packages have no type in common; `rows_of` says which there are.
type TableLike = Any

KINDS = (
    "a DataFrame of pandas, Polars or Dask, an Arrow table or dataset, a relation of DuckDB, or "
    "the path of a table"
)
# Rows of a piece.
BATCH = 2**19


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
        return rows_of_frame(trials)
    if hasattr(trials, "to_delayed") and hasattr(trials, "columns"):
        head = partial(over_partitions, trials.partitions[:1])
        return checked(tuple(trials.columns), partial(over_partitions, trials), head)
    found = batches_of(trials)
    if found is None:
        raise InputError("trials", type(trials).__name__, KINDS)
    columns, batches = found
    return checked(columns, partial(over_batches, batches))


def checked(columns: tuple[Any, ...], over: Any, head: Any = None) -> Rows:
    """Rows, once it is sure that their columns have different names."""
    twice = sorted({str(name) for name in columns if columns.count(name) > 1})
    if twice:
        raise InputError("trials", f"columns {twice} more than once", "unique column names")
    return Rows(columns, over, head=head)


def rows_of_frame(trials: pd.DataFrame) -> Rows:
    """Rows of a DataFrame of pandas, as one piece."""
    rows = checked(tuple(trials.columns), partial(over_frame, trials))
    if trials.empty:
        raise no_rows()
    return rows


def over_frame(
    trials: pd.DataFrame, function: Callable[[Piece], Any], _: Sequence[str]
) -> Iterable[Any]:
    """Value of a function of the one piece."""
    return [function(trials)]


def over_partitions(
    trials: Any, function: Callable[[Piece], Any], columns: Sequence[str]
) -> Iterable[Any]:
    """Values of a function of each partition of a Dask DataFrame, on its cluster."""
    parts = [part.pipe(function) for part in trials[list(columns)].to_delayed()]
    return list(import_module("dask").compute(*parts))


def over_batches(
    batches: Callable[[Sequence[str]], Iterable[pa.RecordBatch]],
    function: Callable[[Piece], Any],
    columns: Sequence[str],
) -> Iterable[Any]:
    """Values of a function of each batch of some rows, as a table of plain columns."""

    def of_batch(batch: pa.RecordBatch) -> Any:
        return function(plain_table(batch, columns))

    return in_threads_as_read(of_batch, batches(columns))


def plain_table(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.Table:
    """Table of a batch, text as a dictionary, which is quick to group by."""
    chosen = {name: batch.column(name) for name in columns}
    return pa.table({name: coded(values) for name, values in chosen.items()})


def batches_of(
    trials: Any,
) -> tuple[tuple[str, ...], Callable[[Sequence[str]], Iterable[pa.RecordBatch]]] | None:
    """Column names, and what reads batches of some columns; None for what is no table."""
    if isinstance(trials, pa.RecordBatchReader):
        # It can be read once only.
        trials = trials.read_all()
    if isinstance(trials, pa.Table | pa.RecordBatch):
        table = pa.table(trials) if isinstance(trials, pa.RecordBatch) else trials
        return tuple(table.column_names), lambda names: table.select(names).to_batches(BATCH)
    if isinstance(trials, ds.Dataset):
        return tuple(trials.schema.names), lambda names: trials.to_batches(
            columns=list(names), batch_size=BATCH // 4, batch_readahead=4, fragment_readahead=1
        )
    if hasattr(trials, "collect_schema") and hasattr(trials, "collect_batches"):
        return tuple(trials.collect_schema().names()), partial(lazy_batches, trials)
    if hasattr(trials, "project") and hasattr(trials, "columns"):
        return tuple(trials.columns), partial(relation_batches, trials)
    if hasattr(trials, "__arrow_c_stream__"):
        chosen = trials.select if hasattr(trials, "select") else None
        try:
            names = tuple(pa.RecordBatchReader.from_stream(trials).schema.names)
        except pa.ArrowInvalid:
            # One column has a stream, but no names.
            return None
        return names, lambda names: stream_batches(chosen(list(names)) if chosen else trials)
    return None


def stream_batches(trials: Any) -> Iterator[pa.RecordBatch]:
    """Batches of what has an Arrow stream."""
    for batch in pa.RecordBatchReader.from_stream(trials):
        yield from (batch.slice(start, BATCH) for start in range(0, len(batch), BATCH))


def lazy_batches(trials: Any, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Batches of a lazy frame of Polars, which reads them as they are needed."""
    for frame in trials.select(list(names)).collect_batches(chunk_size=BATCH, maintain_order=False):
        yield from stream_batches(frame)


def relation_batches(trials: Any, names: Sequence[str]) -> Iterable[pa.RecordBatch]:
    """Batches of a relation of DuckDB, which reads them as they are needed."""
    quoted = ['"{}"'.format(name.replace('"', '""')) for name in names]
    chosen = trials.project(", ".join(quoted))
    # DuckDB before 1.5 has another name for it.
    reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_record_batch
    return iter(reader(BATCH))
