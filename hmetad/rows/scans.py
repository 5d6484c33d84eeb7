"""Files of rows, of any number and size.

Paths → `Rows`. What fits into memory is read as `read_table` does; of larger files only the columns
in use are read, piece by piece.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.files import files_of
from hmetad.rows.duplicates import file_notices, row_notices
from hmetad.rows.limits import Limits, as_limits
from hmetad.rows.parquet import column_chunks
from hmetad.rows.pieces import Scan, of_piece, pieces_of, refuse_missing, scan_of
from hmetad.rows.queries import Piece
from hmetad.rows.rows import Rows
from hmetad.rows.tables import (
    read_table,
    reading,
    text_format,
    values_of_texts,
)
from hmetad.threads import in_threads_as_read

__all__ = ["are_paths", "scan_table"]

# Files that hold less than this, unpacked, are read into memory.
SMALL = 64 * 2**20
# Bytes of a value that is long.
LONG = 64
# How many times larger than on disk a table may be unpacked.
UNPACKED = {".parquet": 4, ".gz": 10, ".bz2": 10, ".xz": 10, ".zst": 10, ".zip": 10}


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
        frames = {path: tables[path].assign(**folders) for path, folders in files.items()}
        numbers = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames.values()])
        together = pd.concat(frames.values(), ignore_index=True)
        found += row_notices(together, pd.Series(numbers) if len(frames) > 1 else None)
        columns = [tuple(frame.columns) for frame in frames.values()]
        over = partial(over_frames, frames)
        return Rows(columns[0], over, costly=lacking(columns), notices=tuple(found))
    scans = [scan_of(path, folders, within) for path, folders in files.items()]
    is_text = scans[0].sep is not None
    finish = partial(values_of_texts, text=tuple(text)) if is_text else None
    columns = [tuple(scan.names) for scan in scans]
    long = {name for scan in scans if kinds == [".parquet"] for name in long_columns(scan)}
    costly, over = lacking(columns) | long, partial(over_scans, scans)
    return Rows(columns[0], over, finish, costly=costly, notices=tuple(found))


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


def long_columns(scan: Scan) -> set[str]:
    """Columns of a Parquet file that hold long texts, or lists and records."""
    sizes: dict[str, list[int]] = {}
    for chunk in column_chunks(scan.path):
        size = sizes.setdefault(chunk.column, [0, 0])
        size[0] += chunk.unpacked
        size[1] += chunk.values
    short = {name for name, (unpacked, values) in sizes.items() if unpacked <= LONG * values}
    return {name for name, raw in scan.own.items() if raw not in short}


def over_frames(
    frames: Mapping[Path, pd.DataFrame], function: Callable[[Piece], Any], columns: Sequence[str]
) -> Iterator[Any]:
    """Values of a function of each table."""
    for path, frame in frames.items():
        refuse_missing(path, columns, frame.columns)
        yield function(frame)


def over_scans(
    scans: Sequence[Scan], function: Callable[[Piece], Any], columns: Sequence[str]
) -> Iterator[Any]:
    """Values of a function of each piece of some files."""
    for scan in scans:
        refuse_missing(scan.path, columns, scan.names)
        with reading(scan.path):
            yield from in_threads_as_read(
                partial(of_piece, scan, function, columns), pieces_of(scan, columns)
            )
