"""The log posterior of a problem as arrays: what is sampled, and how cells' parameters follow.

Formulas, priors and parametrisations as numbers, which one compiled function reads
(`hmetad.bayes.density`), so that nothing is compiled for a fit; `hmetad.bayes.program_writer` makes
them of a Problem. Vectors of a program:

- x: the free values, without limits; y: the same on the scale of PyMC's variables, but that
  standard deviations with a half-normal prior may have either sign (`unfold`);
- deviations: the effects of groups, from their offsets as `hmetad.bayes.parametrisation` says;
- values: y and deviations in one row. The parameters of the cells are linear in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LINK_EXP",
    "LINK_FOLDED",
    "LINK_IDENTITY",
    "LINK_LOGISTIC",
    "PRIOR_CODES",
    "Correlation",
    "FreeVariable",
    "Output",
    "Program",
    "Rows",
    "free_values",
    "unfold",
]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

LINK_IDENTITY, LINK_EXP, LINK_LOGISTIC, LINK_FOLDED = 0, 1, 2, 3
PRIOR_CODES = {
    "Normal": 0,
    "StudentT": 1,
    "HalfNormal": 2,
    "Exponential": 3,
    "Gamma": 4,
    "LogNormal": 5,
    "UniformTimesHalfNormal": 6,
    "Beta": 7,
}


class Rows(NamedTuple):
    """A sparse matrix by rows: entries of row i are first[i]:first[i + 1]."""

    first: Integers
    column: Integers
    weight: Floats


@dataclass(frozen=True)
class FreeVariable:
    """A variable that is sampled.

    Parameters
    ----------
    name : str
        In the posterior.
    first : int
        Place of its first element in x.
    dims : tuple of str
    shape : tuple of int
    link : int
        From x to the variable: identity, exponential or logistic function, or the absolute value.
    """

    name: str
    first: int
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    link: int

    @property
    def elements(self) -> Integers:
        """Places of its elements in x, of its shape."""
        return self.first + np.arange(np.prod(self.shape, dtype=int)).reshape(self.shape)


@dataclass(frozen=True)
class Output:
    """A variable of the posterior that is linear in values.

    Parameters
    ----------
    name : str
    first : int
        Its first row in the rows of all outputs.
    dims : tuple of str
    shape : tuple of int
    """

    name: str
    first: int
    dims: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Correlation:
    """A matrix of correlations between effects.

    Parameters
    ----------
    name : str
    first : int
        Place of its first partial correlation in y.
    dims : tuple of str
    size : int
    """

    name: str
    first: int
    dims: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Program:
    """The log posterior of a problem, as arrays.

    Parameters
    ----------
    free : tuple of FreeVariable
    links, owners : array of int, shape (free,)
        Of each free value, and the place of the cell that alone has it; -1 where several do.
    prior_places, prior_codes : array of int, shape (priors,)
        Which value has which prior of `PRIOR_CODES`, with `prior_parameters` (priors, 3).
    around_places : array of int, shape (around,)
        Places in y of values that are normal around others, with the standard deviation
        `around_sd` and the mean `around_mean` and what `around_rows` (around, values) adds.
    blocks : array of int, shape (blocks, 4)
        Blocks of effects: their first deviation and that after their last, the number of effects
        of a group that are correlated (1 where none are), and the place in y of the first partial
        correlation. Effects of a group follow each other.
    offset_places, sd_places : array of int, shape (deviations,)
        Places in y of their offsets and standard deviations.
    estimates, information : array, shape (deviations,)
        m and h of each; its μ is `mean_rows` (deviations, values), of y and deviations before it.
    offsets : array, shape (cells * columns,)
        Constant part of the cells' parameters; the rest is `rows` (cells * columns, values).
    density : str
        Module where the likelihood is compiled.
    counts : array, shape (cells, 2, 2, K)
    choices : array of int
        Codes of the choices of the likelihood.
    constant : float
        What the log posterior has beside.
    outputs : tuple of Output
        With `output_rows` (elements of all outputs, values).
    correlations : tuple of Correlation
    coords : mapping of str to list
        Labels of all dims.
    """

    free: tuple[FreeVariable, ...]
    links: Integers
    owners: Integers
    prior_places: Integers
    prior_codes: Integers
    prior_parameters: Floats
    around_places: Integers
    around_sd: Floats
    around_mean: Floats
    around_rows: Rows
    blocks: Integers
    offset_places: Integers
    sd_places: Integers
    estimates: Floats
    information: Floats
    mean_rows: Rows
    offsets: Floats
    rows: Rows
    density: str
    counts: Floats
    choices: Integers
    constant: float
    outputs: tuple[Output, ...]
    output_rows: Rows
    correlations: tuple[Correlation, ...]
    coords: Mapping[str, Sequence[object]]

    @property
    def size(self) -> int:
        """Number of free values."""
        return len(self.links)

    @property
    def names(self) -> list[str]:
        """Names of the variables of the posterior, but for the results of the likelihood."""
        variables: list[FreeVariable | Output | Correlation] = [
            *self.free,
            *self.outputs,
            *self.correlations,
        ]
        return [one.name for one in variables]


def free_values(program: Program, values: Mapping[str, Floats]) -> Floats:
    """Free values (free,) of the variables of a program, by name."""
    x = np.empty(program.size)
    for free in program.free:
        value = np.broadcast_to(values[free.name], free.shape).ravel()
        if free.link in (LINK_EXP, LINK_FOLDED):
            value = np.log(value)
        elif free.link == LINK_LOGISTIC:
            value = np.log(value) - np.log1p(-value)
        x[free.elements.ravel()] = value
    return x


def unfold(program: Program, x: Floats) -> Floats:
    """Free values at which standard deviations are positive, and the density is the same.

    With its sign, that of its offsets and of its partial correlations changes too. The logarithm of
    a standard deviation that may be 0 has an endless tail, in which chains are slow.

    Parameters
    ----------
    program : Program
    x : array, shape (..., free)

    Returns
    -------
    array, shape (..., free)
    """
    is_negative = (program.links == LINK_FOLDED) & (x < 0)
    signs = np.where(is_negative, -1.0, 1.0)
    factors = signs.copy()
    factors[..., program.offset_places] = signs[..., program.sd_places]
    for start, _, size, partial in program.blocks:
        own = signs[..., program.sd_places[start : start + size]]
        row, column = np.tril_indices(size, -1)
        factors[..., partial : partial + len(row)] = own[..., row] * own[..., column]
    return x * factors
