"""A linear mixed model of one number per cell, whose errors are known.

Parametrisation, estimates and variances → common coefficients, effects and standard deviations of
groups, by EM. It is where chains begin, so a few rounds do.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.parametrisation import Parametrisation
from hmetad.specs.design import Block

__all__ = ["BlockFit", "MixedFit", "fit_mixed", "predicted_by"]

type Floats = NDArray[np.float64]

EM_ROUNDS = 30
SMALLEST_SIGMA = 0.05
# Information of an effect, times its variance, below which it is none but for rounding.
SMALLEST_RATIO = 1e-6


@dataclass(frozen=True)
class BlockFit:
    """Effects of a block as the data suggest them.

    Parameters
    ----------
    effects : array, shape (groups, effects)
        Drawn towards 0.
    sigmas : array, shape (effects,)
        Standard deviations between groups.
    estimates, information : array, shape (groups, effects)
        The groups' own coefficients by their data alone, and the reciprocals of their variances.
    """

    effects: Floats
    sigmas: Floats
    estimates: Floats
    information: Floats


@dataclass(frozen=True)
class MixedFit:
    """Common coefficients (coefficients,), and the blocks' effects."""

    common: Floats
    blocks: list[BlockFit]


def fit_mixed(
    parametrisation: Parametrisation,
    y: Floats,
    v: Floats,
    *,
    between: float | None = None,
    rounds: int = EM_ROUNDS,
) -> MixedFit:
    """Linear mixed model of one number per cell, by some rounds of EM and backfitting.

    Parameters
    ----------
    parametrisation : Parametrisation
    y, v : array, shape (cells,)
        Estimates and their variances.
    between : float, optional
        Variance between groups to begin with; by default what estimates vary beyond their errors.
    rounds : int, optional

    Returns
    -------
    MixedFit
    """
    columns, parts = parametrisation.design.columns, parametrisation.blocks
    if between is None:
        between = max(float(np.var(y) - np.mean(v)), SMALLEST_SIGMA**2)
    weights = 1 / (v + between)
    common = np.linalg.lstsq(columns * np.sqrt(weights)[:, None], y * np.sqrt(weights))[0]
    blocks = [part.block.columns for part in parts]
    sigmas = [np.full(z.shape[1], np.sqrt(between)) for z in blocks]
    effects = [
        np.zeros((len(p.block.groups), z.shape[1])) for p, z in zip(parts, blocks, strict=True)
    ]
    shares = [np.zeros(len(y)) for _ in parts]
    for _ in range(rounds):
        for i, part in enumerate(parts):
            rest = y - columns @ common - sum(shares) + shares[i]
            effects[i], variance = posterior_of_effects(part.block, rest, v, sigmas[i])
            second = (effects[i] ** 2 + variance).mean(axis=0)
            sigmas[i] = np.sqrt(np.maximum(second, SMALLEST_SIGMA**2))
            shares[i] = (blocks[i] * effects[i][part.block.index]).sum(axis=1)
    fits = []
    for i, part in enumerate(parts):
        # Effects of outer blocks are in the mean; those of all others are unknown.
        known = {i, *(outer.place for outer in part.outer)}
        spread = [blocks[k] ** 2 @ sigmas[k] ** 2 for k in range(len(parts)) if k not in known]
        rest = y - columns @ common - sum(shares) + shares[i]
        own, variance = posterior_of_effects(part.block, rest, v + sum(spread), sigmas[i])
        ratio = sigmas[i] ** 2 / variance - 1
        ratio = np.where(ratio < SMALLEST_RATIO, 0.0, ratio)
        alone = np.divide(own * (1 + ratio), ratio, where=ratio > 0, out=np.zeros(own.shape))
        alone += part.mean_weights @ common
        for outer in part.outer:
            theirs = effects[outer.place][outer.parents]
            alone += (outer.weights * theirs[:, None]).sum(axis=(2, 3))
        fits.append(BlockFit(effects[i], sigmas[i], alone, ratio / sigmas[i] ** 2))
    return MixedFit(common, fits)


def posterior_of_effects(
    block: Block, rest: Floats, v: Floats, sigmas: Floats
) -> tuple[Floats, Floats]:
    """Means and variances of the effects at these standard deviations, (groups, effects)."""
    columns = block.columns
    groups, effects = len(block.groups), columns.shape[1]
    information = np.zeros((groups, effects, effects))
    np.add.at(information, block.index, columns[:, :, None] * columns[:, None] / v[:, None, None])
    pull = np.zeros((groups, effects))
    np.add.at(pull, block.index, columns * (rest / v)[:, None])
    covariance = np.linalg.inv(information + np.diag(sigmas**-2.0))
    mean = (covariance @ pull[..., None])[..., 0]
    return mean, np.diagonal(covariance, axis1=1, axis2=2)


def predicted_by(parametrisation: Parametrisation, fit: MixedFit) -> Floats:
    """Value of every cell by a mixed model, (cells,).

    Parameters
    ----------
    parametrisation : Parametrisation
    fit : MixedFit

    Returns
    -------
    array, shape (cells,)
    """
    total = parametrisation.design.columns @ fit.common
    for part, own in zip(parametrisation.blocks, fit.blocks, strict=True):
        block = part.block
        total = total + (block.columns * own.effects[block.index]).sum(axis=1)
    return total
