"""Array modules under one set of names, so that a formula is written once.

Name of an array module → namespace with the functions that readable likelihoods use: those of the
array API standard by their names there, and `log_ndtr`, the logarithm of the normal distribution
function. NumPy's arrays and SciPy come with the package; JAX's and PyTensor's are imported by who
asks for them.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import log_ndtr

__all__ = ["NUMPY", "Array", "Arrays", "jax_arrays", "tensor_arrays"]

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


def jax_arrays() -> Arrays:
    """Namespace over ``jax.numpy``."""
    own = import_module("hmetad.likelihood.jax_tails")
    return Arrays(import_module("jax.numpy"), log_ndtr=own.log_ndtr)


def tensor_arrays() -> Arrays:
    """Namespace over ``pytensor.tensor``."""
    own = import_module("hmetad.likelihood.tensors")
    return Arrays(import_module("pytensor.tensor"), **{n: getattr(own, n) for n in own.__all__})
