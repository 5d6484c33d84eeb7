"""Pieces of a file of rows, each a table of the columns in use.

Path and columns → batches of a Parquet, CSV or JSON Lines file; a batch → a function's value.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from hmetad.errors import InputError, nearest
from hmetad.files import PACKED
from hmetad.rows.arrow import coded, is_text
from hmetad.rows.limits import Limits, beyond, check_names, check_unpacked
from hmetad.rows.lines import lines_of
from hmetad.rows.packed import open_packed
from hmetad.rows.parquet import column_chunks
from hmetad.rows.queries import Piece
from hmetad.rows.tables import (
    GAPS,
    header_names,
    is_number,
    reading,
    refuse_delimiter,
    text_format,
)
from hmetad.spreadsheets import unguard

__all__ = ["Scan", "of_piece", "pieces_of", "refuse_missing", "scan_of"]

BLOCK = 16 * 2**20
BATCH = 2**19
# Where a word may be written as what it shares with the one before.
SHARED_BATCH = 2**16
FIRST_LINES = 1000


@dataclass(frozen=True)
class Scan:
    """A file that is read in pieces.

    Parameters
    ----------
    path : Path
    suffix : str
        Of its format.
    sep : str or None
        Sign between the columns of a text.
    own : dict of str to str
        Its columns: {name: the name in the file}.
    folders : dict of str to str
        Columns whose value the names of its folders tell, as in ``model=a/part.parquet``.
    limits : Limits
    """

    path: Path
    suffix: str
    sep: str | None
    own: dict[str, str]
    folders: dict[str, str]
    limits: Limits

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return list(dict.fromkeys([*self.own, *self.folders]))


def scan_of(path: Path, folders: dict[str, str], limits: Limits) -> Scan:
    """A file, once the names of its columns are known."""
    sep, suffix = text_format(path)
    if sep == " ":
        got = "columns parted by spaces, in a file that is read in pieces"
        raise InputError(str(path), got, "tabs or commas between them", "Save it as one of these.")
    with reading(path):
        if suffix == ".parquet":
            names = pq.read_schema(path).names
        elif suffix == ".jsonl":
            with open_packed(path) as file:
                first = islice(lines_of(file, path, limits), FIRST_LINES)
                names = list(dict.fromkeys(name for line in first for name in line.record))
        else:
            assert sep is not None
            names = header_names(path, sep)
            refuse_delimiter(path, names)
    check_names(path, names, limits)
    plain = names if sep is None else unguard(names)
    own = {str(name): raw for name, raw in zip(plain, names, strict=True)}
    further = {k: v for k, v in folders.items() if k not in own}
    return Scan(path, suffix, sep, own, further, limits)


def refuse_missing(path: Path, columns: Sequence[str], there: Iterable[str]) -> None:
    """Refuse a file that lacks a column that the first one has."""
    for name in columns:
        if name not in there:
            step = nearest(name, there)
            allowed = "the columns in use in all files"
            raise InputError(str(path), f"no column {name!r}", allowed, step)


def pieces_of(scan: Scan, columns: Sequence[str]) -> Iterator[Any]:
    """What a file holds of some columns, a piece at a time."""
    own = [scan.own[name] for name in columns if name in scan.own]
    if scan.sep is not None:
        return delimited_batches(scan, own, scan.sep)
    return parquet_batches(scan, own) if scan.suffix == ".parquet" else json_chunks(scan)


def of_piece(
    scan: Scan, function: Callable[[Piece], Any], columns: Sequence[str], piece: Any
) -> Any:
    """Value of a function of a piece, as a table of the columns under their names."""
    own = [name for name in columns if name in scan.own]
    raw = [scan.own[name] for name in own]
    if isinstance(piece, JsonChunk):
        piece = json_piece(scan, piece, raw)
    if isinstance(piece, pd.DataFrame):
        return function(piece.assign(**scan.folders))
    table = pa.Table.from_batches([piece]) if isinstance(piece, pa.RecordBatch) else piece
    if scan.sep is not None:
        refuse_header(scan.path, table)
    chosen = {name: table[old] for name, old in zip(own, raw, strict=True)}
    for name in columns:
        if name in scan.folders:
            codes = pa.array(np.zeros(len(table), dtype=np.int32))
            chosen[name] = pa.DictionaryArray.from_arrays(codes, [scan.folders[name]])
    return function(pa.table(chosen))


def parquet_batches(scan: Scan, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Batches of a Parquet file, its text as dictionaries."""
    chunks = [chunk for chunk in column_chunks(scan.path) if chunk.column in columns]
    largest = max((chunk.unpacked for chunk in chunks), default=1)
    if largest > scan.limits.unpacked:
        got = f"{largest:,} bytes of one column in a group of rows"
        raise beyond(str(scan.path), "unpacked", got, scan.limits)
    rows = BATCH
    if any(chunk.is_shared for chunk in chunks):
        rows = min(SHARED_BATCH, max(1, scan.limits.unpacked // max(largest, 1)))
    schema = pq.read_schema(scan.path)
    texts = [name for name in columns if is_text(schema.field(name).type)]
    with pq.ParquetFile(scan.path, read_dictionary=texts) as file:
        yield from file.iter_batches(batch_size=rows, columns=list(columns))


def delimited_batches(scan: Scan, columns: Sequence[str], sep: str) -> Iterator[pa.RecordBatch]:
    """Batches of a CSV or TSV, every field as text; empty ones are missing."""
    kinds = dict.fromkeys(columns, pa.dictionary(pa.int32(), pa.string()))
    options = {
        "read_options": pa_csv.ReadOptions(block_size=BLOCK),
        "parse_options": pa_csv.ParseOptions(delimiter=sep, newlines_in_values=True),
        "convert_options": pa_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=kinds,
            null_values=[""],
            strings_can_be_null=True,
        ),
    }
    with open_packed(scan.path) as file:
        yield from pa_csv.open_csv(Counted(file, scan), **options)


class Counted(io.RawIOBase):
    """Stream of a file's bytes that ends where they go beyond a limit."""

    def __init__(self, file: BinaryIO, scan: Scan) -> None:
        super().__init__()
        self.file, self.scan, self.unpacked = file, scan, 0
        self.packed = scan.path.stat().st_size
        self.is_packed = scan.path.suffix.lower() in PACKED

    def readable(self) -> bool:
        """It can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Some bytes."""
        found = self.file.read(BLOCK if size < 0 else size)
        self.unpacked += len(found)
        if self.is_packed:
            check_unpacked(str(self.scan.path), self.packed, self.unpacked, self.scan.limits)
        if b"\0" in found:
            raise InputError(str(self.scan.path), "NUL bytes", "text in UTF-8", "Save it as UTF-8.")
        return found


class JsonChunk(NamedTuple):
    """Some whole lines of a JSON Lines file, and how many come before."""

    content: bytes
    before: int


def json_chunks(scan: Scan) -> Iterator[JsonChunk]:
    """Whole lines of a JSON Lines file, some MiB at a time."""
    before, longest = 0, scan.limits.line + 1
    with open_packed(scan.path) as file:
        counted = Counted(file, scan)
        while content := counted.read(BLOCK):
            rest = file.readline(longest)
            if len(rest) == longest and not rest.endswith(b"\n"):
                raise beyond(str(scan.path), "line", "a longer line", scan.limits)
            yield JsonChunk(content + rest, before)
            before += content.count(b"\n") + 1


def json_piece(scan: Scan, chunk: JsonChunk, columns: Sequence[str]) -> Piece:
    """Table of some lines; Python reads those that Arrow cannot, or would make dates of."""
    options = pa_json.ReadOptions(block_size=len(chunk.content) + 1, use_threads=False)
    try:
        table = pa_json.read_json(pa.BufferReader(chunk.content), options)
    except pa.ArrowInvalid:
        return json_frame(scan, chunk, columns)
    kinds = [table.schema.field(name).type for name in columns if name in table.column_names]
    if len(kinds) < len(columns) or any(map(pa.types.is_timestamp, kinds)):
        return json_frame(scan, chunk, columns)
    return pa.table({name: coded(table[name]) for name in columns})


def json_frame(scan: Scan, chunk: JsonChunk, columns: Sequence[str]) -> pd.DataFrame:
    """Table of some lines, as Python reads them."""
    place = Path(f"{scan.path}, after line {chunk.before}" if chunk.before else scan.path)
    records = [line.record for line in lines_of(io.BytesIO(chunk.content), place, scan.limits)]
    chosen = {name: [record.get(name) for record in records] for name in columns}
    return pd.DataFrame(chosen, columns=list(columns))


def refuse_header(path: Path, table: pa.Table) -> None:
    """Raise if a row holds the names of the columns, as where files were joined."""
    is_header = None
    for name in table.column_names:
        column = table[name]
        if not pa.types.is_dictionary(column.type) or name in GAPS or is_number(name):
            return
        here = pc.equal(column.cast(pa.string()), name)
        is_header = here if is_header is None else pc.and_(is_header, here)
    if is_header is not None and pc.any(is_header).as_py():
        step = "Perhaps files were joined with their headers; remove all but the first."
        raise InputError(str(path), "its header again among the rows", "one header", step)
