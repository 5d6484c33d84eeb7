"""Notices of estimates that are judged by their standard errors.

DataArray of estimates with notices → codes of what withholds a verdict, and notices.
Source: Boehm et al. (2018) for tests of shrunken estimates.
"""

import xarray as xr

from hmetad.compare.quantities import error_flags, joined_codes, stacked_notices
from hmetad.notice import Notice, notice_of

__all__ = ["shrunken_notice", "withheld_codes"]


def withheld_codes(values: xr.DataArray) -> list[str]:
    """Codes of the errors that estimates carry, for each of them.

    Parameters
    ----------
    values : DataArray, shape (n,)
        Estimates, with dim cell; or of pairs of cells, with coordinates left and right as
        `z_test` gives them, or withheld as `contrast` does. For others, such as a coefficient,
        an error concerns all.

    Returns
    -------
    list of str, length n
        Empty text where there are none. Errors about the sign of d′ or meta-d′ concern M alone.

    Examples
    --------
    >>> said = '[{"code": "rhat", "severity": "error", "message": "", "cells": ["a"]}]'
    >>> m = xr.DataArray([0.1, 0.2], {"cell": ["a", "b"]}, name="log_m", attrs={"notices": said})
    >>> withheld_codes(m)
    ['rhat', '']
    """
    if "withheld" in values.coords:
        return [str(codes) for codes in values["withheld"].values]
    values = values.rename(values.attrs.get("quantity", values.name))
    if values.dims == ("cell",) and "cell" in values.coords:
        return joined_codes(*error_flags(values))
    if {"left", "right"} <= set(values.coords):
        codes, left = error_flags(of_cells(values, values["left"].values.tolist()))
        _, right = error_flags(of_cells(values, values["right"].values.tolist()))
        return joined_codes(codes, left | right)
    labels = [str(i) for i in range(values.size)]
    whole = of_cells(values, labels)
    whole.attrs = stacked_notices(values, labels, None)
    return joined_codes(*error_flags(whole))


def shrunken_notice(values: xr.DataArray) -> list[Notice]:
    """Notice of partially pooled estimates, which their fit has marked.

    Examples
    --------
    >>> means = xr.DataArray([0.1, 0.2], {"cell": ["a", "b"]}, attrs={"pooled_over": "subject"})
    >>> shrunken_notice(means)[0].cells
    ('a', 'b')
    """
    over = values.attrs.get("pooled_over")
    if not over:
        return []
    labels = values[values.dims[0]].values.tolist() if values.dims[0] in values.coords else []
    return [notice_of("shrunken-estimates", map(str, labels), over=over)]


def of_cells(values: xr.DataArray, labels: list[str]) -> xr.DataArray:
    """The same numbers and notices, of cells with these labels."""
    return xr.DataArray(values.values, {"cell": labels}, "cell", values.name, values.attrs)
