"""The report of measures: which model is best, the numbers, and what each of them means.

Trials, or a count table and Dataset of measures → Report.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ConflictError, KindError, SourceError
from hmetad.base.notice import Notice, with_notices
from hmetad.base.results import results
from hmetad.compare.cells import coordinates_of_cells
from hmetad.counts.abstained import abstentions_of
from hmetad.counts.checks import refuse_no_counts
from hmetad.mle.measure import measure
from hmetad.plots import curves
from hmetad.plots.curves import MOST_CELLS
from hmetad.report.contents.estimates import estimate_table
from hmetad.report.contents.leaderboard import (
    OF_COUNTS,
    evidence_of,
    leaderboard,
    meaning_of,
    measure_named,
    over_column,
)
from hmetad.report.contents.tables import notice_block
from hmetad.report.contents.trials_report import trials_report
from hmetad.report.page.blocks import Block, Figure, Prose, table_from_frame
from hmetad.report.page.report import Report
from hmetad.rows.tables import TableLike
from hmetad.text.names import heading, in_percent

QUESTION = (
    "Which {over} has the better answers, and the better confidence? Ratios such as M-ratio judge "
    "confidence relative to the answers: a {over} with poor answers can have a high one, and at "
    "chance it has no meaning."
)
NO_STIMULUS = (
    "There is no stimulus in these data: each trial is right or wrong, with a confidence. d′, "
    "meta-d′ and M-ratio do not exist for them; what stands here needs none."
)


@check_inputs(skip=("counts", "measures"))
def measures_report(
    counts: TableLike | xr.DataArray,
    measures: xr.Dataset | None = None,
    *,
    draws: xr.Dataset | None = None,
    over: str | None = None,
    notices: Sequence[Notice] = (),
    title: str = "Measures",
    command: str = "",
    **asked: Any,
) -> Report:
    """Report of measures, from trials with unbinned confidence or from counts of ratings.

    For trials, and for counts with draws, the first screen shows which level of `over`, such as
    which model, is best by each measure, with its probability. A level is called best if this
    probability is at least `ci_prob`; if there is none, the undistinguished levels are named. A
    level with d′ ≤ 0 has no rank by M-ratio, and a level with AUROC2 ≤ 0.5 is not called best.

    Parameters
    ----------
    counts : DataFrame, path or other table, or DataArray
        Trials, one row each, with correctness and unbinned confidence; or a count table or type-2
        table with dim cell.
    measures : Dataset, optional
        For counts: the result of `measure`, optionally with `fit_mle`'s meta_d and m_ratio, or the
        result of `resample_interval`; by default `measure`. For trials they are computed here.
    draws : Dataset, optional
        For counts: the result of `resample` for the same measures. For trials: the result of
        `resample_trials`; by default computed here.
    over : str, optional
        Grouping column whose levels are compared; by default the first.
    notices : sequence of Notice, optional
        Notices to show next to those of the measures.
    title : str, optional
        Of the page.
    command : str, optional
        Command line that reproduces the report.
    **asked
        For trials only: by, correct, confidence, missing, cluster, n, kind, bins and seed, as for
        `resample_trials`, and ci_prob.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If `measures` are not measures of counts, have other cells than `counts`, or are given with
        trials; if `over` is not a grouping column; or as `resample_trials`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> trials = pd.DataFrame({"confidence": rng.uniform(0.5, 1, 600), "model": ["a", "b"] * 300})
    >>> trials["correct"] = rng.uniform(size=600) < trials["confidence"]
    >>> page = measures_report(trials, by="model", n=500, seed=1)
    >>> [block.heading for block in page.blocks if isinstance(block, Prose)][:4]
    ['Question', 'Answer', 'Calibration', 'Answers withheld']
    """
    if not isinstance(counts, xr.DataArray):
        if measures is not None:
            raise ConflictError(
                "measures", "trials", next_step="They are made here: omit measures."
            )
        titled: dict[str, Any] = {"over": over, "title": title, "command": command}
        report = trials_report(counts, draws=draws, **titled, **asked)
        return replace(report, blocks=(*report.blocks, *alerts(notices)))
    if asked:
        step = "Options of resampling belong to resample, or to trials."
        raise ConflictError(next(iter(asked)), "a count table", next_step=step)
    return counts_report(counts, measures, draws, over, notices, title, command)


def counts_report(
    counts: xr.DataArray,
    measures: xr.Dataset | None,
    draws: xr.Dataset | None,
    over: str | None,
    found: Sequence[Notice],
    title: str,
    command: str,
) -> Report:
    """Report of counts of ratings."""
    refuse_no_counts(counts)
    measures = checked_measures(measure(counts) if measures is None else measures, counts)
    frame = estimate_table(measures).assign(trials=trials_of(counts))
    blocks: list[Block] = [
        *chosen_by(measures, draws, over, found),
        *figures(counts, measures),
        Prose("Measures", tuple(remarks(counts, measures))),
        *tables(frame),
        *notice_block(with_notices(measures, found)),
        Prose("What the numbers mean", tuple([f"To run it again: {command}"] if command else [])),
        meaning_table(measures),
    ]
    meta = (
        ("Trials", f"{int(trials_of(counts).sum()):,}"),
        ("Cells", f"{counts.sizes['cell']:,}"),
        ("hmetad", version("hmetad")),
    )
    return Report(title, tuple(blocks), meta=meta)


def checked_measures(measures: object, counts: xr.DataArray) -> xr.Dataset:
    """Measures, if they are those of the counts."""
    allowed = "a Dataset of measure, with auroc2 and dim cell"
    if not isinstance(measures, xr.Dataset):
        raise KindError("measures", type(measures).__name__, allowed)
    if "auroc2" not in measures or "cell" not in measures.dims or "cell" not in measures.coords:
        step = "Of trials, measures_report(trials, by=...) has calibration and risk beside AUROC2."
        got = f"variables {', '.join(map(str, measures.data_vars))}"
        raise SourceError("measures", got, allowed, step)
    if not np.array_equal(measures["cell"], counts["cell"]):
        raise SourceError("measures", "other cells than counts", "the measures of these counts")
    return measures


def chosen_by(
    measures: xr.Dataset, draws: xr.Dataset | None, over: str | None, found: Sequence[Notice]
) -> list[Block]:
    """Which level is best, where there are draws of several."""
    if draws is None:
        return []
    if "draw" not in draws.dims or not np.array_equal(measures["cell"], draws.get("cell", [])):
        allowed = "what resample gave for these measures"
        raise SourceError("draws", "other cells than measures", allowed)
    if over is not None or coordinates_of_cells(draws):
        over = over_column(draws, over)
    if over is None or "auroc2" not in draws:
        return []
    estimates, ci_prob = at_estimate(measures), float(measures.attrs.get("ci_prob", 0.95))
    measured = [measure_named(x) for x in OF_COUNTS if x in draws and x in estimates]
    evidence = evidence_of(estimates, draws, over, ci_prob, measured)
    if max(len(one.levels) for one in evidence.strata) < 2:
        return []
    unit = (draws.attrs.get("cluster") or "trial").replace(", ", " and ")
    kind = draws.attrs.get("kind", "")
    drawn = f"{draws.sizes['draw']:,} {kind} draws by {unit}"
    return leaderboard(evidence, [QUESTION.format(over=over)], drawn, found)


def alerts(found: Sequence[Notice]) -> tuple[Block, ...]:
    """Notices that are not those of a result."""
    return notice_block(with_notices(xr.Dataset(), found), "Other notices")


def trials_of(counts: xr.DataArray) -> np.ndarray:
    """Trials of each cell, those that were abstained from too."""
    answered = counts.sum([dim for dim in counts.dims if dim != "cell"]).to_numpy().astype(int)
    silent = abstentions_of(counts)
    return answered if silent is None else answered + silent.to_numpy()


def remarks(counts: xr.DataArray, measures: xr.Dataset) -> list[str]:
    """Remarks before the tables: no stimulus, and the kind of intervals."""
    said = [] if "stimulus" in counts.dims or "dprime" in measures else [NO_STIMULUS]
    if "summary" in measures.dims:
        level = in_percent(measures.attrs["ci_prob"])
        kind, draws = measures.attrs["kind"], measures.attrs["n"]
        said.append(f"Intervals: {level}, {kind} of {draws:,} draws, {measures.attrs['method']}.")
    if "correction" in measures.attrs:
        said.append(f"Correction of empty counts: {measures.attrs['correction']}.")
    return said


def tables(frame: pd.DataFrame) -> list[Block]:
    """Tables of the measures that are read together, under the titles of the table of results."""
    found: dict[str, dict[str, str]] = {}
    for result in results():
        if not result.page or result.name not in frame:
            continue
        columns = found.setdefault(result.title, {"cell": "Cell", "trials": "Trials"})
        columns[result.name] = heading(result.name)
        # Intervals of all would make the table too wide; those are in the CSV beside it.
        if result.page == "interval":
            sides = [side for side in ("lower", "upper") if f"{result.name}_{side}" in frame]
            columns |= {f"{result.name}_{side}": side for side in sides}
    return [
        table_from_frame(frame, f"{title}.", columns=columns, name=list(columns)[2])
        for title, columns in found.items()
    ]


def figures(counts: xr.DataArray, measures: xr.Dataset) -> list[Block]:
    """ROC curves and the information plane, where cells are few enough to be told apart."""
    if counts.sizes["cell"] > MOST_CELLS:
        return []
    areas = at_estimate(measures["auroc2"]).to_numpy()
    cells = counts["cell"].to_numpy()
    said = "; ".join(f"{cell} {area:.3f}" for cell, area in zip(cells, areas, strict=True))
    drawn = [("Type-2 ROC of every cell.", curves.type2_roc(counts), "type2-roc")]
    if "stimulus" in counts.dims:
        drawn.append(
            ("ROC of response and rating together.", curves.type1_roc(counts), "type1-roc")
        )
        if {"info", "accuracy"} <= set(measures.data_vars):
            plane = curves.information_plane(at_estimate(measures[["info", "accuracy"]]))
            drawn.append(("Information over accuracy, between its bounds.", plane, "plane"))
    alt = f"Area under the type-2 ROC: {said}."
    return [
        Prose("Curves", ()),
        *(Figure(caption, f"{caption} {alt}", ax.figure, name) for caption, ax, name in drawn),
    ]


def at_estimate[Labelled: (xr.DataArray, xr.Dataset)](values: Labelled) -> Labelled:
    """Estimates alone, where there are intervals beside."""
    return values.sel(summary="estimate", drop=True) if "summary" in values.dims else values


def meaning_table(measures: xr.Dataset) -> Block:
    """Name, meaning, units and source of every measure."""
    named = {str(name): values for name, values in measures.data_vars.items()}
    return meaning_of(named, "Every measure of the table.")
