"""Functions that Numba compiles, and how long their code may be kept for other processes.

Function → compiled function, whose code Numba keeps on disk: in NUMBA_CACHE_DIR, or beside the
source. Numba takes kept code as long as the file of the function is the same, but code also has in
it what the function calls, and constants of other files. With older ones of these it returns
other numbers, or ends the process. Here code is kept as long as all of them are the same.

Nor is code taken of which a part is lost, as after a loss of power: a file of kept code ends with
the hash of its content.
"""

import io
import warnings
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import dispatcher
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.ccallback import CFunc

# Values of names that a function has in its code.
CONSTANTS = (int, float, str, tuple, np.ndarray)
# Bytes of a hash.
LENGTH = 32


class WholeFiles(IndexDataCacheFile):
    """Index and data of kept code; a damaged file is a missing one."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + sha256(content.getvalue()).digest())

    def _load_index(self) -> dict[Any, str]:
        return super()._load_index() if is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        return super()._load_data(name) if is_whole(self._data_path(name)) else None


class CheckedCode(FunctionCache):
    """Numba's cache of a function, without which a function is compiled anew."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = WholeFiles(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code of a signature, if there is room."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn_of_lost_code(str(error.strerror))


class KeptCode(CheckedCode):
    """A cache of which nothing is taken that was made of anything else."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Kept code of a signature, if there is any; Numba asks for it before it compiles."""
        # Only now is there all that the function calls.
        file = self._cache_file
        file._source_stamp = (self._impl.locator.get_source_stamp(), stamp_of(self._py_func))
        return super().load_overload(sig, target_context)


def check_code_of(functions: Container[Any]) -> None:
    """Check kept code of these functions of another library too, whenever Numba compiles one."""

    def cache_of(function: Callable[..., Any]) -> FunctionCache:
        return (CheckedCode if function in functions else FunctionCache)(function)

    # Numba has no other place for it; its module does not declare the name that it imports.
    dispatcher.FunctionCache = cache_of  # type: ignore[attr-defined]


def kept_code(function: Callable[..., Any]) -> KeptCode | NullCache:
    """Cache of a function; none where no folder can be written."""
    try:
        return KeptCode(function)
    except RuntimeError:
        warn_of_lost_code("no folder for it can be written")
        return NullCache()


@cache
def warn_of_lost_code(reason: str) -> None:
    """Warn that compiled code is not kept."""
    step = "NUMBA_CACHE_DIR names a folder for it."
    warnings.warn(f"Compiled code is not kept: {reason}. {step}", stacklevel=2)


def is_whole(path: str) -> bool:
    """Whether a file ends with the hash of what comes before."""
    with suppress(OSError):
        content = Path(path).read_bytes()
        return sha256(content[:-LENGTH]).digest() == content[-LENGTH:]
    return False


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
    said |= {sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()}
    return sha256("\n".join(sorted(said)).encode()).hexdigest()


def keep_compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator as Numba's `njit` with these options, whose code is kept."""

    def decorate(function: Callable[..., Any]) -> Any:
        made = njit(nogil=True, error_model="numpy", **options)(function)
        made._cache = kept_code(function)
        return made

    return decorate


def c_function(signature: Any, function: Callable[..., Any], **options: Any) -> Any:
    """Function that C can call, as Numba's `cfunc` makes it; its code is kept."""
    made: Any = CFunc(function, (signature.args, signature.return_type), {}, options)
    made._cache = kept_code(function)
    made.compile()
    return made


# A function that takes another one can be cached only as a part of its caller.
inlined = njit(inline="always")
compiled = keep_compiled(fastmath={"contract"})
# Where sums of positive numbers may be taken in another order, several at a time.
summed = keep_compiled(fastmath={"contract", "reassoc"})
