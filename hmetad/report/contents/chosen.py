"""The first screen of a page that a model is chosen by: question, answer and evidence.

Evidence → Prose, Tables and Figure.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hmetad.base.coverage import CODE, items_of, shares_of
from hmetad.base.notice import Notice
from hmetad.base.notice_registry import limit
from hmetad.plots import intervals
from hmetad.plots.intervals import describe_intervals
from hmetad.report.contents.standings import Evidence, Standing
from hmetad.report.contents.tables import early_notices
from hmetad.report.page.blocks import Block, Cell, Figure, Numbers, Prose, Table, interval_cell
from hmetad.text.names import in_percent

__all__ = ["answer_prose", "answer_table", "capital", "first_screen", "in_a_row"]

# Names that stand in a sentence or a cell.
MOST_NAMES = 4


def first_screen(
    found: Evidence, question: Sequence[str], unit: str, notices: Sequence[Notice] = ()
) -> list[Block]:
    """Question, what a reader needs before the answer, the answer and its evidence.

    Parameters
    ----------
    found : Evidence
    question : sequence of str
        Paragraphs.
    unit : str
        What draws are made of, such as "2,000 draws of items".
    notices : sequence of Notice, optional
        Beside those of the draws.

    Returns
    -------
    list of Block
        Without an answer where there is a single level.
    """
    blocks: list[Block] = [Prose("Question", tuple(question)), *early_notices(found.draws, notices)]
    if len(found.first.levels) > 1:
        blocks += [answer_prose(found, unit), answer_table(found), *items_table(found)]
    return [*blocks, evidence_figure(found)]


def answer_prose(found: Evidence, unit: str) -> Prose:
    """Which level is best by which measures, in sentences, and what best means."""
    standings, by_best = found.standing(found.first), dict[str, list[str]]()
    for one in standings:
        if one.best:
            by_best.setdefault(one.best, []).append(one.measure.heading)
    said = [f"{best} is best by {in_a_row(names)}" for best, names in by_best.items()]
    lines = [f"{'; '.join(said)}." if said else f"No {found.over} is best by any measure."]
    lines += candidates(standings)
    lines += [
        f"By {one.measure.heading} there is no verdict: {one.reason}."
        for one in standings
        if one.reason
    ]
    for one in standings:
        left = [f"{level} ({why})" for level, why in one.left_out.items()]
        if left:
            lines.append(f"Not ranked by {one.measure.heading}: {in_a_row(left)}.")
        shares = [f"{x} ({in_percent(round(share, 3))})" for x, share in one.undefined.items()]
        if shares:
            said_of = f"Draws in which {one.measure.heading} is undefined are left out"
            lines.append(f"{said_of}: {in_a_row(shares)}.")
    items = fewer_items(found)
    named = dict.fromkeys(level for one in standings for level in one.candidates)
    lacking = [f"{level} ({items[level]})" for level in named if level in items]
    if lacking:
        lines.append(f"Of these, some were measured on fewer items: {in_a_row(lacking)}.")
    mean = found.first.name if found.first.averaged else ""
    rule = (
        f"{f'Values are the {mean}, each counting the same. ' if mean else ''}Best means that the "
        f"probability of being the best, over {unit}, is at least {in_percent(found.ci_prob)}. "
        f"Where none reaches that, all whose probability is above {in_percent(1 - found.ci_prob)} "
        "are not told apart."
    )
    return Prose("Answer", (" ".join(lines), rule))


def candidates(standings: Sequence[Standing]) -> list[str]:
    """Levels that are best, or not told apart from the best, by most measures."""
    named: dict[str, list[str]] = {}
    for one in standings:
        for level in one.candidates:
            named.setdefault(level, []).append(one.measure.heading)
    if all(one.best for one in standings) or not named:
        return []
    most = sorted(named.items(), key=lambda pair: -len(pair[1]))
    shown = [f"{level} ({in_a_row(names)})" for level, names in most[:MOST_NAMES]]
    more = f"; and {len(most) - MOST_NAMES} more" if len(most) > MOST_NAMES else ""
    return [f"Best, or not told apart from the best: {'; '.join(shown)}{more}."]


def fewer_items(found: Evidence) -> dict[str, str]:
    """Levels that lack more than a few items, with their numbers in words."""
    draws = found.draws
    items = items_of(draws.attrs, found.over, draws["cell"].values)
    if items is None:
        return {}
    rows = pd.DataFrame(items).groupby(draws[found.over].values.astype(str), sort=False).sum()
    return {
        str(level): f"{own:,} of {every:,} items"
        for level, own, every in rows.itertuples()
        if own < (1 - limit(CODE)) * every
    }


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


def answer_table(found: Evidence) -> Table:
    """One row per measure: its question, the answer, how sure, and the estimate of the first."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.standing(found.first):
        first = one.best or max(one.p_best, key=lambda x: one.p_best[x], default="")
        text: Cell = ""
        if first:
            numbers = found.first.interval(one.measure.name, found.ci_prob)
            text = interval_cell(numbers[:, found.first.levels.index(first)]).text
        answer = (answer_text(one), one.p_best.get(first), text)
        rows.append((one.measure.question, one.measure.heading, *answer))
    p_best = f"P(best) of the first {found.over} named"
    return Table(
        f"Best {found.over} by each measure{found.first.where}.",
        ("Question", "Measure", "Best", p_best, "Its value"),
        tuple(rows),
        "P(best): probability of being the best. Values have "
        f"{in_percent(found.ci_prob)} intervals.",
        "answer",
        ((p_best, ".3f"),),
    )


def answer_text(one: Standing) -> str:
    """Best level, or those that are not told apart."""
    if one.reason:
        return f"no verdict: {one.reason}"
    several = f"not told apart: {in_a_row(one.rivals)}" if len(one.rivals) > 1 else "not decided"
    return one.best or several


def items_table(found: Evidence) -> list[Table]:
    """Items that each level has in each stratum, of those of levels that share items.

    No table where every level has all items.
    """
    draws, over = found.draws, found.over
    items = items_of(draws.attrs, over, draws["cell"].values)
    if items is None or not (shares_of(items) < 1).any():
        return []
    labels, levels = draws["cell"].values.tolist(), draws[over].values.astype(str)

    def items_in(level: str, cells: Sequence[str]) -> Numbers:
        own, every = items[(levels == level) & np.isin(labels, cells)].sum(axis=0).tolist()
        return Numbers(f"{own:,} of {every:,}", (own / every,)) if every else Numbers("–", (None,))

    cells = found.cells
    columns = {"All items" if len(cells) > 1 else "Items": labels}
    columns |= {capital(name): own for name, own in cells.items()} if len(cells) > 1 else {}
    rows = [
        (level, *(items_in(level, own) for own in columns.values()))
        for level in dict.fromkeys(levels.tolist())
    ]
    rows.sort(key=lambda row: 1.0 if row[1].values[0] is None else row[1].values[0])
    caption = f"Items of each {over}, of those that were answered by one that shares items with it."
    headings = (capital(over), *columns)
    return [Table(caption, headings, tuple(rows), "Fewest first.", "items")]


def evidence_figure(found: Evidence) -> Figure:
    """Every measure of every level with its interval; filled where a level is called best."""
    stratum, order, parts = found.first, found.order, []
    places = [stratum.levels.index(level) for level in order]
    for one in found.standing(stratum):
        numbers = stratum.interval(one.measure.name, found.ci_prob)
        if one.measure.needs_chance:
            # A ratio to nothing would make the axis too long to read the others.
            numbers[:, [level in one.left_out for level in stratum.levels]] = np.nan
        sides = dict(zip(("mean", "lower", "upper"), numbers[:, places], strict=True))
        names = {"measure": one.measure.heading, "axis": one.measure.axis}
        is_best = [level == one.best for level in order]
        parts.append(pd.DataFrame({"level": order, **names, **sides, "is_best": is_best}))
    table = pd.concat(parts, ignore_index=True)
    drawn = intervals.interval_panels(
        table, rows="level", panels="measure", strong="is_best", xlabel="axis"
    )
    caption = (
        f"Every measure with {in_percent(found.ci_prob)} intervals{stratum.where}. A filled point "
        "is called best; in each panel the axis says which end is better."
    )
    alt = describe_intervals(table, label="level", group="measure", most=60)
    return Figure(caption, alt, drawn[0].figure, "evidence")


def capital(text: str) -> str:
    """Text that begins with a capital letter."""
    return text[:1].upper() + text[1:]
