"""Prior distributions by name: what a model card, a default or a user says of a variable.

Name and parameters → Prior. `hmetad.bayes.distributions` makes PyMC's variables of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hmetad.base.checks import is_number
from hmetad.base.errors import CardError, nearest
from hmetad.base.frozen import FrozenMapping

# Distributions of positive numbers.
POSITIVE = ("HalfNormal", "Exponential", "Gamma", "LogNormal", "UniformTimesHalfNormal")
# Parameters of each distribution, as PyMC has them.
DISTRIBUTIONS = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("nu", "mu", "sigma"),
    "HalfNormal": ("sigma",),
    "Exponential": ("lam",),
    "Gamma": ("alpha", "beta"),
    "LogNormal": ("mu", "sigma"),
    "UniformTimesHalfNormal": ("sigma",),
    "LKJ": ("eta",),
}


@dataclass(frozen=True, init=False)
class Prior:
    """A prior distribution, by its name in PyMC and its parameters.

    Parameters
    ----------
    dist : str
        Normal, StudentT, HalfNormal, Exponential, Gamma or LogNormal, as PyMC has them; LKJ for
        correlations; UniformTimesHalfNormal, HMeta-d's prior of a group SD: the product of a
        uniform variable on (0, 1) and a half-normal one.
    **parameters : float
        All parameters of that distribution, as PyMC names them.

    Raises
    ------
    InputError
        If the distribution or a parameter is unknown, or one is missing.

    Examples
    --------
    >>> Prior("Normal", mu=0, sigma=0.5)
    Prior('Normal', mu=0.0, sigma=0.5)
    """

    dist: str
    parameters: Mapping[str, float]

    def __init__(self, /, dist: str, **parameters: float) -> None:
        if not isinstance(dist, str) or dist not in DISTRIBUTIONS:
            allowed = ", ".join(sorted(DISTRIBUTIONS))
            raise CardError("dist", repr(dist), allowed, nearest(str(dist), DISTRIBUTIONS))
        if set(parameters) != set(DISTRIBUTIONS[dist]):
            came = ", ".join(sorted(parameters)) or "none"
            raise CardError(f"parameters of {dist}", came, ", ".join(DISTRIBUTIONS[dist]))
        for name, value in parameters.items():
            is_finite = is_number(value) and math.isfinite(value)
            if not is_finite or (name != "mu" and value <= 0):
                allowed = "a finite number" if name == "mu" else "a number above 0"
                raise CardError(f"{name} of {dist}", repr(value), allowed)
        object.__setattr__(self, "dist", dist)
        given = FrozenMapping({name: float(value) for name, value in parameters.items()})
        object.__setattr__(self, "parameters", given)

    @property
    def is_positive(self) -> bool:
        """Whether it is a distribution of positive numbers."""
        return self.dist in POSITIVE

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"Prior({self.dist!r}, {inside})"
