"""Contrasts between the cells of a design, draw by draw.

Posterior draws (chain, draw, cell) → draws of differences (chain, draw, pair).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.errors import InputError, nearest

__all__ = ["Kind", "contrast", "error_codes", "pair_cells"]

Kind = Literal["difference", "log_ratio", "superiority"]
M_QUANTITIES = ("m", "m_ratio", "log_m")
SAMPLE_DIMS = ("chain", "draw")


def contrast(
    draws: xr.DataTree | xr.Dataset | xr.DataArray,
    *,
    var: str | None = None,
    over: str,
    within: str | Sequence[str] = (),
    against: str | float | bool | None = None,
    kind: Kind = "difference",
    independent: bool = False,
) -> xr.DataArray:
    """Compare the levels of a coordinate, within each level of others.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray
        A fit, or its posterior, or draws of one quantity with dims (chain, draw, cell).
    var : str, optional
        The quantity, such as "log_m"; needed unless a DataArray is given.
    over : str
        Coordinate of the cells whose levels are compared.
    within : str or sequence of str
        Coordinates to hold equal in both cells of a pair.
    against : optional
        A level of `over`: every other level minus this one. By default all pairs, each level
        minus every later one, in the order in which the cells have them.
    kind : {"difference", "log_ratio", "superiority"}
        left - right; log(left / right), NaN unless both are positive; or 1 where left > right,
        whose mean is the probability of superiority.
    independent : bool
        The cells come from separate fits: draws are paired as independent ones, with the right
        side moved on by half a run so that equal seeds leave no trace. Cells of one fit are
        paired draw by draw, which keeps their posterior covariance.

    Returns
    -------
    DataArray
        Dims (chain, draw, pair); coordinates left and right (levels of `over`), those of
        `within`, and withheld: codes of the errors that a fit says of the cells of a pair, for
        which `decide` gives no verdict. attrs quantity, kind, over, within, and pairing ("joint"
        or "independent").

    Raises
    ------
    InputError
        If a name is unknown, or `over` and `within` together do not identify one cell each.

    Examples
    --------
    >>> log_m = xr.DataArray(
    ...     [[[0.5, 0.1], [0.7, 0.2]]],
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
    ...     name="log_m",
    ... )
    >>> contrast(log_m, over="model").values.ravel().round(1).tolist()
    [0.4, 0.5]
    """
    if kind not in get_args(Kind):
        raise InputError("kind", repr(kind), ", ".join(get_args(Kind)))
    values = quantity_draws(draws, var)
    if kind == "log_ratio" and str(values.name).startswith("log_"):
        step = "It is a logarithm already: its difference is the log ratio."
        raise InputError("kind", "'log_ratio'", f"'difference' for {values.name}", step)
    held = (within,) if isinstance(within, str) else tuple(within)
    pairs = pair_cells(values, over=over, within=held, against=against)
    left = values.isel(cell=pairs["left_cell"].to_numpy())
    right = values.isel(cell=pairs["right_cell"].to_numpy())
    if independent:
        right = right.roll(chain=1, draw=values.sizes["draw"] // 2)
    result = xr.DataArray(
        compare_values(left.values, right.values, kind),
        dims=(*SAMPLE_DIMS, "pair"),
        coords={name: values[name] for name in SAMPLE_DIMS if name in values.coords},
        name=f"log ratio of {values.name}" if kind == "log_ratio" else values.name,
        attrs={
            "quantity": str(values.name),
            "kind": kind,
            "over": over,
            "within": ", ".join(held),
            "pairing": "independent" if independent else "joint",
        },
    )
    names = {"pair": pairs["label"], **{name: pairs[name] for name in ("left", "right", *held)}}
    result = result.assign_coords({k: ("pair", as_plain_array(v)) for k, v in names.items()})
    cells = zip(left["cell"].values.tolist(), right["cell"].values.tolist(), strict=True)
    withheld = [error_codes(values, pair) for pair in cells]
    return result.assign_coords(withheld=("pair", withheld))


def pair_cells(
    cells: xr.Dataset | xr.DataArray,
    *,
    over: str,
    within: Sequence[str] = (),
    against: str | float | bool | None = None,
) -> pd.DataFrame:
    """Which cell stands on the left and on the right of each pair.

    Parameters
    ----------
    cells : Dataset or DataArray
        Anything with a dim "cell" and its coordinates.
    over, within, against
        As in `contrast`.

    Returns
    -------
    DataFrame
        One row per pair: left_cell, right_cell (positions), left, right (levels of `over`), the
        levels of `within`, and a label.
    """
    design = pd.DataFrame({name: cell_levels(cells, name) for name in (over, *within)})
    twice = design.duplicated(keep=False).to_numpy()
    if twice.any():
        both = ", ".join(map(str, cells["cell"].values[twice][:2]))
        others = set(map(str, per_cell_coordinates(cells))) - {over, *within}
        raise InputError(
            "over and within",
            f"{', '.join([over, *within])}, alike in {both}",
            "coordinates that identify one cell each",
            f"Add to within: {', '.join(sorted(others)) or 'nothing is left'}.",
        )
    if against is not None and against not in design[over].to_numpy():
        known = design[over].unique()
        raise InputError(
            "against", repr(against), f"a level of {over}", nearest(str(against), known)
        )
    groups = design.groupby(list(within), sort=False) if within else [((), design)]
    rows = [row for _, group in groups for row in pairs_of_group(group, over, against)]
    if not rows:
        raise InputError("over", repr(over), "a coordinate with two levels or more to compare")
    return pd.DataFrame(rows)


def pairs_of_group(
    group: pd.DataFrame, over: str, against: str | float | bool | None
) -> Iterator[dict[str, object]]:
    """Rows of `pair_cells` for cells that agree in everything held equal."""
    levels = group[over]
    if against is None:
        pairs = list(combinations(levels.index, 2))
    else:
        reference = levels.index[levels == against]
        pairs = [(i, reference[0]) for i in levels.index if len(reference) and i != reference[0]]
    for i, j in pairs:
        held = group.loc[i].drop(over)
        label = " | ".join([f"{levels[i]} − {levels[j]}", *map(str, held)])
        yield {
            "left_cell": i,
            "right_cell": j,
            "left": levels[i],
            "right": levels[j],
            **held,
            "label": label,
        }


def quantity_draws(draws: xr.DataTree | xr.Dataset | xr.DataArray, var: str | None) -> xr.DataArray:
    """Draws of one quantity, dims (chain, draw, cell)."""
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise InputError("draws", "a DataTree without posterior", "a fit, as `fit` returns it")
        said = {k: v for k, v in draws.attrs.items() if k == "notices"}
        draws = draws["posterior"].to_dataset().assign_attrs(said)
    if isinstance(draws, xr.Dataset):
        per_cell = [str(k) for k, v in draws.items() if set(v.dims) == {*SAMPLE_DIMS, "cell"}]
        if var is None or var not in per_cell:
            raise InputError("var", repr(var), "a quantity per cell", nearest(str(var), per_cell))
        draws = draws[var].assign_attrs({k: v for k, v in draws.attrs.items() if k == "notices"})
    if set(draws.dims) != {*SAMPLE_DIMS, "cell"}:
        raise InputError("draws", f"dims {draws.dims}", "dims (chain, draw, cell)")
    return draws.transpose(*SAMPLE_DIMS, "cell")


def error_codes(draws: xr.DataArray, cells: Iterable[str]) -> str:
    """Codes of the error notices on draws that concern any of the cells; no cells means all.

    Errors about the sign of d′ or meta-d′ concern M alone.
    """
    of_m = str(draws.name) in M_QUANTITIES
    return ", ".join(
        notice["code"]
        for notice in json.loads(draws.attrs.get("notices", "[]"))
        if notice["severity"] == "error"
        and (of_m or not notice["code"].endswith("-sign"))
        and (not notice["cells"] or set(cells) & set(notice["cells"]))
    )


def compare_values(left: np.ndarray, right: np.ndarray, kind: Kind) -> np.ndarray:
    """The contrast itself, element by element."""
    if kind == "difference":
        return left - right
    if kind == "superiority":
        return (left > right).astype(float)
    defined = (left > 0) & (right > 0)
    ratio = np.divide(left, right, out=np.full_like(left, np.nan), where=defined)
    return np.log(ratio)


def per_cell_coordinates(cells: xr.Dataset | xr.DataArray) -> list[str]:
    """Names of the coordinates that tell cells apart."""
    return [str(k) for k, v in cells.coords.items() if v.dims == ("cell",) and k != "cell"]


def cell_levels(cells: xr.Dataset | xr.DataArray, name: str) -> np.ndarray:
    """Levels of a coordinate, one per cell."""
    known = per_cell_coordinates(cells)
    if name not in known:
        raise InputError(
            "coordinate", repr(name), "a coordinate of the cells", nearest(name, known)
        )
    return cells[name].values


def as_plain_array(column: pd.Series) -> np.ndarray:
    """Column as NumPy text or numbers, never a pandas extension array."""
    return np.array(column.tolist())
