"""Functions that readable likelihoods use and `pytensor.tensor` lacks, or names otherwise.

Tensors → tensors. `hmetad.likelihood.arrays` puts them together with PyTensor's own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

__all__ = ["asarray", "concat", "cumulative_sum", "log_ndtr", "ones_like", "stack"]


def asarray(x: Any) -> TensorVariable:
    """Tensor of numbers of double precision."""
    return pt.cast(pt.as_tensor(x), "float64")


def concat(tensors: Sequence[TensorVariable], axis: int = 0) -> TensorVariable:
    """Tensors joined along a dim they have."""
    return pt.concatenate(tensors, axis=axis)


def stack(tensors: Sequence[TensorVariable], axis: int = 0) -> TensorVariable:
    """Tensors joined along a new dim."""
    return pt.stack(tensors, axis=axis)


def cumulative_sum(x: TensorVariable, axis: int) -> TensorVariable:
    """Sums of all elements up to each."""
    return pt.cumsum(x, axis=axis)


def ones_like(x: TensorVariable) -> TensorVariable:
    """Ones of a shape, constant where the shape is known."""
    shape = x.type.shape
    return pt.ones_like(x) if None in shape else pt.as_tensor(np.ones(shape))


def log_ndtr(x: TensorVariable) -> TensorVariable:
    """log Φ(x). A branch gets harmless input where the other is chosen: no NaN in a gradient."""
    low, high = pt.minimum(x, -1.0), pt.maximum(x, -1.0)
    from_below = pt.log(pt.erfcx(-low / np.sqrt(2)) / 2) - low**2 / 2
    return pt.switch(x < -1, from_below, pt.log1p(-pt.erfc(high / np.sqrt(2)) / 2))
