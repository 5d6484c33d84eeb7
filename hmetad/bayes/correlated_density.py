"""Blocks of correlated effects in the compiled density.

Row of a block in a program, and values → deviations of the groups, or log density of their effects,
and the slopes of both. A row is as `hmetad.bayes.program.Program` says.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.tails import compiled

__all__ = ["add_deviation_slopes", "add_multivariate_normal", "fill_deviations"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]


@compiled
def fill_factor(block: Integers, values: Floats, lower: Floats) -> None:
    """Cholesky factor of the correlations of a block, from its partial correlations.

    Source: Lewandowski, Kurowicka & Joe (2009).
    """
    place = block[4]
    for i in range(block[0]):
        left = 1.0
        for j in range(i):
            partial = 2 * values[place] - 1
            place += 1
            lower[i, j] = partial * math.sqrt(left)
            left *= 1 - partial * partial
        lower[i, i] = math.sqrt(left)


@compiled
def add_factor_slopes(
    block: Integers, values: Floats, lower: Floats, by_lower: Floats, slopes: Floats
) -> None:
    """Slopes of the partial correlations, from those of the Cholesky factor."""
    size = block[0]
    for i in range(1, size):
        first = block[4] + i * (i - 1) // 2
        for j in range(i):
            partial = 2 * values[first + j] - 1
            # Later entries of the row have the factor sqrt(1 - partial²).
            later = 0.0
            for k in range(j + 1, i + 1):
                later += by_lower[i, k] * lower[i, k]
            rest = 1 - partial * partial
            left = 1.0
            for k in range(j):
                left *= 1 - (2 * values[first + k] - 1) ** 2
            slopes[first + j] += 2 * (by_lower[i, j] * math.sqrt(left) - later * partial / rest)


@compiled
def fill_deviations(block: Integers, values: Floats, n: int) -> None:
    """Deviations of a correlated block: offsets times its Cholesky factor and SDs."""
    size, groups, at, at_sd, product = block[0], block[1], block[2], block[3], n + block[5]
    lower = np.zeros((size, size))
    fill_factor(block, values, lower)
    for g in range(groups):
        for i in range(size):
            total = 0.0
            for j in range(i + 1):
                total += lower[i, j] * values[at + g * size + j]
            values[product + g * size + i] = total * values[at_sd + i]


@compiled
def add_deviation_slopes(block: Integers, values: Floats, slopes: Floats, n: int) -> None:
    """Slopes of offsets, SDs and correlations, from those of the deviations."""
    size, groups, at, at_sd, product = block[0], block[1], block[2], block[3], n + block[5]
    lower, by_lower = np.zeros((size, size)), np.zeros((size, size))
    fill_factor(block, values, lower)
    for g in range(groups):
        for i in range(size):
            slope, total = slopes[product + g * size + i], 0.0
            scaled = slope * values[at_sd + i]
            for j in range(i + 1):
                offset = values[at + g * size + j]
                total += lower[i, j] * offset
                slopes[at + g * size + j] += scaled * lower[i, j]
                by_lower[i, j] += scaled * offset
            slopes[at_sd + i] += slope * total
    add_factor_slopes(block, values, lower, by_lower, slopes)


@compiled
def add_multivariate_normal(
    block: Integers, values: Floats, means: Floats, slopes: Floats, by_means: Floats
) -> float:
    """Log density of the correlated effects of all groups; slopes are added."""
    size, groups, at, at_sd, row = block[0], block[1], block[2], block[3], block[5]
    lower, by_lower = np.zeros((size, size)), np.zeros((size, size))
    fill_factor(block, values, lower)
    total, score, solved = 0.0, np.empty(size), np.empty(size)
    for i in range(size):
        total -= groups * math.log(lower[i, i] * values[at_sd + i])
        by_lower[i, i] -= groups / lower[i, i]
        slopes[at_sd + i] -= groups / values[at_sd + i]
    for g in range(groups):
        # score = L⁻¹ (effect - mean)/sd, solved = L⁻ᵀ score.
        for i in range(size):
            place = g * size + i
            rest = (values[at + place] - means[row + place]) / values[at_sd + i]
            for j in range(i):
                rest -= lower[i, j] * score[j]
            score[i] = rest / lower[i, i]
            total -= score[i] * score[i] / 2
        for i in range(size - 1, -1, -1):
            rest = score[i]
            for j in range(i + 1, size):
                rest -= lower[j, i] * solved[j]
            solved[i] = rest / lower[i, i]
        for i in range(size):
            place, sd = g * size + i, values[at_sd + i]
            slopes[at + place] -= solved[i] / sd
            by_means[row + place] += solved[i] / sd
            slopes[at_sd + i] += solved[i] * (values[at + place] - means[row + place]) / (sd * sd)
            for j in range(i + 1):
                by_lower[i, j] += solved[i] * score[j]
    add_factor_slopes(block, values, lower, by_lower, slopes)
    return total
