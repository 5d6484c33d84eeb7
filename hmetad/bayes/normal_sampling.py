"""Draws of a hierarchical normal model, independent of each other.

NormalModel → draws of SDs by importance sampling, and of coefficients and effects given them,
which are exact.
Source: Cappé et al. (2004) for proposals that learn; Vehtari et al. (2024) for their weights;
Hoffman & Ribak (1991) for draws given data.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hmetad.bayes.normal_blocks import solved
from hmetad.bayes.normal_model import (
    NormalModel,
    block_parts,
    block_scales,
    log_posterior,
    parts_of,
)
from hmetad.bayes.weights import smooth_weights

__all__ = ["NormalDraws", "sample_normal"]

type Floats = NDArray[np.float64]

ROUNDS, POINTS, FREEDOM = 8, 1000, 5
# Draws that weights should be worth, and how many times as many points are tried for it.
ENOUGH, MORE, GOOD_K = 400, 8, 0.5
MOST_POINTS = 20_000
# Proposals are wider than what was found so far.
INFLATION = 1.2


class NormalDraws(NamedTuple):
    """Draws of a hierarchical normal model.

    Parameters
    ----------
    coefficients : array, shape (draws, coefficients)
    effects : list of array, shape (draws, groups, effects)
        Of each block.
    factors : list of array, shape (draws, effects, effects)
        Cholesky factors of their covariances.
    cells : array, shape (draws, cells)
        Linear predictor.
    pareto_k, effective_draws : float
        Of the weights of the SDs.
    """

    coefficients: Floats
    effects: list[Floats]
    factors: list[Floats]
    cells: Floats
    pareto_k: float
    effective_draws: float


def sample_normal(model: NormalModel, draws: int, rng: np.random.Generator) -> NormalDraws:
    """Independent draws of the posterior.

    Parameters
    ----------
    model : NormalModel
    draws : int
    rng : numpy.random.Generator
    """
    points, k, effective = sampled_points(model, draws, rng)
    parts = [given_points(model, points[part], rng) for part in parts_of(model, np.arange(draws))]
    coefficients, cells = (np.concatenate([part[i] for part in parts]) for i in (0, 2))
    effects = [np.concatenate(own) for own in zip(*(part[1] for part in parts), strict=True)]
    factors = block_scales(model, points)
    return NormalDraws(coefficients, effects, factors, cells, k, effective)


def sampled_points(
    model: NormalModel, draws: int, rng: np.random.Generator
) -> tuple[Floats, float, float]:
    """Draws of SDs and correlations, with Pareto k and effective draws of their weights."""
    if model.size == 0:
        return np.zeros((draws, 0)), -np.inf, float(draws)
    mean, factor = learnt_proposal(model, rng)
    first = int(np.clip(4 * draws, 4 * POINTS, MOST_POINTS))
    for number in (first, MORE * first):
        points, ratios = weighted_points(model, mean, factor, number, rng)
        log_weights, k = smooth_weights(ratios)
        weights = np.exp(log_weights)
        effective = float(1 / (weights**2).sum())
        if effective >= ENOUGH and k < GOOD_K:
            break
    # One draw from each stretch of as much weight.
    places = (np.arange(draws) + rng.uniform(size=draws)) / draws
    chosen = np.searchsorted(np.cumsum(weights), places).clip(max=len(weights) - 1)
    return points[rng.permutation(chosen)], float(k), effective


def learnt_proposal(model: NormalModel, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Centre and scale of a t distribution that is close to the posterior."""
    mean, spread = start_of(model)
    factor = np.diag(spread)
    for _ in range(ROUNDS):
        number = POINTS * (1 + model.size // 2)
        points, ratios = weighted_points(model, mean, factor, number, rng)
        weights = np.exp(smooth_weights(ratios)[0])
        mean = weights @ points
        rest = points - mean
        covariance = (weights[:, None] * rest).T @ rest
        share = 1 / (weights**2).sum() / number
        # Few good points know little of how they vary together.
        covariance += np.diag(np.diagonal(covariance) * (1 - share) / 10 + (spread / 1000) ** 2)
        factor = INFLATION * np.linalg.cholesky(covariance)
    return mean, factor


def start_of(model: NormalModel) -> tuple[Floats, Floats]:
    """First guess of SDs (a third of that of the estimates) and correlations, and how wide."""
    mean, spread = [], []
    for block in model.design.blocks:
        effects = block.columns.shape[1]
        pairs = effects * (effects - 1) // 2 if block.is_correlated else 0
        mean += [model.scale / 3] * effects + [0.0] * pairs
        spread += [model.scale / 2] * effects + [1.0] * pairs
    return np.array(mean), np.array(spread)


def weighted_points(
    model: NormalModel, mean: Floats, factor: Floats, number: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Points of a t distribution with SDs above 0, and log ratios of the posterior to it.

    On their logarithm SDs that may be 0 would have an endless tail.
    """
    size = model.size
    scores = rng.normal(size=(number, size))
    scores /= np.sqrt(rng.chisquare(FREEDOM, size=(number, 1)) / FREEDOM)
    points = mean + scores @ factor.T
    constant = gammaln((FREEDOM + size) / 2) - np.log(np.diagonal(factor)).sum()
    proposal = constant - (FREEDOM + size) / 2 * np.log1p((scores**2).sum(axis=1) / FREEDOM)
    density = log_posterior(model, points)
    inside = np.isfinite(density)
    return points[inside], density[inside] - proposal[inside]


def given_points(
    model: NormalModel, points: Floats, rng: np.random.Generator
) -> tuple[Floats, list[Floats], Floats]:
    """Coefficients, effects and linear predictor, a draw for each point.

    A draw of the prior and of data is moved by what the real data differ from those.
    """
    design, number = model.design, len(points)
    factors = block_scales(model, points)
    beta = model.mean + model.sd * rng.normal(size=(number, len(model.mean)))
    effects = [
        rng.normal(size=(number, len(block.groups), factor.shape[1])) @ factor.transpose(0, 2, 1)
        for block, factor in zip(design.blocks, factors, strict=True)
    ]
    noise = np.linalg.cholesky(model.covariance)
    drawn = predictor(model, beta, effects) + rng.normal(size=(number, len(noise))) @ noise.T
    rest = model.values - drawn
    moves = solved(block_parts(model, points), design.columns, rest, model.sd)
    beta = beta + (moves @ design.columns) * model.sd**2
    moved = []
    for block, factor, own in zip(design.blocks, factors, effects, strict=True):
        member = (block.index[:, None] == np.arange(len(block.groups))).astype(float)
        sums = (block.columns.T * moves[:, None]) @ member
        moved.append(own + (factor @ factor.transpose(0, 2, 1) @ sums).transpose(0, 2, 1))
    return beta, moved, predictor(model, beta, moved)


def predictor(model: NormalModel, beta: Floats, effects: list[Floats]) -> Floats:
    """Linear predictor of the cells, (draws, cells)."""
    total = beta @ model.design.columns.T
    for block, own in zip(model.design.blocks, effects, strict=True):
        total = total + (own[:, block.index] * block.columns).sum(axis=2)
    return np.asarray(total)
