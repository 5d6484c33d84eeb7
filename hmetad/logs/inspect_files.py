"""The files of Inspect: zip archives of JSON, or one JSON file.

Path of a log, or of a folder of logs → the paths; a log → its header and its samples.
Source: version 2 of the log format of Inspect. Members are read in memory; none is extracted.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile, ZipInfo

from hmetad.errors import InputError
from hmetad.logs.kinds import READERS
from hmetad.logs.trials import safe_text
from hmetad.rows.limits import LIMITS, Limits, beyond, check_ratio, check_unpacked
from hmetad.rows.lines import parse_line
from hmetad.rows.packed import UNREADABLE, member_content, whole_file

__all__ = ["Log", "log_paths", "open_log"]

Place = tuple[str, dict[str, Any]]

VERSION = 2
DRIVE = re.compile("[A-Za-z]:")
ALLOWED = "a log of Inspect, .eval or .json"
CUT_OFF = "Perhaps it was cut off while it was written or copied; copy it again."


class Log(NamedTuple):
    """A log: its task, model and status, and its samples with their places."""

    task: str
    model: str
    status: str
    samples: Iterator[Place]


def log_paths(path: Path) -> list[Path]:
    """The log itself, or the logs in a folder, sorted.

    Parameters
    ----------
    path : Path
        A log, or a folder with logs at any depth.

    Returns
    -------
    list of Path
        At least one.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "a.eval").touch()
    ...     Path(folder, "logs.json").touch()
    ...     [found.name for found in log_paths(Path(folder))]
    ['a.eval']
    """
    if path.is_file():
        if path.suffix not in (".eval", ".json"):
            raise InputError(str(path), f"suffix {path.suffix!r}", ALLOWED)
        return [path]
    if not path.is_dir():
        raise InputError(str(path), "no such file", f"{ALLOWED}, or a folder of them")
    found = [file for pattern in READERS["inspect"].files for file in path.rglob(pattern)]
    if not found:
        raise InputError(str(path), "a folder without logs", f"{ALLOWED}, or a folder of them")
    return sorted(file for file in found if file.is_file())


def open_log(path: Path, limits: Limits = LIMITS) -> Log:
    """Header of a log, and an iterator over its samples that holds one of an archive at a time.

    Parameters
    ----------
    path : Path
        File .eval (a zip archive, Zstandard or not) or .json.
    limits : Limits, optional
        Of the archive, its members, and the JSON in them.

    Returns
    -------
    Log
        The samples come with file and member, for messages.

    Raises
    ------
    InputError
        If the file is no such log, is cut off, is of another version, has no samples, or has a
        member whose name points out of the archive; or if it goes beyond a limit.

    Examples
    --------
    >>> import json
    >>> from tempfile import TemporaryDirectory
    >>> header = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "gpt"}}
    >>> with TemporaryDirectory() as folder:
    ...     with ZipFile(Path(folder, "a.eval"), "w") as archive:
    ...         archive.writestr("header.json", json.dumps(header))
    ...         archive.writestr("samples/1_epoch_1.json", '{"id": 1, "epoch": 1}')
    ...     log = open_log(Path(folder, "a.eval"))
    ...     log.task, [sample for _, sample in log.samples]
    ('sums', [{'id': 1, 'epoch': 1}])
    """
    if path.suffix == ".eval":
        names = member_names(path, limits)
        head = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
        if head is None:
            raise InputError(str(path), "an archive without header.json", ALLOWED)
        ((place, header),) = members(path, [head], limits)
        inside = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
        samples = members(path, inside, limits)
    else:
        place = str(path)
        header = json_file(path, limits)
        listed = header.get("samples")
        inside = listed if isinstance(listed, list) else []
        samples = number_samples(path, inside)
    if not inside:
        step = "Logs keep their samples unless --no-log-samples says otherwise."
        raise InputError(str(path), "a log without samples", "at least one sample", step)
    return describe_log(place, header, samples)


def describe_log(place: str, header: dict[str, Any], samples: Iterator[Place]) -> Log:
    """Log with the task, model and status of its header."""
    if "version" not in header or "eval" not in header:
        raise InputError(place, "an object without 'version' and 'eval'", ALLOWED)
    version = header["version"]
    if isinstance(version, bool) or version != VERSION:
        step = "Inspect converts its logs: inspect log convert."
        raise InputError(place, f"log version {version!r}", f"version {VERSION}", step)
    spec = header["eval"]
    names = [spec.get(key) for key in ("task", "model")] if isinstance(spec, dict) else []
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise InputError(place, "'eval' without a task and a model", ALLOWED)
    # A log that was never finished has no status.
    status = safe_text(header.get("status", "started"))
    return Log(safe_text(names[0]), safe_text(names[1]), status, samples)


def member_names(path: Path, limits: Limits) -> list[str]:
    """Names of the members; of several with one name the last counts, as in any archive."""
    try:
        with ZipFile(path) as archive:
            infos = archive.NameToInfo
    except UNREADABLE as error:
        raise unreadable(str(path), error) from error
    for name in infos:
        parts = re.split(r"[\\/]", name)
        if ".." in parts or not parts[0] or DRIVE.match(name):
            got = f"a member {safe_text(name)!r}, which points out of the archive"
            raise InputError(str(path), got, ALLOWED, "Get the log from whoever made it.")
    check_archive(path, list(infos.values()), limits)
    return list(infos)


def check_archive(path: Path, infos: Sequence[ZipInfo], limits: Limits) -> None:
    """Refuse an archive with too many members, or one that is beyond measure unpacked."""
    if len(infos) > limits.members:
        raise beyond(str(path), "members", f"{len(infos):,} members", limits)
    unpacked = sum(info.file_size for info in infos)
    check_ratio(str(path), path.stat().st_size, unpacked, limits)


def members(path: Path, names: list[str], limits: Limits) -> Iterator[Place]:
    """JSON objects of members, one at a time."""
    try:
        with ZipFile(path) as archive:
            for name in names:
                place = f"{path}, member {safe_text(name)}"
                info = archive.getinfo(name)
                check_unpacked(place, info.compress_size, info.file_size, limits)
                yield place, parse_line(place, member_content(archive, info), limits)
    except InputError:
        raise
    except UNREADABLE as error:
        raise unreadable(str(path), error) from error


def unreadable(place: str, error: Exception) -> InputError:
    """Error for an archive that cannot be read, with what would help."""
    reason = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, NotImplementedError):
        step = "Below Python 3.14 they need zipfile-zstd; in the clone: pip install '.[logs]'."
        return InputError(place, f"an archive of another kind ({reason})", ALLOWED, step)
    return InputError(place, f"an archive that cannot be read ({reason})", ALLOWED, CUT_OFF)


def json_file(path: Path, limits: Limits) -> dict[str, Any]:
    """Whole of a JSON file."""
    content = whole_file(path, ALLOWED, limits)
    if not content.strip():
        raise InputError(str(path), "an empty file", ALLOWED)
    return parse_line(str(path), content, limits)


def number_samples(path: Path, samples: list[Any]) -> Iterator[Place]:
    """Samples of a JSON file, numbered from 1."""
    for number, sample in enumerate(samples, 1):
        place = f"{path}, sample {number}"
        if not isinstance(sample, dict):
            raise InputError(place, f"a {type(sample).__name__}", "a JSON object")
        yield place, sample
