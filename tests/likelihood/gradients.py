"""Value and derivatives of the compiled likelihoods, under the names of their arguments."""

from collections import namedtuple
from importlib import import_module

import numpy as np

ARGUMENTS = {
    "meta_d": "d c m kappa gaps s",
    "linear_gaussian": "d c a b w sigma theta",
    "lognormal": "d c q t",
}
KERNELS = {name: import_module(f"hmetad.likelihood.kernels.{name}") for name in ARGUMENTS}


def side_by_side(kernel, *given, **by_name):
    """Arguments of a kernel as columns of cells, and their shapes."""
    rest = ARGUMENTS[kernel].split()[len(given) :]
    values = [np.asarray(x, float) for x in (*given, *(by_name[name] for name in rest))]
    rows = np.hstack([x.reshape(len(x), -1) for x in values])
    return rows, [x.shape for x in values]


def log_probabilities(kernel, *given, **by_name):
    """Log-probabilities of outcomes, by arguments under their names."""
    at, shapes = side_by_side(kernel, *given, **by_name)
    return KERNELS[kernel].log_probabilities(at, shapes[-1][-1] + 1)


def named(kernel):
    """Function of a kernel whose results are named as its arguments are."""
    results = namedtuple(kernel, ["value", *ARGUMENTS[kernel].split()])

    def value_and_gradient(counts, *given, **by_name):
        at, shapes = side_by_side(kernel, *given, **by_name)
        value, slopes = KERNELS[kernel].log_likelihood(counts, at, True)
        ends = np.cumsum([np.prod(shape[1:], dtype=int) for shape in shapes])[:-1]
        parts = np.split(slopes, ends, axis=1)
        return results(value, *(x.reshape(own) for x, own in zip(parts, shapes, strict=True)))

    return value_and_gradient


meta_d, linear_gaussian, lognormal = map(named, ARGUMENTS)
GRADIENTS = {"meta_d": meta_d, "linear_gaussian": linear_gaussian, "lognormal": lognormal}
