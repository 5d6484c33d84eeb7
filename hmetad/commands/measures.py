"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import ColumnError, OutputError
from hmetad.base.lazy import import_on_call
from hmetad.base.notice import first_few
from hmetad.base.results import results
from hmetad.commands.answer import (
    DATA_FILES,
    REPORTS,
    Answer,
    Listing,
    Output,
    as_seed,
    command_line,
    output_file,
    rows_of,
)
from hmetad.commands.fits import DRAWS_FILE
from hmetad.commands.trials import (
    CellOptions,
    are_numbers,
    cell_heading,
    columns_of,
    count_scanned,
    scan_trials,
)
from hmetad.text.names import column_name, in_percent

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.base.notice import Notice
    from hmetad.counts.columns import Trials
    from hmetad.rows.queries import Rows

answered_rows: Callable[..., Any] = import_on_call("hmetad.counts.abstained", "answered_rows")
unused_notices: Callable[..., Any] = import_on_call("hmetad.counts.abstained", "unused_notices")
MORE = "; all of them by -o table.csv or --json"
# Notices of choices among options that need all trials of a cell.
OF_WHOLE_CELLS = ("letters-uneven", "mixed-items")
# Options about the stimulus and the labels of both columns.
OF_STIMULUS = ("stimulus", "response", "labels", "response_labels", "labels_within")
# Measures of confidence as numbers that a terminal shows.
EXACT = (
    *("trials", "coverage", "accuracy", "expected_score"),
    *("auroc2", "gamma_pairs", "aurc", "brier", "ece_debiased", "ece"),
)


@dataclass(frozen=True, kw_only=True)
class MeasuresOptions(CellOptions):
    """Trials, and what is measured of them.

    Parameters
    ----------
    correct : COLUMN
        Column that is 1 for a correct answer and 0 for an error, for tasks without a stimulus of
        two kinds.
    cluster : COLUMN[,COLUMN]
        Add bootstrap intervals that resample the levels of this column as clusters, such as item or
        subject; set,item if both columns identify an item.
    over : COLUMN
        Column of --by whose levels a report compares. Default: the first of --by.
    common_items : flag
        Use only the items that all compared levels of --over answered.
    missing : RULE
        Trials without an answer: drop excludes them; wrong counts them as errors in accuracy, with
        the items that only another compared level answered.
    abstained : COLUMN
        Column that says which trials were abstained from: 1 or 0, yes or no, or reasons such as
        refused, empty if answered. Adds coverage and expected score.
    forced_correct : COLUMN
        Column that says whether the answer to an abstained trial would have been correct.
    penalty : COST
        What an error costs in the expected score, if a correct answer scores 1 and an abstention
        0. Default: 1.
    meta_d : flag
        Add meta-d′ and M-ratio by maximum likelihood.
    interval : flag
        Add bootstrap intervals.
    draws : N
        Bootstrap draws of each cell.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx. Draws for hmetad compare: .nc, with
        --interval.
    """

    correct: str | None = None
    cluster: str | None = None
    over: str | None = None
    common_items: bool = False
    missing: Literal["drop", "wrong"] = "drop"
    abstained: str | None = None
    forced_correct: str | None = None
    penalty: Annotated[float | None, typer.Option(min=0)] = None
    meta_d: bool = False
    interval: bool = False
    ci_prob: float = 0.95
    draws: Annotated[int, typer.Option(min=10)] = 1000
    output: Output = None

    @property
    def suffix(self) -> str:
        """Kind of the output; empty without one."""
        return self.output.suffix if self.output else ""

    @property
    def resampled(self) -> dict[str, Any]:
        """How trials are drawn again."""
        return {"n": self.draws, "cluster": self.cluster, "seed": self.seed}


@dataclass(frozen=True)
class Request:
    """Options, and the trials that they are about.

    Parameters
    ----------
    options : MeasuresOptions
    trials : Trials
    table : Rows or DataFrame
        All trials, or those of common items.
    is_exact : bool
        Whether confidence is taken as it is.
    """

    options: MeasuresOptions
    trials: "Trials"
    table: "Rows | pd.DataFrame"
    is_exact: bool

    @property
    def compared(self) -> dict[str, Any]:
        """Columns of cells, and the one whose levels are compared."""
        return {"by": self.trials.by, "over": self.options.over}

    @property
    def answered(self) -> dict[str, Any]:
        """Trials that were answered, and the columns without which a trial has no answer."""
        rows = answered_rows(self.table, self.options.abstained)
        return {"trials": rows, "answered": [*self.trials.roles.values()]}

    @property
    def of_abstention(self) -> dict[str, Any]:
        """Columns and costs of abstaining."""
        names = ("abstained", "forced_correct", "penalty")
        return {name: getattr(self.options, name) for name in names}

    @property
    def has_draws(self) -> bool:
        """Whether trials are resampled; a page of confidence as it is says which is best."""
        is_asked = self.options.interval or self.options.cluster is not None
        return is_asked or (self.is_exact and self.options.suffix in REPORTS)


@dataclass(frozen=True)
class Measured:
    """Measures, and what else is made of the same trials.

    Parameters
    ----------
    result : Dataset
    draws : Dataset or None
        Draws of the intervals, where there are some.
    shown : tuple
        What a page is about: trials, or counts and their measures.
    words : dict
        What else a page is told.
    notices : list of Notice
        Beside those of the result.
    """

    result: "xr.Dataset"
    draws: "xr.Dataset | None"
    shown: tuple[Any, ...]
    words: dict[str, Any]
    notices: "Sequence[Notice]" = ()


def measures(options: MeasuresOptions) -> None:
    r"""Compute d′, AUROC2, meta-d′, calibration and other measures of each cell.

    With --correct, numeric confidence is used without binning, unless --ratings, --levels or
    --quantiles is given. Without --correct, confidence is counted as ratings.

    Examples
    --------
    hmetad measures trials.csv --by model,task --meta-d -o measures.csv
    hmetad measures trials.csv --by model --quantiles 4 --interval -o page.html
    hmetad measures answers.csv --by model --correct correct --quantiles 4
    hmetad measures answers.csv --by model --correct correct --quantiles 4 --options 4
    hmetad measures answers.csv --by model,set --correct correct --cluster item -o page.html
    hmetad measures answers.csv --by model --correct correct --interval --cluster item
    hmetad measures answers.csv --by model --correct correct --missing wrong
    hmetad measures answers.csv --by model --abstained refused --penalty 2 --cluster item
    hmetad measures answers.csv --by model,set --correct correct --interval --cluster item \
      --draws 4000 -o draws.nc
    """
    written = output_file(options.output, (*DATA_FILES, *REPORTS, DRAWS_FILE), options.file)
    asked = requested(options)
    options.refuse_idle(**needs_of_options(asked))
    if options.common_items:
        asked = replace(asked, table=common_table(asked))
    if options.suffix == DRAWS_FILE and not asked.has_draws:
        got = f"{str(options.output)!r} without --interval"
        raise OutputError("--output", got, "draws", "Add --interval.")
    measured = measured_exactly(asked) if asked.is_exact else measured_counts(asked)
    answer = measures_answer(asked, measured)
    options.deliver(answer, written, partial(save, asked=asked, measured=measured))


def common_table(asked: Request) -> "pd.DataFrame":
    """Trials of the items that all levels answered, none of which was abstained from."""
    options, over = asked.options, asked.options.over or next(iter(asked.trials.by), None)
    shared = {**asked.compared, **asked.answered, "item": options.cluster}
    table: pd.DataFrame = hmetad.measures.common_items(**shared)
    levels = asked.trials.rows.distinct([str(over)])[0][over].dropna()
    lost = sorted({*map(str, levels)} - {*map(str, table[over])})
    if lost:
        step = "Exclude it, or omit --common-items."
        got = f"{first_few(lost, ', ')} answered nothing"
        raise ColumnError("--common-items", got, "levels that all answered some items", step)
    return table.assign(**({} if options.abstained is None else {options.abstained: 0}))


def requested(options: MeasuresOptions) -> Request:
    """Trials that options are about, not yet read where all are taken."""
    cluster = options.cluster or ""
    if cluster in columns_of(options.by):
        # A cell that is one unit has no spread.
        step = f"Omit {cluster} from --by: --cluster resamples it, for all cells at once."
        got = f"{cluster!r}, which --cluster names too"
        raise ColumnError("--by", got, "columns that --cluster does not name", step)
    named = [x for x in (options.abstained, options.forced_correct) if x is not None]
    others, needs_confidence = [*cluster.split(","), *named], options.abstained is None
    trials = scan_trials(
        options, options.by, options.correct, others=others, needs_confidence=needs_confidence
    )
    unused_notices(trials.rows.columns, options.abstained, options.penalty)
    options = replace(options, correct=trials.roles.get("correct"))
    are_rated = options.quantiles or options.ratings or options.levels
    has_numbers = options.correct is not None and not are_rated
    lacks = "confidence" not in trials.roles
    is_exact = has_numbers and (lacks or are_numbers(trials.rows, options.confidence))
    return Request(options, trials, trials.rows, is_exact)


def needs_of_options(asked: Request) -> dict[str, str]:
    """When options would have an effect; empty for those that have one."""
    options = asked.options
    # Levels that are compared share items, of which trials as they are say the coverage.
    is_compared = asked.is_exact or options.common_items
    is_compared = is_compared or (asked.has_draws and options.suffix in REPORTS)
    of_draws = "" if asked.has_draws else "with --interval"
    of_stimulus = "without --correct" if options.correct is not None else ""
    lacks_d = of_stimulus and not options.options
    counts_all = options.missing == "drop"
    of_forced = "with --abstained, --correct and confidence as numbers"
    exact = "with confidence as numbers and --correct, without --quantiles and --ratings"
    return {
        "missing": "" if asked.is_exact or counts_all else exact,
        "common_items": "" if counts_all else "without --missing wrong",
        "penalty": "without --common-items" if options.common_items else "",
        "forced_correct": "" if asked.is_exact and options.abstained else of_forced,
        "meta_d": "with --options, the number of options, or with a stimulus" if lacks_d else "",
        **dict.fromkeys(OF_STIMULUS, of_stimulus),
        "options": "with ratings: make some by --quantiles 4" if asked.is_exact else "",
        "ci_prob": "" if asked.is_exact else of_draws,
        "over": "" if is_compared else "with a report of intervals, or --common-items",
        **dict.fromkeys(("draws", "seed"), of_draws),
    }


def measured_exactly(asked: Request) -> Measured:
    """Measures of trials whose confidence is taken as it is."""
    options, table = asked.options, asked.table
    shared: dict[str, Any] = {**asked.compared, **asked.trials.roles, "missing": options.missing}
    shared |= asked.of_abstention
    ci_prob, draws = options.ci_prob, None
    if asked.has_draws:
        draws = hmetad.measures.resample_trials(table, **shared, **options.resampled)
        result = hmetad.measures.resample_trials_interval(
            table, **shared, ci_prob=ci_prob, draws=draws
        )
    else:
        result = hmetad.measures.measure_trials(table, **shared, ci_prob=ci_prob)
    return Measured(result, draws, (table,), {**shared, "ci_prob": ci_prob})


def measured_counts(asked: Request) -> Measured:
    """Measures of trials that are counted by rating."""
    options, table, by = asked.options, asked.table, asked.trials.by
    cluster = list[str]()
    if asked.has_draws:
        cluster = hmetad.measures.unit_columns(table, by=by, cluster=options.cluster)
    counts = count_scanned(table, asked.trials, options, [*by, *cluster], options.abstained)
    statistic = partial(
        hmetad.measure,
        meta_d=options.meta_d or bool(options.options),
        # With intervals they need no errors.
        errors=not asked.has_draws,
        penalty=options.penalty,
    )
    # Of units drawn whole the counts are those of all of them.
    pooled = counts if not cluster else hmetad.counts.clusters_of(counts, cluster).pooled
    draws, found = None, []
    if asked.has_draws:
        draws = hmetad.resample(counts, statistic, **options.resampled | {"cluster": cluster})
        measured = hmetad.resample_interval(counts, statistic, ci_prob=options.ci_prob, draws=draws)
        units = options.cluster or cluster or None
        found = hmetad.measures.repeated_items(table, by=by, cluster=units)
        if options.options and cluster:
            # Cells of single items cannot show what those of all items do.
            pooled_table = count_scanned(table, asked.trials, options, by, options.abstained)
            found += [one for one in hmetad.notices(pooled_table) if one.code in OF_WHOLE_CELLS]
    else:
        measured = statistic(pooled)
    found = [*found, *unequal_items(asked)]
    words = {"over": options.over, "notices": found}
    return Measured(measured, draws, (pooled, measured), words, found)


def unequal_items(asked: Request) -> "list[Notice]":
    """Notice of levels with other items than those that they stand beside, unless draws say it."""
    options = asked.options
    if options.cluster is not None and asked.has_draws:
        return []
    found = hmetad.measures.unequal_answers(**asked.answered, **asked.compared)
    # People need not have equal numbers of trials.
    is_judged = options.correct is not None
    return [one for one in found if is_judged or "no column" not in one.message]


def measures_answer(asked: Request, measured: Measured) -> Answer:
    """Measures as an answer: a row for each cell, and how intervals were made."""
    options = asked.options
    rows = rows_of(hmetad.report.estimate_table(measured.result))
    shown = {name: title for name, title in columns(asked.is_exact).items() if name in rows[0]}
    shown["cell"] = cell_heading(options.by, options.options)
    title = "Measures"
    if "from" in shown.values():
        title += f"; from, to: {in_percent(options.ci_prob)} interval"
    if "ece" in shown:
        title += f"; ECE: {measured.result.attrs.get('bins')} bins of equal numbers"
    listings = (Listing(rows, shown, title, MORE),)
    said = [*hmetad.notices(measured.result), *measured.notices]
    how = {"method": "percentile", "ci_prob": options.ci_prob, "draws": options.draws}
    more = {"intervals": how} if asked.has_draws else {}
    return Answer(listings, said, as_seed(measured.result.attrs.get("seed")), more=more)


def columns(is_exact: bool = False) -> dict[str, str]:
    """Columns that a terminal shows, and their headings."""
    if is_exact:
        shown = {name: column_name(name, "measure_trials") for name in EXACT}
        return with_ends({"cell": "cell", **shown}, ("expected_score", "auroc2"))
    own = [result for result in results() if result.terminal]
    names = ("cell", "trials", "share_right", *(result.name for result in own))
    ends = [result.name for result in own if result.terminal == "interval"]
    return with_ends({name: column_name(name) for name in names}, ends)


def with_ends(shown: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    """Columns with both ends of the intervals of some after them."""
    found = {}
    for name, title in shown.items():
        found[name] = title
        if name in names:
            found |= {f"{name}_lower": "from", f"{name}_upper": "to"}
    return found


def save(path: Path, *, asked: Request, measured: Measured) -> None:
    """Save the draws or a page, by the suffix of the path."""
    if path.suffix == DRAWS_FILE and measured.draws is not None:
        hmetad.bayes.save_draws(measured.draws, path)
        return
    is_given = not asked.has_draws or asked.options.seed is not None
    seed = "" if is_given else f" --seed {measured.result.attrs['seed']}"
    words = {**measured.words, "title": f"Measures of {asked.options.file.name}"}
    page = hmetad.report.measures_report(
        *measured.shown, **words, draws=measured.draws, command=command_line() + seed
    )
    page.save(path)
