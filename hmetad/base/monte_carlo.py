"""Precision of draws: effective draws, R̂ and errors of quantiles, many rows at once.

Draws (row, chain, draw) → one number per row. Chains are split in halves throughout, so that a
drift within a chain shows as well as a difference between chains. Draws that are undefined are left
out here, by the one rule that there is: up to 5 % of those of a row, of that row alone.
Source: Vehtari et al. (2021); Geyer (1992).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import betaincinv, chdtri, ndtri

from hmetad.base.notice_registry import limit

type Floats = NDArray[np.float64]

FEWEST_DRAWS = 4
# Attr of variables whose draws are independent by construction, and so have no chains to check.
# Variables of all fits have another value, so that the sum or difference of both has none.
INDEPENDENT = {"sampling": "independent"}
# Central 68 % of a normal: what ± one standard error covers.
ONE_SE = (0.1586553, 0.8413447)
# Quantiles whose effective draws are those of the tails.
TAILS = (0.05, 0.95)
# Probability that R̂ of any of many values exceeds its limit, although all chains agree.
FALSE_ALARMS = 0.01
# Rows that are checked together: their draws fit the processor's cache.
ROWS_AT_ONCE = 64
# So many values are judged by a fixed limit of R̂.
FEW_VALUES = 20


def has_chains(attrs: Mapping[Any, Any]) -> bool:
    """Whether draws with these attrs may be of chains: those that do not say that they are not.

    Examples
    --------
    >>> has_chains({}), has_chains(INDEPENDENT)
    (True, False)
    """
    return not INDEPENDENT.items() <= attrs.items()


def undefined_share(rows: Floats) -> Floats:
    """Share of the draws of each row, (n, chain, draw), that are undefined, (n,)."""
    share: Floats = (~np.isfinite(rows)).mean(axis=(1, 2))
    return share


def too_undefined(share: Floats) -> NDArray[np.bool_]:
    """Whether so large a share of draws is undefined that the others cannot stand for all.

    Examples
    --------
    >>> too_undefined(np.array([0.0, 0.05, 0.06]))
    array([False, False,  True])
    """
    return share > limit("undefined-draws")


def defined_draws(rows: Floats) -> Floats:
    """Draws of the rows, (n, chain, draw), in which all of them are defined.

    Chains stay as long as each other: they end with the shortest.

    Examples
    --------
    >>> defined_draws(np.array([[[1.0, np.nan, 3.0]], [[4.0, 5.0, 6.0]]])).tolist()
    [[[1.0, 3.0]], [[4.0, 6.0]]]
    """
    whole = np.isfinite(rows).all(axis=0)
    if whole.all():
        return rows
    length = whole.sum(axis=1).min()
    kept = [rows[:, chain, one][:, :length] for chain, one in enumerate(whole)]
    return np.stack(kept, axis=1)


def where_defined(
    rows: Floats, function: Callable[[Floats], dict[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    """Results of a function of rows by their draws that are defined, and `undefined`, their share.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
    function : callable
        Finite rows → dict of arrays with an element per row.

    Returns
    -------
    dict of array, shape (n,)
        NaN of rows of which more than 5 % of the draws are undefined.

    Examples
    --------
    >>> rows = np.ones((2, 1, 40))
    >>> rows[0, 0, 0], rows[1, 0, :20] = np.nan, np.nan
    >>> found = where_defined(rows, lambda x: {"mean": x.mean(axis=(1, 2))})
    >>> {name: values.tolist() for name, values in found.items()}
    {'mean': [1.0, nan], 'undefined': [0.025, 0.5]}
    """
    share = undefined_share(rows)
    is_part = share > 0
    found = function(np.where(is_part[:, None, None], 0.0, rows))
    found = {name: np.where(is_part, np.nan, values) for name, values in found.items()}
    for row in np.flatnonzero(is_part & ~too_undefined(share)):
        for name, value in function(defined_draws(rows[row : row + 1])).items():
            found[name][row] = value[0]
    return {**found, "undefined": share}


def mean_and_interval(
    values: xr.DataArray, sampled: Sequence[str], ci_prob: float
) -> dict[str, xr.DataArray]:
    """Mean and equal-tailed interval of draws, over their dims, by the rule on undefined ones.

    Examples
    --------
    >>> found = mean_and_interval(xr.DataArray(np.arange(101.0), dims="draw"), ["draw"], 0.9)
    >>> {name: round(value.item(), 6) for name, value in found.items()}
    {'mean': 50.0, 'lower': 5.0, 'upper': 95.0}
    """
    lacks: xr.DataArray = ~xr.apply_ufunc(np.isfinite, values)
    is_beyond = xr.apply_ufunc(too_undefined, lacks.mean(sampled))
    kept, some = values.where(~lacks).where(~is_beyond, 0.0), bool(lacks.any())
    found = {"mean": kept.mean(sampled, skipna=some)}
    for side, prob in (("lower", (1 - ci_prob) / 2), ("upper", (1 + ci_prob) / 2)):
        found[side] = kept.quantile(prob, sampled, skipna=some).drop_vars("quantile")
    return {name: value.where(~is_beyond) for name, value in found.items()}


def effective_draws(
    rows: NDArray[np.float64] | NDArray[np.bool_], *, are_chains: bool = True
) -> Floats:
    r"""Effective sample size of each row's mean.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
        Finite values, or an indicator such as ``values <= quantile``.
    are_chains : bool, optional
        Whether draws may depend on those before them.

    Returns
    -------
    array, shape (n,)
        NaN for fewer than four draws a chain; all draws where a row is constant, or draws are
        independent.

    Notes
    -----
    S/τ with :math:`\tau = 1 + 2\sum_t \rho_t`: autocorrelations over split chains are summed in
    pairs of lags, up to the first pair whose sum is not positive, each at most the one before.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(1, 4, 1000))
    >>> 3500 < effective_draws(rows)[0] < 4500
    np.True_
    """
    if rows.shape[2] < FEWEST_DRAWS:
        return np.full(len(rows), np.nan)
    if not are_chains:
        return np.full(len(rows), float(rows.shape[1] * rows.shape[2]))
    return effective_of_split(split_chains(np.asarray(rows, dtype=float)))


def effective_of_split(split: Floats) -> Floats:
    """Effective sample size of the mean of each row of split chains."""
    total = split.shape[1] * split.shape[2]
    is_constant = np.ptp(split, axis=(1, 2)) < np.finfo(float).resolution
    rho = autocorrelations(split)
    pairs = rho[:, ::2] + rho[:, 1::2]
    last, number = pairs.shape[1] - 1, np.arange(len(pairs))
    stops = pairs <= 0
    stop = np.where(stops.any(axis=1), stops.argmax(axis=1), last)
    falling = np.minimum.accumulate(pairs, axis=1)
    summed = np.where(np.arange(last + 1) < stop[:, None], falling, 0).sum(axis=1)
    # Of the pair at which the sum stops, the even lag counts once.
    even, is_kept = rho[number, 2 * stop], pairs[number, stop] >= 0
    tau = 2 * summed - 1 + np.where(is_kept, even, np.maximum(even, 0))
    return np.where(is_constant, float(total), total / np.maximum(tau, 1 / np.log10(total)))


def rank_rhat(rows: Floats) -> Floats:
    r"""Rank-normalised split R̂ of each row: the larger of that of bulk and that of tails.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
        One chain is compared by its halves.

    Returns
    -------
    array, shape (n,)
        NaN for fewer than four draws a chain, and where a row is constant.

    Notes
    -----
    :math:`\hat R = \sqrt{(B/W + n - 1)/n}` of normal scores of the ranks, of the values and of
    their distances from the median.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(1, 4, 1000))
    >>> rank_rhat(np.concatenate([rows, rows + np.arange(4)[:, None]])).round(2)
    array([1.  , 1.54])
    """
    if rows.shape[2] < FEWEST_DRAWS:
        return np.full(len(rows), np.nan)
    split = split_chains(rows)
    return rhat_of_split(split, normal_scores(split))


def rhat_limit(rows: Floats, values: int) -> Floats:
    r"""R̂ that no row is expected to exceed if all chains sample one distribution.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
        Rows whose limits are computed.
    values : int
        Number of values that are checked together.

    Returns
    -------
    array, shape (n,)
        Limit of `rank_rhat` for each row. NaN where a row is constant.

    Notes
    -----
    With k split chains of h draws, :math:`\hat R^2 = (h - 1)/h + B/(hW)`. If chains sample one
    distribution, the variance of their means is :math:`\sigma^2 k/\mathrm{ESS}`, so any of N
    values exceeds

    .. math:: \sqrt{1 - \frac{1}{h} + \frac{k}{\mathrm{ESS}}
              \frac{\chi^2_{k-1;\,1-\alpha/(2N)}}{k - 1}}

    with probability α = .01 at most. ESS is the smaller one of the two parts of R̂: normal scores of
    the ranks, and of the distances from the median. Its autocorrelations are those within chains:
    with the differences between chains in them, a chain that stands apart would raise its limit.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(1, 4, 250))
    >>> rhat_limit(rows, 1).round(3), rhat_limit(rows, 5000).round(3)
    (array([1.007]), array([1.017]))
    """
    split = split_chains(rows)
    chains, draws = split.shape[1:]
    parts = normal_scores(split), normal_scores(distances_from_median(split))
    centred = [scores - scores.mean(axis=2, keepdims=True) for scores in parts]
    effective = np.minimum(*map(effective_of_split, centred))
    largest = chdtri(chains - 1, FALSE_ALARMS / (2 * values)) / (chains - 1)
    return np.sqrt(1 - 1 / draws + chains / effective * largest)


def chains_disagree(rows: Floats, rhat: Floats, values: int) -> NDArray[np.bool_]:
    """Whether R̂ of each row is too high: above 1.01, and above the limit for so many values.

    Up to 20 values are judged by 1.01 alone; of many, some exceed any fixed limit by chance.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(2, 4, 250))
    >>> rows[1, 0] += 1
    >>> chains_disagree(rows, rank_rhat(rows), 5000)
    array([False,  True])
    """
    is_high: NDArray[np.bool_] = ~(rhat <= limit("rhat"))
    if values > FEW_VALUES:
        high = np.flatnonzero(is_high)
        for first in range(0, len(high), ROWS_AT_ONCE):
            some = high[first : first + ROWS_AT_ONCE]
            is_high[some] = ~(rhat[some] <= rhat_limit(rows[some], values))
    return is_high


def check_chains(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """R̂ and effective draws of bulk and tails of each row.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
        Finite values.

    Returns
    -------
    tuple of array, shape (n,)
        R̂ as of `rank_rhat`; effective draws of the mean of the normal scores of the ranks; the
        smaller of the effective draws of quantiles .05 and .95. NaN for fewer than four draws a
        chain.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(1, 4, 1000))
    >>> rhat, bulk, tail = check_chains(rows)
    >>> (rhat.round(2), bulk > 3500, tail > 3000)
    (array([1.]), array([ True]), array([ True]))
    """
    if rows.shape[2] < FEWEST_DRAWS:
        unknown = np.full(len(rows), np.nan)
        return unknown, unknown, unknown
    split = split_chains(rows)
    scores = normal_scores(split)
    ordered = np.sort(rows.reshape(len(rows), -1), axis=1)
    ends = [row_quantile(ordered, np.full(len(rows), prob)) for prob in TAILS]
    tails = [effective_draws(rows <= end[:, None, None]) for end in ends]
    return rhat_of_split(split, scores), effective_of_split(scores), np.minimum(*tails)


def quantile_error(
    rows: Floats, ordered: Floats, prob: Floats, *, are_chains: bool = True
) -> tuple[Floats, Floats]:
    """Monte Carlo standard error of a quantile of each row, and its effective draws.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
    ordered : array, shape (n, chain × draw)
        The same values, sorted within each row.
    prob : array, shape (n,)
        Probability of the quantile.
    are_chains : bool, optional
        As of `effective_draws`.

    Returns
    -------
    tuple of array, shape (n,)
        Error, and effective sample size of the indicator of draws at or below the quantile.

    Notes
    -----
    With that many draws the true probability of the quantile is Beta(ESS·p + 1, ESS·(1 - p) + 1)
    distributed; the error is half the distance between the quantiles at the ends of its central
    68 % interval.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(size=(1, 4, 1000))
    >>> error, _ = quantile_error(rows, np.sort(rows.reshape(1, -1)), np.array([0.5]))
    >>> 0.015 < error[0] < 0.025  # √(π/2 / 4000) = .0198
    np.True_
    """
    quantile = row_quantile(ordered, prob)
    effective = effective_draws(rows <= quantile[:, None, None], are_chains=are_chains)
    size, number = ordered.shape[1], np.arange(len(ordered))
    a, b = effective * prob + 1, effective * (1 - prob) + 1
    below, above = (betaincinv(a, b, end) * size - 1 for end in ONE_SE)
    known = np.isfinite(effective)
    first = np.floor(np.clip(np.where(known, below, 0), 0, size - 1)).astype(int)
    last = np.ceil(np.clip(np.where(known, above, 0), 0, size - 1)).astype(int)
    error = (ordered[number, last] - ordered[number, first]) / 2
    return np.where(known, error, np.nan), effective


def share_interval(share: Floats, effective: Floats) -> tuple[Floats, Floats]:
    """Ends of the 95 % interval of a share of draws, given its effective draws.

    Parameters
    ----------
    share, effective : array, shape (n,)

    Returns
    -------
    tuple of array, shape (n,)
        Quantiles .025 and .975 of Beta(ESS·share + 1, ESS·(1 - share) + 1).

    Examples
    --------
    >>> lower, upper = share_interval(np.array([0.0]), np.array([998.0]))
    >>> (lower.round(5), upper.round(5))
    (array([3.e-05]), array([0.00369]))
    """
    a, b = effective * share + 1, effective * (1 - share) + 1
    return betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)


def row_quantile(ordered: Floats, prob: Floats) -> Floats:
    """Quantile of each sorted row, (n, draws) and (n,) → (n,), linear between order statistics.

    Examples
    --------
    >>> row_quantile(np.array([[0.0, 1.0, 2.0]]), np.array([0.25]))
    array([0.5])
    """
    place = np.asarray(prob) * (ordered.shape[1] - 1)
    below = place.astype(int)
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    number, part = np.arange(len(ordered)), place - below
    lower, upper = ordered[number, below], ordered[number, above]
    # Beside an equal neighbour the quantile is that value exactly, not within rounding of it.
    return np.where(lower == upper, lower, lower * (1 - part) + upper * part)


def split_chains(rows: Floats) -> Floats:
    """Halves of the chains as chains, (n, 2·chain, draw // 2); an odd draw in the middle is out."""
    half = rows.shape[2] // 2
    return np.concatenate([rows[..., :half], rows[..., rows.shape[2] - half :]], axis=1)


def autocorrelations(split: Floats) -> Floats:
    """Autocorrelation by lag of each row, (n, lags), with the variance between chains in it."""
    n = split.shape[2]
    means = split.mean(axis=2)
    transform = rfft(split - means[..., None], next_fast_len(2 * n, real=True), axis=2)
    # The inverse is linear: chains are averaged first, and transformed back once.
    power = (transform.real**2 + transform.imag**2).mean(axis=1)
    covariance = irfft(power, next_fast_len(2 * n, real=True), axis=1)[:, :n] / n
    within = covariance[:, :1] * n / (n - 1)
    variance = covariance[:, :1] + means.var(axis=1, ddof=1)[:, None]
    with np.errstate(invalid="ignore"):
        rho = 1 - (within - covariance) / variance
    rho[:, 0] = 1
    # An even number of lags, below n - 1: a sum of fewer than two products is too rough.
    return rho[:, : max(2, 2 * ((n - 1) // 2))]


def rhat_of_split(split: Floats, scores: Floats) -> Floats:
    """R̂ of each row of split chains, whose normal scores are given: of bulk, or of tails."""
    folded = normal_scores(distances_from_median(split))
    return np.maximum(classic_rhat(scores), classic_rhat(folded))


def distances_from_median(split: Floats) -> Floats:
    """Distance of each draw from the median of its row."""
    return abs(split - np.median(split, axis=(1, 2), keepdims=True))


def classic_rhat(scores: Floats) -> Floats:
    """Classic R̂ of each row of scores, (n, chain, draw) → (n,)."""
    n = scores.shape[2]
    between = n * scores.mean(axis=2).var(axis=1, ddof=1)
    within = scores.var(axis=2, ddof=1).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def normal_scores(split: Floats) -> Floats:
    """Normal quantiles of the ranks within each row, in its shape; ties share a rank."""
    flat = split.reshape(len(split), -1)
    order, size = np.argsort(flat, axis=1), flat.shape[1]
    # Ranks that ties share are halves of whole numbers: by the sum of first and last place.
    by_places = ndtri((np.arange(2 * size - 1) / 2 + 1 - 3 / 8) / (size + 1 / 4))
    ordered = np.take_along_axis(flat, order, axis=1)
    sorted_scores = np.broadcast_to(by_places[::2], flat.shape)
    differs = ordered[:, 1:] != ordered[:, :-1]
    tied = ~differs.all(axis=1)
    if tied.any():
        sorted_scores = sorted_scores.copy()
        sorted_scores[tied] = by_places[places_of_ties(differs[tied])]
    scores = np.empty_like(flat)
    np.put_along_axis(scores, order, sorted_scores, axis=1)
    return scores.reshape(split.shape)


def places_of_ties(differs: NDArray[np.bool_]) -> NDArray[np.intp]:
    """First plus last place that each sorted value shares, from where neighbours differ."""
    rows, steps = differs.shape
    place, edge = np.arange(steps + 1), np.ones((rows, 1), dtype=bool)
    begins, ends = np.hstack([edge, differs]), np.hstack([differs, edge])
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, steps)[:, ::-1], axis=1)[:, ::-1]
    return first + last
