"""Files of rows, of any number and size.

Paths → `Rows`. What fits into memory is read as `read_table` does; of larger files DuckDB reads the
columns in use, and groups them as it reads.
"""

import os
import shutil
import weakref
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice, takewhile
from pathlib import Path
from tempfile import mkdtemp

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import InputError
from hmetad.base.files import PACKED, files_of
from hmetad.base.spreadsheets import unguard
from hmetad.rows.database import (
    Opened,
    UngroupableError,
    connected,
    described,
    interruptible,
    literal,
    of_files,
)
from hmetad.rows.duplicates import file_notices, row_notices
from hmetad.rows.frames import FrameSource, no_column
from hmetad.rows.limits import Limits, as_limits, beyond, check_names
from hmetad.rows.lines import json_value, lines_of
from hmetad.rows.packed import open_packed, text_size
from hmetad.rows.parquet import Chunk, column_chunks
from hmetad.rows.rows import Levels, Rows, Source
from hmetad.rows.tables import (
    GAPS,
    header_names,
    is_number,
    read_table,
    reading,
    refuse_delimiter,
    text_format,
    values_of_texts,
)

__all__ = ["are_paths", "scan_table"]

# Files that hold less than this, unpacked, are read into memory.
SMALL = 64 * 2**20
# Bytes of a value that is long.
LONG = 64
# Lines of a JSON Lines file that tell the columns.
FIRST_LINES = 1000
# The longest line of a large file, by its format: DuckDB takes memory for sixteen of a CSV.
LINES = {".jsonl": 16 * 2**20}
LINE = 2 * 2**20
PIECE = 16 * 2**20
# How many times larger than on disk a table may be unpacked.
UNPACKED = {".parquet": 4, ".gz": 10, ".bz2": 10, ".xz": 10, ".zst": 10, ".zip": 10}


@dataclass(frozen=True)
class Scanned:
    """A file that DuckDB reads.

    Parameters
    ----------
    path : Path
    readable : Path
        The same, unpacked.
    suffix : str
        Of its format.
    sep : str or None
        Sign between the columns of a text.
    own : tuple of str
        Names of its columns, in their order.
    folders : dict of str to str
        Columns whose value the names of its folders tell, as in ``model=a/part.parquet``.
    limits : Limits
    chunks : sequence of Chunk
        What a Parquet file says of its columns.
    """

    path: Path
    readable: Path
    suffix: str
    sep: str | None
    own: tuple[str, ...]
    folders: dict[str, str]
    limits: Limits
    chunks: Sequence[Chunk] = ()

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return list(dict.fromkeys([*self.own, *self.folders]))

    def select(self, columns: Sequence[str]) -> str:
        """SQL for some columns, called c0, c1, ...."""
        for name in columns:
            if name not in self.names:
                raise no_column(self.path, name, self.names)
        places = {name: place for place, name in enumerate(self.own)}
        chosen = [
            f"own{places[name]}" if name in places else literal(self.folders[name])
            for name in columns
        ]
        named = ", ".join(f"{one} AS c{place}" for place, one in enumerate(chosen))
        return f"SELECT {named} FROM {self.table([name for name in columns if name in places])}"

    def table(self, used: Sequence[str]) -> str:
        """SQL for the file as a table with columns own0, own1, ...."""
        file = of_files([self.readable])
        if self.suffix == ".parquet":
            self.check_chunks(used)
            called = ", ".join(f"own{place}" for place in range(len(self.own)))
            return f"read_parquet({file}, hive_partitioning = false) AS own({called})"
        if self.sep is None:
            kinds = ", ".join(f"{literal(name)}: 'JSON'" for name in used)
            called = ", ".join(f"own{self.own.index(name)}" for name in used)
            options = f"format = 'newline_delimited', maximum_object_size = {self.longest}"
            read = f"read_json({file}, columns = {{{kinds}}}, {options})"
            return f"{read} AS own({called})" if used else f"read_json_objects({file})"
        kinds = ", ".join(f"'own{place}': 'VARCHAR'" for place in range(len(self.own)))
        signs = f"delim = {literal(self.sep)}, quote = '\"', escape = '\"', nullstr = ''"
        options = f"header = true, auto_detect = false, max_line_size = {self.longest}"
        options += f", skip = {blank_lines(self.readable)}"
        return f"read_csv({file}, columns = {{{kinds}}}, {signs}, {options})"

    @property
    def longest(self) -> int:
        """Bytes that a line may have."""
        return min(self.limits.line, LINES.get(self.suffix, LINE))

    def check_chunks(self, columns: Sequence[str]) -> None:
        """Refuse a Parquet file with a column of which a group of rows would fill memory."""
        sizes = [chunk.unpacked for chunk in self.chunks if chunk.column in columns]
        largest = max(sizes, default=1)
        if largest > self.limits.unpacked:
            got = f"{largest:,} bytes of one column in a group of rows"
            raise beyond(str(self.path), "unpacked", got, self.limits)


class Unpacked:
    """A temporary folder for copies of files, which is removed when nothing uses it."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.numbers = count()

    def copy_of(self, path: Path, suffix: str) -> Path:
        """Path of the same file, unpacked."""
        plain = self.place(suffix)
        with open_packed(path) as file, plain.open("wb") as copy:
            shutil.copyfileobj(file, copy, PIECE)
        return plain

    def place(self, suffix: str) -> Path:
        """Path of a new file in the folder."""
        if self.folder is None:
            self.folder = Path(mkdtemp(prefix="hmetad-"))
            weakref.finalize(self, remove_folder, self.folder, os.getpid())
        return self.folder / f"{os.getpid()}-{next(self.numbers)}{suffix}"


def remove_folder(folder: Path, owner: int) -> None:
    """Remove a folder, unless this process was forked from the one that made it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Copied:
    """A copy of some columns of texts in Parquet, as c0, c1, ..., and their types before."""

    path: Path
    columns: tuple[str, ...]
    kinds: tuple[str, ...]


class FileSource(Source):
    """Files of one kind, as one table.

    Parameters
    ----------
    files : sequence of Scanned
    text : tuple of str
        Columns of a CSV or TSV that stay text.
    unpacked : Unpacked
        Where files lie that were packed; it goes with the source.
    """

    def __init__(
        self, files: Sequence[Scanned], text: tuple[str, ...], unpacked: "Unpacked"
    ) -> None:
        self.files, self.text, self.unpacked = files, text, unpacked
        self.copied: Copied | None = None

    @contextmanager
    def opened(self, columns: Sequence[str], _: Levels | None = None, /) -> Iterator[Opened]:
        """The columns for SQL."""
        if self.copied is None or not {*columns} <= {*self.copied.columns}:
            with self.reading() as connection:
                select = " UNION ALL ".join(file.select(columns) for file in self.files)
                yield Opened(connection, *described(connection, select, len(columns)), self.labels)
            return
        copied = self.copied
        places = [copied.columns.index(name) for name in columns]
        chosen = ", ".join(f"c{old} AS c{new}" for new, old in enumerate(places))
        with self.reading([copied.path]) as connection:
            select = f"SELECT {chosen} FROM (FROM read_parquet({of_files([copied.path])}))"
            kinds = tuple(copied.kinds[place] for place in places)
            yield Opened(connection, select, kinds, self.labels)

    def prepare(self, needs: Sequence[Sequence[str]]) -> None:
        """Read a text once: a copy of the columns in Parquet is read from then on."""
        columns = list(dict.fromkeys(name for names in needs for name in names))
        known = () if self.copied is None else self.copied.columns
        if self.files[0].suffix == ".parquet" or not columns or {*columns} <= {*known}:
            return
        path = self.unpacked.place(".parquet")
        with self.reading([path]) as connection:
            select = " UNION ALL ".join(file.select(columns) for file in self.files)
            select, kinds = described(connection, select, len(columns))
            connection.execute(f"COPY ({select}) TO {literal(str(path))} (FORMAT parquet)")
        self.copied = Copied(path, tuple(columns), kinds)

    @contextmanager
    def reading(self, more: Sequence[Path] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
        """Connection that can read the files; its errors are said in words."""
        try:
            files = [*more, *(file.readable for file in self.files)]
            with interruptible(), connected(files) as connection:
                yield connection
        except duckdb.Error as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> InputError:
        """Error of a file that DuckDB cannot read, in words."""
        said = str(error)
        files = [file for file in self.files if str(file.readable) in said]
        where = str((files or self.files)[0].path)
        if "unicode" in said.lower() or "utf-8" in said.lower():
            got, step = "a file that cannot be read (no UTF-8)", "Save it as text in UTF-8."
            return InputError(where, got, "a table in UTF-8", step)
        if "maximum line size" in said.lower() or "maximum_object_size" in said:
            got = f"a line of over {self.files[0].longest:,} bytes"
            return InputError(where, got, "shorter lines in a file of this size")
        if "invalid state" in said:
            got, step = "a file that cannot be read (lines end in several ways)", "Save it anew."
            return InputError(where, got, "returns at the end of all lines, or of none", step)
        allowed = "a table"
        if self.files[0].suffix == ".jsonl":
            allowed, said = "a JSON object in each line", f"no JSON: {said}"
        first, *others = said.splitlines()
        told = [first, *(line for line in others if line.startswith("Expected Number"))]
        return InputError(where, f"a file that cannot be read ({'; '.join(told)})", allowed)

    def decoded(self, found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as DuckDB does."""
        frame = found.set_axis([*columns], axis=1)
        if self.files[0].suffix == ".jsonl":
            own = [name for name in columns if name not in self.files[0].folders]
            return frame.assign(**{name: self.json_values(frame[name]) for name in own})
        if self.files[0].sep is not None:
            self.refuse_signs(frame)
        return frame

    def labels(self, found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """Values of columns to group by, which are no lists or records."""
        frame = self.decoded(found, columns)
        if self.files[0].suffix == ".jsonl":
            for value in (value for name in frame for value in frame[name].tolist()):
                if isinstance(value, dict | list):
                    raise UngroupableError(f"unhashable type: '{type(value).__name__}'")
        return frame

    def finished(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numbers in the place of their texts, in what was read of a CSV or TSV."""
        return frame if self.files[0].sep is None else values_of_texts(frame, self.text)

    def head(self, columns: Sequence[str], most: int | None) -> pd.DataFrame:
        """The first rows."""
        with self.opened(columns) as table:
            limit = "" if most is None else f"LIMIT {most}"
            return self.decoded(table.frame(f"FROM trials {limit}"), columns)

    def json_values(self, texts: pd.Series) -> pd.Series:
        """Values of the JSON of a column."""
        codes, levels = pd.factorize(texts)
        file = self.files[0]
        values = [json_value(str(file.path), text.encode(), file.limits) for text in levels]
        return pd.Series([values[code] if code >= 0 else None for code in codes], texts.index)

    def refuse_signs(self, frame: pd.DataFrame) -> None:
        """Raise if texts have NUL bytes, or a row holds the names of the columns."""
        texts = {str(name): frame[name].astype(object) for name in frame}
        for place, column in enumerate(texts.values()):
            if column.str.contains("\0", regex=False).any():
                where = self.file_with([*texts], f"contains(c{place}, chr(0))")
                raise InputError(where, "NUL bytes", "text in UTF-8", "Save it as UTF-8.")
        if not texts or any(name in GAPS or is_number(name) for name in texts):
            return
        if np.logical_and.reduce([column.eq(name) for name, column in texts.items()]).any():
            step = "Perhaps files were joined with their headers; remove all but the first."
            same = [f"c{place} = {literal(name)}" for place, name in enumerate(texts)]
            where = self.file_with([*texts], " AND ".join(same))
            raise InputError(where, "its header again among the rows", "one header", step)

    def file_with(self, columns: Sequence[str], condition: str) -> str:
        """Name of the first file with a row for which a condition in SQL holds."""
        with self.reading() as connection:
            for file in self.files:
                rows = f"SELECT 1 FROM ({file.select(columns)}) WHERE {condition} LIMIT 1"
                if connection.execute(rows).fetchone():
                    return str(file.path)
        return str(self.files[0].path)


@check_inputs(skip=("paths",))
def scan_table(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    text: Sequence[str] = (),
    limits: Limits | Mapping[str, int] | None = None,
) -> Rows:
    r"""Rows of files of any number and size, to be counted without being read as a whole.

    `count_trials`, `count_correct` and the measures of trials take paths as they are; this
    function is for files beyond a limit, and for columns that should stay text.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, folders of files, or patterns with ``*``; all of one kind: .csv, .tsv, .jsonl or
        .parquet, all but the last maybe compressed (.csv.gz). Delimiters and decimal commas are
        found as by `read_table`.
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands.
    limits : Limits or mapping of str to int, optional
        How much a file may hold, as of `read_table`. Of files of 64 MiB and more, which are read in
        pieces, the numbers of rows and values are not limited.

    Returns
    -------
    Rows
        Of all files together; its `columns` are those of the first file. Folders that are named
        ``column=value`` give columns of text. Pass it in the place of trials. Its `notices` say
        which files have the same bytes, and how many rows of less than 64 MiB are the same in all
        columns, an item's among them; what is made of it carries them.

    Raises
    ------
    InputError
        If there are no such files, they are of several kinds, or one cannot be read or is beyond
        a limit.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for model in ("a", "b"):
    ...         Path(folder, f"model={model}").mkdir()
    ...         _ = Path(folder, f"model={model}", "part.csv").write_text("correct,sure\n1,2\n")
    ...     scan_table(folder).columns
    ('correct', 'sure', 'model')
    """
    within = as_limits(limits)
    if not are_paths(paths):
        raise InputError("paths", f"{paths!r:.80}", "a path, or a list of paths")
    places = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = dict(found for place in places for found in files_of(Path(place)))
    found = file_notices(files)
    kinds = sorted({text_format(path)[1] for path in files})
    if len(kinds) > 1:
        step = "Name those of one kind, as by a pattern such as 'runs/*.parquet'."
        raise InputError(str(places[0]), f"files ending in {', '.join(kinds)}", "one kind", step)
    if sum(path.stat().st_size * UNPACKED.get(path.suffix.lower(), 1) for path in files) <= SMALL:
        tables = {path: read_table(path, text=text, limits=within) for path in files}
        frames = [tables[path].assign(**folders) for path, folders in files.items()]
        together = pd.concat(frames, ignore_index=True)
        number = pd.Series(np.repeat(np.arange(len(frames)), list(map(len, frames))))
        found += row_notices(together, number if len(frames) > 1 else None)
        columns = [tuple(frame.columns) for frame in frames]
        lacks = {
            name: path
            for path, frame in zip(files, frames, strict=True)
            for name in {*together} - {*frame}
        }
        in_memory = FrameSource(together, lacks=lacks)
        return Rows(columns[0], in_memory, costly=lacking(columns), notices=tuple(found))
    unpacked = Unpacked()
    scans = [scanned(path, own, within, unpacked) for path, own in files.items()]
    if kinds == [".parquet"]:
        chunks = column_chunks([*files])
        scans = [replace(scan, chunks=chunks[scan.path]) for scan in scans]
    columns = [tuple(scan.names) for scan in scans]
    long = {name for scan in scans if kinds == [".parquet"] for name in long_columns(scan)}
    source = FileSource(scans, tuple(text), unpacked)
    return Rows(columns[0], source, costly=lacking(columns) | long, notices=tuple(found))


def are_paths(trials: object) -> bool:
    """Whether these are names of files, one at least.

    Examples
    --------
    >>> are_paths("a.csv"), are_paths([Path("a.csv"), "b.csv"]), are_paths([])
    (True, True, False)
    """
    if isinstance(trials, Sequence) and not isinstance(trials, str | bytes):
        return len(trials) > 0 and all(isinstance(one, str | os.PathLike) for one in trials)
    return isinstance(trials, str | os.PathLike)


def lacking(columns: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """Columns of the first file that another one lacks."""
    return frozenset(columns[0]) - frozenset.intersection(*map(frozenset, columns))


def long_columns(file: Scanned) -> set[str]:
    """Columns of a Parquet file that hold long texts, or lists and records."""
    sizes: dict[str, list[int]] = {}
    for chunk in file.chunks:
        size = sizes.setdefault(chunk.column, [0, 0])
        size[0] += chunk.unpacked
        size[1] += chunk.values
    short = {name for name, (unpacked, values) in sizes.items() if unpacked <= LONG * values}
    return {name for name in file.own if name not in short}


def blank_lines(path: Path) -> int:
    """Number of lines without a sign before the header of a text."""
    with path.open("rb") as file:
        lines = (line.removeprefix(BOM_UTF8) for line in file)
        return sum(1 for _ in takewhile(lambda line: not line.strip(), lines))


def scanned(path: Path, folders: dict[str, str], limits: Limits, unpacked: "Unpacked") -> Scanned:
    """A file, once it is unpacked and the names of its columns are known."""
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
        readable = path
        if path.suffix.lower() in PACKED:
            text_size(path, limits)
            readable = unpacked.copy_of(path, suffix)
    own = tuple(map(str, names if sep is None else unguard(names)))
    further = {name: value for name, value in folders.items() if name not in own}
    return Scanned(path, readable, suffix, sep, own, further, limits)
