"""Text files of rows, plain or packed: their bytes, their delimiter and their header.

Path → bytes unpacked; path → delimiter; path → names of columns; path → a copy that DuckDB reads.
"""

import csv
import io
import os
import re
import shutil
import weakref
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, takewhile
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hmetad.base.errors import ChoiceError, FileError, InputError, KindError
from hmetad.base.files import PACKED, TEXTS
from hmetad.base.lazy import import_on_call

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Names that can be typed, and what they stand for; spaces are any number of them, or of tabs.
DELIMITERS = {"semicolon": ";", "tab": "\t", "bar": "|", "comma": ",", "space": " "}
HEAD = 2**16
MOST_ROWS = 50
# Texts below this size may have short rows, and lines that end in several ways.
SMALL = 64 * 2**20
# Packed files are unpacked to this many times their size, or to this size.
MOST_TIMES, ALWAYS_UNPACKED = 200, 16 * 2**20
unpacked: Any = import_on_call("pyarrow", "input_stream")
# How Arrow calls the packings that are read.
PACKINGS = {".gz": "gzip", ".zst": "zstd"}
# What reading a damaged file raises.
UNREADABLE = (csv.Error, EOFError, OSError, RuntimeError, ValueError)


# Bytes, packed or not


def pieces_of(path: Path) -> Iterator[bytes]:
    """Bytes of a file, some at a time, unpacked where its last suffix says that they are packed."""
    kind = path.suffix.lower()
    if kind in PACKED and kind not in PACKINGS:
        got = f"a file packed as {kind}"
        raise FileError(str(path), got, "a plain file, .gz or .zst", "Unpack it first.")
    with unpacked(str(path), PACKINGS[kind]) if kind in PACKINGS else path.open("rb") as file:
        while piece := file.read(HEAD):
            yield piece


@contextmanager
def reading(path: Path, allowed: str = "a table") -> Iterator[None]:
    """Raise an `InputError` that names the file for each error that a damaged file leads to."""
    try:
        yield
    except InputError:
        raise
    except UnicodeDecodeError as error:
        got, step = f"a file that cannot be read ({error.reason})", "Save it as text in UTF-8."
        raise FileError(str(path), got, f"{allowed} in UTF-8", step) from error
    except UNREADABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise FileError(str(path), f"a file that cannot be read ({reason})", allowed) from error


class Copies:
    """A temporary folder for copies of files, which is removed when nothing uses it."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.numbers = count()

    def place(self, suffix: str) -> Path:
        """Path of a new file in the folder."""
        if self.folder is None:
            self.folder = Path(mkdtemp(prefix="hmetad-"))
            weakref.finalize(self, remove_folder, self.folder, os.getpid())
        return self.folder / f"{os.getpid()}-{next(self.numbers)}{suffix}"

    def readable(self, path: Path, suffix: str) -> Path:
        """The file itself, or a copy that is unpacked and has no mark of its encoding."""
        is_packed = path.suffix.lower() in PACKED
        if not is_packed and not (suffix == ".jsonl" and has_mark(path)):
            return path
        copy = self.place(suffix)
        most, size = max(ALWAYS_UNPACKED, MOST_TIMES * path.stat().st_size), 0
        with copy.open("wb") as file:
            for piece in pieces_of(path):
                start = len(BOM_UTF8) if size == 0 and piece.startswith(BOM_UTF8) else 0
                size += file.write(piece[start:])
                if is_packed and size > most:
                    got = f"more than {MOST_TIMES} times its size once it is unpacked"
                    step = "If you trust the file, unpack it first."
                    raise FileError(str(path), got, "a file packed less tightly", step)
        return copy


def remove_folder(folder: Path, owner: int) -> None:
    """Remove a folder, unless this process was forked from the one that made it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def has_mark(path: Path) -> bool:
    """Whether a file begins with the mark of its encoding."""
    with path.open("rb") as file:
        return file.read(len(BOM_UTF8)) == BOM_UTF8


# Delimiters and headers


def sniffed_delimiter(path: Path, delimiter: str | None = None) -> str | None:
    r"""Delimiter of a text table: the one that is named, or one that splits its first lines alike.

    Parameters
    ----------
    path : Path
        File; .csv, .tsv, .txt and .dat, packed or not, are texts.
    delimiter : str, optional
        Name ("semicolon", "space") or character.

    Returns
    -------
    str or None
        The character; " " for any number of spaces and tabs. None if it is the one of the suffix,
        if the file is not a text, or if nothing splits its lines.

    Raises
    ------
    InputError
        If there is no such name, or the file is not a text.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text("a;b\n1;0,5\n")
    ...     sniffed_delimiter(path), sniffed_delimiter(path, "tab")
    (';', '\t')
    """
    suffix = text_suffix(path)
    if delimiter is not None:
        sign = DELIMITERS.get(delimiter.strip().lower(), delimiter)
        if sign not in DELIMITERS.values():
            allowed = f"one of {', '.join(DELIMITERS)}, or its sign"
            raise ChoiceError("delimiter", repr(delimiter), allowed)
        if suffix is None:
            step = "Other formats say themselves where columns end."
            raise KindError("delimiter", f"{delimiter!r}, for {path}", "a text table", step)
        return sign
    if suffix is None or not path.is_file():
        return None
    usual = usual_delimiter(path)
    if usual is not None and max(map(len, first_rows(path, usual)[:1]), default=0) > 1:
        return None
    # Spaces, the last, part the columns of no file whose suffix names another sign.
    others = [sign for sign in DELIMITERS.values() if sign != usual]
    signs = others if usual is None else others[:-1]
    return next((sign for sign in signs if splits_alike(path, sign)), None)


def text_suffix(path: Path) -> str | None:
    """Suffix of a text table, packed or not; None for other files."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    return suffixes[-1] if suffixes and suffixes[-1] in (*SEPARATORS, *TEXTS) else None


def usual_delimiter(path: Path) -> str | None:
    """Delimiter that the suffix of a text table names; None if it names none."""
    return SEPARATORS.get(text_suffix(path) or "")


def splits_alike(path: Path, delimiter: str) -> bool:
    """Whether a delimiter splits the first rows into the same number of cells, two or more."""
    numbers = {len(row) for row in first_rows(path, delimiter)}
    return len(numbers) == 1 and numbers.pop() > 1


def first_rows(path: Path, delimiter: str) -> list[list[str]]:
    """Cells of the first rows that are not blank; none of a file that cannot be read so."""
    content = b""
    try:
        for piece in pieces_of(path):
            content += piece
            if len(content) >= HEAD:
                break
        lines = io.StringIO(content[:HEAD].decode("utf-8-sig", "replace"), newline="")
        rows = [*csv.reader(spaced(lines) if delimiter == " " else lines, delimiter=delimiter)]
    except UNREADABLE:
        return []
    # The last row may be cut off.
    complete = rows if len(content) < HEAD else rows[:-1]
    return [row for row in complete if any(cell.strip() for cell in row)][:MOST_ROWS]


def header_names(path: Path, sep: str) -> list[str]:
    """Names in the first line of a plain text that is not blank."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(spaced(lines) if sep == " " else lines, delimiter=sep)
        return next((row for row in rows if not is_blank(row)), [])


def spaced(lines: Iterable[str]) -> Iterator[str]:
    """Lines with one space between cells, for any number of spaces and tabs."""
    return (re.sub(r"\s+", " ", line.strip()) for line in lines)


def is_blank(row: Sequence[str]) -> bool:
    """Whether a row comes from a line without a character to see."""
    return not row or (len(row) == 1 and row[0].isspace())


def blank_lines(path: Path) -> int:
    """Number of lines without a character to see before the header of a text."""
    with path.open("rb") as file:
        lines = (line.removeprefix(BOM_UTF8) for line in file)
        return sum(1 for _ in takewhile(lambda line: not line.strip(), lines))


def refuse_delimiter(path: Path, header: Sequence[str]) -> None:
    """Raise if the header is one column that a delimiter would split, but not all rows alike."""
    signs = {sign: name for name, sign in DELIMITERS.items() if sign != " "}
    sign = next((sign for sign in signs if len(header) == 1 and sign in header[0]), None)
    if sign is None:
        return
    sizes = [len(row) for row in first_rows(path, sign)]
    unlike = next((place for place, size in enumerate(sizes) if size != sizes[0]), None)
    where = "in its header alone"
    if unlike is not None:
        where = f"of which row {unlike + 1} has {sizes[unlike]} and the header {sizes[0]}"
    step = "Mend that row, or save the table with the delimiter of its suffix."
    got = f"columns parted by {signs[sign]}s, {where}"
    raise FileError(str(path), got, "as many cells in every row", step)
