"""What common columns and effects of groups have in common.

Columns of a Design, and which effects are sampled centred → which common columns those effects
hold for their mean, what is left of them, and how the other effects weigh in an average.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.design import Block

__all__ = [
    "absorbed_columns",
    "averaging_weights",
    "centred_columns",
    "centred_elements",
    "remaining_columns",
]

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]

# Shares and weights below this are rounding.
TINY = 1e-9


def absorbed_columns(
    columns: Floats, block: Block, is_centred: Mapping[str, bool | Flags]
) -> Floats:
    """What of the common columns is the mean of centred effects, (groups, effects, coefficients).

    Common column X belongs to effect E of a group if X = a_group · E in all cells: the intercept
    to an intercept per group, a covariate of subjects to their intercepts, and a condition to the
    effect of the condition. What of X belongs to no single one is the least-squares fit of all
    within each group, X ≈ Σ a_group,E · E: a covariate of subjects where each of their tasks has an
    effect, or half of each of two tasks where they have an intercept. The group's own coefficients
    then have means Σ a·β, and the predictor keeps of X only what `remaining_columns` leaves:
    nothing is said twice, and the sampler has no ridge to follow.
    """
    effects = block.columns
    weights = np.zeros((len(block.groups), effects.shape[1], columns.shape[1]))
    centred = np.flatnonzero(centred_columns(block, is_centred))
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


def centred_columns(block: Block, is_centred: Mapping[str, bool | Flags]) -> Flags:
    """Which effects of a block are sampled centred in any element, (effects,)."""
    if block.is_correlated:
        return np.full(block.columns.shape[1], is_centred.get(block.name, False))
    flags = centred_elements(block, is_centred, 1)
    return flags.reshape(len(flags), -1).any(axis=1)


def centred_elements(block: Block, is_centred: Mapping[str, bool | Flags], ndim: int) -> Flags:
    """Which effects of an independent block are sampled centred, (effects, *extra or 1)."""
    flags = []
    for term in block.terms:
        flag = np.asarray(is_centred.get(f"{term.name}|{block.factor}", False))
        flag = flag if flag.ndim else flag.reshape((1,) * ndim)
        flags.append(np.broadcast_to(flag, (term.columns.shape[1], *flag.shape[1:])))
    shape = np.broadcast_shapes(*(flag.shape[1:] for flag in flags))
    return np.concatenate([np.broadcast_to(flag, (len(flag), *shape)) for flag in flags])


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
