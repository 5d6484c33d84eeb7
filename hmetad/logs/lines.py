"""JSON Lines, one at a time.

Path of a file with one JSON object per line → iterator over (line number, line, object).
"""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from hmetad.errors import InputError

__all__ = ["Line", "json_lines", "parsed"]

LONGEST_LINE = 256 * 2**20


class Line(NamedTuple):
    """An object of a file, with its place as messages name it and its bytes."""

    place: str
    content: bytes
    record: dict[str, Any]


def json_lines(path: Path) -> Iterator[Line]:
    r"""Objects of a JSON Lines file; memory holds one line at a time.

    Parameters
    ----------
    path : Path
        File in UTF-8; empty lines are passed over.

    Yields
    ------
    Line
        Each object with its place.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is no JSON object, is cut off, or is longer than
        256 MiB.

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
            for number in count(1):
                content = file.readline(LONGEST_LINE + 1)
                if not content:
                    return
                place = f"{path}, line {number}"
                if len(content) > LONGEST_LINE:
                    allowed = f"lines of at most {LONGEST_LINE // 2**20} MiB"
                    raise InputError(place, "a longer line", allowed)
                if content.strip():
                    yield Line(place, content, parsed(place, content))
    except OSError as error:
        got = f"a file that cannot be read ({error.strerror or error})"
        raise InputError(str(path), got, "JSON Lines") from error


def parsed(place: str, content: bytes) -> dict[str, Any]:
    """JSON object of some bytes, or an error that names their place.

    Parameters
    ----------
    place : str
        File, and line or member, for the message.
    content : bytes
        A JSON object.

    Returns
    -------
    dict
        The object.

    Raises
    ------
    InputError
        If the bytes are anything else.

    Examples
    --------
    >>> parsed("a.json", b"[1]")
    Traceback (most recent call last):
    hmetad.errors.InputError: a.json: got a list, allowed is a JSON object.
    """
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        got = f"text that is no JSON ({str(error).splitlines()[0]})"
        step = "Perhaps it was cut off while it was written or copied; copy it again."
        raise InputError(place, got, "a JSON object", step) from error
    if not isinstance(record, dict):
        raise InputError(place, f"a {type(record).__name__}", "a JSON object")
    return record
