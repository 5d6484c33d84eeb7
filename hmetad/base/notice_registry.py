"""Codes of notices: text, severity, and which verdicts a code withholds.

The table in notices.toml → one record per code; code and data → the text of a notice.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "Code",
    "Severity",
    "Text",
    "about_alone",
    "codes",
    "limit",
    "sentence",
    "short_words",
    "text_of",
    "weakens",
]

Severity = Literal["info", "warning", "error"]

TABLE = Path(__file__).with_name("notices.toml")
IN_TEXT = ("severity", "message", "next_step", "source")


@dataclass(frozen=True)
class Text:
    """Text of a notice; names in braces stand for data until they are filled in."""

    severity: Severity
    message: str = ""
    next_step: str = ""
    source: str = ""


@dataclass(frozen=True)
class Code:
    """Record of a code.

    Parameters
    ----------
    name : str
    texts : mapping of str to Text
        By "code" or "code.case"; empty for a code that is no notice.
    means, do : str
        Meaning and next step in general.
    about : {"", "M", "meta-d′"}
        Whether it concerns only M, or only M and meta-d′, in the cells that it names.
    limit : float or None
        The number that its rule rests on.
    short : str
        Words for a table.
    traps : tuple of int
    weakens : bool
        Whether verdicts have to be read with it, where it withholds none.
    """

    name: str
    texts: Mapping[str, Text]
    means: str
    do: str
    about: Literal["", "M", "meta-d′"] = ""
    limit: float | None = None
    short: str = ""
    traps: tuple[int, ...] = ()
    weakens: bool = False


def text_of(name: str, values: Mapping[str, object]) -> Text:
    """Text of a notice, with the values in their places.

    Parameters
    ----------
    name : str
        A code, or "code.case".
    values : mapping of str to object
        Data by the names that stand in braces; the limit of the code need not be given.

    Examples
    --------
    >>> text_of("partial.draws", {"done": 3, "wanted": 2000}).message
    'The run was cut short: 3 of 2,000 draws a chain.'
    """
    code = codes()[name.partition(".")[0]]
    text, known = code.texts[name], {"limit": code.limit, **values}
    message, step = filled_in(text.message, known), filled_in(text.next_step, known)
    return Text(text.severity, message, step, text.source)


def limit(code: str) -> float:
    """Number that the rule of a code rests on.

    Examples
    --------
    >>> limit("few-trials"), limit("rhat")
    (100, 1.01)
    """
    number = codes()[code].limit
    assert number is not None, f"no limit of {code}"
    return number


def about_alone(code: str) -> str:
    """What a code alone concerns in the cells that it names: M, M and meta-d′, or empty for all.

    Examples
    --------
    >>> [about_alone(code) for code in ("dprime-sign", "no-errors", "rhat", "of-another-package")]
    ['M', 'meta-d′', '', '']
    """
    return codes()[code].about if code in codes() else ""


def weakens(code: str) -> bool:
    """Whether verdicts have to be read with a notice of this code; of an unknown one they have.

    Examples
    --------
    >>> [weakens(code) for code in ("same-effect", "few-trials", "of-another-package")]
    [True, False, True]
    """
    return code not in codes() or codes()[code].weakens


def short_words(code: str) -> str:
    """Few words for a code in a table, or the code itself.

    Examples
    --------
    >>> short_words("rhat"), short_words("of-another-package")
    ('R̂ above 1.01', 'of-another-package')
    """
    return (code in codes() and codes()[code].short) or code


@cache
def codes() -> Mapping[str, Code]:
    """Every code by its name, in the order of the table."""
    return {name: record_of(name, entry) for name, entry in table().items() if name != "sentences"}


@cache
def table() -> Mapping[str, Mapping[str, Any]]:
    """The table as it is written."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def record_of(name: str, entry: Mapping[str, Any]) -> Code:
    """Record of a code, from its part of the table."""
    own = {key: entry[key] for key in IN_TEXT if key in entry}
    cases = {f"{name}.{case}": x for case, x in entry.items() if isinstance(x, dict)}
    texts = {case: Text(**{**own, **other}) for case, other in cases.items()}
    if "message" in own:
        texts[name] = Text(**own)
    rule = {"limit": entry.get("limit")}
    return Code(
        name,
        texts,
        filled_in(entry.get("means", own.get("message", "")), rule),
        filled_in(entry.get("do", own.get("next_step", "")), rule),
        entry.get("about", ""),
        entry.get("limit"),
        filled_in(entry.get("short", ""), rule),
        tuple(entry.get("traps", ())),
        entry.get("weakens", False),
    )


def sentence(name: str) -> str:
    """Sentence that several codes share.

    Examples
    --------
    >>> sentence("exchanged-labels")
    'Check whether the labels of stimuli or responses were exchanged.'
    """
    return str(table()["sentences"][name])


class Count(int):
    """A whole number that a text has with commas between thousands."""

    def __format__(self, spec: str) -> str:
        """The number as the text wants it, by default with commas."""
        return super().__format__(spec or ",")


def filled_in(text: str, values: Mapping[str, object]) -> str:
    """Text with the values in their places; "@name" stands for a shared sentence."""
    values = {k: Count(x) if isinstance(x, Integral) else x for k, x in values.items()}
    # Data may begin with "@", as names of models do: only what the table itself says is a name.
    written = sentence(text.removeprefix("@")) if text.startswith("@") else text
    return written.format_map(values)
