"""Which values an annotation takes, and the words for them.

Annotation of an argument → Kind: a question to ask of a value, and its answer in plain words.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
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
    is_typeddict,
)

import numpy as np

__all__ = ["MOST_WHOLE", "Kind", "array_kind", "is_instance", "is_number", "is_whole", "kind_of"]

MOST_WHOLE = 2**63
LONGEST_NAME = 255
NO_LISTS = (str, bytes, bytearray, memoryview, Mapping, set, frozenset)


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
    """Whether a value can be gone through; an iterator is not read, which would use it up."""
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
