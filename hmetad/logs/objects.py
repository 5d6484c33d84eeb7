"""JSON objects that stand in a text, and what they have under a key.

Text → objects, one after the other; an object and a key → its values at any depth.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["json_objects", "values_under"]

MOST_OBJECTS = 2000
# Of JSON in a text: more is not what anyone says, and would fill memory; and how many characters
# may be read in vain, for each that there is.
MOST_VALUES = 1_000_000
MOST_IN_VAIN = 20
OBJECT = re.compile(r'\{\s*"')


def json_objects(text: str) -> Iterator[Any]:
    """JSON objects that stand in a text, one after the other; braces alone are no such.

    Examples
    --------
    >>> [*json_objects('An empty set {}, then {"sure": 0.8}.')]
    [{'sure': 0.8}]
    """
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        return
    decoder, match = json.JSONDecoder(), OBJECT.search(text)
    in_vain = 0
    for _ in range(MOST_OBJECTS):
        if match is None or in_vain > MOST_IN_VAIN * len(text):
            return
        start = match.start()
        try:
            found, end = decoder.raw_decode(text, start)
            yield found
        except json.JSONDecodeError as error:
            end, in_vain = start + 1, in_vain + error.pos - start
        except (ValueError, RecursionError):
            end, in_vain = start + 1, in_vain + len(text) - start
        match = OBJECT.search(text, end)


def values_under(item: Any, name: str) -> Iterator[Any]:
    """Values under a key, at any depth; without recursion, which deep nesting would exhaust.

    Examples
    --------
    >>> [*values_under({"a": [{"Sure": 0.8}]}, "sure")]
    [0.8]
    """
    open_items = [item]
    while open_items:
        current = open_items.pop()
        if isinstance(current, Mapping):
            for key, value in current.items():
                if isinstance(key, str) and key.strip().casefold() == name:
                    yield value
                else:
                    open_items.append(value)
        elif isinstance(current, list | tuple):
            open_items.extend(current)
