"""The command that reads evaluation logs and public data sets.

Log, table or name of a data set → trials.csv; as read, or one row per item with the agreement of
its answers.
"""

import io
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import InputError, nearest
from hmetad.base.files import write_together
from hmetad.commands.answer import Answer, Listing, give, refuse_inputs, writable_file
from hmetad.commands.counting import quantile_ratings
from hmetad.commands.options import (
    Limit,
    MissingCodes,
    PrintOptions,
    chosen_limits,
    given_options,
    option_name,
    options_named,
    parse_pairs,
    split,
)
from hmetad.logs.kinds import READERS, kind_of_name, known_kinds, recognise_kind
from hmetad.report.terminal import say, strict
from hmetad.text.cells import csv_frame

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.base.notice import Notice

__all__ = ["ImportOptions", "import_log", "trials_csv", "trials_parquet"]

# What can be read: kinds of logs, and public data sets.
KINDS = (*READERS, "dataset")

REMARKS = (
    *("filters", "delimiter", "decimal_commas", "undecided_commas", "rejected"),
    *("duplicates", "unfinished", "examples"),
)
# Arguments that are typed by another name, since PATH is the command's source.
TYPED = {"source": "--confidence-from", "limits": "--limit", "confidence": "--columns"}
TYPED |= {"name": "PATH", "kind": "KIND", "executor": "--workers"}
# A table that has neither may be the log of another tool.
JUDGED = ("correct", "confidence")
COLUMNS = {"column": "column", "present": "present", "missing": "missing"}
GUESSES = {"fact": "fact", "guess": "guess", "sure": "sure", "reason": "reason"}
# Options that `hmetad.logs.read_log` takes as they are typed.
AS_TYPED = (
    *("task", "runs", "normalise", "answer_pattern", "scorer", "threshold"),
    *("path_columns", "delimiter", "decimal", "field", "pattern"),
)
# Arguments of agreement that are columns of the trials.
OF_TRIALS = ("answer", "trials", "item")
# What is said of the confidence that a log has, and does not hold for that of agreement.
OF_THE_LOG = ("confidence-of-the-choice", "no-confidence")
# Scales of stated confidence that have a name, and words for right and wrong.
SCALES = ("probability", "percent")
MEANING = {"true": True, "false": False, "right": True, "wrong": False}
MEANING |= {"correct": True, "incorrect": False}


@dataclass(frozen=True, kw_only=True)
class ImportOptions(PrintOptions):
    """A log, what is read of it, and what is made of its trials.

    Parameters
    ----------
    output : FILE
        Trials: .csv, .parquet or .jsonl. Needed, but for --describe.
    describe : FLAG
        Table: guess what its columns and codes are, with reasons, and write nothing.
    ratings : K
        Add a column rating: confidence in K ratings, by its quantiles.
    task : NAME
        Read this task, if the log has several.
    runs : WHICH
        Runs of a task to read: latest or all. Default: latest.
    answer_filter : NAME
        lm-eval: filter of the answers; or task=filter, one for each task.
    metric : NAME
        Metric that decides what is correct; or task=metric, one for each task.
    normalise : HOW
        Length by which the log-likelihood of an option is divided: none, characters or bytes.
        Default: none.
    answer_pattern : REGEX
        Extracts the answer from each response, as the one group of the pattern.
    scorer : NAME
        Inspect: scorer that decides what is correct, or scorer/part.
    grades : PAIRS
        Inspect and tables: what the grades mean: P=false,yes=true.
    confidence_from : PLACE
        Inspect: where confidence is: completion, score, metadata, store or logprobs.
    threshold : X
        Score from which an answer is correct. Default: 1 is correct, 0 is wrong.
    columns : PAIRS
        Table: names of its columns: correct=ok,confidence=sure.
    path_columns : PATTERN
        Table: columns to read from the names of files: {model}_{set}.csv.
    delimiter : SIGN
        Table: comma, semicolon, tab, bar or space. Default: detected.
    decimal : SIGN
        Table: decimal sign, comma or point. Default: point, or comma in columns where all
        values have one.
    agreement : ANSWER
        Repeated answers: confidence is the share of answers to an item that agree with the
        modal answer (modal) or the graded one (graded).
    by : COLUMNS
        With --agreement: columns that, with the item, identify whose answers to which question
        they are: model,set.
    field : NAME
        Field that states the confidence.
    pattern : REGEX
        Extracts confidence from a text, as the one group of the pattern.
    words : PAIRS
        Probabilities that words of confidence stand for: "very likely=0.9,unsure=0.5".
    scale : SCALE
        Scale of stated confidence: probability, percent, its top (10 for 0 to 10), or both ends
        (1,7).
    workers : N
        Number of processes that read the files of a folder.
    """

    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help=f"[KIND] PATH. KIND: {', '.join(KINDS)}. PATH: a log, a folder of logs, a quoted "
            "pattern of tables, or the name of a data set. Default of KIND: detected.",
        ),
    ]
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    describe: bool = False
    ratings: int | None = None
    task: str | None = None
    runs: str | None = None
    answer_filter: str | None = None
    metric: str | None = None
    normalise: str | None = None
    answer_pattern: str | None = None
    scorer: str | None = None
    grades: list[str] | None = None
    confidence_from: str | None = None
    threshold: float | None = None
    missing_codes: MissingCodes = None
    columns: list[str] | None = None
    path_columns: str | None = None
    delimiter: str | None = None
    decimal: Literal["comma", "point"] | None = None
    agreement: Literal["modal", "graded"] | None = None
    by: tuple[str, ...] = ()
    field: str | None = None
    pattern: str | None = None
    words: list[str] | None = None
    scale: str | None = None
    workers: Annotated[int, typer.Option(min=1)] = 1
    limit: Limit = None


def import_log(asked: ImportOptions) -> None:
    r"""Convert an evaluation log, a table or a public data set to trials.

    Examples
    --------
    hmetad import lm-eval results/ -o trials.csv --ratings 4
    hmetad import inspect logs/ -o trials.csv --field confidence
    hmetad import table raw.csv --columns correct=ok,confidence=sure -o trials.csv
    hmetad import run.eval -o trials.csv
    hmetad import inspect epochs/ -o trials.csv --agreement modal
    hmetad import table answers.csv -o trials.csv --agreement modal --by model,set
    hmetad import table "answers/*.csv" -o trials.csv --grades yes=true,no=false
    hmetad import table "runs/*.csv" --path-columns "{model}_{set}.csv" -o trials.csv
    hmetad import dataset michael2026 -o trials.csv
    hmetad import table unknown.csv --describe
    """
    chosen = asked.format
    if asked.describe:
        give_guesses(asked)
        return
    if asked.output is None:
        step = "Add -o trials.csv; or --describe, to see what a table has."
        raise InputError("--output", "none", ", ".join(WRITERS), step)
    path = writable_file(asked.output, *WRITERS)
    if asked.agreement is None:
        asked.refuse_idle(by="with --agreement")
    kind, source = kind_and_path(asked.log)
    refuse_inputs(path, source, is_read=partial(is_read_as, kind))
    trials, notices = reshaped_trials(read_trials(kind, source, asked), asked)
    if asked.ratings is not None:
        if "confidence" not in trials:
            step = "Name it by --columns confidence=NAME."
            raise InputError("--ratings", "no column 'confidence'", "one to make ratings of", step)
        trials["rating"] = quantile_ratings(trials["confidence"], asked.ratings)
    remarks = said_remarks(trials, kind, source)
    write_together({path: WRITERS[path.suffix](trials)})
    present = trials.notna().sum()
    filled = [
        {"column": str(name), "present": int(number), "missing": len(trials) - int(number)}
        for name, number in present.items()
    ]
    listing = Listing(filled, COLUMNS, f"{len(trials)} trials")
    more = {"trials": len(trials), **remarks}
    give(Answer((listing,), notices, more=more), chosen, [path])


def give_guesses(asked: ImportOptions) -> None:
    """Print what the columns and codes of a table may be, and why."""
    kind, source = kind_and_path(asked.log)
    if kind != "table":
        raise InputError("--describe", f"kind {kind}", "a table")
    for name in ("output", *AS_TYPED, *PARSED):
        if getattr(asked, name) is not None:
            step = f"Its trials are written by: hmetad import dataset {source} -o trials.csv."
            raise InputError(flag(name), "it beside --describe", "the table is read as it is", step)
    rows = hmetad.datasets.describe(source).to_dict("records")
    listing = Listing([{str(k): x for k, x in one.items()} for one in rows], GUESSES, str(source))
    give(Answer((listing,)), asked.format)


def read_trials(kind: str, source: Path, asked: ImportOptions) -> "pd.DataFrame":
    """Trials of a log, or of a public data set, read by one process or several."""
    options = given_options(
        **{name: getattr(asked, name) for name in AS_TYPED},
        **{
            name: parse(option_name(name), getattr(asked, name)) or None
            for name, parse in PARSED.items()
        },
        source=asked.confidence_from,
        missing_codes=split(asked.missing_codes) or None,
        limits=chosen_limits(asked.limit),
        executor=None if asked.workers == 1 else asked.workers,
    )
    own = READERS[kind].options if kind in READERS else ()
    for name in (name for name in options if name not in own):
        allowed = ", ".join(map(flag, own)) or "no option for a data set"
        raise InputError(flag(name), f"an option that {kind} does not have", allowed)
    with options_named(TYPED):
        if kind == "dataset":
            return hmetad.datasets.load_trials(str(source))
        if asked.workers == 1:
            return hmetad.logs.read_log(kind, source, **options)
        # A process that has threads must not be forked.
        with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as executor:
            return hmetad.logs.read_log(kind, source, **{**options, "executor": executor})


def flag(name: str) -> str:
    """Option of `read_log` as it is typed."""
    return TYPED.get(name, option_name(name))


def is_read_as(kind: str, name: str) -> bool:
    """Whether a file of a folder of logs or tables is read, as far as its name says."""
    own = kind_of_name(name)
    return kind != "dataset" and (own != "table" if kind != "table" else own in ("table", None))


def said_remarks(trials: "pd.DataFrame", kind: str, source: Path) -> dict[str, Any]:
    """What a reader noted of the trials, said on the terminal, and returned for the answer."""
    remarks = {name: trials.attrs[name] for name in REMARKS if trials.attrs.get(name)}
    for name, remark in remarks.items():
        say(f"{name.replace('_', ' ')}: {json.dumps(remark, ensure_ascii=False)}")
    if "undecided_commas" in remarks:
        say(
            "Some values of these columns look like numbers with a decimal comma, not all: they "
            "stay text. Give --decimal comma if they are numbers."
        )
    if kind == "table" and not {*JUDGED} & {*trials.columns}:
        say(
            f"{source}: no column 'correct' or 'confidence'. Name them by --columns correct=NAME, "
            f"or give the kind of the log. {known_kinds()}"
        )
        remarks["absent"] = list(JUDGED)
    return remarks


def kind_and_path(log: list[str]) -> tuple[str, Path]:
    """Kind of a log and its path; a kind that was not given is that of the file."""
    if len(log) > 2:
        raise InputError("PATH", " ".join(log), "[KIND] PATH", "Put a path with spaces in quotes.")
    kind, path = log if len(log) == 2 else ("auto", log[0])
    if len(log) == 1 and path in KINDS and not Path(path).exists():
        allowed = "a log, a folder, or a data set's name"
        raise InputError("PATH", f"none, for kind {path!r}", allowed)
    if kind == "auto":
        return recognise_kind(Path(path)), Path(path)
    if kind not in KINDS:
        raise InputError("KIND", repr(kind), f"one of {', '.join(KINDS)}", nearest(kind, KINDS))
    return kind, Path(path)


def parse_words(option: str, given: list[str] | None) -> dict[str, float]:
    """Words for confidence and the probabilities they stand for."""
    try:
        return {name: float(value) for name, value in (parse_pairs(option, given) or {}).items()}
    except ValueError as error:
        step = 'Write --words "very likely=0.9,unsure=0.5".'
        raise InputError(option, repr(given), "a number for each word", step) from error


def parse_grades(option: str, given: list[str] | None) -> dict[str, bool]:
    """Grades of a scorer, and whether they are right."""
    pairs = parse_pairs(option, given) or {}
    for name, value in pairs.items():
        if value.lower() not in MEANING:
            step = "Write --grades yes=true,no=false."
            raise InputError(option, f"{name}={value}", "true or false for each grade", step)
    return {name: MEANING[value.lower()] for name, value in pairs.items()}


def parse_choices(option: str, given: str | None) -> str | dict[str, str] | None:
    """One choice for all tasks, or one for each: ``gsm8k=strict-match,arc=none``."""
    return parse_pairs(option, [given]) if given and "=" in given else given


def parse_scale(option: str, scale: str | None) -> Any:
    """Scale of stated confidence: its name, its top, or both ends."""
    if scale is None or scale in SCALES:
        return scale
    try:
        ends = [float(end) for end in scale.split(",")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        allowed = f"{', '.join(SCALES)}, a number that is its top, or both ends such as 1,7"
        raise InputError(option, repr(scale), allowed)
    return ends[0] if len(ends) == 1 else tuple(ends)


PARSED: dict[str, Callable[[str, Any], Any]] = {
    **{"answer_filter": parse_choices, "metric": parse_choices, "scale": parse_scale},
    **{"columns": parse_pairs, "words": parse_words, "grades": parse_grades},
}


def reshaped_trials(
    trials: "pd.DataFrame", asked: ImportOptions
) -> tuple["pd.DataFrame", list["Notice"]]:
    """Trials as read, or one row per item with its agreement, with the log's record; notices."""
    if asked.agreement is None:
        return trials, hmetad.logs.frame_notices(trials)
    before = dict(trials.attrs)
    with options_named(dict.fromkeys(OF_TRIALS, "--agreement")):
        made = hmetad.logs.agreement(trials, of=asked.agreement, by=[*asked.by] or None)
    counted = {**before.get("rejected", {}), **made.attrs.get("rejected", {})}
    # Agreement is not the confidence of a choice.
    kept = [one for one in hmetad.logs.frame_notices(trials) if one.code not in OF_THE_LOG]
    found = [*kept, *hmetad.logs.frame_notices(made)]
    made.attrs = {**before, **made.attrs, "rejected": counted}
    return made, found


def trials_csv(trials: "pd.DataFrame") -> str:
    """Trials as CSV; a value that holds others becomes JSON."""
    plain = {
        str(name): [nested_json(value) if is_nested(value) else value for value in column]
        for name, column in trials.items()
        if column.map(is_nested).any()
    }
    return csv_frame(trials.assign(**plain))


def trials_parquet(trials: "pd.DataFrame") -> memoryview:
    """Trials as Parquet, lists as they are; text where a column holds values of several types."""
    trials = trials.copy(deep=False)
    # Notices and the record of the log are no part of a file of trials.
    trials.attrs = {}
    file = io.BytesIO()
    try:
        trials.to_parquet(file, index=False)
    except (TypeError, ValueError):
        # Arrow has one type for a column.
        columns = ((str(name), column) for name, column in trials.items())
        mixed = {name: plain_text(column) for name, column in columns if column.dtype == object}
        file = io.BytesIO()
        trials.assign(**mixed).to_parquet(file, index=False)
    return file.getbuffer()


def plain_text(column: "pd.Series") -> "pd.Series":
    """Column of objects as text or JSON, unless all its values are lists."""
    known = column.dropna()
    if known.map(is_nested).all():
        return column
    return column.map(lambda one: nested_json(one) if is_nested(one) else str(one), "ignore")


def trials_jsonl(trials: "pd.DataFrame") -> str:
    """Trials as JSON Lines, lists as they are, numbers in full precision."""
    columns = {
        str(name): [
            None if is_lost else value
            for value, is_lost in zip(column.tolist(), column.isna(), strict=True)
        ]
        for name, column in trials.items()
    }
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(f"{nested_json(row)}\n" for row in rows)


def is_nested(value: Any) -> bool:
    """Whether a value of a column holds others: a list or object of JSON or Parquet."""
    return isinstance(value, list | tuple | dict) or getattr(value, "ndim", 0) > 0


def nested_json(value: Any) -> str:
    """JSON of a value; NaN and infinities are null, and what JSON does not know is text."""
    return json.dumps(strict(value), default=str, allow_nan=False)


# Formats of trials, by suffix.
WRITERS: dict[str, Callable[["pd.DataFrame"], str | memoryview]] = {
    ".csv": trials_csv,
    ".parquet": trials_parquet,
    ".jsonl": trials_jsonl,
}
