"""The command that samples a posterior.

File of trials and a model card → file of the fit, and estimates by cell.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, chosen_format, give, rows_of
from hmetad.commands.arguments import (
    as_seed,
    given_options,
    parse_formulas,
    refuse_codes,
    refuse_inputs,
    sampling_options,
    split,
    writable_file,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import (
    AsJson,
    By,
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
    TargetAccept,
    Trials,
)
from hmetad.errors import InputError
from hmetad.memory import in_words
from hmetad.text.names import symbol
from hmetad.untrusted import read_attr

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = """
hmetad fit trials.csv --by model,task --seed 1 -o fit.nc
hmetad fit trials.csv --by subject=participant,task --model group \\
  --formula "log_m=1 + task + (1 | subject)" --draws 2000 -o group.nc
"""

# Options of this command alone.
Covariates = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns for formulas; constant within a cell."),
]
Model = Annotated[
    str, typer.Option(metavar="CARD", help="Model card, by name or path: hmetad models.")
]
Formula = Annotated[
    list[str] | None,
    typer.Option(metavar="FORMULA", help="Of M, or parameter=formula; may be repeated."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The fit: .nc.")]


def fit(
    file: Trials,
    by: By = None,
    covariates: Covariates = None,
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
    model: Model = "individual",
    formula: Formula = None,
    output: Output = Path("fit.nc"),
    seed: Seed = None,
    draws: Draws = None,
    target_accept: TargetAccept = None,
    print_as: PrintAs = None,
    as_json: AsJson = False,
) -> None:
    """Count trials, sample a model's posterior, and write it."""
    chosen = chosen_format(print_as, as_json)
    path = writable_file(output, ".nc")
    refuse_inputs(path, file, Path(model))
    spec = hmetad.load_model(model)
    formulas = parse_formulas(formula)
    counts = count_file(
        file,
        by=by,
        covariates=split(covariates),
        stimulus=stimulus,
        response=response,
        confidence=confidence,
        ratings=ratings,
        levels=levels,
        missing_codes=missing_codes,
        quantiles=quantiles,
        quantiles_within=split(quantiles_within),
        limit=limit,
        labels=labels,
    )
    if formulas:
        own = [formulas] if isinstance(formulas, str) else formulas.values()
        refuse_codes(own, counts.drop_vars(spec.factors, errors="ignore"))
    options = {
        **sampling_options(),
        **given_options(random_seed=seed, draws=draws, target_accept=target_accept),
    }
    refuse_full_disk(path, counts, spec, draws)
    result = hmetad.fit(counts, spec, formula=formulas, **options)
    save_somewhere(result, path)
    give(fit_answer(result, spec), chosen, [path])


def fit_answer(result: "xr.DataTree", spec: "hmetad.ModelSpec") -> Answer:
    """Estimates by cell and of the population, with what is to be known of the fit."""
    main = spec.record.plotted
    title = f"{spec.title or spec.name}: posterior means, 95 % intervals of {symbol(main)}"
    headings = {"cell": "cell", **{name: symbol(name) for name in spec.record.tabulated}}
    headings |= {main: symbol(main), f"{main}_lower": "lower", f"{main}_upper": "upper"}
    population = (
        rows_of(hmetad.report.population_table(result))
        if hmetad.bayes.spec_of(result).formula
        else []
    )
    shown = {"quantity": "population", "term": "", "mean": "mean"}
    shown |= {"lower": "lower", "upper": "upper", "rhat": "R̂"}
    return Answer(
        (
            Listing(rows_of(hmetad.report.estimate_table(result)), headings, title),
            *([Listing(population, shown)] if population else []),
        ),
        hmetad.notices(result),
        as_seed(result.attrs["seed"]),
        read_attr(result.attrs, "versions"),
        {
            "model": spec.name,
            "population": population,
            "convergence": hmetad.report.convergence_record(result),
        },
    )


def refuse_full_disk(
    path: Path, counts: "xr.DataArray", spec: "hmetad.ModelSpec", draws: int | None
) -> None:
    """Refuse a disk without room for the draws, before sampling."""
    options = {} if draws is None else {"draws": draws}
    needed = hmetad.bayes.posterior_bytes(counts, spec.record, **options)
    free = shutil.disk_usage(Path(os.path.realpath(path)).parent).free
    if free < needed:
        got = f"{str(path)!r} on a disk with {in_words(free)} left"
        allowed = f"room for {in_words(needed)} or more of draws"
        raise InputError("--output", got, allowed, "Name another place.")


def save_somewhere(fit: "xr.DataTree", path: Path) -> None:
    """Save a fit; where that fails, save it in another folder, and say where."""
    try:
        hmetad.save_fit(fit, path)
    except OSError as error:
        got = f"{str(path)!r} ({error.strerror})"
        kept = kept_elsewhere(fit, path.name)
        step = "The fit is lost: nor was there room for temporary files, at home or here."
        if kept is not None:
            step = f"The fit is kept: move it from {str(kept)!r}."
        raise InputError("--output", got, "a file that can be written", step) from error


def kept_elsewhere(fit: "xr.DataTree", name: str) -> Path | None:
    """Path of a fit in a new folder among temporary files, at home or here; None without one."""
    for place in (tempfile.gettempdir(), os.path.expanduser("~"), os.curdir):
        try:
            folder = Path(tempfile.mkdtemp(prefix="hmetad-fit-", dir=place)).absolute()
        except OSError:
            continue
        try:
            return hmetad.save_fit(fit, folder / name)
        except OSError:
            folder.rmdir()
    return None
