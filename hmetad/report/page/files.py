"""Several files written as one.

Path → content, for each → files on disk, all of them or none.
"""

import os
import secrets
from collections.abc import Mapping
from errno import EISDIR
from pathlib import Path

__all__ = ["write_together"]


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write each file beside its place, then move them into place in the order given.

    Until everything is written, what was there stays. After an error or an interrupt no new file
    or folder is left behind. Folders that are missing are made.

    Parameters
    ----------
    contents : mapping of Path to bytes
        Put last the file that refers to the others.
    """
    for path in contents:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "a folder stands where a file should go", str(path))
    staged: list[tuple[Path, Path]] = []
    made: list[Path] = []
    try:
        for path, content in contents.items():
            make_folder(path.parent, made)
            beside = path.parent / f".{secrets.token_hex(8)}.tmp"
            staged.append((beside, path))
            write_whole(beside, content)
        for beside, path in staged:
            os.replace(beside, path)
    except BaseException:
        clear(staged, made)
        raise


def make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and its parents if they are missing, and remember which."""
    if not folder.exists():
        make_folder(folder.parent, made)
        made.append(folder)
        folder.mkdir()


def write_whole(path: Path, content: bytes) -> None:
    """Write a new file through to the disk."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def clear(staged: list[tuple[Path, Path]], made: list[Path]) -> None:
    """Remove what was written beside, and the new folders that are empty."""
    for beside, _ in staged:
        beside.unlink(missing_ok=True)
    for folder in reversed(made):
        if folder.exists() and not any(folder.iterdir()):
            folder.rmdir()
