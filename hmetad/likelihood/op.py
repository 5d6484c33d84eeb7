"""The compiled likelihood as a PyTensor operation, so that PyMC can sample from it.

Symbolic parameters and counts → symbolic log-likelihood per cell, with its gradient. The
operation returns the partial derivatives beside the value; the pullback only multiplies them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytensor.tensor as pt
from numba import njit
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key
from pytensor.tensor.variable import TensorVariable

from hmetad.likelihood import exact, kernel, tails

__all__ = ["MetaDLogLikelihood", "log_likelihood"]


def log_likelihood(
    counts: TensorVariable,
    d: TensorVariable,
    c: TensorVariable,
    m: TensorVariable,
    kappa: TensorVariable,
    gaps: TensorVariable,
    s: TensorVariable,
) -> TensorVariable:
    """ℓ of each cell as a tensor of shape (cells,); arguments as in the kernel.

    Everything is differentiable but the counts.

    Parameters
    ----------
    counts : tensor, shape (cells, 2, 2, K)
    d, c, s : tensor, shape (cells,)
    m, kappa : tensor, shape (cells, 2)
    gaps : tensor, shape (cells, 2, K - 1)

    Returns
    -------
    tensor, shape (cells,)
    """
    return MetaDLogLikelihood()(counts, d, c, m, kappa, gaps, s)[0]


class MetaDLogLikelihood(Op):
    """Value and partial derivatives of `kernel.log_likelihood_and_gradient`, in its order."""

    __props__ = ()
    _input_ndims = (4, 1, 1, 2, 2, 3, 1)

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the operation to tensors of float64, whose dims must fit."""
        tensors = [pt.cast(pt.as_tensor(x), "float64") for x in inputs]
        dims = tuple(x.ndim for x in tensors)
        if dims != self._input_ndims:
            raise TypeError(f"inputs have {dims} dims, but the kernel takes {self._input_ndims}")
        parameters = tensors[1:]
        outputs = [pt.vector(dtype="float64"), *(p.type() for p in parameters)]
        return Apply(self, tensors, outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:  # noqa: ARG002
        """Evaluate outside Numba's backend."""
        for storage, result in zip(
            output_storage, kernel.log_likelihood_and_gradient(*inputs), strict=True
        ):
            storage[0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:  # noqa: ARG002
        """Only the value depends differentiably on anything, and only on the parameters."""
        outputs = len(self._input_ndims)
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


@register_funcify_default_op_cache_key(MetaDLogLikelihood)
def funcify_with_kernel_version(op: Op, node: Apply, **kwargs: Any) -> tuple[Any, int]:  # noqa: ARG001
    """Numba implementation; the kernel's checksum keeps a stale compiled copy from being used."""
    evaluate = kernel.evaluate

    # Constants of a model are read-only, and would have the kernel compiled a second time: a copy
    # is not, and costs a hundredth of the evaluation.
    @njit
    def metad(counts: Any, d: Any, c: Any, m: Any, kappa: Any, gaps: Any, s: Any) -> Any:
        return evaluate(counts.copy(), d, c, m, kappa, gaps, s.copy())

    sources = [Path(str(module.__file__)).read_bytes() for module in (kernel, exact, tails)]
    return metad, crc32(b"".join(sources))
