"""Draws of the posterior of estimates without a chain: few numbers by importance sampling.

Program of estimates → DataTree as a sampler of chains gives it. All coefficients and effects are
integrated out; standard deviations and correlations are drawn from a proposal that learns, weighed
by their exact density, and drawn by weight; coefficients and effects given them are exact. The
covariance of estimates is taken in blocks that share nothing but coefficients, which are added by
Woodbury's identity.
Source: Gelman et al. (2013), sections 5.4 and 15.2; Cappé et al. (2004) for the proposals; Vehtari
et al. (2024) for their weights; Hoffman & Ribak (1991) for draws given data; Petersen & Pedersen
(2012), 3.2.2.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import exp1, expit, gammaln, log_expit

from hmetad.base.notice_registry import limit
from hmetad.bayes.chains import (
    Request,
    labelled_posterior,
    tree_of,
)
from hmetad.bayes.parametrisation import correlation_factors
from hmetad.bayes.program import Program
from hmetad.bayes.separate_cells import statistics_of
from hmetad.bayes.weights import places_by_weight, smooth_weights
from hmetad.specs.layout import BlockLayout, Variable

__all__ = ["sample_by_integration"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]
# Cells of the blocks of one size, (blocks, size).
type Members = NDArray[np.intp]

# Rounds in which the proposal, a t distribution, learns, and points of each by number of values.
ROUNDS, POINTS, FREEDOM = 8, 1000, 5
# Points by draws, within limits; many more where they are worth too few draws.
POINTS_PER_DRAW, FEWEST_POINTS, MOST_POINTS, MORE = 4, 4000, 20_000, 8
# Proposals are wider than what was found so far.
INFLATION = 1.2
# Draws that weights are worth below which more points would not mend them.
HOPELESS = 50
# Standard deviations are looked for up to this, in those of the estimates.
MOST = 1e4
# Logit of a partial correlation that is 1 within rounding.
EDGE = 30.0
# Numbers of covariances that are held at once.
AT_ONCE = 2**20
# Log densities of standard deviations but for constants. Those that are compiled are the same, and
# take longer to load than estimates to be fitted.
LOG_PRIORS: Mapping[str, Callable[..., Floats]] = {
    "HalfNormal": lambda x, sigma: -((x / sigma) ** 2) / 2,
    "StudentT": lambda x, mu, sigma, nu: -(nu + 1) / 2 * np.log1p(((x - mu) / sigma) ** 2 / nu),
    "Exponential": lambda x, lam: -lam * x,
    "Gamma": lambda x, alpha, beta: (alpha - 1) * np.log(x) - beta * x,
    "LogNormal": lambda x, mu, sigma: -np.log(x) - ((np.log(x) - mu) / sigma) ** 2 / 2,
    "UniformTimesHalfNormal": lambda x, sigma: np.log(exp1((x / sigma) ** 2 / 2)),
}


def sample_by_integration(
    program: Program, covariance: Floats, request: Request
) -> xr.DataTree | None:
    """Independent draws of the posterior of estimates with this covariance; None by bad weights.

    sample_stats has ``pareto_k``, ``effective_draws`` and ``by_chains`` of every cell, though
    weights are those of the whole.
    """
    shape = int(request.options["chains"]), int(request.options["draws"])
    draws, rng = math.prod(shape), np.random.default_rng(request.options["random_seed"])
    model = integrated_model(program, covariance)
    found = sampled_points(model, draws, rng)
    if found is None:
        return None
    points, k, effective = found
    coefficients, effects = given_points(model, points, rng)
    values = np.zeros((draws, program.layout.size))
    values[:, model.coefficient_places] = coefficients
    values[:, model.places] = np.where(model.are_logits, expit(points), points)
    values = np.hstack([values, *(own.reshape(draws, -1) for own in effects)])
    posterior = labelled_posterior(program, values.reshape(*shape, -1), keep_cells=True)
    posterior = posterior.assign_coords(chain=np.arange(shape[0]))
    cells = len(model.estimates)
    weights = {"divergences": 0, "pareto_k": k, "effective_draws": effective, "by_chains": False}
    by_cell = {name: np.full(cells, value) for name, value in weights.items()}
    statistics = statistics_of(program, np.zeros(shape, dtype=bool), **by_cell)
    return tree_of(program, posterior, statistics, "hmetad", {})


@dataclass(frozen=True)
class IntegratedModel:
    """Estimates, and their model as the density of its standard deviations and correlations.

    Parameters
    ----------
    estimates, covariance : array, shape (cells,) and (cells, cells)
    columns : array, shape (cells, coefficients)
        X.
    mean, sd : array, shape (coefficients,)
        Normal prior of the coefficients.
    blocks : tuple of BlockLayout
    coefficient_places, places : array of int
        Of the coefficients, and of the numbers of a point, among the free values of the program.
        A point has, block by block, standard deviations and logits of (partial correlation + 1)/2.
    are_logits : array of bool, shape (numbers,)
        Which numbers of a point are these logits.
    members : tuple of array of int
        Cells that errors or effects of groups tie together, for each size of a block.
    """

    estimates: Floats
    covariance: Floats
    columns: Floats
    mean: Floats
    sd: Floats
    blocks: tuple[BlockLayout, ...]
    coefficient_places: Integers
    places: Integers
    are_logits: NDArray[np.bool_]
    members: tuple[Members, ...]

    @property
    def scale(self) -> float:
        """Standard deviation of the estimates, or their error where they are all the same."""
        spread = float(self.estimates.std(ddof=1))
        return spread or float(np.sqrt(self.covariance.diagonal().mean()))

    def factors(self, points: Floats) -> list[Floats]:
        """Factors L of the covariance L Lᵀ of a group's effects, of every block, (points, k, k)."""
        found, start = [], 0
        for block in self.blocks:
            effects = block.block.columns.shape[1]
            sigma = points[:, start : start + effects]
            start += effects
            unit = np.broadcast_to(np.eye(effects), (len(points), effects, effects))
            if block.partial is not None:
                stop = start + block.partial.size
                unit, start = correlation_factors(expit(points[:, start:stop]), effects), stop
            found.append(sigma[:, :, None] * unit)
        return found

    def parts(self, points: Floats) -> Iterator[tuple[Members, Floats]]:
        """Cells of the blocks of one size, and their covariance at each point without that of X.

        The latter has the shape (points, blocks, size, size).
        """
        factors = self.factors(points)
        for members in self.members:
            whole = self.covariance[members[:, :, None], members[:, None]][None]
            for one, factor in zip(self.blocks, factors, strict=True):
                half = one.block.columns[members] @ factor[:, None]
                group = one.block.index[members]
                together = group[:, :, None] == group[:, None]
                whole = whole + (half @ np.swapaxes(half, -1, -2)) * together
            yield members, np.broadcast_to(whole, (len(points), *whole.shape[1:]))

    def pieces(self, places: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Points that are computed together."""
        held = sum(members.size * members.shape[1] for members in self.members)
        step = max(1, AT_ONCE // (held + self.columns.size + len(self.columns)))
        yield from (places[i : i + step] for i in range(0, len(places), step))


def integrated_model(program: Program, covariance: Floats) -> IntegratedModel:
    """Model of the estimates of a program, which have this covariance."""
    [formula] = program.layout.formulas.values()
    free, priors = program.layout.free, program.spec.priors
    coefficients = [variable for variable in free if variable.role == "coefficient"]
    of_points = [variable for variable in free if variable.role in ("sd", "partial")]

    def of_prior(parameter: str) -> Floats:
        own = [np.full(v.size, priors[v.name].parameters[parameter]) for v in coefficients]
        return np.concatenate([np.zeros(0), *own])

    def places_of(variables: list[Variable]) -> Integers:
        return np.concatenate([np.zeros(0, np.int64), *(v.elements.ravel() for v in variables)])

    are_logits = np.repeat([v.role == "partial" for v in of_points], [v.size for v in of_points])
    return IntegratedModel(
        estimates=program.counts.values[:, 0],
        covariance=covariance,
        columns=formula.design.columns,
        mean=of_prior("mu"),
        sd=of_prior("sigma"),
        blocks=formula.blocks,
        coefficient_places=places_of(coefficients),
        places=places_of(of_points),
        are_logits=are_logits.astype(bool),
        members=members_of(covariance, formula.blocks),
    )


def members_of(covariance: Floats, blocks: tuple[BlockLayout, ...]) -> tuple[Members, ...]:
    """Cells that errors or effects of groups tie together, for each size of a block.

    Examples
    --------
    >>> [x.tolist() for x in members_of(np.eye(3) + np.diag([1, 0], 1) + np.diag([1, 0], -1), ())]
    [[[2]], [[0, 1]]]
    """
    tied = covariance != 0
    for one in blocks:
        tied |= one.block.index[:, None] == one.block.index
    number, label = connected_components(csr_array(tied), directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label, minlength=number)
    ends = [0, *np.cumsum(sizes).tolist()]
    cells = [order[start:stop] for start, stop in pairwise(ends)]
    return tuple(
        np.array([own for own in cells if len(own) == size]) for size in sorted({*sizes.tolist()})
    )


def sampled_points(
    model: IntegratedModel, draws: int, rng: np.random.Generator
) -> tuple[Floats, float, float] | None:
    """Draws of points, with Pareto k and effective draws of their weights; None where bad."""
    if not len(model.places):
        return np.zeros((draws, 0)), -np.inf, float(draws)
    mean, factor = learnt_proposal(model, rng)
    first = int(np.clip(POINTS_PER_DRAW * draws, FEWEST_POINTS, MOST_POINTS))
    for number in (first, MORE * first):
        points, ratios = weighted_points(model, mean, factor, number, rng)
        log_weights, k = smooth_weights(ratios)
        weights = np.exp(log_weights)
        effective = float(1 / (weights**2).sum())
        if effective >= limit("ess") and k < limit("pareto-k"):
            chosen = places_by_weight(weights, draws, rng)
            return points[rng.permutation(chosen)], float(k), effective
        if effective < HOPELESS:
            break
    return None


def learnt_proposal(model: IntegratedModel, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Centre and scale of a t distribution that is close to the posterior."""
    # A third of the estimates' standard deviation, no correlation, and how wide.
    mean = np.where(model.are_logits, 0.0, model.scale / 3)
    spread = np.where(model.are_logits, 1.0, model.scale / 2)
    factor, number = np.diag(spread), POINTS * (1 + len(mean) // 2)
    for _ in range(ROUNDS):
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


def weighted_points(
    model: IntegratedModel, mean: Floats, factor: Floats, number: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Points of a t distribution with SDs above 0, and log ratios of the posterior to it.

    On their logarithm SDs that may be 0 would have an endless tail.
    """
    size = len(mean)
    scores = rng.normal(size=(number, size))
    scores /= np.sqrt(rng.chisquare(FREEDOM, size=(number, 1)) / FREEDOM)
    points = mean + scores @ factor.T
    constant = gammaln((FREEDOM + size) / 2) - np.log(np.diagonal(factor)).sum()
    proposal = constant - (FREEDOM + size) / 2 * np.log1p((scores**2).sum(axis=1) / FREEDOM)
    density = log_posterior(model, points)
    inside = np.isfinite(density)
    return points[inside], density[inside] - proposal[inside]


def log_posterior(model: IntegratedModel, points: Floats) -> Floats:
    r"""Log density of standard deviations and of logits of correlations; -inf where there is none.

    With :math:`V = \Sigma + X B X^T + \sum_b Z_b \Omega_b Z_b^T` it is
    :math:`-\tfrac12 \log|V| - \tfrac12 (y - X b)^T V^{-1} (y - X b) + \log p(\Omega)`.
    """
    result = log_priors(model, points)
    for piece in model.pieces(np.flatnonzero(np.isfinite(result))):
        log_size, form = determinant_and_form(model, points[piece])
        result[piece] -= (log_size + form) / 2
    return result


def log_priors(model: IntegratedModel, points: Floats) -> Floats:
    """Log prior of points, with the Jacobian of logits; -inf beyond their range."""
    total, start = np.zeros(len(points)), 0
    for block in model.blocks:
        for variable in block.sds:
            assert variable.prior is not None
            own = points[:, start : start + variable.size]
            start += variable.size
            is_inside = ((own > 0) & (own < MOST * model.scale)).all(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                values = LOG_PRIORS[variable.prior.dist](own, **variable.prior.parameters)
            total += np.where(is_inside, values.sum(axis=1), -np.inf)
        if block.partial is not None and block.correlation is not None:
            assert block.correlation.prior is not None
            logits = points[:, start : start + block.partial.size]
            start += block.partial.size
            # Beta distributions of (partial correlation + 1)/2, by the place of the first effect.
            effects, eta = block.correlation.shape[0], block.correlation.prior.parameters["eta"]
            shape = eta + (effects - 2 - np.tril_indices(effects, -1)[1]) / 2
            values = (shape * (log_expit(logits) + log_expit(-logits))).sum(axis=1)
            total += np.where((abs(logits) < EDGE).all(axis=1), values, -np.inf)
    return np.where(np.isnan(total), -np.inf, total)


def determinant_and_form(model: IntegratedModel, points: Floats) -> tuple[Floats, Floats]:
    """log |V| and r' V⁻¹ r, r being what estimates differ from their prior mean, (points,) each."""
    rest = model.estimates - model.columns @ model.mean
    right = np.column_stack([model.columns * model.sd, rest])
    width = right.shape[1]
    log_size, gram = np.zeros(len(points)), np.zeros((len(points), width, width))
    for members, covariance in model.parts(points):
        size = members.shape[1]
        own = right[members]
        # No block has less than its errors.
        errors = model.covariance[members[:, :, None], members[:, None]]
        least = np.linalg.solve(errors, own)
        # Below the factor of a block stand the scores of what is written below the block.
        whole = np.empty((*covariance.shape[:2], size + width, size + width))
        whole[..., :size, :size] = covariance
        whole[..., size:, :size] = np.swapaxes(own, -1, -2)
        whole[..., :size, size:] = own
        whole[..., size:, size:] = 2 * np.swapaxes(own, -1, -2) @ least + np.eye(width)
        factor = np.linalg.cholesky(whole)
        log_size += 2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)[..., :size]).sum(axis=(1, 2))
        scores = factor[..., size:, :size]
        gram += (scores @ np.swapaxes(scores, -1, -2)).sum(axis=1)
    inner = np.eye(width - 1) + gram[:, :-1, :-1]
    through = gram[:, :-1, -1:]
    form = gram[:, -1, -1] - (through * np.linalg.solve(inner, through)).sum(axis=(1, 2))
    return log_size + np.linalg.slogdet(inner)[1], form


def given_points(
    model: IntegratedModel, points: Floats, rng: np.random.Generator
) -> tuple[Floats, list[Floats]]:
    """Coefficients, and effects (draws, groups, effects) of every block, a draw for each point.

    A draw of the prior and of data is moved by what the real data differ from those.
    """
    noise = np.linalg.cholesky(model.covariance)
    found = []
    for piece in model.pieces(np.arange(len(points))):
        own = points[piece]
        factors, number = model.factors(own), len(own)
        beta = model.mean + model.sd * rng.normal(size=(number, len(model.mean)))
        drawn = beta @ model.columns.T + rng.normal(size=(number, len(noise))) @ noise.T
        effects = []
        for one, factor in zip(model.blocks, factors, strict=True):
            scores = rng.normal(size=(number, len(one.block.groups), factor.shape[1]))
            effects.append(scores @ factor.transpose(0, 2, 1))
            drawn += (effects[-1][:, one.block.index] * one.block.columns).sum(axis=2)
        moves = solved(model, own, model.estimates - drawn)
        beta += (moves @ model.columns) * model.sd**2
        for place, (one, factor) in enumerate(zip(model.blocks, factors, strict=True)):
            is_member = one.block.index[:, None] == np.arange(len(one.block.groups))
            sums = (one.block.columns.T * moves[:, None]) @ is_member.astype(float)
            effects[place] += (factor @ factor.transpose(0, 2, 1) @ sums).transpose(0, 2, 1)
        found.append([beta, *effects])
    coefficients, *effects = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return coefficients, effects


def solved(model: IntegratedModel, points: Floats, rest: Floats) -> Floats:
    """V⁻¹ r of every point, (points, cells), r being (points, cells)."""
    scaled = model.columns * model.sd
    width = scaled.shape[1]
    found = np.empty((*rest.shape, width + 1))
    for members, covariance in model.parts(points):
        own = np.broadcast_to(scaled[members], (len(rest), *members.shape, width))
        right = np.concatenate([own, rest[:, members][..., None]], axis=-1)
        found[:, members] = np.linalg.solve(covariance, right)
    inner = np.eye(width) + scaled.T @ found[..., :-1]
    through = scaled.T @ found[..., -1:]
    back = found[..., :-1] @ np.linalg.solve(inner, through)
    return np.asarray((found[..., -1:] - back)[..., 0])
