"""Over which levels contrasts are pooled, and what each level weighs.

Draws, columns and a rule of weights → Pool: the level of every cell, and the share of each level.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, describe_value
from hmetad.compare.quantities import SAMPLE_DIMS, Draws, one_variable, quantity_draws
from hmetad.compare.separate import separate_cells
from hmetad.compare.strata import cell_levels, held_names, per_cell_coordinates
from hmetad.errors import InputError, nearest
from hmetad.frozen import FrozenMapping

__all__ = [
    "Pool",
    "Weights",
    "as_pool",
    "counted_trials",
    "pool_attrs",
    "trials_by_level",
    "trials_of",
]

type Floats = NDArray[np.float64]
type Weights = str | Mapping[str, float]

RULES = ("equal", "trials")


@dataclass(frozen=True)
class Pool:
    """Levels that are pooled, and their shares.

    Parameters
    ----------
    columns : tuple of str
        Coordinates of the cells.
    rule : str
        "equal", "trials" or "given".
    share : mapping of str to float
        Weight of each level, in the order of the cells; the sum is 1.
    labels : array of str, shape (cells,)
        Level of each cell; of several columns joined by " | ".
    """

    columns: tuple[str, ...]
    rule: str
    share: Mapping[str, float]
    labels: NDArray[np.str_]


def as_pool(
    draws: Draws | Mapping[str, Draws],
    values: xr.DataArray,
    names: Sequence[str],
    pool: str | Sequence[str],
    weights: Weights,
) -> Pool | None:
    """Levels to pool over, and their shares; None where nothing is pooled.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray, or mapping of str to them
        What is compared; it holds the trials of each cell, where they are the weights.
    values : DataArray
        Draws of the quantity, (chain, draw, cell).
    names : sequence of str
        Coordinates in use: what is compared, and what is held equal.
    pool, weights
        As in `contrast`.

    Examples
    --------
    >>> values = xr.DataArray(
    ...     np.zeros((1, 2, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["x", "y"], "set": ("cell", ["A", "B"])},
    ... )
    >>> dict(as_pool(values, values, (), "set", {"A": 1, "B": 3}).share)
    {'A': 0.25, 'B': 0.75}
    """
    columns = held_names(pool)
    if not columns:
        if weights != "equal":
            step = "Add pool, the coordinate to pool over."
            raise InputError("weights", "weights without pool", "none", step)
        return None
    for name in columns:
        if name in names:
            raise InputError("pool", repr(name), "coordinates other than over and within")
    parts = [cell_levels(values, name).tolist() for name in columns]
    labels = np.array([" | ".join(map(str, level)) for level in zip(*parts, strict=True)])
    levels = list(dict.fromkeys(labels.tolist()))
    if isinstance(weights, Mapping):
        rule, raw = "given", given_weights(weights, levels)
    elif weights == "trials":
        counted = trials_of(draws, values, (*names, *columns))
        rule, raw = weights, [float(np.mean(counted[labels == level])) for level in levels]
    elif weights in RULES:
        rule, raw = weights, [1.0] * len(levels)
    else:
        allowed = "'equal', 'trials', or a weight for each level"
        raise InputError("weights", describe_value(weights), allowed)
    total = float(np.sum(raw))
    if not total > 0:
        raise InputError("weights", "no trials in any cell", "trials", "Write weights='equal'.")
    share = FrozenMapping({k: x / total for k, x in zip(levels, raw, strict=True)})
    return Pool(columns, rule, share, labels)


def pool_attrs(pool: Pool | None, levels: Sequence[int]) -> dict[str, str]:
    """Attrs that say over what was pooled, with which weights, and over how many levels each."""
    if pool is None:
        return {}
    shares = json.dumps(dict(pool.share), ensure_ascii=False)
    said = {"pool": ", ".join(pool.columns), "pool_rule": pool.rule, "pool_weights": shares}
    ends = dict.fromkeys((min(levels), max(levels)))
    number = " to ".join(map(str, ends))
    whole = {len(pool.share)} == {*ends}
    return {**said, "pool_levels": number if whole else f"{number} of {len(pool.share)}"}


def given_weights(weights: Mapping[str, float], levels: Sequence[str]) -> list[float]:
    """Weights of one's own, one above 0 for every level."""
    named = {str(level): float(x) for level, x in weights.items()}
    unknown = [level for level in named if level not in levels]
    if unknown:
        raise InputError("weights", repr(unknown[0]), "a level", nearest(unknown[0], levels))
    lacking = [level for level in levels if level not in named]
    if lacking:
        step = "To leave a level out, leave out its cells."
        raise InputError("weights", f"none for {lacking[0]!r}", "a weight for each level", step)
    if not all(np.isfinite(x) and x > 0 for x in named.values()):
        raise InputError("weights", describe_value(dict(weights)), "finite numbers above 0")
    return [named[level] for level in levels]


def trials_of(
    draws: Draws | Mapping[str, Draws], values: xr.DataArray, names: Sequence[str]
) -> Floats:
    """Number of trials of each cell of the values."""
    if isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray):
        counted = quantity_draws(trials_like(draws, str(values.name)), None, names)
    else:
        each = {name: trials_like(fit, str(values.name)) for name, fit in draws.items()}
        counted = separate_cells(each, None, names)
    return np.asarray(counted.values[0, 0], dtype=float)


def trials_like(fit: Draws, quantity: str) -> xr.DataArray:
    """Trials of the cells of one quantity, in the form of one draw of it."""
    one = one_variable(fit, None if isinstance(fit, xr.DataArray) else quantity)
    one = one.isel({dim: slice(1) for dim in SAMPLE_DIMS})
    counted = counted_trials(fit)
    if counted is None or "cell" not in one.dims:
        step = (
            "Draws of measures.resample_trials, of resample(counts, measure) and fits have them; "
            "else give the weights: weights={'easy': 200, 'hard': 100}."
        )
        raise InputError("weights", "'trials' of draws without them", "a weight a level", step)
    known = counted.reindex(cell=one["cell"].values)
    return xr.zeros_like(one, dtype=float) + xr.DataArray(known.values, dims="cell")


@check_inputs(skip=("draws",))
def trials_by_level(draws: Mapping[str, Draws], over: str) -> dict[str, float]:
    """Number of trials of each level of a coordinate, over all of its cells.

    Parameters
    ----------
    draws : mapping of str to DataTree or Dataset
        Fits, or draws of resampling, by name.
    over : str
        Coordinate of the cells; where they have no such one, fits by name are compared.

    Returns
    -------
    dict of str to float
        Empty where trials are not known.

    Raises
    ------
    InputError
        If `draws` are no fits or draws by name.

    Examples
    --------
    >>> cells = {"cell": ["x", "y"], "model": ("cell", ["a", "b"])}
    >>> trials_by_level({"": xr.Dataset({"trials": ("cell", [100, 200])}, cells)}, "model")
    {'a': 100.0, 'b': 200.0}
    """
    one = xr.Dataset | xr.DataArray | xr.DataTree
    named = draws if isinstance(draws, Mapping) and not isinstance(draws, one) else {"": None}
    for source in named.values():
        if not isinstance(source, one) or (
            isinstance(source, xr.DataTree) and "posterior" not in source.children
        ):
            got = describe_value(draws)
            raise InputError("draws", got, "fits or draws by name", "Give {'': draws}.")
    totals: dict[str, float] = {}
    for name, source in draws.items():
        counted = counted_trials(source)
        if counted is None:
            return {}
        drawn = source["posterior"] if isinstance(source, xr.DataTree) else source
        known = over in drawn.coords and drawn[over].dims == ("cell",)
        levels = drawn.coords[over].to_numpy().tolist() if known else [name] * counted.size
        for level, number in zip(levels, counted.values.tolist(), strict=True):
            totals[str(level)] = totals.get(str(level), 0.0) + number
    return totals


def counted_trials(fit: Draws) -> xr.DataArray | None:
    """Trials of each cell of a fit or of draws, if it has them."""
    if isinstance(fit, xr.DataTree):
        observed = fit["observed_data"].to_dataset() if "observed_data" in fit.children else None
        if observed is not None and "counts" in observed:
            counts = observed["counts"]
            return counts.sum([dim for dim in counts.dims if dim != "cell"])
        if observed is not None and "trials" in observed:
            return observed["trials"]
        return counted_trials(fit["posterior"].to_dataset())
    if not isinstance(fit, xr.Dataset) or "trials" not in fit:
        return None
    trials = fit["trials"]
    if "cell" not in trials.dims or "trials" in per_cell_coordinates(trials):
        return None
    return cast(Any, trials.mean([dim for dim in trials.dims if dim != "cell"]))
