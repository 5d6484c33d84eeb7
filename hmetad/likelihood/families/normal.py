"""Estimates with known errors around true values: the normal model of meta-analysis.

Name of a quantity and of the scale on which it is normal → Family. Its outcomes are estimates
and their precision, and no counts of ratings. Source: Rubin (1981b); Gelman et al. (2013), 5.4.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.special import expit, logit

from hmetad.base.errors import ChoiceError, ModelError
from hmetad.likelihood.family import Choice, Family, OutcomeLayout, Parameter, Quantity
from hmetad.likelihood.priors import Prior


class Link(NamedTuple):
    """A scale for estimates: to it, the slope, back from it, and the range of the estimates."""

    function: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    least: float
    most: float


LINKS: Mapping[str, Link] = {
    "identity": Link(lambda x: x, np.ones_like, lambda x: x, -np.inf, np.inf),
    "log": Link(np.log, lambda x: 1 / x, np.exp, 0, np.inf),
    "logit": Link(logit, lambda x: 1 / (x * (1 - x)), expit, 0, 1),
    "fisher_z": Link(np.arctanh, lambda x: 1 / (1 - x * x), np.tanh, -1, 1),
}


def parameter_name(quantity: str, link: str) -> str:
    """Name of a quantity on the scale of its link.

    Examples
    --------
    >>> parameter_name("auroc2", "logit"), parameter_name("auroc2", "identity")
    ('logit_auroc2', 'auroc2')
    """
    return quantity if link == "identity" else f"{link}_{quantity}"


def without_ratings(*_: object, **_named: object) -> NoReturn:
    """Estimates have no ratings."""
    step = "bayes.fit_estimates fits it."
    raise ModelError("likelihood", "'normal', of estimates", "a likelihood of counts", step)


def normal(quantity: str, link: str) -> Family:
    """The record of a quantity; the priors of a fit have the scale of its estimates."""
    if not quantity.isidentifier():
        raise ChoiceError("quantity", repr(quantity)[:80], "a name")
    name = parameter_name(quantity, link)
    own = Parameter(name, "true value of an estimate", Prior("Normal", mu=0, sigma=5), link=link)
    true = [Quantity(name, parameter=name)]
    if link != "identity":
        back = Quantity(
            quantity,
            needs=(name,),
            compute=lambda values, _: LINKS[link].inverse(values[name]),
            parameter=name,
            convergence_of=(name,),
        )
        true.append(back)
    return Family(
        name="normal",
        title="Estimates with known errors.",
        parameters=(own,),
        quantities=tuple(true),
        arguments=(name,),
        log_probabilities=without_ratings,
        parameter_of_interest=name,
        symbol=quantity,
        plotted=quantity,
        compared=quantity,
        tabulated=(quantity,),
        method="true values are normal around what the formula says, and estimates normal around "
        "true values, with errors that are known (Rubin, 1981; Gelman et al., 2013).",
        choices=(Choice("quantity", "Quantity", ()), Choice("link", "Scale", (*LINKS,))),
        chosen={"quantity": quantity, "link": link},
        choose=normal,
        compiled_kernel="normal",
        layout=OutcomeLayout({"estimate": ()}, given=()),
    )


FAMILIES = (normal("estimate", "identity"),)
