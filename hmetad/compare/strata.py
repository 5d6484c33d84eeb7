"""Which cells are to be compared: levels of one coordinate, with others held equal.

Cells with coordinates → data frame of levels, and positions of the cells of each stratum.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.errors import InputError, nearest

__all__ = ["design_of", "held_names", "per_cell_coordinates", "strata_of"]


def held_names(within: str | Sequence[str]) -> tuple[str, ...]:
    """Names of the coordinates to hold equal, each once.

    Examples
    --------
    >>> held_names("task")
    ('task',)
    """
    return (within,) if isinstance(within, str) else tuple(dict.fromkeys(within))


def design_of(
    cells: xr.Dataset | xr.DataArray, over: str, within: Sequence[str] = ()
) -> pd.DataFrame:
    """Levels of `over` and of what is held equal, a row per cell.

    Raises
    ------
    InputError
        If a name is unknown, `over` is a number beside the factors, or the names do not identify
        one cell each.
    """
    if over in within:
        raise InputError("within", repr(over), "coordinates other than over")
    if over in cells.coords and cells[over].attrs.get("role") == "covariate":
        got = f"{over!r}, a covariate with {len(np.unique(cells[over]))} values"
        step = (
            f"Judge its coefficient, {getattr(cells, 'name', '')}_{over}, without over; contrast "
            f"predict(fit, cells) at values of it; or, if it is a factor, count by it or write "
            f"C({over}) in the formula."
        )
        raise InputError("over", got, "a factor, which has levels to compare", step)
    design = pd.DataFrame({name: cell_levels(cells, name) for name in (over, *within)})
    twice = design.duplicated(keep=False).to_numpy()
    if twice.any():
        both = ", ".join(map(str, cells["cell"].values[twice][:2]))
        others = sorted(set(per_cell_coordinates(cells)) - {over, *within})
        step = (
            f"Add to within: {', '.join(others)}; or, of a model with formulas, compare what "
            "predict(fit) gives."
        )
        raise InputError(
            "over and within",
            f"{', '.join([over, *within])}, alike in {both}",
            "coordinates that identify one cell each",
            step if others else "Count by one more column.",
        )
    return design


def strata_of(design: pd.DataFrame, within: Sequence[str]) -> list[NDArray[np.intp]]:
    """Positions of the cells that agree in everything held equal, in the order of the cells."""
    if not within:
        return [np.arange(len(design))]
    number = design.groupby(list(within), sort=False, dropna=False).ngroup().to_numpy()
    return [np.flatnonzero(number == i) for i in range(number.max() + 1)]


def per_cell_coordinates(cells: xr.Dataset | xr.DataArray) -> list[str]:
    """Names of the coordinates that tell cells apart."""
    return [str(k) for k, v in cells.coords.items() if v.dims == ("cell",) and k != "cell"]


def cell_levels(cells: xr.Dataset | xr.DataArray, name: str) -> NDArray[Any]:
    """Levels of a coordinate, one per cell."""
    known = per_cell_coordinates(cells)
    if name not in known:
        raise InputError(
            "coordinate", repr(name), "a coordinate of the cells", nearest(name, known)
        )
    return cells[name].values
