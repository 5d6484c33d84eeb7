"""The unequal-variance signal-detection model of confidence ratings, by maximum likelihood.

Count table (cell, stimulus, response, rating) → Dataset (cell): one ROC through all 2K − 1
operating points.
Source: Green & Swets (1966); Dorfman & Alf (1969); Simpson & Fitter (1973) for d_a.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from hmetad.arguments import check_inputs
from hmetad.counts.checks import TYPE1_DIMS, require_stimulus
from hmetad.errors import InputError
from hmetad.measures.sdt import Correction, added_per_response
from hmetad.mle.labels import label_estimates
from hmetad.mle.roc_newton import FOUND, fit_rocs
from hmetad.notice import copy_notices, notices_where

__all__ = ["uvsdt"]

type Floats = NDArray[np.float64]

SLOPE = 1e-6
SQRT2 = np.sqrt(2.0)


@check_inputs(skip=("counts",))
def uvsdt(counts: xr.DataArray, *, correction: Correction = "none") -> xr.Dataset:
    r"""Maximum likelihood of the unequal-variance ROC, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating), K ≥ 2; further dims are kept.
    correction : {"none", "loglinear", "cell"} or float, optional
        What is added to the counts, as in `sdt`; here every rating gets an equal part of it.

    Returns
    -------
    Dataset
        Per cell: ``dprime`` (distance of the means), ``c`` and ``criteria`` (response, criterion),
        in SD of the S1 evidence; ``s``; ``d_a``; ``a_z``; their standard errors ``*_se``;
        ``loglik`` (nat); ``g_squared``, ``df``, ``p_value`` of the fit; ``converged``. A criterion
        that belongs to a rating nobody used lies on its neighbour, or at infinity beyond the last.

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
    delta method. With fewer than three categories in use, or where the likelihood grows without
    bound, all is NaN and a notice ``"roc-undefined"`` says so.

    This is the type-1 model, in which response and confidence use the same axis: it assumes M = 1.
    The s of the meta-d′ model is that of `fit_mle` with ``s="estimate"``.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> b = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    >>> fitted = uvsdt(b)
    >>> fitted["s"].round(3).item(), fitted["a_z"].round(3).item()
    (1.084, 0.854)
    """
    require_stimulus(counts, "uvsdt")
    if counts.sizes["rating"] < 2:
        raise InputError("counts", "one rating", "at least two", "sdt() needs no ratings.")
    ordered = counts.transpose(..., *TYPE1_DIMS)
    ratings = ordered.sizes["rating"]
    table = ordered.to_numpy().reshape(-1, 2, 2, ratings).astype(float)
    table = table + added_per_response(correction, ratings) / ratings
    # From surely S1 to surely S2.
    scale = np.concatenate([table[:, :, 0, ::-1], table[:, :, 1]], axis=-1)
    found = np.full((len(scale), len(FOUND)), np.nan)
    cut = np.full((len(scale), 2 * ratings - 1), np.nan)
    bounded = np.where(is_separated(scale)[:, None, None], 0.0, scale)
    fit_rocs(bounded, *starts(scale), found, cut)
    fitted = dict(zip(FOUND, found.T, strict=True))
    result = label_estimates(estimates(fitted, cut), "uvsdt", ordered)
    result.attrs["correction"] = correction if isinstance(correction, str) else float(correction)
    lost = result["s"].isnull()
    masks = {"roc-undefined": lost, "not-converged.roc": ~result["converged"] & ~lost}
    return copy_notices(result, counts, notices_where(masks))


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
