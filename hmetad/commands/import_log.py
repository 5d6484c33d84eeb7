"""The commands that read evaluation logs, tables and public data sets, one for each kind.

Path, or name of a data set → trials.csv; as read, or one row per item with the agreement of its
answers.
"""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import (
    ChoiceError,
    ColumnError,
    ConflictError,
    OutputError,
    UnknownError,
    nearest,
)
from hmetad.base.files import write_together
from hmetad.base.workers import Workers
from hmetad.commands.answer import (
    Answer,
    Listing,
    PrintOptions,
    refuse_inputs,
    rows_of,
    writable_file,
)
from hmetad.commands.options import option_name, options_named, parse_pairs, split
from hmetad.commands.trials import warnings_said
from hmetad.logs.kinds import READERS, kind_of_name, known_kinds, recognise_kind
from hmetad.report.terminal import say, strict
from hmetad.text.cells import csv_frame

if TYPE_CHECKING:
    import pandas as pd

    from hmetad.base.notice import Notice

REMARKS = (
    *("filters", "delimiter", "decimal_commas", "undecided_commas", "rejected"),
    *("duplicates", "unfinished", "examples"),
)
# Fields of the records below for arguments of `hmetad.logs.read_log` with other names.
FIELDS = {"source": "confidence_from", "limits": "limit", "executor": "workers"}
# Fields that every kind has, and those about the answers of a log.
SHARED = ("path", "output", "ratings", "print_as", "as_json")
ANSWERS = ("agreement", "by")
# Arguments that are typed by another name.
TYPED = {name: option_name(field) for name, field in FIELDS.items()}
TYPED |= {"confidence": "--columns", "name": "PATH"}
# A table that has neither may be the log of another tool.
JUDGED = ("correct", "confidence")
COLUMNS = {"column": "column", "present": "present", "missing": "missing"}
GUESSES = {"fact": "fact", "guess": "guess", "sure": "sure", "reason": "reason"}
# Arguments of agreement that are columns of the trials.
OF_TRIALS = ("answer", "trials", "item")
# What is said of the confidence that a log has, and does not hold for that of agreement.
OF_THE_LOG = ("confidence-of-the-choice", "no-confidence")
# Scales of stated confidence that have a name, and words for right and wrong.
SCALES = ("probability", "percent")
MEANING: dict[str, bool | str] = {"true": True, "false": False, "right": True, "wrong": False}
MEANING |= {"correct": True, "incorrect": False, "abstained": "abstained"}


@dataclass(frozen=True, kw_only=True)
class ImportOptions(PrintOptions):
    """What is read, and where its trials go; each kind of log has some of these options.

    Parameters
    ----------
    path : PATH
        A file, or a folder of files. For a table also a quoted pattern, such as 'runs/*.csv'; for
        a data set its name.
    output : FILE
        Trials: .csv, .parquet or .jsonl.
    ratings : K
        Add a column rating: confidence in K ratings, by its quantiles.
    describe : FLAG
        Guess the meaning of columns and codes, with reasons, and write no file.
    columns : PAIRS
        Names of its columns: correct=ok,confidence=sure.
    path_columns : PATTERN
        Columns to read from the names of files: {model}_{set}.csv.
    delimiter : CHARACTER
        comma, semicolon, tab, bar or space. Default: detected.
    decimal : CHARACTER
        Decimal separator, comma or point. Default: point, or comma in columns in which all values
        have one.
    task : NAME
        Read this task, if the log has several.
    scorer : NAME
        Scorer that decides what is correct, or scorer/part. all: each score becomes a column, for
        hmetad judge.
    grades : PAIRS
        Meaning of scores, or of values of the column correct: no=false,yes=true or
        1=true,-1=false,0=abstained, which adds a column abstained.
    metric : NAME
        Metric that decides what is correct; or task=metric, one for each task. all: each metric
        becomes a column, for hmetad judge.
    threshold : X
        Score from which an answer is correct. Default: 1 is correct, 0 is an error.
    runs : WHICH
        Runs of a task to read: latest or all. Default: latest.
    answer_filter : NAME
        Filter of the answers; or task=filter, one for each task.
    answer_pattern : REGEX
        Extract the answer from each response, as the one group of the pattern.
    normalise : HOW
        Length by which the log-likelihood of an option is divided: none, characters or bytes.
        Default: none.
    field : NAME
        Field that states the confidence.
    confidence_from : PLACE
        Where confidence is: completion, score, metadata, store or logprobs.
    pattern : REGEX
        Extract confidence from a text, as the one group of the pattern.
    words : PAIRS
        Probabilities that words of confidence stand for: "very likely=0.9,unsure=0.5".
    scale : SCALE
        Scale of stated confidence: probability, percent, its maximum (10 for 0 to 10), or both
        ends (1,7).
    agreement : ANSWER
        For repeated answers: confidence is the proportion of answers to an item that agree with
        the modal answer (modal) or the graded one (graded).
    by : COLUMNS
        With --agreement: columns that, with the item, identify participant and question:
        model,set.
    workers : N
        Number of processes that read the files of a folder.
    """

    path: Annotated[Path, typer.Argument()]
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None
    ratings: int | None = None
    describe: bool = False
    columns: list[str] | None = None
    path_columns: str | None = None
    missing_codes: list[str] | None = None
    delimiter: str | None = None
    decimal: Literal["comma", "point"] | None = None
    task: str | None = None
    scorer: str | None = None
    grades: list[str] | None = None
    metric: str | None = None
    threshold: float | None = None
    runs: str | None = None
    answer_filter: str | None = None
    answer_pattern: str | None = None
    normalise: str | None = None
    field: str | None = None
    confidence_from: str | None = None
    pattern: str | None = None
    words: list[str] | None = None
    scale: str | None = None
    agreement: Literal["modal", "graded"] | None = None
    by: tuple[str, ...] = ()
    limit: list[str] | None = None
    workers: Annotated[int, typer.Option(min=1)] = 1


def fields_of(kind: str) -> list[str]:
    """Fields of the options of a kind of log: those of its reader, and of the answers in it."""
    own = [FIELDS.get(name, name) for name in READERS[kind].options]
    return [*SHARED, *(ANSWERS if "field" in own else ()), *own]


def named_kind(args: Sequence[str]) -> str:
    """Kind of the log that the first argument names."""
    first, *others = args
    if others and not others[0].startswith("-") and not Path(first).exists():
        kinds = (*READERS, "dataset")
        raise UnknownError("KIND", repr(first), f"one of {', '.join(kinds)}", nearest(first, kinds))
    return recognise_kind(Path(first))


def import_lm_eval(asked: Annotated[ImportOptions, fields_of("lm-eval")]) -> None:
    """Convert sample logs of lm-evaluation-harness to trials.

    Examples
    --------
    hmetad import lm-eval results/ -o trials.csv --ratings 4
    hmetad import lm-eval results/ -o trials.csv --answer-filter gsm8k=strict-match
    """
    import_trials("lm-eval", asked)


def import_inspect(asked: Annotated[ImportOptions, fields_of("inspect")]) -> None:
    """Convert logs of Inspect, .eval or .json, to trials.

    Examples
    --------
    hmetad import inspect logs/ -o trials.csv --field confidence
    hmetad import inspect epochs/ -o trials.csv --agreement modal
    """
    import_trials("inspect", asked)


def import_lighteval(asked: Annotated[ImportOptions, fields_of("lighteval")]) -> None:
    """Convert details of lighteval, .parquet, to trials.

    Examples
    --------
    hmetad import lighteval details/ -o trials.csv
    """
    import_trials("lighteval", asked)


def import_helm(asked: Annotated[ImportOptions, fields_of("helm")]) -> None:
    """Convert runs of HELM to trials.

    Examples
    --------
    hmetad import helm runs/ -o trials.csv
    """
    import_trials("helm", asked)


def import_matlab(asked: Annotated[ImportOptions, fields_of("matlab")]) -> None:
    """Convert Matlab files of HMeta-d, .mat, to trials.

    Examples
    --------
    hmetad import matlab data.mat -o trials.csv
    """
    import_trials("matlab", asked)


def import_table(asked: Annotated[ImportOptions, [*fields_of("table"), "describe"]]) -> None:
    """Convert tables to trials, or guess what their columns are.

    Examples
    --------
    hmetad import table raw.csv --columns correct=ok,confidence=sure -o trials.csv
    hmetad import table "answers/*.csv" -o trials.csv --grades yes=true,no=false
    hmetad import table "runs/*.csv" --path-columns "{model}_{set}.csv" -o trials.csv
    hmetad import table answers.csv -o trials.csv --agreement modal --by model,set
    hmetad import table experiment.sav --columns confidence=sure -o trials.csv
    hmetad import table "unknown/*.csv" --describe
    """
    if not asked.describe:
        import_trials("table", asked)
        return
    for name in sorted(asked.typed - {"path", "describe", "print_as", "as_json"}):
        path = quote(str(asked.path))
        step = f"Its trials are written by: hmetad import dataset {path} -o trials.csv."
        raise ConflictError(option_name(name), "--describe", next_step=step)
    found = rows_of(hmetad.datasets.describe(asked.path))
    asked.give(Answer((Listing(found, GUESSES, str(asked.path)),)))


def import_dataset(asked: Annotated[ImportOptions, SHARED]) -> None:
    """Fetch a public data set, and write its trials.

    Examples
    --------
    hmetad import dataset michael2026 -o trials.csv
    """
    import_trials("dataset", asked)


def import_trials(kind: str, asked: ImportOptions) -> None:
    """Read the trials of a kind of log, and write them."""
    if asked.output is None:
        step = "Add -o trials.csv; hmetad import table FILE --describe shows what a table has."
        raise OutputError("--output", "none", ", ".join(WRITERS), step)
    path = writable_file(asked.output, *WRITERS)
    refuse_inputs(path, asked.path, is_read=partial(is_read_as, kind))
    trials, notices = reshaped_trials(read_trials(kind, asked), asked)
    if asked.ratings is not None:
        if "confidence" not in trials or not trials["confidence"].notna().any():
            got = "no column 'confidence' with a value"
            step = "Name its place by --columns confidence=NAME, --field or --pattern."
            raise ColumnError("--ratings", got, "one to make ratings of", step)
        with warnings_said():
            trials["rating"] = hmetad.bin_confidence(trials["confidence"], asked.ratings)
    remarks = said_remarks(trials, kind, asked.path)
    write_together({path: WRITERS[path.suffix](trials)})
    filled = [
        {"column": str(name), "present": int(number), "missing": len(trials) - int(number)}
        for name, number in trials.notna().sum().items()
    ]
    listing = Listing(filled, COLUMNS, f"{len(trials)} trials")
    asked.give(Answer((listing,), notices, more={"trials": len(trials), **remarks}), [path])


def read_trials(kind: str, asked: ImportOptions) -> "pd.DataFrame":
    """Trials of a log, or of a public data set, read by one process or several."""
    with options_named(TYPED):
        if kind == "dataset":
            return hmetad.datasets.load_trials(str(asked.path))
        options = {}
        for name in (name for name in READERS[kind].options if name != "executor"):
            field = FIELDS.get(name, name)
            given = getattr(asked, field)
            if given is not None:
                is_parsed = name in PARSED
                options[name] = PARSED[name](option_name(field), given) if is_parsed else given
        read = partial(hmetad.logs.read_log, kind, asked.path, **options)
        if asked.workers == 1:
            return read()
        with Workers(asked.workers) as executor:
            return read(executor=executor)


def is_read_as(kind: str, name: str) -> bool:
    """Whether a file of a folder of logs or tables is read, as far as its name says."""
    own = kind_of_name(name)
    return own in ("table", None) if kind in ("table", "dataset") else own != "table"


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


def parse_values(
    option: str, given: list[str], read: Callable[[str], object], allowed: str
) -> dict[str, object]:
    """Names and values, each read by a function."""
    found = {}
    for name, value in (parse_pairs(option, given) or {}).items():
        try:
            found[name] = read(value)
        except (KeyError, ValueError) as error:
            raise ChoiceError(option, f"{name}={value}", allowed) from error
    return found


def parse_choices(option: str, given: str) -> str | dict[str, str] | None:
    """One choice for all tasks, or one for each: ``gsm8k=strict-match,arc=none``."""
    return parse_pairs(option, [given]) if "=" in given else given


def parse_scale(option: str, scale: str) -> Any:
    """Scale of stated confidence: its name, its top, or both ends."""
    if scale in SCALES:
        return scale
    try:
        ends = [float(end) for end in scale.split(",")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        allowed = f"{', '.join(SCALES)}, a number that is its top, or both ends such as 1,7"
        raise ChoiceError(option, repr(scale), allowed)
    return ends[0] if len(ends) == 1 else tuple(ends)


NUMBER_OF_EACH = "a number for each word, as in 'very likely=0.9,unsure=0.5'"
TRUTH_OF_EACH = "true, false or abstained for each grade, as in yes=true,no=false"
LIMIT_OF_EACH = "an integer for each limit, as in line=20000"
PARSED: dict[str, Callable[[str, Any], Any]] = {
    **{"answer_filter": parse_choices, "metric": parse_choices, "scale": parse_scale},
    "columns": parse_pairs,
    "words": partial(parse_values, read=float, allowed=NUMBER_OF_EACH),
    "grades": partial(parse_values, read=lambda word: MEANING[word.lower()], allowed=TRUTH_OF_EACH),
    "limits": partial(parse_values, read=int, allowed=LIMIT_OF_EACH),
    "missing_codes": lambda _, given: split(given),
}


def reshaped_trials(
    trials: "pd.DataFrame", asked: ImportOptions
) -> tuple["pd.DataFrame", list["Notice"]]:
    """Trials as read, or one row per item with its agreement, with the log's record; notices."""
    if asked.agreement is None:
        asked.refuse_idle(by="with --agreement")
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
    plain = trials.astype(object).where(trials.notna(), None)
    return "".join(f"{nested_json(row)}\n" for row in plain.to_dict("records"))


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
