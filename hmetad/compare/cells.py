"""Draws of one quantity as cells with coordinates, and the strata in which cells are compared.

A fit, draws, or fits by name → DataArray (chain, draw, cell). What has dims of its own, such as a
coefficient over the levels of a factor, gets a cell for each place; error notices of a fit stay
with their cells.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.base.errors import (
    ChoiceError,
    LevelError,
    ModelError,
    SourceError,
    TooFewError,
    UnknownError,
    nearest,
)
from hmetad.base.labels import row_labels
from hmetad.base.monte_carlo import INDEPENDENT, has_chains
from hmetad.base.notice import Notice, notice_attrs, notice_of, notices
from hmetad.base.notice_registry import about_alone
from hmetad.base.results import about
from hmetad.base.variable_roles import identity_of, is_dim_of

type Floats = NDArray[np.float64]
type Draws = xr.DataTree | xr.Dataset | xr.DataArray
type Fits = Draws | Mapping[str, Draws]

SAMPLE_DIMS = ("chain", "draw")
# Types of a fit, of its posterior, and of draws of one quantity.
ONE_FIT = (xr.DataTree, xr.Dataset, xr.DataArray)


def posterior_of(draws: Draws) -> xr.Dataset | xr.DataArray:
    """Draws of a fit; what is no fit stays as it is."""
    return draws["posterior"].to_dataset() if isinstance(draws, xr.DataTree) else draws


def fits_in(draws: Fits) -> list[Draws]:
    """The fits of a mapping; of one fit, which may be a mapping of variables, the fit itself."""
    return [draws] if isinstance(draws, ONE_FIT) else list(draws.values())


def each_fit(draws: Fits, function: Callable[[Draws], Any]) -> Any:
    """Result of a function of a fit, or of each of several by name."""
    if isinstance(draws, ONE_FIT):
        return function(draws)
    return {name: function(fit) for name, fit in draws.items()}


def check_fits(draws: object, independent: bool) -> None:
    """Raise an error for objects without draws, and for separate fits taken for a joint one."""
    if isinstance(draws, ONE_FIT):
        return
    if not isinstance(draws, Mapping):
        got = type(draws).__name__
        raise ModelError("draws", got, "a fit, draws of a quantity, or fits by name")
    if not independent:
        step = "Their draws do not belong together: say so by independent=True, or fit them jointly"
        raise SourceError("draws", "separate fits", "one joint fit", f"{step}.")


def cells_of(draws: Fits, var: str | None, names: Sequence[str] = ()) -> xr.DataArray:
    """Draws of one quantity, (chain, draw, cell), a cell for each of its places.

    Of separate fits all cells stand side by side, told apart by the first of the names in use;
    draws beyond those of the shortest fit are left out.
    """
    if isinstance(draws, ONE_FIT):
        values = one_variable(draws, var, names)
        if set(values.dims) == set(SAMPLE_DIMS):
            got, steps = (
                f"{values.name}, one number",
                ("`decide` takes it as it is.", "Omit --over."),
            )
            raise LevelError("var", got, "a quantity with levels", *steps)
        return as_cells(values)
    if len(draws) < 2:
        raise TooFewError("draws", f"{len(draws)} fits in a mapping", "two fits or more")
    parts: dict[str, xr.DataArray] = {}
    for name, fit in draws.items():
        values = one_variable(fit, var, names)
        if set(values.dims) == set(SAMPLE_DIMS):
            # A single number, such as a group's mean, is one cell.
            values = values.expand_dims(cell=[str(name)])
        values = as_cells(values)
        if names and names[0] not in coordinates_of_cells(values):
            levels = np.array([str(name)] * values.sizes["cell"])
            values = values.assign_coords({names[0]: ("cell", levels)})
        parts[str(name)] = values
    every = [values["cell"].values.tolist() for values in parts.values()]
    are_alike = len(set(chain.from_iterable(every))) < sum(map(len, every))
    sizes = {dim: min(v.sizes[dim] for v in parts.values()) for dim in SAMPLE_DIMS}
    shared = set.intersection(*(set(coordinates_of_cells(v)) for v in parts.values()))
    found: list[Notice] = []
    kept = []
    for (name, values), labels in zip(parts.items(), every, strict=True):
        # Cells of the same name have the name of their fit in front.
        cells = [f"{name} | {cell}" for cell in labels] if are_alike else labels
        named = dict(zip(labels, cells, strict=True))
        for notice in notices(values):
            own = [named.get(cell, cell) for cell in notice.cells]
            found.append(replace(notice, cells=tuple(own or cells)))
        dropped = [coord for coord in values.coords if coord not in {*shared, "cell"}]
        values = values.drop_vars(dropped).isel({d: slice(n) for d, n in sizes.items()})
        kept.append(values.assign_coords(cell=cells))
    sampling = {} if any(has_chains(values.attrs) for values in parts.values()) else INDEPENDENT
    links = [{"link": x.attrs["link"]} for x in parts.values() if "link" in x.attrs][:1]
    joined = xr.concat(kept, "cell", coords="minimal", compat="override", combine_attrs="drop")
    joined = joined.transpose(*SAMPLE_DIMS, "cell").assign_attrs(*links)
    return joined.assign_attrs(notice_attrs(found), **sampling)


def one_variable(draws: Draws, var: str | None, names: Sequence[str] = ()) -> xr.DataArray:
    """Draws of one variable, with the notices of its fit.

    A name in use that is no coordinate stands for the dim that a formula made of it: ``task`` for
    ``task_dim``, ``subject`` for ``subject__factor_dim``, as the attrs of the dim or its name say.
    """
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise ModelError("draws", "a DataTree without posterior", "a fit, as `fit` returns it")
        draws = draws["posterior"].to_dataset().assign_attrs(carried(draws))
    if isinstance(draws, xr.Dataset):
        sampled = [str(k) for k, v in draws.items() if "draw" in v.dims]
        if var is None or var not in sampled:
            left_out = [one for one in notices(draws) if one.code == "cells-not-kept"]
            step = left_out[0].next_step if left_out else nearest(str(var), sampled)
            raise ChoiceError("var", repr(var), "a quantity with dim draw", step)
        # What concerns a variable is written on it, where a fit or a prediction wrote it.
        draws = draws[var].assign_attrs(carried(draws) | carried(draws[var]))
    if not isinstance(draws, xr.DataArray) or "draw" not in draws.dims:
        got = f"dims {draws.dims}" if isinstance(draws, xr.DataArray) else type(draws).__name__
        raise ModelError("draws", got, "a fit, or draws with dim draw")
    values = with_chains(draws)
    for name in names:
        made = [dim for dim in values.dims if is_dim_of(str(dim), values[dim].attrs, name)]
        if name not in values.coords and len(made) == 1:
            values = values.rename({made[0]: name})
    return values


def carried(draws: Draws) -> dict[Any, Any]:
    """Attrs that draws keep: notices, coverage, and the level that coefficients differ from."""
    kept = ("notices", "reference", "coverage")
    return {name: value for name, value in draws.attrs.items() if name in kept}


def with_chains(draws: xr.DataArray) -> xr.DataArray:
    """Draws that are there, with dims chain and draw; those of resampling are one chain."""
    none = [str(dim) for dim, size in draws.sizes.items() if size == 0]
    if none:
        got = f"none: {', '.join(none)} of length 0"
        raise SourceError("draws", got, "one cell or pair, and one draw, at least")
    if "draw" in draws.dims and "chain" not in draws.dims:
        return draws.drop_vars("chain", errors="ignore").expand_dims(chain=[0])
    return draws


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
    labels = row_labels(zip(*(coords[dim][1].tolist() for dim in dims), strict=True))
    owner = coords["cell"][1].tolist() if "cell" in dims else None
    sampled = {name: ordered[name] for name in SAMPLE_DIMS if name in ordered.coords}
    return xr.DataArray(
        ordered.values.reshape(*ordered.shape[:2], len(labels)),
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
    whole, one about the sign of d′ or meta-d′ in them does not. A level may be named itself.
    """
    found = []
    for notice in notices(values):
        named = set(notice.cells)
        pairs = zip(labels, labels if owner is None else owner, strict=True)
        cells = tuple(label for label, cell in pairs if cell in named)
        if owner is None and named and not cells and about_alone(notice.code):
            continue
        found.append(replace(notice, cells=cells))
    others = {k: v for k, v in values.attrs.items() if k != "notices"}
    return {**others, **notice_attrs(found)}


def error_flags(draws: xr.DataArray) -> tuple[list[str], NDArray[np.bool_]]:
    """Codes of the errors that concern the quantity, and which cells each does, (errors, cells)."""
    of, cells = about(quantity_of(draws)), draws["cell"].values
    # What concerns meta-d′ concerns M, which follows from it.
    errors = [
        notice
        for notice in notices(draws)
        if notice.severity == "error" and (of == "M" or about_alone(notice.code) in ("", of))
    ]
    rows = [np.isin(cells, e.cells) if e.cells else np.ones(len(cells), bool) for e in errors]
    return [e.code for e in errors], np.array(rows, dtype=bool).reshape(len(errors), len(cells))


def quantity_of(values: xr.DataArray) -> str:
    """Name of a quantity; of coefficients and effects that of their parameter."""
    own = identity_of(values.attrs)
    is_term = own is not None and own.role in ("coefficient", "effect")
    return own.parameter if own is not None and is_term else str(values.name)


def codes_on_draws(draws: xr.DataArray) -> list[str]:
    """Codes of the errors on each of what draws are of: those of contrasts, else of its cells."""
    if "withheld" in draws.coords:
        return [str(codes) for codes in draws["withheld"].values]
    return joined_codes(*error_flags(as_cells(draws)))


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


def undefined_notice(labels: NDArray[Any], share: Floats, kept: str = "") -> list[Notice]:
    """Notice of what has undefined draws, whose share is given, and of what is left for all."""
    if not (share > 0).any():
        return []
    concerned = labels[share > 0].astype(str)
    return [notice_of("undefined-draws.left-out", concerned, share=share.max(), kept=kept)]


def name_list(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of coordinates, each once."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def coordinates_of_cells(cells: xr.Dataset | xr.DataArray) -> list[str]:
    """Names of the coordinates that tell cells apart."""
    return [str(k) for k, v in cells.coords.items() if v.dims == ("cell",) and k != "cell"]


def coordinates_of_places(draws: xr.DataArray) -> dict[Any, xr.DataArray]:
    """Coordinates of draws but those of chains and draws."""
    return {k: v for k, v in draws.coords.items() if not set(v.dims) & set(SAMPLE_DIMS)}


def cell_levels(cells: xr.Dataset | xr.DataArray, name: str) -> NDArray[Any]:
    """Levels of a coordinate, one per cell."""
    known = coordinates_of_cells(cells)
    if name not in known:
        allowed = "a coordinate of the cells"
        raise UnknownError("coordinate", repr(name), allowed, nearest(name, known))
    return cells[name].values


def design_of(
    cells: xr.Dataset | xr.DataArray, over: str, within: Sequence[str] = ()
) -> pd.DataFrame:
    """Levels of `over` and of what is held equal, a row per cell, which they have to identify."""
    if over in within:
        raise ChoiceError("within", repr(over), "coordinates other than over")
    refuse_covariate(cells, over, f"{getattr(cells, 'name', '')}_{over}")
    design = pd.DataFrame({name: cell_levels(cells, name) for name in (over, *within)})
    twice = design.duplicated(keep=False).to_numpy()
    if twice.any():
        alike = ", ".join(map(str, cells["cell"].values[twice][:2]))
        others = ",".join(sorted(set(coordinates_of_cells(cells)) - {over, *within}))
        steps = (
            f"Add to within: {others}; or, of a model with formulas, contrast predict(fit).",
            f"Compare within each: --within {others}; or over all: --pool {others}. To compare "
            "conditions of the population: --population.",
        )
        ways = steps if others else ("Count by one more column.",)
        got = f"{', '.join([over, *within])}, alike in {alike}"
        raise SourceError("over and within", got, "coordinates that identify one cell each", *ways)
    return design


def refuse_covariate(
    cells: xr.Dataset | xr.DataArray, over: str, own: str, argument: str = "over"
) -> None:
    """Refuse to compare the values of a covariate, which are no levels but have a coefficient."""
    if over in cells.coords and cells[over].attrs.get("role") == "covariate":
        got = f"{over!r}, a covariate with {len(np.unique(cells[over]))} values"
        of_factor = f"or, if it is a factor, count by it or write C({over}) in the formula."
        steps = (
            f"Take its coefficient, var={own!r}, without over; contrast predict(fit, cells); "
            f"{of_factor}",
            f"Take its coefficient, --var '{own}', without --over; {of_factor}",
        )
        raise LevelError(argument, got, "a factor, which has levels to compare", *steps)


def levels_held(cells: xr.DataArray, held: Sequence[str]) -> list[tuple[Any, ...]]:
    """Of each cell, its levels of what is held equal."""
    columns = [cells[name].values.tolist() for name in held]
    return list(zip(*columns, strict=True)) if columns else [()] * cells.sizes["cell"]


def strata_without(values: xr.DataArray, held: Sequence[str], weights: csr_array) -> list[str]:
    """Strata, in words, no cell of which is in a contrast."""
    strata = levels_held(values, held)
    used = {strata[cell] for cell in np.unique(weights.indices)}
    return [" | ".join(map(str, one)) for one in dict.fromkeys(strata) if one not in used]


def strata_of(design: pd.DataFrame, within: Sequence[str]) -> list[NDArray[np.intp]]:
    """Positions of the cells that agree in everything held equal, in the order of the cells."""
    if not within:
        return [np.arange(len(design))]
    number = design.groupby(list(within), sort=False, dropna=False).ngroup().to_numpy()
    return [np.flatnonzero(number == i) for i in range(number.max() + 1)]
