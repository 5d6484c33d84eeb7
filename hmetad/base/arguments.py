"""What an argument of a public function may be, declared where it is defined and checked once.

Function → the same function, which raises `InputError` for any value that its annotations do not
say. What a type cannot express has a check of its own: a seed, a probability, a fit. Annotations
are read strictly: True is no number, text is no list of text, a set has no order.
"""

import reprlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from functools import cache, wraps
from inspect import Parameter, signature
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeAliasType,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from hmetad.base.errors import InputError

__all__ = [
    "Check",
    "arrays_of_numbers",
    "check_inputs",
    "describe_value",
    "finite",
    "is_number",
    "number_text",
    "of_type",
    "positive",
    "probability",
    "refuse_same_names",
    "row_labels",
    "seed_or_none",
    "share_or_none",
    "whole",
    "with_posterior",
    "with_submit",
    "with_variables",
]

type Check = Callable[[str, Any], object]

MOST_WHOLE = 2**63
LONGEST_NAME = 255
NO_ARRAYS = (bytes, bytearray, memoryview, Mapping, set, frozenset, type)
NO_LISTS = (str, *NO_ARRAYS)
SHORT = reprlib.Repr(maxstring=100, maxother=100, maxlong=60)


def check_inputs[F: Callable[..., Any]](
    *, skip: Sequence[str] = (), **checks: Check
) -> Callable[[F], F]:
    """Decorator: check the arguments of a function by its annotations.

    Parameters
    ----------
    skip : sequence of str, optional
        Arguments that the function checks itself; they are not checked here.
    **checks : callable
        Checks by the name of an argument, in place of its annotation. A check takes name and
        value, and raises `InputError`; its return value is not used.

    Returns
    -------
    callable
        Decorator. The function keeps its name, signature and docstring; annotations are read at
        the first call, and a default value is not checked. Missing and unknown arguments raise the
        errors of Python.

    Examples
    --------
    >>> @check_inputs(n=whole(1))
    ... def repeated(text: str, n: int = 1) -> str:
    ...     return text * n
    >>> repeated("a", n=2)
    'aa'
    >>> repeated(b"a")
    Traceback (most recent call last):
    hmetad.InputError: text: got b'a', allowed is text.
    >>> repeated("a", n=0)
    Traceback (most recent call last):
    hmetad.InputError: n: got 0, allowed is a whole number of at least 1.
    """

    def decorated(function: F) -> F:
        parameters = signature(function).parameters
        assert {*skip, *checks} <= {*parameters}, f"no such arguments: {skip}, {checks}"
        defaults = {name: parameter.default for name, parameter in parameters.items()}
        kinds = {name: parameter.kind for name, parameter in parameters.items()}
        by_place = [name for name, kind in kinds.items() if kind is not Parameter.KEYWORD_ONLY]
        others = next((name for name, kind in kinds.items() if kind is Parameter.VAR_KEYWORD), "")

        @cache
        def checks_by_name() -> dict[str, Check]:
            hints = get_type_hints(function)
            names = [name for name in parameters if name in {*hints, *checks} - {*skip}]
            return {name: checks.get(name) or of_type(hints[name]) for name in names}

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            known = checks_by_name()
            for argument, value in (*zip(by_place, args, strict=False), *kwargs.items()):
                declared = argument if argument in parameters else others
                # What is unknown or missing is left to Python.
                if declared in known and value is not defaults[declared]:
                    known[declared](argument, value)
            return function(*args, **kwargs)

        return cast(F, wrapper)

    return decorated


# Checks of what no annotation says


def check_that(holds: Callable[[Any], bool], allowed: str, next_step: str = "") -> Check:
    """Check that a value has a property, which the words name."""

    def check(argument: str, value: object) -> None:
        if not holds(value):
            raise InputError(argument, describe_value(value), allowed, next_step)

    return check


def whole(least: int, most: int = MOST_WHOLE - 1) -> Check:
    """Check for a whole number between two limits.

    Examples
    --------
    >>> whole(1, 1000)("n", 5000)
    Traceback (most recent call last):
    hmetad.InputError: n: got 5000, allowed is a whole number from 1 to 1000.
    """
    is_open = most == MOST_WHOLE - 1
    words = f"of at least {least}" if is_open else f"from {least} to {most}"
    return check_that(lambda x: is_whole(x) and least <= x <= most, f"a whole number {words}")


def of_type(annotation: Any) -> Check:
    """Check that a value fits an annotation.

    Examples
    --------
    >>> of_type(str)("kind", ["difference"])
    Traceback (most recent call last):
    hmetad.InputError: kind: got ['difference'], allowed is text.
    """
    kind = kind_of(annotation)

    def check(argument: str, value: object) -> None:
        if not kind.holds(value):
            is_set = isinstance(value, set | frozenset) and "list" in kind.words
            step = "A set has no order: pass a list." if is_set else ""
            raise InputError(argument, describe_value(value), kind.words, step)

    return check


def with_variables(*names: str, dim: str, made_by: str) -> Check:
    """Check for a Dataset with some variables and a labelled dim; `made_by` says what returns it.

    Examples
    --------
    >>> with_variables("rank", dim="cell", made_by="rank")("ranks", {"rank": 1})
    Traceback (most recent call last):
    hmetad.InputError: ranks: got {'rank': 1}, allowed is a Dataset of rank, \
with rank and dim cell.
    """
    named = " and ".join(filter(None, [", ".join(names), f"dim {dim}"]))
    allowed = f"a Dataset of {made_by}, with {named}"

    def check(argument: str, value: Any) -> None:
        if type(value).__name__ != "Dataset":
            raise InputError(argument, describe_value(value), allowed)
        lacking = [name for name in names if name not in value.data_vars]
        lacking += [dim] if dim not in value.dims or dim not in value.coords else []
        if lacking:
            raise InputError(argument, f"one without {', '.join(lacking)}", allowed)

    return check


def has_draws(value: Any) -> bool:
    """Whether a value is a fit: a tree of draws with the group "posterior"."""
    children = {} if isinstance(value, type) else getattr(value, "children", {})
    return "posterior" in children and {"chain", "draw"} <= {*children["posterior"].dims}


def is_seed(value: Any) -> bool:
    """Whether a value is None, a whole number of at least 0, of any size, or a Generator."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return bool(value >= 0)
    return value is None or isinstance(value, np.random.Generator)


finite = check_that(lambda x: is_number(x) and bool(np.isfinite(float(x))), "a finite number")
positive = check_that(lambda x: is_number(x) and 0 < x < np.inf, "a finite number above 0")
probability = check_that(lambda x: is_number(x) and 0 < x < 1, "a probability between 0 and 1")
seed_or_none = check_that(is_seed, "None or a whole number of at least 0")
share_or_none = check_that(
    lambda x: x is None or (is_number(x) and 0 < x <= 1), "None or a share above 0 and up to 1"
)
# None stands for nothing given.
arrays_of_numbers = check_that(
    lambda x: x is None or array_kind(x) in "biuf", "numbers, one or an array of them"
)
with_submit = check_that(
    lambda x: x is None or callable(getattr(x, "submit", None)),
    "an executor of concurrent.futures, a distributed.Client, or something else with submit",
)
with_posterior = check_that(
    has_draws,
    "a fit, with draws in its group 'posterior'",
    "Pass what fit or load_fit returns.",
)


# Which values an annotation takes


class Kind(NamedTuple):
    """Which values an annotation takes, and the words for them."""

    holds: Callable[[Any], bool]
    words: str


def kind_of(annotation: Any) -> Kind:
    """Which values an annotation takes, and the words for them.

    Examples
    --------
    >>> kind = kind_of(Sequence[str] | None)
    >>> kind.holds(["a"]), kind.holds("a"), kind.words
    (True, False, 'a list of text or None')
    """
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if getattr(annotation, "__name__", "") == "ArrayLike":
        return Kind(lambda value: array_kind(value) in "biufUO", "an array")
    if isinstance(origin, TypeAliasType):
        return kind_of(origin.__value__)
    if origin in (Union, UnionType):
        # None is said last. Text beside a path is a path.
        given = [x for x in arguments if not (x is str and Path in arguments)]
        kinds = [kind_of(x) for x in sorted(given, key=lambda x: x is NoneType)]
        holds = [kind.holds for kind in kinds]
        words = any_of(dict.fromkeys(kind.words for kind in kinds))
        return Kind(lambda value: any(hold(value) for hold in holds), words)
    if origin is Literal:
        words = any_of(map(repr, arguments))
        return Kind(lambda value: isinstance(value, str) and value in arguments, words)
    if isinstance(origin, type) and arguments:
        return container_of(origin, arguments)
    return PLAIN.get(origin) or kind_of_class(origin)


def any_of(words: Iterable[str]) -> str:
    """Words with "or" before the last."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def container_of(origin: type, arguments: tuple[Any, ...]) -> Kind:
    """Values of an annotation with parts: a function, a mapping, a pair, a list, an array."""
    # mypy takes Callable for no class, and knows no attributes of protocols.
    if issubclass(origin, Callable):  # type: ignore[arg-type]
        return Kind(callable, "a function")
    if origin.__module__ not in ("collections.abc", "builtins"):
        return kind_of_class(origin)
    parts = [kind_of(x) for x in arguments if x is not ...]
    words = [part.words for part in parts]
    if issubclass(origin, Mapping):
        key, value = parts
        return Kind(
            lambda given: (
                isinstance(given, Mapping)
                and not hasattr(given, "attrs")  # Labelled data are no mapping.
                and all(key.holds(k) and value.holds(v) for k, v in given.items())
            ),
            f"a mapping of {words[0]} to {words[1]}",
        )
    if origin is tuple and ... not in arguments:
        return Kind(
            lambda given: (
                is_list(given)
                and len(given) == len(parts)
                and all(part.holds(x) for part, x in zip(parts, items_of(given), strict=True))
            ),
            f"{len(parts)} values, {' and '.join(words)}",
        )
    hold = parts[0].holds

    def holds_all(given: Any) -> bool:
        if is_list(given):
            return all(map(hold, items_of(given)))
        # An iterator is not read, which would use it up.
        return (
            origin is Iterable and isinstance(given, Iterable) and not isinstance(given, NO_LISTS)
        )

    return Kind(holds_all, f"a list of {words[0]}")


def kind_of_class(annotation: Any) -> Kind:
    """Values of a class; of a protocol, those with all its attributes."""
    if not isinstance(annotation, type) or annotation is object or is_typeddict(annotation):
        return PLAIN[Any]
    words = f"{'an' if annotation.__name__[0] in 'AEIOU' else 'a'} {annotation.__name__}"
    if not getattr(annotation, "_is_protocol", False):
        return Kind(lambda value: isinstance(value, annotation), words)
    names = sorted(annotation.__protocol_attrs__)  # type: ignore[attr-defined]
    return Kind(
        lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in names),
        words,
    )


def is_whole(value: object) -> bool:
    """Whether a value is an integer of 64 bits."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -MOST_WHOLE <= value < MOST_WHOLE
    return isinstance(value, np.integer)


def is_number(value: object) -> bool:
    """Whether a value is a number, and not "no number"."""
    return bool(value == value) if isinstance(value, float | np.floating) else is_whole(value)


def is_path(value: Any) -> bool:
    """Whether a value is a path, or the text of one, that a file system may hold."""
    text = fspath(value) if isinstance(value, str | PathLike) else b""
    if not isinstance(text, str) or "\0" in text:
        return False
    return all(len(part) <= LONGEST_NAME for part in text.split("/"))


def is_list(value: Any) -> bool:
    """Whether a value holds others in an order: a list, a tuple, a one-dimensional array."""
    if isinstance(value, NO_LISTS):
        return False
    ndim = getattr(value, "ndim", None)
    if ndim is not None:
        return isinstance(ndim, int) and ndim == 1
    # The keys of a mapping are a Set, and have an order.
    return isinstance(value, Sequence) or (isinstance(value, Set) and hasattr(value, "mapping"))


def items_of(value: Any) -> Iterable[Any]:
    """Parts of a list or one-dimensional array, those of an array as Python's own values."""
    if hasattr(value, "ndim") and not hasattr(value, "tolist"):
        value = np.asarray(value)
    return cast(Iterable[Any], value.tolist() if hasattr(value, "tolist") else value)


def array_kind(value: Any) -> str:
    """NumPy's letter for the numbers or texts in an array; "V" for what is none."""
    array = value
    if not isinstance(getattr(value, "dtype", None), np.dtype) or isinstance(value, type):
        if value is None or callable(value) or isinstance(value, NO_ARRAYS):
            return "V"
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            return "V"
    if array.dtype.kind != "O":
        return str(array.dtype.kind)
    items = np.asarray(array, dtype=object).ravel().tolist()
    if all(isinstance(x, bool | int | float | np.number) for x in items):
        plain = all(isinstance(x, bool) or is_number(x) or x != x for x in items)
        return "f" if plain else "V"
    return "O" if all(isinstance(x, Hashable) for x in items) else "V"


PLAIN: dict[Any, Kind] = {
    bool: Kind(lambda value: isinstance(value, bool | np.bool_), "True or False"),
    int: Kind(is_whole, "a whole number"),
    float: Kind(is_number, "a number"),
    str: Kind(lambda value: isinstance(value, str), "text"),
    Path: Kind(is_path, "a path"),
    Any: Kind(lambda _: True, "anything"),
    Hashable: Kind(lambda value: isinstance(value, Hashable), "anything hashable"),
    None: Kind(lambda value: value is None, "None"),
    NoneType: Kind(lambda value: value is None, "None"),
}


# Words for values and rows


def describe_value(value: object) -> str:
    """Describe a value in a few words: plain values as written, others by their type.

    Examples
    --------
    >>> describe_value("a"), describe_value(np.zeros((2, 3))), describe_value(int)
    ("'a'", 'an array of shape (2, 3)', 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, int) and abs(value) >= 2**200:
        return f"an integer of {value.bit_length()} bits"
    plain = (str, bytes, int, float, complex, np.generic, list, tuple, set, frozenset, dict)
    is_plain = value is None or isinstance(value, plain)
    return SHORT.repr(value) if is_plain else type(value).__name__


def row_labels(rows: Iterable[Iterable[object]]) -> list[str]:
    """Labels of rows: their values, joined; long numbers are rounded where labels stay unlike.

    Examples
    --------
    >>> row_labels([("a", 19.88888888888889), ("b", 0.125)])
    ['a | 19.89', 'b | 0.125']
    """
    table = [list(row) for row in rows]
    exact = [" | ".join(map(str, row)) for row in table]
    short = [" | ".join(map(number_text, row)) for row in table]
    return short if len(set(short)) == len(set(exact)) else exact


def number_text(value: object) -> str:
    """A value as text; numbers of more than six digits are rounded to four, or to whole ones."""
    if not isinstance(value, float) or not np.isfinite(value) or float(f"{value:.6g}") == value:
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def refuse_same_names(columns: Iterable[Hashable], results: Iterable[Hashable]) -> None:
    """Refuse grouping columns, or coordinates of cells, with the name of a variable of the result.

    Examples
    --------
    >>> refuse_same_names(["model", "trials"], ["trials", "auroc2"])
    Traceback (most recent call last):
    hmetad.InputError: by: got 'trials', allowed is a name that no result \
has. Rename it, by={'my_trials': 'trials'} when counting or .rename(trials='my_trials') later.
    """
    taken = {*results}
    for name in columns:
        if name in taken:
            counting = f"by={{'my_{name}': {name!r}}} when counting"
            step = f"Rename it, {counting} or .rename({name}='my_{name}') later."
            raise InputError("by", repr(name), "a name that no result has", step)
