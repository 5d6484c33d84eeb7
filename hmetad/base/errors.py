"""What a user gave, and why it cannot be used.

Argument, value → the one error of the package that is meant for its user. It imports no other
subpackage, so that every one can raise it.
"""

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, ClassVar

LONGEST = 2000
# Letters from which on a part of a word suggests the word.
SHORTEST = 3
SHORT = reprlib.Repr(maxstring=100, maxother=100, maxlong=60)


class InputError(ValueError):
    """Raised when an argument or a file cannot be used; its text begins with what to do.

    Attribute ``code`` names the kind of error for programs. Users catch this class; the classes
    below, one for each code, look the same to them.

    Parameters
    ----------
    argument : str
        The argument, column, option or file at fault.
    got : str
        The value received, in words.
    allowed : str, optional
        What is expected, in words.
    next_step : str, optional
        What to do now, as a sentence, in the words of Python.
    shell_step : str, optional
        The same in the words of the command line, where these differ.

    Examples
    --------
    >>> from hmetad.base.errors import EmptyError, NumberError, UnusedError
    >>> print(NumberError("rope", "(0.1, -0.1)", "lower < upper", "Swap the two ends."))
    rope: Swap the two ends. Expected lower < upper, got (0.1, -0.1).
    >>> print(UnusedError("--top", "with --rank"), EmptyError("x", "no trials"))
    --top has an effect only with --rank. x: no trials.
    """

    # Tracebacks show the name by which users know it.
    __module__ = "hmetad"
    code: ClassVar[str] = "value"
    sentence: ClassVar[str] = "{argument}: {step}Expected {allowed}, got {got}."

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = cls.__name__.removesuffix("Error").lower()
        cls.__module__, cls.__qualname__ = "hmetad", "InputError"

    def __init__(
        self, argument: str, got: str, allowed: str = "", next_step: str = "", shell_step: str = ""
    ) -> None:
        self.argument, self.got, self.allowed = argument, got, allowed
        self.next_step, self.shell_step = next_step, shell_step
        super().__init__(self.message(argument, next_step))

    def message(self, argument: str, step: str) -> str:
        """Text of the error, with the words that a front end has for argument and next step."""
        compares = self.sentence == InputError.sentence
        sentence = "{argument}: {got}. {step}" if compares and not self.allowed else self.sentence
        parts = {"argument": one_line(argument), "got": one_line(self.got)}
        text = sentence.format(**parts, allowed=self.allowed, step=f"{step} " if step else "")
        return one_line(text, None).rstrip()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.argument, self.got, self.allowed, self.next_step, self.shell_step)
        return made_again, (self.code, *parts)


class CardError(InputError):
    """A model card, or a model, has a field or value that no card may have."""


class ChoiceError(InputError):
    """A word or value is not one of the choices."""


class ColumnError(InputError):
    """The table has no such column, or the column has other values."""


class ConflictError(InputError):
    """Two arguments exclude each other; `got` is the other one."""

    sentence = "{argument} does not go with {got}. {step}"


class DamagedError(InputError):
    """A saved result was changed or cut off, or hmetad did not write it."""


class EmptyError(InputError):
    """Nothing is left to work on."""


class FileError(InputError):
    """A file is missing, of another kind, or not what its kind says."""


class FormulaError(InputError):
    """A formula cannot be parsed, or does not fit the table."""


class InstallError(InputError):
    """An optional package is missing."""


class KindError(InputError):
    """A value is of another type."""


class LabelError(InputError):
    """Labels of stimuli, responses, options or cells do not match."""


class LevelError(InputError):
    """The data have no such level or cell."""


class MissingError(InputError):
    """Values are missing or undefined."""


class ModelError(InputError):
    """The fit or model is of another kind."""


class NeedError(InputError):
    """An argument lacks another one, `got`, that it needs."""

    sentence = "{argument} needs {got}. {step}"


class NumberError(InputError):
    """A number is outside its range, or is not a number."""


class OutputError(InputError):
    """The output cannot be written there."""


class RatingError(InputError):
    """Confidence is not on the scale of ratings."""


class RepeatError(InputError):
    """Names, labels or rows occur twice."""


class ShapeError(InputError):
    """An array has other dims, shape or length."""


class SourceError(InputError):
    """The object was made by another function or from other data."""


class StimulusError(InputError):
    """A quantity needs a stimulus, or correctness was given as the stimulus."""


class TakenError(InputError):
    """The name is in use for something else."""


class TooFewError(InputError):
    """There are too few cells, levels, items or trials."""


class TooManyError(InputError):
    """There are more than can be used."""


class UnknownError(InputError):
    """No object has this name."""


class UnusedError(InputError):
    """An argument has an effect only under a condition, `got`."""

    sentence = "{argument} has an effect only {got}. {step}"


class WorkerError(InputError):
    """A worker process ended."""


def listed_both(name: str, values: Iterable[object]) -> tuple[str, str]:
    """An argument with its values in the words of Python, and as an option of the command line.

    Examples
    --------
    >>> listed_both("missing_codes", [999, "none"])
    ("missing_codes=[999, 'none']", '--missing-codes 999,none')
    """
    values = [*values]
    typed = ",".join(map(str, values))
    option = f"--{name.replace('_', '-')} " + (f'"{typed}"' if " " in typed else typed)
    return f"{name}=[{', '.join(map(repr, values))}]", option


def made_again(code: str, *parts: str) -> InputError:
    """Error of a code, as a worker process sends it."""
    kinds: list[type[InputError]] = [InputError, *InputError.__subclasses__()]
    return next(kind for kind in kinds if kind.code == code)(*parts)


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
    >>> nearest("seed", ["draws", "random_seed"])
    "Did you mean 'random_seed'?"
    >>> nearest("x", ["stimulus", "response"])
    "There are: 'response', 'stimulus'."
    """
    candidates = sorted(map(str, words))
    plain = {name.casefold(): name for name in reversed(candidates)}
    typed = word.casefold()
    close = get_close_matches(typed, plain, n=1)
    parts = [x for x in plain if len(typed) >= SHORTEST and typed in x]
    close += sorted(parts, key=lambda x: not x.startswith(typed))
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
