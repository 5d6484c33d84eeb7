"""Studies of people, simulated and fitted: one, many side by side, and those kept in a folder.

Plain numbers and texts of a study → interval of what is judged, and how good its draws are. Studies
are worked on in processes of this machine, or wherever an executor sends them; a folder keeps
``plan.json`` and ``studies.jsonl``, a line for each study that is done, and a plan that was ended
goes on where it was.
"""

import json
import math
import os
import secrets
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

from hmetad.base.errors import FileError, SourceError
from hmetad.base.files import write_together
from hmetad.base.notice_registry import limit
from hmetad.base.threads import in_order_of_end
from hmetad.base.untrusted import parse_json
from hmetad.bayes.fit import fit
from hmetad.compare.verdicts import summarise
from hmetad.simulate.people import Population, judged_draws, simulate_people
from hmetad.simulate.plan_questions import QUESTIONS
from hmetad.specs.loading import load_model

__all__ = ["NUMBERS", "is_reliable", "open_folder", "run_studies", "run_study", "serve"]

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
) -> dict[Key, Found]:
    """Results of all studies: those in the folder, and the others when they are done."""
    found = {} if folder is None else read_studies(folder)
    # The largest first: at the end no process waits long for another.
    missing = sorted((key for key in keys if key not in found), key=lambda key: (-key[0], *key))
    tasks = [{**shared, **dict(zip(KEY, key, strict=True))} for key in missing]
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = not (progressbar and (console.is_interactive or console.is_jupyter))
    text = TextColumn("{task.description}")
    # Closed at once after an interrupt, whoever holds its traceback: processes end with it.
    with (
        closing(finished_studies(tasks, cores=cores, executor=executor)) as studies,
        Progress(text, *columns, console=console, disable=hidden) as progress,
    ):
        bar = progress.add_task("Studies", total=len(keys), completed=len(keys) - len(missing))
        for number, result in studies:
            found[missing[number]] = result
            if folder is not None:
                append_study(folder, missing[number], result)
            progress.advance(bar)
    return found


def run_study(task: Task) -> Found:
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
    question, given = task["question"], task["population"]
    entropy = [task[name] for name in ("seed", *KEY)]
    of_data, of_fits = np.random.SeedSequence(entropy).spawn(2)
    population = Population(**{**given, "gaps": tuple(map(tuple, given["gaps"]))})
    rng = np.random.default_rng(of_data)
    counts = simulate_people(population, question, task["subjects"], task["trials"], rng)
    spec = load_model(QUESTIONS[question].card, meta_criterion=population.meta_criterion)
    options = {**task["sampling"], "cores": 1, "progressbar": False, "quiet": True}
    found: Found = {}
    for seed, times in zip(of_fits.generate_state(2).tolist(), (1, MORE_DRAWS), strict=True):
        more = {name: times * options[name] for name in ("draws", "tune")}
        tree = fit(counts, spec, random_seed=seed, **{**options, **more})
        rows = judged_draws(question, tree)[None]
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
    """Number of a task and its result, as soon as it is there."""
    if executor is not None:
        yield from in_order_of_end(partial(executor.submit, run_study), tasks)
    elif min(cores, len(tasks)) < 2:
        for number, task in enumerate(tasks):
            yield number, run_study(task)
    else:
        with worker_processes(min(cores, len(tasks))) as submit:
            yield from in_order_of_end(submit, tasks)


@contextmanager
def worker_processes(number: int) -> Iterator[Callable[[Task], Any]]:
    """What sends a task to one of some processes, which end with this one, however it ends.

    Other than those of `multiprocessing` they do not run the main module of the user again, which
    may have no guard against it.
    """
    begun: list[subprocess.Popen[str]] = []
    own = threading.local()
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": paths}

    def begin() -> None:
        own.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**environment, "PYTHONIOENCODING": "utf-8"},
        )
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


def answer_of(process: "subprocess.Popen[str]", task: Task) -> Found:
    """What a process answers to a task: one line to one line."""
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

    def read_lines() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read_lines, daemon=True).start()
    while True:
        task = json.loads(lines.get())
        try:
            answer: dict[str, Any] = run_study(task)
        except Exception:
            answer = {"error": format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


def open_folder(folder: Path, arguments: Mapping[str, Any], seed: int | None) -> int:
    """Make a folder for the studies of a plan, or take up that of an earlier run; their seed.

    The arguments, as JSON has them, are all that a study depends on but its size and number.
    """
    if folder.exists() and not folder.is_dir():
        raise SourceError("folder", f"the file {str(folder)!r}", "a folder")
    path, stated = folder / PLAN, None
    if path.is_file():
        stated = parse_json(path.read_text(encoding="utf-8", errors="replace"), str(path))
        if not isinstance(stated, dict):
            raise FileError(str(path), type(stated).__name__, "an object", "Name another folder.")
        if seed is None and isinstance(stated.get("seed"), int):
            seed = stated["seed"]
    seed = secrets.randbelow(2**31) if seed is None else seed
    # As JSON gives them back.
    own = json.loads(json.dumps({**arguments, "seed": seed, "hmetad": version("hmetad")}))
    if stated is None:
        others = sorted(path.name for path in folder.glob("[!.]*")) if folder.exists() else []
        if others:
            got = f"{str(folder)!r} with {others[0]!r} in it"
            raise SourceError("folder", got, "an empty or new folder, or one of an earlier plan")
    else:
        for name in (k for k in {**stated, **own} if stated.get(k) != own.get(k)):
            got = f"{str(folder)!r}, whose studies have {name} {stated.get(name)!r}"
            allowed = f"studies with {name} {own.get(name)!r}"
            raise SourceError("folder", got, allowed, "Name another folder, or plan as before.")
    write_together({path: json.dumps(own, indent=2) + "\n"})
    studies = folder / STUDIES
    if studies.exists():
        # A last line that was not written to its end is no study.
        cut = studies.read_bytes().rpartition(b"\n")[2]
        if cut:
            os.truncate(studies, studies.stat().st_size - len(cut))
    return seed


def read_studies(folder: Path) -> dict[Key, Found]:
    """Results of the studies in a folder, by size and number."""
    path = folder / STUDIES
    if not path.exists():
        return {}
    found = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            place = f"{path}, line {number}"
            study = parse_json(line, place)
            is_study = isinstance(study, dict) and set(study) == {*KEY, *NUMBERS}
            if not (
                is_study
                and all(type(study[name]) is int for name in KEY)
                and all(study[n] is None or type(study[n]) in (int, float) for n in NUMBERS)
            ):
                allowed = f"an object with {', '.join((*KEY, *NUMBERS))}"
                raise FileError(place, repr(line[:80]), allowed, "Delete the line.")
            found[study["subjects"], study["trials"], study["study"]] = {
                name: math.nan if study[name] is None else float(study[name]) for name in NUMBERS
            }
    return found


def append_study(folder: Path, key: Key, found: Found) -> None:
    """Add the result of one study, and bring it to the disk."""
    # What is undefined is null: JSON has no NaN.
    known = {name: value if math.isfinite(value) else None for name, value in found.items()}
    line = json.dumps({**dict(zip(KEY, key, strict=True)), **known}, allow_nan=False) + "\n"
    with (folder / STUDIES).open("ab", buffering=0) as file:
        file.write(line.encode("ascii"))
        os.fsync(file.fileno())
