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

from hmetad.likelihood.compiling import compiled, summed
from hmetad.likelihood.kernels.alternatives import (
    REACH,
    SMALL,
    SPREAD,
    Columns,
    add_area,
    add_margin,
    nodes_of,
    step_of,
)
from hmetad.likelihood.tails import FAR, fill_tails

type Floats = NDArray[np.float64]
type Rooms = tuple[Floats, Floats]
type Found = tuple[Floats, Floats, Floats, Floats]

# Columns of the arguments: d′, meta-d′, number of options; then their biases, those of the meta
# level, and gaps.
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
        gaps.
    is_sloped : bool
        Whether the gradient is asked for.

    Returns
    -------
    tuple of array
        Log-likelihood (cells,), and its gradient, of the shape of `at`.
    """
    singles = np.empty((0, 0, 0, 0)), np.empty((0, 0, 0, 0, 0))
    return evaluate(counts, at, is_sloped, singles)


@compiled
def log_outcomes(at: Floats, levels: int, is_sloped: bool) -> tuple[Floats, Floats]:
    """Log P of all outcomes, (cells, m, m, levels), and its derivatives in a further dim."""
    m = int(at[0, OPTIONS]) if len(at) else 0
    numbers = at.shape[1] if is_sloped else 0
    singles = np.zeros((len(at), m, m, levels)), np.zeros((len(at), m, m, levels, numbers))
    evaluate(np.ones((len(at), m * m * levels)), at, False, singles)
    return singles


@compiled
def evaluate(
    counts: Floats, at: Floats, is_sloped: bool, singles: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """`log_likelihood`; `singles` are filled with `log_outcomes` unless they are empty."""
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
    for i in range(cells):
        own = counts[i].reshape(m, m, levels)
        for s in range(m):
            for r in range(m):
                totals[s, r, 0] = own[s, r].sum()
        by_means[:] = 0.0
        b, meta_b = at[i, BIASES : BIASES + m], at[i, BIASES + m : gaps]
        found = by_means, by_y, singles[0][i : i + 1], singles[1][i : i + 1]
        columns = D, BIASES, gaps
        value[i] = level_value(at[i, D] / SQRT2, b, y[:1], totals, columns, rooms, found)
        if is_sloped:
            slopes[i, D] = by_means[m] / SQRT2
            slopes[i, BIASES : BIASES + m] = by_means[:m]
        by_means[:] = 0.0
        if levels > 1:
            for k in range(1, levels):
                y[k] = y[k - 1] + SQRT2 * at[i, gaps + k - 1]
            by_y[:] = 0.0
            columns = META, BIASES + m, gaps
            value[i] += level_value(at[i, META] / SQRT2, meta_b, y, own, columns, rooms, found)
            beyond = 0.0
            for k in range(levels - 1 if is_sloped else 0, 0, -1):
                beyond += by_y[k]
                slopes[i, gaps + k - 1] = SQRT2 * beyond
        if is_sloped:
            slopes[i, META] = by_means[m] / SQRT2
            slopes[i, BIASES + m : gaps] = by_means[:m]
    return value, slopes


@compiled
def level_value(
    d: float, b: Floats, y: Floats, counts: Floats, columns: Columns, rooms: Rooms, found: Found
) -> float:
    """Σ n log P(margin | right option, choice).

    With a single edge it is P(choice | right option). What is `found` gets more: derivatives by the
    biases and d; those by the edges y; and, unless they are empty, log P of the outcomes, and its
    derivatives in these columns.
    """
    m, levels = len(b), len(y)
    by_means, by_y, log_p, jacobian = found
    slopes, moves = np.zeros(m + 1), np.zeros(m + 3)
    by_sums = np.zeros((m, m, levels + 1, m - 1 if jacobian.size > 0 else 0))
    given = 1.0 if levels > 1 else 0.0
    spread = b.max() - b.min() + abs(d)
    sums, weights = np.zeros((m, m, levels + 1)), np.zeros((m, m, levels + 1))
    n, step = nodes_of(min(spread, SPREAD), step_of(m)), step_of(m)
    is_summed = spread <= SPREAD
    if is_summed:
        fill_functions(d, b, y, n, b.min() + min(d, 0.0) - REACH, rooms)
        fill_sums(n, step, rooms, sums, by_sums)
    value = 0.0
    for s in range(m):
        for r in range(m):
            total = counts[s, r].sum()
            for k in range(levels + 1):
                # The last one is the whole, that ratings are given.
                weight = counts[s, r, k] if k < levels else -given * total
                if weight == 0:
                    continue
                lower, upper = (k, k + 1) if k < levels else (0, levels)
                area = sums[s, r, lower] - sums[s, r, upper]
                if area >= SMALL:
                    log_area = math.log(area)
                    weights[s, r, lower] += weight * step / area
                    weights[s, r, upper] -= weight * step / area
                    for j in range(by_sums.shape[3]):
                        slopes[j] = (by_sums[s, r, lower, j] - by_sums[s, r, upper, j]) / area
                    slopes[-2] = by_sums[s, r, lower].sum() / area
                    slopes[-1] = -by_sums[s, r, upper].sum() / area
                else:
                    edge = y[upper] if upper < levels else math.inf
                    log_area = far_area((s, r), d, b, (y[lower], edge), slopes)
                    add_moves((s, r), weight, slopes, by_means)
                    by_y[lower] += weight * slopes[-2]
                    by_y[upper] += weight * slopes[-1]
                value += weight * log_area
                if len(log_p) > 0:
                    moves[: m + 1], moves[-2:] = 0.0, slopes[-2:]
                    add_moves((s, r), 1.0, slopes, moves)
                    outcomes = log_p[0, s, r], jacobian[0, s, r]
                    add_margin(k, levels, log_area, moves, columns, outcomes)
    if is_summed and len(log_p) == 0:
        add_slopes(n, weights, rooms, by_means, by_y)
    return value


@compiled
def far_area(
    at: tuple[int, int], d: float, b: Floats, edges: tuple[float, float], slopes: Floats
) -> float:
    """Log area of a margin; `slopes` are filled by the means of the others, and both edges."""
    (s, r), (lower, upper), others, means = at, edges, np.ones((2, len(b) - 1)), b.copy()
    means[s] += d
    others[0, :r], others[0, r:] = means[:r], means[r + 1 :]
    return add_area(means[r], others, lower, upper, slopes)


@compiled
def add_moves(at: tuple[int, int], weight: float, slopes: Floats, by_means: Floats) -> None:
    """Add weighted derivatives by the biases and d that follow from those by the other means."""
    (s, r), m = at, len(slopes) - 1
    for j in range(m - 1):
        option, pull = j if j < r else j + 1, weight * slopes[j]
        by_means[option] += pull
        by_means[r] -= pull
        if option == s:
            by_means[m] += pull
        if r == s:
            by_means[m] -= pull


@compiled
def fill_functions(d: float, b: Floats, y: Floats, n: int, start: float, rooms: Rooms) -> None:
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
def fill_sums(n: int, step: float, rooms: Rooms, sums: Floats, by_sums: Floats) -> None:
    """Sums of all integrands, by right option, choice and edge.

    And, unless there is no room for them, their derivatives by the means of the other options.
    """
    (functions, of_x), m, levels = rooms, sums.shape[0], sums.shape[2] - 1
    half = levels * m * n
    products, ratios = functions[UNDER], functions[BELOW, half:]
    for k in range(levels):
        for r in range(m):
            at, won = (k * m + r) * n, of_x[WON, r]
            for i in range(n):
                won[i] = of_x[PLAIN, r, i] * products[at + i]
            for s in range(m):
                one, two = of_x[LEADING, r], products[at:]
                if s != r:
                    one, two = won, ratios[(k * m + s) * n :]
                sums[s, r, k] = step * product_sum(n, one, two)
                if by_sums.shape[3] == 0:
                    continue
                for e in range(n):
                    of_x[OWN, 0, e] = one[e] * two[e]
                for j in range(m - 1):
                    option = j if j < r else j + 1
                    hazard = functions[
                        HAZARD, (k * m + option) * n + (half if option == s else 0) :
                    ]
                    by_sums[s, r, k, j] = -step * product_sum(n, of_x[OWN, 0], hazard)


@summed
def product_sum(n: int, a: Floats, b: Floats) -> float:
    """Σ a·b."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@compiled
def add_slopes(n: int, weights: Floats, rooms: Rooms, by_means: Floats, by_y: Floats) -> None:
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
        fill_pulls(n, k, weights, rooms, together)
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
def fill_pulls(n: int, k: int, weights: Floats, rooms: Rooms, together: Floats) -> None:
    """Sums of the integrands U at an edge over choices and over right options."""
    (functions, of_x), m, levels = rooms, len(weights), weights.shape[2] - 1
    half, at, hazards = levels * m * n, k * m * n, functions[HAZARD]
    products, ratios = functions[UNDER], functions[BELOW]
    of_x[BY_RIGHT:] = 0.0
    for r in range(m):
        one, weight = at + r * n, weights[r, r, k]
        for i in range(n):
            of_x[WON, r, i] = of_x[PLAIN, r, i] * products[one + i]
            of_x[OWN, r, i] = weight * of_x[LEADING, r, i] * products[one + i]
    for s in range(m):
        one, two = at + s * n, half + at + s * n
        left, by_right = of_x[LEFT, s], of_x[BY_RIGHT, s]
        for i in range(n):
            left[i] = together[i] - hazards[one + i] + hazards[two + i]
        for r in range(m):
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
