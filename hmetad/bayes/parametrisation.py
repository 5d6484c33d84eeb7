r"""How effects of groups are sampled, by near standard normal offsets, and what chains move.

Design → Parametrisation, to which `hmetad.bayes.start` adds what the data say of every group.

An effect δ ~ N(0, σ) is sampled by an offset z: δ is its mean given the data, shrunk towards the
population, plus z times what is then left uncertain of it. With the group's own coefficient
estimated as m with information h, and μ its mean in the population,

    root = √(1 + h σ²),  score = (z + h (m - μ) σ / root) / root,  δ = σ · score,  score ~ N(0, 1).

Without information this is the non-centred parametrisation, δ = σ z; with much, the centred one.
Were the likelihood normal, z would be standard normal whatever σ and μ are, so that no funnel is
left. It is a change of variables: m and h may be wrong, and the posterior is the same.
`hmetad.bayes.model.sampled_effects` has it for PyMC, `hmetad.bayes.density.fill_block` compiled.

With three people, the posterior of a standard deviation σ has a long tail, and that of their mean
is narrow where σ is small and wide where it is large; a chain has one step size for all of it. So
chains move u in place of the free values:

- σ = s · sinh(u): near 0 this is linear, so that σ may cross to the other sign, and far from it
  exponential; s is half of what the data suggest, or of what they cannot tell from 0;
- a coefficient is a centre plus u / √P, where P is what is known of it at this σ: 1/τ² by its
  prior, and by groups of information h, in which it has the weights a,

  .. math:: P(σ) = \frac{1}{τ^2} + \sum_g \frac{a_g^2 h_g}{1 + h_g σ^2}

s, the centre and h may be wrong too. Source: Gelman et al. (2013), Bayesian Data Analysis, 5.4,
for the variance of a mean at a given σ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.specs.design import Block, Design

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Weights below this are rounding.
TINY = 1e-9
# Of crossed factors, the effects of at most so many groups are in the mean of another's.
MOST_PARENTS = 30
# Groups of similar information are taken together, in so many kinds.
KINDS = 8
# Scale of a standard deviation, as a share of where chains begin.
SHARE = 0.5


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


class Known(NamedTuple):
    """What is known of a coefficient: its place, that of σ, and 1/τ², a² and h of the groups."""

    place: int
    sd_place: int
    precision: float
    weights: Floats
    information: Floats


class Warp(NamedTuple):
    """The change of variables as arrays.

    Parameters
    ----------
    scales : array, shape (free,)
        s of a standard deviation; 0 of what else there is.
    warp_places : array of int, shape (coefficients, 2)
        Of each coefficient, its place and that of its σ.
    centres, precisions : array, shape (coefficients,)
    group_weights, group_information : array, shape (coefficients, kinds)
        a² and h, of each kind of groups.
    """

    scales: Floats
    warp_places: Integers
    centres: Floats
    precisions: Floats
    group_weights: Floats
    group_information: Floats


def warp_of(scales: Floats, found: Sequence[Known], first_point: Floats) -> Warp:
    """The change of variables, around where chains begin."""
    kinds = [in_kinds(one.weights, one.information) for one in found]
    return Warp(
        scales,
        np.array([(one.place, one.sd_place) for one in found], np.int64).reshape(-1, 2),
        first_point[np.array([one.place for one in found], np.int64)],
        np.array([one.precision for one in found]),
        np.array([weights for weights, _ in kinds]).reshape(-1, KINDS),
        np.array([information for _, information in kinds]).reshape(-1, KINDS),
    )


def scale_of_sd(at_start: Floats, information: Floats, prior_scale: float) -> Floats:
    """Scales of standard deviations of effects, (...), whose groups have information (groups, ...).

    The variance between G groups whose estimates have the variance v is uncertain by v √(2 / G).
    """
    groups = len(information)
    total = information.sum(axis=0)
    variance = np.divide(groups, total, where=total > 0, out=np.full(total.shape, np.inf))
    known = at_start**2 + variance * np.sqrt(2 / groups)
    return SHARE * np.sqrt(np.minimum(known, prior_scale**2))


def in_kinds(weights: Floats, information: Floats) -> tuple[Floats, Floats]:
    """Groups of similar information together: the sum of their weights, and its mean."""
    order = np.argsort(information)
    parts = np.array_split(order, KINDS)
    sums = np.array([weights[part].sum() for part in parts])
    products = np.array([(weights * information)[part].sum() for part in parts])
    return sums, np.divide(products, sums, where=sums > 0, out=np.zeros(KINDS))


def known_of_coefficients(
    common: Integers,
    precisions: Floats,
    sds: Sequence[tuple[Integers, Floats]],
    parts: Sequence[BlockParametrisation],
) -> list[Known]:
    """What the groups know of the coefficients of a formula.

    Of several blocks that share a coefficient, the one that leaves most uncertain.

    Parameters
    ----------
    common : array of int, shape (coefficients, elements)
        Places.
    precisions : array, shape (coefficients,)
        Of their priors; NaN where a coefficient stays as it is.
    sds : sequence of pairs of arrays, shape (effects, elements)
        Places of the standard deviations of each block, and their values at the start.
    parts : sequence of BlockParametrisation
    """
    found = []
    for j, k in np.ndindex(common.shape):
        candidates = []
        for (places, at_start), part in zip(sds, parts, strict=True):
            groups, effects = part.mean_weights.shape[:2]
            information = part.information.reshape(groups, effects, -1)
            for e in np.flatnonzero(part.mean_weights[:, :, j].any(axis=0)):
                weights, own = part.mean_weights[:, e, j] ** 2, information[:, e, k]
                known = float((weights * own / (1 + own * at_start[e, k] ** 2)).sum())
                place, sd_place = int(common[j, k]), int(places[e, k])
                one = Known(place, sd_place, float(precisions[j]), weights, own)
                if known + one.precision > 0:
                    candidates.append((known, one))
        if candidates:
            found.append(min(candidates, key=lambda pair: pair[0])[1])
    return found
