"""Parquet files, read once it is known how much they hold.

Path → DataFrame. What a file says of its columns is read here: pyarrow ends the process where a
column's statistics are damaged, for its `RowGroupMetaData.column` lets a C++ exception through.
Source: the formats of Parquet's footer (parquet.thrift) and of Thrift's compact protocol.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hmetad.errors import InputError
from hmetad.rows.limits import Limits, beyond, check_names, check_size

__all__ = ["column_chunks", "parquet_table"]

BATCH = 2**16
# Of parquet.thrift: types of bytes, and the encoding by what is shared with the word before.
BYTE_ARRAYS, DELTA = (6, 7), 7
DEEPEST = 30
# Thrift's types in its compact protocol.
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
INTEGERS = (4, 5, 6)


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
    chunks = column_chunks(path)
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


def column_chunks(path: Path) -> list[Chunk]:
    """All columns of all groups of rows, as the file describes them."""
    with path.open("rb") as file:
        file.seek(-8, 2)
        length = struct.unpack("<I", file.read(4))[0]
        file.seek(-8 - length, 2)
        footer = Thrift(file.read(length))
    try:
        # FileMetaData.row_groups, RowGroup.columns, ColumnChunk.meta_data.
        described = [chunk[3] for group in footer.read(STRUCT)[4] for chunk in group[1]]
        return [chunk_of(one) for one in described]
    except (LookupError, TypeError, AttributeError, struct.error) as error:
        got = "a file that cannot be read (its footer is damaged or encrypted)"
        raise InputError(str(path), got, "a table") from error


def chunk_of(described: dict[int, Any]) -> Chunk:
    """Record of a column from its ColumnMetaData, by the numbers of its fields."""
    kind, encodings, names = described[1], described[2], described[3]
    is_shared = DELTA in encodings
    has_dictionary = 11 in described
    return Chunk(
        ".".join(name.decode("utf-8", "replace") for name in names),
        max(described[5], 0),
        max(described[6], 0),
        kind in BYTE_ARRAYS and (has_dictionary or is_shared),
        is_shared,
    )


class Thrift:
    """Values of Thrift's compact protocol; an IndexError where the bytes end too early."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def read(self, kind: int, depth: int = 0) -> Any:
        """Value of this type: dicts by number of the field, lists, bytes and integers."""
        if depth > DEEPEST:
            raise LookupError("nested too deeply")
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in INTEGERS:
            return self.integer()
        if kind in (DOUBLE, BINARY):
            return self.take(8 if kind == DOUBLE else self.varint())
        if kind in (LIST, SET):
            size, of = divmod(self.byte(), 16)
            size = self.varint() if size == 15 else size
            return [self.element(of, depth) for _ in range(size)]
        if kind == MAP:
            return self.pairs(depth)
        if kind == STRUCT:
            return self.fields(depth)
        raise LookupError(f"no type {kind}")

    def fields(self, depth: int) -> dict[int, Any]:
        """Fields of a struct by their numbers."""
        found: dict[int, Any] = {}
        number = 0
        while True:
            step, kind = divmod(self.byte(), 16)
            if kind == STOP:
                return found
            number = number + step if step else self.integer()
            found[number] = self.read(kind, depth + 1)

    def pairs(self, depth: int) -> list[tuple[Any, Any]]:
        """Pairs of a map."""
        size = self.varint()
        key, value = divmod(self.byte(), 16) if size else (STOP, STOP)
        return [(self.element(key, depth), self.element(value, depth)) for _ in range(size)]

    def element(self, kind: int, depth: int) -> Any:
        """Element of a list or map, where a truth value takes a byte."""
        return self.byte() == TRUE if kind in (TRUE, FALSE) else self.read(kind, depth + 1)

    def byte(self) -> int:
        """The next byte."""
        self.place += 1
        return self.content[self.place - 1]

    def take(self, length: int) -> bytes:
        """The next bytes."""
        if self.place + length > len(self.content):
            raise LookupError("the end came too early")
        self.place += length
        return self.content[self.place - length : self.place]

    def varint(self) -> int:
        """Whole number in groups of seven bits."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise LookupError("a number that is too long")

    def integer(self) -> int:
        """Whole number with its sign in the last bit."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)
