"""Is confidence higher for right answers than for wrong ones? A rank test that needs no fit.

Count table (cell, stimulus, response, rating) → z (cell), and a notice of cells where it is not
clear. Source: Mann & Whitney (1947); Lehmann (1975) for ties; Fleming (2017) for what such cells do
to log M.
"""

import xarray as xr

from hmetad.notice import Notice, notice_where
from hmetad.notice_registry import sentence

__all__ = ["CLEAR_Z", "confidence_z", "faint_confidence"]

CLEAR_Z = 1.96


def confidence_z(counts: xr.DataArray) -> xr.DataArray:
    """Rank test, per cell, of whether confidence is higher for right answers than for wrong ones.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating).

    Returns
    -------
    DataArray
        z per cell: Mann & Whitney's U of the ratings, within each response, summed over responses
        and divided by its standard deviation, which ties make smaller. With n₁ right and n₂ wrong
        answers in a response, n = n₁ + n₂, of which t_k have rating k,
        Var U = n₁n₂ (n³ − Σ t_k³) / (12 n (n − 1)). 0 where all have one rating; NaN where there
        are only right or only wrong answers.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([[20, 10, 5, 5], [15, 15, 5, 5]], [[5, 5, 10, 20], [5, 5, 15, 15]])
    >>> confidence_z(table).round(2).values
    array([1.32, 0.  ])
    """
    counts = counts.astype(float)
    right = xr.concat([counts.sel(stimulus=s, response=s, drop=True) for s in ("S1", "S2")], "of")
    both = counts.sum("stimulus").transpose("response", ...).rename(response="of")
    wrong, n = both - right, both.sum("rating")
    below = wrong.cumsum("rating") - wrong
    pairs = right.sum("rating") * wrong.sum("rating")
    excess = ((right * (below + wrong / 2)).sum("rating") - pairs / 2).sum("of")
    untied = (n**3 - (both**3).sum("rating")) / (n * (n - 1)).where(pairs > 0)
    error = (pairs * untied / 12).sum("of") ** 0.5
    return (excess / error.where(error > 0, 1)).where(pairs.sum("of") > 0)


def faint_confidence(counts: xr.DataArray, backward: xr.DataArray, step: str = "") -> list[Notice]:
    """Notice of cells where confidence is not clearly higher for right answers than for wrong ones.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating).
    backward : DataArray of bool
        Cells with a more severe notice; they are not named again.
    step : str, optional
        What to do about it; else the advice to collect more trials.

    Returns
    -------
    list of Notice
        ``"confidence-sign"`` (warning) where z is below 1.96; or nothing.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> table = from_nr([20, 10, 5, 5], [5, 5, 10, 20], model="A")
    >>> faint_confidence(table, confidence_z(table) <= 0)[0].cells
    ('A',)
    """
    is_faint = (confidence_z(counts) < CLEAR_Z) & ~backward
    return notice_where(is_faint, "confidence-sign", step=step or sentence("more-trials"))
