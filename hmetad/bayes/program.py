"""The log posterior of a problem as arrays: what is sampled, and how cells' parameters follow.

Formulas, priors and parametrisations as numbers, which one compiled function reads
(`hmetad.bayes.density`), so that nothing is compiled for a fit; `hmetad.bayes.program_writer` makes
them of a Problem. Vectors of a program:

- x: the free values, without limits; y: the same on the scale of PyMC's variables;
- products: a standard normal offset times its standard deviation;
- coefficients: an average less Σ weight · product;
- values: y, products and coefficients in one row. The parameters of the cells and the means of
  centred effects are linear in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LINK_EXP",
    "LINK_IDENTITY",
    "LINK_LOGISTIC",
    "PRIOR_CODES",
    "Correlation",
    "FreeVariable",
    "Output",
    "Program",
    "Rows",
]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

LINK_IDENTITY, LINK_EXP, LINK_LOGISTIC = 0, 1, 2
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
        From x to the variable: identity, exponential or logistic function.
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
    links : array of int, shape (free,)
    products : array of int, shape (products, 2)
        Places in y of offset and standard deviation; -1 where a correlated block fills it.
    averages : array of int, shape (coefficients,)
        Places in y.
    average_weights : Rows, (coefficients, values)
    prior_places, prior_codes : array of int, shape (priors,)
        Which value has which prior of `PRIOR_CODES`, with `prior_parameters` (priors, 3).
    centred : array of int, shape (centred, 2)
        Places in y of effects and of their standard deviations, -1 where that is `centred_sd`.
    centred_mean : array, shape (centred,)
        The constant part of their means; the rest is `centred_rows` (centred, values).
    blocks : array of int, shape (blocks, 7)
        Correlated blocks: effects, groups; places of effects or offsets, standard deviations and
        partial correlations in y; place of the first product, or of the first row of
        `block_rows` where the block is centred (last column 1).
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
    columns : mapping of str to array of int
        Columns of each parameter among the parameters of a cell.
    coords : mapping of str to list
        Labels of all dims.
    """

    free: tuple[FreeVariable, ...]
    links: Integers
    products: Integers
    averages: Integers
    average_weights: Rows
    prior_places: Integers
    prior_codes: Integers
    prior_parameters: Floats
    centred: Integers
    centred_sd: Floats
    centred_mean: Floats
    centred_rows: Rows
    blocks: Integers
    block_rows: Rows
    offsets: Floats
    rows: Rows
    density: str
    counts: Floats
    choices: Integers
    constant: float
    outputs: tuple[Output, ...]
    output_rows: Rows
    correlations: tuple[Correlation, ...]
    columns: Mapping[str, Integers]
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
