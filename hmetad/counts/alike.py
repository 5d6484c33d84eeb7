"""Labels that a reader cannot tell apart, and texts that files cannot store.

Texts of labels → the same, InputError or notices. Two labels look alike where they differ only in
spaces, in invisible characters or in how an accent is written (Unicode's normal form C).
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

import pandas as pd

from hmetad.errors import InputError
from hmetad.notice import Notice, notice_of

__all__ = ["alike_notices", "as_seen", "refuse_alike", "refuse_unwritable"]


def as_seen(text: str) -> str:
    """Text as a reader sees it: accents composed, no invisible characters, single spaces.

    Examples
    --------
    >>> as_seen(" x ") == as_seen("x"), as_seen("e" + chr(0x301)) == as_seen("é")
    (True, True)
    """
    composed = unicodedata.normalize("NFC", text)
    return " ".join("".join(x for x in composed if unicodedata.category(x) != "Cf").split())


def refuse_unwritable(argument: str, texts: Iterable[str]) -> None:
    r"""Refuse texts that files do not keep: with NUL, or with half a character.

    Examples
    --------
    >>> refuse_unwritable("model", ["a" + chr(0)])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hmetad.errors.InputError: model: got 'a\x00', allowed is text without NUL ...
    """
    for text in texts:
        if "\0" in text or not (text.isascii() or is_unicode(text)):
            allowed = "text without NUL and without unpaired surrogates"
            raise InputError(argument, repr(text), allowed, "Remove them, as by .str.replace.")


def refuse_alike(argument: str, pair: Iterable[object]) -> None:
    """Refuse two labels that look the same.

    Examples
    --------
    >>> refuse_alike("labels", ["yes", "yes "])
    Traceback (most recent call last):
    hmetad.errors.InputError: labels: got 'yes' and 'yes ', which look alike, allowed is two \
labels that a reader can tell apart. Recode the column: .str.strip() and .str.normalize('NFC').
    """
    first, second = pair
    if isinstance(first, str) and isinstance(second, str) and as_seen(first) == as_seen(second):
        step = "Recode the column: .str.strip() and .str.normalize('NFC')."
        got = f"{first!a} and {second!a}, which look alike"
        raise InputError(argument, got, "two labels that a reader can tell apart", step)


def alike_notices(cells: pd.DataFrame, labels: Iterable[str]) -> list[Notice]:
    """Notice of cells whose values of some column look alike and differ.

    Parameters
    ----------
    cells : DataFrame
        One row per cell, a column for each grouping column.
    labels : iterable of str
        Labels of the cells.

    Returns
    -------
    list of Notice
        One warning ``"labels-alike"`` with the cells, or none.

    Examples
    --------
    >>> found = alike_notices(pd.DataFrame({"model": ["x", "x ", "y"]}), ["x", "x ", "y"])
    >>> [(notice.code, notice.cells) for notice in found]
    [('labels-alike', ('x', 'x '))]
    """
    said: dict[str, set[str]] = {str(name): alike_values(cells[name]) for name in cells}
    columns = [name for name, values in said.items() if values]
    if not columns:
        return []
    concerned = pd.concat([cells[name].isin(said[str(name)]) for name in cells], axis=1).any(axis=1)
    where = [label for label, is_one in zip(labels, concerned, strict=True) if is_one]
    return [notice_of("labels-alike", where, columns=", ".join(map(repr, columns)))]


def alike_values(values: pd.Series) -> set[str]:
    """Texts of a column that look like another one of it."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for value in values.unique().tolist():
        if isinstance(value, str):
            seen[as_seen(value)].add(value)
    return {text for group in seen.values() if len(group) > 1 for text in group}


def is_unicode(text: str) -> bool:
    """Whether every character is whole."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
