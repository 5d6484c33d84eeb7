"""Studies worked on side by side: in processes of this machine, or wherever an executor sends them.

Tasks → results, in the order in which they come. A task and its result are plain numbers and
texts, so that neither depends on where it is worked on.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from traceback import format_exc
from typing import Any

from hmetad.simulate.group_study import run_study

__all__ = ["finished_studies", "serve"]

type Task = Mapping[str, Any]
type Found = dict[str, float]

START = "from hmetad.simulate.workers import serve; serve()"
# A study is worked on by one thread: the processes share the machine.
ONE_THREAD = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHON_CPU_COUNT")
KILLED = -9


def finished_studies(
    tasks: Sequence[Task], *, cores: int = 1, executor: Any = None
) -> Generator[tuple[int, Found]]:
    """Number of a task and its result, as soon as it is there.

    Parameters
    ----------
    tasks : sequence of mapping
        As `run_study` takes them.
    cores : int
        Processes of this machine; with one, the tasks are done here.
    executor : object, optional
        Has ``submit(function, task)``, which returns a future: a `distributed.Client`, or an
        executor of `concurrent.futures`.

    Yields
    ------
    tuple of int and dict

    Raises
    ------
    MemoryError
        If the system ended a process, as it does where memory runs out.
    RuntimeError
        If a study ended in an error, with its text.
    """
    if executor is not None:
        yield from in_order_of_end(partial(executor.submit, run_study), tasks)
    elif min(cores, len(tasks)) < 2:
        for number, task in enumerate(tasks):
            yield number, run_study(task)
    else:
        with worker_processes(min(cores, len(tasks))) as submit:
            yield from in_order_of_end(submit, tasks)


def in_order_of_end(
    submit: Callable[[Task], Any], tasks: Sequence[Task]
) -> Generator[tuple[int, Found]]:
    """Results of tasks that are worked on elsewhere; those not begun are given up at the end."""
    done: SimpleQueue[int] = SimpleQueue()
    futures: list[Any] = []
    try:
        for number, task in enumerate(tasks):
            futures.append(submit(task))
            futures[-1].add_done_callback(lambda _, number=number: done.put(number))
        for _ in tasks:
            number = done.get()
            yield number, futures[number].result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def worker_processes(number: int) -> Iterator[Callable[[Task], Any]]:
    """What sends a task to one of some processes, which end with this one, however it ends.

    Other than those of `multiprocessing` they do not run the main module of the user again, which
    may have no guard against it.
    """
    begun: list[subprocess.Popen[str]] = []
    own = threading.local()

    def begin() -> None:
        own.process = start_process()
        begun.append(own.process)

    pool = ThreadPoolExecutor(number, "study", initializer=begin)
    try:
        yield lambda task: pool.submit(lambda: answer_of(own.process, task))
    finally:
        # Threads that wait for an answer find the end of the stream.
        pool.shutdown(wait=False, cancel_futures=True)
        for process in begun:
            process.kill()
        pool.shutdown(wait=True)
        for process in begun:
            process.communicate()


def start_process() -> "subprocess.Popen[str]":
    """A process that answers one line with one line, and imports from where this one does."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": paths}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**environment, "PYTHONIOENCODING": "utf-8"},
    )


def answer_of(process: "subprocess.Popen[str]", task: Task) -> Found:
    """What a process answers to a task."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(dict(task)) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        status = process.wait()
        if status == KILLED:
            raise MemoryError("The system ended a process that fitted a study. Use fewer cores.")
        raise RuntimeError(f"a process that fitted studies ended with status {status}")
    answer = json.loads(line)
    if "error" in answer:
        raise RuntimeError(f"a study could not be fitted:\n{answer['error']}")
    return answer


def serve() -> None:
    """Answer tasks until nobody asks any more; then end, also in the middle of a fit."""
    # An interrupt is for the process that asks, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a library prints is no answer.
    os.dup2(2, 1)
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=read_lines, args=(lines,), daemon=True).start()
    while True:
        task = json.loads(lines.get())
        try:
            answer: dict[str, Any] = run_study(task)
        except Exception:
            answer = {"error": format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


def read_lines(lines: "SimpleQueue[str]") -> None:
    """Put lines of standard input into a queue; end the process with the stream."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)
