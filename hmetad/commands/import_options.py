"""Options of `hmetad import`, each with its help.

Nothing → types of options, for the signature of the command.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hmetad.commands.reshaping import Judged, Orders
from hmetad.logs.kinds import READERS

__all__ = [
    "KINDS",
    "Agreement",
    "AnswerFilter",
    "AnswerKey",
    "AnswerPattern",
    "AnswersBy",
    "ConfidenceFrom",
    "Decimal",
    "Delimiter",
    "Field",
    "Grades",
    "KeptColumns",
    "KeyColumns",
    "Log",
    "Metric",
    "NamedColumns",
    "Normalise",
    "OptionColumns",
    "OptionPairs",
    "Output",
    "PathColumns",
    "Pattern",
    "Ratings",
    "Runs",
    "Scale",
    "Scorer",
    "Task",
    "Threshold",
    "Wide",
    "Words",
    "Workers",
]

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
