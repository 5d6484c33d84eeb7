"""Functions that Numba compiles, and how long their code may be kept for other processes.

Function → compiled function, whose code Numba keeps on disk: in NUMBA_CACHE_DIR, or beside the
source. Numba takes kept code as long as the file of the function is the same, but code also has in
it what the function calls, and constants of other files. With older ones of these it returns
other numbers, or ends the process. Here code is kept as long as all of them are the same.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc

__all__ = ["c_function", "compiled", "inlined", "keep_compiled", "stamp_of", "summed"]

# Values of names that a function has in its code.
CONSTANTS = (int, float, str, tuple, np.ndarray)


class KeptCode(FunctionCache):
    """Numba's cache of a function, of which nothing is taken that was made of anything else."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Kept code of a signature, if there is any; Numba asks for it before it compiles."""
        # Only now is there all that the function calls.
        file = self._cache_file
        file._source_stamp = (self._impl.locator.get_source_stamp(), stamp_of(self._py_func))
        return super().load_overload(sig, target_context)


def stamp_of(function: Callable[..., Any]) -> str:
    """Hash of the files and constants of a Python function and of all compiled ones it calls."""
    functions, said = [function], set[str]()
    for one in functions:
        code, cells = one.__code__, one.__closure__ or ()
        values: dict[str, Any] = {name: one.__globals__.get(name) for name in code.co_names}
        values |= {name: x.cell_contents for name, x in zip(code.co_freevars, cells, strict=True)}
        called = [x.py_func for x in values.values() if hasattr(x, "py_func")]
        functions += [x for x in dict.fromkeys(called) if x not in functions]
        said |= {f"{name} = {x!r}" for name, x in values.items() if isinstance(x, CONSTANTS)}
    paths = [Path(name) for name in {one.__code__.co_filename for one in functions}]
    said |= {hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}
    return hashlib.sha256("\n".join(sorted(said)).encode()).hexdigest()


def keep_compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator as Numba's `njit` with these options, whose code is kept."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = njit(nogil=True, error_model="numpy", **options)(function)
        made._cache = KeptCode(function)
        return made

    return decorate


def c_function(signature: Any, function: Callable[..., Any], **options: Any) -> Any:
    """Function that C can call, as Numba's `cfunc` makes it; its code is kept."""
    made: Any = CFunc(function, (signature.args, signature.return_type), {}, options)
    made._cache = KeptCode(function)
    made.compile()
    return made


# A function that takes another one can be cached only as a part of its caller.
inlined = njit(inline="always")
compiled = keep_compiled(fastmath={"contract"})
# Where sums of positive numbers may be taken in another order, several at a time.
summed = keep_compiled(fastmath={"contract", "reassoc"})
