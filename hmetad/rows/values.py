"""Values of the texts of a CSV file: numbers, truth values, text, and what is missing.

Column of texts → column of their values, of one type for all of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.errors import ChoiceError, TooManyError
from hmetad.base.spreadsheets import unguard

# In a column of numbers or truth values these are missing ones; elsewhere only an empty field is.
GAPS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None")
FOLDED_GAPS = frozenset(gap.casefold() for gap in GAPS)
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
# No label and no rating is longer.
LONGEST_LABEL = 100_000
NUMBER = re.compile(r"\s*[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
# "1,234" may be 1234 as well.
THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*")


def typed_column(texts: pd.Series, *, is_text: bool = False, decimal: str = ".") -> pd.Series:
    """Column of the values that texts stand for.

    Parameters
    ----------
    texts : Series
        Fields of a CSV file; an empty one is missing.
    is_text : bool, optional
        Whether "4.10" is a name and not a number.
    decimal : {".", ","}, optional
        Character before the decimals of numbers.

    Returns
    -------
    Series
        Numbers, or truth values, if all filled fields but ``GAPS`` are; else text, in which "None"
        is a label.

    Examples
    --------
    >>> typed_column(pd.Series(["3", "NA"])).tolist(), typed_column(pd.Series(["a", "NA"])).tolist()
    ([3.0, nan], ['a', 'NA'])
    """
    codes, found = pd.factorize(texts)
    levels = np.asarray(found, dtype=object)
    is_known = ~np.isin(levels, GAPS)
    known = levels[is_known]
    has_gaps = bool((codes < 0).any() or len(known) < len(levels))
    values: Any
    if not is_text and 0 < len(known) <= len(TRUTH) and {*known} <= {*TRUTH}:
        values = np.array([*(TRUTH.get(text, np.nan) for text in levels), np.nan], dtype=object)
        kind: Any = object if has_gaps else bool
    elif not is_text and (numbers := numbers_of(known, decimal)) is not None:
        kind = np.float64 if has_gaps else numbers.dtype
        values = np.full(len(levels) + 1, np.nan if has_gaps else 0, dtype=kind)
        values[:-1][is_known] = numbers
    else:
        values, kind = np.append(np.array(unguard(levels), dtype=object), np.nan), "str"
    # A missing value has the last place.
    return pd.Series(values[codes], texts.index, dtype=kind, name=texts.name)


def are_gaps(words: object) -> bool:
    """Whether a list of words that a user named has one that reads like a missing value.

    Examples
    --------
    >>> are_gaps(["none", "low"]), are_gaps([1, 2])
    (True, False)
    """
    named = words if isinstance(words, Iterable) else ()
    return not FOLDED_GAPS.isdisjoint(str(word).strip().casefold() for word in named)


def safe_text(value: Any) -> str:
    r"""Text of a value, as it is, but for halves of characters that no file can hold.

    Examples
    --------
    >>> safe_text("<b>\ud800")
    '<b>\\ud800'
    """
    return str(value).encode("utf-8", "backslashreplace").decode()


def refuse_unwritable(argument: str, texts: Iterable[str]) -> None:
    """Refuse texts that files do not keep, with NUL or half a character, and endless ones."""
    for text in texts:
        is_whole = text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
        if "\0" in text or not is_whole:
            allowed = "text without NUL and without unpaired surrogates"
            raise ChoiceError(argument, repr(text), allowed, "Remove them, as by .str.replace.")
        if len(text) > LONGEST_LABEL:
            got, allowed = f"a text of {len(text):,} characters", f"at most {LONGEST_LABEL:,}"
            raise TooManyError(argument, got, allowed, "Use a column with short labels.")


def numbers_of(texts: NDArray[np.object_], decimal: str) -> NDArray[Any] | None:
    """Numbers of texts; None if one of them is not a number."""
    if decimal == "," and any("." in text for text in texts):
        return None
    plain = [text.replace(",", ".") for text in texts] if decimal == "," else texts
    numbers = pd.to_numeric(pd.Series(plain, dtype=object), errors="coerce")
    if numbers.isna().any():
        return None
    return numbers.to_numpy() if len(numbers) else np.zeros(0)


def series_with_points(column: pd.Series) -> pd.Series:
    """Column of texts, as numbers where all are numbers and some have a decimal comma.

    Words stay, and so do numbers of a column in which each comma may part thousands.

    Examples
    --------
    >>> series_with_points(pd.Series(["0,85", None, "1"])).tolist()
    [0.85, nan, 1.0]
    >>> series_with_points(pd.Series(["1,234", "0,5", "?"])).tolist()
    ['1.234', '0.5', '?']
    """
    try:
        places, levels = pd.factorize(column)
    except TypeError:
        # Lists and records are not numbers; counting them raises an error that names their type.
        return column
    commas = {x for x in levels if isinstance(x, str) and NUMBER.fullmatch(x)}
    if all(map(THOUSANDS.fullmatch, commas)):
        return column
    texts = [x.strip().replace(",", ".") if x in commas else x for x in levels]
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    values = (numbers if numbers.notna().all() else pd.Series(texts, dtype=object)).to_numpy()
    # A missing value has the last place.
    return pd.Series(np.append(values, np.nan)[places], column.index, name=column.name)
