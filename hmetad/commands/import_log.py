"""The command that reads evaluation logs and public data sets.

Log, table or name of a data set → trials.csv.
"""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, give
from hmetad.commands.arguments import (
    given_options,
    options_named,
    parse_choices,
    parse_grades,
    parse_pairs,
    parse_scale,
    parse_words,
    refuse_inputs,
    writable_file,
)
from hmetad.commands.counting import chosen_limits, quantile_ratings
from hmetad.commands.options import Limit, MissingCodes, PrintOptions, split
from hmetad.commands.reshaping import Judged, Orders, Reshaping, reshaped_trials
from hmetad.commands.trial_files import WRITERS
from hmetad.errors import InputError, nearest
from hmetad.files import write_together
from hmetad.logs.kinds import READERS, kind_of_name, known_kinds, recognise_kind
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EXAMPLES", "ImportOptions", "import_log"]

# What can be read: kinds of logs, and public data sets.
KINDS = (*READERS, "dataset")

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
# Options that `hmetad.logs.read_log` takes as they are typed.
AS_TYPED = (
    *("task", "runs", "normalise", "answer_pattern", "scorer", "threshold", "key"),
    *("path_columns", "option_columns", "delimiter", "decimal", "field", "pattern"),
)


@dataclass(frozen=True, kw_only=True)
class ImportOptions(PrintOptions):
    """A log, what is read of it, and what is made of its trials.

    Parameters
    ----------
    output : FILE
        Trials: .csv, .parquet or .jsonl.
    ratings : K
        Add a column rating: K quantiles of confidence.
    task : NAME
        Task to read, of several.
    runs : WHICH
        Runs of a task: latest or all.
    answer_filter : NAME
        lm-eval: filter of answers, or task=filter for each.
    metric : NAME
        Metric that says what is right, or task=metric.
    normalise : HOW
        none, characters or bytes of an option.
    answer_pattern : REGEX
        Answer in each of several responses, as its group.
    scorer : NAME
        Inspect: scorer, or scorer/part.
    grades : PAIRS
        What is right, in Inspect and tables: P=false,yes=true.
    confidence_from : PLACE
        Inspect: completion, score, metadata, store or logprobs; promptfoo: output, scores,
        metadata, vars or logprobs.
    threshold : X
        Score from which on it is right.
    columns : PAIRS
        Table: name=column.
    wide : PAIRS
        Table with a row per item: correct={model}_ok.
    keep : COLUMNS
        Table: columns to keep with --wide or --option-pairs.
    key : FILE
        Table: an answer key, joined by the columns --on.
    on : COLUMNS
        Beside --key: columns that name the question.
    path_columns : PATTERN
        Table: columns in names of files: {model}_{set}.csv.
    option_columns : PATTERN
        Table: columns of probabilities, one for each option: p_{option}; confidence is that
        of the one chosen.
    delimiter : SIGN
        Table: comma, semicolon, tab, bar or space; else it is found.
    decimal : SIGN
        Table: comma or point in numbers; else point, or comma in columns where it is sure.
    option_pairs : ORDERS
        Multiple choice: the right option against each wrong one, both or listed.
    agreement : ANSWER
        Confidence as the share of answers to an item that agree with its modal or graded
        one.
    by : COLUMNS
        Beside --agreement or --option-pairs: columns that tell whose answers to which
        question they are, beside the item: model,set.
    field : NAME
        Field that states confidence.
    pattern : REGEX
        Confidence in a text, as its one group.
    words : PAIRS
        Words for it: "very likely=0.9,unsure=0.5".
    scale : SCALE
        probability, percent, its top (10), or both ends (1,7).
    workers : N
        Processes that read the files of a folder.
    """

    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help=f"[KIND] PATH: {', '.join(KINDS)}; and a log, a folder of them, a pattern of "
            "tables, or a data set's name. Without KIND the name of the file says it.",
        ),
    ]
    output: Annotated[Path, typer.Option("--output", "-o")]
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
    wide: list[str] | None = None
    keep: tuple[str, ...] = ()
    key: Path | None = None
    on: tuple[str, ...] = ()
    path_columns: str | None = None
    option_columns: str | None = None
    delimiter: str | None = None
    decimal: Literal["comma", "point"] | None = None
    option_pairs: Orders | None = None
    agreement: Judged | None = None
    by: tuple[str, ...] = ()
    field: str | None = None
    pattern: str | None = None
    words: list[str] | None = None
    scale: str | None = None
    workers: Annotated[int, typer.Option(min=1)] = 1
    limit: Limit = None


def import_log(asked: ImportOptions) -> None:
    """Read an evaluation log or a public data set as trials."""
    chosen = asked.format
    path = writable_file(asked.output, *WRITERS)
    kind, source = kind_and_path(asked.log)
    refuse_inputs(path, source, is_read=partial(is_read_as, kind))
    refuse_inputs(path, *([] if asked.key is None else [asked.key]))
    by = [*asked.by] or None
    reshaping = Reshaping(asked.option_pairs, asked.agreement, by, [*asked.keep])
    with reading_processes(asked.workers) as executor:
        options = reader_options(asked) | given_options(executor=executor)
        read = read_trials(kind, source, options)
    trials, notices = reshaped_trials(read, reshaping)
    if asked.ratings is not None:
        trials["rating"] = quantile_ratings(confidence_of(trials), asked.ratings)
    remarks = said_remarks(trials, kind, source)
    write_together({path: WRITERS[path.suffix](trials)})
    listing = Listing(filled_columns(trials), COLUMNS, f"{len(trials)} trials")
    more = {"trials": len(trials), **remarks}
    give(Answer((listing,), notices, more=more), chosen, [path])


def reader_options(asked: ImportOptions) -> dict[str, Any]:
    """Options of `hmetad.logs.read_log` that were given, as it takes them."""
    as_typed = {name: getattr(asked, name) for name in AS_TYPED}
    return given_options(
        **as_typed,
        answer_filter=parse_choices("--answer-filter", asked.answer_filter),
        metric=parse_choices("--metric", asked.metric),
        grades=parse_grades(asked.grades),
        source=asked.confidence_from,
        missing_codes=split(asked.missing_codes) or None,
        columns=parse_pairs("--columns", asked.columns),
        wide=parse_pairs("--wide", asked.wide),
        keep=[*asked.keep] or None,
        on=[*asked.on] or None,
        words=parse_words(asked.words),
        scale=parse_scale(asked.scale),
        limits=chosen_limits(asked.limit),
    )


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
