"""All families by name, those of the package and those that a user registers; checks of a new one.

Name and choices → Family. A family of the package is a file in `families`, found there. One that is
registered is tried at a few values of its parameters, near the centres of their priors, before
anything is sampled.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
from numpy.typing import NDArray

from hmetad.base.errors import (
    ChoiceError,
    KindError,
    NumberError,
    ShapeError,
    UnknownError,
    nearest,
)
from hmetad.base.results import REGISTERED as RESULTS
from hmetad.base.results import Result
from hmetad.likelihood import families
from hmetad.likelihood.family import Array, Family, OutcomeLayout
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import LOG_GAP

type Floats = NDArray[np.float64]

REGISTERED: dict[str, Family] = {}
# Cells alone, and draws of cells; no size is also that of another dim.
LEADING = ((5,), (7, 5))
RATINGS = 4
SUM_ERROR = 1e-6
# Quantities that can be set to their values from the counts, and values that a new likelihood is
# tried at.
FROM_COUNTS = {"dprime": (0.5, 1.5), "c": (0.5, 1.5), "options": (2.0, 5.0)}
FROM_COUNTS |= {"item_shift": (-0.5, 0.5)}


def register(likelihood: Family) -> Family:
    """Make a family known by its name, to cards, `fit` and everything after it.

    Parameters
    ----------
    likelihood : Family
        One of the same name that was registered before is replaced; those of the package cannot be.

    Returns
    -------
    Family
        The same; without the compiled code of a family of the package whose probabilities it
        does not have.

    Raises
    ------
    InputError
        If it is not a Family, or has the name of one of the package's; if, at a few values near
        the centres of its priors, the probabilities do not have the shape of the layout, or do not
        sum to 1 for each stimulus.

    Notes
    -----
    A process that reads a fit of this likelihood has to register it too: a saved fit holds its
    name.
    """
    if not isinstance(likelihood, Family):
        raise KindError("likelihood", type(likelihood).__name__, "a Family")
    if likelihood.name in own_families():
        allowed = f"a name other than those of the package, {', '.join(own_families())}"
        raise ChoiceError("name", repr(likelihood.name), allowed)
    for leading in LEADING:
        check_probabilities(likelihood, leading)
    likelihood = without_other_code(likelihood)
    for one in likelihood.quantities:
        if one.symbol:
            result = Result("", one.name, one.description, "", one.unit, symbol=one.symbol)
            RESULTS[one.name] = result
    REGISTERED[likelihood.name] = likelihood
    return likelihood


def load_likelihood(name: str, **choices: str) -> Family:
    """Family of a name, with some choices made otherwise than by default.

    Parameters
    ----------
    name : str
        ``"meta-d"``, ``"response-conditional"``, ``"unequal-variance"``, ``"signal-detection"``,
        ``"signal-detection-items"``, ``"alternatives"``, ``"biased-alternatives"``, or the name of
        one that was registered.
    **choices : str
        By name of the choice: ``meta_criterion="absolute"``.

    Returns
    -------
    Family

    Raises
    ------
    InputError
        If there is no such likelihood, or it has no such choice.

    Examples
    --------
    >>> [p.name for p in load_likelihood("meta-d", scale="m").parameters]
    ['dprime', 'c', 'm', 'log_gap']
    """
    record = REGISTERED.get(name) or own_families().get(name)
    if record is None:
        names = likelihood_names()
        step = "Register one of your own first: hmetad.likelihood.register."
        step = f"{nearest(str(name), names)} {step}".strip()
        raise ChoiceError("likelihood", repr(name), " or ".join(map(repr, names)), step)
    legal = {choice.name: choice.values for choice in record.choices}
    for key, value in choices.items():
        if key not in legal:
            allowed = ", ".join(legal) or f"none: likelihood {name!r} has no choices"
            raise UnknownError("choices", repr(key), allowed, nearest(key, legal))
        if legal[key] and value not in legal[key]:
            raise ChoiceError(key, repr(value), " or ".join(map(repr, legal[key])))
    if record.choose is None:
        return record
    return record.choose(**{**record.chosen, **choices})


def likelihood_names() -> list[str]:
    """Names of all families of counts, the package's first."""
    own = [name for name, family in own_families().items() if family.has_ratings]
    return [*own, *REGISTERED]


@cache
def own_families() -> dict[str, Family]:
    """Families of the package: those of the files in `families`."""
    modules = [f"{families.__name__}.{module.name}" for module in iter_modules(families.__path__)]
    found = [own for module in sorted(modules) for own in import_module(module).FAMILIES]
    return {own.name: own for own in found}


def without_other_code(family: Family) -> Family:
    """The record without modules of the package that compute other probabilities than it has."""
    own = own_families().values()
    # A kernel module may be the user's own; compiled kernels are the package's.
    theirs = [one.log_probabilities for one in own if one.kernel_module == family.kernel_module]
    if theirs and family.log_probabilities not in theirs:
        family = replace(family, kernel_module="")
    has_kernel = any(
        family.compiled_kernel == one.compiled_kernel
        and family.log_probabilities is one.log_probabilities
        and family.arguments == one.arguments
        and family.quantities == one.quantities
        and [p.name for p in family.parameters] == [p.name for p in one.parameters]
        for one in own
    )
    return family if has_kernel else replace(family, compiled_kernel="")


def check_probabilities(family: Family, leading: tuple[int, ...]) -> None:
    """Raise where probabilities have another shape than their layout, or do not sum to 1."""
    with np.errstate(all="ignore"):
        log_p = family.outcomes(values_near_centres(family, leading))
    layout = family.layout
    expected = (*leading, *layout.shape(RATINGS))
    if np.shape(log_p) != expected:
        got = f"shape {np.shape(log_p)} where leading dims are {leading} and K is {RATINGS}"
        *others, last = layout.dims
        step = f"The last dims are {', '.join(others)} and {last}."
        raise ShapeError("log_probabilities", got, f"shape {expected}", step)
    wrong = sums_other_than_one(layout, log_p)
    if wrong.size:
        allowed = f"a sum of 1 over {' and '.join(f'{name}s' for name in layout.answers)}"
        allowed += "".join(f", for each {name}" for name in layout.given)
        raise NumberError("log_probabilities", f"probabilities that sum to {wrong[0]:g}", allowed)


def sums_other_than_one(layout: OutcomeLayout, log_p: Array) -> Floats:
    """Sums of the probabilities of all answers that are not 1, or no number."""
    with np.errstate(all="ignore"):
        total = np.exp(np.asarray(log_p)).sum(tuple(range(-len(layout.answers), 0)))
    wrong: Floats = total[~(np.abs(total - 1) < SUM_ERROR)]
    return wrong


def choice_parameters(family: Family) -> set[str]:
    """Parameters on which choices depend, whatever the ratings: d′ and c of two alternatives.

    Examples
    --------
    >>> sorted(choice_parameters(load_likelihood("meta-d")))
    ['c', 'dprime']
    """
    values, rating = values_near_centres(family, LEADING[0]), [*family.layout.dims].index("rating")

    def choices(moved: str = "") -> Floats:
        """Probabilities of choices, where one parameter is moved."""
        known = {name: value + 0.1 * (name == moved) for name, value in values.items()}
        return np.exp(family.outcomes(known)).sum(axis=rating - len(family.layout.dims))

    still = choices()
    return {p.name for p in family.parameters if not np.allclose(choices(p.variable), still)}


def values_near_centres(family: Family, leading: tuple[int, ...]) -> dict[str, Floats]:
    """Values of all parameters, the same at each call."""
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(*FROM_COUNTS[name], leading) for name in family.from_counts}
    for parameter in family.parameters:
        steps = rng.uniform(-1, 1, (*leading, *family.shape(parameter.name, RATINGS)))
        value = near_centre(LOG_GAP.prior if parameter.truncated_at else parameter.prior, steps)
        if parameter.prior_centre:
            centre = np.asarray(family.derived(values)[parameter.prior_centre])
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
