"""Every measure of a table, with maximum-likelihood meta-d′ beside where it is asked for.

Count table (cell, stimulus, response, rating) or type-2 table (cell, correct, rating) → Dataset
(cell).
"""

import xarray as xr

from hmetad.arguments import checked
from hmetad.measures.catalogue import measure
from hmetad.measures.sdt import Correction
from hmetad.mle.meta_d import fit_mle
from hmetad.notice import notices, with_notices

__all__ = ["measure_all"]

FITTED = ("meta_d", "meta_d_se", "m_ratio", "m_ratio_se", "log_m", "log_m_se")


@checked("counts")
def measure_all(
    counts: xr.DataArray,
    *,
    correction: Correction = "none",
    meta_d: bool = True,
    errors: bool = True,
) -> xr.Dataset:
    """What `measure` gives, and meta-d′ and M of `fit_mle`, per cell.

    Parameters
    ----------
    counts : DataArray
        As in `measure`; with `meta_d` it needs a stimulus.
    correction : {"none", "loglinear", "cell"} or float, optional
        Of the type-1 measures and the fit, as in `sdt`.
    meta_d : bool, optional
        Whether meta_d, m_ratio and log_m are fitted too.
    errors : bool, optional
        Whether standard errors are kept; where all is resampled they are of no use.

    Returns
    -------
    Dataset
        Variables of both.

    Raises
    ------
    InputError
        As `measure` and `fit_mle`.

    Examples
    --------
    >>> from hmetad.counts.table import from_nr
    >>> found = measure_all(from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39]))
    >>> found["m_ratio"].round(3).item(), found["auroc2"].round(3).item()
    (0.971, 0.71)
    """
    found = measure(counts, correction=correction)
    if meta_d:
        fitted = fit_mle(counts, correction=correction)
        together = found.assign(fitted[list(FITTED)].data_vars)
        found = with_notices(together, notices(fitted))
    if errors:
        return found
    return found.drop_vars([x for x in map(str, found) if x.endswith("_se") or x[:4] == "cov_"])
