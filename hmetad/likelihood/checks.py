"""What keeps a likelihood from being used, found before anything is sampled.

Likelihood → nothing, or the reason. Names in its fields are looked up, and its probabilities are
evaluated at a few values of its parameters, near the centres of their priors.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmetad.errors import InputError, nearest
from hmetad.likelihood.arrays import NUMPY, Array
from hmetad.likelihood.criteria import LOG_GAP
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.records import Likelihood, dim_sizes

__all__ = ["refuse_improper_probabilities", "refuse_unknown_names", "sums_other_than_one"]

type Floats = NDArray[np.float64]

# Cells alone, and draws of cells; no size is also that of another dim.
LEADING = ((5,), (7, 5))
RATINGS = 4
SUM_ERROR = 1e-6
# Quantities that can be set to their values from the counts.
FROM_COUNTS = {"dprime", "c"}


def refuse_unknown_names(likelihood: Likelihood) -> None:
    """Raise where a field names no parameter, or no quantity that follows from parameters."""
    refuse_names("from_counts", likelihood.from_counts, FROM_COUNTS)
    known = {*likelihood.from_counts}
    for parameter in likelihood.parameters:
        before = likelihood.following(known)
        refuse_names(f"prior_centre of {parameter.name}", [parameter.prior_centre], before)
        refuse_names(f"truncated_at of {parameter.name}", [parameter.truncated_at], before)
        known.add(parameter.variable)
    known = likelihood.following(known)
    parameters = {p.name for p in likelihood.parameters}
    in_fits = known & {*likelihood.results, *likelihood.from_counts} | parameters
    refuse_names("arguments", likelihood.arguments, known)
    refuse_names("parameter_of_interest", [likelihood.parameter_of_interest], parameters)
    refuse_names("plotted", [likelihood.plotted], in_fits)
    refuse_names("compared", [likelihood.compared], in_fits)
    refuse_names("tabulated", likelihood.tabulated, in_fits)
    for quantity in likelihood.quantities:
        own = parameters | {*likelihood.from_counts}
        refuse_names(f"parameter of {quantity.name}", [quantity.parameter], own)
        refuse_names(f"convergence_of of {quantity.name}", quantity.convergence_of, in_fits)


def refuse_names(field: str, names: Iterable[str], legal: set[str]) -> None:
    """Raise where a name is not among the legal ones; an empty one stands for none."""
    for name in filter(None, names):
        if name not in legal:
            raise InputError(field, repr(name), ", ".join(sorted(legal)), nearest(name, legal))


def refuse_improper_probabilities(likelihood: Likelihood) -> None:
    """Raise where quantities or probabilities are not of their shapes, or these do not sum to 1."""
    for leading in LEADING:
        known = values_near_centres(likelihood, leading)
        values = outcome_of("quantities", leading, likelihood.derived, known)
        refuse_wrong_quantities(likelihood, values, leading)
        arguments = [values[name] for name in likelihood.arguments]
        log_p = outcome_of(
            "log_probabilities", leading, likelihood.log_probabilities, *arguments, xp=NUMPY
        )
        expected = (*leading, 2, 2, RATINGS)
        if np.shape(log_p) != expected:
            got = f"shape {np.shape(log_p)} where leading dims are {leading} and K is {RATINGS}"
            step = "The last dims are stimulus, response and rating."
            raise InputError("log_probabilities", got, f"shape {expected}", step)
        wrong = sums_other_than_one(log_p)
        if wrong.size:
            got = f"probabilities that sum to {wrong[0]:g}"
            allowed = "a sum of 1 over responses and ratings, for each stimulus"
            raise InputError("log_probabilities", got, allowed)


def refuse_wrong_quantities(
    likelihood: Likelihood, values: dict[str, Array], leading: tuple[int, ...]
) -> None:
    """Raise where a quantity that fits have is of another shape than it says, or not finite."""
    sizes = dim_sizes(RATINGS)
    for name, quantity in likelihood.results.items():
        expected = (*leading, *(sizes[dim] for dim in quantity.dims))
        if name in values and np.shape(values[name]) != expected:
            got = f"shape {np.shape(values[name])} where leading dims are {leading}"
            raise InputError(f"quantity {name}", got, f"shape {expected}, by its dims")
        if name in values and quantity.always_finite and not np.isfinite(values[name]).all():
            allowed = "finite numbers, unless always_finite is False"
            raise InputError(f"quantity {name}", "a value that is not finite", allowed)


def outcome_of(
    field: str, leading: tuple[int, ...], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """What a function of a likelihood returns, or its error with what it was called with."""
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise InputError(field, got, f"functions of arrays with leading dims {leading}") from error


def values_near_centres(likelihood: Likelihood, leading: tuple[int, ...]) -> dict[str, Floats]:
    """Values of all parameters, the same at each call."""
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(0.5, 1.5, leading) for name in likelihood.from_counts}
    for parameter in likelihood.parameters:
        steps = rng.uniform(-1, 1, (*leading, *parameter.shape(RATINGS)))
        value = near_centre(LOG_GAP.prior if parameter.truncated_at else parameter.prior, steps)
        if parameter.prior_centre:
            centre = np.asarray(likelihood.derived(values)[parameter.prior_centre])
            value = value + centre.reshape(*centre.shape, *[1] * (value.ndim - centre.ndim))
        values[parameter.variable] = value
    return values


def near_centre(prior: Prior, steps: Floats) -> Floats:
    """Values that lie some steps, of -1 to 1 scales, from the centre of a prior."""
    own = prior.parameters
    if "mu" in own:
        value = own["mu"] + own["sigma"] * steps
        return np.exp(value) if prior.is_positive else value
    rate = own.get("lam", own.get("beta", 1.0))
    return own.get("sigma", own.get("alpha", 1.0) / rate) * np.exp(steps)


def sums_other_than_one(log_p: Array) -> Floats:
    """Sums of the probabilities of a stimulus that are not 1, or no number."""
    with np.errstate(all="ignore"):
        total = np.exp(np.asarray(log_p)).sum((-2, -1))
    wrong: Floats = total[~(np.abs(total - 1) < SUM_ERROR)]
    return wrong
