"""What an argument of a public function may be, declared where it is defined and checked once.

Function → the same function, which raises `InputError` for any value that its annotations do not
say. What a type cannot express has a check of its own: a seed, a probability, a fit. Annotations
are read strictly: True is not a number, text is not a list of text, a set has no order.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from functools import cache, wraps
from inspect import Parameter, signature
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAliasType, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from hmetad.base.checks import Check, array_kind, is_number, is_whole
from hmetad.base.errors import KindError, any_of, describe_value

LONGEST_NAME = 255
NOT_LISTS = (str, bytes, bytearray, memoryview, Mapping, set, frozenset, type)


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
    >>> from hmetad.base.checks import whole
    >>> @check_inputs(n=whole(1))
    ... def repeated(text: str, n: int = 1) -> str:
    ...     return text * n
    >>> repeated("a", n=2)
    'aa'
    >>> repeated(b"a")
    Traceback (most recent call last):
    hmetad.InputError: text: Expected text, got b'a'.
    >>> repeated("a", n=0)
    Traceback (most recent call last):
    hmetad.InputError: n: Expected a whole number of at least 1, got 0.
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


def of_type(annotation: Any) -> Check:
    """Check that a value fits an annotation.

    Examples
    --------
    >>> of_type(str)("kind", ["difference"])
    Traceback (most recent call last):
    hmetad.InputError: kind: Expected text, got ['difference'].
    """
    allowed = words(annotation)

    def check(argument: str, value: object) -> None:
        if not fits(value, annotation):
            is_set = isinstance(value, set | frozenset) and "list" in allowed
            step = "A set has no order: pass a list." if is_set else ""
            raise KindError(argument, describe_value(value), allowed, step)

    return check


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is what an annotation says.

    Examples
    --------
    >>> fits(["a"], Sequence[str] | None), fits("a", Sequence[str]), fits(True, int)
    (True, False, False)
    """
    origin, parts = get_origin(annotation) or annotation, get_args(annotation)
    if isinstance(origin, TypeAliasType):
        return fits(value, origin.__value__)
    if origin in (Union, UnionType):
        # Text beside a path is a path.
        return any(fits(value, x) for x in parts if not (x is str and Path in parts))
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if getattr(annotation, "__name__", "") == "ArrayLike":
        return array_kind(value) in "biufUO"
    if origin in PLAIN:
        return PLAIN[origin][0](value)
    if not isinstance(origin, type) or not parts or issubclass(origin, Callable):  # type: ignore[arg-type]
        return fits_class(value, origin)
    if issubclass(origin, Mapping):
        # Labelled data are not a mapping.
        is_mapping = isinstance(value, Mapping) and not hasattr(value, "attrs")
        return is_mapping and all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    if origin.__module__ not in ("collections.abc", "builtins"):
        return fits_class(value, origin)
    if not is_list(value):
        # An iterator is not read, which would use it up.
        return (
            origin is Iterable and isinstance(value, Iterable) and not isinstance(value, NOT_LISTS)
        )
    items = items_of(value)
    if origin is tuple and ... not in parts:
        return len(items) == len(parts) and all(map(fits, items, parts))
    return all(fits(x, parts[0]) for x in items)


def fits_class(value: Any, origin: Any) -> bool:
    """Whether a value is of a class, or of a protocol: then it has all its attributes."""
    if getattr(origin, "_is_protocol", False):
        names = origin.__protocol_attrs__
        return not isinstance(value, type) and all(hasattr(value, name) for name in names)
    is_checked = isinstance(origin, type) and not hasattr(origin, "__required_keys__")
    return not is_checked or isinstance(value, origin)


def words(annotation: Any) -> str:
    """Words for the values that an annotation takes.

    Examples
    --------
    >>> words(Sequence[str] | None)
    'a list of text or None'
    """
    origin, parts = get_origin(annotation) or annotation, get_args(annotation)
    if isinstance(origin, TypeAliasType):
        return words(origin.__value__)
    if origin in (Union, UnionType):
        # None is said last.
        given = sorted(parts, key=lambda x: x is NoneType)
        return any_of(dict.fromkeys(words(x) for x in given if not (x is str and Path in parts)))
    if origin is Literal:
        return any_of(map(repr, parts))
    if origin in PLAIN:
        return PLAIN[origin][1]
    name = getattr(origin, "__name__", "")
    if name == "Callable" or not parts or origin.__module__ not in ("collections.abc", "builtins"):
        name = {"Callable": "function", "ArrayLike": "array"}.get(name, name)
        return f"{'an' if name[:1] in tuple('AEIOUa') else 'a'} {name}" if name else "anything"
    inner = [words(x) for x in parts if x is not ...]
    if issubclass(origin, Mapping):
        return f"a mapping of {inner[0]} to {inner[1]}"
    pair = origin is tuple and ... not in parts
    return f"{len(parts)} values, {' and '.join(inner)}" if pair else f"a list of {inner[0]}"


def is_path(value: Any) -> bool:
    """Whether a value is a path, or the text of one, that a file system may hold."""
    text = fspath(value) if isinstance(value, str | PathLike) else b""
    if not isinstance(text, str) or "\0" in text:
        return False
    return all(len(part) <= LONGEST_NAME for part in text.split("/"))


def is_list(value: Any) -> bool:
    """Whether a value holds others in an order: a list, a tuple, a one-dimensional array."""
    ndim = getattr(value, "ndim", None)
    if isinstance(value, NOT_LISTS) or ndim is not None:
        return isinstance(ndim, int) and ndim == 1
    # The keys of a mapping are a Set, and have an order.
    return isinstance(value, Sequence) or (isinstance(value, Set) and hasattr(value, "mapping"))


def items_of(value: Any) -> list[Any]:
    """Parts of a list or one-dimensional array, those of an array as Python's own values."""
    # Columns of other libraries have dims, but no list of Python's own values.
    is_column = hasattr(value, "ndim") and not hasattr(value, "tolist")
    array = np.asarray(value) if is_column else value
    return array.tolist() if hasattr(array, "tolist") else [*array]


PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    int: (is_whole, "a whole number"),
    float: (is_number, "a number"),
    str: (lambda value: isinstance(value, str), "text"),
    Path: (is_path, "a path"),
    Any: (lambda _: True, "anything"),
    object: (lambda _: True, "anything"),
    Hashable: (lambda value: isinstance(value, Hashable), "anything hashable"),
    NoneType: (lambda value: value is None, "None"),
    None: (lambda value: value is None, "None"),
}
