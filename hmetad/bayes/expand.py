"""The posterior of a program, from draws of its free values.

Program and draws without limits → Dataset with the variables that the PyMC model has, but for the
offsets: coefficients, effects, standard deviations, correlations, and for every cell what the
likelihood says of it.
"""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.bayes.density import expand
from hmetad.bayes.kept_cells import cell_results
from hmetad.bayes.packing import pack
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import Program, Rows, unfold
from hmetad.threads import in_threads

__all__ = ["posterior_of"]

type Floats = NDArray[np.float64]


def posterior_of(
    problem: Problem, program: Program, draws: Floats, *, keep_cells: bool = True
) -> xr.Dataset:
    """Variables of the posterior.

    Parameters
    ----------
    problem : Problem
    program : Program
        Of that problem.
    draws : array, shape (chains, draws, free)
        Free values; the deviations that were made of them may follow, for draws that were kept
        on disk: the estimates that offsets are relative to could be others by now.
    keep_cells : bool, optional
        Whether what the likelihood says of every cell is among them.

    Returns
    -------
    Dataset
        Dims chain, draw and those of each variable.
    """
    chains = in_threads(lambda chain: chain_of(problem, program, chain, keep_cells), list(draws))
    found = xr.concat(chains, "chain", combine_attrs="drop", data_vars="all", coords="minimal")
    return found.assign_coords(chain=np.arange(len(chains)))


def chain_of(problem: Problem, program: Program, draws: Floats, keep_cells: bool) -> xr.Dataset:
    """Variables of the posterior of one chain."""
    values = expand(unfold(program, draws[:, : program.size]), pack(program))
    values[:, values.shape[1] - draws.shape[1] + program.size :] = draws[:, program.size :]
    found = {
        name: (("chain", "draw", *dims), own[None])
        for name, (dims, own) in variables(program, values)
        if name not in problem.offset_names
    }
    sampled = xr.Dataset(found, {"draw": np.arange(len(draws))})
    whole = sampled
    if keep_cells:
        whole = whole.assign(cell_results(sampled, problem.spec, problem.designs, problem.given))
    coords = {dim: np.asarray(own) for dim, own in program.coords.items() if dim in whole.dims}
    return whole.assign_coords(coords)


def variables(
    program: Program, values: Floats
) -> Iterator[tuple[str, tuple[tuple[str, ...], Floats]]]:
    """Dims and draws of what is sampled, of effects and of correlations; values (draws, values)."""
    draws, width = len(values), len(values[0])
    for free in program.free:
        own = values[:, free.first : free.first + free.elements.size]
        yield free.name, (free.dims, own.reshape(draws, *free.shape))
    outputs = multiply(program.output_rows, values, width)
    for output in program.outputs:
        size = int(np.prod(output.shape, dtype=int))
        own = outputs[:, output.first : output.first + size]
        yield output.name, (output.dims, own.reshape(draws, *output.shape))
    for one in program.correlations:
        pairs = one.size * (one.size - 1) // 2
        yield one.name, (one.dims, correlations(values[:, one.first : one.first + pairs], one.size))


def multiply(rows: Rows, values: Floats, width: int) -> Floats:
    """Rows times values, (draws, rows), from values (draws, width)."""
    shape = (len(rows.first) - 1, width)
    matrix = csr_array((rows.weight, rows.column, rows.first), shape=shape)
    return np.asarray(matrix @ values.T, dtype=float).T


def correlations(partial: Floats, size: int) -> Floats:
    """Matrices of correlations, (draws, size, size), from partial ones as in a program."""
    factors = cholesky_factors(partial, size)
    return factors @ factors.transpose(0, 2, 1)


def cholesky_factors(partial: Floats, size: int) -> Floats:
    """Cholesky factors of correlations, (draws, size, size), from (partial correlation + 1)/2."""
    lower = np.zeros((len(partial), size, size))
    row, column = np.tril_indices(size, -1)
    lower[:, row, column] = 2 * partial - 1
    left = np.sqrt(np.cumprod(1 - lower**2, axis=2))
    left = np.concatenate([np.ones((len(partial), size, 1)), left[:, :, :-1]], axis=2)
    return (lower + np.eye(size)) * left
