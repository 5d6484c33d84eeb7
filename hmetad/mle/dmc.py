"""DMC: the meta-d′ whose rating proportions are nearest to those observed, after Wang et al.

Count table (cell, stimulus, response, rating) → Dataset (cell). d′ and c come from the type-1
table; then meta-d′ and the criteria minimise a sum of squares. Source: Wang et al. (2025).
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.checks import TYPE1_DIMS
from hmetad.errors import InputError
from hmetad.measures.sdt import Correction, added_per_response
from hmetad.mle.dmc_minimum import EMPTY, Least, is_informative, minimum, ratings_used
from hmetad.mle.fit_notices import moved_by_correction
from hmetad.mle.labels import label_estimates
from hmetad.mle.maximum import Type1, type1_of, zs_of
from hmetad.mle.meta_d import check_arguments
from hmetad.mle.newton import FARTHEST
from hmetad.notice import copy_notices, notices_where

__all__ = ["fit_dmc"]

type Floats = NDArray[np.float64]
type Truths = NDArray[np.bool_]

SLOPE = 1e-10


@check_inputs(skip=("counts",))
def fit_dmc(
    counts: xr.DataArray, *, bounded: bool = False, correction: Correction = "none"
) -> xr.Dataset:
    r"""Least-squares meta-d′, M and type-2 criteria by DMC, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), K ≥ 2; further dims are kept.
        Counts need not be whole.
    bounded : bool, optional
        Hold M within [0, 1], where d′ is above 0.
    correction : {"none", "loglinear", "cell"} or float, optional
        What is added to the counts, as in `sdt`; here every rating gets an equal part of it.

    Returns
    -------
    Dataset
        Per cell: ``dprime``, ``c``, ``meta_d`` and ``criteria`` (response, criterion), in SD of
        the evidence; ``m_ratio``, NaN where d′ ≤ 0; ``loss`` (squared proportions);
        ``converged``. A criterion that belongs to a rating nobody used, or one that the best fit
        never predicts, lies on its neighbour, or at infinity beyond the last.

    Raises
    ------
    InputError
        If the table has no stimulus or no ratings, or an argument is none of the above.

    Notes
    -----
    With κ = c held, meta-d′ and the ordered criteria minimise

    .. math:: L = \sum_{s,r,k} \left(\hat P(k \mid s, r) - P(k \mid s, r)\right)^2

    where P is the observed share of rating k among responses r to stimulus s. All rows weigh the
    same, however few their trials; one without any trial is left out, also where a correction
    would fill it. A rating that nobody used with a response is left out too: the paper's sum
    keeps it, and can then be lowered by predicting some of it, which moves meta-d′.

    The constraint, that accuracy strictly rises with the rating on each side of κ, holds for
    ordered criteria exactly when meta-d′ > 0. So where L has its minimum over meta-d′ ≥ 0 at 0, no
    meta-d′ inside the constraint is best: ``meta_d`` is then 0, with the loss and the criteria of
    that limit, and a notice ``"meta-d-zero"`` says so. Where L is lowest as meta-d′ grows without
    bound, meta-d′ is NaN, and a notice ``"meta-d-unbounded"`` says so. Several starts are made and
    the best is kept; for tables unlike those of any observer there may be a lower minimum.

    The paper prints argmax where argmin is meant. Its published code differs from the
    paper: its loss is on cumulative type-2 rates, M is held in [0, 1], criteria are at least .05
    apart, and κ is scaled.

    The Bayesian counterpart is the card ``"dmc"``: the meta-d′ model with κ = c and log M, which
    is the same constraint, with a likelihood in place of L.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> a = from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
    >>> fitted = fit_dmc(a)
    >>> fitted["meta_d"].round(6).item(), fitted["m_ratio"].round(6).item()
    (1.664162, 1.077555)
    """
    check_arguments(counts, "absolute", 1.0)
    if not isinstance(bounded, bool):
        raise InputError("bounded", repr(bounded), "True or False")
    ordered = counts.transpose(..., *TYPE1_DIMS)
    like = ordered.isel(dict.fromkeys(TYPE1_DIMS, 0), drop=True)
    table = ordered.to_numpy().reshape(-1, *ordered.shape[-3:]).astype(float)
    type1 = type1_of(zs_of(table, correction), np.ones(len(table)))
    shares = rating_shares(table, correction)
    upper = np.where(bounded & (type1.d > 0), type1.d, FARTHEST)
    least = minimum(shares, type1, upper)
    result = label_estimates(assemble(least, type1, shares), "fit_dmc", ordered)
    result.attrs |= {
        "meta_criterion": "absolute",
        "bounded": int(bounded),
        "correction": correction if isinstance(correction, str) else float(correction),
    }
    found = {
        name: xr.DataArray(mask.reshape(like.shape), like.coords, like.dims)
        for name, mask in conditions(least, type1, upper, shares).items()
    }
    said = notices_where(found)
    # For resampled tables the effect of the correction is not computed.
    if correction != "none" and set(counts.dims) <= {"cell", *TYPE1_DIMS}:
        said += moved_by_correction(result["m_ratio"], fit_dmc(counts, bounded=bounded)["m_ratio"])
    return copy_notices(result, counts, said)


def rating_shares(counts: Floats, correction: Correction) -> Floats:
    """Proportions of the ratings, given stimulus and response; 0 in a row without trials."""
    ratings = counts.shape[-1]
    corrected = counts + added_per_response(correction, ratings) / ratings
    has_trials = counts.sum(axis=-1, keepdims=True) > 0
    return np.where(has_trials, corrected, 0.0) / np.where(
        has_trials, corrected.sum(axis=-1, keepdims=True), 1.0
    )


def assemble(least: Least, type1: Type1, shares: Floats) -> dict[str, Floats]:
    """Estimates by name; criteria are NaN on a side without trials."""
    has_side = ratings_used(shares).any(axis=-1)[..., None]
    edges = np.where(has_side, least.edges[..., 1:], np.nan)
    return {
        "dprime": type1.d,
        "c": type1.c,
        "meta_d": least.m,
        "m_ratio": least.m / np.where(type1.d > 0, type1.d, np.nan),
        "criteria": type1.c[:, None, None] + np.array([-1.0, 1.0])[:, None] * edges,
        "loss": least.loss,
        "converged": least.slope <= SLOPE,
    }


def conditions(least: Least, type1: Type1, upper: Floats, shares: Floats) -> dict[str, Truths]:
    """Which cells the notice of each code concerns."""
    has_d, is_found = np.isfinite(type1.d), np.isfinite(least.m)
    used = ratings_used(shares)
    is_informative_cell = is_informative(shares).any(axis=1)
    inner, last = least.edges, np.full((*used.shape[:2], 1), np.inf)
    is_open = np.concatenate([inner[..., 1:], last], axis=-1) > inner + EMPTY
    return {
        "undefined-dprime.loss": ~has_d,
        "dprime-not-positive": type1.d <= 0,
        "empty-row": has_d & (shares.sum(axis=-1) == 0).any(axis=(1, 2)),
        "one-rating": has_d & (used.sum(axis=-1) < 2).any(axis=1),
        "meta-d-undetermined": has_d & ~is_informative_cell,
        "meta-d-unbounded.loss": has_d & is_informative_cell & ~is_found,
        "meta-d-zero": least.m == 0,
        "m-at-bound": (upper < FARTHEST) & (least.m >= upper),
        "rating-not-predicted": is_found & (used & ~is_open).any(axis=(1, 2)),
        "not-converged.loss": is_found & ~(least.slope <= SLOPE),
    }
