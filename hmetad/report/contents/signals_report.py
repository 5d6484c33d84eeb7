"""The report of signals: which number is the confidence of the same answers.

Intervals and draws of `compare_signals` → Report.
"""

from collections.abc import Sequence
from importlib.metadata import version

import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import InputError
from hmetad.plots.intervals import describe_intervals, interval_panels
from hmetad.report.contents.chosen import answer_prose, answer_table, capital
from hmetad.report.contents.estimates import estimate_table
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

QUESTION = (
    "The same answers, with different numbers as their confidence: which of the numbers tells "
    "right answers from wrong ones best?"
)
READING = (
    "AUROC2 is the probability that, of a right and a wrong answer, the right one has the larger "
    "signal, which is taken as it is. M-ratio says how much of what the answers show of the right "
    "option the signal shows too, by ratings that are quantiles: 1 is what the lead of the same "
    "evidence would have."
)
PAIRED = (
    "Each draw has the same items for all signals, so that a difference is more certain than its "
    "two sides: read these intervals, not whether those above overlap."
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
    measures = [measure_named(name) for name in COMPARED if name in draws]
    estimates = intervals.sel(summary="estimate", drop=True)
    found = evidence_of(estimates, draws, SIGNAL, ci_prob, measures)
    number, unit = f"{draws.sizes['draw']:,}", draws.attrs["cluster"].replace(", ", " and ")
    frame = estimate_table(intervals)
    within = [name for name in compared_columns(draws) if name != SIGNAL]
    differences = signal_differences(intervals, draws, ci_prob=ci_prob)
    again = [f"Seed: {draws.attrs['seed']}.", *([f"To run it again: {command}"] * bool(command))]
    blocks: tuple[Block, ...] = (
        Prose("Question", (QUESTION,)),
        *early_notices(draws),
        answer_prose(found, f"{number} draws by {unit}"),
        answer_table(found),
        Prose("Every signal", (READING,)),
        signal_figure(frame, within, found),
        table_of(frame, (*within, SIGNAL), found, "AUROC2 and M-ratio of every signal."),
        Prose("Differences", (PAIRED,)),
        table_of(differences, (*within, "left", "right"), found, "Left − right."),
        *notice_block(draws),
        Prose("How to make this page again", tuple(again)),
    )
    meta = (("Cells", f"{len(frame):,}"), ("Draws", number), ("hmetad", version("hmetad")))
    return Report(title, blocks, meta=meta)


def signal_figure(frame: pd.DataFrame, within: Sequence[str], found: Evidence) -> Figure:
    """AUROC2 and M of every cell, a colour and a marker for each signal."""
    cells = frame[[*within]].astype(str).agg(" | ".join, axis=1) if within else "all"
    parts = [
        frame.assign(cells=cells, panel=one.heading, axis=one.axis).rename(
            columns={one.name: "mean", f"{one.name}_lower": "lower", f"{one.name}_upper": "upper"}
        )
        for one in found.measures
    ]
    table = pd.concat(parts, ignore_index=True)
    drawn = interval_panels(
        table, rows="cells", panels="panel", hue=SIGNAL, xlabel="axis", columns=2
    )
    caption = f"Every signal with {in_percent(found.ci_prob)} intervals."
    alt = describe_intervals(table, label="cell", group="panel", quantity=caption[:-1], most=60)
    return Figure(caption, alt, drawn[0].figure, "signals")


def table_of(frame: pd.DataFrame, firsts: Sequence[str], found: Evidence, caption: str) -> Table:
    """Rows of a frame: their names, and every measure with its interval."""
    ends = ("", "_lower", "_upper")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            *(str(row[name]) for name in firsts),
            *(interval_cell([row[f"{one.name}{x}"] for x in ends]) for one in found.measures),
        )
        for row in frame.to_dict("records")
    )
    columns = (*map(capital, firsts), *(one.heading for one in found.measures))
    note = f"{in_percent(found.ci_prob)} equal-tailed intervals of the draws."
    stems = tuple((one.heading, one.name) for one in found.measures)
    return Table(caption, columns, rows, note, f"by-{firsts[-1]}", stems=stems)
