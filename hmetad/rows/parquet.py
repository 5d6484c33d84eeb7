"""Parquet files, read once it is known how much they hold.

Path → DataFrame. DuckDB reads what a file says of its columns: pyarrow ends the process where a
column's statistics are damaged, for its `RowGroupMetaData.column` lets a C++ exception through.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hmetad.base.errors import InputError
from hmetad.rows.database import connected, interruptible, of_files
from hmetad.rows.limits import Limits, beyond, check_names, check_size

__all__ = ["Chunk", "column_chunks", "parquet_table"]

BATCH = 2**16
# Types of bytes, and the encoding by what is shared with the word before.
BYTE_ARRAYS, DELTA = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"), "DELTA_BYTE_ARRAY"


@dataclass(frozen=True)
class Chunk:
    """A column in a group of rows, as the file describes it.

    Parameters
    ----------
    column : str
    values, unpacked : int
        How many there are, and their bytes.
    is_short : bool
        Whether it is of text that may be much shorter in the file than in memory.
    is_shared : bool
        Whether a word may be written as what it shares with the one before.
    """

    column: str
    values: int
    unpacked: int
    is_short: bool
    is_shared: bool


def parquet_table(path: Path, limits: Limits) -> pd.DataFrame:
    """Table of a Parquet file, once it is known how much it holds."""
    about = pq.read_metadata(path)
    check_size(path, about.num_columns, about.num_rows * about.num_columns, limits)
    chunks = column_chunks([path])[path]
    check_chunks(path, chunks, limits)
    check_names(path, about.schema.to_arrow_schema().names, limits)
    check_words(path, chunks, limits)
    table = pd.read_parquet(path)
    if table.columns.nlevels > 1:
        raise InputError(str(path), "names of several levels", "one name for each column")
    return table


def check_chunks(path: Path, chunks: Sequence[Chunk], limits: Limits) -> None:
    """Refuse a Parquet file that says itself that it holds too much."""
    check_size(path, 0, sum(chunk.values for chunk in chunks), limits)
    unpacked = sum(chunk.unpacked for chunk in chunks)
    if unpacked > limits.unpacked:
        raise beyond(str(path), "unpacked", f"{unpacked:,} bytes unpacked", limits)


def check_words(path: Path, chunks: Sequence[Chunk], limits: Limits) -> None:
    """Refuse a Parquet file whose words, each written once, would fill memory where they stand."""
    words = [chunk for chunk in chunks if chunk.is_short]
    if not words:
        return
    shared = [chunk for chunk in words if chunk.is_shared]
    largest = max((chunk.unpacked for chunk in shared), default=1)
    rows = min(BATCH, max(1, limits.unpacked // max(largest, 1)))
    columns = sorted({chunk.column for chunk in words})
    once = sorted({*columns} - {chunk.column for chunk in shared})
    unpacked = 0
    with pq.ParquetFile(path, read_dictionary=once) as file:
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            unpacked += sum(map(word_bytes, batch.columns))
            if unpacked > limits.unpacked:
                raise beyond(str(path), "unpacked", f"over {unpacked:,} bytes of text", limits)


def word_bytes(array: pa.Array) -> int:
    """Bytes of the words of a column, each as often as it stands there."""
    if isinstance(array, pa.ExtensionArray):
        return word_bytes(array.storage)
    if isinstance(array, pa.StructArray):
        return sum(map(word_bytes, array.flatten()))
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray | pa.MapArray):
        return word_bytes(array.flatten())
    if not isinstance(array, pa.DictionaryArray):
        return int(array.nbytes)
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def column_chunks(paths: Sequence[Path]) -> dict[Path, list[Chunk]]:
    """All columns of all groups of rows of some files, as the files describe them."""
    names = "file_name, path_in_schema, num_values, total_uncompressed_size, type, encodings, "
    names += "dictionary_page_offset IS NOT NULL"
    said = f"FROM parquet_metadata({of_files(paths)}) ORDER BY row_group_id, column_id"
    try:
        with interruptible(), connected(paths) as connection:
            described = connection.execute(f"SELECT {names} {said}").fetchall()
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        where = next((path for path in paths if str(path) in reason), paths[0])
        got = f"a file that cannot be read ({reason})"
        raise InputError(str(where), got, "a table") from error
    chunks: dict[str, list[Chunk]] = {str(path): [] for path in paths}
    for file, name, values, unpacked, kind, encodings, has_dictionary in described:
        is_shared = DELTA in encodings
        is_short = kind in BYTE_ARRAYS and (has_dictionary or is_shared)
        column = ".".join(name.split(", "))
        chunk = Chunk(column, max(values, 0), max(unpacked, 0), is_short, is_shared)
        chunks[file].append(chunk)
    return {path: chunks[str(path)] for path in paths}
