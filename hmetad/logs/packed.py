"""Bytes of logs: members of archives, and files that are read at once, within the limits."""

import lzma
import struct
import sys
import zlib
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

from hmetad.base.errors import FileError
from hmetad.logs.limits import LIMITS, Limits, beyond

__all__ = ["UNREADABLE", "member_content", "whole_file"]

UNREADABLE: tuple[type[Exception], ...] = (
    BadZipFile,
    lzma.LZMAError,
    EOFError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
    struct.error,
    zlib.error,
)
if sys.version_info >= (3, 14):
    from compression import zstd

    UNREADABLE += (zstd.ZstdError,)
else:
    try:
        # Importing it teaches zipfile the compression of Inspect's archives.
        import zipfile_zstd  # noqa: F401
        import zstandard

        UNREADABLE += (zstandard.ZstdError,)
    except ImportError:
        # Archives of Zstandard are then refused with what to install.
        pass

ZIP_ZSTD = 93
# What Zstandard packed is unpacked as a whole, whatever size was asked for: up to 128 MiB of 4 KiB.
PACKED_PIECE = 4096
DEFLATED_PIECE = 2**16


def member_content(archive: ZipFile, info: ZipInfo) -> bytes:
    """Bytes of a member of an archive; never more than it declares, nor than a piece beyond that.

    Parameters
    ----------
    archive : ZipFile
        Open for reading.
    info : ZipInfo
        Of the member.

    Returns
    -------
    bytes
        All of them.

    Raises
    ------
    BadZipFile
        If they are not what the archive says; or another of ``UNREADABLE``.

    Examples
    --------
    >>> import io
    >>> archive = ZipFile(io.BytesIO(), "w")
    >>> archive.writestr("a", b"text")
    >>> member_content(archive, archive.getinfo("a"))
    b'text'
    """
    check_kind(info)
    piece = PACKED_PIECE if info.compress_type == ZIP_ZSTD else DEFLATED_PIECE
    with archive.open(info) as member:
        return b"".join(iter(lambda: member.read(piece), b""))


def whole_file(path: Path, allowed: str, limits: Limits = LIMITS) -> bytes:
    """Bytes of a file that is read as a whole.

    Parameters
    ----------
    path : Path
        File, not unpacked.
    allowed : str
        What it should be, for messages.
    limits : Limits, optional
        Of its size.

    Returns
    -------
    bytes
        All of them.

    Raises
    ------
    InputError
        If it cannot be read, or is too large.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.json")
    ...     _ = path.write_bytes(b"{}")
    ...     whole_file(path, "JSON")
    b'{}'
    """
    try:
        with path.open("rb") as file:
            content = file.read(limits.unpacked + 1)
    except OSError as error:
        got = f"a file that cannot be read ({error.strerror or error})"
        raise FileError(str(path), got, allowed) from error
    if len(content) > limits.unpacked:
        raise beyond(str(path), "unpacked", "a larger file", limits)
    return content


def check_kind(info: ZipInfo) -> None:
    """Refuse compressions of which a few bytes are unpacked to gigabytes, whatever is asked for."""
    if info.compress_type in (ZIP_BZIP2, ZIP_LZMA):
        raise BadZipFile("a member that is neither stored, deflated nor compressed by Zstandard")
