"""Escape raw text for the format that it is written to.

Text from outside → Markdown, LaTeX, file names, and the visible text that all formats start from.
HTML is escaped by jinja2 itself.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LINE_SPACE = re.compile("[ \t\n\r\f\v\x1c-\x1f\x85\u2028\u2029]+")
# Control signs but tabs and line feeds, halves of signs, marks of direction, signs that never show.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Composing a letter and its marks takes the square of their number.
COMPOSED_AT_ONCE = 1000
# What Windows takes for a device, whatever the suffix.
DEVICES = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)\d)\Z")
BREAK = "\u200b"
SIGN = re.compile("[A-Za-z]\u0302|.", re.DOTALL)  # R̂ is a letter and a hat
LIGATURE = re.compile("([-,])(?=\\1)")
LONG_RUN = re.compile(r"[^\s\u200b]{31,}")

MARKDOWN_SIGNS = re.compile(r"[\\`*_{}\[\]#|$~^@]")
MARKDOWN_OPENING = re.compile(r"^(?:[-+=:]|\d+(?=[.)](?:\s|$)))")
MARKDOWN_LINK = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)

TABLE = Path(__file__).with_name("latex.toml")


class Safe(str):
    """Text that is already in the language of its format."""

    __slots__ = ()


def visible(text: object) -> str:
    r"""Text on one line, in which control and direction marks show themselves.

    Examples
    --------
    >>> visible("two\nlines, a bell \x07")
    'two lines, a bell [U+0007]'
    """
    parts = pieces(str(text), COMPOSED_AT_ONCE)
    composed = "".join(unicodedata.normalize("NFC", part) for part in parts)
    return reveal(LINE_SPACE.sub(" ", composed).strip())


def reveal(text: str) -> str:
    r"""Text whose control and direction marks show themselves; tabs and line feeds stay.

    Examples
    --------
    >>> reveal("a\n\x1b[2J")
    'a\n[U+001B][2J'
    """
    return HIDDEN.sub(lambda sign: code_point(sign[0]), text)


def markdown(text: object) -> str:
    r"""Text in Markdown (CommonMark with tables), where nothing of it is markup.

    Examples
    --------
    >>> print(markdown("a|b $x_1$ [x](javascript:y) <b>"))
    a\|b \$x\_1\$ \[x\](javascript:y) &lt;b&gt;
    """
    line = MARKDOWN_SIGNS.sub(lambda sign: "\\" + sign[0], visible(text))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = MARKDOWN_LINK.sub(lambda sign: "\\" + sign[0], line)
    # A list mark or an underline at the start of a line is none.
    return MARKDOWN_OPENING.sub(
        lambda sign: f"{sign[0]}\\" if sign[0].isdigit() else f"\\{sign[0]}", line
    )


def latex(text: object) -> str:
    r"""Text in LaTeX, where nothing of it is a command.

    Signs that pdfLaTeX cannot set are written by their code, such as [U+5B50].

    Examples
    --------
    >>> print(latex(r"\input{x} 100% d′"))
    \textbackslash{}input\{x\} 100\% d\ensuremath{'}
    >>> print(latex("Müller & 子"))
    Müller \& {[}U+5B50{]}
    """
    line = LONG_RUN.sub(lambda run: BREAK.join(pieces(run[0], 8)), visible(text))
    known = latex_signs()
    return LIGATURE.sub(r"\1{}", SIGN.sub(lambda sign: known.get(sign[0]) or unset(sign[0]), line))


@cache
def latex_signs() -> Mapping[str, str]:
    r"""Every sign that LaTeX sets, and its command.

    Examples
    --------
    >>> latex_signs()["%"], latex_signs()["β"]
    ('\\%', '\\ensuremath{\\beta}')
    """
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    plain = {sign: sign for sign in (*map(chr, range(128)), *table["as_they_are"])}
    math = {sign: rf"\ensuremath{{{command}}}" for sign, command in table["math"].items()}
    return plain | table["text"] | math


def unset(sign: str) -> str:
    """A letter with its hat, or the code of a sign that LaTeX does not set."""
    if len(sign) == 2:
        return rf"\^{{{sign[0]}}}"
    return code_point(sign).replace("[", "{[}").replace("]", "{]}")


def shorten(text: object, length: int = 40) -> str:
    """Visible text of at most `length` signs, its middle left out.

    Examples
    --------
    >>> shorten("a model whose name never seems to end", 20)
    'a model wh…ms to end'
    """
    line = visible(text)
    if len(line) <= length:
        return line
    tail = (length - 1) // 2
    return f"{line[: length - 1 - tail]}…{line[-tail:]}"


def opening(text: object, length: int = 56) -> str:
    """First sentence of a text, cut after a word where it is long.

    Examples
    --------
    >>> opening("Accuracy by rating. Markers grow with trials."), opening("one two three", 9)
    ('Accuracy by rating', 'one two…')
    """
    sentence = re.split(r"\.(?:\s|$)", visible(text), maxsplit=1)[0] or visible(text)
    if len(sentence) <= length:
        return sentence
    words = sentence[:length].rpartition(" ")[0] or sentence[: length - 1]
    return f"{words.rstrip(' ,;')}…"


def slug(text: object, default: str) -> str:
    """File stem or anchor of small ASCII letters, digits and hyphens.

    Examples
    --------
    >>> slug("../M-ratio, by Müller", "figure-1")
    'm-ratio-by-muller'
    >>> slug("子", "figure-1")
    'figure-1'
    """
    start = str(text)[:COMPOSED_AT_ONCE]
    ascii_text = unicodedata.normalize("NFKD", start).encode("ascii", "ignore").decode()
    stem = re.sub("[^a-z0-9]+", "-", ascii_text.lower()).strip("-")[:60].strip("-")
    return default if not stem or DEVICES.match(stem) else stem


def code_point(sign: str) -> str:
    """Code point in words."""
    return f"[U+{ord(sign):04X}]"


def pieces(run: str, length: int) -> list[str]:
    """Cut a long run where a line may break."""
    return [run[start : start + length] for start in range(0, len(run), length)]
