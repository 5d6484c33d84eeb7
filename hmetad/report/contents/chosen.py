"""The first screen of a page that a model is chosen by: answer and evidence.

Standings → Prose, Table and Figure.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.coverage import CODE, items_of
from hmetad.notice_registry import limit
from hmetad.plots import dot_panels
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.standings import Measure, Standing, Stratum
from hmetad.report.page.blocks import Cell, Figure, Prose, Table
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent

__all__ = [
    "answer_prose",
    "answer_table",
    "evidence_figure",
    "fewer_items",
    "in_a_row",
    "interval_text",
    "ordered_levels",
]

# Names that stand in a sentence or a cell.
MOST_NAMES = 4


def answer_prose(
    standings: Sequence[Standing],
    over: str,
    ci_prob: float,
    unit: str,
    items: Mapping[str, str],
) -> Prose:
    """Which level is best by which measures, in sentences, and what best means.

    Parameters
    ----------
    standings : sequence of Standing
        Of one stratum, one per measure.
    over : str
        What is compared, such as "model".
    ci_prob : float
    unit : str
        What draws are made of, such as "2,000 draws of items".
    items : mapping of str to str
        Of levels that lack items how many they have, in words.

    Returns
    -------
    Prose
    """
    by_best: dict[str, list[str]] = {}
    for one in standings:
        if one.best:
            by_best.setdefault(one.best, []).append(one.measure.heading)
    said = [f"{best} is best by {in_a_row(names)}" for best, names in by_best.items()]
    lines = [f"{'; '.join(said)}."] if said else [f"No {over} is best by any measure."]
    lines += candidates(standings)
    lines += [
        f"By {one.measure.heading} there is no verdict: {one.reason}."
        for one in standings
        if one.reason
    ]
    for one in standings:
        left = [f"{level} ({why})" for level, why in (one.left_out or {}).items()]
        if left:
            lines.append(f"Not ranked by {one.measure.heading}: {in_a_row(left)}.")
        shares = [
            f"{level} ({in_percent(round(share, 3))})" for level, share in one.undefined.items()
        ]
        if shares:
            lines.append(
                f"Draws in which {one.measure.heading} is undefined are left out: "
                f"{in_a_row(shares)}."
            )
    named = [x for one in standings for x in ([one.best] if one.best else one.rivals)]
    lacking = [f"{level} ({items[level]})" for level in dict.fromkeys(named) if level in items]
    if lacking:
        lines.append(f"Of these, some were measured on fewer items: {in_a_row(lacking)}.")
    where = standings[0].stratum
    basis = f"Values are the {where.name}, each counting the same. " if where.averaged else ""
    rule = (
        f"{basis}Best means that the probability of being the best, over {unit}, is at least "
        f"{in_percent(ci_prob)}. Where none reaches that, all whose probability is above "
        f"{in_percent(1 - ci_prob)} are not told apart."
    )
    return Prose("Answer", (" ".join(lines), rule))


def fewer_items(draws: xr.Dataset, over: str) -> dict[str, str]:
    """Levels that lack more than a few items, with their numbers in words."""
    items = items_of(draws.attrs, over, draws["cell"].values)
    if items is None:
        return {}
    rows = pd.DataFrame(items).groupby(draws[over].values.astype(str), sort=False).sum()
    return {
        str(level): f"{own:,} of {every:,} items"
        for level, own, every in rows.itertuples()
        if own < (1 - limit(CODE)) * every
    }


def candidates(standings: Sequence[Standing]) -> list[str]:
    """Levels that are best, or not told apart from the best, by most measures."""
    named: dict[str, list[str]] = {}
    for one in standings:
        for level in [one.best] if one.best else one.rivals:
            named.setdefault(level, []).append(one.measure.heading)
    if all(one.best for one in standings) or not named:
        return []
    most = sorted(named.items(), key=lambda pair: -len(pair[1]))
    shown = [f"{level} ({in_a_row(names)})" for level, names in most[:MOST_NAMES]]
    more = f"; and {len(most) - MOST_NAMES} more" if len(most) > MOST_NAMES else ""
    return [f"Best, or not told apart from the best: {'; '.join(shown)}{more}."]


def in_a_row(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of many.

    Examples
    --------
    >>> in_a_row(["a", "b", "c"]), in_a_row(list("abcdefg"))
    ('a, b and c', 'a, b, c, d and 3 more')
    """
    if len(names) > MOST_NAMES + 1:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def answer_table(standings: Sequence[Standing], ci_prob: float, caption: str) -> Table:
    """One row per measure: its question, the answer, how sure, and the estimate of the first."""
    rows: list[tuple[Cell, ...]] = []
    for one in standings:
        first = one.best or max(one.p_best, key=lambda x: one.p_best[x], default="")
        numbers = one.stratum.interval(one.measure.name, ci_prob)
        text = ""
        if first:
            text = interval_text(numbers[:, one.stratum.levels.index(first)])
        p_best = one.p_best.get(first) if first else None
        rows.append((one.measure.question, one.measure.heading, answer_text(one), p_best, text))
    columns = ("Question", "Measure", "Best", "P(best) of the first", "Its estimate")
    level = in_percent(ci_prob)
    note = f"P(best): probability of being the best. Estimates have {level} intervals."
    formats = (("P(best) of the first", ".3f"),)
    return Table(caption, columns, tuple(rows), note, "answer", formats)


def answer_text(one: Standing) -> str:
    """Best level, or those that are not told apart."""
    if one.best:
        return one.best
    if one.reason:
        return f"no verdict: {one.reason}"
    return f"not told apart: {in_a_row(one.rivals)}" if len(one.rivals) > 1 else "not decided"


def interval_text(values: Sequence[float] | np.ndarray, spec: str = "z.3f") -> str:
    """Estimate and interval as a reader has them; only the estimate where there is no interval.

    Examples
    --------
    >>> interval_text([0.5, 0.4, 0.6], ".2f"), interval_text([float("nan")] * 3)
    ('0.50 [0.40, 0.60]', '–')
    """
    estimate, lower, upper = (format_cell(float(value), spec) for value in values)
    if not np.isfinite(values[0]):
        return "–"
    return f"{estimate} [{lower}, {upper}]" if np.isfinite(values[1:]).all() else estimate


def evidence_figure(
    stratum: Stratum, standings: Sequence[Standing], order: Sequence[str], ci_prob: float
) -> Figure:
    """Every measure of every level with its interval; filled where a level is called best."""
    parts = [part_of(stratum, one, order, ci_prob) for one in standings]
    table = pd.concat(parts, ignore_index=True)
    drawn = dot_panels.interval_panels(
        table, rows="level", panels="measure", strong="is_best", xlabel="axis"
    )
    where = f", {stratum.name}" if stratum.name else ""
    caption = (
        f"Every measure with {in_percent(ci_prob)} intervals{where}. A filled point is called "
        "best; in each panel the axis says which end is better."
    )
    alt = describe_intervals(table, label="level", group="measure", most=60)
    return Figure(caption, alt, drawn[0].figure, "evidence")


def part_of(stratum: Stratum, one: Standing, order: Sequence[str], ci_prob: float) -> pd.DataFrame:
    """Rows of one measure, in an order of levels."""
    numbers = stratum.interval(one.measure.name, ci_prob)
    if one.measure.needs_chance:
        # A ratio to nothing would make the axis too long to read the others.
        numbers[:, [level in (one.left_out or {}) for level in stratum.levels]] = np.nan
    places = [stratum.levels.index(level) for level in order]
    mean, lower, upper = numbers[:, places]
    return pd.DataFrame(
        {
            "level": list(order),
            "measure": one.measure.heading,
            "axis": one.measure.axis,
            "mean": mean,
            "lower": lower,
            "upper": upper,
            "is_best": [level == one.best for level in order],
        }
    )


def ordered_levels(stratum: Stratum, measure: Measure) -> list[str]:
    """Levels from the best estimate to the worst, undefined ones last."""
    values = stratum.estimates[measure.name]
    sign = -1 if measure.more_is_better else 1
    keys = np.where(np.isfinite(values), sign * values, np.inf)
    return [stratum.levels[place] for place in np.argsort(keys, kind="stable")]
