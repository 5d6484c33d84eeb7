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

Severity = Literal["info", "warning", "error"]

TABLE = Path(__file__).with_name("notices.toml")
IN_TEXT = ("severity", "message", "next_step", "shell_step", "source")
# A sentence whose name ends in this is the form for the command line of the one without.
SHELL = "-shell"


@dataclass(frozen=True)
class Text:
    """Text of a notice; names in braces stand for data until they are filled in.

    `shell_step` is the next step for the command line, or empty if that is the same.
    """

    severity: Severity
    message: str = ""
    next_step: str = ""
    source: str = ""
    shell_step: str = ""


@dataclass(frozen=True)
class Code:
    """Record of a code.

    Parameters
    ----------
    name : str
    texts : mapping of str to Text
        By "code" or "code.case"; empty for a code that is not a notice.
    means, do, shell_do : str
        Meaning, and next step in general: for Python, and for the command line.
    about : {"", "M", "meta-d′"}
        Whether it concerns only M, or only M and meta-d′, in the cells that it names.
    limit : float or None
        The number that its rule rests on.
    short : str
        Words for a table.
    traps : tuple of int
    repeat_in_comparison : bool
        Whether verdicts have to be read with it, though it withholds none.
    """

    name: str
    texts: Mapping[str, Text]
    means: str
    do: str
    shell_do: str
    about: Literal["", "M", "meta-d′"] = ""
    limit: float | None = None
    short: str = ""
    traps: tuple[int, ...] = ()
    repeat_in_comparison: bool = False


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
    >>> text_of("rhat", {"names": "dprime, c"}).message
    'R̂ above 1.01 for dprime, c: the chains disagree.'
    """
    code = codes()[name.partition(".")[0]]
    text, known = code.texts[name], {"limit": code.limit, **values}
    written = (text.message, text.next_step, text.shell_step)
    message, step, shell_step = (filled_in(one, known) for one in written)
    return Text(text.severity, message, step, text.source, shell_step)


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


def repeat_in_comparison(code: str) -> bool:
    """Whether verdicts have to be read with a notice of this code, as with every unknown code.

    Examples
    --------
    >>> names = ("same-effect", "few-trials", "of-another-package")
    >>> [repeat_in_comparison(code) for code in names]
    [True, False, True]
    """
    return code not in codes() or codes()[code].repeat_in_comparison


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
    texts = {case: Text(**with_shell_step(own, other)) for case, other in cases.items()}
    if "message" in own:
        texts[name] = Text(**with_shell_step(own, {}))
    rule = {"limit": entry.get("limit")}
    do = entry.get("do", own.get("next_step", ""))
    shell_step = "" if "do" in entry else with_shell_step(own, {}).get("shell_step", "")
    shell_do = entry.get("shell_do", shell_step)
    return Code(
        name,
        texts,
        filled_in(entry.get("means", own.get("message", "")), rule),
        filled_in(do, rule),
        filled_in(shell_do or do, rule),
        entry.get("about", ""),
        entry.get("limit"),
        filled_in(entry.get("short", ""), rule),
        tuple(entry.get("traps", ())),
        entry.get("repeat_in_comparison", False),
    )


def with_shell_step(own: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """Texts of a case, with the shell step that belongs to its next step.

    Examples
    --------
    >>> with_shell_step({"next_step": "Set n=.", "shell_step": "Set --n."}, {"next_step": "Wait."})
    {'next_step': 'Wait.', 'shell_step': ''}
    """
    merged = {**own, **case}
    if "next_step" in case and "shell_step" not in case:
        merged["shell_step"] = ""
    shared = merged.get("next_step", "") + SHELL
    if not merged.get("shell_step") and shared.removeprefix("@") in table()["sentences"]:
        merged["shell_step"] = shared
    return merged


def sentence(name: str) -> str:
    """Sentence that several codes share.

    Examples
    --------
    >>> sentence("more-trials")
    'Collect more trials, or compare meta_d, which may be negative.'
    """
    return str(table()["sentences"][name])


def step_values(name: str) -> dict[str, str]:
    """Shared sentence as the values `step` and `shell_step` of a notice.

    Examples
    --------
    >>> step_values("fewer-ratings")["shell_step"]
    'Make fewer ratings with more trials in each: --quantiles.'
    """
    return {"step": sentence(name), "shell_step": table()["sentences"].get(name + SHELL, "")}


class Count(int):
    """An integer that a text has with commas between thousands."""

    def __format__(self, spec: str) -> str:
        """The number as the text wants it, by default with commas."""
        return super().__format__(spec or ",")


def filled_in(text: str, values: Mapping[str, object]) -> str:
    """Text with the values in their places; "@name" stands for a shared sentence."""
    values = {k: Count(x) if isinstance(x, Integral) else x for k, x in values.items()}
    # Data may begin with "@", as names of models do: only what the table itself says is a name.
    written = sentence(text.removeprefix("@")) if text.startswith("@") else text
    return written.format_map(values)
