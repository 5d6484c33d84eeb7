"""Files that may be compressed, opened in one way and checked before anything reads them.

Path → stream of unpacked bytes; path → lines and bytes of a text, within the limits.
"""

import bz2
import gzip
import lzma
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_BZIP2, ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

from hmetad.base.errors import InputError
from hmetad.base.files import PACKED
from hmetad.rows.limits import LIMITS, Limits, beyond, check_unpacked

__all__ = [
    "UNREADABLE",
    "TextSize",
    "member_content",
    "open_packed",
    "text_size",
    "whole_file",
]

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

        HAS_ZSTD = True
        UNREADABLE += (zstandard.ZstdError,)
    except ImportError:
        HAS_ZSTD = False

PIECE = 2**20
ZIP_ZSTD = 93
# What Zstandard packed is unpacked as a whole, whatever size was asked for: up to 128 MiB of 4 KiB.
PACKED_PIECE = 4096
DEFLATED_PIECE = 2**16
NEEDS_ZSTD = "Install what reads it; in the clone: pip install '.[logs]'."


class TextSize(NamedTuple):
    """Size of a text, unpacked."""

    size: int
    lines: int


@contextmanager
def open_packed(path: Path) -> Iterator[BinaryIO]:
    """Stream of a file's bytes, unpacked where its last suffix says that they are packed.

    Parameters
    ----------
    path : Path
        File; .gz, .bz2, .xz, .zst and .zip (with one member) are unpacked.

    Yields
    ------
    BinaryIO
        For reading.

    Raises
    ------
    InputError
        If an archive has not one member, or Zstandard is not installed. What is damaged raises
        one of ``UNREADABLE`` while it is read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv.gz")
    ...     _ = path.write_bytes(gzip.compress(b"a,b"))
    ...     with open_packed(path) as file:
    ...         file.read()
    b'a,b'
    """
    kind = path.suffix.lower()
    if kind == ".zip":
        with ZipFile(path) as archive, archive.open(only_member(path, archive)) as member:
            yield member  # type: ignore[misc]  # ZipExtFile is a stream of bytes for reading.
    else:
        openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
        openers |= {".xz": lzma.open, ".zst": open_zstd}
        with openers.get(kind, open)(path, "rb") as file:
            yield file


def text_size(path: Path, limits: Limits = LIMITS) -> TextSize:
    r"""Size and lines of a text, read through once in pieces, so that it is safe to read.

    Parameters
    ----------
    path : Path
        File, as for `open_packed`.
    limits : Limits, optional
        Of a line; and of what is compressed, unpacked.

    Returns
    -------
    TextSize
        Bytes and lines.

    Raises
    ------
    InputError
        If it goes beyond a limit, holds NUL bytes, or is cut off.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("a,b\n1,2\n")
    ...     text_size(path)
    TextSize(size=8, lines=2)
    """
    packed, is_packed = path.stat().st_size, path.suffix.lower() in PACKED
    size = lines = line = 0
    with open_packed(path) as file:
        for piece in pieces(file, path):
            size += len(piece)
            if is_packed:
                check_unpacked(str(path), packed, size, limits)
            ends = piece.count(b"\n") + (0 if b"\n" in piece else piece.count(b"\r"))
            lines += ends
            line = 0 if ends else line + len(piece)
            if line > limits.line:
                raise beyond(str(path), "line", "a longer line", limits)
            if b"\0" in piece:
                step = "Save it as text in UTF-8."
                raise InputError(str(path), "NUL bytes", "text in UTF-8", step)
    if path.suffix.lower() == ".zst":
        check_frames(path)
    return TextSize(size, lines)


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
        raise InputError(str(path), got, allowed) from error
    if len(content) > limits.unpacked:
        raise beyond(str(path), "unpacked", "a larger file", limits)
    return content


def pieces(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Unpacked bytes, some at a time."""
    piece = PACKED_PIECE if path.suffix.lower() == ".zip" else PIECE
    return iter(lambda: file.read(piece), b"")


def only_member(path: Path, archive: ZipFile) -> ZipInfo:
    """The one member of an archive."""
    infos = archive.infolist()
    if len(infos) != 1:
        got = f"an archive with {len(infos)} members"
        raise InputError(str(path), got, "an archive with one table", "Unpack it.")
    check_kind(infos[0])
    return infos[0]


def check_kind(info: ZipInfo) -> None:
    """Refuse compressions of which a few bytes are unpacked to gigabytes, whatever is asked for."""
    if info.compress_type in (ZIP_BZIP2, ZIP_LZMA):
        raise BadZipFile("a member that is neither stored, deflated nor compressed by Zstandard")


def open_zstd(path: Path, mode: str) -> Any:
    """Stream of a file that Zstandard has compressed, in one frame or several."""
    if sys.version_info >= (3, 14):
        return zstd.open(path, mode)
    if not HAS_ZSTD:
        raise InputError(
            str(path), "a file compressed by Zstandard", "what is installed", NEEDS_ZSTD
        )
    return zstandard.ZstdDecompressor().stream_reader(path.open(mode), read_across_frames=True)


def check_frames(path: Path) -> None:
    """Refuse a last frame that is cut off, which the stream of older Pythons passes over."""
    if sys.version_info >= (3, 14):
        return
    frame = None
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            while piece:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                frame.decompress(piece)
                piece, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("the last frame is cut off")
