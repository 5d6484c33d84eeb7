"""Arguments that a function cannot use are refused at its door, by its own annotations.

Function → the same function, which answers any other value with `InputError`. What types do not say
is said by a named check: a seed, a whole number of at least one, an array of numbers, a fit.
"""

import reprlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from functools import cache, wraps
from inspect import Parameter, signature
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAliasType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from hmetad.errors import InputError

__all__ = [
    "Check",
    "Kind",
    "arrays_of_numbers",
    "checked",
    "described",
    "finite",
    "kind_of",
    "of_type",
    "probability",
    "seed_or_none",
    "the_function_says",
    "whole",
    "with_posterior",
    "with_variables",
]

type Check = Callable[[str, Any], object]

MOST_WHOLE = 2**63
LONGEST = 100
LONGEST_NAME = 255
NO_LISTS = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)


class Kind(NamedTuple):
    """Which values an annotation takes, and the words for them."""

    holds: Callable[[Any], bool]
    words: str


class Door(NamedTuple):
    """How one argument is checked; its default is let through."""

    check: Check
    default: object


class Doors(NamedTuple):
    """Doors of a function: by place, by name, and for what has neither."""

    positional: tuple[tuple[str, Door], ...]
    named: Mapping[str, Door]
    more: tuple[str, Door] | None
    others: Door | None


def checked[F: Callable[..., Any]](**checks: Check) -> Callable[[F], F]:
    """Decorator: the function refuses arguments outside its annotations.

    Parameters
    ----------
    **checks : callable
        Checks by the name of an argument, in the place of its annotation. A check takes name and
        value, and raises `InputError`; what it returns is not used.

    Returns
    -------
    callable
        Decorator. The function keeps its name, signature and docstring; annotations are read at
        the first call. What Python itself says of missing and unknown arguments stays.

    Examples
    --------
    >>> @checked(n=whole(1))
    ... def repeated(text: str, n: int = 1) -> str:
    ...     return text * n
    >>> repeated("a", n=2)
    'aa'
    >>> repeated(b"a")
    Traceback (most recent call last):
    hmetad.errors.InputError: text: got b'a', allowed is text.
    >>> repeated("a", n=0)
    Traceback (most recent call last):
    hmetad.errors.InputError: n: got 0, allowed is a whole number of at least 1.
    """

    def decorated(function: F) -> F:
        @cache
        def doors() -> Doors:
            return doors_of(function, checks)

        @wraps(function)
        def answered(*args: Any, **kwargs: Any) -> Any:
            pass_doors(doors(), args, kwargs)
            return function(*args, **kwargs)

        return cast(F, answered)

    return decorated


def whole(least: int, most: int = MOST_WHOLE - 1) -> Check:
    """Check for a whole number between two limits.

    Examples
    --------
    >>> whole(1, 1000)("n", 5000)
    Traceback (most recent call last):
    hmetad.errors.InputError: n: got 5000, allowed is a whole number from 1 to 1000.
    """
    allowed = f"a whole number of at least {least}"
    if most < MOST_WHOLE - 1:
        allowed = f"a whole number from {least} to {most}"

    def check(argument: str, value: object) -> None:
        if not is_whole(value) or not least <= cast(int, value) <= most:
            raise InputError(argument, described(value), allowed)

    return check


def finite(argument: str, value: object) -> None:
    """Refuse what is no finite number.

    Examples
    --------
    >>> finite("null", float("inf"))
    Traceback (most recent call last):
    hmetad.errors.InputError: null: got inf, allowed is a finite number.
    """
    if not is_number(value) or not np.isfinite(float(cast(float, value))):
        raise InputError(argument, described(value), "a finite number")


def probability(argument: str, value: object) -> None:
    """Refuse what is no number between 0 and 1, ends excluded.

    Examples
    --------
    >>> probability("ci_prob", 95)
    Traceback (most recent call last):
    hmetad.errors.InputError: ci_prob: got 95, allowed is a probability between 0 and 1.
    """
    if not is_number(value) or not 0 < cast(float, value) < 1:
        raise InputError(argument, described(value), "a probability between 0 and 1")


def seed_or_none(argument: str, value: object) -> None:
    """Refuse what is neither None, nor a whole number of at least 0, of any size, nor a Generator.

    Examples
    --------
    >>> seed_or_none("seed", -1)
    Traceback (most recent call last):
    hmetad.errors.InputError: seed: got -1, allowed is None or a whole number of at least 0.
    """
    if value is None or isinstance(value, np.random.Generator):
        return
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_int or cast(int, value) < 0:
        raise InputError(argument, described(value), "None or a whole number of at least 0")


def arrays_of_numbers(argument: str, value: Any) -> None:
    """Refuse what is no number and no array of numbers; None stands for nothing given.

    Examples
    --------
    >>> arrays_of_numbers("accuracy", ["0.7", "0.8"])
    Traceback (most recent call last):
    hmetad.errors.InputError: accuracy: got ['0.7', '0.8'], allowed is numbers, one or an array \
of them.
    """
    if value is not None and array_kind(value) not in "biuf":
        raise InputError(argument, described(value), "numbers, one or an array of them")


def with_posterior(argument: str, value: Any) -> None:
    """Refuse what is no fit: a tree of draws with the group "posterior".

    Examples
    --------
    >>> with_posterior("fit", None)
    Traceback (most recent call last):
    hmetad.errors.InputError: fit: got None, allowed is a fit, with draws in its group \
'posterior'. Pass what fit or load_fit returns.
    """
    posterior = getattr(value, "children", {}).get("posterior") if is_instance(value) else None
    if posterior is None or not {"chain", "draw"} <= {*posterior.dims}:
        allowed = "a fit, with draws in its group 'posterior'"
        raise InputError(argument, described(value), allowed, "Pass what fit or load_fit returns.")


def with_variables(*names: str, dim: str, made_by: str) -> Check:
    """Check for a Dataset with some variables and a dim that has labels.

    Parameters
    ----------
    *names : str
        Variables that it holds.
    dim : str
        A dim that it has, with a coordinate.
    made_by : str
        Functions that return such a Dataset, for the message.

    Examples
    --------
    >>> with_variables("rank", dim="cell", made_by="rank")("ranks", {"rank": 1})
    Traceback (most recent call last):
    hmetad.errors.InputError: ranks: got {'rank': 1}, allowed is a Dataset of rank, \
with rank and dim cell.
    """

    def check(argument: str, value: Any) -> None:
        named = " and ".join([", ".join(names), f"dim {dim}"] if names else [f"dim {dim}"])
        allowed = f"a Dataset of {made_by}, with {named}"
        if not is_instance(value) or type(value).__name__ != "Dataset":
            raise InputError(argument, described(value), allowed)
        lacking = [name for name in names if name not in value.data_vars]
        lacking += [dim] if dim not in value.dims or dim not in value.coords else []
        if lacking:
            raise InputError(argument, f"one without {', '.join(lacking)}", allowed)

    return check


def the_function_says(argument: str, value: object) -> None:
    """Let everything through: the function itself says more of this argument than its type.

    Examples
    --------
    >>> the_function_says("counts", None)
    """


def described(value: object) -> str:
    """What came, in a few words: plain values as they are written, others by their type.

    Examples
    --------
    >>> described("a"), described(np.zeros((2, 3))), described(int)
    ("'a'", 'an array of shape (2, 3)', 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, int) and abs(value) >= 2**200:
        return f"an integer of {value.bit_length()} bits"
    plain = (str, bytes, bool, int, float, complex, np.generic, list, tuple, set, frozenset, dict)
    if value is None or isinstance(value, plain):
        return SHORT.repr(value)
    return type(value).__name__


def kind_of(annotation: Any) -> Kind:
    """Which values an annotation takes, and the words for them.

    Examples
    --------
    >>> kind = kind_of(Sequence[str] | None)
    >>> kind.holds(["a"]), kind.holds("a"), kind.words
    (True, False, 'a list of text or None')
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if getattr(annotation, "__name__", "") == "ArrayLike":
        return Kind(is_array_like, "an array")
    if isinstance(annotation, TypeVar):
        limits = annotation.__constraints__ or (annotation.__bound__ or Any,)
        return union_of(limits)
    if isinstance(annotation, TypeAliasType):
        return kind_of(annotation.__value__)
    if isinstance(origin, TypeAliasType):
        return kind_of(origin.__value__)
    if origin is Annotated:
        return kind_of(arguments[0])
    if origin in (Union, UnionType):
        return union_of(arguments)
    if origin is Literal:
        return one_of(arguments)
    if isinstance(origin, type):
        return container_of(origin, arguments)
    return plain_kind(annotation)


class Short(reprlib.Repr):
    """Writes plain values short."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONGEST
        self.maxlong = 60


SHORT = Short()


def doors_of(function: Callable[..., Any], checks: Mapping[str, Check]) -> Doors:
    """Doors of a function, from its annotations and the named checks."""
    hints = get_type_hints(function)
    parameters = signature(function).parameters
    unknown = {*checks} - {*parameters}
    assert not unknown, f"no arguments of {function.__qualname__}: {unknown}"
    doors = {
        name: Door(checks.get(name) or of_type(hints.get(name, Any)), parameter.default)
        for name, parameter in parameters.items()
    }
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    more = [name for name, kind in kinds.items() if kind is Parameter.VAR_POSITIONAL]
    others = [name for name, kind in kinds.items() if kind is Parameter.VAR_KEYWORD]
    return Doors(
        tuple((name, door) for name, door in doors.items() if kinds[name] in by_place),
        {name: door for name, door in doors.items() if name not in {*more, *others}},
        (more[0], doors[more[0]]) if more else None,
        doors[others[0]] if others else None,
    )


def pass_doors(doors: Doors, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Check the arguments of a call; unknown and missing ones are left to Python."""
    for (name, door), value in zip(doors.positional, args, strict=False):
        if value is not door.default:
            door.check(name, value)
    if doors.more is not None:
        for value in args[len(doors.positional) :]:
            doors.more[1].check(doors.more[0], value)
    for name, value in kwargs.items():
        found = doors.named.get(name, doors.others)
        if found is not None and value is not found.default:
            found.check(name, value)


def of_type(annotation: Any) -> Check:
    """Check that refuses values outside an annotation.

    Examples
    --------
    >>> of_type(str)("kind", ["difference"])
    Traceback (most recent call last):
    hmetad.errors.InputError: kind: got ['difference'], allowed is text.
    """
    kind = kind_of(annotation)

    def check(argument: str, value: Any) -> None:
        if not kind.holds(value):
            step = ""
            if isinstance(value, set | frozenset) and "list" in kind.words:
                step = "A set has no order: pass a list."
            raise InputError(argument, described(value), kind.words, step)

    return check


def union_of(annotations: Iterable[Any]) -> Kind:
    """Values of any of the annotations."""
    # None is said last. Text beside a path is a path.
    given = list(annotations)
    ordered = sorted(given, key=lambda x: x in (None, NoneType))
    kinds = [kind_of(x) for x in ordered if not (x is str and Path in given)]
    holds = tuple(kind.holds for kind in kinds)
    words = list(dict.fromkeys(kind.words for kind in kinds))
    said = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return Kind(lambda value: any(hold(value) for hold in holds), said)


def one_of(values: tuple[Any, ...]) -> Kind:
    """Values of a closed set; those of the package are text."""
    words = [repr(value) for value in values]
    said = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return Kind(lambda value: isinstance(value, str) and value in values, said)


def container_of(origin: type, arguments: tuple[Any, ...]) -> Kind:
    """Values of an annotation with parts: a list, a mapping, a pair, a function, an array."""
    parts = [kind_of(x) for x in arguments if x is not ... and not isinstance(x, list)]
    if origin is Callable or issubclass(origin, Callable):  # type: ignore[arg-type]
        return Kind(callable, "a function")
    if issubclass(origin, Mapping):
        key, value = parts
        return Kind(
            lambda given: is_mapping(given, key, value),
            f"a mapping of {key.words} to {value.words}",
        )
    if origin is tuple and ... not in arguments:
        words = " and ".join(part.words for part in parts)
        return Kind(
            lambda given: (
                is_list(given)
                and len(given) == len(parts)
                and all(part.holds(x) for part, x in zip(parts, items_of(given), strict=True))
            ),
            f"{len(parts)} values, {words}",
        )
    if issubclass(origin, Iterable) and origin.__module__ in ("collections.abc", "builtins"):
        part = parts[0]
        if origin is Iterable:
            return Kind(lambda given: is_iterable_of(given, part), f"a list of {part.words}")
        return Kind(
            lambda given: is_list(given) and all(map(part.holds, items_of(given))),
            f"a list of {part.words}",
        )
    return plain_kind(origin)


def plain_kind(annotation: Any) -> Kind:
    """Values of a class, with the words that a reader knows it by."""
    if annotation in (None, NoneType):
        return Kind(lambda value: value is None, "None")
    if annotation in PLAIN:
        return PLAIN[annotation]
    if not isinstance(annotation, type) or annotation is object or is_typeddict(annotation):
        return Kind(lambda _: True, "anything")
    article = "an" if annotation.__name__[0] in "AEIOU" else "a"
    words = f"{article} {annotation.__name__}"
    if getattr(annotation, "_is_protocol", False):
        names = sorted(annotation.__protocol_attrs__)  # type: ignore[attr-defined]
        return Kind(lambda value: is_instance(value) and has_all(value, names), words)
    return Kind(lambda value: isinstance(value, annotation), words)


def is_instance(value: object) -> bool:
    """Whether a value is no class."""
    return not isinstance(value, type)


def has_all(value: object, names: Sequence[str]) -> bool:
    """Whether a value has all these attributes."""
    return all(hasattr(value, name) for name in names)


def is_flag(value: object) -> bool:
    """Whether a value is true or false, and nothing that may be taken for it."""
    return isinstance(value, bool | np.bool_)


def is_whole(value: object) -> bool:
    """Whether a value is an integer of 64 bits."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -MOST_WHOLE <= value < MOST_WHOLE
    return isinstance(value, np.integer)


def is_number(value: object) -> bool:
    """Whether a value is a number, and not "no number"."""
    if isinstance(value, float | np.floating):
        return bool(value == value)
    return is_whole(value)


def is_path(value: Any) -> bool:
    """Whether a value is a path, or the text of one, that a file system may hold."""
    if not isinstance(value, str | PathLike) or isinstance(value, type):
        return False
    text = fspath(value)
    parts = text.split("/") if isinstance(text, str) else []
    return bool(parts) and "\0" not in text and all(len(part) <= LONGEST_NAME for part in parts)


def is_list(value: Any) -> bool:
    """Whether a value holds others in an order: a list, a tuple, a one-dimensional array."""
    if isinstance(value, list | tuple):
        return True
    if isinstance(value, (*NO_LISTS, type)):
        return False
    ndim = getattr(value, "ndim", None)
    if ndim is not None:
        return isinstance(ndim, int) and ndim == 1
    # The keys of a mapping are a Set, and have an order.
    return isinstance(value, Sequence) or (isinstance(value, Set) and hasattr(value, "mapping"))


def items_of(value: Any) -> Iterable[Any]:
    """Parts of a list or one-dimensional array, those of an array as Python's own values."""
    if hasattr(value, "tolist"):
        return cast(Iterable[Any], value.tolist())
    return cast(Iterable[Any], np.asarray(value).tolist() if hasattr(value, "ndim") else value)


def is_mapping(value: Any, key: Kind, part: Kind) -> bool:
    """Whether a value is a mapping with such keys and values, and no labelled data."""
    if not isinstance(value, Mapping) or hasattr(value, "attrs"):
        return False
    return all(key.holds(k) and part.holds(v) for k, v in value.items())


def is_iterable_of(value: Any, part: Kind) -> bool:
    """Whether a value can be gone through; what is used up by it is not looked into."""
    if is_list(value):
        return all(map(part.holds, items_of(value)))
    return isinstance(value, Iterable) and not isinstance(value, (*NO_LISTS, type))


def is_array_like(value: object) -> bool:
    """Whether a value is an array, or makes one, of numbers, truth values, text or objects."""
    return array_kind(value) in "biufUO"


def array_kind(value: Any) -> str:
    """NumPy's letter for the numbers or texts in an array; "V" for what is none."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and is_instance(value):
        return dtype.kind if dtype.kind != "O" else kind_of_objects(value)
    no_array = (bytes, bytearray, memoryview, Mapping, set, frozenset, type, NoneType)
    if isinstance(value, no_array) or callable(value):
        return "V"
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return "V"
    return array.dtype.kind if array.dtype.kind != "O" else kind_of_objects(array)


def kind_of_objects(values: Any) -> str:
    """Letter of an array of objects: numbers, where all are; objects, where all are plain."""
    items = np.asarray(values, dtype=object).ravel().tolist()
    if all(isinstance(x, bool | int | float | np.number) for x in items):
        return "f" if all(is_number(x) or x != x or is_flag(x) for x in items) else "V"
    return "O" if all(isinstance(x, Hashable) for x in items) else "V"


PLAIN: dict[Any, Kind] = {
    bool: Kind(is_flag, "True or False"),
    int: Kind(is_whole, "a whole number"),
    float: Kind(is_number, "a number"),
    str: Kind(lambda value: isinstance(value, str), "text"),
    Path: Kind(is_path, "a path"),
    Any: Kind(lambda _: True, "anything"),
    Hashable: Kind(lambda value: isinstance(value, Hashable), "anything hashable"),
}
