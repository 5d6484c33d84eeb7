"""The command that reads evaluation logs and public data sets.

Log, table or name of a data set → trials.csv.
"""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, chosen_format, give
from hmetad.commands.arguments import (
    given_options,
    options_named,
    parse_choices,
    parse_grades,
    parse_pairs,
    parse_scale,
    parse_words,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.counting import chosen_limits, quantile_ratings
from hmetad.commands.options import AsJson, Limit, MissingCodes, PrintAs
from hmetad.commands.reshaping import Judged, Orders, Reshaping, reshaped_trials
from hmetad.commands.trial_files import WRITERS
from hmetad.errors import InputError, nearest
from hmetad.files import write_together
from hmetad.logs.kinds import READERS, kind_of_name, known_kinds, recognise_kind
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXAMPLES", "import_log"]

# What can be read: kinds of logs, and public data sets.
KINDS = (*READERS, "dataset")

Log = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG",
        help=f"[KIND] PATH: {', '.join(KINDS)}; and a log, a folder of them, a pattern of "
        "tables, or a data set's name. Without KIND the name of the file says it.",
    ),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Trials: .csv, .parquet or .jsonl."),
]
Ratings = Annotated[
    int | None,
    typer.Option(metavar="K", help="Add a column rating: K quantiles of confidence."),
]
Task = Annotated[str | None, typer.Option(metavar="NAME", help="Task to read, of several.")]
Runs = Annotated[str | None, typer.Option(metavar="WHICH", help="Runs of a task: latest or all.")]
AnswerFilter = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="lm-eval: filter of answers, or task=filter for each."),
]
Metric = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Metric that says what is right, or task=metric."),
]
Normalise = Annotated[
    str | None,
    typer.Option(metavar="HOW", help="none, characters or bytes of an option."),
]
AnswerPattern = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="Answer in each of several responses, as its group."),
]
Scorer = Annotated[
    str | None, typer.Option(metavar="NAME", help="Inspect: scorer, or scorer/part.")
]
Grades = Annotated[
    list[str] | None,
    typer.Option(metavar="PAIRS", help="What is right, in Inspect and tables: P=false,yes=true."),
]
ConfidenceFrom = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="Inspect: completion, score, metadata, store or logprobs; promptfoo: output, "
        "scores, metadata, vars or logprobs.",
    ),
]
Threshold = Annotated[
    float | None, typer.Option(metavar="X", help="Score from which on it is right.")
]
NamedColumns = Annotated[
    list[str] | None, typer.Option(metavar="PAIRS", help="Table: name=column.")
]
Wide = Annotated[
    list[str] | None,
    typer.Option(metavar="PAIRS", help="Table with a row per item: correct={model}_ok."),
]
KeptColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Table: columns to keep with --wide or --option-pairs."),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN", help="Table: comma, semicolon, tab, bar or space; else it is found."
    ),
]
Decimal = Annotated[
    Literal["comma", "point"] | None,
    typer.Option(
        metavar="SIGN",
        help="Table: comma or point in numbers; else point, or comma in columns where it is sure.",
    ),
]
AnswerKey = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="Table: an answer key, joined by the columns --on."),
]
KeyColumns = Annotated[
    list[str] | None,
    typer.Option("--on", metavar="COLUMNS", help="Beside --key: columns that name the question."),
]
PathColumns = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="Table: columns in names of files: {model}_{set}.csv."),
]
OptionColumns = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Table: columns of probabilities, one for each option: p_{option}; confidence is that "
        "of the one chosen.",
    ),
]
OptionPairs = Annotated[
    Orders | None,
    typer.Option(
        metavar="ORDERS",
        help="Multiple choice: the right option against each wrong one, both or listed.",
    ),
]
Agreement = Annotated[
    Judged | None,
    typer.Option(
        metavar="ANSWER",
        help="Confidence as the share of answers to an item that agree with its modal or "
        "graded one.",
    ),
]
AnswersBy = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMNS",
        help="Beside --agreement or --option-pairs: columns that tell whose answers to which "
        "question they are, beside the item: model,set.",
    ),
]
Field = Annotated[str | None, typer.Option(metavar="NAME", help="Field that states confidence.")]
Pattern = Annotated[
    str | None, typer.Option(metavar="REGEX", help="Confidence in a text, as its one group.")
]
Words = Annotated[
    list[str] | None,
    typer.Option(metavar="PAIRS", help='Words for it: "very likely=0.9,unsure=0.5".'),
]
Scale = Annotated[
    str | None,
    typer.Option(metavar="SCALE", help="probability, percent, its top (10), or both ends (1,7)."),
]
Workers = Annotated[
    int,
    typer.Option(min=1, metavar="N", help="Processes that read the files of a folder."),
]

EXAMPLES = """
hmetad import lm-eval results/ -o trials.csv --ratings 4
hmetad import inspect logs/ -o trials.csv --field confidence
hmetad import table raw.csv --columns correct=ok,confidence=sure -o trials.csv
hmetad import run.eval -o trials.csv
hmetad import helm runs/ -o pairs.csv --option-pairs both
hmetad import inspect epochs/ -o trials.csv --agreement modal
hmetad import table answers.csv -o trials.csv --agreement modal --by model,set
hmetad import table "answers/*.csv" -o trials.csv --grades yes=true,no=false
hmetad import table "runs/*.csv" --path-columns "{model}_{set}.csv" --key key.csv --on item -o t.csv
hmetad import dataset michael2026 -o trials.csv
"""
REMARKS = (
    "filters",
    "delimiter",
    "decimal_commas",
    "undecided_commas",
    "options",
    "rejected",
    "duplicates",
    "unfinished",
    "examples",
)
# Arguments that are typed by another name, since PATH is the command's source.
TYPED = {"source": "--confidence-from", "limits": "--limit", "confidence": "--columns"}
TYPED |= {"name": "PATH", "kind": "KIND", "executor": "--workers"}
# A table that has neither may be the log of another tool.
JUDGED = ("correct", "confidence")
COLUMNS = {"column": "column", "present": "present", "missing": "missing"}


def import_log(
    log: Log,
    output: Output,
    ratings: Ratings = None,
    task: Task = None,
    runs: Runs = None,
    answer_filter: AnswerFilter = None,
    metric: Metric = None,
    normalise: Normalise = None,
    answer_pattern: AnswerPattern = None,
    scorer: Scorer = None,
    grades: Grades = None,
    confidence_from: ConfidenceFrom = None,
    threshold: Threshold = None,
    missing_codes: MissingCodes = None,
    columns: NamedColumns = None,
    wide: Wide = None,
    keep: KeptColumns = None,
    key: AnswerKey = None,
    on: KeyColumns = None,
    path_columns: PathColumns = None,
    option_columns: OptionColumns = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    option_pairs: OptionPairs = None,
    agreement: Agreement = None,
    by: AnswersBy = None,
    field: Field = None,
    pattern: Pattern = None,
    words: Words = None,
    scale: Scale = None,
    workers: Workers = 1,
    limit: Limit = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Read an evaluation log or a public data set as trials."""
    chosen = chosen_format(print_as, as_json)
    path = writable_file(output, *WRITERS)
    kind, source = kind_and_path(log)
    refuse_inputs(path, source, is_read=partial(is_read_as, kind))
    refuse_inputs(path, *([] if key is None else [key]))
    asked = Reshaping(option_pairs, agreement, None if by is None else split(by), split(keep))
    options = given_options(
        task=task,
        runs=runs,
        answer_filter=parse_choices("--answer-filter", answer_filter),
        metric=parse_choices("--metric", metric),
        normalise=normalise,
        answer_pattern=answer_pattern,
        scorer=scorer,
        grades=parse_grades(grades),
        source=confidence_from,
        threshold=threshold,
        missing_codes=split(missing_codes) or None,
        columns=parse_pairs("--columns", columns),
        wide=parse_pairs("--wide", wide),
        keep=split(keep) or None,
        key=key,
        on=split(on) or None,
        path_columns=path_columns,
        option_columns=option_columns,
        delimiter=delimiter,
        decimal=decimal,
        field=field,
        pattern=pattern,
        words=parse_words(words),
        scale=parse_scale(scale),
        limits=chosen_limits(limit),
    )
    with reading_processes(workers) as executor:
        read = read_trials(kind, source, options | given_options(executor=executor))
    trials, notices = reshaped_trials(read, asked)
    if ratings is not None:
        trials["rating"] = quantile_ratings(confidence_of(trials), ratings)
    remarks = said_remarks(trials, kind, source)
    write_together({path: WRITERS[path.suffix](trials)})
    listing = Listing(filled_columns(trials), COLUMNS, f"{len(trials)} trials")
    more = {"trials": len(trials), **remarks}
    give(Answer((listing,), notices, more=more), chosen, [path])


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
        raise InputError(
            "PATH", f"none, for kind {path!r}", "a log, a folder, or a data set's name"
        )
    if kind == "auto":
        return recognise_kind(Path(path)), Path(path)
    if kind not in KINDS:
        raise InputError("KIND", repr(kind), f"one of {', '.join(KINDS)}", nearest(kind, KINDS))
    return kind, Path(path)


@contextmanager
def reading_processes(number: int) -> Iterator[ProcessPoolExecutor | None]:
    """Executor of some processes; None where this one alone reads."""
    if number == 1:
        yield None
        return
    # A process that has threads must not be forked.
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as executor:
        yield executor


def read_trials(kind: str, source: Path, options: Mapping[str, Any]) -> "pd.DataFrame":
    """Trials of a log, or of a public data set."""
    own = READERS[kind].options if kind in READERS else ()
    for name in (name for name in options if name not in own):
        allowed = ", ".join(map(flag, own)) or "no option for a data set"
        raise InputError(flag(name), f"an option that {kind} does not have", allowed)
    with options_named(TYPED):
        if kind == "dataset":
            return hmetad.datasets.load_trials(str(source))
        return hmetad.logs.read_log(kind, source, **options)


def flag(name: str) -> str:
    """Option of `read_log` as it is typed."""
    return TYPED.get(name, f"--{name.replace('_', '-')}")


def confidence_of(trials: "pd.DataFrame") -> "pd.Series":
    """Column that ratings are made of."""
    if "confidence" not in trials:
        step = "Name it by --columns confidence=NAME; for a wide table by --wide."
        raise InputError("--ratings", "no column 'confidence'", "one to make ratings of", step)
    return trials["confidence"]


def filled_columns(trials: "pd.DataFrame") -> list[dict[str, Any]]:
    """Columns of the trials, and how many values each has and lacks."""
    present = trials.notna().sum()
    return [
        {"column": str(name), "present": int(number), "missing": len(trials) - int(number)}
        for name, number in present.items()
    ]
