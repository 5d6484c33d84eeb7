"""Fits from files, each under a name, and the commands that show what a fit has.

Paths → fits by name; fits → draws to compare, their notices, seeds and versions, and their report.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hmetad
from hmetad.base.errors import (
    ChoiceError,
    FileError,
    InputError,
    OutputError,
    RepeatError,
    UnknownError,
    nearest,
)
from hmetad.base.notice_registry import about_alone, codes, repeat_in_comparison
from hmetad.base.results import about as about_quantity
from hmetad.base.untrusted import read_attr
from hmetad.base.variable_roles import is_dim_of
from hmetad.commands.answer import (
    REPORTS,
    SEVERITIES,
    Answer,
    Listing,
    Output,
    PrintOptions,
    as_seed,
    command_line,
    output_file,
    rows_of,
    writable_folder,
)
from hmetad.commands.options import parse_pairs, sampling_options
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

    from hmetad.base.notice import Notice
    from hmetad.report.page.report import Report

DRAWS_FILE = ".nc"
type Fits = Mapping[str, "xr.DataTree"]


def are_resampled(source: "xr.DataTree") -> bool:
    """Whether draws are of resampling, or of a model of estimates, and of no fit of counts."""
    return "spec" not in source.attrs or "formula" in source.attrs


def named_fits(files: Sequence[str]) -> dict[str, Path]:
    """Path of each fit by its name: of ``name=file.nc`` that, else the stem of the file.

    Raises
    ------
    InputError
        If two have one name, or a name or a file is empty.
    """
    named: dict[str, Path] = {}
    for file in files:
        name, sign, path = ("", "", file) if Path(file).exists() else file.rpartition("=")
        if not path or (sign and not name):
            raise ChoiceError("FILE", repr(file), "file.nc or name=file.nc")
        name = name or Path(path).stem
        if name in named:
            got = f"two fits named {name!r}, {named[name]} and {path}"
            step = f"Write {name}1={named[name]} {name}2={path}."
            raise RepeatError("FILE", got, "fits with names of their own", step)
        named[name] = Path(path)
    return named


def read_fits(paths: Mapping[str, Path]) -> dict[str, "xr.DataTree"]:
    """Fits by name, or draws in the form of fits."""
    return {name: hmetad.bayes.load_source(path) for name, path in paths.items()}


def judged_quantity(fits: Fits) -> str:
    """Quantity that the likelihood of fits is about: that of the first; of draws AUROC2."""
    first = next(iter(fits.values()))
    if are_resampled(first):
        return str(first.attrs.get("quantity", "auroc2"))
    return hmetad.bayes.spec_of(first).record.compared


def about_fits(fits: Fits, paths: Mapping[str, Path]) -> dict[str, Any]:
    """Seed and model, where there is one fit, and the settings and versions of each."""
    records = {name: {"file": str(paths[name]), **about(fit)} for name, fit in fits.items()}
    one: dict[str, Any] = next(iter(records.values())) if len(records) == 1 else {}
    return {"seed": one.get("seed"), "model": one.get("model"), "fits": records}


def about(fit: "xr.DataTree") -> dict[str, Any]:
    """Settings, versions and convergence of a fit; of draws how they were resampled."""
    if are_resampled(fit):
        said = {name: fit.attrs.get(name) for name in ("kind", "cluster")}
        said |= {x: fit.attrs[x] for x in ("formula", "link", "source") if x in fit.attrs}
        sizes = fit["posterior"].sizes
        number = {"draws": sizes["draw"] * sizes["chain"]}
        return {**said, **number, "seed": as_seed(fit.attrs.get("seed"))}
    return {
        "model": fit.attrs["model"],
        "seed": as_seed(fit.attrs["seed"]),
        "sampler": fit.attrs["sampler"],
        "versions": read_attr(fit.attrs, "versions"),
        "convergence": hmetad.report.convergence_record(fit),
    }


def are_conditions(fits: Fits, levels: Sequence[str]) -> bool:
    """Whether columns are conditions, groups or predictors of fits whose design was given."""
    if not levels or any("design" not in fit.attrs for fit in fits.values()):
        return False
    tables = [hmetad.bayes.average_conditions(fit) for fit in fits.values()]
    return all(table is not None and {*levels} <= {*table} for table in tables)


def fit_notices(fits: Fits) -> list["Notice"]:
    """Notices of fits; of several each begins with the name of its fit."""
    return [
        replace(one, message=f"{name}: {one.message}" if len(fits) > 1 else one.message)
        for name, fit in fits.items()
        for one in hmetad.notices(fit)
    ]


def bearing_notices(
    found: Iterable["Notice"], fits: Fits, quantity: str, withheld: Iterable[str]
) -> list["Notice"]:
    """Notices of a comparison that its fits have not said, or that its verdicts rest on.

    `withheld` are the codes that withhold verdicts, as the column of that name has them.
    """
    known = {one.code for fit in fits.values() for one in hmetad.notices(fit)}
    codes = {code for text in withheld for code in text.split(", ")}
    of, found = about_quantity(quantity), [*found]
    again = [x for x in found if x.severity == "warning" and repeat_in_comparison(x.code)]
    again = [x for x in again if about_alone(x.code) in ("", of)]
    return [x for x in found if x.code not in known or x.code in codes or x in again]


def levels_of(fits: Fits, over: str) -> dict[str, Any]:
    """Levels of a coordinate by their text, in the type that the coordinate has.

    Levels of a factor of the formula are those of the dim that the formula made of it; what no
    fit has are the names of the fits themselves, where there are several.
    """
    found: dict[str, Any] = {}
    for fit in fits.values():
        posterior = fit["posterior"].to_dataset()
        for name, values in posterior.coords.items():
            if name == over or is_dim_of(str(name), values.attrs, over):
                found |= {str(level): level for level in values.values.ravel().tolist()}
    return found or ({name: name for name in fits} if len(fits) > 1 else {})


def fits_otherwise(
    fit: "xr.DataTree", path: Path, choices: Sequence[str] | None = None
) -> dict[str, "xr.DataTree"]:
    """Fits under other choices, sampled once: they are kept in a folder next to that of the fit."""
    folder, found = path.with_name(f"{path.stem}_sensitivity"), {}
    # When a fit was sampled tells it from any other with the same name of a file.
    of = str(fit["posterior"].attrs.get("created_at", "unknown"))
    for choice in hmetad.bayes.other_choices(fit) if choices is None else choices:
        file = folder / f"{re.sub(r'\W+', '_', choice)}.nc"
        known = None
        with contextlib.suppress(InputError):
            known = hmetad.load_fit(file)
        if known is None or (known.attrs.get("of"), known.attrs.get("choice")) != (of, choice):
            known = hmetad.sensitivity(fit, [choice], **sampling_options())[choice]
            known.attrs["of"] = of
            try:
                folder.mkdir(exist_ok=True)
                hmetad.save_fit(known, file)
            except OSError as error:
                say(f"{file} cannot be written ({error.strerror}): this fit will be sampled again.")
        found[choice] = known
    return found


@dataclass(frozen=True, kw_only=True)
class ReportOptions(PrintOptions):
    """Fits, and what their page says.

    Parameters
    ----------
    file : FILE|DIR
        A fit (.nc), or a folder of fits.
    title : TEXT
        Title of the report. Default: from the model.
    question : TEXT
        Question that the report answers. Default: the question of the model.
    label : NAME=WORDS
        Words for a column or level, such as group=Diagnosis; may be repeated.
    figures : FOLDER
        Also write each figure as SVG and PDF to this folder.
    output : FILE
        Report: .html, .md, .tex, .docx or .json.
    as_json : flag
        Print the complete report as JSON.
    """

    file: Annotated[Path, typer.Argument()]
    title: str = ""
    question: str = ""
    label: list[str] | None = None
    figures: Path | None = None
    output: Output = None


# A report is printed as JSON alone.
REPORT_FIELDS = ("file", "title", "question", "label", "figures", "output", "as_json")


def report(asked: Annotated[ReportOptions, REPORT_FIELDS]) -> None:
    """Write a report of one fit, or of all fits in a folder.

    Examples
    --------
    hmetad report fit.nc -o page.html --question "Who knows more?"
    hmetad report fits/ -o all.md
    hmetad report fit.nc -o page.html --figures figures
    hmetad report fit.nc --json
    """
    if asked.output is None and not asked.as_json:
        raise OutputError("--output", "nothing", "a file", "Write -o page.html, or --json.")
    inside = sorted(asked.file.glob("*.nc")) if asked.file.is_dir() else []
    paths = {path.stem: path for path in inside or [asked.file]}
    written = output_file(asked.output, (*REPORTS, ".json"), *paths.values())
    folder = None if asked.figures is None else writable_folder(asked.figures, "--figures")
    asked.refuse_idle(question="with one fit" if len(paths) > 1 else "")
    labels = parse_pairs("--label", asked.label) or {}
    fits = read_fits(paths)
    for name, fit in fits.items():
        if are_resampled(fit) and "formula" not in fit.attrs:
            where, got = str(paths[name]), "draws without a model card"
            step = "Decisions on it have a report: hmetad compare … -o page.html."
            raise FileError(where, got, "a fit of counts", step)
    if len(fits) == 1:
        (fit,) = fits.values()
        page = hmetad.report.fit_report(
            fit, title=asked.title, question=asked.question, command=command_line(), labels=labels
        )
    else:
        pages = {name: hmetad.report.fit_report(fit, labels=labels) for name, fit in fits.items()}
        page = hmetad.report.combine_reports(asked.title or f"Fits in {asked.file.name}", pages)
    for path in written:
        page.save(path)
    if folder is not None:
        page.save_figures(folder)
    if asked.as_json:
        asked.give(whole(page, fits, paths, labels), written)
    else:
        say(f"Written: {asked.output}")


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


SHOWN = {"code": "code", "severity": "severity", "means": "meaning", "shell_do": "what to do"}
OF_FITS = {"code": "code", "notice": "notice"}
Codes = Annotated[list[str] | None, typer.Argument(metavar="[CODE|FILE]...", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class NoticeOptions(PrintOptions):
    """Codes to explain, or fits whose notices are printed whole.

    Parameters
    ----------
    names : CODE|FILE
        Codes, as printed in brackets after a notice; or fits and draws (.nc), whose notices are
        printed in full. Default: all codes.
    """

    names: Codes = None


def notices(asked: NoticeOptions) -> None:
    """Explain notices: what a code means, and what to do about it.

    For fits and draws (.nc), print their notices in full.

    Examples
    --------
    hmetad notices few-trials rhat
    hmetad notices fit.nc
    hmetad notices --format markdown
    """
    names = asked.names or ()
    known = {name: code for name, code in codes().items() if code.texts}
    if names and all(name not in known and Path(name).exists() for name in names):
        fits = read_fits({name: Path(name) for name in names})
        found = [row_of(one) for one in fit_notices(fits)]
        found.sort(key=lambda row: SEVERITIES.index(row["severity"]))
        asked.give(Answer((Listing(found, OF_FITS),)))
        return
    for name in names:
        if name not in known:
            allowed = "a code of a notice, or the file of a fit"
            raise UnknownError("CODE", repr(name), allowed, nearest(name, known))
    rows = [
        {
            "code": name,
            "severity": min((x.severity for x in known[name].texts.values()), key=SEVERITIES.index),
            "means": known[name].means,
            "do": known[name].do,
            "shell_do": known[name].shell_do,
        }
        for name in names or known
    ]
    asked.give(Answer((Listing(rows, SHOWN),)))


def row_of(notice: "Notice") -> dict[str, Any]:
    """A notice whole, with its cells, in one text and in parts."""
    cells = f" Cells: {', '.join(notice.cells)}." if notice.cells else ""
    step = notice.shell_step or notice.next_step
    text = f"{notice.severity}: {notice.message} {step}".rstrip() + cells
    return {"code": notice.code, "notice": text, **asdict(notice)}
