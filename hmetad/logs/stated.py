"""Stated confidence, as people and models write it, becomes a probability.

Sequence of texts, numbers or JSON objects → DataFrame (confidence, rejected), one row per value.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.errors import InputError

__all__ = [
    "Scale",
    "Statement",
    "Wording",
    "agreed",
    "parse_confidence",
    "read_statement",
    "stated_wording",
    "statement_frame",
]

Scale = Literal["probability", "percent"] | float | tuple[float, float]

DEFAULT_FIELD = "confidence"
LONGEST_SHOWN = 80
MOST_EXAMPLES = 20
MOST_OBJECTS = 2000
# Longer texts are no values, and would make the expressions below slow.
LONGEST_VALUE = 200
LARGEST_PERCENT = 100
# A column of numbers no larger than this may be out of 5, 7, 10, 20 or 50 as well.
LARGEST_OTHER = 50
TOLERANCE = 1e-9

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
PLAIN = re.compile(NUMBER)
PERCENT = re.compile(rf"({NUMBER})\s*(?:%|percent|per cent)", re.IGNORECASE)
FRACTION = re.compile(rf"({NUMBER})\s*(?:/|out\s+of|of)\s*({NUMBER})", re.IGNORECASE)
# Quotes and emphasis around a value say nothing about it.
AROUND = " \t\r\n*_`\"'"
OBJECT = re.compile(r'\{\s*"')


class Wording(NamedTuple):
    """Where in a value the confidence stands, and what its words mean (probabilities)."""

    field: str | None
    line: re.Pattern[str]
    pattern: re.Pattern[str] | None
    words: dict[str, float]


class Statement(NamedTuple):
    """One confidence as read: a probability, a number whose scale is open, or a reason why not."""

    number: float
    is_probability: bool
    said: str
    reason: str


def parse_confidence(
    values: Iterable[Any],
    *,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
) -> pd.DataFrame:
    """Probabilities of confidence as stated; what cannot be read is counted, never guessed.

    Parameters
    ----------
    values : iterable of str, float, dict or None, length trials
        What was said: ``"85%"``, ``"8/10"``, ``"8 out of 10"``, ``0.85``, a word of `words`, or
        text with a JSON object in it, also nested or in a code fence.
    field : str, optional
        Key of a JSON object, at any depth, or the name before a colon on a line of its own
        (``Confidence: 85%``); either case. By default the whole value is read, and where it is
        none of the above the field is "confidence".
    pattern : str, optional
        Regular expression with one group, which holds the confidence. With `field` it is searched
        for in the value of the field.
    words : mapping of str to float, optional
        Probability of each word or phrase ("very likely"), either case.
    scale : {"probability", "percent"}, float or (float, float), optional
        Scale of bare numbers, for the whole column: 0..1, 0..100, 0..`scale`, or from the lowest
        to the highest. By default it is read from the column, where that leaves no doubt.

    Returns
    -------
    DataFrame
        One row per value, with the index of a Series: ``confidence`` (probability, NaN where it
        could not be read) and ``rejected`` (the reason, "" where it could). Attrs: ``scale``,
        ``rejected`` (values per reason) and ``examples`` (what was said, with reason and count).

    Raises
    ------
    InputError
        If an option is unusable, or bare numbers leave their scale open.

    Notes
    -----
    The scale is never decided value by value. Bare numbers up to 1, one of them a fraction, are
    probabilities; bare numbers of which one is larger than 50 and none lies in (0, 1] are
    percentages (beside larger ones a 1 may be 1 % or certainty); anything else needs `scale`.
    Percentages, "8/10" and words carry their scale. A value with several different confidences is
    rejected, and so is one outside its scale.

    Examples
    --------
    >>> parsed = parse_confidence(["85%", "8 out of 10", '{"confidence": 0.3}', "no idea"])
    >>> parsed["confidence"].tolist()
    [0.85, 0.8, 0.3, nan]
    >>> parsed.attrs["examples"]
    [{'said': 'no idea', 'reason': 'not understood', 'count': 1}]
    >>> parse_confidence(["1", "7"])
    Traceback (most recent call last):
    hmetad.errors.InputError: scale: got none, for 2 bare numbers from 1 to 7, allowed is \
'probability', 'percent', a largest value, or (lowest, highest). Say what bare numbers mean, for \
instance scale='percent'.
    """
    wording = stated_wording(field=field, pattern=pattern, words=words)
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        step = "Put a single value into a list."
        raise InputError("values", type(values).__name__, "one value per trial", step)
    statements = [read_statement(value, wording) for value in values]
    index = values.index if isinstance(values, pd.Series) else None
    return statement_frame(statements, scale=scale, index=index)


def stated_wording(
    *,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
) -> Wording:
    """Options of `parse_confidence`, checked once for many values.

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
    if field is not None and (not isinstance(field, str) or not field.strip()):
        raise InputError("field", repr(field), "the name of a field, as text")
    name = re.escape((field or DEFAULT_FIELD).strip())
    line = re.compile(rf"^[ \t*_#>-]*{name}[ \t*_]*[:=](.*)$", re.IGNORECASE | re.MULTILINE)
    return Wording(field, line, compiled(pattern), meanings(words or {}))


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

    Examples
    --------
    >>> read_statement("8/10", stated_wording())
    Statement(number=0.8, is_probability=True, said='8/10', reason='')
    """
    if is_missing(value):
        return refused(value, "missing")
    if wording.field is None and wording.pattern is None:
        whole = read_value(value, wording.words)
        if not whole.reason or not isinstance(value, str | Mapping | Sequence):
            return whole
    found = [value]
    if wording.field is not None or wording.pattern is None:
        found = list(in_fields(value, wording))
        absent = "not understood" if wording.field is None else f"no field {wording.field!r}"
    if found and wording.pattern is not None:
        found = list(in_pattern(found, wording.pattern))
        absent = "pattern not found"
    if not found:
        return refused(value, absent)
    read = [read_value(item, wording.words) for item in found]
    return agreed(read, "several different confidences")


def agreed(statements: Sequence[Statement], otherwise: str) -> Statement:
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
    >>> agreed([read_statement(said, wording) for said in ("80%", "8/10")], "differ").number
    0.8
    """
    first = statements[0]
    meant = {(s.number, s.is_probability) if not s.reason else None for s in statements}
    return first if len(meant) == 1 else refused(first.said, otherwise)


def statement_frame(
    statements: Sequence[Statement], *, scale: Scale | None = None, index: pd.Index | None = None
) -> pd.DataFrame:
    """Probabilities of statements that are read already, on one scale.

    Parameters
    ----------
    statements : sequence of Statement, length trials
        From `read_statement`.
    scale : {"probability", "percent"}, float or (float, float), optional
        As in `parse_confidence`.
    index : Index, optional
        Index of the result.

    Returns
    -------
    DataFrame
        As of `parse_confidence`.

    Raises
    ------
    InputError
        If `scale` is unusable, or bare numbers leave it open.

    Examples
    --------
    >>> wording = stated_wording(field="sure")
    >>> read = [read_statement(value, wording) for value in ({"sure": 90}, {"sure": 20})]
    >>> statement_frame(read)["confidence"].tolist()
    [0.9, 0.2]
    """
    numbers = np.array([statement.number for statement in statements], dtype=np.float64)
    reasons = np.array([statement.reason for statement in statements], dtype=object)
    bare = np.array([not s.is_probability and not s.reason for s in statements], dtype=bool)
    low, high, name = bounds(scale, numbers[bare])
    numbers[bare] = (numbers[bare] - low) / (high - low)
    # Rounding, as of 0.7 on a scale to 0.7, may lead past 1 by an ulp.
    outside = ~np.isnan(numbers) & ((numbers < -TOLERANCE) | (numbers > 1 + TOLERANCE))
    reasons[outside] = "outside its scale"
    confidence = np.where(outside, np.nan, np.clip(numbers, 0, 1))
    frame = pd.DataFrame({"confidence": confidence, "rejected": reasons}, index=index)
    frame["rejected"] = frame["rejected"].astype("str")
    said = Counter(
        (statement.said, reason)
        for statement, reason in zip(statements, reasons.tolist(), strict=True)
        if reason
    )
    frame.attrs = {"scale": name, "rejected": dict(Counter(r for r in reasons.tolist() if r))}
    frame.attrs["examples"] = [
        {"said": text, "reason": reason, "count": count}
        for (text, reason), count in said.most_common(MOST_EXAMPLES)
    ]
    return frame


def compiled(pattern: str | None) -> re.Pattern[str] | None:
    """Regular expression with one group."""
    if pattern is None:
        return None
    allowed = r"a regular expression with one group, such as r'Confidence: ([0-9]+%)'"
    try:
        expression = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise InputError("pattern", f"{pattern!r} ({error})", allowed) from error
    if expression.groups != 1:
        raise InputError("pattern", f"{pattern!r} with {expression.groups} groups", allowed)
    return expression


def meanings(words: Mapping[str, float]) -> dict[str, float]:
    """Probability of each word, in lower case."""
    allowed = "a mapping of words to probabilities 0..1, such as {'likely': 0.75}"
    if not isinstance(words, Mapping):
        raise InputError("words", repr(words), allowed)
    result: dict[str, float] = {}
    for word, probability in words.items():
        number = as_number(probability)
        if not isinstance(word, str) or not 0 <= number <= 1:
            raise InputError("words", f"{word!r}: {probability!r}", allowed)
        if result.setdefault(tidy(word).casefold(), number) != number:
            raise InputError("words", f"{word!r} with two meanings", "one for each, either case")
    return result


def read_value(value: Any, words: Mapping[str, float]) -> Statement:
    """Confidence of a value that is nothing else."""
    if is_missing(value):
        return refused(value, "missing")
    if isinstance(value, str):
        return read_text(value, words)
    number = as_number(value)
    if math.isnan(number):
        return refused(value, "not understood")
    return Statement(number, False, shown(value), "")


def read_text(text: str, words: Mapping[str, float]) -> Statement:
    """Confidence of a text that is a word, a number, a percentage or a fraction."""
    said = tidy(text)
    if said.casefold() in words:
        return Statement(words[said.casefold()], True, shown(text), "")
    if len(said) > LONGEST_VALUE:
        return refused(text, "not understood")
    if PLAIN.fullmatch(said):
        return Statement(float(said), False, shown(text), "")
    if match := PERCENT.fullmatch(said):
        return Statement(float(match[1]) / 100, True, shown(text), "")
    if match := FRACTION.fullmatch(said):
        part, whole = float(match[1]), float(match[2])
        # A fraction such as 3/0, or one of infinity, has no value.
        if whole > 0 and math.isfinite(part) and math.isfinite(whole):
            return Statement(part / whole, True, shown(text), "")
    return refused(text, "not understood")


def in_fields(value: Any, wording: Wording) -> Iterator[Any]:
    """Values of the field in JSON, or on lines that begin with its name."""
    name = (wording.field or DEFAULT_FIELD).strip().casefold()
    objects = json_objects(value) if isinstance(value, str) else [value]
    found = False
    for item in objects:
        for inner in keyed(item, name):
            found = True
            yield inner
    if not found and isinstance(value, str):
        yield from (match[1] for match in wording.line.finditer(value))


def in_pattern(values: Iterable[Any], pattern: re.Pattern[str]) -> Iterator[str]:
    """What the group of the pattern matched, wherever it did."""
    for value in values:
        text = value if isinstance(value, str) else short_repr(value)
        yield from (match[1] for match in pattern.finditer(text) if match[1] is not None)


def json_objects(text: str) -> Iterator[Any]:
    """JSON objects that stand in a text, one after the other; braces alone are no such."""
    decoder, match = json.JSONDecoder(), OBJECT.search(text)
    for _ in range(MOST_OBJECTS):
        if match is None:
            return
        try:
            found, end = decoder.raw_decode(text, match.start())
            yield found
        except (ValueError, RecursionError):
            end = match.start() + 1
        match = OBJECT.search(text, end)


def keyed(item: Any, name: str) -> Iterator[Any]:
    """Values under a key, at any depth; without recursion, which deep nesting would exhaust."""
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


def bounds(scale: Scale | None, numbers: NDArray[np.float64]) -> tuple[float, float, str]:
    """Lowest and highest value of the scale of bare numbers, and its name."""
    named = {"probability": (0.0, 1.0), "percent": (0.0, 100.0)}
    allowed = "'probability', 'percent', a largest value, or (lowest, highest)"
    if isinstance(scale, str) and scale in named:
        return *named[scale], scale
    if scale is None:
        if not numbers.size:
            return 0.0, 1.0, "stated"
        name = scale_of(numbers, allowed)
        return *named[name], name
    pair = scale if isinstance(scale, tuple | list) else (0.0, scale)
    low, high = (as_number(end) for end in pair) if len(pair) == 2 else (math.nan, math.nan)
    if not (low < high and math.isfinite(high - low)):
        raise InputError("scale", repr(scale), allowed)
    return low, high, f"{low:g} to {high:g}"


def scale_of(numbers: NDArray[np.float64], allowed: str) -> str:
    """Scale of a column of bare numbers, if it leaves no doubt."""
    possible = numbers[(numbers >= 0) & (numbers <= LARGEST_PERCENT)]
    fractions = ((possible > 0) & (possible < 1)).any()
    if possible.size and possible.max() <= 1 and fractions:
        return "probability"
    if possible.size and possible.max() > LARGEST_OTHER and not (possible[possible > 0] <= 1).any():
        return "percent"
    got = f"none, for {len(numbers)} bare numbers from {numbers.min():g} to {numbers.max():g}"
    step = "Say what bare numbers mean, for instance scale='percent'."
    raise InputError("scale", got, allowed, step)


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


def refused(value: Any, reason: str) -> Statement:
    """Statement that could not be read."""
    return Statement(math.nan, False, shown(value), reason)


def tidy(text: str) -> str:
    """Text without quotes, emphasis and a full stop around it."""
    return text.strip(AROUND).removesuffix(".").strip(AROUND)


def shown(value: Any) -> str:
    """Text of a value for a report: short, and valid Unicode."""
    text = value[: LONGEST_SHOWN + 1] if isinstance(value, str) else short_repr(value)
    text = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


def short_repr(value: Any) -> str:
    """Representation of a number, and the type of anything that might be large."""
    if isinstance(value, float | np.number) or value is None or isinstance(value, bool):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, int) and abs(value) < 10**15:
        return repr(value)
    return f"({type(value).__name__})"
