"""The report of trials with confidence as it is: which model to choose, and how sure that is.

DataFrame of trials → Report.
"""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import ChoiceError, SourceError, nearest
from hmetad.base.notice import notices
from hmetad.base.notice_registry import short_words
from hmetad.compare.cells import coordinates_of_cells
from hmetad.counts.abstained import reasons_of
from hmetad.counts.columns import several_columns, text_columns
from hmetad.counts.items import columns_beside_items
from hmetad.counts.noticed import add_notices
from hmetad.measures.reliability import calibration, selective_prediction
from hmetad.measures.trial_measures import measure_trials, resample_trials
from hmetad.plots import curves, reliability
from hmetad.report.contents.leaderboard import (
    OF_TRIALS,
    Evidence,
    cells_by_stratum,
    evidence_of,
    in_a_row,
    leaderboard,
    meaning_of,
    measure_named,
    over_column,
)
from hmetad.report.contents.tables import notice_block
from hmetad.report.page.blocks import (
    Block,
    Cell,
    Figure,
    Prose,
    Table,
    interval_cell,
)
from hmetad.report.page.report import Report
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.tables import TableLike, rows_of
from hmetad.text.cells import format_cell
from hmetad.text.names import heading, in_percent

# Options of the measures, with those of the report.
OPTIONS = (
    *("by", "correct", "confidence", "missing", "cluster", "n", "kind", "bins", "ci_prob", "seed"),
    *("at_coverage", "tolerance", "abstained", "forced_correct", "penalty"),
)
OF_COLUMNS = ("correct", "confidence", "abstained", "forced_correct")
CHOICE = (
    "Which {over} should be chosen? It depends on the use: for right answers, {uses}confidence "
    "that tells right from wrong{last}."
)
AS_PROBABILITY = ", or for confidence that is read as a probability"
SCORES = "Which {over} should answer, if an error costs {penalty} and an abstention nothing?"
ALONE = "How good are the answers, and what does the stated confidence say about them?"
TABLES = {
    "Answers and abstentions": (
        *("coverage", "accuracy", "expected_score", "effective_reliability"),
        *("forced_accuracy", "abstain_accuracy", "abstention_dprime", "abstention_c"),
    ),
    "Right answers, and how well confidence orders them": (
        *("accuracy", "auroc2", "gamma_pairs", "aurc", "selective_accuracy", "tolerated_coverage"),
    ),
    "Confidence as a probability": ("mean_confidence", "overconfidence", "ece", "ece_debiased"),
    "The Brier score and its parts": (
        *("brier", "reliability", "resolution", "uncertainty", "residual"),
    ),
}
# Diagrams of one figure, figures of a page, and curves in colour.
MOST_PANELS, MOST_FIGURES, MOST_CURVES = 20, 8, 8
# Coverages that the words of a curve say.
SAID = (0.5, 0.8, 1.0)
CALIBRATED = (
    "On the dashed line, confidence equals the proportion of correct answers; below it confidence "
    "was too high. Bars are 95 % Wilson intervals; columns at the foot: how often it was stated."
)
WITHHELD = (
    "If only the most confident answers are given (coverage, to the left), what proportion of them "
    "are errors (risk)? Lower is better. AURC is the mean height of a line."
)
SCORED = (
    "A correct answer scores 1, an abstention 0, and an error costs the penalty. Below 0, never "
    "answering scores more. Bands are intervals of single lines."
)
KINDS = {
    "bootstrap": "as many as there were, with replacement (bootstrap)",
    "dirichlet": "with weights of a Dirichlet distribution (Bayesian bootstrap)",
}
PAIRED = (
    "Levels of {unit} were resampled as clusters, for all cells at once: shared ones stay paired."
)
NOT_PAIRED = "Levels of {unit} were drawn whole; no two cells have any of them in common."
SINGLE = "Single answers were drawn in each cell; for several answers to an item, use cluster."
BEST_ONLY = (
    "Best rests on the probability of being the best over the draws, not on the size of a "
    "difference. For sizes, use contrast and decide, or hmetad compare, with a ROPE."
)
AS_IT_IS = "Confidence is taken as it is: no ratings were made. "
NO_PROBABILITY = "Confidence is not from 0 to 1 everywhere: there are no ECE and Brier score."
OF_ECE = (
    "ECE uses {bins} bins of about equal numbers of answers. It is biased upwards, the more the "
    "fewer the answers: its intervals are too high and often miss the true value (with 300 answers "
    "and a true ECE of 0.05, 85 % of 95 % intervals did, and 4 % for the debiased ECE). The best "
    "is chosen by the debiased ECE, if numbers of answers are alike."
)


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
        step = nearest(unknown[0], OPTIONS)
        raise ChoiceError("measures_report", repr(unknown[0]), "an option", step)
    if draws is not None:
        # What `resample` drew of counts says which numbers it held.
        if "cluster" not in draws.attrs or "hold" in draws.attrs:
            raise SourceError("draws", "draws of something else", "what resample_trials returned")
        asked["cluster"] = str(draws.attrs["cluster"]) or None
    frame = columns_in_use(trials, asked)
    found = evidence_of_trials(frame, over, asked, draws)
    plain: dict[str, Any] = {k: asked[k] for k in ("by", "correct", "confidence") if k in asked}
    answered = frame
    if asked.get("abstained") is not None:
        answered = frame[reasons_of(frame[asked["abstained"]]) == ""]
    attrs = found.draws.attrs
    unit, number = attrs["cluster"].replace(", ", " and "), f"{attrs['n']:,}"
    drawn = f"{number} draws by {unit}" if unit else f"{number} draws of answers"
    blocks = [
        *leaderboard(found, [question_of(found)], drawn),
        *scores_by_penalty(found),
        *(
            drawings(found, answered, plain, asked.get("bins", 10))
            if "auroc2" in found.draws
            else []
        ),
        Prose("Numbers with intervals", ()),
        *interval_tables(found),
        Prose("How it was computed", method(found, command)),
        meaning(found),
        *notice_block(found.draws),
    ]
    levels = {
        name.replace("_", " ").capitalize(): f"{len(set(found.draws[name].values.tolist())):,}"
        for name in coordinates_of_cells(found.draws)
    }
    of = "Answers" if found.draws.attrs.get("penalty") is None else "Trials"
    meta = {of: f"{int(found.estimates['trials'].sum()):,}", **levels, "Draws": number}
    penalty = found.draws.attrs.get("penalty")
    meta |= {} if penalty is None else {"Penalty of a wrong answer": f"{penalty:g}"}
    meta["hmetad"] = version("hmetad")
    return Report(title, tuple(blocks), meta=tuple(meta.items()))


def columns_in_use(trials: TableLike, asked: Mapping[str, Any]) -> pd.DataFrame:
    """Trials in memory: the columns that are used or named like items."""
    grouping = text_columns(asked.get("by", ()))
    roles = [asked.get(name, name) for name in ("correct", "confidence")]
    roles += [column for name in OF_COLUMNS[2:] if (column := asked.get(name)) is not None]
    rows = rows_of(trials, text=grouping)
    used = {*grouping, *roles, *several_columns(asked.get("cluster"), rows.columns)}
    rows = rows.spelled(used)
    items = [name for name in rows.columns if is_item_name(name)]
    used |= {*items, *(columns_beside_items(rows, items[0]) if items else [])}
    names = [name for name in rows.columns if name in used]
    frame = rows.frame(names) if names else rows.frame()
    frame.attrs = add_notices(frame.attrs, rows.notices)
    return frame


def evidence_of_trials(
    trials: pd.DataFrame,
    over: str | None,
    asked: Mapping[str, Any],
    draws: xr.Dataset | None = None,
) -> Evidence:
    """Estimates, draws and standings of trials; draws are made where none are given."""
    ci_prob = asked.get("ci_prob", 0.95)
    named = ("by", *OF_COLUMNS, "missing", "bins", "at_coverage", "tolerance", "penalty")
    shared = {k: asked[k] for k in named if k in asked} | {"over": over}
    if draws is None:
        options = {k: asked[k] for k in ("cluster", "n", "kind", "seed") if k in asked}
        draws = resample_trials(trials, **shared, **options)
    cluster = str(draws.attrs["cluster"]) or None
    estimates = measure_trials(trials, cluster=cluster, ci_prob=ci_prob, **shared)
    if not np.array_equal(draws["cell"], estimates["cell"]):
        raise SourceError("draws", "other cells than trials", "what resample_trials gave for them")
    if not coordinates_of_cells(draws):
        draws, estimates = (one.assign_coords(all=("cell", ["all"])) for one in (draws, estimates))
    measures = [measure_named(name, "measure_trials") for name in OF_TRIALS if name in draws]
    over = over_column(draws, over)
    withheld = reasons_withheld(draws, over)
    return evidence_of(estimates, draws, over, ci_prob, measures, withheld)


def reasons_withheld(draws: xr.Dataset, over: str) -> dict[str, str]:
    """Why strata have no verdict, by name; that of their mean has no name."""
    reasons: dict[str, str] = {}
    for notice in notices(draws):
        for name, cells in cells_by_stratum(draws, over).items():
            if notice.severity == "error" and (not notice.cells or {*notice.cells} & {*cells}):
                reasons |= {name: short_words(notice.code), "": short_words(notice.code)}
    return reasons


def question_of(found: Evidence) -> str:
    """Question of the choice, with the uses that the measures at hand answer for."""
    if len(found.first.levels) < 2:
        return ALONE
    if "auroc2" not in found.draws:
        penalty = f"{found.draws.attrs['penalty']:g}"
        return SCORES.format(over=found.over, penalty=penalty)
    uses, last = ("for ", AS_PROBABILITY) if "brier" in found.draws else ("or for ", "")
    return CHOICE.format(over=found.over, uses=uses, last=last)


def scores_by_penalty(found: Evidence) -> list[Block]:
    """Which level scores most at which penalty, in words and as a figure for each stratum."""
    if "expected_score" not in found.draws:
        return []
    paragraphs, figures = [SCORED], list[Block]()
    names = ["coverage", "effective_reliability"]
    for stratum in found.single[:MOST_FIGURES]:
        draws = xr.Dataset(
            {name: (("cell", "draw"), stratum.draws[name]) for name in names},
            {"cell": [*stratum.levels]},
        )
        covered, reliable = (stratum.estimates[name] for name in names)
        best = best_by_penalty((covered + reliable) / 2, (covered - reliable) / 2, stratum.levels)
        where = f", {stratum.name}" if stratum.name else ""
        caption = f"Expected score by the penalty of a wrong answer{where}."
        paragraphs.append(f"{stratum.name}: {best}" if stratum.name else best)
        told = [level for level in found.order if level in stratum.levels][:MOST_CURVES]
        penalty = float(found.draws.attrs["penalty"])
        if (stratum.estimates["expected_score"] < 0).all():
            paragraphs[-1] += " At the given penalty all scores are below 0: none should answer."
        drawn = curves.expected_score(draws, penalty=penalty, strong=told, ci_prob=found.ci_prob)
        figures.append(Figure(caption, f"{caption} {best}", drawn.figure, "expected-score"))
    return [Prose("Score by penalty", tuple(paragraphs)), *figures]


def best_by_penalty(right: NDArray[Any], wrong: NDArray[Any], levels: Sequence[str]) -> str:
    """Sentences that name the level with the highest estimate at each penalty from 0.

    Examples
    --------
    >>> best_by_penalty(np.array([0.7, 0.6]), np.array([0.3, 0.1]), ["a", "b"])
    'By the estimates a scores most up to a penalty of 0.5, then b up to 6, then not answering.'
    """
    right, wrong, named = np.append(right, 0.0), np.append(wrong, 0.0), [*levels, "not answering"]
    at, place, parts = 0.0, int(np.lexsort((wrong, -right))[0]), []
    while True:
        less = wrong < wrong[place]
        if not less.any():
            parts.append(named[place])
            break
        meets = np.full(len(right), np.inf)
        meets[less] = (right[place] - right[less]) / (wrong[place] - wrong[less])
        # Of those that meet at once the one that falls least goes on.
        at, before = meets.min(), place
        place = int(np.lexsort((wrong, meets))[0])
        words = "a penalty of " if not parts else ""
        parts.append(f"{named[before]} up to {words}{at:.2g}")
    first, *rest = parts
    first = first.replace(" up to", " scores most up to") if rest else f"{first} scores most"
    said = "".join(f", then {part}" for part in rest)
    return f"By the estimates {first}{said}" + ("." if rest else " at every penalty.")


def drawings(
    found: Evidence, trials: pd.DataFrame, plain: Mapping[str, Any], bins: int
) -> list[Block]:
    """Reliability diagrams, where confidence is a probability, and risk–coverage curves."""
    levels = dict(zip(found.draws["cell"].values, found.draws[found.over].values, strict=True))
    curves = selective_prediction(trials, **plain)
    # Cells without any confidence have no curves.
    known = set(curves["cell"].values.tolist())
    cells = {name: [one for one in own if one in known] for name, own in found.cells.items()}
    rest = list(cells)[MOST_FIGURES:]
    without = [Prose("", (f"Without a figure here: {in_a_row(rest)}.",))] if rest else []

    def by_level(values: xr.Dataset, own: Sequence[str]) -> xr.Dataset:
        """Cells of a stratum named by their level, in order."""
        places = {str(levels[cell]): cell for cell in own}
        named = [level for level in found.order if level in places]
        return values.sel(cell=[places[x] for x in named]).assign_coords(cell=named)

    blocks: list[Block] = []
    if "brier" in found.draws:
        calibrated = calibration(trials, bins=bins, **plain)
        blocks.append(Prose("Calibration", (CALIBRATED,)))
        for name, own in [*cells.items()][:MOST_FIGURES]:
            blocks.append(reliability_figure(by_level(calibrated, own), name, len(own)))
        blocks += without
    strong = [one.best for one in found.standing(found.first) if one.best]
    blocks.append(Prose("Answers withheld", (WITHHELD,)))
    for name, own in [*cells.items()][:MOST_FIGURES]:
        shown = by_level(curves, own)
        there = shown["cell"].values.tolist()
        told = [level for level in dict.fromkeys([*strong, *found.order]) if level in there]
        blocks.append(coverage_figure(shown, name, told[:MOST_CURVES]))
    return [*blocks, *without]


def reliability_figure(own: xr.Dataset, name: str, cells: int) -> Figure:
    """Small diagrams of the cells of a stratum, the first few of many."""
    shown = own.isel(cell=slice(MOST_PANELS))
    drawn = min(cells, MOST_PANELS)
    cut = f"; the first {drawn} of {cells} by AUROC2" if drawn < cells else ""
    caption = f"Share right at each stated confidence{f', {name}' if name else ''}{cut}."
    numbers = zip(*(shown[x].values for x in ("cell", "mean_confidence", "accuracy")), strict=True)
    distance = "; ".join(
        f"{cell}: mean confidence {format_cell(float(p))}, right {format_cell(float(o))}"
        for cell, p, o in numbers
    )
    figure = reliability.calibration_panels(shown)[0].figure
    return Figure(caption, f"{caption} {distance}.", figure, "reliability")


def coverage_figure(own: xr.Dataset, name: str, strong: Sequence[str]) -> Figure:
    """Curves of the cells of a stratum, with risks at some coverages in words."""
    risk = 1 - own["selective_accuracy"].sel(coverage=list(SAID), method="nearest")
    rows = zip(own["cell"].values, np.asarray(risk.transpose("cell", "coverage")), strict=True)
    parts = [
        f"{cell}: "
        + ", ".join(f"{format_cell(float(x))} at {at:g}" for x, at in zip(row, SAID, strict=True))
        for cell, row in rows
    ]
    where = f", {name}" if name else ""
    caption = f"Share wrong of the answers that are given, by coverage{where}."
    figure = curves.risk_coverage(own, strong=strong).figure
    return Figure(caption, f"{caption} Share wrong: {'; '.join(parts)}.", figure, "risk-coverage")


def interval_tables(found: Evidence) -> list[Block]:
    """Every number with its interval, a row per level of each stratum."""
    blocks: list[Block] = []
    several = len(found.single) > 1
    for caption, names in TABLES.items():
        # Accuracy stands in one table: the first with abstentions, else the next.
        if "coverage" in names and "coverage" not in found.draws:
            continue
        done = {"accuracy"} if "coverage" in found.draws and "coverage" not in names else set[str]()
        shown = {
            x: heading(x, "measure_trials") for x in names if x in found.draws and x not in done
        }
        if not shown:
            continue
        rows: list[tuple[Cell, ...]] = []
        for stratum in found.single:
            values = [stratum.interval(name, found.ci_prob) for name in shown]
            for place, level in enumerate(stratum.levels):
                own = (level, *([stratum.name] if several else []))
                rows.append((*own, *(interval_cell(one[:, place]) for one in values)))
        columns = (
            found.over[:1].upper() + found.over[1:],
            *(["Set"] if several else []),
            *shown.values(),
        )
        note = f"{in_percent(found.ci_prob)} equal-tailed intervals of the draws."
        if "expected_score" in shown:
            note += f" A wrong answer costs {found.draws.attrs['penalty']:g} in the expected score."
        if "ece" in shown:
            bins = found.estimates.attrs["bins"]
            note += f" ECE: {bins} bins of about equal numbers of answers."
        stems = tuple((title, name) for name, title in shown.items())
        blocks.append(Table(f"{caption}.", columns, tuple(rows), note, names[0], stems=stems))
    return blocks


def method(found: Evidence, command: str) -> tuple[str, ...]:
    """How the numbers were made, in sentences."""
    attrs, unit = found.draws.attrs, found.draws.attrs["cluster"].replace(", ", " and ")
    has_ece = "ece" in found.draws
    are_apart = any(one.code == "different-items" for one in notices(found.draws))
    how = PAIRED if "coverage" in attrs or not are_apart else NOT_PAIRED
    said = OF_ECE.format(bins=found.estimates.attrs["bins"]) if has_ece else NO_PROBABILITY
    said = said if "auroc2" in found.draws else ""
    return (
        f"{AS_IT_IS if 'auroc2' in found.draws else ''}All measures were computed again in "
        f"each of {attrs['n']:,} draws of the data, {KINDS[attrs['kind']]}, seed {attrs['seed']}. "
        f"{how.format(unit=unit) if unit else SINGLE}",
        "Accuracy, as all measures here, is that of answers with a confidence."
        if "expected_score" not in found.draws
        else "Accuracy is that of the trials that were answered; coverage and scores are of all.",
        f"Intervals are the quantiles of the draws. {said}".strip(),
        BEST_ONLY,
        *([f"To run it again: {command}"] if command else []),
    )


def meaning(found: Evidence) -> Block:
    """What each measure is."""
    names = [x for x in dict.fromkeys(chain(*TABLES.values())) if x in found.draws]
    named = {heading(name, "measure_trials"): found.draws[name] for name in names}
    return meaning_of(named, "What the measures mean.")
