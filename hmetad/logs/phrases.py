"""Where running text states confidence: phrases that say that a number or word is about being sure.

Text → what stands in each such phrase, and whether it is a number or a word.

A number by itself says nothing: "The answer is 20 %" is an answer. It counts beside a word such as
sure, certain or confidence, or in brackets after the letter of an option.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

__all__ = ["LEVEL", "Phrase", "find_phrases", "without_hedge"]

# All repetitions are bounded, so that a long text takes no longer than it is long.
GAP = r"[ \t]{0,3}"
DIGITS = r"(?<![\w.,/-])\d{1,3}(?:\.\d{1,8})?"
PERCENT = rf"{DIGITS}{GAP}(?:[%\uff05\u066a]|percent\b|per cent\b)"
FRACTION = rf"{DIGITS}{GAP}(?:/|out of){GAP}\d{{1,3}}(?![\w.]\d)"
SCALED = rf"(?:{FRACTION}|{PERCENT})"
# Not "0.8-0.9", "3 people" or "20 %, which ...": what follows a bare number has to end it.
BARE = rf"[+-]?{DIGITS}(?=[.!]?[ \t*_`\"')\]]{{0,4}}(?:[,;\n]|$|\.[ \t\n]))"
# No quotation marks: JSON that is cut off may have lost the end of its number.
AROUND = r"[*_`]{0,3}"
HEDGE = (
    r"(?:(?:~|\u2248|about|around|roughly|approximately|approx\.|nearly|almost|perhaps|maybe|"
    r"probably|at least|some|I'd say|I would say)[ \t]{0,3}){0,2}"
)
SURE = r"(?:sure|certain|confident)"
NOUN = r"(?:confidence|certainty)"
# What statistics mean by the word, and denials.
OTHER = r"(?![ \t-]{1,3}(?:interval|level of|limit|band|bound|region))"
# "20% Confidence: 85%": the word is the label of what follows.
NO_LABEL = r"(?![ \t*_]{0,3}(?:[:=\uff1a]|(?:level|score|rating|is|of)\b))"
NO_DENIAL = r"(?<!not )(?<!n't )(?<!never )"
MODIFIER = (
    r"(?:(?:very|quite|fairly|pretty|rather|somewhat|extremely|highly|absolutely|completely|"
    r"not at all|not very|not)[ \t]{1,3})"
)
LEVEL = (
    rf"(?:{MODIFIER}{{0,2}}(?:sure|certain|confident|unsure|uncertain|high|low|medium|moderate))"
)
LINK = (
    rf"{AROUND}(?:[ \t](?:level|score|rating|estimate))?(?:[ \t](?:in|for|of|about) (?:this|my|the)"
    rf" (?:answer|response|choice))?{AROUND}{GAP}"
    rf"(?:[:=\uff1a\u2013\u2014-]|is|of|at|was|would be)?{AROUND}{GAP}{AROUND}\(?{HEDGE}{AROUND}"
)

NUMBERS = re.compile(
    "|".join(
        [
            rf"{NO_DENIAL}(?P<before>{SCALED}){GAP}-?{AROUND}[ \t]{{0,3}}"
            rf"(?:{SURE}|{NOUN}{NO_LABEL})\b{OTHER}",
            rf"\b{NOUN}\b{OTHER}{LINK}(?P<scaled>{SCALED})",
            rf"\b{NOUN}\b{OTHER}{LINK}(?P<bare>{BARE})",
            rf"{NO_DENIAL}\b{SURE}\b{GAP}(?::|at|\(){GAP}{HEDGE}(?P<after>{SCALED})",
            rf"^[ \t]{{0,3}}(?:(?:the[ \t])?answer{GAP}(?:[:=]|is){GAP})?"
            rf"{AROUND}\(?[A-Z]\)?{AROUND}[.:]?{GAP}\({HEDGE}(?P<option>{PERCENT})\)",
        ]
    ),
    re.IGNORECASE | re.MULTILINE,
)
# No phrase with a number, nor one of the words that are known here, is without one of these.
HINT = re.compile(r"sure|certain|confiden|[%\uff05\u066a]|per ?cent", re.IGNORECASE)
HEDGED = re.compile(rf"\(?{HEDGE}({SCALED}|{DIGITS})\)?", re.IGNORECASE)


class Phrase(NamedTuple):
    """What stands in a phrase of confidence; a word may have no meaning yet."""

    said: str
    is_word: bool


def find_phrases(text: str, words: Mapping[str, float]) -> list[Phrase]:
    """What the phrases of a text say, in their order: numbers if there are any, else words.

    Parameters
    ----------
    text : str
        Running text.
    words : mapping of str to float
        Words that have a meaning; others are found where they say how sure someone is.

    Returns
    -------
    list of Phrase
        Empty where no phrase is about confidence.

    Examples
    --------
    >>> [phrase.said for phrase in find_phrases("First 60% sure, now 85% sure: it is 20%.", {})]
    ['60%', '85%']
    >>> find_phrases("The answer is 20%.", {})
    []
    >>> find_phrases("I am very sure.", {})
    [Phrase(said='very sure', is_word=True)]
    """
    has_hint = HINT.search(text) is not None
    if not has_hint and not words:
        return []
    found = NUMBERS.finditer(text) if has_hint else ()
    numbers = [Phrase(said_in(match), False) for match in found]
    if numbers:
        return numbers
    return [Phrase(said_in(match), True) for match in word_pattern(tuple(words)).finditer(text)]


def said_in(match: re.Match[str]) -> str:
    """The one group that took part in a match."""
    return next(group for group in match.groups() if group is not None)


def without_hedge(text: str) -> str:
    """Number of a text that holds nothing else but "about" or brackets around it, or the text.

    Examples
    --------
    >>> without_hedge("(~90%)"), without_hedge("80-90%")
    ('90%', '80-90%')
    """
    match = HEDGED.fullmatch(text)
    return match[1] if match else text


@lru_cache(maxsize=16)
def word_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Where a word says how sure someone is: the longest that fits."""
    known = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    word = f"(?:{known}|{LEVEL})" if known else LEVEL
    about_oneself = rf"{MODIFIER}{{0,2}}(?:{SURE}|unsure|uncertain)"
    sure = f"(?:{known}|{about_oneself})" if known else about_oneself
    return re.compile(
        rf"\b{NOUN}\b{OTHER}{LINK}({word})(?!\w)"
        rf"|\b(?:I'?m|I am|I feel|I was|am|feeling)[ \t]{{1,3}}({sure})(?!\w)"
        rf"|(?<!\w)({word})[ \t]{{1,3}}{NOUN}\b{OTHER}"
        rf"|^[ \t]{{0,3}}{AROUND}({sure})[.!]?{AROUND}$",
        re.IGNORECASE | re.MULTILINE,
    )
