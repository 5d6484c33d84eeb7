"""Studies of people whose truth is known: questions, populations, and counts drawn from them.

Question and what was guessed, a pilot fit and the defaults → `Population`; with the size of a study
→ count table of all its people.
Source: the population of Fleming (2017), log M normal between people.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.stats import truncnorm

from hmetad.counts.checks import whole_number
from hmetad.errors import InputError
from hmetad.simulate.simulate import simulate_counts, with_dims

__all__ = ["QUESTIONS", "Population", "population_of", "simulate_people", "truth_value"]

type Floats = NDArray[np.float64]

DEFAULTS = {
    "m_ratio": 0.8,
    "between_sd": 0.3,
    "correlation": 0.5,
    "dprime": 1.5,
    "dprime_sd": 0.3,
    "c": 0.0,
    "c_sd": 0.2,
    "gaps": 0.5,
    "gap_sd": 0.2,
}
RATINGS = 4
ABOVE_ZERO = ("m_ratio", "dprime")
SPREADS = ("between_sd", "dprime_sd", "c_sd", "gap_sd")
OWN_DIMS = ("response", "criterion")
CARDS = "group, group_comparison, multitask or regression"


@dataclass(frozen=True)
class Question:
    """A question about people, as one model card answers it.

    Parameters
    ----------
    card : str
        Model that is fitted.
    judged : str
        What is judged, in words.
    draws : callable
        Posterior → its draws, dims (chain, draw).
    groups, tasks : int
        Groups of people, and tasks of each person.
    fewest : int
        People without whom there is no answer.
    has_effect : bool
        Whether the truth is an effect; else it is log M itself.
    """

    card: str
    judged: str
    draws: Callable[[xr.Dataset], xr.DataArray]
    groups: int = 1
    tasks: int = 1
    fewest: int = 2
    has_effect: bool = True


def first_less_second(posterior: xr.Dataset, name: str) -> xr.DataArray:
    """Difference of the two levels of a coefficient."""
    values = posterior[name].transpose("chain", "draw", ...)
    return values[..., 0] - values[..., 1]


QUESTIONS: Mapping[str, Question] = {
    "mean": Question(
        "group", "mean of log M", lambda posterior: posterior["log_m_Intercept"], has_effect=False
    ),
    "difference": Question(
        "group_comparison",
        "difference in log M between two groups",
        lambda posterior: first_less_second(posterior, "log_m_group"),
        groups=2,
        fewest=4,
    ),
    "tasks": Question(
        "multitask",
        "difference in log M between two tasks",
        lambda posterior: first_less_second(posterior, "log_m_task"),
        tasks=2,
    ),
    "correlation": Question(
        "multitask",
        "correlation of log M between two tasks",
        lambda posterior: posterior["log_m_task|subject_corr"].transpose("chain", "draw", ...)[
            ..., 0, 1
        ],
        tasks=2,
        fewest=3,
    ),
    "slope": Question(
        "regression",
        "slope of log M, for each SD of the covariate",
        lambda posterior: posterior["log_m_scale(covariate)"],
        fewest=3,
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

    effect: float
    m_ratio: float
    between_sd: float
    dprime: float
    dprime_sd: float
    c: float
    c_sd: float
    gaps: tuple[tuple[float, ...], ...]
    gap_sd: float
    correlation: float
    meta_criterion: str = "relative"


def population_of(
    question: str,
    guesses: Mapping[str, Any],
    ratings: int | None = None,
    pilot: xr.DataTree | None = None,
    meta_criterion: str = "relative",
) -> Population:
    """What is taken for true, from what was given, else the pilot, else the defaults.

    Parameters
    ----------
    question : str
        A key of `QUESTIONS`.
    guesses : mapping of str to float or array
        None where nothing was given.
    ratings : int, optional
        K, where neither gaps nor the pilot say it.
    pilot : DataTree, optional
    meta_criterion : {"relative", "absolute"}

    Raises
    ------
    InputError
        If a value is out of its range, or has no meaning for the question; if there is no effect.

    Examples
    --------
    >>> truth = population_of("slope", {"effect": 0.2, "dprime": 2.0})
    >>> truth.dprime, truth.m_ratio, len(truth.gaps[0])
    (2.0, 0.8, 3)
    """
    given = {name: value for name, value in guesses.items() if value is not None}
    refuse_meaningless(question, given)
    piloted = {} if pilot is None else guesses_from(pilot, question)
    values = {**DEFAULTS, **piloted, **given}
    if QUESTIONS[question].has_effect and "effect" not in values:
        lacks = "none" if pilot is None else "none, and the pilot has another question"
        step = f"Give the true {QUESTIONS[question].judged}, as in effect=0.2."
        raise InputError("effect", lacks, "a number", step)
    numbers = {name: float(value) for name, value in values.items() if name != "gaps"}
    numbers = {"effect": 0.0, **numbers}
    if question != "tasks":
        numbers["correlation"] = 0.0
    refuse_impossible(question, numbers)
    gaps = gaps_of(values["gaps"], ratings)
    return Population(**numbers, gaps=gaps, meta_criterion=meta_criterion)


def truth_value(question: str, population: Population) -> float:
    """True value of what is judged."""
    if QUESTIONS[question].has_effect:
        return population.effect
    return float(np.log(population.m_ratio))


def gaps_of(given: ArrayLike, ratings: int | None) -> tuple[tuple[float, ...], ...]:
    """Gaps of both responses, (2, K - 1); one number is that of all."""
    levels = RATINGS if ratings is None else whole_number("ratings", ratings, 2)
    gaps = with_dims("gaps", given, ("response", "criterion"), levels)
    if gaps.ndim != 2:
        raise InputError("gaps", f"shape {gaps.shape}", "one number, or shape (2, K - 1)")
    if ratings is not None and gaps.shape[1] != levels - 1:
        got = f"{levels} beside gaps of {gaps.shape[1] + 1}"
        raise InputError("ratings", got, "the same number", "Leave one of them out.")
    return tuple(map(tuple, gaps.tolist()))


def refuse_meaningless(question: str, given: Mapping[str, Any]) -> None:
    """Refuse an effect and a correlation where the question has none."""
    if "effect" in given and not QUESTIONS[question].has_effect:
        step = "The truth is log M: give m_ratio."
        raise InputError("effect", f"{given['effect']:g} of a mean", "none", step)
    if "correlation" in given and question != "tasks":
        step = "Give effect, the true correlation." if question == "correlation" else ""
        got = f"{given['correlation']:g} for the question {question!r}"
        raise InputError("correlation", got, "none but for the question 'tasks'", step)


def refuse_impossible(question: str, numbers: Mapping[str, float]) -> None:
    """Refuse values out of their ranges."""
    for name, value in numbers.items():
        if not np.isfinite(value):
            raise InputError(name, f"{value:g}", "a finite number")
        if name in ABOVE_ZERO and not value > 0:
            raise InputError(name, f"{value:g}", "a number above 0")
        if name in SPREADS and value < 0:
            raise InputError(name, f"{value:g}", "a number of at least 0")
    for name in ("correlation", *(["effect"] if question == "correlation" else [])):
        if not -1 <= numbers[name] <= 1:
            raise InputError(name, f"{numbers[name]:g}", "a correlation from -1 to 1")
    if question == "correlation" and numbers["between_sd"] == 0:
        step = "People who are all alike have no correlation."
        raise InputError("between_sd", "0", "a number above 0", step)


def guesses_from(pilot: xr.DataTree, question: str) -> dict[str, Any]:
    """Guesses about a population, by the names that `plan_groups` has for them.

    Parameters
    ----------
    pilot : DataTree
        Fit of one of the cards group, group_comparison, multitask and regression, or of one with
        formulas like theirs.
    question : str
        An effect is among the guesses only where the pilot's model has it.

    Returns
    -------
    dict of str to float or array
        Means over groups or tasks; standard deviations are root mean squares over tasks.

    Raises
    ------
    InputError
        If the pilot is no fit of a population.

    Examples
    --------
    >>> draws = xr.Dataset({"log_m_Intercept": (("chain", "draw"), np.zeros((2, 3)))})
    >>> guesses_from(xr.DataTree.from_dict({"posterior": draws}), "mean")
    Traceback (most recent call last):
    hmetad.errors.InputError: pilot: got a fit without a standard deviation of log_m between \
people, allowed is a fit of the card group, group_comparison, multitask or regression.
    """
    posterior = pilot["posterior"].to_dataset()
    means = posterior.mean(["chain", "draw"])
    guesses: dict[str, Any] = {
        "m_ratio": float(np.exp(population_mean(means, "log_m"))),
        "between_sd": between_sd(means, "log_m"),
        "dprime": float(population_mean(means, "dprime")),
        "dprime_sd": between_sd(means, "dprime"),
        "c": float(population_mean(means, "c")),
        "c_sd": between_sd(means, "c"),
        "gaps": np.exp(population_mean(means, "log_gap")),
        "gap_sd": between_sd(means, "log_gap"),
    }
    correlation = element(means, "log_m_", "_corr", (0, 1))
    found = {
        "difference": pair_difference(means) if correlation is None else None,
        "tasks": pair_difference(means) if correlation is not None else None,
        "correlation": correlation,
        "slope": element(means, "log_m_scale(", ")", ()),
    }
    guesses |= {"effect": found.get(question)}
    guesses |= {"correlation": correlation} if question == "tasks" else {}
    return {name: value for name, value in guesses.items() if value is not None}


def population_mean(means: xr.Dataset, parameter: str) -> Floats:
    """Mean of a parameter in the population, over groups or tasks; criteria keep their dims."""
    names = [f"{parameter}_Intercept", *level_means(means, parameter)]
    found = [name for name in names if name in means]
    if not found:
        raise no_population(f"a mean of {parameter}")
    values = means[found[0]]
    return values.mean([dim for dim in values.dims if dim not in OWN_DIMS]).to_numpy()


def level_means(means: xr.Dataset, parameter: str) -> list[str]:
    """Coefficients of a parameter that are means of the levels of a factor."""
    names = [str(name) for name in means if str(name).startswith(f"{parameter}_")]
    factors = [name for name in names if not {"|", "(", ":"} & set(name)]
    return [name for name in factors if f"{name.removeprefix(f'{parameter}_')}_dim" in means.dims]


def between_sd(means: xr.Dataset, parameter: str) -> float:
    """Standard deviation of a parameter between people, the root mean square of several."""
    names = [str(name) for name in means if str(name).startswith(f"{parameter}_")]
    found = [name for name in names if "|" in name and name.endswith("_sigma")]
    if len(found) != 1:
        number = "a" if not found else "one"
        raise no_population(f"{number} standard deviation of {parameter} between people")
    return float(np.sqrt((means[found[0]] ** 2).mean()))


def pair_difference(means: xr.Dataset) -> float | None:
    """First less second level of the one factor of log M that has two; else None."""
    found = [means[name] for name in level_means(means, "log_m")]
    pairs = [values.to_numpy() for values in found if values.shape == (2,)]
    return float(pairs[0][0] - pairs[0][1]) if len(pairs) == 1 else None


def element(means: xr.Dataset, start: str, end: str, place: tuple[int, ...]) -> float | None:
    """A place of the one variable with such a name, None where there is none or it is larger."""
    names = [name for name in map(str, means) if name.startswith(start) and name.endswith(end)]
    found = [means[name].to_numpy() for name in names]
    fits = len(found) == 1 and found[0].shape == (2,) * len(place)
    return float(found[0][place]) if fits else None


def no_population(lacks: str) -> InputError:
    """The error of a pilot whose model has not what a plan is made from."""
    return InputError("pilot", f"a fit without {lacks}", f"a fit of the card {CARDS}")


def simulate_people(
    population: Population, question: str, subjects: int, trials: int, rng: np.random.Generator
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
    >>> truth = Population(0.2, 0.8, 0.3, 1.5, 0.3, 0.0, 0.2, ((0.5,) * 3,) * 2, 0.2, 0.0)
    >>> rng = np.random.default_rng(1)
    >>> counts = simulate_people(truth, "difference", 20, 100, rng)
    >>> counts.shape, counts["group"].values[[0, -1]].tolist()
    ((20, 2, 2, 4), ['a', 'b'])
    """
    asked = QUESTIONS[question]
    shape = (subjects, asked.tasks)
    covariate = standardised(rng.standard_normal(shape[0])) if question == "slope" else None
    log_m = people_log_m(population, question, shape, covariate, rng)
    lowest = -population.dprime / population.dprime_sd if population.dprime_sd else 0.0
    # People without any sensitivity have no M, and a study leaves them out.
    scores = truncnorm.rvs(lowest, np.inf, size=shape, random_state=rng)
    dprime = population.dprime + population.dprime_sd * scores
    c = population.c + population.c_sd * rng.standard_normal(shape)
    gaps = np.array(population.gaps)
    gaps = gaps * np.exp(population.gap_sd * rng.standard_normal((*shape, *gaps.shape)))
    coords, covariates = labels(question, shape, covariate)
    return simulate_counts(
        dprime.ravel(),
        c.ravel(),
        np.exp(log_m).ravel(),
        trials=trials,
        gaps=gaps.reshape(-1, *gaps.shape[2:]),
        meta_criterion=population.meta_criterion,
        coords=coords,
        covariates=covariates,
        seed=rng,
    )


def people_log_m(
    population: Population,
    question: str,
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


def standardised(values: Floats) -> Floats:
    """Values with mean 0 and standard deviation 1, as scale() of a formula makes them."""
    return (values - values.mean()) / values.std()


def labels(
    question: str, shape: tuple[int, int], covariate: Floats | None
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Coordinates of the cells that make their labels, and those that do not."""
    people, tasks = shape
    names = np.repeat([f"{i + 1}" for i in range(people)], tasks).tolist()
    if question == "difference":
        return {"group": np.repeat(["a", "b"], people // 2).tolist(), "subject": names}, {}
    if tasks > 1:
        return {"subject": names, "task": ["a", "b"] * people}, {}
    return {"subject": names}, {} if covariate is None else {"covariate": covariate.tolist()}
