"""Names of the dims of a posterior, and labels of effects.

Block, labels and the dims so far → names, the same in the PyMC model and in the compiled one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hmetad.specs.design import Block

__all__ = ["FACTOR_DIM", "choose_dim", "effect_labels", "is_single", "offset_name"]

# End of the name of the dim of the groups of a factor.
FACTOR_DIM = "__factor_dim"


def choose_dim(
    coords: Mapping[str, Sequence[object] | None], parameter: str, dim: str, labels: Sequence[str]
) -> str:
    """Name of the dim of these labels.

    Parameters share a dim where its labels are the same; else its name begins with the parameter.

    Parameters
    ----------
    coords : mapping of str to sequence
        Labels of the dims so far.
    parameter, dim : str
    labels : sequence of str

    Returns
    -------
    str
        Of `coords`, or new.
    """
    for name in (dim, f"{parameter}_{dim}"):
        if name not in coords or [*(coords[name] or ())] == [*labels]:
            return name
    raise AssertionError(f"{parameter}_{dim} stands for two sets of labels")


def is_single(block: Block) -> bool:
    """Whether a block has one effect, which has no label."""
    return len(block.terms) == 1 and block.terms[0].labels is None


def offset_name(parameter: str, block: Block) -> str:
    """Name of the variable that the effects of a block are made of, to be sampled."""
    return f"{parameter}_{block.name}_offset"


def effect_labels(block: Block) -> NDArray[np.str_]:
    """Names of the effects of a block, one for each column."""
    if len(block.terms) == 1 and block.terms[0].labels is not None:
        return block.terms[0].labels
    return np.array(
        [
            name
            for term in block.terms
            for name in (
                [term.name] if term.labels is None else [f"{term.name}[{x}]" for x in term.labels]
            )
        ]
    )
