"""Guesses about a population, completed and checked.

What was guessed, a pilot fit and the defaults → `Population`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hmetad.counts.checks import whole_number
from hmetad.errors import InputError
from hmetad.simulate.people import Population
from hmetad.simulate.pilot import guesses_from
from hmetad.simulate.questions import QUESTIONS
from hmetad.simulate.values import with_dims

__all__ = ["population_of", "truth_value"]

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
