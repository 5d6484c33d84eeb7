"""The first screen of a page of counts: which model is best, with d′ and accuracy beside M.

Measures and draws of them → blocks.
"""

from collections.abc import Sequence

import xarray as xr

from hmetad.notice import Notice, notices
from hmetad.report.contents.chosen import (
    answer_prose,
    answer_table,
    evidence_figure,
    fewer_items,
    interval_text,
    ordered_levels,
)
from hmetad.report.contents.chosen_measures import OF_COUNTS
from hmetad.report.contents.matrix_tables import capital, items_table, number
from hmetad.report.contents.standings import Standing, Stratum, measure_strata, standing_of
from hmetad.report.contents.tables import early_notices
from hmetad.report.contents.trial_evidence import cells_by_stratum
from hmetad.report.page.blocks import Block, Cell, Prose, Table
from hmetad.text.names import in_percent

__all__ = ["choice_blocks"]

# What stands beside M, for M is no measure of how good answers are.
BESIDE = {"dprime": "d′", "share_right": "Accuracy"}
QUESTION = (
    "Which {over} has the better answers, and the better confidence? Ratios such as M-ratio judge "
    "confidence relative to the answers: a {over} with poor answers can have a high one, and at "
    "chance it has no meaning."
)
OF_PAIRS = (
    "M-ratio has no ranks here: these are pairs of options, and their M-ratio depends on where "
    "their confidence is cut into ratings."
)


def choice_blocks(
    estimates: xr.Dataset,
    draws: xr.Dataset,
    over: str,
    ci_prob: float,
    found: Sequence[Notice] = (),
) -> list[Block]:
    """Question, answer, ranks of M, and evidence.

    Parameters
    ----------
    estimates : Dataset
        Dim cell.
    draws : Dataset
        Dims (cell, draw), of the same cells; as `resample` returns them.
    over : str
        Grouping column whose levels are compared.
    ci_prob : float
    found : sequence of Notice
        Beside those of the draws.

    Returns
    -------
    list of Block
        None where there is a single level.
    """
    measures = [one for one in OF_COUNTS if one.name in draws and one.name in estimates]
    are_pairs = any(one.code == "paired-options" for one in notices(draws))
    if are_pairs:
        measures = [one for one in measures if one.name != "m_ratio"]
    names = list(dict.fromkeys([one.name for one in measures]))
    strata = measure_strata(estimates, draws, over, names)
    if max(len(one.levels) for one in strata) < 2:
        return []
    first = strata[0]
    standings = [standing_of(first, one, ci_prob) for one in measures]
    where = f", {first.name}" if first.name else ""
    unit = draws.attrs.get("cluster") or "trial"
    drawn = f"{draws.sizes['draw']:,} {draws.attrs.get('kind', '')} draws by {unit}"
    leading = next(one for one in measures if one.name == "auroc2")
    return [
        Prose("Question", (QUESTION.format(over=over), *([OF_PAIRS] if are_pairs else []))),
        *early_notices(draws, found),
        answer_prose(standings, over, ci_prob, drawn, fewer_items(draws, over)),
        answer_table(standings, ci_prob, f"Best {over} by each measure{where}."),
        *items_table(draws, over, cells_by_stratum(draws, over)),
        evidence_figure(first, standings, ordered_levels(first, leading), ci_prob),
        *ranks_of_m(strata, over, ci_prob, {one.name for one in measures}),
    ]


def ranks_of_m(strata: list[Stratum], over: str, ci_prob: float, known: set[str]) -> list[Block]:
    """Ranks by M-ratio, each level with its d′ and accuracy; none without M."""
    measure = next(one for one in OF_COUNTS if one.name == "m_ratio")
    if measure.name not in known:
        return []
    beside = [name for name in BESIDE if name in known]
    shown = {measure.name: measure.heading, **{name: BESIDE[name] for name in beside}}
    several = len(strata) > 1
    rows: list[tuple[Cell, ...]] = []
    keys: dict[str, list[float | None]] = {title: [] for title in shown.values()}
    for stratum in strata:
        standing = standing_of(stratum, measure, ci_prob)
        for level in ordered_levels(stratum, measure):
            place = stratum.levels.index(level)
            cells = {
                title: stratum.interval(name, ci_prob)[:, place] for name, title in shown.items()
            }
            own = (level, *([stratum.name] if several else []))
            texts = (interval_text(values, "z.2f") for values in cells.values())
            rows.append((*own, *texts, standing.p_best.get(level), word_of(standing, level)))
            for name, values in cells.items():
                keys[name].append(number(values[0]))
    columns = (capital(over), *(["Set"] if several else []), *keys, "P(best)", "Verdict")
    return [
        Table(
            f"Ranks by {measure.heading}, with d′ and accuracy.",
            columns,
            tuple(rows),
            f"{in_percent(ci_prob)} intervals. P(best): probability of the highest M-ratio of "
            "those that are ranked.",
            "ranks-m",
            (("P(best)", ".3f"),),
            keys=tuple((name, tuple(values)) for name, values in keys.items()),
        )
    ]


def word_of(standing: Standing, level: str) -> str:
    """What is said of a level."""
    if standing.left_out and level in standing.left_out:
        return f"not ranked: {standing.left_out[level]}"
    if level == standing.best:
        return "best"
    if level in standing.rivals:
        return "not decided"
    return "no verdict" if standing.reason else "not best"
