"""How the linear predictor of a parameter is sampled: which effects centred, around what mean.

Design, and which effects are sampled centred → Parametrisation. The mean of a centred effect takes
up the common columns that are the same for it; the others take part in the sampled averages.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.design import Block, Design

__all__ = ["BlockParametrisation", "Centring", "Parametrisation", "parametrise"]

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
# By effect of a group ("1|subject"), or by block where it is correlated. Where only some elements
# are centred, an array, shape (effects, *extra).
type Centring = Mapping[str, bool | Flags]

# Shares and weights below this are rounding.
TINY = 1e-9


@dataclass(frozen=True)
class BlockParametrisation:
    """How the effects of a block are sampled.

    Parameters
    ----------
    block : Block
    mean_weights : array, shape (groups, effects, coefficients)
        Mean of each centred effect: Σ weight · common coefficient.
    average_weights : array, shape (coefficients, groups, effects)
        Average of each common coefficient: itself and Σ weight · deviation of effects that are not
        centred.
    elements : array of bool, shape (effects, *extra) or with sizes of 1
        Whether each element of an effect is sampled centred.
    """

    block: Block
    mean_weights: Floats
    average_weights: Floats
    elements: Flags

    @property
    def is_centred(self) -> Flags:
        """Whether an effect is sampled centred in any of its elements, (effects,)."""
        return any_element(self.elements)


@dataclass(frozen=True)
class Parametrisation:
    """How a linear predictor is sampled.

    Parameters
    ----------
    design : Design
    blocks : tuple of BlockParametrisation
    columns : array, shape (cells, coefficients)
        Common columns, without what the means of centred effects have of them.
    """

    design: Design
    blocks: tuple[BlockParametrisation, ...]
    columns: Floats

    @property
    def averaged(self) -> Flags:
        """Which common coefficients are sampled as an average, (coefficients,)."""
        flags = np.zeros(self.columns.shape[1], dtype=bool)
        for part in self.blocks:
            flags |= part.average_weights.any(axis=(1, 2))
        return flags


def parametrise(design: Design, centring: Centring, extra: int = 0) -> Parametrisation:
    """Parametrisation of a linear predictor.

    Parameters
    ----------
    design : Design
    centring : mapping of str to bool or array of bool
        Which effects are sampled centred; others are not.
    extra : int
        Number of dims of the parameter beside the cell.

    Returns
    -------
    Parametrisation
    """
    elements = [centred_elements(block, centring, extra) for block in design.blocks]
    left, means = design.columns, []
    for block, flags in zip(design.blocks, elements, strict=True):
        means.append(absorbed_columns(left, block, any_element(flags)))
        left = remaining_columns(left, block, means[-1])
    parts = [
        BlockParametrisation(block, mean, averaging_weights(left, block, any_element(flags)), flags)
        for block, mean, flags in zip(design.blocks, means, elements, strict=True)
    ]
    return Parametrisation(design, tuple(parts), left)


def absorbed_columns(columns: Floats, block: Block, is_centred: Flags) -> Floats:
    """Weights of the common columns in the means of effects, (groups, effects, coefficients).

    Common column X belongs to effect E of a group if X = a_group · E in all cells: the intercept
    to an intercept per group, a covariate of subjects to their intercepts, and a condition to the
    effect of the condition. What of X belongs to no single one is the least-squares fit of all
    within each group, X ≈ Σ a_group,E · E: a covariate of subjects where each of their tasks has an
    effect, or half of each of two tasks where they have an intercept. The group's own coefficients
    then have means Σ a·β, and the predictor keeps of X only what `remaining_columns` leaves, so
    that no column enters it twice.
    """
    effects = block.columns
    weights = np.zeros((len(block.groups), effects.shape[1], columns.shape[1]))
    centred = np.flatnonzero(is_centred)
    for j, column in enumerate(columns.T):
        for effect in centred:
            ratio = ratio_by_group(column, effects[:, effect], block.index, len(weights))
            if ratio is not None:
                weights[:, effect, j] = ratio
                break
        else:
            weights[:, centred, j] = fitted_by_group(column, block, centred)
    return weights


def remaining_columns(columns: Floats, block: Block, weights: Floats) -> Floats:
    """Common columns, (cells, coefficients), without what the block's effects have for a mean."""
    held = (block.columns[:, :, None] * weights[block.index]).sum(axis=1)
    left = columns - held
    return np.where(np.isclose(columns, held, rtol=1e-9, atol=1e-12), 0.0, left)


def averaging_weights(columns: Floats, block: Block, is_centred: Flags) -> Floats:
    """Least-squares weights of the groups' deviations, (coefficients, groups, effects).

    With common columns X and non-centred effects Z, the predictor is X·β + Z·deviation, and the β
    that alone fits it best is β + X⁺Z·deviation: the average, whose weights are X⁺Z.
    """
    of_cells = np.linalg.pinv(columns).T[:, :, None] * block.columns[:, None, :]
    by_group = np.zeros((len(block.groups), *of_cells.shape[1:]))
    np.add.at(by_group, block.index, of_cells)
    weights = np.moveaxis(by_group, 0, 1) * ~is_centred
    return np.where(abs(weights) > TINY, weights, 0.0)


def centred_elements(block: Block, centring: Centring, extra: int) -> Flags:
    """Which elements of effects are sampled centred, (effects, *extra) or with sizes of 1."""
    if block.is_correlated:
        return np.full((block.columns.shape[1], *[1] * extra), centring.get(block.name, False))
    flags = []
    for term in block.terms:
        flag = np.asarray(centring.get(f"{term.name}|{block.factor}", False))
        flag = flag if flag.ndim else flag.reshape((1,) * (1 + extra))
        flags.append(np.broadcast_to(flag, (term.columns.shape[1], *flag.shape[1:])))
    shape = np.broadcast_shapes(*(flag.shape[1:] for flag in flags))
    return np.concatenate([np.broadcast_to(flag, (len(flag), *shape)) for flag in flags])


def any_element(flags: Flags) -> Flags:
    """Whether any element of an effect is chosen, (effects,)."""
    return flags.reshape(len(flags), -1).any(axis=1)


def fitted_by_group(column: Floats, block: Block, chosen: NDArray[np.int64]) -> Floats:
    """Least-squares fit of a column by effects within each group, (groups, effects)."""
    ratios, effects = np.zeros((len(block.groups), len(chosen))), block.columns[:, chosen]
    for group in range(len(ratios)):
        own = block.index == group
        ratios[group] = np.linalg.lstsq(effects[own], column[own])[0]
    return np.where(abs(ratios) > TINY, ratios, 0.0)


def ratio_by_group(
    common: Floats, effect: Floats, index: NDArray[np.int64], groups: int
) -> Floats | None:
    """a with common = a[group] · effect in all cells, or None."""
    is_used = effect != 0
    if common[~is_used].any():
        return None
    ratio = np.zeros(groups)
    ratio[index[is_used]] = common[is_used] / effect[is_used]
    return ratio if np.allclose(ratio[index] * effect, common) and ratio.any() else None
