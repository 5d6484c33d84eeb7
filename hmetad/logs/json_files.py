"""JSON of logs: lines of a file, members of an archive, and files that are read at once.

Path, or bytes and their place → objects of JSON, within the limits, or an error with the place.
"""

import json
import re
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

import numpy as np

from hmetad.base.errors import FileError, InputError
from hmetad.logs.limits import LIMITS, Limits, beyond
from hmetad.rows import texts

# What reading a damaged archive raises besides.
BROKEN = (BadZipFile, MemoryError, OverflowError, struct.error)
UNREADABLE: tuple[type[Exception], ...] = (*texts.UNREADABLE, *BROKEN)
# Importing it teaches zipfile the compression of Inspect's archives, below Python 3.14. Without it
# these are refused with what to install.
with suppress(ImportError):
    if sys.version_info < (3, 14):
        import zipfile_zstd  # noqa: F401
        from zstandard import ZstdError
    else:
        from compression.zstd import ZstdError
    UNREADABLE += (ZstdError,)
ZIP_ZSTD = 93
# What Zstandard packed is unpacked as a whole, whatever size was asked for: up to 128 MiB of 4 KiB.
PACKED_PIECE = 4096
DEFLATED_PIECE = 2**16
# What the structure of JSON is made of, and how each of it changes the depth.
TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
NO_MARKS = bytes(set(range(256)) - set(b"[]{},"))
STEPS = np.zeros(256, dtype=np.int8)
STEPS[list(b"[{")], STEPS[list(b"]}")] = 1, -1


def json_lines(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    r"""Objects of a JSON Lines file; memory holds one line at a time.

    Parameters
    ----------
    path : Path
        File in UTF-8; empty lines are passed over.
    limits : Limits, optional
        Of a line, and of the JSON in it.

    Yields
    ------
    tuple of str, bytes and dict
        Place of an object as messages name it, its bytes, and the object.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is no JSON object, is cut off, or goes beyond a limit.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "samples.jsonl")
    ...     _ = path.write_text('{"doc_id": 0}\n{"doc_id": 1}\n')
    ...     [record for _, _, record in json_lines(path)]
    [{'doc_id': 0}, {'doc_id': 1}]
    """
    with texts.reading(path, "JSON Lines"), path.open("rb") as file:
        for number in count(1):
            content = file.readline(limits.line + 1)
            if not content:
                return
            place = f"{path}, line {number}"
            if len(content) > limits.line:
                raise beyond(place, "line", "a longer line", limits)
            if content.strip():
                yield place, content, json_object(place, content, limits)


def json_file(path: Path, allowed: str, limits: Limits = LIMITS) -> Any:
    """JSON of a file that is read at once.

    Parameters
    ----------
    path : Path
        File, not packed.
    allowed : str
        What it should be, for messages.
    limits : Limits, optional
        Of its size, and of the JSON in it.

    Returns
    -------
    Any
        As of `json_value`.

    Raises
    ------
    InputError
        If it cannot be read, is empty, is no JSON, or goes beyond a limit.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.json")
    ...     _ = path.write_bytes(b"[1]")
    ...     json_file(path, "JSON")
    [1]
    """
    with texts.reading(path, allowed), path.open("rb") as file:
        content = file.read(limits.unpacked + 1)
    if len(content) > limits.unpacked:
        raise beyond(str(path), "unpacked", "a larger file", limits)
    if not content.strip():
        raise FileError(str(path), "an empty file", allowed)
    return json_value(str(path), content, limits)


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
    # Of these a few bytes are unpacked to gigabytes, whatever is asked for.
    if info.compress_type in (ZIP_BZIP2, ZIP_LZMA):
        raise BadZipFile("a member that is neither stored, deflated nor compressed by Zstandard")
    piece = PACKED_PIECE if info.compress_type == ZIP_ZSTD else DEFLATED_PIECE
    with archive.open(info) as member:
        return b"".join(iter(lambda: member.read(piece), b""))


def json_object(place: str, content: Any, limits: Limits = LIMITS) -> dict[str, Any]:
    """JSON object of some bytes, or one that is read already; else an error with its place.

    Parameters
    ----------
    place : str
        File, and line or member, for the message.
    content : bytes or any value
        A JSON object.
    limits : Limits, optional
        Of its nesting and its values.

    Returns
    -------
    dict
        The object.

    Raises
    ------
    InputError
        If it is anything else, or goes beyond a limit.

    Examples
    --------
    >>> json_object("a.json", b"[1]")
    Traceback (most recent call last):
    hmetad.InputError: a.json: Expected a JSON object, got a list.
    """
    record = json_value(place, content, limits) if isinstance(content, bytes) else content
    if not isinstance(record, dict):
        raise FileError(place, f"a {type(record).__name__}", "a JSON object")
    return record


def json_value(place: str, content: bytes | str, limits: Limits = LIMITS) -> Any:
    """JSON of some bytes or text from outside; all JSON of logs is read here.

    Nesting and number of values are counted in the text, before memory is taken for them.

    Parameters
    ----------
    place, content, limits
        As in `json_object`.

    Returns
    -------
    Any
        NaN and Infinity are numbers; of a key that comes twice the last value counts.

    Raises
    ------
    InputError
        If the bytes are no JSON, or go beyond a limit.

    Examples
    --------
    >>> json_value("a.json", b"[1, NaN]")
    [1, nan]
    """
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    try:
        if len(content) > min(limits.nesting, limits.values):
            check_structure(place, content, limits)
        return json.loads(content)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        got = f"text that is no JSON ({str(error).splitlines()[0]})"
        ways = ("logs.read_trials", "hmetad import table")
        steps = (
            f"Copy it again if it was cut off; a table, such as CSV, is read by {x}." for x in ways
        )
        raise FileError(place, got, "a JSON object", *steps) from error


def check_structure(place: str, content: bytes, limits: Limits) -> None:
    """Refuse JSON that is nested too deep, or has too many values.

    Commas and brackets are counted, first all of them, and if these are too many, those outside
    strings.
    """
    opened = content.count(b"[") + content.count(b"{")
    if opened <= limits.nesting and opened + content.count(b",") < limits.values:
        return
    encoding = json.detect_encoding(content)
    if not encoding.startswith("utf-8"):
        content = content.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    marks = TEXT.sub(b"", content).translate(None, NO_MARKS)
    if len(marks) - marks.count(b"]") - marks.count(b"}") >= limits.values:
        raise beyond(place, "values", "more values in one JSON text", limits)
    steps = STEPS[np.frombuffer(marks, dtype=np.uint8)]
    if np.cumsum(steps, dtype=np.int32).max(initial=0) > limits.nesting:
        raise beyond(place, "nesting", "JSON that is nested deeper", limits)
