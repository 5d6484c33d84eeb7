"""Type-2 measures: how well confidence tells right from wrong, and how high it is.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → DataArray
(cell), or Dataset where there are several values. Source: Nelson (1984); Higham & Higham (2018);
Fleming & Lau (2014); Lichtenstein, Fischhoff & Phillips (1982) for over-confidence; O'Neill &
Fleming (2026) for meta-Δ.
"""

import json
from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers
from hmetad.base.errors import KindError, SourceError, describe_value
from hmetad.base.labels import check_same_names
from hmetad.base.notice import Notice, notice_attrs, notice_where, notices, with_notices
from hmetad.base.results import attrs_of
from hmetad.counts.reversed_scales import pairs
from hmetad.counts.tables import type2_counts, unequal_ratings
from hmetad.measures.results import describe, described, ratio
from hmetad.measures.scores import wrong_and_right
from hmetad.measures.sdt import z_scores

GammaEstimator = Literal["trapezoid", "pairs", "gaussian"]
type Floats = NDArray[np.float64]


@check_inputs(skip=("counts",))
def type2_roc(counts: xr.DataArray) -> xr.Dataset:
    r"""Type-2 ROC curve: correct against error trials with at least some rating, per cell.

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
        ``false_alarms`` and ``hits`` (trials; at the last point all errors, or all correct trials).

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
    false_alarms, hits = (from_above(side) for side in wrong_and_right(table))
    values = {
        "false_alarm_rate": ratio(false_alarms, false_alarms[..., -1:]),
        "hit_rate": ratio(hits, hits[..., -1:]),
        "false_alarms": false_alarms,
        "hits": hits,
    }
    K = table.sizes["rating"]
    check_same_names(table.coords, ["point", "at_least"])
    curve = described(of_cells(table).expand_dims(point=K + 1, axis=-1), values, "type2_roc")
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
        ``auroc2`` per cell: the probability that a correct trial has a higher rating than an
        error, .5 at chance. NaN where no trial was correct, or no trial an error, with a notice;
        another, ``"unequal-ratings"``, names cells that use fewer ratings than others.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or has no responses to distinguish.

    Notes
    -----
    With C, D and T the pairs of a correct and an error trial in which the correct one has the
    higher, the lower and the same rating,

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
    result = describe(of_cells(table), "auroc2", area)
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
        normal in correct and incorrect trials; it needs K ≥ 3. Recorded in the attrs.

    Returns
    -------
    DataArray
        ``gamma`` per cell, −1 to 1, 0 at chance. NaN with a notice where no trial was correct, or
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

    where error trials are N(0, 1) and correct ones N(δ, σ). The line z(H) = (δ + z(F))/σ runs
    through the mean of the points with the slope 1/σ = SD z(H) / SD z(F), which treats the two
    rates alike: exchanging correct and incorrect turns the sign of G and no more. Rates of 0 or 1
    are not corrected, as Higham & Higham (2018) advise: their points are excluded, with a notice,
    and a criterion that no trial sets apart from the next counts once.

    Examples
    --------
    >>> judged = xr.DataArray([[17, 3], [5, 25]], dims=["correct", "rating"])
    >>> gamma(judged, estimator="pairs").round(3).item(), gamma(judged).round(3).item()
    (0.932, 0.683)
    """
    table = type2_counts(counts)
    if estimator == "gaussian":
        distance, _, lacks_points = zroc_line(*wrong_and_right(table))
        value = 2 * ndtr(distance) - 1
        left_out = of_cells(table).copy(data=lacks_points & np.isfinite(value))
        new = notice_where(left_out, "zroc-points-left-out")
        new += undefined(table, value, "undefined-zroc")
    else:
        concordant, discordant, tied = pairs(table)
        among = concordant + discordant + tied * (estimator == "trapezoid")
        value = ratio(concordant - discordant, among)
        new = undefined(table, value)
    check_same_names(table.coords, ["gamma"])
    result = of_cells(table).copy(data=value).rename("gamma")
    result.attrs = {**attrs_of(f"gamma_{estimator}"), "estimator": estimator}
    return with_notices(result, [*notices(table), *new])


@check_inputs(skip=("counts",))
def type2_zroc(counts: xr.DataArray) -> xr.Dataset:
    r"""Slope of the type-2 zROC, and d_a of confidence in correct and incorrect trials, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`, with K ≥ 3; further dims are kept.

    Returns
    -------
    Dataset
        Per cell ``type2_slope``, the SD of confidence in error trials over that in correct ones, 1
        where these are equal; and ``type2_d_a``, the distance of their means in root mean square
        SDs, 0 at chance. NaN with a notice where fewer than two points of the curve have both rates
        between 0 and 1; the slope also where all of these have the same false-alarm rate.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables.

    Notes
    -----
    With error trials N(0, 1), correct ones N(δ, σ), and the line of
    ``gamma(estimator="gaussian")``:

    .. math::
        \frac1\sigma = \frac{SD\, z(H)}{SD\, z(F)}, \quad
        d_a = \delta \sqrt{\frac{2}{1 + \sigma^2}}, \quad
        G_{gauss} = 2\Phi\!\left(\frac{d_a}{\sqrt2}\right) - 1

    A regression of z(H) on z(F) would make the slope smaller. Like AUROC2, both depend on how well
    the stimuli are distinguished; the slope and d_a of that, of type 1, are those of `uvsdt`.
    Source: Simpson & Fitter (1973); Higham & Higham (2018) for the line.

    Examples
    --------
    >>> judged = xr.DataArray([[20, 12, 6, 2], [10, 15, 25, 50]], dims=["correct", "rating"])
    >>> found = type2_zroc(judged)
    >>> found["type2_slope"].round(3).item(), found["type2_d_a"].round(3).item()
    (0.779, 1.448)
    """
    table = type2_counts(counts)
    distance, slope, lacks_points = zroc_line(*wrong_and_right(table))
    values = {"type2_slope": slope, "type2_d_a": np.sqrt(2) * distance}
    found = described(of_cells(table), values, "type2")
    left_out = of_cells(table).copy(data=lacks_points & np.isfinite(distance))
    new = notice_where(left_out, "zroc-points-left-out")
    return with_notices(found, [*notices(table), *new, *undefined(table, slope, "undefined-zroc")])


@check_inputs(skip=("counts",))
def v_statistic(counts: xr.DataArray) -> xr.DataArray:
    r"""V: the proportion of concordant pairs among those that are not tied, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.

    Returns
    -------
    DataArray
        ``v_statistic`` per cell, a probability. NaN where no trial was correct, no trial an error,
        or all pairs are tied, with a notice.

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
    result = describe(of_cells(table), "v_statistic", value)
    return with_notices(result, [*notices(table), *undefined(table, value)])


@check_inputs(skip=("counts",))
def phi(counts: xr.DataArray) -> xr.DataArray:
    r"""Phi: the correlation of being correct with the rating, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table or type-2 table, as for `type2_roc`; further dims are kept.

    Returns
    -------
    DataArray
        ``phi`` per cell, −1 to 1. NaN where no trial was correct, no trial an error, or all have
        the same rating, with a notice.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables.

    Notes
    -----
    Pearson's r over trials, with correct as 1 and error as 0. With p the proportion of correct
    trials, and s the SD (over n) of all ratings,

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
    result = describe(of_cells(table), "phi", value)
    return with_notices(result, [*notices(table), *undefined(table, value)])


@check_inputs(skip=("counts",))
def mean_confidence(counts: xr.DataArray) -> xr.Dataset:
    """Mean rating of all, of correct and of error trials, and the difference, per cell.

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
    return with_notices(described(of_cells(table), values, "type2"), notices(table))


@check_inputs(skip=("counts",), probabilities=arrays_of_numbers)
def overconfidence(counts: xr.DataArray, *, probabilities: Sequence[float]) -> xr.Dataset:
    r"""Mean confidence as a probability, accuracy, and their difference, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating) or type-2 table with dims (cell,
        correct, rating); further dims are kept.
    probabilities : sequence of float
        Probability correct that each rating represents, increasing, from 0 to 1: for ratings 1 to 4
        with two alternatives and the ends "guessed" and "sure", ``[1/2, 2/3, 5/6, 1]``. If the
        scale had no such labels, the difference depends on your interpretation.

    Returns
    -------
    Dataset
        Per cell ``mean_confidence``, ``accuracy`` and ``overconfidence``, their difference, on the
        scale of probabilities; above 0 is overconfident. NaN if there are no trials. The attr
        ``probabilities`` has the given values.

    Raises
    ------
    InputError
        If `counts` is neither of the two tables, or `probabilities` are not one for each rating,
        rising, between 0 and 1.

    Notes
    -----
    With proportions f_k of rating k, whose probability is p_k, and proportion of correct trials a:

    .. math:: \text{overconfidence} = \sum_k f_k p_k - a

    Confidence stated as a probability needs no ratings: use `calibration`. For a fit, posterior
    draws of both parts are ``"confidence_mean"`` and ``"share_right"`` in
    `hmetad.bayes.predict_measures`.

    Examples
    --------
    >>> judged = xr.DataArray([[15, 5], [5, 15]], dims=["correct", "rating"])
    >>> overconfidence(judged, probabilities=[0.5, 1])["overconfidence"].item()
    0.25
    """
    table = type2_counts(counts)
    p, ratings = np.asarray(probabilities, dtype=float), table.sizes["rating"]
    if p.shape != (ratings,) or not ((np.diff(p) > 0).all() and ((p >= 0) & (p <= 1)).all()):
        allowed = f"{ratings} rising numbers between 0 and 1, one for each rating"
        raise KindError("probabilities", describe_value(probabilities), allowed)
    wrong, right = wrong_and_right(table)
    trials = (wrong + right).sum(axis=-1)
    sure, share = ratio((wrong + right) @ p, trials), ratio(right.sum(axis=-1), trials)
    values = {"mean_confidence": sure, "accuracy": share, "overconfidence": sure - share}
    found = described(of_cells(table), values, "overconfidence")
    return with_notices(found.assign_attrs(probabilities=p.tolist()), notices(table))


@check_inputs(skip=("estimates",))
def meta_delta(estimates: xr.Dataset | xr.DataTree, *, by_response: bool = False) -> xr.DataArray:
    r"""Mean distance of the type-2 criteria from the criterion at the meta level.

    Parameters
    ----------
    estimates : Dataset or DataTree
        With ``meta_c`` and ``criteria``: what `hmetad.fit`, `hmetad.predict` or `hmetad.fit_mle`
        returned for a card of meta-d′.
    by_response : bool, optional
        A distance for each response: dim response is kept. By default the mean of the two.

    Returns
    -------
    DataArray
        ``meta_delta``, in SDs of the evidence, with the other dims and the notices of the
        estimates: of a fit (chain, draw, cell), as `contrast`, `decide` and `rank` take it. The
        larger, the lower confidence is.

    Raises
    ------
    InputError
        If the estimates have no ``meta_c`` and ``criteria``.

    Notes
    -----
    With κ the criterion at the meta level and :math:`t_{r,k}` the K − 1 criteria of response r:

    .. math:: \Delta_r = \frac1{K-1} \sum_k |t_{r,k} - \kappa|

    Criteria are on the scale of meta-d′, so that meta-Δ does not depend on how sensitive confidence
    is, as the mean rating does; ratings have to be the same. Source: O'Neill & Fleming (2026).

    Examples
    --------
    >>> kappa = xr.DataArray([0.1], {"cell": ["a"]})
    >>> t = xr.DataArray([[[-0.5, -1.0], [0.4, 1.2]]], dims=("cell", "response", "criterion"))
    >>> estimates = xr.Dataset({"meta_c": kappa, "criteria": t})
    >>> meta_delta(estimates).values, meta_delta(estimates, by_response=True).values
    (array([0.775]), array([[0.85, 0.7 ]]))
    """
    values = estimates
    if isinstance(values, xr.DataTree) and "posterior" in values.children:
        values = values["posterior"].to_dataset()
    allowed = "estimates or draws of meta-d′, with meta_c and criteria"
    step = "Pass what fit, predict or fit_mle returns for a card of meta-d′."
    if not isinstance(values, xr.Dataset):
        raise KindError("estimates", describe_value(estimates), allowed, step)
    lacking = [name for name in ("meta_c", "criteria") if name not in values]
    if lacking or not {"response", "criterion"} <= set(values["criteria"].dims):
        got = f"a Dataset without {', '.join(lacking) or 'dims response and criterion'}"
        raise SourceError("estimates", got, allowed, step)
    distance = abs(values["criteria"] - values["meta_c"]).mean("criterion", skipna=False)
    found = distance if by_response else distance.mean("response", skipna=False)
    order = [dim for dim in values["criteria"].dims if dim in found.dims]
    said = attrs_of("meta_delta") | notice_attrs(notices(values))
    said["ratings"] = json.dumps({"": values.sizes["criterion"] + 1})
    check_same_names(found.coords, ["meta_delta"])
    return found.transpose(*order).rename("meta_delta").assign_attrs(said)


# Whether confidence is higher for right answers at all


# Parts of measures


def of_cells(table: xr.DataArray) -> xr.DataArray:
    """Array with the dims and coordinates of a measure of the table; its values mean nothing."""
    return table.isel(correct=0, rating=0, drop=True)


def undefined(table: xr.DataArray, value: Floats, code: str = "") -> list[Notice]:
    """Notice of the cells without a value though they have right and wrong trials.

    Where all trials of a cell have one rating, one notice stands for all measures.
    """
    lacks = (table.sum("rating") > 0).all("correct") & np.isnan(value)
    is_flat = (table.sum("correct") > 0).sum("rating") == 1
    is_known = any(notice.code == "all-one-rating" for notice in notices(table))
    flat = notice_where(lacks & is_flat & (not is_known), "all-one-rating")
    return [*flat, *notice_where(lacks & ~is_flat, code)]


def from_above(trials: Floats) -> Floats:
    """Trials with at least the ratings K + 1 (none), K, ..., 1 (all), shape (..., K + 1)."""
    none = np.zeros((*trials.shape[:-1], 1))
    return np.concatenate([none, trials[..., ::-1].cumsum(axis=-1)], axis=-1)


def zroc_line(wrong: Floats, right: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """δ/√(1 + σ²) and slope 1/σ of the line through the zROC; where it lacks a point without z."""
    # From below: trials with less than the ratings K + 1, ..., 1. The ends of the curve have no z.
    z_F, z_H = (
        z_scores(from_above(x), from_above(x[..., ::-1])[..., ::-1])[0][..., 1:-1]
        for x in (wrong, right)
    )
    # A rating that nobody used repeats the point before it.
    is_used = (wrong + right)[..., :0:-1] > 0
    has_z = np.isfinite(z_F + z_H)
    is_point = is_used & has_z
    number = is_point.sum(axis=-1).astype(float)
    means, deviations = [], []
    for z in (z_F, z_H):
        mean = ratio(np.where(is_point, z, 0.0).sum(axis=-1), number)
        distance = np.where(is_point, z - mean[..., None], 0.0)
        means.append(mean)
        deviations.append(np.sqrt(ratio((distance**2).sum(axis=-1), number)))
    # δ/√(1 + σ²) with σ = sd_F/sd_H and δ = σ·mean_H − mean_F; a line may be upright or level.
    (mean_F, mean_H), (sd_F, sd_H) = means, deviations
    distance = ratio(sd_F * mean_H - sd_H * mean_F, np.hypot(sd_F, sd_H))
    return distance, ratio(sd_H, sd_F), (is_used & ~has_z).any(axis=-1)
