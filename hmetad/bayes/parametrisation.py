"""How effects of groups are sampled: by offsets, which are near standard normal.

Design → Parametrisation, to which `hmetad.bayes.start` adds what the data say of every group.

An effect δ ~ N(0, σ) is sampled by an offset z: δ is its mean given the data, shrunk towards the
population, plus z times what is then left uncertain of it. With the group's own coefficient
estimated as m with information h, and μ its mean in the population,

    root = √(1 + h σ²),  score = (z + h (m - μ) σ / root) / root,  δ = σ · score,  score ~ N(0, 1).

Without information this is the non-centred parametrisation, δ = σ z; with much, the centred one.
Were the likelihood normal, z would be standard normal whatever σ and μ are, so that no funnel is
left. It is a change of variables: m and h may be wrong, and the posterior is the same.
`hmetad.bayes.model.sampled_effects` has it for PyMC, `hmetad.bayes.density.fill_block` compiled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmetad.specs.design import Block, Design

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Weights below this are rounding.
TINY = 1e-9
# Of crossed factors, the effects of at most so many groups are in the mean of another's.
MOST_PARENTS = 30


@dataclass(frozen=True)
class OuterBlock:
    """A block of fewer groups, whose effects are in the means of another block's.

    Parameters
    ----------
    place : int
        Among the blocks of the parametrisation.
    parents : array of int, shape (groups, parents)
        The outer groups that each group's cells lie in: one where groups nest, more where they
        cross; the first of them again where there are fewer.
    weights : array, shape (groups, effects, parents, outer effects)
        What each effect of an outer group adds to the mean of the group's own coefficients.
    """

    place: int
    parents: Integers
    weights: Floats


@dataclass(frozen=True)
class BlockParametrisation:
    """How the effects of a block are sampled.

    Parameters
    ----------
    block : Block
    mean_weights : array, shape (groups, effects, coefficients)
        Mean of each group's own coefficients, μ: Σ weight · common coefficient, and what the
        outer blocks add.
    outer : tuple of OuterBlock
    estimates, information : array, shape (groups, effects, *extra)
        m and h; all 0 where the data are not to be looked at.
    """

    block: Block
    mean_weights: Floats
    outer: tuple[OuterBlock, ...]
    estimates: Floats
    information: Floats


@dataclass(frozen=True)
class Parametrisation:
    """How a linear predictor is sampled.

    Parameters
    ----------
    design : Design
    blocks : tuple of BlockParametrisation
        Those of the fewest groups first.
    """

    design: Design
    blocks: tuple[BlockParametrisation, ...]


def parametrise(design: Design, extra: Sequence[int] = ()) -> Parametrisation:
    """Parametrisation of a linear predictor without a look at the data: δ = σ z.

    `extra` are the sizes of the parameter's dims beside the cell.
    """
    parts: list[BlockParametrisation] = []
    for block in design.by_size:
        outer = [outer_block(place, part.block, block) for place, part in enumerate(parts)]
        outer = [one for one in outer if one.parents.shape[1] <= MOST_PARENTS]
        weights = absorbed_columns(design.columns, block)
        nothing = np.zeros((*weights.shape[:2], *extra))
        parts.append(BlockParametrisation(block, weights, tuple(outer), nothing, nothing))
    return Parametrisation(design, tuple(parts))


def outer_block(place: int, outer: Block, block: Block) -> OuterBlock:
    """An outer block at its place among the others, for a block."""
    pairs = np.unique(np.stack([block.index, outer.index], axis=1), axis=0)
    met = np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, len(block.groups))))
    width = max(map(len, met))
    padded = np.stack([np.pad(own, (0, width - len(own)), constant_values=-1) for own in met])
    parents = np.where(padded < 0, padded[:, :1], padded)
    weights = np.zeros((len(met), block.columns.shape[1], width, outer.columns.shape[1]))
    if width <= MOST_PARENTS:
        for k in range(width):
            is_own = padded[block.index, k] == outer.index
            weights[:, :, k] = absorbed_columns(outer.columns * is_own[:, None], block)
    return OuterBlock(place, parents, weights)


def absorbed_columns(columns: Floats, block: Block) -> Floats:
    """Weights of columns in the means of a group's coefficients, (groups, effects, columns).

    Column X belongs to effect E of a group if X = a_group · E in all cells: the intercept to an
    intercept per group, a covariate of subjects to their intercepts, and a condition to the effect
    of the condition. What of X belongs to no single one is the least-squares fit of all within
    each group, X ≈ Σ a_group,E · E: a covariate of subjects where each of their tasks has an
    effect, or half of each of two tasks where they have an intercept. The group's own coefficients
    then have means Σ a·β.
    """
    effects = block.columns
    weights = np.zeros((len(block.groups), effects.shape[1], columns.shape[1]))
    for j, column in enumerate(columns.T):
        for effect, own in enumerate(effects.T):
            ratio = ratio_by_group(column, own, block.index, len(weights))
            if ratio is not None:
                weights[:, effect, j] = ratio
                break
        else:
            weights[:, :, j] = fitted_by_group(column, block)
    return weights


def fitted_by_group(column: Floats, block: Block) -> Floats:
    """Least-squares fit of a column by effects within each group, (groups, effects)."""
    effects, groups = block.columns, len(block.groups)
    shape = (groups, effects.shape[1])
    products, pull = np.zeros((*shape, shape[1])), np.zeros(shape)
    np.add.at(products, block.index, effects[:, :, None] * effects[:, None])
    np.add.at(pull, block.index, effects * column[:, None])
    # Of columns of length 1, so that years and intercepts weigh alike.
    length = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    scale = np.divide(1.0, length, where=length > 0, out=np.zeros(shape))
    alike = products * scale[:, :, None] * scale[:, None]
    inverse = np.linalg.pinv(alike, rcond=TINY, hermitian=True)
    ratios = (inverse @ (pull * scale)[..., None])[..., 0] * scale
    return np.where(abs(ratios) > TINY, ratios, 0.0)


def ratio_by_group(common: Floats, effect: Floats, index: Integers, groups: int) -> Floats | None:
    """a with common = a[group] · effect in all cells, or None."""
    is_used = effect != 0
    if common[~is_used].any():
        return None
    ratio = np.zeros(groups)
    ratio[index[is_used]] = common[is_used] / effect[is_used]
    return ratio if np.allclose(ratio[index] * effect, common) and ratio.any() else None


def correlation_factors(partial: Floats, size: int) -> Floats:
    """Cholesky factors of correlations, (draws, size, size), from (partial correlation + 1)/2."""
    lower = np.zeros((len(partial), size, size))
    row, column = np.tril_indices(size, -1)
    lower[:, row, column] = 2 * partial - 1
    left = np.sqrt(np.cumprod(1 - lower**2, axis=2))
    left = np.concatenate([np.ones((len(partial), size, 1)), left[:, :, :-1]], axis=2)
    return (lower + np.eye(size)) * left
