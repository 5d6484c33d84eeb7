"""The commands that sample a posterior, of trials or of estimates, and list the models.

File and a model card or formula → file of the fit, and estimates by cell or of the population.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import FormulaError, ModelError, NumberError, OutputError
from hmetad.base.files import write_together
from hmetad.base.untrusted import read_attr
from hmetad.commands.answer import Answer, Listing, PrintOptions, as_seed, output_file, rows_of
from hmetad.commands.fits import DRAWS_FILE, fits_otherwise
from hmetad.commands.options import (
    Chains,
    Seed,
    given_options,
    option_name,
    options_named,
    sampling_options,
)
from hmetad.commands.trials import CellOptions, cell_heading, count_file, parse_by
from hmetad.report.terminal import csv_table, say
from hmetad.text.names import symbol

if TYPE_CHECKING:
    import xarray as xr

CARDS = {"model": "model", "title": "title", "question": "question"}
POPULATION = {"quantity": "population", "term": "", "mean": "mean"}
POPULATION |= {"lower": "lower", "upper": "upper", "rhat": "R̂"}
WITHHELD = {"withheld": "withheld for"}
# Columns of observers crossed with items; a terminal has room for the intervals of M.
CROSSED = {"share_right": "correct", "dprime": "d′", "m_ratio": "M-ratio"}
CROSSED |= {"m_ratio_lower": "lower", "m_ratio_upper": "upper", "pooled_m_ratio": "pooled M"}
CROSSED |= {"pooled_m_ratio_lower": "lower", "pooled_m_ratio_upper": "upper", "auroc2": "AUROC2"}
CROSSED |= {"auroc2_dprime": "by difficulty", "auroc2_log_spread": "by confidence"}
# The same where items shift the evidence.
KINDS = {"dprime_marginal": "marginal d′", "dprime_marginal_lower": "lower"}
KINDS |= {"dprime_marginal_upper": "upper", "c_marginal": "marginal c", "dprime": "conditional d′"}
# Rows of cells that are printed after a population unless all are requested.
MOST_ROWS = 40
# Cells of a fit that is made again on another scale, unless that is requested.
MOST_AGAIN = 1000
Fit = Annotated[Path, typer.Option("--output", "-o")]


@dataclass(frozen=True, kw_only=True)
class FitOptions(CellOptions):
    """Trials, the model, and how it is sampled.

    Parameters
    ----------
    covariates : COLUMNS
        More columns for formulas, constant within a cell, such as age.
    correct : COLUMN
        Column that is 1 for a correct answer and 0 for an error; needs --options.
    model : CARD
        Model card: a name that hmetad models lists, or the path of a card. Default: individual;
        with --options, alternatives or alternatives_biased.
    conditions : COLUMNS
        Columns that vary within participants, with an effect in each: task,difficulty; with their
        interaction 'task*difficulty'. Added to --by.
    groups : COLUMNS
        Columns that vary between participants, such as diagnosis. Added to --by.
    predictors : COLUMNS
        Columns of numbers, such as age; standardised. Added to --covariates.
    correlated : COLUMN
        Condition, such as task, of which participants have correlated values.
    formula : FORMULA
        Formula of every parameter, such as '1 + task + (1 + task | subject)'; or parameter=formula,
        once for each parameter.
    target_accept : P
        Target acceptance rate of NUTS, 0.5 to 0.999; raise it if there are divergences.
        Default: 0.8.
    cells : flag
        Print all cells of a model with a population, also if they are more than 40; with --format
        csv the cells instead of the population.
    sensitivity : flag
        If somebody in a population of log M has M ≤ 0, also fit M normal between people, and report
        the population under both where they differ. Default: with up to 1,000 cells.
    items : FILE
        Effects of the items that observers share, from models such as alternatives_crossed: .csv.
    output : FILE
        The fit: .nc.
    """

    covariates: tuple[str, ...] = ()
    correct: str | None = None
    model: str | None = None
    conditions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    predictors: tuple[str, ...] = ()
    correlated: str | None = None
    formula: list[str] | None = None
    draws: Chains = None
    target_accept: Annotated[float | None, typer.Option(min=0.5, max=0.999)] = None
    cells: bool = False
    sensitivity: bool | None = None
    items: Path | None = None
    output: Fit = Path("fit.nc")


@dataclass(frozen=True, kw_only=True)
class EstimatesOptions(PrintOptions):
    """Estimates, their formula, and how its model is drawn.

    Parameters
    ----------
    file : FILE
        Table of estimates (.csv, .tsv, .jsonl or .parquet); or draws of hmetad measures, or a
        fit (.nc).
    formula : FORMULA
        Quantity and formula: 'auroc2 ~ 1 + model + (1 | set)'.
    se : COLUMN
        Column with the standard errors of a table; draws have their own.
    link : NAME
        Scale that is modelled: identity, log, logit or fisher_z.
    output : FILE
        The fit: .nc.
    """

    file: Annotated[Path, typer.Argument()]
    formula: str
    se: str | None = None
    link: Literal["identity", "log", "logit", "fisher_z"] = "identity"
    ci_prob: float = 0.95
    draws: Chains = None
    seed: Seed = None
    output: Fit = Path("estimates.nc")


def fit(asked: FitOptions) -> None:
    r"""Fit a Bayesian meta-d′ model, individual or hierarchical, and save it.

    Examples
    --------
    hmetad fit trials.csv --by model,task --seed 1 -o fit.nc
    hmetad fit answers.csv --by model --correct correct --options 4 -o fit.nc
    hmetad fit trials.csv --by subject=participant --model group --conditions difficulty \
      --groups diagnosis --predictors age -o group.nc
    hmetad fit trials.csv --by subject,task --model group \
      --formula "1 + task + (1 + task | subject)" --formula "log_gap=1 + (1 | subject)" -o group.nc
    """
    (path,) = output_file(asked.output, [".nc"], asked.file, Path(asked.model or "individual"))
    of_items = output_file(asked.items, [".csv"], asked.file, option="--items")
    # A card that is not there is said before trials are read.
    named = hmetad.load_model(asked.model) if asked.model else None
    words = {x: getattr(asked, x) for x in import_module("hmetad.specs.study_design").ROLES}
    asked = with_words(asked, words) if any(words.values()) else asked
    grouping = [x for x in ("by", "conditions", "groups", "correlated") if x in asked.typed]
    with options_named({"by": " or ".join(map(option_name, grouping)) or "--by"}):
        counts = count_file(asked, asked.by, asked.covariates, asked.correct)
    spec = hmetad.bayes.model_of(counts, named)
    formulas = None
    if asked.formula:
        formulas = import_module("hmetad.specs.spec").formulas_of(asked.formula, spec)
        refuse_codes(formulas.values(), counts.drop_vars(spec.factors, errors="ignore"))
    if of_items:
        refuse_no_items(counts, spec, formulas)
    given = {"random_seed": asked.seed, "draws": asked.draws, "target_accept": asked.target_accept}
    options = {**sampling_options(), **given_options(**given)}
    begun = time.perf_counter()
    fitted = hmetad.fit(counts, spec, formula=formulas, **words, **options)
    result = hmetad.bayes.thin_draws(fitted)
    seconds = time.perf_counter() - begun
    save_somewhere(result, path)
    answer = fit_answer(result, spec, cell_heading(asked.by, asked.options), has_cells=asked.cells)
    moved = moved_by_scale(asked, result, path)
    answer = answer.adding(moved=moved, seconds=seconds)
    if asked.cells and asked.format == "csv" and not answer.more["about"]:
        answer = replace(answer, listings=answer.listings[::-1])
    asked.give(answer, [path])
    hidden = result["posterior"].sizes["cell"] if len(answer.listings) == 1 else 0
    if asked.format == "table" and answer.more["population"] and hidden:
        say(f"{hidden:,} cells are not printed: --cells prints them, and --json has them.")
    for sentence in (*answer.more["about"], *moved, *answer.more["among_published"]):
        say(sentence)
    if answer.more["about"]:
        say(f"The fit took {seconds:.0f} seconds.")
    for file in of_items:
        items = hmetad.bayes.item_effects(result).to_dataframe().reset_index()
        write_together({file: csv_table(rows_of(items))})
        say(f"Written: {file}")


def moved_by_scale(asked: FitOptions, result: "xr.DataTree", path: Path) -> list[str]:
    """What a population of M instead of log M says, where somebody's M is not above 0."""
    is_low = any(one.code == "meta-d-sign" for one in hmetad.notices(result))
    is_small = result["posterior"].sizes["cell"] <= MOST_AGAIN
    is_wanted = is_small if asked.sensitivity is None else asked.sensitivity
    on_log = hmetad.bayes.spec_of(result).record.parameter_of_interest == "log_m"
    models = hmetad.bayes.other_choices(result) if is_low and is_wanted and on_log else {}
    on_m = [name for name, one in models.items() if one.record.parameter_of_interest == "m"]
    others = fits_otherwise(result, path, on_m) if on_m else {}
    return [x for other in others.values() for x in hmetad.report.moved_populations(result, other)]


def fit_answer(
    result: "xr.DataTree", spec: "hmetad.ModelSpec", heading: str, *, has_cells: bool
) -> Answer:
    """Estimates of the population and by cell, with what is to be known of the fit."""
    main = spec.record.plotted
    title = f"{spec.title or spec.name}: posterior means, 95 % intervals"
    headings = {"cell": heading, **{name: symbol(name) for name in spec.record.tabulated}}
    headings |= {main: symbol(main), f"{main}_lower": "lower", f"{main}_upper": "upper"}
    of_cells = f"{title} of {symbol(main)}"
    withheld = {x: {*cells} for x, cells in hmetad.report.cells_withheld(result).items()}
    table, about = hmetad.report.estimate_table(result), list[str]()
    is_crossed = "crossed_answers" in result.children
    if is_crossed:
        table = hmetad.report.crossed_table(result)
        about = hmetad.report.crossed_sentences(result, table)
        columns = CROSSED if "m_ratio" in table else KINDS
        headings = {"cell": "observer", **{x: own for x, own in columns.items() if x in table}}
    rows = rows_of(table)
    for row in rows:
        row["withheld"] = ", ".join(x for x, cells in withheld.items() if row["cell"] in cells)
    cells = Listing(rows, headings | (WITHHELD if withheld else {}), of_cells)
    listings, population, placed = [cells], [], []
    if hmetad.bayes.spec_of(result).formula:
        population = rows_of(hmetad.report.population_table(result))
        placed = hmetad.report.among_published(result)
        # Observers with values of their own are no population.
        own = {row["cell"] for row in rows if is_crossed}
        told = [row for row in population if row["term"] not in own]
        shown = population_listing(told, title)
        is_shown = has_cells or len(rows) <= MOST_ROWS
        listings = [shown, cells] if is_shown else [shown]
        listings = [cells, shown] if is_crossed else listings
    return Answer(
        tuple(listings),
        hmetad.notices(result),
        as_seed(result.attrs["seed"]),
        read_attr(result.attrs, "versions"),
        {
            # Whatever is printed first.
            "rows": rows,
            "model": spec.name,
            "population": population,
            "about": about,
            "among_published": placed,
            "convergence": hmetad.report.convergence_record(result),
        },
    )


def population_listing(rows: list[dict[str, Any]], title: str) -> Listing:
    """What is known of a population, with the column that says what is withheld, if anything is."""
    withheld = WITHHELD if any(row["withheld"] for row in rows) else {}
    return Listing(rows, POPULATION | withheld, title)


def with_words(asked: FitOptions, words: Mapping[str, Any]) -> FitOptions:
    """Options whose cells and covariates have the columns that the words of a design name."""
    reader = import_module("hmetad.specs.study_design")
    own = [*parse_by(asked.by)]
    known = [*hmetad.logs.scan_table(asked.file).columns, *own]
    named = {x: [*chain(*reader.terms_of(texts, known))] for x, texts in words.items()}
    predictors = named.pop("predictors")
    by = (*asked.by, *(x for x in dict.fromkeys(chain(*named.values())) if x not in own))
    more = dict.fromkeys(x for x in predictors if x not in [*parse_by(by), *asked.covariates])
    return replace(asked, by=by, covariates=(*asked.covariates, *more))


def refuse_codes(formulas: Iterable[str], cells: "xr.DataArray | xr.Dataset") -> None:
    """Refuse codes that stand alone in a formula: in a file, numbers and names are both text."""
    # Their parser takes a second to import.
    reader = import_module("hmetad.specs.formula")
    for parsed in map(reader.parse_formula, formulas):
        for part in (parsed.common, *(term.expression for term in parsed.group_terms)):
            for name in sorted(part.bare & {*map(str, cells.coords)}):
                values = dict.fromkeys(cells[name].values.tolist())
                if all(isinstance(x, str) and is_number(x) for x in values):
                    got = f"{name!r} alone, whose values are numbers: {', '.join([*values][:3])}"
                    own = reader.quote(name)
                    allowed = f"C({own}), a value for each level, or scale({own}), a slope"
                    raise FormulaError("--formula", got, allowed)


def refuse_no_items(
    counts: "xr.DataArray", spec: "hmetad.ModelSpec", formulas: str | dict[str, str] | None
) -> None:
    """Refuse --items where a fit will have no effects of items that it integrates out."""
    # Compiled code takes a second to import.
    changed = import_module("hmetad.specs.spec").with_changes(spec, formula=formulas)
    # What the model cannot have at all is refused by its own name.
    if import_module("hmetad.bayes.program").build_program(counts, changed).crossing is None:
        cards = "alternatives_crossed or crossed_items"
        step = f"Use --model {cards} with the item in --by, or omit --items."
        got = f"a fit of {spec.name}, which integrates none out"
        raise ModelError("--items", got, "effects of items that a fit integrates out", step)


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


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
        raise OutputError("--output", got, "a file that can be written", step) from error


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


def estimates(asked: EstimatesOptions) -> None:
    r"""Fit a hierarchical model (meta-analysis) to estimates with standard errors.

    Examples
    --------
    hmetad estimates draws.nc --formula "auroc2 ~ 0 + model + (1 | set) + (1 | model:set)" \
      -o sets.nc
    hmetad estimates studies.csv --formula "effect ~ 1 + (1 | study)" --se error -o studies.nc
    """
    ci_prob = asked.ci_prob
    written = output_file(asked.output, [".nc"], asked.file)
    if not 0 < ci_prob < 1:
        raise NumberError("--ci-prob", str(ci_prob), "a probability between 0 and 1")
    options = given_options(draws=asked.draws)
    result = hmetad.bayes.fit_estimates(
        source_of(asked), asked.formula, se=asked.se, link=asked.link, seed=asked.seed, **options
    )
    result = hmetad.bayes.thin_draws(result)
    hmetad.save_fit(result, *written)
    rows = rows_of(hmetad.report.population_table(result, ci_prob=ci_prob))
    title = f"{result.attrs['formula']}: posterior means, {100 * ci_prob:g} % intervals"
    said: dict[str, Any] = {name: result.attrs[name] for name in ("formula", "link")}
    stats = result["sample_stats"]
    numbers = [name for name in ("p_fit", "pareto_k", "effective_draws") if name in stats]
    said |= {name: float(stats[name].max()) for name in numbers}
    said["convergence"] = hmetad.report.convergence_record(result)
    answer = Answer(
        (population_listing(rows, title),),
        hmetad.notices(result),
        as_seed(result.attrs["seed"]),
        read_attr(result.attrs, "versions"),
        said,
    )
    asked.give(answer, written)


def source_of(asked: EstimatesOptions) -> Any:
    """Draws or a fit, where the file holds them; else a table of estimates."""
    if asked.file.suffix != DRAWS_FILE:
        return hmetad.logs.read_table(asked.file)
    source = hmetad.bayes.load_source(asked.file)
    refuse_codes([asked.formula.partition("~")[2] or "1"], source["posterior"].to_dataset())
    return source


def models(asked: PrintOptions) -> None:
    """List the models that hmetad fit has (model cards).

    Examples
    --------
    hmetad models
    hmetad models --json | jq '.rows[].model'
    """
    specs = map(hmetad.load_model, hmetad.bayes.card_names())
    texts = ("title", "question", "reference")
    cards = [
        {"model": spec.name, **{x: getattr(spec, x) for x in texts}, "formula": dict(spec.formula)}
        for spec in specs
    ]
    asked.give(Answer((Listing(cards, CARDS),)))
