"""What a pilot study says of the population that the next study draws from.

Fit of a group of people and a question → guesses: posterior means of the population's values.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.errors import InputError

__all__ = ["guesses_from"]

type Floats = NDArray[np.float64]

OWN_DIMS = ("response", "criterion")
CARDS = "group, group_comparison, multitask or regression"


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
