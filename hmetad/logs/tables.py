"""Plain tables of trials.

Path of a CSV, TSV, Parquet or JSON Lines file → DataFrame, one row per trial.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from hmetad.arguments import checked
from hmetad.errors import InputError

__all__ = ["read_table"]

JSON_LINES = {"lines": True, "dtype": False, "encoding": "utf-8-sig"}
READERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    ".csv": (pd.read_csv, {}),
    ".tsv": (pd.read_csv, {"sep": "\t"}),
    # JSON says what is text and what a number: "001" is no 1, and no date is made of a number.
    ".jsonl": (pd.read_json, JSON_LINES),
    ".parquet": (pd.read_parquet, {}),
}
GAPS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")
UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    ImportError,
    BadZipFile,
    LZMAError,
    pd.errors.ParserWarning,
)
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


@checked()
def read_table(path: str | Path, *, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read trials from a file, by its suffix.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .tsv, .jsonl or .parquet; all but the last may be compressed (.csv.gz).
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands: "4.10" is no number then, and "None"
        or "NA" a name; only an empty field is missing. The other formats say themselves what is
        text.

    Returns
    -------
    DataFrame
        One row per trial, columns as in the file.

    Raises
    ------
    InputError
        If there is no such file, it has another suffix, is empty, cannot be read as what its
        suffix says, or has another delimiter.
    """
    path = Path(path)
    suffix = table_suffix(path)
    reader, options = READERS[suffix]
    if suffix in (".csv", ".tsv"):
        options = {**options, "index_col": False}
        header = read_by(reader, path, {**options, "nrows": 0}).columns
        refuse_delimiter(path, header)
        options |= as_text(text, header)
    table = read_by(reader, path, options)
    if table.empty:
        got = "a header without rows" if len(table.columns) else "an empty file"
        raise InputError(str(path), got, "at least one trial")
    return table


def read_by(
    reader: Callable[..., pd.DataFrame], path: Path, options: Mapping[str, Any]
) -> pd.DataFrame:
    """Table that a reader of pandas makes of the file, or an error that names the file."""
    try:
        with warnings.catch_warnings():
            # Rows longer than the header would lose their end.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return reader(path, **options)
    except pd.errors.EmptyDataError as error:
        raise InputError(str(path), "an empty file", "a table with a header") from error
    except UNREADABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(str(path), f"a file that cannot be read ({reason})", "a table") from error


def as_text(text: Sequence[str], columns: Iterable[str]) -> dict[str, Any]:
    """Options of pandas under which some columns are text, and only empty fields missing there."""
    gaps = {name: [""] if name in text else list(GAPS) for name in columns}
    return {"dtype": dict.fromkeys(text, str), "keep_default_na": False, "na_values": gaps}


def table_suffix(path: Path) -> str:
    """Suffix that tells the format, once it is sure that there is a file to read."""
    if path.is_dir():
        raise InputError(str(path), "a folder", "a file", "Name the table in it.")
    if not path.is_file():
        raise InputError(str(path), "no such file", "a table of trials", similar_file(path))
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in COMPRESSIONS]
    if not suffixes or suffixes[-1] not in READERS:
        allowed = ", ".join(sorted(READERS))
        raise InputError(str(path), f"suffix {path.suffix!r}", allowed, "Rename or convert it.")
    return suffixes[-1]


def similar_file(path: Path) -> str:
    """Suggestion of the tables that lie in the same folder."""
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either."
    beside = sorted(p.name for p in path.parent.iterdir() if p.suffix in READERS)
    return f"In that folder: {', '.join(beside[:5])}." if beside else ""


def refuse_delimiter(path: Path, header: pd.Index) -> None:
    """Raise if the header is one column that other delimiters would split."""
    if len(header) > 1:
        return
    for delimiter, name in DELIMITERS.items():
        if delimiter in "".join(map(str, header)):
            step = "Save it as one of these."
            allowed = "commas in a .csv, tabs in a .tsv"
            raise InputError(str(path), f"columns parted by {name}", allowed, step)
