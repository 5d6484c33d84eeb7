"""Draws to judge: contrasts of cells, or a quantity itself.

Fits and options → draws (chain, draw, pair or cell).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.commands.arguments import options_named, parse_level, sampling_options
from hmetad.commands.fits import are_resampled, levels_of
from hmetad.commands.options import Output, PrintOptions
from hmetad.errors import InputError, nearest
from hmetad.results import results

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.compare.decisions import Decisions

__all__ = [
    "CompareOptions",
    "asked_draws",
    "decided_otherwise",
    "drawn_from",
    "one_or_all",
    "ranks_of",
    "read_weights",
]

type Fits = Mapping[str, "xr.DataTree"]


@dataclass(frozen=True, kw_only=True)
class CompareOptions(PrintOptions):
    """What is compared, how it is judged, and what is written of it.

    Parameters
    ----------
    files : FILE
        Fits of hmetad fit, or draws of hmetad measures; name=file.nc gives one of several a
        name.
    over : COLUMN
        Levels to compare; to compare several fits, any name. Without it the quantity itself is
        judged.
    rope : LOW,HIGH
        What is negligible, as in --rope=-0.05,0.05.
    var : NAME
        Quantity: m_ratio, dprime, log_m_task …, or a measure that the model predicts, as
        auroc2; by default log_m, or what the likelihood of the fit is about.
    population : flag
        Compare conditions of the population instead of the cells.
    new : COLUMNS
        Predict for a new level of these columns, such as a set of items that nobody has
        answered; of fits of hmetad estimates.
    within : COLUMNS
        Columns that are equal in both cells of a pair.
    pool : COLUMNS
        Pool contrasts over the levels of these columns, such as sets of items.
    weights : RULE
        What a pooled level weighs: equal, or trials.
    against : LEVEL
        Compare all others with this one.
    without : LEVEL
        Leave this level of --over out; may be repeated.
    matrix : FILE
        Your own weights: a row per contrast, its name first, a column per level.
    kind : KIND
        difference; log_ratio; or superiority, P(left > right), without a ROPE.
    null : X
        Value of no effect.
    bonferroni : flag
        Correct for the number of contrasts.
    rank : flag
        Also rank the levels.
    sensitivity : flag
        Fit again with the other κ, other priors and fewer ratings, and decide; a report does so
        unless told not to, or the fit has thousands of cells.
    fail_if : CONDITION
        Such as "new worse than old": the exit status is 1 where a verdict shows it, 3 where
        there is no verdict, else 0.
    fail_unless : CONDITION
        Such as "new not worse than old", which is non-inferiority: the exit status is 0 where
        the interval shows it, 3 where there is no verdict, else 1.
    ci_prob : P
        Probability of the intervals.
    ci_kind : KIND
        Intervals: eti, equal-tailed, or hdi, highest-density.
    output : FILE
        Rows: .csv, .json. Report: .html, .md, .tex, .docx.
    """

    files: Annotated[list[str], typer.Argument()]
    over: str | None = None
    rope: str | None = None
    var: str | None = None
    population: bool = False
    new: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    pool: tuple[str, ...] = ()
    weights: Literal["equal", "trials"] = "equal"
    against: Annotated[str | None, typer.Option("--against", "--reference")] = None
    without: list[str] | None = None
    matrix: Path | None = None
    kind: Literal["difference", "log_ratio", "superiority"] = "difference"
    null: float = 0.0
    bonferroni: bool = False
    rank: bool = False
    sensitivity: bool | None = None
    fail_if: str | None = None
    fail_unless: str | None = None
    ci_prob: float = 0.95
    ci_kind: Literal["eti", "hdi"] = "eti"
    output: Output = None


def asked_draws(
    sources: Mapping[str, Any], fits: Fits, asked: CompareOptions, own: "pd.DataFrame | None"
) -> "xr.DataArray":
    """Draws of the contrasts asked for, of `drawn_from`; without `over` the quantity itself."""
    if asked.over is None:
        return as_it_is(sources, str(asked.var))
    levels = levels_of(fits, asked.over)
    try:
        return hmetad.contrast(
            one_or_all(sources),
            var=asked.var,
            over=asked.over,
            within=[*asked.within],
            against=parse_level(levels, asked.over, asked.against),
            matrix=None if own is None else own.rename(columns=levels),
            kind=asked.kind,
            pool=[*asked.pool],
            weights=asked.weights,
            independent=len(fits) > 1,
        )
    except InputError as error:
        if error.argument != "over and within":
            raise
        step = shared_cells_step(fits, asked) or error.next_step
        raise InputError("--over and --within", error.got, error.allowed, step) from error


def shared_cells_step(fits: Fits, asked: CompareOptions) -> str:
    """What to do where several cells have the same levels of what is compared."""
    columns = next(iter(fits.values()))["posterior"]["cell"].coords
    named = {"cell", asked.over, *asked.within, *asked.pool}
    rest = ",".join(str(name) for name in columns if name not in named)
    if not rest:
        return ""
    step = f"Compare within each: --within {rest}; or over all: --pool {rest}."
    if not effects_of(fits, str(asked.var), str(asked.over)):
        return step
    return f"{step} Conditions of the population are compared by --population."


def drawn_from(fits: Fits, asked: CompareOptions) -> dict[str, Any]:
    """Draws that are compared: those of the fits, of their populations, or of a measure."""
    return {name: source_of(fit, asked) for name, fit in fits.items()}


def source_of(fit: "xr.DataTree", asked: CompareOptions) -> Any:
    """Draws of one fit that are compared, without the levels that are left out."""
    source = whole_source_of(fit, asked)
    if not asked.without:
        return source
    over, known = str(asked.over), levels_of({"": fit}, str(asked.over))
    left_out = [known.get(level, level) for level in asked.without]
    with options_named({"levels": "--without", "over": "--over"}):
        return hmetad.compare.leave_out(source, over, left_out)


def whole_source_of(fit: "xr.DataTree", asked: CompareOptions) -> Any:
    """Draws of one fit: its own, of its population, or of a measure that its model predicts."""
    var = str(asked.var)
    if are_resampled(fit):
        if "formula" in fit.attrs:
            is_predicted = asked.population or bool(asked.new)
            return hmetad.bayes.predict_estimates(fit, new=[*asked.new]) if is_predicted else fit
        if asked.new:
            step = "Model them first: hmetad estimates draws.nc --formula …"
            raise InputError("--new", "draws without a model", "a fit of estimates", step)
        if asked.population:
            raise InputError("--population", "draws without a model", "a fit")
        return fit
    if asked.new:
        step = "Conditions of its population are compared by --population."
        raise InputError("--new", "a fit of counts", "a fit of estimates", step)
    is_own = var in fit["posterior"]
    results = hmetad.bayes.spec_of(fit).record.results
    if not is_own and not asked.population and var in results:
        # A fit of very many cells keeps none of them.
        return hmetad.bayes.predict_levels(fit)
    is_measure = not is_own and is_predictable(var)
    if is_measure:
        return hmetad.bayes.predict_measures(fit, var, group_terms=not asked.population)
    return hmetad.predict(fit) if asked.population else fit


def is_predictable(var: str) -> bool:
    """Whether a name is that of a measure of counts."""
    return any(x.measured and x.name == var for x in results())


def effects_of(fits: Fits, var: str, over: str) -> list[str]:
    """Coefficients of a quantity that belong to a column alone, in all fits."""
    names = [f"{var}_{over}", f"{var}_S({over})", f"{var}_C({over})"]
    return [name for name in names if all(name in fit["posterior"] for fit in fits.values())]


def ranks_of(sources: Mapping[str, Any], asked: CompareOptions) -> "xr.Dataset":
    """Posterior of the ranks of the levels, of `drawn_from`."""
    return hmetad.rank(
        one_or_all(sources),
        var=asked.var,
        over=str(asked.over),
        within=[*asked.within],
        ci_prob=asked.ci_prob,
        pool=[*asked.pool],
        weights=asked.weights,
        independent=len(sources) > 1,
    )


def decided_otherwise(
    fits: Fits, asked: CompareOptions, decisions: "Decisions"
) -> "dict[str, Decisions]":
    """Decisions on refitted models, by the choice that differs."""
    again = {name: hmetad.sensitivity(fit, **sampling_options()) for name, fit in fits.items()}
    first = next(iter(again.values()))
    shared = [choice for choice in first if all(choice in found for found in again.values())]
    others = {
        choice: one_or_all({name: source_of(found[choice], asked) for name, found in again.items()})
        for choice in shared
    }
    return hmetad.compare.repeat_decisions(decisions, others)


def one_or_all(fits: Fits) -> Any:
    """The fit where there is one, else all by name."""
    return next(iter(fits.values())) if len(fits) == 1 else fits


def as_it_is(sources: Mapping[str, Any], var: str) -> "xr.DataArray":
    """Draws of a quantity of one fit, a number for each cell or level."""
    if len(sources) > 1:
        step = "Write --over fit to compare the fits with one another."
        raise InputError("--over", "nothing, with several fits", "a coordinate", step)
    source = one_or_all(sources)
    posterior = source["posterior"].to_dataset() if "posterior" in source else source
    if var not in posterior:
        step = nearest(var, map(str, posterior))
        raise InputError("--var", repr(var), "a quantity of the fit", step)
    places = [str(dim) for dim in posterior[var].dims if dim not in ("chain", "draw")]
    if len(places) > 1:
        step = f"Compare levels of one of them: --over {places[-1]}."
        raise InputError("--var", f"{var} by {', '.join(places)}", "one number a place", step)
    return posterior[var]


def read_weights(path: Path) -> "pd.DataFrame":
    """Weights of contrasts: names in the first column, a level of `over` in each other."""
    table = hmetad.logs.read_table(path)
    if table.shape[1] < 3:
        got = f"{table.shape[1]} columns in {str(path)!r}"
        step = "Write a row per contrast, its name first, then a column per level."
        raise InputError("--matrix", got, "names of contrasts and two levels or more", step)
    named = table.set_index(table.columns[0])
    return named.set_axis(named.index.astype(str)).fillna(0)
