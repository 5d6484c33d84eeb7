"""Work in parts, side by side: one pool of threads for the whole process, or workers elsewhere.

Function and parts → results. The pool has a thread for each CPU that the process may use, so that
callers at the same time, as the tasks of Dask are, share them. Compiled loops let go of the
interpreter's lock.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from queue import SimpleQueue
from typing import Any

from hmetad.base.errors import WorkerError

PREFIX = "hmetad"
LIMIT: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Use so many threads inside; all that there are without a number.

    Examples
    --------
    >>> with at_most(1):
    ...     in_threads(lambda _: threading.current_thread().name, [1, 2])
    ['MainThread', 'MainThread']
    """
    token = LIMIT.set(threads)
    try:
        yield
    finally:
        LIMIT.reset(token)


def in_threads[Part, Result](work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Results of all parts, in their order; one part alone is worked on at once.

    Examples
    --------
    >>> in_threads(sum, [[1, 2], [3, 4]])
    [3, 7]
    """
    if len(parts) < 2 or is_alone():
        return [work(part) for part in parts]
    most = LIMIT.get()
    if most is None:
        return list(shared_pool().map(work, parts))
    results: list[Result] = []
    waiting: deque[Future[Result]] = deque()
    # The pool is shared: it is given few parts at a time.
    for part in parts:
        if len(waiting) == most:
            results.append(waiting.popleft().result())
        waiting.append(shared_pool().submit(work, part))
    return results + [future.result() for future in waiting]


def in_order_of_end[Part, Result](
    work: Callable[[Part], Result], parts: Sequence[Part], executor: Any
) -> Generator[tuple[int, Result]]:
    """Number and result of each part, as soon as it is done; here without an executor.

    An executor has ``submit``, which returns a future. Parts that have not begun are cancelled
    when the generator is closed.

    Examples
    --------
    >>> with ThreadPoolExecutor(2) as executor:
    ...     sorted(in_order_of_end(sum, [[1, 2], [3, 4]], executor))
    [(0, 3), (1, 7)]
    """
    if executor is None:
        yield from enumerate(map(work, parts))
        return
    done: SimpleQueue[int] = SimpleQueue()
    futures: list[Any] = []
    try:
        for number, part in enumerate(parts):
            futures.append(executor.submit(work, part))
            futures[-1].add_done_callback(lambda _, number=number: done.put(number))
        for _ in parts:
            number = done.get()
            yield number, futures[number].result()
    except BrokenExecutor as error:
        step = "Use fewer workers: one of them may have run out of memory."
        raise WorkerError("executor", f"a worker that ended ({error})", "workers", step) from error
    finally:
        for future in futures:
            future.cancel()


def is_alone() -> bool:
    """Whether work is done in this thread: only one is to be used, or this is one of the pool.

    A part that has parts of its own must not wait for the thread that it runs in.
    """
    return 1 in (usable_cpus(), LIMIT.get()) or threading.current_thread().name.startswith(PREFIX)


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
