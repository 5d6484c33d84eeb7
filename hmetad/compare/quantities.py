"""One quantity of a fit, as cells with coordinates.

DataTree, Dataset or DataArray of draws → DataArray (chain, draw, cell). What has dims of its own,
such as a coefficient over the levels of a factor, gets a cell for each place; error notices
of a fit stay with their cells.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import row_labels
from hmetad.errors import InputError, nearest
from hmetad.notice import Notice, notice_attrs, notice_of, notices
from hmetad.notice_registry import about_alone
from hmetad.results import about

__all__ = [
    "GROUP_DIM",
    "SAMPLE_DIMS",
    "Draws",
    "as_cells",
    "both_codes",
    "check_not_empty",
    "error_flags",
    "in_chains",
    "joined_codes",
    "named_as_asked",
    "one_variable",
    "quantity_draws",
    "stacked_notices",
    "undefined_notice",
]

type Draws = xr.DataTree | xr.Dataset | xr.DataArray

SAMPLE_DIMS = ("chain", "draw")
GROUP_DIM = "__factor_dim"


def quantity_draws(draws: Draws, var: str | None, names: Sequence[str] = ()) -> xr.DataArray:
    """Draws of one quantity, a cell for each of its places.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray
        A fit, its posterior, or draws with dims chain and draw, or draw alone.
    var : str or None
        The quantity; needed unless a DataArray is given.
    names : sequence of str
        Coordinates in use. One that is not there stands for the dim that a formula made of it:
        ``task`` for ``task_dim``, ``subject`` for ``subject__factor_dim``.

    Returns
    -------
    DataArray
        Dims (chain, draw, cell).

    Raises
    ------
    InputError
        If there is no such quantity, or it is a single number.

    Examples
    --------
    >>> effect = xr.DataArray(
    ...     np.zeros((2, 3, 2)),
    ...     dims=("chain", "draw", "task_dim"),
    ...     coords={"task_dim": ["b", "c"]},
    ...     name="log_m_task",
    ... )
    >>> quantity_draws(effect, None, ["task"])["task"].values.tolist()
    ['b', 'c']
    """
    values = named_as_asked(one_variable(draws, var), names)
    if set(values.dims) == set(SAMPLE_DIMS):
        step = "`decide` judges it as it is."
        raise InputError("var", f"{values.name}, one number", "a quantity with levels", step)
    return as_cells(values)


def error_flags(draws: xr.DataArray) -> tuple[list[str], NDArray[np.bool_]]:
    """Codes of the error notices on draws, and which cells each concerns, (errors, cells)."""
    errors, cells = errors_on(draws), draws["cell"].values
    rows = [np.isin(cells, e.cells) if e.cells else np.ones(len(cells), bool) for e in errors]
    return [e.code for e in errors], np.array(rows, dtype=bool).reshape(len(errors), len(cells))


def undefined_notice(
    labels: NDArray[Any], share: NDArray[np.float64], joint: float = 1
) -> list[Notice]:
    """Notice of what has undefined draws, and of what is left where all has to be defined."""
    if not (share > 0).any():
        return []
    concerned = labels[share > 0].astype(str).tolist()
    kept = f" Ranks are of the {joint:.1%} in which all that is ranked is defined." * (joint < 1)
    return [notice_of("undefined-draws.left-out", concerned, share=share.max(), kept=kept)]


def joined_codes(codes: Sequence[str], flags: NDArray[np.bool_]) -> list[str]:
    """Codes that hold of each column of the flags (codes, columns), as text.

    Examples
    --------
    >>> joined_codes(["rhat", "ess"], np.array([[True, False], [True, False]]))
    ['rhat, ess', '']
    """
    kinds, number = np.unique(flags, axis=1, return_inverse=True)
    texts = [
        ", ".join(dict.fromkeys(c for c, holds in zip(codes, kind, strict=True) if holds))
        for kind in kinds.T
    ]
    return [texts[i] for i in number.ravel()] if len(codes) else [""] * flags.shape[1]


def both_codes(some: Sequence[str], others: Sequence[str]) -> NDArray[np.str_]:
    """Codes of two lists of texts, each code once."""
    both = [[*a.split(", "), *b.split(", ")] for a, b in zip(some, others, strict=True)]
    return np.array([", ".join(dict.fromkeys(filter(None, codes))) for codes in both], dtype=str)


def one_variable(draws: Draws, var: str | None) -> xr.DataArray:
    """Draws of one variable, with the notices of its fit."""
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise InputError("draws", "a DataTree without posterior", "a fit, as `fit` returns it")
        draws = draws["posterior"].to_dataset().assign_attrs(carried(draws))
    if isinstance(draws, xr.Dataset):
        sampled = [str(k) for k, v in draws.items() if "draw" in v.dims]
        if var is None or var not in sampled:
            left_out = [one for one in notices(draws) if one.code == "cells-not-kept"]
            step = left_out[0].next_step if left_out else nearest(str(var), sampled)
            raise InputError("var", repr(var), "a quantity with dim draw", step)
        # What concerns a variable is written on it, where a fit or a prediction wrote it.
        own = draws[var]
        draws = own.assign_attrs(carried(draws) | carried(own))
    if not isinstance(draws, xr.DataArray) or "draw" not in draws.dims:
        got = f"dims {draws.dims}" if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise InputError("draws", got, "a fit, or draws with dim draw")
    check_not_empty(draws)
    return in_chains(draws)


def in_chains(draws: xr.DataArray) -> xr.DataArray:
    """Draws with dims chain and draw; those of resampling, which have no chains, are one.

    Examples
    --------
    >>> in_chains(xr.DataArray(np.zeros((2, 5)), dims=("cell", "draw"))).sizes["chain"]
    1
    """
    if "draw" in draws.dims and "chain" not in draws.dims:
        return draws.drop_vars("chain", errors="ignore").expand_dims(chain=[0])
    return draws


def carried(draws: Draws) -> dict[Any, Any]:
    """Attrs that draws keep: notices, coverage, and the level that coefficients differ from."""
    return {
        name: x for name, x in draws.attrs.items() if name in ("notices", "reference", "coverage")
    }


def check_not_empty(draws: xr.DataArray) -> None:
    """Refuse draws without any draw, or without any cell or pair."""
    none = [str(dim) for dim, size in draws.sizes.items() if size == 0]
    if none:
        got = f"none: {', '.join(none)} of length 0"
        raise InputError("draws", got, "one cell or pair, and one draw, at least")


def named_as_asked(values: xr.DataArray, names: Sequence[str]) -> xr.DataArray:
    """Values whose dims bear the names of the factors that formulas made them of."""
    for name in names:
        ends = (f"_{name}_dim", f"_{name}{GROUP_DIM}")
        made = [d for d in values.dims if f"_{d}".endswith(ends)]
        if name not in values.coords and len(made) == 1:
            values = values.rename({made[0]: name})
    return values


def as_cells(values: xr.DataArray) -> xr.DataArray:
    """Values with dims (chain, draw, cell): every place of further dims is a cell."""
    dims = sorted((str(d) for d in values.dims if d not in SAMPLE_DIMS), key=lambda d: d != "cell")
    if dims == ["cell"]:
        return values.transpose(*SAMPLE_DIMS, "cell")
    ordered = values.transpose(*SAMPLE_DIMS, *dims)
    places = np.indices([ordered.sizes[dim] for dim in dims]).reshape(len(dims), -1)
    coords: dict[str, Any] = {}
    for dim, place in zip(dims, places, strict=True):
        own = {dim: ordered[dim], **{k: v for k, v in ordered.coords.items() if v.dims == (dim,)}}
        coords |= {str(k): ("cell", x.values[place], x.attrs) for k, x in own.items()}
    texts = [coords[dim][1].tolist() for dim in dims]
    labels = row_labels(zip(*texts, strict=True))
    owner = coords["cell"][1].tolist() if "cell" in dims else None
    sampled = {name: ordered[name] for name in SAMPLE_DIMS if name in ordered.coords}
    shape = (*(ordered.sizes[dim] for dim in SAMPLE_DIMS), len(labels))
    return xr.DataArray(
        ordered.values.reshape(shape),
        dims=(*SAMPLE_DIMS, "cell"),
        coords={**sampled, **coords, "cell": labels},
        name=values.name,
        attrs=stacked_notices(values, labels, owner),
    )


def stacked_notices(
    values: xr.DataArray, labels: Sequence[str], owner: Sequence[str] | None
) -> dict[Any, Any]:
    """Attrs whose notices name stacked cells, each with the cell that it belongs to.

    A coefficient belongs to no cell: an error about the sampling of some cells concerns it
    whole, one about the sign of d′ or meta-d′ in them does not.
    """
    found = []
    for notice in notices(values):
        if owner is None and notice.cells and about_alone(notice.code):
            continue
        named = set(notice.cells)
        pairs = zip(labels, owner or [], strict=owner is not None)
        cells = tuple(label for label, cell in pairs if cell in named)
        found.append(replace(notice, cells=cells))
    others = {k: v for k, v in values.attrs.items() if k != "notices"}
    return {**others, **notice_attrs(found)}


def errors_on(draws: xr.DataArray) -> list[Notice]:
    """Error notices of draws that concern the quantity."""
    of = about(str(draws.name))
    errors = [notice for notice in notices(draws) if notice.severity == "error"]
    # What concerns meta-d′ concerns M, which follows from it.
    return [error for error in errors if of == "M" or about_alone(error.code) in ("", of)]
