"""Maximum of the likelihood of ratings, given d′ and c: meta-d′ and type-2 criteria of every cell.

Counts and z of the type-1 rates (arrays over cells) → `CellEstimates`, at a ratio s = σ_S1/σ_S2 of
the SDs or at the most likely one. The two responses alone carry no information on s: d′ and c fit
them exactly, whatever it is. Source: Maniscalco & Lau (2012).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_minimum
from scipy.special import ndtr, ndtri

from hmetad.base.threads import in_threads
from hmetad.likelihood.compiling import compiled
from hmetad.measures.sdt import Correction, type1_rates, z_scores
from hmetad.mle.newton import FARTHEST, maximise

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

SLOPE = 1e-6
CHUNK = 2000
# Where a cell is begun again, in multiples of |d′|, where its first maximum is suspect.
OTHER_STARTS = (-1.0, 0.1, 2.0)
# Where edges of ratings that nobody used stand.
UNUSED = 1e6
# log s is sought within these limits: the larger SD is up to 4.5 times the smaller.
GRID = np.linspace(-1.5, 1.5, 9)
STEP = 0.01  # of log s and of z, in differences


@dataclass(frozen=True)
class Type1:
    """d′ and c of every cell with their variances and covariance, (cells,)."""

    d: Floats
    c: Floats
    var_d: Floats
    var_c: Floats
    cov: Floats


@dataclass(frozen=True)
class Zs:
    """z of the hit and false-alarm rates of every cell and their variances, (cells,)."""

    hits: Floats
    var_hits: Floats
    false_alarms: Floats
    var_false_alarms: Floats


@dataclass(frozen=True)
class Rule:
    """κ = offset + ratio·meta-d′ of every cell, and how κ follows d′ and c."""

    offset: Floats
    ratio: Floats
    is_relative: bool


def zs_of(counts: Floats, correction: Correction) -> Zs:
    """z of the two rates, from counts (cells, 2, 2, K)."""
    rates = type1_rates(counts, correction)
    hits = z_scores(rates.hits, rates.misses)
    return Zs(*hits, *z_scores(rates.false_alarms, rates.rejections))


def type1_of(z: Zs, s: Floats) -> Type1:
    """d′ and c where variances are as 1 : 1/s², with what sampling leaves uncertain of them."""
    z_h, v_h = z.hits / s, z.var_hits / s**2
    z_f, v_f = z.false_alarms, z.var_false_alarms
    return Type1(z_h - z_f, -(z_h + z_f) / 2, v_h + v_f, (v_h + v_f) / 4, (v_f - v_h) / 2)


def rule_of(type1: Type1, meta_criterion: str) -> Rule:
    """κ as a function of meta-d′; NaN where d′ is 0 and κ = M·c has no meaning."""
    if meta_criterion == "absolute":
        return Rule(type1.c, np.zeros_like(type1.c), is_relative=False)
    ratio = type1.c / np.where(type1.d == 0, np.nan, type1.d)
    return Rule(np.zeros_like(type1.c), ratio, is_relative=True)


@dataclass(frozen=True)
class Maximum:
    """What was found for some of the responses.

    Parameters
    ----------
    m, value, slope : array, shape (cells,)
        meta-d′, ℓ, and the largest first derivative left.
    information : array, shape (cells,)
        About meta-d′, with the criteria estimated too.
    by_offset, by_ratio : array, shape (cells,)
        How meta-d′ moves with κ's offset, and with κ's ratio to meta-d′.
    edges : array, shape (cells, 2, K)
        Distances of the criteria from κ.
    """

    m: Floats
    value: Floats
    slope: Floats
    information: Floats
    by_offset: Floats
    by_ratio: Floats
    edges: Floats


@dataclass(frozen=True)
class CellEstimates:
    """Estimates of every cell at a given s; `sides` holds a maximum per set of responses."""

    type1: Type1
    rule: Rule
    sides: list[Maximum]

    @property
    def value(self) -> Floats:
        """ℓ of the ratings, (cells,)."""
        return np.sum([side.value for side in self.sides], axis=0)

    @property
    def m(self) -> Floats:
        """meta-d′, (cells, sides)."""
        return np.stack([side.m for side in self.sides], axis=-1)


@dataclass(frozen=True)
class Ratings:
    """Counts of ratings that are fitted, and how.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        With what a correction adds.
    z : Zs
        Of the type-1 rates.
    meta_criterion : {"relative", "absolute"}
        κ = M·c, or κ = c.
    responses : tuple of (bool, bool)
        Which responses share a meta-d′: one entry for both, or two.
    """

    counts: Floats
    z: Zs
    meta_criterion: str
    responses: tuple[tuple[bool, bool], ...]

    def estimates(self, s: Floats) -> CellEstimates:
        """d′, c, meta-d′ and criteria of every cell at s = σ_S1/σ_S2, (cells,)."""
        type1 = type1_of(self.z, s)
        rule = rule_of(type1, self.meta_criterion)
        sides = [maximise_cells(self.counts, type1, rule, s, np.array(x)) for x in self.responses]
        return CellEstimates(type1, rule, sides)

    def at(self, cells: Integers) -> "Ratings":
        """The same for some of the cells."""
        z = Zs(*(getattr(self.z, x.name)[cells] for x in fields(Zs)))
        return replace(self, counts=self.counts[cells], z=z)


def maximise_cells(
    counts: Floats, type1: Type1, rule: Rule, s: Floats, has_side: NDArray[np.bool_]
) -> Maximum:
    """Maximum of every cell over meta-d′ and criteria; NaN where there is none."""
    cells, ratings = len(counts), counts.shape[-1]
    best, edges = np.full((cells, 6), np.nan), np.full((cells, 2, ratings), np.nan)
    best[:, 0] = -np.inf
    search = Search(counts, rule, s, has_side, best, edges)
    is_defined = np.isfinite(type1.d + type1.c + rule.ratio) & ~is_separated(counts, has_side)
    maximise_from(search, np.flatnonzero(is_defined), type1.d)
    # A second maximum is rare, and then mostly lies at the other sign of meta-d′.
    m = best[:, 1]
    is_suspect = (m * type1.d <= 0) | (abs(m) > 2 * abs(type1.d) + 1) | (best[:, 2] > SLOPE)
    for factor in OTHER_STARTS:
        maximise_from(search, np.flatnonzero(is_defined & is_suspect), factor * type1.d)
    value, m, slope, bend, by_kappa, first = best.T
    is_found = np.isfinite(value) & (abs(m) <= FARTHEST)
    m, bend = np.where(is_found, m, np.nan), np.where(is_found & (bend < 0), bend, np.nan)
    return Maximum(
        m=m,
        value=np.where(is_found, value, np.nan),
        slope=np.where(is_found, slope, np.nan),
        information=-bend,
        by_offset=-by_kappa / bend,
        by_ratio=-(m * by_kappa + first) / bend,
        edges=np.where(is_found[:, None, None], edges, np.nan),
    )


def is_separated(counts: Floats, has_side: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Cells (cells,) whose likelihood rises without end, as meta-d′ does or falls.

    Of every response that was right and wrong and has two ratings in use, no wrong trial has a
    higher rating than a right one; or none a lower one. Two distributions that lie ever further
    apart have any such ratings in the end (Albert & Anderson 1984, of logistic regression).
    """
    used, places = counts > 0, np.arange(counts.shape[-1])
    sides = [r for r in range(2) if has_side[r]]
    right, wrong = (
        np.stack([used[:, x, r] for x, r in own], axis=1)
        for own in ([(r, r) for r in sides], [(1 - r, r) for r in sides])
    )
    low_right, low_wrong = (np.where(x, places, np.inf).min(axis=-1) for x in (right, wrong))
    top_right, top_wrong = (np.where(x, places, -np.inf).max(axis=-1) for x in (right, wrong))
    lowest, highest = np.minimum(low_right, low_wrong), np.maximum(top_right, top_wrong)
    informs = right.any(axis=-1) & wrong.any(axis=-1) & (lowest < highest)
    rises = (top_wrong <= low_right) | ~informs
    falls = (top_right <= low_wrong) | ~informs
    return informs.any(axis=-1) & (rises.all(axis=-1) | falls.all(axis=-1))


class Search(NamedTuple):
    """What cells are maximised with, and the best that was found of each so far."""

    counts: Floats
    rule: Rule
    s: Floats
    has_side: NDArray[np.bool_]
    best: Floats
    edges: Floats


def maximise_from(search: Search, rows: Integers, start: Floats) -> None:
    """Maximise some of the cells from a start; what is better replaces the best so far."""
    counts, rule, s, has_side, best, edges = search

    def work(part: Integers) -> None:
        own, m, scale = counts[part], start[part], s[part]
        place, found = (rule.offset[part], rule.ratio[part], scale), best[part]
        begin = starting_edges(own, m, place[0] + place[1] * m, scale)
        used, moved, levels = gather_used(own, begin)
        moved[..., 0] = 0.0
        levels = np.where(has_side, levels, 0)
        is_better = maximise(used, levels, m, moved, place, found)
        is_moved = is_better[:, None, None] & has_side[:, None]
        best[part] = found
        edges[part] = np.where(is_moved, spread_used(moved, own, 0.0), edges[part])

    in_threads(work, parts_of(rows))


def parts_of(rows: Integers) -> list[Integers]:
    """Rows in parts that are worth a thread each."""
    return [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)]


def starting_edges(counts: Floats, m: Floats, kappa: Floats, s: Floats) -> Floats:
    """Distances of criteria from κ that give the right responses their observed ratings."""
    edges = np.zeros((len(counts), 2, counts.shape[-1]))
    for r, side in ((0, -1.0), (1, 1.0)):
        smoothed = counts[:, r, r] + 0.5
        beyond = smoothed[:, ::-1].cumsum(axis=1)[:, ::-1] / smoothed.sum(axis=1, keepdims=True)
        scale = s if r == 1 else np.ones_like(s)
        first = scale * side * (kappa - side * m / 2)
        # Far out, where the whole side's area underflows, any rising distances will do.
        first = np.clip(first, -5.0, 5.0)
        outward = -ndtri(beyond * ndtr(-first)[:, None]) - first[:, None]
        edges[:, r] = outward / scale[:, None]
    edges[:, :, 0] = 0.0
    return edges


@compiled
def gather_used(counts: Floats, edges: Floats) -> tuple[Floats, Floats, Integers]:
    """Counts and edges with the ratings that somebody used first, and how many these are.

    Counts (cells, 2 stimuli, responses, ratings), edges (cells, responses, ratings) on the lower
    side of each. Edges of the others rise far away.
    """
    cells, _, responses, ratings = counts.shape
    used, moved = np.zeros_like(counts), np.empty_like(edges)
    levels = np.zeros((cells, responses), np.int64)
    for i in range(cells):
        for r in range(responses):
            number = 0
            for k in range(ratings):
                if counts[i, 0, r, k] + counts[i, 1, r, k] > 0:
                    used[i, 0, r, number] = counts[i, 0, r, k]
                    used[i, 1, r, number] = counts[i, 1, r, k]
                    moved[i, r, number] = edges[i, r, k]
                    number += 1
            for k in range(number, ratings):
                moved[i, r, k] = UNUSED * (1 + k)
            levels[i, r] = number
    return used, moved, levels


@compiled
def spread_used(edges: Floats, counts: Floats, first: float) -> Floats:
    """Edges on the lower side of all ratings, from those of the ratings that somebody used.

    That of a rating nobody used is its neighbour's, or infinite beyond the last, and `first` below
    the first one used.
    """
    cells, responses, ratings = edges.shape
    spread = np.empty_like(edges)
    for i in range(cells):
        for r in range(responses):
            is_used = counts[i, 0, r] + counts[i, 1, r] > 0
            place, levels = 0, is_used.sum()
            for k in range(ratings):
                if place == 0:
                    spread[i, r, k] = first
                else:
                    spread[i, r, k] = edges[i, r, place] if place < levels else np.inf
                place += is_used[k]
    return spread


@dataclass(frozen=True)
class Scale:
    """log s of every cell, and whether it is an end of the range that was searched."""

    log_s: Floats
    is_at_bound: NDArray[np.bool_]


def most_likely_scale(ratings: Ratings) -> Scale:
    """log s that maximises the likelihood of the ratings, over meta-d′ and the criteria too.

    NaN where no s on a grid gives a maximum.
    """

    def cost(log_s: Floats, index: Floats) -> Floats:
        value = ratings.at(index.astype(np.int64)).estimates(np.exp(log_s)).value
        return np.where(np.isfinite(value), -value, np.inf)

    cells = np.arange(len(ratings.counts), dtype=float)
    costs = np.stack([cost(np.full(len(cells), x), cells) for x in GRID], axis=1)
    best = costs.argmin(axis=1)
    is_found = np.isfinite(costs.min(axis=1))
    inner = np.clip(best, 1, len(GRID) - 2)
    is_inside = is_found & (best == inner)
    log_s = np.where(is_found, GRID[best], np.nan)
    rows = np.flatnonzero(is_inside)
    if len(rows):
        bracket = tuple(GRID[inner[rows] + step] for step in (-1, 0, 1))
        # Its type stubs allow functions of one argument only.
        search: Callable[..., Any] = find_minimum
        log_s[rows] = search(cost, bracket, args=(cells[rows],)).x
    return Scale(log_s, is_found & ~is_inside)


def errors_with_scale(ratings: Ratings, scale: Scale) -> dict[str, Floats]:
    r"""Standard errors where s is estimated too, by name.

    With ℓ maximised over meta-d′ and criteria, s moves with the z of the two rates as
    −ℓ_sz/ℓ_ss; every estimate moves with z and with s, and has the error that its own curvature
    leaves. Differences stand for derivatives.
    """
    z = ratings.z

    def at(log_s: int = 0, hits: int = 0, false_alarms: int = 0) -> CellEstimates:
        h, f = z.hits + STEP * hits, z.false_alarms + STEP * false_alarms
        moved = replace(ratings, z=replace(z, hits=h, false_alarms=f))
        return moved.estimates(np.exp(scale.log_s + STEP * log_s))

    up, down, here = at(log_s=1), at(log_s=-1), at()
    own = own_variances(here)
    bend = (up.value + down.value - 2 * here.value) / STEP**2
    is_free = ~scale.is_at_bound
    var_s = np.where(is_free, -1 / np.where(bend < 0, bend, np.nan), 0.0)
    by_s = slopes(up, down)
    total = {name: own[name] + by_s[name] ** 2 * like(var_s, by_s[name]) for name in own}
    total["log_s"] = var_s.copy()
    for name, variance in (("hits", z.var_hits), ("false_alarms", z.var_false_alarms)):
        by_z = slopes(at(**{name: 1}), at(**{name: -1}))
        cross = (
            at(log_s=1, **{name: 1}).value
            - at(log_s=1, **{name: -1}).value
            - at(log_s=-1, **{name: 1}).value
            + at(log_s=-1, **{name: -1}).value
        ) / (4 * STEP**2)
        s_by_z = np.where(is_free, cross * var_s, 0.0)
        total["log_s"] += s_by_z**2 * variance
        for key, by in by_s.items():
            shift = by_z[key] + by * like(s_by_z, by)
            total[key] += shift**2 * like(variance, shift)
    total["log_s"] = np.where(is_free, total["log_s"], np.nan)
    return {name: np.sqrt(values) for name, values in total.items()}


def estimates_of(fitted: CellEstimates) -> dict[str, Floats]:
    """Quantities that get standard errors, by name."""
    d, m = fitted.type1.d, fitted.m
    safe_d = np.where(d == 0, np.nan, d)[:, None]
    return {"dprime": d, "c": fitted.type1.c, "meta_d": m, "m_ratio": m / safe_d}


def own_variances(fitted: CellEstimates) -> dict[str, Floats]:
    """Variance that the ratings alone leave, given s and the type-1 rates."""
    d = fitted.type1.d
    safe_d = np.where(d == 0, np.nan, d)[:, None]
    var_m = 1 / np.stack([side.information for side in fitted.sides], axis=-1)
    none = np.zeros_like(d)
    return {"dprime": none, "c": none, "meta_d": var_m, "m_ratio": var_m / safe_d**2}


def slopes(plus: CellEstimates, minus: CellEstimates) -> dict[str, Floats]:
    """Central differences of all the estimates."""
    right, left = estimates_of(plus), estimates_of(minus)
    return {name: (right[name] - left[name]) / (2 * STEP) for name in right}


def like(per_cell: Floats, values: Floats) -> Floats:
    """Values per cell, to multiply those with a last dim of responses."""
    return per_cell.reshape(-1, *[1] * (values.ndim - 1))
