"""The likelihood of counts as a PyTensor expression, so that PyMC can sample from it.

Symbolic arguments of a likelihood and counts → symbolic log-likelihood per cell, with its gradient.
A compiled kernel returns partial derivatives beside the value, and the pullback only multiplies
them; where there is none, PyTensor differentiates the readable probabilities.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key
from pytensor.tensor.variable import TensorVariable

from hmetad.likelihood import ratings
from hmetad.likelihood.arrays import tensor_arrays
from hmetad.likelihood.records import Likelihood

__all__ = ["KernelOp", "log_likelihood"]


def log_likelihood(
    likelihood: Likelihood, counts: TensorVariable, *arguments: TensorVariable
) -> TensorVariable:
    """ℓ of each cell as a tensor of shape (cells,), differentiable by all but the counts.

    Parameters
    ----------
    likelihood : Likelihood
    counts : tensor, shape (cells, 2, 2, K)
    *arguments : tensor
        The likelihood's arguments, in its order, each of shape (cells, *its dims).

    Returns
    -------
    tensor, shape (cells,)
    """
    if likelihood.kernel:
        ndims = tuple(1 + len(likelihood.dims(name)) for name in likelihood.arguments)
        return KernelOp(likelihood.name, likelihood.kernel, ndims)(counts, *arguments)[0]
    xp = tensor_arrays()
    log_p = likelihood.log_probabilities(*arguments, xp=xp)
    return ratings.log_likelihood(counts, log_p, xp)


class KernelOp(Op):
    """Value and partial derivatives of a likelihood by its compiled kernel.

    Parameters
    ----------
    likelihood : str
        Its name.
    kernel : str
        Name of the kernel's module.
    ndims : tuple of int
        Numbers of dims of the arguments.
    """

    __props__ = ("likelihood", "kernel", "ndims")

    def __init__(self, likelihood: str, kernel: str, ndims: tuple[int, ...]) -> None:
        self.likelihood, self.kernel, self.ndims = likelihood, kernel, ndims

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the operation to tensors of float64, whose dims must fit."""
        tensors = [pt.cast(pt.as_tensor(x), "float64") for x in inputs]
        dims, allowed = tuple(x.ndim for x in tensors), (4, *self.ndims)
        if dims != allowed:
            raise TypeError(f"inputs have {dims} dims, but the kernel takes {allowed}")
        outputs = [pt.vector(dtype="float64"), *(p.type() for p in tensors[1:])]
        return Apply(self, tensors, outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:  # noqa: ARG002
        """Evaluate outside Numba's backend."""
        results = import_module(self.kernel).evaluate(*inputs)
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:  # noqa: ARG002
        """Only the value depends differentiably on anything, and only on the arguments."""
        outputs = 1 + len(self.ndims)
        return [[False] * outputs] + [[True] + [False] * (outputs - 1)] * (outputs - 1)

    def pullback(
        self,
        inputs: Sequence[Variable],  # noqa: ARG002
        outputs: Sequence[Variable],
        cotangents: Sequence[Variable],
    ) -> list[Variable]:
        """Chain rule: cotangent of each cell's value times its partial derivatives."""
        per_cell = cotangents[0]
        partials = outputs[1:]
        products = [pt.shape_padright(per_cell, p.ndim - 1) * p for p in partials]
        return [disconnected_type(), *products]


@register_funcify_default_op_cache_key(KernelOp)
def funcify_with_kernel_version(op: KernelOp, node: Apply, **kwargs: Any) -> tuple[Any, int]:  # noqa: ARG001
    """Numba implementation; a checksum keeps a stale compiled copy from being used."""
    module = import_module(op.kernel)
    folder = Path(str(module.__file__)).parent
    sources = [path.read_bytes() for path in sorted(folder.glob("*.py"))]
    return getattr(module, "evaluate_in_model", module.evaluate), crc32(b"".join(sources))
