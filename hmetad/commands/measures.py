"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.answer import (
    Answer,
    Listing,
    command_line,
    give,
    rows_of,
    write_answer,
)
from hmetad.commands.arguments import (
    DATA_FILES,
    REPORTS,
    as_seed,
    cell_heading,
    columns_of,
    output_file,
    parse_by,
    parse_correction,
    parse_limits,
)
from hmetad.commands.counting import are_numbers, count_scanned, scan_trials
from hmetad.commands.fits import DRAWS_FILE
from hmetad.commands.gate import asked_gate, end_by, judge_gate, with_outcome
from hmetad.commands.options import CellOptions, Output, option_name
from hmetad.errors import InputError
from hmetad.results import results
from hmetad.text.names import column_name, in_percent

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.compare.decisions import Decisions
    from hmetad.notice import Notice
    from hmetad.report.page.report import Report
    from hmetad.rows.rows import Rows

__all__ = ["EXAMPLES", "measures"]

# Columns of a terminal where confidence is numbers.
EXACT = (
    *("cell", "trials", "accuracy", "auroc2", "auroc2_lower", "auroc2_upper", "gamma_pairs"),
    *("aurc", "brier", "ece"),
)
EXAMPLES = """
hmetad measures trials.csv --by model,task --meta-d -o measures.csv
hmetad measures trials.csv --by model --quantiles 4 --interval -o page.html
hmetad measures answers.csv --by model --correct correct --quantiles 4
hmetad measures answers.csv --by model,set --correct correct --cluster item -o page.html
hmetad measures answers.csv --by model --correct correct --interval --cluster item
hmetad measures answers.csv --by model --correct correct --missing wrong
hmetad measures answers.csv --by model,set --correct correct --interval --cluster item \
  --draws 4000 -o draws.nc
hmetad measures answers.csv --by model --correct correct --interval --cluster item \
  --rope=-0.02,0.02 --fail-if "new worse than old"
"""

MORE = "; all of them by -o table.csv or --json"


@dataclass(frozen=True, kw_only=True)
class MeasuresOptions(CellOptions):
    """Trials, what is measured of them, and what intervals are judged by.

    Parameters
    ----------
    correct : COLUMN
        Column with right or wrong, where there is no stimulus.
    cluster : COLUMN[,COLUMN]
        Bootstrap intervals, by draws of these as a whole, such as item or subject; set,item where
        both name one.
    over : COLUMN
        Column of --by whose levels a page or --fail-if compares; by default its first.
    common_items : flag
        Only the items that all compared levels of --over answered.
    missing : RULE
        What has no answer: drop; or wrong, in accuracy, with the items that another compared
        level answered.
    var : NAME
        Of --fail-if: the measure, such as auroc2.
    rope : A,B
        Of --fail-if: differences that are negligible.
    fail_if : CONDITION
        With --interval, such as "new worse than old": the exit status is 1 where a verdict
        shows it, 3 where there is no verdict, else 0.
    fail_unless : CONDITION
        With --interval, such as "new not worse than old", which is non-inferiority: the exit
        status is 0 where the interval shows it, 3 where there is no verdict, else 1.
    correction : NAME
        none, loglinear, cell or a number.
    meta_d : flag
        Add meta-d′ by maximum likelihood.
    expected : flag
        Add what signal detection expects of type-2 measures.
    meta_noise : flag
        Add meta noise and meta-uncertainty (lognormal model).
    interval : flag
        Bootstrap intervals.
    method : NAME
        Of intervals: percentile, basic (suits the information measures) or bca.
    ci_prob : P
        Probability of the intervals.
    draws : N
        Bootstrap draws of each cell.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx. Draws, for hmetad compare: .nc,
        with --interval.
    """

    correct: str | None = None
    cluster: str | None = None
    over: str | None = None
    common_items: bool = False
    missing: Literal["drop", "wrong"] = "drop"
    var: str = "auroc2"
    rope: str | None = None
    fail_if: str | None = None
    fail_unless: str | None = None
    correction: str = "none"
    meta_d: bool = False
    expected: bool = False
    meta_noise: bool = False
    interval: bool = False
    method: Literal["percentile", "basic", "bca"] = "percentile"
    ci_prob: float = 0.95
    draws: Annotated[int, typer.Option(min=10)] = 1000
    output: Output = None

    @property
    def has_page(self) -> bool:
        """Whether a page is written."""
        return self.output is not None and self.output.suffix in REPORTS

    @property
    def answered(self) -> list[str]:
        """Columns without which a trial has no answer."""
        judged = [self.correct] if self.correct else [self.stimulus, self.response]
        return [*judged, self.confidence]

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
        return is_asked or (self.is_exact and self.options.has_page)

    @property
    def titled(self) -> dict[str, Any]:
        """Options of a page."""
        return {"over": self.options.over, "title": f"Measures of {self.options.file.name}"}


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


def measures(options: MeasuresOptions) -> None:
    """Compute all measures that need no posterior.

    Confidence that is numbers, with --correct, is taken as it is; else trials are counted by
    rating.
    """
    chosen = options.format
    written = output_file(options.output, (*DATA_FILES, *REPORTS, DRAWS_FILE), options.file)
    asked = requested(options)
    refuse_without_draws(asked)
    options.refuse_idle(**needs_of_options(asked))
    are_judged = options.rope is not None and asked.has_draws and options.by
    lacking = "" if are_judged else "--by, --interval and --rope"
    gate = asked_gate(options.fail_if, options.fail_unless, options.var, lacking=lacking)
    refuse_no_stimulus(options, asked.trials.columns)
    measured = measured_trials(asked)
    answer = measures_answer(asked, measured)
    outcome = None
    if gate is not None and measured.draws is not None:
        outcome = judge_gate(gate, decided(options, measured.draws), {"": measured.draws})
        answer = with_outcome(answer, gate, outcome)
    for path in written:
        write(path, answer, asked, measured)
    give(answer, chosen, written)
    end_by(outcome)


def requested(options: MeasuresOptions) -> Request:
    """Trials that options are about, not yet read where all are taken."""
    own = ("correct",) if options.correct else ("stimulus", "response")
    columns = {name: getattr(options, name) for name in (*own, "confidence")}
    trials = scan_trials(options, options.by, columns).spelled((options.cluster or "").split(","))
    are_rated = options.quantiles or options.ratings or options.levels
    is_exact = bool(
        options.correct is not None and not are_rated and are_numbers(trials, options.confidence)
    )
    refuse_missing(options, is_exact)
    if not options.common_items:
        return Request(options, trials, is_exact)
    shared = hmetad.measures.common_items(
        trials,
        by=parse_by(options.by),
        over=options.over,
        item=options.cluster,
        answered=options.answered,
    )
    return Request(options, shared, is_exact)


def refuse_no_stimulus(options: MeasuresOptions, columns: Iterable[object]) -> None:
    """Refuse trials that say right or wrong alone, where they are to have a stimulus."""
    has_some = {options.stimulus, options.response} & {*columns}
    if options.correct is None and not has_some and "correct" in columns:
        step = "Where trials say right or wrong alone: --correct correct."
        raise InputError("--stimulus", repr(options.stimulus), "a column of the trials", step)


def measures_answer(asked: Request, measured: Measured) -> Answer:
    """Measures as an answer: a row for each cell, and how intervals were made."""
    rows = rows_of(hmetad.report.estimate_table(measured.result))
    shown = {name: title for name, title in columns(asked.is_exact).items() if name in rows[0]}
    shown["cell"] = cell_heading(asked.options.by)
    has_ece = f"; ECE: {measured.result.attrs.get('bins')} bins of equal numbers" * ("ece" in shown)
    listing = Listing(rows, shown, titled(asked, shown) + has_ece, MORE)
    found = [*hmetad.notices(measured.result), *measured.notices]
    if not asked.has_draws:
        return Answer((listing,), found)
    options = asked.options
    how = {"method": options.method, "ci_prob": options.ci_prob, "draws": options.draws}
    used = as_seed(measured.result.attrs["seed"])
    return Answer((listing,), found, used, more={"intervals": how})


def titled(asked: Request, shown: Mapping[str, str]) -> str:
    """Title of the table on a terminal, with what "from" and "to" are."""
    said = (
        f"; from, to: {in_percent(asked.options.ci_prob)} interval"
        if "from" in shown.values()
        else ""
    )
    return f"Measures{said}"


def decided(options: MeasuresOptions, draws: "xr.Dataset") -> "Decisions":
    """Decisions on the levels of one column of cells, within those of the others."""
    names = list(parse_by(options.by))
    over = options.over or names[0]
    within = [name for name in names if name != over]
    differences = hmetad.contrast(draws, var=options.var, over=over, within=within)
    limits = parse_limits(options.rope or "")
    return hmetad.decide(differences, rope=limits, ci_prob=options.ci_prob)


def write(path: Path, answer: Answer, asked: Request, measured: Measured) -> None:
    """Write the draws, the rows or a page, by the suffix of the path."""
    if path.suffix == DRAWS_FILE and measured.draws is not None:
        hmetad.bayes.save_draws(measured.draws, path)
    elif path.suffix in DATA_FILES:
        write_answer(answer, path)
    else:
        is_given = not asked.has_draws or asked.options.seed is not None
        seed = "" if is_given else f" --seed {measured.result.attrs['seed']}"
        measured.page(command=command_line() + seed).save(path)


def columns(is_exact: bool = False) -> dict[str, str]:
    """Columns that a terminal shows, and their headings."""
    if is_exact:
        ends = {"auroc2_lower": "from", "auroc2_upper": "to"}
        return {"cell": "cell"} | {
            name: ends.get(name) or column_name(name, "measure_trials") for name in EXACT[1:]
        }
    shown = {name: column_name(name) for name in ("cell", "trials", "share_right")}
    for result in results():
        if result.terminal:
            shown[result.name] = column_name(result.name)
        if result.terminal == "interval":
            shown |= {f"{result.name}_lower": "from", f"{result.name}_upper": "to"}
    return shown


def refuse_missing(options: MeasuresOptions, is_exact: bool) -> None:
    """Refuse to count as wrong what ratings leave out, or what is left out for all."""
    if options.missing == "drop":
        return
    if options.common_items:
        raise InputError("--common-items", "it beside --missing wrong", "one of the two")
    if not is_exact:
        step = "Give confidence as numbers with --correct, without --quantiles and --ratings."
        raise InputError("--missing", "'wrong' with ratings", "'drop'", step)


def needs_of_options(asked: Request) -> dict[str, str]:
    """What options would need to have an effect; empty for those that have one."""
    options = asked.options
    condition = options.fail_if or options.fail_unless
    # Levels that are compared share items, of which trials as they are say the coverage.
    is_compared = condition or asked.is_exact or options.common_items
    is_compared = is_compared or (asked.has_draws and options.has_page)
    of_gate = "" if condition else "it beside --fail-if or --fail-unless"
    of_draws = "" if asked.has_draws else "it beside --interval"
    of_stimulus = "it without --correct" if options.correct is not None else ""
    return {
        **dict.fromkeys(("var", "rope"), of_gate),
        **dict.fromkeys(("method", "draws", "seed"), of_draws),
        **dict.fromkeys(("stimulus", "response", "labels", "correction"), of_stimulus),
        "ci_prob": "" if asked.is_exact else of_draws,
        "over": "" if is_compared else "it beside a page of intervals, or a condition",
        "quantiles_within": "" if options.quantiles else "it beside --quantiles",
    }


def refuse_without_draws(asked: Request) -> None:
    """Refuse what asks for draws, where none are made."""
    options = asked.options
    if asked.has_draws:
        return
    if options.output is not None and options.output.suffix == DRAWS_FILE:
        got = f"{str(options.output)!r} without --interval"
        raise InputError("--output", got, "draws", "Add --interval.")


def measured_trials(asked: Request) -> Measured:
    """Measures of trials, by confidence as it is or by rating."""
    refuse_grouped_cluster(asked.options)
    return measured_exactly(asked) if asked.is_exact else measured_counts(asked)


def refuse_grouped_cluster(options: MeasuresOptions) -> None:
    """Refuse to group by what is drawn whole: a cell that is one unit has no spread."""
    cluster = options.cluster
    if cluster is not None and cluster in columns_of(parse_by(options.by)):
        step = f"Leave {cluster} out of --by: --cluster draws it whole, for all cells at once."
        got = f"{cluster!r}, which --cluster names too"
        raise InputError("--by", got, "columns beside that of --cluster", step)


def measured_exactly(asked: Request) -> Measured:
    """Measures of trials whose confidence is taken as it is."""
    options, trials = asked.options, asked.trials
    refuse_with_numbers(options)
    columns: dict[str, Any] = {
        "by": parse_by(options.by),
        "correct": options.correct,
        "confidence": options.confidence,
        "missing": options.missing,
    }
    shared, ci_prob, draws = {**columns, "over": options.over}, options.ci_prob, None
    if asked.has_draws:
        draws = hmetad.measures.resample_trials(trials, **shared, **options.resampled)
        result = hmetad.measures.resample_trials_interval(
            trials, **shared, ci_prob=ci_prob, draws=draws
        )
    else:
        result = hmetad.measures.measure_trials(trials, **shared, ci_prob=ci_prob)
    titled: dict[str, Any] = {**columns, **asked.titled, "ci_prob": ci_prob, "draws": draws}
    page = partial(hmetad.report.measures_report, trials, **titled)
    return Measured(result, draws, page)


def measured_counts(asked: Request) -> Measured:
    """Measures of trials that are counted by rating."""
    options = asked.options
    grouping = parse_by(options.by)
    cluster = []
    if asked.has_draws:
        whole = options.cluster
        cluster = hmetad.measures.unit_columns(asked.trials, by=grouping, cluster=whole)
    by = [*options.by, *cluster]
    counts = count_scanned(asked.trials, options, by, correct=options.correct)
    statistic = counts_statistic(asked)
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
    else:
        measured = statistic(pooled)
    found = [*found, *unequal_items(asked)]
    more = {**asked.titled, "draws": draws, "notices": found}
    page = partial(hmetad.report.measures_report, pooled, measured, **more)
    return Measured(measured, draws, page, found)


def unequal_items(asked: Request) -> "list[Notice]":
    """Notice of levels with other items than those that they stand beside, unless draws say it."""
    options = asked.options
    if options.cluster is not None and asked.has_draws:
        return []
    found = hmetad.measures.unequal_answers(
        asked.trials,
        by=parse_by(options.by),
        over=options.over,
        answered=options.answered,
    )
    # People need not have equal numbers of trials.
    is_judged = options.correct is not None
    return [one for one in found if is_judged or "no column" not in one.message]


def counts_statistic(asked: Request) -> Callable[["xr.DataArray"], "xr.Dataset"]:
    """All measures of counts, as a function of them; with intervals they need no errors."""
    options = asked.options
    return partial(
        hmetad.measure,
        correction=parse_correction(options.correction),
        meta_d=options.meta_d,
        expected=options.expected,
        meta_noise=options.meta_noise,
        errors=not asked.has_draws,
    )


def refuse_with_numbers(options: MeasuresOptions) -> None:
    """Refuse what needs ratings, where confidence is numbers."""
    needs = {name: getattr(options, name) for name in ("meta_d", "expected", "meta_noise")}
    for name, value in {**needs, "method": options.method != "percentile"}.items():
        if value:
            step = "Make ratings: --quantiles 4."
            raise InputError(option_name(name), "confidence that is no rating", "ratings", step)
