"""Plain tables of trials.

Path of a CSV, TSV, Parquet or JSON Lines file → DataFrame, one row per trial.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from hmetad.errors import InputError

__all__ = ["read_table"]

READERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    ".csv": (pd.read_csv, {}),
    ".tsv": (pd.read_csv, {"sep": "\t"}),
    ".jsonl": (pd.read_json, {"lines": True}),
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


def read_table(path: str | Path, *, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read trials from a file, by its suffix.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .tsv, .jsonl or .parquet; all but the last may be compressed (.csv.gz).
    text : sequence of str
        Columns to keep as text as it stands: in a CSV, "4.10" is no number then, and "None" or
        "NA" a name; only an empty field is missing.

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
    try:
        if suffix in (".csv", ".tsv"):
            options = {**options, "index_col": False}
            options |= as_text(text, reader(path, nrows=0, **options).columns)
        with warnings.catch_warnings():
            # Rows longer than the header would lose their end.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = reader(path, **options)
    except pd.errors.EmptyDataError as error:
        raise InputError(str(path), "an empty file", "a table with a header") from error
    except UNREADABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(str(path), f"a file that cannot be read ({reason})", "a table") from error
    refuse_delimiter(path, table)
    if table.empty:
        raise InputError(str(path), "a header without rows", "at least one trial")
    return table


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


def refuse_delimiter(path: Path, table: pd.DataFrame) -> None:
    """Raise if the header is one column that other delimiters would split."""
    if len(table.columns) > 1:
        return
    header = str(table.columns[0]) if len(table.columns) else ""
    for delimiter, name in DELIMITERS.items():
        if delimiter in header:
            step = "Save it as one of these."
            allowed = "commas in a .csv, tabs in a .tsv"
            raise InputError(str(path), f"columns parted by {name}", allowed, step)
