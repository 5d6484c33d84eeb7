"""What becomes of count tables and estimates: plain arrays, arrays under names, and notices.

Count table → array (cells, 2, 2, K); arrays over cells → Dataset in the dims of the table; Dataset
→ list of Notice.
Source: Maniscalco & Lau (2012); Hautus (1995) for what corrections do.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import TooFewError
from hmetad.base.notice import Notice, notice_where, notices_where
from hmetad.base.notice_registry import limit, step_values
from hmetad.counts.checks import STIMULI, TYPE1_DIMS, require_stimulus
from hmetad.counts.reversed_scales import CLEAR_Z
from hmetad.measures.results import described

type Floats = NDArray[np.float64]

# Of M: a change that is visible in its second decimal.
VISIBLE = 0.005
# Of the standard error of M: a shift as large says as much as the data.
LARGE_SHARE = 0.5


def table_of(counts: xr.DataArray, used_by: str) -> tuple[xr.DataArray, Floats]:
    """Count table in its order of dims, and its numbers (cells, 2, 2, K).

    Refuses what is none, with the name of what it is used by, and a table with one rating.
    """
    require_stimulus(counts, used_by)
    if counts.sizes["rating"] < 2:
        step = "sdt() and the card sdt need no ratings."
        raise TooFewError("counts", "one rating", "at least two", step)
    ordered = counts.transpose(..., *TYPE1_DIMS)
    return ordered, ordered.to_numpy().reshape(-1, *ordered.shape[-3:]).astype(float)


def label_estimates(
    values: Mapping[str, Floats], section: str, counts: xr.DataArray, *, per_response: bool = False
) -> xr.Dataset:
    """Dataset of the estimates.

    Parameters
    ----------
    values : mapping of str to array
        (cells,); criteria (cells, 2, K − 1); with a last dim of the sides that have a meta-d′ of
        their own, (cells, 1) or (cells, 2).
    section : str
        Of the table of results, which says what they are.
    counts : DataArray
        Dims (..., stimulus, response, rating), in this order.
    per_response : bool, optional
        Whether those with sides have dim response.

    Returns
    -------
    Dataset
        Dims of the counts before stimulus, then response and criterion where they apply.
    """
    inner = {3: ("response", "criterion"), 2: ("response",) if per_response else ()}
    placed = {name: (*inner.get(array.ndim, ()), array) for name, array in values.items()}
    like = counts.isel(stimulus=0, response=0, rating=0, drop=True)
    result = described(like, placed, section)
    return result.assign_coords(response=[*STIMULI], criterion=np.arange(1, counts.sizes["rating"]))


def problems(fitted: xr.Dataset, has_z: xr.DataArray) -> list[Notice]:
    """Notices of cells without an answer, or with a doubtful one.

    Parameters
    ----------
    fitted : Dataset
        Estimates as `fit_mle` makes them.
    has_z : DataArray of bool
        Where the counts have a d′.

    Returns
    -------
    list of Notice
        ``"undefined-dprime"``, ``"meta-d-unbounded"``, ``"not-converged"``, ``"negative-meta-d"``
        and ``"dprime-sign"`` (d′ below 0, or not clearly above), all warnings.
    """
    others = [dim for dim in fitted["meta_d"].dims if dim == "response"]
    has_d = has_z & (fitted["dprime"] != 0)
    missing = fitted["meta_d"].isnull().any(others)
    masks = {
        "undefined-dprime.likelihood": ~has_d,
        "meta-d-unbounded.likelihood": has_d & missing,
        "not-converged.likelihood": ~fitted["converged"] & ~missing,
        "negative-meta-d": said_to_be_negative(fitted),
        "dprime-sign.below-with-m": fitted["dprime"] < 0,
    }
    is_near = (fitted["dprime"] > 0) & (fitted["dprime"] < CLEAR_Z * fitted["dprime_se"])
    near = notice_where(is_near, "dprime-sign.near", **step_values("compare-meta-d"))
    return [*notices_where(masks), *near]


def said_to_be_negative(fitted: xr.Dataset) -> xr.DataArray:
    """Cells whose d′ is above 0 and whose meta-d′, of one response at least, is not.

    Examples
    --------
    >>> ratio = xr.DataArray([-0.5, 0.8], {"cell": ["a", "b"]})
    >>> said_to_be_negative(xr.Dataset({"m_ratio": ratio, "dprime": abs(ratio)})).values
    array([ True, False])
    """
    others = [dim for dim in fitted["m_ratio"].dims if dim == "response"]
    return (fitted["m_ratio"] <= 0).any(others) & (fitted["dprime"] > 0)


def clearly_high(fitted: xr.Dataset) -> xr.DataArray:
    """Cells whose M is above 1.5 by 1.96 standard errors.

    Examples
    --------
    >>> m = xr.DataArray([2.0, 2.0], {"cell": ["a", "b"]})
    >>> se = xr.DataArray([0.2, 0.5], {"cell": ["a", "b"]})
    >>> clearly_high(xr.Dataset({"m_ratio": m, "m_ratio_se": se, "dprime": m})).values
    array([ True, False])
    """
    lower = fitted["m_ratio"] - CLEAR_Z * fitted["m_ratio_se"]
    return (lower > limit("high-m-ratio")) & (fitted["dprime"] > 0)


def moved_by_correction(
    corrected: xr.DataArray, raw: xr.DataArray, se: xr.DataArray | None = None
) -> list[Notice]:
    """Notice of how far a correction of the counts moved M.

    Parameters
    ----------
    corrected, raw : DataArray
        M with the correction and without, with dim cell where there are several.
    se : DataArray, optional
        Standard error of the corrected one.

    Returns
    -------
    list of Notice
        ``"correction-moves-m"``, with the cells in which M moved by .005 or more, or exists only
        because of the correction. A warning where it exists only so, or moved by half a standard
        error; else info.

    Examples
    --------
    >>> m = xr.DataArray([1.064, 0.8], {"cell": ["a", "b"]})
    >>> print(moved_by_correction(m, m + [0.007, 0.001])[0].message)
    The correction changed M-ratio, by up to 0.007.
    """
    moved = abs(corrected - raw)
    is_owed = corrected.notnull() & raw.isnull()
    is_visible = (moved >= VISIBLE) | is_owed
    is_large = is_owed if se is None else is_owed | (moved >= LARGE_SHARE * se)
    if not is_visible.any():
        return []
    largest = float(moved.max())
    by = "" if np.isnan(largest) else f", by up to {largest:.3f}"
    number = int(is_owed.sum())
    owed = f" Without it {number} estimates of M do not exist." if number else ""
    code = "correction-moves-m.large" if is_large.any() else "correction-moves-m"
    return notice_where(is_visible, code, by=by, owed=owed)
