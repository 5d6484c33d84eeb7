"""What the benchmarks share: clocks, tables, and the machine they ran on.

Nothing here is timed but `calibrating_loop`, a fixed piece of arithmetic. Dividing a time by
its time gives a figure that can be compared, roughly, between machines.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numba import njit

__all__ = [
    "CpuClock",
    "best_of",
    "calibrating_loop",
    "describe_machine",
    "print_table",
]

LOOP_STEPS = 20_000_000


@dataclass
class CpuClock:
    """Wall and CPU seconds of this process, all threads, spent inside a `with` block."""

    wall: float = 0.0
    cpu: float = 0.0

    def __enter__(self) -> Self:
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *exception: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def describe_machine() -> str:
    """Processor, number of cores, and the load average before the run."""
    load = (
        ", ".join(f"{x:.2f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    )
    return f"{processor()}, {os.cpu_count()} cores, load average {load}"


def processor() -> str:
    """Model of the CPU, as the operating system names it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


@njit
def fixed_arithmetic(steps: int) -> float:
    """Chain of logarithms and square roots, each waiting for the one before."""
    x = 1.0
    for _ in range(steps):
        x = np.sqrt(1.0 + np.log1p(x) * x)
    return x


def calibrating_loop() -> float:
    """CPU seconds of a fixed loop on one core, best of three."""
    fixed_arithmetic(1)
    return best_of(lambda: fixed_arithmetic(LOOP_STEPS), rounds=3)


def best_of(run: Callable[[], object], rounds: int, calls: int = 1) -> float:
    """Wall seconds of one call, the best of several rounds of `calls` calls each."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        seconds.append((time.perf_counter() - start) / calls)
    return min(seconds)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their widest entry; numbers with three digits."""
    text = [list(header), *([shown(x) for x in row] for row in rows)]
    widths = [max(len(row[j]) for row in text) for j in range(len(header))]
    for row in text:
        first, *others = (
            x.ljust(w) if j == 0 else x.rjust(w)
            for j, (x, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]))


def shown(value: object) -> str:
    """Text of a table's entry: three significant digits, whole numbers whole."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
