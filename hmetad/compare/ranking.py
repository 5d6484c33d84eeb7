"""Posterior of the ranks of levels: which is the best, which is second.

Posterior draws (chain, draw, cell) → Dataset (cell) of shares of ranks. Draws are ranked one by
one, so that the ranks contain what levels share and the uncertainty of each.
Source: Goldstein & Spiegelhalter (1996).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import rankdata

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, with_variables
from hmetad.base.coverage import items_of, shares_of
from hmetad.base.errors import LevelError
from hmetad.base.labels import check_same_names
from hmetad.base.monte_carlo import (
    FEWEST_DRAWS,
    defined_draws,
    effective_draws,
    has_chains,
    rank_rhat,
    share_interval,
    too_undefined,
    undefined_share,
)
from hmetad.base.notice import Notice, notice_attrs, notice_of, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import attrs_of, best_end, names_of, refuse_biased, shown_in
from hmetad.compare.averaging import Weights, average_cells, compared_cells, pool_attrs
from hmetad.compare.cells import (
    Fits,
    both_codes,
    design_of,
    error_flags,
    joined_codes,
    strata_of,
    undefined_notice,
)
from hmetad.compare.comparability import (
    are_unlike,
    carried_notices,
    dependence,
    traits_of,
    unlike_notices,
)
from hmetad.compare.contrasts import moved_apart

type Floats = NDArray[np.float64]
type Columns = dict[str, NDArray[Any]]


@check_inputs(skip=("draws",), ci_prob=probability)
def rank(
    draws: Fits,
    *,
    var: str | None = None,
    over: str,
    within: str | Sequence[str] = (),
    largest_first: bool | None = None,
    ci_prob: float = 0.95,
    pool: str | Sequence[str] = (),
    weights: Weights = "equal",
    independent: bool = False,
) -> xr.Dataset:
    r"""Posterior of the ranks of the levels of a coordinate, within each level of others.

    Parameters
    ----------
    draws, var, over, within, pool, weights, independent
        As in `contrast`. Levels that are ranked together are pooled over the same levels, in which
        all are present, and defined in at least 95 % of the draws (notice ``"not-pooled"``). For
        separate fits, each cell's draws are shifted by a different part of a run, so that equal
        seeds have no effect.
    largest_first : bool, optional
        Whether rank 1 is the largest value, or the smallest. By default the best value: the
        smallest for measures that are better if smaller (Brier score, AURC, calibration terms,
        meta-noise), else the largest.
    ci_prob : float
        Probability of the interval of the rank, and the least probability to call a level the best.

    Returns
    -------
    Dataset
        Per cell ``mean_rank``; ``rank_lower`` and ``rank_upper``, equal-tailed and integers;
        ``p_best``, with ``mcse_best``; ``verdict``: "best" (p_best at least `ci_prob`), "not best"
        (at most 1 - `ci_prob`), "undecided", or "unreliable" (withheld, or a matter of Monte
        Carlo error). ``p_rank`` (cell, rank): probability of each rank. ``p_superior`` (cell,
        other): probability that the value is larger than that of the level `other` in the same
        stratum; NaN if the stratum lacks it. ``undefined``: proportion of the draws of a level that
        are undefined. With more than 5 % it has no rank (NaN; withheld ``"undefined"``), and the
        others are ranked as without it; with fewer, ranks use the draws in which all levels are
        defined, which the notice ``"undefined-draws"`` reports. The coordinate withheld names the
        reasons for a stratum without verdict, as in `decide`: one unreliable level makes the ranks
        of the others unreliable; ``"alone"`` is a level without others. `notices` returns the
        notices, with ``"raised-by-chance"``, an error, if chance raises a resampled quantity and
        numbers of trials are unequal, ``"unequal-ratings"``, an error, if a quantity depends on
        unequal numbers of ratings, and ``"draws-for-level"`` if draws are too few to call any level
        the best, with a sufficient number. If levels share items, the coordinate coverage has the
        proportion of items of each.

    Raises
    ------
    InputError
        If a name is unknown, `over`, `within` and `pool` together do not identify one cell each, no
        stratum has two levels, no pooled level has all ranked levels, or draws of resampling are of
        a quantity that chance raises and that has a debiased one next to it, as `ece` has.

    Notes
    -----
    Levels that are tied in a draw share their t ranks: each has each of these with probability 1/t,
    and their mean as its rank.

    Examples
    --------
    >>> log_m = xr.DataArray(
    ...     np.random.default_rng(1).normal([0.0, 1.0, 1.1], 0.2, (4, 500, 3)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b", "c"], "model": ("cell", ["a", "b", "c"])},
    ...     name="log_m",
    ... )
    >>> ranks = rank(log_m, over="model")
    >>> ranks["verdict"].values.tolist(), ranks["rank_upper"].values.tolist()
    (['not best', 'undecided', 'undecided'], [3.0, 2.0, 2.0])
    """
    cells = compared_cells(draws, var, over, within, pool, weights, independent)
    values, held, levels = cells.values, cells.within, list[int]()
    are_chains = has_chains(values.attrs)
    if not are_chains:
        refuse_biased(str(values.name), "var")
    if largest_first is None:
        largest_first = best_end(str(values.name)) != "less"
    related, traits = dependence(cells), traits_of(draws, values, (over, *cells.held))
    if cells.pool is not None:
        values, shares, lacking, levels = average_cells(cells, cells.pool)
        traits = {code: shares @ x for code, x in traits.items()}
        related = [*lacking, *related]
    design = design_of(values, over, held)
    strata = strata_of(design, held)
    if max(map(len, strata)) < 2:
        raise LevelError("over", repr(over), "a coordinate with two levels or more to rank")
    labels = values["cell"].values
    concerned = {
        code: [x for one in strata if are_unlike(code, trait[one]) for x in labels[one].tolist()]
        for code, trait in traits.items()
    }
    values = with_notices(values, unlike_notices(values, concerned))
    numbers = values.values.astype(float)
    numbers = moved_apart(numbers, np.arange(len(labels))) if independent else numbers
    rows = np.moveaxis(numbers, -1, 0)
    options = {"largest_first": largest_first, "ci_prob": ci_prob, "are_chains": are_chains}
    result, reasons, joint = rank_strata(rows, values, strata, design[over].to_numpy(), options)
    kept = f" Ranks are of the {joint:.1%} in which all that is ranked is defined." * (joint < 1)
    found = [
        *carried_notices(values, over),
        *related,
        *undefined_notice(labels, result["undefined"].values, kept),
        *draws_notice(rows, ci_prob),
    ]
    coords: dict[str, Any] = {str(k): v for k, v in values.coords.items() if v.dims == ("cell",)}
    check_same_names(coords, [*names_of("rank"), "rank", "other", "withheld"])
    items = items_of(values.attrs, over, labels)
    if items is not None and "coverage" not in coords:
        coords["coverage"] = ("cell", shares_of(items))
    attrs = {"quantity": str(values.name), "over": over, "within": ", ".join(held)}
    attrs |= {"penalty": values.attrs["penalty"]} if "penalty" in values.attrs else {}
    attrs |= notice_attrs(found) | pool_attrs(cells.pool, levels)
    result = result.assign_coords({**coords, "withheld": ("cell", reasons)})
    return result.assign_attrs(attrs, ci_prob=ci_prob, largest_first=int(largest_first))


@check_inputs(ranks=with_variables("mean_rank", "verdict", "p_best", dim="cell", made_by="rank"))
def rank_table(ranks: xr.Dataset) -> pd.DataFrame:
    """Ranks as a table: stratum by stratum, the best first.

    Parameters
    ----------
    ranks : Dataset
        What `rank` returned.

    Returns
    -------
    DataFrame
        cell and its coordinates, then mean_rank, rank_lower, rank_upper, p_best, verdict,
        undefined and withheld.

    Examples
    --------
    >>> log_m = xr.DataArray(
    ...     np.random.default_rng(1).normal([0.0, 1.0], 0.2, (4, 500, 2)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
    ... )
    >>> rank_table(rank(log_m, over="model"))["model"].tolist()
    ['b', 'a']
    """
    shown = shown_in("rank")
    coords = [str(k) for k, v in ranks.coords.items() if v.dims == ("cell",) and k != "withheld"]
    frame = ranks[[*shown, "undefined"]].to_dataframe().reset_index()
    held = [name for name in str(ranks.attrs["within"]).split(", ") if name]
    # Strata stay in the order of the cells.
    first = {name: pd.factorize(frame[name])[0] for name in held}
    keys = {**first, "mean_rank": frame["mean_rank"]}
    order = pd.DataFrame(keys).sort_values([*keys], kind="stable").index
    columns = [*dict.fromkeys(["cell", *coords]), *shown, "undefined", "withheld"]
    return frame.loc[order, columns].reset_index(drop=True)


def rank_strata(
    rows: Floats,
    values: xr.DataArray,
    strata: Sequence[NDArray[np.intp]],
    levels: NDArray[Any],
    options: Mapping[str, Any],
) -> tuple[xr.Dataset, NDArray[np.str_], float]:
    """Ranks within each stratum; why a cell is not judged; the least share of draws ranked.

    Levels with too many undefined draws have no rank, and the others are as without them.
    """
    others, column = np.unique(levels, return_inverse=True)
    most = max(map(len, strata))
    shapes = {"p_rank": (len(rows), most), "p_superior": (len(rows), len(others))}
    result: Columns = {x: np.full(shapes.get(x, len(rows)), np.nan) for x in names_of("rank")}
    result["verdict"] = np.full(len(rows), "unreliable", dtype=object)
    result["undefined"] = undefined_share(rows)
    is_beyond, joint = too_undefined(result["undefined"]), 1.0
    reasons = np.where(is_beyond, "undefined", "").astype(object)
    codes, flags = error_flags(values)
    for stratum in (one[~is_beyond[one]] for one in strata if not is_beyond[one].all()):
        said = joined_codes(codes, flags[:, stratum].any(axis=1, keepdims=True))
        defined = defined_draws(rows[stratum])
        joint = min(joint, float(np.isfinite(rows[stratum]).all(axis=0).mean()))
        reasons[stratum] = both_codes(said, [untrusted(defined, options["are_chains"])])[0]
        if defined.size:
            found = rank_stratum(defined, **options)
            result["p_rank"][stratum] = 0.0
            result["p_rank"][stratum, : len(stratum)] = found.pop("p_rank")
            result["p_superior"][np.ix_(stratum, column[stratum])] = found.pop("p_superior")
            for name, column_of_found in found.items():
                result[name][stratum] = column_of_found
    result["verdict"][reasons != ""] = "unreliable"
    result["verdict"] = result["verdict"].astype(str)
    dims = {"p_rank": ("cell", "rank"), "p_superior": ("cell", "other")}
    data = {x: (dims.get(x, ("cell",)), result[x], attrs_of(x, "rank")) for x in names_of("rank")}
    coords = {"rank": np.arange(1, most + 1), "other": others}
    return xr.Dataset(data, coords), reasons.astype(str), joint


def rank_stratum(rows: Floats, largest_first: bool, ci_prob: float, are_chains: bool) -> Columns:
    """Ranks of the levels of one stratum, (level, chain, draw) → arrays that start with level."""
    flat = rows.reshape(len(rows), -1)
    ordered = -flat if largest_first else flat
    first, last = (rankdata(ordered, method=how, axis=0).astype(int) for how in ("min", "max"))
    shares = rank_shares(first, last)
    below = shares.cumsum(axis=1)
    # Sums of shares fall short of 1 by rounding.
    tails = (1 - ci_prob) / 2 - 1e-12, (1 + ci_prob) / 2 - 1e-12
    lower, upper = ((below >= tail).argmax(axis=1) + 1 for tail in tails)
    is_best = np.where(first == 1, 1 / last, 0.0).reshape(rows.shape)
    # Where being the best never changes, effective draws are those of the distance from the mean.
    centred, never = rows - rows.mean(axis=0), np.ptp(is_best, axis=(1, 2)) == 0
    of_rows, of_best = (effective_draws(x, are_chains=are_chains) for x in (centred, is_best))
    effective, p_best = np.where(never, of_rows, of_best), shares[:, 0]
    words = [
        np.select([p >= ci_prob, p <= 1 - ci_prob], ["best", "not best"], "undecided")
        for p in (p_best, *share_interval(p_best, effective))
    ]
    is_settled = (words[0] == words[1]) & (words[0] == words[2])
    # Ties count half.
    above = np.array([(row > flat).mean(axis=1) for row in flat])
    return {
        "mean_rank": (first + last).mean(axis=1) / 2,
        "rank_lower": lower,
        "rank_upper": upper,
        "p_best": p_best,
        "mcse_best": np.sqrt(is_best.var(axis=(1, 2)) / effective),
        "verdict": np.where(is_settled, words[0], "unreliable"),
        "p_rank": shares,
        "p_superior": above + (1 - above - above.T) / 2,
    }


def rank_shares(first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """Share of each rank, (level, rank), from the first and last place each level takes."""
    levels = len(first)
    weight = 1 / (last - first + 1)
    # A level takes its places from first to last: up at one, down after the other.
    steps = np.zeros((levels, levels + 2))
    for i in range(levels):
        steps[i] += np.bincount(first[i], weight[i], levels + 2)
        steps[i] -= np.bincount(last[i] + 1, weight[i], levels + 2)
    shares = steps.cumsum(axis=1)[:, 1 : levels + 1] / first.shape[1]
    return np.clip(shares, 0, 1)


def draws_notice(rows: Floats, ci_prob: float) -> list[Notice]:
    """Notice where no level could be called the best, even by all draws, and how many would do."""
    draws = rows[0].size
    least, _ = share_interval(np.ones(1), np.full(1, float(draws)))
    if least[0] >= ci_prob:
        return []
    # All of n draws leave 1 − .025^(1/(n + 1)) open; twice as many have room for exceptions.
    needed = 1000 * math.ceil(2 * math.log(0.025) / math.log(ci_prob) / 1000)
    said = {"level": f"{100 * ci_prob:.4g}", "draws": draws, "needed": f"{needed:,}"}
    return [notice_of("draws-for-level.rank", **said)]


def untrusted(rows: Floats, are_chains: bool) -> str:
    """Why the draws of a stratum, (level, chain, draw), leave its ranks without a verdict.

    Chains are judged by each level's distance from the mean of all, since ranks depend on it.
    """
    if len(rows) < 2:
        return "alone"
    if rows.shape[2] < FEWEST_DRAWS:
        return "few-draws"
    if (np.ptp(rows, axis=(1, 2)) == 0).all():
        return "constant"
    if not are_chains:
        return ""
    with np.errstate(invalid="ignore"):
        return "rhat" if (rank_rhat(rows - rows.mean(axis=0)) > limit("rhat")).any() else ""
