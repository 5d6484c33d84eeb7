"""Files of rows, of any number and size.

Paths → `Rows`, or the DataFrame of one file. DuckDB reads the columns in use and groups them as it
reads; those of a text are copied to Parquet once.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas as pd

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import FileError, InputError, nearest
from hmetad.base.files import (
    LABS,
    PACKED,
    TABLES,
    TEXTS,
    files_of,
    is_table,
    no_file_error,
)
from hmetad.base.lazy import import_on_call
from hmetad.base.notice import Notice, notice_attrs
from hmetad.base.spreadsheets import unguard
from hmetad.rows.database import (
    Opened,
    connected,
    described,
    interruptible,
    literal,
    of_files,
    refuse_nested,
)
from hmetad.rows.duplicates import file_notices, is_name_of_who, name_of_rows, same_rows
from hmetad.rows.labs import Taken, lab_notices, lab_table, text_cells
from hmetad.rows.queries import Rows, Source, columns_named
from hmetad.rows.texts import (
    SEPARATORS,
    SMALL,
    Copies,
    blank_lines,
    first_rows,
    header_names,
    reading,
    refuse_delimiter,
    sniffed_delimiter,
)
from hmetad.rows.values import typed_column

MOST_COLUMNS = 10_000
# Lines of a JSON Lines file in which names of columns are looked for.
MOST_LINES = 1_000_000
# The longest line, by the format: DuckDB takes memory for sixteen of a CSV.
LINES = {".jsonl": 16 * 2**20}
LINE = 2 * 2**20
# How lines begin in which DuckDB says what is wrong in a row.
EXPLAINED = ("Expected Number", "Value with", "Maximum line size")
parquet_schema: Any = import_on_call("pyarrow.parquet", "read_schema")
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
    lab : tuple of str and Counter, optional
        Program of a lab that wrote it, and what was taken of it.
    """

    path: Path
    readable: Path
    suffix: str
    sep: str | None
    header: tuple[str, ...]
    folders: dict[str, str]
    lab: tuple[str, Taken] | None = None

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

    def select(self, columns: Sequence[str]) -> str:
        """SQL for some columns, called c0, c1, ...."""
        places = {name: place for place, name in enumerate(self.own)}
        chosen = []
        for number, name in enumerate(columns):
            if name not in places and name not in self.folders:
                step = nearest(name, [one for one in self.names if one != name])
                raise FileError(
                    str(self.path), f"no column {name!r}", "the columns in use in all files", step
                )
            value = f"own{places[name]}" if name in places else literal(self.folders[name])
            chosen.append(f"{value} AS c{number}")
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


class FileSource(Source):
    """Files of one kind, as one table.

    Parameters
    ----------
    files : sequence of Scanned
    decimal : str
        Character before the decimals of numbers in a text.
    copies : Copies
        Where copies of files lie; it goes with the source.
    """

    def __init__(self, files: Sequence[Scanned], decimal: str, copies: Copies) -> None:
        self.files, self.decimal, self.copies = files, decimal, copies
        self.copied: list[Scanned] = []
        self.lab = files[0].lab

    @contextmanager
    def opened(self, columns: Sequence[str]) -> Iterator[Opened]:
        """The columns for SQL."""
        files = self.copied if self.is_copied(columns) else self.files
        with reading_files([*self.files, *self.copied]) as connection:
            parts = tuple(file.select(columns) for file in files)
            select, kinds = described(connection, " UNION ALL ".join(parts), len(columns))
            yield Opened(connection, select, kinds, self.labels, parts=parts)

    def prepare(self, needs: Sequence[Sequence[str]]) -> None:
        """Read a large text once: a copy of the columns in Parquet is read from then on."""
        columns = tuple(dict.fromkeys(name for names in needs for name in names))
        is_small = self.files[0].suffix == ".parquet" or self.size < SMALL
        if is_small or not columns or self.is_copied(columns):
            return
        path = self.copies.place(".parquet")
        with reading_files(self.files, [path]) as connection:
            rows = " UNION ALL ".join(file.select(columns) for file in self.files)
            place = f"{literal(str(path))} (FORMAT parquet, COMPRESSION uncompressed)"
            connection.execute(f"COPY ({rows}) TO {place}")
        self.copied = [Scanned(self.files[0].path, path, ".parquet", None, columns, {})]

    def is_copied(self, columns: Sequence[str]) -> bool:
        """Whether a copy has some columns."""
        return any({*columns} <= {*file.header} for file in self.copied)

    @property
    def size(self) -> int:
        """Bytes of all files, once they are unpacked."""
        return sum(file.readable.stat().st_size for file in self.files)

    def decoded(self, found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """Values of the columns, where `found` has them as DuckDB does."""
        frame = super().decoded(found, columns)
        if self.files[0].suffix == ".jsonl":
            own = [name for name in columns if name not in self.files[0].folders]
            return frame.assign(**{name: self.json_values(frame[name]) for name in own})
        texts = [frame[name].astype(object).str for name in frame if self.files[0].sep is not None]
        if any(text.contains("\0", regex=False).any() for text in texts):
            where = str(self.files[0].path)
            raise FileError(where, "NUL bytes", "text in UTF-8", "Save it as UTF-8.")
        return frame

    def labels(self, found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
        """Values of columns to group by, which are not lists or records."""
        frame = self.decoded(found, columns)
        if self.files[0].suffix == ".jsonl":
            for name in frame:
                refuse_nested(name, frame[name])
        return frame

    def finished(self, frame: pd.DataFrame, texts: Set[str]) -> pd.DataFrame:
        """Numbers in place of their texts, in what was read of a CSV or TSV."""
        if self.files[0].sep is None:
            return frame
        typed = {
            str(name): typed_column(column, is_text=name in texts, decimal=self.decimal)
            for name, column in frame.items()
            if column.dtype.kind not in "biuf"
        }
        return frame.assign(**typed)

    def json_values(self, texts: pd.Series) -> pd.Series:
        """Values of the JSON of a column."""
        with reading(self.files[0].path):
            return texts.map({text: json.loads(text) for text in texts.dropna().unique()})

    def repeated_rows(self) -> list[Notice]:
        """Notice of rows that are the same in all columns, if one of them names items or trials."""
        columns = self.files[0].names
        name = name_of_rows(columns)
        if name is None:
            return []
        tells_file = len(self.files) > 1 and not any(map(is_name_of_who, columns))
        parts = " UNION ALL ".join(
            f"SELECT *, {int(tells_file) * place} AS file FROM ({file.select(columns)})"
            for place, file in enumerate(self.files)
        )
        with reading_files([*self.files, *self.copied]) as connection:
            counted = f"SELECT *, count(*) AS n FROM ({parts}) GROUP BY ALL"
            sums = f"SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM ({counted})"
            total, different = connection.execute(sums).fetchall()[0]
        return same_rows(total - different, total, name)


@contextmanager
def reading_files(
    files: Sequence[Scanned], more: Sequence[Path] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connection that can read files, and a further one; its errors name the file."""
    try:
        paths = [*more, *(file.readable for file in files)]
        with interruptible(), connected(paths) as connection:
            yield connection
    except duckdb.Error as error:
        raise unreadable(files, error) from error


def unreadable(files: Sequence[Scanned], error: Exception) -> InputError:
    """Error of a file that DuckDB cannot read, in words."""
    said = str(error)
    where = str(next((file for file in files if str(file.readable) in said), files[0]).path)
    if "utf-8" in said.lower() or "unicode" in said.lower():
        got, step = "a file that cannot be read (no UTF-8)", "Save it as text in UTF-8."
        return FileError(where, got, "a table in UTF-8", step)
    first, *others = said.splitlines()
    told = "; ".join([first, *(line for line in others if line.startswith(EXPLAINED))])
    allowed = "a JSON object in each line" if files[0].suffix == ".jsonl" else "a table"
    return FileError(where, f"a file that cannot be read ({told})", allowed)


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
        Ends in .csv, .tsv, .jsonl or .parquet; all except the last may be compressed (.csv.gz,
        .csv.zst). Also files of SPSS (.sav, .zsav), Stata (.dta), Excel (.xlsx) and arrays of JSON;
        and those of PsychoPy, jsPsych, Gorilla and Qualtrics get one row per trial, with a notice.
    text : sequence of str
        Columns of a CSV or TSV to keep as text: "4.10" is then not a number. In other columns the
        fields together decide: numbers, truth values, or text. In columns of numbers "NA", "None"
        and similar are missing; in columns of text only an empty field is.
    delimiter : str, optional
        Character between the columns of a text, or its name ("comma", "semicolon", "tab", "bar",
        "space"); a space stands for any number of spaces and tabs.
        By default commas in a .csv and tabs in a .tsv, or another character that splits all first
        lines equally. With a delimiter, files may also end in .txt or .dat.
    decimal : {".", ","}, optional
        Character before the decimals of numbers in a text.

    Returns
    -------
    DataFrame
        One row per trial, columns as in the file. Rows of a CSV below 64 MiB that are shorter than
        its header have missing values at the end. The apostrophe before = or @ in a CSV or TSV of
        this package is removed. Attrs: ``notices`` (JSON), where rows are the same in all columns,
        one of which names items or trials, or the program of a lab wrote the file; then also
        ``lab``, its name and what was taken of the file.

    Raises
    ------
    InputError
        If there is no such file, it has another suffix, is empty, does not match its suffix, has
        lines that no delimiter splits equally, a name twice, or more than 10,000 columns.
    """
    rows = rows_of_files({Path(path): {}}, text, delimiter, decimal)
    frame = rows.source.finished(rows.source.head(rows.columns, None), rows.texts)
    if frame.empty:
        raise FileError(str(path), "a header without rows", "at least one trial")
    frame.attrs |= notice_attrs(rows.notices)
    frame.attrs |= {} if rows.source.lab is None else {"lab": rows.source.lab}
    return frame


@check_inputs(skip=("paths",))
def scan_table(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, text: Sequence[str] = ()
) -> Rows:
    r"""Rows of files of any number and size, to be counted without being read as a whole.

    `count_trials`, `count_correct` and the measures of trials take paths as they are; this
    function is for columns that should stay text.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, folders of files, or patterns with ``*``; all of one kind: .csv, .tsv, .jsonl or
        .parquet, all but the last maybe packed (.csv.gz, .csv.zst). Delimiters are found as by
        `read_table`.
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
    source = FileSource(scans, decimal, copies)
    columns = [frozenset(file.names) for file in scans]
    costly = frozenset.union(*columns) - frozenset.intersection(*columns)
    texts = {one for name in text for one in columns_named(name, scans[0].names)}
    found = [*lab_notices(file.lab for file in scans if file.lab is not None)]
    found += file_notices(files)
    # Parquet is some four times smaller than a text.
    if not costly and source.size <= (SMALL // 4 if kinds == [".parquet"] else SMALL):
        found += source.repeated_rows()
    as_texts = frozenset(texts | {*scans[0].folders})
    names = tuple(scans[0].names)
    return Rows(names, source, texts=as_texts, costly=costly, notices=tuple(found))


def scanned(path: Path, folders: dict[str, str], copies: Copies, delimiter: str | None) -> Scanned:
    """A file, once it is unpacked and the names of its columns are known."""
    sep, suffix = text_format(path, delimiter)
    lab = cells = None
    with reading(path):
        readable = copies.readable(path, suffix)
        names = [] if sep is None else header_names(readable, sep)
        refuse_delimiter(path, names)
        check_names(path, names)
        first = [] if sep is None else first_rows(readable, sep)
        if found := lab_table(path, readable, sep, first):
            cells, lab = found.cells, (found.program, found.taken)
        elif sep is not None and names:
            known = Scanned(path, readable, suffix, sep, tuple(names), {})
            if sep == " " or is_irregular(known):
                cells = text_cells(readable, sep)
        elif suffix == ".parquet":
            names = parquet_schema(readable).names
        if cells is not None:
            readable, suffix, sep, names = copies.place(".csv"), ".csv", ",", [*map(str, cells)]
            cells.to_csv(readable, index=False)
    if suffix == ".jsonl":
        names = names_of_lines(Scanned(path, readable, suffix, None, (), {}))
    if not names:
        raise FileError(str(path), "an empty file", "a table with a header")
    check_names(path, names)
    further = {name: value for name, value in folders.items() if name not in names}
    return Scanned(path, readable, suffix, sep, tuple(names), further, lab)


def is_irregular(file: Scanned) -> bool:
    """Whether a text of moderate size is not as DuckDB reads them, as if it has short rows."""
    if file.readable.stat().st_size >= SMALL:
        return False
    try:
        with reading_files([file]) as connection:
            connection.execute(f"SELECT count(COLUMNS(*)) FROM {file.table([])}").fetchall()
    except InputError as error:
        return any(reason in str(error) for reason in ("Expected Number", "invalid state"))
    return False


def names_of_lines(file: Scanned) -> list[str]:
    """Names of the columns of a JSON Lines file, in the order in which they come."""
    options = f"format = 'newline_delimited', maximum_object_size = {file.longest}"
    objects = f"FROM read_json_objects({of_files([file.readable])}, {options}) LIMIT {MOST_LINES}"
    keys = f"SELECT json_keys(json) AS names, row_number() OVER () AS place FROM ({objects})"
    each = f"SELECT unnest(names) AS name, place, generate_subscripts(names, 1) AS k FROM ({keys})"
    with reading_files([file]) as connection:
        sql = f"SELECT name FROM ({each}) GROUP BY name ORDER BY min((place, k))"
        return [name for (name,) in connection.execute(sql).fetchall()]


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse too many columns, and names that stand twice."""
    if len(names) > MOST_COLUMNS:
        got, step = f"{len(names):,} columns", "Keep those that you use."
        raise FileError(str(path), got, f"at most {MOST_COLUMNS:,}", step)
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        got, step = f"column {twice[0]!r} twice", "Rename one of them."
        raise FileError(str(path), got, "different names", step)


def text_format(path: Path, delimiter: str | None = None) -> tuple[str | None, str]:
    """Delimiter of a text table, None of another, and the suffix that tells the format.

    By then it is sure that there is a file to read.
    """
    sep = sniffed_delimiter(path, delimiter)
    if path.is_dir():
        raise no_file_error(path, "a file", "Name the table in it.")
    if not path.is_file():
        tables = sorted(other.name for other in path.parent.glob("*") if is_table(other.name))
        step = f"In that folder: {', '.join(tables[:5])}." if tables else ""
        raise no_file_error(path, "a table of trials", step)
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in PACKED]
    known = TABLES if sep is None else (*SEPARATORS, *TEXTS)
    known += LABS if path.suffix.lower() in LABS else ()
    if not suffixes or suffixes[-1] not in known:
        allowed = ", ".join(sorted(known))
        raise FileError(str(path), f"suffix {path.suffix!r}", allowed, "Save it as CSV.")
    return SEPARATORS.get(suffixes[-1]) if sep is None else sep, suffixes[-1]
