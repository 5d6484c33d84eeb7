"""Draws of no model of counts among the sources that commands compare.

Fit, or draws in the form of one → which of the two.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DRAWS_FILE", "are_resampled"]

DRAWS_FILE = ".nc"


def are_resampled(source: "xr.DataTree") -> bool:
    """Whether draws are of resampling, or of a model of estimates, and of no fit of counts."""
    return "spec" not in source.attrs or "formula" in source.attrs
