"""What separates the columns of a text table.

Path of a text table → its delimiter.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from hmetad.errors import InputError
from hmetad.files import PACKED
from hmetad.rows.packed import UNREADABLE, open_packed
from hmetad.rows.tables import SEPARATORS, TEXTS

__all__ = ["DELIMITERS", "sniffed_delimiter", "text_suffix", "usual_delimiter"]

# Names that can be typed, and what they stand for; spaces are any number of them, or of tabs.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
HEAD = 2**16
MOST_LINES = 50


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
    lines = head_lines(path)
    usual = usual_delimiter(path)
    if not lines or (usual is not None and len(cells(lines[0], usual)) > 1):
        return None
    signs = [one for one in (";", "\t", "|", ",") if one != usual and splits_alike(lines, one)]
    if not signs and usual is None and splits_alike(lines, " "):
        signs = [" "]
    return signs[0] if signs else None


def text_suffix(path: Path) -> str | None:
    """Suffix of a text table, whatever it is compressed by; None for other files."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    return suffixes[-1] if suffixes and suffixes[-1] in (*SEPARATORS, *TEXTS) else None


def usual_delimiter(path: Path) -> str | None:
    """Delimiter that the suffix of a text table says; None where it says none."""
    return SEPARATORS.get(text_suffix(path) or "")


def head_lines(path: Path) -> list[str]:
    """First lines of a text that are not blank; none of a file that cannot be read."""
    try:
        with open_packed(path) as file:
            content = file.read(HEAD)
    except UNREADABLE:
        return []
    text = content.decode("utf-8-sig", "replace")
    # The last line may be cut off.
    lines = text.splitlines()[: None if len(content) < HEAD else -1]
    return [line for line in lines if line.strip()][:MOST_LINES]


def splits_alike(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a delimiter splits all lines into the same number of cells, two or more."""
    numbers = {len(cells(line, delimiter)) for line in lines}
    return len(numbers) == 1 and numbers.pop() > 1


def cells(line: str, delimiter: str) -> list[str]:
    """Cells of a line."""
    if delimiter == " ":
        line = re.sub(r"\s+", " ", line.strip())
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter == " "), [])
    except csv.Error:
        return []
