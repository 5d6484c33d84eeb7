"""What separates the columns of a text table.

Path of a text table → its delimiter.
"""

import csv
import io
import re
from pathlib import Path

from hmetad.base.errors import InputError
from hmetad.base.files import PACKED
from hmetad.rows.packed import UNREADABLE, open_packed

__all__ = [
    "DELIMITERS",
    "SEPARATORS",
    "TEXTS",
    "sniffed_delimiter",
    "text_suffix",
    "unlike_row",
    "usual_delimiter",
]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Texts that are read where their delimiter is known.
TEXTS = (".txt", ".dat")

# Names that can be typed, and what they stand for; spaces are any number of them, or of tabs.
DELIMITERS = {"semicolon": ";", "tab": "\t", "bar": "|", "comma": ",", "space": " "}
HEAD = 2**16
MOST_ROWS = 50


def sniffed_delimiter(path: Path, delimiter: str | None = None) -> str | None:
    r"""Delimiter of a text table: the one that is named, or one that splits its first lines alike.

    Parameters
    ----------
    path : Path
        File; .csv, .tsv, .txt and .dat, compressed or not, are texts.
    delimiter : str, optional
        Name ("semicolon", "space") or sign.

    Returns
    -------
    str or None
        The sign; " " for any number of spaces and tabs. None where it is that of the suffix, where
        the file is no text, or where nothing splits its lines.

    Raises
    ------
    InputError
        If the name is none, or the file is no text.

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
            raise InputError("delimiter", repr(delimiter), allowed)
        if suffix is None:
            step = "Other formats say themselves where columns end."
            raise InputError("delimiter", f"{delimiter!r}, for {path}", "a text table", step)
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
    """Suffix of a text table, whatever it is compressed by; None for other files."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    return suffixes[-1] if suffixes and suffixes[-1] in (*SEPARATORS, *TEXTS) else None


def usual_delimiter(path: Path) -> str | None:
    """Delimiter that the suffix of a text table says; None where it says none."""
    return SEPARATORS.get(text_suffix(path) or "")


def splits_alike(path: Path, delimiter: str) -> bool:
    """Whether a delimiter splits the first rows into the same number of cells, two or more."""
    numbers = {len(row) for row in first_rows(path, delimiter)}
    return len(numbers) == 1 and numbers.pop() > 1


def unlike_row(path: Path, delimiter: str) -> str:
    """Words for the first row that has another number of cells than the header."""
    rows = first_rows(path, delimiter)
    for place, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            return f"of which row {place} has {len(row)} and the header {len(rows[0])}"
    return "in its header alone"


def first_rows(path: Path, delimiter: str) -> list[list[str]]:
    """Cells of the first rows that are not blank; none of a file that cannot be read so."""
    try:
        with open_packed(path) as file:
            content = file.read(HEAD)
    except UNREADABLE:
        return []
    text = content.decode("utf-8-sig", "replace")
    if delimiter == " ":
        text = "\n".join(re.sub(r"\s+", " ", line.strip()) for line in text.splitlines())
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return []
    # The last row may be cut off.
    whole = rows if len(content) < HEAD else rows[:-1]
    return [row for row in whole if any(cell.strip() for cell in row)][:MOST_ROWS]
