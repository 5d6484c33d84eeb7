"""The compiled density as C functions, which nutpie calls without Python.

Addresses of free values, gradient, density and packed program → the same filled, and a status. They
are compiled when this module is imported, unless they are in Numba's cache.
"""

import math
from typing import Any

import numpy as np
from numba import carray, cfunc, types

from hmetad.bayes.density import HEAD, LENGTH, evaluate, expand

__all__ = ["copy_deviations", "copy_draw", "evaluate_at"]

# What nutpie takes for a gradient or a density that is not finite.
NO_GRADIENT, NO_DENSITY = 3, 4
NUMBERS = types.CPointer(types.double)


@cfunc(
    types.int64(
        types.uint64,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        types.voidptr,
    ),
    cache=True,
    error_model="numpy",
)
def evaluate_at(size: int, x: Any, gradient: Any, value: Any, packed: Any) -> int:
    """`evaluate` for nutpie, which calls it without Python; 0 where all is finite."""
    head = carray(packed, (HEAD,), np.int64)
    slopes = carray(gradient, (size,))
    found = evaluate(carray(x, (size,)), carray(packed, (head[LENGTH],), np.int64), slopes)
    carray(value, (1,))[0] = found
    for i in range(size):
        if not math.isfinite(slopes[i]):
            return NO_GRADIENT
    return 0 if math.isfinite(found) else NO_DENSITY


OF_A_DRAW = types.int64(types.uint64, types.uint64, NUMBERS, NUMBERS, types.voidptr)


@cfunc(OF_A_DRAW, cache=True)
def copy_draw(size: int, _: int, x: Any, out: Any, __: Any) -> int:
    """Free values as nutpie keeps them: as they are."""
    values, kept = carray(x, (size,)), carray(out, (size,))
    for i in range(size):
        kept[i] = values[i]
    return 0


@cfunc(OF_A_DRAW, cache=True)
def copy_deviations(size: int, length: int, x: Any, out: Any, packed: Any) -> int:
    """Free values, and the deviations that are made of them."""
    head = carray(packed, (HEAD,), np.int64)
    values = expand(
        carray(x, (size,)).copy().reshape(1, size), carray(packed, (head[LENGTH],), np.int64)
    )
    kept, free = carray(out, (length,)), carray(x, (size,))
    for i in range(length):
        kept[i] = free[i] if i < size else values[0, i]
    return 0
