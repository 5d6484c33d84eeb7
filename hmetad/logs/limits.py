"""How much a file of others may hold, so that a small one cannot fill memory or take hours.

Numbers by name → `Limits`, and the error for what goes beyond one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hmetad.base.errors import ChoiceError, TooFewError, TooManyError, UnknownError, nearest

# Below this size, unpacked, the ratio is not checked.
ALWAYS_UNPACKED = 16 * 2**20


@dataclass(frozen=True)
class Limits:
    """The most that is read of logs; whoever trusts a file may raise each of them.

    Parameters
    ----------
    members : int
        Members of an archive.
    unpacked : int
        Bytes of a member of an archive, unpacked, or of a JSON file.
    ratio : int
        How many times larger than packed something may be unpacked. What is less than 16 MiB
        unpacked is read in any case.
    line : int
        Bytes of a line of JSON Lines.
    nesting : int
        Depth of JSON: objects and lists inside each other.
    values : int
        Values, objects and lists of one JSON text: a line of JSON Lines, a sample of an archive, a
        JSON file. A value takes up to 250 bytes of memory.
    cells : int
        Rows times columns of a table of MATLAB, a row for each trial that is counted.

    Examples
    --------
    >>> Limits(members=2_000_000).members, Limits().ratio
    (2000000, 200)
    """

    members: int = 1_000_000
    unpacked: int = 2**30
    ratio: int = 200
    line: int = 256 * 2**20
    nesting: int = 200
    values: int = 5_000_000
    cells: int = 50_000_000


LIMITS = Limits()


def as_limits(given: Mapping[str, int] | None) -> Limits:
    """Limits as the caller wants them.

    Parameters
    ----------
    given : mapping of str to int or None
        Those that differ from the defaults.

    Returns
    -------
    Limits
        All of them.

    Raises
    ------
    InputError
        If a name is none, or a number is not whole and positive.

    Examples
    --------
    >>> as_limits({"line": 20_000}).line
    20000
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ChoiceError("limits", repr(given), "a mapping such as {'line': 20000}")
    names = vars(LIMITS)
    for name, number in given.items():
        if name not in names:
            step = nearest(str(name), names)
            raise UnknownError("limits", repr(name), "the name of a limit", step)
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise TooFewError("limits", f"{name}={number!r}", "a whole number of at least 1")
    return replace(LIMITS, **given)


def beyond(place: str, name: str, found: str, limits: Limits) -> TooManyError:
    """Error for what goes beyond a limit: which one, its value, and how to raise it.

    Parameters
    ----------
    place : str
        File, and line or member.
    name : str
        The limit.
    found : str
        What was found, such as "12 values".
    limits : Limits
        Those that hold.

    Returns
    -------
    TooManyError
        To be raised.

    Examples
    --------
    >>> print(beyond("a.mat", "cells", "12 values", Limits(cells=9)))
    a.mat: If you trust the file, raise the limit: limits={'cells': N}. Expected at most 9 \
(limit 'cells'), got 12 values.
    """
    ways = (f"limits={{{name!r}: N}}", f"--limit {name}=N")
    steps = (f"If you trust the file, raise the limit: {way}." for way in ways)
    return TooManyError(place, found, f"at most {getattr(limits, name):,} (limit {name!r})", *steps)


def check_ratio(place: str, packed: int, unpacked: int, limits: Limits) -> None:
    """Refuse what is so much larger unpacked than packed that it was made for it.

    Parameters
    ----------
    place : str
        File, and member.
    packed, unpacked : int
        Sizes in bytes.
    limits : Limits
        Those that hold.

    Raises
    ------
    InputError
        If it is.

    Examples
    --------
    >>> check_ratio("a.eval", 1_000, 2**30, Limits())
    Traceback (most recent call last):
    hmetad.InputError: a.eval: If you trust the file, raise the limit: limits={'ratio': N}. \
Expected at most 200 (limit 'ratio'), got 1,073,741,824 bytes unpacked of 1,000, or 1,073,741 \
times.
    """
    if unpacked > max(ALWAYS_UNPACKED, limits.ratio * packed):
        got = f"{unpacked:,} bytes unpacked of {packed:,}, or {unpacked // max(packed, 1):,} times"
        raise beyond(place, "ratio", got, limits)
