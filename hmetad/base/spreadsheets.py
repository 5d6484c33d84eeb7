r"""Cells of CSV files that a spreadsheet would run.

Text of a cell ⇄ the same text with an apostrophe before it, if it begins with = or @.
Source: OWASP, CSV injection.

A text that begins with = or @, in their wide forms too, is a formula to a spreadsheet. A text that
begins with + or - may be one as well, and is written as it is: "-1 SD" is a usual label.
Apostrophes before the sign count, so that no two texts are written alike.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SIGNS = "=@＝＠﹫"
RUNS = re.compile(rf"'*[{SIGNS}]")
GUARDED = re.compile(rf"'+[{SIGNS}]")
NUMERIC_KINDS = "biufcmM"


def guard(value: object) -> object:
    """Text of a cell that no spreadsheet runs; any other value as it is.

    Examples
    --------
    >>> guard("=HYPERLINK(0)"), guard("-1 SD"), guard("+x"), guard("'=x"), guard(-0.5)
    ("'=HYPERLINK(0)", '-1 SD', '+x', "''=x", -0.5)
    """
    return f"'{value}" if isinstance(value, str) and RUNS.match(value) else value


def unguard(texts: Iterable[object]) -> list[object]:
    """Texts without the apostrophe that `guard` put before them.

    Parameters
    ----------
    texts : iterable of object
        Cells of one column, or the names of all columns; what is not text stays.

    Returns
    -------
    list of object
        The texts as they were before `guard`. If one of them begins with = or @, none was guarded,
        and all stay as they are.

    Examples
    --------
    >>> unguard(["'=1", "a"]), unguard(["'=1", "=1"])
    (['=1', 'a'], ["'=1", '=1'])
    """
    given = list(texts)
    if any(isinstance(text, str) and text[:1] in SIGNS and text for text in given):
        return given
    return [text[1:] if isinstance(text, str) and GUARDED.match(text) else text for text in given]


def guard_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Table whose texts and names of columns no spreadsheet runs.

    Parameters
    ----------
    frame : pandas.DataFrame
        It is not changed.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> print(guard_frame(pd.DataFrame({"@a": ["=1", "b"], "c": [-1, 2]})).to_csv(index=False))
    '@a,c
    '=1,-1
    b,2
    <BLANKLINE>
    """
    safe = frame.copy(deep=False)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if has_formula(column):
            safe.isetitem(place, column.map(guard_writable, na_action="ignore").array)
    return safe.set_axis([guard(name) for name in frame.columns], axis="columns")


def has_formula(column: "pd.Series") -> bool:
    """Whether a column holds text that a spreadsheet runs."""
    if column.dtype.kind in NUMERIC_KINDS:
        return False
    return any(RUNS.match(value) for value in column if isinstance(value, str))


def guard_writable(value: object) -> object:
    """Guarded value, in which a "?" stands for half a character: no file can hold one."""
    safe = guard(value)
    return safe.encode("utf-8", "replace").decode() if isinstance(safe, str) else safe
