"""The unequal-variance signal-detection model of confidence ratings, by maximum likelihood.

Count table (cell, stimulus, response, rating) → Dataset (cell): one ROC through all 2K − 1
operating points.
Source: Green & Swets (1966); Dorfman & Alf (1969); Simpson & Fitter (1973) for d_a.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, xlogy
from scipy.stats import chi2

from hmetad.base.arguments import check_inputs
from hmetad.base.notice import copy_notices, notices_where
from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.tails import log_area, log_tail, mills
from hmetad.measures.sdt import Correction, corrected
from hmetad.mle.estimates import label_estimates, table_of
from hmetad.mle.maximum import gather_used, spread_used
from hmetad.mle.search import Rule, factorise, maximise_compiled

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

SLOPE = 1e-6
FARTHEST = 20.0  # of a; beyond, it grows without bound
FARTHEST_SCALE = 3.0  # of log s
SQRT2 = np.sqrt(2.0)


@check_inputs(skip=("counts",))
def uvsdt(counts: xr.DataArray, *, correction: Correction = "none") -> xr.Dataset:
    r"""Maximum likelihood of the unequal-variance ROC, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), K ≥ 2; further dims are kept.
    correction : {"none", "loglinear", "cell"} or float, optional
        Amount added to the counts, as in `sdt`; here every rating gets an equal part of it.

    Returns
    -------
    Dataset
        Per cell: ``dprime`` (distance of the means), ``c`` and ``criteria`` (response, criterion),
        in SD of the S1 evidence; ``s``; ``d_a``; ``a_z``; their standard errors ``*_se``;
        ``loglik`` (nat); ``g_squared``, ``df``, ``p_value`` of the fit; ``converged``. The
        criterion of an unused rating equals its neighbour, or is infinite beyond the last.

    Raises
    ------
    InputError
        If the table has no stimulus or a single rating, or `correction` is none of the above.

    Notes
    -----
    Evidence is N(−d/2, 1) for S1 and N(d/2, 1/s) for S2; responses and ratings divide its axis at
    2K − 1 cut points. Then zROC is a line, z(H) = s·d + s·z(F), and

    .. math::
        d_a = d \sqrt{\frac{2}{1 + 1/s^2}}, \quad A_z = \Phi(d_a / \sqrt2)

    G² compares it with free probabilities of all outcomes; with L categories in use it has
    L − 3 degrees of freedom. Standard errors come from the observed information by the
    delta method. With fewer than three categories in use, or if the likelihood grows without bound,
    all results are NaN, with a notice ``"roc-undefined"``.

    This is the type-1 model, in which response and confidence use the same axis: it assumes M = 1.
    For the s of the meta-d′ model, use `fit_mle` with ``s="estimate"``.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> b = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> fitted = uvsdt(b)
    >>> fitted["s"].round(3).item(), fitted["a_z"].round(3).item()
    (1.084, 0.854)
    """
    ordered, table = table_of(counts, "uvsdt")
    table = corrected(table, correction)
    # From surely S1 to surely S2.
    scale = np.concatenate([table[:, :, 0, ::-1], table[:, :, 1]], axis=-1)
    fitted, cut = fit_rocs(scale)
    result = label_estimates(estimates(fitted, cut), "uvsdt", ordered)
    result.attrs["correction"] = correction if isinstance(correction, str) else float(correction)
    lost = result["s"].isnull()
    masks = {"roc-undefined": lost, "not-converged.roc": ~result["converged"] & ~lost}
    return copy_notices(result, counts, notices_where(masks))


def fit_rocs(counts: Floats) -> tuple[dict[str, Floats], Floats]:
    """What is found of each cell by name, and all its cut points; NaN where there is no maximum.

    Counts have dims (cells, stimulus, category). `boundary` is the cut point between the responses,
    t in covariances is that one; `full` is ℓ with a probability for every category.
    """
    cells, _, categories = counts.shape
    t, a, log_s = starts(counts)
    lower = np.column_stack([np.full(cells, -np.inf), t])
    gathered = gather_used(counts[:, :, None], lower[:, None])
    used, lower, levels = gathered[0][:, :, 0], gathered[1][:, 0], gathered[2][:, 0]
    totals = counts.sum(axis=-1)
    is_fit = ~is_separated(counts) & (levels > 2) & (totals > 0).all(axis=1)
    rows = np.flatnonzero(is_fit)
    points, found = np.column_stack([lower[:, 1:], a, log_s]), np.empty((cells, 2))
    at, width, slope, curve, link = np.zeros((5, categories + 1))
    edges = Edges(at, width, slope, curve, link, np.zeros((2, categories + 1)))
    data = Roc(used[rows], levels[rows], edges)
    own, own_found = points[rows], found[rows]
    information = np.zeros((len(rows), *[points.shape[1]] * 2))
    maximise_rocs(data, search_rule(categories - 1), own, own_found, information)
    points[rows], found[rows] = own, own_found
    is_fit &= (abs(points[:, -2]) <= FARTHEST) & (abs(points[:, -1]) <= FARTHEST_SCALE)
    below = (counts.sum(axis=1) > 0)[:, : categories // 2].sum(axis=1)
    has_middle = is_fit & (below > 0) & (below < levels)
    covariance = np.full((cells, *information.shape[1:]), np.nan)
    covariance[rows] = np.linalg.inv(information)
    at, cell = np.maximum(below - 1, 0), np.arange(cells)

    def where(mask: NDArray[np.bool_], values: Floats) -> Floats:
        return np.where(mask, values, np.nan)

    with np.errstate(invalid="ignore"):
        full = (xlogy(counts, counts).sum(axis=-1) - xlogy(totals, totals)).sum(axis=-1)
    spread = np.column_stack([np.full(cells, -np.inf), points[:, : categories - 1]])
    cut = spread_used(spread[:, None], counts[:, :, None], -np.inf)[:, 0, 1:]
    return {
        "value": where(is_fit, found[:, 0]),
        "a": where(is_fit, points[:, -2]),
        "log_s": where(is_fit, points[:, -1]),
        "slope": where(is_fit, found[:, 1]),
        "boundary": where(has_middle, points[cell, at]),
        "var_a": where(is_fit, covariance[:, -2, -2]),
        "cov_as": where(is_fit, covariance[:, -2, -1]),
        "var_s": where(is_fit, covariance[:, -1, -1]),
        "var_t": where(has_middle, covariance[cell, at, at]),
        "cov_ta": where(has_middle, covariance[cell, at, -2]),
        "cov_ts": where(has_middle, covariance[cell, at, -1]),
        "levels": where(is_fit, levels.astype(float)),
        "full": where(is_fit, np.asarray(full, dtype=float)),
    }, np.where(is_fit[:, None], cut, np.nan)


class Edges(NamedTuple):
    """Lower edges of categories (levels,), derivatives of ℓ by them, and of them by shifts.

    `width` is the way to the next edge, which keeps its digits where edges are close. Of `link`, k
    is by edges k and k + 1. `by` has a row for each unknown that shifts all edges.
    """

    at: Floats
    width: Floats
    slope: Floats
    curve: Floats
    link: Floats
    by: Floats


class Roc(NamedTuple):
    """Counts (cells, stimulus, category) of the categories in use, of which there are `levels`."""

    counts: Floats
    levels: Integers
    edges: Edges


@cache
def search_rule(cuts: int) -> Rule:
    """How cut points, a and log s are moved to."""
    largest, far = np.full((2, cuts + 2), np.inf)
    largest[-2:] = 0.7
    far[-2:] = FARTHEST, FARTHEST_SCALE
    return Rule(-largest, largest, far, 1e-9, 1e-13, 200)


@compiled
def maximise_rocs(
    data: Roc, rule: Rule, points: Floats, found: Floats, information: Floats
) -> None:
    """Move to cut points, a and log s of cells: ℓ, the largest slope, and the information.

    What is not positive definite has NaN on its diagonal.
    """
    cells, size = points.shape
    bounds = np.empty((cells, 2))
    bounds[:, 0], bounds[:, 1] = -np.inf, np.inf
    maximise_compiled(evaluate_roc, data, rule, points, bounds, found)
    slopes, factor = np.zeros(size), np.zeros((size, size))
    for i in range(cells):
        evaluate_roc(points[i], i, data, slopes, information[i])
        is_definite = factorise(size, information[i], 0.0, factor)
        for j in range(size):
            for k in range(j):
                information[i, k, j] = information[i, j, k]
            if not is_definite:
                information[i, j] = np.nan


@compiled
def evaluate_roc(x: Floats, cell: int, data: Roc, slopes: Floats, bend: Floats) -> float:
    """ℓ of a cell: category k of S1 has the area of N(0, 1) between t_k and t_{k+1}.

    Of S2 it has that between s·t_k − a and s·t_{k+1} − a (Dorfman & Alf 1969).
    """
    all_counts, all_levels, edges = data
    at, width, slope, _, _, by = edges
    used, a, s = all_levels[cell], x[-2], math.exp(x[-1])
    for k in range(max(used - 1, 0), len(x) - 2):
        bend[k, k] = 1.0
    value = 0.0
    at[0], by[:, 0] = -np.inf, 0.0
    for stimulus in range(2):
        scale, shift = (s, a) if stimulus == 1 else (1.0, 0.0)
        for k in range(1, used):
            at[k] = scale * x[k - 1] - shift
            by[0, k], by[1, k] = -1.0, scale * x[k - 1]
            if k < used - 1:
                width[k] = scale * (x[k] - x[k - 1])
        counts = all_counts[cell, stimulus]
        value += add_row(counts, used, scale, 2 * stimulus, edges, slopes, bend)
    # Cut points of S2 move by log s in proportion to themselves.
    for k in range(1, used):
        bend[-1, k - 1] -= s * slope[k]
        bend[-1, -1] -= s * x[k - 1] * slope[k]
    return value


@compiled
def set_derivatives(counts: Floats, levels: int, edges: Edges) -> float:
    """ℓ of counts; the first category begins at -∞, and the last reaches to infinity."""
    at, width, slope, curve, link, _ = edges
    slope[:levels] = 0.0
    curve[:levels] = 0.0
    link[:levels] = 0.0
    value, lower, mills_lower = 0.0, at[0], 0.0
    for k in range(levels):
        n = counts[k]
        if k == levels - 1:
            if n > 0:
                log_share, hazard = log_tail(lower, mills_lower)
                value += n * log_share
                slope[k] -= n * hazard
                curve[k] -= n * hazard * (hazard - lower)
            break
        upper = at[k + 1]
        mills_upper = mills(abs(upper))
        if n > 0 and lower == -np.inf:
            log_share, hazard = log_tail(-upper, mills_upper)
            value += n * log_share
            slope[k + 1] += n * hazard
            curve[k + 1] -= n * hazard * (hazard + upper)
        elif n > 0:
            log_share, high, tilt = log_area(lower, width[k], mills_lower, mills_upper)
            low = high - tilt
            value += n * log_share
            slope[k + 1] += n * high
            slope[k] -= n * low
            curve[k + 1] -= n * high * (upper + high)
            curve[k] += n * low * (lower - low)
            link[k] += n * low * high
        lower, mills_lower = upper, mills_upper
    return value


@compiled
def add_row(
    counts: Floats, used: int, scale: float, shifts: int, edges: Edges, slopes: Floats, bend: Floats
) -> float:
    """Add derivatives by the unknowns, and return ℓ.

    Edges from the second on are `scale` times the unknowns, plus so many shifts by the last ones.
    Of minus the Hessian the lower triangle is set.
    """
    value = set_derivatives(counts, used, edges)
    _, _, slope, curve, link, by = edges
    first = len(slopes) - shifts
    for k in range(used):
        own = k - 1
        if k > 0:
            slopes[own] += scale * slope[k]
            bend[own, own] -= scale * scale * curve[k]
        if k > 1:
            bend[own, own - 1] -= scale * scale * link[k - 1]
        for i in range(shifts):
            # How the slope by edge k moves with the shift.
            moved = curve[k] * by[i, k] + link[k] * by[i, k + 1]
            if k > 0:
                moved += link[k - 1] * by[i, k - 1]
                bend[first + i, own] -= scale * moved
            slopes[first + i] += slope[k] * by[i, k]
            for j in range(i + 1):
                bend[first + i, first + j] -= moved * by[j, k]
    return value


def is_separated(scale: Floats) -> NDArray[np.bool_]:
    """Whether the categories of the two stimuli share one at most: d then grows without bound."""
    used = scale > 0
    first = used.argmax(axis=-1)
    last = used.shape[-1] - 1 - used[..., ::-1].argmax(axis=-1)
    return (first[:, 1] >= last[:, 0]) | (first[:, 0] >= last[:, 1])


def starts(scale: Floats) -> tuple[Floats, Floats, Floats]:
    """Cut points, separation and log s from the line through the smoothed zROC."""
    smoothed = scale + 0.5
    below = smoothed.cumsum(axis=-1)[..., :-1] / smoothed.sum(axis=-1, keepdims=True)
    t, z_of_s2 = np.moveaxis(ndtri(below), 1, 0)
    centred = t - t.mean(axis=-1, keepdims=True)
    slope = (centred * z_of_s2).sum(axis=-1) / (centred**2).sum(axis=-1)
    s = np.clip(slope, 0.3, 3.0)
    return t, s * t.mean(axis=-1) - z_of_s2.mean(axis=-1), np.log(s)


def estimates(fitted: dict[str, Floats], cut: Floats) -> dict[str, Floats]:
    """All the quantities of `uvsdt`, under their names."""
    a, s = fitted["a"], np.exp(fitted["log_s"])
    d, norm = a / s, np.sqrt(1 + s**2)
    d_a = SQRT2 * a / norm
    ratings = (cut.shape[-1] + 1) // 2
    axis = cut - d[:, None] / 2
    sides = np.stack([axis[:, ratings - 2 :: -1][:, : ratings - 1], axis[:, ratings:]], axis=1)
    # Gradients by (t, a, log s), t the cut point between the responses.
    errors = {
        "dprime_se": (0.0, 1 / s, -d),
        "c_se": (1.0, -0.5 / s, d / 2),
        "s_se": (0.0, 0.0, s),
        "d_a_se": (0.0, SQRT2 / norm, -d_a * s**2 / norm**2),
    }
    se = {name: standard_error(fitted, *gradient) for name, gradient in errors.items()}
    g_squared = np.maximum(2 * (fitted["full"] - fitted["value"]), 0.0)
    df = fitted["levels"] - 3
    density = np.exp(-(d_a**2) / 4) / np.sqrt(2 * np.pi)
    return {
        "dprime": d,
        "c": fitted["boundary"] - d / 2,
        "s": s,
        "d_a": d_a,
        "a_z": ndtr(d_a / SQRT2),
        **se,
        "a_z_se": density * se["d_a_se"] / SQRT2,
        "criteria": sides,
        "loglik": fitted["value"],
        "g_squared": g_squared,
        "df": df,
        "p_value": chi2.sf(g_squared, np.where(df > 0, df, np.nan)),
        "converged": fitted["slope"] <= SLOPE,
    }


def standard_error(
    fitted: dict[str, Floats], by_t: Floats | float, by_a: Floats | float, by_s: Floats | float
) -> Floats:
    """Standard error of a quantity with these derivatives."""
    variance = (
        by_a * by_a * fitted["var_a"]
        + by_s * by_s * fitted["var_s"]
        + 2 * by_a * by_s * fitted["cov_as"]
    )
    if by_t:
        variance = variance + by_t * (
            by_t * fitted["var_t"] + 2 * by_a * fitted["cov_ta"] + 2 * by_s * fitted["cov_ts"]
        )
    return np.sqrt(variance)
