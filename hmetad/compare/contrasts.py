"""Contrasts between the cells of a design, draw by draw.

Posterior draws (chain, draw, cell) → draws of differences (chain, draw, pair). A contrast is a row
of weights of cells, 1 and −1 for a pair: made of two levels or of the user's matrix, averaged over
levels where asked, then applied to the draws.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import (
    ConflictError,
    LevelError,
    NumberError,
    RepeatError,
    ShapeError,
    SourceError,
    nearest,
)
from hmetad.base.labels import check_same_names, level_order, row_labels
from hmetad.base.monte_carlo import INDEPENDENT
from hmetad.base.notice import first_few, notice_attrs, notice_of
from hmetad.base.results import find_result
from hmetad.compare.averaging import (
    Compared,
    Contrasts,
    Weights,
    average_contrasts,
    compared_cells,
    not_pooled,
    pool_attrs,
)
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    Fits,
    cell_levels,
    coordinates_of_cells,
    design_of,
    error_flags,
    joined_codes,
    name_list,
    quantity_of,
    strata_of,
    strata_without,
)
from hmetad.compare.comparability import (
    carried_notices,
    dependence,
    side_coverage,
    traits_of,
    type1_differences,
    unlike_notices,
    unlike_sides,
)
from hmetad.compare.words import BROUGHT

type Floats = NDArray[np.float64]
type Level = str | float | bool | None

Kind = Literal["difference", "log_ratio", "superiority"]
RESERVED = {"label", "left", "right", "left_cell", "right_cell", *BROUGHT}
PAIRINGS = {
    False: "draw by draw, which keeps the posterior covariance",
    True: "as independent: one side moved on by chains and draws; means do not depend on it",
}
# Weights such as 1/3 sum to 0 within rounding.
ROUNDING = 1e-9


@check_inputs(skip=("draws",))
def contrast(
    draws: Fits,
    *,
    var: str | None = None,
    over: str,
    within: str | Sequence[str] = (),
    against: str | float | bool | None = None,
    matrix: pd.DataFrame | None = None,
    kind: Kind = "difference",
    pool: str | Sequence[str] = (),
    weights: Weights = "equal",
    independent: bool = False,
) -> xr.DataArray:
    r"""Compare the levels of a coordinate, within each level of others.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray, or mapping of str to them
        A fit, or its posterior, or draws of one quantity; or draws of `resample` or of
        `measures.resample_trials`, which have no chains. A mapping contains separate fits by name;
        `over` then distinguishes them, unless their cells have such a coordinate.
    var : str, optional
        The quantity: one per cell, such as "log_m", or any with other dims, such as the
        coefficients "log_m_task". Needed unless a DataArray is given.
    over : str
        Coordinate of the cells whose levels are compared, a dim of the quantity, such as
        "response", or the factor of a coefficient, such as "task".
    within : str or sequence of str
        Coordinates that are equal in both cells of a pair.
    against : optional
        A level of `over`: every other level minus this one. By default all pairs, each level minus
        every later one. Levels have the same order in all strata: by first appearance, except
        levels that occur in another order in cells that agree in all other columns.
    matrix : DataFrame, optional
        Custom contrasts instead of pairs: rows are named contrasts, columns levels of `over`.
        Weights of a row sum to 0; levels without a column have weight 0.
    kind : {"difference", "log_ratio", "superiority"}
        left - right; log(left / right), NaN unless both are positive; or 1 where left > right,
        whose mean is the probability of superiority. With weights, the same for their sums.
    pool : str or sequence of str, optional
        Coordinates to pool over, such as benchmarks: each contrast is the weighted mean of the
        contrasts within every level. Levels with a missing cell, or with more than 5 % undefined
        draws, are excluded from the contrasts that need them, so both sides have the same levels;
        fewer undefined draws are excluded one by one.
    weights : {"equal", "trials"} or mapping of str to float, optional
        Weight of a pooled level: equal; the mean number of trials of its cells; or its number in a
        mapping. Over the levels of a contrast they sum to 1.
    independent : bool
        Whether the cells come from separate fits. Draws are then paired as independent, with the
        right side shifted by one chain and half a run, so that equal seeds have no effect; with
        `matrix`, each level is shifted by a different part of a run. Means do not depend on the
        pairing. Cells of one fit are paired draw by draw, which keeps their posterior covariance.

    Returns
    -------
    DataArray
        Dims (chain, draw, pair); coordinates left and right (levels of `over`; with `matrix`
        those of positive and of negative weight), those of `within`, and withheld: codes of the
        error notices of the fit on the cells of a pair, for which `decide` gives no verdict; where
        contrasts are pooled, also pooled and not_pooled: levels that each is over, and lacks; where
        levels share items, left_coverage and right_coverage: the proportion that each side has.
        attrs quantity, kind, over, within, matrix (JSON), pairing ("joint" or "independent"),
        pairing_rule, where contrasts are pooled also pool, pool_rule ("equal", "trials" or
        "given"), pool_weights (JSON, the sum of all levels is 1) and pool_levels, over how many
        levels contrasts are, such as "4 to 5 of 5", and notices: those of the draws, ``"left-out"``
        where a stratum lacks a level, ``"not-pooled"`` where a pooled level does,
        ``"separate-fits"`` where separate fits agree in a coordinate, as those of the same items or
        subjects do, ``"paired-data"`` where counts say that cells taken for independent were given
        the same items, ``"type1-differs"`` with the pairs whose M is compared though they clearly
        differ in d′ or c (Guggenmos 2021), ``"raised-by-chance"`` with those of which chance raises
        a resampled quantity on sides with unequal numbers of trials, and ``"unequal-ratings"`` with
        those of which a quantity such as AUROC2 depends on unequal numbers of ratings; the last two
        withhold the verdict.

    Raises
    ------
    InputError
        If a name is unknown, `over`, `within` and `pool` together do not identify one cell each,
        the weights of a contrast do not sum to 0, or draws do not have the trials to weigh by.

    Notes
    -----
    A contrast of draws is :math:`\sum_l w_l \theta_l`, of logarithms for ratios. Pooled over levels
    s with weights :math:`v_s` it is :math:`\sum_s v_s \delta_s / \sum_s v_s` of the contrasts
    :math:`\delta_s` within levels (Cochran 1954); superiority is that of the pooled difference.
    Equal weights give the mean over levels, weights by trials that over trials. The coefficients
    of a factor in treatment coding are differences from its first level already: `decide` takes
    them as they are.

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
    >>> halves = pd.DataFrame({"a": [0.5], "b": [-0.5]}, index=["half"])
    >>> contrast(log_m, over="model", matrix=halves)["pair"].values.tolist()
    ['half']
    """
    if against is not None and matrix is not None:
        raise ConflictError("against", "matrix")
    check_same_names(name_list(within), RESERVED)
    cells = compared_cells(draws, var, over, within, pool, weights, independent)
    values, numbers = cells.values, cells.values.values.astype(float)
    if kind == "log_ratio":
        check_not_logarithm(values)
        numbers = np.log(numbers, out=np.full_like(numbers, np.nan), where=numbers > 0)
    table = None if matrix is None else checked_weights(matrix, values, over)
    made = pairs_within(cells, against) if table is None else weighted_within(cells, table)
    if cells.pool is not None:
        made = average_contrasts(made, cells, cells.pool, numbers)
    sides = values[over].values if cells.pool else np.arange(values.sizes["cell"])
    data = draws_of_contrasts(numbers, made, kind, sides if independent else None)
    labels = made.pairs["label"]
    traits = traits_of(draws, values, (over, *cells.held))
    unlike = unlike_sides(traits, made.weights)
    found = [
        *unlike_notices(values, {code: labels[x].tolist() for code, x in unlike.items()}),
        *carried_notices(values, over),
        *([notice_of("left-out", strata=first_few(made.lacking))] if made.lacking else []),
        *not_pooled(made.pairs),
        *dependence(cells),
        *type1_differences(cells, made.weights, labels.tolist()),
    ]
    said = {"over": over, "within": ", ".join(cells.within), "pairing_rule": PAIRINGS[independent]}
    said |= {"pairing": "independent" if independent else "joint"}
    if table is not None:
        said["matrix"] = json.dumps(table.to_dict("split"), ensure_ascii=False)
    # Errors on the cells of each contrast, or on the contrast itself.
    codes, flags = error_flags(values)
    concerned = np.vstack([flags.astype(float) @ abs(made.weights).T > 0, *unlike.values()])
    withheld = {"withheld": ("pair", joined_codes([*codes, *unlike], concerned))}
    result = labelled_contrasts(data, cells, made.pairs, kind)
    result = result.assign_coords(withheld | side_coverage(values, over, made.weights))
    return result.assign_attrs(said | notice_attrs(found) | pool_attrs(cells.pool, made.levels))


def check_not_logarithm(values: xr.DataArray) -> None:
    """Raise an error for the log ratio of a quantity that is a logarithm already."""
    found = find_result(quantity_of(values))
    if "link" in values.attrs or (found is not None and found.log_of):
        allowed = f"'difference' for {values.name}, which is a logarithm"
        steps = ("Write kind='difference'.", "Leave out --kind.")
        raise SourceError("kind", "'log_ratio'", allowed, *steps)


def pairs_within(cells: Compared, against: Level) -> Contrasts:
    """Pairs within each stratum, with weights 1 (left) and −1 (right)."""
    pairs = pair_cells(cells.values, over=cells.over, within=cells.held, against=against)
    pair, ones = np.arange(len(pairs)), np.ones(len(pairs))
    places = np.tile(pair, 2), np.concatenate([pairs["left_cell"], pairs["right_cell"]])
    shape = len(pairs), cells.values.sizes["cell"]
    weights = csr_array((np.concatenate([ones, -ones]), places), shape)
    lacking = strata_without(cells.values, cells.held, weights)
    names = [f"{a} − {b}" for a, b in zip(pairs["left"], pairs["right"], strict=True)]
    return Contrasts(pairs, names, weights, lacking, [])


def pair_cells(
    cells: xr.Dataset | xr.DataArray,
    *,
    over: str,
    within: Sequence[str] = (),
    against: Level = None,
) -> pd.DataFrame:
    """Which cell stands on the left and on the right of each pair, a row per pair.

    left_cell, right_cell (positions), left, right (levels of `over`), the levels of `within`, and a
    label.
    """
    design = design_of(cells, over, within)
    levels = design[over].to_numpy()
    if against is not None and against not in levels:
        step = nearest(str(against), design[over].unique())
        raise LevelError("against", repr(against), f"a level of {over}", step)
    factors = [x for x in coordinates_of_cells(cells) if cells[x].attrs.get("role") != "covariate"]
    table = pd.DataFrame({name: cells[name].values for name in factors})
    place = pd.Index(level_order(table, over)).get_indexer(pd.Index(levels))
    sides = []
    for own in strata_of(design, within):
        stratum = own[np.argsort(place[own], kind="stable")]
        first, second = (stratum[places] for places in np.triu_indices(len(stratum), 1))
        if against is not None:
            is_reference = np.array([levels[i] == against for i in stratum], dtype=bool)
            first = stratum[~is_reference] if is_reference.any() else stratum[:0]
            second = np.repeat(stratum[is_reference][:1], len(first))
        sides.append((first, second))
    left, right = (np.concatenate(side) for side in zip(*sides, strict=True))
    if not len(left):
        raise LevelError("over", repr(over), "a coordinate with two levels or more to compare")
    held = design[list(within)].iloc[left].reset_index(drop=True)
    named = zip(levels[left], levels[right], *(held[name] for name in within), strict=True)
    labels = row_labels((f"{a} − {b}", *rest) for a, b, *rest in named)
    if {"left", "right"} <= set(cells.coords):
        # Contrasts of contrasts: both stand in the label whole.
        whole = cells["cell"].to_numpy()
        labels = [f"({a}) − ({b})" for a, b in zip(whole[left], whole[right], strict=True)]
    columns = {"left_cell": left, "right_cell": right, "left": levels[left], "right": levels[right]}
    return pd.DataFrame({**columns, **{name: held[name] for name in within}, "label": labels})


def weighted_within(cells: Compared, table: pd.DataFrame) -> Contrasts:
    """The user's contrasts within each stratum.

    Contrasts that a stratum lacks a level for are excluded; their labels are in `lacking`.
    """
    design, held = cells.design, [*cells.held]
    rows: list[dict[str, Any]] = []
    names, weights, missing = [], [], []
    for stratum in strata_of(design, held):
        position = dict(zip(design[cells.over].iloc[stratum], stratum, strict=True))
        here = design.iloc[stratum[0]][held].to_dict()
        for name, row in table.iterrows():
            label = " | ".join([str(name), *map(str, here.values())])
            used = row[row != 0]
            if not set(used.index) <= set(position):
                missing.append(label)
                continue
            sides = {"left": sum_of(used[used > 0]), "right": sum_of(used[used < 0])}
            rows.append({**sides, **here, "label": label})
            names.append(str(name))
            weights.append(np.zeros(len(design)))
            weights[-1][[position[level] for level in used.index]] = used
    if not rows:
        got = f"contrasts of levels that are never together: {', '.join(missing[:3])}"
        raise LevelError("matrix", got, "a stratum with all levels of a contrast")
    return Contrasts(pd.DataFrame(rows), names, csr_array(np.array(weights)), missing, [])


def checked_weights(table: pd.DataFrame, values: xr.DataArray, over: str) -> pd.DataFrame:
    """Weights as a data frame of numbers, or an error that says why they are not contrasts."""
    levels = cell_levels(values, over)
    if table.empty or not all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        raise ShapeError("matrix", f"{table.shape} of {set(table.dtypes)}", "a table of numbers")
    unknown = [level for level in table.columns if level not in levels]
    if unknown:
        step = nearest(str(unknown[0]), map(str, levels))
        raise LevelError("matrix", f"column {unknown[0]!r}", f"a level of {over}", step)
    for axis, names in (("rows", table.index), ("columns", table.columns)):
        if names.has_duplicates:
            raise RepeatError("matrix", f"{axis} named alike", f"{axis} with names of their own")
    table = table.astype(float)
    for name, row in table.iterrows():
        size = abs(row).sum()
        if not np.isfinite(size) or size == 0 or abs(row.sum()) > ROUNDING * size:
            step = "What is added with weight 1 in all has to be taken away again."
            got = f"weights of {name!r} with sum {row.sum():g}"
            raise NumberError("matrix", got, "finite weights, not all 0, with sum 0", step)
    return table


def sum_of(weights: pd.Series) -> str:
    """Levels with their weights, as in ``½·a + ½·b``; a weight of 1 is not written."""
    terms = [
        str(level) if abs(weight) == 1 else f"{abs(weight):.3g}·{level}"
        for level, weight in weights.items()
    ]
    return " + ".join(terms)


def draws_of_contrasts(
    numbers: Floats, made: Contrasts, kind: Kind, sides: NDArray[Any] | None
) -> Floats:
    """Weighted sums of cells, (chain, draw, cell) and (pair, cell) → (chain, draw, pair).

    Cells of different sides are independent of each other; without sides, none are. In memory
    pairs come first: what is done with a pair next reads its draws in one run.
    """
    weights = made.weights
    if sides is not None and "left_cell" in made.pairs:
        moved = np.roll(numbers, (1, numbers.shape[1] // 2), (0, 1))
        numbers = np.concatenate([numbers, moved], axis=-1)
        weights = hstack([weights.maximum(0), weights.minimum(0)])
    elif sides is not None:
        numbers = moved_apart(numbers, sides)
    defined = np.isfinite(numbers)
    rows = np.moveaxis(np.where(defined, numbers, 0), -1, 0).reshape(weights.shape[1], -1)
    sums = weights @ rows
    if not defined.all():
        # An undefined draw counts for the contrasts that it is in, not where it has weight 0.
        missing = np.moveaxis(~defined, -1, 0).reshape(rows.shape).astype(float)
        sums[abs(weights) @ missing > 0] = np.nan
    if kind == "superiority":
        np.greater(sums, 0, out=sums, where=~np.isnan(sums))
    return np.moveaxis(sums.reshape(-1, *numbers.shape[:2]), 0, -1)


def moved_apart(numbers: Floats, sides: NDArray[Any]) -> Floats:
    """Draws (chain, draw, cell), those of each side moved on by its own part of a run."""
    chains, draws, cells = numbers.shape
    number = pd.factorize(sides)[0]
    moves = [(i % chains, i * draws // (number.max() + 1)) for i in number.tolist()]
    return np.stack([np.roll(numbers[..., i], moves[i], (0, 1)) for i in range(cells)], axis=-1)


def labelled_contrasts(
    data: Floats, cells: Compared, pairs: pd.DataFrame, kind: Kind
) -> xr.DataArray:
    """Contrasts with the names of their pairs, and what they are of."""
    values, pooled = cells.values, [name for name in ("pooled", "not_pooled") if name in pairs]
    shown = ["left", "right", *cells.within, *pooled]
    coords: dict[str, Any] = {dim: values[dim] for dim in SAMPLE_DIMS if dim in values.coords}
    # NumPy text or numbers, never pandas extension arrays.
    coords |= {"pair": np.array(pairs["label"].tolist())}
    coords |= {name: ("pair", np.array(pairs[name].tolist())) for name in shown}
    attrs = {"quantity": str(values.name), "kind": kind}
    if values.attrs.get("units") and kind == "difference":
        attrs["units"] = values.attrs["units"]
    attrs |= {
        name: values.attrs[name]
        for name in (*INDEPENDENT, "link", "penalty")
        if name in values.attrs
    }
    name = f"log ratio of {values.name}" if kind == "log_ratio" else values.name
    return xr.DataArray(data, coords, (*SAMPLE_DIMS, "pair"), name, attrs)
