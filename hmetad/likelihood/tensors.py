"""The likelihood of counts as a PyTensor expression, so that PyMC can sample from it.

Symbolic arguments of a family and counts → symbolic log-likelihood per cell, with its gradient. A
compiled kernel returns partial derivatives beside the value, and the pullback only multiplies them;
where there is none, PyTensor differentiates the readable probabilities. Functions that these use
and `pytensor.tensor` lacks, or names otherwise, are at the end.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key
from pytensor.tensor.variable import TensorVariable

from hmetad.likelihood import ratings
from hmetad.likelihood.compiling import check_code_of, compiled
from hmetad.likelihood.family import Arrays, Family

check_code_of(CACHED_SRC_FUNCTIONS)


def log_likelihood(
    family: Family, counts: TensorVariable, *arguments: TensorVariable
) -> TensorVariable:
    """ℓ of each cell as a tensor of shape (cells,), differentiable by all but the counts.

    Parameters
    ----------
    family : Family
    counts : tensor, shape (cells, *outcomes)
    *arguments : tensor
        The family's arguments, in its order, each of shape (cells, *its dims).

    Returns
    -------
    tensor, shape (cells,)
    """
    if family.kernel_module:
        columns = [x.reshape((x.shape[0], -1)) for x in arguments]
        kernel = KernelOp(family.name, family.kernel_module)
        return kernel(counts, pt.concatenate(columns, axis=1))[0]
    xp = tensor_arrays()
    log_p = family.log_probabilities(*arguments, xp=xp)
    return ratings.log_likelihood(counts, log_p, xp, len(family.layout.dims))


class KernelOp(Op):
    """Value and partial derivatives by the compiled kernel of a family.

    The methods have the arguments that PyTensor passes, those that are not used too.

    Parameters
    ----------
    family : str
        Its name.
    kernel_module : str
        Its name.
    """

    __props__ = ("family", "kernel_module")

    def __init__(self, family: str, kernel_module: str) -> None:
        self.family, self.kernel_module = family, kernel_module

    def make_node(self, counts: Any, at: Any) -> Apply:
        """Apply the operation to counts, and to the arguments of cells side by side."""
        tensors = [pt.cast(pt.as_tensor(x), "float64") for x in (counts, at)]
        return Apply(self, tensors, [pt.vector(dtype="float64"), pt.matrix(dtype="float64")])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:  # noqa: ARG002
        """Evaluate outside Numba's backend."""
        results = import_module(self.kernel_module).log_likelihood(*inputs, True)
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:  # noqa: ARG002
        """Only the value depends differentiably on anything, and only on the arguments."""
        return [[False, False], [True, False]]

    def pullback(
        self,
        inputs: Sequence[Variable],  # noqa: ARG002
        outputs: Sequence[Variable],
        cotangents: Sequence[Variable],
    ) -> list[Variable]:
        """Chain rule: cotangent of each cell's value times its partial derivatives."""
        return [disconnected_type(), cotangents[0][:, None] * outputs[1]]


@register_funcify_default_op_cache_key(KernelOp)
def funcify_with_kernel_version(op: KernelOp, node: Apply, **kwargs: Any) -> tuple[Any, int]:  # noqa: ARG001
    """Numba implementation, as PyTensor asks for it; a checksum keeps a stale copy from use."""
    module = import_module(op.kernel_module)
    files = {*Path(__file__).parent.rglob("*.py"), *Path(str(module.__file__)).parent.glob("*.py")}
    sources = [path.read_bytes() for path in sorted(files)]
    log_likelihood = module.log_likelihood

    @compiled
    def value_and_slopes(counts: Any, at: Any) -> Any:
        return log_likelihood(counts, at, True)

    return value_and_slopes, crc32(b"".join(sources))


def tensor_arrays() -> Arrays:
    """Namespace over `pytensor.tensor`."""
    return Arrays(
        pt,
        asarray=lambda x: pt.cast(pt.as_tensor(x), "float64"),
        concat=pt.concatenate,
        cumulative_sum=pt.cumsum,
        ones_like=ones_like,
        log_ndtr=log_ndtr,
    )


def ones_like(x: TensorVariable) -> TensorVariable:
    """Ones of a shape, constant where the shape is known."""
    shape = x.type.shape
    return pt.ones_like(x) if None in shape else pt.as_tensor(np.ones(shape))


def log_ndtr(x: TensorVariable) -> TensorVariable:
    """log Φ(x). A branch gets harmless input where the other is chosen: no NaN in a gradient."""
    low, high = pt.minimum(x, -1.0), pt.maximum(x, -1.0)
    from_below = pt.log(pt.erfcx(-low / np.sqrt(2)) / 2) - low**2 / 2
    return pt.switch(x < -1, from_below, pt.log1p(-pt.erfc(high / np.sqrt(2)) / 2))
