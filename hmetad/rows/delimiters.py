"""What separates the columns of a text table.

Path of a text table → its delimiter.
"""

import csv
import io
import re
from pathlib import Path

from hmetad.errors import InputError
from hmetad.files import PACKED
from hmetad.rows.packed import UNREADABLE, open_packed

__all__ = [
    "DELIMITERS",
    "SEPARATORS",
    "TEXTS",
    "sniffed_delimiter",
    "text_suffix",
    "usual_delimiter",
]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Texts that are read where their delimiter is known.
TEXTS = (".txt", ".dat")

# Names that can be typed, and what they stand for; spaces are any number of them, or of tabs.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
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
    text = head_of(path)
    usual = usual_delimiter(path)
    if not text or (usual is not None and max(map(len, rows_by(text, usual)[:1]), default=0) > 1):
        return None
    signs = [one for one in (";", "\t", "|", ",") if one != usual and splits_alike(text, one)]
    if not signs and usual is None and splits_alike(text, " "):
        signs = [" "]
    return signs[0] if signs else None


def text_suffix(path: Path) -> str | None:
    """Suffix of a text table, whatever it is compressed by; None for other files."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    return suffixes[-1] if suffixes and suffixes[-1] in (*SEPARATORS, *TEXTS) else None


def usual_delimiter(path: Path) -> str | None:
    """Delimiter that the suffix of a text table says; None where it says none."""
    return SEPARATORS.get(text_suffix(path) or "")


def head_of(path: Path) -> str:
    """First whole lines of a text; nothing of a file that cannot be read."""
    try:
        with open_packed(path) as file:
            content = file.read(HEAD)
    except UNREADABLE:
        return ""
    text = content.decode("utf-8-sig", "replace")
    # The last line may be cut off.
    return text if len(content) < HEAD else text[: text.rfind("\n") + 1]


def splits_alike(text: str, delimiter: str) -> bool:
    """Whether a delimiter splits the first rows into the same number of cells, two or more."""
    numbers = {len(row) for row in rows_by(text, delimiter)[:MOST_ROWS]}
    return len(numbers) == 1 and numbers.pop() > 1


def rows_by(text: str, delimiter: str) -> list[list[str]]:
    """Cells of the rows of a text that are not blank; none where it is no such text."""
    if delimiter == " ":
        text = "\n".join(re.sub(r"\s+", " ", line.strip()) for line in text.splitlines())
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return []
    return [row for row in rows if any(cell.strip() for cell in row)]
