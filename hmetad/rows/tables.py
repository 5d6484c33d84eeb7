"""Plain tables of trials.

Path of a CSV, TSV, Parquet or JSON Lines file → DataFrame, one row per trial.
"""

import csv
import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import InputError
from hmetad.base.files import PACKED, TABLES
from hmetad.base.notice import notice_attrs
from hmetad.base.spreadsheets import unguard, unguard_frame
from hmetad.rows.delimiters import DELIMITERS, SEPARATORS, TEXTS, sniffed_delimiter, unlike_row
from hmetad.rows.duplicates import row_notices
from hmetad.rows.limits import Limits, as_limits, beyond, check_names, check_size
from hmetad.rows.lines import lines_of
from hmetad.rows.packed import UNREADABLE, open_packed, text_size
from hmetad.rows.parquet import parquet_table
from hmetad.rows.rows import columns_named

__all__ = [
    "GAPS",
    "header_names",
    "is_number",
    "read_table",
    "reading",
    "refuse_delimiter",
    "text_format",
    "values_of_texts",
]

GAPS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")
NO_TABLE = (
    *UNREADABLE,
    csv.Error,
    ImportError,
    LookupError,
    TypeError,
    pa.ArrowException,
    pd.errors.ParserWarning,
)


@check_inputs()
def read_table(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: Literal[".", ","] = ".",
    limits: Limits | Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Read trials from a file, by its suffix.

    Parameters
    ----------
    path : str or Path
        Ends in .csv, .tsv, .jsonl or .parquet; all but the last may be compressed (.csv.gz).
    text : sequence of str
        Columns of a CSV or TSV to keep as text as it stands: "4.10" is no number then, and "None"
        or "NA" a name; only an empty field is missing. The other formats say themselves what is
        text.
    delimiter : str, optional
        Sign between the columns of a text; a space stands for any number of spaces and tabs. By
        default commas in a .csv and tabs in a .tsv, or another sign that splits the first lines
        alike. Where it is known, a text may end in .txt or .dat too.
    decimal : {".", ","}, optional
        Sign before the decimals of numbers in a text.
    limits : Limits or mapping of str to int, optional
        How much the file may hold: the names and numbers of `Limits` that should differ from its
        defaults, such as ``{"columns": 20_000}``.

    Returns
    -------
    DataFrame
        One row per trial, columns as in the file. Rows of a CSV that are shorter than its header
        have missing values at their end. Of a CSV or TSV that this package wrote, texts without
        the apostrophes that keep a spreadsheet from running them. Attrs: ``notices`` (JSON), where
        rows are the same in all columns, one of which names items or trials.

    Raises
    ------
    InputError
        If there is no such file, it has another suffix, is empty, cannot be read as what its
        suffix says, has lines that no delimiter splits alike, a name twice or its header again
        among the rows, or goes beyond a limit.
    """
    path = Path(path)
    within = as_limits(limits)
    sep, suffix = text_format(path, delimiter)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
        raise InputError("delimiter", repr(delimiter), "one sign, such as ';'")
    with reading(path), warnings.catch_warnings():
        # Rows longer than the header would lose their end.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        if sep is not None:
            table = delimited_table(path, sep, text, within, decimal)
        else:
            table = (json_table if suffix == ".jsonl" else parquet_table)(path, within)
    if table.empty:
        got = "a header without rows" if len(table.columns) else "an empty file"
        raise InputError(str(path), got, "at least one trial")
    table.attrs |= notice_attrs(row_notices(table))
    return table


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Errors of a file that cannot be read, in words.

    Parameters
    ----------
    path : Path
        The file, for messages.

    Raises
    ------
    InputError
        In the place of each error that damaged files lead to.
    """
    try:
        yield
    except InputError:
        raise
    except pd.errors.EmptyDataError as error:
        raise InputError(str(path), "an empty file", "a table with a header") from error
    except UnicodeDecodeError as error:
        got, step = f"a file that cannot be read ({error.reason})", "Save it as text in UTF-8."
        raise InputError(str(path), got, "a table in UTF-8", step) from error
    except NO_TABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(str(path), f"a file that cannot be read ({reason})", "a table") from error


def delimited_table(
    path: Path, sep: str, text: Sequence[str], limits: Limits, decimal: str
) -> pd.DataFrame:
    """Table of a CSV or TSV, once it is sure that it can be read."""
    size = text_size(path, limits)
    names = header_names(path, sep)
    refuse_delimiter(path, names)
    check_names(path, names, limits)
    # Full rows have a byte for each cell; short ones would be filled up to many more.
    if size.lines * len(names) > max(limits.cells, size.size):
        got = f"{size.lines:,} rows of {len(names):,} columns"
        raise beyond(str(path), "cells", got, limits)
    columns = [name or f"Unnamed: {i}" for i, name in enumerate(names)]
    options = as_text(guarded_names(text, columns), columns)
    sep = r"\s+" if sep == " " else sep
    with open_packed(path) as file:
        table: pd.DataFrame = pd.read_csv(
            file, sep=sep, decimal=decimal, index_col=False, **options
        )
    refuse_repeated_header(path, names, table)
    return unguard_frame(table)


def header_names(path: Path, sep: str) -> list[str]:
    """Names in the first line that is not blank."""
    with (
        open_packed(path) as file,
        io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines,
    ):
        spaced = (re.sub(r"\s+", " ", line.strip()) for line in lines) if sep == " " else lines
        rows = csv.reader(spaced, delimiter=sep)
        return next((row for row in rows if row and not (len(row) == 1 and row[0].isspace())), [])


def guarded_names(names: Sequence[str], header: Sequence[str]) -> list[str]:
    """Names as the header has them, which may be guarded."""
    plain = unguard(header)
    asked = {column for name in names for column in columns_named(name, plain)}
    return [str(raw) for raw, name in zip(header, plain, strict=True) if name in asked]


def as_text(text: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    """Options of pandas under which some columns are text, and only empty fields missing there."""
    gaps = {name: [""] if name in text else list(GAPS) for name in columns if text}
    return {
        "dtype": dict.fromkeys(text, str),
        "keep_default_na": False,
        "na_values": gaps or list(GAPS),
    }


def values_of_texts(frame: pd.DataFrame, text: Sequence[str] = ()) -> pd.DataFrame:
    """Values of a table whose fields are the texts of a CSV, as pandas reads such a file.

    Parameters
    ----------
    frame : DataFrame
        Columns of text.
    text : sequence of str
        Columns that stay text.

    Returns
    -------
    DataFrame
        The same rows, with numbers and missing values where columns have them.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["4.10", "NA"], "confidence": ["3", "NA"]})
    >>> values_of_texts(frame, ["model"]).to_dict("list")
    {'model': ['4.10', 'NA'], 'confidence': [3.0, nan]}
    """
    columns = list(frame.columns)
    kept = [column for name in text for column in columns_named(name, columns)]
    # Quoted, a row of one missing value is no blank line.
    rows = io.StringIO(frame.to_csv(index=False, quoting=csv.QUOTE_ALL))
    return unguard_frame(pd.read_csv(rows, **as_text(kept, columns)))


def refuse_repeated_header(path: Path, names: Sequence[str], table: pd.DataFrame) -> None:
    """Raise if a row holds the names of the columns, as where files were joined."""
    if all(name in GAPS or is_number(name) for name in names):
        return
    rows = np.arange(len(table))
    for name, column in zip(names, table.columns, strict=False):
        rows = rows[holds(table[column].iloc[rows], name)]
        if not rows.size:
            return
    step = "Perhaps files were joined with their headers; remove all but the first."
    raise InputError(str(path), f"its header again in row {rows[0] + 1}", "one header", step)


def holds(column: pd.Series, name: str) -> NDArray[np.bool_]:
    """Which values of a column are its own name, as they would have been read."""
    if name in GAPS:
        return column.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(column):
        value = float(name) if is_number(name) else np.nan
        return (column == value).to_numpy(dtype=bool)
    return (column == name).to_numpy(dtype=bool, na_value=False)


def is_number(text: str) -> bool:
    """Whether a text is read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def json_table(path: Path, limits: Limits) -> pd.DataFrame:
    """Table of JSON Lines: "001" is no 1, and no date is made of a number."""
    if path.suffix.lower() in PACKED:
        text_size(path, limits)
    records: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    with open_packed(path) as file:
        for line in lines_of(file, path, limits):
            record = line.record
            records.append(record)
            if not names.keys() >= record.keys():
                names |= dict.fromkeys(record)
                check_size(path, len(names), 0, limits)
    check_size(path, 0, len(records) * len(names), limits)
    return pd.DataFrame(records)


def text_format(path: Path, delimiter: str | None = None) -> tuple[str | None, str]:
    """Delimiter of a text table, None of another, and the suffix that tells the format."""
    sep = sniffed_delimiter(path) if delimiter is None else delimiter
    suffix = table_suffix(path, is_text=sep is not None)
    return SEPARATORS.get(suffix) if sep is None else sep, suffix


def table_suffix(path: Path, *, is_text: bool = False) -> str:
    """Suffix that tells the format, once it is sure that there is a file to read."""
    if path.is_dir():
        raise InputError(str(path), "a folder", "a file", "Name the table in it.")
    if not path.is_file():
        raise InputError(str(path), "no such file", "a table of trials", similar_file(path))
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in PACKED]
    known = (*SEPARATORS, *TEXTS) if is_text else TABLES
    if not suffixes or suffixes[-1] not in known:
        allowed = ", ".join(sorted(known))
        raise InputError(str(path), f"suffix {path.suffix!r}", allowed, "Rename or convert it.")
    return suffixes[-1]


def similar_file(path: Path) -> str:
    """Suggestion of the tables that lie in the same folder."""
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} either."
    beside = sorted(p.name for p in path.parent.iterdir() if p.suffix in TABLES)
    return f"In that folder: {', '.join(beside[:5])}." if beside else ""


def refuse_delimiter(path: Path, header: Sequence[str]) -> None:
    """Raise if the header is one column that a delimiter would split, but not all rows alike."""
    if len(header) > 1:
        return
    for name, sign in DELIMITERS.items():
        if sign != " " and sign in "".join(header):
            got = f"columns parted by {name}s, {unlike_row(path, sign)}"
            step = "Mend that row, or save the table with the delimiter of its suffix."
            raise InputError(str(path), got, "as many cells in every row", step)
