"""What tells a judge: how well it tells good outputs from bad ones, and how strict it is.

Table of judged outputs (cell, stimulus, response, rating) with pool counts → Dataset (cell).
Sources: Green & Swets (1966); Rogan & Gladen (1978); Angelopoulos et al. (2023) for what a judge
is worth to labels; Efron (1982) for errors by influence values.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import positive, probability
from hmetad.base.errors import ModelError
from hmetad.base.notice import copy_notices, notice_where, notices_but_m, notices_where
from hmetad.base.notice_registry import limit
from hmetad.counts.checks import TYPE1_DIMS
from hmetad.counts.columns import group_numbers, several_columns
from hmetad.counts.judged import require_judged
from hmetad.counts.resample import cell_columns, clusters_of, counts_together
from hmetad.measures.results import described, ratio
from hmetad.measures.sdt import Correction, sdt
from hmetad.mle.uvsdt import uvsdt

type Floats = NDArray[np.float64]

OF_VERDICT = ("dprime", "c")
OF_CURVE = ("s", "d_a", "a_z")
# Part of an output by which counts are moved: derivatives of smooth quantities.
STEP = 1e-4


@check_inputs(skip=("judged", "correction"))
def judge(
    judged: xr.DataArray, *, cluster: str | None = None, correction: Correction = "none"
) -> xr.Dataset:
    r"""How well a judge distinguishes good from bad outputs, and how strict it is, per cell.

    Parameters
    ----------
    judged : DataArray
        Result of `count_judged`; further dims are kept, such as those of `resample`.
    cluster : str, optional
        Coordinate of the items, over which cells are summed; standard errors are clustered by item.
    correction : {"none", "loglinear", "cell"} or float, optional
        Amount added to the counts for d′, c, s, d_a and A_z, as in `sdt`: without it, a judge that
        passes all good outputs has no d′.

    Returns
    -------
    Dataset
        Per cell, each with its standard error ``*_se``: ``hit_rate`` (sensitivity) and
        ``false_alarm_rate`` (1 − specificity), ``dprime`` and ``c`` of the verdict; ``auroc``, the
        area under the ROC of the ratings, and ``a_z``, ``d_a`` and ``s`` of the normal ROC through
        them (NaN without ratings); ``r2_verdict`` (φ²) and ``r2_ratings``, the proportions of the
        variance of the labels that verdict and ratings explain, and their quotient ``r2_gain``;
        ``kappa``; and four pass rates: ``base_rate`` of the labels, ``verdict_rate`` of the judge
        over all outputs, ``rogan_gladen``. ``labelled`` and ``pooled``, numbers of outputs, have no
        standard errors. With further dims there are none at all.

    Raises
    ------
    InputError
        If `judged` has no pool counts, or no such coordinate.

    Notes
    -----
    With H and F the rates of passing good and bad outputs, q the rate of passing and π the
    proportion of good outputs:

    .. math::
        d' = z(H) - z(F), \quad c = -\tfrac12(z(H) + z(F)), \quad
        \varphi^2 = \frac{(H - F)^2 \pi(1 - \pi)}{q(1 - q)}, \quad
        R^2 = \frac{\mathrm{Var}\,P(\mathrm{good} \mid r)}{\pi(1 - \pi)}

    and Rogan–Gladen is (q − F)/(H − F) with q of the outputs without a label, if there are any.
    With labels of a random part of a large pool its variance is 1/φ² times that of `pass_rate`, so
    it is worse than labels alone if φ² < ½. Standard errors use influence values, the derivatives
    by the counts: :math:`\sum_o n_o g_o^2`, and by clusters
    :math:`\frac{G}{G - 1} \sum_u (\sum_o n_{uo} g_o)^2`.

    M is omitted: if the verdict is a cut of the score it describes the shape of the ROC, not what
    the judge knows about its errors. For confidence stated separately from the verdict, apply `fit`
    to the table of `count_trials`.

    Examples
    --------
    >>> import pandas as pd
    >>> from hmetad.counts.judged import count_judged
    >>> verdicts = [1, 0, 1, 0, 1, 1, 0, 0, 1, 0] * 10
    >>> outputs = pd.DataFrame({"human": [1, 0] * 50, "verdict": verdicts})
    >>> found = judge(count_judged(outputs, by=(), label="human", verdict="verdict"))
    >>> [round(found[name].item(), 3) for name in ("dprime", "r2_verdict")]
    [1.683, 0.36]
    """
    require_judged(judged, "judge", cluster)
    table = clusters_of(judged, cluster).pooled if cluster else judged
    table = table.transpose(..., *TYPE1_DIMS)
    values = quantities(table, table["pool"], correction)
    like = table.reset_coords(drop=True).isel(dict.fromkeys(TYPE1_DIMS, 0), drop=True).drop_attrs()
    like = like.assign_coords(table["cell"].coords)
    pooled = table["pool"].sum(TYPE1_DIMS[1:])
    numbers = values | {"labelled": table.sum(TYPE1_DIMS), "pooled": pooled.broadcast_like(like)}
    found = {name: x.transpose(*like.dims).to_numpy() for name, x in numbers.items()}
    if table.dims == ("cell", *TYPE1_DIMS):
        errors = influence_errors(judged, table, values, cluster, correction)
        found |= {f"{name}_se": error for name, error in errors.items()}
    d, H, F = (values[name] for name in ("dprime", "hit_rate", "false_alarm_rate"))
    masks = {
        "undefined-dprime.judge": d.isnull(),
        "undefined-dprime.corrected": d.notnull() & (H.isin([0, 1]) | F.isin([0, 1])),
        "dprime-sign.judge": d < 0,
        "rogan-gladen-worse": (values["r2_verdict"] < limit("rogan-gladen-worse")) & (pooled > 0),
    }
    said = [*notices_but_m(table), *notices_where(masks)]
    result = copy_notices(described(like, found, "judge"), table.drop_attrs(), said)
    return result.assign_attrs(correction=correction)


def quantities(
    labelled: xr.DataArray, pool: xr.DataArray, correction: Correction
) -> dict[str, xr.DataArray]:
    """All that `judge` estimates, from labelled counts and those of the pool."""
    table = labelled.reset_coords(drop=True).astype(float)
    by_verdict, by_rating = table.sum("rating"), from_bad_to_good(table)
    bad, good = (by_rating.isel(stimulus=side) for side in (0, 1))
    n_bad, n_good = bad.sum("grade"), good.sum("grade")
    H, F = (over(by_verdict.isel(stimulus=i, response=1), n) for i, n in ((1, n_good), (0, n_bad)))
    found = {"hit_rate": H, "false_alarm_rate": F}
    verdict = sdt(table, correction=correction)
    found |= {name: verdict[name] for name in OF_VERDICT}
    base = over(n_good, n_good + n_bad)
    below = bad.cumsum("grade") - bad / 2
    found["auroc"] = over((good * below).sum("grade"), n_bad * n_good)
    if table.sizes["rating"] > 1:
        curve = uvsdt(table, correction=correction)
        found |= {name: curve[name] for name in OF_CURVE}
    else:
        found |= dict.fromkeys(OF_CURVE, base * np.nan)
    found["r2_verdict"] = explained_by(by_verdict, "response")
    found["r2_ratings"] = explained_by(by_rating, "grade")
    found["r2_gain"] = over(found["r2_ratings"], found["r2_verdict"])
    total = n_bad + n_good
    passed = by_verdict.isel(response=1).sum("stimulus")
    passes = over(passed, total)
    rejected, accepted = (by_verdict.isel(stimulus=i, response=i) for i in (0, 1))
    agree = over(rejected + accepted, total)
    by_chance = passes * base + (1 - passes) * (1 - base)
    found["kappa"] = over(agree - by_chance, 1 - by_chance)
    found["base_rate"] = base
    unlabelled = pool.reset_coords(drop=True).sum("rating")
    in_pool, passed_in_pool = unlabelled.sum("response"), unlabelled.isel(response=1)
    found["verdict_rate"] = over(passed_in_pool + passed, in_pool + total)
    rate = over(passed_in_pool, in_pool).fillna(passes)
    found["rogan_gladen"] = (rate - F) / (H - F).where(H != F)
    return found


def from_bad_to_good(counts: xr.DataArray) -> xr.DataArray:
    """Counts over one dim grade, from surely fail to surely pass, in the place of two."""
    fails, passes = (counts.isel(response=side, drop=True) for side in (0, 1))
    sides = [fails.isel(rating=slice(None, None, -1)), passes]
    plain = [x.drop_vars("rating", errors="ignore").rename(rating="grade") for x in sides]
    return xr.concat(plain, "grade", coords="minimal", compat="override")


def explained_by(counts: xr.DataArray, dim: str) -> xr.DataArray:
    """Proportion of the variance of the labels between the levels of a dim."""
    number, good = counts.sum("stimulus"), counts.isel(stimulus=1, drop=True)
    total = number.sum(dim)
    base = over(good.sum(dim), total)
    # From deviations, so that levels alike explain 0 and not a rounding error.
    between = over((number * (over(good, number) - base) ** 2).sum(dim), total)
    return over(between, base * (1 - base))


def over(part: xr.DataArray, whole: xr.DataArray) -> xr.DataArray:
    """Quotient, NaN where the divisor is not above 0."""
    return xr.apply_ufunc(ratio, part, whole)


def influence_errors(
    judged: xr.DataArray,
    table: xr.DataArray,
    values: Mapping[str, xr.DataArray],
    cluster: str | None,
    correction: Correction,
) -> dict[str, Floats]:
    """Standard errors (cells,) by influence values of outputs, or of clusters that `table` sums."""
    counts, sizes = outcome_counts(judged), (table.shape[1:], table["pool"].shape[1:])
    moves = np.split(STEP * np.eye(counts.shape[1]), [math.prod(sizes[0])], axis=1)
    labelled, pool = (
        xr.DataArray(move.reshape(-1, *size), dims=("outcome", *TYPE1_DIMS[4 - len(size) - 1 :]))
        for move, size in zip(moves, sizes, strict=True)
    )
    moved = quantities(table + labelled, table["pool"] + pool, correction)
    names = several_columns(cluster, judged.coords)
    others = [name for name in cell_columns(judged) if name not in names]
    index = counts_together(judged, others)[1] if names else np.arange(len(counts))
    unit = group_numbers(pd.DataFrame({name: judged[name].to_numpy() for name in names}, index))
    errors = {}
    for name, value in values.items():
        gradient = ((moved[name] - value) / STEP).transpose("cell", "outcome").to_numpy()
        if not names:
            # An outcome that never occurred has no influence.
            squares = np.where(counts > 0, gradient, 0) ** 2
            errors[name] = np.sqrt((counts * squares).sum(axis=1))
            continue
        influence = (counts * np.where(counts > 0, gradient[index], 0)).sum(axis=1)
        sums, number = np.zeros((2, unit.max() + 1, len(gradient)))
        np.add.at(sums, (unit, index), influence)
        np.add.at(number, (unit, index), 1)
        G = (number > 0).sum(axis=0)
        errors[name] = np.sqrt((sums**2).sum(axis=0) * G / np.maximum(G - 1, 1))
    return {name: np.where(value.isnull(), np.nan, errors[name]) for name, value in values.items()}


def outcome_counts(judged: xr.DataArray) -> Floats:
    """Counts of each cell in one row, first the labelled ones, then those of the pool."""
    parts = judged.transpose("cell", *TYPE1_DIMS), judged["pool"].transpose("cell", *TYPE1_DIMS[1:])
    return np.concatenate([x.to_numpy().reshape(len(x), -1) for x in parts], axis=1)


# What follows from it


@check_inputs(skip=("estimates",), pass_bad=positive, fail_good=positive)
def operating_point(
    estimates: xr.Dataset, *, pass_bad: float, fail_good: float, base_rate: float | None = None
) -> xr.Dataset:
    r"""The cut of a judge's evidence that costs least, for given costs of its two errors.

    Parameters
    ----------
    estimates : Dataset
        What `judge` returns.
    pass_bad, fail_good : float
        Costs of passing a bad output and of failing a good one, in one unit.
    base_rate : float, optional
        Proportion π of good outputs. By default that of the labels.

    Returns
    -------
    Dataset
        Per cell ``cut`` and ``other_cut``, the points where both errors cost the same, in SD of
        the evidence of bad outputs from the middle between the two means; ``expected_cost`` per
        output with a pass above the cut, and ``current_cost`` of the verdict as it is;
        ``pass_above``, the probability of a good output above which it should pass. With equal
        variances, or without ratings, the other cut is infinite.

    Raises
    ------
    InputError
        If these are not estimates of a judge, or a cost or rate is out of range.

    Notes
    -----
    Evidence is N(−d/2, 1) of bad outputs and N(d/2, 1/s) of good ones. An output should pass where

    .. math::
        \log s - \tfrac{s^2}{2}(x - \tfrac d2)^2 + \tfrac12 (x + \tfrac d2)^2
        > \log\frac{(1 - \pi) C_{pb}}{\pi C_{fg}}

    a line for s = 1, :math:`x > \log\beta/d`, else a parabola with two crossings. If the evidence
    of good outputs varies more (s < 1) the cut is the upper one, and outputs below the other one
    should pass again; a notice ``"second-crossing"`` reports if more than 1 % of them lie there.
    Source: Green & Swets (1966).

    Examples
    --------
    >>> numbers = {"dprime": 2.0, "s": 1.0, "d_a": 2.0, "hit_rate": 0.84, "false_alarm_rate": 0.16}
    >>> found = operating_point(
    ...     xr.Dataset({k: ("cell", [x]) for k, x in numbers.items()}, {"cell": ["judge"]}),
    ...     pass_bad=5, fail_good=1, base_rate=0.9,
    ... )
    >>> found["cut"].round(3).item(), found["expected_cost"].round(3).item()
    (-0.294, 0.208)
    """
    needed = {"dprime", "s", "d_a", "hit_rate", "false_alarm_rate"}
    needed |= set() if base_rate is not None else {"base_rate"}
    if not isinstance(estimates, xr.Dataset) or not needed <= {*estimates.data_vars}:
        step = "Pass what measures.judge returns."
        raise ModelError("estimates", "others", "estimates of a judge", step)
    if base_rate is not None:
        probability("base_rate", base_rate)
    like = estimates["dprime"]
    given = estimates["base_rate"] if base_rate is None else xr.full_like(like, base_rate)
    base = given.to_numpy()
    s, d_a = (estimates[name].to_numpy() for name in ("s", "d_a"))
    d = np.where(np.isnan(s), like, d_a * np.sqrt((1 + 1 / s**2) / 2))
    d = np.where(d > 0, d, np.nan)
    s = np.where(np.isnan(s), 1.0, s)
    log_beta = np.log((1 - base) * pass_bad / (base * fail_good))
    # a x² + b x + rest = 0 where both errors cost the same.
    a, b = (1 - s**2) / 2, d * (1 + s**2) / 2
    rest = d**2 * (1 - s**2) / 8 + np.log(s) - log_beta
    never = b**2 < 4 * a * rest
    root = np.sqrt(np.where(never, 0, b**2 - 4 * a * rest))
    # Without cancellation, and for a line too.
    cut = np.where(never, -np.copysign(np.inf, a), -2 * rest / (b + root))
    other = np.where(a == 0, -np.inf, -(b + root) / (2 * np.where(a == 0, 1, a)))
    other = np.where(never, cut, other)
    missed, passed = ndtr((cut - d / 2) * s), ndtr(-cut - d / 2)
    costs = base * fail_good, (1 - base) * pass_bad
    H, F = (estimates[name].to_numpy() for name in ("hit_rate", "false_alarm_rate"))
    values = {
        "cut": cut,
        "other_cut": other,
        "expected_cost": costs[0] * missed + costs[1] * passed,
        "current_cost": costs[0] * (1 - H) + costs[1] * F,
        "pass_above": np.full(cut.shape, pass_bad / (pass_bad + fail_good)),
    }
    side = np.where(other < cut, 1, -1)
    beyond = base * ndtr(side * (other - d / 2) * s) + (1 - base) * ndtr(side * (other + d / 2))
    result = described(like.drop_attrs(), values, "operating_point")
    is_inside = xr.DataArray(~never & (beyond > limit("second-crossing")), like.coords, like.dims)
    return copy_notices(result, estimates, notice_where(is_inside, "second-crossing"))
