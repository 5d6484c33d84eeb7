"""Contrasts and values pooled over levels, the same levels for all that is compared.

Contrasts within single levels, as weights of cells → weights of contrasts over the levels.
Source: Cochran (1954) for weighted means of differences within strata.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.compare.pooling import Pool
from hmetad.compare.quantities import SAMPLE_DIMS
from hmetad.compare.strata import strata_of
from hmetad.coverage import summed_coverage
from hmetad.errors import InputError
from hmetad.notice import Notice, first_few, notice_attrs, notice_of, notices

__all__ = ["not_pooled", "pooled_over", "pooled_pairs", "pooled_values"]

type Flags = NDArray[np.bool_]
type Floats = NDArray[np.float64]


def pooled_pairs(
    pairs: pd.DataFrame,
    weights: csr_array,
    design: pd.DataFrame,
    held: Sequence[str],
    pool: Pool,
    undefined: Flags,
) -> tuple[pd.DataFrame, csr_array]:
    r"""Contrasts over the levels of a pool, from those within each level.

    Parameters
    ----------
    pairs : DataFrame
        Contrasts within each level: left, right, label, what is held equal and the columns of
        the pool, by which the label ends.
    weights : sparse array, shape (contrasts, cells)
    design : DataFrame
        Coordinates of the cells.
    held : sequence of str
        Columns that stay held equal.
    pool : Pool
    undefined : array of bool, shape (cells,)
        Cells with draws that are undefined.

    Returns
    -------
    tuple
        Data frame of the pooled contrasts, with ``pooled`` and ``not_pooled``: levels that each is
        over, and those that it lacks; and their weights of cells.

    Notes
    -----
    With the weights :math:`w_s` of the levels s in which all sides of a contrast are defined,

    .. math:: \delta = \sum_s \frac{w_s}{\sum_t w_t} \delta_s

    A contrast that is defined in no level keeps all of its levels, and is undefined.
    """
    level = joined(pairs, pool.columns)
    bases = [base_label(row, one, held) for row, one in zip(records(pairs), level, strict=True)]
    bad = (abs(weights) @ undefined.astype(float)) > 0
    every = levels_by_stratum(design, held, pool)
    rows, shares = [], []
    # Texts may be alike where levels are not.
    keys = list(zip(bases, pairs["left"], pairs["right"], *(pairs[x] for x in held), strict=True))
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(keys):
        alike.setdefault(key, []).append(place)
    for (base, *_), places in alike.items():
        whole = np.array(places)
        used = whole[~bad[whole]] if not bad[whole].all() else whole
        share = np.array([pool.share[level[i]] for i in used])
        if not share.sum() > 0:
            raise InputError("weights", f"0 for {', '.join(level[used])}", "a weight above 0")
        shares.append(np.bincount(used, share / share.sum(), len(pairs)))
        named = [level[i] for i in used]
        first = pairs.iloc[whole[0]]
        there = every[tuple(first[name] for name in held)]
        lacking = [one for one in there if one not in named]
        said = {"pooled": ", ".join(named), "not_pooled": ", ".join(lacking), "label": base}
        kept = {name: first[name] for name in ("left", "right", *held)}
        rows.append({**kept, **said})
    return pd.DataFrame(rows), csr_array(csr_array(np.array(shares)) @ weights)


def pooled_values(
    values: xr.DataArray, over: str, held: Sequence[str], pool: Pool
) -> tuple[xr.DataArray, list[Notice]]:
    """Weighted means over the levels of a pool, a cell for each level of what is compared.

    Parameters
    ----------
    values : DataArray
        Draws, (chain, draw, cell).
    over : str
        Coordinate that is compared.
    held, pool
        As in `pooled_pairs`.

    Returns
    -------
    tuple
        Draws (chain, draw, cell), with the notices of the cells that they rest on; and a notice
        of the levels that were left out, since something compared is missing or undefined there.
    """
    design = design_with(values, (over, *held), pool)
    undefined = ~np.isfinite(values.values).all(axis=(0, 1))
    rows, weights, lacking = [], [], []
    for stratum in strata_of(design, held):
        part = design.iloc[stratum]
        compared = part[over].nunique()
        is_whole = part.groupby("level", sort=False)[over].nunique() == compared
        shared = is_whole.index[is_whole].tolist()
        if not shared:
            step = f"Leave out what is in few levels of {', '.join(pool.columns)}."
            raise InputError("pool", "no level with all that is ranked", "one at least", step)
        good = [s for s in shared if not undefined[stratum[part["level"] == s]].any()] or shared
        here = {name: part[name].iloc[0] for name in held}
        lacking += [
            " | ".join(map(str, (s, *here.values())))
            for s in dict.fromkeys(part["level"])
            if s not in good
        ]
        total = sum(pool.share[s] for s in good)
        for compared_level in dict.fromkeys(part[over].tolist()):
            own = part[(part[over] == compared_level) & part["level"].isin(good)]
            row = np.zeros(len(design))
            row[own.index] = [pool.share[s] / total for s in own["level"]]
            rows.append({over: compared_level, **here})
            weights.append(row)
    return labelled_means(values, pd.DataFrame(rows), np.array(weights)), left_out_notice(lacking)


def pooled_over(
    pairs: pd.DataFrame,
    weights: csr_array,
    missing: Sequence[str],
    values: xr.DataArray,
    held: Sequence[str],
    pool: Pool,
    numbers: Floats,
) -> tuple[pd.DataFrame, csr_array, list[str]]:
    """Contrasts over all levels of a pool, their weights, and those that no level has."""
    design = pd.DataFrame({name: values[name].values for name in held}, range(values.sizes["cell"]))
    strata = dict.fromkeys(design.itertuples(index=False, name=None)) if held else {}
    undefined = ~np.isfinite(numbers).all(axis=(0, 1))
    result, sparse = pooled_pairs(pairs, weights, design, held, pool, undefined)
    known = {f"{label} | {level}" for label in result["label"] for level in pool.share}
    there = {*result[list(held)].itertuples(index=False, name=None)}
    alone = [" | ".join(map(str, stratum)) for stratum in strata if stratum not in there]
    return result, sparse, [*alone, *(one for one in missing if one not in known)]


def not_pooled(pairs: pd.DataFrame) -> list[Notice]:
    """Notice of pooled contrasts that lack a level, with their labels."""
    if "not_pooled" not in pairs or not (pairs["not_pooled"] != "").any():
        return []
    lacking = pairs[pairs["not_pooled"] != ""]
    levels = dict.fromkeys(", ".join(lacking["not_pooled"]).split(", "))
    return [notice_of("not-pooled", lacking["label"], levels=first_few(levels))]


def labelled_means(
    values: xr.DataArray, cells: pd.DataFrame, weights: NDArray[np.float64]
) -> xr.DataArray:
    """Weighted means of cells, with names and the notices of what they rest on."""
    defined = np.where(np.isfinite(values.values), values.values, 0)
    means = defined @ weights.T
    missing = (~np.isfinite(values.values)).astype(float) @ (weights > 0).T.astype(float)
    labels = [" | ".join(map(str, row)) for row in cells.itertuples(index=False)]
    found = []
    for notice in notices(values):
        concerned = np.isin(values["cell"].values, notice.cells)
        named = [a for a, row in zip(labels, weights, strict=True) if (row[concerned] > 0).any()]
        if named or not notice.cells:
            found.append(replace(notice, cells=tuple(named)))
    coords = {str(name): ("cell", np.array(x.tolist())) for name, x in cells.items()}
    attrs = {k: x for k, x in values.attrs.items() if k not in ("notices", "coverage")}
    attrs |= notice_attrs(found)
    attrs |= summed_coverage(values.attrs, values["cell"].values, labels, weights > 0)
    sampled = {dim: values[dim] for dim in SAMPLE_DIMS if dim in values.coords}
    return xr.DataArray(
        np.where(missing > 0, np.nan, means),
        dims=(*SAMPLE_DIMS, "cell"),
        coords={**sampled, **coords, "cell": labels},
        name=values.name,
        attrs=attrs,
    )


def left_out_notice(lacking: Sequence[str]) -> list[Notice]:
    """Notice of levels that are not pooled, where there are any."""
    return [notice_of("not-pooled", levels=first_few(list(lacking)))] if lacking else []


def design_with(values: xr.DataArray, names: Sequence[str], pool: Pool) -> pd.DataFrame:
    """Coordinates of the cells, and the level of the pool of each."""
    return pd.DataFrame({name: values[name].values for name in names}).assign(level=pool.labels)


def levels_by_stratum(
    design: pd.DataFrame, held: Sequence[str], pool: Pool
) -> dict[tuple[object, ...], list[str]]:
    """Levels of the pool that occur with what is held equal."""
    found = {}
    for stratum in strata_of(design, held):
        key = tuple(design[name].iloc[stratum[0]] for name in held)
        found[key] = list(dict.fromkeys(pool.labels[stratum].tolist()))
    return found


def base_label(row: dict[str, object], level: str, held: Sequence[str]) -> str:
    """Label of a contrast without the level that it ends by."""
    label, end = str(row["label"]), f" | {level}"
    if label.endswith(end):
        return label.removesuffix(end)
    return " | ".join([f"{row['left']} − {row['right']}", *(str(row[name]) for name in held)])


def joined(frame: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.str_]:
    """Level of each row, of several columns joined."""
    return np.array(
        [" | ".join(map(str, row)) for row in frame[list(columns)].itertuples(index=False)]
    )


def records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows by the names of their columns."""
    return [{str(k): x for k, x in row.items()} for row in frame.to_dict("records")]
