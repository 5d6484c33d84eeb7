"""Values that JSON has.

Mapping, sequence or scalar of any kind → dict, list, text, number, True, False or None.
"""

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["strict"]


def strict(value: Any) -> Any:
    """Value that JSON has: NaN and infinities become None, NumPy scalars Python's own.

    Examples
    --------
    >>> strict({"rope": (-0.1, float("inf"))})
    {'rope': [-0.1, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
