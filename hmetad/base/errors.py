"""What a user gave, and why it cannot be used.

The one error of the package that is meant for its user. It knows no other room, so that
every room can raise it.
"""

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["InputError", "any_of", "describe_value", "nearest"]

LONGEST = 2000
# Letters from which on the beginning of a word suggests the whole.
SHORTEST = 3
SHORT = reprlib.Repr(maxstring=100, maxother=100, maxlong=60)


class InputError(ValueError):
    """Raised when an argument or a file cannot be used; its text names the next step.

    Parameters
    ----------
    argument : str
        The argument, column, option or file at fault.
    got : str
        What came.
    allowed : str
        What is allowed.
    next_step : str, optional
        What to do now, as a sentence.

    Examples
    --------
    >>> print(InputError("rope", "(0.1, -0.1)", "lower < upper", "Swap the two ends."))
    rope: got (0.1, -0.1), allowed is lower < upper. Swap the two ends.
    """

    # Tracebacks show the name by which users know it.
    __module__ = "hmetad"

    def __init__(self, argument: str, got: str, allowed: str, next_step: str = "") -> None:
        self.argument, self.got, self.allowed, self.next_step = argument, got, allowed, next_step
        sentence = in_words(one_line(argument), one_line(got), allowed)
        super().__init__(one_line(f"{sentence} {next_step}", None).rstrip())

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str, str, str]]:
        return type(self), (self.argument, self.got, self.allowed, self.next_step)


def in_words(argument: str, got: str, allowed: str) -> str:
    """What is wrong as a sentence; "it" stands for the argument, beside or without another.

    Examples
    --------
    >>> in_words("--rope", "it without effect", "it beside --fail-if")
    '--rope has no effect without --fail-if.'
    >>> in_words("--fail-if", "it without verdicts", "--rope"), in_words("x", "no trials", "")
    ('--fail-if needs verdicts: --rope.', 'x: no trials.')
    """
    what, _, rest = allowed.removeprefix("it ").partition(" ")
    if got == "it without effect":
        return f"{argument} has no effect {'without' if what == 'beside' else 'beside'} {rest}."
    for given, words in (("it without ", "needs"), ("it beside ", "does not go with")):
        if got.startswith(given):
            return f"{argument} {words} {got.removeprefix(given)}: {allowed}."
    return f"{argument}: got {got}, allowed is {allowed}." if allowed else f"{argument}: {got}."


def one_line(text: str, most: int | None = LONGEST) -> str:
    """Text on one line and not endless: what came may be a whole table, or the name of a file."""
    line = text if text.isprintable() else " ".join(map(printable, text.split()))
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def printable(word: str) -> str:
    """Word in which control codes and halves of characters are written by their number."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in word
    )


def nearest(word: str, words: Iterable[str]) -> str:
    """Sentence that suggests the most similar of the legal words, or lists them.

    Examples
    --------
    >>> nearest("respone", ["stimulus", "response"])
    "Did you mean 'response'?"
    >>> nearest("SUBJ", ["subject_id", "response"])
    "Did you mean 'subject_id'?"
    >>> nearest("x", ["stimulus", "response"])
    "There are: 'response', 'stimulus'."
    """
    candidates = sorted(map(str, words))
    plain = {name.casefold(): name for name in reversed(candidates)}
    typed = word.casefold()
    close = get_close_matches(typed, plain, n=1)
    close += [x for x in plain if len(typed) >= SHORTEST and x.startswith(typed)]
    if close:
        return f"Did you mean {plain[close[0]]!r}?"
    return f"There are: {', '.join(map(repr, candidates)) or 'none'}."


def any_of(words: Iterable[str]) -> str:
    """Words with "or" before the last."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def describe_value(value: object) -> str:
    """Describe a value in a few words: plain values as written, others by their type.

    Examples
    --------
    >>> describe_value("a"), describe_value(int)
    ("'a'", 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return f"an array of shape {value.shape}"  # type: ignore[attr-defined]
    if isinstance(value, int) and abs(value) >= 2**200:
        return f"an integer of {value.bit_length()} bits"
    plain = (str, bytes, int, float, complex, list, tuple, set, frozenset, dict)
    is_plain = value is None or kind.__module__ == "numpy" or isinstance(value, plain)
    return SHORT.repr(value) if is_plain else kind.__name__
