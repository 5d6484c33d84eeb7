"""Processes that work for this one, and end when it does.

Number of processes → an executor. A worker watches a pipe that this process holds open: it ends
with this process, however that ends. A worker that is interrupted prints nothing.
"""

import atexit
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any

# Work is divided between the processes: each uses one thread.
ONE_THREAD = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Workers(ProcessPoolExecutor):
    """Executor with so many processes, which end with this one.

    Parameters
    ----------
    number : int
        How many.

    Examples
    --------
    >>> with Workers(2) as executor:
    ...     list(executor.map(abs, [1, -2]))
    [1, 2]
    """

    def __init__(self, number: int) -> None:
        # A process that has threads must not be forked.
        super().__init__(number, get_context("spawn"), begin_worker)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Future of a call, for which a process may be started."""
        # A process begins with the mask of this thread: an interrupt waits until it can end of it.
        before = set_mask("SIG_BLOCK", [signal.SIGINT])
        try:
            return super().submit(*args, **kwargs)
        finally:
            set_mask("SIG_SETMASK", before)


def begin_worker() -> None:
    """Use one thread in this process; end it at an interrupt, and with its parent."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    # Without clearing modules up: DuckDB prints a page of objects that are left.
    atexit.register(os._exit, 0)
    threading.Thread(target=end_with, args=(parent_process(),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    set_mask("SIG_UNBLOCK", [signal.SIGINT])


def end_with(parent: Any) -> None:
    """End this process when another has ended, however it did."""
    parent.join()
    os._exit(1)


def set_mask(how: str, numbers: Any) -> Any:
    """Signals that were blocked before; a system without a mask blocks none."""
    if hasattr(signal, "pthread_sigmask"):
        return signal.pthread_sigmask(getattr(signal, how), numbers)
    return ()
