"""Maximum-likelihood meta-d′ of every cell, after Maniscalco & Lau.

Count table (cell, stimulus, response, rating) → Dataset (cell). d′ and c come from the type-1
table; then meta-d′ and the type-2 criteria maximise the likelihood of the ratings, given stimulus
and response. Source: Maniscalco & Lau (2012, 2014).
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from hmetad.counts.checks import TYPE1_DIMS, require_stimulus
from hmetad.counts.notices import Notice, notice_where, notices, with_notices
from hmetad.errors import InputError
from hmetad.measures.sdt import Correction, added_per_response, type1_rates, z_scores
from hmetad.mle.newton import FARTHEST, maximise

__all__ = ["fit_mle"]

type Floats = NDArray[np.float64]

SOURCE = "Maniscalco & Lau 2012"
SLOPE = 1e-6
CHUNK = 2000
# Where a cell is begun again, in multiples of |d′|, where its first maximum is suspect.
OTHER_STARTS = (-1.0, 0.1, 2.0)
# Of `Maximum`, what comes per response where each has its own meta-d′.
FIELDS = ("m", "value", "slope", "information", "by_offset", "by_ratio")
# name → long_name, units
VARIABLES = {
    "dprime": ("sensitivity d′", "SD of the S1 evidence"),
    "c": ("criterion c", "SD of the S1 evidence"),
    "meta_d": ("metacognitive sensitivity meta-d′", "SD of the S1 evidence"),
    "m_ratio": ("metacognitive efficiency M = meta-d′/d′", "1"),
    "log_m": ("log M", "1"),
    "meta_c": ("criterion at the meta level, κ", "SD of the S1 evidence"),
    "criteria": ("type-2 criteria", "SD of the S1 evidence"),
    "loglik": ("log-likelihood of the ratings, without multinomial coefficients", "nat"),
    "converged": ("whether the maximum was reached", "1"),
    "dprime_se": ("standard error of d′", "SD of the S1 evidence"),
    "c_se": ("standard error of c", "SD of the S1 evidence"),
    "meta_d_se": ("standard error of meta-d′", "SD of the S1 evidence"),
    "m_ratio_se": ("standard error of M", "1"),
    "log_m_se": ("standard error of log M", "1"),
}


@dataclass(frozen=True)
class Type1:
    """d′ and c of every cell with their variances and covariance, (cells,)."""

    d: Floats
    c: Floats
    var_d: Floats
    var_c: Floats
    cov: Floats


@dataclass(frozen=True)
class Rule:
    """κ = offset + ratio·meta-d′ of every cell, and how κ follows d′ and c."""

    offset: Floats
    ratio: Floats
    is_relative: bool


def fit_mle(
    counts: xr.DataArray,
    *,
    meta_criterion: str = "relative",
    s: float = 1.0,
    response_conditional: bool = False,
    correction: Correction = "none",
) -> xr.Dataset:
    r"""Maximum-likelihood d′, c, meta-d′, M and type-2 criteria, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), K ≥ 2; further dims are kept.
    meta_criterion : {"relative", "absolute"}, optional
        κ = M·c, or κ = c.
    s : float, optional
        σ_S1/σ_S2 of the evidence; 1 where variances are equal.
    response_conditional : bool, optional
        An M for each response: meta_d, m_ratio, log_m and meta_c have dim response.
    correction : {"none", "loglinear", "cell"} or float, optional
        What is added to the counts, as in `sdt`; here every rating gets its part of it.

    Returns
    -------
    Dataset
        Per cell: ``dprime``, ``c``, ``meta_d``, ``meta_c`` (κ) and ``criteria`` (response,
        criterion), in SD of the S1 evidence; ``m_ratio``, ``log_m`` (NaN where M ≤ 0);
        ``loglik`` (nat), of ratings given stimulus and response; ``dprime_se``, ``c_se``,
        ``meta_d_se``, ``m_ratio_se``, ``log_m_se``; ``converged``. A criterion that belongs to a
        rating nobody used lies on its neighbour, or at infinity beyond the last.

    Raises
    ------
    InputError
        If the table has no stimulus or no ratings, or an argument is none of the above.

    Notes
    -----
    d′ = z(H)/s − z(F) and c = −z(F) − d′/2. Given both, meta-d′ and the criteria maximise

    .. math:: \ell = \sum_{s,r,k} n_{srk} \log P(k \mid s, r)

    Their covariance is the inverse of the observed information, to which the uncertainty of d′
    and c is added by the delta method, through κ and through M = meta-d′/d′. Where meta-d′ grows
    without bound, as with no errors at all, it is NaN, and a notice ``"meta-d-unbounded"`` says so.

    Examples
    --------
    >>> from hmetad.counts.table import from_nr
    >>> b = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> fitted = fit_mle(b)
    >>> fitted["meta_d"].round(6).item(), fitted["m_ratio"].round(6).item()
    (1.460669, 0.971153)
    """
    check_arguments(counts, meta_criterion, s)
    ordered = counts.transpose(..., *TYPE1_DIMS)
    like = ordered.isel(dict.fromkeys(TYPE1_DIMS, 0), drop=True)
    table = ordered.to_numpy().reshape(-1, *ordered.shape[-3:]).astype(float)
    type1 = type1_estimates(table, s, correction)
    # Every rating gets its part of what a correction adds to a response.
    ratings = table.shape[-1]
    corrected = table + added_per_response(correction, ratings) / ratings
    responses = ((True, False), (False, True)) if response_conditional else ((True, True),)
    rule = rule_of(type1, meta_criterion)
    sides = [maximised(corrected, type1, rule, s, np.array(sides)) for sides in responses]
    estimates = assemble(type1, rule, sides)
    result = labelled(estimates, like, ordered, response_conditional)
    result.attrs |= {
        "meta_criterion": meta_criterion,
        "s": float(s),
        "response_conditional": int(response_conditional),
        "correction": correction if isinstance(correction, str) else float(correction),
    }
    return with_notices(result, [*notices(counts), *problems(result)])


def check_arguments(counts: xr.DataArray, meta_criterion: str, s: float) -> None:
    """Refuse what cannot be fitted, with the reason."""
    require_stimulus(counts, "the meta-d′ model")
    if counts.sizes["rating"] < 2:
        raise InputError("counts", "one rating", "at least two", "sdt() needs no ratings.")
    if meta_criterion not in ("relative", "absolute"):
        raise InputError("meta_criterion", repr(meta_criterion), "'relative' or 'absolute'")
    if isinstance(s, bool | str) or not 0 < s < np.inf:
        raise InputError("s", repr(s), "a number above 0")


def type1_estimates(counts: Floats, s: float, correction: Correction) -> Type1:
    """d′ and c where variances are as 1 : 1/s², with what sampling leaves uncertain of them."""
    rates = type1_rates(counts, correction)
    z_h, v_h = z_scores(rates.hits, rates.misses)
    z_f, v_f = z_scores(rates.false_alarms, rates.rejections)
    z_h, v_h = z_h / s, v_h / s**2
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


def maximised(
    counts: Floats, type1: Type1, rule: Rule, s: float, has_side: NDArray[np.bool_]
) -> Maximum:
    """Maximum of every cell over meta-d′ and criteria; NaN where d′ or c is undefined."""
    cells, ratings = len(counts), counts.shape[-1]
    best = np.full((cells, 6), np.nan)
    best[:, 0] = -np.inf
    edges = np.full((cells, 2, ratings), np.nan)
    scale = np.full(cells, float(s))
    is_defined = np.isfinite(type1.d + type1.c + rule.ratio)
    climb(counts, np.flatnonzero(is_defined), type1.d, rule, scale, has_side, best, edges)
    # A second maximum is rare, and then mostly lies at the other sign of meta-d′.
    m = best[:, 1]
    is_suspect = (m * type1.d <= 0) | (abs(m) > 2 * abs(type1.d) + 1) | (best[:, 2] > SLOPE)
    for factor in OTHER_STARTS:
        rows = np.flatnonzero(is_defined & is_suspect)
        climb(counts, rows, factor * type1.d, rule, scale, has_side, best, edges)
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

    parts = [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)]
    # The compiled loop lets go of the interpreter's lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, parts))


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


def assemble(type1: Type1, rule: Rule, sides: list[Maximum]) -> dict[str, Floats]:
    """All estimates and standard errors; those of meta-d′ have a last dim where sides do."""
    stacked = {name: np.stack([getattr(x, name) for x in sides], axis=-1) for name in FIELDS}
    d, c = type1.d[:, None], type1.c[:, None]
    safe_d = np.where(d == 0, np.nan, d)
    m = stacked["m"]
    kappa = rule.offset[:, None] + rule.ratio[:, None] * m
    if rule.is_relative:
        by_d, by_c = -stacked["by_ratio"] * c / safe_d**2, stacked["by_ratio"] / safe_d
    else:
        by_d, by_c = np.zeros_like(m), stacked["by_offset"]
    own = 1 / stacked["information"]
    ratio = m / safe_d
    var_m = own + quadratic(by_d, by_c, type1)
    var_ratio = own / safe_d**2 + quadratic((by_d - ratio) / safe_d, by_c / safe_d, type1)
    m_ratio_se = np.sqrt(var_ratio)
    is_positive = ratio > 0
    logarithm = np.log(np.where(is_positive, ratio, np.nan))
    edges = (
        sides[0].edges
        if len(sides) == 1
        else np.stack([sides[0].edges[:, 0], sides[1].edges[:, 1]], axis=1)
    )
    inner = np.broadcast_to(kappa, (len(kappa), 2))[:, :, None]
    return {
        "dprime": type1.d,
        "c": type1.c,
        "meta_d": m,
        "m_ratio": ratio,
        "log_m": logarithm,
        "meta_c": kappa,
        "criteria": inner + np.array([-1.0, 1.0])[:, None] * edges[:, :, 1:],
        "loglik": stacked["value"].sum(axis=-1),
        "converged": (stacked["slope"] <= SLOPE).all(axis=-1),
        "dprime_se": np.sqrt(type1.var_d),
        "c_se": np.sqrt(type1.var_c),
        "meta_d_se": np.sqrt(var_m),
        "m_ratio_se": m_ratio_se,
        "log_m_se": m_ratio_se / np.where(is_positive, ratio, np.nan),
    }


def quadratic(by_d: Floats, by_c: Floats, type1: Type1) -> Floats:
    """Variance that d′ and c pass on, by the delta method."""
    var_d, var_c, cov = type1.var_d[:, None], type1.var_c[:, None], type1.cov[:, None]
    return by_d**2 * var_d + by_c**2 * var_c + 2 * by_d * by_c * cov


def labelled(
    estimates: dict[str, Floats], like: xr.DataArray, counts: xr.DataArray, per_response: bool
) -> xr.Dataset:
    """Dataset of the estimates, in the dims of the counts."""
    result = xr.Dataset(coords=like.coords)
    responses = counts["response"].to_numpy()
    for name, values in estimates.items():
        shape, dims = list(like.shape), list(like.dims)
        if name == "criteria":
            shape += [2, counts.sizes["rating"] - 1]
            dims += ["response", "criterion"]
        elif values.ndim == 2 and per_response:
            shape, dims = [*shape, 2], [*dims, "response"]
        result[name] = (dims, values.reshape(shape))
        long_name, units = VARIABLES[name]
        result[name].attrs = {"long_name": long_name, "units": units, "source": SOURCE}
    criteria = np.arange(1, counts.sizes["rating"])
    return result.assign_coords(response=responses, criterion=criteria)


def problems(fitted: xr.Dataset) -> list[Notice]:
    """Notices of cells without an answer, or with a doubtful one."""
    others = [dim for dim in fitted["meta_d"].dims if dim == "response"]
    has_d = fitted["dprime"].notnull() & (fitted["dprime"] != 0)
    missing = fitted["meta_d"].isnull().any(others)
    lost = has_d & missing
    stuck = ~fitted["converged"] & ~missing
    backward = (fitted["m_ratio"] <= 0).any(others)
    return [
        *notice_where(
            ~has_d,
            "undefined-dprime",
            "warning",
            "d′ is undefined or 0, and with it M: a rate is 0, 1 or of no trials, or hits are as "
            "frequent as false alarms; correction= names a remedy for the former.",
            SOURCE,
        ),
        *notice_where(
            lost,
            "meta-d-unbounded",
            "warning",
            "The likelihood has no maximum: meta-d′ grows without bound, or no two ratings were "
            "used. correction= names a remedy.",
            SOURCE,
        ),
        *notice_where(
            stuck,
            "not-converged",
            "warning",
            "The maximum was not reached to the last digits.",
            SOURCE,
        ),
        *notice_where(
            backward,
            "negative-meta-d",
            "warning",
            "M is at most 0: confidence runs backward, and log M is undefined.",
            SOURCE,
        ),
    ]
