"""Integrals over a group's coefficients: its likelihood, and points to take them at.

Model and the cells of a group → Integral; centre and axes → points of t distributions. Points lie
around what the group's likelihood, as a normal one at its mode, and the population at a draw
suggest together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hmetad.bayes.group_parts import Model, Part, unit_of
from hmetad.mle.units import Unit
from hmetad.threads import in_threads

__all__ = ["Integral", "each_group", "integral_of", "proposed", "t_log_density"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# The proposal: a t distribution somewhat wider than the normal approximation.
FREEDOM, WIDER = 8.0, 1.1
# Points that are evaluated at once.
AT_ONCE = 20_000
CLIMBS, DIFFERENCE, SMALL_STEP = 40, 1e-4, 1e-3
SMALLEST_CURVATURE = 1e-6


@dataclass(frozen=True)
class Population:
    """Normal distribution of a group's coefficients at each draw.

    Parameters
    ----------
    mean : array, shape (draws, coefficients)
    precision : array, shape (draws, coefficients, coefficients)
    """

    mean: Floats
    precision: Floats

    def log_density(self, points: Floats) -> Floats:
        """log p(points | population), (draws, points), at points (draws, points, coefficients)."""
        away = points - self.mean[:, None]
        square = np.einsum("smi,sij,smj->sm", away, self.precision, away, optimize=True)
        size = self.mean.shape[1]
        constant = (np.linalg.slogdet(self.precision)[1] - size * np.log(2 * np.pi)) / 2
        return constant[:, None] - square / 2


@dataclass(frozen=True)
class Integral:
    """Counts of some cells as a function of their own coefficients, with the population of these.

    Parameters
    ----------
    unit : Unit
    rest : array, shape (draws, cells, columns)
        What is fixed at each draw.
    parts : list of Part
    population : Population
    slope, curvature : array
        Of the likelihood, as a normal one, at `top`, (coefficients,) and their square.
    """

    unit: Unit
    rest: Floats
    parts: list[Part]
    population: Population
    top: Floats
    slope: Floats
    curvature: Floats

    def proposal(self, precision: Floats) -> tuple[Floats, Floats]:
        """Centre and axes of the posterior of the coefficients, given a precision of theirs."""
        pull = np.einsum("sij,sj->si", precision, self.population.mean)
        pull += self.curvature @ self.top + self.slope
        covariance = np.linalg.inv(precision + self.curvature)
        centre = np.einsum("sij,sj->si", covariance, pull)
        symmetric = (covariance + covariance.transpose(0, 2, 1)) / 2
        return centre, np.linalg.cholesky(symmetric) * WIDER

    def log_joint(self, points: Floats) -> Floats:
        """log p(counts, points | population), (draws, points), at (draws, points, coefficients)."""
        number = points.shape[1]
        log_l = np.empty(points.shape[:2])
        step = max(1, AT_ONCE // number)
        for start in range(0, len(points), step):
            own = points[start : start + step]
            offsets = np.repeat(self.rest[start : start + step], number, axis=0)
            value = replace(self.unit, offsets=offsets).value(own.reshape(-1, own.shape[2]))
            log_l[start : start + step] = value.reshape(own.shape[:2])
        return np.nan_to_num(log_l, nan=-np.inf) + self.population.log_density(points)


def each_group[Found](
    work: Callable[[Integers, np.random.Generator], Found],
    places: Mapping[str, Integers],
    seed: int,
) -> list[Found]:
    """What a function finds of the cells of each group, with random numbers of its own."""
    cells, seeds = [*places.values()], np.random.SeedSequence(seed).spawn(len(places))

    def one(k: int) -> Found:
        return work(cells[k], np.random.default_rng(seeds[k]))

    return in_threads(one, range(len(cells)))


def integral_of(model: Model, cells: Integers) -> Integral:
    """Counts of some cells, with their likelihood as a normal one."""
    unit, rest, parts = unit_of(model, cells)
    population, draws = population_of(parts), np.hstack([part.draws for part in parts])
    middle = replace(unit, offsets=rest.mean(axis=0))
    top, slope, curvature = normal_likelihood(middle, population, draws.mean(axis=0))
    return Integral(unit, rest, parts, population, top, slope, curvature)


def population_of(parts: list[Part]) -> Population:
    """Distribution of all parts, which are independent of each other."""
    size = sum(part.mean.shape[1] for part in parts)
    precision, start = np.zeros((len(parts[0].mean), size, size)), 0
    for part in parts:
        own = slice(start, start + part.mean.shape[1])
        precision[:, own, own] = part.precision
        start = own.stop
    return Population(np.hstack([part.mean for part in parts]), precision)


def normal_likelihood(
    unit: Unit, population: Population, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """Mode of likelihood and mean population together; slope and curvature of ℓ there."""
    mean, precision = population.mean.mean(axis=0), population.precision.mean(axis=0)

    def derivatives(x: Floats) -> tuple[Floats, Floats]:
        steps = DIFFERENCE * np.eye(len(x))
        slopes = np.nan_to_num(unit.value_and_gradient(np.vstack([x, x + steps, x - steps]))[1])
        bend = (slopes[1 + len(x) :] - slopes[1 : 1 + len(x)]) / (2 * DIFFERENCE)
        size, vectors = np.linalg.eigh((bend + bend.T) / 2)
        return slopes[0], (vectors * np.maximum(size, SMALLEST_CURVATURE)) @ vectors.T

    def height(x: Floats) -> Floats:
        away = x - mean
        return unit.value(x) - np.einsum("ni,ij,nj->n", away, precision, away) / 2

    x = start
    for _ in range(CLIMBS):
        slope, bend = derivatives(x)
        move = np.linalg.solve(bend + precision, slope - precision @ (x - mean))
        tried = x + move * 0.5 ** np.arange(6.0)[:, None]
        best = np.nan_to_num(height(np.vstack([x, tried])), nan=-np.inf).argmax()
        if best == 0 or abs(move).max() < SMALL_STEP:
            break
        x = tried[best - 1]
    return x, *derivatives(x)


def proposed(
    centre: Floats, axes: Floats, number: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Points (draws, points, coefficients) of t distributions, and their log densities."""
    draws, size = centre.shape
    scores = rng.normal(size=(draws, number, size))
    scores /= np.sqrt(rng.chisquare(FREEDOM, (draws, number, 1)) / FREEDOM)
    points = centre[:, None] + np.einsum("sij,smj->smi", axes, scores, optimize=True)
    return points, t_log_density(scores, axes)


def t_log_density(scores: Floats, axes: Floats) -> Floats:
    """Log densities (draws, points) of t distributions at the centre plus axes times scores."""
    size = scores.shape[2]
    log_q = -(FREEDOM + size) / 2 * np.log1p((scores**2).sum(axis=2) / FREEDOM)
    log_q += gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2)
    log_q -= size / 2 * np.log(FREEDOM * np.pi)
    spread = np.log(np.diagonal(axes, axis1=1, axis2=2)).sum(axis=1)
    found: Floats = log_q - spread[:, None]
    return found
