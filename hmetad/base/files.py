"""Files written whole or not at all: the one writer of every output; and which files are read.

Path → content, for each → files on disk. Each is whole; all are written before the first is moved.
Path, folder or pattern → the files that it means.

What is new is written beside its place, brought to the disk and moved into place. A run that is
killed at any moment leaves the old files, the new ones, or beside them a file whose name says
whose it is (``.report.html.HOST-PID-1a2b3c4d.hmetad``), which the next run that writes there
removes.
"""

import os
import re
import signal
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EACCES, EISDIR, EPERM
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path

from hmetad.base.errors import FileError

# Suffixes of tables, of texts that are tables where their delimiter is known, and of what may be
# compressed.
TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
TEXTS = (".txt", ".dat")
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
# Suffixes of files of the programs of labs, which are read when they are named.
LABS = (".sav", ".zsav", ".dta", ".xlsx", ".xlsm", ".json")

# SIGHUP is not known everywhere.
ENDING_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
# Names may have 255 bytes: of the target's, the start.
START_BYTES = 40
NODE = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
HOST = re.sub(r"\W", "_", NODE, flags=re.ASCII)[:40]
UNFINISHED = re.compile(rf"\..*\.{re.escape(HOST)}-(\d+)-[0-9a-f]{{8}}\.hmetad", re.DOTALL)

# Of each write that this process has begun, the files and folders it has made so far; and the
# files that are in their places.
unfinished: dict[int, list[Path]] = {}
finished: list[Path] = []


def write_together(contents: Mapping[Path, str | bytes | memoryview]) -> None:
    """Write each file beside its place, then move them into place in the order given.

    Until everything is written, what was there stays. After an error or an interrupt no new file
    or folder is left behind. Folders that are missing are made. A link to a file stays a link,
    and a file keeps its permissions.

    Parameters
    ----------
    contents : mapping of Path to str, bytes or memoryview
        Text is written in UTF-8. Put last the file that refers to the others.

    Raises
    ------
    OSError
        If the disk is full, a folder cannot be written to, or no file can stand in a place; it
        names the output.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder, "page.html")
    ...     write_together({page: "<p>d′ = 1</p>"})
    ...     page.read_text(encoding="utf-8"), len(list(Path(folder).iterdir()))
    ('<p>d′ = 1</p>', 1)
    """
    targets = {path: Path(os.path.realpath(path)) for path in contents}
    mine: list[Path] = []
    unfinished[id(mine)] = mine
    try:
        for path in contents:
            with name_errors(path):
                refuse_place(path)
                make_folder(targets[path].parent, mine)
        for folder in {target.parent for target in targets.values()}:
            remove_left_over(folder)
        beside = {}
        for path, content in contents.items():
            with name_errors(path):
                beside[path] = stage(targets[path], content, mine)
        with undisturbed():
            for path, new in beside.items():
                with name_errors(path):
                    os.replace(new, targets[path])
                mine.remove(new)
                finished.append(path)
        for folder in {folder.parent for folder in (*mine, *targets.values())}:
            sync_folder(folder)
        mine.clear()
    finally:
        clear(mine)
        del unfinished[id(mine)]


def written_files() -> tuple[Path, ...]:
    """Files that this process has written, in their order."""
    return tuple(finished)


def clear_unfinished() -> None:
    """Remove what this process has begun to write and not finished; for those that end it."""
    for begun in list(unfinished.values()):
        clear(begun)


def refuse_place(path: Path) -> None:
    """Raise where a folder, a device or a file that is not to be changed stands in the place.

    Parameters
    ----------
    path : Path
        Of an output.

    Raises
    ------
    OSError
        If so.

    Examples
    --------
    >>> refuse_place(Path("/"))
    Traceback (most recent call last):
        ...
    IsADirectoryError: [Errno 21] a folder stands where a file should go: '/'
    """
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "a folder stands where a file should go", str(path))
    if path.exists() and not path.is_file():
        raise PermissionError(EPERM, "what stands there is no file", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(EACCES, "the file that is there may not be changed", str(path))


def files_of(
    place: Path, suffixes: Sequence[str] = TABLES
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Files of a path, a folder or a pattern, with the columns that their folders are named for.

    Parameters
    ----------
    place : Path
        A file is taken as it is, whether it is there or not.
    suffixes : sequence of str, optional
        Of the files that are taken from a folder or fit a pattern; where there are none, texts.

    Yields
    ------
    tuple of Path and dict
        Sorted; of a folder named ``column=value`` the dict says so.

    Raises
    ------
    InputError
        If a folder or a pattern has no such file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "notes.md"):
    ...         Path(folder, name).touch()
    ...     [file.name for file, _ in files_of(Path(folder, "*"))]
    ['a.csv', 'b.csv']
    """
    where = search_of(place)
    if where is None:
        yield place, {}
        return
    root, _ = where
    shown = [path for path in sorted(found_in(place)) if not is_hidden(path.relative_to(root))]
    found = [path for path in shown if is_table(path.name, suffixes)]
    found = found or [path for path in shown if is_table(path.name, TEXTS)]
    if not found:
        step = "Put a pattern in quotes, so that no shell changes it."
        raise FileError(
            str(place), "no table there", f"files ending in {', '.join(suffixes)}", step
        )
    for path in found:
        named = (part.partition("=") for part in path.relative_to(root).parts[:-1])
        yield path, {name: value for name, sign, value in named if sign and name}


def found_in(place: Path) -> list[Path]:
    """Files of any name in a folder or of a pattern; a file alone, whether it is there or not.

    Examples
    --------
    >>> [file.name for file in found_in(Path("trials.csv"))]
    ['trials.csv']
    """
    where = search_of(place)
    return [place] if where is None else [x for x in where[0].glob(where[1]) if x.is_file()]


def no_file_error(path: Path, allowed: str, step: str = "") -> FileError:
    """Error for a path that is not that of a file, with what is there.

    Examples
    --------
    >>> print(no_file_error(Path("/"), "a table"), no_file_error(Path("none.csv"), "a table"))
    /: Expected a table, got a folder. none.csv: Expected a table, got no such file.
    """
    got = "a folder" if path.is_dir() else "no such file"
    if path.exists() and not path.is_dir():
        got, step = "a pipe or device", "Write its content to a file, and name that file."
    return FileError(str(path), got, allowed, step)


def would_find(place: Path, output: Path) -> bool:
    """Whether a folder or a pattern would find a file of this name, once it is there.

    Examples
    --------
    >>> would_find(Path("*.csv"), Path("new.csv")), would_find(Path("*.csv"), Path("new.nc"))
    (True, False)
    """
    where = search_of(place)
    if where is None or is_hidden(Path(output.name)):
        return False
    root, pattern = where[0], Path(where[1])
    pattern = pattern / "*" if pattern.name == "**" else pattern
    parts, place = pattern.parts[:-1], output.parent
    if not place.is_dir():
        # The folder itself is not there yet.
        if not parts or is_hidden(Path(place.name)) or not fnmatch(place.name, parts[-1]):
            return False
        parts, place = parts if parts[-1] == "**" else parts[:-1], place.parent
    folders = root.glob(str(Path(*parts))) if parts else [root]
    return fnmatch(output.name, pattern.name) and any(
        folder.is_dir() and not is_hidden(folder.relative_to(root)) and folder.samefile(place)
        for folder in folders
        if place.is_dir()
    )


def search_of(place: Path) -> tuple[Path, str] | None:
    """Folder that is searched, and the pattern of the files in it; None of a file alone."""
    if place.is_file() or not (place.is_dir() or has_magic(str(place))):
        return None
    if place.is_dir():
        return place, "**/*"
    root = next(folder for folder in place.parents if not has_magic(str(folder)))
    return root, str(place.relative_to(root))


def is_table(name: str, suffixes: Sequence[str] = TABLES) -> bool:
    """Whether a file has the suffix of a table.

    Examples
    --------
    >>> is_table("a.csv.gz"), is_table("notes.md")
    (True, False)
    """
    own = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() not in PACKED]
    return bool(own) and own[-1] in suffixes


def is_hidden(path: Path) -> bool:
    """Whether a file, or a folder that it is in, has the name of one to be passed over."""
    return any(part.startswith((".", "_")) for part in path.parts)


def make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and its parents if they are missing, and remember which."""
    if not folder.exists():
        make_folder(folder.parent, made)
        made.append(folder)
        folder.mkdir(exist_ok=True)


def remove_left_over(folder: Path) -> None:
    """Remove what runs that have ended left in a folder unfinished."""
    with suppress(OSError):
        for name in os.listdir(folder):
            found = UNFINISHED.fullmatch(name)
            if found and is_left_over(folder / name, int(found[1])):
                (folder / name).unlink()


def is_left_over(path: Path, process: int) -> bool:
    """Whether nobody goes on writing a file: a process of this machine that has ended."""
    if process == os.getpid():
        return not any(path in begun for begun in list(unfinished.values()))
    if os.name != "posix":
        return False  # Elsewhere the question would end the process.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def stage(target: Path, content: str | bytes | memoryview, made: list[Path]) -> Path:
    """Write a file beside its place and through to the disk; remember it."""
    start = os.fsencode(target.name)[:START_BYTES].decode("utf-8", "ignore")
    beside = target.parent / f".{start}.{HOST}-{os.getpid()}-{os.urandom(4).hex()}.hmetad"
    made.append(beside)
    with beside.open("xb") as file:
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    return beside


def clear(made: list[Path]) -> None:
    """Remove files and folders in the order against that of their making."""
    while made:
        # It may not have been made, or another run may have begun to write into the folder.
        with suppress(OSError):
            (Path.rmdir if made[-1].is_dir() else Path.unlink)(made[-1])
        made.pop()


@contextmanager
def name_errors(path: Path) -> Iterator[None]:
    """Errors of the system name the output, not the file beside it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that would end the run wait until all files are in their places."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    try:
        for number in handlers:
            signal.signal(number, lambda now, _: came.append(now))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system has a way to.

    The files are in their places by now: where it fails, a loss of power may bring back the old
    ones, whole.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
