"""The command that compares models of confidence.

File of trials → which process made these ratings, on the terminal and as a report.
"""

from dataclasses import dataclass
from typing import Annotated

import typer

import hmetad
from hmetad.commands.answer import (
    Answer,
    Listing,
    command_line,
    give,
    rows_of,
    write_answer,
)
from hmetad.commands.arguments import (
    DATA_FILES,
    REPORTS,
    given_options,
    output_file,
    parse_correction,
    sampling_options,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import Output, TrialOptions
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


@dataclass(frozen=True, kw_only=True)
class SelectOptions(TrialOptions):
    """Trials of people, the models to compare, and how they are fitted.

    Parameters
    ----------
    by : COLUMN
        The people; subject=column renames it.
    difficulty : COLUMN
        Difficulty of the trial, where there are several.
    models : NAMES
        Models to compare, such as sdt,wev,meta_d; a wrong name lists them all.
    quick : flag
        Maximum likelihood and AIC: seconds, not minutes.
    correction : NAME
        With --quick: none, loglinear, cell or a number.
    draws : N
        Posterior draws of each chain; 1000 unless given.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx.
    """

    by: str
    difficulty: str | None = None
    models: tuple[str, ...] = ()
    quick: bool = False
    correction: str = "none"
    draws: Annotated[int | None, typer.Option(min=4)] = None
    output: Output = None


def select(asked: SelectOptions) -> None:
    """Count trials, fit models of confidence, and say which process made these ratings."""
    chosen, seed = asked.format, asked.seed or 0
    needs = {"draws": "it without --quick"} if asked.quick else {"correction": "it beside --quick"}
    asked.refuse_idle(**needs)
    written = output_file(asked.output, (*DATA_FILES, *REPORTS), asked.file)
    if "," in asked.by:
        step = "Name the other --difficulty."
        raise InputError("--by", repr(asked.by), "one column, the people", step)
    counts = count_file(asked, [asked.by, asked.difficulty or ""])
    options = {} if asked.quick else {**sampling_options(), **given_options(draws=asked.draws)}
    found = hmetad.select.select_models(
        counts,
        [*asked.models] or None,
        subject=named(asked.by),
        difficulty=None if asked.difficulty is None else named(asked.difficulty),
        quick=asked.quick,
        correction=parse_correction(asked.correction),
        seed=seed,
        say=say,
        **options,
    )
    rows = rows_of(found.table.reset_index())
    shown = {name: title for name, title in HEADINGS.items() if name in rows[0]}
    title = f"Models of confidence, the best first ({found.method})"
    said = hmetad.report.conclusion(found)
    answer = Answer((Listing(rows, shown, title),), found.notices, seed, more={"conclusion": said})
    for path in written:
        if path.suffix in DATA_FILES:
            write_answer(answer, path)
        else:
            title = f"Models of confidence: {asked.file.name}"
            page = hmetad.report.selection_report(found, title=title, command=command_line())
            page.save(path)
    give(answer, chosen, written)
    if chosen == "table":
        for paragraph in said:
            print_text(f"{paragraph}\n")


def named(column: str) -> str:
    """Name that a column gets: new=old renames one."""
    return column.partition("=")[0]
