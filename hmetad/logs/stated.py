"""A column of stated confidence becomes probabilities, on one scale.

Sequence of texts, numbers or JSON objects → DataFrame (confidence, rejected), one row per value.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ChoiceError, KindError, TooManyError
from hmetad.base.notice import Notice, notice_of
from hmetad.counts.columns import code_notices
from hmetad.counts.noticed import add_notices, frame_notices
from hmetad.logs.statements import Statement, as_number, is_missing, read_statement, stated_wording

Scale = Literal["probability", "percent"] | float | tuple[float, float]

MOST_EXAMPLES = 20
LARGEST_PERCENT = 100
# A column of numbers no larger than this may be out of 5, 7, 10, 20 or 50 as well.
LARGEST_OTHER = 50
TOLERANCE = 1e-6
# Bare numbers that are enough to say that a scale is not theirs, and the highest of ratings.
MANY, MOST_RATINGS = 10, 20


@check_inputs(skip=("values",))
def parse_confidence(
    values: Iterable[Any],
    *,
    field: str | None = None,
    pattern: str | None = None,
    words: Mapping[str, float] | None = None,
    scale: Scale | None = None,
) -> pd.DataFrame:
    """Probabilities of stated confidence; unreadable statements are counted, never guessed.

    Parameters
    ----------
    values : iterable of str, float, dict or None, length trials
        Statements: a number (``0.85``, ``"0,85"``), a percentage, ``"8/10"`` or ``"8 out of 10"``
        (out of 5, 7, 10 or 100), a word of `words`; or text that has one of these in a JSON object,
        also nested or in a code fence, in a tag, or after a label on a line.
    field : str, optional
        Key of a JSON object, at any depth; name of a tag (``<confidence>85</confidence>``); or the
        name before a colon, or a dash between spaces, on a separate line (``Confidence: 85%``);
        either case. By default the entire value is read, and where it is none of the above the
        field is "confidence".
    pattern : str, optional
        Regular expression with one group, the confidence. With `field` it is applied to the value
        of the field, if there is one.
    words : mapping of str to float, optional
        Probability of each word or phrase ("very likely"), either case.
    scale : {"probability", "percent"}, float or (float, float), optional
        Scale of bare numbers, for the entire column: 0..1, 0..100, 0..`scale`, or from the lowest
        to the highest. By default it is inferred from the column, if this is unambiguous.

    Returns
    -------
    DataFrame
        One row per value, with the index of a Series: ``confidence`` (probability, NaN if unread)
        and ``rejected`` (the reason if unread, else ""). Attrs: ``scale``, ``rejected`` (values per
        reason), ``examples`` (statements, with reason and count), and ``notices`` (JSON), if there
        are any: ``"restated-confidence"`` and ``"mixed-scales"``.

    Raises
    ------
    InputError
        If an option is unusable, or bare numbers leave their scale open.

    Notes
    -----
    The scale is never decided value by value. Bare numbers up to 1, one of them a fraction, are
    probabilities; bare numbers of which one is larger than 50 and none lies in (0, 1] are
    percentages (next to larger ones a 1 may be 1 % or certainty); anything else needs `scale`.
    Percentages, "8/10" and words carry their scale. A value outside its scale is rejected. If a
    column mixes numbers up to 1 with larger ones, `scale` reads both on one scale, with a notice.
    Digits may be of any script.

    Running text is not interpreted: "I can't be 100 % sure", "about 0.7 sure" and "50/50" are
    unread. `pattern` reads other forms that a prompt requested. Of several statements, the last
    readable one is used, and a notice reports the number of texts with earlier ones; one JSON
    object with several different confidences is rejected. A word that has no number in `words` is
    rejected by that reason. A comma is a decimal sign, except in "1,234", which may be a thousand.

    Examples
    --------
    >>> parsed = parse_confidence(["85%", "8 out of 10", '{"confidence": 0.3}', "no idea"])
    >>> parsed["confidence"].tolist()
    [0.85, 0.8, 0.3, nan]
    >>> parsed.attrs["examples"]
    [{'said': 'no idea', 'reason': 'not understood', 'count': 1}]
    >>> parse_confidence(["Confidence: 87,5 %", "I'm 85% sure."])["confidence"].tolist()
    [0.875, nan]
    >>> parse_confidence(["1", "7"])
    Traceback (most recent call last):
    hmetad.InputError: scale: State the unit of bare numbers, for instance scale='percent'. \
Expected 'probability', 'percent', a largest value, or (lowest, highest), got none, for 2 bare \
numbers from 1 to 7.
    """
    wording = stated_wording(field=field, pattern=pattern, words=words)
    is_single = isinstance(values, str | Mapping) or not isinstance(values, Iterable)
    if is_single or (isinstance(values, np.ndarray) and values.ndim == 0):
        step = "Put a single value into a list."
        raise KindError("values", type(values).__name__, "one value per trial", step)
    statements = [read_statement(value, wording) for value in values]
    index = values.index if isinstance(values, pd.Series) else None
    return statement_frame(statements, scale=scale, index=index)


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
    numbers = np.array([one.number for one in statements], dtype=np.float64)
    reasons = [one.reason for one in statements]
    is_bare = np.array([not one.is_probability and not one.reason for one in statements], bool)
    low, high, name = bounds(scale, numbers[is_bare])
    refuse_other_scale(numbers[is_bare], low, high, scale)
    restated = sum(statement.restates for statement in statements)
    found = []
    if restated:
        found.append(notice_of("restated-confidence", number=restated, all=len(statements)))
    small, large = on_two_scales(numbers[is_bare])
    if small and large:
        found.append(notice_of("mixed-scales", small=small, large=large, scale=name))
    numbers[is_bare] = (numbers[is_bare] - low) / (high - low)
    # Rounding, as of 0.7 on a scale to 0.7, may lead past 1 by an ulp.
    is_outside = (numbers < -TOLERANCE) | (numbers > 1 + TOLERANCE)
    for row in np.flatnonzero(is_outside):
        reasons[row] = "outside its scale"
    confidence = np.where(is_outside, np.nan, np.clip(numbers, 0, 1))
    rejected = pd.Series(reasons, index=index, dtype="str")
    frame = pd.DataFrame({"confidence": confidence, "rejected": rejected}, index=index)
    said = Counter((one.said, why) for one, why in zip(statements, reasons, strict=True) if why)
    examples = [
        {"said": text, "reason": reason, "count": count}
        for (text, reason), count in said.most_common(MOST_EXAMPLES)
    ]
    attrs: dict[Any, Any] = {"scale": name, "rejected": dict(Counter(filter(None, reasons)))}
    frame.attrs = add_notices(attrs | {"examples": examples}, found)
    return frame


def record_stated(attrs: Mapping[Any, Any], stated: pd.DataFrame) -> dict[Any, Any]:
    """Attrs of trials with those of their stated confidence.

    Parameters
    ----------
    attrs : mapping
        Attrs with ``rejected`` (values left missing, per reason).
    stated : DataFrame
        As of `parse_confidence`.

    Returns
    -------
    dict
        Also ``scale``, ``examples`` and the notices; ``rejected`` has "confidence: ..." for reasons
        of `stated`.

    Examples
    --------
    >>> record_stated({"rejected": {}}, parse_confidence(["dunno"]))["rejected"]
    {'confidence: not understood': 1}
    """
    reasons = {f"confidence: {reason}": n for reason, n in stated.attrs["rejected"].items()}
    own = {**attrs, "rejected": {**attrs["rejected"], **reasons}}
    own |= {name: stated.attrs[name] for name in ("scale", "examples")}
    return add_notices(own, frame_notices(stated))


def refuse_other_scale(
    numbers: NDArray[np.float64], low: float, high: float, scale: Scale | None
) -> None:
    """Refuse a scale outside of which most of many numbers lie: they would become missing."""
    outside = numbers[(numbers < low) | (numbers > high)]
    if scale is None or len(numbers) < MANY or 2 * len(outside) <= len(numbers):
        return
    least, most = f"{numbers.min():g}", f"{numbers.max():g}"
    step = (
        f"Where the ends of the scale are {least} and {most}, say scale=({least}, {most}) "
        f"(--scale {least},{most} on the command line)."
    )
    is_whole = (numbers == np.round(numbers)).all()
    if is_whole and numbers.min() >= 1 and numbers.max() <= MOST_RATINGS:
        step = f"Whole numbers {least} to {most} are ratings: count the file as it is. {step}"
    got = (
        f"{scale!r}, and {len(outside):,} of {len(numbers):,} numbers lie outside of it, such as "
        f"{outside[0]:g}: they would be missing"
    )
    raise TooManyError("scale", got, "a scale that most numbers are on", step)


def on_two_scales(numbers: NDArray[np.float64]) -> tuple[int, int]:
    """How many numbers lie between 0 and 1, and above 1."""
    return int(((numbers > 0) & (numbers < 1)).sum()), int((numbers > 1).sum())


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
        raise ChoiceError("scale", repr(scale), allowed)
    return low, high, f"{low:g} to {high:g}"


def scale_of(numbers: NDArray[np.float64], allowed: str) -> str:
    """Scale of a column of bare numbers, if it leaves no doubt."""
    possible = numbers[(numbers >= 0) & (numbers <= LARGEST_PERCENT)]
    small, large = on_two_scales(possible)
    if small and not large:
        return "probability"
    if possible.max(initial=0) > LARGEST_OTHER and not ((possible > 0) & (possible <= 1)).any():
        return "percent"
    got = f"none, for {len(numbers)} bare numbers from {numbers.min():g} to {numbers.max():g}"
    say = "State the unit of bare numbers, for instance"
    small, large = on_two_scales(numbers)
    if small and large:
        got += f": {small} lie between 0 and 1, and {large} above 1"
        say = "The column mixes two scales: read its parts separately, or give the scale of all, "
        say += "for instance"
    steps = (f"{say} {way}." for way in ("scale='percent'", "--scale percent"))
    raise ChoiceError("scale", got, allowed, *steps)


# Columns that stay as they are


def unread_notices(confidence: pd.Series) -> list[Notice]:
    """Notices of texts, of numbers of two scales, of likely codes, and of numbers below 0.

    Parameters
    ----------
    confidence : Series
        As it stands in a table.

    Returns
    -------
    list of Notice
        None for ratings, and for probabilities.

    Examples
    --------
    >>> [notice.code for notice in unread_notices(pd.Series([0.83, 71, 0.6]))]
    ['mixed-scales']
    >>> [notice.code for notice in unread_notices(pd.Series(["I'm 85% sure", "0.6"]))]
    ['confidence-text']
    """
    numbers = bare_numbers(confidence)
    found = []
    texts = sum(not is_missing(one) for one in confidence[np.isnan(numbers)].tolist())
    if texts:
        found.append(notice_of("confidence-text", number=texts, all=len(numbers)))
    small, large = on_two_scales(numbers)
    if small and large:
        found.append(notice_of("mixed-scales.unread", small=small, large=large))
    known = numbers[np.isfinite(numbers)]
    found += code_notices("confidence", known, np.ones(len(known), dtype=np.int64))
    below = int((numbers < 0).sum())
    if below:
        found.append(notice_of("negative-confidence", number=below, all=len(numbers)))
    return found


def bare_numbers(column: pd.Series) -> NDArray[np.float64]:
    """Values that are numbers, also as text; NaN for others."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=float, na_value=math.nan)
    return np.array([number_of(value) for value in column.tolist()], dtype=float)


def number_of(value: Any) -> float:
    """Number that a value is, or that its text is."""
    if not isinstance(value, str | bool):
        return as_number(value)
    try:
        return float(value)
    except ValueError:
        return math.nan
