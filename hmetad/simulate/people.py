"""People of a study whose truth is known: populations, and counts drawn from them.

Question and what was guessed, a pilot fit and the defaults → `Population`; with the size of a study
→ count table of all its people; fit of that → draws of what is judged.
Source: the population of Fleming (2017), log M normal between people.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.stats import truncnorm

from hmetad.base.checks import whole
from hmetad.base.errors import ModelError, NumberError, ShapeError, SourceError
from hmetad.base.variable_roles import Role
from hmetad.bayes.fitted import Fitted
from hmetad.likelihood.family import TWO_ALTERNATIVES
from hmetad.norms import populations
from hmetad.simulate.simulate import simulate_counts, with_dims

type Floats = NDArray[np.float64]

AskedQuestion = Literal["mean", "difference", "tasks", "correlation", "slope"]

RATINGS, GAP = 4, 0.5
# Correlation of a participant's log M in two tasks, where it is not the question.
CORRELATION = 0.5
ABOVE_ZERO = ("m_ratio", "dprime")
SPREADS = ("between_sd", "dprime_sd", "c_sd", "gap_sd")
# Parameters of a pilot's model, the guesses that their means and standard deviations are, and how
# a guess follows from a mean.
PILOTED = {
    "log_m": ("m_ratio", "between_sd", np.exp),
    "dprime": ("dprime", "dprime_sd", np.positive),
    "c": ("c", "c_sd", np.positive),
    "log_gap": ("gaps", "gap_sd", np.exp),
}
# Guesses, and the quantities of published populations that they are medians of.
PUBLISHED = {name: name for name in ("m_ratio", "dprime", "dprime_sd", "c_sd")}
PUBLISHED |= {"between_sd": "log_m_sd"}


@dataclass(frozen=True)
class Question:
    """A question about people.

    Parameters
    ----------
    card : str
        Model that is fitted.
    judged : str
        What is judged, in words.
    term : str
        Term of the formula of log M whose coefficient is judged, of two levels the first less the
        second; empty for the correlation of its effects.
    groups, tasks : int
        Groups of people, and tasks of each person.
    fewest : int
        People without whom there is no answer.
    has_effect : bool
        Whether the truth is an effect; else it is log M itself.
    """

    card: str
    judged: str
    term: str = ""
    groups: int = 1
    tasks: int = 1
    fewest: int = 2
    has_effect: bool = True


QUESTIONS: dict[AskedQuestion, Question] = {
    "mean": Question("group", "mean of log M", "Intercept", has_effect=False),
    "difference": Question(
        "group_comparison", "difference in log M between two groups", "group", groups=2, fewest=4
    ),
    "tasks": Question("multitask", "difference in log M between two tasks", "task", tasks=2),
    "correlation": Question(
        "multitask", "correlation of log M between two tasks", tasks=2, fewest=3
    ),
    "slope": Question(
        "regression", "slope of log M, for each SD of the covariate", "scale(covariate)", fewest=3
    ),
}


@dataclass(frozen=True)
class Population:
    """What is taken for true of the people of a study.

    Parameters
    ----------
    effect : float
        What is judged; 0 where that is log M itself.
    m_ratio, between_sd : float
        Median of M, and standard deviation of log M between people.
    dprime, dprime_sd, c, c_sd : float
        Means and standard deviations between people.
    gaps : tuple of tuple of float
        Distances of the criteria, as in `simulate_counts`.
    gap_sd : float
        Standard deviation of their logarithms between people.
    correlation : float
        Of a person's log M in two tasks.
    meta_criterion : {"relative", "absolute"}
    """

    effect: float = 0.0
    m_ratio: float = 0.8
    between_sd: float = 0.3
    dprime: float = 1.5
    dprime_sd: float = 0.3
    c: float = 0.0
    c_sd: float = 0.2
    gaps: tuple[tuple[float, ...], ...] = ((GAP,) * (RATINGS - 1),) * 2
    gap_sd: float = 0.2
    correlation: float = 0.0
    meta_criterion: str = "relative"


def population_of(
    question: AskedQuestion,
    guesses: Mapping[str, Any],
    ratings: int | None = None,
    pilot: xr.DataTree | str | None = None,
    meta_criterion: str = "relative",
) -> Population:
    """What is taken for true: what was given and is not None, else the pilot, else the defaults.

    Examples
    --------
    >>> truth = population_of("slope", {"effect": 0.2, "dprime": 2.0})
    >>> truth.dprime, truth.m_ratio, len(truth.gaps[0])
    (2.0, 0.8, 3)
    """
    asked = QUESTIONS[question]
    given = {name: value for name, value in guesses.items() if value is not None}
    if "effect" in given and not asked.has_effect:
        step = "The truth is log M: give m_ratio."
        raise NumberError("effect", f"{given['effect']:g} of a mean", "none", step)
    if "correlation" in given and question != "tasks":
        step = "Give effect, the true correlation." if question == "correlation" else ""
        got = f"{given['correlation']:g} for the question {question!r}"
        raise SourceError("correlation", got, "none but for the question 'tasks'", step)
    values = {**({} if pilot is None else guesses_from(pilot, question)), **given}
    if asked.has_effect and "effect" not in values:
        lacks = "none" if pilot is None else "none, and the pilot has another question"
        ways = ("effect=0.2", "--effect 0.2")
        steps = (f"Give the true {asked.judged}, as in {way}." for way in ways)
        raise NumberError("effect", lacks, "a number", *steps)
    gaps = gaps_of(values.pop("gaps", GAP), ratings)
    numbers = {name: float(value) for name, value in values.items()}
    if question == "tasks":
        numbers.setdefault("correlation", CORRELATION)
    else:
        numbers.pop("correlation", None)
    population = Population(**numbers, gaps=gaps, meta_criterion=meta_criterion)
    refuse_impossible(question, population)
    return population


def refuse_impossible(question: AskedQuestion, population: Population) -> None:
    """Refuse values out of their ranges."""
    numbers = {name: x for name, x in asdict(population).items() if isinstance(x, float)}
    correlations = ("correlation", "effect") if question == "correlation" else ("correlation",)
    for name, value in numbers.items():
        ranges = {
            "a finite number": bool(np.isfinite(value)),
            "a number above 0": name not in ABOVE_ZERO or value > 0,
            "a number of at least 0": name not in SPREADS or value >= 0,
            "a correlation from -1 to 1": name not in correlations or -1 <= value <= 1,
        }
        for allowed, holds in ranges.items():
            if not holds:
                raise NumberError(name, f"{value:g}", allowed)
    if question == "correlation" and numbers["between_sd"] == 0:
        step = "People who are all alike have no correlation."
        raise NumberError("between_sd", "0", "a number above 0", step)


def gaps_of(given: ArrayLike, ratings: int | None) -> tuple[tuple[float, ...], ...]:
    """Gaps of both responses, (2, K - 1); one number is that of all."""
    levels = RATINGS if ratings is None else ratings
    whole(2)("ratings", levels)
    gaps = with_dims("gaps", given, ("response", "criterion"), TWO_ALTERNATIVES.sizes(levels))
    if gaps.ndim != 2:
        raise ShapeError("gaps", f"shape {gaps.shape}", "one number, or shape (2, K - 1)")
    if ratings is not None and gaps.shape[1] != levels - 1:
        got = f"{levels} beside gaps of {gaps.shape[1] + 1}"
        raise NumberError("ratings", got, "the same number", "Leave one of them out.")
    return tuple(map(tuple, gaps.tolist()))


def guesses_from(pilot: xr.DataTree | str, question: AskedQuestion) -> dict[str, Any]:
    """Guesses by the names of `plan_groups`, from the posterior means of a fit of a population.

    Of a text: medians of published populations, of all ("published") or of a domain.

    Means are over groups or tasks, standard deviations root mean squares over tasks. An effect is
    among them only where the pilot's model has it.
    """
    if isinstance(pilot, str):
        found = populations(domain=None if pilot == "published" else pilot)
        medians = {guess: float(found[name].median()) for guess, name in PUBLISHED.items()}
        return {guess: median for guess, median in medians.items() if np.isfinite(median)}
    fitted = Fitted.of(pilot)
    known = fitted.identities.items()
    guesses: dict[str, Any] = {}
    for parameter, (centre, spread, guess_of) in PILOTED.items():
        design = fitted.designs.get(parameter)
        levels = [] if design is None else [t.name for t in design.common if t.is_level]
        sds = [name for name, one in known if (one.role, one.parameter) == ("sd", parameter)]
        if not levels or len(sds) != 1:
            sd = f"{'one' if sds else 'a'} standard deviation of {parameter} between people"
            lacks = sd if levels else f"a mean of {parameter}"
            allowed = "a fit of the card group, group_comparison, multitask or regression"
            raise ModelError("pilot", f"a fit without {lacks}", allowed)
        mean = fitted.drawn("coefficient", parameter, levels[0]).mean(["chain", "draw"])
        own = ("response", "criterion")
        value = mean.mean([dim for dim in mean.dims if dim not in own]).to_numpy()
        guesses[centre] = guess_of(value)
        spreads = fitted.posterior[sds[0]].mean(["chain", "draw"])
        guesses[spread] = float(np.sqrt((spreads**2).mean()))
    return guesses | effects_from(fitted, question)


def effects_from(fitted: Fitted, question: AskedQuestion) -> dict[str, float]:
    """Effect that a pilot's model of log M has, and the correlation of two tasks."""
    design = fitted.designs["log_m"]
    pairs = [t for t in design.common if t.is_level and t.columns.shape[1] == 2]
    slopes = [t for t in design.common if t.labels is None and t.name.startswith("scale(")]
    blocks = [one for one in design.blocks if one.is_correlated and one.columns.shape[1] == 2]
    found: dict[str, float] = {}

    def means(role: Role, term: str, factor: str = "") -> Floats:
        return fitted.drawn(role, "log_m", term, factor).mean(["chain", "draw"]).to_numpy()

    if len(blocks) == 1 and question in ("tasks", "correlation"):
        matrix = means("correlation", blocks[0].written, blocks[0].factor)
        found["correlation"] = float(matrix[0, 1])
    if question == "correlation" and found:
        return {"effect": found["correlation"]}
    if len(pairs) == 1 and question == ("tasks" if blocks else "difference"):
        first, second = means("coefficient", pairs[0].name)
        found["effect"] = float(first - second)
    if len(slopes) == 1 and question == "slope":
        found["effect"] = float(means("coefficient", slopes[0].name))
    return found


def truth_value(question: AskedQuestion, population: Population) -> float:
    """True value of what is judged."""
    has_effect = QUESTIONS[question].has_effect
    return population.effect if has_effect else float(np.log(population.m_ratio))


def judged_draws(question: AskedQuestion, fit: xr.DataTree) -> Floats:
    """Draws (chain, draw) of what is judged, of a fit of the card of the question."""
    term, fitted = QUESTIONS[question].term, Fitted.of(fit)
    if not term:
        (block,) = fitted.designs["log_m"].blocks
        matrix = fitted.drawn("correlation", "log_m", block.written, block.factor)
        return matrix.transpose("chain", "draw", ...).to_numpy()[..., 0, 1]
    effect = fitted.drawn("coefficient", "log_m", term)
    draws = effect.transpose("chain", "draw", ...).to_numpy()
    return draws if draws.ndim == 2 else draws[..., 0] - draws[..., 1]


def simulate_people(
    population: Population,
    question: AskedQuestion,
    subjects: int,
    trials: int,
    rng: np.random.Generator,
) -> xr.DataArray:
    """Count table of one study.

    Parameters
    ----------
    population : Population
    question : str
        A key of `QUESTIONS`.
    subjects : int
        People; of two groups, half are in each.
    trials : int
        Of one person in one task.
    rng : Generator

    Returns
    -------
    DataArray
        Cells by subject, and by group ("a", "b") or task ("a", "b") where the question has them;
        with a covariate of mean 0 and standard deviation 1 for the question "slope".

    Examples
    --------
    >>> truth = Population(effect=0.2)
    >>> rng = np.random.default_rng(1)
    >>> counts = simulate_people(truth, "difference", 20, 100, rng)
    >>> counts.shape, counts["group"].values[[0, -1]].tolist()
    ((20, 2, 2, 4), ['a', 'b'])
    """
    asked = QUESTIONS[question]
    shape, covariate = (subjects, asked.tasks), None
    if question == "slope":
        scores = rng.standard_normal(subjects)
        covariate = (scores - scores.mean()) / scores.std()
    log_m = people_log_m(population, question, shape, covariate, rng)
    lowest = -population.dprime / population.dprime_sd if population.dprime_sd else 0.0
    # People without any sensitivity have no M, and a study leaves them out.
    scores = truncnorm.rvs(lowest, np.inf, size=shape, random_state=rng)
    dprime = population.dprime + population.dprime_sd * scores
    c = population.c + population.c_sd * rng.standard_normal(shape)
    gaps = np.array(population.gaps)
    gaps = gaps * np.exp(population.gap_sd * rng.standard_normal((*shape, *gaps.shape)))
    names = np.repeat([f"{i + 1}" for i in range(subjects)], asked.tasks).tolist()
    in_groups = {"group": np.repeat(["a", "b"], subjects // 2).tolist()} if asked.groups > 1 else {}
    in_tasks = {"task": ["a", "b"] * subjects} if asked.tasks > 1 else {}
    return simulate_counts(
        dprime.ravel(),
        c.ravel(),
        np.exp(log_m).ravel(),
        trials=trials,
        gaps=gaps.reshape(-1, *gaps.shape[2:]),
        meta_criterion=population.meta_criterion,
        coords={**in_groups, "subject": names, **in_tasks},
        covariates={} if covariate is None else {"covariate": covariate.tolist()},
        seed=rng,
    )


def people_log_m(
    population: Population,
    question: AskedQuestion,
    shape: tuple[int, int],
    covariate: Floats | None,
    rng: np.random.Generator,
) -> Floats:
    """True log M, (people, tasks): the means with the effect, and normal values around them."""
    scores = rng.standard_normal(shape)
    if shape[1] > 1:
        r = population.effect if question == "correlation" else population.correlation
        scores[:, 1] = r * scores[:, 0] + np.sqrt(1 - r**2) * scores[:, 1]
    log_m = np.log(population.m_ratio) + population.between_sd * scores
    half = population.effect / 2
    if question == "difference":
        log_m += np.repeat([half, -half], shape[0] // 2)[:, None]
    elif question == "tasks":
        log_m += [half, -half]
    elif covariate is not None:
        log_m += population.effect * covariate[:, None]
    return log_m
