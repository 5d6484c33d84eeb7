"""Work in parts, side by side: one pool of threads for the whole process.

Function and parts → results. The pool has a thread for each CPU that the process may use, so that
callers at the same time, as the tasks of Dask are, share them. Compiled loops let go of the
interpreter's lock.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

__all__ = ["in_threads", "usable_cpus"]

PREFIX = "hmetad"


def in_threads[Part, Result](work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Results of all parts, in their order; one part alone is worked on at once.

    Examples
    --------
    >>> in_threads(sum, [[1, 2], [3, 4]])
    [3, 7]
    """
    # A part that has parts of its own must not wait for the thread that it runs in.
    is_inside = threading.current_thread().name.startswith(PREFIX)
    if len(parts) < 2 or usable_cpus() < 2 or is_inside:
        return [work(part) for part in parts]
    return list(shared_pool().map(work, parts))


def usable_cpus() -> int:
    """How many CPUs this process may use."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def shared_pool() -> ThreadPoolExecutor:
    """The pool of this process, made when it is first needed."""
    return ThreadPoolExecutor(usable_cpus(), thread_name_prefix=PREFIX)


# Threads do not come along into a forked process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=shared_pool.cache_clear)
