r"""Cells of CSV files that a spreadsheet would run.

Text of a cell ⇄ the same text with an apostrophe before every sign that could begin a formula.
Source: OWASP, CSV injection.

A spreadsheet takes a cell for a formula that begins with =, +, - or @, in their wide forms too,
also after spaces, signs that are not seen, or quotation marks. Where a semicolon or a tab parts
cells, what stands after one begins a cell as well, and so does a line. Each such sign gets an
apostrophe before it, and so does a cell that begins with a tab or a line break; a cell that is
nothing but a number stays. Apostrophes count as quotation marks, so that every text has a guarded
form of its own: without those apostrophes it is again what it was.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["guard", "guard_frame", "unguard", "unguard_frame"]

UNSEEN = (
    r"\s\x00-\x20\x7f-\xa0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    r"\u2028-\u202f\u205f-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
QUOTES = "'\"`‘’‚‛“”„‟"
SIGNS = r"=+\-@＝＋－＠﹦﹢﹣﹫"
# All that may stand before the first sign of a cell is taken in one go, never twice: long runs cost
# no more than they are long.
OPENING = re.compile(rf"((?:\A|[;\t\r\n])[;{UNSEEN}{QUOTES}]*+)([{SIGNS}])?")
SEPARATES = re.compile(r"[;\t\r\n]")
# What a column is searched for first, since most have nothing of the kind.
RISKS = r"\A\W|[;\t\r\n]"
GUARDS = rf"'[{SIGNS}]|\A'+[\t\r\n]"
BLANK_START = re.compile(r"'*[\t\r\n]")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
NUMERIC_KINDS = "biufcmM"


def guard(value: object) -> object:
    """Text of a cell that no spreadsheet runs; what is no text stays as it is.

    Examples
    --------
    >>> guard("=HYPERLINK(0)"), guard("a - b"), guard("+"), guard("'-x")
    ("'=HYPERLINK(0)", 'a - b', "'+", "''-x")
    >>> guard("-0.5"), guard(-0.5), guard("x;=1")
    ('-0.5', -0.5, "x;'=1")
    """
    if not isinstance(value, str) or NUMBER.fullmatch(value):
        return value
    if value[:1].isalnum() and not SEPARATES.search(value):
        return value
    safe = OPENING.sub(lambda found: f"{found[1]}'{found[2]}" if found[2] else found[0], value)
    return f"'{safe}" if BLANK_START.match(safe) else safe


def unguard(texts: Iterable[object]) -> list[object]:
    """Texts without their guard, where they have one.

    Parameters
    ----------
    texts : iterable of object
        Cells of one column, or the names of all columns; what is no text stays.

    Returns
    -------
    list of object
        The texts as they were before `guard`. Where one of them is unsafe as it stands, none was
        guarded, and all stay as they are.

    Examples
    --------
    >>> unguard(["'=1", "a"]), unguard(["'=1", "=1"])
    (['=1', 'a'], ["'=1", '=1'])
    """
    given = list(texts)
    plain = [without_guard(text) if isinstance(text, str) else text for text in given]
    pairs = zip(plain, given, strict=True)
    is_ours = all(guard(new) == old for new, old in pairs if isinstance(old, str))
    return plain if is_ours else given


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
        if has_text_with(RISKS, column):
            safe.isetitem(place, column.map(guard_whole, na_action="ignore").array)
    return safe.set_axis([guard(name) for name in frame.columns], axis="columns")


def unguard_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Table as it was before `guard_frame`, read from its CSV file.

    Parameters
    ----------
    frame : pandas.DataFrame
        It is not changed.

    Returns
    -------
    pandas.DataFrame
        A column in which a text is unsafe as it stands was not guarded, and stays as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> unguard_frame(pd.DataFrame({"'@a": ["'=1", "b"], "c": [-1, 2]})).to_dict("list")
    {'@a': ['=1', 'b'], 'c': [-1, 2]}
    """
    plain = frame.copy(deep=False)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if has_text_with(GUARDS, column):
            levels = column.dropna().unique().tolist()
            found = dict(zip(levels, unguard(levels), strict=True))
            plain.isetitem(place, column.map(found).array)
    return plain.set_axis(unguard(frame.columns), axis="columns")


def guard_whole(value: object) -> object:
    """Guarded value; half a sign, which neither pandas' texts nor a file can hold, is a "?"."""
    safe = guard(value)
    return safe.encode("utf-8", "replace").decode() if isinstance(safe, str) else safe


def has_text_with(pattern: str, column: "pd.Series") -> bool:
    """Whether a column holds text in which a pattern is found."""
    if column.dtype.kind in NUMERIC_KINDS:
        return False
    if column.dtype == "str":
        return bool(column.str.contains(pattern).any())
    found = re.compile(pattern)
    return any(found.search(value) for value in column if isinstance(value, str))


def without_guard(text: str) -> str:
    """Text without the apostrophes that `guard` would have set."""
    inner = text[1:] if text.startswith("'") and BLANK_START.match(text, 1) else text
    return OPENING.sub(
        lambda found: f"{found[1].removesuffix("'")}{found[2]}" if found[2] else found[1], inner
    )
