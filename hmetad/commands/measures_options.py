"""Options of `hmetad measures`, each with its help.

Nothing → types of options, for the signature of the command.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "Cluster",
    "CommonItems",
    "Correct",
    "Correction",
    "Draws",
    "Expected",
    "FailIf",
    "FailUnless",
    "Interval",
    "MetaD",
    "MetaNoise",
    "Method",
    "Missing",
    "Output",
    "Over",
    "Rope",
    "Var",
]

Correct = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with right or wrong, where there is no stimulus."),
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Of intervals: draw these whole, such as item or subject."),
]
Over = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of --by whose levels a page or --fail-if compares; by default its first.",
    ),
]
CommonItems = Annotated[
    bool,
    typer.Option(
        "--common-items", help="Only the items that all compared levels of --over answered."
    ),
]
Missing = Annotated[
    Literal["drop", "wrong"],
    typer.Option(
        metavar="RULE",
        help="What has no answer: drop; or wrong, in accuracy, with the items that another "
        "compared level answered.",
    ),
]
Var = Annotated[
    str, typer.Option(metavar="NAME", help="Of --fail-if: the measure, such as auroc2.")
]
Rope = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Of --fail-if: differences that are negligible."),
]
FailIf = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help='With --interval, such as "new worse than old": the exit status is 1 where a '
        "verdict shows it, 3 where there is no verdict, else 0.",
    ),
]
FailUnless = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help='With --interval, such as "new not worse than old", which is non-inferiority: the '
        "exit status is 0 where the interval shows it, 3 where there is no verdict, else 1.",
    ),
]
Correction = Annotated[str, typer.Option(metavar="NAME", help="none, loglinear, cell or a number.")]
MetaD = Annotated[bool, typer.Option("--meta-d", help="Add meta-d′ by maximum likelihood.")]
Expected = Annotated[
    bool,
    typer.Option("--expected", help="Add what signal detection expects of type-2 measures."),
]
MetaNoise = Annotated[
    bool,
    typer.Option("--meta-noise", help="Add meta noise and meta-uncertainty (lognormal model)."),
]
Interval = Annotated[bool, typer.Option("--interval", help="Bootstrap intervals.")]
Method = Annotated[
    Literal["percentile", "basic", "bca"],
    typer.Option(
        metavar="NAME",
        help="Of intervals: percentile, basic (suits the information measures) or bca.",
    ),
]
Draws = Annotated[int, typer.Option(min=10, metavar="N", help="Bootstrap draws of each cell.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Rows: .csv, .json. Report: .html, .md, .tex, .docx. Draws, for hmetad compare: "
        ".nc, with --interval.",
    ),
]
