"""Contrasts and values pooled over levels, the same levels for all that is compared.

Contrasts within single levels, as weights of cells → weights of contrasts over the levels. Levels
in which few draws are undefined are pooled, and these draws are left out.
Source: Cochran (1954) for weighted means of differences within strata.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.arguments import row_labels
from hmetad.compare.pooling import Pool
from hmetad.compare.quantities import SAMPLE_DIMS
from hmetad.compare.strata import strata_of
from hmetad.coverage import summed_coverage
from hmetad.errors import InputError
from hmetad.monte_carlo import too_undefined
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
    missing: Flags,
) -> tuple[pd.DataFrame, csr_array, list[int]]:
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
    missing : array of bool, shape (cells, draws)
        Draws that are undefined.

    Returns
    -------
    tuple
        Data frame of the pooled contrasts, with ``pooled`` and ``not_pooled``: levels that each is
        over, and those that it lacks; their weights of cells; and how many levels each is over.

    Notes
    -----
    With the weights :math:`w_s` of the levels s that have all sides of a contrast, and of which up
    to 5 % of the draws are undefined, all levels together (`mostly_defined`),

    .. math:: \delta = \sum_s \frac{w_s}{\sum_t w_t} \delta_s
    """
    level = joined(pairs, pool.columns)
    bases = [base_label(row, one, held) for row, one in zip(records(pairs), level, strict=True)]
    bad = (abs(weights) @ missing.any(axis=1).astype(float)) > 0
    every = levels_by_stratum(design, held, pool)
    absent = missing.astype(float) if bad.any() else None
    rows, shares, numbers = [], [], []
    # Texts may be alike where levels are not.
    keys = list(zip(bases, pairs["left"], pairs["right"], *(pairs[x] for x in held), strict=True))
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(keys):
        alike.setdefault(key, []).append(place)
    for (base, *_), places in alike.items():
        used = whole = np.array(places)
        if absent is not None and bad[whole].any():
            lost = abs(weights[whole]) @ absent > 0
            used = whole[mostly_defined(lost[:, None])]
        share = np.array([pool.share[level[i]] for i in used])
        if not share.sum() > 0:
            raise InputError("weights", f"0 for {', '.join(level[used])}", "a weight above 0")
        shares.append(np.bincount(used, share / share.sum(), len(pairs)))
        named = [level[i] for i in used]
        first = pairs.iloc[whole[0]]
        there = every[tuple(first[name] for name in held)]
        lacking = [one for one in there if one not in named]
        said = {"pooled": ", ".join(named), "not_pooled": ", ".join(lacking), "label": base}
        numbers.append(len(named))
        kept = {name: first[name] for name in ("left", "right", *held)}
        rows.append({**kept, **said})
    return pd.DataFrame(rows), csr_array(csr_array(np.array(shares)) @ weights), numbers


def pooled_values(
    values: xr.DataArray, over: str, held: Sequence[str], pool: Pool
) -> tuple[xr.DataArray, Floats, list[Notice], list[int]]:
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
        Draws (chain, draw, cell), with the notices of the cells that they rest on; the weights
        of the cells in each; a notice of the
        levels that were left out, since something compared is missing or too often undefined there;
        and how many levels each stratum is over.
    """
    design = pd.DataFrame({name: values[name].values for name in (over, *held)})
    missing = missing_draws(values.values)
    rows, weights, lacking, numbers = [], [], [], []
    for stratum in strata_of(design, held):
        compared = list(dict.fromkeys(design[over].iloc[stratum].tolist()))
        sides = zip(pool.labels[stratum].tolist(), design[over].iloc[stratum], strict=True)
        place = dict(zip(sides, stratum.tolist(), strict=True))
        levels = list(dict.fromkeys(level for level, _ in place))
        shared = [s for s in levels if all((s, one) in place for one in compared)]
        if not shared:
            step = f"Leave out what is in few levels of {', '.join(pool.columns)}."
            raise InputError("pool", "no level with all that is ranked", "one at least", step)
        places = np.array([[place[s, one] for one in compared] for s in shared])
        kept = mostly_defined(missing[places])
        good = [shared[i] for i in kept]
        here = {name: design[name].iloc[stratum[0]] for name in held}
        lacking += [" | ".join(map(str, (s, *here.values()))) for s in levels if s not in good]
        numbers.append(len(good))
        share = np.array([pool.share[s] for s in good])
        for compared_level, own in zip(compared, places[kept].T, strict=True):
            rows.append({over: compared_level, **here})
            weights.append(np.bincount(own, share / share.sum(), len(design)))
    shares = np.array(weights)
    means = labelled_means(values, pd.DataFrame(rows), shares)
    return means, shares, left_out_notice(lacking), numbers


def missing_draws(numbers: Floats) -> Flags:
    """Which draws are undefined, (chain, draw, cell) → (cell, all draws)."""
    missing: Flags = ~np.isfinite(numbers).reshape(-1, numbers.shape[-1]).T
    return missing


def mostly_defined(missing: Flags) -> NDArray[np.intp]:
    """Levels to pool, by their undefined draws (level, quantity, draw).

    The most defined come first, as long as of each quantity few enough draws lack one of them. What
    is undefined in every level has no say, and by itself keeps all of them.
    """
    shares = missing.mean(axis=-1)
    missing = missing[:, ~too_undefined(shares).all(axis=0)]
    if not missing.any():
        return np.arange(len(missing))
    order = np.argsort(missing.mean(axis=-1).max(axis=-1), kind="stable")
    lost = np.logical_or.accumulate(missing[order], axis=0).mean(axis=-1).max(axis=-1)
    # Where no level does for every quantity, the best one is pooled.
    return np.sort(order[: max(1, int((~too_undefined(lost)).sum()))])


def pooled_over(
    pairs: pd.DataFrame,
    weights: csr_array,
    missing: Sequence[str],
    values: xr.DataArray,
    held: Sequence[str],
    pool: Pool,
    numbers: Floats,
) -> tuple[pd.DataFrame, csr_array, list[str], list[int]]:
    """Contrasts over the levels of a pool, their weights, those of no level, and levels of each."""
    design = pd.DataFrame({name: values[name].values for name in held}, range(values.sizes["cell"]))
    strata = dict.fromkeys(design.itertuples(index=False, name=None)) if held else {}
    lost = missing_draws(numbers)
    result, sparse, levels = pooled_pairs(pairs, weights, design, held, pool, lost)
    known = {f"{label} | {level}" for label in result["label"] for level in pool.share}
    there = {*result[list(held)].itertuples(index=False, name=None)}
    alone = [" | ".join(map(str, stratum)) for stratum in strata if stratum not in there]
    return result, sparse, [*alone, *(one for one in missing if one not in known)], levels


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
    labels = row_labels(cells.itertuples(index=False))
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
