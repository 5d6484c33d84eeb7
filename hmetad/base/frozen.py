"""Values that cannot be changed after they were given: what the fields of frozen records hold.

Mapping, list or array → read-only mapping or tuple, all the way down.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from hmetad.base.errors import DamagedError


class FrozenMapping[Value](Mapping[str, Value]):
    """A mapping that cannot be changed, and that hashes where its values do.

    Parameters
    ----------
    items : mapping
        It is copied, and its values are frozen too.

    Examples
    --------
    >>> formulas = FrozenMapping({"log_m": "1 + task"})
    >>> formulas == {"log_m": "1 + task"}, hash(formulas) == hash(FrozenMapping({**formulas}))
    (True, True)
    >>> formulas["c"] = "1"
    Traceback (most recent call last):
    TypeError: 'FrozenMapping' object does not support item assignment
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Value]) -> None:
        self._items = MappingProxyType({key: unchanging(value) for key, value in items.items()})

    def __getitem__(self, key: str) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr({**self._items})

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, ({**self._items},)


def freeze(value: Any, argument: str = "value") -> Any:
    """Value in which no mapping, list or array can be changed.

    Parameters
    ----------
    value : object
    argument : str
        What to call it in an error.

    Raises
    ------
    InputError
        If it is nested more deeply than Python can follow.

    Examples
    --------
    >>> freeze({"trials": [[400, 400], [100, 100]]})
    {'trials': ((400, 400), (100, 100))}
    """
    try:
        return unchanging(value)
    except RecursionError:
        raise DamagedError(argument, "lists or objects nested too deeply", "a flat table") from None


def unchanging(value: Any) -> Any:
    """Value whose mappings are frozen, and whose lists and arrays are tuples."""
    if isinstance(value, Mapping):
        return FrozenMapping(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(unchanging, value)) if isinstance(value, list | tuple) else value
