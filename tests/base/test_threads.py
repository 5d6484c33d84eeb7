"""Threads are as many as the CPUs that the process may use, and no more where several call."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import numpy as np
import pytest

from hmetad import InputError
from hmetad.base import threads
from hmetad.base.threads import in_order_of_end, in_threads, usable_cpus

CPUS = 3
# Threads of one process that may use one CPU, after a fit of 5,000 cells.
ALONE = """
import os, threading
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import hmetad
hmetad.fit_mle(hmetad.from_nr([[40, 30, 20, 10]] * 5000, [[12, 18, 30, 40]] * 5000))
print(threading.active_count())
"""


@pytest.fixture
def three_cpus(monkeypatch):
    monkeypatch.setattr(threads, "usable_cpus", lambda: CPUS)
    threads.shared_pool.cache_clear()
    yield
    threads.shared_pool().shutdown()
    threads.shared_pool.cache_clear()


@pytest.mark.usefixtures("three_cpus")
def test_results_come_in_the_order_of_the_parts():
    parts = np.split(np.arange(10_000), 50)
    assert in_threads(np.sum, parts) == [part.sum() for part in parts]


@pytest.mark.usefixtures("three_cpus")
def test_callers_at_the_same_time_share_as_many_threads_as_there_are_cpus():
    together, most, lock, names = 0, 0, threading.Lock(), set()
    is_full = threading.Barrier(CPUS)

    def work(part):
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
            names.add(threading.current_thread().name)
        is_full.wait(timeout=60)
        with lock:
            together -= 1
        return part

    with ThreadPoolExecutor(4) as callers:
        found = [callers.submit(in_threads, work, range(3 * CPUS)) for _ in range(4)]
        assert all(one.result(timeout=60) == [*range(3 * CPUS)] for one in found)
    assert most == len(names) == CPUS


@pytest.mark.usefixtures("three_cpus")
def test_one_part_alone_and_parts_of_parts_take_no_thread_of_their_own():
    here = threading.get_ident()
    assert in_threads(lambda _: threading.get_ident(), [0]) == [here]

    def inner(_):
        return {threading.get_ident()} | {*in_threads(lambda _: threading.get_ident(), range(9))}

    assert all(len(identities) == 1 for identities in in_threads(inner, range(9)))


@pytest.mark.usefixtures("three_cpus")
def test_an_error_in_a_part_is_that_of_the_call():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda part: 1 / part, [1, 0, 2])
    assert in_threads(abs, [-1, 2]) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on Unix alone")
@pytest.mark.filterwarnings(
    "ignore:This process:DeprecationWarning", "ignore:os.fork:RuntimeWarning"
)
@pytest.mark.usefixtures("three_cpus")
def test_a_forked_process_has_a_pool_of_its_own():
    assert in_threads(abs, [-1, 2]) == [1, 2]
    with multiprocessing.get_context("fork").Pool(1) as child:
        assert child.apply_async(in_threads, (abs, [-3, 4])).get(timeout=60) == [3, 4]


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux alone says which CPUs")
def test_a_process_with_one_cpu_makes_no_threads():
    asked = [sys.executable, "-c", ALONE]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["1"]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux alone says which CPUs")
def test_cpus_are_those_that_the_process_may_use():
    assert usable_cpus() == len(os.sched_getaffinity(0))


class Client:
    """Executor whose futures call back, and have no other method of those of Python."""

    def submit(self, work, part):
        future = Future()
        future.set_result(work(part))
        return future


def broken(_):
    raise BrokenExecutor("killed")


def test_parts_are_worked_on_by_any_executor_or_here():
    for executor in (None, Client()):
        assert dict(in_order_of_end(len, ["a", "bc"], executor)) == {0: 1, 1: 2}


def test_a_worker_that_ended_is_an_error_of_the_executor():
    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match="killed"):
        list(in_order_of_end(broken, [1], executor))
