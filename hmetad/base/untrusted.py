"""JSON that came along with data, read without trust.

Text → lists, dicts, texts and numbers of a known shape, or InputError.
"""

import json
from collections.abc import Mapping
from typing import Any

from hmetad.base.errors import DamagedError

MAX_CHARACTERS = 20_000_000
TEXTS = ("code", "severity", "message", "source", "next_step", "shell_step")
NOTICE = dict.fromkeys(TEXTS, str)
# What attrs say in JSON: a type, or a list or dict of one. Of a dict with names, those that are
# listed as needed may not be missing: older files have fewer.
NEEDED = {"code", "severity", "cells"}
SHAPES: Mapping[str, Any] = {
    "notices": [{**NOTICE, "cells": [str]}],
    "same_items": [[str]],
    "by": [str],
    "versions": {str: str},
    "pool_weights": {str: float},
    "coverage": {str: {str: [int]}},
    "ratings": {str: int},
}


def read_attr(attrs: Mapping[Any, Any], name: str) -> Any:
    """What an attr says in JSON; an empty list or dict where there is none.

    Parameters
    ----------
    attrs : mapping
        Of a count table or a result.
    name : {"notices", "same_items", "by", "versions", "pool_weights", "coverage", "ratings"}

    Returns
    -------
    list or dict

    Raises
    ------
    InputError
        If the text is no JSON, or says something else than this attr does.

    Examples
    --------
    >>> read_attr({"by": '["model", "task"]'}, "by"), read_attr({}, "versions")
    (['model', 'task'], {})
    >>> read_attr({"same_items": '["a"]'}, "same_items")
    Traceback (most recent call last):
    hmetad.InputError: attrs['same_items']: Without it: remove the attr, \
.attrs.pop('same_items'). Expected what hmetad writes there, got '["a"]'.
    """
    shape = SHAPES[name]
    if name not in attrs:
        return type(shape)()
    value = parse_json(attrs[name], f"attrs[{name!r}]")
    if not has_shape(value, shape):
        got = repr(attrs[name])[:80]
        step = f"Without it: remove the attr, .attrs.pop({name!r})."
        raise DamagedError(f"attrs[{name!r}]", got, "what hmetad writes there", step)
    return value


def parse_json(text: object, argument: str) -> Any:
    """Values that a JSON text holds.

    Parameters
    ----------
    text : str
    argument : str
        What to call it in an error.

    Returns
    -------
    list, dict, str, float, int, bool or None

    Raises
    ------
    InputError
        If it is no text or no JSON, longer than 20 million characters, nested more deeply than
        Python reads, or has a number of more than 4,300 digits.

    Examples
    --------
    >>> parse_json('{"draws": 100}', "fit.json")
    {'draws': 100}
    >>> parse_json("[" * 100_000, "fit.json")
    Traceback (most recent call last):
    hmetad.InputError: fit.json: Expected JSON, got lists or objects nested too deeply.
    """
    if not isinstance(text, str):
        raise DamagedError(argument, type(text).__name__, "JSON, as text")
    if len(text) > MAX_CHARACTERS:
        raise DamagedError(argument, f"{len(text)} characters", f"at most {MAX_CHARACTERS}")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise DamagedError(argument, "lists or objects nested too deeply", "JSON") from error
    except ValueError as error:
        raise DamagedError(argument, f"no JSON ({error})", "JSON") from error


def has_shape(value: object, shape: Any) -> bool:
    """Whether a value is of a type, or a list or dict whose entries have their shapes."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(has_shape(entry, shape[0]) for entry in value)
    if not isinstance(shape, dict):
        return isinstance(value, shape)
    if not isinstance(value, dict):
        return False
    if str in shape:
        return all(has_shape(entry, shape[str]) for entry in value.values())
    is_named = NEEDED <= set(value) <= set(shape)
    return is_named and all(has_shape(entry, shape[key]) for key, entry in value.items())
