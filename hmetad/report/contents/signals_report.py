"""The report of signals: which number is the confidence of the same answers.

Intervals and draws of `compare_signals` → Report.
"""

from collections.abc import Sequence
from importlib.metadata import version

import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs
from hmetad.errors import InputError
from hmetad.plots.intervals import describe_intervals, interval_panels
from hmetad.report.contents.chosen import answer_prose, answer_table, capital
from hmetad.report.contents.standings import (
    Evidence,
    compared_columns,
    evidence_of,
    measure_named,
)
from hmetad.report.contents.tables import early_notices, notice_block
from hmetad.report.page.blocks import Block, Cell, Figure, Prose, Table, interval_cell
from hmetad.report.page.report import Report
from hmetad.select.signals import COMPARED, SIGNAL, signal_differences
from hmetad.text.names import in_percent

__all__ = ["signals_report"]

SECTIONS = {"auroc2": "measure_trials"}
QUESTION = (
    "The same answers, with different numbers as their confidence: which of the numbers tells "
    "right answers from wrong ones best, by their order (AUROC2) and beside what d′ allows (M)?"
)
ORDER_ONLY = (
    "The same answers, with different numbers as their confidence: which of the numbers tells "
    "right answers from wrong ones best, by their order (AUROC2)?"
)
READING = (
    "Read AUROC2 as the probability that a right answer has the larger signal of a right and a "
    "wrong one; it takes the signal as it is."
)
READING_M = (
    "Read M as the share of the information in the answers that the signal has too: 1 is what the "
    "lead of the same evidence would have, of ratings by quantiles ({ratings} at most)."
)
PAIRED = (
    "Draw by draw, {unit} were drawn whole, the same for all signals and cells, so that a "
    "difference is far more certain than its two sides: read the table of differences, not whether "
    "intervals overlap."
)
NOT_CAUSE = (
    "Two signals that differ little order nearly the same answers alike. With two options all "
    "signals of one distribution have one order, and nothing is to be chosen."
)


@check_inputs()
def signals_report(
    intervals: xr.Dataset,
    draws: xr.Dataset,
    *,
    ci_prob: float = 0.95,
    title: str = "Signals of confidence",
    command: str = "",
) -> Report:
    """Report of signals of confidence: which is best, every cell, and paired differences.

    Parameters
    ----------
    intervals, draws : Dataset
        What `hmetad.select.compare_signals` returned.
    ci_prob : float, optional
        Probability of the intervals, and from which a signal is called best.
    title : str, optional
        Of the page.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If they are no results of `compare_signals`.

    Examples
    --------
    >>> import numpy as np
    >>> from hmetad.select import compare_signals
    >>> rng = np.random.default_rng(1)
    >>> trials = pd.DataFrame({"a": rng.uniform(size=400), "item": range(400)})
    >>> trials["correct"] = rng.uniform(size=400) < trials["a"]
    >>> trials["b"] = trials["a"] + rng.normal(size=400)
    >>> results = compare_signals(trials, signals=["a", "b"], options=None, n=200, seed=1)
    >>> page = signals_report(*results)
    >>> [block.heading for block in page.blocks if isinstance(block, Prose)][:2]
    ['Question', 'Answer']
    """
    if SIGNAL not in draws.coords or "summary" not in intervals.dims:
        raise InputError("draws", "none with a coordinate signal", "those of compare_signals")
    names = [name for name in COMPARED if name in draws]
    measures = [measure_named(name, SECTIONS.get(name, "")) for name in names]
    estimates = intervals.sel(summary="estimate", drop=True)
    found = evidence_of(estimates, draws, SIGNAL, ci_prob, measures)
    unit, number = str(draws.attrs["cluster"]), f"{draws.sizes['draw']:,}"
    with_m = "m_ratio" in names
    reading = [READING, *([READING_M.format(ratings=draws.attrs["ratings"])] if with_m else [])]
    how = [PAIRED.format(unit=f"levels of {unit.replace(', ', ' and ')}"), NOT_CAUSE]
    how += [f"Seed {draws.attrs['seed']}.", *([f"To run it again: {command}"] if command else [])]
    blocks: list[Block] = [
        Prose("Question", (QUESTION if with_m else ORDER_ONLY,)),
        *early_notices(draws),
        answer_prose(found, f"{number} draws by {unit}"),
        answer_table(found),
        Prose("Every signal", (" ".join(reading),)),
        signal_figure(found, intervals),
        signal_table(found),
        Prose("Differences", (how[0],)),
        differences_table(found, signal_differences(intervals, draws, ci_prob=ci_prob)),
        Prose("How it was computed", tuple(how[1:])),
        *notice_block(draws),
    ]
    answers = sum(int(estimates["trials"].sel(cell=own[0])) for own in found.cells.values())
    meta = (("Answers", f"{answers:,}"), ("Draws", number), ("hmetad", version("hmetad")))
    return Report(title, tuple(blocks), meta=meta)


def signal_figure(found: Evidence, intervals: xr.Dataset) -> Figure:
    """AUROC2 and M of every cell, a colour and a marker for each signal."""
    rows = []
    for one in found.measures:
        for name, own in found.cells.items():
            part = (
                intervals[one.name]
                .sel(cell=own)
                .to_pandas()
                .assign(signal=draws_levels(found, own))
            )
            rows.append(part.assign(cells=name or "all", measure=one.heading, axis=one.axis))
    table = pd.concat(rows, ignore_index=True).rename(columns={"estimate": "mean"})
    drawn = interval_panels(
        table, rows="cells", panels="measure", hue="signal", xlabel="axis", columns=2
    )
    names = [f"{row.cells}, {row.signal}" for row in table.itertuples()]
    alt = describe_intervals(table.assign(label=names), group="measure", most=60)
    caption = f"Every signal with {in_percent(found.ci_prob)} intervals."
    return Figure(caption, alt, drawn[0].figure, "signals")


def draws_levels(found: Evidence, cells: Sequence[str]) -> list[str]:
    """Signals of some cells."""
    return [str(level) for level in found.draws[SIGNAL].sel(cell=cells).to_numpy()]


def heading_of_sets(found: Evidence) -> list[str]:
    """Heading of the column of cells, where there are several."""
    names = [name for name in compared_columns(found.draws) if name != SIGNAL]
    return [capital(" | ".join(names))] if names else []


def signal_table(found: Evidence) -> Table:
    """Every number with its interval, a row for each cell and signal."""
    set_heading = heading_of_sets(found)
    rows: list[tuple[Cell, ...]] = []
    for stratum in found.strata:
        values = [stratum.interval(one.name, found.ci_prob) for one in found.measures]
        marks = {one.measure.name: one.best for one in found.standing(stratum)}
        for place, level in enumerate(stratum.levels):
            own = (*([stratum.name] if set_heading else []), level)
            cells = (
                interval_cell(x[:, place], mark="best" if marks[one.name] == level else "")
                for x, one in zip(values, found.measures, strict=True)
            )
            rows.append((*own, *cells))
    columns = [*set_heading, capital(SIGNAL), *(x.heading for x in found.measures)]
    stems = tuple((one.heading, one.name) for one in found.measures)
    note = (
        f"{in_percent(found.ci_prob)} equal-tailed intervals of the draws; best: its probability "
    )
    note += "of being the best of the signals reaches the same."
    return Table(
        "AUROC2 and M of every signal.", tuple(columns), tuple(rows), note, "all", stems=stems
    )


def differences_table(found: Evidence, differences: pd.DataFrame) -> Table:
    """Paired differences of signals, a row for each cell and pair."""
    names = [one.name for one in found.measures]
    sides = [f"{name}{end}" for name in names for end in ("", "_lower", "_upper")]
    within = [name for name in differences if name not in (*sides, "left", "right")]
    rows: list[tuple[Cell, ...]] = []
    for row in differences.to_dict("records"):
        own = [" | ".join(str(row[name]) for name in within)] if within else []
        pair = f"{row['left']} − {row['right']}"
        ends = ([row[f"{x}{end}"] for end in ("", "_lower", "_upper")] for x in names)
        rows.append((*own, pair, *map(interval_cell, ends)))
    columns = (*heading_of_sets(found), "Difference", *(x.heading for x in found.measures))
    note = f"{in_percent(found.ci_prob)} equal-tailed intervals of the paired draws."
    stems = tuple((one.heading, one.name) for one in found.measures)
    return Table(
        "Differences between signals.", columns, tuple(rows), note, "differences", stems=stems
    )
