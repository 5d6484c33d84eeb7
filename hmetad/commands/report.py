"""The command that writes the report of fits.

Fit, or folder of fits → page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hmetad
from hmetad.base.errors import FileError, OutputError
from hmetad.commands.answer import (
    REPORTS,
    Answer,
    Listing,
    command_line,
    give,
    output_file,
    rows_of,
)
from hmetad.commands.fits import about_fits, are_resampled, fit_notices, read_fits
from hmetad.commands.options import Options, Output, parse_pairs
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.report.page.report import Report

__all__ = ["report"]


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """Fits, and what their page says.

    Parameters
    ----------
    file : FILE|DIR
        A fit (.nc), or a folder of fits.
    title : TEXT
        Title of the page. Default: from the model.
    question : TEXT
        Question that the page answers. Default: that of the model.
    label : NAME=WORDS
        Words for a column or level, such as group=Diagnosis; may be repeated.
    output : FILE
        Page: .html, .md, .tex, .docx or .json.
    as_json : flag
        Print the whole report as JSON.
    """

    file: Annotated[Path, typer.Argument()]
    title: str = ""
    question: str = ""
    label: list[str] | None = None
    output: Output = None
    as_json: Annotated[bool, typer.Option("--json")] = False


def report(asked: ReportOptions) -> None:
    """Write a report of one fit, or of all fits in a folder.

    Examples
    --------
    hmetad report fit.nc -o page.html --question "Who knows more?"
    hmetad report fits/ -o all.md
    hmetad report fit.nc --json
    """
    if asked.output is None and not asked.as_json:
        raise OutputError("--output", "nothing", "a file", "Write -o page.html, or --json.")
    paths = fits_in(asked.file)
    written = output_file(asked.output, (*REPORTS, ".json"), *paths.values())
    asked.refuse_idle(question="with one fit" if len(paths) > 1 else "")
    labels = parse_pairs("--label", asked.label) or {}
    fits = read_fits(paths)
    for name, fit in fits.items():
        if are_resampled(fit) and "formula" not in fit.attrs:
            where, got = str(paths[name]), "draws without a model card"
            step = "Decisions on it have a report: hmetad compare … -o page.html."
            raise FileError(where, got, "a fit of counts", step)
    if len(fits) == 1:
        words: dict[str, Any] = {
            "title": asked.title,
            "question": asked.question,
            "command": command_line(),
        }
        (fit,) = fits.values()
        page = hmetad.report.fit_report(fit, **words, labels=labels)
    else:
        pages = {name: hmetad.report.fit_report(fit, labels=labels) for name, fit in fits.items()}
        page = hmetad.report.combine_reports(asked.title or f"Fits in {asked.file.name}", pages)
    for path in written:
        page.save(path)
    if asked.as_json:
        give(whole(page, fits, paths, labels), "json", written)
    else:
        say(f"Written: {asked.output}")


def fits_in(file: Path) -> dict[str, Path]:
    """Path of each fit by its name: the fits in a folder, or the one that the path is."""
    inside = sorted(file.glob("*.nc")) if file.is_dir() else []
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
    # The fits have said them, and the object has them whole.
    return Answer((Listing(rows, {}),), fit_notices(fits), more=more, said=())
