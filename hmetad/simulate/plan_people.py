"""How many people a question about M needs.

Truth, question, design and ROPE → Dataset (subjects, trials, verdict): studies of people are
simulated, and each is fitted with the hierarchical model of its question, here or wherever an
executor sends it.
Source: Kruschke (2013), on planning by the interval and the ROPE.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from rich.console import Console
from rich.progress import track

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import (
    arrays_of_numbers,
    positive,
    probability,
    whole,
    with_posterior,
    with_submit,
)
from hmetad.base.errors import UnknownError, nearest
from hmetad.base.memory import refuse_memory
from hmetad.base.notice_registry import limit
from hmetad.base.threads import in_order_of_end
from hmetad.bayes.fit import fit
from hmetad.bayes.kept_cells import OUTCOME, posterior_bytes
from hmetad.compare.verdicts import interval_words, summarise
from hmetad.likelihood.registry import load_likelihood
from hmetad.simulate.people import (
    QUESTIONS,
    AskedQuestion,
    Population,
    judged_draws,
    population_of,
    simulate_people,
    truth_value,
)
from hmetad.simulate.plan import (
    MINUTES,
    ROUND,
    Estimates,
    Rope,
    Rule,
    median_and_error,
    plan_by_rounds,
    planned_sizes,
    share_and_error,
    shares_of_verdicts,
)
from hmetad.simulate.recovery import summaries
from hmetad.specs.loading import load_model

type Summary = Mapping[str, float]

# Options of the fits of people, and the least of each.
SHORT_RUNS = {"draws": (500, 4), "tune": (300, 1), "chains": (2, 2)}
# Times the draws of a fit that is repeated.
MORE_DRAWS = 3
# Of a study that is kept: some numbers, each an object of Python.
STUDY_BYTES = 1000


@dataclass(frozen=True)
class Study:
    """One study to simulate and fit.

    Parameters
    ----------
    question : str
        A key of `QUESTIONS`.
    population : Population
    subjects, trials, number, seed : int
        On which the data depend, and on nothing else but question and population.
    level : float
        Probability of the interval.
    sampling : mapping of str to object
        Options of `fit`.
    """

    question: AskedQuestion
    population: Population
    subjects: int
    trials: int
    number: int
    seed: int
    level: float
    sampling: Mapping[str, Any]


def pilot_or_none(argument: str, value: Any) -> None:
    """Refuse what is neither None, text nor a fit."""
    if value is not None and not isinstance(value, str):
        with_posterior(argument, value)


@check_inputs(
    executor=with_submit,
    gaps=arrays_of_numbers,
    minutes=positive,
    n=whole(2),
    pilot=pilot_or_none,
    seed=whole(0),
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
    pilot: xr.DataTree | str | None = None,
    rope: tuple[float, float] | None = None,
    ci_prob: float = 0.95,
    comparisons: int = 1,
    meta_criterion: Literal["relative", "absolute"] = "relative",
    n: int | None = None,
    minutes: float = MINUTES,
    executor: Any = None,
    progressbar: bool = True,
    seed: int | None = None,
    **sample_kwargs: Any,
) -> xr.Dataset:
    r"""What studies of several numbers of participants and trials would find.

    Studies are simulated, and each is fitted with the hierarchical model that would be fitted to
    the real one.

    Parameters
    ----------
    question : {"mean", "difference", "tasks", "correlation", "slope"}
        What is judged: the mean of log M in one population (card group); the difference in log M
        between two groups of participants (group_comparison), or between two tasks of the same
        participants (multitask); the correlation of log M between two tasks (multitask); the change
        of log M for one standard deviation of a covariate of the participants (regression). In
        `fit` these are ``groups``, ``conditions``, ``correlated`` and ``predictors``.
    subjects : sequence of int, shape (numbers,)
        Participants of a study; of two groups, half are in each. At least 2, of a correlation or
        slope 3, of two groups 4.
    trials : sequence of int, shape (sizes,)
        Trials of one participant in one task; at least 2.
    effect : float, optional
        True difference (first less second), correlation or slope; the question "mean" has none.
        Groups and tasks lie half of a difference above and below `m_ratio`.
    m_ratio, between_sd : float, optional
        Median of M in the population, and standard deviation of log M between participants (of
        those with the same covariate, where there is one); 0.8 and 0.3 by default.
    correlation : float, optional
        Of a person's log M in the two tasks, for the question "tasks"; 0.5 by default.
    dprime, dprime_sd : float, optional
        Mean and standard deviation of d′ between participants, 1.5 and 0.3 by default. No d′ below
        0 is drawn.
    c, c_sd : float, optional
        The same of the criterion, 0 and 0.2 by default.
    ratings : int, optional
        K; 4 by default.
    gaps : array, optional
        Median distances of the criteria, as in `simulate_counts`; 0.5 each by default.
    gap_sd : float, optional
        Standard deviation of log gaps between participants; 0.2 by default.
    pilot : DataTree or str, optional
        Fit of a pilot study with one of these cards. What is not given is taken from its posterior
        means, and the effect too where the question is the pilot's own. ``"published"``, or a
        domain such as ``"memory"``: medians of published populations (`hmetad.norms`).
    rope : tuple of float, optional
        Region of practical equivalence of what is judged. Without one only precision is planned.
    ci_prob, comparisons
        As in `decide`.
    meta_criterion : {"relative", "absolute"}
        κ = M·c or κ = c, of the true value and of the fit.
    n : int, optional
        Studies simulated of each size; at least 2. By default, rounds of 20 until the Monte Carlo
        error of each probability and of the coverage is at most .05, for which 100 suffice unless
        many fits are unreliable.
    minutes : float, optional
        Without `n`, no round begins that would probably end after this time; 10 by default.
    executor : distributed.Client, optional
        Fits the studies in parallel; or another object with ``submit`` that returns futures, such
        as a `concurrent.futures.ProcessPoolExecutor`. By default studies are fitted one after the
        other.
    progressbar : bool
        Show on a terminal how many studies are done.
    seed : int, optional
        The same seed gives the same plan with any executor, unless time ends it; by default a new
        one.
    **sample_kwargs
        draws, tune, chains and target_accept of `fit`; 2 chains of 500 draws, after 300 of tuning,
        by default.

    Returns
    -------
    Dataset
        Dims (subjects, trials). With a ROPE, by verdict too: ``probability`` of "different",
        "negligible", "inconclusive" and "unreliable". ``half_width``, the median of the intervals
        of what is judged; ``coverage``, how often they cover the true value; ``bias`` of the
        posterior mean; ``unreliable``, the proportion of fits that cannot be relied on, which the
        three before exclude. Each with its Monte Carlo error, ``*_se``; of proportions by Wilson's
        interval, so that it is above 0 also for proportions of 0 and 1. ``studies``: the number
        simulated. attrs: the arguments as they were used; ``judged``; ``truth_value``; with a ROPE
        ``truth``, the verdict that data without end would give.

    Raises
    ------
    InputError
        If an argument is out of range, there is no effect to plan for, the pilot is not a fit of a
        population, or a fit exceeds the memory.

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
    ...     "mean", subjects=[4], trials=[100], rope=(-0.1, 0.1), n=2, seed=1
    ... )
    >>> plan["probability"].dims, plan.attrs["judged"]
    (('subjects', 'trials', 'verdict'), 'mean of log M')
    """
    asked = QUESTIONS[question]
    people = sorted(set(planned_sizes("subjects", subjects, asked.fewest, asked.groups)))
    sizes = sorted(set(planned_sizes("trials", trials, 2)))
    guesses = {"effect": effect, "m_ratio": m_ratio, "between_sd": between_sd, "c": c, "c_sd": c_sd}
    guesses |= {"dprime": dprime, "dprime_sd": dprime_sd, "gap_sd": gap_sd}
    both = {"gaps": gaps, "correlation": correlation, **guesses}
    population = population_of(question, both, ratings, pilot, meta_criterion)
    sampling = sampling_of(sample_kwargs)
    seed = secrets.randbelow(2**31) if seed is None else int(seed)
    rule = Rule(rope, ci_prob, comparisons, n, ROUND, minutes, seed)
    shared = Study(question, population, 0, 0, 0, seed, rule.level, sampling)
    refuse_large(shared, max(people), rule.round * len(people) * len(sizes))
    true = truth_value(question, population)

    def simulated(some: Sequence[tuple[int, ...]], studies: range) -> list[list[Summary]]:
        tasks = [
            replace(shared, subjects=size, trials=length, number=i)
            for size, length in some
            for i in studies
        ]
        found = run_studies(tasks, executor, progressbar=progressbar)
        return [found[i : i + len(studies)] for i in range(0, len(found), len(studies))]

    def summary(rounds: list[list[Summary]]) -> Estimates:
        return summarise_studies([*chain.from_iterable(rounds)], true, rope)

    coords = {"subjects": people, "trials": sizes}
    said = {**sampling, "question": question, "judged": asked.judged, "truth_value": true}
    said |= asdict(population) | {"gaps": json.dumps(population.gaps)}
    plan = plan_by_rounds(coords, simulated, summary, rule, "plan_groups")
    return plan.assign_attrs(said | rule.attrs(true))


def sampling_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the fits; what the studies need themselves is refused.

    Examples
    --------
    >>> sampling_of({"draws": 1000})
    {'draws': 1000, 'tune': 300, 'chains': 2}
    """
    options: dict[str, Any] = {name: usual for name, (usual, _) in SHORT_RUNS.items()}
    known = [*options, "target_accept"]
    for name, value in given.items():
        if name not in known:
            raise UnknownError("sample_kwargs", repr(name), ", ".join(known), nearest(name, known))
        check = whole(SHORT_RUNS[name][1]) if name in SHORT_RUNS else probability
        check(name, value)
        options[name] = value
    return options


def refuse_large(shared: Study, people: int, number: int) -> None:
    """Raise an error if all studies of a round, or the fit of so many people, exceed the memory."""
    refuse_memory("n", f"{number} studies", STUDY_BYTES * number)
    tasks = QUESTIONS[shared.question].tasks
    shape = people * tasks, 2, 2, len(shared.population.gaps[0]) + 1
    counts = xr.DataArray(np.broadcast_to(0, shape), dims=OUTCOME)
    drawn, chains = shared.sampling["draws"] + shared.sampling["tune"], shared.sampling["chains"]
    # Draws are held as they were sampled and as they are labelled.
    held = 2 * posterior_bytes(counts, load_likelihood("meta-d"), drawn, chains)
    refuse_memory("subjects", f"{people}", held)


def run_studies(studies: Sequence[Study], executor: Any, *, progressbar: bool) -> list[Summary]:
    """Results of all studies, in their order."""
    # The largest first: at the end no worker waits long for another.
    order = sorted(range(len(studies)), key=lambda place: -studies[place].subjects)
    results: dict[int, Summary] = {}
    console = Console(stderr=True)
    hidden = not (progressbar and (console.is_interactive or console.is_jupyter))
    # An interrupt closes the generator, which cancels the studies that have not begun.
    with closing(in_order_of_end(run_study, [studies[i] for i in order], executor)) as ended:
        shown = track(ended, "Studies", len(studies), console=console, disable=hidden)
        for number, result in shown:
            results[order[number]] = result
    return [results[place] for place in range(len(studies))]


def run_study(study: Study) -> Summary:
    """Simulate one study, fit it, and summarise the draws of what is judged.

    An unreliable fit is repeated once with more draws.
    """
    question, population = study.question, study.population
    entropy = [study.seed, study.subjects, study.trials, study.number]
    of_data, of_fits = np.random.SeedSequence(entropy).spawn(2)
    rng = np.random.default_rng(of_data)
    counts = simulate_people(population, question, study.subjects, study.trials, rng)
    spec = load_model(QUESTIONS[question].card, meta_criterion=population.meta_criterion)
    options = {**study.sampling, "cores": 1, "progressbar": False, "quiet": True}
    summary: dict[str, float] = {}
    for seed, times in zip(of_fits.generate_state(2).tolist(), (1, MORE_DRAWS), strict=True):
        more = {name: times * options[name] for name in ("draws", "tune")}
        tree = fit(counts, spec, random_seed=seed, **{**options, **more})
        rows = judged_draws(question, tree)[None]
        table = summarise(rows, (-1.0, 1.0), null=0.0, level=study.level, is_hdi=False)
        summary = {name: float(table[name][0]) for name in ("mean", "lower", "upper", "rhat")}
        summary["ess"] = float(table["ess_tail"][0])
        summary["divergences"] = float(tree["sample_stats"]["diverging"].sum())
        if is_reliable(summary):
            break
    return summary


def is_reliable(summary: Summary) -> bool:
    """Whether the draws of what is judged keep the limits of `fit` and `decide`.

    Examples
    --------
    >>> is_reliable({"rhat": 1.02, "ess": 900.0, "divergences": 0.0})
    False
    """
    has_mixed = summary["rhat"] <= limit("rhat") and summary["ess"] >= limit("ess")
    return has_mixed and summary["divergences"] == 0


def summarise_studies(studies: Sequence[Summary], truth: float, rope: Rope) -> Estimates:
    """What studies of one size found, from the results of `run_study`."""
    is_good = np.array([is_reliable(study) for study in studies])
    rows = np.array([[study[name] for study in studies] for name in ("mean", "lower", "upper")])
    mean, lower, upper = rows[:, is_good]
    errors = summaries(np.where(is_good, rows[0] - truth, np.nan))
    covers = np.mean((lower <= truth) & (truth <= upper)) if len(mean) else np.nan
    result: Estimates = {
        "half_width": median_and_error((upper - lower) / 2),
        "coverage": share_and_error(covers, max(len(mean), 1)),
        "bias": (errors["bias"], errors["bias_se"]),
        "unreliable": share_and_error(np.mean(~is_good), len(studies)),
    }
    if rope is not None:
        words = np.full(len(studies), "unreliable", dtype="<U12")
        words[is_good] = interval_words(lower, upper, rope)
        result["probability"] = shares_of_verdicts(words)
    return result
