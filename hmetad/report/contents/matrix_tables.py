"""Levels by strata: every measure as a table that sorts by column.

Strata and standings → Tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.coverage import items_of, shares_of
from hmetad.report.contents.chosen import interval_text
from hmetad.report.contents.standings import Measure, Standing, Stratum
from hmetad.report.page.blocks import Cell, Table
from hmetad.text.cells import format_cell
from hmetad.text.names import in_percent

__all__ = ["interval_table", "items_table", "level_matrix", "score_card"]

type Standings = Mapping[tuple[str, str], Standing]


def level_matrix(
    strata: Sequence[Stratum],
    standings: Standings,
    measure: Measure,
    order: Sequence[str],
    over: str,
    *,
    ci_prob: float,
    is_folded: bool,
) -> Table:
    """Estimates of one measure, a row per level and a column per stratum.

    Parameters
    ----------
    strata : sequence of Stratum
    standings : mapping of (stratum, measure) to Standing
    measure : Measure
    order : sequence of str
        Levels, in the order of the rows.
    over : str
        What the levels are of.
    ci_prob : float
        Probability from which a level is called best.
    is_folded : bool

    Returns
    -------
    Table
    """
    headings = unlike(over, [capital(x.name) if x.averaged else x.name for x in strata])
    columns = []
    for stratum in strata:
        values = dict(zip(stratum.levels, stratum.estimates[measure.name], strict=True))
        standing = standings[stratum.name, measure.name]
        columns.append([marked(values.get(level, np.nan), level, standing) for level in order])
    return keyed_table(
        f"{measure.heading}: {measure.axis}.",
        over,
        order,
        dict(zip(headings, columns, strict=True)),
        note=best_note(ci_prob),
        name=f"matrix-{measure.name}",
        is_folded=is_folded,
    )


def score_card(
    stratum: Stratum,
    standings: Sequence[Standing],
    order: Sequence[str],
    over: str,
    ci_prob: float,
) -> Table:
    """Estimates of every measure in one stratum, a row per level."""
    columns = {}
    for one in standings:
        values = dict(zip(stratum.levels, stratum.estimates[one.measure.name], strict=True))
        columns[one.measure.heading] = [marked(values[level], level, one) for level in order]
    axes = "; ".join(f"{one.measure.heading}: {one.measure.axis}" for one in standings)
    where = f", {stratum.name}" if stratum.name else ""
    return keyed_table(
        f"Every measure of every {over}{where}.",
        over,
        order,
        columns,
        note=f"{axes}. {best_note(ci_prob)}",
        name="card",
    )


def items_table(draws: xr.Dataset, over: str, strata: Mapping[str, Sequence[str]]) -> list[Table]:
    """Items that each level has in each stratum, of those of levels that share items.

    `strata` has the labels of the cells; no table where every level has all items.
    """
    items = items_of(draws.attrs, over, draws["cell"].values)
    if items is None or not (shares_of(items) < 1).any():
        return []
    labels, levels = draws["cell"].values.tolist(), list(map(str, draws[over].values.tolist()))
    order = sorted(dict.fromkeys(levels), key=lambda x: share_and_items(items, levels, x)[0])
    cells = {"All items" if len(strata) > 1 else "Items": labels} | (
        {capital(name): own for name, own in strata.items()} if len(strata) > 1 else {}
    )
    columns = {}
    for heading, own in cells.items():
        rows = np.where(np.isin(labels, own)[:, None], items, 0)
        found = [share_and_items(rows, levels, level) for level in order]
        columns[heading] = [(text, share if text != "–" else None) for share, text in found]
    caption = f"Items of each {over}, of those that were answered by one that shares items with it."
    return [keyed_table(caption, over, order, columns, note="Fewest first.", name="items")]


def share_and_items(
    items: NDArray[np.int64], levels: Sequence[str], level: str
) -> tuple[float, str]:
    """Share and numbers of the items of a level."""
    own, every = items[[x == level for x in levels]].sum(axis=0).tolist()
    return (own / every, f"{own:,} of {every:,}") if every else (1.0, "–")


def best_note(ci_prob: float) -> str:
    """What the mark means."""
    return (
        f"best: the probability of being the best in its column is at least {in_percent(ci_prob)}."
    )


def marked(value: float, level: str, standing: Standing) -> tuple[str, float | None]:
    """Estimate with its mark, and the number it is sorted by."""
    if not np.isfinite(value):
        return "–", None
    mark = " best" if level == standing.best else ""
    return f"{format_cell(float(value), 'z.3f')}{mark}", float(value)


def keyed_table(
    caption: str,
    over: str,
    order: Sequence[str],
    columns: Mapping[str, Sequence[tuple[str, float | None]]],
    *,
    note: str,
    name: str,
    is_folded: bool = False,
) -> Table:
    """Table of texts that sort by numbers, with these numbers for files."""
    headings = (capital(over), *columns)
    texts = zip(order, *([text for text, _ in x] for x in columns.values()), strict=True)
    plain = zip(order, *([key for _, key in x] for x in columns.values()), strict=True)
    keys = tuple((heading, tuple(key for _, key in x)) for heading, x in columns.items())
    numbers = Table(caption, headings, tuple(plain))
    rows: tuple[tuple[Cell, ...], ...] = tuple(texts)
    table = Table(caption, headings, rows, note, name, keys=keys, numbers=numbers)
    return replace(table, is_folded=is_folded)


def interval_table(
    strata: Sequence[Stratum],
    names: Mapping[str, str],
    ci_prob: float,
    caption: str,
    over: str,
    *,
    name: str,
) -> Table:
    """Estimates with intervals, a row per level of each stratum.

    Parameters
    ----------
    strata : sequence of Stratum
    names : mapping of str to str
        Variables and their headings.
    ci_prob : float
    caption : str
    over : str
        What the levels are of.
    name : str
        Stem of the table's file.

    Returns
    -------
    Table
        Its CSV file has estimate, lower and upper in columns of their own.
    """
    several = len(strata) > 1
    firsts = [capital(over), *(["Set"] if several else [])]
    texts: list[tuple[Cell, ...]] = []
    plain: list[tuple[Cell, ...]] = []
    keys: dict[str, list[float | None]] = {heading: [] for heading in names.values()}
    for stratum in strata:
        found = {key: stratum.interval(key, ci_prob) for key in names}
        for place, level in enumerate(stratum.levels):
            own = (level, *([stratum.name] if several else []))
            values = {key: found[key][:, place] for key in names}
            texts.append((*own, *(interval_text(x) for x in values.values())))
            plain.append((*own, *(number(x) for one in values.values() for x in one)))
            for key, heading in names.items():
                keys[heading].append(number(values[key][0]))
    sides = [(key, f"{key}_lower", f"{key}_upper") for key in names]
    numbers = Table(caption, (*firsts, *(x for one in sides for x in one)), tuple(plain))
    return Table(
        caption,
        (*firsts, *names.values()),
        tuple(texts),
        f"{in_percent(ci_prob)} equal-tailed intervals of the draws.",
        name,
        keys=tuple((heading, tuple(one)) for heading, one in keys.items()),
        numbers=numbers,
    )


def number(value: float) -> float | None:
    """A number, or None where there is none."""
    return float(value) if np.isfinite(value) else None


def unlike(over: str, headings: Sequence[str]) -> list[str]:
    """Headings of which none is that of the first column, or another's."""
    found: list[str] = []
    for heading in headings:
        while heading in (*found, capital(over)):
            heading += " "
        found.append(heading)
    return found


def capital(text: str) -> str:
    """Text that begins with a capital letter."""
    return text[:1].upper() + text[1:]
