"""Values that JSON has.

Mapping, sequence or scalar of any kind → dict, list, text, number, True, False or None; JSON text.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from hmetad.text.escape import HIDDEN

__all__ = ["json_text", "strict"]


def json_text(value: Any, indent: int) -> str:
    r"""JSON in which every letter stands as it is, and what would hide is escaped.

    Control and direction marks act on a terminal; halves of signs cannot be written to a file.

    Examples
    --------
    >>> print(json_text({"label": "é\x9b2J\u202e"}, 0))
    {
    "label": "é\u009b2J\u202e"
    }
    """
    text = json.dumps(strict(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return HIDDEN.sub(escape_sign, text)


def strict(value: Any) -> Any:
    """Value that JSON has: NaN and infinities become None, values of NumPy Python's own.

    Examples
    --------
    >>> strict({"rope": (-0.1, float("inf"))})
    {'rope': [-0.1, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if getattr(value, "ndim", 0):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def escape_sign(sign: re.Match[str]) -> str:
    """Sign by its code, as a string of JSON has it."""
    return json.dumps(sign[0])[1:-1]
