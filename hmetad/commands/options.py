"""Options that several commands share, each defined once.

Nothing → types of options, for the signatures of commands.
"""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

__all__ = [
    "AsJson",
    "By",
    "CiKind",
    "CiProb",
    "Confidence",
    "Draws",
    "Format",
    "Kind",
    "Labels",
    "Levels",
    "Limit",
    "MissingCodes",
    "PoolWeights",
    "PrintAs",
    "Quantiles",
    "QuantilesWithin",
    "Ratings",
    "Response",
    "Seed",
    "Stimulus",
    "TargetAccept",
    "Trials",
]

Format = Literal["table", "json", "csv", "markdown", "latex"]
Kind = Literal["difference", "log_ratio", "superiority"]
PoolWeights = Literal["equal", "trials"]

Trials = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Trials: .csv, .tsv, .jsonl or .parquet; a folder of them; or 'a quoted/*.pattern'.",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns whose combinations are cells, comma-separated; subject=column renames one.",
    ),
]
Stimulus = Annotated[str, typer.Option(metavar="COLUMN", help="What was shown.")]
Response = Annotated[str, typer.Option(metavar="COLUMN", help="What was answered.")]
Confidence = Annotated[str, typer.Option(metavar="COLUMN", help="Ratings 1 to K.")]
Ratings = Annotated[
    int | None,
    typer.Option(metavar="K", help="Number of ratings; by default the largest rating in the file."),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUES",
        help="Values of confidence that are not 1 to K, the least confident first: 0,1,2,3 or "
        "guess,unsure,sure.",
    ),
]
MissingCodes = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUES", help="Codes that stand for a missing answer: 999,-1."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=N", help="Read larger files: set a limit that an error named."),
]
Quantiles = Annotated[
    int | None, typer.Option(metavar="K", help="Make K ratings from continuous confidence.")
]
QuantilesWithin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Take the quantiles within each level of these columns, such as model; not for "
        "models of people who differ.",
    ),
]
Labels = Annotated[
    str, typer.Option(metavar="S1,S2", help="Labels of the stimuli; by default in sorted order.")
]
Draws = Annotated[
    int | None,
    typer.Option(
        min=4,
        metavar="N",
        help="Posterior draws of each chain; by default 1000, or those of the study.",
    ),
]
TargetAccept = Annotated[
    float | None,
    typer.Option(
        min=0.5,
        max=0.999,
        metavar="P",
        help="Target acceptance of chains; raise it against divergences. 0.8 unless given.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Same seed, same draws (same versions and caches)."),
]
CiProb = Annotated[float, typer.Option(metavar="P", help="Probability of the intervals.")]
CiKind = Annotated[
    Literal["eti", "hdi"],
    typer.Option(metavar="KIND", help="Intervals: eti, equal-tailed, or hdi, highest-density."),
]
PrintAs = Annotated[
    Format | None,
    typer.Option(
        "--format", metavar="FORMAT", help=f"What is printed: {', '.join(get_args(Format))}."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
