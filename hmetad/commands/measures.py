"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import InputError
from hmetad.base.results import results
from hmetad.commands.answer import (
    DATA_FILES,
    REPORTS,
    Answer,
    Listing,
    as_seed,
    command_line,
    give,
    output_file,
    rows_of,
    say,
    write_files,
)
from hmetad.commands.counting import are_numbers, count_scanned, scan_trials, warnings_said
from hmetad.commands.fits import DRAWS_FILE
from hmetad.commands.gate import asked_gate, end_by, judge_gate, with_outcome
from hmetad.commands.options import (
    CellOptions,
    CiProb,
    Correction,
    GateOptions,
    Output,
    cell_heading,
    columns_of,
    options_named,
    parse_by,
    parse_correction,
    parse_limits,
)
from hmetad.text.names import column_name, in_percent

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.base.notice import Notice
    from hmetad.compare.decisions import Decisions
    from hmetad.report.page.report import Report
    from hmetad.rows.rows import Rows

__all__ = ["columns", "measures"]

# Caption of what is found beside the measures, and its values.
type Further = tuple[str, xr.Dataset]

MORE = "; all of them by -o table.csv or --json"
# Of signals, with intervals on a terminal.
SIGNAL_MEASURES = ("auroc2", "m_ratio")
# Notices of choices among options that need all trials of a cell.
OF_WHOLE_CELLS = ("letters-uneven", "mixed-items")
# Columns of a terminal where confidence is numbers.
SCALED = ("ratings_used", "auroc2", "meta_i2r", "m_ratio", "m_ratio_se")
EXACT = ("trials", "accuracy", "auroc2", "gamma_pairs", "aurc", "brier", "ece_debiased", "ece")


@dataclass(frozen=True, kw_only=True)
class MeasuresOptions(GateOptions, CellOptions):
    """Trials, what is measured of them, and what intervals are judged by.

    Parameters
    ----------
    correct : COLUMN
        Column with right or wrong (1 or 0), for tasks without a stimulus of two kinds.
    cluster : COLUMN[,COLUMN]
        Add bootstrap intervals that resample these whole, such as item or subject; set,item where
        both name one.
    over : COLUMN
        Column of --by whose levels a page or --fail-if compares. Default: the first of --by.
    common_items : flag
        Use only the items that all compared levels of --over answered.
    missing : RULE
        Trials without an answer: drop leaves them out; wrong counts them as wrong in accuracy,
        with the items that only another compared level answered.
    var : NAME
        With --fail-if or --fail-unless: the measure to compare.
    rope : LOW,HIGH
        With --fail-if or --fail-unless: the differences that you call negligible.
    meta_d : flag
        Add meta-d′ and M-ratio by maximum likelihood.
    expected : flag
        Add what signal detection theory expects of the type-2 measures.
    meta_noise : flag
        Add meta-noise and meta-uncertainty (lognormal model).
    permutations : N
        Compare meta-I₂ʳ with that of N tables in which ratings are permuted, and add its p.
    at_coverage : P
        Add the accuracy of this share of the trials, the most confident.
    tolerance : P
        Add the largest share of the trials, the most confident, of which at most P are wrong, and
        the share for which that is sure with probability --ci-prob.
    scale : flag
        Add how the scale of confidence is used, and AUROC2 and M with 2, 3, 4 and 6 ratings.
    among : WHOM
        Say where AUROC2 lies among published ones: people (the mean of --by) or language_models
        (each cell; debiased ECE and M too).
    interval : flag
        Add bootstrap intervals.
    method : NAME
        Kind of interval: percentile, basic (best for the information measures) or bca.
    draws : N
        Bootstrap draws of each cell.
    signals : COLUMN[,COLUMN]
        Compare what the probabilities of all options say, as confidence: that of the chosen option,
        its lead over the others, and minus their entropy. A column of lists, or one per option.
        --response names the column of the chosen option, where it is not answer or chosen.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx. Draws for hmetad compare: .nc, with
        --interval.
    """

    correct: str | None = None
    cluster: str | None = None
    over: str | None = None
    common_items: bool = False
    missing: Literal["drop", "wrong"] = "drop"
    var: str = "auroc2"
    rope: str | None = None
    correction: Correction = "none"
    meta_d: bool = False
    expected: bool = False
    meta_noise: bool = False
    permutations: Annotated[int, typer.Option(min=0)] = 0
    at_coverage: float | None = None
    tolerance: float | None = None
    scale: bool = False
    among: Literal["people", "language_models"] | None = None
    interval: bool = False
    method: Literal["percentile", "basic", "bca"] = "percentile"
    ci_prob: CiProb = 0.95
    draws: Annotated[int, typer.Option(min=10)] = 1000
    signals: tuple[str, ...] = ()
    output: Output = None

    @property
    def suffix(self) -> str:
        """Kind of the output; empty without one."""
        return self.output.suffix if self.output else ""

    @property
    def answered(self) -> list[str]:
        """Columns without which a trial has no answer."""
        judged = [self.correct] if self.correct else [self.stimulus, self.response]
        return judged if self.signals else [*judged, self.confidence]

    @property
    def resampled(self) -> dict[str, Any]:
        """How trials are drawn again."""
        return {"n": self.draws, "cluster": self.cluster, "seed": self.seed}

    @property
    def compared(self) -> dict[str, Any]:
        """Columns of cells, and the one whose levels are compared."""
        return {"by": parse_by(self.by), "over": self.over}


@dataclass(frozen=True)
class Request:
    """Options, and the trials that they are about.

    Parameters
    ----------
    options : MeasuresOptions
    trials : Rows or DataFrame
    is_exact : bool
        Whether confidence is taken as it is.
    """

    options: MeasuresOptions
    trials: "Rows | pd.DataFrame"
    is_exact: bool

    @property
    def has_draws(self) -> bool:
        """Whether trials are resampled; a page of confidence as it is says which is best."""
        is_asked = self.options.interval or self.options.cluster is not None
        return (
            is_asked
            or bool(self.options.signals)
            or (self.is_exact and self.options.suffix in REPORTS)
        )


@dataclass(frozen=True)
class Measured:
    """Measures, and what else is made of the same trials.

    Parameters
    ----------
    result : Dataset
    draws : Dataset or None
        Draws of the intervals, where there are some.
    page : callable
        ``command=`` that made it → Report.
    notices : list of Notice
        Beside those of the result.
    """

    result: "xr.Dataset"
    draws: "xr.Dataset | None"
    page: Callable[..., "Report"]
    notices: "Sequence[Notice]" = ()

    def among(self, whom: Any) -> list[str]:
        """Where the measures lie among published ones; empty unless that is asked for."""
        return hmetad.norms.describe_measures(self.result, among=whom) if whom else []


def measures(options: MeasuresOptions) -> None:
    r"""Compute d′, AUROC2, meta-d′, calibration and other measures of each cell.

    With --correct, numeric confidence is used as it is, unless --ratings, --levels or --quantiles
    is given; otherwise confidence is counted as ratings.

    Examples
    --------
    hmetad measures trials.csv --by model,task --meta-d -o measures.csv
    hmetad measures trials.csv --by model --quantiles 4 --interval -o page.html
    hmetad measures answers.csv --by model --correct correct --quantiles 4
    hmetad measures answers.csv --by model --correct correct --quantiles 4 --options 4
    hmetad measures answers.csv --by model,set --correct correct --cluster item -o page.html
    hmetad measures answers.csv --by model --correct correct --interval --cluster item
    hmetad measures answers.csv --by model --correct correct --missing wrong
    hmetad measures trials.csv --by subject --among people
    hmetad measures answers.csv --by model,set --correct correct --interval --cluster item \
      --draws 4000 -o draws.nc
    hmetad measures answers.csv --by model --signals option_probabilities -o signals.html
    hmetad measures answers.csv --by model --correct correct --interval --cluster item \
      --rope=-0.02,0.02 --fail-if "new worse than old"
    """
    if options.signals and options.correct is None:
        options = replace(options, correct="correct")
    chosen = options.format
    written = output_file(options.output, (*DATA_FILES, *REPORTS, DRAWS_FILE), options.file)
    refuse_without_stimulus(options)
    asked = requested(options)
    options.refuse_idle(**needs_of_options(asked))
    if options.suffix == DRAWS_FILE and not asked.has_draws:
        got = f"{str(options.output)!r} without --interval"
        raise InputError("--output", got, "draws", "Add --interval.")
    are_judged = options.rope is not None and asked.has_draws and (options.by or options.signals)
    lacking = "" if are_judged else "--by, --interval and --rope"
    gate = asked_gate(options, options.var, lacking=lacking)
    measure = measured_exactly if asked.is_exact else measured_counts
    measured = (measured_signals if options.signals else measure)(asked)
    further = {} if options.signals else further_results(asked)
    answer = with_further(measures_answer(asked, measured), further)
    if placed := measured.among(options.among):
        answer = replace(answer, more={**answer.more, "among_published": placed})
    outcome = None
    if gate is not None and measured.draws is not None:
        outcome = judge_gate(gate, decided(options, measured.draws), {"": measured.draws})
        answer = with_outcome(answer, gate, outcome)
    write_files(answer, written, partial(save, asked=asked, measured=measured, further=further))
    give(answer, chosen, written)
    for sentence in answer.more.get("among_published", ()):
        say(sentence)
    end_by(outcome)


def refuse_without_stimulus(options: MeasuresOptions) -> None:
    """Refuse meta-d′ of right and wrong, and cells that are what is drawn whole."""
    if options.correct is not None and options.meta_d and not options.options:
        step = (
            "Right or wrong alone has no d′ and so no M-ratio. Without --meta-d you get AUROC2, "
            "gamma and measures of calibration or information; with the number of options, "
            "--options 4, or with --stimulus and --response in place of --correct, M-ratio too."
        )
        raise InputError("--meta-d", "it with --correct", "trials with a stimulus", step)
    if options.among == "people" and len(options.by) != 1:
        step = "They are one population: compare conditions by hmetad fit, or measure one of them."
        raise InputError("--by", ",".join(options.by) or "none", "the column of people alone", step)
    cluster = options.cluster
    if cluster is not None and cluster in columns_of(options.by):
        # A cell that is one unit has no spread.
        step = f"Leave {cluster} out of --by: --cluster draws it whole, for all cells at once."
        got = f"{cluster!r}, which --cluster names too"
        raise InputError("--by", got, "columns beside that of --cluster", step)


def requested(options: MeasuresOptions) -> Request:
    """Trials that options are about, not yet read where all are taken."""
    own = ("correct",) if options.correct else ("stimulus", "response")
    used = {name: getattr(options, name) for name in (*own, "confidence")}
    trials = scan_trials(options, options.by, used).spelled((options.cluster or "").split(","))
    has_some = {options.stimulus, options.response} & {*trials.columns}
    is_right = options.correct is None and not has_some and "correct" in trials.columns
    if is_right and options.options:
        return requested(replace(options, correct="correct"))
    if is_right:
        step = "If trials say only right or wrong: --correct correct."
        raise InputError("--stimulus", repr(options.stimulus), "a column of the trials", step)
    are_rated = options.quantiles or options.ratings or options.levels
    is_exact = bool(options.signals) or bool(
        options.correct is not None and not are_rated and are_numbers(trials, options.confidence)
    )
    if options.missing != "drop" and options.common_items:
        raise InputError("--common-items", "it beside --missing wrong", "one of the two")
    if options.missing != "drop" and not is_exact:
        step = "Give confidence as numbers with --correct, without --quantiles and --ratings."
        raise InputError("--missing", "'wrong' with ratings", "'drop'", step)
    kept: Rows | pd.DataFrame = trials
    if options.common_items:
        kept = hmetad.measures.common_items(
            trials, **options.compared, item=options.cluster, answered=options.answered
        )
    if options.signals:
        first, *more = options.signals
        with options_named({"probabilities": "--signals"}):
            kept = hmetad.logs.signals(
                kept,
                probabilities=[first, *more] if more else first,
                # By default the first of the columns that readers of logs write.
                chosen=None if options.response == "response" else options.response,
            )
    return Request(options, kept, is_exact)


def needs_of_options(asked: Request) -> dict[str, str]:
    """When options would have an effect; empty for those that have one."""
    options = asked.options
    condition = options.fail_if or options.fail_unless
    # Levels that are compared share items, of which trials as they are say the coverage.
    is_compared = condition or asked.is_exact or options.common_items
    is_compared = is_compared or (asked.has_draws and options.suffix in REPORTS)
    of_gate = "" if condition else "with --fail-if or --fail-unless"
    of_draws = "" if asked.has_draws else "with --interval"
    of_stimulus = "without --correct" if options.correct is not None else ""
    of_signals = "without --signals" if options.signals else ""
    of_ratings = "with ratings: make some by --quantiles 4" if asked.is_exact else ""
    of_numbers = "" if asked.is_exact else "with --correct and confidence as numbers"
    return {
        **dict.fromkeys(("var", "rope"), of_gate),
        "draws": of_draws,
        "seed": "" if options.permutations else of_draws,
        **dict.fromkeys(("stimulus", "labels", "correction"), of_stimulus),
        "response": "" if options.signals else of_stimulus,
        **dict.fromkeys(("expected", "meta_noise"), of_ratings),
        "permutations": "without --interval" if asked.has_draws else of_ratings,
        **dict.fromkeys(("at_coverage", "tolerance"), of_signals or of_numbers),
        **dict.fromkeys(("scale", "among"), of_signals),
        "options": of_signals or ("" if options.scale else of_ratings),
        "method": of_draws or of_ratings,
        "ci_prob": "" if asked.is_exact else of_draws,
        "over": "" if is_compared else "with a page of intervals, or a condition",
        "quantiles_within": of_signals or ("" if options.quantiles else "with --quantiles"),
        **dict.fromkeys(("confidence", "ratings", "levels", "missing"), of_signals),
    }


def measured_exactly(asked: Request) -> Measured:
    """Measures of trials whose confidence is taken as it is."""
    options, trials = asked.options, asked.trials
    shared: dict[str, Any] = {
        **options.compared,
        "correct": options.correct,
        "confidence": options.confidence,
        "missing": options.missing,
        "at_coverage": options.at_coverage,
        "tolerance": options.tolerance,
    }
    ci_prob, draws = options.ci_prob, None
    if asked.has_draws:
        draws = hmetad.measures.resample_trials(trials, **shared, **options.resampled)
        result = hmetad.measures.resample_trials_interval(
            trials, **shared, ci_prob=ci_prob, draws=draws
        )
    else:
        result = hmetad.measures.measure_trials(trials, **shared, ci_prob=ci_prob)
    titled: dict[str, Any] = {**shared, "title": title_of(options), "ci_prob": ci_prob}
    page = partial(hmetad.report.measures_report, trials, **titled, draws=draws)
    return Measured(result, draws, page)


def measured_signals(asked: Request) -> Measured:
    """AUROC2 and M of signals that the probabilities of all options give."""
    options = asked.options
    with warnings_said():
        results = hmetad.select.compare_signals(
            asked.trials,
            by=parse_by(options.by),
            correct=str(options.correct),
            cluster=options.cluster,
            ratings=options.quantiles or 4,
            n=options.draws,
            ci_prob=options.ci_prob,
            seed=options.seed,
        )
    title = f"Signals of {options.file.name}"
    page = partial(hmetad.report.signals_report, *results, ci_prob=options.ci_prob, title=title)
    return Measured(*results, page)


def measured_counts(asked: Request) -> Measured:
    """Measures of trials that are counted by rating."""
    options, grouping, cluster = asked.options, parse_by(asked.options.by), list[str]()
    if asked.has_draws:
        whole = options.cluster
        cluster = hmetad.measures.unit_columns(asked.trials, by=grouping, cluster=whole)
    by = [*options.by, *cluster]
    counts = count_scanned(asked.trials, options, by, correct=options.correct)
    statistic = partial(
        hmetad.measure,
        correction=parse_correction(options.correction),
        meta_d=options.meta_d or bool(options.options),
        expected=options.expected,
        meta_noise=options.meta_noise,
        permutations=options.permutations,
        seed=options.seed,
        # With intervals they need no errors.
        errors=not asked.has_draws,
    )
    # Of units drawn whole the counts are those of all of them.
    pooled = counts if not cluster else hmetad.counts.clusters_of(counts, cluster).pooled
    draws, found = None, []
    if asked.has_draws:
        draws = hmetad.resample(counts, statistic, **options.resampled | {"cluster": cluster})
        measured = hmetad.resample_interval(
            counts, statistic, ci_prob=options.ci_prob, method=options.method, draws=draws
        )
        found = hmetad.measures.repeated_items(
            asked.trials, by=grouping, cluster=options.cluster or cluster or None
        )
        if options.options and cluster:
            # Cells of single items cannot show what those of all items do.
            pooled_table = count_scanned(asked.trials, options, options.by, correct=options.correct)
            found += [one for one in hmetad.notices(pooled_table) if one.code in OF_WHOLE_CELLS]
    else:
        measured = statistic(pooled)
    found = [*found, *unequal_items(asked)]
    titled: dict[str, Any] = {"over": options.over, "title": title_of(options), "notices": found}
    page = partial(hmetad.report.measures_report, pooled, measured, **titled, draws=draws)
    return Measured(measured, draws, page, found)


def title_of(options: MeasuresOptions) -> str:
    """Title of a page."""
    return f"Measures of {options.file.name}"


def unequal_items(asked: Request) -> "list[Notice]":
    """Notice of levels with other items than those that they stand beside, unless draws say it."""
    options = asked.options
    if options.cluster is not None and asked.has_draws:
        return []
    found = hmetad.measures.unequal_answers(
        asked.trials, **options.compared, answered=options.answered
    )
    # People need not have equal numbers of trials.
    is_judged = options.correct is not None
    return [one for one in found if is_judged or "no column" not in one.message]


def measures_answer(asked: Request, measured: Measured) -> Answer:
    """Measures as an answer: a row for each cell, and how intervals were made."""
    options = asked.options
    rows = rows_of(hmetad.report.estimate_table(measured.result))
    shown = {name: title for name, title in columns(asked.is_exact).items() if name in rows[0]}
    of_cells = [*options.by, "signal"] if options.signals else options.by
    shown["cell"] = cell_heading(of_cells, options.options)
    title = "Measures"
    if "from" in shown.values():
        title += f"; from, to: {in_percent(options.ci_prob)} interval"
    if "ece" in shown:
        title += f"; ECE: {measured.result.attrs.get('bins')} bins of equal numbers"
    listings = (Listing(rows, shown, title, MORE),)
    said = [*hmetad.notices(measured.result), *measured.notices]
    if not asked.has_draws:
        seed = as_seed(measured.result.attrs.get("seed"))
        return Answer(listings, said, seed)
    how = {"method": options.method, "ci_prob": options.ci_prob, "draws": options.draws}
    answer = Answer(listings, said, as_seed(measured.result.attrs["seed"]), more={"intervals": how})
    return with_differences(answer, measured) if options.signals else answer


def further_results(asked: Request) -> dict[str, Further]:
    """Coverages of few errors, and how the scale is used, where these are asked for."""
    options, trials, found = asked.options, asked.trials, dict[str, Further]()
    shared: dict[str, Any] = {"by": parse_by(options.by), "confidence": options.confidence}
    if options.tolerance is not None:
        own = {**shared, "correct": options.correct, "tolerance": options.tolerance}
        kept = hmetad.measures.selective_prediction(trials, **own, ci_prob=options.ci_prob)
        kept = kept[[x for x in kept if str(x).startswith(("tolerated", "guaranteed"))]]
        title = f"At most {in_percent(options.tolerance)} wrong; guaranteed: with probability "
        found["tolerated"] = title + in_percent(options.ci_prob), kept
    if options.scale:

        def count(quantiles: int) -> "xr.DataArray":
            rated = replace(options, quantiles=quantiles, ratings=None, levels=())
            return count_scanned(trials, rated, options.by, correct=options.correct)

        found["scale"] = "Scale of confidence", hmetad.measures.scale_report(trials, **shared)
        scales = hmetad.select.measure_scales(count)
        found["scales"] = "Numbers of ratings", scales[[x for x in SCALED if x in scales]]
    return found


def with_further(answer: Answer, further: Mapping[str, Further]) -> Answer:
    """Answer with a listing of each further result."""
    for name, (title, result) in further.items():
        rows = rows_of(result.to_dataframe().reset_index())
        shown = {str(x): answer.listings[0].columns.get(str(x), str(x)) for x in result.sizes}
        shown |= {str(x): column_name(str(x)) for x in result.data_vars}
        listings = (*answer.listings, Listing(rows, shown, title))
        # What measures of a few ratings lack is no matter here: they stand beside the others.
        own = [] if name == "scales" else hmetad.notices(result)
        said = list(dict.fromkeys([*answer.notices, *own]))
        answer = replace(answer, listings=listings, more={**answer.more, name: rows}, notices=said)
    return answer


def with_differences(answer: Answer, measured: Measured) -> Answer:
    """Answer with the paired differences between signals."""
    ci_prob = answer.more["intervals"]["ci_prob"]
    assert measured.draws is not None
    frame = hmetad.select.signal_differences(measured.result, measured.draws, ci_prob=ci_prob)
    rows = rows_of(frame)
    shown = {x: column_name(x) for x in rows[0] if not x.endswith(("_lower", "_upper"))}
    said = f"Left − right, by draws of the same items; from, to: {in_percent(ci_prob)} interval"
    listing = Listing(rows, with_ends(shown, SIGNAL_MEASURES), said)
    more = {**answer.more, "differences": rows}
    return replace(answer, listings=(*answer.listings, listing), more=more)


def columns(is_exact: bool = False) -> dict[str, str]:
    """Columns that a terminal shows, and their headings."""
    if is_exact:
        shown = {name: column_name(name, "measure_trials") for name in EXACT}
        shown["selective_accuracy"] = column_name("selective_accuracy", "measure_trials")
        shown["m_ratio"] = column_name("m_ratio")
        return with_ends({"cell": "cell", **shown}, SIGNAL_MEASURES)
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


def decided(options: MeasuresOptions, draws: "xr.Dataset") -> "Decisions":
    """Decisions on the levels of one column of cells, within those of the others."""
    names = [*(["signal"] if options.signals else []), *parse_by(options.by)]
    over = options.over or names[0]
    within = [name for name in names if name != over]
    differences = hmetad.contrast(draws, var=options.var, over=over, within=within)
    limits = parse_limits(options.rope or "")
    return hmetad.decide(differences, rope=limits, ci_prob=options.ci_prob)


def save(path: Path, *, asked: Request, measured: Measured, further: Mapping[str, Further]) -> None:
    """Save the draws or a page, by the suffix of the path."""
    if path.suffix == DRAWS_FILE and measured.draws is not None:
        hmetad.bayes.save_draws(measured.draws, path)
        return
    is_given = not asked.has_draws or asked.options.seed is not None
    seed = "" if is_given else f" --seed {measured.result.attrs['seed']}"
    placed = measured.among(asked.options.among)
    shown: dict[str, Any] = {"published": placed} if placed else {}
    shown |= {"further": dict(further.values())} if further else {}
    measured.page(command=command_line() + seed, **shown).save(path)
