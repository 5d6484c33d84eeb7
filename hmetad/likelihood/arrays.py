"""Array modules under one set of names, so that a formula is written once.

Name of an array module → namespace with the functions that readable likelihoods use: those of the
array API standard by their names there, and `log_ndtr`, the logarithm of the normal distribution
function. Those of PyTensor and JAX are in `hmetad.likelihood.tensors` and
`hmetad.likelihood.jax_op`.
"""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from hmetad.errors import InputError

__all__ = ["NUMPY", "Array", "Arrays", "over_cells"]

# Arrays of NumPy, JAX or PyTensor alike: readable likelihoods use only what all have.
type Array = Any


class Arrays:
    """Namespace of array functions: those given, else those of an array module.

    Parameters
    ----------
    module : module
        ``numpy``, ``jax.numpy`` or ``pytensor.tensor``.
    **functions
        What the module lacks, or has under another name.
    """

    def __init__(self, module: ModuleType, **functions: Any) -> None:
        self.module, self.functions = module, functions

    def __getattr__(self, name: str) -> Any:
        """Function of this name."""
        functions, module = (self.__dict__.get(x) for x in ("functions", "module"))
        return functions[name] if functions and name in functions else getattr(module, name)


NUMPY = Arrays(np, log_ndtr=log_ndtr, concat=np.concatenate)


def over_cells(
    kernel: str,
    of_cell: Sequence[Array],
    of_criteria: Array,
    xp: Arrays = NUMPY,
) -> Array:
    """Compiled log-probabilities of cells, for NumPy arrays with any leading dims.

    Parameters
    ----------
    kernel : str
        Module with a compiled ``log_probabilities``: arrays (cells,), and one of shape (cells, 2,
        K - 1) → array, shape (cells, 2, 2, K).
    of_cell : sequence of array, shape (...)
    of_criteria : array, shape (..., 2, K - 1)
    xp : Arrays
        Of NumPy; others have no compiled function.

    Returns
    -------
    array, shape (..., 2, 2, K)

    Raises
    ------
    InputError
        If arrays are not NumPy's.
    """
    if xp.module is not np:
        allowed = (
            "nutpie or pymc: this model's probabilities are compiled, and JAX has none of them"
        )
        raise InputError("nuts_sampler", f"arrays of {xp.module.__name__}", allowed)
    inner = np.asarray(of_criteria, dtype=float)
    leading = np.broadcast_shapes(*map(np.shape, of_cell), inner.shape[:-2])
    flat = [np.broadcast_to(np.asarray(x, dtype=float), leading).ravel() for x in of_cell]
    own = np.broadcast_to(inner, (*leading, *inner.shape[-2:])).reshape(-1, *inner.shape[-2:])
    found = import_module(kernel).log_probabilities(*flat, np.ascontiguousarray(own))
    return found.reshape(*leading, 2, 2, found.shape[-1])
