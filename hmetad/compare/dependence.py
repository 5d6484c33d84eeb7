"""Cells that may not be compared as they are: separate fits, the same items, or unequal ones.

Draws and their cells (chain, draw, cell) → list of Notice; coverage of items.
Source: Boehm et al. (2018) for separate fits; Miller (2024) for items.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.compare.quantities import Draws
from hmetad.compare.separate import shared_groups
from hmetad.compare.strata import design_of, per_cell_coordinates, strata_of
from hmetad.coverage import CODE, items_of, shares_of, unequal_items
from hmetad.notice import Notice, notice_of, notices
from hmetad.untrusted import read_attr

__all__ = ["dependence", "notices_for", "side_coverage"]


def dependence(
    draws: Draws | Mapping[str, Draws],
    values: xr.DataArray,
    over: str,
    held: Sequence[str],
    independent: bool,
) -> list[Notice]:
    """Notices of cells that are compared as independent ones and may not be.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray, or mapping of str to them
        What is compared.
    values : DataArray
        Draws of the quantity, (chain, draw, cell).
    over, held, independent
        As `over`, `within` and `independent` of `contrast`.

    Returns
    -------
    list of Notice
        ``"separate-fits"`` where cells agree in a coordinate or fits in levels of a factor, and
        ``"paired-data"`` where the counts say that cells were given the same items; warnings with
        their cells. None without `independent`.

    Examples
    --------
    >>> values = xr.DataArray(
    ...     np.zeros((1, 4, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"], "model": ("cell", ["m1", "m2"])},
    ...     attrs={"same_items": '[["a", "b"]]'},
    ... )
    >>> [one.code for one in dependence(values, values, "model", (), independent=True)]
    ['paired-data']
    """
    if not independent:
        return []
    fits = [draws] if isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray) else draws.values()
    groups = [group for fit in fits for group in read_attr(fit.attrs, "same_items")]
    return [
        *separate_fits(draws, values, over, held),
        *paired_data(values, groups, over, held),
    ]


def notices_for(values: xr.DataArray, over: str) -> list[Notice]:
    """Notices of draws; that of unequal items is of the levels that are compared."""
    labels = values["cell"].values.tolist()
    items = items_of(values.attrs, over, labels)
    said = notices(values)
    if items is None:
        return said
    own = unequal_items(over, labels, values[over].values.tolist(), items)
    return [*(one for one in said if one.code != CODE), *own]


def side_coverage(values: xr.DataArray, over: str, weights: csr_array) -> dict[str, Any]:
    """Coordinates of pairs: the share of items that each side has; none where it is unknown."""
    items = items_of(values.attrs, over, values["cell"].values)
    if items is None:
        return {}
    sides = {"left": (weights > 0), "right": (weights < 0)}
    sums = {side: is_used.astype(float) @ items for side, is_used in sides.items()}
    return {f"{side}_coverage": ("pair", shares_of(x)) for side, x in sums.items()}


def separate_fits(
    draws: Draws | Mapping[str, Draws], values: xr.DataArray, over: str, held: Sequence[str]
) -> list[Notice]:
    """Notice of cells that agree in a coordinate, or of fits with effects of the same levels."""
    names = [*held, *(x for x in per_cell_coordinates(values) if x not in (over, *held))]
    repeats = {name: is_repeated(values[name].values) for name in names}
    alike = {name: where for name, where in repeats.items() if where.any() or name in held}
    if not isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray):
        everywhere = np.ones(values.sizes["cell"], dtype=bool)
        alike |= {name: everywhere for name in shared_groups(draws) if name not in alike}
    if not alike:
        return []
    cells = values["cell"].values[np.any(list(alike.values()), axis=0)].tolist()
    return [notice_of("separate-fits", cells, names=", ".join(alike))]


def paired_data(
    values: xr.DataArray, groups: Sequence[Sequence[str]], over: str, held: Sequence[str]
) -> list[Notice]:
    """Notice of cells that are compared, and were given the same items."""
    labels = values["cell"].values
    is_paired = np.zeros(len(labels), dtype=bool)
    for stratum in strata_of(design_of(values, over, held), held) if groups else []:
        for group in groups:
            members = stratum[np.isin(labels[stratum], group)]
            is_paired[members] |= len(members) > 1
    cells = labels[is_paired].tolist()
    return [notice_of("paired-data.draws", cells)] if cells else []


def is_repeated(levels: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which levels occur more than once."""
    _, number, times = np.unique(levels, return_inverse=True, return_counts=True)
    return times[number] > 1
