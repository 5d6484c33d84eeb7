"""The posterior of a program, from draws of its free values.

Program and draws without limits → Dataset with all variables that the PyMC model has: what is
sampled, coefficients, effects, correlations, and for every cell what the likelihood says of it.
"""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.bayes.density import expand
from hmetad.bayes.packing import pack
from hmetad.bayes.problem import Problem
from hmetad.bayes.program import Program, Rows, unfold
from hmetad.threads import in_threads

__all__ = ["posterior_of"]

type Floats = NDArray[np.float64]


def posterior_of(problem: Problem, program: Program, draws: Floats) -> xr.Dataset:
    """Variables of the posterior.

    Parameters
    ----------
    problem : Problem
    program : Program
        Of that problem.
    draws : array, shape (chains, draws, free)
        Free values.

    Returns
    -------
    Dataset
        Dims chain, draw and those of each variable.
    """
    chains = in_threads(
        lambda chain: dict(variables(problem, program, unfold(program, chain))), list(draws)
    )
    found = {
        name: (("chain", "draw", *dims), np.stack([chain[name][1] for chain in chains]))
        for name, (dims, _) in chains[0].items()
    }
    used = {dim for dims, _ in found.values() for dim in dims}
    coords = {dim: np.asarray(labels) for dim, labels in program.coords.items() if dim in used}
    sizes = {"chain": np.arange(len(draws)), "draw": np.arange(draws.shape[1])}
    return xr.Dataset(found, sizes | coords)


def variables(
    problem: Problem, program: Program, x: Floats
) -> Iterator[tuple[str, tuple[tuple[str, ...], Floats]]]:
    """Dims and values of every variable, from free values (draws, free)."""
    values = expand(x, pack(program))
    draws, width = len(x), len(values[0])
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
    yield from cell_variables(problem, program, values)


def cell_variables(
    problem: Problem, program: Program, values: Floats
) -> Iterator[tuple[str, tuple[tuple[str, ...], Floats]]]:
    """Parameters with a formula, quantities from the counts, and what follows from parameters."""
    likelihood, spec = problem.likelihood, problem.spec
    cells = len(program.counts)
    parameters = program.offsets + multiply(program.rows, values, values.shape[1])
    parameters = parameters.reshape(len(values), cells, -1)
    known = {name: parameters[..., program.columns[name]] for name in problem.given}
    known |= {
        p.variable: parameters[..., program.columns[p.variable]] for p in likelihood.parameters
    }
    for name in problem.given:
        yield name, (("cell",), known[name])
    for p in likelihood.parameters:
        if p.name in problem.designs and p.in_posterior:
            yield spec.named(p.name), (("cell", *p.dims), known[p.variable])
    for name, value in likelihood.derived(known).items():
        if name not in known and name in likelihood.results:
            yield name, (("cell", *likelihood.dims(name)), value)


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
