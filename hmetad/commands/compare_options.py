"""Options of `hmetad compare`, each with its help.

Nothing → types of options, for the signature of the command.
"""

from pathlib import Path
from typing import Annotated

import typer

from hmetad.commands.options import Kind, PoolWeights

__all__ = [
    "Against",
    "Bonferroni",
    "ContrastKind",
    "FailIf",
    "FailUnless",
    "Files",
    "Matrix",
    "New",
    "Null",
    "Output",
    "Over",
    "Pool",
    "Population",
    "Rank",
    "Rope",
    "Sensitivity",
    "Var",
    "Weights",
    "Within",
    "Without",
]

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Fits of hmetad fit, or draws of hmetad measures; name=file.nc gives one of "
        "several a name.",
    ),
]
Over = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Levels to compare; to compare several fits, any name. Without "
        "it the quantity itself is judged.",
    ),
]
Rope = Annotated[
    str | None,
    typer.Option(metavar="LOW,HIGH", help="What is negligible, as in --rope=-0.05,0.05."),
]
Var = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Quantity: m_ratio, dprime, log_m_task …, or a measure that the model predicts, "
        "as auroc2; by default log_m, or what the likelihood of the fit is about.",
    ),
]
Population = Annotated[
    bool,
    typer.Option("--population", help="Compare conditions of the population instead of the cells."),
]
New = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Predict for a new level of these columns, such as a set of items that nobody has "
        "answered; of fits of hmetad estimates.",
    ),
]
Within = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns that are equal in both cells of a pair."),
]
Pool = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Pool contrasts over the levels of these columns, such as sets of items.",
    ),
]
Weights = Annotated[
    PoolWeights,
    typer.Option(metavar="RULE", help="What a pooled level weighs: equal, or trials."),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against", "--reference", metavar="LEVEL", help="Compare all others with this one."
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(metavar="LEVEL", help="Leave this level of --over out; may be repeated."),
]
Matrix = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Your own weights: a row per contrast, its name first, a column per level.",
    ),
]
ContrastKind = Annotated[
    Kind,
    typer.Option(
        metavar="KIND",
        help="difference; log_ratio; or superiority, P(left > right), without a ROPE.",
    ),
]
Null = Annotated[float, typer.Option(metavar="X", help="Value of no effect.")]
Bonferroni = Annotated[
    bool, typer.Option("--bonferroni", help="Correct for the number of contrasts.")
]
Rank = Annotated[bool, typer.Option("--rank", help="Also rank the levels.")]
Sensitivity = Annotated[
    bool | None,
    typer.Option(
        "--sensitivity/--no-sensitivity",
        help="Fit again with the other κ, other priors and fewer ratings, and decide; a report "
        "does so unless told not to, or the fit has thousands of cells.",
    ),
]
FailIf = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help='Such as "new worse than old": the exit status is 1 where a verdict shows it, 3 '
        "where there is no verdict, else 0.",
    ),
]
FailUnless = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help='Such as "new not worse than old", which is non-inferiority: the exit status is 0 '
        "where the interval shows it, 3 where there is no verdict, else 1.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Rows: .csv, .json. Report: .html, .md, .tex, .docx.",
    ),
]
