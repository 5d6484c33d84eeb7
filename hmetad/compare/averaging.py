"""Which cells are compared, and averages over levels, the same levels for all that is compared.

Draws, columns and a rule of weights → Compared: cells, what is held equal, and the Pool that has
the level of each cell and the proportion of each level; then contrasts within levels, or cells →
weighted means over levels. Levels in which few draws are undefined are averaged, and these draws
are excluded.
Source: Cochran (1954) for weighted means of differences within strata.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from hmetad.base.coverage import summed_coverage
from hmetad.base.errors import (
    ChoiceError,
    EmptyError,
    KindError,
    LevelError,
    NeedError,
    NumberError,
    TooFewError,
    describe_value,
    nearest,
)
from hmetad.base.frozen import FrozenMapping
from hmetad.base.labels import row_labels
from hmetad.base.monte_carlo import too_undefined
from hmetad.base.notice import Notice, first_few, notice_attrs, notice_of, notices
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    Draws,
    Fits,
    cell_levels,
    cells_of,
    check_fits,
    coordinates_of_cells,
    design_of,
    each_fit,
    levels_held,
    name_list,
    one_variable,
    posterior_of,
    strata_of,
    strata_without,
)

type Flags = NDArray[np.bool_]
type Floats = NDArray[np.float64]
type Weights = str | Mapping[str, float]
type NumbersIn = Callable[[Draws, xr.DataArray], ArrayLike]


def counted_trials(fit: Draws) -> xr.DataArray | None:
    """Trials of each cell of a fit or of draws, if it has them."""
    if isinstance(fit, xr.DataTree):
        observed = fit["observed_data"].to_dataset() if "observed_data" in fit.children else {}
        if "counts" in observed:
            counts = observed["counts"]
            return counts.sum([dim for dim in counts.dims if dim != "cell"])
        if "trials" in observed:
            return observed["trials"]
    drawn = posterior_of(fit)
    if not isinstance(drawn, xr.Dataset) or "trials" not in drawn:
        return None
    trials = drawn["trials"]
    if "cell" not in trials.dims or "trials" in coordinates_of_cells(trials):
        return None
    return trials.mean([dim for dim in trials.dims if dim != "cell"])


def trials_of(draws: Fits, var: str, names: Sequence[str]) -> Floats:
    """Number of trials of each cell of a quantity, of which `names` are the coordinates in use."""

    def trials_in(fit: Draws, one: xr.DataArray) -> Floats:
        counted = counted_trials(fit)
        if counted is None or "cell" not in one.dims:
            step = (
                "Draws of measures.resample_trials, of resample(counts, measure) and fits have "
                "them; else give the weights: weights={'easy': 200, 'hard': 100}."
            )
            raise LevelError("weights", "'trials' of draws without them", "a weight a level", step)
        return counted.reindex(cell=one["cell"].values).to_numpy()

    return numbers_of_cells(draws, var, names, trials_in)


def numbers_of_cells(draws: Fits, var: str, names: Sequence[str], numbers_in: NumbersIn) -> Floats:
    """A number for each cell of a quantity, from those of the cells of each fit."""

    def as_one_draw(fit: Draws) -> xr.DataArray:
        one = one_variable(fit, None if isinstance(fit, xr.DataArray) else var)
        one = one.isel({dim: slice(1) for dim in SAMPLE_DIMS})
        return xr.zeros_like(one, dtype=float) + xr.DataArray(numbers_in(fit, one), dims="cell")

    numbers = cells_of(each_fit(draws, as_one_draw), None, names)
    return np.asarray(numbers.values[0, 0], dtype=float)


@dataclass(frozen=True)
class Pool:
    """Levels that are averaged: of each cell, and the share of each, with the sum 1.

    The rule is "equal", "trials" or "given"; levels of several columns are joined by " | ".
    """

    columns: tuple[str, ...]
    rule: str
    share: Mapping[str, float]
    labels: NDArray[np.str_]


@dataclass(frozen=True)
class Compared:
    """Cells of one quantity that are compared.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray, or mapping of str to them
        Where they come from.
    values : DataArray
        Dims (chain, draw, cell).
    over : str
        Coordinate whose levels are compared.
    within : tuple of str
        Coordinates that are held equal.
    pool : Pool or None
        Levels that are averaged.
    independent : bool
        Whether cells come from separate fits.
    """

    draws: Fits
    values: xr.DataArray
    over: str
    within: tuple[str, ...]
    pool: Pool | None
    independent: bool

    @property
    def held(self) -> tuple[str, ...]:
        """Coordinates that are equal in two cells before levels are averaged."""
        return (*self.within, *(self.pool.columns if self.pool else ()))

    @property
    def design(self) -> pd.DataFrame:
        """Levels of `over` and of what is held equal, a row per cell."""
        return design_of(self.values, self.over, self.held)


def compared_cells(
    draws: Fits,
    var: str | None,
    over: str,
    within: str | Sequence[str],
    pool: str | Sequence[str],
    weights: Weights,
    independent: bool,
) -> Compared:
    """Cells of one quantity that are compared, as arguments of `contrast` and `rank` say.

    Examples
    --------
    >>> values = xr.DataArray(
    ...     np.zeros((1, 2, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["x", "y"], "set": ("cell", ["A", "B"])},
    ... )
    >>> cells = compared_cells(values, None, "model", (), "set", {"A": 1, "B": 3}, False)
    >>> dict(cells.pool.share)
    {'A': 0.25, 'B': 0.75}
    """
    check_fits(draws, independent)
    held, columns = name_list(within), name_list(pool)
    values = cells_of(draws, var, (over, *held, *columns))
    pooling = as_pool(draws, values, (over, *held), columns, weights) if columns else None
    if not columns and weights != "equal":
        raise NeedError("weights", "pool", next_step="Add pool, the coordinate to pool over.")
    return Compared(draws, values, over, held, pooling, independent)


def as_pool(
    draws: Fits,
    values: xr.DataArray,
    names: tuple[str, ...],
    columns: tuple[str, ...],
    weights: Weights,
) -> Pool:
    """Levels to average over, and their proportions."""
    for name in columns:
        if name in names:
            raise ChoiceError("pool", repr(name), "coordinates other than over and within")
    parts = [cell_levels(values, name).tolist() for name in columns]
    labels = np.array(joined_labels(parts))
    levels = list(dict.fromkeys(labels.tolist()))
    if isinstance(weights, Mapping):
        rule, raw = "given", given_weights(weights, levels)
    elif weights == "trials":
        counted = trials_of(draws, str(values.name), (*names, *columns))
        rule, raw = weights, [float(np.mean(counted[labels == level])) for level in levels]
    elif weights == "equal":
        rule, raw = weights, [1.0] * len(levels)
    else:
        allowed = "'equal', 'trials', or a weight for each level"
        raise KindError("weights", describe_value(weights), allowed)
    total = float(np.sum(raw))
    if not total > 0:
        raise EmptyError("weights", "no trials in any cell", "trials", "Write weights='equal'.")
    share = FrozenMapping({k: x / total for k, x in zip(levels, raw, strict=True)})
    return Pool(columns, rule, share, labels)


def given_weights(weights: Mapping[str, float], levels: Sequence[str]) -> list[float]:
    """Weights of one's own, one above 0 for every level."""
    named = {str(level): float(x) for level, x in weights.items()}
    unknown = [level for level in named if level not in levels]
    lacking = [level for level in levels if level not in named]
    if unknown or lacking:
        got = repr(unknown[0]) if unknown else f"none for {lacking[0]!r}"
        steps = (nearest(unknown[0], levels),) if unknown else ()
        raise LevelError("weights", got, "a weight for each level", *steps)
    if not all(np.isfinite(x) and x > 0 for x in named.values()):
        raise KindError("weights", describe_value(dict(weights)), "finite numbers above 0")
    return [named[level] for level in levels]


def pool_attrs(pool: Pool | None, levels: Sequence[int]) -> dict[str, str]:
    """Attrs with what was averaged over, its weights, and over how many levels each average is."""
    if pool is None:
        return {}
    shares = json.dumps(dict(pool.share), ensure_ascii=False)
    said = {"pool": ", ".join(pool.columns), "pool_rule": pool.rule, "pool_weights": shares}
    ends = dict.fromkeys((min(levels), max(levels)))
    number = " to ".join(map(str, ends))
    whole = {len(pool.share)} == {*ends}
    return {**said, "pool_levels": number if whole else f"{number} of {len(pool.share)}"}


def mostly_defined(missing: Flags) -> NDArray[np.intp]:
    """Levels to average, by their undefined draws (level, quantity, draw).

    The most defined come first, as long as of each quantity few enough draws lack one of them. What
    is undefined in every level has no say, and by itself keeps all of them.
    """
    shares = missing.mean(axis=-1)
    missing = missing[:, ~too_undefined(shares).all(axis=0)]
    if not missing.any():
        return np.arange(len(missing))
    order = np.argsort(missing.mean(axis=-1).max(axis=-1), kind="stable")
    lost = np.logical_or.accumulate(missing[order], axis=0).mean(axis=-1).max(axis=-1)
    # Where no level does for every quantity, the best one is taken.
    return np.sort(order[: max(1, int((~too_undefined(lost)).sum()))])


def shared_levels(
    places: NDArray[np.intp], labels: Sequence[str], lost: Flags | None, pool: Pool, size: int
) -> tuple[list[str], Floats]:
    """Levels that all of what is averaged is over, and its weights, (item, size).

    `places`, (level, item), are those of each item in what is weighed; `lost`, (level, item, draw),
    its draws that are undefined, if any are.
    """
    kept = np.arange(len(places)) if lost is None else mostly_defined(lost)
    named = [labels[i] for i in kept]
    share = np.array([pool.share[level] for level in named])
    if not share.sum() > 0:
        raise NumberError("weights", f"0 for {', '.join(named)}", "a weight above 0")
    share = share / share.sum()
    return named, np.stack([np.bincount(own, share, size) for own in places[kept].T])


class Contrasts(NamedTuple):
    """Contrasts of cells, a row each.

    Their sides and what is held equal; names, which are their labels without what is held equal;
    weights of cells, (contrast, cell); labels of what is lacking; and over how many levels each
    average is.
    """

    pairs: pd.DataFrame
    names: list[str]
    weights: csr_array
    lacking: list[str]
    levels: list[int]


def average_contrasts(made: Contrasts, cells: Compared, pool: Pool, numbers: Floats) -> Contrasts:
    r"""Contrasts over the levels of a pool.

    With the weights :math:`w_s` of the levels s that have all sides of a contrast, and of which up
    to 5 % of the draws are undefined, all levels together (`mostly_defined`),
    :math:`\delta = \sum_s w_s \delta_s / \sum_s w_s`. The result has ``pooled`` and
    ``not_pooled``: levels that each contrast is over, and those that it lacks.
    """
    pairs, weights = made.pairs, made.weights
    level = joined_labels(pairs[name] for name in pool.columns)
    kept = ["left", "right", *cells.within]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(zip(made.names, *(pairs[name] for name in kept), strict=True)):
        alike.setdefault(key, []).append(place)
    there: dict[tuple[Any, ...], dict[str, None]] = {}
    strata = levels_held(cells.values, cells.within)
    for stratum, label in zip(strata, pool.labels.tolist(), strict=True):
        there.setdefault(stratum, {})[label] = None
    missing = missing_draws(numbers)
    lacks_draws = (abs(weights) @ missing.any(axis=1).astype(float)) > 0
    absent = missing.astype(float) if lacks_draws.any() else missing
    rows, shares, levels = [], [], []
    for (_, *own), places in alike.items():
        used, lost = np.array(places), None
        if lacks_draws[used].any():
            lost = (abs(weights[used]) @ absent > 0)[:, None]
        here = [level[i] for i in used]
        named, share = shared_levels(used[:, None], here, lost, pool, len(pairs))
        levels.append(len(named))
        shares.append(share[0])
        absent_levels = [one for one in there[tuple(own[2:])] if one not in named]
        said = {"pooled": ", ".join(named), "not_pooled": ", ".join(absent_levels)}
        rows.append(dict(zip(kept, own, strict=True)) | said)
    labels = row_labels((name, *levels_of) for name, _, _, *levels_of in alike)
    averaged = csr_array(csr_array(np.array(shares)) @ weights)
    # Contrasts of a matrix that no level has.
    known = {f"{label} | {level}" for label in labels for level in pool.share}
    without = [] if "left_cell" in pairs else [one for one in made.lacking if one not in known]
    lacking = [*strata_without(cells.values, cells.within, averaged), *without]
    names = [name for name, *_ in alike]
    return Contrasts(pd.DataFrame(rows).assign(label=labels), names, averaged, lacking, levels)


def joined_labels(columns: Iterable[Iterable[object]]) -> list[str]:
    """Levels of several columns as one text a row."""
    return [" | ".join(map(str, row)) for row in zip(*columns, strict=True)]


def missing_draws(numbers: Floats) -> Flags:
    """Which draws are undefined, (chain, draw, cell) → (cell, all draws)."""
    missing: Flags = ~np.isfinite(numbers).reshape(-1, numbers.shape[-1]).T
    return missing


def not_pooled(pairs: pd.DataFrame) -> list[Notice]:
    """Notice of averaged contrasts that lack a level, with their labels."""
    if "not_pooled" not in pairs or not (pairs["not_pooled"] != "").any():
        return []
    lacking = pairs[pairs["not_pooled"] != ""]
    levels = dict.fromkeys(", ".join(lacking["not_pooled"]).split(", "))
    return [notice_of("not-pooled", lacking["label"], levels=first_few(levels))]


def average_cells(
    cells: Compared, pool: Pool
) -> tuple[xr.DataArray, Floats, list[Notice], list[int]]:
    """Weighted means over the levels of a pool, a cell for each level of what is ranked together.

    With the weights of the cells in each; a notice of levels that were excluded, since something
    that is ranked is missing or too often undefined there; and how many each stratum is over.
    """
    values, over, held, design = cells.values, cells.over, cells.within, cells.design
    missing = missing_draws(values.values)
    rows, weights, lacking, numbers = [], [], [], []
    for stratum in strata_of(design, held):
        own = design[over].iloc[stratum].tolist()
        compared, levels = list(dict.fromkeys(own)), pool.labels[stratum].tolist()
        place = dict(zip(zip(levels, own, strict=True), stratum.tolist(), strict=True))
        levels = list(dict.fromkeys(levels))
        shared = [s for s in levels if all((s, one) in place for one in compared)]
        if not shared:
            step = f"Omit levels of {over} that few levels of {', '.join(pool.columns)} have."
            raise TooFewError("pool", "no level with all that is ranked", "one at least", step)
        places = np.array([[place[s, one] for one in compared] for s in shared])
        named, share = shared_levels(places, shared, missing[places], pool, len(design))
        here = {name: design[name].iloc[stratum[0]] for name in held}
        lacking += [" | ".join(map(str, (s, *here.values()))) for s in levels if s not in named]
        numbers.append(len(named))
        rows += [{over: one, **here} for one in compared]
        weights.append(share)
    shares = np.concatenate(weights)
    said = [notice_of("not-pooled", levels=first_few(lacking))] if lacking else []
    return labelled_means(values, pd.DataFrame(rows), shares), shares, said, numbers


def labelled_means(values: xr.DataArray, cells: pd.DataFrame, weights: Floats) -> xr.DataArray:
    """Weighted means of cells, with names and the notices of what they rest on."""
    is_defined = np.isfinite(values.values)
    means = np.where(is_defined, values.values, 0) @ weights.T
    missing = (~is_defined).astype(float) @ (weights > 0).T.astype(float)
    labels = row_labels(cells.itertuples(index=False))
    found = []
    for notice in notices(values):
        concerned = np.isin(values["cell"].values, notice.cells)
        named = [a for a, row in zip(labels, weights, strict=True) if (row[concerned] > 0).any()]
        if named or not notice.cells:
            found.append(replace(notice, cells=tuple(named)))
    coords = {str(name): ("cell", np.array(x.tolist())) for name, x in cells.items()}
    attrs = {k: x for k, x in values.attrs.items() if k not in ("notices", "coverage")}
    attrs |= summed_coverage(values.attrs, values["cell"].values, labels, weights > 0)
    sampled = {dim: values[dim] for dim in SAMPLE_DIMS if dim in values.coords}
    return xr.DataArray(
        np.where(missing > 0, np.nan, means),
        dims=(*SAMPLE_DIMS, "cell"),
        coords={**sampled, **coords, "cell": labels},
        name=values.name,
        attrs=attrs | notice_attrs(found),
    )
