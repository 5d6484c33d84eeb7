"""The command for every measure that needs no posterior.

File of trials → measures by cell, on the terminal and as a table or report.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

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
    as_seed,
    parse_correction,
    refuse_inputs,
    split,
    writable_file,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import (
    AsJson,
    By,
    CiProb,
    Confidence,
    Labels,
    Limit,
    PrintAs,
    Quantiles,
    QuantilesWithin,
    Ratings,
    Response,
    Seed,
    Stimulus,
    Trials,
)
from hmetad.results import results
from hmetad.text.names import column_name

__all__ = ["EXAMPLES", "measures"]

EXAMPLES = """
hmetad measures trials.csv --by model,task --meta-d -o measures.csv
hmetad measures trials.csv --by model --quantiles 4 --interval -o page.html
hmetad measures answers.csv --by model --correct correct --quantiles 4
"""


def measures(
    file: Trials,
    by: By = None,
    stimulus: Stimulus = "stimulus",
    response: Response = "response",
    confidence: Confidence = "confidence",
    correct: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with right or wrong, where there is no stimulus."
        ),
    ] = None,
    ratings: Ratings = None,
    quantiles: Quantiles = None,
    quantiles_within: QuantilesWithin = None,
    limit: Limit = None,
    labels: Labels = "",
    correction: Annotated[
        str, typer.Option(metavar="NAME", help="none, loglinear, cell or a number.")
    ] = "none",
    meta_d: Annotated[
        bool, typer.Option("--meta-d", help="Add meta-d′ by maximum likelihood.")
    ] = False,
    expected: Annotated[
        bool,
        typer.Option("--expected", help="Add what signal detection expects of type-2 measures."),
    ] = False,
    meta_noise: Annotated[
        bool,
        typer.Option("--meta-noise", help="Add meta noise and meta-uncertainty (lognormal model)."),
    ] = False,
    interval: Annotated[bool, typer.Option("--interval", help="Bootstrap intervals.")] = False,
    method: Annotated[
        Literal["percentile", "basic", "bca"],
        typer.Option(
            metavar="NAME",
            help="Of intervals: percentile, basic (suits the information measures) or bca.",
        ),
    ] = "percentile",
    draws: Annotated[
        int, typer.Option(min=10, metavar="N", help="Bootstrap draws of each cell.")
    ] = 1000,
    ci_prob: CiProb = 0.95,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Rows: .csv, .json. Report: .html, .md, .tex, .docx.",
        ),
    ] = None,
    seed: Seed = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Count trials, and compute all measures that need no posterior."""
    chosen = chosen_format(print_as, as_json)
    path = None if output is None else writable_file(output, *DATA_FILES, *REPORTS)
    if path is not None:
        refuse_inputs(path, file)
    counts = count_file(
        file,
        by=by,
        stimulus=stimulus,
        response=response,
        confidence=confidence,
        correct=correct,
        ratings=ratings,
        quantiles=quantiles,
        quantiles_within=split(quantiles_within),
        limit=limit,
        labels=labels,
    )
    statistic = partial(
        hmetad.measure,
        correction=parse_correction(correction),
        meta_d=meta_d,
        expected=expected,
        meta_noise=meta_noise,
        errors=not interval,
    )
    again = command_line()
    if interval:
        result = hmetad.resample_interval(
            counts, statistic, n=draws, ci_prob=ci_prob, method=method, seed=seed
        )
        again += "" if seed is not None else f" --seed {result.attrs['seed']}"
    else:
        result = statistic(counts)
    rows = rows_of(hmetad.report.estimate_table(result))
    shown = {name: title for name, title in columns().items() if name in rows[0]}
    listing = Listing(rows, shown, "Measures; all of them by -o table.csv or --json")
    said = {"intervals": {"method": method, "ci_prob": ci_prob, "draws": draws}} if interval else {}
    drawn = as_seed(result.attrs["seed"]) if interval else None
    answer = Answer((listing,), hmetad.notices(result), drawn, more=said)
    if path is not None and path.suffix in DATA_FILES:
        write_answer(answer, path)
    elif path is not None:
        title = f"Measures of {file.name}"
        hmetad.report.measures_report(counts, result, title=title, command=again).save(path)
    give(answer, chosen, [] if path is None else [path])


def columns() -> dict[str, str]:
    """Columns that a terminal shows, and their headings."""
    shown = {name: column_name(name) for name in ("cell", "trials", "share_right")}
    for result in results():
        if result.terminal:
            shown[result.name] = column_name(result.name)
        if result.terminal == "interval":
            shown |= {f"{result.name}_lower": "from", f"{result.name}_upper": "to"}
    return shown
