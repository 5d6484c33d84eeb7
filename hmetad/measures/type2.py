"""Type-2 measures: how well confidence tells right from wrong.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → DataArray
(cell), or Dataset where there are several values. Source: Nelson (1984); Higham & Higham (2018);
Fleming & Lau (2014).
"""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.arguments import check_inputs, refuse_same_names
from hmetad.counts.tables import type2_counts
from hmetad.errors import InputError
from hmetad.measures.comparability import unequal_ratings
from hmetad.measures.results import describe, ratio
from hmetad.measures.sdt import z_scores
from hmetad.notice import Notice, notice_where, notices, with_notices
from hmetad.results import attrs_of

__all__ = ["auroc2", "gamma", "mean_confidence", "phi", "type2_roc", "v_statistic"]

GammaEstimator = Literal["trapezoid", "pairs", "gaussian"]
Floats = NDArray[np.float64]


@check_inputs(skip=("counts",))
def type2_roc(counts: xr.DataArray) -> xr.Dataset:
    r"""Type-2 ROC curve: right against wrong trials with at least some rating, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating) or type-2 table with dims (cell,
        correct, rating); further dims are kept.

    Returns
    -------
    Dataset
        Dim point runs along the curve, from (0, 0) over the K − 1 criteria to (1, 1); its
        coordinate ``at_least`` is the lowest rating that counts there, K + 1 (none) down to 1
        (all). Per cell and point: ``false_alarm_rate`` and ``hit_rate`` (probabilities),
        ``false_alarms`` and ``hits`` (trials; at the last point all that were wrong, or right).

    Raises
    ------
    InputError
        If `counts` is neither of the two tables.

    Notes
    -----
    .. math:: H_k = P(rating \ge k \mid right), \quad F_k = P(rating \ge k \mid wrong)

    Source: Galvin, Podd, Drga & Whitmore (2003). A rate of no trials is NaN, with a notice. The
    curve of each response is that of ``type2_counts(counts, response_conditional=True)``.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> curve = type2_roc(from_nr([6, 2, 1, 1], [1, 1, 2, 6])).sel(cell="all")
    >>> curve["false_alarm_rate"].values, curve["hit_rate"].values
    (array([0. , 0.5, 1. ]), array([0.  , 0.75, 1.  ]))
    """
    table = type2_counts(counts)
    wrong, right = wrong_and_right(table)
    false_alarms, hits = from_above(wrong), from_above(right)
    rates = [ratio(trials, trials[..., -1:]) for trials in (false_alarms, hits)]
    values = {
        "false_alarm_rate": rates[0],
        "hit_rate": rates[1],
        "false_alarms": false_alarms,
        "hits": hits,
    }
    K = table.sizes["rating"]
    refuse_same_names(table.coords, ["point", "at_least"])
    like = measure_template(table).expand_dims(point=K + 1, axis=-1)
    curve = dataset_of(like, "type2_roc", values)
    curve = curve.assign_coords(point=np.arange(K + 1), at_least=("point", np.arange(K + 1, 0, -1)))
    return with_notices(curve, notices(table))


@check_inputs(skip=("counts",))
def auroc2(counts: xr.DataArray, *, response_conditional: bool = False) -> xr.DataArray:
    r"""Area under the type-2 ROC curve, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.
    response_conditional : bool, optional
        An area for each response of a count table: dim response is kept.

    Returns
    -------
    DataArray
        ``auroc2`` per cell: the probability that a right trial has a higher rating than a wrong
        one, .5 at chance. NaN where no trial was right, or none wrong, with a notice; another,
        ``"unequal-ratings"``, names cells that use fewer ratings than others.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or has no responses to tell apart.

    Notes
    -----
    With C, D and T the pairs of a right and a wrong trial in which the right one has the higher,
    the lower and the same rating,

    .. math:: A_g = \frac{C + T/2}{C + D + T}

    which is the area by the trapezoidal rule, of all ratings, and never corrected. It depends on
    the number of ratings and where they are cut. Source: Higham & Higham (2018), Eq. 5.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> auroc2(from_nr([6, 2, 1, 1], [1, 1, 2, 6])).item()
    0.625
    """
    table = type2_counts(counts, response_conditional=response_conditional)
    concordant, discordant, tied = pairs(table)
    area = ratio(concordant + tied / 2, concordant + discordant + tied)
    result = describe(measure_template(table), "auroc2", area)
    return with_notices(result, [*notices(table), *unequal_ratings(table)])


@check_inputs(skip=("counts",))
def gamma(counts: xr.DataArray, *, estimator: GammaEstimator = "trapezoid") -> xr.DataArray:
    r"""Gamma, the resolution of confidence, by one of three estimators, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.
    estimator : {"trapezoid", "pairs", "gaussian"}, optional
        ``"trapezoid"``: from the area under the ROC curve, a little too near 0 with few ratings.
        ``"pairs"``: Goodman & Kruskal's, of the pairs that are not tied, too far from 0 with few
        ratings. ``"gaussian"``: from a straight line through the zROC, for confidence that is
        normal in right and wrong trials; it needs K ≥ 3. Recorded in the attrs.

    Returns
    -------
    DataArray
        ``gamma`` per cell, −1 to 1, 0 at chance. NaN with a notice where no trial was right, or
        none wrong; for ``"pairs"`` where all pairs are tied; for ``"gaussian"`` where fewer than
        two points of the curve have both rates between 0 and 1.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or `estimator` none of the three.

    Notes
    -----
    With C, D and T as in `auroc2`,

    .. math::
        G_{trap} = 2A_g - 1 = \frac{C - D}{C + D + T}, \quad G_{pairs} = \frac{C - D}{C + D}, \quad
        G_{gauss} = 2\Phi\!\left(\frac{\delta}{\sqrt{1 + \sigma^2}}\right) - 1

    where wrong trials are N(0, 1) and right ones N(δ, σ). The line z(H) = (δ + z(F))/σ runs through
    the mean of the points with the slope 1/σ = SD z(H) / SD z(F), which treats the two rates alike:
    exchanging right and wrong turns the sign of G and no more. Rates of 0 or 1 are not corrected,
    as Higham & Higham (2018) advise: their points are left out, with a notice, and a criterion that
    no trial sets apart from the next counts once.

    Examples
    --------
    >>> judged = xr.DataArray([[17, 3], [5, 25]], dims=["correct", "rating"])
    >>> gamma(judged, estimator="pairs").round(3).item(), gamma(judged).round(3).item()
    (0.932, 0.683)
    """
    if estimator not in get_args(GammaEstimator):
        raise InputError("estimator", repr(estimator), "'trapezoid', 'pairs' or 'gaussian'")
    table = type2_counts(counts)
    if estimator == "gaussian":
        value, new = gaussian_gamma(table)
    else:
        concordant, discordant, tied = pairs(table)
        among = concordant + discordant + tied * (estimator == "trapezoid")
        value = ratio(concordant - discordant, among)
        new = undefined_notice(table, value, "undefined-gamma.tied")
    refuse_same_names(table.coords, ["gamma"])
    result = measure_template(table).copy(data=value).rename("gamma")
    result.attrs = attrs_of(f"gamma_{estimator}") | {"estimator": estimator}
    return with_notices(result, [*notices(table), *new])


@check_inputs(skip=("counts",))
def v_statistic(counts: xr.DataArray) -> xr.DataArray:
    r"""V: the share of concordant pairs among those that are not tied, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.

    Returns
    -------
    DataArray
        ``v_statistic`` per cell, a probability. NaN where no trial was right, none wrong, or all
        pairs are tied, with a notice.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables.

    Notes
    -----
    .. math:: V = \frac{C}{C + D} = \frac{G_{pairs} + 1}{2}

    with C and D as in `auroc2`. Source: Nelson (1984); Higham & Higham (2018), Eqs. 2 to 4.

    Examples
    --------
    >>> judged = xr.DataArray([[17, 3], [5, 25]], dims=["correct", "rating"])
    >>> v_statistic(judged).round(4).item()
    0.9659
    """
    table = type2_counts(counts)
    concordant, discordant, _ = pairs(table)
    value = ratio(concordant, concordant + discordant)
    result = describe(measure_template(table), "v_statistic", value)
    return with_notices(result, [*notices(table), *undefined_notice(table, value, "undefined-v")])


@check_inputs(skip=("counts",))
def phi(counts: xr.DataArray) -> xr.DataArray:
    r"""Phi: the correlation of being right with the rating, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.

    Returns
    -------
    DataArray
        ``phi`` per cell, −1 to 1. NaN where no trial was right, none wrong, or all have the same
        rating, with a notice.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables.

    Notes
    -----
    Pearson's r over trials, with right as 1 and wrong as 0. With p the share of right trials, and
    s the SD (over n) of all ratings,

    .. math:: \phi = \frac{\bar x_{right} - \bar x_{wrong}}{s} \sqrt{p (1 - p)}

    It takes the ratings for equally spaced. Source: Kornell, Son & Terrace (2007).

    Examples
    --------
    >>> judged = xr.DataArray([[17, 3], [5, 25]], dims=["correct", "rating"])
    >>> phi(judged).round(4).item()
    0.6744
    """
    table = type2_counts(counts)
    wrong, right = wrong_and_right(table)
    rating = table["rating"].to_numpy().astype(float)
    n_wrong, n_right, both = wrong.sum(axis=-1), right.sum(axis=-1), wrong + right
    n = n_wrong + n_right
    distance = rating - ratio(both @ rating, n)[..., None]
    # Not by the variance, which rounding may leave a little above 0.
    varies = (both > 0).sum(axis=-1) > 1
    deviation = np.sqrt(ratio((both * distance**2).sum(axis=-1), np.where(varies, n, 0.0)))
    difference = ratio(right @ rating, n_right) - ratio(wrong @ rating, n_wrong)
    value = difference / deviation * np.sqrt(ratio(n_right * n_wrong, n**2))
    result = describe(measure_template(table), "phi", value)
    return with_notices(result, [*notices(table), *undefined_notice(table, value, "undefined-phi")])


@check_inputs(skip=("counts",))
def mean_confidence(counts: xr.DataArray) -> xr.Dataset:
    """Mean rating of all, of right and of wrong trials, and the difference, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.

    Returns
    -------
    Dataset
        Per cell ``confidence_mean``, whose level is the metacognitive bias of Fleming & Lau (2014),
        ``confidence_right``, ``confidence_wrong`` and ``confidence_difference`` (right − wrong), in
        ratings. NaN where there was no such trial, with a notice.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables.

    Examples
    --------
    >>> judged = xr.DataArray([[15, 5], [5, 15]], dims=["correct", "rating"])
    >>> mean_confidence(judged)["confidence_difference"].item()
    0.5
    >>> mean_confidence(judged)["confidence_mean"].item()
    1.5
    """
    table = type2_counts(counts)
    rating = table["rating"].to_numpy().astype(float)
    wrong, right = wrong_and_right(table)
    of_all, of_wrong, of_right = (
        ratio(side @ rating, side.sum(axis=-1)) for side in (wrong + right, wrong, right)
    )
    values = {
        "confidence_mean": of_all,
        "confidence_right": of_right,
        "confidence_wrong": of_wrong,
        "confidence_difference": of_right - of_wrong,
    }
    return with_notices(dataset_of(measure_template(table), "type2", values), notices(table))


def dataset_of(like: xr.DataArray, section: str, values: Mapping[str, Floats]) -> xr.Dataset:
    """Dataset of the values, each with the attrs of the table of results."""
    return xr.Dataset({name: describe(like, name, x, section) for name, x in values.items()})


def gaussian_gamma(table: xr.DataArray) -> tuple[Floats, list[Notice]]:
    """Gamma of the line through the zROC, and notices on its points."""
    wrong, right = wrong_and_right(table)
    # Without the ends (0, 0) and (1, 1), which have no z.
    z_F, z_H = (z_scores(from_above(x), from_below(x))[0][..., 1:-1] for x in (wrong, right))
    # A rating that nobody used repeats the point before it.
    is_used = (wrong + right)[..., :0:-1] > 0
    has_z = np.isfinite(z_F + z_H)
    (mean_F, sd_F), (mean_H, sd_H) = (moments(z, is_used & has_z) for z in (z_F, z_H))
    # δ/√(1 + σ²) with σ = sd_F/sd_H and δ = σ·mean_H − mean_F; a line may be upright or level.
    value = 2 * ndtr(ratio(sd_F * mean_H - sd_H * mean_F, np.hypot(sd_F, sd_H))) - 1
    left_out = measure_template(table).copy(
        data=(is_used & ~has_z).any(axis=-1) & np.isfinite(value)
    )
    return value, [
        *notice_where(left_out, "zroc-points-left-out"),
        *undefined_notice(table, value, "undefined-gamma.line"),
    ]


def moments(z: Floats, is_point: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Mean and SD over the points of a curve, of which some do not count; (..., points)."""
    n = is_point.sum(axis=-1).astype(float)
    mean = ratio(np.where(is_point, z, 0.0).sum(axis=-1), n)
    deviation = np.where(is_point, z - mean[..., None], 0.0)
    return mean, np.sqrt(ratio((deviation**2).sum(axis=-1), n))


def wrong_and_right(table: xr.DataArray) -> tuple[Floats, Floats]:
    """Wrong and right trials by rating, each (..., K)."""
    values = table.to_numpy().astype(float)
    return values[..., 0, :], values[..., 1, :]


def pairs(table: xr.DataArray) -> tuple[Floats, Floats, Floats]:
    """Pairs of a right and a wrong trial that are concordant, discordant and tied, each (...)."""
    wrong, right = wrong_and_right(table)
    wrong_below = wrong.cumsum(axis=-1) - wrong
    right_below = right.cumsum(axis=-1) - right
    tied = (right * wrong).sum(axis=-1)
    return (right * wrong_below).sum(axis=-1), (wrong * right_below).sum(axis=-1), tied


def from_above(trials: Floats) -> Floats:
    """Trials with at least the ratings K + 1 (none), K, ..., 1 (all), shape (..., K + 1)."""
    none = np.zeros((*trials.shape[:-1], 1))
    return np.concatenate([none, trials[..., ::-1].cumsum(axis=-1)], axis=-1)


def from_below(trials: Floats) -> Floats:
    """Trials with less than the ratings K + 1, K, ..., 1, shape (..., K + 1)."""
    return from_above(trials[..., ::-1])[..., ::-1]


def measure_template(table: xr.DataArray) -> xr.DataArray:
    """Array with the dims and coordinates of a measure of the table; its values mean nothing."""
    return table.isel(correct=0, rating=0, drop=True)


def undefined_notice(table: xr.DataArray, value: Floats, code: str) -> list[Notice]:
    """Notice of the cells without a value though they have right and wrong trials."""
    has_both = (table.sum("rating") > 0).all("correct")
    return notice_where(has_both & np.isnan(value), code)
