"""Studies of people, simulated and fitted: one, many side by side, and those kept in a folder.

Plain numbers and texts of a study → interval of what is judged, and how good its draws are. Studies
are worked on in processes of this machine, or wherever an executor sends them; a folder keeps
``plan.json`` and ``studies.jsonl``, a line for each study that is done, and a plan that was ended
goes on where it was.
"""

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from traceback import format_exc
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hmetad.bayes.fit import fit
from hmetad.compare.verdicts import summarise
from hmetad.errors import InputError
from hmetad.files import write_together
from hmetad.notice_registry import limit
from hmetad.simulate.people import QUESTIONS, Population, simulate_people
from hmetad.specs.loading import load_model
from hmetad.untrusted import parse_json

__all__ = ["NUMBERS", "is_reliable", "run_studies", "run_study", "seed_of_folder", "serve"]

type Task = Mapping[str, Any]
type Found = dict[str, float]
# Number of people, of trials, and of the study.
type Key = tuple[int, int, int]

# What a study is remembered by.
NUMBERS = ("mean", "lower", "upper", "rhat", "ess", "divergences")
# A fit that cannot be relied on is done once more with as many times the draws.
MORE_DRAWS = 3
PLAN, STUDIES = "plan.json", "studies.jsonl"
KEY = ("subjects", "trials", "study")
START = "from hmetad.simulate.studies import serve; serve()"
# A study is worked on by one thread: the processes share the machine.
ONE_THREAD = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHON_CPU_COUNT")
KILLED = -9


def run_studies(
    keys: Sequence[Key],
    shared: Mapping[str, Any],
    folder: Path | None,
    *,
    progressbar: bool,
    cores: int,
    executor: Any,
) -> dict[Key, dict[str, float]]:
    """Results of all studies: those in the folder, and the others when they are done."""
    found: dict[Key, dict[str, float]] = {}
    if folder is not None:
        open_folder(folder, {**shared, "hmetad": version("hmetad")})
        found = read_studies(folder)
    # The largest first: at the end no process waits long for another.
    missing = sorted((key for key in keys if key not in found), key=lambda key: (-key[0], *key))
    tasks = [{**shared, **dict(zip(KEY, key, strict=True))} for key in missing]
    done = len(keys) - len(missing)
    # Closed at once after an interrupt, whoever holds its traceback: processes end with it.
    with (
        closing(finished_studies(tasks, cores=cores, executor=executor)) as studies,
        progress_of(len(keys), done, progressbar) as advance,
    ):
        for number, result in studies:
            found[missing[number]] = result
            if folder is not None:
                append_study(folder, missing[number], result)
            advance()
    return found


@contextmanager
def progress_of(total: int, done: int, is_shown: bool) -> Iterator[Callable[[], None]]:
    """What is called when a study is done; a terminal shows it."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}")
    hidden = not (is_shown and (console.is_interactive or console.is_jupyter))
    with Progress(text, *columns, console=console, disable=hidden) as progress:
        task = progress.add_task("Studies", total=total, completed=done)
        yield lambda: progress.advance(task)


def run_study(task: Mapping[str, Any]) -> dict[str, float]:
    """Simulate one study, fit it, and summarise what is judged.

    Parameters
    ----------
    task : mapping of str to object
        question; population, the fields of `Population`; subjects, trials, study (its number) and
        seed, on which the data depend and on nothing else; level, the probability of the
        interval; sampling, options of `fit`.

    Returns
    -------
    dict of str to float
        mean, lower, upper of the posterior of what is judged; rhat, ess (of the worse bound) and
        divergences. A fit that is not good enough is done once more with three times the draws.
    """
    asked = QUESTIONS[task["question"]]
    entropy = [task[name] for name in ("seed", "subjects", "trials", "study")]
    of_data, of_fits = np.random.SeedSequence(entropy).spawn(2)
    given = task["population"]
    population = Population(**{**given, "gaps": tuple(map(tuple, given["gaps"]))})
    rng = np.random.default_rng(of_data)
    sizes = task["subjects"], task["trials"]
    counts = simulate_people(population, task["question"], *sizes, rng)
    spec = load_model(asked.card, meta_criterion=population.meta_criterion)
    options = {**task["sampling"], "cores": 1, "progressbar": False, "quiet": True}
    found: dict[str, float] = {}
    for seed, times in zip(of_fits.generate_state(2).tolist(), (1, MORE_DRAWS), strict=True):
        more = {name: times * options[name] for name in ("draws", "tune")}
        tree = fit(counts, spec, random_seed=seed, **{**options, **more})
        rows = asked.draws(tree["posterior"].to_dataset()).to_numpy()[None]
        told = summarise(rows, level=task["level"], is_hdi=False, null=0.0, rope=(-1.0, 1.0))
        found = {name: float(told[name][0]) for name in ("mean", "lower", "upper", "rhat")}
        found["ess"] = float(told["ess_tail"][0])
        found["divergences"] = float(tree["sample_stats"]["diverging"].sum())
        if is_reliable(found):
            break
    return found


def is_reliable(found: Mapping[str, float]) -> bool:
    """Whether the draws of what is judged keep the limits of `fit` and `decide`.

    Examples
    --------
    >>> is_reliable({"rhat": 1.02, "ess": 900.0, "divergences": 0.0})
    False
    """
    has_mixed = found["rhat"] <= limit("rhat") and found["ess"] >= limit("ess")
    return has_mixed and found["divergences"] == 0


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


def open_folder(folder: Path, arguments: Mapping[str, Any]) -> None:
    """Make a folder for the studies of a plan, or take up that of an earlier run.

    Parameters
    ----------
    folder : Path
        Missing, empty, or of a plan with the same arguments.
    arguments : mapping of str to object
        All that a study depends on but its size and number, as JSON has it.

    Raises
    ------
    InputError
        If something else is in the folder, or studies of a plan with other arguments.
    OSError
        If it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("folder", f"the file {str(folder)!r}", "a folder")
    stated = stated_arguments(folder)
    if stated is None:
        others = sorted(path.name for path in folder.glob("[!.]*")) if folder.exists() else []
        if others:
            got = f"{str(folder)!r} with {others[0]!r} in it"
            raise InputError("folder", got, "an empty or new folder, or one of an earlier plan")
    elif stated != json.loads(json.dumps(arguments)):
        differing = [k for k in {**stated, **arguments} if stated.get(k) != plain(arguments.get(k))]
        name = differing[0]
        got = f"{str(folder)!r}, whose studies have {name} {stated.get(name)!r}"
        allowed = f"studies with {name} {arguments.get(name)!r}"
        raise InputError("folder", got, allowed, "Name another folder, or plan as before.")
    write_together({folder / PLAN: json.dumps(arguments, indent=2) + "\n"})
    cut_unfinished(folder / STUDIES)


def seed_of_folder(folder: Path) -> int | None:
    """Seed of the studies in a folder, None where there are none yet."""
    seed = (stated_arguments(folder) or {}).get("seed")
    return seed if isinstance(seed, int) else None


def read_studies(folder: Path) -> dict[Key, dict[str, float]]:
    """Results of the studies in a folder, by size and number.

    Raises
    ------
    InputError
        If a line is no result of a study.
    """
    path = folder / STUDIES
    if not path.exists():
        return {}
    found = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            place = f"{path}, line {number}"
            study = parse_json(line, place)
            if not is_study(study):
                allowed = f"an object with {', '.join((*KEY, *NUMBERS))}"
                raise InputError(place, repr(line[:80]), allowed, "Delete the line.")
            key = (study["subjects"], study["trials"], study["study"])
            found[key] = {
                name: math.nan if study[name] is None else float(study[name]) for name in NUMBERS
            }
    return found


def append_study(folder: Path, key: Key, found: Mapping[str, float]) -> None:
    """Add the result of one study, and bring it to the disk."""
    # What is undefined is null: JSON has no NaN.
    known = {name: value if math.isfinite(value) else None for name, value in found.items()}
    line = json.dumps({**dict(zip(KEY, key, strict=True)), **known}, allow_nan=False) + "\n"
    with (folder / STUDIES).open("ab", buffering=0) as file:
        file.write(line.encode("ascii"))
        os.fsync(file.fileno())


def stated_arguments(folder: Path) -> dict[str, Any] | None:
    """What the plan in a folder was made with; None where there is no plan."""
    path = folder / PLAN
    if not path.is_file():
        return None
    stated = parse_json(path.read_text(encoding="utf-8", errors="replace"), str(path))
    if not isinstance(stated, dict):
        raise InputError(str(path), type(stated).__name__, "an object", "Name another folder.")
    return stated


def cut_unfinished(path: Path) -> None:
    """Take away a last line that was not written to its end."""
    if path.exists():
        whole = path.read_bytes().rpartition(b"\n")
        if whole[2]:
            os.truncate(path, len(whole[0]) + len(whole[1]))


def is_study(value: object) -> bool:
    """Whether a value is what `append_study` writes."""
    if not isinstance(value, dict) or set(value) != {*KEY, *NUMBERS}:
        return False
    sizes = [value[name] for name in KEY]
    numbers = [value[name] for name in NUMBERS]
    return all(type(size) is int for size in sizes) and all(
        number is None or type(number) in (int, float) for number in numbers
    )


def plain(value: Any) -> Any:
    """A value as JSON gives it back."""
    return json.loads(json.dumps(value))
