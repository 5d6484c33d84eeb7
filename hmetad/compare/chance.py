"""Quantities that chance raises, compared over cells with unlike numbers of trials.

Draws of resampling and what is compared → which comparisons are one of numbers of trials.
Source: Miller (1955) for information; Ferro & Fricker (2012) for calibration.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.compare.pooling import counted_trials, trials_of
from hmetad.compare.quantities import Draws
from hmetad.compare.strata import design_of, strata_of
from hmetad.monte_carlo import has_chains
from hmetad.notice import Notice, notice_attrs, notice_of, notices
from hmetad.notice_registry import limit
from hmetad.results import is_raised_by_chance

__all__ = ["are_unlike", "inverse_trials", "unlike_contrasts", "with_unlike_cells"]

type Floats = NDArray[np.float64]


def are_unlike(inverse: Floats) -> NDArray[np.bool_]:
    """Whether numbers of trials, as 1/n on the last axis, are too unlike for a comparison.

    Examples
    --------
    >>> are_unlike(1 / np.array([[250, 5000], [300, 310]])).tolist()
    [True, False]
    """
    unlike: NDArray[np.bool_] = inverse.max(axis=-1) > limit("raised-by-chance") * inverse.min(
        axis=-1
    )
    return unlike


def unlike_contrasts(
    draws: Draws | Mapping[str, Draws],
    values: xr.DataArray,
    names: Sequence[str],
    weights: csr_array,
    labels: Sequence[str],
) -> tuple[list[Notice], NDArray[np.bool_]]:
    """Contrasts of what chance raises whose sides have unlike numbers of trials, with a notice.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray, or mapping of str to them
        What is compared. Draws without numbers of trials, and those of chains, give no notice.
    values : DataArray
        Draws of the quantity, (chain, draw, cell).
    names : sequence of str
        Coordinates in use.
    weights : sparse array, shape (contrasts, cells)
    labels : sequence of str
        Names of the contrasts.
    """
    inverse = inverse_trials(draws, values, names)
    if inverse is None:
        return [], np.zeros(len(labels), dtype=bool)
    # Bias falls as 1/n, so that the mean of 1/n is what a weighted mean of cells has.
    sides = [weights.maximum(0) @ inverse, (-weights).maximum(0) @ inverse]
    unlike = are_unlike(np.stack(sides, axis=-1))
    concerned = [label for label, is_so in zip(labels, unlike, strict=True) if is_so]
    return notice_of_unlike(values, concerned), unlike


def with_unlike_cells(
    values: xr.DataArray, inverse: Floats | None, over: str, held: Sequence[str]
) -> xr.DataArray:
    """Draws with a notice of the cells of strata whose 1/n are too unlike to rank."""
    if inverse is None:
        return values
    strata = [x for x in strata_of(design_of(values, over, held), held) if are_unlike(inverse[x])]
    cells = [label for one in strata for label in values["cell"].values[one].tolist()]
    return values.assign_attrs(notice_attrs([*notices(values), *notice_of_unlike(values, cells)]))


def inverse_trials(
    draws: Draws | Mapping[str, Draws], values: xr.DataArray, names: Sequence[str]
) -> Floats | None:
    """1/n of each cell, where draws are of resampling and chance raises the quantity."""
    if has_chains(values.attrs) or not is_raised_by_chance(str(values.name)):
        return None
    parts = (
        [draws] if isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray) else draws.values()
    )
    if any(counted_trials(one) is None for one in parts):
        return None
    return 1 / np.maximum(trials_of(draws, values, names), 1)


def notice_of_unlike(values: xr.DataArray, concerned: Sequence[str]) -> list[Notice]:
    """Notice of the contrasts or cells, where there are any."""
    return [notice_of("raised-by-chance", concerned, name=str(values.name))] if concerned else []
