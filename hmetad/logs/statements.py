"""One statement of confidence, as people and models write it: a number, or why there is none.

Text, number or JSON object → `Statement`, by a `Wording` that says where to look.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hmetad.base.errors import ChoiceError, NumberError, RepeatError
from hmetad.rows.values import safe_text

DEFAULT_FIELD = "confidence"
LONGEST_SHOWN = 80
# Longer texts are no values, and would make the expressions below slow.
LONGEST_VALUE = 200

# Digits of any script, a decimal point or comma; signs of per cent in ASCII, full width and Arabic.
NUMBER = r"[+-]?(?:\d+(?:[.,]\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
# 1,234 may be a thousand or one and a fraction.
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
PLAIN = re.compile(NUMBER)
PERCENT = re.compile(rf"({NUMBER})\s*(?:[%\uff05\u066a]|percent|per cent)", re.IGNORECASE)
FRACTION = re.compile(rf"({NUMBER})\s*(?:/|out\s+of)\s*(\d+)", re.IGNORECASE)
# Scales that confidence is stated on: 4/5, 8/10. Others, such as 50/50 and 1/2, may be odds.
ENDS = (5, 7, 10, 100)
# A colon, also of full width, or an equals sign.
COLON = "[:=\uff1a]"
# Quotes and emphasis around a value say nothing about it.
AROUND = " \t\r\n*_`\"'"
# Last words of a text that states a degree of confidence without a number.
LEVELS = {"sure", "certain", "confident", "unsure", "uncertain"}
LEVELS |= {"high", "medium", "moderate", "low"}
MOST_WORDS = 4
MOST_OBJECTS = 2000
# Of JSON in a text: more is not what anyone says, and would fill memory; and how many characters
# may be read in vain, for each that there is.
MOST_VALUES = 1_000_000
MOST_IN_VAIN = 20
OBJECT = re.compile(r'\{\s*"')
NO_NUMBER = "a word without a number (words=)"


class Wording(NamedTuple):
    """Where in a value the confidence stands, and what its words mean (probabilities)."""

    field: str | None
    line: re.Pattern[str]
    tag: re.Pattern[str]
    pattern: re.Pattern[str] | None
    words: dict[str, float]


class Statement(NamedTuple):
    """One confidence as read: a probability, a number whose scale is open, or a reason why not.

    `restates` is whether the same text stated other confidences before.
    """

    number: float
    is_probability: bool
    said: str
    reason: str
    restates: bool = False


def stated_wording(
    *,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
) -> Wording:
    """Where confidence stands and what its words mean, checked once for many values.

    Parameters
    ----------
    field, pattern, words
        As in `parse_confidence`.

    Returns
    -------
    Wording
        For `read_statement`.

    Raises
    ------
    InputError
        If the field is empty, the expression cannot be compiled or has not one group, or a word
        means no probability.

    Examples
    --------
    >>> stated_wording(words={"Very likely": 0.9}).words
    {'very likely': 0.9}
    """
    if field is not None and not field.strip():
        raise ChoiceError("field", repr(field), "the name of a field, as text")
    name = re.escape((field or DEFAULT_FIELD).strip())
    # A dash parts name and value only between spaces: "confidence -5%" is a negative number.
    parted = rf"[ \t*_]*(?:{COLON}|[ \t][\u2013\u2014-](?=[ \t]))"
    line = re.compile(rf"^[ \t*_#>-]*{name}{parted}(.*)$", re.IGNORECASE | re.MULTILINE)
    tag = re.compile(rf"<{name}>([^<>]{{0,{LONGEST_VALUE}}})</{name}>", re.IGNORECASE)
    return Wording(field, line, tag, compile_pattern(pattern), meanings(words or {}))


def read_statement(value: Any, wording: Wording) -> Statement:
    """Confidence in one value; its scale may stay open until the column is known.

    Parameters
    ----------
    value : str, float, dict, list or None
        What was said.
    wording : Wording
        From `stated_wording`.

    Returns
    -------
    Statement
        The probability, the bare number, or the reason why neither could be read.

    Notes
    -----
    The value as a whole is read first, if neither a field nor a pattern is named; then the field,
    then the pattern. Where one of them is found, the next is not looked for. Of several statements
    the last that can be read counts. Running text is not interpreted.

    Examples
    --------
    >>> read_statement("8/10", stated_wording())
    Statement(number=0.8, is_probability=True, said='8/10', reason='', restates=False)
    >>> read_statement("I can't be 100 % sure.", stated_wording()).reason
    'not understood'
    """
    if is_missing(value):
        return unread_statement(value, "missing")
    words, pattern = wording.words, wording.pattern
    if wording.field is None and pattern is None:
        whole = read_value(value, words)
        if whole.reason in ("", NO_NUMBER) or not isinstance(value, str | Mapping | Sequence):
            return whole
    read: list[Statement] = []
    fields = [*in_fields(value, wording)] if wording.field or pattern is None else []
    if pattern is not None:
        # With a field it is searched for in the field, where there is one.
        where = [one for values in fields for one in values] if fields else [value]
        read = [read_value(text, words) for one in where for text in in_pattern(one, pattern)]
    else:
        for values in fields:
            several = [read_value(one, words) for one in values]
            read.append(agree_on(several, "several different confidences"))
    readable = [one for one in read if not one.reason]
    if readable:
        meant = {(one.number, one.is_probability) for one in readable}
        return readable[-1]._replace(restates=len(meant) > 1)
    if read:
        return read[-1]
    reason = "not understood" if wording.field is None else f"no field {wording.field!r}"
    return unread_statement(value, reason if pattern is None else "pattern not found")


def agree_on(statements: Sequence[Statement], otherwise: str) -> Statement:
    """What several statements say, if they say the same.

    Parameters
    ----------
    statements : sequence of Statement
        At least one.
    otherwise : str
        Reason to reject them if they do not.

    Returns
    -------
    Statement
        The first, or its rejection.

    Examples
    --------
    >>> wording = stated_wording()
    >>> agree_on([read_statement(said, wording) for said in ("80%", "8/10")], "differ").number
    0.8
    """
    first = statements[0]
    meant = {(s.number, s.is_probability) if not s.reason else None for s in statements}
    return first if len(meant) == 1 else unread_statement(first.said, otherwise)


def compile_pattern(pattern: str | None, argument: str = "pattern") -> re.Pattern[str] | None:
    """Regular expression with one group."""
    if pattern is None:
        return None
    allowed = r"a regular expression with one group, such as r'Confidence: ([0-9]+%)'"
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ChoiceError(argument, f"{pattern!r} ({error})", allowed) from error
    if expression.groups != 1:
        raise ChoiceError(argument, f"{pattern!r} with {expression.groups} groups", allowed)
    return expression


def meanings(words: Mapping[str, float]) -> dict[str, float]:
    """Probability of each word, in lower case."""
    allowed = "a mapping of words to probabilities 0..1, such as {'likely': 0.75}"
    result: dict[str, float] = {}
    for word, probability in words.items():
        number = as_number(probability)
        if not 0 <= number <= 1:
            raise NumberError("words", f"{word!r}: {probability!r}", allowed)
        if result.setdefault(fold_word(word), number) != number:
            raise RepeatError("words", f"{word!r} with two meanings", "one for each, either case")
    return result


def read_value(value: Any, words: Mapping[str, float]) -> Statement:
    """Confidence of a value that is nothing else."""
    if is_missing(value):
        return unread_statement(value, "missing")
    if isinstance(value, str):
        return read_text(value, words)
    number = as_number(value)
    if math.isnan(number):
        return unread_statement(value, "not understood")
    return Statement(number, False, show_value(value), "")


def read_text(text: str, words: Mapping[str, float]) -> Statement:
    """Confidence of a text that is a word, a number, a percentage or a fraction."""
    bare, said = tidy(text), show_value(text)
    if len(bare) > LONGEST_VALUE:
        return unread_statement(text, "not understood")
    if (word := fold_word(bare)) in words:
        return Statement(words[word], True, said, "")
    number, end = math.nan, 1
    if PLAIN.fullmatch(bare):
        number = decimal_number(bare)
    elif match := PERCENT.fullmatch(bare):
        number, end = decimal_number(match[1]), 100
    elif (match := FRACTION.fullmatch(bare)) and int(match[2]) in ENDS:
        number, end = decimal_number(match[1]), int(match[2])
        number = number if number <= end else math.nan
    if not math.isnan(number):
        return Statement(number / end, end > 1, said, "")
    # A few words without a number, of which the last is one of confidence.
    parts = [] if any(map(str.isdigit, word)) else word.split()
    is_level = len(parts) <= MOST_WORDS and not LEVELS.isdisjoint(parts[-1:])
    return unread_statement(text, NO_NUMBER if is_level else "not understood")


def decimal_number(text: str) -> float:
    """Number with a decimal point or comma; NaN where a comma may group thousands.

    Examples
    --------
    >>> decimal_number("0,85"), decimal_number("87.5"), decimal_number("1,234")
    (0.85, 87.5, nan)
    """
    return math.nan if GROUPED.fullmatch(text) else float(text.replace(",", "."))


def in_fields(value: Any, wording: Wording) -> Iterator[list[Any]]:
    """Values of the field: of each JSON object, or else of each tag or line with its name."""
    name = (wording.field or DEFAULT_FIELD).strip().casefold()
    objects = json_objects(value) if isinstance(value, str) else [value]
    found = False
    for item in objects:
        if inner := [*values_under(item, name)]:
            found = True
            yield inner
    if not found and isinstance(value, str):
        matches = [*wording.tag.finditer(value), *wording.line.finditer(value)]
        yield from ([match[1]] for match in sorted(matches, key=lambda match: match.start()))


def json_objects(text: str) -> Iterator[Any]:
    """JSON objects that stand in a text, one after the other; braces alone are no such.

    Examples
    --------
    >>> [*json_objects('An empty set {}, then {"sure": 0.8}.')]
    [{'sure': 0.8}]
    """
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        return
    decoder, match = json.JSONDecoder(), OBJECT.search(text)
    in_vain = 0
    for _ in range(MOST_OBJECTS):
        if match is None or in_vain > MOST_IN_VAIN * len(text):
            return
        start = match.start()
        try:
            found, end = decoder.raw_decode(text, start)
            yield found
        except json.JSONDecodeError as error:
            end, in_vain = start + 1, in_vain + error.pos - start
        except (ValueError, RecursionError):
            end, in_vain = start + 1, in_vain + len(text) - start
        match = OBJECT.search(text, end)


def values_under(item: Any, name: str) -> Iterator[Any]:
    """Values under a key, at any depth; without recursion, which deep nesting would exhaust.

    Examples
    --------
    >>> [*values_under({"a": [{"Sure": 0.8}]}, "sure")]
    [0.8]
    """
    open_items = [item]
    while open_items:
        current = open_items.pop()
        if isinstance(current, Mapping):
            for key, value in current.items():
                if isinstance(key, str) and key.strip().casefold() == name:
                    yield value
                else:
                    open_items.append(value)
        elif isinstance(current, list | tuple):
            open_items.extend(current)


def in_pattern(value: Any, pattern: re.Pattern[str]) -> list[str]:
    """What the group of an expression matched in a text, wherever it did.

    Examples
    --------
    >>> in_pattern("80% sure, no, 90% sure", re.compile("([0-9]+%) sure"))
    ['80%', '90%']
    """
    text = value if isinstance(value, str) else short_repr(value)
    return [match[1] for match in pattern.finditer(text) if match[1] is not None]


def is_missing(value: Any) -> bool:
    """Whether there is no value at all."""
    if isinstance(value, str):
        return not tidy(value)
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def as_number(value: Any) -> float:
    """Value of a number; NaN for anything else, truth values and text included."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return math.nan
    try:
        return float(value)
    except (OverflowError, TypeError):
        return math.nan


def unread_statement(value: Any, reason: str) -> Statement:
    """Statement that could not be read."""
    return Statement(math.nan, False, show_value(value), reason)


def tidy(text: str) -> str:
    """Text without quotes, emphasis and a full stop around it."""
    return text.strip(AROUND).removesuffix(".").strip(AROUND)


def fold_word(word: str) -> str:
    """Word as it is compared: either case, and accents written in one way or the other."""
    return unicodedata.normalize("NFC", tidy(word)).casefold()


def show_value(value: Any) -> str:
    """Text of a value for a report: short, and valid Unicode."""
    text = value[: LONGEST_SHOWN + 1] if isinstance(value, str) else short_repr(value)
    text = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
    return safe_text(text)


def short_repr(value: Any) -> str:
    """Representation of a number, and the type of anything that might be large."""
    if isinstance(value, float | np.number) or value is None or isinstance(value, bool):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, int) and abs(value) < 10**15:
        return repr(value)
    return f"({type(value).__name__})"
