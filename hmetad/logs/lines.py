"""JSON Lines, one at a time.

Path of a file with one JSON object per line → iterator over (line number, line, object).
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from hmetad.base.errors import FileError, InputError
from hmetad.logs.limits import LIMITS, Limits, beyond

__all__ = ["Line", "json_lines", "json_value", "lines_of", "parse_line"]

# What the structure of JSON is made of, and how each of it changes the depth.
QUOTE = ord('"')
NO_MARKS = bytes(set(range(256)) - set(b'"[]{},'))
STEPS = np.zeros(256, dtype=np.int8)
STEPS[list(b"[{")], STEPS[list(b"]}")] = 1, -1
BLOCK = 2**20
# What any JSON begins with, or a file of blanks; it is looked for in the first bytes.
BEGINNING = re.compile(r"[\ufeff\s]*($|[\[{\"0-9-]|true|false|null|NaN|Infinity)")
OPENING = 200


class Line(NamedTuple):
    """An object of a file, with its place as messages name it and its bytes."""

    place: str
    content: bytes
    record: dict[str, Any]


def json_lines(path: Path, limits: Limits = LIMITS) -> Iterator[Line]:
    r"""Objects of a JSON Lines file; memory holds one line at a time.

    Parameters
    ----------
    path : Path
        File in UTF-8; empty lines are passed over.
    limits : Limits, optional
        Of a line, and of the JSON in it.

    Yields
    ------
    Line
        Each object with its place.

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
    ...     [line.record for line in json_lines(path)]
    [{'doc_id': 0}, {'doc_id': 1}]
    """
    try:
        with path.open("rb") as file:
            yield from lines_of(file, path, limits)
    except OSError as error:
        got = f"a file that cannot be read ({error.strerror or error})"
        raise FileError(str(path), got, "JSON Lines") from error


def lines_of(file: BinaryIO, path: Path, limits: Limits = LIMITS) -> Iterator[Line]:
    r"""Objects of an open JSON Lines file; memory holds one line at a time.

    Parameters
    ----------
    file : BinaryIO
        Its bytes.
    path : Path
        Its name, for messages.
    limits : Limits, optional
        As in `json_lines`.

    Yields
    ------
    Line
        Each object with its place.

    Raises
    ------
    InputError
        If a line is no JSON object, or goes beyond a limit.

    Examples
    --------
    >>> import io
    >>> [line.record for line in lines_of(io.BytesIO(b'{"doc_id": 0}'), Path("a.jsonl"))]
    [{'doc_id': 0}]
    """
    name, longest = str(path), limits.line + 1
    for number in count(1):
        content = file.readline(longest)
        if not content:
            return
        place = f"{name}, line {number}"
        if len(content) > limits.line:
            raise beyond(place, "line", "a longer line", limits)
        if content.strip():
            yield Line(place, content, parse_line(place, content, limits))


def parse_line(place: str, content: bytes, limits: Limits = LIMITS) -> dict[str, Any]:
    """JSON object of some bytes, or an error that names their place.

    Parameters
    ----------
    place : str
        File, and line or member, for the message.
    content : bytes
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
        If the bytes are anything else, or go beyond a limit.

    Examples
    --------
    >>> parse_line("a.json", b"[1]")
    Traceback (most recent call last):
    hmetad.InputError: a.json: Expected a JSON object, got a list.
    """
    record = json_value(place, content, limits)
    if not isinstance(record, dict):
        raise FileError(place, f"a {type(record).__name__}", "a JSON object")
    return record


def json_value(place: str, content: bytes, limits: Limits = LIMITS) -> Any:
    """JSON of some bytes from outside; all JSON of logs is read here.

    Nesting and number of values are counted in the text, before memory is taken for them.

    Parameters
    ----------
    place, content, limits
        As in `parse_line`.

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
    try:
        if len(content) > min(limits.nesting, limits.values):
            check_structure(place, content, limits)
        return json.loads(content)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise no_json(place, content, error) from error


def check_structure(place: str, content: bytes, limits: Limits) -> None:
    """Refuse JSON that is nested too deep, or has too many values.

    Commas and brackets are counted, first all of them, and where these are too many those outside
    strings. Counting ends beyond a limit.
    """
    opened = content.count(b"[") + content.count(b"{")
    if opened <= limits.nesting and opened + content.count(b",") < limits.values:
        return
    values, depth, is_inside = 1, 0, 0
    marks = structure_marks(content)
    for start in range(0, len(marks), BLOCK):
        block = np.frombuffer(marks[start : start + BLOCK], dtype=np.uint8)
        is_quote = block == QUOTE
        inside = (np.cumsum(is_quote) + is_inside) % 2
        steps = STEPS[block[(inside == 0) & ~is_quote]]
        depths = depth + np.cumsum(steps, dtype=np.int64)
        nesting = int(depths.max(initial=0))
        values += int((steps >= 0).sum())
        if values > limits.values:
            raise beyond(place, "values", "more values in one JSON text", limits)
        if nesting > limits.nesting:
            raise beyond(place, "nesting", "JSON that is nested deeper", limits)
        is_inside, depth = int(inside[-1]), int(depths[-1]) if depths.size else depth


def structure_marks(content: bytes) -> bytes:
    """Quotes, brackets and commas of a JSON text; no quote that is escaped."""
    text = as_utf8(content)
    if b"\\" in text:
        text = text.replace(rb"\\", b"").replace(rb"\"", b"")
    return text.translate(None, NO_MARKS)


def as_utf8(content: bytes) -> bytes:
    """JSON text in UTF-8, in whichever encoding it came."""
    encoding = json.detect_encoding(content)
    if encoding.startswith("utf-8"):
        return content
    return content.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")


def no_json(place: str, content: bytes, error: Exception) -> InputError:
    """Error for bytes that are no JSON, or hold a number that is too long."""
    reason = str(error).splitlines()[0]
    if reason.startswith("Exceeds the limit"):
        allowed = f"whole numbers of at most {sys.get_int_max_str_digits()} digits"
        return FileError(place, "a longer number", allowed)
    step = "Perhaps it was cut off while it was written or copied; copy it again."
    if not begins_as_json(content):
        step = (
            "It does not begin as JSON does. A table, such as CSV, is read by "
            "`hmetad import table`, and by logs.read_trials."
        )
    return FileError(place, f"text that is no JSON ({reason})", "a JSON object", step)


def begins_as_json(content: bytes) -> bool:
    """Whether the first sign of a text may begin JSON, or there is none."""
    opening = content[:OPENING].decode(json.detect_encoding(content), "replace")
    return BEGINNING.match(opening) is not None
