"""Ranks of the levels that decisions compare.

Fits and Decisions → ranks (Dataset); ranks, whole or of a stratum → Tables.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.monte_carlo import where_defined
from hmetad.base.notice import notices
from hmetad.base.results import best_end, debiased_name, shown_in
from hmetad.base.untrusted import read_attr
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.predict import predict_levels
from hmetad.compare.cells import Draws, cells_of, leave_out
from hmetad.compare.decisions import Decisions
from hmetad.compare.ranking import rank, rank_table
from hmetad.compare.words import COLUMNS, headings, ranked_words
from hmetad.report.contents.tables import codes_in_words
from hmetad.report.page.blocks import Table, table_from_frame
from hmetad.text.names import heading, in_percent, symbol

__all__ = ["held_equal", "ranking_table", "ranking_tables", "ranks_of"]

type Floats = NDArray[np.float64]


def ranks_of(
    fits: xr.DataTree | Mapping[str, xr.DataTree], decisions: Decisions
) -> xr.Dataset | None:
    """Posterior of ranks of what decisions compare.

    Parameters
    ----------
    fits : DataTree or mapping of str to DataTree
        The fit whose cells were compared, or separate fits by name.
    decisions : Decisions
        What `decide` returned for differences of all pairs.

    Returns
    -------
    Dataset or None
        What `hmetad.rank` returns, or None where the decisions are on a quantity that has no best
        end or is not ranked by, or not on the cells of these fits.
    """
    attrs, quantity = decisions.results.attrs, decisions.quantity
    has_ranks = bool(best_end(quantity)) and not debiased_name(quantity)
    if attrs.get("kind") != "difference" or not has_ranks:
        return None
    over, *within = names = [attrs["over"], *held_equal(decisions)]
    shown = compared_levels(shown_levels(fits), decisions)
    is_one = isinstance(shown, xr.DataTree | xr.Dataset | xr.DataArray)
    asked: dict[str, Any] = {"over": over, "within": within, "independent": not is_one}
    if "pool" in attrs:
        # Contrasts that lack levels are over other ones than ranks would be.
        if (decisions.results["not_pooled"] != "").any():
            return None
        pool = [name for name in attrs["pool"].split(", ") if name]
        asked |= {"pool": pool, "weights": read_attr(attrs, "pool_weights")}
        return rank(shown, var=quantity, **asked)
    draws = cells_of(shown, quantity, names)
    are_columns = all(x in draws.coords and draws[x].dims == ("cell",) for x in names)
    if not are_columns or not are_differences(draws, names, decisions):
        return None
    return rank(shown, var=quantity, **asked)


def held_equal(decisions: Decisions) -> list[str]:
    """Coordinates that both sides of a contrast agree in: all that say nothing of a contrast."""
    results = decisions.results
    dim = next(iter(results.dims))
    others = {dim, "left", "right", *(column.name for column in COLUMNS)}
    return [str(k) for k, v in results.coords.items() if v.dims == (dim,) and k not in others]


def shown_levels(
    fits: xr.DataTree | Mapping[str, xr.DataTree],
) -> xr.DataTree | xr.Dataset | Mapping[str, xr.DataTree]:
    """The fits; of one that does not keep its cells the levels in their place."""
    if isinstance(fits, xr.DataTree) and "spec" in fits.attrs and not Fitted.of(fits).has_cells:
        return predict_levels(fits)
    return fits


def compared_levels(
    shown: xr.DataTree | xr.Dataset | Mapping[str, xr.DataTree], decisions: Decisions
) -> Draws | Mapping[str, xr.DataTree]:
    """Draws of the levels that decisions compare alone, where these are of columns of cells."""
    if not isinstance(shown, xr.DataTree | xr.Dataset):
        return shown
    over, table = str(decisions.results.attrs["over"]), decisions.table()
    drawn = shown["posterior"].to_dataset() if isinstance(shown, xr.DataTree) else shown
    if over not in drawn.coords or drawn[over].dims != ("cell",):
        return shown
    compared = {*table["left"], *table["right"]}
    levels = dict.fromkeys(drawn[over].to_numpy().tolist())
    rest = [level for level in levels if level not in compared]
    return leave_out(shown, over, rest) if 0 < len(rest) < len(levels) else shown


def are_differences(draws: xr.DataArray, names: list[str], decisions: Decisions) -> bool:
    """Whether each mean that was judged is that of two cells."""
    keys = list(zip(*(draws[name].to_numpy().tolist() for name in names), strict=True))
    values = draws.transpose("cell", "chain", "draw").to_numpy()
    known = dict(zip(keys, zip(values, values.mean(axis=(1, 2)), strict=True), strict=True))
    rows = decisions.table().to_dict("records")
    sides: list[list[tuple[Hashable, ...]]] = [
        [(row[side], *(row[name] for name in names[1:])) for row in rows]
        for side in ("left", "right")
    ]
    if len(known) < len(keys) or not {*sides[0], *sides[1]} <= set(known):
        return False
    expected = [mean_apart(*known[a], *known[b]) for a, b in zip(*sides, strict=True)]
    judged = [row["mean"] for row in rows]
    return bool(np.allclose(expected, judged, rtol=1e-6, atol=1e-9, equal_nan=True))


def mean_apart(left: Floats, left_mean: float, right: Floats, right_mean: float) -> float:
    """Mean of the difference of two cells' draws, of those that are defined."""
    apart = left_mean - right_mean
    if np.isfinite(apart):
        return apart
    found = where_defined((left - right)[None], lambda rows: {"mean": rows.mean(axis=(1, 2))})
    return float(found["mean"][0])


def ranking_tables(ranks: xr.Dataset, *, name: str) -> list[Table]:
    """Ranks of every stratum, a table each."""
    names = [x for x in str(ranks.attrs["within"]).split(", ") if x]
    strata: list[Any] = rank_table(ranks)[names].drop_duplicates().to_dict("records")
    return [
        ranking_table(ranks, held, name=f"{name}-{place}-ranks")
        for place, held in enumerate(strata if names else [{}], start=1)
    ]


def ranking_table(ranks: xr.Dataset, held: Mapping[str, Hashable], *, name: str) -> Table:
    """Ranks of one stratum, the best first.

    Parameters
    ----------
    ranks : Dataset
        What `hmetad.rank` returned.
    held : mapping of str to object
        What is held equal in the stratum, and its values; none of the one stratum of all.
    name : str
        Stem of the table's file.

    Returns
    -------
    Table
    """
    frame = rank_table(ranks)
    for key, value in held.items():
        frame = frame[frame[key] == value]
    over = str(ranks.attrs["over"])
    columns = {
        over: over.replace("_", " ").capitalize(),
        **{name: heading(name, "rank") for name in shown_in("rank")},
    }
    frame = frame.assign(withheld=[codes_in_words(codes) for codes in frame["withheld"]])
    reasons = headings(frame[["undefined", "withheld"]].to_dict("records"), "page")
    if "coverage" in frame and (frame["coverage"] < 1).any():
        columns["coverage"] = "Coverage"
    level, rest = in_percent(ranks.attrs["ci_prob"]), in_percent(1 - ranks.attrs["ci_prob"])
    where = "".join(f", {value}" for value in held.values())
    first = "largest" if ranks.attrs["largest_first"] else "smallest"
    told = [one.message for one in notices(ranks) if one.code == "undefined-draws"]
    left_out = "".join(f" {message}" for message in told)
    return table_from_frame(
        frame,
        f"Ranks{ranked_words(frame['mean_rank'].tolist())} by "
        f"{symbol(str(ranks.attrs['quantity']))}{where}.",
        columns=columns | reasons,
        formats={"mean_rank": ".1f", "rank_lower": ".0f", "rank_upper": ".0f", "p_best": ".3f"},
        note=f"Rank 1 is the {first} value; {level} intervals of the rank. P(best): probability of "
        f"rank 1; best from {level}, not best up to {rest}.{left_out}",
        name=name,
    )
