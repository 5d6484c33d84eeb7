"""Files and folders of arrays, checked before they are opened as such.

Path of an HDF5 file or a zarr store → nothing, or InputError where it holds more than plain arrays
within limits. Both formats can do more than hold arrays: links to other files, data that are
decoded by Python's pickle, a few bytes that stand for terabytes. A fit needs none of that.
"""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, cast

import h5py
import numpy as np

from hmetad.errors import InputError
from hmetad.untrusted import parse_json

__all__ = [
    "ALLOWED",
    "MAX_BYTES",
    "files_in",
    "read_text",
    "reading",
    "refuse_too_large",
    "refuse_unusual_hdf5",
    "refuse_unusual_zarr",
]

MAX_BYTES = 16 * 2**30
MAX_OBJECTS = 20_000
MAX_FILES = 5_000_000
MAX_RECORD = 20_000_000
ALLOWED = "a fit as hmetad wrote it"
# What nutpie writes. Older versions of zarr can name pickle as a codec.
CODECS = {"bytes", "blosc", "vlen-utf8"}
SMALL_CHUNK = 2**26
WHOLE_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TYPES = ("bool", *WHOLE_TYPES, "float32", "float64", "string")
ITEM_BYTES = 8
OLD_RECORDS = {".zarray", ".zgroup", ".zattrs", ".zmetadata"}


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn every error that opening a damaged file can raise into InputError.

    Examples
    --------
    >>> with reading("fit.nc"):
    ...     raise KeyError("posterior")
    Traceback (most recent call last):
    hmetad.errors.InputError: fit.nc: got a file that cannot be read (KeyError: 'posterior'), \
allowed is a fit as hmetad wrote it. Copy it again from its source.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # HDF5, h5py, zarr, NumPy and xarray each raise different errors on damaged bytes.
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        got, step = f"a file that cannot be read ({said})", "Copy it again from its source."
        raise InputError(str(path), got, ALLOWED, step) from error


def refuse_unusual_hdf5(path: Path, max_bytes: int = MAX_BYTES) -> None:
    """Refuse an HDF5 file with other things in it than groups of plain arrays, one level deep.

    Parameters
    ----------
    path : Path
    max_bytes : int, optional
        How much memory its arrays may take.

    Raises
    ------
    InputError
        If it holds links to elsewhere, groups inside groups, arrays whose data lie in other files
        or are neither numbers nor text, too many of them, or more bytes than allowed.
    """
    with h5py.File(path, "r") as file:
        arrays = [array for group in groups_of(file, path) for array in arrays_of(group, path)]
        if len(arrays) > MAX_OBJECTS:
            raise InputError(str(path), f"{len(arrays)} arrays", f"at most {MAX_OBJECTS}")
        refuse_too_large(path, sum(map(bytes_of, arrays)), max_bytes)
        refuse_long_texts(path, [array for array in arrays if is_text(array)], max_bytes)


def groups_of(file: h5py.File, path: Path) -> list[h5py.Group]:
    """The root and the groups in it."""
    return [file, *(item for item in members(file, path) if isinstance(item, h5py.Group))]


def arrays_of(group: h5py.Group, path: Path) -> list[h5py.Dataset]:
    """Arrays of a group, each checked."""
    items = members(group, path)
    arrays = [item for item in items if isinstance(item, h5py.Dataset)]
    if group.name != "/" and len(arrays) < len(items):
        raise InputError(str(path), f"a group inside {group.name}", ALLOWED)
    for array in arrays:
        if array.is_virtual or array.external:
            raise InputError(str(path), f"{array.name}, whose data lie elsewhere", ALLOWED)
        if is_text(array) and array.fillvalue:
            raise InputError(str(path), f"{array.name}, filled with a text", ALLOWED)
        if not is_text(array) and array.dtype.kind not in "biufSU":
            raise InputError(str(path), f"{array.name} of type {array.dtype}", ALLOWED)
    return arrays


def members(group: h5py.Group, path: Path) -> list[Any]:
    """Members of a group; a link to another place is refused."""
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise InputError(str(path), f"{name!r}, a link to elsewhere", ALLOWED)
    return [group[name] for name in group]


def is_text(array: h5py.Dataset) -> bool:
    """Whether the entries of an array are texts."""
    return h5py.check_string_dtype(array.dtype) is not None


def bytes_of(array: h5py.Dataset) -> int:
    """Memory that an array, or one of its chunks, takes; a text counts as a pointer."""
    size = max(math.prod(array.shape or ()), math.prod(array.chunks or ()))
    # Numbers may be made wider when they are read.
    return size * max(array.dtype.itemsize, 8)


def refuse_long_texts(path: Path, arrays: list[h5py.Dataset], max_bytes: int) -> None:
    """Raise where many entries share one long text, each of which takes its memory."""
    length, whole = 0, path.stat().st_size
    for array in arrays:
        if math.prod(array.shape) * whole <= max_bytes:
            continue
        for index in np.ndindex(array.shape):
            length += len(array[index])
            refuse_too_large(path, length, max_bytes)


def refuse_too_large(path: Path, size: int, max_bytes: int) -> None:
    """Raise where arrays take more memory than allowed."""
    if size > max_bytes:
        step = "Raise max_bytes of load_fit, if there is the memory."
        got = f"arrays of {size / 2**30:.1f} GiB"
        raise InputError(str(path), got, f"at most {max_bytes / 2**30:.1f} GiB", step)


def refuse_unusual_zarr(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Refuse a folder with other things in it than arrays as nutpie stores draws.

    Parameters
    ----------
    folder : Path
    max_bytes : int, optional
        How much memory its arrays may take.

    Raises
    ------
    InputError
        If it holds links, records of older versions of zarr, codecs or types that draws do not
        have, too many files, or more bytes than allowed.
    """
    size = 0
    for path in [path for path in files_in(folder) if path.name == "zarr.json"]:
        whole, chunk = array_bytes(read_record(path), path)
        size += whole
        refuse_too_large(folder, max(size, chunk), max_bytes)
        refuse_packed_chunks(path.parent, max(chunk, SMALL_CHUNK))


def files_in(folder: Path) -> Iterator[Path]:
    """Files of a folder and of those in it, none of which is a link."""
    for number, (root, folders, files) in enumerate(os.walk(folder)):
        if number > MAX_FILES:
            raise InputError(str(folder), f"more than {MAX_FILES} folders", ALLOWED)
        for name in (*folders, *files):
            path = Path(root, name)
            mode = path.lstat().st_mode
            if not (S_ISREG(mode) or S_ISDIR(mode)) or name in OLD_RECORDS:
                raise InputError(str(path), "a link, or a record of an older zarr", ALLOWED)
        yield from (Path(root, name) for name in files)


def read_record(path: Path) -> Mapping[str, Any]:
    """Record (zarr.json) of a group or an array of a store."""
    record = parse_json(read_text(path), str(path))
    if not isinstance(record, dict) or record.get("zarr_format") != 3:
        raise InputError(str(path), "no record of zarr 3", ALLOWED)
    return record


def read_text(path: Path) -> str:
    """Text of a small file."""
    with path.open("rb") as file:
        content = file.read(MAX_RECORD + 1)
    if len(content) > MAX_RECORD:
        raise InputError(str(path), "a long file", f"at most {MAX_RECORD} bytes of JSON")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(str(path), "no text in UTF-8", "JSON") from error


def refuse_packed_chunks(folder: Path, most: int) -> None:
    """Raise where a chunk of an array says that it unpacks to more than a chunk of it can hold."""
    for path in sorted((folder / "c").rglob("*")) if (folder / "c").is_dir() else []:
        if path.is_file():
            with path.open("rb") as file:
                # Blosc: version, flags, size of a number; then the size unpacked.
                unpacked = int.from_bytes(file.read(8)[4:], "little")
            if unpacked > most and is_packed(folder):
                raise InputError(str(path), f"{unpacked} bytes unpacked", f"at most {most}")


def is_packed(folder: Path) -> bool:
    """Whether the chunks of an array are packed by Blosc."""
    codecs = read_record(folder / "zarr.json").get("codecs", ())
    return any(codec.get("name") == "blosc" for codec in codecs)


def array_bytes(record: Mapping[str, Any], path: Path) -> tuple[int, int]:
    """Memory that an array of a store takes, and a chunk of it; 0 of a group."""
    if record.get("node_type") == "group":
        return 0, 0
    shape, kind, codecs = (record.get(key) for key in ("shape", "data_type", "codecs"))
    grid = record.get("chunk_grid")
    chunk = grid.get("configuration", {}).get("chunk_shape") if isinstance(grid, dict) else None
    for sizes in (shape, chunk):
        if not isinstance(sizes, list) or not all(isinstance(n, int) and n >= 0 for n in sizes):
            raise InputError(str(path), f"shape {sizes!r:.80}", ALLOWED)
    if kind not in TYPES:
        raise InputError(str(path), f"data of type {kind!r:.80}", ALLOWED)
    named = [codec.get("name") if isinstance(codec, dict) else codec for codec in codecs or ()]
    if not all(isinstance(name, str) and name in CODECS for name in named):
        raise InputError(str(path), f"codecs {named!r:.80}", f"{ALLOWED}: {', '.join(CODECS)}")
    if record.get("storage_transformers"):
        raise InputError(str(path), "storage transformers", ALLOWED)
    if kind == "string" and record.get("fill_value"):
        raise InputError(str(path), "an array that is filled with a text", ALLOWED)
    whole, part = (math.prod(cast(list[int], sizes)) for sizes in (shape, chunk))
    return whole * ITEM_BYTES, part * ITEM_BYTES
