"""Value and derivatives of the compiled likelihoods, under the names of their arguments."""

from collections import namedtuple
from importlib import import_module

ARGUMENTS = {
    "meta_d": "d c m kappa gaps s",
    "linear_gaussian": "d c a b w sigma theta",
    "lognormal": "d c q t",
}
KERNELS = {name: import_module(f"hmetad.likelihood.kernels.{name}") for name in ARGUMENTS}


def named(kernel):
    """Function of a kernel whose results are named as its arguments are."""
    arguments = ARGUMENTS[kernel].split()
    results = namedtuple(kernel, ["value", *arguments])

    def value_and_gradient(counts, *given, **by_name):
        rest = arguments[len(given) :]
        values = (*given, *(by_name[name] for name in rest))
        return results(*KERNELS[kernel].evaluate(counts, *values))

    return value_and_gradient


meta_d, linear_gaussian, lognormal = map(named, ARGUMENTS)
GRADIENTS = {"meta_d": meta_d, "linear_gaussian": linear_gaussian, "lognormal": lognormal}
