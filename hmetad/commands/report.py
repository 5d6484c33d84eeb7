"""The command that writes the report of fits.

Fit, or folder of fits → page.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, command_line, give, rows_of
from hmetad.commands.arguments import (
    REPORTS,
    STORE,
    parse_pairs,
    refuse_idle,
    refuse_inputs,
    writable_file,
)
from hmetad.commands.draws import are_resampled
from hmetad.commands.fits import about_fits, fit_notices, read_fits
from hmetad.errors import InputError
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.report.page.report import Report

__all__ = ["EXAMPLES", "report"]

EXAMPLES = """
hmetad report fit.nc -o page.html --question "Who knows more?"
hmetad report fits/ -o all.md
hmetad report fit.nc --json
"""


def report(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE|DIR", help="A fit, a folder of draws, or a folder of fits."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Page: .html, .md, .tex, .docx or .json."
        ),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Heading of the page.")] = "",
    question: Annotated[str, typer.Option(metavar="TEXT", help="What the page answers.")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=WORDS", help="Words for columns and levels: group=Diagnosis."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole report as JSON.")
    ] = False,
) -> None:
    """Write the report of a fit, of a folder of draws, or of all fits (.nc) in a folder."""
    path = None if output is None else writable_file(output, *REPORTS, ".json")
    if path is None and not as_json:
        raise InputError("--output", "nothing", "a file", "Write -o page.html, or --json.")
    paths = fits_in(file)
    if path is not None:
        refuse_inputs(path, *paths.values())
    refuse_idle(context, question="it beside one fit" if len(paths) > 1 else "")
    labels = parse_pairs("--label", label) or {}
    fits = read_fits(paths)
    for name, fit in fits.items():
        if are_resampled(fit) and "formula" not in fit.attrs:
            step = "Decisions on it have a report: hmetad compare … -o page.html."
            raise InputError(
                str(paths[name]), "draws without a model card", "a fit of counts", step
            )
    if len(fits) == 1:
        fit = next(iter(fits.values()))
        page = hmetad.report.fit_report(
            fit, title=title, question=question, command=command_line(), labels=labels
        )
    else:
        pages = {name: hmetad.report.fit_report(fit, labels=labels) for name, fit in fits.items()}
        page = hmetad.report.combine_reports(title or f"Fits in {file.name}", pages)
    if path is not None:
        page.save(path)
    if as_json:
        give(whole(page, fits, paths, labels), "json", [] if path is None else [path])
    else:
        say(f"Written: {path}")


def fits_in(file: Path) -> dict[str, Path]:
    """Path of each fit by its name: the fits in a folder, or the one that the path is."""
    is_store = any((file / name).exists() for name in STORE)
    inside = sorted(file.glob("*.nc")) if file.is_dir() and not is_store else []
    return {path.stem: path for path in inside or [file]}


def whole(
    page: "Report",
    fits: Mapping[str, "xr.DataTree"],
    paths: Mapping[str, Path],
    labels: Mapping[str, str],
) -> Answer:
    """The report as an answer: estimates and population of fits, and all that is on the page."""
    rows = [
        {"fit": name, **row}
        for name, fit in fits.items()
        for row in rows_of(hmetad.report.estimate_table(fit))
    ]
    population = [
        {"fit": name, **row}
        for name, fit in fits.items()
        if are_resampled(fit) or hmetad.bayes.spec_of(fit).formula
        for row in rows_of(hmetad.report.population_table(fit, labels=labels))
    ]
    more = {**about_fits(fits, paths), "population": population, "report": page.to_dict()}
    return Answer((Listing(rows, {}),), fit_notices(fits), more=more)
