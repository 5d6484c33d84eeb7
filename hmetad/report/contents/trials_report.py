"""The report of trials with confidence as it is: which model to choose, and how sure that is.

DataFrame of trials → Report.
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pandas as pd
import xarray as xr

from hmetad.counts.columns import text_columns
from hmetad.counts.noticed import add_notices
from hmetad.errors import InputError, nearest
from hmetad.measures.reliability import calibration, selective_prediction
from hmetad.report.contents.chosen import (
    answer_prose,
    answer_table,
    evidence_figure,
    fewer_items,
    ordered_levels,
)
from hmetad.report.contents.matrix_tables import items_table, level_matrix, score_card
from hmetad.report.contents.tables import early_notices, notice_block
from hmetad.report.contents.trial_evidence import (
    Evidence,
    cells_of_strata,
    compared_columns,
    evidence_of,
)
from hmetad.report.contents.trial_figures import coverage_blocks, reliability_blocks
from hmetad.report.contents.trial_tables import interval_tables, meaning, method
from hmetad.report.page.blocks import Block, Prose
from hmetad.report.page.report import Report
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["trials_report"]

# Options of the measures, with those of the report.
OPTIONS = (
    *("by", "correct", "confidence", "missing", "cluster", "n", "kind", "bins", "ci_prob", "seed"),
)
CHOICE = (
    "Which {over} should be chosen? It depends on the use: for right answers, {uses}confidence "
    "that tells right from wrong{last}."
)
AS_PROBABILITY = ", or for confidence that is read as a probability"
ALONE = "How good are the answers, and what does the stated confidence say about them?"


def trials_report(
    trials: TableLike,
    *,
    draws: xr.Dataset | None = None,
    over: str | None = None,
    title: str = "Measures",
    command: str = "",
    **asked: Any,
) -> Report:
    """Report of trials, as `measures_report` describes it.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial.
    draws : Dataset, optional
        What `resample_trials` gave for them; by default they are drawn here.
    over : str, optional
        Grouping column whose levels are compared; by default the first.
    title, command : str, optional
        As of `measures_report`.
    **asked
        As of `resample_trials`, and ``ci_prob``.

    Returns
    -------
    Report
    """
    unknown = [name for name in asked if name not in OPTIONS]
    if unknown:
        raise InputError(
            "measures_report", repr(unknown[0]), "an option", nearest(unknown[0], OPTIONS)
        )
    if draws is not None:
        # What `resample` drew of counts says which numbers it held.
        if "cluster" not in draws.attrs or "hold" in draws.attrs:
            raise InputError("draws", "draws of something else", "what resample_trials returned")
        asked["cluster"] = str(draws.attrs["cluster"]) or None
    trials = columns_in_use(trials, asked)
    found = evidence_of(trials, over, asked, draws)
    plain: dict[str, Any] = {k: asked[k] for k in ("by", "correct", "confidence") if k in asked}
    blocks = [
        *first_screen(found),
        *matrices(found),
        *drawings(found, trials, plain, asked.get("bins", 10)),
        *interval_tables(found),
        Prose("How it was computed", method(found, command)),
        meaning(found),
        *notice_block(found.draws),
    ]
    return Report(title, tuple(blocks), meta=facts(found))


def columns_in_use(trials: TableLike, asked: Mapping[str, Any]) -> pd.DataFrame:
    """Trials in memory: the columns that are used or named like items."""
    grouping = text_columns(asked.get("by", ()))
    roles = [asked.get(name, name) for name in ("correct", "confidence")]
    used = {*grouping, *roles, asked.get("cluster")}
    rows = rows_of(trials, text=grouping).spelled(used)
    names = [name for name in rows.columns if name in used or is_item_name(name)]
    frame = rows.frame(names) if names else rows.frame()
    frame.attrs = add_notices(frame.attrs, rows.notices)
    return frame


def first_screen(found: Evidence) -> list[Block]:
    """Question, answer and evidence."""
    several = len(found.first.levels) > 1
    question = question_of(found) if several else ALONE
    blocks: list[Block] = [Prose("Question", (question,)), *early_notices(found.draws)]
    standings = found.standing(found.first)
    if several:
        unit, fewer = drawn_units(found.draws), fewer_items(found.draws, found.over)
        said = answer_prose(standings, found.over, found.ci_prob, unit, fewer)
        where = f", {found.first.name}" if found.first.name else ""
        caption = f"Best {found.over} by each measure{where}."
        items = items_table(found.draws, found.over, cells_of_strata(found))
        blocks += [said, answer_table(standings, found.ci_prob, caption), *items]
    order = ordered_levels(found.first, found.measures[1])
    return [*blocks, evidence_figure(found.first, standings, order, found.ci_prob)]


def question_of(found: Evidence) -> str:
    """Question of the choice, with the uses that the measures at hand answer for."""
    has_brier = "brier" in found.draws
    uses, last = ("for ", AS_PROBABILITY) if has_brier else ("or for ", "")
    return CHOICE.format(over=found.over, uses=uses, last=last)


def matrices(found: Evidence) -> list[Block]:
    """Levels by strata, or by measures where there is one stratum."""
    order = ordered_levels(found.first, found.measures[1])
    rest = [x for one in found.strata for x in one.levels if x not in order]
    order += list(dict.fromkeys(rest))
    said = "Click on the head of a column to sort by it."
    if len(found.strata) == 1:
        card = score_card(
            found.first, found.standing(found.first), order, found.over, found.ci_prob
        )
        return [Prose("All measures", (said,)), card]
    return [
        Prose(f"Every {found.over} in every set", (said,)),
        *(
            level_matrix(
                found.strata,
                found.standings,
                one,
                order,
                found.over,
                ci_prob=found.ci_prob,
                is_folded=place > 1,
            )
            for place, one in enumerate(found.measures)
        ),
    ]


def drawings(
    found: Evidence, trials: pd.DataFrame, plain: Mapping[str, Any], bins: int
) -> list[Block]:
    """Reliability diagrams, where confidence is a probability, and risk–coverage curves."""
    order = ordered_levels(found.first, found.measures[1])
    order += [x for one in found.single for x in one.levels if x not in order]
    cells = cells_of_strata(found)
    curves = with_levels(selective_prediction(trials, **plain), found)
    # Cells without any confidence have no curves.
    known = set(curves["cell"].values.tolist())
    cells = {name: [one for one in own if one in known] for name, own in cells.items()}
    blocks: list[Block] = []
    if "brier" in found.draws:
        calibrated = with_levels(calibration(trials, bins=bins, **plain), found)
        blocks += reliability_blocks(calibrated, cells, order, found.over)
    strong = [one.best for one in found.standing(found.first) if one.best]
    return [*blocks, *coverage_blocks(curves, cells, order, found.over, strong)]


def with_levels(values: xr.Dataset, found: Evidence) -> xr.Dataset:
    """Values of cells with the level that each has of what is compared."""
    levels = dict(zip(found.draws["cell"].values, found.draws[found.over].values, strict=True))
    own = [levels[cell] for cell in values["cell"].values]
    return values.assign_coords({found.over: ("cell", own)})


def drawn_units(draws: xr.Dataset) -> str:
    """What the draws are of, in words."""
    unit = draws.attrs["cluster"] or "answer"
    return (
        f"{draws.attrs['n']:,} draws of {unit}s"
        if unit == "answer"
        else (f"{draws.attrs['n']:,} draws by {unit}")
    )


def facts(found: Evidence) -> tuple[tuple[str, str], ...]:
    """Numbers of the data, for the head of the page."""
    sizes: Sequence[tuple[str, str]] = [
        ("Answers", f"{int(found.estimates['trials'].sum()):,}"),
        *((name.replace("_", " ").capitalize(), f"{len(set(found.draws[name].values.tolist())):,}")
          for name in compared_columns(found.draws)),
    ]  # fmt: skip
    return (*sizes, ("Draws", f"{found.draws.attrs['n']:,}"), ("hmetad", version("hmetad")))
