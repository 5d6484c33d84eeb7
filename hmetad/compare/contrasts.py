"""Contrasts between the cells of a design, draw by draw.

Posterior draws (chain, draw, cell) → draws of differences (chain, draw, pair).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.arguments import check_inputs, of_type, refuse_same_names, row_labels
from hmetad.compare.chance import unlike_contrasts
from hmetad.compare.contrast_draws import (
    Kind,
    comparable,
    pair_contrasts,
    pair_weights,
    weighted_contrasts,
)
from hmetad.compare.dependence import dependence, notices_for, side_coverage
from hmetad.compare.pooled import not_pooled, pooled_over
from hmetad.compare.pooling import Weights, as_pool, pool_attrs
from hmetad.compare.quantities import (
    SAMPLE_DIMS,
    Draws,
    error_flags,
    joined_codes,
    quantity_draws,
)
from hmetad.compare.separate import separate_cells
from hmetad.compare.strata import design_of, held_names, strata_of
from hmetad.compare.type1_differences import type1_differences
from hmetad.compare.weights import as_table, weighted_cells
from hmetad.errors import InputError, nearest
from hmetad.monte_carlo import INDEPENDENT
from hmetad.notice import Notice, first_few, notice_attrs, notice_of

__all__ = [
    "Kind",
    "cells_of",
    "check_request",
    "contrast",
    "pair_cells",
]

type Floats = NDArray[np.float64]

POOLED = ("pooled", "not_pooled")
RESERVED = (
    *("label", "left", "right", "left_cell", "right_cell", "withheld", *POOLED),
    *("left_coverage", "right_coverage"),
)
PAIRINGS = {
    False: "draw by draw, which keeps the posterior covariance",
    True: "as independent: one side moved on by chains and draws; means do not depend on it",
}


@check_inputs(skip=("draws",), kind=of_type(str))
def contrast(
    draws: Draws | Mapping[str, Draws],
    *,
    var: str | None = None,
    over: str,
    within: str | Sequence[str] = (),
    against: str | float | bool | None = None,
    matrix: pd.DataFrame | xr.DataArray | None = None,
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
        `measures.resample_trials`, which have no chains. A mapping holds separate fits by
        name; `over` then tells them apart, unless their cells have such a coordinate.
    var : str, optional
        The quantity: one per cell, such as "log_m", or any with dims of its own, such as the
        coefficients "log_m_task". Needed unless a DataArray is given.
    over : str
        Coordinate of the cells whose levels are compared, a dim of the quantity, such as
        "response", or the factor of a coefficient, such as "task".
    within : str or sequence of str
        Coordinates to hold equal in both cells of a pair.
    against : optional
        A level of `over`: every other level minus this one. By default all pairs, each level
        minus every later one, in the order in which the cells have them.
    matrix : DataFrame or DataArray, optional
        Your own contrasts in place of pairs: rows named contrasts, columns levels of `over`
        (of a DataArray the dim named like `over`, else the second). Weights of a row sum to 0;
        levels without a column have weight 0.
    kind : {"difference", "log_ratio", "superiority"}
        left - right; log(left / right), NaN unless both are positive; or 1 where left > right,
        whose mean is the probability of superiority. With weights the same of their sums.
    pool : str or sequence of str, optional
        Coordinates to pool over, such as sets of items: each contrast is the weighted mean of
        those within every level. Levels in which a cell is missing, or with which more than 5 % of
        the draws would be undefined, are left out of the contrasts that need them, so that both
        sides are over the same levels; fewer draws are left out one by one.
    weights : {"equal", "trials"} or mapping of str to float, optional
        What a pooled level weighs: all the same; the mean number of trials of its cells; or the
        number that a mapping has for it. Of the levels that a contrast is over they sum to 1.
    independent : bool
        The cells come from separate fits: draws are paired as independent ones, with the right
        side moved on by one chain and half a run so that equal seeds leave no trace; with
        `matrix`, each level by its own part of a run. Means do not depend on the pairing. Cells
        of one fit are paired draw by draw, which keeps their posterior covariance.

    Returns
    -------
    DataArray
        Dims (chain, draw, pair); coordinates left and right (levels of `over`; with `matrix`
        those of positive and of negative weight), those of `within`, and withheld: codes of the
        error notices of the fit on the cells of a pair, for which `decide` gives no verdict; where
        contrasts are pooled, also pooled and not_pooled: levels that each is over, and lacks; where
        levels share items, left_coverage and right_coverage: the share that each side has. attrs
        quantity, kind, over, within, matrix (JSON), pairing ("joint" or "independent"),
        pairing_rule, where contrasts are pooled also pool, pool_rule ("equal", "trials" or
        "given"), pool_weights (JSON, the sum of all levels is 1) and pool_levels, over how many
        levels contrasts are, such as "4 to 5 of 5", and notices: those of the
        draws, ``"left-out"`` where a stratum lacks a level, ``"not-pooled"`` where a pooled level
        does,
        ``"separate-fits"`` where separate fits agree in a coordinate, as those of the same items
        or subjects do, ``"paired-data"`` where counts say that cells taken for independent were
        given the same items, ``"type1-differs"`` with the pairs whose M is compared though they
        clearly differ in d′ or c (Guggenmos 2021), and ``"raised-by-chance"`` with those of which
        chance raises a resampled quantity on sides with unlike numbers of trials.

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
    check_request(draws, kind, against, matrix, independent)
    held = held_names(within)
    refuse_same_names(held, RESERVED)
    values = cells_of(draws, var, (over, *held, *held_names(pool)))
    pooling = as_pool(draws, values, (over, *held), pool, weights)
    apart = (*held, *(pooling.columns if pooling else ()))
    if kind == "log_ratio" and str(values.name).startswith("log_"):
        step = "It is a logarithm already: its difference is the log ratio."
        raise InputError("kind", "'log_ratio'", f"'difference' for {values.name}", step)
    numbers = comparable(values, kind)
    codes, flags = error_flags(values)
    levels: list[int] = []
    if matrix is None:
        pairs = pair_cells(values, over=over, within=apart, against=against)
        left, right = (pairs[side].to_numpy() for side in ("left_cell", "right_cell"))
        sparse = pair_weights(left, right, values.sizes["cell"])
        missing = [] if pooling else strata_without(pairs, values, over, apart)
    else:
        pairs, dense, missing = weighted_cells(values, matrix, over=over, within=apart)
        sparse = csr_array(dense)
    if pooling is not None:
        pairs, sparse, missing, levels = pooled_over(
            pairs, sparse, missing, values, held, pooling, numbers
        )
        sides = values[over].values if independent else None
        data = weighted_contrasts(numbers, sparse, kind, sides)
    elif matrix is None:
        data = pair_contrasts(numbers, left, right, kind, independent)
    else:
        sides = np.arange(values.sizes["cell"]) if independent else None
        data = weighted_contrasts(numbers, sparse, kind, sides)
    names, labels = (over, *apart), pairs["label"].tolist()
    raised, are_unlike = unlike_contrasts(draws, values, names, sparse, labels)
    found = [
        *raised,
        *notices_for(values, over),
        *left_out(missing),
        *not_pooled(pairs),
        *dependence(draws, values, over, apart, independent),
        *type1_differences(draws, values, names, sparse, labels, independent=independent),
    ]
    result = label_contrasts(data, values, pairs, held, kind, over, independent)
    concerned = flags.astype(float) @ abs(sparse).T > 0
    codes, concerned = [*codes, "raised-by-chance"], np.vstack([concerned, are_unlike])
    told = {"withheld": ("pair", joined_codes(codes, concerned))}
    result = result.assign_coords(told | side_coverage(values, over, sparse))
    said = notice_attrs(found) | matrix_record(matrix, over)
    return result.assign_attrs(said | pool_attrs(pooling, levels))


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
    design = design_of(cells, over, within)
    levels = design[over].to_numpy()
    if against is not None and against not in levels:
        known = design[over].unique()
        raise InputError(
            "against", repr(against), f"a level of {over}", nearest(str(against), known)
        )
    sides = [sides_of(stratum, levels, against) for stratum in strata_of(design, within)]
    left, right = (np.concatenate(side) for side in zip(*sides, strict=True))
    if not len(left):
        raise InputError("over", repr(over), "a coordinate with two levels or more to compare")
    held = design[list(within)].iloc[left].reset_index(drop=True)
    named = zip(levels[left], levels[right], *(held[name] for name in within), strict=True)
    labels = row_labels((f"{a} − {b}", *rest) for a, b, *rest in named)
    if {"left", "right"} <= set(cells.coords):
        # Contrasts of contrasts: both stand in the label whole.
        whole = cells["cell"].to_numpy()
        labels = [f"({a}) − ({b})" for a, b in zip(whole[left], whole[right], strict=True)]
    positions = {"left_cell": left, "right_cell": right}
    shown = {"left": levels[left], "right": levels[right]}
    return pd.DataFrame(
        {**positions, **shown, **{name: held[name] for name in within}, "label": labels}
    )


def sides_of(
    stratum: NDArray[np.intp], levels: NDArray[Any], against: str | float | bool | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Left and right cells of the pairs of a stratum."""
    if against is None:
        first, second = np.triu_indices(len(stratum), 1)
        return stratum[first], stratum[second]
    is_reference = np.array([levels[i] == against for i in stratum], dtype=bool)
    others = stratum[~is_reference]
    if not is_reference.any():
        return others[:0], others[:0]
    return others, np.full(len(others), stratum[is_reference][0])


def check_request(
    draws: object,
    kind: str,
    against: object,
    matrix: object,
    independent: bool,
) -> None:
    """Refuse arguments that contradict each other."""
    if not isinstance(draws, xr.DataArray | Mapping):
        got = type(draws).__name__
        raise InputError("draws", got, "a fit, draws of a quantity, or fits by name")
    if kind not in get_args(Kind):
        raise InputError("kind", repr(kind), ", ".join(get_args(Kind)))
    if against is not None and matrix is not None:
        raise InputError("against", f"{against!r} beside a matrix", "one of the two")
    if is_several(draws) and not independent:
        step = "Their draws do not belong together: say so by independent=True, or fit them jointly"
        raise InputError("draws", "separate fits", "one joint fit", f"{step}.")


def is_several(draws: object) -> bool:
    """Whether draws are a mapping of separate fits; a Dataset and a DataTree are one."""
    return isinstance(draws, Mapping) and not isinstance(draws, xr.Dataset | xr.DataTree)


def cells_of(
    draws: Draws | Mapping[str, Draws], var: str | None, names: Sequence[str]
) -> xr.DataArray:
    """Draws of one quantity, (chain, draw, cell), of one fit or of several."""
    if isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray):
        return quantity_draws(draws, var, names)
    return separate_cells(draws, var, names)


def label_contrasts(
    data: Floats,
    values: xr.DataArray,
    pairs: pd.DataFrame,
    held: Sequence[str],
    kind: Kind,
    over: str,
    independent: bool,
) -> xr.DataArray:
    """Contrasts with the names of their pairs, and what was done."""
    shown = ("left", "right", *held, *(name for name in POOLED if name in pairs))
    names = {"pair": pairs["label"], **{name: pairs[name] for name in shown}}
    coords: dict[str, Any] = {d: values[d] for d in SAMPLE_DIMS if d in values.coords}
    coords |= {name: ("pair", as_plain_array(column)) for name, column in names.items()}
    units = values.attrs.get("units")
    return xr.DataArray(
        data,
        dims=(*SAMPLE_DIMS, "pair"),
        coords=coords,
        name=f"log ratio of {values.name}" if kind == "log_ratio" else values.name,
        attrs={
            "quantity": str(values.name),
            "kind": kind,
            "over": over,
            "within": ", ".join(held),
            "pairing": "independent" if independent else "joint",
            "pairing_rule": PAIRINGS[independent],
            **({"units": units} if units and kind == "difference" else {}),
            **{name: values.attrs[name] for name in INDEPENDENT if name in values.attrs},
        },
    )


def strata_without(
    pairs: pd.DataFrame, values: xr.DataArray, over: str, held: Sequence[str]
) -> list[str]:
    """Strata, in words, of which no cell is in a pair."""
    design = design_of(values, over, held)
    used = {*pairs["left_cell"], *pairs["right_cell"]}
    strata = strata_of(design, held)
    lone = [stratum[0] for stratum in strata if not used & set(stratum.tolist())]
    return [" | ".join(map(str, design.iloc[i][list(held)])) for i in lone]


def left_out(missing: Sequence[str]) -> list[Notice]:
    """Notice of contrasts that could not be formed because a level is missing, if any."""
    if not missing:
        return []
    return [notice_of("left-out", strata=first_few(missing))]


def matrix_record(matrix: pd.DataFrame | xr.DataArray | None, over: str) -> dict[str, str]:
    """Attrs with the weights of contrasts, where a matrix was given."""
    if matrix is None:
        return {}
    table = as_table(matrix, over).astype(float)
    return {"matrix": json.dumps(table.to_dict("split"), ensure_ascii=False)}


def as_plain_array(column: pd.Series) -> NDArray[Any]:
    """Column as NumPy text or numbers, never a pandas extension array."""
    return np.array(column.tolist())
