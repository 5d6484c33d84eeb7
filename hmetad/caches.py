"""Where compiled code is kept when the folders for it cannot be written.

Environment → the same, with a temporary folder in place of those that cannot. PyTensor, Numba and
matplotlib would stop, or say so in several lines.
"""

import os
import tempfile
from pathlib import Path

__all__ = ["is_usable", "replace_caches"]

PACKAGE = str(Path(__file__).parent)
COMPILED = "base_compiledir"


def replace_caches() -> Path | None:
    """Name a temporary folder for caches that cannot be written.

    Returns
    -------
    Path or None
        The folder, to be removed in the end; none where all caches can be written. It is of this
        run alone: what is compiled there is run, and nobody else may put it there.

    Raises
    ------
    OSError
        If there is no folder for temporary files either.

    Examples
    --------
    >>> replace_caches()  # None: here a home can be written
    """
    flags = pytensor_flags()
    # Without a folder named for it Numba takes one beside the code, else one at home.
    numba, figures = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("MPLCONFIGDIR")
    is_lost = {
        "PYTENSOR_FLAGS": not is_usable(flags.get(COMPILED, "~/.pytensor")),
        "NUMBA_CACHE_DIR": not any(map(is_usable, [numba] if numba else [PACKAGE, "~/.cache"])),
        "MPLCONFIGDIR": not all(
            map(is_usable, [figures] if figures else ["~/.config", "~/.cache"])
        ),
    }
    if not any(is_lost.values()):
        return None
    folder = Path(tempfile.mkdtemp(prefix="hmetad-"))
    for name in (name for name, lost in is_lost.items() if lost):
        part = folder / name.lower()
        part.mkdir()
        os.environ[name] = str(part)
        if name == "PYTENSOR_FLAGS":
            named = {**flags, COMPILED: str(part)}
            os.environ[name] = ",".join(f"{flag}={value}" for flag, value in named.items())
    return folder


def is_usable(folder: str) -> bool:
    """Whether a folder can be written to, or made where it is missing.

    Parameters
    ----------
    folder : str
        ``~`` is the user's home, which some users do not have.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_usable(tempfile.gettempdir()), is_usable(__file__)
    (True, False)
    """
    path = Path(os.path.expanduser(folder))
    if path.parts[:1] == ("~",):
        return False
    path = path.absolute()
    there = next(place for place in (path, *path.parents) if os.path.lexists(place))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def pytensor_flags() -> dict[str, str]:
    """Options of PyTensor that the environment gives."""
    parts = (part.partition("=") for part in os.environ.get("PYTENSOR_FLAGS", "").split(","))
    return {name.strip(): value.strip() for name, _, value in parts if name.strip()}
