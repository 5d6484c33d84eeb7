"""The command that compares models of confidence.

File of trials → which process made these ratings, on the terminal and as a report.
"""

from pathlib import Path
from typing import Annotated

import typer

import hmetad
from hmetad.commands.answer import (
    Answer,
    Listing,
    chosen_format,
    command_line,
    give,
    rows_of,
    write_answer,
)
from hmetad.commands.arguments import (
    DATA_FILES,
    REPORTS,
    given_options,
    parse_correction,
    refuse_idle,
    refuse_inputs,
    sampling_options,
    split,
    writable_file,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import (
    AsJson,
    Confidence,
    Draws,
    Labels,
    Levels,
    Limit,
    MissingCodes,
    PrintAs,
    Quantiles,
    QuantilesWithin,
    Ratings,
    Response,
    Seed,
    Stimulus,
    Trials,
)
from hmetad.errors import InputError
from hmetad.report.terminal import print_text, say

__all__ = ["EXAMPLES", "select"]

EXAMPLES = """
hmetad select trials.csv --by subject --difficulty level --quick -o report.html
hmetad select trials.csv --by subject --difficulty level -o report.html
hmetad select trials.csv --by participant --models sdt,gaussian_noise,meta_d --quick
"""
HEADINGS = {
    "model": "model",
    "elpd": "elpd",
    "aic": "AIC",
    "difference": "nats to best",
    "se": "SE",
    "best_for": "best for",
    "protected_exceedance": "prot. exceed.",
    "at_edge": "at an edge",
    "high_k": "k > .7",
}

# Options of this command alone.
Grouping = Annotated[
    str, typer.Option(metavar="COLUMN", help="The people; subject=column renames it.")
]
Difficulty = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Difficulty of the trial, where there are several."),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Models to compare, such as sdt,wev,meta_d; a wrong name lists them all.",
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Maximum likelihood and AIC: seconds, not minutes.")
]
Correction = Annotated[
    str, typer.Option(metavar="NAME", help="With --quick: none, loglinear, cell or a number.")
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


def select(
    context: typer.Context,
    file: Trials,
    by: Grouping,
    difficulty: Difficulty = None,
    models: Models = None,
    quick: Quick = False,
    stimulus: Stimulus = "stimulus",
    response: Response = "response",
    confidence: Confidence = "confidence",
    ratings: Ratings = None,
    levels: Levels = None,
    missing_codes: MissingCodes = None,
    quantiles: Quantiles = None,
    quantiles_within: QuantilesWithin = None,
    limit: Limit = None,
    labels: Labels = "",
    correction: Correction = "none",
    output: Output = None,
    seed: Seed = None,
    draws: Draws = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Count trials, fit models of confidence, and say which process made these ratings."""
    chosen = chosen_format(print_as, as_json)
    needs = {"draws": "it without --quick"} if quick else {"correction": "it beside --quick"}
    refuse_idle(context, **needs)
    path = None if output is None else writable_file(output, *DATA_FILES, *REPORTS)
    if path is not None:
        refuse_inputs(path, file)
    columns = [by, *([difficulty] if difficulty else [])]
    if "," in by:
        raise InputError("--by", repr(by), "one column, the people", "Name the other --difficulty.")
    counts = count_file(
        file, by=columns, stimulus=stimulus, response=response, confidence=confidence,
        ratings=ratings, levels=levels, missing_codes=missing_codes, quantiles=quantiles,
        quantiles_within=split(quantiles_within), limit=limit, labels=labels,
    )  # fmt: skip
    options = {} if quick else {**sampling_options(), **given_options(draws=draws)}
    found = hmetad.select.select_models(
        counts, split(models) or None, subject=by.partition("=")[0], difficulty=named(difficulty),
        quick=quick, correction=parse_correction(correction), seed=seed or 0, say=say, **options,
    )  # fmt: skip
    rows = rows_of(found.table.reset_index())
    shown = {name: title for name, title in HEADINGS.items() if name in rows[0]}
    title = f"Models of confidence, the best first ({found.method})"
    said = hmetad.report.conclusion(found)
    answer = Answer(
        (Listing(rows, shown, title),), found.notices, seed or 0, more={"conclusion": said}
    )
    if path is not None and path.suffix in DATA_FILES:
        write_answer(answer, path)
    elif path is not None:
        hmetad.report.selection_report(
            found, title=f"Models of confidence: {file.name}", command=command_line()
        ).save(path)
    give(answer, chosen, [] if path is None else [path])
    if chosen == "table":
        for paragraph in said:
            print_text(f"{paragraph}\n")


def named(column: str | None) -> str | None:
    """Name that a column gets: new=old renames one."""
    return None if column is None else column.partition("=")[0]
