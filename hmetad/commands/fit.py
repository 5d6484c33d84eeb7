"""The command that samples a posterior.

File of trials and a model card → file of the fit, and estimates by cell.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hmetad
from hmetad.commands.answer import Answer, Listing, give, rows_of
from hmetad.commands.arguments import (
    as_seed,
    cell_heading,
    given_options,
    output_file,
    parse_formulas,
    refuse_codes,
    sampling_options,
)
from hmetad.commands.counting import count_file
from hmetad.commands.options import CellOptions
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


@dataclass(frozen=True, kw_only=True)
class FitOptions(CellOptions):
    """Trials, the model, and how it is sampled.

    Parameters
    ----------
    covariates : COLUMNS
        Columns for formulas; constant within a cell.
    model : CARD
        Model card, by name or path: hmetad models.
    formula : FORMULA
        Of M, or parameter=formula; may be repeated.
    draws : N
        Posterior draws of each chain; 1000 unless given.
    target_accept : P
        Target acceptance of chains; raise it against divergences. 0.8 unless given.
    output : FILE
        The fit: .nc.
    """

    covariates: tuple[str, ...] = ()
    model: str = "individual"
    formula: list[str] | None = None
    draws: Annotated[int | None, typer.Option(min=4)] = None
    target_accept: Annotated[float | None, typer.Option(min=0.5, max=0.999)] = None
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("fit.nc")


def fit(asked: FitOptions) -> None:
    """Count trials, sample a model's posterior, and write it."""
    chosen = asked.format
    (path,) = output_file(asked.output, [".nc"], asked.file, Path(asked.model))
    spec = hmetad.load_model(asked.model)
    formulas = parse_formulas(asked.formula)
    counts = count_file(asked, asked.by, asked.covariates)
    if formulas:
        own = [formulas] if isinstance(formulas, str) else formulas.values()
        refuse_codes(own, counts.drop_vars(spec.factors, errors="ignore"))
    given = {"random_seed": asked.seed, "draws": asked.draws, "target_accept": asked.target_accept}
    refuse_full_disk(path, counts, spec, asked.draws)
    options = {**sampling_options(), **given_options(**given)}
    result = hmetad.fit(counts, spec, formula=formulas, **options)
    save_somewhere(result, path)
    give(fit_answer(result, spec, cell_heading(asked.by)), chosen, [path])


def fit_answer(result: "xr.DataTree", spec: "hmetad.ModelSpec", cells: str) -> Answer:
    """Estimates by cell and of the population, with what is to be known of the fit."""
    main = spec.record.plotted
    title = f"{spec.title or spec.name}: posterior means, 95 % intervals of {symbol(main)}"
    headings = {"cell": cells, **{name: symbol(name) for name in spec.record.tabulated}}
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
