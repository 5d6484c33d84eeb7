"""Trees of arrays on disk: netCDF files, and the folders that zarr keeps draws in.

DataTree → netCDF file, whole or not at all; path → DataTree, or InputError where it is damaged or
holds more than numbers and text within a limit on memory. HDF5 and zarr can do more than that:
links to other files, data that Python's pickle decodes, a few bytes that stand for terabytes.
"""

import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any
from urllib.parse import quote, unquote

import h5py
import xarray as xr

from hmetad.base.errors import InputError
from hmetad.base.files import write_together
from hmetad.base.untrusted import MAX_CHARACTERS, parse_json

__all__ = [
    "ALLOWED",
    "MAX_BYTES",
    "netcdf_bytes",
    "read_json",
    "read_netcdf",
    "reading",
    "refuse_too_large",
    "refuse_unusual_zarr",
    "write_netcdf",
]

MAX_BYTES = 16 * 2**30
ALLOWED = "a fit as hmetad wrote it"
# HDF5 runs without end on some damaged bytes, so damage is looked for before. Readers of netCDF
# leave alone what stands after the end of their data.
MARK = b"\nhmetad sha256 "
# netCDF lists the coordinates of a variable with blanks between their names.
BLANK = re.compile(r"[\s%]")
# What nutpie writes; zarr's registry of codecs has pickle too.
CODECS = ("bytes", "blosc", "vlen-utf8")
TYPE = re.compile("bool|string|float(32|64)|u?int(8|16|32|64)")
ITEM_BYTES = 8


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn every error that reading a damaged file can raise into InputError.

    Examples
    --------
    >>> with reading("fit.nc"):
    ...     raise KeyError("posterior")
    Traceback (most recent call last):
    hmetad.InputError: fit.nc: got a file that cannot be read (KeyError: 'posterior'), \
allowed is a fit as hmetad wrote it. It is damaged, or no fit: copy it again from its source.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # HDF5, h5py, zarr, NumPy and xarray each raise different errors on damaged bytes.
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        step = "It is damaged, or no fit: copy it again from its source."
        raise InputError(
            str(path), f"a file that cannot be read ({said})", ALLOWED, step
        ) from error


def refuse_too_large(path: Path, size: int, max_bytes: int) -> None:
    """Raise where arrays take more memory than allowed."""
    if size > max_bytes:
        step = "Raise max_bytes of load_fit, if there is the memory."
        got = f"arrays of {size / 2**30:.1f} GiB"
        raise InputError(str(path), got, f"at most {max_bytes / 2**30:.1f} GiB", step)


# netCDF


def netcdf_bytes(tree: xr.DataTree) -> bytes:
    """Content of a netCDF file, and its SHA-256 after it.

    It is made in memory, since HDF5 would end the whole process where the disk is full, and as
    bytes of its own, since a view that an error keeps alive hinders the buffer behind it from
    being closed. They are copied once.
    """
    with with_names(tree, quoted_name).to_netcdf(engine="h5netcdf") as content:
        return b"".join((content, ending(content)))


def write_netcdf(tree: xr.DataTree, path: str | Path) -> Path:
    """Write a netCDF file, whole or not at all; its suffix keeps tables from being replaced."""
    path = Path(path)
    if path.suffix != ".nc":
        raise InputError("path", repr(str(path)), "a name that ends in .nc")
    write_together({path: netcdf_bytes(tree)})
    return path


def read_netcdf(path: Path, max_bytes: int = MAX_BYTES) -> xr.DataTree:
    """Tree of a netCDF file, in memory, if it holds plain arrays alone and no more than allowed."""
    with reading(path):
        refuse_too_large(path, path.stat().st_size, max_bytes)
        if not h5py.is_hdf5(path):
            step = "Name a fit (.nc), or a folder of draws."
            raise InputError(str(path), "a file that cannot be read (no netCDF)", ALLOWED, step)
        refuse_damage(path.read_bytes())
        refuse_unusual_hdf5(path, max_bytes)
        return with_names(xr.load_datatree(path, engine="h5netcdf"), unquote)


def ending(content: bytes | memoryview) -> bytes:
    """What stands after the content of a file: a checksum, which is no signature."""
    return MARK + sha256(content).hexdigest().encode() + b"\n"


def refuse_damage(content: bytes) -> None:
    """Raise where the bytes of a file do not match its checksum; those of others have none."""
    size = content.rfind(MARK)
    if size >= 0 and content[size:] != ending(memoryview(content)[:size]):
        raise ValueError("its content does not match its checksum")


def refuse_unusual_hdf5(path: Path, max_bytes: int) -> None:
    """Raise where an HDF5 file holds more than its own arrays of numbers and text, or too much."""
    size = 0
    with h5py.File(path, "r") as file:
        groups: list[h5py.Group] = [file]
        for group in groups:
            for name in group:
                place = f"{name!r} in {group.name}"
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise InputError(str(path), f"{place}, a link to elsewhere", ALLOWED)
                item = group[name]
                if isinstance(item, h5py.Group) and group is file:
                    groups.append(item)
                    continue
                if not isinstance(item, h5py.Dataset):
                    raise InputError(str(path), f"{place}, a group inside a group", ALLOWED)
                if item.is_virtual or item.external:
                    raise InputError(str(path), f"{place}, whose data lie elsewhere", ALLOWED)
                if item.dtype.kind not in "biufSU" and not h5py.check_string_dtype(item.dtype):
                    raise InputError(str(path), f"{place} of type {item.dtype}", ALLOWED)
                # Numbers may be made wider when they are read; a text counts as a pointer.
                size += math.prod(item.shape or ()) * max(item.dtype.itemsize, ITEM_BYTES)
    refuse_too_large(path, size, max_bytes)


def with_names(tree: xr.DataTree, new_name: Callable[[str], str]) -> xr.DataTree:
    """Tree whose coordinates that are no dims bear other names."""
    groups = {}
    for node in tree.subtree:
        group = node.to_dataset(inherit=False)
        names = [str(name) for name in group.coords if name not in group.dims]
        groups[node.path] = group.rename({x: new_name(x) for x in names if new_name(x) != x})
    return xr.DataTree.from_dict(groups)


def quoted_name(name: str) -> str:
    """Name without blanks, which `unquote` brings back."""
    return quote(name, safe="|:()") if BLANK.search(name) else name


# Zarr


def refuse_unusual_zarr(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Raise where a folder holds links, other arrays than nutpie keeps draws in, or too much."""
    size = 0
    for root, folders, files in os.walk(folder):
        for path in (Path(root, name) for name in (*folders, *files)):
            if not (S_ISREG(mode := path.lstat().st_mode) or S_ISDIR(mode)):
                raise InputError(str(path), "a link or a device", ALLOWED)
        if "zarr.json" in files:
            size += array_bytes(Path(root, "zarr.json"))
    refuse_too_large(folder, size, max_bytes)


def array_bytes(path: Path) -> int:
    """Memory that an array takes, by its record: at least a chunk of it; of a group none."""
    match read_json(path):
        case {"zarr_format": 3, "node_type": "group"}:
            return 0
        case {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [*shape],
            "chunk_grid": {"configuration": {"chunk_shape": [*chunk]}},
            "data_type": kind,
            "codecs": [*codecs],
            "fill_value": filled,
        } as record:
            names = [codec.get("name") if isinstance(codec, dict) else codec for codec in codecs]
            if not TYPE.fullmatch(str(kind)) or any(name not in CODECS for name in names):
                got = f"data of type {kind!r:.80}, kept by {names!r:.80}"
                raise InputError(str(path), got, f"{ALLOWED}, by {', '.join(CODECS)}")
            is_size = all(isinstance(n, int) and n >= 0 for n in (*shape, *chunk))
            # Each entry would hold a copy of a text that fills.
            if (
                is_size
                and not record.get("storage_transformers")
                and not (kind == "string" and filled)
            ):
                return ITEM_BYTES * max(math.prod(shape), math.prod(chunk))
    raise InputError(str(path), "a record that is not as sampling writes it", ALLOWED)


def read_json(path: Path) -> Any:
    """What a small file says in JSON."""
    with reading(path), path.open("rb") as file:
        return parse_json(file.read(MAX_CHARACTERS + 1).decode(), str(path))
