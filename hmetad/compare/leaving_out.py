"""Draws without some levels of a coordinate.

Draws, coordinate and levels → draws of the other cells, with the notices that concern these.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.compare.quantities import Draws
from hmetad.errors import InputError, nearest
from hmetad.notice import notice_attrs, notices

__all__ = ["leave_out"]


@check_inputs(skip=("levels",))
def leave_out(draws: Draws, over: str, levels: Sequence[Any]) -> Draws:
    """Draws without the cells of some levels, for `contrast` and `rank`.

    A level that cannot be judged, such as a model whose d′ is not above 0, leaves no rank of the
    others to trust. Which levels to leave out is to be said before their differences are seen.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray
        A fit, what `hmetad.predict` returned, or draws of resampling; it is not changed.
    over : str
        Coordinate of the cells.
    levels : sequence
        Its levels to leave out.

    Returns
    -------
    DataTree, Dataset or DataArray
        As `draws`. Notices that concern the left-out cells alone are gone.

    Raises
    ------
    InputError
        If cells have no such coordinate, a level is unknown, or none would be left.

    Examples
    --------
    >>> log_m = xr.DataArray(
    ...     np.zeros((1, 2, 3)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b", "c"], "model": ("cell", ["a", "b", "c"])},
    ... )
    >>> leave_out(log_m, "model", ["b"])["cell"].values.tolist()
    ['a', 'c']
    """
    drawn = draws["posterior"].to_dataset() if isinstance(draws, xr.DataTree) else draws
    if over not in drawn.coords or drawn[over].dims != ("cell",):
        raise InputError("over", repr(over), "a coordinate of the cells")
    own = drawn[over].to_numpy()
    for level in levels:
        if level not in own:
            step = nearest(str(level), [*map(str, own)])
            raise InputError("levels", repr(level), f"levels of {over}", step)
    is_kept = ~np.isin(own, list(levels))
    if not is_kept.any():
        raise InputError("levels", "all of them", "some, so that others are left")
    gone = {*map(str, drawn["cell"].to_numpy()[~is_kept])}
    kept = draws.isel(cell=is_kept)
    labelled: list[Draws] = [kept]
    if isinstance(kept, xr.DataTree):
        labelled += kept["posterior"].data_vars.values()
    elif isinstance(kept, xr.Dataset):
        labelled += kept.data_vars.values()
    for one in labelled:
        said = [x for x in notices(one) if not x.cells or not gone >= {*x.cells}]
        one.attrs = {**one.attrs, "notices": "[]", **notice_attrs(said)}
    return kept
