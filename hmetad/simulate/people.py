"""Studies of people whose truth is known: each person's values, and counts drawn from them.

Guesses about a population and a design → count table of all people of one study.
Source: the population of Fleming (2017), log M normal between people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import truncnorm

from hmetad.simulate.questions import QUESTIONS
from hmetad.simulate.simulate import simulate_counts

__all__ = ["Population", "simulate_people"]

type Floats = NDArray[np.float64]


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
