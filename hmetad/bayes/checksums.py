"""Checksums of saved fits, checked before anything else of a file is read.

Bytes of a file → the same with their checksum at the end; path → nothing, or InputError where the
bytes have changed. A checksum finds damage; it does not say who wrote a file. A damaged file is
not given to HDF5, which can run without end on it.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hmetad.errors import InputError

__all__ = ["folder_checksum", "refuse_changed_file", "refuse_changed_folder", "with_checksum"]

# Readers of netCDF and HDF5 leave alone what stands after the end of their data.
START = b"\nhmetad sha256 "
HDF5 = b"\x89HDF\r\n\x1a\n"
LENGTH = len(START) + 64 + 1
CHUNK = 2**20
AS_WRITTEN = "a fit as hmetad wrote it"
CHANGED = "It is damaged, or was changed after it was written: fit the counts again."


def with_checksum(content: bytes) -> bytes:
    """The content of a file, and its SHA-256 after it.

    Examples
    --------
    >>> with_checksum(b"draws").split()[:3]
    [b'draws', b'hmetad', b'sha256']
    """
    return content + START + hashlib.sha256(content).hexdigest().encode() + b"\n"


def refuse_changed_file(path: Path) -> None:
    """Refuse a file that does not end with the checksum of what stands before.

    Raises
    ------
    InputError
        If it is no netCDF, has no checksum, or another.
    """
    size = path.stat().st_size - LENGTH
    with path.open("rb") as file:
        digest = hashlib.sha256()
        for start in range(0, max(size, 0), CHUNK):
            digest.update(file.read(min(CHUNK, size - start)))
        end = file.read(LENGTH + 1)
    if not begins_as_hdf5(path):
        step = "Name a fit (.nc), or a folder of draws."
        raise InputError(str(path), "no netCDF", AS_WRITTEN, step)
    if not (end.startswith(START) and end.endswith(b"\n") and len(end) == LENGTH):
        step = (
            "It is cut short, or another program wrote it. If you trust it, open it with "
            "xarray.open_datatree and write it with save_fit."
        )
        raise InputError(str(path), "a file without a checksum", "one that save_fit wrote", step)
    if end != START + digest.hexdigest().encode() + b"\n":
        raise InputError(str(path), "content that does not match its checksum", AS_WRITTEN, CHANGED)


def begins_as_hdf5(path: Path) -> bool:
    """Whether a file begins as netCDF of today does."""
    with path.open("rb") as file:
        return file.read(len(HDF5)) == HDF5


def folder_checksum(folder: Path, *but: str) -> str:
    """SHA-256 of all files of a folder and of their paths in it, but for those named."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name in but:
            continue
        of_file = hashlib.sha256()
        for chunk in chunks_of(path):
            of_file.update(chunk)
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0" + of_file.digest())
    return digest.hexdigest()


def chunks_of(path: Path) -> Iterator[bytes]:
    """Content of a file in pieces."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def refuse_changed_folder(folder: Path, recorded: object, *but: str) -> None:
    """Refuse a folder whose checksum is not the recorded one.

    Raises
    ------
    InputError
        If it is another.
    """
    if recorded != folder_checksum(folder, *but):
        raise InputError(
            str(folder), "content that does not match its checksum", AS_WRITTEN, CHANGED
        )
