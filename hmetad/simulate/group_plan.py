"""How many people, and how many trials of each, a question about people needs.

Guesses about a population, or a pilot fit, and sizes → Dataset (subjects, trials, verdict): what
studies of each size come to when they are fitted with the hierarchical model of the question.
Source: Kruschke (2013), on planning by the interval and the ROPE.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hmetad.arguments import (
    arrays_of_numbers,
    check_inputs,
    seed_or_none,
    whole,
    with_posterior,
    with_submit,
)
from hmetad.compare.verdicts import check_arguments, interval_words
from hmetad.errors import InputError
from hmetad.results import attrs_of
from hmetad.simulate.group_outcomes import summarise_studies
from hmetad.simulate.guesses import population_of, truth_value
from hmetad.simulate.outcomes import VERDICTS
from hmetad.simulate.plan_sizes import people_of, planned_sizes, refuse_large, sampling_of
from hmetad.simulate.questions import QUESTIONS
from hmetad.simulate.study_folder import (
    Key,
    append_study,
    open_folder,
    read_studies,
    seed_of_folder,
)
from hmetad.simulate.workers import finished_studies
from hmetad.threads import usable_cpus

__all__ = ["AskedQuestion", "plan_groups"]

AskedQuestion = Literal["mean", "difference", "tasks", "correlation", "slope"]


def number_or_none(argument: str, value: Any) -> None:
    """Refuse what is neither None nor a whole number: a generator cannot be kept in a folder."""
    if isinstance(value, np.random.Generator):
        raise InputError(argument, "a Generator", "None or a whole number of at least 0")
    seed_or_none(argument, value)


def pilot_or_none(argument: str, value: Any) -> None:
    """Refuse what is neither None nor a fit."""
    if value is not None:
        with_posterior(argument, value)


@check_inputs(
    executor=with_submit,
    gaps=arrays_of_numbers,
    pilot=pilot_or_none,
    cores=whole(1),
    seed=number_or_none,
)
def plan_groups(
    question: AskedQuestion,
    *,
    subjects: Sequence[int] = (20, 40, 80),
    trials: Sequence[int] = (200,),
    effect: float | None = None,
    m_ratio: float | None = None,
    between_sd: float | None = None,
    correlation: float | None = None,
    dprime: float | None = None,
    dprime_sd: float | None = None,
    c: float | None = None,
    c_sd: float | None = None,
    ratings: int | None = None,
    gaps: ArrayLike | None = None,
    gap_sd: float | None = None,
    pilot: xr.DataTree | None = None,
    rope: tuple[float, float] | None = None,
    ci_prob: float = 0.95,
    comparisons: int = 1,
    meta_criterion: Literal["relative", "absolute"] = "relative",
    n: int = 100,
    folder: str | Path | None = None,
    cores: int | None = None,
    executor: Any = None,
    progressbar: bool = True,
    seed: int | None = None,
    **sample_kwargs: Any,
) -> xr.Dataset:
    r"""What studies of several numbers of people and trials would find.

    Studies are simulated, and each is fitted with the hierarchical model that would be fitted to
    the real one.

    Parameters
    ----------
    question : {"mean", "difference", "tasks", "correlation", "slope"}
        What is judged: the mean of log M in one population (card group); the difference in log M
        between two groups of people (group_comparison), or between two tasks of the same people
        (multitask); the correlation of log M between two tasks (multitask); the change of log M
        for one standard deviation of a covariate of the people (regression).
    subjects : sequence of int, shape (numbers,)
        People of a study; of two groups, half are in each. At least 2, of a correlation or slope 3,
        of two groups 4.
    trials : sequence of int, shape (sizes,)
        Trials of one person in one task; at least 2.
    effect : float, optional
        True difference (first less second), correlation or slope; the question "mean" has none.
        Groups and tasks lie half of a difference above and below `m_ratio`.
    m_ratio, between_sd : float, optional
        Median of M in the population, and standard deviation of log M between people (of those
        with the same covariate, where there is one); 0.8 and 0.3 by default.
    correlation : float, optional
        Of a person's log M in the two tasks, for the question "tasks"; 0.5 by default.
    dprime, dprime_sd : float, optional
        Mean and standard deviation of d′ between people, 1.5 and 0.3 by default. No d′ below 0 is
        drawn.
    c, c_sd : float, optional
        The same of the criterion, 0 and 0.2 by default.
    ratings : int, optional
        K; 4 by default.
    gaps : array, optional
        Median distances of the criteria, as in `simulate_counts`; 0.5 each by default.
    gap_sd : float, optional
        Standard deviation of log gaps between people; 0.2 by default.
    pilot : DataTree, optional
        Fit of a pilot study with one of these cards. What is not given is taken from its posterior
        means, and the effect too where the question is the pilot's own.
    rope : tuple of float, optional
        Region of practical equivalence of what is judged. Without one only precision is planned.
    ci_prob, comparisons
        As in `decide`.
    meta_criterion : {"relative", "absolute"}
        κ = M·c or κ = c, of the truth and of the fit.
    n : int
        Studies simulated of each size; at least 2.
    folder : str or Path, optional
        Keeps each study when it is done. A plan that was ended goes on there, and further sizes,
        more studies or another ROPE use the studies that are there.
    cores : int, optional
        Processes of this machine, by default one for each CPU that may be used.
    executor : distributed.Client, optional
        Where to work in place of these processes; or anything else with ``submit`` that returns
        futures, such as an executor of `concurrent.futures`.
    progressbar : bool
        Show on a terminal how many studies are done.
    seed : int, optional
        The same seed gives the same plan, whatever does the work; by default that of the folder,
        else a new one.
    **sample_kwargs
        draws, tune, chains and target_accept of `fit`; 2 chains of 500 draws, after 300 of tuning,
        by default.

    Returns
    -------
    Dataset
        Dims (subjects, trials). With a ROPE, by verdict too: ``probability`` of "different",
        "negligible", "inconclusive" and "unreliable". ``half_width``, the median of the intervals
        of what is judged; ``coverage``, how often they hold the truth; ``bias`` of the posterior
        mean; ``unreliable``, the share of fits that cannot be relied on, which the three before
        leave out. Each with its Monte Carlo error, ``*_se``. attrs: the arguments as they were
        used; ``judged``; ``truth_value``; with a ROPE ``truth``, the verdict that data without
        end would give.

    Raises
    ------
    InputError
        If an argument is out of range, there is no effect to plan for, the pilot is no fit of a
        population, a fit does not fit into memory, or the folder holds something else, or
        studies with other arguments.
    MemoryError
        If the system ended a process of this machine.
    KeyboardInterrupt
        If it was interrupted; studies that were done are in the folder.

    Notes
    -----
    A person's :math:`\log M \sim N(\mu, \sigma^2)`, and so are d′, c and log gaps; d′ and c in two
    tasks are drawn independently. The verdict is where the interval of the posterior lies against
    the ROPE, as `decide` has it. A fit cannot be relied on where it has divergences, or what is
    judged has R̂ above 1.01 or fewer than 400 effective draws at a bound of its interval; before
    that is said, it is done once more with three times the draws. A published fit has more draws
    than these, so it is not asked whether more draws could change a verdict. Guesses are taken for
    true: a plan from a small pilot is as uncertain as the pilot is.

    Examples
    --------
    >>> plan = plan_groups(
    ...     "mean", subjects=[4], trials=[100], rope=(-0.1, 0.1), n=2, cores=1, seed=1
    ... )
    >>> plan["probability"].dims, plan.attrs["judged"]
    (('subjects', 'trials', 'verdict'), 'mean of log M')
    """
    people = people_of(QUESTIONS[question], subjects)
    sizes = planned_sizes("trials", trials, 2)
    studies = planned_sizes("n", [n], 2)[0]
    check_arguments(rope or (-1.0, 1.0), 0.0, ci_prob, comparisons)
    guesses: dict[str, Any] = {"effect": effect, "m_ratio": m_ratio, "between_sd": between_sd}
    guesses |= {"correlation": correlation, "dprime": dprime, "dprime_sd": dprime_sd}
    guesses |= {"c": c, "c_sd": c_sd, "gaps": gaps, "gap_sd": gap_sd}
    population = population_of(question, guesses, ratings, pilot, meta_criterion)
    sampling = sampling_of(sample_kwargs)
    processes = usable_cpus() if cores is None else cores
    number, levels = studies * len(people) * len(sizes), len(population.gaps[0]) + 1
    refuse_large(QUESTIONS[question], people, number, levels, sampling, processes)
    place = None if folder is None else Path(folder)
    shared = {
        "question": question,
        "population": asdict(population),
        "level": 1 - (1 - ci_prob) / comparisons,
        "sampling": sampling,
        "seed": chosen_seed(seed, place),
    }
    keys = [(s, t, i) for s in people for t in sizes for i in range(studies)]
    options = {"cores": processes, "executor": executor}
    found = run_all(keys, shared, place, progressbar=progressbar, **options)
    true = truth_value(question, population)
    by_size = [
        [summarise_studies([found[s, t, i] for i in range(studies)], true, rope) for t in sizes]
        for s in people
    ]
    result = assemble(by_size, people, sizes, rope is not None)
    result.attrs = attributes(shared, true, rope)
    result.attrs |= {"ci_prob": ci_prob, "comparisons": comparisons, "n": studies}
    return result


def chosen_seed(seed: int | None, folder: Path | None) -> int:
    """The seed that was given, else that of the folder, else a new one."""
    if seed is None and folder is not None:
        seed = seed_of_folder(folder)
    return secrets.randbelow(2**31) if seed is None else int(seed)


def run_all(
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
    names = ("subjects", "trials", "study")
    tasks = [{**shared, **dict(zip(names, key, strict=True))} for key in missing]
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


def assemble(
    by_size: Sequence[Sequence[Mapping[str, ArrayLike]]],
    people: list[int],
    sizes: list[int],
    has_verdicts: bool,
) -> xr.Dataset:
    """Results of all sizes, labelled."""
    coords: dict[str, Any] = {"subjects": people, "trials": sizes}
    if has_verdicts:
        coords["verdict"] = list(VERDICTS)
    data = {}
    for name in by_size[0][0]:
        values = np.array([[one[name] for one in row] for row in by_size], dtype=float)
        data[name] = (("subjects", "trials", "verdict")[: values.ndim], values)
    result = xr.Dataset(data, coords)
    for name in data:
        result[name].attrs["long_name"] = attrs_of(name, "plan_groups")["long_name"]
    return result


def attributes(
    shared: Mapping[str, Any], true: float, rope: tuple[float, float] | None
) -> dict[str, Any]:
    """What a plan has to say of itself: text, numbers and lists of them."""
    population = dict(shared["population"])
    gaps = json.dumps(population.pop("gaps"))
    said = {"question": shared["question"], "judged": QUESTIONS[shared["question"]].judged}
    said |= {"truth_value": true, **population, "gaps": gaps, **shared["sampling"]}
    if rope is not None:
        value = np.array([true])
        truth = str(interval_words(value, value, rope)[0])
        said |= {"rope": list(rope), "truth": truth}
    return {**said, "seed": str(shared["seed"])}
