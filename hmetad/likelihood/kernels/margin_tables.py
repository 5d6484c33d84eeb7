"""Areas of margins by tables, for the many nodes at which items are integrated out.

Number of options → tables; arguments of cells and tables → log-probabilities of all outcomes and
their derivatives, as `hmetad.likelihood.kernels.alternatives` has them, to some 1e-8. With normal
noise the log area of a right answer is a function of d - y alone, and that of a wrong one of y and
d. Both are tabulated with their derivatives and read by Hermite's interpolation; derivatives are
those of the interpolant, so that they agree with the values.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.kernels.alternatives import GAPS, META, SQRT2, D, step_of
from hmetad.likelihood.tails import LOG_SQRT_2PI, log_probabilities_by_outcomes

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Of right answers: d - y from FIRST_LEAD on. Of wrong ones: y from 0 to LAST_EDGE, d from FIRST_D
# to LAST_D. Beyond these log areas go on in a straight line.
FIRST_LEAD, LAST_LEAD, LEAD_STEP = -36.0, 30.0, 0.02
LAST_EDGE, FIRST_D, LAST_D, STEP = 20.0, -16.0, 20.0, 0.0625
# Shares of a margin are below 1 by no less.
ROUNDING = 1e-15


class Tables(NamedTuple):
    """Log areas of margins for so many options.

    Parameters
    ----------
    right : array, shape (leads, 2)
        Log area of a right answer and its derivative.
    wrong : array, shape (edges, d, 4)
        Log area of a wrong answer, its derivatives by y and by d, and by both.
    """

    right: Floats
    wrong: Floats


@cache
def tables_of(options: int) -> Tables:
    """Tables for m options, by the trapezoidal rule."""
    m, step = options, step_of(options) / 4
    lead = np.arange(round((LAST_LEAD - FIRST_LEAD) / LEAD_STEP) + 1) * LEAD_STEP + FIRST_LEAD
    x = np.arange(-10.0, 10.0 - FIRST_LEAD, step)
    at = x + lead[:, None]
    log_below = log_ndtr(at)
    log_f = -x * x / 2 + (m - 1) * log_below
    top = log_f.max(axis=1)
    weights = np.exp(log_f - top[:, None])
    hazard = np.exp(-at * at / 2 - LOG_SQRT_2PI - log_below)
    total = weights.sum(axis=1)
    log_area = top + np.log(total * step) - LOG_SQRT_2PI
    right = np.column_stack([log_area, (m - 1) * (weights * hazard).sum(axis=1) / total])
    return Tables(right, wrong_table(m, np.arange(-10.0, LAST_EDGE + LAST_D + 5, step), step))


def wrong_table(m: int, x: Floats, step: float) -> Floats:
    """Table of wrong answers, (edges, d, 4), from sums over x of products of y's and (y + d)'s."""
    edges, places = round(LAST_EDGE / STEP) + 1, round((LAST_D - FIRST_D) / STEP) + 1
    y = np.arange(edges)[:, None] * STEP
    both = np.arange(edges + places - 1)[:, None] * STEP + FIRST_D
    density = np.exp(-x * x / 2 - LOG_SQRT_2PI) * (m - 1) * step
    below, slope = ndtr(x - y), np.exp(-((x - y) ** 2) / 2 - LOG_SQRT_2PI)
    by_others = density * below ** (m - 2)
    others_by_y = -(m - 2) * density * below ** (m - 3) * slope
    by_right = np.exp(-((x - both) ** 2) / 2 - LOG_SQRT_2PI)
    pairs = np.arange(edges)[:, None], np.arange(edges)[:, None] + np.arange(places)

    def summed(first: Floats, second: Floats) -> Floats:
        return (first @ second.T)[pairs]

    area = summed(by_others, ndtr(x - both))
    by_d = -summed(by_others, by_right) / area
    by_y = summed(others_by_y, ndtr(x - both)) / area + by_d
    twice = summed(by_others, (both - x) * by_right) - summed(others_by_y, by_right)
    return np.stack([np.log(area), by_y, by_d, twice / area - by_y * by_d], axis=-1)


def tabled_outcomes(at: Floats, levels: int, options: Integers) -> tuple[Floats, Floats]:
    """Log P of all outcomes, and derivatives, of cells that are in order of their observers.

    `options` are the numbers of options of the observers, who have equally many cells.
    """
    numbers = np.unique(options)
    if len(numbers) == 1:
        return log_outcomes(at, levels, tables_of(int(numbers[0])))
    log_p = np.empty((len(at), 1, 2, levels))
    slopes = np.empty((*log_p.shape, at.shape[1]))
    for number in numbers:
        own = np.repeat(options == number, len(at) // len(options))
        log_p[own], slopes[own] = log_outcomes(at[own], levels, tables_of(int(number)))
    return log_p, slopes


@compiled
def log_outcomes(at: Floats, levels: int, tables: Tables) -> tuple[Floats, Floats]:
    """Log P of all outcomes, (cells, 1, 2, levels), and derivatives by `at` in a further dim."""
    return log_probabilities_by_outcomes(fill_outcomes, tables, at, (1, 2, levels), True)


@compiled
def fill_outcomes(at: Floats, _: Floats, log_p: Floats, jacobian: Floats, tables: Tables) -> None:
    """Log-probabilities of a cell's outcomes, and their derivatives."""
    levels = log_p.shape[2]
    d, meta = at[D] / SQRT2, at[META] / SQRT2
    for correct in range(2):
        choice, by_choice, _ = log_area(correct, d, 0.0, tables)
        whole, by_whole, by_edge = log_area(correct, meta, 0.0, tables)
        area, by_d, edge = whole, by_whole, 0.0
        for k in range(levels):
            row = jacobian[0, correct, k]
            row[D], row[GAPS:] = by_choice / SQRT2, 0.0
            if k + 1 == levels:
                log_p[0, correct, k] = choice + area - whole
                row[META] = (by_d - by_whole) / SQRT2
                row[GAPS : GAPS + k] = by_edge * SQRT2
                continue
            edge += SQRT2 * at[GAPS + k]
            beyond, beyond_by_d, beyond_by_edge = log_area(correct, meta, edge, tables)
            share = min(math.exp(beyond - area), 1 - ROUNDING)
            rest = 1 / (1 - share)
            log_p[0, correct, k] = choice + area - whole - math.log(rest)
            row[META] = ((by_d - share * beyond_by_d) * rest - by_whole) / SQRT2
            upper = -share * beyond_by_edge * rest * SQRT2
            row[GAPS : GAPS + k] = by_edge * rest * SQRT2 + upper
            row[GAPS + k] = upper
            area, by_d, by_edge = beyond, beyond_by_d, beyond_by_edge


@compiled
def log_area(correct: int, d: float, y: float, tables: Tables) -> tuple[float, float, float]:
    """Log P(an answer wins by more than y), and its derivatives by d and y."""
    if correct:
        value, slope = read_right(d - y, tables.right)
        return value, slope, -slope
    return read_wrong(y, d, tables.wrong)


@compiled
def read_right(lead: float, table: Floats) -> tuple[float, float]:
    """Log area of a right answer, and its derivative, by d - y."""
    if not lead > FIRST_LEAD:
        return table[0, 0] + table[0, 1] * (lead - FIRST_LEAD), table[0, 1]
    place = min((lead - FIRST_LEAD) / LEAD_STEP, len(table) - 1 - 1e-9)
    i = int(place)
    s = place - i
    rise = table[i + 1, 0] - table[i, 0]
    start, end = table[i, 1] * LEAD_STEP, table[i + 1, 1] * LEAD_STEP
    second, third = 3 * rise - 2 * start - end, start + end - 2 * rise
    value = table[i, 0] + s * (start + s * (second + s * third))
    return value, (start + s * (2 * second + 3 * s * third)) / LEAD_STEP


@compiled
def read_wrong(y: float, d: float, table: Floats) -> tuple[float, float, float]:
    """Log area of a wrong answer, and its derivatives by d and y."""
    beyond = max(y - LAST_EDGE, 0.0)
    last = table.shape[0] - 1 - 1e-9, table.shape[1] - 1 - 1e-9
    at_y = min(max(y, 0.0) / STEP, last[0])
    at_d = min(max((d - FIRST_D) / STEP, 0.0), last[1])
    i, j = int(at_y), int(at_d)
    of_y, slope_of_y = hermite(at_y - i)
    of_d, slope_of_d = hermite(at_d - j)
    value = by_y = by_d = 0.0
    for a in range(2):
        for b in range(2):
            corner = table[i + a, j + b]
            level = of_d[b] * corner[0] + of_d[2 + b] * corner[2]
            slope = of_d[b] * corner[1] + of_d[2 + b] * corner[3]
            value += of_y[a] * level + of_y[2 + a] * slope
            by_y += slope_of_y[a] * level + slope_of_y[2 + a] * slope
            level = slope_of_d[b] * corner[0] + slope_of_d[2 + b] * corner[2]
            slope = slope_of_d[b] * corner[1] + slope_of_d[2 + b] * corner[3]
            by_d += of_y[a] * level + of_y[2 + a] * slope
    return value + beyond * by_y, by_d, by_y


@compiled
def hermite(
    s: float,
) -> tuple[tuple[float, float, float, float], tuple[float, float, float, float]]:
    """Weights of both ends' values and slopes at a share s of a step, and their derivatives."""
    square, cube = s * s, s * s * s
    weights = (
        1 - 3 * square + 2 * cube,
        3 * square - 2 * cube,
        (s - 2 * square + cube) * STEP,
        (cube - square) * STEP,
    )
    slopes = (
        6 * (square - s) / STEP,
        6 * (s - square) / STEP,
        1 - 4 * s + 3 * square,
        3 * square - 2 * s,
    )
    return weights, slopes
