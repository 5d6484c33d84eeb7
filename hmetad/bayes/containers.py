"""Files and folders of arrays, looked at before they are opened as such.

Path of an HDF5 file or a zarr store → nothing, or InputError where it holds more than plain arrays
within limits. Both formats can do more than hold arrays: links to other files, data that are
decoded by Python's pickle, a few bytes that stand for terabytes. A fit needs none of that.
"""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from hmetad.errors import InputError
from hmetad.untrusted import parse_json

__all__ = ["MAX_BYTES", "read_text", "reading", "refuse_unusual_hdf5", "refuse_unusual_zarr"]

MAX_BYTES = 16 * 2**30
MAX_OBJECTS = 20_000
MAX_FILES = 5_000_000
MAX_RECORD = 20_000_000
ALLOWED = "a fit written by hmetad"
# What nutpie writes. Older versions of zarr can name pickle as a codec.
CODECS = {"bytes", "blosc", "zstd", "gzip", "crc32c", "vlen-utf8", "transpose"}
ITEM_SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
ITEM_SIZES |= {"int64": 8, "uint64": 8, "float32": 4, "float64": 8, "string": 8}
OLD_RECORDS = {".zarray", ".zgroup", ".zattrs", ".zmetadata"}


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Make one kind of error of all that opening a damaged file can raise.

    Examples
    --------
    >>> with reading("fit.nc"):
    ...     raise KeyError("posterior")
    Traceback (most recent call last):
    hmetad.errors.InputError: fit.nc: got a file that cannot be read (KeyError: 'posterior'), \
allowed is a fit written by hmetad. It is damaged, or something else.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # HDF5, h5py, zarr, NumPy and xarray each fail in ways of their own on damaged bytes.
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        got, step = f"a file that cannot be read ({said})", "It is damaged, or something else."
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
        is_text = h5py.check_string_dtype(array.dtype) is not None
        if array.is_virtual or array.external:
            raise InputError(str(path), f"{array.name}, whose data lie elsewhere", ALLOWED)
        if not is_text and array.dtype.kind not in "biufSU":
            raise InputError(str(path), f"{array.name} of type {array.dtype}", ALLOWED)
    return arrays


def members(group: h5py.Group, path: Path) -> list[Any]:
    """What lies in a group, none of it behind a link to elsewhere."""
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise InputError(str(path), f"{name!r}, a link to elsewhere", ALLOWED)
    return [group[name] for name in group]


def bytes_of(array: h5py.Dataset) -> int:
    """Memory that an array takes; a text counts as a pointer."""
    return math.prod(array.shape or ()) * max(array.dtype.itemsize, 1)


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
    size = sum(
        array_bytes(read_record(path), path)
        for path in files_in(folder)
        if path.name == "zarr.json"
    )
    refuse_too_large(folder, size, max_bytes)


def files_in(folder: Path) -> Iterator[Path]:
    """Files of a folder and of those in it, none of which is a link."""
    for number, (root, folders, files) in enumerate(os.walk(folder)):
        if number > MAX_FILES:
            raise InputError(str(folder), f"more than {MAX_FILES} folders", ALLOWED)
        for name in (*folders, *files):
            path = Path(root, name)
            if path.is_symlink() or name in OLD_RECORDS:
                raise InputError(str(path), "a link, or a record of an older zarr", ALLOWED)
        yield from (Path(root, name) for name in files)


def read_record(path: Path) -> Mapping[str, Any]:
    """What a group or an array of a store says of itself."""
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


def array_bytes(record: Mapping[str, Any], path: Path) -> int:
    """Memory that an array of a store takes; 0 of a group."""
    if record.get("node_type") == "group":
        return 0
    shape, kind, codecs = (record.get(key) for key in ("shape", "data_type", "codecs"))
    if not isinstance(shape, list) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise InputError(str(path), f"shape {shape!r:.80}", ALLOWED)
    if kind not in list(ITEM_SIZES):
        raise InputError(str(path), f"data of type {kind!r:.80}", ALLOWED)
    named = [codec.get("name") if isinstance(codec, dict) else codec for codec in codecs or ()]
    if not all(isinstance(name, str) and name in CODECS for name in named):
        raise InputError(str(path), f"codecs {named!r:.80}", f"{ALLOWED}: {', '.join(CODECS)}")
    if record.get("storage_transformers"):
        raise InputError(str(path), "storage transformers", ALLOWED)
    return math.prod(shape) * ITEM_SIZES[str(kind)]
