"""Maximum of the likelihood of ratings, given d′ and c: meta-d′ and type-2 criteria of every cell.

Counts and type-1 estimates (arrays over cells) → `Maximum`. Source: Maniscalco & Lau (2012).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from hmetad.measures.sdt import Correction, type1_rates, z_scores
from hmetad.mle.newton import FARTHEST, maximise
from hmetad.threads import in_threads

__all__ = [
    "SLOPE",
    "Fitted",
    "Maximum",
    "Rule",
    "Type1",
    "Zs",
    "fitted_at",
    "is_separated",
    "parts_of",
    "rows_of",
    "starting_edges",
    "type1_of",
    "zs_of",
]

type Floats = NDArray[np.float64]

SLOPE = 1e-6
CHUNK = 2000
# Where a cell is begun again, in multiples of |d′|, where its first maximum is suspect.
OTHER_STARTS = (-1.0, 0.1, 2.0)


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
class Fitted:
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


def fitted_at(
    counts: Floats,
    z: Zs,
    s: Floats,
    meta_criterion: str,
    responses: tuple[tuple[bool, bool], ...],
) -> Fitted:
    """d′, c, meta-d′ and criteria of every cell.

    Parameters
    ----------
    counts : array, shape (cells, 2, 2, K)
        With what a correction adds.
    z : Zs
        Of the type-1 rates.
    s : array, shape (cells,)
        σ_S1/σ_S2.
    meta_criterion : {"relative", "absolute"}
        κ = M·c, or κ = c.
    responses : tuple of (bool, bool)
        Which responses share a meta-d′: one entry for both, or two.
    """
    type1 = type1_of(z, s)
    rule = rule_of(type1, meta_criterion)
    sides = [maximise_cells(counts, type1, rule, s, np.array(chosen)) for chosen in responses]
    return Fitted(type1, rule, sides)


def rows_of(z: Zs, rows: NDArray[np.int64]) -> Zs:
    """z of some of the cells."""
    return Zs(z.hits[rows], z.var_hits[rows], z.false_alarms[rows], z.var_false_alarms[rows])


def maximise_cells(
    counts: Floats, type1: Type1, rule: Rule, s: Floats, has_side: NDArray[np.bool_]
) -> Maximum:
    """Maximum of every cell over meta-d′ and criteria; NaN where there is none."""
    cells, ratings = len(counts), counts.shape[-1]
    best = np.full((cells, 6), np.nan)
    best[:, 0] = -np.inf
    edges = np.full((cells, 2, ratings), np.nan)
    is_defined = np.isfinite(type1.d + type1.c + rule.ratio) & ~is_separated(counts, has_side)
    climb(counts, np.flatnonzero(is_defined), type1.d, rule, s, has_side, best, edges)
    # A second maximum is rare, and then mostly lies at the other sign of meta-d′.
    m = best[:, 1]
    is_suspect = (m * type1.d <= 0) | (abs(m) > 2 * abs(type1.d) + 1) | (best[:, 2] > SLOPE)
    for factor in OTHER_STARTS:
        rows = np.flatnonzero(is_defined & is_suspect)
        climb(counts, rows, factor * type1.d, rule, s, has_side, best, edges)
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


def climb(
    counts: Floats,
    rows: NDArray[np.int64],
    start: Floats,
    rule: Rule,
    s: Floats,
    has_side: NDArray[np.bool_],
    best: Floats,
    edges: Floats,
) -> None:
    """Maximise some of the cells from a start; what is better replaces what `best` holds."""

    def work(part: NDArray[np.int64]) -> None:
        own = np.ascontiguousarray(counts[part])
        m, offset, ratio, scale = start[part], rule.offset[part], rule.ratio[part], s[part]
        found, found_edges = best[part], edges[part]
        begin = starting_edges(own, m, offset + ratio * m, scale)
        maximise(own, m, begin, offset, ratio, scale, has_side, found, found_edges)
        best[part], edges[part] = found, found_edges

    in_threads(work, parts_of(rows))


def parts_of(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
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
