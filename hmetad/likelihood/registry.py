"""All likelihoods by name: those of the package, and those that a user registers.

Name and choices → Likelihood.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from hmetad.errors import InputError, nearest
from hmetad.likelihood import families
from hmetad.likelihood.checks import refuse_improper_probabilities, refuse_unknown_names
from hmetad.likelihood.records import Likelihood
from hmetad.results import REGISTERED as RESULTS
from hmetad.results import Result

__all__ = ["likelihood_names", "load_likelihood", "register"]

REGISTERED: dict[str, Likelihood] = {}


def register(likelihood: Likelihood) -> Likelihood:
    """Make a likelihood known by its name, to cards, `fit` and everything after it.

    Parameters
    ----------
    likelihood : Likelihood
        One of the same name that was registered before is replaced; those of the package cannot be.

    Returns
    -------
    Likelihood
        The same; without the compiled code of a likelihood of the package whose probabilities it
        does not have.

    Raises
    ------
    InputError
        If it is no Likelihood, or has the name of one of the package's; if a field names what is
        no parameter or quantity; if, at a few values near the centres of its priors, a quantity or
        the probabilities are not of their shapes, or probabilities do not sum to 1 for each
        stimulus.

    Notes
    -----
    A process that reads a fit of this likelihood has to register it too: a saved fit holds its
    name.
    """
    if not isinstance(likelihood, Likelihood):
        raise InputError("likelihood", type(likelihood).__name__, "a Likelihood")
    if likelihood.name in own_likelihoods():
        allowed = f"a name other than those of the package, {', '.join(own_likelihoods())}"
        raise InputError("name", repr(likelihood.name), allowed)
    refuse_unknown_names(likelihood)
    refuse_improper_probabilities(likelihood)
    likelihood = without_other_code(likelihood)
    for one in likelihood.quantities:
        if one.symbol:
            result = Result("", one.name, one.description, "", one.unit, symbol=one.symbol)
            RESULTS[one.name] = result
    REGISTERED[likelihood.name] = likelihood
    return likelihood


def without_other_code(likelihood: Likelihood) -> Likelihood:
    """The record without modules of the package that compute other probabilities than it has."""
    own = own_likelihoods().values()
    # A kernel may be the user's own; densities are the package's.
    theirs = [one.log_probabilities for one in own if one.kernel == likelihood.kernel]
    if theirs and likelihood.log_probabilities not in theirs:
        likelihood = replace(likelihood, kernel="")
    of_density = (one for one in own if one.density == likelihood.density)
    if not any(is_same_model(likelihood, one) for one in of_density):
        likelihood = replace(likelihood, density="")
    return likelihood


def is_same_model(first: Likelihood, second: Likelihood) -> bool:
    """Whether probabilities follow from parameters in the same way."""
    return (
        first.log_probabilities is second.log_probabilities
        and first.arguments == second.arguments
        and first.quantities == second.quantities
        and [p.name for p in first.parameters] == [p.name for p in second.parameters]
    )


def load_likelihood(name: str, **choices: str) -> Likelihood:
    """Likelihood of a name, with some choices made otherwise than by default.

    Parameters
    ----------
    name : str
        ``"meta-d"``, ``"response-conditional"``, ``"unequal-variance"``, ``"signal-detection"``, or
        that of one that was registered.
    **choices : str
        By name of the choice: ``meta_criterion="absolute"``.

    Returns
    -------
    Likelihood

    Raises
    ------
    InputError
        If there is no such likelihood, or it has no such choice.

    Examples
    --------
    >>> [p.name for p in load_likelihood("meta-d", scale="m").parameters]
    ['dprime', 'c', 'm', 'log_gap']
    """
    record = REGISTERED.get(name) or own_likelihoods().get(name)
    if record is None:
        names = likelihood_names()
        step = "Register one of your own first: hmetad.likelihood.register."
        step = f"{nearest(str(name), names)} {step}".strip()
        raise InputError("likelihood", repr(name), " or ".join(map(repr, names)), step)
    legal = {choice.name: choice.values for choice in record.choices}
    for key, value in choices.items():
        if key not in legal:
            allowed = ", ".join(legal) or f"none: likelihood {name!r} has no choices"
            raise InputError("choices", repr(key), allowed, nearest(key, legal))
        if legal[key] and value not in legal[key]:
            raise InputError(key, repr(value), " or ".join(map(repr, legal[key])))
    if record.choose is None:
        return record
    return record.choose(**{**record.chosen, **choices})


def likelihood_names() -> list[str]:
    """Names of all likelihoods of counts, the package's first."""
    own = [name for name, record in own_likelihoods().items() if record.outcome == "counts"]
    return [*own, *REGISTERED]


@cache
def own_likelihoods() -> dict[str, Likelihood]:
    """Likelihoods of the package: those of the files in `families`."""
    modules = [f"{families.__name__}.{module.name}" for module in iter_modules(families.__path__)]
    found = [own for module in sorted(modules) for own in import_module(module).LIKELIHOODS]
    return {own.name: own for own in found}
