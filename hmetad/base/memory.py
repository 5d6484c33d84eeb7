"""What fits into memory, asked before the work begins.

Number of bytes → nothing, or an error with the numbers.
"""

import os
from pathlib import Path

from hmetad.base.errors import TooManyError

CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")


def refuse_memory(argument: str, got: str, needed: int) -> None:
    """Raise where something is larger than the memory there is.

    Parameters
    ----------
    argument : str
        The argument that makes it as large.
    got : str
        What came.
    needed : int
        Bytes that it takes at least.

    Raises
    ------
    InputError
        If so; what has to be swapped, or shared with others, is not refused.

    Examples
    --------
    >>> refuse_memory("draws", "1000", 8_000)
    >>> refuse_memory("draws", "10**15", 8 * 10**15)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    hmetad.InputError: draws: Ask for fewer. Expected ..., got 10**15, which takes 8000 TB or more.
    """
    there = memory_bytes()
    if there is not None and needed > there:
        allowed = f"what fits into the {in_words(there)} of memory here"
        raise TooManyError(
            argument, f"{got}, which takes {in_words(needed)} or more", allowed, "Ask for fewer."
        )


def memory_bytes() -> int | None:
    """Memory that this process may use in all, in bytes; None where the system does not say.

    Returns
    -------
    int or None
        That of the machine, or of the container where it has less.

    Examples
    --------
    >>> memory_bytes() is None or memory_bytes() > 10**8
    True
    """
    limits = []
    if hasattr(os, "sysconf") and {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(os.sysconf_names):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    if CONTROL_GROUP.is_file():
        said = CONTROL_GROUP.read_text(encoding="ascii").strip()
        limits += [int(said)] if said.isdigit() else []
    return min(limits, default=None)


def in_words(size: int) -> str:
    """Size in the unit that suits it.

    Parameters
    ----------
    size : int
        In bytes.

    Returns
    -------
    str

    Examples
    --------
    >>> in_words(512), in_words(200_000), in_words(25_000_000_000)
    ('512 bytes', '200 kB', '25 GB')
    """
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if size >= 10**power:
            number = size / 10**power
            return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
    return f"{size} bytes"
