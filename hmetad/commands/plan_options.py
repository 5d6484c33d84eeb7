"""Options of `hmetad plan`, each with its help.

Nothing → types of options, for the signature of the command.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hmetad.simulate.plan_questions import AskedQuestion

__all__ = [
    "BetweenSd",
    "Comparisons",
    "Cores",
    "CorrelationOfTasks",
    "Criterion",
    "Dprime",
    "DprimeSd",
    "Effect",
    "HalfWidth",
    "MRatio",
    "MetaCriterion",
    "NumberOfRatings",
    "Output",
    "Pilot",
    "Probability",
    "Question",
    "Resume",
    "Rope",
    "Studies",
    "Subjects",
    "TrialsOfACell",
]

TrialsOfACell = Annotated[
    str | None,
    typer.Option(
        metavar="N,…",
        help="Trials of a cell: of one subject, one condition; 100,200,400,800,1600, or 200 "
        "where people are planned for.",
    ),
]
MRatio = Annotated[
    str | None,
    typer.Option(
        metavar="M[,M]", help="True M of one condition, or of two to compare; 1,0.8 if none."
    ),
]
Dprime = Annotated[
    str | None,
    typer.Option(metavar="D[,D]", help="True d′, of all conditions or of each; 1.5."),
]
Criterion = Annotated[
    str | None,
    typer.Option("--criterion", metavar="C[,C]", help="True criterion c, likewise; 0."),
]
NumberOfRatings = Annotated[
    int | None, typer.Option(min=2, metavar="K", help="Number of ratings; 4.")
]
Subjects = Annotated[
    str | None,
    typer.Option(
        metavar="N[,N…]",
        help="Subjects, 1 if none; with several, their mean is judged. Several numbers, or "
        "--question, plan for people, 20,40,80 if none, and fit each study with a "
        "hierarchical model.",
    ),
]
BetweenSd = Annotated[float | None, typer.Option(metavar="SD", help="Of log M between subjects.")]
CorrelationOfTasks = Annotated[
    float | None,
    typer.Option(metavar="R", help="Of a subject's log M in the two conditions or tasks."),
]
Question = Annotated[
    AskedQuestion | None,
    typer.Option(
        metavar="WHAT",
        help="Of people: the mean of a group; the difference between two groups, or two tasks "
        "of the same people; the correlation between tasks; the slope on a covariate.",
    ),
]
Effect = Annotated[
    float | None,
    typer.Option(metavar="E", help="Of people: true difference, correlation or slope."),
]
DprimeSd = Annotated[
    float | None,
    typer.Option("--dprime-sd", metavar="SD", help="Of people: of d′ between them."),
]
Pilot = Annotated[
    Path | None,
    typer.Option(metavar="FIT", help="Of people: a fit that supplies parameters not given."),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Of people: keep the studies that are done there, and go on from them.",
    ),
]
Cores = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Of people: processes, one a CPU if none."),
]
Rope = Annotated[
    str | None,
    typer.Option(metavar="LOW,HIGH", help="What is negligible in log M: --rope=-0.05,0.05."),
]
Comparisons = Annotated[
    int, typer.Option(min=1, metavar="N", help="Comparisons to correct for (Bonferroni).")
]
MetaCriterion = Annotated[
    Literal["relative", "absolute"],
    typer.Option(metavar="RULE", help="relative, κ = M·c, or absolute, κ = c."),
]
Probability = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Say how many trials, or people, give the true verdict with this probability.",
    ),
]
HalfWidth = Annotated[
    float | None,
    typer.Option(
        metavar="W",
        help="Say how many trials, or people, give intervals with this half-width.",
    ),
]
Studies = Annotated[
    int | None,
    typer.Option(min=2, metavar="N", help="Studies simulated of each size; 1000, of people 100."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Rows: .csv or .json.")
]
