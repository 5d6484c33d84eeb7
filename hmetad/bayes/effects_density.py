"""Effects of groups in the compiled density.

Offsets and standard deviations of a packed program → effects, the log density of the offsets, and
the slopes of both, as `hmetad.bayes.parametrisation` defines them. Correlated effects of a group
come one after the other, each given those before it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.packing import (
    BLOCKS,
    ESTIMATES,
    INFORMATION,
    LINKS,
    MEAN_COLUMN,
    MEAN_FIRST,
    MEAN_WEIGHT,
    OFFSET_PLACES,
    SD_PLACES,
    real,
    whole,
)
from hmetad.likelihood.tails import compiled

__all__ = ["WORK", "add_deviation_slopes", "fill_deviations"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

BLOCK_FIELDS = 4
# Rows of what is kept of each deviation for its slopes: score, m - μ, and 1/root.
SCORE, REST, INVERSE, WORK = range(4)
# A product of numbers below 1 is this small at most before its logarithm is taken.
SMALLEST_PRODUCT = 1e-200


@compiled
def fill_deviations(values: Floats, packed: Integers, work: Floats) -> float:
    """Fill in deviations, and `work` (`WORK`, deviations); log density of their offsets."""
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    total = 0.0
    for b in range(len(blocks)):
        start, stop, size, partial = blocks[b]
        if size == 1:
            total += fill_independent(start, stop, values, packed, work)
        else:
            total += fill_correlated(start, stop, size, partial, values, packed, work)
    return total


@compiled
def add_deviation_slopes(values: Floats, packed: Integers, work: Floats, slopes: Floats) -> None:
    """Add slopes of offsets, standard deviations, correlations and what is in the means.

    `slopes` has those of the deviations. Later blocks have deviations of earlier ones in their
    means, so the last comes first.
    """
    blocks = whole(packed, BLOCKS).reshape(-1, BLOCK_FIELDS)
    for b in range(len(blocks) - 1, -1, -1):
        start, stop, size, partial = blocks[b]
        if size == 1:
            add_independent_slopes(start, stop, values, packed, work, slopes)
        else:
            add_correlated_slopes(start, stop, size, partial, values, packed, work, slopes)


@compiled
def fill_independent(
    start: int, stop: int, values: Floats, packed: Integers, work: Floats
) -> float:
    """`fill_deviations` of effects that are not correlated."""
    n, offset_places = len(whole(packed, LINKS)), whole(packed, OFFSET_PLACES)
    sd_places, information = whole(packed, SD_PLACES), real(packed, INFORMATION)
    estimates, weight = real(packed, ESTIMATES), real(packed, MEAN_WEIGHT)
    first, column = whole(packed, MEAN_FIRST), whole(packed, MEAN_COLUMN)
    total, product = 0.0, 1.0
    for i in range(start, stop):
        rest = estimates[i]
        for j in range(first[i], first[i + 1]):
            rest -= weight[j] * values[column[j]]
        sd = values[sd_places[i]]
        pull = information[i] * sd
        share = 1 / (1 + pull * sd)
        inverse = math.sqrt(share)
        score = (values[offset_places[i]] + pull * rest * inverse) * inverse
        work[SCORE, i], work[REST, i], work[INVERSE, i] = score, rest, inverse
        values[n + i] = sd * score
        total -= score * score
        product *= share
        if product < SMALLEST_PRODUCT:
            total += math.log(product)
            product = 1.0
    return (total + math.log(product)) / 2


@compiled
def add_independent_slopes(
    start: int, stop: int, values: Floats, packed: Integers, work: Floats, slopes: Floats
) -> None:
    """`add_deviation_slopes` of effects that are not correlated."""
    n, offset_places = len(whole(packed, LINKS)), whole(packed, OFFSET_PLACES)
    sd_places, information = whole(packed, SD_PLACES), real(packed, INFORMATION)
    first, column = whole(packed, MEAN_FIRST), whole(packed, MEAN_COLUMN)
    weight = real(packed, MEAN_WEIGHT)
    for i in range(start, stop):
        score, inverse, slope = work[SCORE, i], work[INVERSE, i], slopes[n + i]
        sd, known = values[sd_places[i]], information[i]
        share, pull = inverse * inverse, known * sd
        by_score = sd * slope - score
        by_sd = by_score * (known * work[REST, i] * share - score * pull) - pull
        slopes[offset_places[i]] += by_score * inverse
        slopes[sd_places[i]] += score * slope + by_sd * share
        by_rest = by_score * pull * share
        for j in range(first[i], first[i + 1]):
            slopes[column[j]] -= weight[j] * by_rest


@compiled
def fill_correlated(
    start: int, stop: int, size: int, partial: int, values: Floats, packed: Integers, work: Floats
) -> float:
    """`fill_deviations` of correlated effects."""
    n, offset_places = len(whole(packed, LINKS)), whole(packed, OFFSET_PLACES)
    sd_places, information = whole(packed, SD_PLACES), real(packed, INFORMATION)
    estimates, weight = real(packed, ESTIMATES), real(packed, MEAN_WEIGHT)
    first, column = whole(packed, MEAN_FIRST), whole(packed, MEAN_COLUMN)
    lower = np.zeros((size, size))
    fill_factor(partial, values, lower)
    total = 0.0
    for group in range(start, stop, size):
        for k in range(size):
            i = group + k
            before = 0.0
            for j in range(k):
                before += lower[k, j] * work[SCORE, group + j]
            sd = values[sd_places[i]]
            own = sd * lower[k, k]
            rest = estimates[i] - sd * before
            for j in range(first[i], first[i + 1]):
                rest -= weight[j] * values[column[j]]
            pull = information[i] * own
            share = 1 / (1 + pull * own)
            inverse = math.sqrt(share)
            score = (values[offset_places[i]] + pull * rest * inverse) * inverse
            work[SCORE, i], work[REST, i], work[INVERSE, i] = score, rest, inverse
            values[n + i] = sd * before + own * score
            total += (math.log(share) - score * score) / 2
    return total


@compiled
def add_correlated_slopes(
    start: int,
    stop: int,
    size: int,
    partial: int,
    values: Floats,
    packed: Integers,
    work: Floats,
    slopes: Floats,
) -> None:
    """`add_deviation_slopes` of correlated effects."""
    n, offset_places = len(whole(packed, LINKS)), whole(packed, OFFSET_PLACES)
    sd_places, information = whole(packed, SD_PLACES), real(packed, INFORMATION)
    first, column = whole(packed, MEAN_FIRST), whole(packed, MEAN_COLUMN)
    weight = real(packed, MEAN_WEIGHT)
    lower, by_lower = np.zeros((size, size)), np.zeros((size, size))
    fill_factor(partial, values, lower)
    by_score = np.zeros(size)
    for group in range(start, stop, size):
        by_score[:] = 0
        for k in range(size - 1, -1, -1):
            i = group + k
            before = 0.0
            for j in range(k):
                before += lower[k, j] * work[SCORE, group + j]
            score, inverse, slope = work[SCORE, i], work[INVERSE, i], slopes[n + i]
            sd, known = values[sd_places[i]], information[i]
            own = sd * lower[k, k]
            share, pull = inverse * inverse, known * own
            by_score[k] += own * slope - score
            by_own = by_score[k] * (known * work[REST, i] * share - score * pull) - pull
            by_own = score * slope + by_own * share
            slopes[offset_places[i]] += by_score[k] * inverse
            by_rest = by_score[k] * pull * share
            for j in range(first[i], first[i + 1]):
                slopes[column[j]] -= weight[j] * by_rest
            slopes[sd_places[i]] += before * (slope - by_rest) + lower[k, k] * by_own
            by_lower[k, k] += sd * by_own
            for j in range(k):
                by_lower[k, j] += work[SCORE, group + j] * sd * (slope - by_rest)
                by_score[j] += lower[k, j] * sd * (slope - by_rest)
    add_factor_slopes(partial, values, lower, by_lower, slopes)


@compiled
def fill_factor(place: int, values: Floats, lower: Floats) -> None:
    """Cholesky factor of correlations, from their partial correlations at a place.

    Source: Lewandowski, Kurowicka & Joe (2009).
    """
    for i in range(len(lower)):
        left = 1.0
        for j in range(i):
            partial = 2 * values[place] - 1
            place += 1
            lower[i, j] = partial * math.sqrt(left)
            left *= 1 - partial * partial
        lower[i, i] = math.sqrt(left)


@compiled
def add_factor_slopes(
    place: int, values: Floats, lower: Floats, by_lower: Floats, slopes: Floats
) -> None:
    """Slopes of the partial correlations, from those of the Cholesky factor."""
    for i in range(1, len(lower)):
        first = place + i * (i - 1) // 2
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
