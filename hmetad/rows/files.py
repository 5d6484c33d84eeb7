"""Files of rows, of any number and size.

Paths → `Rows`, or the DataFrame of one file. DuckDB reads the columns in use and groups them as it
reads; those of a text are copied to Parquet once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, FileError, InputError, KindError, nearest
from hmetad.base.files import PACKED, TABLES, files_of
from hmetad.base.notice import Notice, notice_attrs
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
from hmetad.rows.duplicates import file_notices, is_name_of_who, name_of_rows, same_rows
from hmetad.rows.queries import Levels, Rows, Source, columns_named
from hmetad.rows.texts import (
    SEPARATORS,
    SMALL,
    TEXTS,
    Copies,
    blank_lines,
    header_names,
    reading,
    refuse_delimiter,
    sniffed_delimiter,
)
from hmetad.rows.values import GAPS, is_number, typed_column

__all__ = ["are_paths", "read_table", "scan_table"]

MOST_COLUMNS = 10_000
# Lines of a JSON Lines file in which names of columns are looked for.
MOST_LINES = 1_000_000
# Bytes of a value that is long.
LONG = 64
# The longest line, by the format: DuckDB takes memory for sixteen of a CSV.
LINES = {".jsonl": 16 * 2**20}
LINE = 2 * 2**20
# How many times larger than on disk a table may be unpacked.
UNPACKED = {".parquet": 4, ".gz": 10, ".zst": 10}
# Columns that pandas writes for the labels of its rows.
ROW_LABELS = "__index_level_"


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
        Character between the columns of a text.
    header : tuple of str
        Names of its columns as they are written, in their order.
    folders : dict of str to str
        Columns whose value the names of its folders tell, as in ``model=a/part.parquet``.
    """

    path: Path
    readable: Path
    suffix: str
    sep: str | None
    header: tuple[str, ...]
    folders: dict[str, str]

    @property
    def own(self) -> list[str]:
        """Names of its columns."""
        if self.sep is None:
            return [*self.header]
        names = [name or f"Unnamed: {place}" for place, name in enumerate(self.header)]
        return [str(name) for name in unguard(names)]

    @property
    def names(self) -> list[str]:
        """Names of all columns, without the labels of rows that pandas writes."""
        own = [name for name in self.own if not name.startswith(ROW_LABELS)]
        return list(dict.fromkeys([*own, *self.folders]))

    def select(self, columns: Sequence[str], *, is_partial: bool = False) -> str:
        """SQL for some columns, called c0, c1, ...; a file may lack some if `is_partial`."""
        places = {name: place for place, name in enumerate(self.own)}
        chosen = []
        for number, name in enumerate(columns):
            if name not in places and name not in self.folders and not is_partial:
                raise no_column(self.path, name, self.names)
            known = f"own{places[name]}" if name in places else "NULL"
            value = known if name in places else literal(self.folders.get(name, ""))
            chosen.append(f"{value if name in self.names else 'NULL'} AS c{number}")
        return f"SELECT {', '.join(chosen)} FROM {self.table([x for x in columns if x in places])}"

    def table(self, used: Sequence[str]) -> str:
        """SQL for the file as a table with columns own0, own1, ...."""
        file = of_files([self.readable])
        if self.suffix == ".parquet":
            called = ", ".join(f"own{place}" for place in range(len(self.header)))
            return f"read_parquet({file}, hive_partitioning = false) AS own({called})"
        if self.sep is None:
            kinds = ", ".join(f"{literal(name)}: 'JSON'" for name in used)
            called = ", ".join(f"own{self.own.index(name)}" for name in used)
            options = f"format = 'newline_delimited', maximum_object_size = {self.longest}"
            read = f"read_json({file}, columns = {{{kinds}}}, records = true, {options})"
            return f"{read} AS own({called})" if used else f"read_json_objects({file}, {options})"
        kinds = ", ".join(f"'own{place}': 'VARCHAR'" for place in range(len(self.header)))
        signs = f"delim = {literal(self.sep)}, quote = '\"', escape = '\"', nullstr = ''"
        options = f"header = true, auto_detect = false, max_line_size = {self.longest}"
        options += f", skip = {blank_lines(self.readable)}"
        return f"read_csv({file}, columns = {{{kinds}}}, {signs}, {options})"

    @property
    def longest(self) -> int:
        """Bytes that a line may have."""
        return LINES.get(self.suffix, LINE)


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
    text : sequence of str
        Columns of a CSV or TSV that stay text, in any case.
    decimal : str
        Character before the decimals of numbers in a text.
    copies : Copies
        Where copies of files lie; it goes with the source.
    """

    def __init__(
        self, files: Sequence[Scanned], text: Sequence[str], decimal: str, copies: Copies
    ) -> None:
        self.files, self.decimal, self.copies = files, decimal, copies
        self.text = {one for name in text for one in columns_named(name, files[0].names)}
        self.text |= {*files[0].folders}
        self.copied: Copied | None = None

    @contextmanager
    def opened(self, columns: Sequence[str], _: Levels | None = None, /) -> Iterator[Opened]:
        """The columns for SQL."""
        if self.copied is None or not {*columns} <= {*self.copied.columns}:
            with self.reading() as connection:
                parts = tuple(file.select(columns) for file in self.files)
                found = described(connection, " UNION ALL ".join(parts), len(columns))
                yield Opened(connection, *found, self.labels, parts=parts)
            return
        copied = self.copied
        places = [copied.columns.index(name) for name in columns]
        chosen = ", ".join(f"c{old} AS c{new}" for new, old in enumerate(places))
        with self.reading([copied.path]) as connection:
            select = f"SELECT {chosen} FROM (FROM read_parquet({of_files([copied.path])}))"
            kinds = tuple(copied.kinds[place] for place in places)
            yield Opened(connection, select, kinds, self.labels)

    def prepare(self, needs: Sequence[Sequence[str]]) -> None:
        """Read a large text once: a copy of the columns in Parquet is read from then on."""
        if sum(file.readable.stat().st_size for file in self.files) < SMALL:
            return
        columns = list(dict.fromkeys(name for names in needs for name in names))
        known = () if self.copied is None else self.copied.columns
        if self.files[0].suffix == ".parquet" or not columns or {*columns} <= {*known}:
            return
        path = self.copies.place(".parquet")
        with self.reading([path]) as connection:
            select = " UNION ALL ".join(file.select(columns) for file in self.files)
            select, kinds = described(connection, select, len(columns))
            connection.execute(f"COPY ({select}) TO {literal(str(path))} (FORMAT parquet)")
        self.copied = Copied(path, tuple(columns), kinds)

    @contextmanager
    def reading(self, more: Sequence[Path] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
        """Connection that can read the files; its errors name the file."""
        try:
            files = [*more, *(file.readable for file in self.files)]
            with interruptible(), connected(files) as connection:
                yield connection
        except duckdb.Error as error:
            raise unreadable(self.files, error) from error

    def decoded(self, found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as DuckDB does."""
        frame = super().decoded(found, columns)
        if self.files[0].suffix == ".jsonl":
            own = [name for name in columns if name not in self.files[0].folders]
            return frame.assign(**{name: self.json_values(frame[name]) for name in own})
        if self.files[0].sep is not None:
            self.check_texts(frame)
        return frame

    def labels(self, found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """Values of columns to group by, which are not lists or records."""
        frame = self.decoded(found, columns)
        if self.files[0].suffix == ".jsonl":
            for value in (value for name in frame for value in frame[name].tolist()):
                if isinstance(value, dict | list):
                    raise UngroupableError(f"unhashable type: '{type(value).__name__}'")
        return frame

    def finished(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numbers in the place of their texts, in what was read of a CSV or TSV."""
        if self.files[0].sep is None:
            return frame
        texts = [str(name) for name in frame if frame[name].dtype.kind not in "biuf"]
        typed = {
            name: typed_column(frame[name], is_text=name in self.text, decimal=self.decimal)
            for name in texts
        }
        return frame.assign(**typed)

    def json_values(self, texts: pd.Series) -> pd.Series:
        """Values of the JSON of a column."""
        codes, levels = pd.factorize(texts)
        with reading(self.files[0].path):
            values = [json.loads(text) for text in levels]
        return pd.Series([values[code] if code >= 0 else None for code in codes], texts.index)

    def check_texts(self, frame: pd.DataFrame) -> None:
        """Raise if texts have NUL bytes, or a row repeats the names of the columns."""
        texts = {str(name): frame[name].astype(object) for name in frame}
        for name, column in texts.items():
            if column.str.contains("\0", regex=False).any():
                found = self.first_row({name: "contains(OWN, chr(0))"})
                where = str(self.files[0].path if found is None else found[0])
                raise FileError(where, "NUL bytes", "text in UTF-8", "Save it as UTF-8.")
        header = dict(zip(self.files[0].own, self.files[0].header, strict=True))
        own = [name for name in texts if name in header]
        if not own or all(raw in GAPS or is_number(raw) for raw in header.values()):
            return
        if np.logical_and.reduce([texts[name].fillna("").eq(header[name]) for name in own]).any():
            same = {name: f"coalesce(OWN, '') = {literal(x)}" for name, x in header.items()}
            if (found := self.first_row(same)) is not None:
                got = f"its header again in row {found[1]:,}"
                step = "Perhaps files were joined with their headers; remove all but the first."
                raise KindError(str(found[0]), got, "one header", step)

    def first_row(self, conditions: dict[str, str]) -> tuple[Path, int] | None:
        """File and number of the first row for which conditions on columns hold."""
        columns = [*conditions]
        met = " AND ".join(
            conditions[name].replace("OWN", f"c{place}") for place, name in enumerate(columns)
        )
        with self.reading() as connection:
            for file in self.files:
                rows = f"SELECT *, row_number() OVER () AS place FROM ({file.select(columns)})"
                found = f"SELECT place FROM ({rows}) WHERE {met} ORDER BY place LIMIT 1"
                if place := connection.execute(found).fetchone():
                    return file.path, place[0]
        return None

    def repeated_rows(self) -> list[Notice]:
        """Notice of rows that are the same in all columns, if one of them names items or trials."""
        columns = list(dict.fromkeys(name for file in self.files for name in file.names))
        name = name_of_rows(columns)
        if name is None:
            return []
        tells_file = len(self.files) > 1 and not any(map(is_name_of_who, columns))
        selects = [file.select(columns, is_partial=True) for file in self.files]
        parts = " UNION ALL ".join(
            f"SELECT *, {int(tells_file) * place} AS file FROM ({select})"
            for place, select in enumerate(selects)
        )
        with self.reading() as connection:
            counted = f"SELECT *, count(*) AS n FROM ({parts}) GROUP BY ALL"
            sums = f"SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM ({counted})"
            total, different = connection.execute(sums).fetchall()[0]
        return same_rows(total - different, total, name)


def unreadable(files: Sequence[Scanned], error: Exception) -> InputError:
    """Error of a file that DuckDB cannot read, in words."""
    said = str(error)
    where = str(next((file for file in files if str(file.readable) in said), files[0]).path)
    if "unicode" in said.lower() or "utf-8" in said.lower():
        got, step = "a file that cannot be read (no UTF-8)", "Save it as text in UTF-8."
        return FileError(where, got, "a table in UTF-8", step)
    if "maximum line size" in said.lower() or "maximum_object_size" in said:
        return FileError(where, f"a line of over {files[0].longest:,} bytes", "shorter lines")
    if "invalid state" in said:
        got, step = "a file that cannot be read (lines end in several ways)", "Save it anew."
        return FileError(where, got, "returns at the end of all lines, or of none", step)
    allowed = "a table"
    if files[0].suffix == ".jsonl":
        allowed, said = "a JSON object in each line", f"no JSON: {said}"
    first, *others = said.splitlines()
    told = [first, *(line for line in others if line.startswith("Expected Number"))]
    return FileError(where, f"a file that cannot be read ({'; '.join(told)})", allowed)


def no_column(path: Path, name: str, columns: Sequence[str]) -> InputError:
    """Error for a file without a column that is in use."""
    step = nearest(name, [one for one in columns if one != name])
    return FileError(str(path), f"no column {name!r}", "the columns in use in all files", step)


@check_inputs()
def read_table(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: Literal[".", ","] = ".",
) -> pd.DataFrame:
    """Read trials from a file, by its suffix.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .tsv, .jsonl or .parquet; all but the last may be packed (.csv.gz, .csv.zst).
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands: "4.10" is not a number then. In other
        columns the fields decide together: numbers, truth values, or text. Of numbers "NA", "None"
        and the like are missing; in a text only an empty field is.
    delimiter : str, optional
        Character between the columns of a text; a space stands for any number of spaces and tabs.
        By default commas in a .csv and tabs in a .tsv, or another character that splits the first
        lines alike. Where it is known, a text may end in .txt or .dat too.
    decimal : {".", ","}, optional
        Character before the decimals of numbers in a text.

    Returns
    -------
    DataFrame
        One row per trial, columns as in the file. Rows of a CSV below 64 MiB that are shorter than
        its header have missing values at their end. Texts of a CSV or TSV that this package wrote
        lose the apostrophe before = or @. Attrs: ``notices`` (JSON), where rows are the same in all
        columns, one of which names items or trials.

    Raises
    ------
    InputError
        If there is no such file, it has another suffix, is empty, cannot be read as what its
        suffix says, has lines that no delimiter splits alike, a name twice, more than 10,000
        columns or its header again among the rows.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
        raise ChoiceError("delimiter", repr(delimiter), "one character, such as ';'")
    rows = rows_of_files({Path(path): {}}, text, delimiter, decimal)
    frame = rows.source.finished(rows.source.head(rows.columns, None))
    if frame.empty:
        raise FileError(str(path), "a header without rows", "at least one trial")
    frame.attrs |= notice_attrs(rows.notices)
    return frame


@check_inputs(skip=("paths",))
def scan_table(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    text: Sequence[str] = (),
) -> Rows:
    r"""Rows of files of any number and size, to be counted without being read as a whole.

    `count_trials`, `count_correct` and the measures of trials take paths as they are; this
    function is for columns that should stay text.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, folders of files, or patterns with ``*``; all of one kind: .csv, .tsv, .jsonl or
        .parquet, all but the last maybe packed (.csv.gz, .csv.zst). Delimiters and decimal commas
        are found as by `read_table`.
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands.

    Returns
    -------
    Rows
        For `count_trials`, `count_correct`, `hmetad.measures.measure_trials` and others. The names
        of folders such as ``model=a`` are a column; a column that is used has to be in all files.
        A notice names files that have the same bytes, and one tells how many rows are the same.

    Raises
    ------
    InputError
        If there is no such file, files are of several kinds, or one cannot be read.

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
    if not are_paths(paths):
        raise FileError("paths", f"{paths!r:.80}", "a path, or a list of paths")
    places = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return rows_of_files(dict(found for place in places for found in files_of(Path(place))), text)


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


def rows_of_files(
    files: dict[Path, dict[str, str]],
    text: Sequence[str],
    delimiter: str | None = None,
    decimal: str = ".",
) -> Rows:
    """Rows of files, each with the columns that its folders are named for."""
    kinds = sorted({text_format(path, delimiter)[1] for path in files})
    if len(kinds) > 1:
        step = "Name those of one kind, as by a pattern such as 'runs/*.parquet'."
        place = str(next(iter(files)).parent)
        raise FileError(place, f"files ending in {', '.join(kinds)}", "one kind", step)
    copies = Copies()
    scans = [scanned(path, folders, copies, delimiter) for path, folders in files.items()]
    source = FileSource(scans, text, decimal, copies)
    size = sum(path.stat().st_size * UNPACKED.get(path.suffix.lower(), 1) for path in files)
    columns = [frozenset(file.names) for file in scans]
    costly = columns[0] - frozenset.intersection(*columns)
    found = file_notices(files)
    if size <= SMALL:
        found += source.repeated_rows()
    elif kinds == [".parquet"]:
        costly |= long_columns(source)
    return Rows(tuple(scans[0].names), source, costly=costly, notices=tuple(found))


def scanned(path: Path, folders: dict[str, str], copies: Copies, delimiter: str | None) -> Scanned:
    """A file, once it is unpacked and the names of its columns are known."""
    sep, suffix = text_format(path, delimiter)
    with reading(path):
        readable = copies.readable(path, suffix)
        if sep is not None:
            names = header_names(readable, sep)
            refuse_delimiter(path, names)
            known = Scanned(path, readable, suffix, sep, tuple(names), {})
            if sep == " " or (names and is_irregular(known)):
                readable, sep = copies.rewritten(readable, sep, len(names)), ","
    if sep is None:
        names = queried_names(Scanned(path, readable, suffix, None, (), {}))
    if not names:
        raise FileError(str(path), "an empty file", "a table with a header")
    check_names(path, names)
    further = {name: value for name, value in folders.items() if name not in names}
    return Scanned(path, readable, suffix, sep, tuple(names), further)


def is_irregular(file: Scanned) -> bool:
    """Whether a text of moderate size is not as DuckDB reads them, as if it has short rows."""
    if file.readable.stat().st_size >= SMALL:
        return False
    try:
        with interruptible(), connected([file.readable]) as connection:
            connection.execute(f"SELECT count(*) FROM {file.table([])}")
    except duckdb.Error as error:
        return any(reason in str(error) for reason in ("Expected Number", "invalid state"))
    return False


def queried_names(file: Scanned) -> list[str]:
    """Names of the columns of a Parquet or JSON Lines file."""
    named = of_files([file.readable])
    if file.suffix == ".parquet":
        sql = f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({named})"
    else:
        options = f"format = 'newline_delimited', maximum_object_size = {file.longest}"
        objects = f"FROM read_json_objects({named}, {options}) LIMIT {MOST_LINES}"
        keys = f"SELECT json_keys(json) AS names, row_number() OVER () AS place FROM ({objects})"
        each = (
            f"SELECT unnest(names) AS name, place, generate_subscripts(names, 1) AS k FROM ({keys})"
        )
        sql = f"SELECT name, 0 FROM ({each}) GROUP BY name ORDER BY min((place, k))"
    try:
        with interruptible(), connected([file.readable]) as connection:
            found = connection.execute(sql).fetchall()
    except duckdb.Error as error:
        raise unreadable([file], error) from error
    return top_names(found) if file.suffix == ".parquet" else [name for name, _ in found]


def top_names(schema: Sequence[tuple[str, int]]) -> list[str]:
    """Names of columns in a schema that lists each with the number of its parts, which follow."""
    names, inside = [], 0
    for name, parts in schema[1:]:
        if inside == 0:
            names.append(name)
        inside = max(inside - 1, 0) + parts
    return names


def long_columns(source: FileSource) -> frozenset[str]:
    """Columns of Parquet files that hold long texts, or lists and records."""
    files = of_files([file.readable for file in source.files])
    sizes = (
        f"SELECT path_in_schema FROM parquet_metadata({files}) GROUP BY path_in_schema "
        f"HAVING sum(total_uncompressed_size) <= {LONG} * sum(num_values)"
    )
    with source.reading() as connection:
        short = {name for (name,) in connection.execute(sizes).fetchall()}
    return frozenset(name for file in source.files for name in file.own if name not in short)


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse too many columns, and names that stand twice."""
    if len(names) > MOST_COLUMNS:
        got, step = f"{len(names):,} columns", "Keep those that you use."
        raise FileError(str(path), got, f"at most {MOST_COLUMNS:,}", step)
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            step = "Rename one of them."
            raise FileError(str(path), f"column {name!r} twice", "different names", step)
        seen.add(name)


def text_format(path: Path, delimiter: str | None = None) -> tuple[str | None, str]:
    """Delimiter of a text table, None of another, and the suffix that tells the format."""
    sep = sniffed_delimiter(path) if delimiter is None else delimiter
    suffix = table_suffix(path, is_text=sep is not None)
    return SEPARATORS.get(suffix) if sep is None else sep, suffix


def table_suffix(path: Path, *, is_text: bool = False) -> str:
    """Suffix that tells the format, once it is sure that there is a file to read."""
    if path.is_dir():
        raise FileError(str(path), "a folder", "a file", "Name the table in it.")
    if not path.is_file():
        raise FileError(str(path), "no such file", "a table of trials", similar_file(path))
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in PACKED]
    known = (*SEPARATORS, *TEXTS) if is_text else TABLES
    if not suffixes or suffixes[-1] not in known:
        allowed = ", ".join(sorted(known))
        raise FileError(str(path), f"suffix {path.suffix!r}", allowed, "Rename or convert it.")
    return suffixes[-1]


def similar_file(path: Path) -> str:
    """Suggestion of the tables that lie in the same folder."""
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either."
    beside = sorted(p.name for p in path.parent.iterdir() if p.suffix in TABLES)
    return f"In that folder: {', '.join(beside[:5])}." if beside else ""
