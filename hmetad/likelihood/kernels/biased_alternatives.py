"""Choices among m options with biases, and their confidence, compiled: likelihood and gradient.

Arguments of cells and counts by right option, choice and rating → log-likelihood per cell and its
derivatives. `hmetad.likelihood.families.alternatives` says what is computed, and
`hmetad.likelihood.kernels.alternatives` how sums and small areas are taken.

All sums over x of a cell are made of the same functions: at every edge y, G_j = Φ(x - y - b_j) and
H_j = Φ(x - y - b_j - d) of the options j. If s is right and r ≠ s is chosen, the integrand is

    φ(x - b_r) · L_r · H_s/G_s    with    L_r = ∏_{j≠r} G_j;    φ(x - b_s - d) · L_s    if r is s.

First come the sums, then the derivatives of ℓ by them, and with these as weights W, once through
all integrands U = W·integrand: moving the mean of option j takes its hazard φ/Φ times U.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hmetad.likelihood.kernels.alternatives import (
    REACH,
    SMALL,
    SPREAD,
    add_area,
    nodes_of,
    step_of,
)
from hmetad.likelihood.tails import FAR, compiled, fill_tails, summed

__all__ = ["log_likelihood"]

type Floats = NDArray[np.float64]

# Columns of the arguments: d′, meta-d′, number of options; then their biases, those of the meta
# level, and gaps, of all responses or of each.
D, META, OPTIONS, BIASES = range(4)
SQRT2 = math.sqrt(2)
# Rows of the functions at every edge and option: arguments, then hazards φ/Φ; Φ of x - y - b_j and
# of x - y - b_j - d, then products of the others and ratios; room.
EDGE, HAZARD, BELOW, UNDER, ROOM, FUNCTIONS = range(6)
# Rows of the functions of x of an option: φ without and with its lead, and times the product of the
# others; U where it is right and another is chosen, where it is chosen and another is right, the
# latter times hazards, and where it is both; hazards of all if it is right.
PLAIN, LEADING, WON, BY_RIGHT, BY_CHOICE, PULLED, OWN, LEFT, ROWS = range(9)


@compiled
def log_likelihood(counts: Floats, at: Floats, is_sloped: bool) -> tuple[Floats, Floats]:
    """ℓ of each cell, and its derivatives by the arguments; these are empty unless asked for.

    Parameters
    ----------
    counts : array, shape (cells, m * m * K)
        Of right options, choices and ratings.
    at : array, shape (cells, 3 + 2m + gaps)
        Columns: d′, meta-d′, m (the same in all cells), biases, biases of the meta level, and K - 1
        gaps of all responses, or m (K - 1) of each.
    is_sloped : bool
        Whether the gradient is asked for.

    Returns
    -------
    tuple of array
        Log-likelihood (cells,), and its gradient, of the shape of `at`.
    """
    cells = len(at)
    value, slopes = np.zeros(cells), np.zeros((cells if is_sloped else 0, at.shape[1]))
    if cells == 0:
        return value, slopes
    m = int(at[0, OPTIONS])
    levels, gaps, most = counts.shape[1] // (m * m), BIASES + 2 * m, nodes_of(SPREAD, step_of(m))
    functions = np.empty((FUNCTIONS, 2 * levels * m * most))
    rooms = functions, np.empty((ROWS, m, most))
    y, by_y = np.zeros(levels), np.empty(levels + 1)
    by_means, totals = np.empty(m + 1), np.empty((m, m, 1))
    groups = 1 if at.shape[1] - gaps == levels - 1 else m
    for i in range(cells):
        own = counts[i].reshape(m, m, levels)
        for s in range(m):
            for r in range(m):
                totals[s, r, 0] = own[s, r].sum()
        by_means[:] = 0.0
        b, meta_b = at[i, BIASES : BIASES + m], at[i, BIASES + m : gaps]
        value[i] = level_value(at[i, D] / SQRT2, b, y[:1], totals, (0, m), rooms, (by_means, by_y))
        if is_sloped:
            slopes[i, D] = by_means[m] / SQRT2
            slopes[i, BIASES : BIASES + m] = by_means[:m]
        by_means[:] = 0.0
        for group in range(groups if levels > 1 else 0):
            choices = group * (m // groups), (group + 1) * (m // groups)
            start = gaps + group * (levels - 1)
            for k in range(1, levels):
                y[k] = y[k - 1] + SQRT2 * at[i, start + k - 1]
            by_y[:] = 0.0
            value[i] += level_value(
                at[i, META] / SQRT2, meta_b, y, own, choices, rooms, (by_means, by_y)
            )
            beyond = 0.0
            for k in range(levels - 1 if is_sloped else 0, 0, -1):
                beyond += by_y[k]
                slopes[i, start + k - 1] = SQRT2 * beyond
        if is_sloped:
            slopes[i, META] = by_means[m] / SQRT2
            slopes[i, BIASES + m : gaps] = by_means[:m]
    return value, slopes


@compiled
def level_value(
    d: float,
    b: Floats,
    y: Floats,
    counts: Floats,
    choices: tuple[int, int],
    rooms: tuple[Floats, Floats],
    slopes: tuple[Floats, Floats],
) -> float:
    """Σ n log P(margin | right option, choice), of choices from the first to before the last.

    With a single edge it is P(choice | right option). Derivatives by the biases and d, and those by
    the edges y, are added to `slopes`.
    """
    m, levels, (first, last), (by_means, by_y) = len(b), len(y), choices, slopes
    given = 1.0 if levels > 1 else 0.0
    spread = b.max() - b.min() + abs(d)
    sums, weights = np.zeros((m, m, levels + 1)), np.zeros((m, m, levels + 1))
    n, step = nodes_of(min(spread, SPREAD), step_of(m)), step_of(m)
    is_summed = spread <= SPREAD
    if is_summed:
        fill_functions(d, b, y, n, b.min() + min(d, 0.0) - REACH, rooms)
        fill_sums(first, last, n, step, rooms, sums)
    value = 0.0
    for s in range(m):
        for r in range(first, last):
            total = counts[s, r].sum()
            for k in range(levels + 1):
                # The last one is the whole, that ratings are given.
                weight = counts[s, r, k] if k < levels else -given * total
                if weight == 0:
                    continue
                lower, upper = (k, k + 1) if k < levels else (0, levels)
                area = sums[s, r, lower] - sums[s, r, upper]
                if area >= SMALL:
                    value += weight * math.log(area)
                    weights[s, r, lower] += weight * step / area
                    weights[s, r, upper] -= weight * step / area
                    continue
                edge = y[upper] if upper < levels else math.inf
                own, by_lower, by_upper = far_area((s, r), weight, d, b, (y[lower], edge), by_means)
                value += weight * own
                by_y[lower] += by_lower
                by_y[upper] += by_upper
    if is_summed:
        add_slopes(first, last, n, weights, rooms, by_means, by_y)
    return value


@compiled
def far_area(
    at: tuple[int, int],
    weight: float,
    d: float,
    b: Floats,
    edges: tuple[float, float],
    by_means: Floats,
) -> tuple[float, float, float]:
    """Log area of a margin, and its weighted derivatives by both edges; the others are added."""
    (s, r), (lower, upper), others = at, edges, np.ones((2, len(b) - 1))
    means, slopes = b.copy(), np.empty(len(b) + 1)
    means[s] += d
    others[0, :r], others[0, r:] = means[:r], means[r + 1 :]
    value = add_area(means[r], others, lower, upper, slopes)
    for j in range(len(b) - 1):
        option, pull = j if j < r else j + 1, weight * slopes[j]
        by_means[option] += pull
        by_means[r] -= pull
        if option == s:
            by_means[-1] += pull
        if r == s:
            by_means[-1] -= pull
    return value, weight * slopes[-2], weight * slopes[-1]


@compiled
def fill_functions(
    d: float, b: Floats, y: Floats, n: int, start: float, rooms: tuple[Floats, Floats]
) -> None:
    """Functions of x at all edges, of which the first is 0."""
    (functions, of_x), m, levels = rooms, len(b), len(y)
    step, half = step_of(m), levels * m * n
    edge, below = functions[EDGE], functions[BELOW]
    for k in range(levels):
        for j in range(m):
            at = (k * m + j) * n
            for i in range(n):
                place = y[k] + b[j] - (start + i * step)
                edge[at + i] = min(place, FAR)
                edge[half + at + i] = min(place + d, FAR)
    fill_tails(2 * half, edge, functions[HAZARD], below, functions[UNDER], functions[ROOM])
    for j in range(m):
        for i in range(n):
            of_x[PLAIN, j, i] = functions[HAZARD, j * n + i]
            of_x[LEADING, j, i] = functions[HAZARD, half + j * n + i]
    for e in range(2 * half):
        below[e] += functions[UNDER, e]
        functions[HAZARD, e] /= below[e]
    for e in range(half):
        below[half + e] /= below[e]
    products = functions[UNDER]
    for k in range(levels):
        first = k * m * n
        products[first : first + n] = 1.0
        functions[ROOM, :n] = 1.0
        for at in range(first, first + (m - 1) * n):
            products[at + n] = products[at] * below[at]
        for j in range(m - 1, 0, -1):
            at = first + j * n
            for i in range(n):
                functions[ROOM, i] *= below[at + i]
                products[at - n + i] *= functions[ROOM, i]


@compiled
def fill_sums(
    first: int, last: int, n: int, step: float, rooms: tuple[Floats, Floats], sums: Floats
) -> None:
    """Sums of all integrands, by right option, choice and edge."""
    (functions, of_x), m, levels = rooms, sums.shape[0], sums.shape[2] - 1
    products, ratios = functions[UNDER], functions[BELOW, levels * m * n :]
    for k in range(levels):
        for r in range(first, last):
            at, won = (k * m + r) * n, of_x[WON, r]
            for i in range(n):
                won[i] = of_x[PLAIN, r, i] * products[at + i]
            for s in range(m):
                if s == r:
                    sums[s, r, k] = step * product_sum(n, of_x[LEADING, r], products[at:])
                else:
                    sums[s, r, k] = step * product_sum(n, won, ratios[(k * m + s) * n :])


@summed
def product_sum(n: int, a: Floats, b: Floats) -> float:
    """Σ a·b."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@compiled
def add_slopes(
    first: int,
    last: int,
    n: int,
    weights: Floats,
    rooms: tuple[Floats, Floats],
    by_means: Floats,
    by_y: Floats,
) -> None:
    """Add derivatives by biases, d and edges of what has these weights by its sums."""
    (functions, of_x), m, levels = rooms, len(weights), weights.shape[2] - 1
    half, hazards = levels * m * n, functions[HAZARD]
    together, every = functions[ROOM, :n], functions[ROOM, n : 2 * n]
    for k in range(levels):
        at = k * m * n
        together[:] = 0.0
        for j in range(m):
            for i in range(n):
                together[i] += hazards[at + j * n + i]
        fill_pulls(first, last, n, k, weights, rooms, together)
        every[:] = 0.0
        for j in range(m):
            for i in range(n):
                every[i] += of_x[BY_RIGHT, j, i] + of_x[OWN, j, i]
        for j in range(m):
            one = at + j * n
            other, leading, chosen, right = option_sums(
                n, hazards[one:], hazards[half + one :], together, every, of_x[:, j]
            )
            by_means[j] += chosen + right - other - leading
            by_means[m] += right - leading
            by_y[k] -= chosen + right


@compiled
def fill_pulls(
    first: int,
    last: int,
    n: int,
    k: int,
    weights: Floats,
    rooms: tuple[Floats, Floats],
    together: Floats,
) -> None:
    """Sums of the integrands U at an edge over choices and over right options."""
    (functions, of_x), m, levels = rooms, len(weights), weights.shape[2] - 1
    half, at, hazards = levels * m * n, k * m * n, functions[HAZARD]
    products, ratios = functions[UNDER], functions[BELOW]
    of_x[BY_RIGHT:] = 0.0
    for r in range(first, last):
        one, weight = at + r * n, weights[r, r, k]
        for i in range(n):
            of_x[WON, r, i] = of_x[PLAIN, r, i] * products[one + i]
            of_x[OWN, r, i] = weight * of_x[LEADING, r, i] * products[one + i]
    for s in range(m):
        one, two = at + s * n, half + at + s * n
        left, by_right = of_x[LEFT, s], of_x[BY_RIGHT, s]
        for i in range(n):
            left[i] = together[i] - hazards[one + i] + hazards[two + i]
        for r in range(first, last):
            weight = weights[s, r, k]
            if r == s or weight == 0:
                continue
            won, by_choice, pulled = of_x[WON, r], of_x[BY_CHOICE, r], of_x[PULLED, r]
            for i in range(n):
                u = weight * won[i] * ratios[two + i]
                by_right[i] += u
                by_choice[i] += u
                pulled[i] += u * left[i]


@summed
def option_sums(
    n: int, plain: Floats, leading: Floats, together: Floats, every: Floats, of_x: Floats
) -> tuple[float, float, float, float]:
    """Derivatives by an option's mean where it isn't right nor chosen, is right, is chosen, both.

    The first two with their sign turned; `plain` and `leading` are its hazards without and with d.
    """
    other = lead = chosen = right = 0.0
    for i in range(n):
        rest = every[i] - of_x[BY_RIGHT, i] - of_x[BY_CHOICE, i] - of_x[OWN, i]
        other += plain[i] * rest
        lead += leading[i] * of_x[BY_RIGHT, i]
        chosen += of_x[PULLED, i] - plain[i] * of_x[BY_CHOICE, i]
        right += of_x[OWN, i] * (together[i] - plain[i])
    return other, lead, chosen, right
