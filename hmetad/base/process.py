"""How the process of a command begins and ends.

Nothing → streams that are there, and signals that end the run in one line. It imports little:
until its handlers are in place, an interrupt ends with a traceback.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from hmetad.base.files import clear_unfinished, written_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, NoReturn

USAGE, SIGNALLED = 2, 128
WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
SHOW_CURSOR = "\n\x1b[?25h"

# What a run that is ended by a signal has to clear away besides its outputs.
at_the_end: list[Callable[[], None]] = [clear_unfinished]


def begin_command() -> None:
    """Make ready for a command: its handlers first."""
    for number in handled_signals():
        signal.signal(number, end_by_signal)
    open_streams()


def end(status: int) -> "NoReturn":
    """End with a status; what could not be printed is said, unless nobody reads any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        tell(f"hmetad: standard output: {error.strerror}")
        status = USAGE
    # All is done. While Python shuts down it removes its handlers; a signal then would replace
    # the exit status.
    for number in handled_signals():
        signal.signal(number, signal.SIG_IGN)
    # Libraries that are written in C++ count what is left of them, and print lines of it.
    silence(sys.stderr)
    sys.exit(status)


def said_of_end(word: str = WORDS["SIGINT"]) -> str:
    """What to say of a run that is ended from outside."""
    written = ", ".join(map(str, written_files()))
    return f"{word}; {f'written: {written}' if written else 'nothing was written'}"


def silence(stream: "IO[str]") -> None:
    """Send a stream to the null device: its reader has ended, or its disk is full."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def handled_signals() -> list[int]:
    """Signals that end a run, but for the hang-up that a run started by nohup outlives."""
    numbers = [getattr(signal, name) for name in WORDS if hasattr(signal, name)]
    hang_up = getattr(signal, "SIGHUP", None)
    is_ignored = hang_up is not None and signal.getsignal(hang_up) is signal.SIG_IGN
    return [number for number in numbers if number != hang_up or not is_ignored]


def end_by_signal(number: int, _: object) -> "NoReturn":
    """End at once: to unwind takes time, and compiled callbacks and imports may swallow it."""
    for clear in at_the_end:
        clear()
    tell(f"hmetad: {said_of_end(WORDS[signal.Signals(number).name])}")
    os._exit(SIGNALLED + number)


def tell(line: str) -> None:
    """Print a line on standard error at any moment, below a progress bar if there is one."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)
    with suppress(OSError):
        on_terminal = os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb"
        text = f"{SHOW_CURSOR if on_terminal else ''}{shown}\n"
        os.write(2, text.encode(getattr(sys.stderr, "encoding", None) or "ascii", "replace"))


def open_streams() -> None:
    """Open closed streams on the null device; characters that an encoding lacks are replaced.

    What is opened next would take the number of a stream that is closed, and what is printed
    would be written into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 for good
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
